"""A campaign as its file says it: an experiment with lists, which expands to cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)

from farm.campaign.expanding import Cell, expand
from farm.campaign.pieces import Exclusion, LimitSpec, Streamed
from farm.config import Experiment, Settings, experiment_of
from farm.errors import ExperimentError, UserError
from farm.experiment_files import PLURALS, Written, all_listed, listed, read_written
from farm.explaining import explain
from farm.specs import ComponentSpec

__all__ = ["Campaign", "Cell", "load", "parse_campaign"]


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
    classifier: ComponentSpec | None = None
    classifiers: list[ComponentSpec] | None = None
    faultload: Streamed | None = None
    faultloads: list[Streamed] | None = None
    severities: list[Annotated[float, Field(gt=0, allow_inf_nan=False)]] | None = None
    seeds: list[Annotated[int, Field(ge=0)]] | None = None
    repetitions: int | None = Field(default=None, ge=1)
    exclude: list[Exclusion] = Field(default=[])
    limits: LimitSpec = LimitSpec()

    @field_validator(
        *("workload", "workloads", "classifier", "classifiers", "faultloads"),
        *("severities", "seeds", "repetitions"),
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
                    told = item.name if isinstance(item, ComponentSpec) else f"{item:g}"
                    raise ValueError(f"{key}: {told} stands there twice; leave one out")
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
        """Give all cells; those that share a classifier stand together.

        No component is made but to find out whether a faultload takes `severities`; `folder` is where the
        user's own modules are looked for.
        """
        return expand(self, folder)


def load(where: str, overrides: Sequence[str] = ()) -> tuple[Experiment | Campaign, Path]:
    """Read an experiment or a campaign; give it with the folder for relative paths and own modules.

    It is a campaign where it has a key that only campaigns have.
    """
    written = read_written(where, overrides)
    if written.campaign_key is None:
        return experiment_of(written), written.folder
    return _campaign_of(written), written.folder


def parse_campaign(values: Mapping[str, Any], where: str, folder: Path = Path()) -> Campaign:
    """Turn plain values into a typed campaign."""
    return _campaign_of(Written(dict(values), Path(where), folder))


def _campaign_of(written: Written) -> Campaign:
    values = dict(written.values)
    places: dict[str, list[str]] = {}
    if "faultload" in values:
        values["faultload"] = listed(values["faultload"], written.folder)
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
        told = explain(error, Campaign, values, places=places)
        raise ExperimentError(f"{written.path}: {told}") from None
    except UserError as error:
        raise type(error)(f"{written.path}: {error}") from error
    return campaign
