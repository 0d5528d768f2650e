"""Finding mistakes in a campaign before anything is computed: every component is made once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from farm.api import ORDERS
from farm.config import ComponentSpec, Experiment, FaultSpec
from farm.errors import UserError
from farm.fallback import NAMES
from farm.registry import Kind


def check_components(experiments: Iterable[Experiment], home: Path) -> None:
    """Make each component that some of these experiments name; tell all mistakes at once."""
    from farm.experiment import importable  # not before: it brings torch along

    seen: set[str] = set()
    mistakes: list[UserError] = []
    with importable(home):
        for experiment in experiments:
            for kind, spec in _components(experiment):
                known = json.dumps([kind, spec.name, spec.alias, spec.parameters], sort_keys=True)
                severity = spec.severity if isinstance(spec, FaultSpec) else None
                known += f" {severity}"
                if known in seen:
                    continue
                seen.add(known)
                try:
                    made = spec.make(kind)
                    if kind == "faultload":
                        made.check_severity(severity)  # type: ignore[attr-defined]
                except UserError as error:
                    mistakes.append(error)
    if mistakes:
        raise type(mistakes[0])("; ".join(dict.fromkeys(str(mistake) for mistake in mistakes)))


def _components(experiment: Experiment) -> Iterator[tuple[Kind, ComponentSpec]]:
    yield "workload", experiment.workload
    yield "model", experiment.classifier
    yield "policy", experiment.policy
    if experiment.fallback.name not in NAMES:
        yield "model", experiment.fallback
    if experiment.stream.order.name not in ORDERS:
        yield "schedule", experiment.stream.order
    for fault in experiment.faultload:
        yield "faultload", fault
    for monitor in experiment.monitors:
        yield "monitor", monitor
        if monitor.policy:
            yield "policy", monitor.policy
        if monitor.fallback and monitor.fallback.name not in NAMES:
            yield "model", monitor.fallback
