"""Mutual information: how far passes or networks disagree on the class."""

from __future__ import annotations

import numpy as np
from scipy.special import rel_entr

from farm.api import (
    ALL_MEMBERS,
    Explanation,
    Features,
    FloatArray,
    Needs,
    Observation,
    check_number,
)
from monitors._unlearned import Unlearned
from monitors.ensembles import members_of, told_of_mean


class MutualInformation(Unlearned):
    """The entropy of the members' mean probabilities less the mean of their entropies, in nats.

    The first is all doubt, the second what each member has by itself; what is left is how far they disagree.

    Parameters
    ----------
    members
        How many passes or networks, the first of those that there are; None: all that the classifier's
        answer is the mean of.

    Examples
    --------
    >>> agreed, torn = [[0.5, 0.5], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]
    >>> disagreement(np.array([agreed, torn]).swapaxes(0, 1)).round(4)
    array([0.    , 0.6931])
    """

    reference = (
        "Houlsby, Huszar, Ghahramani, Lengyel: Bayesian active learning for classification and preference "
        "learning, 2011"
    )

    def __init__(self, *, members: int | None = None) -> None:
        if members is not None:
            check_number("members", members, low=2, whole=True)
        self._members = members

    @property
    def needs(self) -> Needs:
        """As many members, or all."""
        return Needs(members=ALL_MEMBERS if self._members is None else self._members)

    def _score(self, observation: Observation) -> Features:
        return disagreement(members_of(observation))

    def _explain(self, observation: Observation) -> Explanation:
        members = members_of(observation)
        apart = disagreement(members)[0]
        told = told_of_mean(members, self.classifier.classes, "members")
        return Explanation(f"members are {apart:.3g} nats apart; {told.reason}", details=told.details)


def disagreement(members: FloatArray) -> FloatArray:
    """Return the mutual information of class and member (members x instances x classes), in nats.

    It is how far members diverge from their mean, on average: so it is exactly 0 where all are the same.
    """
    wide = np.maximum(members, 0.0, dtype=np.float64)
    mean = wide[0] + (wide - wide[0]).mean(axis=0)
    return np.asarray(np.maximum(rel_entr(wide, mean).sum(axis=2).mean(axis=0), 0.0))
