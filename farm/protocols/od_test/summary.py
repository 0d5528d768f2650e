"""What an OD-test says of each method: its mean accuracy, by source set, and what optimism would add."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from farm.api import FloatArray
from farm.protocols.od_test.results import Results
from farm.statistics.ranks import RankComparison, compare_ranks
from farm.statistics.table import FullTable, Undefined

FEWEST_SOURCES = 5
CHANCE = 0.5
A_BLOCK = "the mean over all triplets of one source set"


@dataclass(frozen=True)
class MeanAccuracy:
    """A mean accuracy over triplets with its 95 % interval, and how many there are.

    The interval is by how source sets differ; that of one source set, by how the sets judged on differ.
    """

    method: str
    network: str
    n: int
    mean: float
    low: float
    high: float
    source: str = ""

    @property
    def title(self) -> str:
        """The method, and the network it stands on."""
        return titled(self.method, self.network)


@dataclass(frozen=True)
class OptimismGap:
    """How much better a method looks on other images of the very set that it learned from."""

    method: str
    network: str
    n: int
    """Pairs of a source and a set to learn from."""
    optimistic: float
    honest: float
    gap: float
    low: float
    high: float

    @property
    def title(self) -> str:
        """The method, and the network it stands on."""
        return titled(self.method, self.network)


def titled(method: str, network: str) -> str:
    """Return what a method is called beside others.

    Examples
    --------
    >>> titled("ScoreSVM", "VGG"), titled("1-NNSVM", "")
    ('ScoreSVM/VGG', '1-NNSVM')
    """
    return f"{method}/{network}" if network else method


def interval(values: FloatArray, *blocks: Iterable[str]) -> tuple[float, float, float]:
    """Return the mean of some values and its 95 % interval, by how much the means of blocks differ.

    Values of one block are no independent evidence; blocks are. Student's t with one degree of freedom less
    than there are blocks; with one block there is no interval. Where values share blocks in several ways,
    such as what was learned from and what was judged on, the variances of all add up, and the fewest count.

    Examples
    --------
    >>> [round(value, 3) for value in interval(np.array([0.5, 0.6, 0.7]), "abc")]
    [0.6, 0.352, 0.848]
    >>> [round(value, 3) for value in interval(np.array([0.5, 0.7, 0.6, 0.6]), "aabb")]
    [0.6, 0.6, 0.6]
    """
    mean = float(np.mean(values))
    numbers, variance = [], 0.0
    for one in blocks:
        named, of = np.unique(np.array(list(one)), return_inverse=True)
        if (n := len(named)) > 1:
            # Each block's part of the whole mean, and how far it pulls it: of equal blocks the usual one.
            pulls = np.bincount(of, values - mean) / len(values)
            variance += n / (n - 1) * float(np.sum(pulls**2))
            numbers.append(n)
    if not numbers:
        return mean, float("nan"), float("nan")
    half = float(stats.t.ppf(0.975, min(numbers) - 1)) * float(np.sqrt(variance))
    return mean, mean - half, mean + half


def _accuracies(frame: pd.DataFrame) -> FloatArray:
    values: FloatArray = frame["accuracy"].to_numpy(dtype=np.float64)
    return values


def _within(found: tuple[float, float, float]) -> tuple[float, float, float]:
    """Cut an interval of accuracies to what accuracies can be."""
    mean, low, high = found
    return mean, max(low, 0.0) if low == low else low, min(high, 1.0) if high == high else high


def mean_accuracies(results: Results) -> list[MeanAccuracy]:
    """Return each method's mean over all triplets, the best first: the source's Figure 3."""
    found = [
        MeanAccuracy(method, network, len(own), *_within(interval(_accuracies(own), own["source"])))
        for (method, network), own in _groups(results.honest, ["method", "network"])
    ]
    return sorted(found, key=lambda one: -one.mean)


def accuracies_by_source(results: Results) -> list[MeanAccuracy]:
    """Return each method's mean over the triplets of each source set: the source's Figures 4 and 6."""
    return [
        MeanAccuracy(
            method,
            network,
            len(own),
            *_within(interval(_accuracies(own), own["target"], own["validation"])),
            source,
        )
        for (source, method, network), own in _groups(results.honest, ["source", "method", "network"])
    ]


def optimism_gaps(results: Results) -> list[OptimismGap]:
    """Return how much each method's accuracy falls where the target is another set, the largest fall first.

    Empty where no result is optimistic: `optimistic: true` asks for them.
    """
    return sorted(_gaps(results), key=lambda one: -one.gap)


def _gaps(results: Results) -> Iterator[OptimismGap]:
    learned = results.frame[results.frame["validation"] != ""]
    for (method, network), own in _groups(learned, ["method", "network"]):
        by = ["source", "validation"]
        alike = own[own["optimistic"]].groupby(by)["accuracy"].mean()
        other = own[~own["optimistic"]].groupby(by)["accuracy"].mean()
        both = pd.concat([alike, other], axis=1, keys=["alike", "other"]).dropna()
        if both.empty:
            continue
        sources = both.index.get_level_values("source")
        # Twelve digits: what is left below is the arithmetic's.
        gap = interval((both["alike"] - both["other"]).round(12).to_numpy(), sources)
        yield OptimismGap(
            method, network, len(both), float(both["alike"].mean()), float(both["other"].mean()), *gap
        )


def significance(results: Results) -> RankComparison | Undefined:
    """Rank the methods on each source set, and test whether they differ; no p-value below five of them.

    Triplets of one source share its images, its networks and its thresholds: they are no independent
    evidence, and to test over them would find differences where there are none.
    """
    blocks = {
        (source, titled(method, network)): float(own["accuracy"].mean())
        for (source, method, network), own in _groups(results.honest, ["source", "method", "network"])
    }
    table = pd.Series(blocks).unstack(sort=False)
    table = table.dropna(axis=1)
    n = len(table)
    if n < FEWEST_SOURCES:
        return Undefined(
            f"{n} source set{' is' if n == 1 else 's are'} fewer than {FEWEST_SOURCES}: even if one method "
            f"were the best on each, a test of two methods over {n} could give no p below {2 / 2**n:.3g}"
        )
    if table.shape[1] < 2:
        return Undefined("there is one method")
    values = tuple(tuple(row) for row in table.to_numpy().tolist())
    sets, methods = tuple(map(str, table.index)), tuple(map(str, table.columns))
    return compare_ranks(FullTable("accuracy", sets, methods, values, a_set_is=A_BLOCK))


def _groups(frame: pd.DataFrame, by: list[str]) -> Iterator[tuple[tuple[str, ...], pd.DataFrame]]:
    for key, own in frame.groupby(by, sort=False):
        yield tuple(map(str, key)), own
