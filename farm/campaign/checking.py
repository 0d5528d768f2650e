"""Finding mistakes in a campaign before anything is computed: every component is made once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from farm.api import ORDERS, Faultload
from farm.config import ComponentSpec, Experiment, FaultSpec
from farm.errors import UserError
from farm.fallback import NAMES
from farm.registry import Kind


def check_components(experiments: Iterable[Experiment], home: Path) -> None:
    """Make each component that some of these experiments name; tell all mistakes at once."""
    named = {
        f"{kind} {spec.model_dump_json(by_alias=True)}": (kind, spec)
        for experiment in experiments
        for kind, spec in _components(experiment)
    }
    if not named:
        return
    from farm.experiment import importable  # not before: a finished campaign has no need of it

    mistakes: list[UserError] = []
    with importable(home):
        for kind, spec in named.values():
            try:
                made = spec.make(kind)
                if isinstance(made, Faultload) and isinstance(spec, FaultSpec):
                    made.check_severity(spec.severity)
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
