"""From a typed experiment to readouts: the steps of the testbed, in order."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from farm import provenance
from farm.api import (
    ORDERS,
    Cache,
    Classifier,
    Component,
    Faultload,
    ModelSource,
    Monitor,
    Needs,
    Policy,
    Progress,
    Stream,
    Workload,
    WorkloadSource,
)
from farm.benchmark_set import StoredStream
from farm.by_name import make_fallback, make_fault, make_monitor, make_order
from farm.config import Experiment, resolved
from farm.errors import UserError, one_line
from farm.fallback import Fallback, unfit_second
from farm.fitting import check_needs
from farm.kept import Kept
from farm.readouts import Readouts
from farm.testbed import Testbed
from farm.watch import Watch


@dataclass(frozen=True)
class Assembled:
    """An experiment that is ready to stream."""

    bed: Testbed
    workload: Workload
    classifier: Classifier
    monitors: Sequence[Monitor]
    policies: Mapping[str, Policy]
    fallbacks: Mapping[str, Fallback]
    stream: Stream
    failures: Mapping[str, str]
    record: Mapping[str, Any]


def run_experiment(
    experiment: Experiment,
    folder: Path,
    *,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> Readouts:
    """Run one experiment; `folder` is where its relative paths and the user's own modules are looked for."""
    with importable(folder):
        return run_assembled(assemble(experiment, folder, cache=cache, progress=progress), experiment)


def run_assembled(ready: Assembled, experiment: Experiment) -> Readouts:
    """Run what was assembled of an experiment."""
    return ready.bed.run(
        ready.stream,
        ready.classifier,
        ready.monitors,
        ready.workload,
        batch_size=experiment.batch_size,
        layers=experiment.layers,
        policies=ready.policies,
        fallbacks=ready.fallbacks,
        failures=ready.failures,
        record=ready.record,
    )


def assemble(
    experiment: Experiment,
    folder: Path,
    *,
    cache: Cache | None = None,
    progress: Progress | None = None,
    kept: Kept | None = None,
    watch: Watch | None = None,
    excluded: Mapping[str, str] | None = None,
) -> Assembled:
    """Make everything up to the fitted monitors and the stream; call it within `importable`.

    Every component is made before anything is computed, so that a mistake costs no time. `excluded` are
    monitors that must not run, and why: they count as failed. Where it is given, so does one that lacks what
    it needs, or whose fallback cannot be made, which otherwise is a mistake of the whole experiment. `kept`
    remembers what earlier experiments made, and `watch` is told which monitor is at work.
    """
    source, model = _sources(experiment)
    default = experiment.calibration.rule()
    made_monitors = [make_monitor(spec, default) for spec in experiment.monitors]
    monitors = [monitor for monitor, _ in made_monitors]
    rules = {monitor.name: rule for monitor, rule in made_monitors}
    faultloads = _faultloads(experiment)
    make_order(experiment.stream.order)
    policies = [
        cast(Policy, (spec.policy or experiment.policy).make("policy")) for spec in experiment.monitors
    ]
    default_fallback = make_fallback(experiment.fallback, model)
    fallbacks = [
        default_fallback if spec.fallback is None else make_fallback(spec.fallback, model)
        for spec in experiment.monitors
    ]
    made: dict[str, Sequence[Component]] = {
        "workload": [source],
        "classifier": [model],
        "faultload": faultloads,
        "monitors": monitors,
        "policy": [experiment.policy.make("policy")],
    }
    if isinstance(default_fallback, ModelSource):
        made["fallback"] = [default_fallback]
    second = [one if isinstance(one, ModelSource) else None for one in fallbacks]
    record = {
        "name": experiment.name,
        "experiment": resolved(experiment, made, {"policy": policies, "fallback": second}),
        "experiment_commit": provenance.git_commit(folder),
        "home": str(folder.resolve()),
    }
    bed = Testbed(
        experiment.seed,
        threads=experiment.threads,
        folder=folder,
        cache=cache,
        progress=progress,
        kept=kept,
        watch=watch,
    )
    if excluded is None:  # for a campaign it was done before the first cell
        for one in (model, *filter(None, second)):
            one.check(bed.context)
    workload = bed.workload(source)
    classifier = bed.classifier(model, workload)
    left_out = dict(excluded or {})
    if excluded is None:
        check_needs(monitors, classifier)
    else:
        left_out |= _unmet([monitor for monitor in monitors if monitor.name not in left_out], classifier)
    classifier.resolve(Needs(layers=tuple(experiment.layers)), "the key 'layers'")
    stream = _stream(experiment, bed, workload, classifier)
    names = [monitor.name for monitor in monitors]
    unfit: dict[str, str] = {}
    in_place = bed.fallbacks(
        dict(zip(names, fallbacks, strict=True)), workload, None if excluded is None else unfit
    )
    if excluded is not None:
        unfit |= unfit_second(in_place, classifier)
        left_out = unfit | left_out
    fitted = [monitor for monitor in monitors if monitor.name not in left_out]
    return Assembled(
        bed=bed,
        workload=workload,
        classifier=classifier,
        monitors=monitors,
        policies=dict(zip(names, policies, strict=True)),
        fallbacks={name: one for name, one in in_place.items() if name not in unfit},
        stream=stream,
        failures=left_out | bed.fit_all(fitted, classifier, workload, rules),
        record=record,
    )


def _unmet(monitors: Sequence[Monitor], classifier: Classifier) -> dict[str, str]:
    """Say which monitors lack what they need, and what."""
    unmet: dict[str, str] = {}
    for monitor in monitors:
        try:
            check_needs([monitor], classifier)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - what it needs is told by its own code
            why = one_line(error)
            unmet[monitor.name] = why if f"'{monitor.name}'" in why else f"monitor '{monitor.name}': {why}"
    return unmet


def assemble_stream(
    experiment: Experiment, folder: Path, *, progress: Progress | None = None
) -> tuple[Stream, Workload]:
    """Make an experiment's stream alone, and the workload it is drawn from."""
    source, model = _sources(experiment)
    bed = Testbed(experiment.seed, threads=experiment.threads, folder=folder, progress=progress)
    workload = bed.workload(source)
    return _stream(experiment, bed, workload, bed.classifier(model, workload)), workload


def _sources(experiment: Experiment) -> tuple[WorkloadSource, ModelSource]:
    workload, model = experiment.workload.make("workload"), experiment.classifier.make("model")
    return cast(WorkloadSource, workload), cast(ModelSource, model)


def _faultloads(experiment: Experiment) -> list[Faultload]:
    """Make all faultloads; tell all mistakes at once."""
    made, mistakes = [], []
    for spec in experiment.faultload:
        try:
            made.append(make_fault(spec))
        except UserError as error:
            mistakes.append(error)
    if mistakes:
        raise type(mistakes[0])("; ".join(str(mistake) for mistake in mistakes))
    return made


def _stream(experiment: Experiment, bed: Testbed, workload: Workload, classifier: Classifier) -> Stream:
    asked = experiment.stream
    if asked.benchmark:
        return StoredStream(bed.context.find(asked.benchmark, "stream.benchmark"))
    length = None if asked.length == "endless" else asked.length
    if length is None and asked.length is None and asked.order.name not in ORDERS:
        length = len(workload.test)  # one pass over the test data, unless told otherwise
    return bed.stream(
        workload,
        classifier,
        experiment.faultload,
        order=asked.order,
        ood_share=asked.ood_share,
        length=length,
    )


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Let an experiment name the user's own modules beside its file, after everything installed.

    They are forgotten afterwards: another experiment may have another module of the same name.
    """
    folder = folder.resolve()
    sys.path.append(str(folder))
    before = set(sys.modules)
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        # A package goes with all its parts, which lie where its `__init__.py` does.
        new = set(sys.modules) - before
        own = {name for name in new if "." not in name and _lies_in(folder, sys.modules[name])}
        for name in new:
            if name.partition(".")[0] in own:
                del sys.modules[name]


def _lies_in(folder: Path, module: ModuleType) -> bool:
    file = Path(str(getattr(module, "__file__", None) or "/")).resolve()
    return folder == (file.parent.parent if file.name == "__init__.py" else file.parent)
