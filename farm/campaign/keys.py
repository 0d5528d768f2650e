"""The id of a cell and the keys of its monitors: digests of all that makes them, and what changed of it.

Names of campaigns, descriptions and folders are in neither.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from farm.api import EAGER, JSON, ORDERS, Schedule, engine_versions
from farm.config.experiment import (
    CalibrationSpec,
    ComponentSpec,
    Experiment,
    FaultSpec,
    MonitorSpec,
    OrderSpec,
    ValidationFaultSpec,
)
from farm.registry import Kind
from farm.run.fallback import NAMES
from farm.run.faults import DRIFT
from farm.store.files import json_digest
from farm.store.identity import Identities
from farm.store.run_form import SCHEMA
from farm.store.timing import timed

SHOWN = 3
"""Changes, and files, that are named."""

MadeOf = Sequence[tuple[str, Mapping[str, Any]]]
"""By what it is of, such as `monitor 'knn'`: a digest of its `code`, its `packages`, and its `files`."""
LENGTH = 16
"""Hexadecimal digits of an id: 64 bits, for some thousands of cells in a folder."""


@dataclass(frozen=True)
class Keys:
    """What a cell is found by, and each of its monitors by its name."""

    cell: str
    monitors: Mapping[str, str]
    made_of: MadeOf = ()
    """What of all that makes them may change while a campaign runs."""
    looked: float = 0.0
    """When it was looked at, in seconds since 1970."""

    @property
    def target(self) -> str:
        """The name of the folder that holds just these monitors, in this order."""
        return f"{self.cell}-{json_digest(list(self.monitors.items()))[:LENGTH]}"


class KeyMaker:
    """Makes keys for one plan, in which the same components are named again and again."""

    def __init__(self, home: Path) -> None:
        self._looked = time.time()
        self.identities = Identities(home)
        """What was looked at for the keys so far."""
        self._made_of: list[tuple[str, Mapping[str, Any]]] = []
        testbed = self.identities.testbed
        self._testbed: dict[str, Any] = {
            "code": testbed.digest,
            "packages": dict(testbed.packages),
            "python": platform.python_version(),
        }

    @timed("keys")
    def keys(self, experiment: Experiment) -> Keys:
        """Return the keys of a cell and of its monitors."""
        self._made_of = []
        versions = {**self._testbed["packages"], "python": self._testbed["python"]}
        self._note("the testbed", {**self._testbed, "packages": versions})
        cell = json_digest(self._cell(experiment))[:LENGTH]
        monitors: dict[str, str] = {}
        for spec in experiment.monitors:
            identity = self._of("monitor", spec)
            made_of = [cell, identity, self._around(experiment, spec)]
            monitors[str(identity["name"])] = json_digest(made_of)[:LENGTH]
        return Keys(cell, monitors, tuple(self._made_of), self._looked)

    def changed_since(self, before: Keys, experiment: Experiment) -> str:
        """Say what of an experiment's keys is another than before; nothing where all are the same."""
        now = self.keys(experiment)
        if (now.cell, now.monitors) == (before.cell, before.monitors):
            return ""
        return changes(before.made_of, now.made_of, self.identities.written_since(before.looked))

    def changed_meanwhile(self, experiment: Experiment) -> str:
        """Say what is another now than at first; keys are made again only where a file was touched."""
        if self.identities.is_still_so():
            return ""
        return KeyMaker(self.identities.folder).changed_since(self.keys(experiment), experiment)

    def group(self, experiment: Experiment) -> str:
        """Say what cells share that a process keeps in memory: workload, classifier, outliers and seed."""
        shared = [self._of("workload", experiment.workload), self._of("model", experiment.classifier)]
        learned = self._validation_fault(experiment.validation_fault)
        return json_digest([*shared, *learned.values(), experiment.seed])[:LENGTH]

    def _cell(self, experiment: Experiment) -> dict[str, Any]:
        stream = experiment.stream
        return {
            "schema": SCHEMA,
            "testbed": self._testbed,
            "workload": self._of("workload", experiment.workload),
            "classifier": self._of("model", experiment.classifier),
            "engine": self._engine(experiment.classifier.engine or EAGER),
            "faultload": [self._fault(spec) for spec in experiment.faultload],
            **self._validation_fault(experiment.validation_fault),
            "order": stream.order.name if stream.order.name in ORDERS else self._of("schedule", stream.order),
            "intervals": [self._fault(spec) for spec in _named_in_intervals(stream.order)],
            "ood_share": stream.ood_share,
            "length": stream.length,
            "frame_rate": stream.frame_rate,
            "split": stream.split,
            "benchmark": None if stream.benchmark is None else self._benchmark(stream.benchmark),
            "seed": experiment.seed,
            "batch_size": experiment.batch_size,
            "threads": experiment.threads,
            "layers": experiment.layers,
            "readouts": experiment.readouts.model_dump(mode="json"),
            "pictures": experiment.pictures,
            "occlusion": experiment.occlusion and experiment.occlusion.model_dump(mode="json"),
        }

    def _engine(self, name: str) -> dict[str, JSON]:
        """Return which engine is asked for, and the versions by which `auto` chooses."""
        versions = engine_versions(name)
        self._note(f"the engine '{name}'", {"packages": versions})
        return {"name": name, "versions": dict(versions)}

    def _around(self, experiment: Experiment, spec: MonitorSpec) -> dict[str, Any]:
        """Return what stands around a monitor: its calibration, its policy and its fallback."""
        calibration: CalibrationSpec = spec.calibration or experiment.calibration
        fallback = spec.fallback or experiment.fallback
        return {
            "calibration": calibration.model_dump(mode="json"),
            "policy": self._of("policy", spec.policy or experiment.policy),
            "fallback": fallback.name if fallback.name in NAMES else self._of("model", fallback),
        }

    def _fault(self, spec: FaultSpec) -> dict[str, Any]:
        return {
            "fault": self._of("faultload", spec),
            "severity": spec.severity,
            "share": spec.share,
            "both": spec.both,
            "coherence": spec.coherence,
            "drift": spec.drift or DRIFT,
        }

    def _validation_fault(self, spec: ValidationFaultSpec | None) -> dict[str, JSON]:
        """Say what outliers are learned from; where there are none, keys are as they always were."""
        if spec is None:
            return {}
        return {"validation_fault": {"fault": self._of("faultload", spec), "severity": spec.severity}}

    def _benchmark(self, where: str) -> JSON:
        identity = self.identities.benchmark(where)
        self._note("the stream", {"files": {where: identity["content"]}})
        return identity

    def _of(self, kind: Kind, spec: ComponentSpec) -> dict[str, JSON]:
        identity = self.identities.component(kind, spec.name, spec.alias, spec.parameters)
        self._note(f"{kind} '{identity['name']}'", identity)
        return identity

    def _note(self, of: str, identity: Mapping[str, Any]) -> None:
        """Keep of an identity what may change under the same experiment."""
        part = of, {key: identity.get(key) or {} for key in ("code", "packages", "files")}
        if part not in self._made_of:
            self._made_of.append(part)


def _named_in_intervals(order: OrderSpec) -> list[FaultSpec]:
    """Return the faults that a schedule's intervals name themselves."""
    if order.name in ORDERS:
        return []
    schedule = cast(Schedule, order.make("schedule"))
    return [FaultSpec.model_validate(one) for interval in schedule.intervals for one in interval.faults]


def changes(before: MadeOf, now: MadeOf, written: Sequence[Path]) -> str:
    """Say what changed; `written` are the files among them that were written since.

    Examples
    --------
    >>> was, now = ({"code": digest, "packages": {}, "files": {}} for digest in ("0a", "0b"))
    >>> changes([("monitor 'doubt'", was)], [("monitor 'doubt'", now)], [Path("/home/me/doubt.py")])
    "the code of monitor 'doubt' changed while the campaign ran (written meanwhile: /home/me/doubt.py)"
    """
    differences = list(dict.fromkeys(_differences(before, now))) or ["what makes the cell"]
    files = f" (written meanwhile: {_some([str(path) for path in written], ', ')})" if written else ""
    return f"{_some(differences, '; ')} changed while the campaign ran{files}"


def _differences(before: MadeOf, now: MadeOf) -> Iterator[str]:
    for (of, was), (_, is_) in zip(before, now, strict=False):
        if was.get("code") != is_.get("code"):
            yield f"the code of {of}"
        for name, versions in _differing(was, is_, "packages"):
            yield f"the package {name} of {of} ({', then '.join(one or 'not used' for one in versions)})"
        for name, _ in _differing(was, is_, "files"):
            yield f"'{name.removeprefix('beside: ')}' of {of}"


def _differing(was: Mapping[str, Any], is_: Mapping[str, Any], key: str) -> Iterator[tuple[str, list[Any]]]:
    both = [identity.get(key) or {} for identity in (was, is_)]
    for name in dict.fromkeys([*both[0], *both[1]]):
        if both[0].get(name) != both[1].get(name):
            yield name, [one.get(name) for one in both]


def _some(texts: Sequence[str], between: str) -> str:
    more = f" and {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
    return between.join(texts[:SHOWN]) + more
