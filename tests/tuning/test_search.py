"""A search finds what is best of what it measured, by validation data alone, and goes on where it was."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from farm.api import Context
from farm.errors import ComponentFailure, DataError, ParameterError
from farm.run.loading import load_experiment
from farm.run.testbed import Testbed
from farm.tuning.history import JOURNAL
from farm.tuning.measuring import ValidationMeasurer
from tests.tuning import made_models
from tests.tuning.made_models import Dial, WithoutTest
from tests.tuning.searching import BOTH, EXPERIMENT, SCALE, TUNING, searched, write
from tests.wording import refused


def rows(folder: Path) -> list[dict[str, str]]:
    """Return the table of trials but for the time that they took."""
    with (folder / "trials.csv").open(newline="") as file:
        return [
            {key: value for key, value in row.items() if key != "seconds"} for row in csv.DictReader(file)
        ]


def one_step(**step: Any) -> dict[str, Any]:
    return {**TUNING, "steps": {"best": {"search": BOTH, **step}}}


def losses(parameters: dict[str, float]) -> tuple[float, float]:
    """Compute both measures from the images alone."""
    data = WithoutTest().load(Context(), contents=False)
    images = data.validation.images.read(np.arange(len(data.validation)))
    seen = Dial(**parameters).classifier(data, Context()).observe(images)
    right = seen.probabilities[np.arange(len(images)), data.validation.labels]
    off = (data.validation.boxes - seen.outputs["box"]) / parameters["spread"]
    return -np.log(right).mean(), (np.log(parameters["spread"] * np.sqrt(2 * np.pi)) + off**2 / 2).mean()


def test_each_measure_chooses_its_own_parameters_of_the_same_trials(tmp_path: Path) -> None:
    (found,) = searched(write(tmp_path), tmp_path / "out")
    of_all = [losses(trial.parameters) for trial in found.trials]
    assert len(of_all) == 8
    for i, (best, name) in enumerate(zip(found.best, ("scale", "spread"), strict=True)):
        own = [both[i] for both in of_all]
        assert [trial.values[best.measure] for trial in found.trials] == pytest.approx(own)
        assert (best.value, best.number) == (pytest.approx(min(own)), int(np.argmin(own)) + 1)
        others = [
            v for v, t in zip(own, found.trials, strict=True) if t.parameters[name] != best.parameters[name]
        ]
        assert best.lead == pytest.approx(min(others) - min(own))
        assert best.lead > 0
    assert found.parameters == {key: value for best in found.best for key, value in best.parameters.items()}
    assert {trial.n for trial in found.trials} == {54}


def test_what_is_better_where_it_is_higher_is_the_highest(tmp_path: Path) -> None:
    experiment = {**EXPERIMENT, "classifier": "farm.testing.fake_boxes:BoxModel"}
    step = {"search": {"box_iou": {"error": [4.0, 2.0, 1.0, 0.5]}}, "trials": 12}
    (found,) = searched(write(tmp_path, one_step(**step), experiment), tmp_path / "out")
    best = {trial.parameters["error"]: trial.values["box_iou"] for trial in found.trials}
    assert best[0.5] > best[1.0] > best[2.0] > best[4.0]
    assert (found.parameters, found.best[0].value) == ({"error": 0.5}, best[0.5])
    assert found.best[0].lead == best[0.5] - best[1.0]


def test_looking_finds_more_than_chance(tmp_path: Path) -> None:
    step = {"trials": 25, "search": {"box_nll": {"spread": {"low": 0.1, "high": 30.0}}}}
    (found,) = searched(write(tmp_path, one_step(**step)), tmp_path / "out")
    off = [abs(trial.parameters["spread"] - 1.0) for trial in found.trials]
    assert np.median(off[-10:]) < np.median(off[:5]) / 3


def test_an_interrupted_search_ends_as_one_that_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = write(tmp_path, one_step(set={"breaks": 1.0}))
    searched(place, tmp_path / "whole")
    measure, left = ValidationMeasurer.measure, [3]

    def interrupted(self: ValidationMeasurer, *asked: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return measure(self, *asked)

    with monkeypatch.context() as patch:
        patch.setattr(ValidationMeasurer, "measure", interrupted)
        with pytest.raises(KeyboardInterrupt):
            searched(place, tmp_path / "parts")
    assert len(rows(tmp_path / "parts")) == 3
    assert not (tmp_path / "parts" / "best.yaml").exists()
    with (tmp_path / "parts" / JOURNAL).open("a", encoding="utf-8") as journal:
        journal.write('{"op_code":4,"worker_id":"killed while')
    made_models.MADE.clear()
    searched(place, tmp_path / "parts")
    assert len(made_models.MADE) == 5
    assert rows(tmp_path / "parts") == rows(tmp_path / "whole")
    assert {row["state"] for row in rows(tmp_path / "whole")} == {"complete", "failed"}
    assert (tmp_path / "parts" / "best.yaml").read_text() == (tmp_path / "whole" / "best.yaml").read_text()


def test_more_trials_go_on_from_those_that_are_there(tmp_path: Path) -> None:
    place = write(tmp_path)
    searched(place, tmp_path / "out", "trials=3")
    searched(place, tmp_path / "out")
    searched(place, tmp_path / "whole")
    assert rows(tmp_path / "out") == rows(tmp_path / "whole")


def test_another_seed_is_another_search(tmp_path: Path) -> None:
    (first,) = searched(write(tmp_path), tmp_path / "3")
    (second,) = searched(write(tmp_path, experiment={**EXPERIMENT, "seed": 4}), tmp_path / "4")
    assert first.trials[0].parameters != second.trials[0].parameters


def test_a_failed_trial_is_a_result_and_the_search_goes_on(tmp_path: Path) -> None:
    (found,) = searched(write(tmp_path, one_step(set={"breaks": 0.4})), tmp_path / "out")
    over = [trial.parameters["scale"] >= 0.4 for trial in found.trials]
    assert [bool(trial.reason) for trial in found.trials] == over
    assert 0 < sum(over) < 8
    assert [number for number, _ in found.failed] == [i + 1 for i, one in enumerate(over) if one]
    assert [row["reason"].endswith(f"diverged at {row['scale']}") for row in rows(tmp_path / "out")] == over
    assert found.parameters["scale"] < 0.4


def test_where_all_fail_that_is_said(tmp_path: Path) -> None:
    place = write(tmp_path, one_step(set={"breaks": 0.0}))
    with refused(ComponentFailure):
        searched(place, tmp_path / "out", "trials=2")
    assert [row["state"] for row in rows(tmp_path / "out")] == ["failed"] * 2


def test_what_cannot_be_measured_is_a_failed_trial(tmp_path: Path) -> None:
    experiment = {**EXPERIMENT, "workload": "farm.testing.fakes:TinySource", "classifier": "lenet"}
    step = {"set": {"epochs": 1}, "search": {"box_iou": {"learning_rate": [0.1, 0.2]}}}
    experiment["workload"] = {"name": "farm.testing.fakes:TinySource", "size": 32}
    with refused(ComponentFailure):
        searched(write(tmp_path, one_step(**step), experiment), tmp_path / "out", "trials=1")


def test_later_steps_keep_what_was_found_unless_they_say_otherwise(tmp_path: Path) -> None:
    wide = {"low": 1.0, "high": 2.0}
    steps = {
        "a/first": {"set": {"kind": "b"}, "search": {"classifier_nll": {"scale": SCALE}}},
        "a/second": {"search": {"box_nll": {"spread": wide}}},
        "third": {"set": {"scale": 0.5}, "search": {"box_nll": {"spread": [0.5, 1.5]}}},
    }
    tuning = {**TUNING, "trials": 3, "set": {"breaks": 3.0, "scale": 0.1}, "steps": steps}
    first, second, third = searched(write(tmp_path, tuning), tmp_path / "out")
    assert first.parameters == {"breaks": 3.0, "kind": "b", "scale": first.best[0].parameters["scale"]}
    assert second.parameters["scale"] == first.parameters["scale"]
    assert "kind" not in second.parameters, "what is set is for a step alone"
    assert third.parameters == {"breaks": 3.0, "scale": 0.5, "spread": third.best[0].parameters["spread"]}
    kept = yaml.safe_load((tmp_path / "out" / "best.yaml").read_text())
    assert kept == {"a": {"first": first.parameters, "second": second.parameters}, "third": third.parameters}
    assert [row["step"] for row in rows(tmp_path / "out")] == ["a/first"] * 3 + ["a/second"] * 3 + [
        "third"
    ] * 3


def test_no_model_sees_test_data(tmp_path: Path) -> None:
    tuning, made = write(tmp_path), WithoutTest().load(Context(), contents=False)
    experiment, home = load_experiment(str(tmp_path / "mine.yaml"))
    given = ValidationMeasurer(experiment, home).workload
    assert len(given.test) == 0
    assert given.validation.ids.tolist() == made.validation.ids.tolist()
    searched(tuning, tmp_path / "out")  # whose test images raise where they are read
    with pytest.raises(AssertionError, match="test images were read"):
        Testbed().workload({"name": EXPERIMENT["workload"]})


def test_data_lie_beside_the_experiment(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    splits = {"train": 40, "test": 8}
    images = {f"x_{name}": rng.random((n, 8, 8, 3), dtype=np.float32) for name, n in splits.items()}
    np.savez(tmp_path / "own.npz", **images, **{f"y_{name}": np.arange(n) % 2 for name, n in splits.items()})
    experiment = {**EXPERIMENT, "workload": {"name": "npz", "path": "own.npz"}, "classifier": "cnn"}
    step = {"set": {"epochs": 1}, "search": {"classifier_nll": {"learning_rate": [0.1, 0.2]}}}
    (found,) = searched(write(tmp_path, one_step(**step), experiment), tmp_path / "out", "trials=1")
    assert found.trials[0].n == 8
    assert found.best[0].lead is None, "there is nothing to be ahead of"


def test_images_of_validation_data_among_training_data_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    split = WithoutTest._split
    monkeypatch.setattr(
        WithoutTest, "_split", lambda self, name, n: split(self, "train" if name != "test" else name, n)
    )
    with pytest.raises(DataError, match="share"):
        searched(write(tmp_path), tmp_path / "out")


def test_what_cannot_be_made_is_told_before_anything_is(tmp_path: Path) -> None:
    made_models.MADE.clear()
    for name in ("scael", "spread"):
        steps = {
            "a": {"search": BOTH},
            "b": {"set": {name: "wide"}, "search": {"box_nll": {"breaks": [1, 2]}}},
        }
        with refused(ParameterError):
            searched(write(tmp_path, {**TUNING, "steps": steps}), tmp_path / "out")
    assert (made_models.MADE, (tmp_path / "out").exists()) == ([], False)


def test_halves_of_two_networks_are_tuned_apart_in_the_same_trials(tmp_path: Path) -> None:
    experiment = {
        "workload": "farm.testing.fake_boxes:BoxSource",
        "classifier": {"name": "what-and-where", "epochs": 2, "variant": "head", "passes": 3, "neurons": 16},
        "monitors": ["never"],
    }
    rates = {"low": 1e-4, "high": 1e-2, "log": True}
    both = {"classifier_nll": {"learning_rate": rates}, "box_mae": {"box_learning_rate": rates}}
    tuning = {**TUNING, "trials": 3, "steps": {"head": {"search": both}}}
    (found,) = searched(write(tmp_path, tuning, experiment), tmp_path / "out")
    assert all(trial.chose_epoch for trial in found.trials)
    # What both halves chose was perhaps never trained together, and is worth what each was alone.
    loaded, home = load_experiment(str(tmp_path / "mine.yaml"))
    together = ValidationMeasurer(loaded, home).measure(found.parameters, list(both))
    assert together.values == pytest.approx({best.measure: best.value for best in found.best}, rel=1e-6)


def test_what_was_trained_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FARM_CACHE", str(tmp_path / "cache"))
    experiment = {**EXPERIMENT, "workload": {"name": "digits", "size": 8}, "classifier": "cnn"}
    step = {"set": {"epochs": 1}, "search": {"classifier_accuracy": {"learning_rate": [0.01, 0.001]}}}
    place = write(tmp_path, one_step(**step), experiment)
    (first,) = searched(place, tmp_path / "one", "trials=2")
    trained = set((tmp_path / "cache" / "cnn").iterdir())
    (second,) = searched(place, tmp_path / "two", "trials=2")
    assert set((tmp_path / "cache" / "cnn").iterdir()) == trained != set()
    assert [one.values for one in first.trials] == [one.values for one in second.trials]
