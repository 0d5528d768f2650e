"""What to bet on p-values that are uniform until something changes."""

from __future__ import annotations

import numpy as np

from farm.api.arrays import FloatArray

POWERS = np.array([0.2, 0.5, 0.8])
"""A bet k p^(k - 1) gains where p-values are small, the more so the smaller k is."""
MOVING = np.array([[0.01], [0.0001]])
"""At each instant such a part of the capital is dealt out evenly again."""
_SMALLEST = 1e-300


class MixtureBet:
    """Capital spread over many ways to bet on p-values, which goes with those that gain.

    One way keeps what it has, three gain where p-values are small and three where they are large. A part of
    the capital moves among the ways all the time, so that a change is noticed whenever it comes: at each
    instant a hundredth of one half, for changes that come soon, and less of the other, to last. While p-values
    are independent and uniform, what a stake has become is a martingale: its chance of ever reaching x times
    the stake is at most 1 / x.

    References
    ----------
    V. Fedorova, A. Gammerman, I. Nouretdinov, V. Vovk, "Plug-in martingales for testing exchangeability
    on-line", ICML (2012). V. Vovk et al., "Retrain or not retrain: conformal test martingales for
    change-point detection", COPA (2021).

    Examples
    --------
    >>> bet = MixtureBet()
    >>> [round(bet.log_bet(0.001), 2) for _ in range(4)]
    [2.33, 3.66, 3.84, 3.89]
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Deal the capital out anew."""
        ways = 2 * len(POWERS) + 1
        self._capital = np.full((len(MOVING), ways), 1 / (len(MOVING) * ways))

    def log_bet(self, p: float) -> float:
        """Return the logarithm of what the capital is multiplied by, and take the p-value in."""
        return float(self.add(np.array([p]))[0])

    def add(self, p: FloatArray) -> FloatArray:
        """Return that for each of the next p-values, in order."""
        bets = np.ones((len(p), 2 * len(POWERS) + 1))
        for first, side in ((1, p), (1 + len(POWERS), 1.0 - np.asarray(p))):
            small = np.maximum(side, _SMALLEST)[:, None]
            bets[:, first : first + len(POWERS)] = POWERS * small ** (POWERS - 1)
        grown = np.empty(len(p))
        stays, moves, capital = 1 - MOVING, MOVING / bets.shape[1], self._capital
        for at, bet in enumerate(bets):
            capital = capital * bet
            capital = stays * capital + moves * capital.sum(axis=1, keepdims=True)
            grown[at] = capital.sum()
            capital /= grown[at]
        self._capital = capital
        return np.log(grown)
