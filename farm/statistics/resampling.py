"""How often each group of instances is drawn: the same draws for every monitor and every measure.

Groups are drawn whole, since the frames of one track resemble each other and a second one tells little new.
They are drawn part by part (as many ID groups as there are, from among these; OOD groups likewise), since
the share of OOD in a stream is chosen and not found: another stream of the kind would have the same share,
and an interval that let it vary would answer another question.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.api.randomness import generator
from farm.errors import DataError

FEWEST = 5
"""Groups that a part needs; fewer give no 95 % interval. With 4 the most extreme draw there is, one group
four times, has a chance of 1/256, but beyond an end of the interval there should be no more than 0.0001."""
_ID, _MIXED, _OOD = range(3)
_PARTS = ("ID part", "mixed part", "OOD part")
_CELLS = 2**21
"""Bounds memory: so many weights are held at a time, 16 MB."""


class Resampling:
    """The groups of a stream's instances, ready to be drawn with replacement.

    A group belongs to the ID part, to the OOD part, or, if it has instances of both, to a mixed one. A part
    of a single group joins the mixed one, if there is one; a single mixed group joins the larger part.

    Parameters
    ----------
    n
        How many instances there are.
    is_ood
        Which of them are OOD; None where that is not known: then there is one part.
    group
        What each instance belongs to: its track. None: each instance is a group of its own.

    Examples
    --------
    >>> is_ood = np.repeat([False, True], 20)
    >>> resampling = Resampling(40, is_ood=is_ood, group=np.arange(40) // 4)
    >>> resampling.n_groups, resampling.fewest, resampling.why_not
    (10, 5, None)
    >>> next(resampling.weights(3, seed=0))[:, :5].sum(axis=1)
    array([5., 5., 5.])
    >>> Resampling(40, is_ood=is_ood, group=np.arange(40) // 10).why_not
    'the ID part has 2 groups; resampling needs at least 5'
    """

    def __init__(self, n: int, *, is_ood: BoolArray | None = None, group: NDArray[Any] | None = None) -> None:
        for what, values in (("is_ood", is_ood), ("group", group)):
            if values is not None and len(values) != n:
                raise DataError(f"resampling: {len(values)} values of {what}; expected {n}, one an instance")
        self.n = n
        self.code = np.arange(n) if group is None else codes(group)
        """The number of each instance's group."""
        self.n_groups = int(self.code.max(initial=-1)) + 1
        part = self._parts(np.zeros(n, dtype=np.bool_) if is_ood is None else is_ood)
        self.parts = {
            name: found
            for number, name in enumerate(_PARTS if is_ood is not None else ("stream",))
            if len(found := np.flatnonzero(part == number))
        }
        """The groups of each part."""
        self.fewest = min(map(len, self.parts.values()), default=0)
        """How many groups the part with the fewest has."""
        self.why_not = self._reason("instance" if group is None else "group")

    def _parts(self, is_ood: BoolArray) -> IntArray:
        size = np.bincount(self.code, minlength=self.n_groups)
        n_ood = np.bincount(self.code[is_ood], minlength=self.n_groups)
        part = np.where(n_ood == 0, _ID, np.where(n_ood == size, _OOD, _MIXED))
        if (part == _MIXED).any():
            for pure in (_ID, _OOD):
                if np.count_nonzero(part == pure) == 1:
                    part[part == pure] = _MIXED
            if np.count_nonzero(part == _MIXED) == 1:
                more_id = np.count_nonzero(part == _ID) >= np.count_nonzero(part == _OOD)
                part[part == _MIXED] = _ID if more_id else _OOD
        return part

    def _reason(self, unit: str) -> str | None:
        if not self.n:
            return "no instances"
        for name, groups in self.parts.items():
            if len(groups) < FEWEST:
                found = f"{len(groups)} {unit}{'s' if len(groups) > 1 else ''}"
                return f"the {name} has {found}; resampling needs at least {FEWEST}"
        return None

    def weights(self, replicates: int, *, seed: int, name: str = "") -> Iterator[FloatArray]:
        """Give how often each group is drawn, a row a replicate, in blocks that fit in memory.

        How large a block is changes no draw.
        """
        random = generator(seed, "bootstrap", name)
        rows = max(_CELLS // max(self.n, 1), 1)
        for start in range(0, replicates, rows):
            drawn = np.zeros((min(rows, replicates - start), self.n_groups))
            for row in drawn:
                for groups in self.parts.values():
                    k = len(groups)
                    row[groups] = np.bincount(random.integers(0, k, k), minlength=k)
            yield drawn

    def sums(self, values: FloatArray) -> FloatArray:
        """Sum a table's rows, one an instance, group by group."""
        summed = np.zeros((self.n_groups, values.shape[1]))
        for column, summed_column in zip(values.T, summed.T, strict=True):
            summed_column[:] = np.bincount(self.code, weights=column, minlength=self.n_groups)
        return summed


def codes(group: NDArray[Any]) -> IntArray:
    """Number the groups by their sorted names, so that the instances' order is no matter; each needs one.

    Examples
    --------
    >>> codes(np.array(["track 7", "track 3", "track 7"])).tolist()
    [1, 0, 1]
    """
    numbers, _ = pd.factorize(group, sort=True)
    missing = int(np.count_nonzero(numbers < 0))
    if missing:
        raise DataError(f"group: missing for {missing} of {len(group)} instances; expected one for each")
    return numbers.astype(np.int64)
