"""Commands that look at what was run: compare, judge, plan, anova, inspect."""

from __future__ import annotations

from farm.commands.parsing.common import FORMATS, RUNS, Commands, command, everything, formatted

PRICES = (
    "your prices (YAML), such as {wrong: 100, cancelled_right: 1, cancelled_wrong: 1, by_label: "
    "{pedestrian: 1000}}; also by_pair: {LABEL: {PREDICTED: PRICE}}, groups: {NAME: [LABEL, ...]}"
)


def add_judging(commands: Commands) -> None:
    """Add `farm compare`, `judge` and `plan`."""
    compare = command(
        commands, "compare", "farm.commands.results:compare", "which monitor is better, and how surely"
    )
    compare.description = (
        "Say which monitor helps against each category of faults, and compare all of one or more runs: "
        "ranked with intervals, those marked that cannot be told from the best, and one plain sentence a "
        "category. Runs on the same workload, classifier and fault are repetitions of one benchmark set."
    )
    compare.add_argument("runs", metavar="RUN", nargs="+", help=RUNS)
    compare.add_argument(
        "--measure",
        default="overall.mcc",
        metavar="M",
        help="e.g. specific.fnr, auroc, or along time detection_delay, missed_onsets (default: overall.mcc)",
    )
    compare.add_argument(
        "--false-alarms",
        type=float,
        metavar="N",
        help="set each monitor's threshold so that it has N false alarms a thousand ID instances outside of "
        "faults",
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
    compare.add_argument(
        "--control",
        metavar="NAME",
        help="ask of each other monitor whether it is better than this one, such as max-softmax (Holm's "
        "correction)",
    )
    compare.add_argument("--alpha", type=float, default=0.05, metavar="A", help="default: 0.05")
    compare.add_argument(
        "--undefined",
        default="zero",
        metavar="HOW",
        help="what an undefined value counts as in ranks: zero, drop or error (default: zero)",
    )
    compare.add_argument(
        "--replicates",
        type=int,
        metavar="N",
        help="of the resampling (default: at least 2000, more for many monitors)",
    )
    compare.add_argument("--seed", type=int, default=0, metavar="N", help="of the resampling (default: 0)")
    compare.add_argument(
        "--rope",
        type=float,
        metavar="R",
        help="a difference too small to matter: also tell how probable a larger one is (Bayesian)",
    )
    compare.add_argument(
        "--systems",
        action="store_true",
        help="compare whole designs instead: classifier, monitor, policy and fallback; hazards, decisions "
        "acted upon and costs, in a thousand decisions",
    )
    compare.add_argument("--costs", metavar="FILE", help=f"with --systems: {PRICES}")
    compare.add_argument(
        "--prevalence",
        type=float,
        metavar="P",
        help="with --systems: mix to this share of instances under a fault, such as 0.01 (default: as in the "
        "streams)",
    )
    compare.add_argument(
        "--cd", metavar="FILE", help="draw the critical-difference diagram (.svg, .png or .pdf)"
    )
    compare.add_argument("--out", metavar="DIR", help="keep what was found in a new folder, for farm.load")
    compare.add_argument("--latex", action="store_true", help="the same as --format latex")
    compare.add_argument(
        "--table",
        choices=("values", "ranks", "tests", "pairs", "guarantees"),
        help="print one table alone: values with intervals; mean ranks over sets; Friedman's test and the "
        "critical difference; p of each pair, by Holm, Shaffer and Nemenyi; what calibrations promised, and "
        "what was realised (default: all; of CSV, values)",
    )
    formatted(compare, FORMATS)

    judge = command(
        commands, "judge", "farm.commands.results:judge", "judge runs, or readouts of your own (CSV, Parquet)"
    )
    judge.description = (
        "Judge readouts from anywhere. Columns of a log, which has one row an instance (and monitor): "
        "predicted, alarm; label (-1: no right answer exists), is_ood; optionally monitor, category, "
        "faultload, severity, score, confidence, cancelled, decision (the class acted upon, -1 where none), "
        "id, track (whose instances resemble each other), timestamp (their order), label_chance (with which "
        "chance an instance was chosen for a label, where few have one). Of a log with neither labels nor "
        "is_ood, and of any with --by or --reference, it tells how often monitors alarm."
    )
    judge.add_argument("readouts", metavar="RUN", nargs="+", help=RUNS)
    everything(judge)
    judge.add_argument(
        "--by",
        action="append",
        default=[],
        metavar="WHAT",
        help="tell alarm rates by class, time, or a condition such as weather, of a log any other column; "
        "may be repeated (default: class and time)",
    )
    judge.add_argument(
        "--domain",
        metavar="FILE",
        help="tell instead what scenarios there are, of those that a file of conditions and restrictions "
        "says there could be, and what monitors make of each; most of it needs no label",
    )
    judge.add_argument(
        "--k",
        type=int,
        action="append",
        metavar="K",
        help="beside --domain: so many conditions at a time; may be repeated (default: 2)",
    )
    judge.add_argument(
        "--reference",
        metavar="RUN",
        help="tell whether scores and alarm rates have moved against the ID instances of a run or log, and, "
        "where these have labels, the classifier's accuracy without labels; of a campaign's folder also how "
        "far each estimate of it is off under faults",
    )
    formatted(judge, FORMATS)

    plan = command(
        commands, "plan", "farm.commands.plan:plan", "tell how large an experiment must be to be sure enough"
    )
    plan.description = (
        "Tell how many instances it takes to know a rate, how many benchmark sets to tell monitors apart, "
        "how many onsets to bound a detection delay, how much validation data a threshold with a guarantee. "
        "With RUN: how sure that run's rates are, and what it "
        "would take to be surer."
    )
    plan.add_argument("run", metavar="RUN", nargs="*", help=RUNS)
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
    plan.add_argument(
        "--guarantee",
        metavar="METHOD",
        help="set a threshold with a guarantee: conformal, bounded, risk, or learn-then-test, told by the "
        "options that follow",
    )
    plan.add_argument(
        "--accept", type=float, metavar="A", help="the share of ID data to be accepted (default: 0.95)"
    )
    plan.add_argument("--confidence", type=float, metavar="C", help="how surely, such as 0.99")
    plan.add_argument(
        "--risk", type=float, metavar="R", help="the share of accepted decisions that may be wrong"
    )
    plan.add_argument(
        "--hazard", type=float, metavar="H", help="the share of decisions that may be wrong and accepted"
    )
    plan.add_argument(
        "--n", type=int, metavar="N", help="also tell what N instances, or tracks, could promise at best"
    )
    plan.add_argument("--delay-bound", action="store_true", help="bound the 95th percentile of the delays")
    plan.add_argument(
        "--missed", type=int, default=0, metavar="M", help="onsets that may be missed (default: 0)"
    )
    formatted(plan, ("table", "json"))


def add_report(commands: Commands) -> None:
    """Add `farm report`."""
    report = command(
        commands, "report", "farm.commands.report:report", "write what was found as a page (HTML)"
    )
    report.description = (
        "Write one HTML page of what runs found: which monitor helps, how surely, where it is worst and why, "
        "down to single images. It needs no network. Figures are written beside it as SVG and PNG. Of two "
        "runs of the same streams the page is of the second, and tells what changed since the first."
    )
    report.add_argument("runs", metavar="RUN", nargs="+", help=RUNS)
    report.add_argument(
        "--out",
        default="report.html",
        metavar="FILE",
        help="the page; figures go to FILE-figures beside it; an earlier report there is replaced "
        "(default: report.html)",
    )
    report.add_argument("--open", action="store_true", help="show it in the browser")


def add_serve(commands: Commands) -> None:
    """Add `farm serve`."""
    serve = command(
        commands,
        "serve",
        "farm.commands.serve:serve",
        "show runs and campaigns in the browser, as they come in",
    )
    serve.description = (
        "Show the runs and campaigns of a folder, and of the folders in it, in the browser: a campaign that "
        "is running as it fills, and the report of any. Only this machine can see them, and nothing is "
        "written. Ctrl-C ends it."
    )
    serve.add_argument(
        "folder", metavar="FOLDER", nargs="?", default="runs", help="what is shown (default: runs)"
    )
    serve.add_argument(
        "--port", type=int, default=8765, metavar="N", help="where; 0 takes a free one (default: 8765)"
    )
    serve.add_argument("--open", action="store_true", help="show it in the browser")


def add_looking(commands: Commands) -> None:
    """Add `farm anova` and `inspect`."""
    anova = command(
        commands, "anova", "farm.commands.anova:anova", "what a measure depends on, over repeated runs"
    )
    anova.description = (
        "Split the variance of a measure between factors. Values of one seed belong together: where each "
        "seed has every combination of levels the analysis is of repeated measures, elsewhere a mixed "
        "model; of a single run, benchmark sets take the place of seeds."
    )
    anova.add_argument(
        "runs", metavar="RUN", nargs="+", help=f"five or more, which differ in their seeds: {RUNS}"
    )
    anova.add_argument(
        "--factor",
        action="append",
        default=[],
        metavar="F",
        help="monitor, workload, classifier, faultload, category or severity; one to three "
        "(default: monitor and faultload; of a measure of the classifier, classifier and faultload)",
    )
    anova.add_argument("--interactions", choices=("two-way", "none", "all"), default="two-way")
    anova.add_argument(
        "--measure",
        default="overall.mcc",
        metavar="M",
        help="default: overall.mcc; classifier_accuracy, classifier_brier_mean, classifier_brier_sum, "
        "classifier_confidence_auroc, classifier_ece, classifier_nll, box_mae, box_iou, box_nll and box_ece "
        "are of the classifier: one value a run",
    )
    anova.add_argument("--monitor", action="append", default=[], metavar="NAME", help="only these")
    anova.add_argument("--alpha", type=float, default=0.05, metavar="A", help="default: 0.05")
    anova.add_argument(
        "--table",
        choices=("effects", "levels", "differences", "sphericity", "blocks"),
        help="print one table alone (default: all; of CSV, effects)",
    )
    formatted(anova, FORMATS)

    inspect = command(
        commands, "inspect", "farm.commands.results:inspect", "look closer: classes, costs, confidence, time"
    )
    inspect.add_argument("run", metavar="RUN", nargs="+", help=RUNS)
    inspect.add_argument(
        "--look",
        action="append",
        default=[],
        choices=("classes", "scores", "confidence", "time", "episodes", "delays"),
        help="class by class; detection by scores; the classifier's confidence and what scores sort out; "
        "false alarms along time; how soon each onset was noticed; delays over thresholds, at equal false "
        "alarms",
    )
    inspect.add_argument(
        "--deadline",
        metavar="D",
        help="with --look episodes: tell the share of onsets noticed within D instances, or seconds: 0.5s",
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
        "--costs",
        metavar="FILE",
        help=PRICES,
    )
    inspect.add_argument(
        "--label-free",
        action="store_true",
        help="how far estimates of the classifier's accuracy without labels are off under each fault",
    )
    inspect.add_argument(
        "--images",
        choices=("missed", "cancelled", "ood", "id"),
        metavar="KIND",
        help="draw the worst instances of one run: missed (wrong and accepted), cancelled (right and "
        "cancelled), ood or id; the run's stream is made again",
    )
    inspect.add_argument("--monitor", metavar="NAME", help="with --images: by whose scores and decisions")
    inspect.add_argument(
        "--number", type=int, default=25, metavar="N", help="with --images: how many (default: 25)"
    )
    inspect.add_argument("--out", metavar="FILE.png", help="with --images: the new picture")
    formatted(inspect, FORMATS)
