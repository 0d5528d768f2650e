"""A robustness evaluation as its file says it, and the campaign that it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from farm.api import ModelSource
from farm.config.explaining import explain
from farm.config.specs import (
    NO_FAULT,
    ClassifierSpec,
    ComponentSpec,
    MonitorSpec,
    Strict,
    ValidationFaultSpec,
)
from farm.errors import ExperimentError, suggestion
from farm.protocols.shared import SHARED, as_written, check_criteria, check_once, fixed_workload, titled
from farm.run.loading import importable

TRANSFORMATIONS = tuple(
    f"robustness-{name}"
    for name in (
        "noise",
        "grey",
        "snow",
        "rain",
        "fog",
        "perspective",
        "blur",
        "rotation",
        "crop",
        "reflection",
    )
)
NATURAL = "natural-images"
STANDARD: Mapping[str, Mapping[str, Any]] = {
    "uniform-noise": {"name": "pure-noise", "distribution": "uniform"},
    "normal-noise": {"name": "pure-noise", "distribution": "normal"},
    NATURAL: {},
    "shuffled-images": {"name": "shuffled-pixels"},
    "mixed-images": {"name": "mixed-halves"},
    "swirled-images": {"name": "swirl"},
    "colour-swap": {"name": "colour-swap"},
}
"""The sets of the literature and the distorted ones, by the names that tables show."""
GANS: tuple[Mapping[str, Any], ...] = (
    {"name": "gan-lee", "as": "lee-gan", "loss": "gan"},
    {"name": "gan-lee", "as": "lee-wgan", "loss": "wgan"},
    {"name": "gan-sricharan", "as": "sricharan-gan-0.005", "loss": "gan", "classifier_loss": 0.005},
    {"name": "gan-sricharan", "as": "sricharan-wgan-0.005", "loss": "wgan", "classifier_loss": 0.005},
    {"name": "gan-sricharan", "as": "sricharan-wgan-0.002", "loss": "wgan", "classifier_loss": 0.002},
    {
        "name": "gan-sricharan",
        "as": "sricharan-wgan-2-epochs",
        "loss": "wgan",
        "classifier_loss": None,
        "epochs": 2,
    },
)
LEVELS = (1, 2, 3, 4, 5)
Part = Literal["classification", "ood"]
Kind = Literal["plain", "transformation", "standard", "pair", "gan"]
PLAIN = "none"
"""What stands for a transformation where there is none."""


@dataclass(frozen=True)
class EvaluatedCondition:
    """What a campaign's fault is in the evaluation."""

    part: Part
    kind: Kind
    name: str
    """What results call it; of a pair the set of natural images and the transformation."""
    group: str
    """The transformation of a pair, or the set that several trainings of a GAN are of; else its name."""
    level: float | None = None
    """Of a pair, at which level both sides are transformed."""


def _short(name: str) -> str:
    """Return a transformation's name as tables show it.

    Examples
    --------
    >>> _short("robustness-fog"), _short("my-rain")
    ('fog', 'my-rain')
    """
    return name.removeprefix("robustness-")


def _list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


class Robustness(Strict):
    """What a robustness evaluation asks of classifiers: transformations and levels, and OOD sets."""

    name: str
    protocol: Literal["robustness"]
    description: str = ""
    seed: int = 0
    repetitions: int = Field(default=20, ge=1)
    workload: ComponentSpec
    classifiers: Annotated[list[ClassifierSpec], Field(min_length=1, strict=False)]
    parts: Annotated[list[Part], Field(min_length=1, strict=False), BeforeValidator(_list)] = Field(
        default=["classification", "ood"]
    )
    transformations: Annotated[list[ValidationFaultSpec], Field(min_length=1, strict=False)] = Field(
        default=[ValidationFaultSpec(name=name) for name in TRANSFORMATIONS]
    )
    levels: Annotated[list[float], Field(min_length=1, strict=False)] = Field(default=[*LEVELS])
    natural: ComponentSpec = ComponentSpec(name="photographs")
    sets: Annotated[list[str], Field(strict=False)] = Field(default=[*STANDARD])
    pairs: bool = True
    gans: Annotated[list[ComponentSpec], Field(strict=False)] = Field(
        default=[ComponentSpec.model_validate(dict(one)) for one in GANS]
    )
    gan_trainings: int = Field(default=10, ge=1)
    gan: dict[str, Any] = Field(default={})
    images: int | None = Field(default=None, ge=10)
    certainty: MonitorSpec = MonitorSpec(name="max-softmax")
    criteria: str | None = None
    batch_size: int = 64
    threads: int = 1
    limits: dict[str, Any] = Field(default={})
    pictures: Any = "none"

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for name in self.sets:
            if name not in STANDARD:
                raise ValueError(f"sets has '{name}', which is not known; {suggestion(name, STANDARD)}")
        check_once(
            (
                ("classifiers", self.classifier_names),
                ("transformations", self.transformation_names),
                ("sets", self.sets),
                ("gans", [titled(one) for one in self.gans]),
                ("levels", [f"{level:g}" for level in self.levels]),
            ),
            renamed=("classifiers", "transformations", "gans"),
        )
        self._check_apart()
        if any(level <= 0 for level in self.levels):
            raise ValueError(f"levels has {min(self.levels):g}; expected numbers above 0")
        if "ood" in self.parts and not (self.sets or self.pairs or self.gans):
            raise ValueError("parts has 'ood', and sets, pairs and gans are all empty; leave 'ood' out")
        if unused := sorted(set(self.gan) & {"seed", "name", "as"}):
            why = "each training has its own" if unused == ["seed"] else "it is said for each of the gans"
            raise ValueError(f"gan.{unused[0]} has no place there: {why}")
        for one in self.gans:
            if "seed" in one.parameters:
                said = f"gans: '{titled(one)}' has seed {one.parameters['seed']}"
                raise ValueError(f"{said}; leave it out: each training has its own, from the file's seed on")
        return self

    def _check_apart(self) -> None:
        """Raise where two conditions would have one name: results of both would be taken for one's."""
        taken = {NO_FAULT: "the test set as it is"}
        for key, names in (
            ("transformations", [{titled(one), _short(titled(one))} for one in self.transformations]),
            ("sets", [{name} for name in self.sets]),
            ("gans", [{titled(one), *self._gan_titles(one)} for one in self.gans]),
        ):
            for name in (name for own in names for name in sorted(own)):
                if name in taken:
                    raise ValueError(f"{key}: '{name}' is {taken[name]}, too; name it otherwise with 'as'")
            taken |= {name: f"one of {key}" for own in names for name in own}

    @property
    def classifier_names(self) -> list[str]:
        """What tables call the classifiers."""
        return [titled(one) for one in self.classifiers]

    @property
    def transformation_names(self) -> list[str]:
        """What tables call the transformations."""
        return [_short(titled(one)) for one in self.transformations]

    @cached_property
    def conditions(self) -> Mapping[str, EvaluatedCondition]:
        """What each of the campaign's faults is, by the name that its cells have."""
        found: dict[str, EvaluatedCondition] = {}
        if "classification" in self.parts:
            found[NO_FAULT] = EvaluatedCondition("classification", "plain", PLAIN, PLAIN)
            for one in self.transformations:
                name = _short(titled(one))
                found[titled(one)] = EvaluatedCondition("classification", "transformation", name, name)
        if "ood" not in self.parts:
            return found
        found |= {name: EvaluatedCondition("ood", "standard", name, name) for name in self.sets}
        for one in self.transformations if self.pairs else ():
            name, level = _short(titled(one)), self.pair_level(one)
            found[f"{NATURAL}+{titled(one)}"] = EvaluatedCondition(
                "ood", "pair", f"{NATURAL}+{name}", name, level
            )
        for gan in self.gans:
            for title in self._gan_titles(gan):
                found[title] = EvaluatedCondition("ood", "gan", title, titled(gan))
        return found

    def levels_of(self, one: ValidationFaultSpec) -> list[float]:
        """Return the levels of a transformation: all, or the one that it says itself."""
        return self.levels if one.severity is None else [one.severity]

    def pair_level(self, one: ValidationFaultSpec) -> float:
        """Return the level at which both sides of a pair are transformed: the highest."""
        return max(self.levels_of(one))

    def _gan_titles(self, gan: ComponentSpec) -> list[str]:
        return [f"{titled(gan)}-{number + 1}" for number in range(self.gan_trainings)]

    def campaign(self) -> dict[str, Any]:
        """Return the campaign: each repetition has a seed of its own, and all have the same images."""
        shared = {key: getattr(self, key) for key in SHARED if key in self.model_fields_set}
        return {
            "pictures": self.pictures,
            "batch_size": self.batch_size,
            **shared,
            "repetitions": self.repetitions,
            "workload": fixed_workload(self.workload, self.seed),
            "classifiers": [as_written(one) for one in self.classifiers],
            "faultloads": list(chain(self._classification(), self._ood())),
            "stream": self._length,
            "monitors": [as_written(self.certainty)],
        }

    @property
    def _length(self) -> dict[str, int]:
        """How long each stream is, where not all images are taken."""
        return {} if self.images is None else {"length": self.images}

    def _classification(self) -> Iterator[Any]:
        if "classification" not in self.parts:
            return
        yield NO_FAULT
        all_faulted = {"ood_share": 1.0, **self._length}
        for one in self.transformations:
            yield {**as_written(one), "severity": self.levels_of(one), "stream": all_faulted}

    def _ood(self) -> Iterator[Any]:
        """Yield each OOD set; half of its stream is in-distribution."""
        if "ood" not in self.parts:
            return
        half = {"ood_share": 0.5, **self._length}
        same = fixed_workload(self.natural, self.seed)
        natural = {"name": "novelty", "as": NATURAL, "workload": same, "resize": True}
        for name in self.sets:
            yield {**(natural if name == NATURAL else {**STANDARD[name], "as": name}), "stream": half}
        for one in self.transformations if self.pairs else ():
            both = {**as_written(one), "severity": self.pair_level(one), "both": True}
            yield [{**natural, "stream": half}, both]
        for gan in self.gans:
            for number, title in enumerate(self._gan_titles(gan)):
                yield {**self.gan, **as_written(gan), "as": title, "seed": self.seed + number, "stream": half}


def _check_redrawn(said: Robustness) -> None:
    """Raise where a classifier's test images would be drawn anew in two ways, and would vary twice."""
    for one in said.classifiers:
        if not cast(ModelSource, one.make("model")).trained_here:
            raise ExperimentError(
                f"images is {said.images}, but classifier '{titled(one)}' brings its weights along: whole "
                "tracks of its test images are drawn anew as it is; leave images out"
            )


def as_campaign(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return what a file says as the values of a campaign, which remembers it; `folder` has its files."""
    try:
        said = Robustness.model_validate(dict(values))
    except ValidationError as error:
        raise ExperimentError(explain(error, Robustness, values)) from None
    if said.images is not None:
        with importable(folder):
            _check_redrawn(said)
    check_criteria(said.criteria, folder)
    return {**said.campaign(), "protocol": dict(values)}
