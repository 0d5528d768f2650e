"""A judged run written down as records, however it was judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol, TypeAlias

from farm.records.fields import Fields, plain
from farm.records.notes import Noted
from farm.records.parts import Group, Part

Record: TypeAlias = dict[str, Any]


class Judged(Protocol):
    """What a run must be able to tell, part by part."""

    @property
    def parts(self) -> Sequence[Part]:
        """What is to be told of, in the records' order."""

    @property
    def monitors(self) -> Sequence[Noted]:
        """In the order of the run; the oracle is the last."""

    def size(self, part: Part) -> Fields:
        """Say how many instances a part has, and what share of them is OOD."""

    def measure(self, monitor: Noted, part: Part) -> Fields:
        """Give everything that was measured; what is undefined as a `Measure` with its reason."""


def records(judged: Judged, run: Mapping[str, Any]) -> list[Record]:
    """Write one record for each part and monitor."""
    return [
        {
            "run": run.get("folder"),
            "workload": _name(run, "workload"),
            "classifier": _name(run, "classifier"),
            **_group(part.group),
            "part": part.name,
            "monitor": monitor.name,
            "ranked": monitor.ranked,
            "policy": monitor.policy,
            "fallback": monitor.fallback,
            **judged.size(part),
            **plain(judged.measure(monitor, part)),
            "failure": monitor.failure,
        }
        for part in judged.parts
        for monitor in judged.monitors
    ]


def _group(group: Group) -> Record:
    ends = group.severity_range
    return asdict(group) | {"severity_range": None if ends is None else list(ends)}


def _name(run: Mapping[str, Any], what: str) -> str | None:
    name = (run.get(what) or {}).get("name")
    return None if name is None else str(name)
