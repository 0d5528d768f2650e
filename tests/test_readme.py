"""The README's Python runs as it stands, and names nothing that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from farm import registry
from farm.cli import main
from farm.config import parse_experiment

README = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)
    return [text for name, text in fenced if name == language]


def test_the_python_example_runs_and_prints_its_table(capsys) -> None:
    (code,) = blocks("python")
    exec(code, {})
    printed = capsys.readouterr().out
    assert "oob-pca" in printed
    assert "signs · lenet · novelty" in printed


def test_the_experiment_is_one() -> None:
    (text,) = blocks("yaml")
    experiment = parse_experiment(yaml.safe_load(text), "README")
    names = [spec.name for spec in experiment.monitors if ":" not in spec.name]
    assert set(names) <= set(registry.entries("monitor"))


def test_the_log_is_one(tmp_path, capsys) -> None:
    (log,) = (block for block in blocks("") if block.startswith("label,"))
    (tmp_path / "log.csv").write_text(log)
    assert main(["judge", str(tmp_path / "log.csv")]) == 0
    assert "mine" in capsys.readouterr().out
