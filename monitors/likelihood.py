"""How likely a density model of images finds an image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from farm.api import JSON, Explanation, Features, FitData, Monitor, Needs, Observation, State
from monitors._networks import networks_in, output_of, own_network, packed, training_notes


class PixelCnn(Monitor):
    """The bits a value that a PixelCNN++ takes for an image: its negative log-likelihood, which is the score.

    Parameters
    ----------
    network
        Parameters of the network `pixelcnn`, such as `{epochs: 5}`; its own defaults where not given.

    Examples
    --------
    >>> PixelCnn(network={"epochs": 5}).needs.networks[0].title
    "network 'pixelcnn' (epochs: 5)"
    """

    reference = "Salimans, Karpathy, Chen, Kingma: PixelCNN++, ICLR 2017; as in Shafaei et al., BMVC 2019"

    def __init__(self, *, network: Mapping[str, Any] | None = None) -> None:
        self._network = own_network("pixelcnn", network)

    @property
    def needs(self) -> Needs:
        """The density model."""
        return Needs(networks=(self._network,))

    def _fit(self, data: FitData) -> State:
        return packed(self.needs.networks, data)

    def _load(self, state: State) -> None:
        (self._own,) = networks_in(state)

    def _score(self, observation: Observation) -> Features:
        return output_of(self._own, "bits", observation)

    def _explain(self, observation: Observation) -> Explanation:
        bits = float(output_of(self._own, "bits", observation)[0])
        return Explanation(f"it takes {bits:.3g} bits a value to write it down", details={"bits": bits})

    def notes(self) -> Mapping[str, JSON]:
        """How its training went."""
        return training_notes(self.state)
