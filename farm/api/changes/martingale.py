"""Evidence against exchangeability: the wealth of a gambler who bets that p-values are not uniform."""

from __future__ import annotations

import math
from abc import abstractmethod

from farm.api.arrays import FloatArray
from farm.api.changes.conformal import ConformalRanks
from farm.api.changes.detector import ChangeDetector
from farm.api.component import check_choice, check_number
from farm.api.randomness import generator
from farm.errors import ParameterError

BETS = ("powers", "jumper")
POWERS = (0.05, 0.15, 0.3, 0.5, 0.7, 1.0)
SLOPES = (-1.0, 0.0, 1.0)
CHANCE = 0.01
"""Of ever alarming, where nothing is set."""
JUMP = 0.01
"""This share of the wealth is spread anew over all bets each time: tomorrow another one may be the best."""


class Betting(ChangeDetector[float]):
    """Follows p-values by several bets at once; the statistic is the logarithm of what has become of 1.

    Each bet is a density on [0, 1], so that no bet gains on average while p-values are independent and
    uniform. `powers` are densities k p^(k-1), which win where p-values are small. The `jumper` has lines
    1 + e (p - 1/2), which win where they are small and where they are large.

    References
    ----------
    V. Vovk, I. Petej, I. Nouretdinov, E. Ahlberg, L. Carlsson, A. Gammerman, "Retrain or not retrain:
    conformal test martingales for change-point detection", COPA 2021.
    """

    _shares: list[float]

    def __init__(self, *, bets: str = "powers") -> None:
        check_choice("bets", bets, BETS)
        self._powers = bets == "powers"
        self._bets = POWERS if self._powers else SLOPES
        self.forget()

    def follow(self, value: float) -> float:
        """Return the logarithm after this p-value."""
        if self._powers:
            value = max(value, 1e-300)
            gains = [bet * value ** (bet - 1) for bet in self._bets]
        else:
            gains = [1 + bet * (value - 0.5) for bet in self._bets]
        stakes = [share * gain for share, gain in zip(self._shares, gains, strict=True)]
        growth = sum(stakes)
        kept, spread = (1 - JUMP) / growth, JUMP / len(stakes)
        self._shares = [kept * stake + spread for stake in stakes]
        self._log = self._grown(math.log(growth))
        return self._log

    @abstractmethod
    def _grown(self, growth: float) -> float:
        """Return the new logarithm, where that of the factor by which stakes grew is this."""

    def forget(self) -> None:
        """Begin with nothing won."""
        self._shares = [1 / len(self._bets)] * len(self._bets)
        self._log = 0.0


class Martingale(Betting):
    """The wealth of whoever began with 1 and never stops.

    While p-values are independent and uniform, the chance that it *ever* reaches C is at most 1/C (Ville).
    Along a long quiet stream wealth is lost, and a change is seen the later.

    Examples
    --------
    >>> evidence = Martingale()
    >>> bool(evidence.along([0.01] * 5)[-1] > math.log(100) > evidence.along([0.5] * 100)[-1])
    True
    """

    def _grown(self, growth: float) -> float:
        return self._log + growth


class ShiryaevRoberts(Betting):
    """The wealth of many gamblers, of whom one more begins with 1 at each value, and of one to come.

    While p-values are independent and uniform, at least C values come on average before the first that takes
    it beyond C + 1, and so between two false alarms where it restarts at each. It does not tire of a long
    quiet stream.

    Examples
    --------
    >>> evidence = ShiryaevRoberts()
    >>> bool(evidence.along([0.5] * 1000 + [0.01] * 5)[-1] > math.log(1000))
    True

    References
    ----------
    A. N. Shiryaev, "On optimum methods in quickest detection problems", Theory of Probability and its
    Applications 8 (1963). S. W. Roberts, "A comparison of some control chart procedures", Technometrics 8
    (1966).
    """

    def _grown(self, growth: float) -> float:
        own = growth + self._log
        return max(own, 0.0) + math.log1p(math.exp(-abs(own)))


class Conformal(ChangeDetector[float]):
    """Bets on the conformal p-values of scores. After a restart, what was seen still counts.

    Parameters
    ----------
    reference
        Scores while all is well.
    betting
        What follows the p-values.
    seed
        Of the lots by which ties are broken.

    Examples
    --------
    >>> import numpy as np
    >>> evidence = Conformal(np.arange(100.0), ShiryaevRoberts(), seed=0)
    >>> bool(evidence.along([200.0] * 10)[-1] > math.log(1000))
    True
    """

    def __init__(self, reference: FloatArray, betting: Betting, *, seed: int) -> None:
        self._ranks, self._betting, self._seed = ConformalRanks(reference), betting, seed
        self._lots = generator(seed, "lots of ties")

    def follow(self, value: float) -> float:
        """Return the logarithm of the evidence after this score."""
        return self._betting.follow(self._ranks.p(value, self._lots.random()))

    def restart(self) -> None:
        """Begin with nothing won."""
        self._betting.forget()

    def forget(self) -> None:
        """Know the reference alone, and draw the same lots."""
        self._lots = generator(self._seed, "lots of ties")
        self._ranks.forget()
        self._betting.forget()


def promised(chance: float | None, run_length: float | None, bets: str = "powers") -> tuple[Betting, float]:
    """Return whose bets keep a promise, and their limit: the chance of ever alarming, or the mean run length.

    Examples
    --------
    >>> betting, limit = promised(None, 1000)
    >>> type(betting).__name__, round(math.exp(limit))
    ('ShiryaevRoberts', 1001)
    """
    if chance is not None and run_length is not None:
        raise ParameterError(
            f"chance is {chance!r} and run_length is {run_length!r}; expected one of them: the chance of "
            "ever alarming, or how long it takes until a false alarm"
        )
    if run_length is not None:
        check_number("run_length", run_length, low=10)
        return ShiryaevRoberts(bets=bets), math.log1p(run_length)
    chance = CHANCE if chance is None else chance
    check_number("chance", chance, above=0, high=0.5)
    return Martingale(bets=bets), -math.log(chance)
