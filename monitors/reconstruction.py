"""How far an autoencoder's reconstruction error lies from those that in-distribution images have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from farm.api import (
    JSON,
    Features,
    FitData,
    FloatArray,
    Monitor,
    Needs,
    Observation,
    State,
    check_choice,
    half_way,
)
from farm.errors import ComponentFailure
from monitors._networks import OD_TEST, networks_in, output_of, own_network, packed, training_notes

LOSSES = ("mse", "bce")
CENTRES = ("validation-fault", "id")


class Reconstruction(Monitor):
    """AEThreshold: the squared distance of the reconstruction error from a centre, on either side of it.

    Too low an error is as suspicious as too high: plain images are easily reconstructed, whatever they show.

    Parameters
    ----------
    loss
        What the autoencoder minimises, and what its error is: `mse`, or `bce` (binary cross-entropy).
    network
        More parameters of the network `autoencoder`, such as `{epochs: 5, bottleneck: 64}`.
    centre
        `validation-fault` takes the interval of errors that separates ID validation data from the outliers of
        a named validation fault best, both weighing the same, and its middle as the centre: so that the best
        threshold gives just that interval. Where it has no end below, the centre is 0, which makes it a plain
        threshold on the error; where it has none above, the centre is the largest error that it accepts. `id`
        needs no outliers, and takes the median of the ID validation data.

    Examples
    --------
    >>> Reconstruction(loss="bce", network={"epochs": 5}).needs.networks[0].title
    "network 'autoencoder' (epochs: 5, loss: bce)"
    >>> Reconstruction(centre="id").needs.outliers
    False
    """

    reference = OD_TEST

    def __init__(
        self,
        *,
        loss: str = "mse",
        network: Mapping[str, Any] | None = None,
        centre: str = "validation-fault",
    ) -> None:
        check_choice("loss", loss, LOSSES)
        check_choice("centre", centre, CENTRES)
        self._network, self._centre = own_network("autoencoder", network, loss=loss), centre

    @property
    def needs(self) -> Needs:
        """The autoencoder; and outliers, unless the centre is that of ID data."""
        return Needs(networks=(self._network,), outliers=self._centre != "id")

    def _fit(self, data: FitData) -> State:
        state = packed(self.needs.networks, data)
        (network,) = networks_in(state)
        inside = [output_of(network, "error", seen) for seen, _ in data.validation]
        outside = []
        if self._centre != "id":
            outside = [output_of(network, "error", seen) for seen in data.outliers or ()]
        for what, found in (("ID validation data", inside), ("outliers", outside)):
            if not sum(map(len, found)) and (what != "outliers" or self._centre != "id"):
                raise ComponentFailure(f"monitor '{self.name}' got no {what}; expected at least one instance")
        errors = np.concatenate(inside).astype(np.float64)
        if self._centre == "id":
            found_centre, accuracy = float(np.median(errors)), np.nan
        else:
            interval = best_interval(errors, np.concatenate(outside).astype(np.float64))
            found_centre, accuracy = interval.centre, interval.balanced_accuracy
        return {**state, "centre": np.array(found_centre), "balanced_accuracy": np.array(accuracy)}

    def _load(self, state: State) -> None:
        (self._own,) = networks_in(state)
        self._mu, self._accuracy = float(state["centre"]), float(state["balanced_accuracy"])

    def _score(self, observation: Observation) -> Features:
        return np.square(output_of(self._own, "error", observation).astype(np.float64) - self._mu)

    def notes(self) -> Mapping[str, JSON]:
        """The centre, how well its interval separates the data it was chosen on, and how training went."""
        told: dict[str, JSON] = {"centre": self._mu}
        if self._centre != "id":
            told["balanced_accuracy_of_fit"] = self._accuracy
        return {**told, **training_notes(self.state)}


class Interval(NamedTuple):
    """Between which errors instances are accepted, and what to take for their middle."""

    low: float
    high: float
    centre: float
    balanced_accuracy: float


def best_interval(inside: FloatArray, outside: FloatArray) -> Interval:
    """Return the interval that separates two samples best, its ends half-way to the next error.

    Examples
    --------
    >>> best_interval(np.array([3.0, 5.0]), np.array([1.0, 9.0]))
    Interval(low=2.0, high=7.0, centre=4.5, balanced_accuracy=1.0)
    >>> best_interval(np.array([3.0, 5.0]), np.array([9.0]))
    Interval(low=-inf, high=7.0, centre=0.0, balanced_accuracy=1.0)
    """
    values, places = np.unique(np.concatenate([inside, outside]), return_inverse=True)
    # Both samples weigh the same, in whole numbers: what is equally good is equal.
    gain = np.bincount(places[: len(inside)], minlength=len(values)) * len(outside)
    gain -= np.bincount(places[len(inside) :], minlength=len(values)) * len(inside)
    # The run with the greatest sum (Kadane): each sum up to here, less the least before.
    sums = np.concatenate([[0], np.cumsum(gain)])
    best = sums[1:] - np.minimum.accumulate(sums[:-1])
    last = len(best) - 1 - int(best[::-1].argmax())
    first = int(sums[: last + 1].argmin())
    accuracy = 0.5 + float(best[last]) / (2 * len(inside) * len(outside))
    low = -np.inf if first == 0 else half_way(float(values[first - 1]), float(values[first]))
    high = np.inf if last == len(values) - 1 else half_way(float(values[last]), float(values[last + 1]))
    if np.isfinite(low) and np.isfinite(high):
        centre = half_way(low, high)
    elif np.isfinite(high):
        centre = min(0.0, float(values[0]))
    elif np.isfinite(low):
        centre = float(values[last])
    else:  # nothing tells the samples apart
        centre = float(np.median(inside))
    return Interval(low, high, centre, accuracy)
