"""One number that makes all confidences milder, or sharper, and changes no prediction."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from farm.api.arrays import Features, FloatArray, IntArray
from farm.errors import DataError
from farm.statistics.post_hoc.checks import checked, labelled, logarithms

BEYOND = 1e6
"""No temperature above it, or below 1 / this, is taken for the best."""
_WHERE = "temperature"


@dataclass(frozen=True, slots=True)
class Temperature:
    """What the logarithms of probabilities are divided by, so that labels of validation data are likeliest.

    Logarithms of probabilities serve as well as logits, which differ from them by a constant, and which the
    mean of several networks has none of. Probabilities that are 0, or next to it, are taken for 1.2e-38.

    The loss is convex in 1 / temperature, and where its slope is 0 is found to the last digits. Where no
    temperature is the best, data are refused: those without a mistake (the lower the better), and those
    whose labels are no likelier than other classes (the higher the better).

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger, "On Calibration of Modern Neural Networks", ICML 2017.

    Examples
    --------
    Sure to 98 %, and right in three of four:

    >>> sure = np.array([[0.98, 0.02]] * 4)
    >>> fitted = Temperature.fit(sure, np.array([0, 0, 0, 1]))
    >>> round(fitted.value, 3), fitted.apply(sure)[0].round(3).tolist()
    (3.542, [0.75, 0.25])
    """

    value: float
    n: int
    """How many validation instances it was fitted to."""

    @classmethod
    def fit(cls, probabilities: Features, labels: IntArray) -> Temperature:
        """Find the temperature of the lowest mean negative log-likelihood."""
        from scipy.optimize import brentq  # not before: whoever fits nothing need not wait for it
        from scipy.special import softmax

        logs, n = logarithms(labelled(probabilities, labels, _WHERE)), len(labels)
        ahead = logs - logs[np.arange(n), labels][:, None]

        def slope(sharpness: float) -> float:
            """Return how fast the loss rises with 1 / temperature."""
            return float((softmax(sharpness * ahead, axis=1) * ahead).sum(axis=1).mean())

        if slope(1 / BEYOND) >= 0:
            raise DataError(
                f"{_WHERE}: the labels of {n:,} validation instances are no likelier than other classes, so "
                "that higher is always better; expected a classifier that knows its classes: see their order"
            )
        if slope(BEYOND) <= 0:
            raise DataError(
                f"{_WHERE}: the likeliest class is right for each of {n:,} validation instances, so that "
                "lower is always better; expected some mistakes: take more validation data"
            )
        end = float(np.log(BEYOND))
        return cls(float(np.exp(brentq(lambda log: -slope(np.exp(-log)), -end, end))), n)

    def apply(self, probabilities: Features) -> FloatArray:
        """Return probabilities at this temperature."""
        from scipy.special import softmax

        return np.asarray(softmax(logarithms(checked(probabilities, _WHERE)) / self.value, axis=1))

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return asdict(self)
