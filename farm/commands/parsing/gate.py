"""Commands that hold runs to what is asked of them: check, baseline."""

from __future__ import annotations

from farm.commands.parsing.common import RUNS, Commands, command, formatted


def add_check(commands: Commands) -> None:
    """Add `farm check`."""
    check = command(
        commands, "check", "farm.commands.check:check", "does a run meet its criteria: a gate for CI"
    )
    check.description = (
        "Judge the monitors of one or more runs by a file of criteria, such as 'overall.mcc >= 0.4 on "
        "category:noise'. A criterion passes only where the confidence bound meets it, fails only where the "
        "other bound does not, and is undecided in between. Exit code: 0 all passed; 1 one failed, or could "
        "not be judged because a monitor or a campaign's cell failed; 3 undecided and none failed; 2 a "
        "criterion that makes no sense or names nothing that was measured."
    )
    check.add_argument("runs", metavar="RUN", nargs="+", help=RUNS)
    check.add_argument("--criteria", metavar="FILE", required=True, help="the criteria (YAML)")
    check.add_argument(
        "--reference",
        metavar="RUN",
        help="what drift is measured against: a run or a log (default: what the file says)",
    )
    check.add_argument("--junit", metavar="FILE.xml", help="write the verdicts as JUnit XML, too")
    check.add_argument("--markdown", metavar="FILE.md", help="write them as Markdown, for a job's summary")
    check.add_argument(
        "--record", metavar="FILE.html", help="write them as a type-approval record, to print and to sign"
    )
    check.add_argument(
        "--undecided",
        choices=("report", "pass", "fail"),
        help="what becomes of what is undecided: exit code 3, 0 or 1 (default: what the file says)",
    )
    check.add_argument(
        "--replicates", type=int, metavar="N", help="of the resampling (default: what the file says)"
    )
    check.add_argument(
        "--seed", type=int, metavar="N", help="of the resampling (default: what the file says)"
    )
    formatted(check, ("table", "json"))


def add_baseline(commands: Commands) -> None:
    """Add `farm baseline save` and `compare`."""
    baseline = commands.add_parser("baseline", help="keep what monitors say, and compare later runs")
    of_baselines = baseline.add_subparsers(title="commands", metavar="COMMAND", required=True)
    save = command(of_baselines, "save", "farm.commands.baseline:save", "keep a run as a small text file")
    save.description = (
        "Write a run's measures and, one bit an instance, what its monitors said, as text that reads well in "
        "a review's diff. A baseline that is there is replaced, and what changed is told; no other file is."
    )
    save.add_argument("run", metavar="RUN", nargs="+", help=RUNS)
    save.add_argument("--out", metavar="FILE", help="where (default: baselines/NAME.yaml)")
    compare = command(
        of_baselines, "compare", "farm.commands.baseline:compare", "how a run differs from its baseline"
    )
    compare.description = (
        "Compare a run with its baseline instance by instance: each measure now minus then with a paired "
        "interval, and which instances are newly missed. Both have to be on the same stream. The exit code "
        "is 0 whatever the result: 'farm check' is the gate."
    )
    compare.add_argument("run", metavar="RUN", nargs="+", help=RUNS)
    compare.add_argument(
        "--baseline", required=True, metavar="FILE|RUN", help="of 'farm baseline save', or as RUN is"
    )
    compare.add_argument(
        "--measure",
        action="append",
        default=[],
        metavar="M",
        help="may be repeated (default: overall.mcc, specific.fpr, specific.fnr and residual_hazard)",
    )
    compare.add_argument(
        "--monitor", action="append", default=[], metavar="NAME", help="only these; may be repeated"
    )
    compare.add_argument("--level", type=float, default=0.95, metavar="L", help="default: 0.95")
    compare.add_argument("--replicates", type=int, default=2000, metavar="N", help="default: 2000")
    compare.add_argument("--seed", type=int, default=0, metavar="N", help="of the resampling (default: 0)")
    formatted(compare, ("table", "json", "markdown"))
