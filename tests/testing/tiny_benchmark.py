"""A benchmark of made-up images, without training: 640 ID images, as many noisy and as many novel ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from farm.config.experiment import parse_experiment
from farm.testing.benchmark import Benchmark

TINY: Mapping[str, Any] = {
    "name": "tiny",
    "workload": {"name": "farm.testing.fakes:TinySource", "tracks": [8, 8, 40]},
    "classifier": "farm.testing.fakes:TinyModel",
    "faultload": [{"name": "gaussian-noise", "severity": 5}, {"name": "textures"}],
    "monitors": ["energy"],
}


def tiny_benchmark(**changes: Any) -> Benchmark:
    """Make it anew, with other values for some keys."""
    return Benchmark(parse_experiment({**TINY, **changes}, "tiny"))


def write_tiny(path: Path, **changes: Any) -> Path:
    """Write it as an experiment's file."""
    path.write_text(yaml.safe_dump({**TINY, **changes}), encoding="utf-8")
    return path
