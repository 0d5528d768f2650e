"""Files that say how much each confusion weighs, by what it can lead to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field, ValidationError

from farm.api.arrays import FloatArray
from farm.config.explaining import explain
from farm.config.files import read_mapping
from farm.config.specs import Strict
from farm.errors import ExperimentError, ParameterError
from farm.measures.class_groups import ClassGroups, Key
from farm.measures.cost import MOST
from farm.measures.weighted_confusion import SeverityMatrix

LEVELS: Mapping[str, float] = {"+": 1, "++": 2, "+++": 3, "++++": 4}
"""What may be written for a weight, unless a file has levels of its own."""


class _Written(Strict):
    """A file's keys; weights are numbers or levels, and classes names or numbers."""

    weights: dict[Any, dict[Any, Any]]
    default: Any = None
    levels: dict[str, Any] = Field(default_factory=lambda: dict(LEVELS))
    groups: dict[str, list[Any]] = Field(default_factory=dict)


def load_severities(path: Path | str, classes: Sequence[str]) -> SeverityMatrix:
    """Read a file of severities for a classifier that tells these classes apart."""
    return parse_severities(read_mapping(Path(path)), classes, path)


def parse_severities(values: Mapping[str, Any], classes: Sequence[str], path: Path | str) -> SeverityMatrix:
    """Turn plain values into weights; `path` is the file that they are of.

    A row is the class that it is, a column what it is taken for. A class counts before its group, and a row
    before a column. What is right weighs 0, also where a group is taken for itself.

    Examples
    --------
    >>> weights = {"pedestrian": {"vehicle": "++++"}, "vehicle": {"pedestrian": 1}}
    >>> parse_severities({"weights": weights}, ["pedestrian", "vehicle"], "own.yaml").weights
    array([[0., 4.],
           [1., 0.]])
    >>> parse_severities({"weights": weights}, ["pedestrian", "vehicle", "background"], "own.yaml")
    Traceback (most recent call last):
    farm.errors.ExperimentError: own.yaml: the classifier's class 'background' is missing; expected its row
        and its column under 'weights', or a 'default' for all that is not written
    """
    try:
        written = _Written.model_validate(dict(values))
    except ValidationError as error:
        raise ExperimentError(f"{path}: {explain(error, _Written, values)}") from None
    try:
        return SeverityMatrix(tuple(classes), _table(written, classes))
    except (ExperimentError, ParameterError) as error:
        raise ExperimentError(f"{path}: {error}") from None


def _table(written: _Written, classes: Sequence[str]) -> FloatArray:
    levels = {name: _weight(f"levels.{name}", value, {}) for name, value in written.levels.items()}
    default = math.nan if written.default is None else _weight("default", written.default, levels)
    weights: dict[Key, dict[Key, float]] = {
        label: {to: _weight(f"weights.{label}.{to}", weight, levels) for to, weight in row.items()}
        for label, row in written.weights.items()
    }
    table = np.full((len(classes), len(classes)), default)
    ClassGroups(classes, written.groups, no_answer=False).fill(table, weights, "weights")
    np.fill_diagonal(table, 0.0)
    gaps = np.isnan(table)
    if gaps.any():
        # A row and a column without anything are of a class that nobody thought of.
        written_of = ~(gaps | np.eye(len(classes), dtype=np.bool_))
        unknown = np.flatnonzero(~(written_of.any(axis=0) | written_of.any(axis=1)))
        if len(unknown):
            raise ExperimentError(
                f"the classifier's class '{classes[unknown[0]]}' is missing; expected its row and its column "
                "under 'weights', or a 'default' for all that is not written"
            )
        row, column = np.argwhere(gaps)[0]
        raise ExperimentError(
            f"weights.{classes[row]}.{classes[column]} is missing; expected how much it weighs that "
            f"'{classes[row]}' is taken for '{classes[column]}', or a 'default' for all that is not written"
        )
    if not table.any():
        raise ExperimentError("each weight is 0, so that no confusion counts; expected one above 0")
    return table


def _weight(where: str, value: Any, levels: Mapping[str, float]) -> float:
    if isinstance(value, str) and value in levels:
        return levels[value]
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST:
        return float(value)
    known = f", or one of {', '.join(levels)}" if levels else ""
    raise ExperimentError(f"{where} is {value!r}; expected a number from 0 to {MOST:g}{known}")
