"""The rule on determinism, in both its halves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from farm import Readouts
from farm.config.experiment import parse_experiment
from farm.run.execution import run_experiment
from farm.run.recorder import MARGIN, spread
from farm.store.readouts import TIME_COLUMNS

EXPERIMENT = {
    "name": "small",
    "seed": 3,
    "workload": {"name": "digits", "size": 32},
    "classifier": {"name": "lenet", "epochs": 2},
    "faultload": {
        "name": "novelty",
        "workload": {"name": "signs-abroad", "train_groups": 2, "validation_groups": 1, "test_groups": 2},
    },
    "stream": {"ood_share": 0.3, "length": 200},
    "monitors": ["oob", "oob-pca", "oob-isomap", "odin", "max-softmax", "random", "never"],
    "layers": ["last-hidden"],
}
SIZES = (1, 7, 64)
IN_A_NEW_PROCESS = """
import json, os, sys
from pathlib import Path
from farm.config.experiment import parse_experiment
from farm.run.execution import run_experiment
values, sizes, folder = json.loads(sys.argv[1]), json.loads(sys.argv[2]), Path(sys.argv[3])
os.environ["FARM_CACHE"] = str(folder / "cache")  # an empty one: what is made is made anew
for size in sizes:
    experiment = parse_experiment(values | {"batch_size": size}, "test")
    run_experiment(experiment, Path()).save(folder / f"run-{size}")
"""


def run(folder: Path, **changed) -> Readouts:
    return run_experiment(parse_experiment(EXPERIMENT | changed, "test"), folder)


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[int, Readouts]:
    """Return a run a batch size: the first makes everything, and the others find it in the cache."""
    folder = tmp_path_factory.mktemp("experiment")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FARM_CACHE", str(folder / "cache"))
        return {size: run(folder, batch_size=size) for size in reversed(SIZES)}


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory) -> dict[int, Readouts]:
    """Return the same of another process, which makes everything as well, with another batch size first."""
    folder = tmp_path_factory.mktemp("elsewhere")
    arguments = [json.dumps(EXPERIMENT), json.dumps(SIZES), str(folder)]
    subprocess.run([sys.executable, "-c", IN_A_NEW_PROCESS, *arguments], check=True)
    return {size: Readouts.load(folder / f"run-{size}") for size in SIZES}


def without_times(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns=[c for c in TIME_COLUMNS if c in frame])


@pytest.mark.parametrize("size", SIZES)
def test_the_same_experiment_gives_the_same_bits_in_a_new_process(runs, elsewhere, size) -> None:
    first, again = runs[size], elsewhere[size]
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
        assert mine["failure"] is theirs["failure"] is None
        assert {k: mine[k] for k in kept} == {k: theirs[k] for k in kept}


def test_the_runs_are_of_what_they_are_meant_to_show(runs) -> None:
    """A classifier that is right more often than not, both sorts of instances, alarms and none."""
    instances, alarms = runs[1].instances, runs[1].alarms
    assert instances["is_ood"].sum() == 60
    assert len(instances) == 200
    right = instances["predicted"] == instances["label"]
    assert right[~instances["is_ood"]].mean() > 0.5
    raised = alarms.groupby("monitor")["alarm"].sum()
    assert raised["never"] == 0
    assert (raised.drop("never") > 0).all()
    assert (raised < 200).all()


def test_what_is_no_floating_point_sum_is_the_same_at_every_batch_size(runs) -> None:
    exact = ["position", "id", "workload", "track", "label", "is_ood", "category", "faultload", "severity"]
    for size in (7, 64):
        pd.testing.assert_frame_equal(runs[1].instances[exact], runs[size].instances[exact], check_exact=True)


def test_calibration_does_not_depend_on_the_batch_size(runs, elsewhere) -> None:
    """Either was fitted and calibrated anew."""
    for mine, theirs in zip(runs[64].run["monitors"], elsewhere[1].run["monitors"], strict=True):
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


def test_another_seed_gives_another_run(tmp_path) -> None:
    tiny = {
        "workload": {"name": "farm.testing.fakes:TinySource"},
        "classifier": "farm.testing.fakes:TinyModel",
        "faultload": "black-frame",
        "stream": {"ood_share": 0.3},
        "monitors": ["random"],
        "layers": [],
    }
    one, same, other = (run(tmp_path, seed=seed, **tiny) for seed in (3, 3, 4))
    for part, column in (("instances", "id"), ("alarms", "score"), ("instances", "confidence")):
        told = [getattr(readouts, part)[column].tolist() for readouts in (one, same, other)]
        assert told[0] == told[1] != told[2], column
