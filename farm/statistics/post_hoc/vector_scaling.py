"""A weight and a bias for each class, where one temperature for all of them is too little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from farm.api.arrays import Features, FloatArray, IntArray
from farm.api.component import check_number
from farm.errors import DataError
from farm.statistics.post_hoc.checks import checked, labelled, logarithms
from farm.statistics.post_hoc.temperature import Temperature

RIDGE = 1.0
_WHERE = "vector scaling"


@dataclass(frozen=True, eq=False)
class VectorScaling:
    """What the logarithm of each class's probability is multiplied by, and what is added to it.

    It may change what is predicted. It starts at the temperature, and leaves it only for what lowers the
    loss; so on the data that it is fitted to it is never worse than the temperature is.

    Where weights and biases can tell all labels apart the loss alone has no lowest point. So each is
    drawn to where it started, as if it were known to lie there with a standard deviation of 1
    beforehand: `ridge`, which a thousand validation instances outweigh. Of a class without any nothing
    can be known, and it is refused.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger, "On Calibration of Modern Neural Networks", ICML 2017.

    Examples
    --------
    Too sure of class 0 and not sure enough of class 1:

    >>> says = np.array([[0.9, 0.1]] * 4 + [[0.4, 0.6]] * 4)
    >>> fitted = VectorScaling.fit(says, np.array([0, 0, 0, 1, 1, 1, 1, 1]), ridge=1e-6)
    >>> fitted.apply(says)[[0, 4], 0].round(2).tolist()
    [0.75, 0.0]
    """

    weights: FloatArray
    biases: FloatArray
    """Their sum is 0, since what all classes have more changes nothing."""
    n: int
    """How many validation instances they were fitted to."""

    @classmethod
    def fit(cls, probabilities: Features, labels: IntArray, *, ridge: float = RIDGE) -> VectorScaling:
        """Find the weights and biases of the lowest negative log-likelihood.

        Parameters
        ----------
        ridge
            How strongly each is drawn to where it started: what half its squared distance costs, where
            a validation instance costs its negative log-likelihood.
        """
        from scipy.optimize import minimize  # not before: whoever fits nothing need not wait for it
        from scipy.special import log_softmax

        check_number(f"{_WHERE}: ridge", ridge, above=0)
        found = labelled(probabilities, labels, _WHERE)
        n, n_classes = found.shape
        counts = np.bincount(labels, minlength=n_classes)
        if not counts.all():
            raise DataError(
                f"{_WHERE}: class {int(np.argmin(counts))} has none of the {n:,} validation instances; "
                "expected some of each class: take more, or fit a temperature alone"
            )
        logs, rows = logarithms(found), np.arange(n)
        start = np.repeat([1 / Temperature.fit(found, labels).value, 0.0], n_classes)

        def loss(scales: FloatArray) -> tuple[float, FloatArray]:
            scaled = log_softmax(logs * scales[:n_classes] + scales[n_classes:], axis=1)
            off = np.exp(scaled)
            off[rows, labels] -= 1
            slopes = np.concatenate([(off * logs).sum(axis=0), off.sum(axis=0)])
            away = scales - start
            value = ridge / 2 * away @ away - scaled[rows, labels].sum()
            return value / n, (slopes + ridge * away) / n

        found_scales = minimize(
            loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 10_000, "ftol": 0.0, "gtol": 1e-9}
        )
        scales = np.asarray(found_scales.x)
        return cls(scales[:n_classes], scales[n_classes:], n)

    def apply(self, probabilities: Features) -> FloatArray:
        """Return probabilities of classes that are weighed so."""
        from scipy.special import softmax

        logs = logarithms(checked(probabilities, _WHERE, len(self.weights)))
        return np.asarray(softmax(logs * self.weights + self.biases, axis=1))

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {"weights": self.weights.tolist(), "biases": self.biases.tolist(), "n": self.n}
