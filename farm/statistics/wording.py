"""How numbers and names read in a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence, Sized

LISTED = 6
"""So many names stand in a sentence before the rest is counted."""


def p_words(p: float) -> str:
    """Write a p value; what is tiny is said to be, never 0.

    Examples
    --------
    >>> p_words(0.41234), p_words(0.0496), p_words(1e-9), p_words(0.9999)
    ('p = 0.41', 'p = 0.050', 'p < 0.001', 'p > 0.99')
    """
    if p < 0.001:
        return "p < 0.001"
    if p > 0.99:
        return "p > 0.99"
    return f"p = {p:.2f}" if p >= 0.1 else f"p = {p:.3f}"


def p_cell(p: float) -> str:
    """Write a p value without its name.

    Examples
    --------
    >>> p_cell(0.0496), p_cell(1e-9)
    ('0.050', '< 0.001')
    """
    return p_words(p).removeprefix("p ").removeprefix("= ")


def percent_words(share: float) -> str:
    """Write a share in per cent; only 0 and 1 themselves look like it.

    Examples
    --------
    >>> percent_words(0.434), percent_words(0.001), percent_words(0.999), percent_words(1.0)
    ('43 %', 'less than 1 %', 'more than 99 %', '100 %')
    """
    if 0 < share < 0.01:
        return "less than 1 %"
    if 0.99 < share < 1:
        return "more than 99 %"
    return f"{100 * share:.0f} %"


def one_in_words(log_e: float) -> str:
    """Write evidence, given as a natural logarithm, as the chance of as much where nothing is amiss.

    Examples
    --------
    >>> [one_in_words(each) for each in (-2.0, 0.9, 4.61, 13.0, 230.3)]
    ['none', '1 in 2.5', '1 in 100', '1 in 440,000', '1 in 10^100']
    """
    if log_e <= 0:
        return "none"
    digits = 1 - math.floor(log_e / math.log(10))
    if digits < -4:
        return f"1 in 10^{1 - digits}"
    return f"1 in {round(math.exp(log_e), digits):,.{max(digits, 0)}f}"


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


def counted(n: int, one: str, several: str = "") -> str:
    """Return a number and what it counts.

    Examples
    --------
    >>> counted(1, "triplet"), counted(1200, "triplet")
    ('1 triplet', '1,200 triplets')
    """
    return f"{n:,} {one if n == 1 else several or one + 's'}"
