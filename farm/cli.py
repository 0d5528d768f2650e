"""The command line: `farm run`, `compare`, `judge`, `list`, `describe`.

Only the parser lives here, so that `farm --help` answers at once; each command imports what it needs when it
is called. Exit codes: 0 done, 1 something failed while it ran, 2 the user's mistake, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version

from farm.errors import FarmError

KINDS = {
    "monitors": "monitor",
    "models": "model",
    "faultloads": "faultload",
    "schedules": "schedule",
    "workloads": "workload",
    "policies": "policy",
}
FORMATS = ("table", "json", "csv", "latex", "markdown")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; give its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    module, function = options.command.split(":")
    try:
        code: int = getattr(import_module(module), function)(options)
        sys.stdout.flush()
        return code
    except FarmError as error:
        if options.debug:
            raise
        print(f"farm: {' '.join(str(error).split())}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        if options.debug:
            raise
        print("farm: interrupted; nothing half-done was left behind", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Whoever read our output (head, less) has gone; that is no failure of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if options.debug:
            raise
        what = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"farm: unexpected failure: {what}; run again with --debug and report it", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="farm",
        description="Find out whether a runtime safety monitor makes an image classifier safer, "
        "against which faults, how surely, and at what cost.",
        epilog="Begin with: farm run quickstart",
    )
    parser.add_argument("--version", action="version", version=f"farm-testbed {version('farm-testbed')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    run = _command(commands, "run", "farm.commands.run:run", "run an experiment and judge its readouts")
    _experiment(run)
    run.add_argument("--out", metavar="DIR", help="the run's new folder (default: runs/NAME-001, -002, ...)")
    run.add_argument("--readouts-only", action="store_true", help="stop at the readouts; judge them later")

    stream = _command(
        commands, "stream", "farm.commands.stream:stream", "watch an experiment's stream while it runs"
    )
    stream.description = (
        "Watch an experiment's stream while it runs, endless ones too (stream.length: endless): windowed "
        "measures, false alarms, detection delays. Nothing is kept. Ctrl-C ends it."
    )
    _experiment(stream)
    stream.add_argument("--live", action="store_true", help="update the table while it runs")
    stream.add_argument("--length", type=int, metavar="N", help="stop after about this many instances")
    stream.add_argument(
        "--window", type=int, default=500, metavar="N", help="instances a window (default: 500)"
    )

    faults = commands.add_parser("faults", help="look at faults, or keep them as a benchmark set")
    of_faults = faults.add_subparsers(title="commands", metavar="COMMAND", required=True)
    preview = _command(
        of_faults, "preview", "farm.commands.faults:preview", "draw faults, severities side by side, as PNG"
    )
    preview.add_argument(
        "faults", nargs="+", metavar="FAULT", help="a name, or '{name: ..., parameter: ...}'"
    )
    preview.add_argument("--workload", required=True, metavar="W", help="a name, or '{name: ..., ...}'")
    preview.add_argument("--classifier", metavar="C", help="what attacks aim at, by name")
    preview.add_argument("--out", required=True, metavar="FILE.png", help="the new picture")
    preview.add_argument("--images", type=int, default=2, metavar="N", help="rows a fault (default: 2)")
    preview.add_argument("--seed", type=int, default=0, metavar="N", help="the seed (default: 0)")
    preview.add_argument("--quiet", action="store_true", help="show no progress")
    write = _command(
        of_faults, "write", "farm.commands.faults:write", "save an experiment's stream as a benchmark set"
    )
    _experiment(write)
    write.add_argument("--out", required=True, metavar="DIR", help="the new folder")
    write.add_argument(
        "--images",
        choices=("npy", "png"),
        default="npy",
        help="one exact array, or files of 8 bits to look at (default: npy)",
    )

    fit = _command(
        commands, "fit", "farm.commands.guard:fit", "fit one monitor and save it as a folder, ready to work"
    )
    fit.description = (
        "Fit an experiment's classifier and one of its monitors, and save them with policy, fallback and "
        "calibration as one folder without pickle. Faults and stream are left out. 'farm decide' uses it."
    )
    _experiment(fit)
    fit.add_argument("--monitor", metavar="NAME", help="which of its monitors, if it has several")
    fit.add_argument("--out", required=True, metavar="DIR", help="the new folder")

    decide = _command(
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
    _format(decide, ("table", "json", "csv"))

    compare = _command(
        commands, "compare", "farm.commands.results:compare", "which monitor is better, and how surely"
    )
    compare.description = (
        "Compare the monitors of one or more runs: ranked with intervals, those marked that cannot be told "
        "from the best, and one plain sentence a category. Runs on the same workload, classifier and fault "
        "are repetitions of one benchmark set."
    )
    compare.add_argument("runs", metavar="RUN", nargs="+", help="a folder that 'farm run' wrote")
    compare.add_argument(
        "--measure",
        default="overall.mcc",
        metavar="M",
        help="e.g. specific.fnr, auroc (default: overall.mcc)",
    )
    compare.add_argument(
        "--by",
        default="faultload",
        metavar="WHAT",
        help="faultload, category, severity or workload (default: faultload)",
    )
    compare.add_argument(
        "--monitor",
        action="append",
        default=[],
        metavar="NAME",
        help="compare only these; may be repeated (default: all)",
    )
    compare.add_argument("--alpha", type=float, default=0.05, metavar="A", help="default: 0.05")
    compare.add_argument(
        "--undefined",
        default="zero",
        metavar="HOW",
        help="what an undefined value counts as in ranks: zero, drop or error (default: zero)",
    )
    compare.add_argument(
        "--replicates", type=int, default=2000, metavar="N", help="of the resampling (default: 2000)"
    )
    compare.add_argument("--seed", type=int, default=0, metavar="N", help="of the resampling (default: 0)")
    compare.add_argument(
        "--rope",
        type=float,
        metavar="R",
        help="a difference too small to matter: also tell how probable a larger one is (Bayesian)",
    )
    compare.add_argument(
        "--cd", metavar="FILE", help="draw the critical-difference diagram (.svg, .png or .pdf)"
    )
    compare.add_argument("--latex", action="store_true", help="the same as --format latex")
    _format(compare, FORMATS)

    judge = _command(
        commands, "judge", "farm.commands.results:judge", "judge runs, or readouts of your own (CSV files)"
    )
    judge.description = (
        "Judge readouts from anywhere. Columns of a CSV file: predicted, alarm; label (-1: no right answer "
        "exists), is_ood; optionally monitor, category, faultload, severity, score, confidence, cancelled, "
        "decision (the class acted upon, -1 where none), id."
    )
    judge.add_argument(
        "readouts",
        metavar="RUN|FILE.csv",
        nargs="+",
        help="a folder that 'farm run' wrote, or a CSV file with one row an instance (and monitor)",
    )
    _format(judge, FORMATS)

    plan = _command(
        commands, "plan", "farm.commands.plan:plan", "tell how large an experiment must be to be sure enough"
    )
    plan.description = (
        "Tell how many instances it takes to know a rate, how many benchmark sets to tell monitors apart, "
        "how many onsets to bound a detection delay. With RUN: how sure that run's rates are, and what it "
        "would take to be surer."
    )
    plan.add_argument("run", metavar="RUN", nargs="?", help="a folder that 'farm run' wrote")
    plan.add_argument(
        "--half-width", type=float, metavar="W", help="know a rate to within +-W, such as 0.02 (2 points)"
    )
    plan.add_argument("--rate", type=float, metavar="R", help="the rate expected (default: the worst, 0.5)")
    plan.add_argument("--fpr", type=float, metavar="R", help="the share of ID instances expected to alarm")
    plan.add_argument(
        "--fnr", type=float, metavar="R", help="the share of OOD instances expected to be missed"
    )
    plan.add_argument("--ood-share", type=float, metavar="S", help="the stream's share of OOD instances")
    plan.add_argument("--level", type=float, default=0.95, metavar="L", help="of intervals (default: 0.95)")
    plan.add_argument(
        "--rank-difference", type=float, metavar="D", help="tell monitors apart whose mean ranks differ by D"
    )
    plan.add_argument("--monitors", type=int, metavar="K", help="how many monitors are ranked")
    plan.add_argument(
        "--alpha", type=float, default=0.05, metavar="A", help="of the test of ranks (default: 0.05)"
    )
    plan.add_argument("--delay-bound", action="store_true", help="bound the 95th percentile of the delays")
    plan.add_argument(
        "--missed", type=int, default=0, metavar="M", help="onsets that may be missed (default: 0)"
    )
    _format(plan, ("table", "json"))

    check = _command(
        commands,
        "test-monitor",
        "farm.commands.monitors:test_monitor",
        "check a monitor, anybody's, against the rules of all monitors",
    )
    check.description = (
        "Check a monitor against the rules that all monitors keep: scores, determinism, saving and "
        "restoring, no use of labels, no change of the classifier, strange inputs, bounded memory. It is "
        "tried on scanned digits and a small LeNet. The exit code is 1 if it breaks a rule."
    )
    check.add_argument("name", metavar="NAME|MODULE:CLASS", help="a registered name, or a class of your own")
    check.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="set one of its parameters; may be repeated",
    )
    _format(check, ("table", "json"))

    new = commands.add_parser("new", help="write a package of your own to begin with")
    kinds = new.add_subparsers(title="commands", metavar="COMMAND", required=True)
    new_monitor = _command(
        kinds,
        "monitor",
        "farm.commands.monitors:new_monitor",
        "write a working package with one monitor, its test and its entry point",
    )
    new_monitor.add_argument("name", metavar="NAME", help="its name, e.g. my-monitor")
    new_monitor.add_argument("--out", metavar="DIR", help="the new folder (default: NAME)")

    anova = _command(
        commands, "anova", "farm.commands.anova:anova", "what a measure depends on, over repeated runs"
    )
    anova.add_argument("runs", metavar="RUN", nargs="+", help="runs that differ in their seeds, at least two")
    anova.add_argument(
        "--factor",
        action="append",
        default=[],
        metavar="F",
        help="monitor, workload, classifier, faultload, category or severity; one to three "
        "(default: monitor and faultload)",
    )
    anova.add_argument("--interactions", choices=("two-way", "none", "all"), default="two-way")
    anova.add_argument("--measure", default="overall.mcc", metavar="M", help="default: overall.mcc")
    anova.add_argument("--monitor", action="append", default=[], metavar="NAME", help="only these")
    anova.add_argument("--alpha", type=float, default=0.05, metavar="A", help="default: 0.05")
    _format(anova, ("table", "json"))

    inspect = _command(
        commands, "inspect", "farm.commands.inspect:inspect", "look closer: classes, costs, confidence, time"
    )
    inspect.add_argument("run", metavar="RUN", help="a folder that 'farm run' wrote")
    inspect.add_argument(
        "--look",
        action="append",
        default=[],
        choices=("classes", "scores", "confidence", "time"),
        help="class by class; detection by scores; the classifier's confidence and what scores sort out; "
        "false alarms along time",
    )
    inspect.add_argument(
        "--ood-share",
        type=float,
        action="append",
        default=[],
        metavar="P",
        help="re-weight to this share of OOD instances, e.g. 0.001; may be repeated",
    )
    inspect.add_argument(
        "--pair", nargs=2, metavar=("A", "B"), help="two monitors on the same instances (McNemar's test)"
    )
    inspect.add_argument(
        "--costs", metavar="FILE", help="prices (YAML): wrong, cancelled_right, by_label, by_pair, groups"
    )
    _format(inspect, ("table", "json", "csv"))

    listing = _command(
        commands, "list", "farm.commands.catalogue:list_components", "list what there is by name"
    )
    listing.add_argument(
        "kind", nargs="?", choices=KINDS, type=_plural, metavar="KIND", help=", ".join(KINDS)
    )
    _format(listing, ("table", "json"))

    describe = _command(
        commands, "describe", "farm.commands.catalogue:describe", "tell what a component is and takes"
    )
    singular = list(KINDS.values())
    describe.add_argument(
        "kind", choices=singular, type=lambda k: KINDS.get(k, k), metavar="KIND", help=", ".join(singular)
    )
    describe.add_argument("name", metavar="NAME", help="a registered name, or module:Class")
    describe.add_argument(
        "--images", metavar="FILE.png", help="load the workload, tell what is in it, and draw samples of it"
    )
    describe.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="with --images: set one of the workload's parameters; may be repeated",
    )
    _format(describe, ("table", "json"))
    return parser


def _experiment(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "experiment", metavar="FILE|NAME", help="an experiment file (YAML), or a shipped one by name"
    )
    command.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="set one key, e.g. stream.ood_share=0.2 or monitors.0.tau=0.1; may be repeated",
    )
    command.add_argument("--quiet", action="store_true", help="show no progress")


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, target: str, text: str
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    command.add_argument("--debug", action="store_true", help="show the traceback of an error")
    command.set_defaults(command=target)
    return command


def _plural(kind: str) -> str:
    return next((plural for plural, singular in KINDS.items() if singular == kind), kind)


def _format(command: argparse.ArgumentParser, formats: Sequence[str]) -> None:
    command.add_argument("--format", choices=formats, default="table", help="how to print (default: table)")
