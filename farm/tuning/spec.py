"""A search for a classifier's parameters as its file says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, ValidationError, field_validator, model_validator

from farm.campaign.spec import parse_campaign
from farm.comparing.measures import OF_CLASSIFIER
from farm.config.experiment import Experiment
from farm.config.explaining import explain
from farm.config.specs import ClassifierSpec, Strict
from farm.errors import ExperimentError, suggestion
from farm.run.loading import written

MOST_TRIALS = 10_000
EXPECTED = "a list of values, or 'low' and 'high', which is above low"
LARGEST, MOST_STEPS = 1e15, 1_000_000


def _number(value: Any) -> Any:
    if type(value) in (int, float) and abs(value) <= LARGEST:
        return value
    raise ValueError(f"is {value!r}; expected a number of at most {LARGEST:g}")


Number = Annotated[Any, AfterValidator(_number)]


class Values(Strict):
    """The values that a parameter may have: those of a list, or of a range.

    The range is of whole numbers where all that is said of it is whole. With `log`, small values are as
    likely as large ones; with `step`, it has these alone.

    Examples
    --------
    >>> Values.model_validate([32, 64]).first, Values.model_validate({"low": 0.1, "high": 1}).whole
    (32, False)
    """

    choices: list[Any] | None = None
    low: Number = 0
    high: Number = 0
    log: bool = False
    step: Number | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_list(cls, value: Any) -> Any:
        if isinstance(value, list):
            return {"choices": value}
        if not isinstance(value, dict):
            raise ValueError(f"is {value!r}; expected {EXPECTED}")
        known = [name for name in cls.model_fields if name != "choices"]
        for key in value:
            if key not in known:
                raise ValueError(f"unknown key '{key}'; {suggestion(str(key), known)}")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.choices is not None:
            plain = all(isinstance(one, bool | int | float | str | None) for one in self.choices)
            if not plain or len(set(self.choices)) < 2:
                raise ValueError(f"is {self.choices!r}; expected a list of at least two values")
            return self
        if not {"low", "high"} <= self.model_fields_set or not self.low < self.high:
            raise ValueError(f"expected {EXPECTED}")
        if self.log and (self.low <= 0 or self.step is not None):
            raise ValueError("log expects 'low' above 0, and no 'step'")
        if self.step is not None:
            low, high, step = (Decimal(str(one)) for one in (self.low, self.high, self.step))
            steps = (high - low) / step if step > 0 else Decimal(0)
            if not 1 <= steps <= MOST_STEPS or steps != steps.to_integral_value():
                ends = f"{self.low:g} to {self.high:g}"
                raise ValueError(f"step is {self.step:g}; expected a part of the way from {ends}")
        return self

    @property
    def whole(self) -> bool:
        """Whether it is a range of whole numbers."""
        return self.choices is None and all(
            type(one) is not float for one in (self.low, self.high, self.step)
        )

    @property
    def first(self) -> Any:
        """The first of the list, or the lowest of the range."""
        return self.low if self.choices is None else self.choices[0]


def _check_parameters(parameters: Mapping[str, Any]) -> None:
    for key in ClassifierSpec.own_keys():
        if key in parameters:
            raise ValueError(f"'{key}' is no parameter; leave it out")


class Step(Strict):
    """One search: by measure, the parameters that it chooses; `set` is the same in all trials."""

    search: dict[str, dict[str, Values]]
    set: dict[str, Any] = Field(default={})
    trials: int | None = Field(default=None, ge=1, le=MOST_TRIALS)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.search or not all(self.search.values()):
            raise ValueError("search expects a measure, and a parameter for each")
        for measure in self.search:
            if measure not in OF_CLASSIFIER:
                raise ValueError(f"search: '{measure}' is no measure; {suggestion(measure, OF_CLASSIFIER)}")
        _check_parameters({**self.set, **self.values})
        searched = [name for values in self.search.values() for name in values]
        for name in searched:
            if searched.count(name) > 1 or name in self.set:
                raise ValueError(
                    f"'{name}' stands there twice; expected it in one place of 'search' and 'set'"
                )
        return self

    @property
    def values(self) -> dict[str, Values]:
        """All parameters that are searched."""
        return {name: one for values in self.search.values() for name, one in values.items()}


class Tuning(Strict):
    """A search for parameters of a classifier of an experiment or a campaign, step by step.

    `set` is for all steps. What a step finds, later ones keep, unless they `set` or search it themselves.
    `classifier` and `workload` say which, where a campaign has several. Slashes in steps' names make the
    result's levels.

    Examples
    --------
    >>> step = {"search": {"classifier_nll": {"learning_rate": {"low": 1e-4, "high": 1e-2, "log": True}}}}
    >>> said = {"name": "mine", "experiment": "quickstart", "steps": {"best": step}}
    >>> parse_tuning(said, "mine.yaml").trials
    20
    """

    name: str = Field(min_length=1, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    description: str = ""
    experiment: str
    workload: str | None = None
    classifier: str | None = None
    set: dict[str, Any] = Field(default={})
    trials: int = Field(default=20, ge=1, le=MOST_TRIALS)
    steps: dict[str, Step]

    @field_validator("set")
    @classmethod
    def _of_parameters(cls, value: dict[str, Any]) -> dict[str, Any]:
        _check_parameters(value)
        return value

    @field_validator("steps")
    @classmethod
    def _named_apart(cls, steps: dict[str, Step]) -> dict[str, Step]:
        if not steps:
            raise ValueError("is empty; expected at least one")
        for name in steps:
            if not all(part.strip() for part in name.split("/")):
                raise ValueError(f"a step is called {name!r}; expected a name, or names with slashes between")
            if inside := next((other for other in steps if other.startswith(f"{name}/")), None):
                raise ValueError(f"step '{name}' has no place beside '{inside}', which is inside of it")
        return steps

    def trials_of(self, step: str) -> int:
        """Return how many trials a step has."""
        return self.steps[step].trials or self.trials


def parse_tuning(values: Mapping[str, Any], where: str) -> Tuning:
    """Turn plain values into a search."""
    try:
        return Tuning.model_validate(values)
    except ValidationError as error:
        raise ExperimentError(f"{where}: {explain(error, Tuning, values)}") from None


def load_tuning(where: str, overrides: Sequence[str] = ()) -> tuple[Tuning, Experiment, Path]:
    """Read a search; give it with the experiment of its classifier, and the folder for that one's paths."""
    source = written(where, overrides)
    tuning = parse_tuning(source.values, str(source.path))
    beside = source.folder / tuning.experiment
    named = written(str(beside) if beside.is_file() else tuning.experiment)
    cells = parse_campaign(named.values, str(named.path), named.folder).cells(named.folder)
    for key, asked in (("workload", tuning.workload), ("classifier", tuning.classifier)):
        known = dict.fromkeys(str(cell.label[key]) for cell in cells)
        if asked is None and len(known) > 1:
            raise ExperimentError(
                f"{source.path}: '{key}' is missing, and {named.path} has several; known: {', '.join(known)}"
            )
        if asked is not None and asked not in known:
            raise ExperimentError(
                f"{source.path}: {key} is '{asked}', which {named.path} has not; {suggestion(asked, known)}"
            )
        cells = [cell for cell in cells if asked in (None, cell.label[key])]
    return tuning, cells[0].experiment, named.folder
