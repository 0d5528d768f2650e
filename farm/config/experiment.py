"""From YAML to a typed experiment: defaults < file < command line.

Everything is checked before anything runs, and a mistake is told by its key, value and rule.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from farm import api
from farm.api import ORDERS
from farm.api.context import MOST_THREADS
from farm.config.explaining import explain
from farm.config.files import CAMPAIGN_KEYS, EXPERIMENTS, PLURALS, Written, listed, with_scenario
from farm.config.specs import (
    TEST,
    CalibrationSpec,
    ClassifierSpec,
    ComponentSpec,
    FaultSpec,
    MonitorSpec,
    OcclusionSpec,
    OrderSpec,
    ReadoutsSpec,
    StreamSpec,
    Strict,
    ValidationFaultSpec,
    as_faults,
)
from farm.errors import ExperimentError, UserError

__all__ = [
    "EXPERIMENTS",
    "MOST_PICTURES",
    "NO_PICTURES",
    "CalibrationSpec",
    "ClassifierSpec",
    "ComponentSpec",
    "Experiment",
    "FaultSpec",
    "MonitorSpec",
    "OcclusionSpec",
    "OrderSpec",
    "ReadoutsSpec",
    "Settings",
    "StreamSpec",
    "ValidationFaultSpec",
    "experiment_of",
    "listed",
    "parse_experiment",
    "resolved",
    "rule_for",
]


NO_PICTURES = "none"
IF_THERE = "?"
"""Stands behind the name of a layer that is kept where the classifier has it."""
MOST_PICTURES = 50


def _pictures(value: Any) -> Any:
    if value == NO_PICTURES or (type(value) is int and 1 <= value <= MOST_PICTURES):
        return value
    raise ValueError(f"is {value!r}; expected a whole number from 1 to {MOST_PICTURES}, or '{NO_PICTURES}'")


class Settings(Strict):
    """What an experiment has one of, and all cells of a campaign in common.

    `policy` is what follows an alarm, `fallback` what takes a cancelled decision's place: `none`, `last`, or
    a second classifier by name. A monitor may have its own. `pictures` are how many images are kept of each
    monitor's mistakes of each kind, beside samples, for a report to show; `none` keeps no image at all.
    `layers` are kept in the readouts; maps come whole, or with one value a channel as `max of conv2` or
    `mean of conv2`. One with a question mark, such as `conv2?`, is kept where the classifier has it.
    `readouts` are what else is kept of each instance. With `occlusion`, heat maps of some are made.
    """

    name: str = Field(min_length=1, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    description: str = ""
    seed: int = Field(default=0, ge=0, lt=2**63)
    monitors: list[MonitorSpec]
    calibration: CalibrationSpec = CalibrationSpec()
    policy: ComponentSpec = ComponentSpec(name="cancel")
    fallback: ComponentSpec = ComponentSpec(name="none")
    stream: StreamSpec = StreamSpec()
    batch_size: int = Field(default=64, ge=1, lt=2**63)
    threads: int = Field(default=1, ge=1, le=MOST_THREADS)
    layers: list[str] = Field(default=[])
    readouts: ReadoutsSpec = ReadoutsSpec()
    pictures: Annotated[Any, AfterValidator(_pictures)] = 6
    occlusion: OcclusionSpec | None = None

    @model_validator(mode="after")
    def _named_apart(self) -> Self:
        if not self.monitors:
            raise ValueError("monitors is empty; expected at least one")
        names = [spec.alias or spec.name for spec in self.monitors]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"monitors: two are called '{name}'; give one another name with 'as'")
            if name == "oracle":
                raise ValueError("monitors: 'oracle' is computed when judging; take it out of the list")
        return self

    @property
    def observed_layers(self) -> Mapping[str, bool]:
        """The layers that readouts keep, as a classifier is asked for them, and whether it must have each."""
        names = {name.removesuffix(IF_THERE): not name.endswith(IF_THERE) for name in self.layers}
        return {api.layer_named(name): needed for name, needed in names.items()}


class Experiment(Settings):
    """One workload, one classifier, one stream, and the monitors that are compared on it.

    `validation_fault` gives outliers to monitors and thresholds that learn from any; what learned from them
    stands in no ranking.
    """

    workload: ComponentSpec
    classifier: ClassifierSpec
    faultload: Annotated[list[FaultSpec], BeforeValidator(as_faults)] = Field(default=[])
    validation_fault: ValidationFaultSpec | None = None

    @model_validator(mode="after")
    def _one_stream(self) -> Self:
        if self.faultload and self.stream.benchmark:
            raise ValueError("stream.benchmark brings its own faults; take faultload out, or benchmark")
        if self.faultload and self.stream.split != TEST:
            raise ValueError(
                f"stream.split is '{self.stream.split}', which takes no faultload; take one of them out"
            )
        return self


def single_experiment(written: Written) -> Experiment:
    """Turn what a file says into a typed experiment; a campaign is refused."""
    if key := written.campaign_key:
        how = f"choose one with --set {PLURALS[key]}=..." if key in PLURALS else "take that key out"
        raise ExperimentError(
            f"{written.path}: '{key}' makes it a campaign, which only `farm run` takes; expected a single "
            f"experiment: {how}"
        )
    return experiment_of(written)


def experiment_of(written: Written) -> Experiment:
    """Turn what a file says into a typed experiment, with the faults of the lists that it points at."""
    if "experiment" in written.values:
        raise ExperimentError(
            f"{written.path}: 'experiment' makes it a search for parameters, which `farm tune` takes; "
            "expected an experiment"
        )
    values = dict(written.values)
    values["faultload"] = listed(values.get("faultload"), written.folder)
    if "stream" in values:
        values["stream"] = with_scenario(values["stream"], written.folder)
    return parse_experiment(values, str(written.path))


def parse_experiment(values: Mapping[str, Any], where: str) -> Experiment:
    """Turn plain values into a typed experiment."""
    try:
        return Experiment.model_validate(values)
    except ValidationError as error:
        told = explain(error, Experiment, values, more_keys=CAMPAIGN_KEYS)
        raise ExperimentError(f"{where}: {told}") from None


def rule_for(
    monitor: api.Monitor, own: CalibrationSpec | None, default: api.CalibrationRule
) -> api.CalibrationRule:
    """Return the rule that a monitor is calibrated by: its own, or that of the whole experiment."""
    if own is None:
        return default
    if monitor.fixed_threshold is not None:
        raise ExperimentError(
            f"monitor '{monitor.name}' sets its threshold itself ({monitor.fixed_threshold:g}), so that its "
            "calibration would have no effect; leave one of them out"
        )
    return own.rule()


def resolved(
    experiment: Experiment,
    components: Mapping[str, Sequence[api.Component]],
    of_monitors: Mapping[str, Sequence[api.Component | None]] | None = None,
) -> dict[str, Any]:
    """Return the experiment as JSON with every component's parameters filled in, defaults included.

    `of_monitors` are, by key, the components that each monitor may have of its own. What is given can be
    parsed again, and is the same experiment.
    """
    values = experiment.model_dump(mode="json", by_alias=True, exclude_none=True)
    for key, made in components.items():
        specs = values[key] if isinstance(values[key], list) else [values[key]]
        for spec, component in zip(specs, made, strict=True):
            _fill_in(spec, component, key)
    for key, owned in (of_monitors or {}).items():
        for spec, own in zip(values["monitors"], owned, strict=True):
            if key in spec and own is not None:
                _fill_in(spec[key], own, f"monitors.{key}")
    order = experiment.stream.order
    if order.name not in ORDERS:
        _fill_in(values["stream"]["order"], order.make("schedule"), "stream.order")
    return values


_OF_KEY: Mapping[str, type[ComponentSpec]] = {
    "classifier": ClassifierSpec,
    "faultload": FaultSpec,
    "validation_fault": ValidationFaultSpec,
    "monitors": MonitorSpec,
}


def _fill_in(spec: dict[str, Any], component: api.Component, key: str) -> None:
    """Add a component's parameters, but what no experiment could say: it is the same again by itself."""
    of_spec = _OF_KEY.get(key, ComponentSpec)
    unsaid = {name for name, p in api.parameters_of(type(component)).items() if not _is_json(p.default)}
    unsaid = {*of_spec.own_keys(), *(unsaid - set(spec))}
    values = {name: value for name, value in component.parameters.items() if name not in unsaid}
    try:
        spec.update(json.loads(json.dumps(values, allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise UserError(f"{key}: a parameter cannot be written down as JSON: {error}") from error


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True
