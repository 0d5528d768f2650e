"""Commands that look at data before anything is run: scenarios."""

from __future__ import annotations

from farm.commands.parsing.common import FORMATS, Commands, command, formatted


def add_scenarios(commands: Commands) -> None:
    """Add `farm scenarios`."""
    scenarios = command(
        commands,
        "scenarios",
        "farm.commands.scenarios:scenarios",
        "which combinations of conditions were never recorded, and what to record next",
    )
    scenarios.description = (
        "Tell which combinations of K conditions a table of recorded scenarios has, of all that restrictions "
        "leave possible, which it lacks, and which scenarios to record next: each the one that covers most "
        "new cells. DOMAIN (YAML) has 'conditions: {lanes: [2, 4], current_lane: [1, 2, 3]}' and, where not "
        "everything goes together, 'restrictions: [{at_most: 1, of: [lanes=2, current_lane=3]}]', whose "
        "choices may have a weight: 2*lanes=4. A scenario has exactly one value of each condition. Values "
        "are compared as text without blanks around it; numbers are the same however they are written "
        "(4, 4.0), and so are true and True."
    )
    scenarios.add_argument("domain", metavar="DOMAIN", help="conditions and restrictions (YAML)")
    scenarios.add_argument(
        "table",
        metavar="TABLE",
        help="CSV or Parquet: a column a condition, a row a recorded scenario; others are ignored",
    )
    scenarios.add_argument(
        "--k", type=int, default=2, metavar="K", help="conditions that are combined (default: 2)"
    )
    scenarios.add_argument(
        "--next", type=int, default=3, metavar="N", help="plan N scenarios to record (default: 3)"
    )
    scenarios.add_argument(
        "--seconds",
        type=float,
        default=5.0,
        metavar="S",
        help="for each of these; what was not proven by then is told as a gap (default: 5)",
    )
    formatted(scenarios, FORMATS)
