"""Finding mistakes in a campaign before anything is computed: whatever its experiments name is made once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import cast

from pydantic import BaseModel

from farm.api import Context, ModelSource
from farm.by_name import make_fallback, make_fault, make_monitor, make_order
from farm.config import CalibrationSpec, ComponentSpec, Experiment, FaultSpec, MonitorSpec, OrderSpec
from farm.errors import UserError

Check = tuple[Callable[..., None], tuple[BaseModel, ...]]
"""What raises where there is a mistake in parts of an experiment, and these parts."""


def check_components(experiments: Iterable[Experiment], home: Path) -> None:
    """Make each component that some of these experiments name; tell all mistakes at once."""
    checks = {
        (function.__name__, *(part.model_dump_json(by_alias=True) for part in parts)): (function, parts)
        for experiment in experiments
        for function, parts in _checks(experiment)
    }
    if not checks:
        return
    from farm.experiment import importable  # not before: a finished campaign has no need of it

    mistakes: list[UserError] = []
    with importable(home):
        for function, parts in checks.values():
            try:
                function(Context(folder=home), *parts)
            except UserError as error:
                mistakes.append(error)
    if mistakes:
        raise type(mistakes[0])("; ".join(dict.fromkeys(str(mistake) for mistake in mistakes)))


def _checks(experiment: Experiment) -> Iterator[Check]:
    classifier = experiment.classifier
    yield _workload, (experiment.workload,)
    yield _classifier, (classifier,)
    yield _policy, (experiment.policy,)
    yield _fallback, (experiment.fallback, classifier)
    yield _order, (experiment.stream.order,)
    for fault in experiment.faultload:
        yield _fault, (fault,)
    for monitor in experiment.monitors:
        yield _monitor, (monitor, experiment.calibration)
        if monitor.policy:
            yield _policy, (monitor.policy,)
        if monitor.fallback:
            yield _fallback, (monitor.fallback, classifier)


def _workload(_: Context, spec: ComponentSpec) -> None:
    spec.make("workload")


def _classifier(context: Context, spec: ComponentSpec) -> None:
    cast(ModelSource, spec.make("model")).check(context)


def _policy(_: Context, spec: ComponentSpec) -> None:
    spec.make("policy")


def _fallback(context: Context, spec: ComponentSpec, classifier: ComponentSpec) -> None:
    source = make_fallback(spec, cast(ModelSource, classifier.make("model")))
    if isinstance(source, ModelSource):
        source.check(context)


def _order(_: Context, spec: OrderSpec) -> None:
    make_order(spec)


def _fault(_: Context, spec: FaultSpec) -> None:
    make_fault(spec)


def _monitor(_: Context, spec: MonitorSpec, default: CalibrationSpec) -> None:
    make_monitor(spec, default.rule())
