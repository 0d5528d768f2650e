"""How much surer or less sure of the right class a classifier is once its inputs are transformed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from farm.api.arrays import FloatArray, IntArray
from farm.errors import DataError
from farm.measures.measure import Measure, undefined
from farm.measures.probability_sums import why_unanswered

LOWEST, HIGHEST = -1.0, 1.0
"""What a change of a probability may be."""
WORST_SHARE = 10
"""One in so many instances are the worst."""


@dataclass(frozen=True, eq=False)
class TransformerLoss:
    """What one transformer does."""

    n: int
    """Instances that it acted on."""
    mean: Measure
    """The mean change of the right class's probability; below 0 where it is lost."""
    worst: int
    """How many instances lose most by it; of several the first counts."""
    tied: int
    """How many lose as much by this one as by the first, which counts for them."""
    changes: FloatArray = field(repr=False)
    """Of the rows that count; NaN where it did not act."""


@dataclass(frozen=True, eq=False)
class ConfidenceLoss:
    """The change of the right class's probability under the worst transformer of each instance.

    How sure a mean is `farm.statistics.by_track.mean_by_track` tells of `losses`, or of what one transformer
    changes, from `LOWEST` to `HIGHEST`, and the tracks of `rows`.

    References
    ----------
    C.-H. Cheng, G. Nührenberg, C.-H. Huang and H. Yasuoka, "Towards dependability metrics for neural
    networks", MEMOCODE (2018), section II D.

    Examples
    --------
    >>> after = {"fog": np.array([0.85, 0.4]), "fgsm": np.array([0.69, np.nan])}
    >>> found = ConfidenceLoss.of(np.array([0.91, 0.3]), after)
    >>> found.losses.round(2).tolist(), round(found.mean.value, 2), round(found.minimum.value, 2)
    ([-0.22, 0.1], -0.06, -0.22)
    >>> {name: each.worst for name, each in found.by_transformer.items()}
    {'fog': 1, 'fgsm': 1}
    """

    n: int
    """Instances that have a right answer and that some transformer acted on; the others do not count."""
    unanswered: int
    untouched: int
    """Those that have a right answer, and no transformer acted on."""
    mean: Measure
    """The mean loss; below 0, unless transformers make the classifier surer."""
    minimum: Measure
    worst_tenth: Measure
    """The mean of the worst tenth, rounded up."""
    by_transformer: Mapping[str, TransformerLoss]
    losses: FloatArray = field(repr=False)
    """The least change of each instance that counts."""
    rows: IntArray = field(repr=False)
    """Which instances these are."""

    @classmethod
    def of(cls, before: FloatArray, after: Mapping[str, FloatArray]) -> ConfidenceLoss:
        """Compare what the right class's probability is before and after.

        Parameters
        ----------
        before
            Of each instance as it is; NaN where there is no right answer.
        after
            By transformer, of the same instances; NaN where it did not act.
        """
        for name, values in (("before", before), *after.items()):
            _check(name, values, len(before))
        changes = np.array([values - before for values in after.values()]).reshape(len(after), len(before))
        answered, acted = ~np.isnan(before), ~np.isnan(changes)
        rows = np.flatnonzero(acted.any(axis=0))
        own = changes[:, rows]
        filled = np.where(np.isnan(own), math.inf, own)
        losses = filled.min(axis=0, initial=math.inf)
        is_worst = filled == losses
        first = is_worst & (np.cumsum(is_worst, axis=0) == 1)
        why = _why_not(len(before), int(answered.sum()), len(rows), len(after))
        tenth = np.sort(losses)[: math.ceil(len(rows) / WORST_SHARE)]
        mean, minimum, worst_tenth = (
            undefined(why) if why else Measure(float(reduce(values)))
            for reduce, values in ((np.mean, losses), (np.min, losses), (np.mean, tenth))
        )
        return cls(
            n=len(rows),
            unanswered=int((~answered).sum()),
            untouched=int(answered.sum()) - len(rows),
            mean=mean,
            minimum=minimum,
            worst_tenth=worst_tenth,
            by_transformer={
                name: TransformerLoss(
                    n=(n := int(np.count_nonzero(~np.isnan(change)))),
                    mean=Measure(float(np.nanmean(change)))
                    if n
                    else undefined(why or "it acted on no instance"),
                    worst=int(counted.sum()),
                    tied=int((worst & ~counted).sum()),
                    changes=change,
                )
                for name, change, worst, counted in zip(after, own, is_worst, first, strict=True)
            },
            losses=losses,
            rows=rows,
        )


def _check(name: str, values: FloatArray, n: int) -> None:
    if len(values) != n:
        raise DataError(f"confidence loss: {len(values)} values of '{name}'; expected {n}, one an instance")
    bad = np.flatnonzero((values < 0) | (values > 1))
    if len(bad):
        raise DataError(
            f"confidence loss: '{name}' is {values[bad[0]]:g} at place {bad[0]}; expected a probability"
        )


def _why_not(n: int, answered: int, counting: int, transformers: int) -> str | None:
    if why := why_unanswered(n, answered):
        return why
    if not transformers:
        return "no transformers"
    return None if counting else f"no transformer acted on any of the {answered:,} instances"
