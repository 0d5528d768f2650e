"""Commands about components: fit, decide, test, new, list, describe."""

from __future__ import annotations

from farm.commands.parsing.common import KINDS, SCENARIO, Commands, command, experiment, formatted, plural


def add_guard(commands: Commands) -> None:
    """Add `farm fit` and `farm decide`."""
    fit = command(
        commands, "fit", "farm.commands.guard:fit", "fit one monitor and save it as a folder, ready to work"
    )
    fit.description = (
        "Fit an experiment's classifier and one of its monitors, and save them with policy, fallback and "
        "calibration as one folder without pickle. Faults and stream are left out. 'farm decide' uses it."
    )
    experiment(fit)
    fit.add_argument("--monitor", metavar="NAME", help="which of its monitors, if it has several")
    fit.add_argument(
        "--engine",
        choices=("auto", "eager", "compiled", "onnx"),
        help="what runs the network: onnx, compiled or eager; auto, the default, is onnx where that gives "
        "what the network gives",
    )
    fit.add_argument("--out", required=True, metavar="DIR", help="the new folder")

    decide = command(
        commands, "decide", "farm.commands.guard:decide", "accept or cancel what a classifier says of images"
    )
    decide.description = (
        "Decide on images with a folder of 'farm fit': accept or cancel, the class, its score against the "
        "threshold, and why. Images are taken in the order given, as one stream; --track says that they show "
        "one object. An image that cannot be read, or on which the monitor fails, is not accepted, and the "
        "others are decided on all the same. The exit code is 0 whatever the decisions are, 1 if an image "
        "failed. A guard's folder may have its maker's code in it (code/), which runs: use only guards that "
        "you trust."
    )
    decide.add_argument("guard", metavar="DIR", help="a folder that 'farm fit' wrote")
    decide.add_argument("images", metavar="IMAGE", nargs="+", help="an image file, or a folder of them")
    decide.add_argument(
        "--track",
        metavar="NAME",
        help="all these images are consecutive views of one object, in the order given: for what looks back "
        "within tracks (monitor 'flicker', policies with 'within: track', fallback 'last'); without it each "
        "image stands alone",
    )
    decide.add_argument(
        "--why",
        action="store_true",
        help="explain accepted images as well, and tell what weighs most (JSON always has it)",
    )
    formatted(decide, ("table", "json", "csv"))


def add_own(commands: Commands) -> None:
    """Add `farm test-monitor`, `farm test-faultload` and `farm new`."""
    tried = {
        "monitor": "scores, determinism, saving and restoring, no use of labels, no change of the "
        "classifier, strange inputs, bounded memory. It is tried on scanned digits and a small LeNet",
        "faultload": "images stay images, labels stay right, severities change more and more, the same image "
        "whatever the batch and the process, drawn by the seed. It is tried on a few dozen made-up pictures",
    }
    for kind, what in tried.items():
        check = command(
            commands,
            f"test-{kind}",
            "farm.commands.own:test_component",
            f"check a {kind}, anybody's, against the rules of all {kind}s",
        )
        check.description = (
            f"Check a {kind} against the rules that all {kind}s keep: {what}. The exit code is 1 if it "
            "breaks a rule."
        )
        check.set_defaults(kind=kind)
        check.add_argument(
            "name", metavar="NAME|MODULE:CLASS", help="a registered name, or a class of your own"
        )
        check.add_argument(
            "--set",
            metavar="KEY=VALUE",
            action="append",
            default=[],
            help="set one of its parameters; may be repeated",
        )
        formatted(check, ("table", "json"))

    new = commands.add_parser("new", help="write a package of your own to begin with")
    kinds = new.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for kind in (*tried, "model"):
        text = f"write a working package with one {kind}, its test and its entry point"
        added = command(kinds, kind, "farm.commands.own:new", text)
        added.set_defaults(kind=kind)
        added.add_argument("name", metavar="NAME", help=f"its name, e.g. my-{kind}")
        added.add_argument("--out", metavar="DIR", help="the new folder (default: NAME)")


def add_catalogue(commands: Commands) -> None:
    """Add `farm list` and `farm describe`."""
    listing = command(
        commands, "list", "farm.commands.catalogue:list_components", "list what there is by name"
    )
    listing.add_argument("kind", nargs="?", choices=KINDS, type=plural, metavar="KIND", help=", ".join(KINDS))
    formatted(listing, ("table", "json"))

    describe = command(
        commands, "describe", "farm.commands.catalogue:describe", "tell what a component is and takes"
    )
    singular = [*KINDS.values(), SCENARIO]
    describe.add_argument(
        "kind", choices=singular, type=lambda k: KINDS.get(k, k), metavar="KIND", help=", ".join(singular)
    )
    describe.add_argument(
        "name", metavar="NAME", help="a registered name, or module:Class; of a scenario, its file"
    )
    describe.add_argument(
        "--images",
        metavar="FILE.png",
        help="load the workload, tell what is in it, and draw samples of it; draw the scenario's timeline",
    )
    describe.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="with --images: set one of the workload's parameters; may be repeated",
    )
    formatted(describe, ("table", "json"))
