"""A support-vector machine on the distances to the nearest training images, in a space of one's choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from farm.api import (
    JSON,
    Explanation,
    FitData,
    FloatArray,
    Needs,
    Network,
    Observation,
    OwnNetwork,
    State,
    check_choice,
    check_number,
    generator,
)
from farm.errors import ParameterError
from monitors._distances import NearestDistances, flat
from monitors._networks import OD_TEST, networks_in, output_of, own_network, packed, training_notes
from monitors._rows import drawn
from monitors._svm import SvmMonitor

SPACES = ("pixels", "autoencoder-mse", "autoencoder-bce", "vae")
MOST = 8
"""So many neighbours are looked for, whatever k is: monitors of another k take what is found."""


class NeighbourSvm(SvmMonitor):
    """A linear support-vector machine on the sorted Euclidean distances to the k nearest training images.

    K-NNSVM, K-MNNSVM, K-BNNSVM and K-VNNSVM, by the space. A threshold on the mean distance is a special
    case. Several with the same space, network and points look for neighbours once.

    Parameters
    ----------
    k
        How many neighbours, up to 8.
    space
        Where distances are measured: between the images' `pixels`, or what stands in the bottleneck of an
        autoencoder (`autoencoder-mse` or `autoencoder-bce`, by its loss) or of a `vae`.
    network
        More parameters of that network, such as `{epochs: 5}`.
    points
        At most this many training images are kept, drawn by the experiment's seed. Memory and time grow with
        it: 4 bytes a point and value, which is 246 MB for 20,000 coloured images of 32 x 32 pixels.

    Examples
    --------
    >>> NeighbourSvm(k=2, space="autoencoder-bce").needs.networks[0].title
    "network 'autoencoder' (loss: bce)"
    """

    reference = OD_TEST

    def __init__(
        self,
        *,
        k: int = 1,
        space: str = "pixels",
        network: Mapping[str, Any] | None = None,
        points: int = 20_000,
    ) -> None:
        check_number("k", k, low=1, high=MOST, whole=True)
        check_choice("space", space, SPACES)
        check_number("points", points, low=1, whole=True)
        self._k, self._points = k, points
        self._networks: tuple[OwnNetwork, ...] = ()
        name, _, loss = space.partition("-")
        if space != "pixels":
            self._networks = (own_network(name, network, **({"loss": loss} if loss else {})),)
        elif network is not None:
            raise ParameterError(f"network is {network!r}, which space 'pixels' has no use for; leave it out")

    @property
    def needs(self) -> Needs:
        """The network of the space, if it has one, and outliers."""
        return Needs(networks=self._networks, outliers=True)

    def _prepare(self, data: FitData) -> State:
        state = packed(self._networks, data)
        network = self._network_in(state)
        rng = generator(data.seed, "neighbour-svm", "points")
        batches = drawn(lambda: (observation for observation, _ in data), self._points, rng)
        points = [flat(_values(network, seen)) for seen in batches]
        return {**state, "points": np.concatenate(points).astype(np.float32, copy=False)}

    def _take(self, state: State) -> None:
        self._network = self._network_in(state)
        self._nearest = NearestDistances.to(np.asarray(state["points"], dtype=np.float32), MOST)

    def _network_in(self, state: State) -> Network | None:
        return networks_in(state)[0] if self._networks else None

    def _features(self, observation: Observation) -> FloatArray:
        return observation.once(self._nearest, _values(self._network, observation))[:, : self._k]

    def _explain(self, observation: Observation) -> Explanation:
        far = self._features(observation)[0]
        where = "in pixels" if self._network is None else "where its network puts them"
        what = "nearest training image is" if len(far) == 1 else f"{len(far)} nearest training images are"
        span = f"{far[0]:.3g}" if len(far) == 1 else f"{far[0]:.3g} to {far[-1]:.3g}"
        return Explanation(f"its {what} {span} away {where}", details={"distances": far.tolist()})

    def notes(self) -> Mapping[str, JSON]:
        """What the fit tells, how many points are kept, and how the network's training went."""
        kept = len(self._nearest.points)
        return {**super().notes(), "points": kept, **training_notes(self.state)}


def _values(network: Network | None, observation: Observation) -> np.ndarray:
    return observation.images if network is None else output_of(network, "latent", observation)
