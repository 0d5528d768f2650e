"""Have a monitor's scores moved against a reference? Of logs of which nobody knows what is right, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from farm.api.arrays import FloatArray, IntArray
from farm.comparing.sameness import check_distinct
from farm.errors import DataError, suggestion
from farm.judging import VerdictTable
from farm.judging.label_free import SampledRun, held_out
from farm.judging.readouts import load_runs
from farm.judging.record import plain
from farm.measures import Bounded, Measure, undefined
from farm.statistics.corrections import holm
from farm.statistics.drift import ScoreDrift, rate_difference, score_drift
from farm.statistics.wording import p_words, percent_words
from farm.store.readouts import Readouts

ALPHA = 0.05
"""How often drift may be found where there is none, of all monitors of a log together."""
NO_REFERENCE = "no reference was given"


@dataclass(frozen=True, eq=False)
class Reference:
    """What a log is held against: the ID instances of a run or of another log, or all where ID is unknown."""

    name: str
    readouts: Readouts
    table: VerdictTable
    kind: str
    """Which instances they are: `ID`, or `all`."""
    runs: tuple[Readouts, ...] = ()
    """All runs of a campaign of one classifier, of which it is the one with the most ID instances; none where
    it stands alone."""

    @classmethod
    def load(cls, path: Path | str, *, probabilities: bool = False) -> Reference:
        """Read a run's folder, that of a campaign of one classifier, or a log.

        With `probabilities` those of all classes are there, too, where they were kept.
        """
        first, *others = runs = load_runs([path], probabilities=probabilities)
        if others:
            first = max(runs, key=_n_id)
            digests = {(run.run.get("classifier") or {}).get("digest") for run in runs}
            if len(digests) > 1 or None in digests:
                raise DataError(
                    f"reference {path} holds {len(runs)} runs that are not known to be of one classifier; "
                    "expected one run: give a cell's folder"
                )
            return replace(cls.of(first, str(first.run["folder"])), runs=tuple(runs))
        return cls.of(first, str(path))

    @classmethod
    def of(cls, readouts: Readouts, name: str) -> Reference:
        """Take the ID instances, or all."""
        table = SampledRun.of(readouts).table
        if table.why_no_ood:
            return cls(name, readouts, table, "all")
        if table.is_ood.all():
            raise DataError(f"reference {name} has no ID instance: 'is_ood' is true for all; expected some")
        return cls(name, readouts, table.take(~table.is_ood), "ID")

    def check(self, runs: Sequence[Readouts]) -> None:
        """Check that the reference is none of the runs held against it, and has some monitor of each."""
        try:
            check_distinct([*(self.runs or (self.readouts,)), *runs])
        except DataError as error:
            raise DataError(f"reference {self.name}: {error}") from None
        for run in runs:
            named = [str(note["name"]) for note in run.run.get("monitors") or ()]
            # Yardsticks alone watch validation data.
            taught = held_out(self.readouts) is not self.readouts
            if named and not taught and not set(named) & set(self.table.said):
                where = run.run.get("folder") or "the log"
                raise DataError(
                    f"reference {self.name} has no monitor of {where}: '{named[0]}'; "
                    f"{suggestion(named[0], self.table.said)}"
                )

    def drift(
        self,
        tables: Sequence[VerdictTable],
        track: IntArray,
        monitor: str,
        *,
        monitors: int = 1,
        replicates: int | None = None,
        seed: int = 0,
    ) -> ScoreDrift | Measure:
        """Return how far a monitor's scores on some instances lie from those here, or why that is unknown.

        Parameters
        ----------
        track
            The number of each instance's track, of all tables together.
        """
        if monitor not in self.table.said:
            return undefined(f"{self.name} has nothing of '{monitor}'")
        if any(each.said[monitor].scores is None for each in tables):
            return undefined("some instances have no score")
        if self.table.said[monitor].scores is None:
            return undefined(f"some instances of {self.name} have no score")
        return score_drift(
            (_scores(tables, monitor), track),
            (_scores([self.table], monitor), self.table.track_code),
            monitors=monitors,
            alpha=ALPHA,
            replicates=replicates,
            seed=seed,
        )


def _n_id(run: Readouts) -> int:
    is_ood = run.instances.get("is_ood")
    return 0 if is_ood is None else int((~is_ood.fillna(True).astype(bool)).sum())


def _scores(tables: Sequence[VerdictTable], monitor: str) -> FloatArray:
    return np.concatenate([np.asarray(each.said[monitor].scores, dtype=np.float64) for each in tables])


@dataclass(frozen=True, eq=False)
class MonitorDrift:
    """What became of one monitor's scores and alarms, a reference beside them."""

    monitor: str
    reference: Reference
    found: ScoreDrift | Measure
    """How far its scores have moved; or why that is not known."""
    p: Measure
    """Corrected for the number of monitors."""
    rate: Bounded
    """Its alarm rate; then that in the reference, None where it is not there."""
    before: Bounded | None
    level: float
    unit: str
    """What is drawn: `tracks`, or `instances`."""

    @property
    def has_moved(self) -> bool | None:
        """Whether its scores have, surely; None where nothing could have told."""
        if not isinstance(self.found, ScoreDrift) or not self.p.defined or not self.found.resolution.enough:
            return None
        return self.p.value < ALPHA

    @property
    def change(self) -> Bounded | None:
        """By how much its alarm rate is higher than in the reference."""
        return None if self.before is None else rate_difference(self.rate, self.before)

    @property
    def sentence(self) -> str:
        """Say it in plain words."""
        return f"{self.monitor}: {self._of_scores()}.{self._of_alarms()}"

    def _of_scores(self) -> str:
        found, where = self.found, self.reference.name
        if not isinstance(found, ScoreDrift):
            return f"whether its scores have moved is not known: {found.reason}"
        resolution = found.resolution
        if not resolution.enough:
            needed = f"; {resolution.needed} in each could tell" if resolution.needed else ""
            uneven = f" (of uneven size: they count as {resolution.fewest})"
            few = f"{found.n_fewest} {self.unit}{uneven if resolution.fewest < found.n_fewest else ''}"
            return (
                f"too little was seen to tell whether its scores have moved: with {few} p is at least "
                f"{resolution.floor:.2g}{needed}"
            )
        if not self.p.defined:
            return f"whether its scores have moved is not known: {self.p.reason}"
        low, high = (end((1 + self.level) / 2) for end in (found.low, found.high))
        drift, p = f"drift {found.distance.value:.2f}", p_words(self.p.value)
        if not self.has_moved:
            return (
                f"chance may explain how its scores differ from {where} ({drift}, at most {_end(high)}; {p})"
            )
        here, there = (percent_words(share) for share in found.above)
        return (
            f"its scores have moved against {where}: {here} of them lie above {found.threshold:.3g}, and "
            f"there {there} ({drift}, between {_end(low)} and {_end(high)}; {p})"
        )

    def _of_alarms(self) -> str:
        if self.before is None or self.change is None:
            return ""
        here, there = (f"{100 * each.value.value:.1f} %" for each in (self.rate, self.before))
        by, *ends = (f"{100 * end.value:+.1f}" for end in _three(self.change) if end.defined)
        between = f", between {ends[0]} and {ends[1]}" if len(ends) == 2 else ""
        return f" Alarms: {here} of instances, and there {there} ({by} points{between})."

    @property
    def record(self) -> dict[str, Any]:
        """Return it for JSON: what is undefined is null, with the reason."""
        found, level = self.found, (1 + self.level) / 2
        if isinstance(found, Measure):
            distance = low = high = found
            scored: dict[str, Any] = dict.fromkeys(
                ("floor", "needed", "threshold", "above", "above_reference")
            )
        else:
            distance, low, high = found.distance, found.low(level), found.high(level)
            resolution = found.resolution
            scored = {
                "floor": resolution.floor,
                "needed": None if resolution.enough else resolution.needed,
                "threshold": found.threshold,
                "above": found.above[0],
                "above_reference": found.above[1],
            }
        absent = undefined(f"{self.reference.name} has nothing of '{self.monitor}'")
        changes = _three(self.change or Bounded.nowhere(absent))
        against = {
            "run": self.reference.name,
            "instances": self.reference.kind,
            "n": len(self.reference.table),
            "n_tracks": n_tracks(self.reference.table),
            "low": low,
            "high": high,
            "p": self.p,
            **scored,
            "moved": self.has_moved,
            "alarm_rate": None if self.before is None else self.before.value.json,
            **dict(zip(("change", "change_low", "change_high"), changes, strict=True)),
            "sentence": self.sentence,
        }
        return plain({"drift": distance, "against": plain(against)})


def drifts(
    table: VerdictTable,
    reference: Reference,
    rates: Mapping[str, Bounded],
    before: Mapping[str, Bounded],
    level: float,
) -> dict[str, MonitorDrift]:
    """Return what became of each monitor.

    Parameters
    ----------
    table
        A log's instances.
    rates, before
        The monitors' alarm rates on them, and in the reference.
    level
        Of all intervals.

    Examples
    --------
    >>> from farm.measures.measure import share
    >>> from farm.testing import make_readouts
    >>> random = np.random.default_rng(0)
    >>> may, now = (
    ...     make_readouts({"odin": {"score": random.normal(by, 1, 200)}}, is_ood=None, label=None)
    ...     for by in (0, 1)
    ... )
    >>> table = VerdictTable.of(now.instances, now.alarms, now.run)
    >>> rates, before = ({"odin": share(k, 200, "")} for k in (162, 85))
    >>> print(drifts(table, Reference.of(may, "May"), rates, before, 0.95)["odin"].sentence)
    odin: its scores have moved against May: 68 % of them lie above 0.386, and there 34 % (drift 0.34,
        between 0.20 and 0.44; p < 0.001). Alarms: 81.0 % of instances, and there 42.5 % (+38.5 points,
        between +29.3 and +46.7).
    """
    asked = sum(name in before for name in rates)
    found = {name: reference.drift([table], table.track_code, name, monitors=asked) for name in rates}
    p = {name: each if isinstance(each, Measure) else each.p for name, each in found.items()}
    tested = [name for name, each in p.items() if each.defined]
    p |= dict(zip(tested, map(Measure, holm([p[name].value for name in tested])), strict=True))
    unit = "tracks" if table.has_tracks or reference.table.has_tracks else "instances"
    return {
        name: MonitorDrift(name, reference, found[name], p[name], rate, before.get(name), level, unit)
        for name, rate in rates.items()
    }


def n_tracks(table: VerdictTable) -> int | None:
    """Return how many tracks instances come in; None where none has any."""
    return table.n_tracks if table.has_tracks else None


def _three(bounded: Bounded) -> tuple[Measure, Measure, Measure]:
    return bounded.value, bounded.low, bounded.high


def _end(measure: Measure) -> str:
    return f"{measure.value:.2f}" if measure.defined else "what is not known"
