"""Thresholds with a guarantee in a whole run: kept with the readouts, or failures that say what they need."""

from __future__ import annotations

from farm.api import Guarantee
from farm.config.experiment import parse_experiment
from farm.errors import ExperimentError
from farm.run.execution import run_experiment
from farm.store.readouts import Readouts
from tests.wording import refused

EXPERIMENT = {
    "name": "guaranteed",
    "workload": {"name": "farm.testing.fakes:TinySource"},
    "classifier": "farm.testing.fakes:TinyModel",
    "monitors": [
        {"name": "max-softmax", "as": "average"},
        {"name": "max-softmax", "as": "sure", "calibration": {"method": "bounded", "confidence": 0.9999}},
        {"name": "max-softmax", "as": "plain", "calibration": {"accept": 0.9}},
        "never",
    ],
    "calibration": {"method": "conformal", "accept": 0.6},
}


def test_what_is_promised_is_kept_and_what_cannot_be_is_a_failure(tmp_path):
    made = run_experiment(parse_experiment(EXPERIMENT, "test"), tmp_path)
    kept = Readouts.load(made.save(tmp_path / "run"))
    notes = {one["name"]: one for one in kept.run["monitors"]}
    guarantee = Guarantee.from_record(notes["average"]["calibration"]["guarantee"])
    tracks = {one["name"]: one for one in kept.run["workload"]["card"]["splits"]}["validation"]["groups"]
    assert (guarantee.n, guarantee.unit, guarantee.promises[0].at_most) == (tracks, "track", 0.4)
    assert "cannot be met with n = " in notes["sure"]["failure"]
    assert "needs at least" in notes["sure"]["failure"]
    for name in ("plain", "never"):
        assert "guarantee" not in notes[name]["calibration"]


def test_a_condition_that_the_workload_does_not_tell_stops_the_run(tmp_path):
    changed = EXPERIMENT | {"calibration": {"method": "conformal", "by": "weather"}}
    with refused(ExperimentError):
        run_experiment(parse_experiment(changed, "test"), tmp_path)
