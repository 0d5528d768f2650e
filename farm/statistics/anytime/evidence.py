"""Evidence that grows as values come in: bets that nobody can expect to gain by while a claim is true.

An *e-value* is what a stake of 1 has become. While the claim is true, the chance that it ever reaches x is at
most 1 / x, whenever one looks: 20 is as strong as p = 0.05.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np

from farm.api.arrays import FloatArray
from farm.api.changes import ConformalRanks, MixtureBet, MovingCapital
from farm.api.component import check_number
from farm.api.randomness import generator
from farm.errors import DataError, ParameterError
from farm.statistics.anytime.sequence import checked

AT_RISK = np.array([0.0, 0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8])
"""The parts of the capital that bets on rates put at risk; the first keeps what it has."""


class GrowingEvidence:
    """Evidence against a claim, which may be looked at after every value."""

    def __init__(self) -> None:
        self._n, self._log_e, self._peak = 0, 0.0, 0.0

    @property
    def n(self) -> int:
        """How many values there were."""
        return self._n

    @property
    def log_e(self) -> float:
        """The natural logarithm of the evidence: 0 before the first value, above 3 where it is strong."""
        return self._log_e

    @property
    def p(self) -> float:
        """The smallest p-value so far, valid whenever one stops: 1 over the strongest evidence there was."""
        return math.exp(-self._peak)

    def _take(self, bets: FloatArray) -> FloatArray:
        """Note the logarithms of what the evidence is multiplied by, and return it after each."""
        path = np.cumsum(np.concatenate([[self._log_e], bets]))
        self._n, self._log_e = self._n + len(bets), float(path[-1])
        self._peak = max(self._peak, float(path.max()))
        return bets


class StreamEvidence(GrowingEvidence, ABC):
    """Evidence from one stream of numbers."""

    def add(self, values: FloatArray) -> FloatArray:
        """Take the next values, in order; return the logarithm of what each multiplies the evidence by."""
        return self._take(self._bets(values))

    @abstractmethod
    def _bets(self, values: FloatArray) -> FloatArray:
        """Bet on each value what those before it suggest."""


class RateEvidence(StreamEvidence):
    """Evidence that the mean of values from 0 to 1 is above a bound, or below.

    The claim that is bet against is that each value's mean, given all before, is on the other side. It may
    move as it likes there, and the evidence grows once it leaves, however late that is.

    Parameters
    ----------
    bound
        Above 0 and below 1.
    at_least
        Whether the claim is that the mean is at least the bound; without, that it is at most so much.

    Examples
    --------
    >>> evidence = RateEvidence(0.05)
    >>> _ = evidence.add(np.arange(200) % 5 == 0)
    >>> round(evidence.log_e, 1), evidence.p < 1e-6
    (24.9, True)
    """

    def __init__(self, bound: float, *, at_least: bool = False) -> None:
        super().__init__()
        check_number("bound", bound, above=0, high=1)
        if bound == 1:
            raise ParameterError("bound is 1; expected a number below 1: no mean is above it")
        self._at_least = at_least
        self._bound = 1.0 - bound if at_least else float(bound)
        self._capital = MovingCapital(len(AT_RISK))

    def _bets(self, values: FloatArray) -> FloatArray:
        unit = checked(values, 0.0, 1.0, self._n)
        higher = 1.0 - unit if self._at_least else unit
        return self._capital.add(1.0 + AT_RISK * (higher / self._bound - 1.0)[:, None])


class ScoreEvidence(StreamEvidence):
    """Evidence that scores are no longer exchangeable with those of a reference.

    Frames of a track are not exchangeable with each other: of such streams give each track's own score,
    such as `Tracks.means`, in the reference too.

    Parameters
    ----------
    reference_scores
        At least four, in any order.
    seed
        What ties are broken by.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> evidence = ScoreEvidence(random.normal(size=500), seed=0)
    >>> _ = evidence.add(random.normal(size=200))
    >>> round(evidence.log_e, 1)
    -2.2
    >>> _ = evidence.add(random.normal(1.0, size=100))
    >>> evidence.p < 0.001
    True
    """

    def __init__(self, reference_scores: FloatArray, seed: int) -> None:
        super().__init__()
        self._ranks, self._bet = ConformalRanks(reference_scores), MixtureBet()
        self._ties = generator(seed, "score evidence", "ties")

    def _bets(self, values: FloatArray) -> FloatArray:
        values = np.asarray(values, dtype=np.float64)
        return self._bet.add(self._ranks.add(values, self._ties.random(len(values))))


class Together(GrowingEvidence):
    """One evidence from several monitors' bets on the same stream.

    Bets on the same images cannot be multiplied with each other: what one gains by, others may as well. At
    each instant a part of the capital goes into each monitor's bet, the more the more it has gained so far.
    What is promised is exact where no bet is expected to gain given all that *any* monitor has seen, as those
    of `RateEvidence`. Bets of `ScoreEvidence` are fair given what their own monitor has seen, which is less.
    In simulations of two monitors of the same images (3,000 streams each, references of 6 and 40 images,
    scores that were equal, opposed or one the other's distance from its middle) p fell to 0.05 or below in at
    most 2.4 %.

    Parameters
    ----------
    names
        The monitors.

    Examples
    --------
    >>> together, claims = Together(["a", "b"]), {name: RateEvidence(0.05) for name in "ab"}
    >>> values = {"a": np.zeros(200), "b": np.ones(200)}
    >>> _ = together.add({name: claims[name].add(values[name]) for name in "ab"})
    >>> together.p < 1e-6, {name: round(weight, 2) for name, weight in together.weights.items()}
    (True, {'a': 0.0, 'b': 1.0})
    """

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        if not names or len(set(names)) < len(names):
            raise ParameterError(f"monitors {', '.join(names) or 'none'}; expected at least one, each once")
        self._names, self._capital = tuple(names), MovingCapital(len(names))

    @property
    def weights(self) -> dict[str, float]:
        """How much of the capital goes into each monitor's next bet."""
        return dict(zip(self._names, self._capital.weights.tolist(), strict=True))

    def add(self, bets: Mapping[str, FloatArray]) -> FloatArray:
        """Take what each monitor's evidence is multiplied by, as logarithms; return the same of all."""
        lengths = {name: len(bets[name]) if name in bets else 0 for name in self._names}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{n} of {name}" for name, n in lengths.items())
            raise DataError(f"bets: {told}; expected as many of each monitor")
        return self._take(self._capital.add(np.exp(np.column_stack([bets[name] for name in self._names]))))
