"""Do several judges rank the same items alike? Kendall's W, and how often chance alone would do as well."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
import scipy

from farm.api.arrays import FloatArray
from farm.api.randomness import generator
from farm.errors import DataError
from farm.measures.measure import Measure, undefined

DRAWS = 20_000
"""Rankings that are drawn where there are more than could be."""


@dataclass(frozen=True)
class Concordance:
    """How far judges agree."""

    w: Measure
    """Kendall's W: 1 where all rank alike, and near 0 where none has to do with another."""
    p: Measure
    """The chance of as much agreement of judges who know nothing, each of whose rankings is as likely."""
    same: bool
    """Whether all rank alike."""


def concordance(values: FloatArray, *, seed: int = 0) -> Concordance:
    """Return how far judges agree on items.

    Ties share their mean rank. Where there are few rankings p is exact: it counts all that there could be.

    Parameters
    ----------
    values
        A row a judge and a column an item.

    References
    ----------
    M. G. Kendall and B. Babington Smith, "The problem of m rankings", Annals of Mathematical Statistics 10
    (1939).

    Examples
    --------
    >>> found = concordance(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [2.0, 1.0, 3.0]]))
    >>> round(found.w.value, 4), round(found.p.value, 4), found.same
    (0.7778, 0.1944, False)
    """
    if values.ndim != 2 or np.isnan(values).any():
        raise DataError(f"concordance: values of shape {values.shape}; expected judges x items, all known")
    judges, items = values.shape
    if judges < 2 or items < 2:
        why = undefined(f"{judges} x {items} values; expected at least two judges and two items")
        return Concordance(why, why, same=False)
    ranks = scipy.stats.rankdata(values, axis=1)
    most = _most(ranks)
    if not most:
        why = undefined("each judge holds all items for equal")
        return Concordance(why, why, same=True)
    seen = _spread(ranks[None])[0]
    drawn, exact = _rankings(ranks, seed)
    # The sums are of half ranks: whole numbers, but for rounding.
    as_much = int(np.count_nonzero(_spread(drawn) >= seen - 1e-9))
    p = as_much / len(drawn) if exact else (1 + as_much) / (1 + len(drawn))
    return Concordance(Measure(float(seen / most)), Measure(p), bool((ranks == ranks[0]).all()))


def _spread(ranks: FloatArray) -> FloatArray:
    """Return by how much the items' sums of ranks differ, of several sets of judges."""
    sums = ranks.sum(axis=1)
    return np.asarray(np.square(sums - sums.mean(axis=1, keepdims=True)).sum(axis=1))


def _most(ranks: FloatArray) -> float:
    """Return the greatest spread that ranks with these ties can have."""
    judges, items = ranks.shape
    ties = 0.0
    for row in ranks:
        _, counts = np.unique(row, return_counts=True)
        ties += float((counts**3 - counts).sum())
    return float(judges**2 * (items**3 - items) - judges * ties) / 12


def _rankings(ranks: FloatArray, seed: int) -> tuple[FloatArray, bool]:
    """Return rankings of judges who know nothing: all that there are, or some that are drawn."""
    judges, items = ranks.shape
    # The first judge's may stay as it is: items have no names.
    if math.factorial(items) ** (judges - 1) <= DRAWS:
        orders = [np.array(order) for order in permutations(range(items))]
        every = product(orders, repeat=judges - 1)
        return np.array(
            [[ranks[0], *(r[o] for r, o in zip(ranks[1:], one, strict=True))] for one in every]
        ), True
    random = generator(seed, "concordance")
    return random.permuted(np.broadcast_to(ranks, (DRAWS, *ranks.shape)), axis=2), False
