"""The rule on determinism, in both its halves."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from farm import Readouts
from farm.config import parse_experiment
from farm.experiment import run_experiment
from farm.readouts import TIME_COLUMNS
from farm.run_record import MARGIN, spread

EXPERIMENT = {
    "name": "small",
    "seed": 3,
    "workload": {"name": "digits", "size": 32},
    "classifier": {"name": "lenet", "epochs": 3},
    "faultload": {
        "name": "novelty",
        "workload": {"name": "signs-abroad", "train_groups": 2, "validation_groups": 1, "test_groups": 2},
    },
    "stream": {"ood_share": 0.3},
    "monitors": ["oob", "oob-pca", "oob-isomap", "odin", "max-softmax", "random", "never"],
    "layers": ["last-hidden"],
}
IN_A_NEW_PROCESS = """
import json, sys
from farm.config import parse_experiment
from farm.experiment import run_experiment
from pathlib import Path
run_experiment(parse_experiment(json.loads(sys.argv[1]), "test"), Path()).save(sys.argv[2])
"""


def run(tmp_path, **changed) -> Readouts:
    return run_experiment(parse_experiment(EXPERIMENT | changed, "test"), tmp_path)


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[int, Readouts]:
    folder = tmp_path_factory.mktemp("experiment")
    return {size: run(folder, batch_size=size) for size in (1, 7, 64)}


def without_times(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns=[c for c in TIME_COLUMNS if c in frame])


@pytest.mark.parametrize("size", [1, 7, 64])
def test_the_same_experiment_gives_the_same_bits_in_a_new_process(runs, tmp_path, monkeypatch, size) -> None:
    import json

    monkeypatch.setenv("FARM_CACHE", str(tmp_path / "empty-cache"))  # so that everything is made anew
    text = json.dumps(EXPERIMENT | {"batch_size": size})
    subprocess.run([sys.executable, "-c", IN_A_NEW_PROCESS, text, str(tmp_path / "run")], check=True)
    again = Readouts.load(tmp_path / "run")
    first = runs[size]
    pd.testing.assert_frame_equal(
        without_times(first.instances), without_times(again.instances), check_exact=True
    )
    pd.testing.assert_frame_equal(without_times(first.alarms), without_times(again.alarms), check_exact=True)
    np.testing.assert_array_equal(first.layers["last-hidden"], again.layers["last-hidden"])
    for key in ("workload", "stream", "experiment", "classes"):
        assert first.run[key] == again.run[key]
    mine, theirs = ({**run.run["classifier"]} for run in (first, again))
    for time in ("bare_time_us", "observing_time_us"):  # times may differ, and nothing else
        assert mine.pop(time) > 0
        assert theirs.pop(time) > 0
    assert mine == theirs
    kept = ("calibration", "nbytes", "notes", "parameters", "rows_near_threshold")
    for mine, theirs in zip(first.run["monitors"], again.run["monitors"], strict=True):
        assert {k: mine[k] for k in kept} == {k: theirs[k] for k in kept}


def test_what_is_no_floating_point_sum_is_the_same_at_every_batch_size(runs) -> None:
    exact = ["position", "id", "workload", "track", "label", "is_ood", "category", "faultload", "severity"]
    for size in (7, 64):
        pd.testing.assert_frame_equal(runs[1].instances[exact], runs[size].instances[exact], check_exact=True)


def test_calibration_does_not_depend_on_the_batch_size(runs) -> None:
    for mine, theirs in zip(runs[1].run["monitors"], runs[64].run["monitors"], strict=True):
        assert mine["calibration"]["threshold"] == theirs["calibration"]["threshold"]


@pytest.mark.parametrize("size", [7, 64])
def test_scores_agree_to_a_tolerance_and_decisions_where_the_margin_is_above_it(runs, size) -> None:
    one, many = runs[1], runs[size]
    agree = (one.instances["predicted"] == many.instances["predicted"]).to_numpy()
    assert (~agree).sum() <= one.run["close_predictions"]
    np.testing.assert_allclose(one.instances["confidence"], many.instances["confidence"], atol=1e-5)
    for record in one.run["monitors"]:
        mine, theirs = (r.alarms[r.alarms["monitor"] == record["name"]] for r in (one, many))
        scores, others = mine["score"].to_numpy()[agree], theirs["score"].to_numpy()[agree]
        margin = MARGIN * spread(mine["score"].to_numpy())
        assert (np.abs(scores - others) <= margin).all(), record["name"]
        near = np.abs(scores - record["calibration"]["threshold"]) <= margin
        differ = mine["alarm"].to_numpy()[agree] != theirs["alarm"].to_numpy()[agree]
        assert not differ[~near].any(), record["name"]
        assert near.sum() <= record["rows_near_threshold"]


def test_another_seed_gives_another_run(runs, tmp_path) -> None:
    other = run(tmp_path, seed=4)
    assert other.run["classifier"]["digest"] != runs[64].run["classifier"]["digest"]
    assert other.instances["id"].tolist() != runs[64].instances["id"].tolist()
