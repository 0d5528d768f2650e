"""What is known of two samples: labelled reference instances, and a target's, whose labels nobody knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from farm.api.arrays import FloatArray, IntArray
from farm.api.randomness import generator
from farm.errors import DataError
from farm.measures.measure import Measure, undefined
from farm.statistics.drift import GROUPS
from farm.statistics.resampling import Draw, Resampling, codes

Told: TypeAlias = FloatArray | str
"""Numbers, one row an instance; or why there are none."""
PARTS = ("reference", "part in both samples", "target")


@dataclass(frozen=True, eq=False)
class Signals:
    """What a classifier and its monitors tell of instances, whatever their labels."""

    track: IntArray
    """The number of each instance's track."""
    confidence: Told
    negative_entropy: Told
    """The sum of p log p over the classes: 0 where the classifier is wholly sure."""
    features: Told
    """Instances x features, by which one sample is told from the other."""

    def __len__(self) -> int:
        return len(self.track)

    def __post_init__(self) -> None:
        for name in ("confidence", "negative_entropy", "features"):
            values = getattr(self, name)
            if isinstance(values, str):
                continue
            if len(values) != len(self.track):
                raise DataError(
                    f"label-free: {len(values)} rows of {name}; expected {len(self.track)}, one an instance"
                )
            if not np.isfinite(values).all():
                raise DataError(
                    f"label-free: {name} has a value that is not finite; expected finite ones, or why there "
                    "are none"
                )


@dataclass(frozen=True, eq=False)
class SampleGroups:
    """The groups of tracks that are drawn, of both samples together."""

    reference: IntArray
    """The number of each instance's group."""
    target: IntArray
    n: int

    @classmethod
    def of(
        cls, reference: IntArray, target: IntArray, *, shared: bool = False, seed: int = 0
    ) -> SampleGroups:
        """Number the tracks of both samples; many are joined at random to fewer groups.

        Parameters
        ----------
        reference, target
            The number of each instance's track.
        shared
            Whether a number stands for one track in both samples, which is then drawn for both.

        Examples
        --------
        >>> groups = SampleGroups.of(np.array([3, 3, 4]), np.array([4, 9]), shared=True)
        >>> groups.reference.tolist(), groups.target.tolist(), groups.n
        ([0, 0, 1], [1, 2], 3)
        """
        apart = 0 if shared else int(reference.max(initial=-1)) + 1
        track = codes(np.concatenate([reference, target + apart]))
        here, there = np.split(track, [len(reference)])
        n_tracks = int(track.max(initial=-1)) + 1
        kind = np.isin(np.arange(n_tracks), here) + 2 * np.isin(np.arange(n_tracks), there)
        group = np.empty(n_tracks, dtype=np.int64)
        n = 0
        for number in (1, 3, 2):  # of the reference alone, of both samples, of the target alone
            own = np.flatnonzero(kind == number)
            order = np.arange(len(own))
            if len(own) > GROUPS:
                order = generator(seed, "label-free", str(number)).permutation(len(own)) % GROUPS
            group[own] = n + order
            n += min(len(own), GROUPS)
        return cls(group[here], group[there], n)

    def resampling(self) -> Resampling:
        """Return what draws as many of the reference, of the target and of both as there are."""
        # Weighting holds a number for each reference instance and draw, of the target one for each group.
        group = np.concatenate([self.reference, np.unique(self.target)])
        of_target = np.arange(len(group)) >= len(self.reference)
        found = Resampling(len(group), is_ood=of_target, group=group, parts=PARTS)
        if found.why_not and PARTS[1] in found.parts:
            # A few tracks of one sample alone are too few to be drawn apart from those of both.
            together = Resampling(len(group), group=group)
            return found if together.why_not else together
        return found


@dataclass(frozen=True, eq=False)
class Estimate:
    """A method's estimate of the accuracy, and the same as a function of groups' weights."""

    value: Measure
    draw: Draw

    @classmethod
    def of(cls, draw: Draw, n_groups: int) -> Estimate:
        """Take what a draw gives in which each group comes once."""
        return cls(Measure(float(draw(np.ones((1, n_groups)))[0])), draw)

    @classmethod
    def nowhere(cls, reason: str) -> Estimate:
        """Return one that is undefined."""
        return cls(undefined(reason), lambda weights: np.full(len(weights), np.nan))


def missing(reference: Told, target: Told) -> str | None:
    """Say why one of two samples has not the numbers that a method needs; None where both have them."""
    return next((each for each in (reference, target) if isinstance(each, str)), None)


def sums(code: IntArray, columns: Sequence[FloatArray], n_groups: int) -> FloatArray:
    """Return the sums of columns by group, a row a group."""
    return np.column_stack([np.bincount(code, weights=column, minlength=n_groups) for column in columns])
