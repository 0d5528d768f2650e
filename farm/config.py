"""From YAML to a typed experiment: defaults < file < command line.

Everything is checked before anything runs, and a mistake is told by its key, value and rule.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self, cast, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from farm import api, registry
from farm.errors import ExperimentError, UserError, suggestion
from farm.stream import ORDERS
from farm.yaml_reading import override, parse_yaml

EXPERIMENTS = registry.HOME / "experiments"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ComponentSpec(BaseModel):
    """A component by name; every other key is one of its parameters."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str
    alias: str | None = Field(default=None, alias="as")

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @property
    def parameters(self) -> dict[str, Any]:
        """The component's parameters that the experiment sets."""
        return dict(self.model_extra or {})

    def make(self, kind: registry.Kind) -> api.Component:
        """Make the component."""
        keys = [field.alias or name for name, field in type(self).model_fields.items()]
        return registry.make(kind, self.name, self.parameters, self.alias, other_keys=keys)


class CalibrationSpec(_Strict):
    """How thresholds are set: see `farm.api.CalibrationRule`."""

    method: str = "id-quantile"
    accept: float = 0.95
    threshold: float | None = None

    def rule(self) -> api.CalibrationRule:
        """Make the rule, which checks the values."""
        if "accept" in self.model_fields_set and self.method not in ("id-quantile", "per-class"):
            raise ExperimentError(
                f"calibration.accept is {self.accept}, which method '{self.method}' would not use; "
                "leave it out"
            )
        return api.CalibrationRule(self.method, self.accept, self.threshold)


class MonitorSpec(ComponentSpec):
    """A monitor by name, with a calibration, a policy and a fallback of its own where it wants them."""

    calibration: CalibrationSpec | None = None
    policy: ComponentSpec | None = None
    fallback: ComponentSpec | None = None


class FaultSpec(ComponentSpec):
    """A faultload by name, at one severity.

    `share` is its part of the OOD instances beside other faults; `both` applies it to ID and OOD instances
    alike, after all others.
    """

    severity: float | None = Field(default=None, gt=0, strict=True)
    share: float = Field(default=1.0, gt=0, strict=True)
    both: bool = Field(default=False, strict=True)


def _length(value: Any) -> Any:
    if value in (None, "endless") or (type(value) is int and value >= 1):
        return value
    raise ValueError(f"is {value!r}; expected a whole number of at least 1, or 'endless'")


class OrderSpec(ComponentSpec):
    """The order of a stream: `shuffled`, `sequential`, or a schedule by name."""


class StreamSpec(_Strict):
    """What the stream is made of; or a benchmark set that was written to disk."""

    order: OrderSpec = Field(default=OrderSpec(name="shuffled"), strict=False)
    ood_share: float | None = None
    length: Annotated[Any, AfterValidator(_length)] = None
    benchmark: str | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.benchmark and (unused := sorted(self.model_fields_set - {"benchmark"})):
            raise ValueError(f"'{unused[0]}' has no effect beside benchmark, which is a stream already")
        timed = self.order.name not in ORDERS
        if timed and self.ood_share is not None:
            raise ValueError("'ood_share' has no effect on a stream with time; give its order a share")
        if self.length == "endless" and not timed:
            raise ValueError(f"length is 'endless'; a stream in the order '{self.order.name}' has an end")
        return self


class Experiment(_Strict):
    """One workload, one classifier, one stream, and the monitors that are compared on it.

    `policy` is what follows an alarm, `fallback` what takes a cancelled decision's place: `none`, `last`, or
    a second classifier by name. A monitor may have its own.
    """

    name: str = Field(min_length=1, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    description: str = ""
    seed: int = Field(default=0, ge=0)
    workload: ComponentSpec
    classifier: ComponentSpec
    monitors: list[MonitorSpec]
    calibration: CalibrationSpec = CalibrationSpec()
    policy: ComponentSpec = ComponentSpec(name="cancel")
    fallback: ComponentSpec = ComponentSpec(name="none")
    faultload: list[FaultSpec] = []
    stream: StreamSpec = StreamSpec()
    batch_size: int = Field(default=64, ge=1)
    threads: int = Field(default=1, ge=1)
    layers: list[str] = []

    @field_validator("faultload", mode="before")
    @classmethod
    def _as_list(cls, value: Any) -> Any:
        if value is None:
            return []
        return value if isinstance(value, list) else [value]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.monitors:
            raise ValueError("monitors is empty; expected at least one")
        names = [spec.alias or spec.name for spec in self.monitors]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"monitors: two are called '{name}'; give one another name with 'as'")
            if name == "oracle":
                raise ValueError("monitors: 'oracle' is computed when judging; take it out of the list")
        if self.faultload and self.stream.benchmark:
            raise ValueError("stream.benchmark brings its own faults; take faultload out, or benchmark")
        return self


def load_experiment(where: str, overrides: Sequence[str] = ()) -> tuple[Experiment, Path]:
    """Read an experiment by path or by bare name; give it with the folder for relative paths and own modules.

    That is where its file lies; the current folder for a shipped experiment, beside which nobody has files.
    """
    path = find_experiment(where)
    folder = path.parent if path == Path(where) else Path()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ExperimentError(f"{path} cannot be read: {error}") from error
    values = parse_yaml(text, str(path))
    if not isinstance(values, dict):
        raise ExperimentError(f"{path} holds a {type(values).__name__}; expected keys and values")
    values.setdefault("name", re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem))
    for text in overrides:
        override(values, text)
    values["faultload"] = listed(values.get("faultload"), folder)
    return parse_experiment(values, str(path)), folder.resolve()


def listed(faultload: Any, folder: Path) -> Any:
    """Replace `{list: FILE, entry: NAME}` by what that file says under that name.

    A list is looked for beside the experiment, then among those that ship with the testbed.
    """
    if isinstance(faultload, list):
        return [listed(one, folder) for one in faultload]
    if not isinstance(faultload, dict) or "list" not in faultload:
        return faultload
    if not {"list", "entry"} <= set(faultload) <= {"list", "entry", "share", "both"}:
        raise ExperimentError("faultload: a list takes 'list', 'entry', 'share' and 'both', and nothing else")
    name = str(faultload["list"])
    beside, shipped = folder / name, EXPERIMENTS / "faultloads" / f"{name}.yaml"
    path = beside if beside.is_file() else shipped
    if not path.is_file():
        known = [p.stem for p in (EXPERIMENTS / "faultloads").glob("*.yaml")]
        raise ExperimentError(
            f"faultload: list '{name}' is no file and not shipped; {suggestion(name, known)}"
        )
    entries = parse_yaml(path.read_text(encoding="utf-8"), str(path))
    entry = str(faultload["entry"])
    if not isinstance(entries, dict) or entry not in entries:
        hint = suggestion(entry, entries) if isinstance(entries, dict) else "it holds no names"
        raise ExperimentError(f"faultload: list '{name}' has no entry '{entry}'; {hint}")
    beside_it = {key: value for key, value in faultload.items() if key not in ("list", "entry")}
    return {**entries[entry], **beside_it}


def find_experiment(where: str) -> Path:
    """Find a file, or one of the shipped experiments by its bare name."""
    path = Path(where)
    if path.suffix in (".yaml", ".yml") or path.exists():
        if path.is_file():
            return path
        kind = "is a folder" if path.is_dir() else "is not there"
        raise ExperimentError(f"{path} {kind}; expected an experiment file (YAML)")
    shipped = EXPERIMENTS / f"{where}.yaml"
    if shipped.is_file() and shipped.parent == EXPERIMENTS:
        return shipped
    known = [p.stem for p in EXPERIMENTS.glob("*.yaml")]
    raise ExperimentError(f"experiment '{where}' is neither a file nor shipped; {suggestion(where, known)}")


def parse_experiment(values: Mapping[str, Any], where: str) -> Experiment:
    """Turn plain values into a typed experiment."""
    try:
        return Experiment.model_validate(values)
    except ValidationError as error:
        told = _explain(error)
        if not isinstance(values.get("faultload"), list):
            told = told.replace("faultload.0", "faultload")  # a single one is no list to who wrote it
        raise ExperimentError(f"{where}: {told}") from None


_RULES = {
    "bool_type": "true or false",
    "float_type": "a number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_attributes_type": "keys and values",
    "model_type": "a name, or keys and values with a name",
    "string_pattern_mismatch": "letters, digits, '.', '_' and '-'",
    "string_type": "text",
}
"""What was expected, in the words of somebody who writes YAML."""


def _explain(error: ValidationError) -> str:
    messages = []
    for problem in error.errors(include_url=False, include_context=False):
        key = ".".join(str(part) for part in problem["loc"]) or "experiment"
        if problem["type"] == "extra_forbidden":
            messages.append(f"unknown key '{key}'; {suggestion(str(problem['loc'][-1]), _siblings(problem))}")
        elif problem["type"] == "missing":
            messages.append(f"'{key}' is missing")
        elif problem["type"] == "value_error":
            told = problem["msg"].removeprefix("Value error, ")
            between = " " if told.startswith("is ") else ": "
            messages.append(key + between + told if problem["loc"] else told)
        else:
            rule = _RULES.get(problem["type"]) or problem["msg"].removeprefix("Input should be ")
            rule = rule.replace("greater than or equal to", "at least")
            messages.append(f"{key} is {problem['input']!r}; expected {rule}")
    return "; ".join(messages)


def _siblings(problem: Any) -> list[str]:
    """Give the keys that are known where an unknown one stood."""
    model: type[BaseModel] = Experiment
    for part in problem["loc"][:-1]:
        field = model.model_fields.get(str(part))
        inner = field.annotation if field else None
        for candidate in (inner, *get_args(inner)):
            if isinstance(candidate, type) and issubclass(candidate, BaseModel):
                model = candidate
    return list(model.model_fields)


def rule_for(
    monitor: api.Monitor, own: CalibrationSpec | None, default: api.CalibrationRule
) -> api.CalibrationRule:
    """Give the rule that a monitor is calibrated by: its own, or that of the whole experiment."""
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
    """Give the experiment as JSON with every component's parameters filled in, defaults included.

    `of_monitors` are, by key, the components that each monitor may have of its own.
    """
    values = experiment.model_dump(mode="json", by_alias=True, exclude_none=True)
    for key, made in components.items():
        specs = values[key] if isinstance(values[key], list) else [values[key]]
        for spec, component in zip(specs, made, strict=True):
            spec.update(_jsonable(component.parameters, key))
    for key, owned in (of_monitors or {}).items():
        for spec, own in zip(values["monitors"], owned, strict=True):
            if key in spec and own is not None:
                spec[key].update(_jsonable(own.parameters, f"monitors.{key}"))
    return values


def _jsonable(parameters: Mapping[str, Any], key: str) -> dict[str, Any]:
    try:
        return cast(dict[str, Any], json.loads(json.dumps(dict(parameters), allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise UserError(f"{key}: a parameter cannot be written down as JSON: {error}") from error
