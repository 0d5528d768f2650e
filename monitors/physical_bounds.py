"""Physical bounds: images that cannot be pictures of the world, whatever is to be seen in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from farm.api import (
    JSON,
    BoolArray,
    Explanation,
    Features,
    FitData,
    Images,
    Monitor,
    Needs,
    Observation,
    State,
    check_number,
)
from farm.errors import ParameterError
from monitors._image_measures import measured, told_by_checks, with_frozen
from monitors._latest import Latest

CHECKS = ("black", "saturated", "flat", "frozen")
GREY_LEVEL = 1 / 255
"""A narrower spread than this among training images counts as this much: no camera is that exact."""
FROZEN = 1000.0
"""The score of a frozen image, above all others: no pixel in [0, 1] is farther than 255 grey levels out."""


class PhysicalBounds(Monitor):
    """An image darker, more saturated or flatter than any training image, or the same as the one before.

    Each check measures an image by one number: `black` by its mean brightness, `saturated` by its share of
    values at full scale, `flat` by its contrast (the standard deviation over each channel's pixels, as root
    mean square over the channels). The score is how far beyond the worst training image it is, in standard
    deviations of the training images, by the check that finds most: above 0 for what no training image was.
    Where one of them was black, say, black images pass; the notes tell how bad the worst ones were.

    `frozen` compares with the image before it in the stream, whatever its track, and says all or nothing: the
    highest score, or no word. The first image of a stream has none before it.

    Parameters
    ----------
    checks
        Which checks are on: some of `black`, `saturated`, `flat`, `frozen`.
    tolerance
        How far beyond the training images an image may be, in standard deviations. None calibrates it on ID
        validation data.
    full_scale
        The value from which on one counts as saturated; just below 1, since compression blurs it.
    frozen_below
        The mean absolute difference to the image before, below which the image counts as the same: half a
        grey level. Any camera's noise is above it.

    Examples
    --------
    >>> PhysicalBounds(checks=["black", "saturated"]).needs.order
    False
    """

    reference = "Kang et al.: Model assertions for monitoring and improving ML models, MLSys 2020"

    def __init__(
        self,
        *,
        checks: Sequence[str] = CHECKS,
        tolerance: float | None = 0.0,
        full_scale: float = 0.99,
        frozen_below: float = 1 / 510,
    ) -> None:
        several = isinstance(checks, Sequence) and not isinstance(checks, str)
        if not several or not checks or any(check not in CHECKS for check in checks):
            raise ParameterError(f"checks is {checks!r}; expected a list of some of: {', '.join(CHECKS)}")
        if tolerance is not None:
            check_number("tolerance", tolerance, low=0, high=255)
        check_number("full_scale", full_scale, above=0, high=1)
        check_number("frozen_below", frozen_below, above=0, high=1)
        self._learned = [check for check in CHECKS if check in checks and check != "frozen"]
        self._looks_back = "frozen" in checks
        self._tolerance, self._full_scale, self._frozen_below = tolerance, full_scale, frozen_below
        self._before: NDArray[np.float32] | None = None
        self._latest: Latest | None = None

    @property
    def needs(self) -> Needs:
        """The stream's order, where images are compared with those before them."""
        return Needs(order=self._looks_back)

    @property
    def fixed_threshold(self) -> float | None:
        """The tolerance, where it is set."""
        return self._tolerance

    def _fit(self, data: FitData) -> State:
        found = np.concatenate(
            [measured(observation.images, self._learned, self._full_scale) for observation, _ in data]
        )
        return {"worst": found.max(axis=0), "unit": np.maximum(found.std(axis=0), GREY_LEVEL)}

    def _load(self, state: State) -> None:
        self._worst = np.asarray(state["worst"], dtype=np.float64)
        self._unit = np.asarray(state["unit"], dtype=np.float64)
        self.reset()

    def _score(self, observation: Observation) -> Features:
        beyond = (measured(observation.images, self._learned, self._full_scale) - self._worst) / self._unit
        if self._looks_back:
            frozen = self._frozen(observation.images)
            self._latest, self._were_frozen = Latest(observation), frozen
            beyond = np.column_stack([beyond, np.where(frozen, FROZEN, -FROZEN)])
        return np.asarray(beyond.max(axis=1))

    def _explain(self, observation: Observation) -> Explanation:
        values = measured(observation.images, self._learned, self._full_scale)[0]
        beyond = (values - self._worst) / self._unit
        row = self._latest.row(observation) if self._latest else None
        frozen = None if row is None else bool(self._were_frozen[row])
        told = told_by_checks(self._learned, values, self._worst, beyond)
        return with_frozen(told, frozen, FROZEN) if self._looks_back else told

    def _frozen(self, images: Images) -> BoolArray:
        """Say which images are the same as the one before, and keep the last for the next batch."""
        if not len(images):
            return np.empty(0, dtype=np.bool_)
        change = np.empty_like(images)
        change[0] = images[0] - (images[0] if self._before is None else self._before)
        np.subtract(images[1:], images[:-1], out=change[1:])
        mean = np.abs(change, out=change).reshape(len(images), -1).mean(axis=1)
        frozen: BoolArray = mean < self._frozen_below
        frozen[0] &= self._before is not None
        self._before = images[-1].copy()  # a view would keep the whole batch
        return frozen

    def reset(self) -> None:
        """Forget the image before."""
        self._before = self._latest = None

    def notes(self) -> Mapping[str, JSON]:
        """What the worst training images were: mean brightness, share of full scale, contrast."""
        return {f"worst_{c}": abs(w) for c, w in zip(self._learned, self._worst.tolist(), strict=True)}
