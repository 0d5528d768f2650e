"""How a person says under which conditions images are to be taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from farm.api import BoolArray, FloatArray, OODImages, StrArray
from farm.errors import ParameterError, suggestion

Value = str | float


def check_where(where: Any) -> dict[str, list[Value]]:
    """Return the values of each condition as a list; nothing where no conditions are given.

    Examples
    --------
    >>> check_where({"weather": ["snow", "fog"], "lanes": 2})
    {'weather': ['snow', 'fog'], 'lanes': [2]}
    """
    if where is None:
        return {}
    if not isinstance(where, Mapping) or not where or not all(isinstance(name, str) for name in where):
        raise ParameterError(
            f"where is {where!r}; expected conditions and their values, such as {{weather: [snow, fog]}}"
        )
    found: dict[str, list[Value]] = {}
    for name, given in where.items():
        values = list(given) if isinstance(given, list | tuple) else [given]
        if not values or not all(isinstance(one, str | float) or type(one) is int for one in values):
            raise ParameterError(
                f"where.{name} is {given!r}; expected a text or a number, or several: [snow, fog] (in quotes "
                "where it would be true or false)"
            )
        found[name] = values
    return found


def under_conditions(theirs: OODImages, where: Mapping[str, Sequence[Value]]) -> BoolArray:
    """Say which images were taken under all these conditions; one that no image has is told."""
    conditions, who = theirs.images.conditions, f"workload '{theirs.name}'"
    chosen = np.ones(len(theirs.images), np.bool_)
    for name, values in where.items():
        if name not in conditions:
            raise ParameterError(f"where: {who} has no condition '{name}'; {suggestion(name, conditions)}")
        column = conditions[name]
        rows = [_having(column, value) for value in values]
        for value, some in zip(values, rows, strict=True):
            if not some.any():
                known = {_said(one) for one in column} - {"", "nan"}
                raise ParameterError(
                    f"where.{name}: {who} has no image with '{value}'; {suggestion(str(value), known)}"
                )
        chosen &= np.any(rows, axis=0)
    return chosen


def _having(column: StrArray | FloatArray, value: Value) -> BoolArray:
    """Say where a condition has a value, which may be a number as text, or text that looks like a number."""
    if not np.issubdtype(column.dtype, np.number):
        return np.asarray(column == _said(value))
    try:
        return np.asarray(column == float(value))
    except ValueError:
        return np.zeros(len(column), np.bool_)


def _said(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:g}"
