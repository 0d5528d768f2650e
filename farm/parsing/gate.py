"""Commands that hold runs to what is asked of them: check."""

from __future__ import annotations

from farm.parsing.common import Commands, command, formatted


def add_check(commands: Commands) -> None:
    """Add `farm check`."""
    check = command(
        commands, "check", "farm.commands.check:check", "does a run meet its criteria: a gate for CI"
    )
    check.description = (
        "Judge the monitors of one or more runs by a file of criteria, such as 'overall.mcc >= 0.4 on "
        "category:noise'. A criterion passes only where the confidence bound meets it, fails only where the "
        "other bound does not, and is undecided in between. Exit code: 0 all passed; 1 one failed, or a "
        "monitor or a campaign's cell did; 3 undecided and none failed; 2 a criterion that cannot be judged."
    )
    check.add_argument(
        "runs", metavar="RUN", nargs="+", help="a folder that 'farm run' wrote: a run's or a campaign's"
    )
    check.add_argument("--criteria", metavar="FILE", required=True, help="the criteria (YAML)")
    check.add_argument("--junit", metavar="FILE.xml", help="write the verdicts as JUnit XML, too")
    check.add_argument("--markdown", metavar="FILE.md", help="write them as Markdown, for a job's summary")
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
