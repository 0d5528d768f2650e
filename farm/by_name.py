"""From what an experiment names to the thing itself, where a few words have a meaning of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from farm import registry
from farm.api import ORDERS, CalibrationRule, Faultload, ModelSource, Monitor, Schedule
from farm.config import ComponentSpec, FaultSpec, MonitorSpec, OrderSpec, rule_for
from farm.errors import ExperimentError, UnknownNameError, suggestion
from farm.fallback import NAMES, the_same
from farm.registry import Kind

Named = str | Mapping[str, Any]
"""A component's name, or a mapping with its name and parameters."""


def make_order(named: Named | OrderSpec) -> str | Schedule:
    """Make a schedule by name; `shuffled` and `sequential` stay what they are."""
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
    """Make the recipe of a second classifier by name; `none` and `last` stay what they are."""
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


def make_fallback(spec: ComponentSpec, model: ModelSource) -> str | ModelSource:
    """Make what takes cancelled decisions' place: a second classifier that is not the first, or a name."""
    source = fallback_source(spec)
    if type(source) is type(model) and source.parameters == model.parameters:
        raise the_same(f"fallback '{spec.name}'")
    return source


def make_fault(spec: FaultSpec) -> Faultload:
    """Make a faultload that can be applied at the severity that is asked for."""
    faultload = cast(Faultload, spec.make("faultload"))
    faultload.check_severity(spec.severity)
    return faultload


def make_monitor(spec: MonitorSpec, default: CalibrationRule) -> tuple[Monitor, CalibrationRule]:
    """Make a monitor, and the rule that it is calibrated by."""
    monitor = cast(Monitor, spec.make("monitor"))
    return monitor, rule_for(monitor, spec.calibration, default)


def make_named(kind: Kind, named: Named) -> Any:
    """Make a component by name."""
    return ComponentSpec.model_validate(named).make(kind)
