"""From a typed experiment to readouts: the steps of the testbed, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from farm.api import (
    VALIDATION_FAULT,
    Cache,
    Classifier,
    Component,
    FloatArray,
    FunctionClassifier,
    Images,
    ModelSource,
    Monitor,
    Needs,
    Policy,
    Progress,
    Schedule,
    Stream,
    Workload,
    plain_name,
)
from farm.config.experiment import NO_PICTURES, Experiment, resolved
from farm.errors import RequirementError
from farm.run.benchmark_set import StoredStream
from farm.run.builder import Components, build
from farm.run.fallback import Fallback, unfit_second
from farm.run.loading import importable
from farm.run.needs import Given, check_some_run, unmet
from farm.run.outliers import check_rules, inner
from farm.run.shared import CallObserver, Recent
from farm.run.testbed import Testbed
from farm.store import provenance
from farm.store.occlusion import positions
from farm.store.readouts import Readouts


@dataclass(frozen=True)
class Assembled:
    """An experiment that is ready to stream."""

    experiment: Experiment
    bed: Testbed
    workload: Workload
    classifier: Classifier
    monitors: Sequence[Monitor]
    policies: Mapping[str, Policy]
    fallbacks: Mapping[str, Fallback]
    stream: Stream
    failures: Mapping[str, str]
    layers: Sequence[str]
    """Those that readouts keep."""
    record: Mapping[str, Any]

    def run(self) -> Readouts:
        """Run the stream, and return the readouts."""
        return self.bed.run(
            self.stream,
            self.classifier,
            self.monitors,
            self.workload,
            batch_size=self.experiment.batch_size,
            layers=self.layers,
            probabilities=self.experiment.readouts.probabilities,
            policies=self.policies,
            fallbacks=self.fallbacks,
            failures=self.failures,
            record=self.record,
            pictures=None if self.experiment.pictures == NO_PICTURES else self.experiment.pictures,
            occlusion=self.experiment.occlusion,
        )


def run_experiment(
    experiment: Experiment,
    folder: Path,
    *,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> Readouts:
    """Run one experiment; `folder` is where its relative paths and the user's own modules are looked for."""
    with importable(folder):
        return assemble(experiment, folder, cache=cache, progress=progress).run()


def assemble(
    experiment: Experiment,
    folder: Path,
    *,
    cache: Cache | None = None,
    progress: Progress | None = None,
    kept: Recent | None = None,
    watch: CallObserver | None = None,
    excluded: Mapping[str, str] | None = None,
) -> Assembled:
    """Make everything up to the fitted monitors and the stream; call it within `importable`.

    Every component is made before anything is computed, so that a mistake costs no time. A monitor that lacks
    what it needs counts as failed, and the others run. `excluded` are a campaign's monitors that must not
    run, and why. Where it is given, one whose fallback cannot be made counts as failed too, and none may be
    left to run; otherwise these are mistakes of the whole experiment. `kept` remembers what earlier
    experiments made, and `watch` is told which monitor is at work.
    """
    bed = Testbed(
        experiment.seed,
        threads=experiment.threads,
        folder=folder,
        cache=cache,
        progress=progress,
        kept=kept,
        watch=watch,
    )
    # For a campaign, models looked for their files before the first cell.
    components = build(experiment, bed.context if excluded is None else None)
    planned = components.monitors
    monitors = [one.monitor for one in planned]
    record = {
        "name": experiment.name,
        "experiment": _resolved(experiment, components),
        "experiment_commit": provenance.git_commit(folder),
        "home": str(folder.resolve()),
    }
    learns_from = components.validation_fault
    if excluded is None:  # before anything is trained
        check_some_run(monitors, unmet(monitors, given=Given(outliers=learns_from is not None)))
    workload = bed.workload(components.workload)
    if experiment.occlusion is not None:
        positions(workload.shape[1:], experiment.occlusion)
    taught = workload if learns_from is None else inner(workload, experiment.seed)
    classifier = bed.classifier(components.classifier, taught)
    given = bed.given(classifier, learns_from is not None)
    wanted = [monitor for monitor in monitors if monitor.name not in (excluded or {})]
    left_out = unmet(wanted, classifier, given)
    layers, missing = layers_there(experiment, classifier)
    if missing:
        record["missing_layers"] = missing
    if excluded is None:
        check_some_run(monitors, left_out)
    stream = stream_of(experiment, components, bed, workload, classifier)
    unfit: dict[str, str] | None = None if excluded is None else {}
    fallbacks = bed.fallbacks({one.name: one.fallback for one in planned}, taught, unfit)
    if unfit is not None:
        unfit |= unfit_second(fallbacks, classifier)
    left_out = {**(unfit or {}), **left_out, **(excluded or {})}
    for reason in left_out.values():
        bed.progress.note(reason)
    fitted = [monitor for monitor in monitors if monitor.name not in left_out]
    # After the stream: attacks look at the network as it is, so that no fault depends on the engine.
    # It has the layers of all monitors, also of those that a campaign leaves out, or the last bits of the
    # others would hang on who is.
    plain = classifier
    if engine := experiment.classifier.engine:
        lacking = unmet(monitors, classifier, given)
        watching = [monitor for monitor in monitors if monitor.name not in lacking]
        classifier = bed.on_engine(classifier, workload, watching, engine=engine, layers=layers)
    rules = {one.name: one.calibration for one in planned}
    check_rules(rules, learns_from is not None, workload.validation.conditions)
    outliers = None
    if learns_from is not None:
        outliers = bed.outliers(learns_from, workload, plain)
        stream.guard_against(outliers.every, f"validation_fault '{learns_from.rule.name}'")
        learning = [
            name for name, rule in rules.items() if rule.method == VALIDATION_FAULT
        ]  # a monitor that itself needs outliers says so
        record["validation_fault"] = {**outliers.record(), "monitors": learning}
    return Assembled(
        experiment=experiment,
        bed=bed,
        workload=workload,
        classifier=classifier,
        monitors=monitors,
        policies={one.name: one.policy for one in planned},
        fallbacks={name: one for name, one in fallbacks.items() if name not in (unfit or {})},
        stream=stream,
        failures=left_out | bed.fit_all(fitted, classifier, workload, rules, outliers),
        layers=layers,
        record=record,
    )


def layers_there(experiment: Experiment, classifier: Classifier) -> tuple[list[str], dict[str, str]]:
    """Return the layers that readouts keep, and why others are not there; raise where one has to be."""
    there: list[str] = []
    missing: dict[str, str] = {}
    for layer, needed in experiment.observed_layers.items():
        try:
            classifier.resolve(Needs(layers=(plain_name(layer),)), "the key 'layers'")
        except RequirementError as error:
            if needed:
                raise
            missing[layer] = str(error)
        else:
            there.append(layer)
    return there, missing


def _resolved(experiment: Experiment, components: Components) -> dict[str, Any]:
    """Return the experiment as JSON with every component's parameters filled in."""
    planned = components.monitors
    made: dict[str, Sequence[Component]] = {
        "workload": [components.workload],
        "classifier": [components.classifier],
        "faultload": [fault.rule for fault in components.faults],
        "monitors": [one.monitor for one in planned],
        "policy": [components.policy],
    }
    if isinstance(components.fallback, ModelSource):
        made["fallback"] = [components.fallback]
    second = [one.fallback if isinstance(one.fallback, ModelSource) else None for one in planned]
    return resolved(experiment, made, {"policy": [one.policy for one in planned], "fallback": second})


def assemble_stream(
    experiment: Experiment, folder: Path, *, progress: Progress | None = None
) -> tuple[Stream, Workload, Classifier | None]:
    """Make an experiment's stream alone; give it, its workload, and the classifier if a fault looked at it.

    Where none does, none is trained.
    """
    components = build(experiment)
    bed = Testbed(experiment.seed, threads=experiment.threads, folder=folder, progress=progress)
    workload = bed.workload(components.workload)
    if not any(fault.rule.uses_classifier for fault in components.faults):
        absent = NoClassifier(workload)
        stream = stream_of(experiment, components, bed, workload, absent)
        if not absent.asked:
            return stream, workload, None
    classifier = bed.classifier(components.classifier, workload)
    return stream_of(experiment, components, bed, workload, classifier), workload, classifier


class NoClassifier(FunctionClassifier):
    """Stands in where no fault looks at the classifier; an attack says that it needs a real one."""

    def __init__(self, workload: Workload) -> None:
        super().__init__(self._any_class, workload.classes, name="none")
        self.asked = False

    def _any_class(self, images: Images) -> FloatArray:
        self.asked = True
        return np.full((len(images), len(self.classes)), 1 / len(self.classes))


def stream_of(
    experiment: Experiment, components: Components, bed: Testbed, workload: Workload, classifier: Classifier
) -> Stream:
    """Return the stream that an experiment asks for."""
    asked = experiment.stream
    if asked.benchmark:
        return StoredStream(bed.context.find(asked.benchmark, "stream.benchmark"))
    length = None if asked.length == "endless" else asked.length
    if length is None and asked.length is None and isinstance(components.order, Schedule):
        length = components.order.length or len(workload.test)
    return bed.stream(
        workload,
        classifier,
        components.faults,
        order=components.order,
        ood_share=asked.ood_share,
        length=length,
        frame_rate=asked.frame_rate,
        split=asked.split,
    )
