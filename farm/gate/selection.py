"""Which benchmark sets, and which side of them, a criterion is about: what it says after `on`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from farm.errors import ExperimentError, suggestion
from farm.gate.measures import PART, SIDES, Side
from farm.gate.scanner import KEYWORDS, Scanner, name_words, number_words

IS = ":"
NUMBERS = ("severity",)
"""The keys whose values are numbers."""
KEYS = ("category", "faultload", *NUMBERS, "workload", "classifier", "seed", "stream", PART)
"""What benchmark sets can be told apart by, and a protocol's results; `stream` is the order of the stream,
such as `onset`."""
MOST_LISTED = 12
"""So many values are listed at the most."""
ALL_SETS = "all sets"
"""What a selection is called that leaves nothing out."""


@dataclass(frozen=True)
class Condition:
    """What must hold of a benchmark set: `category:noise`, `severity<=3`."""

    key: str
    relation: str
    """`:` for "is"; of severities also `<=`, `>=`, `<` and `>`."""
    value: str | float

    def __str__(self) -> str:
        value = name_words(self.value) if isinstance(self.value, str) else number_words(self.value)
        return f"{self.key}{self.relation}{value}"

    def holds(self, value: str | float | None) -> bool:
        """Whether a set's value meets it; a set without one never does.

        Examples
        --------
        >>> low = Condition("severity", "<=", 3.0)
        >>> low.holds(2.0), low.holds(4.0), low.holds(None)
        (True, False, False)
        """
        if value is None or isinstance(value, str) or isinstance(self.value, str):
            return value is not None and value == self.value
        low, high = self._ends()
        inside = low <= value <= high
        return inside and (self.relation not in ("<", ">") or value != self.value)

    def _ends(self) -> tuple[float, float]:
        value = float(self.value)
        low = value if self.relation in (IS, ">", ">=") else -math.inf
        return low, value if self.relation in (IS, "<", "<=") else math.inf


@dataclass(frozen=True)
class Selection:
    """Which benchmark sets, and which of their instances."""

    side: Side | None = None
    """Only ID, or only OOD instances."""
    conditions: tuple[Condition, ...] = ()
    each: str | None = None
    """A verdict for every value of this key."""

    def __str__(self) -> str:
        side = () if self.side is None else (self.side,)
        each = () if self.each is None else (f"each {self.each}",)
        return " ".join((*side, *each, *map(str, self.conditions)))

    @property
    def name(self) -> str:
        """What to call it.

        Examples
        --------
        >>> Selection("id", (Condition("category", ":", "noise"),)).name, Selection().name
        ('id category:noise', 'all sets')
        """
        return str(self) or ALL_SETS

    @property
    def keys(self) -> list[str]:
        """What its conditions are on, and at the end what it has a verdict for each value of."""
        return [*(one.key for one in self.conditions), *([] if self.each is None else [self.each])]

    def problems(self) -> Iterator[str]:
        """Say what is wrong with it, whatever there is to select from."""
        asked = [one.key for one in self.conditions]
        for key in self.keys:
            if key not in KEYS:
                yield f"key '{key}' is not known; {suggestion(key, KEYS)}"
            if key == self.each and key in asked and key not in NUMBERS:
                yield f"'each {key}' beside one {key}; expected one of them"
        for place, one in enumerate(self.conditions):
            if (one.key in NUMBERS) == isinstance(one.value, str) or one.value == "":
                yield f"'{one}' is no condition; expected {_example(one.key)}"
            for other in self.conditions[:place]:
                if one.key != other.key:
                    continue
                if one.key not in NUMBERS:
                    yield f"'{other}' and '{one}' cannot both hold; expected one of them"
                elif not _overlap(other, one):
                    yield f"'{other}' and '{one}' cannot both hold"


EVERYTHING = Selection()


def listed_values(values: Sequence[str]) -> str:
    """List what there is to select, the first of many.

    Examples
    --------
    >>> listed_values(["fog"]), listed_values(list("abcdefghijklmn"))
    ('there is fog', 'there are a, b, c, d, e, f, g, h, i, j, k, l and 2 more')
    """
    more = f" and {len(values) - MOST_LISTED} more" if len(values) > MOST_LISTED else ""
    return f"{'there is' if len(values) == 1 else 'there are'} {', '.join(values[:MOST_LISTED])}{more}"


def nearest(value: str, values: Sequence[str], known: str) -> str:
    """Say which value was probably meant, where one is near, and what is known of all."""
    near = suggestion(value, values)
    return f"{near} {known}" if near.startswith("did") else known


def read_selection(scanner: Scanner) -> Selection:
    """Read what stands after `on`, up to the next clause or the end."""
    side: Side | None = None
    each: str | None = None
    conditions: list[Condition] = []
    while not scanner.done and not scanner.sees(rf"({'|'.join(KEYWORDS)})(?=\s|$)"):
        word = scanner.keyword((*SIDES, "each"))
        if word == "each":
            if each is not None:
                raise ExperimentError("'each' stands there twice; expected one of them")
            each = scanner.name("a key")
        elif word is not None:
            if side is not None:
                raise ExperimentError(f"'{side}' and '{word}' at once; leave both out to have all instances")
            side = "id" if word == "id" else "ood"
        else:
            conditions.append(_condition(scanner))
    if side is None and each is None and not conditions:
        raise ExperimentError(f"{scanner.place}; expected what it is about, such as 'on category:noise'")
    return Selection(side, tuple(conditions), each)


def _condition(scanner: Scanner) -> Condition:
    key = scanner.take(r"([A-Za-z_]+)(?=\s*[:<>=≤≥])")
    if key is None:
        raise ExperimentError(
            f"{scanner.place} is no condition; expected one such as category:noise or severity<=3, 'id', "
            f"'ood' or 'each KEY', where a key is {', '.join(KEYS)}"
        )
    relation = IS if scanner.take(IS) else scanner.relation()
    if key[1] not in KEYS:
        raise ExperimentError(f"key '{key[1]}' is not known; {suggestion(key[1], KEYS)}")
    if relation is None or (relation != IS and key[1] not in NUMBERS):
        raise ExperimentError(f"{scanner.place}; expected a condition such as {_example(key[1])}")
    if key[1] in NUMBERS:
        return Condition(key[1], relation, scanner.number(f"the {key[1]}"))
    return Condition(key[1], relation, scanner.name(f"a {key[1]}"))


def _example(key: str) -> str:
    return f"{key}:3 or {key}<=3" if key in NUMBERS else f"{key}:VALUE"


def _overlap(one: Condition, other: Condition) -> bool:
    """Whether some number meets both."""
    ends = [each._ends() for each in (one, other)]
    low, high = max(low for low, _ in ends), min(high for _, high in ends)
    between = (low + high) / 2 if math.isfinite(low) and math.isfinite(high) else low
    return low < high or (low == high and one.holds(between) and other.holds(between))
