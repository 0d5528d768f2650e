"""Files of conditions and restrictions, of which scenarios are made: `farm scenarios DOMAIN TABLE`.

A condition has words as its values, or ranges of numbers, such as `15..30`: from 15 to below 30.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, ValidationError

from farm.api import IntArray, read_text
from farm.config.explaining import explain
from farm.config.specs import Strict
from farm.config.yaml_reading import parse_yaml
from farm.errors import ExperimentError, suggestion
from farm.measures.scenario_search import contradiction
from farm.measures.scenarios import Choice, Domain, Restriction

HEAVIEST, FARTHEST = 10_000, 1_000_000_000
"""Of weights and bounds: integer programming counts with them exactly."""
EXAMPLE = "'conditions: {weather: [sunny, rainy], road: [dry, wet]}'"
_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d*)(?:\.\d*)?(?:[eE][-+]?\d{1,2})?")
_RANGE = re.compile(rf"({_NUMBER.pattern})?\s*\.\.\s*({_NUMBER.pattern})?")
_TRUTH = {"true", "false"}
_CHOICE = re.compile(r"(?:([-+]?\d+)\s*\*)?([^=*]+)=(.*)", re.DOTALL)

_Bound = Annotated[int | None, Field(ge=-FARTHEST, le=FARTHEST)]


class _RestrictionSpec(Strict):
    at_least: _Bound = None
    at_most: _Bound = None
    of: list[Any]


class _DomainSpec(Strict):
    conditions: dict[str, list[Any]]
    restrictions: list[_RestrictionSpec] = Field(default_factory=list)


def canonical(text: str) -> str:
    """Return what values are compared by: text, of numbers and of true and false the shortest.

    Examples
    --------
    >>> [canonical(text) for text in (" wet ", "4.0", "1e-3", "007", "True", "-0.50")]
    ['wet', '4', '0.001', '007', 'true', '-0.5']
    """
    text = text.strip()
    if _NUMBER.fullmatch(text):
        plain = format(Decimal(text), "f")
        plain = (plain.rstrip("0").rstrip(".") if "." in plain else plain).removeprefix("+")
        return "0" if plain == "-0" else plain
    return text.lower() if text.lower() in _TRUTH else text


def codes_of(values: Sequence[str], words: Sequence[str]) -> IntArray:
    """Return each word's number among a condition's values, or among its ranges; -1 where it is none.

    Examples
    --------
    >>> codes_of(("dry", "wet"), ["wet", " dry", "icy"]), codes_of(("..15", "15..30"), ["-3", "15", "30"])
    (array([ 1,  0, -1]), array([ 0,  1, -1]))
    """
    ranges = _ranges(values)
    if not ranges:
        known = {value: code for code, value in enumerate(values)}
        return np.array([known.get(canonical(word), -1) for word in words], dtype=np.int64)
    numbers = np.array([float(word) if _NUMBER.fullmatch(word.strip()) else np.nan for word in words])
    found = np.full(len(words), -1, dtype=np.int64)
    for code, (low, high) in enumerate(ranges):
        found[(numbers >= low) & (numbers < high)] = code
    return found


def _ranges(values: Sequence[str]) -> list[tuple[float, float]]:
    """Return from where to where each value goes; nothing where they are words."""
    matches = [_RANGE.fullmatch(value) for value in values]
    return [
        (float(one[1]) if one[1] else -inf, float(one[2]) if one[2] else inf)
        for one in matches
        if one is not None
    ]


def load_domain(path: Path | str) -> Domain:
    """Read conditions and restrictions from a file."""
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise ExperimentError(f"{path} cannot be read: {error}; expected {EXAMPLE}") from error
    return parse_domain(parse_yaml(text, str(path)), path)


def parse_domain(values: Any, path: Path | str) -> Domain:
    """Turn plain values into a domain; `path` is the file that they are of.

    Examples
    --------
    >>> rule = {"at_most": 1, "of": ["lanes=2", "lane=3"]}
    >>> parse_domain({"conditions": {"lanes": [2, 4], "lane": [1, 2, 3]}, "restrictions": [rule]}, "d.yaml")
    Domain(conditions={'lanes': ('2', '4'), 'lane': ('1', '2', '3')}, restrictions=(Restriction(...),))
    >>> parse_domain({"conditions": {"lanes": []}}, "d.yaml")
    Traceback (most recent call last):
    farm.errors.ExperimentError: d.yaml: condition 'lanes' is empty; expected a list of its values
    """
    if not isinstance(values, dict):
        what = "is empty" if values is None else f"holds a {type(values).__name__}"
        raise ExperimentError(f"{path} {what}; expected {EXAMPLE}")
    try:
        written = _DomainSpec.model_validate(values)
    except ValidationError as error:
        raise ExperimentError(f"{path}: {explain(error, _DomainSpec, values, most=5)}") from None
    try:
        conditions = _conditions(written.conditions)
        restrictions = tuple(
            _restriction(number, each, conditions)
            for number, each in enumerate(written.restrictions, start=1)
        )
        domain = Domain(conditions, restrictions)
        _check_possible(domain)
    except ExperimentError as error:
        raise ExperimentError(f"{path}: {error}") from None
    return domain


def _conditions(written: Mapping[str, Sequence[Any]]) -> dict[str, tuple[str, ...]]:
    if not written:
        raise ExperimentError(f"conditions is empty; expected at least one, such as {EXAMPLE}")
    found: dict[str, tuple[str, ...]] = {}
    for key, values in written.items():
        name = key.strip()
        if not name or set("=*") & set(name):
            raise ExperimentError(f"condition {key!r}; expected a name without '=' and '*'")
        if name.lower() in {each.lower() for each in found}:
            raise ExperimentError(
                f"condition '{name}' stands twice; case makes no difference in columns' names"
            )
        if not values:
            raise ExperimentError(f"condition '{name}' is empty; expected a list of its values")
        found[name] = tuple(_value(name, value) for value in values)
        for place, value in enumerate(found[name]):
            if value in found[name][:place]:
                raise ExperimentError(f"condition '{name}': value '{value}' stands twice; leave one out")
        _check_ranges(name, found[name])
    return found


def _check_ranges(name: str, values: Sequence[str]) -> None:
    """Raise where ranges are mixed with words, or where a number could be in none or in several of them."""
    ranges = _ranges(values)
    if not ranges:
        return
    if len(ranges) < len(values):
        word = next(value for value in values if not _RANGE.fullmatch(value))
        raise ExperimentError(
            f"condition '{name}' has ranges, and '{word}', which is none; expected all such as 15..30"
        )
    written = sorted(zip(ranges, values, strict=True))
    for (low, high), value in written:
        if not low < high:
            raise ExperimentError(
                f"condition '{name}': the range '{value}' holds no number; expected low..high"
            )
    for ((_, end), one), ((start, _), other) in pairwise(written):
        if start < end:
            raise ExperimentError(
                f"condition '{name}': the ranges '{one}' and '{other}' overlap; expected such as 15..30 and "
                "30..45"
            )


def _value(name: str, value: Any) -> str:
    if isinstance(value, bool):
        raise ExperimentError(
            f"condition '{name}' holds {str(value).lower()}, as YAML reads yes, no, on and off, too; put the "
            "word that is meant in quotes"
        )
    if isinstance(value, int) and value.bit_length() > 64:
        raise ExperimentError(f"condition '{name}' holds a number of too many digits; in quotes it is text")
    text = canonical(str(value)) if isinstance(value, str | int | float) else ""
    if not text:
        raise ExperimentError(f"condition '{name}' holds {value!r}; expected text or numbers")
    return text


def _restriction(
    number: int, written: _RestrictionSpec, conditions: Mapping[str, Sequence[str]]
) -> Restriction:
    where = f"restriction {number}"
    if written.at_least is None and written.at_most is None:
        raise ExperimentError(f"{where} has neither 'at_least' nor 'at_most'; expected one of them, or both")
    if not written.of:
        raise ExperimentError(f"{where}: 'of' is empty; expected choices, such as [lanes=4, 2*lane=3]")
    choices: list[Choice] = []
    for text in written.of:
        choice = _choice(where, text, conditions)
        if choice[:2] in [each[:2] for each in choices]:
            raise ExperimentError(f"{where}: '{text}' is there already; give a choice one weight")
        choices.append(choice)
    low = -inf if written.at_least is None else written.at_least
    return Restriction(tuple(choices), low, inf if written.at_most is None else written.at_most)


def _choice(where: str, text: Any, conditions: Mapping[str, Sequence[str]]) -> Choice:
    found = _CHOICE.fullmatch(text.strip()) if isinstance(text, str) else None
    if not found:
        raise ExperimentError(f"{where}: {text!r} is no choice; expected such as lanes=4 or 2*lanes=4")
    name, value = found[2].strip(), canonical(found[3])
    weight = int(found[1]) if found[1] and len(found[1]) < 10 else HEAVIEST + 1 if found[1] else 1
    if abs(weight) > HEAVIEST:
        raise ExperimentError(f"{where}: the weight of '{text}'; expected from -{HEAVIEST} to {HEAVIEST}")
    if name not in conditions:
        hint = suggestion(name, conditions)
        raise ExperimentError(f"{where}: '{text}' is of the unknown condition '{name}'; {hint}")
    if value not in conditions[name]:
        hint = suggestion(value, conditions[name])
        raise ExperimentError(f"{where}: condition '{name}' has no value '{value}'; {hint}")
    return Choice(list(conditions).index(name), conditions[name].index(value), weight)


def _check_possible(domain: Domain) -> None:
    against = [number + 1 for number in contradiction(domain)]
    if len(against) == 1:
        raise ExperimentError(f"restriction {against[0]} is met by no scenario; expected one that some meet")
    if against:
        *most, last = map(str, against)
        raise ExperimentError(
            f"restrictions {', '.join(most)} and {last} contradict each other: no scenario meets them all"
        )
