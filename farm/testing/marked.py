"""The marker `farm_criteria`: criteria that are held against what a test ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from farm.check.criteria_file import CriteriaFile, load_criteria, parse_criteria
from farm.errors import ExperimentError, FarmError, suggestion
from farm.readouts import Readouts
from farm.testing.failure_text import with_summary
from farm.testing.gate import failures
from farm.testing.here import benchmark_here

KEYS = ("file", "undecided")
UNDECIDED = ("fail", "pass")


@dataclass(frozen=True)
class Marked:
    """The criteria of one marker."""

    file: CriteriaFile
    undecided_passes: bool


def read_markers(item: pytest.Item) -> list[Marked]:
    """Read all criteria of a test; a mistake in one fails the test."""
    __tracebackhide__ = True
    try:
        return [each for mark in item.iter_markers("farm_criteria") for each in _read(mark, item.config)]
    except FarmError as error:
        pytest.fail(f"farm_criteria: {error}", pytrace=False)


def hold(marked: Sequence[Marked], runs: Sequence[Readouts]) -> None:
    """Fail the test where a criterion is not met by what it ran."""
    __tracebackhide__ = True
    if not runs:
        pytest.fail(
            "farm_criteria: nothing to judge, since the test gave no monitor to farm_run",
            pytrace=False,
        )
    try:
        found = [
            text
            for run in runs
            for each in marked
            for text in failures(run, each.file, benchmark_here, undecided_passes=each.undecided_passes)
        ]
    except FarmError as error:
        pytest.fail(f"farm_criteria: {error}", pytrace=False)
    if found:
        texts = list(dict.fromkeys(found))
        raise with_summary(pytest.fail.Exception("\n\n".join(texts), pytrace=False), texts)


def _read(mark: pytest.Mark, config: pytest.Config) -> list[Marked]:
    asked: dict[str, Any] = dict(mark.kwargs)
    for key in asked:
        if key not in KEYS:
            raise ExperimentError(f"the marker has no '{key}'; {suggestion(key, KEYS)}")
    undecided = asked.get("undecided")
    if undecided not in (None, *UNDECIDED):
        raise ExperimentError(f"undecided is {undecided!r}; expected 'fail' or 'pass'")
    files = []
    if mark.args:
        files.append(parse_criteria({"criteria": list(mark.args)}, "the marker"))
    if (path := asked.get("file")) is not None:
        files.append(load_criteria(config.rootpath / path))
    if not files:
        raise ExperimentError("the marker names no criterion; expected some, or a file of them")
    return [Marked(file, (undecided or file.undecided) == "pass") for file in files]
