"""How probable is it that one monitor is better in practice, given many sets?

The Bayesian signed-rank test. A p-value tells how surprising the data would be if two monitors were the same,
which they never are. This tells what one wants to know: the probability that the first is better by more
than matters, that the two are the same for practical purposes, or that the second is better.

What differences new sets will show is described by a Dirichlet process around those that were seen: each draw
from the posterior weighs the n differences and one *pseudo-observation* by a Dirichlet distribution with
parameters (`prior_strength`, 1, ..., 1). The pseudo-observation is 0, "no difference", and a strength of 0.5
makes it count as half a set. Within one draw, the mean of every two differences (each with itself too) lies
above, in or below the region of practical equivalence [-rope, rope], and the weights of the pairs add up to
three shares. The answer is how often each share is the greatest; shares that tie divide the draw among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from farm.api.arrays import FloatArray
from farm.api.randomness import generator
from farm.statistics.table import FullTable
from farm.statistics.wilcoxon import settled

PRIOR_STRENGTH = 0.5
DRAWS = 50_000
CHUNK = 2_000_000
"""The numbers drawn at a time, so that memory does not grow with draws times sets."""


@dataclass(frozen=True, slots=True)
class Practical:
    """The probabilities that a monitor is practically better than, the same as and worse than another one.

    They add up to 1.
    """

    other: str
    better: float
    equivalent: float
    worse: float


def practical(table: FullTable, monitor: str, rope: float, seed: int) -> Iterator[Practical]:
    """Compare a monitor with each other one; `rope` is in the measure's units.

    A pair's random numbers depend on the seed and on the two names alone, in either order.

    Examples
    --------
    >>> values = tuple((0.5 + i / 40, 0.1 + i / 50) for i in range(10))
    >>> found, = practical(FullTable("mcc", tuple("abcdefghij"), ("oob", "odin"), values), "oob", 0.01, 0)
    >>> found.other, found.better > 0.99, found.equivalent < 0.01
    ('odin', True, True)
    """
    columns = (table.array if table.higher_is_better else -table.array).T
    own = columns[table.monitors.index(monitor)]
    for other, values in zip(table.monitors, columns, strict=True):
        if other != monitor:
            random = generator(seed, "signed rank", table.measure, *sorted((monitor, other)))
            yield Practical(other, *practical_probabilities(own, values, rope, random))


def practical_probabilities(
    first: FloatArray,
    second: FloatArray,
    rope: float,
    random: np.random.Generator,
    *,
    prior_strength: float = PRIOR_STRENGTH,
    draws: int = DRAWS,
) -> tuple[float, float, float]:
    """Return the probabilities that the first is practically higher, the same and lower.

    A mean difference of exactly `rope` is still the same.

    References
    ----------
    A. Benavoli, G. Corani, F. Mangili, M. Zaffalon and F. Ruggeri, "A Bayesian Wilcoxon signed-rank test
    based on the Dirichlet process", International Conference on Machine Learning (2014).
    A. Benavoli, G. Corani, J. Demsar and M. Zaffalon, "Time for a change: a tutorial for comparing multiple
    classifiers through Bayesian analysis", Journal of Machine Learning Research 18 (2017).

    Examples
    --------
    >>> seen = np.array([0.3, 0.4, 0.5])
    >>> practical_probabilities(seen, seen + 0.001, 0.01, np.random.default_rng(0))
    (0.0, 1.0, 0.0)
    """
    differences = settled(first - second, float(max(np.abs(first).max(), np.abs(second).max())))
    seen = np.append(differences, 0.0)
    strengths = np.append(np.ones(len(differences)), prior_strength)
    order = np.argsort(seen)
    seen = seen[order]
    sums = seen[:, None] + seen[None, :]
    scale = float(max(np.abs(seen).max(), rope))
    sums, edge = settled(sums, scale), float(settled(np.array([2 * rope]), scale)[0])
    # The differences are sorted: the partners of each that make a pair high are the last ones, low the first.
    high_from, low_up_to = len(seen) - (sums > edge).sum(axis=1), (sums < -edge).sum(axis=1)
    wins = np.zeros(3)
    for start in range(0, draws, step := max(CHUNK // len(seen), 1)):
        weights = random.dirichlet(strengths, min(step, draws - start))[:, order]
        below = np.concatenate([np.zeros((len(weights), 1)), np.cumsum(weights, axis=1)], axis=1)
        low = (weights * below[:, low_up_to]).sum(axis=1)
        high = (weights * (below[:, -1:] - below[:, high_from])).sum(axis=1)
        shares = settled(np.stack([high, 1 - high - low, low]), 1.0)
        greatest = shares == shares.max(axis=0)
        wins += (greatest / greatest.sum(axis=0)).sum(axis=1)
    better, equivalent, worse = (wins / draws).tolist()
    return better, equivalent, worse
