"""What a protocol found over its whole campaign, handed in for criteria: by parts, with its bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from farm.comparing.measures import CLASSIFIER
from farm.gate.criterion import Criterion
from farm.gate.demand import Evidence
from farm.gate.measures import PART, REPORTED
from farm.gate.scanner import name_words
from farm.gate.selection import IS, Condition, Selection, listed_values, nearest
from farm.measures import Measure
from farm.statistics.wording import listed


@dataclass(frozen=True)
class ReportedMeasure:
    """A value that a protocol found, and how low and how high it may be.

    Examples
    --------
    >>> found = Measure(0.8)
    >>> ReportedMeasure("scenario_coverage", "train k=2", found, found, found, 40, 40, "read off").where
    'part:"train k=2"'
    """

    measure: str
    """A name in `REPORTED`."""
    part: str
    """What of the campaign it is about, in words that no other result on the measure has."""
    value: Measure
    low: Measure
    """No lower, with the level asked for; where it is read off, `low`, `high` and `value` are the same."""
    high: Measure
    """No higher, with that level by itself."""
    n: int
    """Of how many it is, such as images."""
    n_groups: int
    """How many of them count as independent, such as tracks."""
    method: str
    """How the bounds are made, and what is taken for granted."""
    about: str = CLASSIFIER
    """Whose it is: the classifier's, a monitor's, that of some data."""

    def __post_init__(self) -> None:
        if self.measure not in REPORTED or not self.part:
            raise ValueError(f"expected a measure of {', '.join(REPORTED)}, and the name of a part: {self!r}")

    @property
    def where(self) -> str:
        """The part, as a criterion asks for it."""
        return str(Selection(conditions=(Condition(PART, IS, self.part),)))

    def evidence(self, level: float) -> Evidence:
        """Return the evidence for a verdict, where it was found for this level."""
        ends = (self.value, self.low, self.high)
        return Evidence(*ends, level, self.n, None, self.n_groups, (), self.method, grows=False)


WHOLE = "all"
"""The part of a measure of which nothing was found."""
Reported: TypeAlias = Callable[[float], Sequence[ReportedMeasure]]
"""Given a level, what a protocol found, with bounds that each hold with it."""


def selected_parts(
    criterion: Criterion, reported: Reported | None, place: str
) -> tuple[ReportedMeasure, ...]:
    """Return the results that a criterion is about: one, or all where it says `each part`.

    Parameters
    ----------
    criterion
        Its measure is one that protocols find.
    reported
        What was found; None where no protocol looked.
    place
        Where it was looked for, for errors.
    """
    name, selection = criterion.measure, criterion.selection
    if reported is None:
        raise criterion.error(
            f"{name} is found by a protocol (`protocol: dependability`), and {place} is none; expected the "
            "folder of such a campaign alone"
        )
    found = reported(criterion.level)
    own: dict[str, ReportedMeasure] = {}
    for one in found:
        if one.measure == name and own.setdefault(one.part, one) is not one:
            raise ValueError(f"two results on {name} are called '{one.part}'; expected one of each part")
    if not own:
        others = list(dict.fromkeys(one.measure for one in found)) or ["nothing"]
        raise criterion.error(f"the protocol of {place} did not find {name}; it found {listed(others)}")
    if selection.each is not None:
        return tuple(own.values())
    parts = list(map(name_words, own))
    if selection.conditions:
        part = str(selection.conditions[0].value)
        if list(own) == [WHOLE] and not own[WHOLE].value.defined:
            return (own[WHOLE],)  # nothing was found, whatever its parts would have been
        if part not in own:
            hint = nearest(part, list(own), listed_values(parts))
            raise criterion.error(f"nothing has {selection}; {hint}")
        return (own[part],)
    if len(own) > 1:
        raise criterion.error(
            f"{name} has {len(own)} parts; say which is meant, such as 'on {PART}{IS}{parts[0]}', or "
            f"'on each {PART}': {listed_values(parts)}"
        )
    return tuple(own.values())
