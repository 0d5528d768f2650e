"""A benchmark that stands still while monitors come and go: workload, classifier and stream are made once."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeAlias, cast

from farm.api import Classifier, Images, IntArray, Monitor, Stream, Workload
from farm.api import WorkloadSource as Source
from farm.api.component import C, another
from farm.config.experiment import Experiment, MonitorSpec, parse_experiment
from farm.errors import ComponentFailure, ExperimentError, ParameterError, one_line
from farm.run.builder import Components, Named, build, planned_monitor
from farm.run.execution import stream_of
from farm.run.fitting import fit_monitors
from farm.run.loading import importable, load_experiment
from farm.run.shared import Recent
from farm.run.testbed import Testbed
from farm.store.readouts import Readouts
from farm.store.threads import limited_threads
from farm.testing.small_system import CLASSIFIER, WORKLOAD

Asked: TypeAlias = Monitor | type[Monitor] | str | Mapping[str, Any] | MonitorSpec
"""A monitor, its class, its name, or a mapping with its name and parameters as in an experiment."""

REMEMBERED = 32
"""So many results are kept in memory."""
EXPERIMENT: Mapping[str, Any] = {
    "name": "small-benchmark",
    "description": "Scanned digits, a small LeNet, and as many faulted images of each of four kinds",
    "seed": 0,
    "workload": dict(WORKLOAD),
    "classifier": dict(CLASSIFIER),
    "faultload": [
        {"name": "textures"},  # novelty: no digit at all
        {"name": "gaussian-noise", "severity": 5},  # noise
        {"name": "fog", "severity": 3},  # shift
        {"name": "fgsm"},  # adversarial
    ],
    "monitors": ["max-softmax"],
    # Instances of a batch are timed together, and p99 of a time needs 299 measurements: this gives 449.
    "batch_size": 4,
}
"""The embedded benchmark: scanned digits, a small LeNet, four kinds of faults; seconds, no download.

It is the system that `check_monitor` tries monitors on, so that whoever uses both trains it once.
"""


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
        return Made(another(asked), MonitorSpec(name=asked.name))
    if isinstance(asked, type) and issubclass(asked, Monitor):
        monitor = by_its_class(asked)
        return Made(monitor, MonitorSpec(name=monitor.name))
    if not isinstance(asked, str | Mapping | MonitorSpec):
        raise ParameterError(
            f"{asked!r} is no monitor; expected a Monitor, its class, its name, or a mapping with name and "
            "parameters"
        )
    spec = asked if isinstance(asked, MonitorSpec) else MonitorSpec.model_validate(asked)
    return Made(cast(Monitor, spec.make("monitor")), spec)


def by_its_class(cls: type[C]) -> C:
    """Make a component that needs no parameters."""
    try:
        return cls()
    except TypeError as error:
        why = f"{cls.__name__} cannot be made without parameters ({one_line(error)}); give an instance"
        raise ParameterError(why) from None


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
    >>> from farm.config.experiment import parse_experiment
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
        self._kept = Recent(REMEMBERED)

    @cached_property
    def workload(self) -> Workload:
        """What classifier and monitors are fitted on, and the in-distribution part of the stream."""
        asked = self._asked_workload
        if isinstance(asked, Workload):
            return asked
        with self._own_modules():
            return self._bed.workload(self._components.workload if asked is None else asked)

    @cached_property
    def classifier(self) -> Classifier:
        """The classifier under watch."""
        with self._own_modules():
            return self._bed.classifier(self._components.classifier, self.workload)

    @cached_property
    def stream(self) -> Stream:
        """What every monitor is run on."""
        with self._own_modules():
            return stream_of(self.experiment, self._components, self._bed, self.workload, self.classifier)

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
            # With the monitors, since some are known by their place in memory.
            _, found = self._kept.get(key, lambda: (plans, self._run(plans)))
        # Tables of one's own: what one test adds to them the next must not see.
        return replace(found, instances=found.instances.copy(), alarms=found.alarms.copy())

    def on(self, workload: Workload | Source | Named) -> Benchmark:
        """Return the same benchmark on other images; on its own, itself."""
        if workload is vars(self).get("workload"):  # asked so, it is not loaded for the comparison
            return self
        return Benchmark(self.experiment, self.folder, workload=workload)

    def images(self, positions: IntArray) -> Images:
        """Make the images of some places of the stream again, in this order."""
        return self.stream.at(positions).images

    def made_stream_of(self, run: Readouts) -> bool:
        """Whether a run, of whatever origin, was on this very stream."""
        workload = run.run.get("workload")
        if not isinstance(workload, Mapping) or workload.get("hash") != self.workload.content_hash:
            return False  # said before a classifier is trained to make the stream
        known, own = run.run.get("stream"), dict(self.stream.provenance)
        return json.dumps(known, sort_keys=True) == json.dumps(own, sort_keys=True)

    def _own_modules(self) -> AbstractContextManager[None]:
        """Let modules beside the experiment be imported; they stay, as all that a test session imports."""
        return importable(self.folder, forget=False)

    @cached_property
    def _components(self) -> Components:
        """The experiment's components, but its monitors, which are made anew for each run."""
        with self._own_modules():
            return build(self.experiment.model_copy(update={"monitors": []}))

    def _run(self, plans: Sequence[Made]) -> Readouts:
        experiment = self.experiment
        around = experiment, self._components.classifier, self._components.fallback
        planned = [planned_monitor(one.spec, *around, monitor=one.monitor) for one in plans]
        monitors = [one.monitor for one in planned]
        rules = {one.name: one.calibration for one in planned}
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
            layers=tuple(experiment.observed_layers),
            policies={one.name: one.policy for one in planned},
            fallbacks={one.name: one.fallback for one in planned},
            record={"name": experiment.name},
            pictures=None,
        )
        if broken := [str(note["failure"]) for note in readouts.run["monitors"] if note["failure"]]:
            raise ComponentFailure("; ".join(broken))
        return readouts


@cache
def small_benchmark() -> Benchmark:
    """Return the embedded benchmark; it is made once a process, when it is first used.

    Examples
    --------
    >>> [fault["name"] for fault in small_benchmark().experiment.model_dump()["faultload"]]
    ['textures', 'gaussian-noise', 'fog', 'fgsm']
    """
    return Benchmark(parse_experiment(EXPERIMENT, "the small benchmark"))


def benchmark_of(experiment: Path | str | None, root: Path) -> Benchmark:
    """Return the benchmark that an experiment's file describes; the embedded one where there is none.

    Parameters
    ----------
    experiment
        A file, or the bare name of one that ships with the testbed.
    root
        What a relative path starts from.
    """
    if experiment is None:
        return small_benchmark()
    path = root / experiment
    is_path = isinstance(experiment, Path) or path.exists() or path.suffix in (".yaml", ".yml", ".json")
    return Benchmark(*load_experiment(str(path if is_path else experiment)))


def benchmark_here() -> Benchmark:
    """Return the benchmark of the test that runs; outside of any, the embedded one."""
    if (item := running_test()) is None:
        return small_benchmark()
    from farm.testing.plugin import check_same

    found = cast(Benchmark, item._request.getfixturevalue("farm_benchmark"))
    check_same(item)
    return found


def running_test() -> Any:
    """Return the test of pytest that runs now, if it is one that can have fixtures."""
    plugin = sys.modules.get("farm.testing.plugin")
    item = plugin.running() if plugin else None
    return item if hasattr(item, "_request") else None
