"""When faults come over a stream, in short: from an instant on, growing, in bursts, object by object.

Each is a scenario of one interval, in which the experiment's faults act; see `farm.run.scenario`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from collections.abc import Sequence as Many

from farm.api import Faultload, IntervalFaults, Schedule, Stretch, check_choice, check_number
from farm.errors import ExperimentError
from farm.run.timeline import Interval, stretches


class _OneInterval(Schedule):
    """A schedule of one interval."""

    def __init__(self, interval: Interval) -> None:
        check_number("share", interval.share, above=0, high=1)
        self._interval = interval
        self.intervals = [
            IntervalFaults(ramps_severity=interval.ramps_severity, comes_again=interval.comes_again)
        ]

    def stretches(self, seed: int) -> Iterator[Stretch]:
        """Plan the stream, from its start, stretch by stretch, without end."""
        return stretches([self._interval], seed)


class Onset(_OneInterval):
    """Faults begin at one instant and stay.

    Parameters
    ----------
    at
        How many instances come before.
    share
        The share of OOD instances from then on.

    Examples
    --------
    >>> plan = next(Onset(at=3).stretches(seed=0))
    >>> plan.share[:5, 0].tolist(), plan.episode[:5].tolist()
    ([0.0, 0.0, 0.0, 1.0, 1.0], [-1, -1, -1, 0, 0])
    """

    def __init__(self, *, at: int, share: float = 1.0) -> None:
        check_number("at", at, low=0, whole=True)
        super().__init__(Interval(begin=at, share=share))


class Ramp(_OneInterval):
    """Faults grow from nothing, in number or in severity.

    Parameters
    ----------
    begin, end
        Where the growth begins and where it is complete.
    of
        `share`: ever more instances are OOD; `severity`: from the beginning on they are, ever more severely.
    share
        The share of OOD instances, in the end.

    Examples
    --------
    >>> plan = next(Ramp(begin=0, end=4, of="severity").stretches(seed=0))
    >>> plan.intensity[:6, 0].tolist()
    [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
    """

    def __init__(self, *, begin: int = 0, end: int, of: str = "share", share: float = 1.0) -> None:
        check_number("begin", begin, low=0, whole=True)
        check_number("end", end, low=begin + 1, whole=True)
        check_choice("of", of, ("share", "severity"))
        super().__init__(Interval(begin=begin, rise=end - begin, of=of, share=share))


class Recurring(_OneInterval):
    """Faults come back at fixed distances.

    Parameters
    ----------
    period
        From one onset to the next.
    burst
        How many instances an episode has; it is the last part of its period.
    share
        The share of OOD instances within an episode.

    Examples
    --------
    >>> next(Recurring(period=4, burst=1).stretches(seed=0)).episode[:9].tolist()
    [-1, -1, -1, 0, -1, -1, -1, 1, -1]
    """

    def __init__(self, *, period: int = 100, burst: int = 20, share: float = 1.0) -> None:
        check_number("period", period, low=2, whole=True)
        check_number("burst", burst, low=1, high=period - 1, whole=True)
        super().__init__(Interval(begin=period - burst, lasting=burst, every=period, share=share))


class Bursts(_OneInterval):
    """Faults come and go at random.

    Parameters
    ----------
    gap, burst
        How many instances lie between episodes, and how many an episode has, on average; each is drawn from
        a geometric distribution, so that nobody can wait for the next.
    share
        The share of OOD instances within an episode.

    Examples
    --------
    >>> plan = next(Bursts(gap=50, burst=10).stretches(seed=0))
    >>> int(plan.episode.max()) > 5
    True
    """

    def __init__(self, *, gap: int = 100, burst: int = 20, share: float = 1.0) -> None:
        check_number("gap", gap, low=1, whole=True)
        check_number("burst", burst, low=1, whole=True)
        super().__init__(Interval(lasting=burst, gap=gap, share=share))


class Sequence(_OneInterval):
    """Objects come one after the other, each seen several times in a row; some of them are OOD.

    Where the workload has groups (the frames of a track), the views are one group's, in order; else they
    are the same image with a little sensor noise.

    Parameters
    ----------
    views
        How many views of an object come in a row.
    share
        The share of objects that are OOD; each is an episode.

    Examples
    --------
    >>> Sequence(views=3, share=0.5).views
    3
    """

    each_object = True

    def __init__(self, *, views: int = 10, share: float = 0.2) -> None:
        check_number("views", views, low=1, whole=True)
        super().__init__(Interval(share=share))
        self.views = views


def check_acting(schedule: Schedule, faults: Many[Faultload], named: Many[Many[Faultload]]) -> None:
    """Raise where an interval has no fault, a fault no interval, or one cannot act in a stream with time.

    `named` are the faults that each interval names itself.
    """
    unnamed = [interval for interval, own in enumerate(named) if not own]
    if unnamed and not faults:
        raise ExperimentError(f"stream.order is '{schedule.name}', but no faultload is named; name one")
    if faults and not unnamed:
        raise ExperimentError(
            f"faultload '{faults[0].name}' would never act: every interval of stream.order '{schedule.name}' "
            "names its own faults; take the faultload out, or the faults of an interval"
        )
    for interval, own in zip(schedule.intervals, named, strict=True):
        for fault in own or faults:
            if interval.ramps_severity and not fault.severities:
                raise ExperimentError(
                    f"faultload '{fault.name}' has no severity to ramp; let the ramp be of: share"
                )
    for fault in itertools.chain(faults, *named):
        if fault.reads_other_instances:
            raise ExperimentError(
                f"faultload '{fault.name}' takes images from its split's order, not the stream's; expected "
                "a stream without time, or frozen-frame, delayed-frame or dropped-frame"
            )
