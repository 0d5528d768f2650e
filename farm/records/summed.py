"""What is measured of one monitor on one part of a run, of which sums and histograms are left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from farm.errors import DataError
from farm.measures import Measure, undefined
from farm.measures.accumulate import Accumulator, time_quantiles
from farm.measures.histogram import Histogram
from farm.oracle import ORACLE
from farm.records import along_time, fields
from farm.records.fields import MEASURED, RANKED, Fields
from farm.records.kinds import Key, Kinds
from farm.records.notes import Noted, noted
from farm.records.parts import Group, Part

ERRORS = {name: f"{name}_error" for name in RANKED}
"""The fields that bound the errors of others, each standing behind its own."""
_ORDER = tuple(one for name in MEASURED for one in (name, ERRORS.get(name)) if one)
_NO_TIMES = "no times were given"


@dataclass
class Sums:
    """All that is kept of a run."""

    monitors: dict[str, Accumulator] = field(default_factory=dict)
    """The perfect one among them; in place of its times, of which it has none, are the classifier's."""
    kinds: Kinds = field(default_factory=Kinds)
    without_is_ood: int = 0
    scored: bool = False
    """Whether any score was given."""
    episodes: bool = False
    """Whether any part has an episode."""


class Summed:
    """A run that has been summed up, ready to be measured part by part."""

    def __init__(self, sums: Sums, run: Mapping[str, Any]) -> None:
        oracle = sums.monitors.get(ORACLE)
        if oracle is None:
            raise DataError("instances: there is none to judge; expected at least one")
        n = _size(oracle)
        heard = [name for name in sums.monitors if name != ORACLE]
        for name in heard:
            if (count := _size(sums.monitors[name])) != n:
                raise DataError(
                    f"alarms of monitor '{name}': {count} for {n} instances; expected one for each instance"
                )
        self._sums, self._oracle, self.monitors = sums, oracle, noted(run, heard)
        missing = sums.without_is_ood
        some = f"is_ood is missing for {missing} of {n} instances"
        self._why_no_ood = None if not missing else "is_ood was not given" if missing == n else some
        keys = oracle.keys()
        groups = [key for key in keys if isinstance(key, Key)]
        self._keys: Mapping[Part, Sequence[Key | None]] = (
            {Part(Group(), "all", ()): [*groups, *([None] if None in keys else [])]}
            if missing
            else sums.kinds.parts(groups, some_id=None in keys)
        )

    @property
    def parts(self) -> list[Part]:
        """What is to be told of, group by group."""
        return list(self._keys)

    def size(self, part: Part) -> Fields:
        """Say how many instances a part has, and what share of them is OOD."""
        return fields.size(self._oracle.sums(self._keys[part]).tally, self._why_no_ood)

    def measure(self, monitor: Noted, part: Part) -> Fields:
        """Give every field of `MEASURED` and the errors; what is undefined as a `Measure` with its reason."""
        if monitor.failure is not None:
            why = fields.failed(monitor.failure)
            return dict.fromkeys(_ORDER, why[RANKED[0]])
        summed, keys = self._sums.monitors[monitor.name], self._keys[part]
        sums = summed.sums(keys)
        measured = {
            **fields.detection(monitor.name, sums.tally, self._why_no_ood),
            **fields.classification(monitor.name, sums.tally),
            **fields.size_and_acceptance(monitor, summed.sums([None]).tally, self._why_no_ood),
            **self._ranking(monitor.name, keys),
            **self._along_time(part),
            "monitor_time_us": undefined(_NO_TIMES) if monitor.name == ORACLE else _times(sums.times),
            "classifier_time_us": _times(self._oracle.sums(keys).times),
        }
        return {name: measured[name] for name in _ORDER}

    def _ranking(self, monitor: str, keys: Sequence[Key | None]) -> Fields:
        unscored = monitor == ORACLE or not self._sums.scored
        why_not = "no scores were given" if unscored else self._why_no_ood
        if why_not:
            return dict.fromkeys((*RANKED, *ERRORS.values()), undefined(why_not))
        return dict(self._sums.monitors[monitor].scores(keys).measures())

    def _along_time(self, part: Part) -> Fields:
        if not self._sums.episodes:
            return along_time.nothing("the stream has no episodes")
        whole = "not told where readouts are judged by parts"
        return along_time.nothing(whole if part.name == "all" else "told of part all")


def _size(summed: Accumulator) -> int:
    return summed.sums(summed.keys()).tally.n


def _times(times: Histogram) -> Measure | Fields:
    """Give quantiles over those instances that were timed."""
    found = time_quantiles(times)
    if not times.n:
        return undefined(_NO_TIMES)
    return {"n": times.n, **{name: measure.value for name, measure in found.items()}}
