"""What follows alarms in a stream, beside `cancel`: m of n instances, hysteresis, latching."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque

from farm.api import Policy, check_choice, check_number

WITHIN = ("stream", "track")
MOST = 1_000_000
"""Instances that a policy remembers at most."""


class Remembering(Policy):
    """A policy with a memory, which may begin anew with each track, and so with each instance that has none.

    A subclass writes `_follow`, which sees one instance after another, and `_forget`.
    """

    def __init__(self, *, within: str) -> None:
        check_choice("within", within, WITHIN)
        self._by_track = within == "track"
        self._track: str | None = None

    def reset(self) -> None:
        """Forget what came before in the stream."""
        self._track = None
        self._forget()

    def _cancels(self, alarm: bool, margin: float, track: str | None) -> bool:
        if self._by_track and (track is None or track != self._track):
            self._track = track
            self._forget()
        return self._follow(alarm, margin)

    @abstractmethod
    def _follow(self, alarm: bool, margin: float) -> bool:
        """Say whether the next instance's decision is cancelled."""

    @abstractmethod
    def _forget(self) -> None:
        """Be as at the start."""


class MOutOfN(Remembering):
    """Cancel while at least m of the latest n instances, this one included, had an alarm.

    Parameters
    ----------
    m, n
        How many alarms, among how many instances. Of fewer than n, at the start, m must be alarms as well.
    within
        `stream`: one memory for all instances. `track`: it begins anew where an instance is of another track
        than the one before, or of none.

    Examples
    --------
    >>> policy = MOutOfN(m=2, n=3)
    >>> [policy._cancels(alarm, 0.0, "") for alarm in (True, False, True, False, False)]
    [False, False, True, False, False]
    """

    def __init__(self, *, m: int, n: int, within: str = "stream") -> None:
        super().__init__(within=within)
        check_number("n", n, low=1, high=MOST, whole=True)
        check_number("m", m, low=1, high=n, whole=True)
        self.name = "m-of-n"
        self._m = m
        self._latest: deque[bool] = deque(maxlen=n)

    def _follow(self, alarm: bool, margin: float) -> bool:
        del margin
        self._latest.append(alarm)
        return sum(self._latest) >= self._m

    def _forget(self) -> None:
        self._latest.clear()


class Hysteresis(Remembering):
    """Begin to cancel after some alarms in a row, and end only after some quiet instances in a row.

    Parameters
    ----------
    begin
        The alarm in a row that is the first to be cancelled.
    end
        The quiet instance in a row that is the first not to be cancelled any more.
    margin
        An instance is quiet where its score is at least so much below the threshold, in units of the score.
        What is no alarm and not quiet either breaks both rows.
    within
        `stream`: one memory for all instances. `track`: it begins anew where an instance is of another track
        than the one before, or of none.

    Examples
    --------
    >>> policy = Hysteresis(begin=2, end=2)
    >>> margins = (0.1, 0.1, -0.1, 0.1, -0.1, -0.1)
    >>> [policy._cancels(margin > 0, margin, "") for margin in margins]
    [False, True, True, True, True, False]
    """

    def __init__(self, *, begin: int, end: int, margin: float = 0.0, within: str = "stream") -> None:
        super().__init__(within=within)
        check_number("begin", begin, low=1, whole=True)
        check_number("end", end, low=1, whole=True)
        check_number("margin", margin, low=0)
        self._begin, self._end, self._margin = begin, end, margin
        self._cancelling = False
        self._in_a_row = 0

    def _follow(self, alarm: bool, margin: float) -> bool:
        ending = self._cancelling
        in_a_row = margin <= -self._margin if ending else alarm
        self._in_a_row = self._in_a_row + 1 if in_a_row else 0
        if self._in_a_row == (self._end if ending else self._begin):
            self._cancelling, self._in_a_row = not ending, 0
        return self._cancelling

    def _forget(self) -> None:
        self._cancelling, self._in_a_row = False, 0


class Latching(Remembering):
    """Cancel from the first alarm on until the end: somebody has to look.

    Parameters
    ----------
    within
        `stream`: until the stream ends. `track`: until an instance is of another track than the one before,
        or of none.

    Examples
    --------
    >>> policy = Latching()
    >>> [policy._cancels(alarm, 0.0, "") for alarm in (False, True, False)]
    [False, True, True]
    """

    def __init__(self, *, within: str = "stream") -> None:
        super().__init__(within=within)
        self._latched = False

    def _follow(self, alarm: bool, margin: float) -> bool:
        del margin
        self._latched = self._latched or alarm
        return self._latched

    def _forget(self) -> None:
        self._latched = False
