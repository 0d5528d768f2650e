"""A dependability evaluation as `farm check` judges it, of toys whose results theory knows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from farm.cli import main
from farm.gate.measures import REPORTED
from farm.protocols.dependability.kinds import METRICS
from farm.protocols.dependability.page import page
from farm.protocols.dependability.results import Results
from farm.protocols.dependability.rows import ONE_SIDED
from tests.protocols.dependability.toys import run
from tests.report.page.test_page import section, text
from tests.wording import same_text

READ_OFF = ("scenario_coverage", "neuron_activation", "monitor_coverage")


def checked(folder: Path, *criteria: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    """Return the exit code, and what each criterion came to."""
    file = folder / "criteria.yaml"
    file.write_text(json.dumps({"criteria": list(criteria)}), encoding="utf-8")
    capsys.readouterr()
    code = main(["check", str(folder / "out"), "--criteria", str(file), "--format", "json"])
    verdicts = json.loads(capsys.readouterr().out)["verdicts"]
    return code, {one["criterion"]: one for one in verdicts}


@pytest.fixture
def beside(toy: Path, tmp_path: Path) -> Path:
    """Return a folder of one's own, in which the campaign is found."""
    (tmp_path / "out").symlink_to(toy)
    return tmp_path


@pytest.mark.parametrize(
    ("criterion", "verdict"),
    [
        ('scenario_coverage >= 0.75 on part:"test k=2"', "pass"),
        ('scenario_coverage > 0.75 on part:"test k=2"', "fail"),
        ('scenario_coverage >= 100 % on part:"train k=2"', "pass"),
        ('neuron_activation >= 0.8 on part:"test units k=1"', "pass"),
        ('neuron_activation >= 0.9 on part:"test maps k=1"', "fail"),
        ('neuron_pattern <= 0.3 on part:"test units"', "pass"),
        ('neuron_pattern <= 0.1 on part:"test units"', "undecided"),
        ("adversarial_loss >= -0.3 on part:mean", "pass"),
        ("adversarial_loss >= 0 on part:mean", "fail"),
        ("adversarial_loss >= -0.3 on part:minimum", "undecided"),
        ("scenario.classifier_accuracy >= 0.7 on part:all", "pass"),
        ("scenario.classifier_accuracy >= 0.95 on part:all", "fail"),
        ("scenario.classifier_accuracy >= 0.3 on part:weakest", "fail"),
        ('scenario.residual_hazard <= 0.2 on part:"max-softmax, all"', "pass"),
        ('scenario.residual_hazard <= 0.2 on part:"max-softmax, weakest"', "fail"),
        ("scenario.mtbf >= 0.2 on part:all", "pass"),
        ('scenario.mtbf >= 1 on part:"weather=dry, light=day"', "pass"),
        ('scenario.mtbf >= 9 on part:"weather=dry, light=day"', "undecided"),
        ('scenario.mtbf >= 9 on part:"weather=dry, light=night"', "fail"),
        ("interpretation_precision >= 0.8 on part:mean", "pass"),
        ("occlusion_covering <= 0.1 on part:mean", "fail"),
        ("weighted_confusion <= 1 on part:mean", "pass"),
        ("weighted_confusion <= 0.4 on part:mean", "undecided"),
        ("monitor_coverage >= 0.75 on part:k=2", "pass"),
        ("monitor_coverage >= 0.8 on part:k=2", "fail"),
    ],
)
def test_a_criterion_is_judged(
    beside: Path, criterion: str, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = checked(beside, criterion, capsys=capsys)
    assert found[criterion]["verdict"] == verdict
    assert code == {"pass": 0, "fail": 1, "undecided": 3}[verdict]


def test_what_has_no_value_fails_with_its_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, metrics="weighted_confusion", severities=...) == 0
    criterion = "weighted_confusion <= 4"
    code, found = checked(tmp_path, criterion, capsys=capsys)
    assert (code, found[criterion]["verdict"], found[criterion]["value"]) == (1, "fail", None)
    assert found[criterion]["reason"].startswith("undefined: nothing says what each confusion weighs")


def test_each_part_may_be_asked_for_at_once(beside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = beside / "criteria.yaml"
    file.write_text("criteria: [neuron_pattern <= 0.3 on each part]\n", encoding="utf-8")
    assert main(["check", str(beside / "out"), "--criteria", str(file), "--format", "json"]) == 3
    verdicts = json.loads(capsys.readouterr().out)["verdicts"]
    frame = Results.of(beside / "out").frame
    own = frame[frame["metric"] == "neuron_pattern"]
    assert [one["value"] for one in verdicts] == own["value"].tolist()
    expected = ["pass" if one["high"] <= 0.3 else "undecided" for one in verdicts]
    assert [one["verdict"] for one in verdicts] == expected
    assert {"pass", "undecided"} == set(expected)


def test_a_part_that_is_not_there_is_named(beside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (beside / "criteria.yaml").write_text(
        "criteria: ['scenario_coverage >= 1 on part:\"tst k=2\"']\n", "utf-8"
    )
    assert main(["check", str(beside / "out"), "--criteria", str(beside / "criteria.yaml")]) == 2
    same_text(capsys.readouterr().err)


# What is handed in ----------------------------------------------------------------------------------------


def test_what_criteria_ask_for_is_what_the_file_has(toy: Path, results: Results) -> None:
    found, frame = Results.of(toy).reported(ONE_SIDED), results.frame
    assert [(one.measure, one.part) for one in found] == list(
        zip(frame["metric"], frame["part"], strict=True)
    )
    for end in ("value", "low", "high"):
        of_file = frame[end].to_numpy()
        # Where nothing failed, what the time is at least stands for it.
        instead = (
            frame["value"].isna() & frame["low"].notna() if end == "value" else np.zeros(len(frame), bool)
        )
        expected = np.where(instead, frame["low"], of_file)
        np.testing.assert_array_equal([getattr(one, end).value for one in found], expected)
    assert {one.measure for one in found} <= set(REPORTED)
    assert {one.measure.partition(".")[0] for one in found} == set(METRICS)
    assert all(0 < one.n_groups <= one.n for one in found if one.n)


def test_the_surer_the_wider(toy: Path) -> None:
    at = Results.of(toy).reported
    narrow, wide = at(0.9), at(0.99)
    wider = 0
    for one, other in zip(narrow, wide, strict=True):
        assert (one.measure, one.part) == (other.measure, other.part)
        assert one.value == other.value or one.measure == "scenario.mtbf"
        if one.measure in READ_OFF:
            assert one == other
        elif one.low.defined and one.high.defined:
            assert other.low.value <= one.low.value <= one.high.value <= other.high.value
            assert other.high.value - other.low.value > one.high.value - one.low.value
            wider += 1
    assert wider > 20


# On the page ----------------------------------------------------------------------------------------------


def test_the_page_has_the_verdict_of_the_files_own_criteria(tmp_path: Path) -> None:
    for bound, words in ((0.5, "pass"), (0.9, "fail")):
        (tmp_path / "own.yaml").write_text(
            f"criteria: ['scenario_coverage >= {bound} on part:\"test k=2\"']\n", "utf-8"
        )
        assert run(tmp_path, metrics="scenario_coverage", criteria="own.yaml") == 0
        verdict = text(section(page(Results.of(tmp_path / "out")), "verdict"))
        assert words in verdict
        assert ("fail" in verdict) == (words == "fail")


def test_a_criterion_that_does_not_fit_leaves_the_page_standing(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("criteria: [weighted_confusion <= 1 on part:mean]\n", "utf-8")
    assert run(tmp_path, metrics="scenario_coverage", criteria="own.yaml") == 0
    html = page(Results.of(tmp_path / "out"))
    same_text(text(section(html, "verdict")))
    assert "Scenario coverage" in text(section(html, "answer"))
