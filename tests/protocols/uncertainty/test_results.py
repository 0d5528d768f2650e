"""What results say of networks of which theory knows what they are worth, against other implementations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy
from sklearn.metrics import accuracy_score, log_loss, matthews_corrcoef, roc_auc_score

from farm.api.boxes import PREDICTED_BOX, SPREAD_OF_BOX, TRUE_BOX
from farm.config.specs import NO_FAULT
from farm.measures.localization import regression_ece
from farm.protocols.uncertainty.asked import MERGED_ID, VALIDATION, VARIANTS
from farm.protocols.uncertainty.post_hoc import with_probabilities
from farm.protocols.uncertainty.results import COLUMNS, OF_MONITOR, REASON, Results
from farm.protocols.uncertainty.streams import JudgedNetwork
from farm.store.class_probabilities import class_probabilities
from tests.protocols.uncertainty.made_streams import (
    CLASSES,
    UNKNOWN,
    N,
    Skill,
    made_results,
    made_spec,
)

FOUND = ("light rain", "heavy rain", "heavy fog", "another setup")
SKILL = {
    ("head", "any"): Skill(right=0.85, sharp=0.3, error=3.0, claim=0.3),
    ("ensemble", "any"): Skill(right=0.9),
    ("vanilla", "heavy rain"): Skill(right=0.6, error=5.0),
}


@pytest.fixture(scope="module")
def results() -> Results:
    return made_results(skill=SKILL)


def value(results: Results, variant: str, task: str, shift: str, measure: str) -> float:
    frame = results.frame
    (found,) = frame.loc[
        (frame["variant"] == variant)
        & (frame["task"] == task)
        & (frame["shift"] == shift)
        & (frame["measure"] == measure),
        "value",
    ]
    return float(found)


def test_the_files_have_their_columns_and_a_row_a_result(results: Results, tmp_path: Path) -> None:
    written = results.write(tmp_path)
    frame = pd.read_csv(written, keep_default_na=False, na_values=[""])
    assert tuple(frame.columns) == COLUMNS
    assert COLUMNS == ("backbone", "variant", "seed", "task", "shift", "measure", "value", "n")
    pd.testing.assert_frame_equal(frame, results.frame[list(COLUMNS)], check_dtype=False)
    assert not frame.duplicated(["backbone", "variant", "seed", "task", "shift", "measure"]).any()
    monitors = pd.read_csv(tmp_path / "monitors.csv")
    assert tuple(monitors.columns) == OF_MONITOR
    assert set(frame["variant"]) == set(VARIANTS)
    assert VALIDATION not in set(frame["shift"])


def test_classes_are_those_of_scikit_learn(results: Results) -> None:
    for network, own in results.streams.of.items():
        for shift in (NO_FAULT, "heavy rain"):
            instances = own[shift].instances
            probabilities = class_probabilities(instances, CLASSES).astype(np.float64)
            label, one_hot = instances["label"], np.eye(len(CLASSES))[instances["label"]]
            told = {
                name: value(results, network.variant, "classification", shift, name)
                for name in ("accuracy", "nll", "brier")
            }
            assert told["accuracy"] == pytest.approx(accuracy_score(label, instances["predicted"]))
            scaled = probabilities / probabilities.sum(axis=1, keepdims=True)
            assert told["nll"] == pytest.approx(log_loss(label, scaled, labels=range(4)), rel=1e-6)
            assert told["brier"] == pytest.approx(
                np.square(probabilities - one_hot).sum(axis=1).mean(), rel=1e-5
            )


def test_boxes_are_those_of_scipy(results: Results) -> None:
    for network, own in results.streams.of.items():
        if network.variant == "vanilla":
            continue
        for shift in (NO_FAULT, UNKNOWN):
            instances = own[shift].instances
            target, said, spread = (
                instances[list(names)].to_numpy(np.float64)
                for names in (TRUE_BOX, PREDICTED_BOX, SPREAD_OF_BOX)
            )
            told = {
                name: value(results, network.variant, "localization", shift, name)
                for name in ("mae", "nll", "ece")
            }
            assert told["mae"] == pytest.approx(np.abs(target - said).mean())
            assert told["nll"] == pytest.approx(-scipy.stats.norm.logpdf(target, said, spread).mean())
            assert told["ece"] == pytest.approx(regression_ece(said, spread, target).value)


def test_networks_that_claim_what_they_err_are_calibrated_and_others_are_not(results: Results) -> None:
    """Gaussian errors of 2 pixels, and a spread of 2: the analytic NLL, and a flat reliability diagram."""
    analytic = 0.5 * np.log(2 * np.pi * 4) + 0.5
    assert value(results, "everywhere", "localization", NO_FAULT, "nll") == pytest.approx(analytic, abs=0.08)
    assert value(results, "everywhere", "localization", NO_FAULT, "ece") < 0.04
    assert value(results, "head", "localization", NO_FAULT, "ece") > 0.1, "it claims a third of its errors"
    assert value(results, "head", "localization", NO_FAULT, "ece isotonic") < 0.05
    assert value(results, "head", "classification", NO_FAULT, "ece") > 0.1
    for how in ("temperature", "vector"):
        assert value(results, "head", "classification", NO_FAULT, f"ece {how}") < 0.07


def test_vanilla_tells_no_spread_of_boxes(results: Results) -> None:
    frame = results.frame[results.frame["variant"] == "vanilla"]
    for measure in ("nll", "ece", "ece isotonic"):
        rows = frame[(frame["task"] == "localization") & (frame["measure"] == measure)]
        assert len(rows) == 6
        assert rows["value"].isna().all()
        assert set(rows[REASON]) == {"the classifier gives no spread of its boxes"}
    others = frame[
        (frame["task"] == "localization") & frame["measure"].isin(["mae", "iou", "coverage boxes"])
    ]
    assert others["value"].notna().all()
    assert results.undefined == {"the classifier gives no spread of its boxes": 18}


def test_what_is_of_no_class_is_judged_for_boxes_alone(results: Results) -> None:
    rows = results.frame[results.frame["shift"] == UNKNOWN]
    assert set(rows["task"]) == {"localization"}
    assert set(rows["n"]) == {N}


def test_classes_are_merged_where_that_is_said_and_on_the_test_data_beside_all(results: Results) -> None:
    frame = results.frame[results.frame["task"] == "classification"]
    for network, own in results.streams.of.items():
        for shift, shown in ((NO_FAULT, MERGED_ID), ("another setup", "another setup")):
            instances = own[shift].instances
            probabilities = class_probabilities(instances, CLASSES).astype(np.float64)
            summed = np.column_stack(
                [probabilities[:, 2], probabilities[:, 0] + probabilities[:, 1], probabilities[:, 3]]
            )
            label = instances["label"].map({0: 1, 1: 1, 2: 0, 3: -1}).to_numpy()
            known = label >= 0
            right = summed[known].argmax(axis=1) == label[known]
            assert value(results, network.variant, "classification", shown, "accuracy") == pytest.approx(
                right.mean()
            )
            own_rows = frame[(frame["variant"] == network.variant) & (frame["shift"] == shown)]
            assert set(own_rows.loc[own_rows["measure"] == "accuracy", "n"]) == {int(known.sum())}
    assert set(frame.loc[frame["shift"] == MERGED_ID, "measure"]) == {"accuracy", "ece", "nll", "brier"}


def test_classes_are_calibrated_before_they_are_merged(results: Results) -> None:
    network = JudgedNetwork("cnn", "head", 0)
    readouts = results.streams.of[network]["another setup"]
    for name, scaled in results.calibrated[network].scaled.items():
        assert not isinstance(scaled, str)
        probabilities = scaled.apply(readouts.probabilities)
        group = np.array([1, 1, 0, 2])[readouts.instances["label"].to_numpy()]
        summed = np.column_stack([probabilities[:, 2], probabilities[:, :2].sum(axis=1)])
        likely = summed[np.arange(len(group)), group]
        nll = value(results, "head", "classification", "another setup", f"nll {name}")
        assert nll == pytest.approx(-np.log(likely).mean(), rel=1e-5)


def test_merging_changes_no_box() -> None:
    merged, plain = made_results(), made_results(made_spec(merged=None))
    boxes = [one.frame[one.frame["task"] == "localization"].reset_index(drop=True) for one in (merged, plain)]
    pd.testing.assert_frame_equal(*boxes)
    shifts = set(plain.frame["shift"])
    assert MERGED_ID not in shifts


def test_a_mapping_that_does_not_fit_costs_its_own_results_alone() -> None:
    wrong = {"groups": {"vehicle": ["car", "lorry"]}, "shifts": ["another setup"]}
    results = made_results(made_spec(merged=wrong))
    (problem,) = results.problems
    assert "lorry" in problem
    classes = results.frame[results.frame["task"] == "classification"]
    assert set(classes["shift"]) - {"another setup"} == {NO_FAULT, "light rain", "heavy rain", "heavy fog"}
    plain = classes[classes["measure"].isin(["accuracy", "ece", "nll", "brier"])]
    assert "another setup" not in set(plain["shift"])
    assert results.problems == list(dict.fromkeys(results.problems))


def test_monitors_are_judged_on_the_test_data_and_the_shift_together(results: Results) -> None:
    frame = results.monitors
    of_vanilla = frame[frame["variant"] == "vanilla"]
    assert set(of_vanilla["monitor"]) == {"entropy"}
    assert set(frame.loc[frame["variant"] == "head", "monitor"]) == {
        "entropy",
        "mutual-information",
        "box-spread",
    }
    assert set(frame["shift"]) == {*FOUND, UNKNOWN}
    network = JudgedNetwork("cnn", "head", 0)
    own = results.streams.of[network]
    for shift in ("heavy rain", UNKNOWN):
        parts = [own[NO_FAULT], own[shift]]
        said = [one.alarms[one.alarms["monitor"] == "entropy"] for one in parts]
        score, alarm = (np.concatenate([each[name] for each in said]) for name in ("score", "alarm"))
        is_ood = np.repeat([False, True], N)
        wrong = np.concatenate([one.instances["predicted"] != one.instances["label"] for one in parts])
        (row,) = frame[
            (frame["variant"] == "head") & (frame["monitor"] == "entropy") & (frame["shift"] == shift)
        ].to_dict("records")
        assert row["specific_mcc"].value == pytest.approx(matthews_corrcoef(is_ood, alarm))
        assert row["overall_mcc"].value == pytest.approx(matthews_corrcoef(wrong, alarm))
        assert row["auroc"].value == pytest.approx(roc_auc_score(is_ood, score))
        assert row["false_alarm_rate"].value == pytest.approx(alarm[~is_ood].mean())
        assert (row["ood_share"], row["n"]) == (0.5, 2 * N)


def test_where_classes_are_merged_a_monitor_need_not_tell_them_apart(results: Results) -> None:
    group = np.array([0, 0, 1, 2])  # car and truck are vehicles, and a sign is in no group
    own = results.streams.of[JudgedNetwork("cnn", "head", 0)]
    alarm, wrong = [], []
    for shift in (NO_FAULT, "another setup"):
        readouts = own[shift]
        label = group[readouts.instances["label"].to_numpy()]
        said = np.stack([readouts.probabilities[:, group == one].sum(axis=1) for one in range(3)], axis=1)
        kept = label < 2
        alarm.append(readouts.alarms.loc[readouts.alarms["monitor"] == "entropy", "alarm"].to_numpy()[kept])
        wrong.append((said.argmax(axis=1) != label)[kept])
    frame = results.monitors
    rows = frame[(frame["variant"] == "head") & (frame["monitor"] == "entropy")].set_index("shift")
    expected = matthews_corrcoef(np.concatenate(wrong), np.concatenate(alarm))
    assert rows.at["another setup", "overall_mcc"].value == pytest.approx(expected)
    assert rows.at["another setup", "n"] == sum(map(len, wrong))


def test_a_set_holds_a_group_with_any_of_its_classes(results: Results) -> None:
    own = results.streams.of[JudgedNetwork("cnn", "head", 0)]
    group = np.array([0, 0, 1, 2])  # car and truck are vehicles, and a sign is in no group
    validation = own[VALIDATION]
    right = validation.instances["label"].to_numpy()
    scores = np.sort(1 - validation.probabilities[np.arange(len(right)), right].astype(np.float64))
    worst = scores[int(np.ceil((len(scores) + 1) * 0.9)) - 1]
    shifted = own["another setup"]
    label = group[shifted.instances["label"].to_numpy()]
    sets = 1 - shifted.probabilities.astype(np.float64) <= worst
    held = np.stack([sets[:, group == one].any(axis=1) for one in range(3)], axis=1)[label < 2]
    known = label[label < 2]
    covered = held[np.arange(len(known)), known].mean()
    assert value(results, "head", "classification", "another setup", "coverage sets") == pytest.approx(
        covered
    )
    assert value(results, "head", "classification", "another setup", "size sets") == pytest.approx(
        held.sum(axis=1).mean()
    )
    rows = results.frame[(results.frame["variant"] == "head") & (results.frame["shift"] == "another setup")]
    of_classes = rows[rows["task"] == "classification"]
    assert set(of_classes["n"]) == {len(known)}


def test_what_calibration_cannot_be_is_told_of_the_same_instances() -> None:
    perfect = Skill(right=1.0, sharp=0.2)
    results = made_results(skill={("head", "any"): perfect}, n=60)
    own = results.frame[(results.frame["variant"] == "head") & (results.frame["shift"] == "another setup")]
    own = own[own["task"] == "classification"].set_index("measure")
    assert own["n"].nunique() == 1


def test_a_network_that_says_where_alone_is_not_judged_by_classes() -> None:
    made = made_results()
    network = JudgedNetwork("cnn", "head", 0)
    why = {"notes": {"classes": "it gives boxes alone: all classes are as likely"}}
    own = {
        name: replace(one, run={**one.run, "classifier": {**one.run["classifier"], **why}})
        for name, one in made.streams.of[network].items()
    }
    results = Results(replace(made.streams, of={**made.streams.of, network: own}))
    frame = results.frame[results.frame["variant"] == "head"]
    assert set(frame["task"]) == {"localization"}
    assert (network, NO_FAULT) not in results.coverages("sets")
    assert (network, NO_FAULT) in results.coverages("boxes")


def test_scaled_probabilities_come_with_what_is_predicted_by_them(results: Results) -> None:
    own = results.streams.of[JudgedNetwork("cnn", "head", 0)]["heavy rain"]
    turned = own.probabilities[:, ::-1].astype(np.float64)
    made = with_probabilities(own, turned).instances
    assert made["predicted"].tolist() == turned.argmax(axis=1).tolist()
    assert made["confidence"].tolist() == turned.max(axis=1).tolist()


def test_falling_short_is_by_chance_of_all_streams_together(results: Results) -> None:
    found = results.coverages("boxes")
    network = JudgedNetwork("cnn", "vanilla", 0)
    readouts = results.streams.of[network][NO_FAULT]
    alone = results.calibrated[network].coverage("boxes", readouts, None)
    corrected = results.calibrated[network].coverage("boxes", readouts, None, 1 - 0.1 / len(found))
    assert found[network, NO_FAULT].expected[0].value == corrected.expected[0].value
    assert corrected.expected[0].value < alone.expected[0].value
    assert len(found) == 6 * 6, "six networks on the test data and five shifts"


def test_members_are_told_one_by_one(results: Results) -> None:
    found = results.members
    assert set(found["member"]) == {1, 2, 3}
    assert set(found["measure"]) == {"accuracy", "ece", "nll", "brier", "mae", "iou"}
    for number in (1, 2, 3):
        instances = results.streams.members["cnn", 0][number].instances
        (told,) = found.loc[(found["member"] == number) & (found["measure"] == "accuracy"), "value"]
        assert told.value == pytest.approx((instances["label"] == instances["predicted"]).mean())


def test_conformal_coverage_is_counted_by_hand(results: Results) -> None:
    own = results.streams.of[JudgedNetwork("cnn", "vanilla", 0)]

    def wrongness(stream: str) -> np.ndarray:
        boxes = own[stream].instances
        away = boxes[list(TRUE_BOX)].to_numpy(np.float64) - boxes[list(PREDICTED_BOX)].to_numpy(np.float64)
        return np.abs(away).max(axis=1)

    scores = np.sort(wrongness(VALIDATION))
    band = scores[int(np.ceil((len(scores) + 1) * 0.9)) - 1]
    for shift in (NO_FAULT, "heavy rain"):
        assert value(results, "vanilla", "localization", shift, "coverage boxes") == pytest.approx(
            (wrongness(shift) <= band).mean()
        )
        assert value(results, "vanilla", "localization", shift, "width boxes") == pytest.approx(2 * band)
    assert value(results, "vanilla", "localization", "heavy rain", "coverage boxes") < 0.5, (
        "errors are larger there"
    )
    short = {key for key, had in results.coverages("boxes").items() if had.falls_short}
    assert (JudgedNetwork("cnn", "vanilla", 0), "heavy rain") in short
    assert (JudgedNetwork("cnn", "vanilla", 0), NO_FAULT) not in short


def test_without_validation_data_nothing_is_calibrated_and_all_else_is_told(results: Results) -> None:
    of = {
        network: {shift: own[shift] for shift in own if shift != VALIDATION}
        for network, own in results.streams.of.items()
    }
    without = Results(replace(results.streams, of=of))
    assert not without.calibrated
    assert not without.frame["measure"].str.contains(" ").any()
    before = results.frame[~results.frame["measure"].str.contains(" ")].reset_index(drop=True)
    pd.testing.assert_frame_equal(without.frame, before)
