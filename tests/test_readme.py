"""The README's Python runs as it stands, and names nothing that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import yaml
from PIL import Image

from farm import registry
from farm.campaign.spec import parse_campaign
from farm.check.criteria_file import load_criteria
from farm.cli import main
from farm.config import parse_experiment

README = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)
    return [text for name, text in fenced if name == language]


def test_the_python_example_runs_and_prints_its_table(capsys) -> None:
    (code,) = (block for block in blocks("python") if "bed.run" in block)
    exec(code, {})
    printed = capsys.readouterr().out
    assert "oob-pca" in printed
    assert "signs · lenet · novelty" in printed


def test_the_experiment_is_one_and_so_is_it_with_a_policy() -> None:
    text, _, policy, _ = blocks("yaml")
    values = yaml.safe_load(text)
    experiment = parse_experiment(values, "README")
    names = [spec.name for spec in experiment.monitors if ":" not in spec.name]
    assert set(names) <= set(registry.entries("monitor"))
    assert parse_experiment(values | yaml.safe_load(policy), "README").policy.name == "m-of-n"


def test_the_campaign_is_one() -> None:
    campaign = parse_campaign(yaml.safe_load(blocks("yaml")[1]), "README")
    assert len(campaign.cells()) == 2 * 3 * (3 * 3 + 1)


def test_the_criteria_are_such(tmp_path) -> None:
    (tmp_path / "criteria.yaml").write_text(blocks("yaml")[3])
    assert len(load_criteria(tmp_path / "criteria.yaml").criteria) == 3


def test_the_guard_is_fitted_and_decides(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    grey = np.full((40, 40, 3), 128, np.uint8)
    for name in ("street-1.png", "street-2.png"):
        Image.fromarray(grey).save(name)
    (commands,) = (block for block in blocks("") if block.startswith("farm fit"))
    for line in commands.splitlines():
        assert main(line.partition("#")[0].split()[1:]) == 0
    assert capsys.readouterr().out.count("street-") >= 2
    (code,) = (block for block in blocks("python") if "Guard" in block)
    exec(code, {})
    assert re.match(r"(True|False) \S+", capsys.readouterr().out)


def test_the_log_is_one(tmp_path, capsys) -> None:
    (log,) = (block for block in blocks("") if block.startswith("label,"))
    (tmp_path / "log.csv").write_text(log)
    assert main(["judge", str(tmp_path / "log.csv")]) == 0
    assert "mine" in capsys.readouterr().out
