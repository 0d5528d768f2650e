"""How often each group of instances is drawn, the same for every monitor and measure, and what that gives.

Groups are drawn whole, since the frames of one track resemble each other and a second one tells little new.
They are drawn part by part (as many ID groups as there are, from among these; OOD groups likewise), since
the share of OOD in a stream is chosen and not found: another stream of the kind would have the same share,
and an interval that let it vary would answer another question.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.api.randomness import generator
from farm.errors import DataError

FEWEST = 5
"""Groups that a part needs; fewer give no 95 % interval. With 4 the most extreme draw there is, one group
four times, has a chance of 1/256, but beyond an end of the interval there should be no more than 0.0001."""
K = TypeVar("K", bound=Hashable)
Draw: TypeAlias = Callable[[FloatArray], FloatArray]
"""From weights, a row a replicate and a column a group, to values, one a replicate, NaN where undefined."""
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
    unit
        What an instance is called.
    parts
        What the ID part, the mixed one and the OOD part are called.

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

    def __init__(
        self,
        n: int,
        *,
        is_ood: BoolArray | None = None,
        group: NDArray[Any] | None = None,
        unit: str = "instance",
        parts: tuple[str, str, str] = _PARTS,
    ) -> None:
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
            for number, name in enumerate(parts if is_ood is not None else ("stream",))
            if len(found := np.flatnonzero(part == number))
        }
        """The groups of each part."""
        self.fewest = min(map(len, self.parts.values()), default=0)
        """How many groups the part with the fewest has."""
        self.why_not = self._reason(unit if group is None else "group")

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

    def weights(self, replicates: int, *, seed: int) -> Iterator[FloatArray]:
        """Return how often each group is drawn, a row a replicate, in blocks that fit in memory.

        How large a block is changes no draw.
        """
        random = generator(seed, "bootstrap", "")
        rows = max(_CELLS // max(self.n, 1), 1)
        for start in range(0, replicates, rows):
            drawn = np.zeros((min(rows, replicates - start), self.n_groups))
            for row in drawn:
                for groups in self.parts.values():
                    k = len(groups)
                    row[groups] = np.bincount(random.integers(0, k, k), minlength=k)
            yield drawn


def draws(
    values: Callable[[FloatArray], Mapping[K, FloatArray]], weights: Iterable[FloatArray]
) -> dict[K, FloatArray]:
    """Compute all that is asked of the same draws, which come as weights, block by block."""
    blocks = [values(block) for block in weights]
    return {key: np.concatenate([block[key] for block in blocks]) for key in blocks[0]}


def exponential_weights(replicates: int, n_groups: int, *, seed: int) -> Iterator[FloatArray]:
    """Return random weights of groups in place of how often each is drawn (the Bayesian bootstrap)."""
    random = generator(seed, "bounds")
    size = max(_CELLS // n_groups, 1)
    for start in range(0, replicates, size):
        yield random.standard_exponential((min(size, replicates - start), n_groups))


def areas_by_weight(scores: FloatArray, is_ood: BoolArray, code: IntArray) -> Draw:
    """Return the area under the ROC curve as a function of groups' weights; a tie counts half.

    `code` is the number of each instance's group.

    A pair of an ID and an OOD instance weighs as much as the product of their weights. With the ID weights
    summed in the order of their scores, the weight of all that lie below an OOD score is one look into that
    sum.
    """
    if np.isnan(scores).any():
        return lambda weights: np.full(len(weights), np.nan)
    id_rows, ood_rows = np.flatnonzero(~is_ood), np.flatnonzero(is_ood)
    id_rows = id_rows[np.argsort(scores[id_rows], kind="stable")]
    # Sorted, both look-ups pass through memory in one direction.
    ood_rows = ood_rows[np.argsort(scores[ood_rows], kind="stable")]
    below = np.searchsorted(scores[id_rows], scores[ood_rows], side="left")
    up_to = np.searchsorted(scores[id_rows], scores[ood_rows], side="right")
    id_groups, ood_groups = code[id_rows], code[ood_rows]

    def values(weights: FloatArray) -> FloatArray:
        ood = weights[:, ood_groups]
        summed = np.zeros((len(weights), len(id_rows) + 1))
        np.cumsum(weights[:, id_groups], axis=1, out=summed[:, 1:])
        twice = np.einsum("ij,ij->i", ood, summed[:, below]) + np.einsum("ij,ij->i", ood, summed[:, up_to])
        pairs = summed[:, -1] * ood.sum(axis=1)
        return np.asarray(twice / np.where(pairs > 0, 2 * pairs, np.nan))

    return values


def means_by_weight(values: FloatArray, resampling: Resampling) -> Draw:
    """Return the mean of a number that each instance has, as a function of groups' weights."""
    code = resampling.code
    sums = np.column_stack([np.bincount(code), np.bincount(code, weights=values)])

    def draw(weights: FloatArray) -> FloatArray:
        n, total = (weights @ sums).T
        return np.asarray(total / np.where(n > 0, n, np.nan))

    return draw


def quantile_by_weight(values: FloatArray, q: float, group: IntArray) -> Draw:
    """Return the value that the share q of them does not exceed, as a function of groups' weights.

    `group` is the number of each value's group. An infinite quantile is undefined.
    """
    order = np.argsort(values, kind="stable")
    ranked, group = values[order], group[order]

    def draw(weights: FloatArray) -> FloatArray:
        if not len(ranked):
            return np.full(len(weights), np.nan)
        below = np.cumsum(weights[:, group], axis=1)
        place = (below < q * below[:, -1:] - 1e-9).sum(axis=1)
        found = ranked[np.minimum(place, len(ranked) - 1)]
        return np.asarray(np.where(np.isinf(found) | (below[:, -1] <= 0), np.nan, found))

    return draw


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
