"""A scene as a list of intervals: night falls, fog comes and goes, a row of pixels dies and stays dead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from farm.api import IntervalFaults, Schedule, Stretch, check_choice, check_number
from farm.errors import ParameterError, UserError, suggestion
from farm.run.timeline import Interval, stretches

KEYS = ("faults", "end", *(field.name for field in fields(Interval)))
"""What an interval may say."""


_LOWEST = {"begin": 0, "end": 1, "lasting": 1, "every": 1, "gap": 1, "rise": 0, "fall": 0}


class Scenario(Schedule):
    """Faults come and go by a list of intervals, one after another or several at once.

    An interval says which `faults` act in it (one or a list, each as under `faultload`; without, one of the
    experiment's), where it begins (`begin`, 0 unless told) and where it is over: `end`, or `lasting` so many
    instances; without either it stays. `every` lets it come again at that distance. With `gap` it comes at
    random, so many instances apart and `lasting` so many on average. Over `rise` instances it grows, over the
    last `fall` it fades: `of: severity`, or `of: share`, the share of the objects that are hit (`share`, all
    of them unless told). Faults act one after another, in the order of the intervals. An episode begins
    where an interval begins, and lasts until the next one begins or none is left.

    Parameters
    ----------
    intervals
        The intervals, each a mapping.
    views
        How many views of one object come in a row; all that there are where not given.
    length
        How many instances the stream has, unless `stream.length` says it.

    Examples
    --------
    >>> fog = {"faults": {"name": "fog", "severity": 3}, "begin": 2, "lasting": 4, "rise": 2}
    >>> dead = {"faults": {"name": "dead-columns", "severity": 1}, "begin": 4}
    >>> plan = next(Scenario(intervals=[fog, dead]).stretches(seed=0))
    >>> plan.intensity[2:6, 0].tolist(), plan.episode[:7].tolist()
    ([0.5, 1.0, 1.0, 1.0], [-1, -1, 0, 0, 1, 1, 1])
    """

    def __init__(
        self, *, intervals: Sequence[Mapping[str, Any]], views: int | None = None, length: int | None = None
    ) -> None:
        if not isinstance(intervals, list | tuple) or not intervals:
            raise ParameterError(f"intervals is {intervals!r}; expected a list of at least one interval")
        for name, value in (("views", views), ("length", length)):
            if value is not None:
                check_number(name, value, low=1, whole=True)
        self._planned = [_interval(said, f"intervals.{number}") for number, said in enumerate(intervals)]
        self.intervals = [
            IntervalFaults(_faults(said.get("faults")), one.ramps_severity, one.comes_again)
            for said, one in zip(intervals, self._planned, strict=True)
        ]
        self.views, self.length = views, length

    def stretches(self, seed: int) -> Iterator[Stretch]:
        """Plan the stream, from its start, stretch by stretch, without end."""
        return stretches(self._planned, seed)


def _faults(said: Any) -> Sequence[Any]:
    if said is None:
        return ()
    if said == []:
        raise ParameterError("faults is []; name one, or leave it out for those of the experiment")
    return list(said) if isinstance(said, list | tuple) else [said]


def _interval(said: Any, where: str) -> Interval:
    if not isinstance(said, Mapping):
        raise ParameterError(f"{where} is {said!r}; expected keys and values, such as begin: 100")
    for key in said:
        if key not in KEYS:
            raise ParameterError(f"{where} has no key '{key}'; {suggestion(str(key), KEYS)}")
    try:
        return _checked({key: value for key, value in said.items() if key != "faults"})
    except UserError as error:
        raise type(error)(f"{where}: {error}") from None


def _checked(said: dict[str, Any]) -> Interval:
    said = {key: value for key, value in said.items() if value is not None}
    for key, low in _LOWEST.items():
        if key in said:
            check_number(key, said[key], low=low, whole=True)
    if "share" in said:
        check_number("share", said["share"], above=0, high=1)
    check_choice("of", said.get("of", "severity"), ("severity", "share"))
    end, lasting = said.pop("end", None), said.get("lasting")
    if end is not None:
        if lasting is not None:
            raise ParameterError(f"end is {end} and lasting is {lasting}; say one of them")
        if "every" in said or "gap" in said:
            raise ParameterError(
                f"end is {end}, and it comes again; say lasting, how long it stays each time"
            )
        check_number("end", end, low=said.get("begin", 0) + 1, whole=True)
        said["lasting"] = lasting = end - said.get("begin", 0)
    interval = Interval(**said)
    if interval.every is not None and interval.gap is not None:
        raise ParameterError(f"every is {interval.every} and gap is {interval.gap}; say one of them")
    if interval.comes_again and lasting is None:
        raise ParameterError("it comes again and never ends; say how long it stays, as in lasting: 20")
    if interval.every is not None and interval.every <= (lasting or 0):
        raise ParameterError(f"every is {interval.every}; expected more than lasting, which is {lasting}")
    if interval.gap is not None and (interval.rise or interval.fall):
        raise ParameterError("it comes at random, where rise and fall have no place; leave gap or them out")
    if interval.fall and lasting is None:
        raise ParameterError(f"fall is {interval.fall}, but it never ends; say end or lasting")
    growth = interval.rise + interval.fall
    if lasting is not None and growth > lasting:
        raise ParameterError(
            f"rise and fall take {growth} instances, and it lasts {lasting}; expected no more"
        )
    return interval
