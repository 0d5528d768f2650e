"""Several passes or several networks: the entropy of what they believe on average."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    check_number,
)
from farm.errors import RequirementError
from monitors._networks import classifiers_in, packed, training_notes
from monitors._unlearned import Unlearned
from monitors.free_energy import peak_of_probabilities
from monitors.logit_scores import entropy_of


class McDropout(Unlearned):
    """The entropy of the mean of several passes, each with other neurons dropped at random.

    Parameters
    ----------
    passes
        How many.

    Examples
    --------
    >>> McDropout().needs.members
    7
    """

    reference = "Gal, Ghahramani: Dropout as a Bayesian approximation, ICML 2016; with 7 passes in OD-test"

    def __init__(self, *, passes: int = 7) -> None:
        check_number("passes", passes, low=2, whole=True)
        self._passes = passes

    @property
    def needs(self) -> Needs:
        """As many members."""
        return Needs(members=self._passes)

    def _score(self, observation: Observation) -> Features:
        return entropy_of_mean(members_of(observation))

    def _explain(self, observation: Observation) -> Explanation:
        return told_of_mean(members_of(observation), self.classifier.classes, "passes")


class DeepEnsemble(Monitor):
    """The entropy of the mean of several networks by the classifier's recipe, trained apart.

    Each is trained on adversarial examples of its own too, as its source does, from other random numbers.

    Parameters
    ----------
    size
        How many networks.

    Examples
    --------
    >>> [network.title for network in DeepEnsemble(size=2).needs.networks]
    ["the classifier's own recipe (loss: adversarial, member 1)",
     "the classifier's own recipe (loss: adversarial, member 2)"]
    """

    reference = (
        "Lakshminarayanan, Pritzel, Blundell: Simple and scalable predictive uncertainty, NeurIPS 2017"
    )

    def __init__(self, *, size: int = 5) -> None:
        check_number("size", size, low=2, whole=True)
        self._count = size

    @property
    def needs(self) -> Needs:
        """The networks."""
        adversarial: tuple[tuple[str, JSON], ...] = (("loss", "adversarial"),)
        return Needs(
            networks=tuple(OwnNetwork(parameters=adversarial, member=i + 1) for i in range(self._count))
        )

    def _fit(self, data: FitData) -> State:
        return packed(self.needs.networks, data)

    def _load(self, state: State) -> None:
        self._members = classifiers_in(state)

    def _score(self, observation: Observation) -> Features:
        return entropy_of_mean(self._seen(observation))

    def _seen(self, observation: Observation) -> FloatArray:
        return np.stack([each.seen(observation).probabilities for each in self._members])

    def _explain(self, observation: Observation) -> Explanation:
        return told_of_mean(self._seen(observation), self._members[0].classifier.classes, "networks")

    def notes(self) -> Mapping[str, JSON]:
        """How their training went."""
        return training_notes(self.state)


def members_of(observation: Observation) -> FloatArray:
    """Return what was observed of members; raise where nobody asked for them."""
    if observation.members is None:
        raise RequirementError("members were not observed; declare them in the monitor's needs")
    return observation.members


def told_of_mean(members: FloatArray, classes: Sequence[str], what: str) -> Explanation:
    """Say of one instance which class is the likeliest on average, and how many members agree."""
    mean = members[:, 0].mean(axis=0)
    first = int(mean.argmax())
    agree = int((members[:, 0].argmax(axis=1) == first).sum())
    likeliest = f"the likeliest class is '{classes[first]}' with a mean probability of {mean[first]:.3g}"
    return Explanation(
        f"{likeliest}; {agree} of {len(members)} {what} predict it", details={"likeliest": classes[first]}
    )


def entropy_of_mean(members: FloatArray) -> FloatArray:
    """Return the entropy, in nats, of the members' mean probabilities (members x instances x classes).

    Examples
    --------
    >>> entropy_of_mean(np.array([[[1.0, 0.0]], [[0.0, 1.0]]])).round(4)
    array([0.6931])
    """
    return entropy_of(peak_of_probabilities(members.mean(axis=0, dtype=np.float64)))
