"""Importance weighting: the accuracy of reference instances, those weighing more that are like the target.

How many times likelier an instance is in the target than in the reference follows from a logistic regression
that tells the two apart. Where labels depend on the features in both samples alike (covariate shift), and the
ratio of densities has that form, the weighted accuracy is the target's. Where the target lies beyond the
reference no weights help; then, or where few instances carry all of the weight, there is no estimate.

References
----------
M. Sugiyama, T. Suzuki and T. Kanamori, "Density Ratio Estimation in Machine Learning" (2012). L. Kish,
"Survey Sampling" (1965).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.errors import DataError
from farm.measures.measure import Measure, undefined
from farm.statistics.label_free.samples import Estimate, SampleGroups, Told, missing
from farm.statistics.resampling import Draw
from farm.statistics.wording import percent_words

RIDGE = 1.0
"""What half the squared length of the coefficients costs, where an instance costs its log-likelihood."""
FEWEST_EFFECTIVE = 10.0
"""As many tracks a weighted reference has to be worth at least."""
MOST_BEYOND = 0.2
"""Of a target no larger share may be less like the reference than all of that is: there nothing was seen, and
where a plane parts the samples, all weights are nearly alike."""
_STEPS = 100
_CONVERGED = 1e-9


@dataclass(frozen=True, eq=False)
class DensityRatio:
    """How many times likelier an instance is in the target than in the reference, by its features.

    Features are centred and scaled by the reference; one that is the same in all of the reference is left
    out. The coefficients, but not the intercept, are drawn to 0.

    Examples
    --------
    Twice as often above 0 in the target as in the reference, and a third as often below:

    >>> reference, target = (np.repeat([[-1.0], [1.0]], n, axis=0) for n in ([60, 40], [20, 80]))
    >>> ratio = DensityRatio.fit(reference, target, ridge=1e-9)
    >>> ratio.weights(np.array([[-1.0], [1.0]])).round(3).tolist()
    [0.333, 2.0]
    """

    used: BoolArray
    """Which features are not the same in all of the reference."""
    centre: FloatArray
    scale: FloatArray
    coefficients: FloatArray
    """The intercept first, then those of the used features."""
    penalty: FloatArray
    prior: float
    """How many reference instances there are for each of the target's."""

    @classmethod
    def fit(cls, reference: FloatArray, target: FloatArray, *, ridge: float = RIDGE) -> DensityRatio:
        """Tell a target's features (instances x features) from the reference's, by Newton's method."""
        if not len(reference) or not len(target):
            raise DataError("density ratio: a sample has no instances; expected some in each")
        used = np.ptp(reference, axis=0) > 0
        centre, scale = reference[:, used].mean(axis=0), reference[:, used].std(axis=0)
        penalty = np.append(0.0, np.full(len(scale), ridge))
        start = cls(used, centre, scale, np.zeros(len(penalty)), penalty, len(reference) / len(target))
        design = np.vstack([start.design(reference), start.design(target)])
        coefficients = _newton(design, np.arange(len(design)) >= len(reference), penalty)
        return replace(start, coefficients=coefficients)

    def design(self, features: FloatArray) -> FloatArray:
        """Return features as they are weighed, after a column of ones."""
        scaled = (features[:, self.used] - self.centre) / self.scale
        return np.column_stack([np.ones(len(features)), scaled])

    def weights(self, features: FloatArray) -> FloatArray:
        """Return the ratio at each instance."""
        return np.asarray(self.prior * np.exp(self.design(features) @ self.coefficients))


def effective_tracks(weights: FloatArray, track: IntArray) -> float:
    """Return as how many tracks of one weight weighted instances tell (Kish's effective number).

    Examples
    --------
    >>> effective_tracks(np.array([1.0, 1.0, 2.0]), np.array([0, 0, 1]))
    2.0
    >>> round(effective_tracks(np.array([1.0, 1.0, 20.0]), np.array([0, 1, 2])), 2)
    1.2
    """
    by_track = np.bincount(track, weights=weights / weights.max())
    return float(by_track.sum() ** 2 / (by_track @ by_track))


def weighted(
    reference: Told,
    right: BoolArray,
    target: Told,
    groups: SampleGroups,
    track: IntArray,
    *,
    ridge: float = RIDGE,
) -> tuple[Estimate, Measure]:
    """Estimate the accuracy on a target by importance weighting, and tell the effective number of tracks.

    In draws the regression makes one step of Newton's from what it is for all instances.

    Parameters
    ----------
    reference, target
        Features, instances x features.
    right
        Which instances of the reference are.
    track
        The number of each reference instance's track.

    Examples
    --------
    Right 9 times in 10 where the feature is 1, and never elsewhere; the target has 8 such ones in 10:

    >>> track = np.arange(100)
    >>> here, there = np.repeat([0.0, 1.0], [60, 40])[:, None], np.repeat([0.0, 1.0], [20, 80])[:, None]
    >>> right = (here[:, 0] == 1) & (track % 10 > 0)
    >>> found, tracks = weighted(here, right, there, SampleGroups.of(track, track), track, ridge=1e-9)
    >>> round(found.value.value, 3), round(tracks.value, 1)
    (0.72, 60.0)
    """
    if why := missing(reference, target):
        return Estimate.nowhere(why), undefined(why)
    here, there = np.asarray(reference), np.asarray(target)
    if not np.ptp(here, axis=0).any():
        why = "all of the reference have the same features: none is more like the target than another"
        return Estimate.nowhere(why), undefined(why)
    ratio = DensityRatio.fit(here, there, ridge=ridge)
    logs = ratio.design(here) @ ratio.coefficients
    weights = np.exp(logs - logs.max())
    effective = effective_tracks(weights, track)
    beyond = float(np.mean(ratio.design(there) @ ratio.coefficients > logs.max()))
    why = None
    if beyond > MOST_BEYOND:
        why = (
            f"{percent_words(beyond)} of the instances are like none of the reference; expected at most "
            f"{percent_words(MOST_BEYOND)}: no weights make up for what it has not"
        )
    elif effective < FEWEST_EFFECTIVE:
        why = (
            f"weighted like the instances, the reference is worth {effective:.1f} tracks; expected at least "
            f"{FEWEST_EFFECTIVE:g}: too few of it are like them"
        )
    if why:
        return Estimate.nowhere(why), undefined(why)
    value = Measure(float(weights @ right / weights.sum()))
    return Estimate(value, _drawn(ratio, here, right, there, groups)), Measure(effective)


def _drawn(
    ratio: DensityRatio,
    reference: FloatArray,
    right: BoolArray,
    target: FloatArray,
    groups: SampleGroups,
) -> Draw:
    """Return the weighted accuracy as a function of groups' weights, the ratio fitted anew by one step."""
    here, there = ratio.design(reference), ratio.design(target)
    design, code = np.vstack([here, there]), np.concatenate([groups.reference, groups.target])
    start, penalty, size = ratio.coefficients, ratio.penalty, len(ratio.penalty)
    chance = _chance(design @ start)
    off, spread = chance - (np.arange(len(design)) >= len(here)), chance * (1 - chance)
    slopes, bends = np.empty((groups.n, size)), np.empty((groups.n, size * size))
    rows = np.split(np.argsort(code, kind="stable"), np.cumsum(np.bincount(code, minlength=groups.n))[:-1])
    for group, own in enumerate(rows):
        slopes[group] = off[own] @ design[own]
        bends[group] = ((design[own] * spread[own, None]).T @ design[own]).ravel()

    def draw(weights: FloatArray) -> FloatArray:
        slope = weights @ slopes + penalty * start
        bend = (weights @ bends).reshape(-1, size, size) + np.diag(penalty)
        coefficients = start - np.linalg.solve(bend, slope[:, :, None])[:, :, 0]
        logs = coefficients @ here.T
        found = np.exp(logs - logs.max(axis=1, keepdims=True)) * weights[:, groups.reference]
        total = found.sum(axis=1)
        return np.asarray((found @ right) / np.where(total > 0, total, np.nan))

    return draw


def _newton(design: FloatArray, of_target: BoolArray, penalty: FloatArray) -> FloatArray:
    """Return the coefficients of the lowest loss; a step that would raise it is halved until it does not."""

    def loss(coefficients: FloatArray) -> float:
        log_odds = design @ coefficients
        own = np.logaddexp(0.0, np.where(of_target, -log_odds, log_odds))
        return float(own.sum() + penalty @ coefficients**2 / 2)

    found = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        chance = _chance(design @ found)
        slope = design.T @ (chance - of_target) + penalty * found
        bend = (design * (chance * (1 - chance))[:, None]).T @ design + np.diag(penalty)
        step, before = np.linalg.solve(bend, slope), loss(found)
        while np.abs(step).max() > _CONVERGED and loss(found - step) > before:
            step = step / 2
        found = found - step
        if np.abs(step).max() <= _CONVERGED:
            break
    return found


def _chance(log_odds: FloatArray) -> FloatArray:
    """Return probabilities of log-odds, however far these lie from 0."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -log_odds)))
