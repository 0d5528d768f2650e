"""What a baseline has of one run: the stream's identity, the classifier's mistakes, what monitors said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from farm.api.arrays import NO_ANSWER, BoolArray, IntArray
from farm.comparing.sameness import RunNotes
from farm.errors import DataError
from farm.gate.baseline.file import from_lines, to_lines
from farm.gate.baseline.identity import StreamIdentity, faults_of, in_stream_order
from farm.judging import JudgedRun, Judgement, VerdictTable
from farm.judging.verdicts import Truth, Verdicts
from farm.measures.oracle import OutcomeCodes, outcomes


@dataclass(frozen=True, eq=False)
class Bits:
    """What is kept of one monitor: a bit of each kind an instance."""

    alarm: BoolArray
    cancelled: BoolArray
    decided: BoolArray
    right: BoolArray

    @classmethod
    def of(cls, judged: Judgement) -> Bits:
        """Keep what follows from decisions alone."""
        return cls(judged.alarm, judged.cancelled, judged.decided, judged.right)


@dataclass(frozen=True)
class BaselineRun:
    """One run of a baseline; arrays are in the order of the stream."""

    name: str
    """The experiment's name, or a cell's title."""
    workload: Mapping[str, Any]
    classifier: Mapping[str, Any]
    stream: StreamIdentity
    wrong: BoolArray
    """Where the classifier was wrong: its own mistakes, whatever another run's classifier does."""
    bits: Mapping[str, Bits] = field(repr=False)
    """By monitor: those that did not fail."""
    unranked: tuple[str, ...]
    """Monitors that the run does not rank, such as those fitted on faults."""
    failures: Mapping[str, str]
    table: VerdictTable | None = field(default=None, repr=False)
    """All of the run, where it is there; a saved file has decisions alone."""

    @classmethod
    def of(cls, run: JudgedRun) -> BaselineRun:
        """Take down a run."""
        table = in_stream_order(run.table)
        monitors = run.monitors[:-1]  # the last one is the perfect one
        return cls(
            name=run_name(run),
            workload=_name_and_digest(run.run, "workload", "hash"),
            classifier=classifier_noted(run.run),
            stream=StreamIdentity.of(table),
            wrong=table.should_cancel,
            bits={one.name: Bits.of(table.said[one.name]) for one in monitors if one.failure is None},
            unranked=tuple(one.name for one in monitors if not one.ranked),
            failures={one.name: one.failure for one in monitors if one.failure is not None},
            table=table,
        )

    @classmethod
    def from_record(cls, name: str, record: Mapping[str, Any]) -> BaselineRun:
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
                monitor: _bits(own, wrong, f"{name}: {monitor}")
                for monitor, own in record["monitors"].items()
            },
            unranked=tuple(record["unranked"]),
            failures=record["failed"],
        )

    @property
    def record(self) -> dict[str, Any]:
        """Return it as it is saved; what follows from other bits is left out."""
        return {
            "workload": dict(self.workload),
            "classifier": dict(self.classifier),
            "stream": self.stream.record,
            "unranked": list(self.unranked),
            "failed": dict(self.failures),
            "mistakes": to_lines(self.wrong),
            "monitors": {name: _lines(bits) for name, bits in self.bits.items()},
        }

    @property
    def ranked(self) -> list[str]:
        """Name the monitors that the run ranks and that did not fail."""
        return [name for name in self.bits if name not in self.unranked]

    @property
    def ids(self) -> list[str] | None:
        """The instances' names; a saved file has none."""
        return None if self.table is None else self.table.id

    def outcomes(self, monitor: str, task: str, is_ood: BoolArray) -> OutcomeCodes:
        """Return a monitor's outcomes of a task, judged by this run's own mistakes."""
        bits = self.bits[monitor]
        return outcomes(is_ood, bits.alarm) if task == "specific" else outcomes(self.wrong, bits.cancelled)

    def check_same_stream(self, run: JudgedRun) -> None:
        """Raise where a run watched another stream, so that its instances cannot be paired with these."""
        differs = self.stream.difference(StreamIdentity.of(run.table))
        if differs is None:
            return
        where = run.run.get("folder") or run_name(run)
        first = self._first_other(run.table)
        raise DataError(
            f"{where} is not on the stream of the baseline '{self.name}': {differs}{first}; a paired "
            "comparison needs the same stream: run the same experiment with the same seed, or save the "
            "baseline anew"
        )

    def _first_other(self, table: VerdictTable) -> str:
        """Say which instance is the first that differs, where the baseline knows its instances."""
        if self.table is None:
            return ""
        sides = (self.table, in_stream_order(table))
        instances = [
            zip(side.id, side.number(side.label).tolist(), faults_of(side), strict=True) for side in sides
        ]
        for place, (before, now) in enumerate(zip(*instances, strict=False)):
            if before != now:
                what = next(i for i in range(3) if before[i] != now[i])
                about = ("", f"'{now[0]}' with label ", f"'{now[0]}' with is_ood, fault and severity ")[what]
                return f" (first at place {place}: {about}'{now[what]}', in the baseline '{before[what]}')"
        shorter, longer = sorted((side.id for side in sides), key=len)
        return f" (first at place {len(shorter)}: '{longer[len(shorter)]}' on one side only)"

    def beside(self, run: JudgedRun) -> JudgedRun:
        """Return the baseline of a run on the run's instances, in the order of its table.

        Of a saved file, classes are made up: what is known is where decisions were right, so that scores and
        measures of several classes are beyond it.
        """
        self.check_same_stream(run)
        now = run.table
        place = np.argsort(np.argsort(now.position, kind="stable"), kind="stable")
        then = self._made_up(now, place) if self.table is None else self.table.take(place)
        notes = [
            {"name": name, "ranked": name not in self.unranked, "failure": self.failures.get(name)}
            for name in (*self.bits, *self.failures)
        ]
        about = {key: value for key, value in run.run.items() if key != "files"}  # which are the run's own
        then = replace(then, row=now.row, run=now.run, partition=now.partition)
        return JudgedRun({**about, "monitors": notes}, then)

    def _made_up(self, now: VerdictTable, place: IntArray) -> VerdictTable:
        """Return a table of the bits that were saved."""
        known = {name: getattr(now, name) for name in Truth.__dataclass_fields__}
        known["predicted"] = _class(now.label, ~self.wrong[place])
        known["classes"] = np.arange(max(len(now.classes), 2))
        verdicts = []
        for name, bits in self.bits.items():
            decision = np.where(bits.decided[place], _class(now.label, bits.right[place]), NO_ANSWER)
            verdicts.append(Verdicts(name, bits.alarm[place], bits.cancelled[place], decision))
        return VerdictTable.from_arrays(Truth(**known), verdicts)


def run_name(run: RunNotes) -> str:
    """Call a run by its cell's title in a campaign, or else by its experiment's name."""
    title = (run.run.get("cell") or {}).get("title")
    return str(title or run.run.get("name") or "unnamed")


def classifier_noted(run: Mapping[str, Any]) -> dict[str, str | None]:
    """Return what a run noted of its classifier: name, digest and, where it says it, what ran it."""
    engine = ((run.get("classifier") or {}).get("engine") or {}).get("name")
    return {**_name_and_digest(run, "classifier", "digest"), **({"engine": engine} if engine else {})}


def _name_and_digest(run: Mapping[str, Any], what: str, digest: str) -> dict[str, str | None]:
    noted = run.get(what) or {}
    return {key: None if noted.get(key) is None else str(noted[key]) for key in ("name", digest)}


def another_classifier(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Say how two notes of a classifier differ; nothing where they do not, or where one does not say."""
    sides = {key: {then.get(key), now.get(key)} for key in ("digest", "engine")}
    differ = [key for key, values in sides.items() if len(values) > 1 and None not in values]
    if "digest" in differ:
        return "the classifier is another one than the baseline's"
    if differ:
        return f"the classifier runs on the engine '{now['engine']}', in the baseline on '{then['engine']}'"
    return ""


def _class(label: IntArray, right: BoolArray) -> IntArray:
    """Return the label where that is right, and any other class elsewhere."""
    return np.where(right, label, np.where(label == 0, 1, 0))


def _lines(bits: Bits) -> dict[str, str]:
    lines = {"alarm": to_lines(bits.alarm)}
    if not np.array_equal(bits.cancelled, bits.alarm):
        lines["cancelled"] = to_lines(bits.cancelled)
    if not np.array_equal(bits.decided, ~bits.cancelled):
        lines["decided"] = to_lines(bits.decided)
        lines["right"] = to_lines(bits.right)
    return lines


def _bits(own: Mapping[str, str], wrong: BoolArray, where: str) -> Bits:
    def read(name: str, otherwise: BoolArray) -> BoolArray:
        return from_lines(own[name], len(wrong), f"{where}: {name}") if name in own else otherwise

    alarm = read("alarm", np.zeros_like(wrong))
    cancelled = read("cancelled", alarm)
    decided = read("decided", ~cancelled)
    return Bits(alarm, cancelled, decided, read("right", decided & ~wrong))
