"""What the guide to continuous integration tells to write and to type is what farm takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from farm.check.criteria_file import parse_criteria
from farm.cli import _parser
from farm.config import parse_experiment
from tests.wording import same_text

GUIDES = Path(__file__).resolve().parent.parent / "docs" / "guides"
CI = (GUIDES / "continuous-integration.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    return [block for name, block in fenced if name == language]


def commands(text: str) -> list[list[str]]:
    """Give each `farm ...` that stands in a block or between backquotes, without what a shell makes of it."""
    found = re.findall(r"(?:^[\s-]*(?:run: )?|`)(farm [a-z][^\n`]*)", text, flags=re.MULTILINE)
    return [re.split(r" \|\| | > ", one)[0].split()[1:] for one in found]


def values(text: str) -> dict:
    """Give what a block says; it is the only one that has this text in it."""
    (block,) = (one for one in blocks(CI, "yaml") if text in one)
    found = yaml.safe_load(block)
    assert isinstance(found, dict)
    return found


def test_the_experiment_is_one() -> None:
    names = [spec.name for spec in parse_experiment(values("workload:"), "guide").monitors]
    assert names == ["max-softmax", "knn"]


def test_the_criteria_are_some() -> None:
    found = parse_criteria(values("criteria:\n"), GUIDES / "criteria.yaml")
    assert len(found.criteria) == 5


@pytest.mark.parametrize("name", ["jobs:", "allow_failure:"])
def test_the_jobs_run_and_check(name: str) -> None:
    text = yaml.dump(values(name), width=1000)
    same_text(text)
    assert "FARM_CACHE" in text


def test_every_command_is_one_that_farm_takes(capsys) -> None:
    # What is but named, such as `farm check`, is left out.
    found = [one for one in commands(CI) if len(one) > 2 or any(word.startswith("-") for word in one)]
    assert {one[0] for one in found} == {"run", "check", "baseline", "cache", "plan"}
    for arguments in found:
        try:
            _parser().parse_args(arguments)
        except SystemExit:
            pytest.fail(f"farm {' '.join(arguments)}: {capsys.readouterr().err}")
