"""What is wrong with a file's values, in the words of who wrote it: by key, value and rule."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from farm.errors import suggestion

_RULES = {
    "bool_type": "true or false",
    "dict_type": "keys and values",
    "finite_number": "a finite number",
    "float_type": "a number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_attributes_type": "keys and values",
    "model_type": "a name, or keys and values with a name",
    "string_pattern_mismatch": "letters, digits, '.', '_' and '-'",
    "string_type": "text",
}
"""What was expected, in the words of somebody who writes YAML."""
_LENGTH = re.compile(r"List should have (at least|at most) (\d+) items? after validation, not \d+")
LONGEST = 200
"""Characters of a value that are told."""


def explain(
    error: ValidationError,
    model: type[BaseModel],
    values: Mapping[str, Any],
    *,
    places: Mapping[str, Sequence[str]] | None = None,
    more_keys: Iterable[str] = (),
    most: int | None = None,
) -> str:
    """Tell all problems on one line.

    `values` are what was to become a `model`. `places` says, for a list that was not written as it stands in
    them, where each item was; `more_keys` are known beside those of the model. Beyond `most`, problems are
    counted.
    """
    messages = []
    for problem in error.errors(include_url=False, include_context=False):
        key = _key(problem["loc"], values, places or {}) or "experiment"
        if problem["type"] == "extra_forbidden":
            known = _siblings(problem["loc"], model, more_keys)
            messages.append(f"unknown key '{key}'; {suggestion(str(problem['loc'][-1]), known)}")
        elif problem["type"] == "missing":
            messages.append(f"'{key}' is missing")
        elif problem["type"] == "value_error":
            told = problem["msg"].removeprefix("Value error, ")
            between = " " if told.startswith("is ") else ": "
            messages.append(key + between + told if problem["loc"] else told)
        else:
            rule = _RULES.get(problem["type"]) or problem["msg"].removeprefix("Input should be ")
            rule = rule.replace("greater than or equal to", "at least")
            rule = rule.replace("less than or equal to", "at most")
            rule = _LENGTH.sub(lambda m: f"a list of {m[1]} {m[2]} item{'' if m[2] == '1' else 's'}", rule)
            messages.append(f"{key} is {_shown(problem['input'])}; expected {rule}")
    if most is not None and (more := len(messages) - most) > 0:
        messages[most:] = [f"and {more:,} more"]
    return "; ".join(messages)


def _shown(value: Any) -> str:
    """Write a value; of a long one, its beginning."""
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _key(location: Sequence[str | int], values: Any, places: Mapping[str, Sequence[str]]) -> str:
    """Write where a problem is, as its author sees it: one that stands alone is no list to them."""
    told: list[str] = []
    at = values
    for part in location:
        if isinstance(part, int):
            if not isinstance(at, list):
                continue
            known = places.get(told[0]) if len(told) == 1 else None
            told.append(known[part] if known else str(part))
            at = at[part] if part < len(at) else None
        else:
            told.append(part)
            at = at.get(part) if isinstance(at, Mapping) else None
    return ".".join(told)


def _siblings(location: Sequence[str | int], model: type[BaseModel], more_keys: Iterable[str]) -> list[str]:
    """Return the keys that are known where an unknown one stood."""
    if len(location) == 1:
        return [*model.model_fields, *more_keys]
    inside = model
    for part in location[:-1]:
        field = inside.model_fields.get(str(part))
        inner = field.annotation if field else None
        for candidate in (inner, *get_args(inner)):
            if isinstance(candidate, type) and issubclass(candidate, BaseModel):
                inside = candidate
    return list(inside.model_fields)
