"""What an evaluation lacks: each metric says what it needs, and the others stand."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from farm.cli import main
from farm.protocols.dependability.page import page
from farm.protocols.dependability.results import Results
from farm.protocols.dependability.tables import looks
from farm.store.campaign_folder import CampaignFolder, planned_cells
from tests.protocols.dependability.toys import FADE, GLARE, HERE, run
from tests.report.page.test_page import section, text
from tests.wording import same_text

OCCLUSION = ("interpretation_precision", "occlusion_covering")


def whys(results: Results) -> list[str]:
    """Return the reasons of what has no value, each once and by its metric."""
    rows = [row for row in results.rows() if not row.value.value.defined]
    return list(dict.fromkeys(f"{row.metric}: {row.value.value.reason}" for row in rows))


def rest(results: Results, *metrics: str) -> pd.DataFrame:
    """Return all results but those of some metrics."""
    frame = results.frame
    kind = frame["metric"].str.partition(".")[0]
    return frame[~kind.isin(metrics)].reset_index(drop=True)


def told(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return all tables."""
    capsys.readouterr()
    assert main(["compare", str(folder)]) == 0
    return capsys.readouterr().out


def test_a_black_box_has_no_neurons(
    tmp_path: Path, results: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, classifier=f"{HERE}:BlackBox") == 0
    found = Results.of(tmp_path / "out")
    neurons = ("neuron_activation", "neuron_pattern")
    assert {row.metric for row in found.rows() if row.metric in neurons} == set(neurons)
    assert found.frame.loc[found.frame["metric"].isin(neurons), "value"].isna().all()
    pd.testing.assert_frame_equal(rest(found, *neurons), rest(results, *neurons), atol=1e-6)
    same_text([one for one in whys(found) if one.startswith("neuron")])
    assert "a black box" in told(tmp_path / "out", capsys)


def test_without_conditions_what_is_of_scenarios_says_so(
    tmp_path: Path, results: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, workload={"name": f"{HERE}:Squares", "conditions": False}) == 0
    found = Results.of(tmp_path / "out")
    lacking = ("scenario_coverage", "scenario", "monitor_coverage", "neuron_pattern")
    pd.testing.assert_frame_equal(rest(found, *lacking), rest(results, *lacking))
    same_text(whys(found))
    patterns = found.frame[found.frame["metric"] == "neuron_pattern"]
    assert patterns["part"].tolist() == ["train units", "train maps", "test units", "test maps"]
    assert patterns["value"].notna().all(), "all images are one scenario"
    assert "without conditions all images are taken for one scenario" in told(tmp_path / "out", capsys)
    reported = found.reported(0.95)
    assert {one.measure for one in reported} >= {"scenario.classifier_accuracy", "scenario.mtbf"}


def test_without_masks_nobody_knows_what_hides_the_object(
    tmp_path: Path, results: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, workload={"name": f"{HERE}:Squares", "masks": False}) == 0
    found = Results.of(tmp_path / "out")
    pd.testing.assert_frame_equal(rest(found, *OCCLUSION), rest(results, *OCCLUSION))
    assert set(found.frame.loc[found.frame["metric"].isin(OCCLUSION), "n"]) == {0}
    same_text([one for one in whys(found) if one.startswith(OCCLUSION)])
    assert "100 of 100 images have neither" in " ".join(told(tmp_path / "out", capsys).split())


def test_without_severities_no_mix_up_weighs_anything(
    tmp_path: Path, results: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, severities=...) == 0
    found = Results.of(tmp_path / "out")
    pd.testing.assert_frame_equal(rest(found, "weighted_confusion"), rest(results, "weighted_confusion"))
    same_text([one for one in whys(found) if one.startswith("weighted")])
    assert "The costliest confusions" not in told(tmp_path / "out", capsys)


def test_images_that_lack_a_condition_are_counted_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, workload={"name": f"{HERE}:Squares", "gaps": True}) == 0
    found = Results.of(tmp_path / "out")
    rows = found.frame.set_index(["metric", "part"])
    assert rows.loc[("scenario_coverage", "test k=2"), "n"] == 108, "one of ten lacks its weather"
    assert rows.loc[("neuron_pattern", "test units"), "n"] == 108
    own = found.frame[found.frame["metric"] == "scenario.classifier_accuracy"]
    cells = own[own["part"].str.startswith("weather=")]
    assert cells["n"].sum() == 120, "they are a scenario of their own"
    assert cells.loc[cells["part"].str.contains("not told"), "n"].sum() == 12
    shown = " ".join(told(tmp_path / "out", capsys).split())
    assert "test data: 108 images, and 12 that lack a condition" in shown


def test_of_a_k_that_is_too_great_the_reason_is_told(tmp_path: Path) -> None:
    assert run(tmp_path, metrics="scenario_coverage", scenarios={"k": [2, 3]}) == 0
    found = Results.of(tmp_path / "out").frame.set_index("part")["value"]
    assert found[["train k=2", "test k=2"]].notna().all()
    assert found[["train k=3", "test k=3"]].isna().all()
    same_text(whys(Results.of(tmp_path / "out")))


# What failed, and what is not there yet -------------------------------------------------------------------


def test_a_transformer_that_fails_costs_itself_alone(
    tmp_path: Path, results: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    breaks = {"name": f"{HERE}:Breaks", "as": "breaks"}
    assert run(tmp_path, loss={"transformers": [FADE, breaks, GLARE], "severity": 4}) == 1
    found = Results.of(tmp_path / "out")
    watched = found.frame["metric"] == "monitor_coverage"
    pd.testing.assert_frame_equal(found.frame[~watched], results.frame[~watched])
    # A fault that failed met no cell: of three faults two met theirs.
    before, now = (each[watched]["value"].to_numpy() for each in (results.frame, found.frame))
    np.testing.assert_allclose(now, before * 2 / 3)
    shown = " ".join(told(tmp_path / "out", capsys).split())
    assert "breaks failed: faultload 'breaks' failed at instance 'test/0'" in shown
    assert "the lens fell off" in text(section(page(found), "answer"))


def test_all_transformers_failed(tmp_path: Path) -> None:
    breaks = {"name": f"{HERE}:Breaks", "as": "breaks"}
    assert run(tmp_path, loss={"transformers": [breaks]}, metrics="adversarial_loss") == 1
    assert whys(Results.of(tmp_path / "out")) == ["adversarial_loss: there is no stream of a transformer"]


def without(toy: Path, folder: Path, *names: str) -> Path:
    """Return a copy of a campaign that lacks some streams."""
    part = folder / "part"
    shutil.copytree(toy, part)
    for cell, path in planned_cells(CampaignFolder(part)):
        if cell["label"]["faultload"] in names:
            assert path is not None
            shutil.rmtree(path)
    return part


def test_half_a_campaign_says_what_is_not_there_yet(
    tmp_path: Path, toy: Path, results: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    part = without(toy, tmp_path, "glare", "training-data")
    found = Results.of(part)
    # Without the training data nothing is told of them; the loss is that of the one transformer.
    assert not found.frame["part"].str.startswith("train ").any()
    values = found.frame.set_index(["metric", "part"])["value"]
    assert values["adversarial_loss", "mean"] == values["adversarial_loss", "fade"]
    same = rest(results, "adversarial_loss", "scenario", "monitor_coverage")
    same = same[~same["part"].str.startswith("train ")].reset_index(drop=True)
    pd.testing.assert_frame_equal(rest(found, "adversarial_loss", "scenario", "monitor_coverage"), same)
    same_text(told(part, capsys).split("Dependability metrics")[0])


def test_without_the_test_data_there_is_nothing_to_tell(
    tmp_path: Path, toy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = without(toy, tmp_path, "none")
    for command in ("compare", "report"):
        assert main([command, str(part)]) == 2
        same_text(capsys.readouterr().err)


def test_why_the_test_data_failed_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wide = {"images": 4, "window": 20}
    assert run(tmp_path, occlusion=wide) == 2
    same_text(capsys.readouterr().err.strip().splitlines()[-1])


def test_what_lacks_most_has_tables_and_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changes: dict[str, Any] = {
        "classifier": f"{HERE}:BlackBox",
        "workload": {"name": f"{HERE}:Squares", "conditions": False, "masks": False},
        "severities": ...,
        "monitors": [],
        "performance": {},
    }
    assert run(tmp_path, **changes) == 0
    folder = tmp_path / "out"
    capsys.readouterr()
    assert main(["compare", str(folder), "--format", "json"]) == 0
    titles = [one["title"] for one in json.loads(capsys.readouterr().out)]
    assert titles == [one.title for one in looks(Results.of(folder))]
    html = page(Results.of(folder))
    for metric in ("scenario-coverage", "scenario", "weighted-confusion", "monitor-coverage"):
        assert "Not found: " in text(section(html, metric)), metric
    lacking = [row for row in Results.of(folder).rows() if not row.value.value.defined]
    table, _, _ = text(section(html, "answer")).partition("Intervals are 95 %.")
    assert table.count("none: ") == len(lacking) > 20
