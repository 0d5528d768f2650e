"""Files of criteria: a list of them, and options that hold for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from pydantic import Field, ValidationError, model_validator

from farm.check.criterion import Criterion, Defaults, parse_criterion
from farm.check.sense import LEVEL, level_problem, monitors_problem
from farm.errors import ExperimentError
from farm.explaining import explain
from farm.specs import Strict
from farm.statistics.bootstrap import REPLICATES
from farm.yaml_reading import parse_yaml

Undecided: TypeAlias = Literal["report", "pass", "fail"]
"""What becomes of criteria that the instances do not decide: exit code 3, 0 or 1."""
Undefined: TypeAlias = Literal["fail", "error"]
"""What a value without a number means. It meets nothing: MCC of a monitor that never alarms is no evidence
that it is a good one. So the criterion is failed, with the reason; or it is an error, exit code 2."""


@dataclass(frozen=True)
class CriteriaFile:
    """What a file of criteria says; each criterion has the file's options where it has none of its own."""

    criteria: tuple[Criterion, ...]
    path: Path
    undecided: Undecided = "report"
    undefined: Undefined = "fail"
    level: float = LEVEL
    monitors: tuple[str, ...] | None = None
    replicates: int = REPLICATES
    seed: int = 0

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
    replicates: int = Field(default=REPLICATES, ge=1)
    seed: int = Field(default=0, ge=0)

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
    """Read a file of criteria. Paths of baselines are relative to where the file lies."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
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
    return CriteriaFile(
        criteria=_criteria(written.criteria, Defaults(written.level, monitors), path),
        path=path,
        undecided=written.undecided,
        undefined=written.undefined,
        level=written.level,
        monitors=monitors,
        replicates=written.replicates,
        seed=written.seed,
    )


def _criteria(texts: Sequence[str], defaults: Defaults, path: Path) -> tuple[Criterion, ...]:
    found = []
    for number, text in enumerate(texts, start=1):
        criterion = parse_criterion(text, defaults, place=f"{path}: criterion {number}")
        if criterion.baseline is not None:
            criterion = replace(criterion, baseline=str(path.parent / criterion.baseline))
        found.append(criterion)
    return tuple(found)


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
    """Give all but the bound, in one order."""
    selection = criterion.selection
    return (
        criterion.quantity,
        criterion.baseline,
        criterion.level,
        None if criterion.monitors is None else frozenset(criterion.monitors),
        (selection.side, selection.each, frozenset(selection.conditions)),
    )
