"""Scores that are one formula over the logits: nothing is learnt, nothing is kept."""

from __future__ import annotations

import numpy as np

from farm.api import Features, FloatArray, Observation, Peak, check_number
from monitors._logits import LogitMonitor, PeakMonitor
from monitors.free_energy import free_energy, log_sum_exp, peak_of


class MaxLogit(LogitMonitor):
    """The greatest logit, negated: unlike a probability it also tells how much evidence there is in all.

    Examples
    --------
    >>> MaxLogit().of(np.array([[9.0, 0.0, 0.0], [1.0, 0.5, 0.0]]))
    array([-9., -1.])
    """

    reference = "Hendrycks et al.: Scaling out-of-distribution detection for real-world settings, ICML 2022"

    def of(self, logits: FloatArray) -> FloatArray:
        """Return the greatest logit, negated."""
        return -np.asarray(logits.max(axis=1))


class Entropy(PeakMonitor):
    """The entropy of the softmax, in nats: how evenly the classifier spreads its belief.

    Examples
    --------
    >>> Entropy().of(np.zeros((1, 4))).round(4)
    array([1.3863])
    """

    reference = "Shannon: A mathematical theory of communication, Bell System Technical Journal 1948"

    def of_peak(self, seen: Peak) -> FloatArray:
        """Return the entropy."""
        return entropy_of(seen)


class Margin(LogitMonitor):
    """The lead of the greatest logit over the second, negated: the runner-up tells of doubt between two.

    Examples
    --------
    >>> Margin().of(np.array([[9.0, 2.0, 0.0], [1.0, 0.5, 0.0]]))
    array([-7. , -0.5])
    """

    reference = "Scheffer, Decomain, Wrobel: Active hidden Markov models for information extraction, IDA 2001"

    def of(self, logits: FloatArray) -> FloatArray:
        """Return the second greatest logit minus the greatest."""
        top = np.partition(logits, -2, axis=1)
        return np.asarray(top[:, -2] - top[:, -1])


class Energy(LogitMonitor):
    """The free energy of the logits, a smooth stand-in for how little data there was near an input.

    Parameters
    ----------
    temperature
        How many logits count: a low one leaves the greatest alone, a high one lets all of them speak.

    Examples
    --------
    >>> Energy(temperature=1.0).of(np.zeros((1, 4))).round(4)
    array([-1.3863])
    """

    reference = "Liu, Wang, Owens, Li: Energy-based out-of-distribution detection, NeurIPS 2020"

    def __init__(self, *, temperature: float = 1.0) -> None:
        check_number("temperature", temperature, above=0)
        self._temperature = temperature

    def of(self, logits: FloatArray) -> FloatArray:
        """Return -T log(sum(exp(z / T)))."""
        return -self._temperature * log_sum_exp(logits / self._temperature)

    def _score(self, observation: Observation) -> Features:
        # At 1, where it is what others look at too.
        return -free_energy(peak_of(observation)) if self._temperature == 1 else super()._score(observation)


class GeneralisedEntropy(PeakMonitor):
    """An entropy that even a small doubt raises: the sum of (p (1 - p))^gamma over the likeliest classes.

    Parameters
    ----------
    gamma
        The exponent, above 0 and at most 1. The lower, the more the faint probabilities weigh.
    m
        How many of the likeliest classes are summed; all of them, where there are fewer.

    Examples
    --------
    >>> GeneralisedEntropy(gamma=1.0, m=2).of(np.zeros((1, 4)))
    array([0.375])
    """

    reference = "Liu, Lochman, Zach: GEN, pushing the limits of softmax-based OOD detection, CVPR 2023"

    def __init__(self, *, gamma: float = 0.1, m: int = 10) -> None:
        check_number("gamma", gamma, above=0, high=1)
        check_number("m", m, low=1, whole=True)
        self._gamma, self._m = gamma, m

    def of_peak(self, seen: Peak) -> FloatArray:
        """Return the generalised entropy."""
        total = 1.0 + seen.doubt
        others = np.sort(seen.others / total[:, None], axis=1)[:, :0:-1]
        rest = (others * (1.0 - others))[:, : self._m - 1] ** self._gamma
        # Close to certainty 1 - p has no digits left, and a low exponent would show it.
        first = (seen.doubt / total**2) ** self._gamma
        return np.asarray(first + rest.sum(axis=1))


def entropy_of(seen: Peak) -> FloatArray:
    """Return the entropy of the softmax, in nats; a class without any probability adds nothing.

    Examples
    --------
    >>> from farm.api import peak
    >>> entropy_of(peak(np.log(np.array([[0.5, 0.25, 0.25]])))).round(4)
    array([1.0397])
    """
    weighed = (seen.others * np.where(seen.others > 0, seen.below, 0.0)).sum(axis=1)
    return np.asarray(np.log1p(seen.doubt) - weighed / (1.0 + seen.doubt))
