"""Evidence against exchangeability: the wealth of a gambler who bets that p-values are not uniform."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable

import numpy as np

from farm.api.arrays import FloatArray
from farm.api.changes.bets import MixtureBet
from farm.api.changes.detector import ChangeDetector
from farm.api.changes.ranks import ConformalRanks
from farm.api.component import check_number
from farm.api.randomness import generator
from farm.errors import ParameterError

CHANCE = 0.01
"""Of ever alarming, where nothing is set."""


class Betting(ChangeDetector[float]):
    """Follows p-values; the statistic is the logarithm of what bets on them have made of a stake of 1.

    Parameters
    ----------
    direction
        `up`: it bets that p-values are small, as those of scores that rise. `down`: that they are large.

    References
    ----------
    V. Vovk, I. Petej, I. Nouretdinov, E. Ahlberg, L. Carlsson, A. Gammerman, "Retrain or not retrain:
    conformal test martingales for change-point detection", COPA 2021.
    """

    _log: float

    def __init__(self, *, direction: str = "up") -> None:
        self._bet = MixtureBet(direction=direction)
        self.forget()

    def follow(self, value: float) -> float:
        """Return the logarithm after this p-value."""
        return float(self.along([value])[0])

    def along(self, values: Iterable[float], limit: float = math.inf) -> FloatArray:
        """Return the logarithm after each p-value, many at a time where it does not restart."""
        p = np.asarray(list(values), dtype=np.float64)
        if limit < math.inf:
            return super().along(p, limit)
        found = self._grown(self._bet.add(p))
        self._log = float(found[-1]) if len(p) else self._log
        return found

    @abstractmethod
    def _grown(self, growth: FloatArray) -> FloatArray:
        """Return the new logarithms, where these are of the factors by which stakes grew."""

    def forget(self) -> None:
        """Begin with nothing won."""
        self._log = 0.0
        self._bet.forget()


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

    def _grown(self, growth: FloatArray) -> FloatArray:
        return self._log + np.cumsum(growth)


class ShiryaevRoberts(Betting):
    """The wealth of many gamblers, of whom one more begins with 1 at each value, and of one to come.

    While p-values are independent and uniform, at least C values come on average before the first that takes
    it beyond C + 1, and so between two false alarms where it restarts at each. It does not tire of a long
    quiet stream.

    Examples
    --------
    >>> evidence = ShiryaevRoberts()
    >>> bool(evidence.along([0.5] * 1000 + [0.01] * 6)[-1] > math.log(1000))
    True

    References
    ----------
    A. N. Shiryaev, "On optimum methods in quickest detection problems", Theory of Probability and its
    Applications 8 (1963). S. W. Roberts, "A comparison of some control chart procedures", Technometrics 8
    (1966).
    """

    def _grown(self, growth: FloatArray) -> FloatArray:
        found, own = [], self._log
        for gain in growth.tolist():
            found.append(own := float(np.logaddexp(0.0, own + gain)))
        return np.array(found)


class Conformal(ChangeDetector[float]):
    """Bets on the conformal p-values of scores. After a restart, what was seen still counts.

    Parameters
    ----------
    reference
        Scores while all is well, at least four.
    betting
        What follows the p-values.
    seed
        Of the lots by which ties are broken.

    Examples
    --------
    >>> evidence = Conformal(np.arange(100.0), ShiryaevRoberts(), seed=0)
    >>> bool(evidence.along([200.0] * 10)[-1] > math.log(1000))
    True
    """

    def __init__(self, reference: FloatArray, betting: Betting, *, seed: int) -> None:
        self._ranks, self._betting, self._seed = ConformalRanks(reference), betting, seed
        self.forget()

    def follow(self, value: float) -> float:
        """Return the logarithm of the evidence after this score."""
        return float(self.along([value])[0])

    def along(self, values: Iterable[float], limit: float = math.inf) -> FloatArray:
        """Return that after each score; what was won is given up after each that exceeds the limit."""
        scores = np.asarray(list(values), dtype=np.float64)
        return self._betting.along(self._ranks.add(scores, self._lots.random(len(scores))), limit)

    def restart(self) -> None:
        """Begin with nothing won."""
        self._betting.restart()

    def forget(self) -> None:
        """Know the reference alone, and draw the same lots."""
        self._lots = generator(self._seed, "lots of ties")
        self._ranks.forget()
        self._betting.forget()


def promised(chance: float | None, run_length: float | None, direction: str = "up") -> tuple[Betting, float]:
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
        return ShiryaevRoberts(direction=direction), math.log1p(run_length)
    chance = CHANCE if chance is None else chance
    check_number("chance", chance, above=0, high=0.5)
    return Martingale(direction=direction), -math.log(chance)
