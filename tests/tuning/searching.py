"""A small search, and what it needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from farm.tuning.search import FoundStep, search
from farm.tuning.spec import load_tuning

EXPERIMENT: dict[str, Any] = {
    "seed": 3,
    "workload": "tests.tuning.made_models:WithoutTest",
    "classifier": "tests.tuning.made_models:Dial",
    "monitors": ["max-softmax"],
}
SCALE: dict[str, Any] = {"low": 0.01, "high": 2.0, "log": True}
SPREAD: dict[str, Any] = {"low": 0.25, "high": 3.0, "step": 0.25}
BOTH: dict[str, Any] = {"classifier_nll": {"scale": SCALE}, "box_nll": {"spread": SPREAD}}
TUNING: dict[str, Any] = {"experiment": "mine.yaml", "trials": 8, "steps": {"best": {"search": BOTH}}}


def write(folder: Path, tuning: dict[str, Any] = TUNING, experiment: dict[str, Any] = EXPERIMENT) -> str:
    """Write a search and its experiment; return the path of the search."""
    for name, values in (("mine", experiment), ("tuning", tuning)):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")
    return str(folder / "tuning.yaml")


def searched(place: str, out: Path, *overrides: str) -> list[FoundStep]:
    """Search as `farm tune` does."""
    tuning, experiment, home = load_tuning(place, overrides)
    return search(tuning, experiment, home, out)
