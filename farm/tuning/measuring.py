"""One classifier with some parameters, trained, and measured on validation data; no test data are there."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
from pydantic import Field

from farm.api import ModelSource, Progress, Workload, WorkloadSource, check_disjoint
from farm.comparing.measures import measured
from farm.config.experiment import Experiment
from farm.config.specs import ClassifierSpec, Strict
from farm.errors import ComponentFailure, UserError, one_line
from farm.judging import JudgedRun
from farm.run.testbed import Testbed


class Trial(Strict):
    """What became of some parameters."""

    parameters: dict[str, Any]
    values: dict[str, float] = Field(default={})
    """By measure; none where it failed."""
    seconds: float = 0.0
    reason: str = ""
    """Why it failed."""
    n: int = 0
    """Instances that it was measured on."""
    chose_epoch: bool = False
    """Whether these instances also told training when to stop."""


class ValidationMeasurer:
    """Measures classifiers of one experiment on its validation split."""

    def __init__(self, experiment: Experiment, folder: Path, progress: Progress | None = None) -> None:
        self._experiment = experiment
        self._bed = Testbed(experiment.seed, threads=experiment.threads, folder=folder, progress=progress)

    def spec(self, parameters: Mapping[str, Any]) -> ClassifierSpec:
        """Return what an experiment says of the classifier with these parameters."""
        own = self._experiment.classifier
        named = {"name": own.name, "as": own.alias}
        return ClassifierSpec.model_validate({**named, **own.parameters, **parameters})

    def check(self, parameters: Mapping[str, Any]) -> None:
        """Raise where data or classifier cannot be made, as far as no data are needed to tell."""
        self._recipe()
        self._source(parameters).check(self._bed.context)

    def _source(self, parameters: Mapping[str, Any]) -> ModelSource:
        return cast(ModelSource, self.spec(parameters).make("model"))

    def _recipe(self) -> WorkloadSource:
        return cast(WorkloadSource, self._experiment.workload.make("workload"))

    @cached_property
    def workload(self) -> Workload:
        """The data, of which the test split is empty: whatever looks at it finds nothing."""
        found = self._bed.workload(self._recipe(), contents=False)
        check_disjoint(found.name, found.train, found.validation)
        return replace(found, test=found.test.rows(np.empty(0, dtype=np.int64)))

    def measure(self, parameters: dict[str, Any], measures: Sequence[str]) -> Trial:
        """Train, or find what was trained, and measure; that it fails is a result."""
        data, started = self.workload, time.perf_counter()
        found: dict[str, Any] = {}
        try:
            found = self._measured(parameters, measures, data)
        except (UserError, ComponentFailure) as error:
            found["reason"] = one_line(error)
        return Trial(parameters=parameters, seconds=time.perf_counter() - started, **found)

    def _measured(
        self, parameters: Mapping[str, Any], measures: Sequence[str], data: Workload
    ) -> dict[str, Any]:
        classifier = self._bed.classifier(self._source(parameters), data)
        stream = self._bed.stream(data, classifier, order="sequential", split="validation")
        size = self._experiment.batch_size
        readouts = self._bed.run(stream, classifier, [], data, batch_size=size, pictures=None)
        # Judging refuses what was learned from; here that is what is asked for, and it is told as such.
        judged = JudgedRun.of(readouts.instances, readouts.alarms, {**readouts.run, "stream": {}})
        record = judged.records_of(judged.parts[0], bounded=())[0]
        values = {name: measured(name).of(record) for name in measures}
        for name, value in values.items():
            if not value.defined:
                raise ComponentFailure(f"{name} is undefined: {value.reason}")
        return {
            "values": {name: value.value for name, value in values.items()},
            "n": len(readouts.instances),
            "chose_epoch": '"validation_loss"' in json.dumps(classifier.notes),
        }
