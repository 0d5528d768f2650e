"""Files of criteria: a list of them, and options that hold for all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from pydantic import Field, ValidationError, model_validator

from farm.api import read_text
from farm.config.explaining import explain
from farm.config.specs import Strict
from farm.config.yaml_reading import parse_yaml
from farm.errors import ExperimentError
from farm.gate.criterion import (
    LEVEL,
    Criterion,
    Defaults,
    level_problem,
    monitors_problem,
    parse_criterion,
)
from farm.gate.demand import POWER
from farm.statistics.resolution import MOST_ASKED, REPLICATES

Undecided: TypeAlias = Literal["report", "pass", "fail"]
"""What becomes of criteria that the instances do not decide: exit code 3, 0 or 1."""
Undefined: TypeAlias = Literal["fail", "error"]
"""What a value without a number means. It meets nothing: MCC of a monitor that never alarms is no evidence
that it is a good one. So the criterion is failed, with the reason; or it is an error, exit code 2."""


@dataclass(frozen=True)
class CriteriaFile:
    """What a file of criteria says; each criterion has the file's level and monitors where it has none."""

    criteria: tuple[Criterion, ...]
    path: Path
    undecided: Undecided = "report"
    undefined: Undefined = "fail"
    replicates: int = REPLICATES
    seed: int = 0
    power: float = POWER
    """The chance with which the number of instances that is told for an undecided one would decide."""
    reference: str | None = None
    """The path of a run or a log that drift is measured against."""

    def __post_init__(self) -> None:
        for place, criterion in enumerate(self.criteria):
            for number, other in enumerate(self.criteria[:place], start=1):
                if why := _conflict(criterion, other):
                    raise criterion.error(why.format(earlier=f"criterion {number}"))


class _Written(Strict):
    """A file's keys and their types."""

    criteria: list[str]
    level: float = LEVEL
    monitors: list[str] | None = None
    undecided: Undecided = "report"
    undefined: Undefined = "fail"
    replicates: int = Field(default=REPLICATES, ge=1, le=MOST_ASKED)
    seed: int = Field(default=0, ge=0)
    power: float = Field(default=POWER, ge=0.5, lt=1)
    reference: str | None = None

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if not self.criteria:
            raise ValueError("criteria is empty; expected at least one, such as 'specific.fpr <= 0.05 on id'")
        if why := level_problem(self.level):
            raise ValueError(why)
        if self.monitors is not None and (why := monitors_problem(tuple(self.monitors))):
            raise ValueError(f"monitors: {why}")
        return self


def load_criteria(path: Path | str) -> CriteriaFile:
    """Read a file of criteria. Paths of baselines and references are relative to where the file lies."""
    path = Path(path)
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise ExperimentError(f"{path} cannot be read: {error}; expected a file of criteria") from error
    return parse_criteria(parse_yaml(text, str(path)), path)


def parse_criteria(values: Any, path: Path | str) -> CriteriaFile:
    """Turn plain values into criteria; `path` is the file that they are of.

    Examples
    --------
    >>> file = parse_criteria({"criteria": ["specific.fpr <= 5 % on id"], "level": 0.99}, "gate.yaml")
    >>> print(*file.criteria)
    specific.fpr <= 0.05 on id at 99 %
    >>> parse_criteria({"criteria": ["overall.mc >= 0.4"]}, "gate.yaml")
    Traceback (most recent call last):
    farm.errors.ExperimentError: gate.yaml: criterion 1 'overall.mc >= 0.4': measure 'overall.mc' is not
        known; did you mean 'overall.mcc'?
    """
    path = Path(path)
    if not isinstance(values, dict):
        what = "is empty" if values is None else f"holds a {type(values).__name__}"
        raise ExperimentError(f"{path} {what}; expected keys and values, 'criteria' among them")
    _check_items(values.get("criteria"), path)
    try:
        written = _Written.model_validate(values)
    except ValidationError as error:
        raise ExperimentError(f"{path}: {explain(error, _Written, values)}") from None
    monitors = None if written.monitors is None else tuple(written.monitors)
    defaults, criteria = Defaults(written.level, monitors), []
    for number, text in enumerate(written.criteria, start=1):
        criterion = parse_criterion(text, defaults, place=f"{path}: criterion {number}")
        if criterion.baseline is not None:
            criterion = replace(criterion, baseline=str(path.parent / criterion.baseline))
        criteria.append(criterion)
    options = written.model_dump(exclude={"criteria", "level", "monitors"})
    if written.reference is not None:
        options["reference"] = str(path.parent / written.reference)
    return CriteriaFile(tuple(criteria), path, **options)


def _check_items(items: Any, path: Path) -> None:
    """Check that criteria are text; YAML takes some for something else."""
    for number, item in enumerate(items if isinstance(items, list) else (), start=1):
        if not isinstance(item, str):
            hint = "; put it in quotes, or no space after ':'" if isinstance(item, dict) else ""
            raise ExperimentError(f"{path}: criterion {number} is {item!r}; expected text{hint}")


def _conflict(one: Criterion, other: Criterion) -> str | None:
    """Say why one has no place beside an `{earlier}` one, if so."""
    if _about(one) != _about(other):
        return None
    if (one.bound, one.relation, one.margin) == (other.bound, other.relation, other.margin):
        return "it says the same as {earlier}; leave one of them out"
    return (
        "it differs from {earlier} in its bound alone, so that only the stricter has an effect; leave one out"
    )


def _about(criterion: Criterion) -> tuple[object, ...]:
    """Return all but the bound, in one order."""
    selection = criterion.selection
    return (
        criterion.quantity,
        criterion.baseline,
        criterion.level,
        criterion.anytime,
        None if criterion.monitors is None else frozenset(criterion.monitors),
        (selection.side, selection.each, frozenset(selection.conditions)),
    )
