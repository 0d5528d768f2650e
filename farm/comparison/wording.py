"""How names and p values read in a sentence about monitors."""

from __future__ import annotations

from collections.abc import Sequence, Sized

from farm.comparison.sets import NO_CATEGORY, NO_FAULT
from farm.statistics.wording import p_words

ALL = "all sets"
LISTED = 6
"""So many monitors are named in a sentence before the rest is counted."""

_WHERE = {NO_FAULT: "Without faults", NO_CATEGORY: "On faults of no category", ALL: "Over all sets"}


def where(category: str) -> str:
    """Begin a sentence about a category.

    Examples
    --------
    >>> where("noise"), where("no fault"), where("all sets")
    ('On noise', 'Without faults', 'Over all sets')
    """
    return _WHERE.get(category, f"On {category}")


def listed(names: Sequence[str]) -> str:
    """Join names, and count those that would be too many.

    Examples
    --------
    >>> listed(["odin"]), listed(["odin", "oob"]), listed(list("abcdefgh"))
    ('odin', 'odin and oob', 'a, b, c, d, e, f and 2 more')
    """
    shown = list(names[:LISTED])
    if len(names) > LISTED:
        shown.append(f"{len(names) - LISTED} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def verb(subject: Sized, one: str, several: str) -> str:
    """Choose the form of a verb."""
    return one if len(subject) == 1 else several


def p_of(values: Sequence[float], which: str) -> str:
    """Write a p value, of several the `smallest` or the `largest`.

    Examples
    --------
    >>> p_of([0.2], "smallest"), p_of([0.2, 0.04], "smallest"), p_of([1e-6, 1e-9], "largest")
    ('p = 0.20', 'smallest p = 0.040', 'largest p < 0.001')
    """
    told = p_words(min(values) if which == "smallest" else max(values))
    return told if len(values) == 1 else f"{which} {told}"
