"""From an experiment to a guard: the part of its steps that comes before the stream."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from farm import registry
from farm.api import AUTO, Cache, Component, ModelSource, Progress
from farm.config.experiment import Experiment, MonitorSpec, resolved
from farm.errors import ComponentFailure, ExperimentError, suggestion
from farm.guard.guard import Guard
from farm.guard.own_code import OwnCode, needed_files
from farm.run.builder import build
from farm.run.fallback import SecondClassifier, check_second
from farm.run.loading import importable, load_experiment
from farm.run.outliers import check_rules, inner
from farm.run.testbed import Testbed
from farm.store import provenance


def fit_guard(
    experiment: Experiment | str | Path,
    folder: Path,
    monitor: str | None,
    overrides: Sequence[str],
    cache: Cache | None,
    progress: Progress | None,
    engine: str | None = None,
) -> Guard:
    """Fit the classifier and one monitor of an experiment; no faultload is made, and no stream.

    Every component is made before anything is computed, so that a mistake costs no time.
    """
    if isinstance(experiment, str | Path):
        experiment, folder = load_experiment(str(experiment), overrides)
    spec = chosen(experiment, monitor)
    bed = Testbed(experiment.seed, threads=experiment.threads, folder=folder, cache=cache, progress=progress)
    with importable(folder):
        return _fit(experiment, spec, folder, bed, engine or experiment.classifier.engine or AUTO)


def chosen(experiment: Experiment, monitor: str | None) -> MonitorSpec:
    """Return the monitor of this name, or the only one."""
    specs = {spec.alias or spec.name: spec for spec in experiment.monitors}
    if monitor is None:
        if len(specs) > 1:
            raise ExperimentError(
                f"experiment '{experiment.name}' has {len(specs)} monitors ({', '.join(specs)}); choose one "
                "with --monitor NAME"
            )
        return next(iter(specs.values()))
    for name in (monitor, registry.canonical("monitor", monitor)):
        if name in specs:
            return specs[name]
    raise ExperimentError(
        f"experiment '{experiment.name}' has no monitor '{monitor}'; {suggestion(monitor, specs)}"
    )


def _fit(experiment: Experiment, spec: MonitorSpec, folder: Path, bed: Testbed, engine: str) -> Guard:
    components = build(experiment.model_copy(update={"faultload": [], "monitors": [spec]}))
    source, model = components.workload, components.classifier
    (planned,) = components.monitors
    monitor, policy, second = planned.monitor, planned.policy, planned.fallback
    made: dict[str, Sequence[Component]] = {"workload": [source], "classifier": [model]}
    record = resolved(experiment, made)
    workload = bed.workload(source)
    learns_from = components.validation_fault
    rules = {monitor.name: planned.calibration}
    check_rules(rules, learns_from is not None, workload.validation.conditions)
    taught = workload if learns_from is None else inner(workload, experiment.seed)
    classifier = bed.classifier(model, taught)
    outliers = None if learns_from is None else bed.outliers(learns_from, workload, classifier)
    fallback = bed.fallbacks({monitor.name: second}, taught)[monitor.name]
    # Their recipes by the names they are found by, where the experiment calls them otherwise.
    classifier.recipe = {**model.parameters, "name": experiment.classifier.name}
    if isinstance(fallback, SecondClassifier) and isinstance(second, ModelSource):
        name = (spec.fallback or experiment.fallback).name
        fallback.classifier.recipe = {**second.parameters, "name": name}
        check_second(fallback.classifier, classifier, f"fallback '{name}'")
    classifier = bed.on_engine(classifier, workload, [monitor], engine=engine)
    if failures := bed.fit_all([monitor], classifier, workload, rules, outliers):
        raise ComponentFailure("; ".join(failures.values()))
    parts = [classifier.recipe, fallback.record(), spec.model_dump(), policy.parameters, monitor.parameters]
    files = needed_files([*parts, experiment.policy.name, experiment.fallback.name], folder)
    return Guard(
        classifier,
        monitor,
        shape=workload.shape,
        policy=policy,
        fallback=fallback,
        threads=experiment.threads,
        provenance={
            "workload": {
                "name": workload.name,
                "recipe": dict(workload.recipe),
                "hash": workload.content_hash,
                "sizes": {split.name: len(split) for split in workload.splits},
            },
            "experiment": record,
            "experiment_commit": provenance.git_commit(folder),
            "testbed_commit": provenance.git_commit(registry.HOME),
            "notes": monitor.all_notes(),
            **({} if outliers is None else {"validation_fault": outliers.record()}),
        },
        code=OwnCode(folder.resolve(), files).keep(),
    )
