"""Objects of JSON files that others wrote: each value checked when it is taken, and told with its place."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterator
from typing import Any, NoReturn

from farm.errors import DataError

CONDITIONS = ("weather", "scene", "timeofday")
"""What annotations tell of an image, as BDD100K calls it."""
_LARGEST = 2**20


class AnnotationEntry:
    """Keys and values, and what messages call them.

    Examples
    --------
    >>> AnnotationEntry({"bbox": [1, 2, 3, "4"]}, "a.json: annotations[7]").numbers("bbox", 4)
    Traceback (most recent call last):
    farm.errors.DataError: a.json: annotations[7].bbox is [1, 2, 3, '4']; expected 4 numbers
    """

    def __init__(self, values: Any, where: str) -> None:
        if not isinstance(values, dict):
            raise DataError(f"{where} is {reprlib.repr(values)}; expected keys and values")
        self._values, self.where = values, where

    def __contains__(self, key: str) -> bool:
        return self._values.get(key) is not None

    def text(self, key: str) -> str:
        """Return a text that can be printed, without blanks around it."""
        value = self._values.get(key)
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            self._wrong(key, "text that can be printed")
        return value.strip()

    def name(self, key: str) -> int | str:
        """Return a name: text, or a whole number."""
        value = self._values.get(key)
        return value if type(value) is int else self.text(key)

    def whole(self, key: str) -> int:
        """Return a number of pixels."""
        value = self._values.get(key)
        if type(value) is not int or not 1 <= value <= _LARGEST:
            self._wrong(key, f"a whole number from 1 to {_LARGEST:,}")
        return value

    def number(self, key: str) -> float:
        """Return a finite number."""
        if (number := _number(self._values.get(key))) is None:
            self._wrong(key, "a number")
        return number

    def numbers(self, key: str, n: int) -> list[float]:
        """Return so many finite numbers."""
        value = self._values.get(key)
        found = [_number(one) for one in value] if isinstance(value, list) else []
        numbers = [one for one in found if one is not None]
        if not len(numbers) == len(found) == n:
            self._wrong(key, f"{n} numbers")
        return numbers

    def flag(self, key: str) -> bool:
        """Return whether something is so: true, or a number above 0; where nobody says, it is not."""
        value = self._values.get(key)
        if value is None or isinstance(value, bool):
            return bool(value)
        if (number := _number(value)) is None:
            self._wrong(key, "true or false")
        return number > 0

    def inside(self, key: str) -> AnnotationEntry:
        """Return keys and values in it; none where there is no such key."""
        value = self._values.get(key)
        return AnnotationEntry({} if value is None else value, f"{self.where}.{key}")

    def listed(self, key: str) -> Iterator[AnnotationEntry]:
        """Return the entries of a list in it; none where there is no such key."""
        value = self._values.get(key)
        if value is not None and not isinstance(value, list):
            self._wrong(key, "a list")
        for number, one in enumerate(value or ()):
            yield AnnotationEntry(one, f"{self.where}{_dot(self.where)}{key}[{number}]")

    def conditions(self) -> dict[str, str]:
        """Return what is told of an image."""
        return {name: self.text(name) for name in CONDITIONS if name in self}

    def _wrong(self, key: str, expected: str) -> NoReturn:
        if key not in self:
            raise DataError(f"{self.where} has no {key}; expected {expected}")
        told = f"{self.where}{_dot(self.where)}{key} is {reprlib.repr(self._values[key])}"
        raise DataError(f"{told}; expected {expected}")


def _dot(where: str) -> str:
    return " " if where.endswith(":") else "."


def _number(value: Any) -> float | None:
    if type(value) not in (int, float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
