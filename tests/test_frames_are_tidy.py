"""Every frame that Python's users get: one name a column, units in names, no prose in cells."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

import farm
from farm.comparing import compare_runs
from farm.testing import make_readouts
from tests.comparing.made_runs import FOG, RATES, make_run
from tests.judging.made_guarantees import made_campaign

FAULTS = [("noise", f"noise-{i}", 3.0) for i in range(9)] + [FOG]
TEXT_IS_THE_VALUE = {("judge reasons", "reason")}
"""Where a cell is a sentence because the frame is a list of sentences."""
WORDS = 3
"""Names have at most so many words, such as `no known category`."""
UNIT = {
    "time": r"_(us|ms|seconds)(_|$)",
    "delay": "_(instances|seconds)(_|$)",
    "memory": "_bytes(_|$)",
    "per": r"per_\d+_\w+",
}


def frames() -> Iterator[tuple[str, pd.DataFrame]]:
    """Return each frame under the name it is got by, of runs that have everything and of one with little."""
    whole = make_run(rates={**RATES, "never": (0.0, 0.0)}, faults=FAULTS, failed=["poor"])
    little = make_readouts({"mine": [0, 1, 1]}, is_ood=None, label=None)
    for run in (whole, little):
        yield "judge", farm.judge(run)
        yield "judge reasons", farm.judge(run, reasons=True)
        yield "Readouts.instances", run.instances
        yield "Readouts.alarms", run.alarms
    for options in ({"by": "category"}, {"control": "middling"}):
        comparison = compare_runs([whole], replicates=200, **options)
        for name in ("values", "ranks", "tests", "pairs", "guarantees"):
            yield f"Comparison.{name}", getattr(comparison, name)
    yield "Comparison.guarantees", compare_runs(made_campaign(), replicates=200).guarantees


@pytest.fixture(scope="module")
def found() -> list[tuple[str, pd.DataFrame]]:
    return list(frames())


def returns_a_frame(call: Any) -> bool:
    return "DataFrame" in str(inspect.signature(call).return_annotation)


def test_every_frame_of_the_public_names_is_looked_at(found) -> None:
    public = {
        name
        for name in farm.__all__
        if not inspect.isclass(getattr(farm, name)) and returns_a_frame(getattr(farm, name))
    }
    for owner in farm.__all__:
        if not inspect.isclass(kind := getattr(farm, owner)):
            continue
        fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
        public |= {f"{owner}.{one.name}" for one in fields if "DataFrame" in str(one.type)}
        for name, member in inspect.getmembers(kind):
            call = member.fget if isinstance(member, property) else member
            if not name.startswith("_") and inspect.isroutine(call) and returns_a_frame(call):
                public.add(f"{owner}.{name}")
    assert public == {name for name, _ in found} - {"judge reasons"}


def test_they_are_tidy(found) -> None:
    for name, frame in found:
        check_tidy(name, frame)


def check_tidy(name: str, frame: pd.DataFrame) -> None:
    assert frame.columns.nlevels == frame.index.nlevels == 1, name
    assert frame.columns.is_unique, name
    for column in frame:
        where = f"{name}: {column}"
        assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", column), where
        for word, unit in UNIT.items():
            if word in column.split("_"):
                assert re.search(unit, column), where
        held = frame[column].dropna().tolist()
        kinds = {type(value) for value in held}
        assert kinds <= {str} or (kinds <= {int, float, bool} and frame[column].dtype != object), where
        for text in (value for value in held if isinstance(value, str)):
            assert text.strip(), where
            assert not re.fullmatch(r"[\W_]+|-?[\d.,]+|nan|none|inf", text.lower()), where
            assert (name, column) in TEXT_IS_THE_VALUE or len(text.split()) <= WORDS, where
