"""The dependability evaluation of rendered signs that is shipped, run whole."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from farm.cli import main
from farm.protocols.dependability.kinds import METRICS
from farm.protocols.dependability.results import Results

MOST_MINUTES = 3


@pytest.mark.slow
def test_all_metrics_have_values_and_the_criteria_a_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FARM_CACHE", str(tmp_path / "cache"))
    folder, began = str(tmp_path / "out"), time.process_time()
    assert main(["run", "dependability", "--out", folder, "--quiet"]) == 0
    # Of one process and one thread: what a busy machine does beside it is no matter.
    assert time.process_time() - began < 60 * MOST_MINUTES
    results = Results.of(folder)
    assert not results.streams.failures
    frame = results.frame[results.frame["value"].notna()]
    assert set(frame["metric"].str.partition(".")[0]) == set(METRICS)
    assert {"scenario.mtbf", "scenario.residual_hazard"} <= set(frame["metric"])
    values = frame.set_index(["metric", "part"])["value"]
    # What theory knows of any network and any data.
    assert (values.drop("scenario.mtbf", level=0) >= -1).all()
    for metric in METRICS:
        if metric not in ("adversarial_loss", "scenario", "weighted_confusion"):
            assert values[metric].between(0, 1).all()
    assert values["adversarial_loss", "minimum"] <= values["adversarial_loss", "worst tenth"]
    assert values["adversarial_loss", "worst tenth"] <= values["adversarial_loss", "mean"] < 0
    assert values["scenario_coverage", "train k=1"] >= values["scenario_coverage", "train k=3"]
    assert (
        values["neuron_activation", "train last-hidden k=1"]
        > values["neuron_activation", "train last-hidden k=3"]
    )
    assert values["interpretation_precision", "mean"] > 0.5, "a network of signs looks at the signs"
    capsys.readouterr()
    assert main(["check", folder, "--criteria", "dependability"]) in (0, 1, 3)
    assert "error" not in capsys.readouterr().err
    assert main(["report", folder, "--out", str(tmp_path / "page.html")]) == 0
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Not found: " not in html
    assert "cannot be shown" not in html
