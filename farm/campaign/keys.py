"""The id of a cell and the keys of its monitors: digests of everything that makes them.

Names of campaigns, descriptions and folders are in neither.
"""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farm.api import JSON, ORDERS
from farm.campaign.changes import MadeOf
from farm.config import CalibrationSpec, ComponentSpec, Experiment, MonitorSpec
from farm.fallback import NAMES
from farm.files import json_digest
from farm.identity import Identities, testbed_digest
from farm.readouts import SCHEMA
from farm.registry import Kind

LENGTH = 16
"""Hexadecimal digits of an id: 64 bits, for some thousands of cells in a folder."""


@dataclass(frozen=True)
class Keys:
    """What a cell is found by, and each of its monitors by its name."""

    cell: str
    monitors: dict[str, str]
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
        self._looked, self._identities = time.time(), Identities(home)
        self._made_of: list[tuple[str, dict[str, JSON]]] = []
        testbed = testbed_digest()
        self._testbed: dict[str, Any] = {
            "code": testbed.digest,
            "packages": dict(testbed.packages),
            "python": platform.python_version(),
        }

    def keys(self, experiment: Experiment) -> Keys:
        """Give the keys of a cell and of its monitors."""
        versions = {**self._testbed["packages"], "python": self._testbed["python"]}
        self._made_of = [("the testbed", {**self._testbed, "packages": versions})]
        cell = json_digest(self._cell(experiment))[:LENGTH]
        monitors: dict[str, str] = {}
        for spec in experiment.monitors:
            identity = self._of("monitor", spec)
            made_of = [cell, identity, self._around(experiment, spec)]
            monitors[str(identity["name"])] = json_digest(made_of)[:LENGTH]
        return Keys(cell, monitors, tuple(self._made_of), self._looked)

    @property
    def identities(self) -> Identities:
        """What was looked at for the keys so far."""
        return self._identities

    def written_since(self, when: float) -> list[Path]:
        """Give the files of what keys were made for that were written after a time."""
        return self._identities.written_since(when)

    def group(self, experiment: Experiment) -> str:
        """Say what cells share that a process keeps in memory: workload, classifier and seed."""
        shared = [self._of("workload", experiment.workload), self._of("model", experiment.classifier)]
        return json_digest([*shared, experiment.seed])[:LENGTH]

    def _cell(self, experiment: Experiment) -> dict[str, Any]:
        stream = experiment.stream
        return {
            "schema": SCHEMA,
            "testbed": self._testbed,
            "workload": self._of("workload", experiment.workload),
            "classifier": self._of("model", experiment.classifier),
            "faultload": [
                {
                    "fault": self._of("faultload", spec),
                    "severity": spec.severity,
                    "share": spec.share,
                    "both": spec.both,
                }
                for spec in experiment.faultload
            ],
            "order": self._order(stream.order),
            "ood_share": stream.ood_share,
            "length": stream.length,
            "benchmark": self._benchmark(stream.benchmark),
            "seed": experiment.seed,
            "batch_size": experiment.batch_size,
            "threads": experiment.threads,
            "layers": experiment.layers,
        }

    def _around(self, experiment: Experiment, spec: MonitorSpec) -> dict[str, Any]:
        """Give what stands around a monitor: its calibration, its policy and its fallback."""
        calibration: CalibrationSpec = spec.calibration or experiment.calibration
        fallback = spec.fallback or experiment.fallback
        return {
            "calibration": calibration.model_dump(mode="json"),
            "policy": self._of("policy", spec.policy or experiment.policy),
            "fallback": fallback.name if fallback.name in NAMES else self._of("model", fallback),
        }

    def _order(self, spec: ComponentSpec) -> JSON:
        return spec.name if spec.name in ORDERS else self._of("schedule", spec)

    def _benchmark(self, where: str | None) -> JSON:
        if where is None:
            return None
        identity = self._identities.benchmark(where)
        self._made_of.append(("the stream", {"files": {where: identity["content"]}}))
        return identity

    def _of(self, kind: Kind, spec: ComponentSpec) -> dict[str, JSON]:
        identity = self._identities.component(kind, spec.name, spec.alias, spec.parameters)
        if (part := (f"{kind} '{identity['name']}'", identity)) not in self._made_of:
            self._made_of.append(part)
        return identity
