"""A benchmark that stands still while monitors come and go: workload, classifier and stream are made once."""

from __future__ import annotations

import json
import sys
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

from farm.api import Classifier, Images, IntArray, ModelSource, Monitor, Policy, Stream, Workload
from farm.api import WorkloadSource as Source
from farm.by_name import Named, make_fallback
from farm.config import Experiment, MonitorSpec, rule_for
from farm.errors import ComponentFailure, ExperimentError, ParameterError, one_line
from farm.experiment import _stream
from farm.fitting import fit_monitors
from farm.readouts import Readouts
from farm.testbed import Testbed
from farm.threads import limited_threads

Asked: TypeAlias = Monitor | type[Monitor] | str | Mapping[str, Any] | MonitorSpec
"""A monitor, its class, its name, or a mapping with its name and parameters as in an experiment."""

REMEMBERED = 32
"""So many results are kept in memory."""
BATCH = 64


@dataclass(frozen=True)
class Made:
    """A new monitor, which nobody else has, and what an experiment says of it."""

    monitor: Monitor
    spec: MonitorSpec

    @property
    def key(self) -> str:
        """Tell it from any other, as long as it lives: what has no JSON goes by its identity."""
        kind, own = type(self.monitor), self.monitor._arguments
        spec = self.spec.model_dump(mode="json", include={"calibration", "policy", "fallback"})
        return json.dumps([id(kind), self.monitor.name, own, spec], sort_keys=True, default=id)


def made(asked: Asked) -> Made:
    """Make a monitor; of a given one, another with the same parameters, so that the given one stays as it is.

    Examples
    --------
    >>> made({"name": "energy", "as": "cold"}).monitor.name
    'cold'
    """
    if isinstance(asked, Monitor):
        another = type(asked)(**asked._arguments)
        another.name = asked.name
        return Made(another, MonitorSpec(name=asked.name))
    if isinstance(asked, type) and issubclass(asked, Monitor):
        try:
            monitor = asked()
        except TypeError as error:
            why = f"{asked.__name__} cannot be made without parameters ({one_line(error)}); give an instance"
            raise ParameterError(why) from None
        return Made(monitor, MonitorSpec(name=monitor.name))
    if not isinstance(asked, str | Mapping | MonitorSpec):
        raise ParameterError(
            f"{asked!r} is no monitor; expected a Monitor, its class, its name, or a mapping with name and "
            "parameters"
        )
    spec = asked if isinstance(asked, MonitorSpec) else MonitorSpec.model_validate(asked)
    return Made(cast(Monitor, spec.make("monitor")), spec)


class Benchmark:
    """An experiment whose monitors are named only when they are run; results are remembered.

    Parameters
    ----------
    experiment
        Says everything but the monitors; its own are run where none are named.
    folder
        Where relative paths and own modules are looked for.
    workload
        Takes the place of the experiment's: images in memory, or a recipe.

    Examples
    --------
    >>> from farm.config import parse_experiment
    >>> tiny = {"name": "tiny", "workload": "farm.testing.fakes:TinySource", "monitors": ["never"],
    ...         "classifier": "farm.testing.fakes:TinyModel", "faultload": {"name": "fog", "severity": 3}}
    >>> run = Benchmark(parse_experiment(tiny, "here")).run("energy", {"name": "energy", "as": "again"})
    >>> run.alarms["monitor"].unique().tolist(), run.instances["category"].dropna().unique().tolist()
    (['energy', 'again'], ['shift'])
    """

    def __init__(
        self,
        experiment: Experiment,
        folder: Path | str = ".",
        *,
        workload: Workload | Source | Named | None = None,
    ) -> None:
        self.experiment, self.folder = experiment, Path(folder)
        self._asked_workload = workload
        self._bed = Testbed(experiment.seed, threads=experiment.threads, folder=self.folder)
        self._kept: OrderedDict[str, tuple[Sequence[Made], Readouts]] = OrderedDict()

    @cached_property
    def workload(self) -> Workload:
        """What classifier and monitors are fitted on, and the in-distribution part of the stream."""
        asked = self._asked_workload
        if isinstance(asked, Workload):
            return asked
        with self._own_modules():
            if asked is None:
                asked = cast(Source, self.experiment.workload.make("workload"))
            return self._bed.workload(asked)

    @cached_property
    def classifier(self) -> Classifier:
        """The classifier under watch."""
        with self._own_modules():
            return self._bed.classifier(self._model, self.workload)

    @cached_property
    def stream(self) -> Stream:
        """What every monitor is run on."""
        with self._own_modules():
            return _stream(self.experiment, self._bed, self.workload, self.classifier)

    def run(self, *monitors: Asked) -> Readouts:
        """Fit monitors and run them on the stream; the experiment's own where none is named.

        What is given again is not run again. A monitor that fails is an error here: a test wants to know.
        """
        with self._own_modules():
            plans = [made(one) for one in monitors or self.experiment.monitors]
            names = [plan.monitor.name for plan in plans]
            for name in names:
                if names.count(name) > 1:
                    raise ExperimentError(
                        f"two monitors are called '{name}'; give one another name with 'as'"
                    )
            key = "\n".join(plan.key for plan in plans)
            if key not in self._kept:
                self._kept[key] = plans, self._run(plans)
                while len(self._kept) > REMEMBERED:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            found = self._kept[key][1]
        # Tables of one's own: what one test adds to them the next must not see.
        return replace(found, instances=found.instances.copy(), alarms=found.alarms.copy())

    def on(self, workload: Workload | Source | Named) -> Benchmark:
        """Give the same benchmark on other images; on its own, itself."""
        if workload is vars(self).get("workload"):  # asked so, it is not loaded for the comparison
            return self
        return Benchmark(self.experiment, self.folder, workload=workload)

    def images(self, positions: IntArray) -> Images:
        """Make the images of some places of the stream again, in this order."""
        found: dict[int, Images] = {}
        last = int(positions.max(initial=-1))
        start = 0
        batches: Iterator[Any] = iter(self.stream.batches(BATCH))
        while start <= last:
            batch = next(batches)
            for at in positions[(positions >= start) & (positions < start + len(batch))].tolist():
                found[at] = batch.images[at - start]
            start += len(batch)
        shape = (len(positions), *self.workload.shape)
        return np.stack([found[at] for at in positions.tolist()]) if found else np.empty(shape, np.float32)

    def made_stream_of(self, run: Readouts) -> bool:
        """Whether a run, of whatever origin, was on this very stream."""
        workload = run.run.get("workload")
        if not isinstance(workload, Mapping) or workload.get("hash") != self.workload.content_hash:
            return False  # said before a classifier is trained to make the stream
        known, own = run.run.get("stream"), dict(self.stream.provenance)
        return json.dumps(known, sort_keys=True) == json.dumps(own, sort_keys=True)

    @contextmanager
    def _own_modules(self) -> Iterator[None]:
        """Let modules beside the experiment be imported; they stay, as all that a test session imports."""
        folder = str(self.folder.resolve())
        if folder in sys.path:
            yield
            return
        sys.path.append(folder)
        try:
            yield
        finally:
            sys.path.remove(folder)

    @cached_property
    def _model(self) -> ModelSource:
        with self._own_modules():
            return cast(ModelSource, self.experiment.classifier.make("model"))

    def _run(self, plans: Sequence[Made]) -> Readouts:
        experiment, default = self.experiment, self.experiment.calibration.rule()
        monitors = [plan.monitor for plan in plans]
        specs = {plan.monitor.name: plan.spec for plan in plans}
        rules = {one.name: rule_for(one, specs[one.name].calibration, default) for one in monitors}
        policies = {
            name: cast(Policy, (spec.policy or experiment.policy).make("policy"))
            for name, spec in specs.items()
        }
        fallbacks = {
            name: make_fallback(spec.fallback or experiment.fallback, self._model)
            for name, spec in specs.items()
        }
        # Not from the testbed's cache: a test is of the code in memory, which it may have patched.
        with limited_threads(experiment.threads):
            failures = fit_monitors(monitors, self.classifier, self.workload, rules, seed=experiment.seed)
        if failures:
            raise ComponentFailure("; ".join(failures.values()))
        readouts = self._bed.run(
            self.stream,
            self.classifier,
            monitors,
            self.workload,
            batch_size=experiment.batch_size,
            layers=experiment.layers,
            policies=policies,
            fallbacks=fallbacks,
            record={"name": experiment.name},
        )
        if broken := [str(note["failure"]) for note in readouts.run["monitors"] if note["failure"]]:
            raise ComponentFailure("; ".join(broken))
        return readouts
