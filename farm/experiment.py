"""From a typed experiment to readouts: the steps of the testbed, in order."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from farm import provenance
from farm.api import (
    Cache,
    Classifier,
    Component,
    Faultload,
    ModelSource,
    Monitor,
    Needs,
    Progress,
    Stream,
    Workload,
    WorkloadSource,
)
from farm.benchmark_set import StoredStream
from farm.config import Experiment, resolved, rule_for
from farm.errors import UserError
from farm.fitting import check_needs
from farm.readouts import Readouts
from farm.stream import ORDERS
from farm.testbed import Testbed, make_order


@dataclass(frozen=True)
class Assembled:
    """An experiment that is ready to stream."""

    bed: Testbed
    workload: Workload
    classifier: Classifier
    monitors: Sequence[Monitor]
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
        ready = assemble(experiment, folder, cache=cache, progress=progress)
        return ready.bed.run(
            ready.stream,
            ready.classifier,
            ready.monitors,
            ready.workload,
            batch_size=experiment.batch_size,
            layers=experiment.layers,
            failures=ready.failures,
            record=ready.record,
        )


def assemble(
    experiment: Experiment,
    folder: Path,
    *,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> Assembled:
    """Make everything up to the fitted monitors and the stream; call it within `importable`.

    Every component is made before anything is computed, so that a mistake costs no time.
    """
    source, model = _sources(experiment)
    monitors = [cast(Monitor, spec.make("monitor")) for spec in experiment.monitors]
    faultloads = _faultloads(experiment)
    make_order(experiment.stream.order)
    default = experiment.calibration.rule()
    rules = {
        monitor.name: rule_for(monitor, spec.calibration, default)
        for monitor, spec in zip(monitors, experiment.monitors, strict=True)
    }
    made: dict[str, Sequence[Component]] = {
        "workload": [source],
        "classifier": [model],
        "faultload": faultloads,
        "monitors": monitors,
    }
    record = {
        "name": experiment.name,
        "experiment": resolved(experiment, made),
        "experiment_commit": provenance.git_commit(folder),
    }
    bed = Testbed(experiment.seed, threads=experiment.threads, folder=folder, cache=cache, progress=progress)
    workload = bed.workload(source)
    classifier = bed.classifier(model, workload)
    check_needs(monitors, classifier)
    classifier.resolve(Needs(layers=tuple(experiment.layers)), "the key 'layers'")
    stream = _stream(experiment, bed, workload, classifier)
    failures = bed.fit_all(monitors, classifier, workload, rules)
    return Assembled(bed, workload, classifier, monitors, stream, failures, record)


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
            faultload = cast(Faultload, spec.make("faultload"))
            faultload.check_severity(spec.severity)
            made.append(faultload)
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
        for name in set(sys.modules) - before:
            top = sys.modules.get(name.partition(".")[0])
            file = Path(str(getattr(top, "__file__", None) or "/")).resolve()
            # A module of the folder, or a package in it with all its parts.
            if folder in (file.parent, file.parent.parent if file.name == "__init__.py" else None):
                del sys.modules[name]
