"""A policy with a promise: it bets that alarms are more than they should be."""

from __future__ import annotations

from farm.api import Policy, check_number, generator
from farm.api.changes import promised


class MartingalePolicy(Policy):
    """Cancels while alarms are too many to have come by chance, with a promise of how seldom that is wrong.

    It bets on each instance that stands alone, and on the first of each track, that alarms are more than
    `rate`. The promise holds as long as these alarm independently of one another, and no more often.

    Parameters
    ----------
    rate
        The share of alarms while all is well.
    chance
        That it *ever* cancels is at most as likely as this (Ville). 0.01 where neither is set.
    run_length
        Or at least so many bets come on average before it cancels (Shiryaev and Roberts).
    restart
        Whether it begins anew after each instance that it cancels.

    Examples
    --------
    >>> policy = MartingalePolicy(rate=0.05, chance=0.1)
    >>> [policy._cancels(alarm, 0.0, None) for alarm in (False, True, True, True, True)]
    [False, False, False, True, True]
    """

    def __init__(
        self,
        *,
        rate: float = 0.05,
        chance: float | None = None,
        run_length: float | None = None,
        restart: bool = False,
    ) -> None:
        check_number("rate", rate, above=0, high=0.5)
        self._betting, self._limit = promised(chance, run_length)
        self._rate, self._restart = rate, restart
        self.reset()

    def reset(self) -> None:
        """Forget what came before in the stream."""
        self._betting.forget()
        self._lots = generator(0, "lots of alarms")
        self._track: str | None = None
        self._held = 0.0

    def _cancels(self, alarm: bool, margin: float, track: str | None) -> bool:
        del margin
        if track is None or track != self._track:
            lot = self._lots.random()
            p = self._rate * (1 - lot) if alarm else self._rate + (1 - self._rate) * lot
            self._held = self._betting.follow(p)
        self._track = track
        cancels = self._held > self._limit
        if cancels and self._restart:
            self._betting.restart()
            self._held = 0.0
        return cancels
