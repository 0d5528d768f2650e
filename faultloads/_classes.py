"""How a person names a class to a fault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from farm.api import NO_ANSWER, OODImages, Workload
from farm.errors import ParameterError, suggestion

Same = Mapping[str | int, str | int] | Sequence[Sequence[str | int]]
"""Which of their classes are which of ours."""


def class_pairs(parameter: str, same: Same | None) -> Sequence[Sequence[str | int]]:
    """Return it as pairs of a class of theirs and one of ours.

    Examples
    --------
    >>> class_pairs("same", {"elm": "ash"}), class_pairs("same", None)
    ([('elm', 'ash')], [])
    """
    pairs = list(same.items()) if isinstance(same, Mapping) else same or []
    if not isinstance(pairs, list | tuple) or not all(_is_pair(one) for one in pairs):
        raise ParameterError(f"{parameter} is {same!r}; expected pairs of classes, theirs: ours")
    return pairs


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2


def class_number(workload: Workload | OODImages, key: str | int, parameter: str) -> int:
    """Find a class by number, or by name; text that is no name may be a number, as on a command line."""
    classes = workload.classes
    found = classes.index(key) if key in classes else NO_ANSWER
    if found == NO_ANSWER and str(key).isdigit() and int(key) < len(classes):
        found = int(key)
    if found == NO_ANSWER:
        hint = suggestion(str(key), classes)
        raise ParameterError(f"{parameter}: workload '{workload.name}' has no class '{key}'; {hint}")
    return found
