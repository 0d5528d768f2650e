"""Support-vector machines on what a classifier puts out: its logits, or what OpenMax makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from farm.api import JSON, Explanation, FitData, FloatArray, Needs, Observation, OwnNetwork, State
from monitors._networks import OD_TEST, classifiers_in, packed, training_notes
from monitors._reasons import likeliest
from monitors._svm import SvmMonitor
from monitors.free_energy import logits_of
from monitors.openmax import OpenMaxLayer, check_openmax, fit_openmax


class ScoreSvm(SvmMonitor):
    """ScoreSVM: a linear support-vector machine on the logits, fitted with outliers of a validation fault.

    A threshold on the greatest logit is a special case. Its decision value is the score.

    Examples
    --------
    >>> ScoreSvm().needs.outliers, ScoreSvm().fixed_threshold
    (True, 0.0)
    """

    reference = OD_TEST

    @property
    def needs(self) -> Needs:
        """Logits, and outliers."""
        return Needs(logits=True, outliers=True)

    def _features(self, observation: Observation) -> FloatArray:
        return logits_of(observation)

    def _explain(self, observation: Observation) -> Explanation:
        return likeliest(observation, self.classifier.classes)


class LogisticSvm(SvmMonitor):
    """LogisticSVM: as ScoreSVM, on a classifier of the same recipe that says yes or no to each class.

    It is trained with a logistic loss a class, so that it can say no to all of them.

    Examples
    --------
    >>> [network.title for network in LogisticSvm().needs.networks]
    ["the classifier's own recipe (loss: logistic)"]
    """

    reference = OD_TEST

    @property
    def needs(self) -> Needs:
        """The other classifier, and outliers."""
        return Needs(networks=(OwnNetwork(parameters=(("loss", "logistic"),)),), outliers=True)

    def _prepare(self, data: FitData) -> State:
        return packed(self.needs.networks, data)

    def _take(self, state: State) -> None:
        (self._other,) = classifiers_in(state)

    def _features(self, observation: Observation) -> FloatArray:
        return self._other.logits(observation)

    def _explain(self, observation: Observation) -> Explanation:
        told = likeliest(self._other.seen(observation), self._other.classifier.classes)
        return replace(told, reason=f"to the classifier trained with a logistic loss, {told.reason}")

    def notes(self) -> Mapping[str, JSON]:
        """What the fit tells, and how the other classifier's training went."""
        return {**super().notes(), **training_notes(self.state)}


class OpenMaxSvm(SvmMonitor):
    """A linear support-vector machine on OpenMax's probabilities, that of the class 'unknown' among them.

    Parameters
    ----------
    tail
        How many of a class's largest distances its Weibull distribution is fitted on.
    alpha
        How many of the likeliest classes give logit away; all of them, where there are fewer.

    Examples
    --------
    >>> OpenMaxSvm(tail=20).parameters["alpha"]
    10
    """

    reference = f"{OD_TEST}; Bendale, Boult: Towards open set deep networks, CVPR 2016"

    def __init__(self, *, tail: int = 20, alpha: int = 10) -> None:
        check_openmax(tail, alpha)
        self._tail, self._alpha = tail, alpha

    @property
    def needs(self) -> Needs:
        """Logits, and outliers."""
        return Needs(logits=True, outliers=True)

    def _prepare(self, data: FitData) -> State:
        return fit_openmax(data, self._tail)

    def _take(self, state: State) -> None:
        self._layer = OpenMaxLayer(state, self._alpha)

    def _features(self, observation: Observation) -> FloatArray:
        return self._layer.probabilities(logits_of(observation))

    def _explain(self, observation: Observation) -> Explanation:
        return likeliest(observation, self.classifier.classes)
