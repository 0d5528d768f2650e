"""Which streams meet a criterion's conditions; that none does is an error that tells what there is."""

from __future__ import annotations

from collections.abc import Sequence

from farm.check.criterion import Condition, Criterion
from farm.check.ground import Piece, as_number
from farm.check.selection import IS, NUMBERS
from farm.comparison.sets import NO_SEVERITY
from farm.errors import suggestion

MOST_TOLD = 12
"""So many values are told at the most."""


def matching(pieces: Sequence[Piece], criterion: Criterion) -> list[Piece]:
    """Give the streams that meet all conditions."""
    kept = list(pieces)
    before: list[str] = []
    for condition in criterion.selection.conditions:
        found = [piece for piece in kept if piece.meets(condition)]
        if not found:
            where = f" with {' '.join(before)}" if before else ""
            raise criterion.error(f"nothing{where} has {condition}; {_instead(condition, kept)}")
        before.append(str(condition))
        kept = found
    return kept


def grouped(pieces: Sequence[Piece], criterion: Criterion) -> list[tuple[tuple[Condition, ...], list[Piece]]]:
    """Give the streams of each verdict, with the conditions that set them apart: none where there is one."""
    key = criterion.selection.each
    if key is None:
        return [((), list(pieces))]
    values = {value for piece in pieces if (value := piece.value(key)) is not None}
    if not values:
        raise criterion.error(f"'each {key}' has nothing to be about; {_there(key, pieces)}")
    return [
        ((Condition(key, IS, value),), [piece for piece in pieces if piece.value(key) == value])
        for value in sorted(values, key=_order)
    ]


def _instead(condition: Condition, pieces: Sequence[Piece]) -> str:
    """Tell what a condition could have been: what is nearest, and all there is."""
    key = condition.key
    there = _there(key, pieces)
    near = suggestion(str(condition.value), [] if key in NUMBERS else _values(key, pieces))
    return f"{near} {there}" if near.startswith("did") else there


def _there(key: str, pieces: Sequence[Piece]) -> str:
    """Tell what values of a key there are."""
    known = _values(key, pieces)
    if not known:
        return f"no stream there has a {key}"
    more = f" and {len(known) - MOST_TOLD} more" if len(known) > MOST_TOLD else ""
    is_ramp = key in NUMBERS and any(as_number(value) is None for value in known)
    ramp = "; a ramp, 'up to' a severity, has no single one" if is_ramp else ""
    return f"{'there is' if len(known) == 1 else 'there are'} {', '.join(known[:MOST_TOLD])}{more}{ramp}"


def _values(key: str, pieces: Sequence[Piece]) -> list[str]:
    """Give the values of a key in words."""
    if key in NUMBERS:
        found = {piece.of.severity for piece in pieces} - {NO_SEVERITY}
    else:
        found = {str(value) for piece in pieces if (value := piece.value(key)) is not None}
    return sorted(found, key=_order)


def _order(value: str | float) -> tuple[bool, float, str]:
    """Numbers in their order, and before what is none."""
    number = as_number(value)
    return number is None, number or 0.0, str(value)
