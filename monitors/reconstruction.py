"""How far an autoencoder's reconstruction error lies from those that in-distribution images have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from farm.api import (
    JSON,
    Explanation,
    Features,
    FitData,
    Monitor,
    Needs,
    Observation,
    State,
    check_choice,
)
from farm.errors import ComponentFailure
from monitors._intervals import best_interval
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

    def _explain(self, observation: Observation) -> Explanation:
        error = float(output_of(self._own, "error", observation)[0])
        told = (
            f"its reconstruction error is {error:.3g}, {abs(error - self._mu):.3g} away from {self._mu:.3g}"
        )
        return Explanation(told, details={"error": error, "centre": self._mu})

    def notes(self) -> Mapping[str, JSON]:
        """The centre, how well its interval separates the data it was chosen on, and how training went."""
        told: dict[str, JSON] = {"centre": self._mu}
        if self._centre != "id":
            told["balanced_accuracy_of_fit"] = self._accuracy
        return {**told, **training_notes(self.state)}
