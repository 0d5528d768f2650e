"""Commands that run things: experiments, campaigns, streams, faults."""

from __future__ import annotations

from farm.commands.parsing.common import Commands, command, everything, experiment, formatted


def add_run(commands: Commands) -> None:
    """Add `farm run`."""
    run = command(commands, "run", "farm.commands.run:run", "run an experiment or a campaign")
    run.description = (
        "Run an experiment and say which monitor helps; or a campaign (a file with lists: workloads, "
        "classifiers, faultloads, severities, seeds), cell by cell: what its folder has already is not "
        "computed again. A run's run.json repeats it, and tells whether the readouts are the same."
    )
    experiment(run, "an experiment or a campaign (YAML), a shipped one by name, or a run's run.json")
    run.add_argument(
        "--out",
        metavar="DIR",
        help="an experiment's new folder (default: runs/NAME-001, -002, ...); a campaign's folder, new or "
        "begun (default: runs/NAME)",
    )
    run.add_argument(
        "--readouts-only",
        action="store_true",
        help="of an experiment: stop at the readouts; judge them later",
    )
    run.add_argument(
        "--pictures",
        metavar="N|none",
        help="keep so many images of each monitor's mistakes of each kind, and samples, for a report to "
        "show; none keeps no image (default: 6, or what the experiment says)",
    )
    run.add_argument(
        "--timing",
        metavar="FILE",
        help="of an experiment: write where the testbed's own time went, as JSON: identity_s, keys_s, "
        "cache_s, total_s",
    )
    run.add_argument(
        "--audit",
        action="store_true",
        help="of an experiment: list the data that your own code read and that no parameter names, as JSON",
    )
    run.add_argument(
        "--dry-run",
        action="store_true",
        help="train and write nothing: open all data, make all components, and tell what there is, how long "
        "it takes, and what would fail; of a campaign: what would be computed, and how long that takes",
    )
    run.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="of a campaign: so many processes, each with the experiment's threads (default: 1)",
    )
    run.add_argument(
        "--cluster",
        metavar="WHERE",
        help="of a campaign: compute on a Dask cluster: tcp://scheduler:8786, a scheduler file (.json), or a "
        "name in the Dask configuration (slurm, kubernetes, ...)",
    )
    run.add_argument(
        "--retry-failed", action="store_true", help="of a campaign: compute again what failed before"
    )
    everything(run)
    formatted(run, ("table", "json"))


def add_try(commands: Commands) -> None:
    """Add `farm try` and `farm init`."""
    tried = command(
        commands, "try", "farm.commands.try_out:try_out", "a first verdict on your network and images"
    )
    tried.description = (
        "Try monitors on your network, your images and some that are none of them: a sensible set of "
        "monitors that fit the network, novelty and a few corruptions. It tells the answer first, writes a "
        "report, and the experiment that it ran, to be edited."
    )
    tried.add_argument(
        "--model",
        required=True,
        metavar="M",
        help="module:function that makes the network (my_models.py here), an .onnx, .pt2 or TorchScript file",
    )
    tried.add_argument("--weights", metavar="FILE", help="its state dict (.pt, .pth or .safetensors)")
    tried.add_argument(
        "--id",
        required=True,
        metavar="DATA",
        help="images with classes: a folder, .npz, .csv or .parquet file",
    )
    tried.add_argument(
        "--ood",
        action="append",
        default=[],
        metavar="DATA",
        help="images that are of none of these classes; labels are not needed; may be repeated",
    )
    tried.add_argument(
        "--copies",
        choices=("error", "drop"),
        help="what to do with images of --id that stand there twice: drop keeps the first (default: error)",
    )
    tried.add_argument("--size", type=int, nargs=2, metavar=("H", "W"), help="resize all images to this")
    for name in ("mean", "std"):
        tried.add_argument(
            f"--{name}", type=float, nargs="+", metavar="X", help=f"the {name} a channel it was trained with"
        )
    tried.add_argument(
        "--outputs",
        choices=("logits", "probabilities"),
        help="what the network gives, of a file (default: logits)",
    )
    tried.add_argument(
        "--monitor",
        action="append",
        default=[],
        metavar="NAME",
        help="only these, by name or as '{name: ..., parameter: ...}'; may be repeated",
    )
    tried.add_argument(
        "--name",
        metavar="N",
        help="what to call all that is written: N.yaml, N.html, N-figures and runs/N (default: try, or the "
        "first free of try-2, ...)",
    )
    tried.add_argument("--seed", type=int, default=0, metavar="N", help="the seed (default: 0)")
    tried.add_argument(
        "--batch-size", type=int, default=64, metavar="N", help="images at a time (default: 64)"
    )
    tried.add_argument("--quiet", action="store_true", help="show no progress")
    formatted(tried, ("table", "json"))

    init = command(
        commands, "init", "farm.commands.init:init", "write an experiment of what lies in a folder"
    )
    init.description = (
        "Write an experiment, with a comment at each key, from what lies in a folder: images (a folder a "
        "class, .npz, .csv, .parquet), images without classes to be novel, a network (.onnx, .pt2, or a .py "
        "file with weights). Nothing is run."
    )
    init.add_argument("folder", nargs="?", default=".", metavar="DIR", help="where to look (default: here)")
    init.add_argument(
        "--out", default="experiment.yaml", metavar="FILE", help="the new file (default: experiment.yaml)"
    )


def add_streams(commands: Commands) -> None:
    """Add `farm stream` and `farm faults`."""
    stream = command(
        commands, "stream", "farm.commands.stream:stream", "watch an experiment's stream while it runs"
    )
    stream.description = (
        "Watch an experiment's stream while it runs, endless ones too (stream.length: endless): windowed "
        "measures, false alarms, detection delays; bounds of the rate of false alarms, the risk of accepted "
        "decisions and the coverage that hold at all times together, and evidence that scores have moved. "
        "Nothing is kept. Ctrl-C ends it."
    )
    experiment(stream)
    stream.add_argument("--live", action="store_true", help="update the tables while it runs")
    stream.add_argument("--length", type=int, metavar="N", help="stop after about this many instances")
    stream.add_argument(
        "--window", type=int, default=500, metavar="N", help="instances a window (default: 500)"
    )

    faults = commands.add_parser("faults", help="look at faults, or keep them as a benchmark set")
    of_faults = faults.add_subparsers(title="commands", metavar="COMMAND", required=True)
    preview = command(
        of_faults, "preview", "farm.commands.faults:preview", "draw faults, severities side by side, as PNG"
    )
    preview.add_argument(
        "faults", nargs="+", metavar="FAULT", help="a name, or '{name: ..., parameter: ...}'"
    )
    preview.add_argument("--workload", required=True, metavar="W", help="a name, or '{name: ..., ...}'")
    preview.add_argument(
        "--classifier",
        metavar="C",
        help="by name: what attacks aim at; with it novel classes that look known are shown too",
    )
    preview.add_argument("--out", required=True, metavar="FILE.png", help="the new picture")
    preview.add_argument("--images", type=int, default=2, metavar="N", help="rows a fault (default: 2)")
    preview.add_argument("--seed", type=int, default=0, metavar="N", help="the seed (default: 0)")
    preview.add_argument("--quiet", action="store_true", help="show no progress")
    write = command(
        of_faults, "write", "farm.commands.faults:write", "save an experiment's stream as a benchmark set"
    )
    experiment(write)
    write.add_argument("--out", required=True, metavar="DIR", help="the new folder")
    write.add_argument(
        "--images",
        choices=("npy", "png"),
        default="npy",
        help="one exact array, or files of 8 bits to look at (default: npy)",
    )


def add_campaigns(commands: Commands) -> None:
    """Add `farm status`, `farm verify` and `farm export`."""
    status = command(commands, "status", "farm.commands.campaign:status", "tell how far a campaign is")
    status.add_argument("folder", metavar="DIR", help="a campaign's folder")
    status.add_argument("--watch", action="store_true", help="look again every 2 s until it ends, or Ctrl-C")
    formatted(status, ("table", "json"))

    verify = command(
        commands, "verify", "farm.commands.campaign:verify", "check that a campaign or a run is whole"
    )
    verify.description = (
        "Check every file's checksum, the rows, and that each cell is the one that was planned; tell what "
        "failed, orphans, and cells made with different versions, processors, threads or code. The exit code "
        "is 1 if something is damaged or missing."
    )
    verify.add_argument("folder", metavar="DIR", help="a campaign's folder, or a run's")
    formatted(verify, ("table", "json"))

    export = command(
        commands, "export", "farm.commands.campaign:export", "write all readouts to one tidy file"
    )
    export.description = (
        "Write one row an instance and monitor: the columns of the cell (cell, title, workload, classifier, "
        "seed, batch_size), of the instance and of the alarm. 'workload' and 'classifier' are the campaign's "
        "names; an image's own workload, which may be another one, is 'image_workload'. Hidden layers are "
        "left out, and monitors where they failed. 'farm judge' reads the CSV of one cell or run; in it, "
        "text that a spreadsheet would compute (a name that begins with '=') has an apostrophe before it."
    )
    export.add_argument("folder", metavar="DIR", help="a campaign's folder, or a run's")
    export.add_argument("--format", choices=("parquet", "csv"), required=True, help="what to write")
    export.add_argument("--out", metavar="FILE", help="the new file (default: DIR's name, here)")


def add_cache(commands: Commands) -> None:
    """Add `farm cache` and `farm cache prune`."""
    cache = command(
        commands,
        "cache",
        "farm.commands.cache:show",
        "tell what is kept to be found again, and how much it takes",
    )
    formatted(cache, ("table", "json"))
    of_cache = cache.add_subparsers(title="commands", metavar="COMMAND")
    prune = command(
        of_cache,
        "prune",
        "farm.commands.cache:prune",
        "remove what nobody will use again, and what is asked for",
    )
    prune.description = (
        "Remove what killed processes and other versions left behind; what is older, or more, than is asked "
        "for, least recently used first; or, of a campaign, the cells that it does not ask for any more."
    )
    prune.add_argument("campaign", nargs="?", metavar="DIR", help="a campaign's folder: its orphaned cells")
    prune.add_argument("--older-than", metavar="AGE", help="not used for so long, such as 30d or 12h")
    prune.add_argument("--to", metavar="SIZE", help="until no more than this is left, such as 5GB")
    prune.add_argument("--kind", metavar="K", help="only of this kind, as `farm cache` calls it")
    prune.add_argument("--dry-run", action="store_true", help="only tell what would be removed")
    formatted(prune, ("table", "json"))


def add_bench(commands: Commands) -> None:
    """Add `farm bench`."""
    bench = command(
        commands, "bench", "farm.commands.bench:bench", "measure what watching costs on this machine"
    )
    bench.description = (
        "Measure what monitors, engines, guards, faults and runs cost here: each as a ratio to the network's "
        "bare forward pass, or to what else the case names, both run in turn. The first time it trains a "
        "small network."
    )
    bench.add_argument(
        "--only",
        nargs="+",
        metavar="PART",
        choices=("watching", "gradients", "guard", "stream", "large", "peers", "runs"),
        help="measure these parts alone: watching, gradients, guard, stream, large, peers, runs",
    )
    bench.add_argument("--rounds", type=int, default=40, metavar="N", help="blocks a case (default: 40)")
    bench.add_argument(
        "--large",
        default="torchvision.models:resnet50",
        metavar="FACTORY",
        help="what makes the large network, for 224 x 224 images and 1,000 classes (default: %(default)s)",
    )
    bench.add_argument("--quiet", action="store_true", help="show no progress")
    formatted(bench, ("table", "json"))
