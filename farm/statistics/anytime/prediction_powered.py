"""A mean of which few values are known and all are guessed: a proxy for each instance, labels of some."""

from __future__ import annotations

import numpy as np

from farm.api.arrays import FloatArray
from farm.api.component import check_number
from farm.errors import DataError
from farm.statistics.anytime.ratio import RatioSequence
from farm.statistics.anytime.sequence import checked, running
from farm.statistics.anytime.tracks import Tracks


class PredictionPowered:
    """Bounds of a mean at all times together, from a proxy of every value and the values of a few.

    Each instance counts as its proxy, and where its value is known, what the proxy was wrong by is added, the
    more the rarer such an instance is asked about. That has the value's own mean, however bad the proxy is; a
    good one makes the bounds narrower, and one that has not helped so far is given less weight.

    Whom to ask about is drawn at random, with a chance that may depend on all that is known before the
    answer. Instances that somebody picked by hand promise nothing.

    Parameters
    ----------
    lowest_chance
        No instance is asked about with a smaller chance. The smaller it is, the longer bounds stay wide.
    level
        The chance that the mean lies between the bounds at all times.
    longest
        Where instances come in tracks, no track has more of them.
    most_asked
        No track has more whose answer adds to the proxies; without, all that it has.

    References
    ----------
    T. Zrnic, E. J. Candès, "Active statistical inference", ICML (2024). D. Csillag, C. J. Struchiner, G. T.
    Goedert, "Prediction-powered e-values", ICML (2025).

    Examples
    --------
    >>> random = np.random.default_rng(2)
    >>> wrong, asked = random.random(5000) < 0.1, random.random(5000) < 0.1
    >>> proxy, known = np.where(wrong, 0.8, 0.05), np.where(asked, wrong, np.nan)
    >>> found = PredictionPowered(lowest_chance=0.1)
    >>> found.add(proxy, known, np.full(5000, 0.1))
    >>> found.n, found.labelled, [round(each, 3) for each in (found.low, found.mean, found.high)]
    (5000, 554, [0.069, 0.09, 0.112])
    """

    def __init__(
        self, lowest_chance: float, level: float = 0.95, longest: int = 1, most_asked: int | None = None
    ) -> None:
        check_number("lowest_chance", lowest_chance, above=0, high=1)
        self._lowest_chance, self._labelled = float(lowest_chance), 0
        beyond = (longest if most_asked is None else most_asked) * (1.0 / lowest_chance - 1.0)
        self._sequence = RatioSequence(longest, level, beyond)
        self._explained = self._proxied = 0.0

    @property
    def n(self) -> int:
        """How many instances there were, or tracks."""
        return self._sequence.n

    @property
    def labelled(self) -> int:
        """Of how many of them the value is known."""
        return self._labelled

    @property
    def mean(self) -> float:
        """The estimate; NaN before the first instance. It may lie outside 0 to 1 while little is known."""
        return self._sequence.mean

    @property
    def low(self) -> float:
        """The highest lower bound so far."""
        return self._sequence.low

    @property
    def high(self) -> float:
        """The lowest upper bound so far."""
        return self._sequence.high

    @property
    def moved(self) -> bool:
        """Whether the bounds have passed each other: no single mean goes with all values."""
        return self._sequence.moved

    def add(
        self, proxy: FloatArray, label: FloatArray, chance: FloatArray, tracks: Tracks | None = None
    ) -> None:
        """Take the next instances, in order.

        Parameters
        ----------
        proxy
            A guess of each value, from 0 to 1, made without knowing it.
        label
            The value itself, from 0 to 1; NaN where it was not asked for.
        chance
            With which chance it would be asked for.
        tracks
            Those of the instances, each with all of its own; without, every instance stands alone.
        """
        label = np.asarray(label, dtype=np.float64)
        if not len(proxy) == len(label) == len(chance):
            raise DataError(
                f"{len(proxy)} proxies, {len(label)} labels, {len(chance)} chances; expected as many of each"
            )
        if tracks is not None:  # what comes later in their order must not weigh what comes before
            proxy, label, chance = (np.asarray(each)[tracks.rows] for each in (proxy, label, chance))
        asked = ~np.isnan(label)
        proxy, chance = checked(proxy, 0.0, 1.0, self.n), checked(chance, self._lowest_chance, 1.0, self.n)
        value = checked(np.where(asked, label, 0.0), 0.0, 1.0, self.n)
        shares = self._shares(proxy, value, chance, asked)
        mistake = np.where(asked, value - shares * proxy, 0.0)
        each = shares * proxy + mistake / chance
        if tracks is None:
            self._sequence.add(each, np.ones(len(each)))
        else:
            in_stream = np.empty(len(each))
            in_stream[tracks.rows] = each
            self._sequence.add(tracks.sums(in_stream), tracks.sizes)
        self._labelled += int(asked.sum())

    def _shares(
        self, proxy: FloatArray, value: FloatArray, chance: FloatArray, asked: FloatArray
    ) -> FloatArray:
        """Return with what share each proxy counts: what would have been best before it, at first none."""
        matters = np.where(asked, (1.0 / chance - 1.0) / chance, 0.0)
        explained = running(self._explained, matters * value * proxy)
        proxied = running(self._proxied, matters * proxy**2)
        before = np.concatenate([[self._explained], explained[:-1]])
        of = np.concatenate([[self._proxied], proxied[:-1]])
        if len(proxy):
            self._explained, self._proxied = float(explained[-1]), float(proxied[-1])
        # One answer with a proxy of 1, as if it had been wrong.
        doubt = (1.0 / self._lowest_chance - 1.0) / self._lowest_chance
        return np.clip(before / np.maximum(of + doubt, np.finfo(float).tiny), 0.0, 1.0)
