"""From a typed experiment to readouts: the steps of the testbed, in order."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from farm import provenance
from farm.api import (
    Cache,
    Component,
    Faultload,
    ModelSource,
    Monitor,
    Needs,
    Progress,
    Stream,
    WorkloadSource,
)
from farm.benchmark_set import StoredStream
from farm.config import Experiment, resolved, rule_for
from farm.fitting import check_needs
from farm.readouts import Readouts
from farm.testbed import Testbed


def run_experiment(
    experiment: Experiment,
    folder: Path,
    *,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> Readouts:
    """Run one experiment; `folder` is where its relative paths and the user's own modules are looked for.

    Every component is made before anything is computed, so that a mistake costs no time.
    """
    with _importable(folder):
        source = cast(WorkloadSource, experiment.workload.make("workload"))
        model = cast(ModelSource, experiment.classifier.make("model"))
        monitors = [cast(Monitor, spec.make("monitor")) for spec in experiment.monitors]
        fault = experiment.faultload
        faultload = cast(Faultload, fault.make("faultload")) if fault else None
        severity = fault.severity if fault else None
        if faultload:
            faultload.check_severity(severity)
        default = experiment.calibration.rule()
        rules = {
            monitor.name: rule_for(monitor, spec.calibration, default)
            for monitor, spec in zip(monitors, experiment.monitors, strict=True)
        }
        made: dict[str, Sequence[Component]] = {
            "workload": [source],
            "classifier": [model],
            "monitors": monitors,
        }
        if faultload:
            made["faultload"] = [faultload]
        record = {
            "name": experiment.name,
            "experiment": resolved(experiment, made),
            "experiment_commit": provenance.git_commit(folder),
        }
        bed = Testbed(
            experiment.seed, threads=experiment.threads, folder=folder, cache=cache, progress=progress
        )
        workload = bed.workload(source)
        classifier = bed.classifier(model, workload)
        check_needs(monitors, classifier)
        classifier.resolve(Needs(layers=tuple(experiment.layers)), "the key 'layers'")
        asked = experiment.stream
        stream: Stream
        if asked.benchmark:
            stream = StoredStream(bed.context.find(asked.benchmark, "stream.benchmark"))
        else:
            stream = bed.stream(
                workload,
                classifier,
                faultload,
                severity=severity,
                order=asked.order,
                ood_share=asked.ood_share,
                length=asked.length,
            )
        failures = bed.fit_all(monitors, classifier, workload, rules)
        return bed.run(
            stream,
            classifier,
            monitors,
            workload,
            batch_size=experiment.batch_size,
            layers=experiment.layers,
            failures=failures,
            record=record,
        )


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Let an experiment name the user's own modules beside its file, after everything installed.

    They are forgotten afterwards: another experiment may have another module of the same name.
    """
    sys.path.append(str(folder))
    before = set(sys.modules)
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None)
            if file and Path(file).parent == folder:
                del sys.modules[name]
