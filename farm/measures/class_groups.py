"""Classes by name, by number or in groups, wherever a user writes something down for pairs of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from farm.api.arrays import NO_ANSWER, FloatArray
from farm.errors import ParameterError, suggestion

Key: TypeAlias = str | int
"""A class by its name or its number, a group by its name, or -1: instances without a right answer."""


class ClassGroups:
    """Which rows of a table a class, a group or -1 stands for.

    Parameters
    ----------
    classes
        The names of the classes, in the order of their numbers.
    groups
        Names for several classes; a class is in one of them at the most.
    prefix
        What errors begin with, before the key that is wrong.
    no_answer
        Whether -1 may be written, too.

    Examples
    --------
    >>> table = np.zeros((3, 3))
    >>> groups = ClassGroups(["car", "lorry", "walker"], {"vehicle": ["car", "lorry"]}, no_answer=False)
    >>> pairs = {"walker": {"vehicle": 4}, "vehicle": {"walker": 1}, "car": {"walker": 2}}
    >>> groups.fill(table, pairs, "weights")
    >>> table
    array([[0., 0., 2.],
           [0., 0., 1.],
           [4., 4., 0.]])
    """

    def __init__(
        self,
        classes: Sequence[str],
        groups: Mapping[str, Sequence[Key]],
        prefix: str = "",
        *,
        no_answer: bool = True,
    ) -> None:
        self._classes, self._prefix = list(classes), prefix
        self._lowest = NO_ANSWER if no_answer else 0
        self._groups: dict[str, list[int]] = {}
        owner: dict[int, str] = {}
        for group, members in groups.items():
            if group in self._classes:
                raise ParameterError(f"{prefix}groups: '{group}' is a class; expected another name")
            numbers = [self._number(member, "groups") for member in members]
            for number in numbers:
                if owner.setdefault(number, group) != group:
                    both = f"'{owner[number]}' and '{group}'"
                    raise ParameterError(f"{prefix}groups: {both} share a class; expected it in one of them")
            self._groups[group] = numbers

    def by_particularity(self, entries: Mapping[Key, Any], where: str) -> Iterator[tuple[list[int], Any]]:
        """Return each entry's rows, those of groups first: what comes later overwrites."""
        for key, value in entries.items():
            if key in self._groups:
                yield self._groups[str(key)], value
        seen: dict[int, Key] = {}
        for key, value in entries.items():
            if key not in self._groups:
                number = self._number(key, where)
                if number in seen:
                    twice = f"{seen[number]!r} and {key!r} are the same class"
                    raise ParameterError(f"{self._prefix}{where}: {twice}; expected it once")
                seen[number] = key
                yield [number], value

    def fill(self, table: FloatArray, pairs: Mapping[Key, Mapping[Key, float]], where: str) -> None:
        """Write the values of pairs into a table: a row a class as it is, a column one that it is taken for.

        A class's row counts before its group's, and so does its column within a row.
        """
        for rows, row in self.by_particularity(pairs, where):
            for columns, value in self.by_particularity(row, where):
                if NO_ANSWER in columns:
                    raise ParameterError(f"{self._prefix}{where}: -1 as what was predicted; expected a class")
                if len(rows) == 1 and rows == columns and value:
                    name = self._classes[rows[0]]
                    raise ParameterError(
                        f"{self._prefix}{where}.{name}.{name} is {value}; expected 0 of what is right"
                    )
                table[np.ix_(rows, columns)] = value

    def _number(self, key: Key, where: str) -> int:
        where = f"{self._prefix}{where}"
        if isinstance(key, str):
            if key in self._classes:
                return self._classes.index(key)
            hint = suggestion(key, [*self._classes, *self._groups])
            raise ParameterError(f"{where}: '{key}' is no class or group; {hint}")
        most = len(self._classes) - 1
        if isinstance(key, bool) or not isinstance(key, int) or not self._lowest <= key <= most:
            raise ParameterError(
                f"{where}: {key!r}; expected a name, or a class from {self._lowest} to {most}"
            )
        # Where classes are called by numbers, an unquoted one could mean either.
        if str(key) in self._classes and self._classes.index(str(key)) != key:
            raise ParameterError(f"{where}: {key} is one class and the name of another; quote the name")
        return key
