"""The shipped experiment on real images: German signs, and Belgian ones of other classes."""

from __future__ import annotations

import pytest

from farm import Readouts
from farm.config import load_experiment
from farm.experiment import run_experiment
from farm.records import judge


@pytest.fixture(scope="module")
def readouts(data_folder) -> Readouts:
    experiment, _ = load_experiment("gtsrb-btsc")
    return run_experiment(experiment, data_folder)


@pytest.fixture(scope="module")
def records(readouts) -> dict[tuple[str, str], dict]:
    judged = judge(readouts.instances, readouts.alarms, readouts.run)
    return {(record["monitor"], record["part"]): record for record in judged}


def test_copies_of_training_images_are_dropped_and_said(readouts) -> None:
    assert readouts.run["workload"]["notes"] == {"copies_dropped": 4}
    assert readouts.run["workload"]["sizes"]["test"] == 12_630 - 4


def test_the_novelty_set_has_exactly_the_images_of_classes_that_germany_has_not(readouts) -> None:
    assert readouts.instances["is_ood"].sum() == 1146
    assert (readouts.instances["label"][readouts.instances["is_ood"]] == -1).all()


def test_lenet_reaches_the_asked_mcc(records) -> None:
    assert records["never", "id"]["classifier_mcc"] >= 0.93


def test_nothing_failed_and_every_acceptance_is_recorded(readouts) -> None:
    for monitor in readouts.run["monitors"]:
        assert monitor["failure"] is None
        assert 0 <= monitor["calibration"]["held_out_acceptance"] <= 1


def test_a_strict_boundary_turns_a_quiet_monitor_into_one_that_alarms_half_the_time(records) -> None:
    assert records["oob-paper", "id"]["alarm_rate"] < 0.1
    assert records["oob-strict", "id"]["alarm_rate"] > 0.4


def test_every_neuron_separates_better_than_two(records) -> None:
    assert records["oob-all", "all"]["auroc"] > records["oob", "all"]["auroc"] + 0.1
