"""The testbed in a few lines of Python: each step of an experiment, without a file.

`farm run` does the same steps in the same order; see `farm.run.execution`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast
from weakref import ref

import numpy as np

from farm.api import (
    AUTO,
    JSON,
    Cache,
    CalibrationRule,
    Classifier,
    Component,
    Context,
    FaultContext,
    Faultload,
    ModelSource,
    Monitor,
    Network,
    NetworkSource,
    NoCache,
    OODImages,
    Policy,
    Progress,
    Schedule,
    Silent,
    Split,
    Stream,
    Workload,
    WorkloadSource,
    check_number,
    plain_name,
)
from farm.config.experiment import (
    MOST_PICTURES,
    FaultSpec,
    MonitorSpec,
    OcclusionSpec,
    OrderSpec,
    rule_for,
)
from farm.config.specs import TEST
from farm.errors import ComponentFailure, ExperimentError, FarmError, one_line, pass_on_ctrl_c, suggestion
from farm.registry import Kind
from farm.run.builder import (
    Named,
    PlannedFault,
    fallback_source,
    fault_of_interval,
    fault_spec,
    make_named,
    make_order,
    planned_fault,
)
from farm.run.fallback import LAST, Fallback, LastAccepted, NoFallback, SecondClassifier
from farm.run.faults import Fault
from farm.run.fitting import batch_size, fit_monitors, union_of_layers
from farm.run.needs import Given
from farm.run.networks import train_own
from farm.run.occlusion import with_occlusion
from farm.run.outliers import Outliers, outliers_of
from farm.run.pictures import PictureMaker
from farm.run.recorder import Recorder, cannot_tell, run_record
from farm.run.shared import CallObserver, Recent
from farm.run.streams import BenchmarkStream
from farm.run.system import SystemUnderTest
from farm.run.taught import TaughtStream, check_yardsticks
from farm.run.timed import TimedStream
from farm.store.cache import DiskCache
from farm.store.component_cache import ComponentCache, load_workload
from farm.store.fitted import FittedMonitors
from farm.store.full_disk import stop_where_full
from farm.store.occlusion import positions
from farm.store.readouts import Readouts
from farm.store.threads import limited_threads

T = TypeVar("T")
AskedFault = Named | Faultload | FaultSpec | PlannedFault


class Testbed:
    """One seed, one thread count, one cache: what all steps of an experiment share.

    Parameters
    ----------
    seed, threads
        What every random choice derives from, and how many threads numerical libraries may use.
    folder
        Where relative paths are looked for first.
    cache
        Where classifiers, images and fitted monitors are found again; on disk, where not given.
    progress
        Shows how far things are.
    watch
        Is told which monitor is at work.
    kept
        Keeps workloads and classifiers in memory for the next testbed of this process that asks for the same.
        What then changes on disk, code or data, is not seen: without it they are made each time.
    untrained
        Whether this is a dry run, in which nothing may be trained.

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
        watch: CallObserver | None = None,
        kept: Recent | None = None,
        untrained: bool = False,
    ) -> None:
        self.progress = progress or Silent()
        self._watch = watch
        self._kept = kept
        self._sources: dict[int, tuple[ref[Classifier], ModelSource]] = {}
        self.context = Context(
            seed=seed,
            threads=threads,
            folder=Path(folder),
            cache=cache or DiskCache(progress=self.progress),
            progress=self.progress,
            untrained=untrained,
        )

    def workload(self, source: Named | WorkloadSource, *, contents: bool = True) -> Workload:
        """Load a workload and check its splits; without `contents`, not the pixels of all images."""
        recipe: WorkloadSource = (
            source if isinstance(source, WorkloadSource) else make_named("workload", source)
        )

        def load() -> Workload:
            return replace(load_workload(recipe, self.context, contents=contents), recipe=recipe.recipe)

        return self._once("workload", recipe, {"contents": contents}, load)

    def ood_images(
        self,
        source: Named | WorkloadSource,
        split: str = "test",
        beside: Workload | None = None,
    ) -> OODImages:
        """Load images that nothing is fitted on, `beside` ID ones; see `WorkloadSource.load_ood`.

        Another split than `test` is one of a whole workload, of which all rules are checked.
        """
        recipe: WorkloadSource = (
            source if isinstance(source, WorkloadSource) else make_named("workload", source)
        )
        like = None if beside is None else beside.shape
        if beside is not None:
            recipe = recipe.for_workload(beside)
        if split != "test" or recipe.rendered:
            return OODImages.of(self.workload(recipe), split)
        return self._once("workload", recipe, {"like": like}, lambda: recipe.load_ood(self.context, like))

    def classifier(self, source: Named | ModelSource, workload: Workload) -> Classifier:
        """Train a classifier on a workload, find it in the cache, or load the user's own."""
        recipe: ModelSource = source if isinstance(source, ModelSource) else make_named("model", source)
        context = replace(self.context, cache=self._cache_of(recipe, workload))

        def make() -> Classifier:
            return self._model_made(recipe, recipe.classifier, workload, context)

        task: dict[str, Any] = {}
        if self._kept is not None:
            task = {"workload": workload.content_hash, "of": [workload.name, workload.recipe]}
        classifier = self._once("model", recipe, task, make)
        classifier.recipe, classifier.trained_here = recipe.recipe, recipe.trained_here
        self._sources[id(classifier)] = ref(classifier), recipe
        return classifier

    def on_engine(
        self,
        classifier: Classifier,
        workload: Workload,
        monitors: Iterable[Monitor] = (),
        *,
        engine: str = AUTO,
        layers: Sequence[str] = (),
    ) -> Classifier:
        """Return a classifier on another engine, which gives what these monitors need, and these layers.

        Monitors are to be fitted on what is returned. Where the engine does not give what the network gives
        on images of the validation split, or cannot be built, it is eager; `engine.reason` says why.
        """
        source = self.source_of(classifier)
        split, cache = workload.validation, NoCache() if source is None else self._cache_of(source, workload)
        looked_at = np.linspace(0, len(split) - 1, min(batch_size(split), len(split))).astype(np.int64)
        wanted = list(map(plain_name, [*union_of_layers(monitors), *layers]))
        with limited_threads(self.context.threads):
            images = split.images.read(looked_at)
            found = classifier.on_engine(engine, wanted, images, cache)
        if found.engine.reason:
            self.progress.note(f"classifier '{classifier.name}' runs eager: {found.engine.reason}")
        if source is not None:
            self._sources[id(found)] = ref(found), source
        return found

    def untrained(self, source: ModelSource, workload: Workload) -> Classifier | None:
        """Make a classifier as far as no training is needed; None where nothing comes of that."""
        return self._model_made(source, source.untrained, workload, self.context)

    def _model_made(
        self,
        recipe: ModelSource | NetworkSource,
        make: Callable[[Workload, Context], T],
        workload: Workload,
        context: Context,
    ) -> T:
        try:
            with limited_threads(context.threads):
                return make(workload, context)
        except FarmError:
            raise
        except Exception as error:
            kind = "model" if isinstance(recipe, ModelSource) else "network"
            why = f"{kind} '{recipe.name}' failed: {one_line(error)}"
            stop_where_full(why, error)
            raise ComponentFailure(why) from error

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
                if spec.policy or spec.fallback:
                    raise ExperimentError(
                        f"monitor '{spec.alias or spec.name}': fitting takes no policy and no fallback; give "
                        "them to `run`, by the monitors' names"
                    )
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
        outliers: Outliers | None = None,
    ) -> dict[str, str]:
        """Fit and calibrate monitors; give the reasons of those that failed.

        `outliers` are those of a validation fault, for monitors and rules that learn from them.
        """
        given = self.given(classifier, outliers is not None)
        train = partial(train_own, self, classifier=classifier, workload=workload, outliers=outliers)
        with limited_threads(self.context.threads):
            return fit_monitors(
                monitors,
                classifier,
                workload,
                rules,
                seed=self.context.seed,
                progress=self.progress,
                fitted=self._fitted(classifier),
                watch=self._watch,
                folder=cache.folder if isinstance(cache := self.context.cache, DiskCache) else None,
                given=given,
                outliers=outliers,
                train=train,
            )

    def given(self, classifier: Classifier, outliers: bool) -> Given:
        """Say what monitors are given beside a classifier."""
        return Given(outliers, self.source_of(classifier))

    def outliers(self, fault: AskedFault, workload: Workload, classifier: Classifier) -> Outliers:
        """Make the outliers of a validation fault: of ID validation images, or from another workload."""
        planned = planned_fault(fault)
        with limited_threads(self.context.threads):
            prepared = self._fault(planned, workload, classifier, workload.validation)
            return outliers_of(prepared, workload, self.context.seed)

    def fallbacks(
        self,
        named: Mapping[str, Named | ModelSource | Fallback],
        workload: Workload,
        failures: dict[str, str] | None = None,
    ) -> dict[str, Fallback]:
        """Make what takes cancelled decisions' place, by the monitors' names.

        Each is `none`, `last`, or a second classifier; those of one recipe are one, which looks at a batch
        once for all monitors that fall back on it. Where `failures` is given, it is told there whose cannot
        be made, and why, instead of an error.
        """
        made: dict[str, Fallback] = {}
        second: dict[str, SecondClassifier | str] = {}
        for monitor, one in named.items():
            source = fallback_source(one) if isinstance(one, str | Mapping) else one
            if isinstance(source, ModelSource):
                recipe = repr(source.recipe)
                if recipe not in second:
                    second[recipe] = self._second(source, workload, strict=failures is None)
                if not isinstance(one := second[recipe], str):
                    made[monitor] = one
                elif failures is not None:
                    failures[monitor] = f"monitor '{monitor}': its {one}"
            elif isinstance(source, str):
                made[monitor] = LastAccepted() if source == LAST else NoFallback()
            else:
                made[monitor] = source
        return made

    def _second(self, source: ModelSource, workload: Workload, *, strict: bool) -> SecondClassifier | str:
        """Make a second classifier; where not `strict`, say why it cannot be made instead of raising that."""
        try:
            return SecondClassifier(self.classifier(source, workload))
        except BaseException as error:
            pass_on_ctrl_c(error)
            if strict:
                raise
            why = f"fallback '{source.name}' cannot be made: {one_line(error)}"
            stop_where_full(why, error)
            return why

    def stream(
        self,
        workload: Workload,
        classifier: Classifier,
        faultload: AskedFault | Sequence[AskedFault] | None = None,
        *,
        severity: float | None = None,
        order: Named | OrderSpec | Schedule = "shuffled",
        ood_share: float | None = None,
        length: int | None = None,
        frame_rate: float | None = None,
        split: str = TEST,
    ) -> BenchmarkStream | TimedStream:
        """Make a stream of ID test instances and, with faultloads, of OOD ones.

        `order` is `shuffled`, `sequential`, or a schedule such as `{"name": "onset", "at": 500}`: then the
        stream has time, and no end where no length is given. A faultload's mapping may say its `severity`,
        its `share` of the OOD instances, and `both` where it changes ID and OOD instances alike. With another
        `split` than `test` there are the ID instances of that, without faults and without time.
        """
        named: Sequence[Any] = []
        if faultload is not None:
            single = isinstance(faultload, str | Mapping | Faultload | FaultSpec | PlannedFault)
            named = [faultload] if single else cast(Sequence[Any], faultload)
        planned = [planned_fault(one, severity) for one in named]
        schedule = order if isinstance(order, Schedule) else make_order(order)
        seed = self.context.seed
        if split != TEST and (planned or isinstance(schedule, Schedule) or ood_share is not None):
            raise ExperimentError(
                f"stream.split is '{split}', which takes no faultload, ood_share or order with time"
            )
        faults = [self._fault(one, workload, classifier) for one in planned if not one.both]
        everywhere = [self._fault(one, workload, classifier) for one in planned if one.both]
        if isinstance(schedule, Schedule):
            once: dict[str, Fault] = {}  # what several intervals name is one fault
            for one in (one for interval in schedule.intervals for one in interval.faults):
                if _said(one) not in once:
                    once[_said(one)] = self._fault(fault_of_interval(one), workload, classifier)
            return TimedStream(
                workload,
                *faults,
                schedule=schedule,
                named=[[once[_said(one)] for one in interval.faults] for interval in schedule.intervals],
                everywhere=everywhere,
                length=length,
                frame_rate=frame_rate,
                seed=seed,
            )
        if frame_rate is not None:
            raise ExperimentError(f"stream.frame_rate is {frame_rate:g}, but a {schedule} stream has no time")
        made = (
            TaughtStream(workload, split, order=schedule, length=length, seed=seed)
            if split != TEST
            else BenchmarkStream(
                workload,
                *faults,
                everywhere=everywhere,
                order=schedule,
                ood_share=ood_share,
                length=length,
                seed=seed,
            )
        )
        if made.shortened:
            self.progress.note(made.shortened)
        return made

    def fault_notes(
        self, fault: AskedFault, workload: Workload, classifier: Classifier
    ) -> Mapping[str, JSON]:
        """Prepare a faultload for the test split, and return what it notes of that."""
        return self._fault(planned_fault(fault), workload, classifier).targets.notes

    def _fault(
        self, planned: PlannedFault, workload: Workload, classifier: Classifier, split: Split | None = None
    ) -> Fault:
        """Prepare a faultload for the test split, or another one."""
        ood_images = partial(self.ood_images, beside=workload)
        context = FaultContext(
            workload,
            split or workload.test,
            classifier,
            ood_images,
            self.context,
            partial(self._own_model, workload),
        )
        # In the keys of what it keeps are its code and parameters; what it makes of instances has both.
        kept = replace(self.context, cache=self._cache_of(planned.rule, workload))
        with limited_threads(self.context.threads):
            targets = planned.rule.prepare(replace(context, base=kept))
        return Fault(
            planned.rule,
            targets,
            planned.severity,
            planned.share,
            context,
            self.source_of(classifier),
            planned.coherence,
            planned.drift,
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
        probabilities: bool = False,
        policies: Mapping[str, Named | Policy] | None = None,
        fallbacks: Mapping[str, Named | ModelSource | Fallback] | None = None,
        failures: Mapping[str, str] | None = None,
        record: Mapping[str, Any] | None = None,
        pictures: int | None = 6,
        occlusion: OcclusionSpec | None = None,
    ) -> Readouts:
        """Run a finite stream through the system and give the readouts.

        `workload` is what classifier and monitors were fitted on: nothing of its training or validation
        data may be in the stream. `policies` and `fallbacks` go by the monitors' names; without, an alarm
        cancels, and nothing takes the decision's place. `failures` are monitors that did not get as far as
        this (shown, not run); `record` is kept with the readouts. So are a few images that a report shows:
        of each monitor the worst so many (`pictures`) of each kind, and samples; None keeps no image. With
        `probabilities` those of every class are kept. With `occlusion`, heat maps of some instances are made;
        where that fails, the record says why.
        """
        if pictures is not None:
            check_number("pictures", pictures, low=1, high=MOST_PICTURES, whole=True)
        if occlusion is not None:
            positions(workload.shape[1:], occlusion)
        stream.guard(workload)
        check_yardsticks(str(stream.provenance.get("split", TEST)), monitors)
        length = finite_length(stream)
        names = [m.name for m in monitors]
        for name in (*(policies or {}), *(fallbacks or {})):
            if name not in names:
                hint = suggestion(name, names)
                raise ExperimentError(
                    f"no monitor is called '{name}', which has a policy or fallback; {hint}"
                )
        failed = dict(failures or {})
        learned = ((record or {}).get("validation_fault") or {}).get("monitors", ())
        system = SystemUnderTest(
            classifier,
            [m for m in monitors if m.name not in failed],
            layers=layers,
            policies={
                name: one if isinstance(one, Policy) else make_named("policy", one)
                for name, one in (policies or {}).items()
            },
            fallbacks=self.fallbacks(fallbacks or {}, workload),
            watch=self._watch,
        )
        recorder = Recorder(
            [m.name for m in system.monitors], layers, classifier.classes if probabilities else ()
        )
        started = time.perf_counter()
        with limited_threads(self.context.threads):
            total = -(-length // batch_size)
            steps = system.steps(stream, batch_size)
            for step in self.progress.track(steps, "streaming", total):
                recorder.add(step)
        failed |= system.failures
        for monitor in system.monitors:
            if monitor.name not in failed and (why := cannot_tell(monitor)):
                failed[monitor.name] = why
        readouts = recorder.readouts(failed)
        run = {
            **(record or {}),
            "seed": self.context.seed,
            "batch_size": batch_size,
            "threads": self.context.threads,
            "seconds": time.perf_counter() - started,
            "close_predictions": recorder.close_predictions,
            "stream": dict(stream.provenance),
            **run_record(workload, system, monitors, readouts, failed, learned),
        }
        readouts = replace(readouts, run=run)
        if occlusion is not None:
            with limited_threads(self.context.threads):
                readouts = with_occlusion(readouts, stream, classifier, occlusion, self.progress)
        return readouts if pictures is None else self._with_pictures(readouts, system, stream, pictures)

    def _with_pictures(self, readouts: Readouts, system: SystemUnderTest, stream: Stream, n: int) -> Readouts:
        """Return readouts with their pictures; whatever is the matter with these, all else is kept."""
        failed = {record["name"] for record in readouts.run["monitors"] if record["failure"]}
        running = [monitor for monitor in system.monitors if monitor.name not in failed]
        try:
            with limited_threads(self.context.threads):
                maker = PictureMaker(system.classifier, running, progress=self.progress, watch=self._watch)
                return replace(readouts, pictures=maker.make(readouts, stream, n))
        except BaseException as error:  # noqa: BLE001 - the readouts are there, whoever raises what
            pass_on_ctrl_c(error)
            self.progress.note(f"no pictures are kept: {one_line(error)}")
            return readouts

    def _own_model(self, workload: Workload, source: ModelSource, seed: int) -> Classifier:
        """Train a fault's own model."""
        return self.with_seed(seed).classifier(source, workload)

    def _cache_of(self, source: ModelSource | NetworkSource | Faultload, workload: Workload) -> Cache:
        """Return the cache of what is made of a recipe on a workload."""
        cache = self.context.cache
        if not isinstance(cache, DiskCache):
            return cache
        kind: Kind = "network"
        if not isinstance(source, NetworkSource):
            kind = "model" if isinstance(source, ModelSource) else "faultload"
        return ComponentCache(kind, source, self.context, cache, data=workload.recipe)

    def network(self, source: NetworkSource, workload: Workload) -> Network:
        """Train a network that is no classifier on a workload, or find it in the cache."""
        context = replace(self.context, cache=self._cache_of(source, workload))
        return self._model_made(source, source.network, workload, context)

    def with_seed(self, seed: int) -> Testbed:
        """Return a testbed that shares everything with this one but its random numbers."""
        bed = copy(self)
        bed.context = replace(self.context, seed=seed)
        return bed

    def source_of(self, classifier: Classifier) -> ModelSource | None:
        """Return the recipe of a classifier that was made here."""
        made, source = self._sources.get(id(classifier), (None, None))
        return source if made is not None and made() is classifier else None

    def _fitted(self, classifier: Classifier) -> FittedMonitors | None:
        """Return the fitted monitors of a classifier that was made here; of any other, not all is known."""
        context = self.context
        source = self.source_of(classifier)
        if source is None or not isinstance(context.cache, DiskCache):
            return None
        return FittedMonitors(
            context.cache, source, threads=context.threads, folder=context.folder, progress=self.progress
        )

    def _once(self, kind: Kind, component: Component, of: Mapping[str, Any], make: Callable[[], T]) -> T:
        """Make what a component makes, or find it among what is kept, by all that decides what it is."""
        if self._kept is None:
            return make()
        context = self.context
        made_from = {
            "class": [kind, type(component).__module__, type(component).__qualname__],
            "recipe": component.recipe,
            "arguments": component._arguments,
            "seed": context.seed,
            "threads": context.threads,
            "places": [str(context.folder.resolve()), str(Path.cwd()), os.environ.get("FARM_DATA")],
            **of,
        }
        return self._kept.get(made_from, make)


def _said(fault: Named | Faultload) -> str:
    """Return the same for what says the same of a fault."""
    return repr(fault) if isinstance(fault, Faultload) else fault_spec(fault).model_dump_json()


def finite_length(stream: Stream) -> int:
    """Return a stream's length; raise where it has no end, and so no readouts."""
    if stream.length is None:
        raise ExperimentError(
            "an endless stream has no readouts to keep; give it a length (stream.length), or watch it by "
            "`farm stream`"
        )
    return stream.length
