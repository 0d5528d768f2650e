"""What is kept of one run: its stream's identity, where the classifier was wrong, what each monitor said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from farm.api.arrays import NO_ANSWER, BoolArray, IntArray
from farm.baseline.bits import from_lines, to_lines
from farm.baseline.identity import StreamIdentity, along, faults_of, ids_of
from farm.comparison.sets import Said, as_said
from farm.errors import DataError, suggestion
from farm.readouts import Readouts
from farm.records.notes import noted
from farm.records.verdicts import decisions, truth, verdicts


@dataclass(frozen=True)
class Kept:
    """One run of a baseline; arrays are in the order of the stream."""

    name: str
    """The experiment's name, or a cell's title."""
    workload: Mapping[str, Any]
    classifier: Mapping[str, Any]
    stream: StreamIdentity
    wrong: BoolArray
    """Where the classifier was wrong: its own mistakes, whatever another run's classifier does."""
    bits: Mapping[str, Said] = field(repr=False)
    """By monitor: those that did not fail."""
    unranked: tuple[str, ...]
    """Monitors that the run does not rank, such as those fitted on faults."""
    failures: Mapping[str, str]
    source: Readouts | None = field(default=None, repr=False)
    """The whole run, where it is there; a saved file has decisions alone."""

    @classmethod
    def of(cls, run: Readouts) -> Kept:
        """Take down a run."""
        rows = along(run)
        *monitors, _ = noted(run.run, dict.fromkeys(run.alarms["monitor"]))  # the last one is the perfect one
        lasting = [one.name for one in monitors if one.failure is None]
        alarms = run.alarms[run.alarms["monitor"].isin(lasting)]
        known = truth(rows, decisions(alarms))
        said = {each.monitor: as_said(each.coded(known), known) for each in verdicts(alarms, known.position)}
        return cls(
            name=run_name(run),
            workload=_told(run, "workload", "hash"),
            classifier=_told(run, "classifier", "digest"),
            stream=StreamIdentity.of(run),
            wrong=known.should_cancel,
            bits={name: said[name] for name in lasting},
            unranked=tuple(one.name for one in monitors if not one.ranked),
            failures={one.name: one.failure for one in monitors if one.failure is not None},
            source=replace(run, instances=rows),
        )

    @classmethod
    def from_record(cls, name: str, record: Mapping[str, Any]) -> Kept:
        """Take it from what was saved."""
        stream = StreamIdentity.from_record(record["stream"])
        wrong = from_lines(record["mistakes"], stream.n, f"{name}: mistakes")
        return cls(
            name=name,
            workload=record["workload"],
            classifier=record["classifier"],
            stream=stream,
            wrong=wrong,
            bits={
                monitor: _said(own, wrong, f"{name}: {monitor}")
                for monitor, own in record["monitors"].items()
            },
            unranked=tuple(record["unranked"]),
            failures=record["failed"],
        )

    @property
    def record(self) -> dict[str, Any]:
        """Give it as it is saved; what follows from other bits is left out."""
        return {
            "workload": dict(self.workload),
            "classifier": dict(self.classifier),
            "stream": self.stream.record,
            "unranked": list(self.unranked),
            "failed": dict(self.failures),
            "mistakes": to_lines(self.wrong),
            "monitors": {name: _bits(said) for name, said in self.bits.items()},
        }

    @property
    def ranked(self) -> list[str]:
        """Name the monitors that the run ranks and that did not fail."""
        return [name for name in self.bits if name not in self.unranked]

    @cached_property
    def ids(self) -> list[str] | None:
        """The instances' names; a saved file has none."""
        return None if self.source is None else ids_of(self.source.instances)

    def said(self, monitor: str) -> Said:
        """Give what a monitor said of each instance."""
        if monitor not in self.bits:
            why = f"; it failed: {self.failures[monitor]}" if monitor in self.failures else ""
            near = why or f"; {suggestion(monitor, self.bits)}"
            raise DataError(f"monitor '{monitor}' is not in the baseline of {self.name}{near}")
        return self.bits[monitor]

    def check_same_stream(self, run: Readouts) -> None:
        """Raise where a run watched another stream, so that its instances cannot be paired with these."""
        differs = self.stream.difference(StreamIdentity.of(run))
        if differs is None:
            return
        where = run.run.get("folder") or run_name(run)
        first = self._first_other(run)
        raise DataError(
            f"{where} is not on the stream of the baseline '{self.name}': {differs}{first}; a paired "
            "comparison needs the same stream: run the same experiment with the same seed, or save the "
            "baseline anew"
        )

    def _first_other(self, run: Readouts) -> str:
        """Say which instance is the first that differs, where the baseline knows its instances."""
        if self.source is None:
            return ""
        sides = (self.source.instances, along(run))
        named = [ids_of(rows) for rows in sides]
        told = [zip(ids_of(r), r["label"].tolist(), faults_of(r), strict=True) for r in sides]
        for place, (before, now) in enumerate(zip(*told, strict=False)):
            if before != now:
                what = next(i for i in range(3) if before[i] != now[i])
                about = ("", f"'{now[0]}' with label ", f"'{now[0]}' with is_ood, fault and severity ")[what]
                return f" (first at place {place}: {about}'{now[what]}', in the baseline '{before[what]}')"
        longer = max(named, key=len)
        return f" (first at place {min(map(len, named))}: '{longer[min(map(len, named))]}' on one side only)"

    def beside(self, run: Readouts) -> Readouts:
        """Give the baseline's readouts on a run's instances, to be judged and selected from as the run's are.

        Of a saved file, classes are made up: what is known is where decisions were right, so that scores and
        measures of several classes are beyond it.
        """
        self.check_same_stream(run)
        rows = along(run)
        if self.source is None:
            label = rows["label"].to_numpy(np.int64)
            rows = rows.assign(predicted=_class(label, ~self.wrong))
            frames = [
                pd.DataFrame(
                    {
                        "position": rows["position"],
                        "monitor": name,
                        "alarm": said.alarm,
                        "cancelled": said.cancelled,
                        "decision": np.where(said.decided, _class(label, said.right), NO_ANSWER),
                    }
                )
                for name, said in self.bits.items()
            ]
            alarms = pd.concat(frames, ignore_index=True) if frames else run.alarms.iloc[:0]
        else:
            own = self.source.instances
            rows = rows.assign(position=own["position"], predicted=own["predicted"])
            alarms = self.source.alarms[self.source.alarms["monitor"].isin(list(self.bits))]
        notes = [
            {"name": name, "ranked": name not in self.unranked, "failure": self.failures.get(name)}
            for name in (*self.bits, *self.failures)
        ]
        kept = {key: value for key, value in run.run.items() if key != "files"}  # which are the run's own
        return Readouts(rows, alarms, {**kept, "monitors": notes})


def run_name(run: Readouts) -> str:
    """Call a run by its cell's title in a campaign, or else by its experiment's name."""
    title = (run.run.get("cell") or {}).get("title")
    return str(title or run.run.get("name") or "unnamed")


def _told(run: Readouts, what: str, digest: str) -> dict[str, str | None]:
    noted = run.run.get(what) or {}
    return {key: None if noted.get(key) is None else str(noted[key]) for key in ("name", digest)}


def _class(label: IntArray, right: BoolArray) -> IntArray:
    """Give the label where that is right, and any other class elsewhere."""
    return np.where(right, label, np.where(label == 0, 1, 0))


def _bits(said: Said) -> dict[str, str]:
    found = {"alarm": to_lines(said.alarm)}
    if not np.array_equal(said.cancelled, said.alarm):
        found["cancelled"] = to_lines(said.cancelled)
    if not np.array_equal(said.decided, ~said.cancelled):
        found["decided"] = to_lines(said.decided)
        found["right"] = to_lines(said.right)
    return found


def _said(own: Mapping[str, str], wrong: BoolArray, where: str) -> Said:
    def bits(name: str, otherwise: BoolArray) -> BoolArray:
        return from_lines(own[name], len(wrong), f"{where}: {name}") if name in own else otherwise

    alarm = bits("alarm", np.zeros_like(wrong))
    cancelled = bits("cancelled", alarm)
    decided = bits("decided", ~cancelled)
    return Said(alarm, cancelled, decided, bits("right", decided & ~wrong), None)
