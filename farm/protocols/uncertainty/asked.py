"""An evaluation of uncertainty as its file says it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from farm.config.files import read_mapping
from farm.config.specs import (
    NO_FAULT,
    ClassifierSpec,
    ComponentSpec,
    MonitorSpec,
    Strict,
    ValidationFaultSpec,
)
from farm.errors import ExperimentError, suggestion
from farm.judging.merging import OTHER
from farm.protocols.shared import check_once, titled

VANILLA, ENSEMBLE, OWN = "vanilla", "ensemble", "own"
LAST_LAYER, AFTER_BACKBONE, HEAD, EVERYWHERE = "last-layer", "after-backbone", "head", "everywhere"
DROPOUT = (LAST_LAYER, AFTER_BACKBONE, HEAD, EVERYWHERE)
VARIANTS = (VANILLA, *DROPOUT, ENSEMBLE)
"""The ways of telling uncertainty; what is no network of these is `own`."""
VALIDATION, MERGED_ID = "validation data", "none, merged"
OWN_NAMES = (NO_FAULT, VALIDATION, MERGED_ID)
"""What streams and results are called that are of no shift."""
NOVELTY = "novelty"
OF_MEMBERS = ("mutual-information", "box-spread")
"""Monitors of what only several passes, or several networks, tell."""
PLANNED = ("name", "as", "engine", "backbone", "variant", "passes")
"""What the evaluation itself says of each network."""
RATES = ("dropout", "box_dropout")


class MergedSpec(Strict):
    """How classes are merged for shifts whose images know fewer of them.

    `probabilities` of a group are `summed` before the most likely one is chosen; or the `greatest` of all
    classes is chosen first.
    """

    groups: dict[str, Annotated[list[str], Field(min_length=1)]]
    shifts: Annotated[list[str], Field(min_length=1)]
    probabilities: Literal["summed", "greatest"] = "summed"

    @property
    def summed(self) -> bool:
        """Whether probabilities are added up before one is chosen."""
        return self.probabilities == "summed"


class OwnClassifierSpec(ClassifierSpec):
    """A classifier of one's own; without `monitors`, it has all of those that need one pass alone."""

    monitors: list[str] | None = None


class Uncertainty(Strict):
    """What an evaluation of uncertainty asks: networks in several variants, and shifts."""

    name: str
    protocol: Literal["uncertainty"]
    description: str = ""
    seed: int = 0
    repetitions: int = Field(default=1, ge=1)
    workload: ComponentSpec
    backbones: Annotated[list[ComponentSpec], Field(strict=False)] = Field(
        default=[ComponentSpec(name="cnn")]
    )
    variants: Annotated[list[str], Field(min_length=1)] = Field(default=[*VARIANTS])
    network: dict[str, Any] = Field(default={})
    rates: dict[str, dict[str, dict[str, Any]]] = Field(default={})
    passes: int = Field(default=20, ge=2)
    members: int = Field(default=5, ge=2)
    classifiers: Annotated[list[OwnClassifierSpec], Field(strict=False)] = Field(default=[])
    shifts: Annotated[list[ValidationFaultSpec], Field(min_length=1, strict=False)]
    merged: MergedSpec | None = None
    coverage: float = Field(default=0.9, gt=0, lt=1)
    monitors: Annotated[list[MonitorSpec], Field(strict=False)] = Field(
        default=[MonitorSpec(name=name) for name in ("entropy", *OF_MEMBERS)]
    )
    criteria: str | None = None
    batch_size: int = 64
    threads: int = 1
    limits: dict[str, Any] = Field(default={})
    pictures: Any = "none"

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.backbones and not self.classifiers:
            raise ValueError("backbones and classifiers are both empty; expected at least one")
        for name in self.variants:
            if name not in VARIANTS:
                raise ValueError(f"variants has '{name}', which is not known; {suggestion(name, VARIANTS)}")
        check_once(
            (
                ("backbones", self.backbone_names),
                ("variants", self.variants),
                ("classifiers", [titled(one) for one in self.classifiers]),
                ("shifts", self.shift_names),
                ("monitors", self.monitor_names),
            ),
            renamed=("backbones", "classifiers", "shifts", "monitors"),
        )
        for name in self.shift_names:
            if name in OWN_NAMES:
                raise ValueError(
                    f"shifts: '{name}' is what results call something else; give the shift another name with "
                    "'as'"
                )
        self._check_parameters()
        self._check_shifts()
        self._check_merged()
        for one in self.classifiers:
            for name in one.monitors or ():
                if name not in self.monitor_names:
                    hint = suggestion(name, self.monitor_names)
                    raise ValueError(
                        f"classifiers: '{titled(one)}' has the monitor '{name}', which is not among "
                        f"monitors; {hint}"
                    )
        return self

    def _check_parameters(self) -> None:
        """Raise where what networks are told is said in a wrong place, or of none of them."""
        given = [
            ("network", self.network),
            *((f"backbones: '{titled(b)}'", b.parameters) for b in self.backbones),
        ]
        for backbone, of_variant in self.rates.items():
            if backbone not in self.backbone_names:
                hint = suggestion(backbone, self.backbone_names)
                raise ValueError(f"rates has '{backbone}', which is none of the backbones; {hint}")
            for variant, said in of_variant.items():
                place = f"rates.{backbone}.{variant}"
                if variant == ENSEMBLE:
                    raise ValueError(
                        f"{place} has no place there: its members are as {VANILLA}; say it of that"
                    )
                if variant not in VARIANTS:
                    hint = suggestion(variant, VARIANTS)
                    raise ValueError(f"rates.{backbone} has '{variant}', which is no variant; {hint}")
                if variant == VANILLA and (rate := next((name for name in RATES if name in said), None)):
                    raise ValueError(f"{place} has '{rate}', and {VANILLA} has no dropout; leave it out")
                given.append((place, said))
        for place, said in given:
            for name in PLANNED:
                if name in said:
                    raise ValueError(f"{place} has '{name}', which the evaluation says itself; leave it out")
            for name in RATES:
                if said.get(name) == 0:
                    raise ValueError(
                        f"{place} has {name} 0, which makes each variant {VANILLA}; expected a rate above 0"
                    )

    def _check_shifts(self) -> None:
        """Raise where images of other data would lose their labels, or take the test data's name."""
        for one in self.shifts:
            if one.name != NOVELTY:
                continue
            if (shared := one.parameters.get("shared", "map")) != "map":
                raise ValueError(
                    f"shifts: '{titled(one)}' has shared: {shared}; leave it out: images keep the classes "
                    "that they have here"
                )
            workload = one.parameters.get("workload")
            if isinstance(workload, dict) and workload.get("as") == self.workload_name:
                raise ValueError(
                    f"shifts: the images of '{titled(one)}' are called '{self.workload_name}', as the "
                    "workload is; give them another name with 'as'"
                )

    def _check_merged(self) -> None:
        if self.merged is None:
            return
        check_once((("merged.shifts", self.merged.shifts),), renamed=())
        for name in self.merged.shifts:
            if name not in self.shift_names:
                hint = suggestion(name, self.shift_names)
                raise ValueError(f"merged.shifts has '{name}', which is none of the shifts; {hint}")
        if not self.merged.groups:
            raise ValueError("merged.groups is empty; expected at least one")
        if OTHER in self.merged.groups:
            raise ValueError(
                f"merged.groups: '{OTHER}' are all classes that are in none; name the group otherwise"
            )
        group_of: dict[str, str] = {}
        for group, classes in self.merged.groups.items():
            for name in classes:
                if name in group_of:
                    raise ValueError(
                        f"merged.groups: class '{name}' is in '{group_of[name]}' and '{group}'; expected one"
                    )
                group_of[name] = group

    @property
    def workload_name(self) -> str:
        """What the test data are called."""
        title = self.workload.parameters.get("title")
        return self.workload.alias or (title if isinstance(title, str) else self.workload.name)

    @property
    def backbone_names(self) -> list[str]:
        """What tables call the backbones of which variants are trained."""
        return [titled(one) for one in self.backbones]

    @property
    def shift_names(self) -> list[str]:
        """What tables call the shifts."""
        return [titled(one) for one in self.shifts]

    @property
    def monitor_names(self) -> list[str]:
        """What tables call the monitors."""
        return [titled(one) for one in self.monitors]

    @cached_property
    def of_members(self) -> list[str]:
        """The monitors that one pass alone gives nothing."""
        return [titled(one) for one in self.monitors if one.name in OF_MEMBERS]

    def is_merged(self, shift: str) -> bool:
        """Whether classes are merged for a shift."""
        return self.merged is not None and shift in self.merged.shifts

    def network_of(self, backbone: ComponentSpec, variant: str) -> dict[str, Any]:
        """Return a network of a backbone, as a file would say it: what is said most closely goes first."""
        rates = self.rates.get(titled(backbone), {}).get(variant, {})
        passes = {"passes": self.passes} if variant in DROPOUT else {}
        said = {**self.network, **backbone.parameters, **rates, **passes}
        return {"name": "what-and-where", "backbone": backbone.name, "variant": variant, **said}


def with_rates(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Put what files say in the place of their names: `rates` is one, or has one for a backbone.

    A file for all has what `rates` would have; one for a backbone has parameters by variant.
    """
    rates = values.get("rates")
    if isinstance(rates, str):
        rates = _read(rates, folder, "rates")
    if not isinstance(rates, dict):
        return dict(values)
    read = {
        name: _read(said, folder, f"rates.{name}") if isinstance(said, str) else said
        for name, said in rates.items()
    }
    return {**values, "rates": {name: _without_variant(said) for name, said in read.items()}}


def _without_variant(said: Any) -> Any:
    """Leave the variant out where parameters stand under it and say it, as `farm tune` writes them."""
    if not isinstance(said, dict):
        return said
    return {
        variant: {key: value for key, value in own.items() if (key, value) != ("variant", variant)}
        if isinstance(own, dict)
        else own
        for variant, own in said.items()
    }


def _read(name: str, folder: Path, key: str) -> dict[str, Any]:
    path = folder / name
    if not path.is_file():
        raise ExperimentError(
            f"{key}: {path} is no file; expected parameters by variant, or a file with them, such as "
            "`farm tune` writes"
        )
    return read_mapping(path)
