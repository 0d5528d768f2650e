"""A campaign as its file says it: an experiment with lists, which expands to cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)

from farm.campaign.expanding import Cell, expand
from farm.campaign.jobs import Limits
from farm.config.experiment import Experiment, Settings, experiment_of
from farm.config.explaining import explain
from farm.config.files import PLURALS, Written, all_listed, listed, with_scenario
from farm.config.specs import (
    NO_FAULT,
    ClassifierSpec,
    ComponentSpec,
    FaultSpec,
    OcclusionSpec,
    ReadoutsSpec,
    SplitName,
    Strict,
    ValidationFaultSpec,
    as_faults,
)
from farm.errors import ExperimentError, UserError
from farm.protocols import as_campaign
from farm.run.loading import written


def _one_or_several(value: Any) -> Any:
    if value is None or value == []:
        raise ValueError(f"is {value!r}; expected a value, or a list of them")
    return value if isinstance(value, list) else [value]


def _no_fault_too(value: Any) -> Any:
    named = [NO_FAULT if one is None else one for one in value] if isinstance(value, list) else value
    return _one_or_several(NO_FAULT if named is None else named)


Texts = Annotated[list[str] | None, BeforeValidator(_one_or_several)]


class Exclusion(Strict):
    """Cells that are left out, where all that is said holds; with `monitor`, that monitor leaves them."""

    workload: Texts = None
    classifier: Texts = None
    faultload: Annotated[list[str] | None, BeforeValidator(_no_fault_too)] = None
    severity: Annotated[list[float] | None, BeforeValidator(_one_or_several)] = None
    validation_fault: Texts = None
    seed: Annotated[list[int] | None, BeforeValidator(_one_or_several)] = None
    monitor: Texts = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError(f"is empty; expected one of: {', '.join(type(self).model_fields)}")
        return self

    @property
    def asked(self) -> dict[str, Sequence[Any]]:
        """The values of each key that is there."""
        return {key: getattr(self, key) for key in type(self).model_fields if key in self.model_fields_set}


class LimitSpec(Strict):
    """What a cell may take before its process is ended; without `memory_gb`, all the memory it wants."""

    seconds: float = Field(default=3600.0, gt=0, allow_inf_nan=False)
    memory_gb: float | None = Field(default=None, gt=0, allow_inf_nan=False)

    def limits(self) -> Limits:
        """Return the limits in seconds and bytes."""
        return Limits(self.seconds, None if self.memory_gb is None else round(self.memory_gb * 1e9))


def _severity(value: Any) -> Any:
    if value is None:
        return value
    for one in value if isinstance(value, list) and value else [value]:
        if isinstance(one, bool) or not isinstance(one, int | float) or not 0 < one < float("inf"):
            raise ValueError(f"is {value!r}; expected a number above 0, or a list of them")
    return value


class OwnStreamSpec(Strict):
    """What is otherwise in the stream of a fault than in the campaign's others."""

    ood_share: float | None = None
    length: int | None = Field(default=None, ge=1)
    split: SplitName = "test"

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError(f"is empty; expected one of: {', '.join(type(self).model_fields)}")
        return self


class OwnReadoutsSpec(ReadoutsSpec):
    """What is otherwise in the readouts of a fault than in the campaign's others."""

    layers: list[str] = Field(default=[])
    occlusion: OcclusionSpec | None = None

    def settings(self) -> dict[str, Any]:
        """Return what was said, by the keys of an experiment."""
        said = self.model_dump(exclude_unset=True)
        inside = {key: said.pop(key) for key in ReadoutsSpec.model_fields if key in said}
        return {**said, "readouts": inside} if inside else said


class FaultloadSpec(FaultSpec):
    """A fault as a campaign has it: at one severity, or at each of a list, which makes a cell each.

    `stream` is what its cells have otherwise than the campaign's stream: their share of OOD, their length,
    their split; `readouts` are what these keep otherwise: layers, heat maps, probabilities. `none` is no
    fault: a stream of its own, with a name of its own.
    """

    severity: Annotated[Any, AfterValidator(_severity)] = None
    stream: OwnStreamSpec | None = None
    readouts: OwnReadoutsSpec | None = None

    @model_validator(mode="after")
    def _none_says_nothing(self) -> Self:
        said = self.model_fields_set - {"name", "alias", *_OF_CELLS} | set(self.parameters)
        if self.name == NO_FAULT and said:
            raise ValueError(f"'{NO_FAULT}' is no fault, which has no '{min(said)}'; leave it out")
        return self

    def at(self, severity: float | None) -> FaultSpec:
        """Return it at one severity."""
        values = self.model_dump(by_alias=True, exclude_unset=True, exclude=_OF_CELLS)
        return FaultSpec.model_validate({**values, "severity": severity})


_OF_CELLS = {"stream", "readouts"}
"""The keys of a fault that are about its cells."""


def _one_stream_at_most(faults: list[FaultloadSpec]) -> list[FaultloadSpec]:
    said = [fault.name for fault in faults if fault.stream is not None or fault.readouts is not None]
    if len(said) > 1:
        raise ValueError(
            f"'{said[0]}' and '{said[1]}' are in one stream and both say what it is; expected one"
        )
    return faults


def _one_severity_each(faults: list[FaultloadSpec]) -> list[FaultloadSpec]:
    for fault in faults:
        if len(faults) > 1 and isinstance(fault.severity, list):
            raise ValueError(
                f"'{fault.name}' has a list of severities beside another fault; expected one severity each: "
                "write each combination as an item of its own"
            )
    return faults


def _none_alone(faults: list[FaultloadSpec]) -> list[FaultloadSpec]:
    others = [fault.name for fault in faults if fault.name != NO_FAULT]
    if others and len(others) < len(faults):
        raise ValueError(
            f"'{NO_FAULT}' is no fault, and stands in one stream with '{others[0]}'; leave one out"
        )
    return faults


Streamed = Annotated[
    list[FaultloadSpec],
    BeforeValidator(as_faults),
    AfterValidator(_one_severity_each),
    AfterValidator(_one_stream_at_most),
    AfterValidator(_none_alone),
]
"""The faults of one stream: one or several; empty where there are ID instances alone."""


class Campaign(Settings):
    """An experiment with lists in the place of a workload, a classifier, a faultload or a seed.

    Every combination of their items is a cell. `repetitions` are as many seeds from `seed` on. `severities`
    are those of each single fault that has severities and says none.

    Examples
    --------
    >>> values = {"workload": "signs", "classifier": "lenet", "monitors": ["odin"], "seeds": [0, 1]}
    >>> [cell.title for cell in parse_campaign({"name": "two", **values}, "two.yaml").cells()]
    ['signs, lenet, no fault, seed 0', 'signs, lenet, no fault, seed 1']
    """

    workload: ComponentSpec | None = None
    workloads: list[ComponentSpec] | None = None
    classifier: ClassifierSpec | None = None
    classifiers: list[ClassifierSpec] | None = None
    faultload: Streamed | None = None
    faultloads: list[Streamed] | None = None
    severities: list[Annotated[float, Field(gt=0, allow_inf_nan=False)]] | None = None
    validation_fault: ValidationFaultSpec | None = None
    validation_faults: list[ValidationFaultSpec] | None = None
    seeds: list[Annotated[int, Field(ge=0)]] | None = None
    repetitions: int | None = Field(default=None, ge=1)
    exclude: list[Exclusion] = Field(default=[])
    limits: LimitSpec = LimitSpec()
    protocol: dict[str, Any] | None = None
    """What the file of a protocol said, which wrote all else."""

    @field_validator(
        *("workload", "workloads", "classifier", "classifiers", "faultloads"),
        *("severities", "validation_fault", "validation_faults", "seeds", "repetitions"),
        mode="before",
    )
    @classmethod
    def _not_null(cls, value: Any) -> Any:
        if value is None:
            raise ValueError("is None; give it a value or leave it out")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        given = self.model_fields_set
        for plural, singular in PLURALS.items():
            if {plural, singular} <= given:
                raise ValueError(f"'{singular}' has no place beside '{plural}'; leave one of them out")
        for singular in ("workload", "classifier"):
            if not {singular, f"{singular}s"} & given:
                raise ValueError(f"'{singular}' is missing; expected it, or a list '{singular}s'")
        if {"repetitions", "seeds"} <= given:
            raise ValueError(
                "'repetitions' are that many seeds from 'seed' on, which leaves no place for 'seeds'; leave "
                "one of them out"
            )
        for key in (*PLURALS, "severities"):
            items = getattr(self, key)
            if items == []:
                raise ValueError(f"{key} is empty; expected at least one")
            for item in items or ():
                if key != "faultloads" and items.count(item) > 1:
                    shown = item.name if isinstance(item, ComponentSpec) else f"{item:g}"
                    raise ValueError(f"{key}: {shown} stands there twice; leave one out")
        if self.stream.benchmark and (self.faultload or self.faultloads or self.severities):
            raise ValueError("stream.benchmark brings its own faults; take all others out, or benchmark")
        return self

    @model_serializer(mode="wrap")
    def _as_written(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Beside seeds there is no seed, not even the one there is by default."""
        values: dict[str, Any] = handler(self)
        if self.seeds is not None:
            values.pop("seed", None)
        return values

    @property
    def all_seeds(self) -> list[int]:
        """The seeds of the cells."""
        return self.seeds or [self.seed + i for i in range(self.repetitions or 1)]

    def cells(self, folder: Path | None = None) -> list[Cell]:
        """Return all cells; those that share a classifier stand together.

        No component is made but to find out whether a faultload takes `severities`; `folder` is where the
        user's own modules are looked for.
        """
        return expand(self, folder)


def load(where: str, overrides: Sequence[str] = ()) -> tuple[Experiment | Campaign, Path]:
    """Read an experiment or a campaign; give it with the folder for relative paths and own modules.

    It is a campaign where it has a key that only campaigns have.
    """
    source = written(where, overrides)
    if source.campaign_key is None:
        return experiment_of(source), source.folder
    return _campaign_of(source), source.folder


def parse_campaign(values: Mapping[str, Any], where: str, folder: Path = Path()) -> Campaign:
    """Turn plain values into a typed campaign."""
    return _campaign_of(Written(dict(values), Path(where), folder))


def _campaign_of(written: Written) -> Campaign:
    try:
        values = as_campaign(written.values, written.folder)
    except UserError as error:
        raise type(error)(f"{written.path}: {error}") from error
    places: dict[str, list[str]] = {}
    if "faultload" in values:
        values["faultload"] = listed(values["faultload"], written.folder)
    if "stream" in values:
        values["stream"] = with_scenario(values["stream"], written.folder)
    if isinstance(values.get("faultloads"), list):
        items = [all_listed(item, written.folder) for item in values["faultloads"]]
        values["faultloads"] = [fault for item in items for _, fault in item]
        places["faultloads"] = [
            f"{number}.{entry}" if entry else str(number)
            for number, item in enumerate(items)
            for entry, _ in item
        ]
    try:
        campaign = Campaign.model_validate(values)
        campaign.cells(written.folder)  # so that whatever is wrong is told here, with the file
    except ValidationError as error:
        mistake = explain(error, Campaign, values, places=places)
        raise ExperimentError(f"{written.path}: {mistake}") from None
    except UserError as error:
        raise type(error)(f"{written.path}: {error}") from error
    return campaign
