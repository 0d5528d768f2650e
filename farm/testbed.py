"""The testbed in a few lines of Python: each step of an experiment, without a file.

`farm run` does the same steps in the same order; see `farm.experiment`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from farm.api import (
    Cache,
    CalibrationRule,
    Classifier,
    Context,
    FaultContext,
    Faultload,
    ModelSource,
    Monitor,
    Progress,
    Silent,
    Stream,
    Workload,
    WorkloadSource,
)
from farm.cache import DiskCache
from farm.config import ComponentSpec, MonitorSpec, rule_for
from farm.errors import ComponentFailure
from farm.fitting import fit_monitors
from farm.readouts import Readouts
from farm.recorder import Recorder
from farm.registry import Kind
from farm.run_record import run_record
from farm.stream import BenchmarkStream, Fault
from farm.sut import SystemUnderTest
from farm.threads import limited_threads

Named = str | Mapping[str, Any]
"""A component's name, or a mapping with its name and parameters."""


class Testbed:
    """One seed, one thread count, one cache: what all steps of an experiment share.

    Examples
    --------
    >>> bed = Testbed(seed=0)
    >>> digits = bed.workload({"name": "digits", "size": 8, "channels": 1})
    >>> len(digits.classes)
    10
    """

    __test__ = False  # not a test, whatever its name makes pytest think

    def __init__(
        self,
        seed: int = 0,
        *,
        threads: int = 1,
        folder: Path | str = ".",
        cache: Cache | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.progress = progress or Silent()
        self.context = Context(
            seed=seed,
            threads=threads,
            folder=Path(folder),
            cache=cache or DiskCache(progress=self.progress),
            progress=self.progress,
        )

    def workload(self, source: Named | WorkloadSource) -> Workload:
        """Load a workload and check its splits."""
        made = source if isinstance(source, WorkloadSource) else _make("workload", source)
        recipe = cast(WorkloadSource, made)
        return replace(recipe.load(self.context), recipe=recipe.recipe)

    def classifier(self, source: Named | ModelSource, workload: Workload) -> Classifier:
        """Train a classifier on a workload, find it in the cache, or load the user's own."""
        made = source if isinstance(source, ModelSource) else _make("model", source)
        recipe = cast(ModelSource, made)
        with limited_threads(self.context.threads):
            classifier = recipe.classifier(workload, self.context)
        classifier.recipe = recipe.recipe
        return classifier

    def fit(
        self,
        monitors: Sequence[Named | Monitor],
        classifier: Classifier,
        workload: Workload,
        calibration: CalibrationRule | None = None,
    ) -> list[Monitor]:
        """Fit and calibrate monitors on ID data; raise where one of them fails."""
        default = calibration or CalibrationRule()
        made: list[Monitor] = []
        rules: dict[str, CalibrationRule] = {}
        for named in monitors:
            if isinstance(named, Monitor):
                monitor, own = named, None
            else:
                spec = MonitorSpec.model_validate(named)
                monitor, own = cast(Monitor, spec.make("monitor")), spec.calibration
            made.append(monitor)
            rules[monitor.name] = rule_for(monitor, own, default)
        if failures := self.fit_all(made, classifier, workload, rules):
            raise ComponentFailure("; ".join(failures.values()))
        return made

    def fit_all(
        self,
        monitors: Sequence[Monitor],
        classifier: Classifier,
        workload: Workload,
        rules: Mapping[str, CalibrationRule],
    ) -> dict[str, str]:
        """Fit and calibrate monitors; give the reasons of those that failed."""
        with limited_threads(self.context.threads):
            seed, progress = self.context.seed, self.progress
            return fit_monitors(monitors, classifier, workload, rules, seed=seed, progress=progress)

    def stream(
        self,
        workload: Workload,
        classifier: Classifier,
        faultload: Named | Faultload | None = None,
        *,
        severity: float | None = None,
        order: str = "shuffled",
        ood_share: float | None = None,
        length: int | None = None,
    ) -> BenchmarkStream:
        """Make a stream of ID test instances and, with a faultload, of OOD ones."""
        fault = None
        if faultload is not None:
            made = faultload if isinstance(faultload, Faultload) else _make("faultload", faultload)
            rule = cast(Faultload, made)
            context = FaultContext(workload, workload.test, classifier, self.workload, self.context)
            with limited_threads(self.context.threads):
                fault = Fault(rule, rule.prepare(context), severity)
        return BenchmarkStream(
            workload, fault, order=order, ood_share=ood_share, length=length, seed=self.context.seed
        )

    def run(
        self,
        stream: Stream,
        classifier: Classifier,
        monitors: Sequence[Monitor],
        workload: Workload,
        *,
        batch_size: int = 64,
        layers: Sequence[str] = (),
        failures: Mapping[str, str] | None = None,
        record: Mapping[str, Any] | None = None,
    ) -> Readouts:
        """Run a finite stream through the system and give the readouts.

        `workload` is what classifier and monitors were fitted on: nothing of its training or validation
        data may be in the stream. `failures` are monitors that did not get as far as this (shown, not run);
        `record` is kept with the readouts.
        """
        stream.guard(workload)
        failed = dict(failures or {})
        system = SystemUnderTest(classifier, [m for m in monitors if m.name not in failed], layers=layers)
        recorder = Recorder([m.name for m in system.monitors], layers)
        started = time.perf_counter()
        with limited_threads(self.context.threads):
            total = None if stream.length is None else -(-stream.length // batch_size)
            steps = system.steps(stream, batch_size)
            for step in self.progress.track(steps, "streaming", total):
                recorder.add(step)
        failed |= system.failures
        readouts = recorder.readouts(failed)
        settings = {
            "seed": self.context.seed,
            "batch_size": batch_size,
            "threads": self.context.threads,
            "seconds": time.perf_counter() - started,
            "close_predictions": recorder.close_predictions,
        }
        run = {
            **(record or {}),
            **settings,
            "stream": dict(stream.provenance),
            **run_record(workload, system, monitors, readouts, failed),
        }
        return replace(readouts, run=run)


def _make(kind: Kind, named: Named) -> Any:
    return ComponentSpec.model_validate(named).make(kind)
