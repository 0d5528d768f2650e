"""How numbers read in a sentence."""

from __future__ import annotations


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
