"""What to bet on p-values that are uniform until something changes."""

from __future__ import annotations

import numpy as np

from farm.api.arrays import FloatArray
from farm.api.changes.detector import DIRECTIONS
from farm.api.component import check_choice

POWERS = np.array([0.2, 0.5, 0.8])
"""A bet k p^(k - 1) gains where p-values are small, the more so the smaller k is."""
MOVING = np.array([[1e-2], [1e-4], [1e-6]])
"""At each instant such a part of the capital is dealt out evenly again."""
_SMALLEST = 1e-12
"""No p-value counts as smaller, nor as nearer to 1: there its last bits would decide what is gained."""


class MovingCapital:
    """Capital spread over several bets at a time, which goes with those that gain.

    A part of it moves among the bets all the time, so that a change is noticed whenever it comes: at each
    instant a hundredth of one third, for changes that come soon, and ever less of the others, to last for a
    million instants. Where no bet is expected to gain, given all before, neither is the capital: the
    chance of its ever reaching x times the stake is at most 1 / x (Ville).

    References
    ----------
    M. Herbster, M. K. Warmuth, "Tracking the best expert", Machine Learning 32 (1998). V. Vovk et al.,
    "Retrain or not retrain: conformal test martingales for change-point detection", COPA (2021).

    Examples
    --------
    >>> capital = MovingCapital(2)
    >>> capital.add(np.array([[2.0, 1.0], [2.0, 1.0]])).round(3)
    array([0.405, 0.51 ])
    """

    def __init__(self, bets: int) -> None:
        self._dealt = np.full((len(MOVING), bets), 1 / (len(MOVING) * bets))
        self.forget()

    def forget(self) -> None:
        """Deal the capital out anew."""
        self._capital = self._dealt

    @property
    def weights(self) -> FloatArray:
        """How much of the capital is on each bet at the next instant."""
        return np.asarray(self._capital.sum(axis=0))

    def add(self, factors: FloatArray) -> FloatArray:
        """Return the logarithm of what the capital is multiplied by at each instant.

        Parameters
        ----------
        factors
            What each bet multiplies by: a row an instant, a column a bet.
        """
        grown = np.empty(len(factors))
        stays, moves, capital = 1 - MOVING, MOVING / factors.shape[1], self._capital
        for at, factor in enumerate(factors):
            capital = capital * factor
            capital = stays * capital + moves * capital.sum(axis=1, keepdims=True)
            grown[at] = capital.sum()
            capital /= grown[at]
        self._capital = capital
        return np.log(grown)


class MixtureBet:
    """Bets on p-values, small or large: a martingale while these are independent and uniform.

    One bet keeps what it has, three gain where p-values are small and three where they are large.

    Parameters
    ----------
    direction
        `both`; or `up`: p-values are small, as those of scores that rise, or `down`: large. With `up` nobody
        can expect to gain either where p-values tend to be larger than uniform ones.

    References
    ----------
    V. Fedorova, A. Gammerman, I. Nouretdinov, V. Vovk, "Plug-in martingales for testing exchangeability
    on-line", ICML (2012).

    Examples
    --------
    >>> bet = MixtureBet()
    >>> [round(bet.log_bet(0.001), 2) for _ in range(4)]
    [2.33, 3.66, 3.85, 3.89]
    """

    def __init__(self, *, direction: str = "both") -> None:
        check_choice("direction", direction, DIRECTIONS)
        self._sides = [side for side in ("up", "down") if direction in (side, "both")]
        self._capital = MovingCapital(len(self._sides) * len(POWERS) + 1)

    def forget(self) -> None:
        """Deal the capital out anew."""
        self._capital.forget()

    def log_bet(self, p: float) -> float:
        """Return the logarithm of what the capital is multiplied by, and take the p-value in."""
        return float(self.add(np.array([p]))[0])

    def add(self, p: FloatArray) -> FloatArray:
        """Return that for each of the next p-values, in order."""
        values = {"up": np.asarray(p), "down": 1.0 - np.asarray(p)}
        sides = [np.maximum(values[side], _SMALLEST)[:, None] for side in self._sides]
        gains = [POWERS * side ** (POWERS - 1) for side in sides]
        return self._capital.add(np.hstack([np.ones((len(p), 1)), *gains]))
