"""An experiment's components, each made once: run, guard, campaign and tests take what is made here.

Whoever asks for one component by name, as the testbed in Python does, gets it by the same functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar, cast

from pydantic import ValidationError

from farm import registry
from farm.api import (
    ORDERS,
    CalibrationRule,
    Coherence,
    Context,
    Faultload,
    ModelSource,
    Monitor,
    Policy,
    Schedule,
    WorkloadSource,
    check_engine,
)
from farm.config.experiment import (
    ComponentSpec,
    Experiment,
    FaultSpec,
    MonitorSpec,
    OrderSpec,
    ValidationFaultSpec,
    rule_for,
)
from farm.config.explaining import explain
from farm.errors import ExperimentError, UnknownNameError, UserError, suggestion
from farm.registry import Kind
from farm.run.fallback import NAMES, NONE, the_same
from farm.run.faults import DRIFT
from farm.run.schedules import check_acting
from farm.run.taught import check_yardsticks

P = ParamSpec("P")
R = TypeVar("R")
Named = str | Mapping[str, Any]
"""A component's name, or a mapping with its name and parameters."""


@dataclass(frozen=True)
class PlannedFault:
    """A faultload as a stream is to have it: at one severity, with its share of the OOD instances."""

    rule: Faultload
    severity: float | None = None
    share: float = 1.0
    both: bool = False
    coherence: Coherence | None = None
    drift: int = DRIFT


@dataclass(frozen=True)
class PlannedMonitor:
    """A monitor, and what stands around it: its threshold's rule, and what follows its alarms."""

    monitor: Monitor
    calibration: CalibrationRule
    policy: Policy
    fallback: str | ModelSource

    @property
    def name(self) -> str:
        """The name that readouts show."""
        return self.monitor.name


@dataclass(frozen=True)
class Components:
    """All that an experiment names."""

    workload: WorkloadSource
    classifier: ModelSource
    faults: Sequence[PlannedFault]
    order: str | Schedule
    monitors: Sequence[PlannedMonitor]
    policy: Policy
    fallback: str | ModelSource
    validation_fault: PlannedFault | None = None


def build(experiment: Experiment, context: Context | None = None) -> Components:
    """Make all components; tell all mistakes at once, each with its place in the file.

    With a context, models look whether their files are there.
    """
    mistakes = BuildMistakes()
    components = attempt(experiment, mistakes, context)
    mistakes.tell()
    return cast(Components, components)  # where nothing was wrong, nothing is missing


class BuildMistakes:
    """Collects what is wrong, each thing once, to tell it together.

    Parameters
    ----------
    places
        Whether each is told with its place; false where the experiments are put together from a campaign's
        lists.
    """

    def __init__(self, *, places: bool = True) -> None:
        self._places = places
        self._found: dict[str, UserError] = {}

    def made(self, place: str, make: Callable[P, R], *arguments: P.args, **more: P.kwargs) -> R | None:
        """Return what is made; None where that is a mistake, which is kept with its place in the file."""
        try:
            return make(*arguments, **more)
        except UserError as error:
            told = not self._places or str(error).startswith(place)
            self._found.setdefault(str(error), error if told else type(error)(f"{place}: {error}"))
            return None

    def tell(self, *, apart: tuple[type[UserError], ...] = ()) -> list[str]:
        """Raise what was found, if anything; what is of the kinds `apart` is returned instead."""
        if found := [error for error in self._found.values() if not isinstance(error, apart)]:
            raise type(found[0])("; ".join(map(str, found)))
        return [str(error) for error in self._found.values()]


def attempt(
    experiment: Experiment, mistakes: BuildMistakes, context: Context | None = None
) -> Components | None:
    """Make all components; where one cannot be made, `mistakes` can tell, and what is returned may lack it.

    So that all mistakes are found, the others are made nevertheless.
    """
    made = mistakes.made
    workload: WorkloadSource | None = made("workload", make_named, "workload", experiment.workload)
    classifier: ModelSource | None = made("classifier", make_named, "model", experiment.classifier)
    made("classifier", _check_files, classifier, context)
    if engine := experiment.classifier.engine:
        made("classifier.engine", check_engine, engine)
    several = len(experiment.faultload) > 1
    faults = [
        made(f"faultload.{number}" if several else "faultload", planned_fault, fault)
        for number, fault in enumerate(experiment.faultload)
    ]
    order = made("stream.order", make_order, experiment.stream.order)
    if isinstance(order, Schedule):
        _check_intervals(order, [fault.rule for fault in faults if fault and not fault.both], mistakes)
    policy: Policy | None = made("policy", make_named, "policy", experiment.policy)
    fallback = made("fallback", make_fallback, experiment.fallback, classifier, context)
    monitors = [
        made(f"monitors.{number}", planned_monitor, spec, experiment, classifier, fallback or NONE, context)
        for number, spec in enumerate(experiment.monitors)
    ]
    made("stream.split", check_yardsticks, experiment.stream.split, [one.monitor for one in monitors if one])
    outliers = None
    if experiment.validation_fault is not None:
        outliers = made("validation_fault", planned_validation_fault, experiment.validation_fault)
    if workload is None or classifier is None or order is None or policy is None or fallback is None:
        return None
    return Components(
        workload,
        classifier,
        [fault for fault in faults if fault],
        order,
        [monitor for monitor in monitors if monitor],
        policy,
        fallback,
        outliers,
    )


def _check_intervals(schedule: Schedule, faults: Sequence[Faultload], mistakes: BuildMistakes) -> None:
    """Look whether the faults of a schedule's intervals can be made, and can act."""
    named = []
    for number, interval in enumerate(schedule.intervals):
        place = f"stream.order.intervals.{number}"
        planned = [mistakes.made(place, fault_of_interval, fault) for fault in interval.faults]
        named.append([fault.rule for fault in planned if fault])
        if None in planned:
            return  # whether others act cannot be said
    mistakes.made("stream.order", check_acting, schedule, faults, named)


def planned_monitor(
    spec: MonitorSpec,
    experiment: Experiment,
    classifier: ModelSource | None,
    fallback: str | ModelSource,
    context: Context | None = None,
    *,
    monitor: Monitor | None = None,
) -> PlannedMonitor:
    """Return a monitor, made where none is given, with its own surroundings or the whole experiment's."""
    if monitor is None:
        monitor = cast(Monitor, spec.make("monitor"))
    rule = rule_for(monitor, spec.calibration, experiment.calibration.rule())
    policy: Policy = make_named("policy", spec.policy or experiment.policy)
    if spec.fallback is not None:
        fallback = make_fallback(spec.fallback, classifier, context)
    return PlannedMonitor(monitor, rule, policy, fallback)


def make_fallback(
    spec: ComponentSpec, classifier: ModelSource | None, context: Context | None = None
) -> str | ModelSource:
    """Return what takes cancelled decisions' place: a second classifier that is not the first, or a name."""
    source = fallback_source(spec)
    if isinstance(source, str):
        return source
    if type(source) is type(classifier) and source.parameters == classifier.parameters:
        raise the_same(f"fallback '{spec.name}'")
    _check_files(source, context)
    return source


def _check_files(source: ModelSource | None, context: Context | None) -> None:
    if source is not None and context is not None:
        source.check(context)


def planned_fault(
    named: Named | Faultload | FaultSpec | PlannedFault, severity: float | None = None
) -> PlannedFault:
    """Return a faultload with its severity checked; `severity` is for one that says none itself."""
    if isinstance(named, PlannedFault):
        planned = named
    elif isinstance(named, Faultload):
        planned = PlannedFault(named, severity)
    else:
        spec = fault_spec(named)
        rule = cast(Faultload, spec.make("faultload"))
        level = severity if spec.severity is None else spec.severity
        planned = PlannedFault(rule, level, spec.share, spec.both, spec.coherence, spec.drift or DRIFT)
    planned.rule.check_severity(planned.severity)
    return planned


def planned_validation_fault(spec: ValidationFaultSpec) -> PlannedFault:
    """Return the fault that gives outliers, with its severity checked."""
    return planned_fault(PlannedFault(cast(Faultload, spec.make("faultload")), spec.severity))


def fault_of_interval(named: Named | Faultload) -> PlannedFault:
    """Return a faultload of an interval, which says by itself upon which share of what it acts."""
    planned = planned_fault(named)
    if planned.both or planned.share != 1:
        said = "both" if planned.both else "share"
        raise ExperimentError(
            f"faultload '{planned.rule.name}' says '{said}', which means nothing in an interval; leave it "
            "out, or give the interval a share"
        )
    return planned


def fault_spec(named: Any) -> FaultSpec:
    """Read what an experiment says of a fault."""
    try:
        return FaultSpec.model_validate(named)
    except ValidationError as error:
        if isinstance(named, Mapping) and "name" in named:
            raise ExperimentError(explain(error, FaultSpec, named)) from None
        raise ExperimentError(f"a fault is {named!r}; expected a name, or a mapping with a name") from None


def make_order(named: Named | OrderSpec) -> str | Schedule:
    """Return a schedule by name; `shuffled` and `sequential` stay what they are."""
    spec = OrderSpec.model_validate(named)
    if spec.name in ORDERS:
        if spec.parameters:
            raise ExperimentError(f"stream.order '{spec.name}' takes no parameters; got {spec.parameters}")
        return spec.name
    if ":" not in spec.name and spec.name not in (known := registry.entries("schedule")):
        hint = suggestion(spec.name, [*ORDERS, *known])
        raise UnknownNameError(f"stream.order '{spec.name}' is not known; {hint}")
    return cast(Schedule, spec.make("schedule"))


def fallback_source(named: Named | ComponentSpec) -> str | ModelSource:
    """Return the recipe of a second classifier by name; `none` and `last` stay what they are."""
    spec = ComponentSpec.model_validate(named)
    if spec.name in NAMES:
        if spec.parameters or spec.alias:
            given = ", ".join([*spec.parameters, *(["as"] if spec.alias else [])])
            raise ExperimentError(f"fallback '{spec.name}' takes no parameters; got {given}")
        return spec.name
    known = registry.entries("model")
    if ":" not in spec.name and registry.canonical("model", spec.name) not in known:
        raise UnknownNameError(
            f"fallback '{spec.name}' is not known; {suggestion(spec.name, [*NAMES, *known])}"
        )
    return cast(ModelSource, spec.make("model"))


def make_named(kind: Kind, named: Named | ComponentSpec) -> Any:
    """Return a component by name."""
    return ComponentSpec.model_validate(named).make(kind)
