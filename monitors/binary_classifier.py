"""A classifier that has learned to tell in-distribution images from outliers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from farm.api import (
    JSON,
    Explanation,
    Features,
    FitData,
    FloatArray,
    Monitor,
    Needs,
    Observation,
    OwnNetwork,
    State,
)
from farm.errors import ComponentFailure
from monitors._networks import OD_TEST, classifiers_in, packed, training_notes
from monitors.max_softmax import TINY

OUTLIER = "outlier"


class BinaryClassifier(Monitor):
    """BinClass: a network by the watched classifier's recipe, trained to tell ID images from a fault.

    The fault is the named validation fault. The score is the network's log-odds for an outlier: above 0 that
    is the likelier.

    Examples
    --------
    >>> BinaryClassifier().needs.networks[0].against_outliers, BinaryClassifier().fixed_threshold
    (True, 0.0)
    """

    reference = OD_TEST

    @property
    def needs(self) -> Needs:
        """The classifier of two classes, and the outliers that are its second."""
        return Needs(networks=(OwnNetwork(against_outliers=True),), outliers=True)

    @property
    def fixed_threshold(self) -> float:
        """The likelier class decides."""
        return 0.0

    def _fit(self, data: FitData) -> State:
        return packed(self.needs.networks, data)

    def _load(self, state: State) -> None:
        (self._own,) = classifiers_in(state)
        classes = self._own.classifier.classes
        if len(classes) != 2 or OUTLIER not in classes:
            raise ComponentFailure(
                f"monitor '{self.name}' got a classifier of {', '.join(classes)}; "
                f"expected two classes, one of them '{OUTLIER}'"
            )
        self._outlier = classes.index(OUTLIER)

    def _score(self, observation: Observation) -> Features:
        seen = self._own.seen(observation)
        # A black box gives probabilities only, of which the lesser may round to nothing.
        values = np.log(np.maximum(seen.probabilities, TINY)) if seen.logits is None else seen.logits
        wide: FloatArray = values.astype(np.float64)
        return np.asarray(wide[:, self._outlier] - wide[:, 1 - self._outlier])

    def _explain(self, observation: Observation) -> Explanation:
        seen = self._own.seen(observation)
        probability = float(seen.probabilities[0, self._outlier])
        return Explanation(f"it is an outlier with probability {probability:.3g}")

    def notes(self) -> Mapping[str, JSON]:
        """How its training went."""
        return training_notes(self.state)
