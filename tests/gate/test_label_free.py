"""The accuracy of a log without labels, held against a run, a campaign, or another log."""

import json
from dataclasses import replace

import numpy as np
import pytest

from farm.cli import main
from farm.errors import DataError
from farm.gate.drift import Reference
from farm.gate.label_free import LabelledReference
from farm.statistics.label_free.estimates import METHODS
from tests.campaign.made_campaigns import planned, write_campaign, write_cell
from tests.judging.test_label_free import log, signs
from tests.wording import refused, same_text

ACCURACY, ERROR = "accuracy without labels", "error without labels"


def written(readouts, path):
    """Write readouts as a log, with what a fleet has."""
    columns = ["position", "track", "predicted", "confidence"]
    own = [name for name in columns if name in readouts.instances]
    alarms = readouts.alarms[readouts.alarms["monitor"] == "odin"]
    alarms.merge(readouts.instances[own], on="position").to_csv(path, index=False)
    return path.name


def saved(readouts, folder):
    readouts.save(folder)
    return str(folder)


def records(capsys, *arguments):
    assert main(["judge", *arguments, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def of(part, found):
    return [one for one in found if one["part"] == part]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_records_say_what_the_estimates_are(here, capsys):
    reference = saved(signs(0, "fog", by=1.0), here / "may")
    found = records(capsys, written(log(), here / "june.csv"), "--reference", "may")
    made = LabelledReference.of(Reference.load(reference, probabilities=True))
    by_method = {one["method"]: one for one in of(ACCURACY, found)}
    assert list(by_method) == list(METHODS)
    doc = by_method["doc"]
    assert (doc["n"], doc["n_reference"], doc["reference"]) == (600, 360, "may")
    assert doc["low"] < doc["accuracy"] < doc["high"]
    (fog,) = made.faults
    errors = {one["method"]: one for one in of(ERROR, found)}
    for name in METHODS:
        assert errors[name]["error"] == pytest.approx(fog.errors[name].value.value)
        assert errors[name]["low"] == pytest.approx(fog.errors[name].low.value)
        assert by_method[name]["mean_error"] == pytest.approx(abs(fog.errors[name].value.value))
    assert errors["atc_entropy"]["truth"] == pytest.approx(fog.truth.value.value)
    assert by_method["atc_entropy"]["accuracy"] is None
    assert by_method["weighting"]["effective_tracks"] > 10
    same_text(by_method["atc_entropy"]["undefined"].values())


def test_all_that_is_told_of_a_log_without_confidences(here, capsys):
    saved(signs(0, "fog", by=1.0), here / "may")
    assert main(["judge", written(log(confidence=None), here / "june.csv"), "--reference", "may"]) == 0
    printed = capsys.readouterr().out
    same_text(printed[printed.index("Accuracy without labels") :])


@pytest.mark.parametrize("style", ["markdown", "csv", "latex"])
def test_other_formats_have_it_too(here, capsys, style):
    saved(signs(0, "fog"), here / "may")
    words = ["judge", written(log(), here / "june.csv"), "--reference", "may", "--format", style]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert ("weighting" in out, "Accuracy without labels" in out) == (True, style != "csv")


def test_a_reference_without_labels_says_nothing_of_accuracies(here, capsys):
    may, june = (written(log(seed), here / f"{name}.csv") for seed, name in ((4, "may"), (5, "june")))
    found = records(capsys, june, "--reference", may)
    assert not of(ACCURACY, found)
    assert not of(ERROR, found)
    assert main(["judge", june, "--reference", may]) == 0
    assert "Accuracy" not in capsys.readouterr().out


def test_validation_data_are_a_reference_though_yardsticks_alone_watched_them(here, capsys):
    """Then nothing is known of the drift of other monitors."""
    run = signs(0, stream={"split": "validation"})
    own = run.run["monitors"][1:2]
    yardstick = replace(
        run, alarms=run.alarms[run.alarms["monitor"] == "random"], run={**run.run, "monitors": own}
    )
    saved(yardstick, here / "may")
    found = records(capsys, written(log(), here / "june.csv"), "--reference", "may")
    assert {one["method"] for one in of(ACCURACY, found) if one["accuracy"]} >= {"atc", "doc", "weighting"}
    (whole,) = (one for one in of("all", found) if one["monitor"] == "odin")
    assert whole["drift"] is None
    same_text(whole["against"]["sentence"])


def test_a_campaign_of_one_classifier_is_a_reference_with_all_of_its_faults(here, capsys):
    cells = [planned(number, fault) for number, fault in enumerate(("fog", "strangers"))]
    folder = write_campaign(here / "may", cells)
    for number, (cell, fault) in enumerate(zip(cells, ("fog", "strangers"), strict=True)):
        named = {note["name"]: "key" for note in signs().run["monitors"]}
        # The second has more ID instances.
        write_cell(
            folder, {**cell, "monitors": named}, complete(signs(number, fault, share=0.4 - number / 10))
        )
    june = written(log(), here / "june.csv")
    found = records(capsys, june, "--reference", "may")
    assert {one["fault"] for one in of(ERROR, found)} == {"fog 3", "strangers"}
    assert {one["reference"] for one in of(ACCURACY, found)} == {f"may/cells/{cells[1]['target']}"}
    assert main(["inspect", "may", "--label-free"]) == 0
    out = capsys.readouterr().out
    assert "Trust none for novelty" in out
    (own,) = Reference.load("may").runs[1:]
    with refused(DataError):
        Reference.load("may").check([own])


def test_a_campaign_of_several_classifiers_is_none(here):
    cells = [planned(number) for number in range(2)]
    folder = write_campaign(here / "may", cells)
    for number, cell in enumerate(cells):
        named = {note["name"]: "key" for note in signs().run["monitors"]}
        made = complete(signs(number, "fog", digest=f"d{number}"))
        write_cell(folder, {**cell, "monitors": named}, made)
    with refused(DataError):
        Reference.load("may")


def complete(readouts):
    """Add what a cell of a campaign notes of the machine that computed it."""
    about = {"versions": {"python": "3.11"}, "hardware": {"processor": "one"}, "testbed_commit": "c0ffee"}
    return replace(readouts, run={**readouts.run, **about})


def test_a_log_of_another_classifier_has_no_estimates(here, capsys):
    saved(signs(0), here / "may")
    saved(signs(1, digest="d2"), here / "june")
    found = of(ACCURACY, records(capsys, "june", "--reference", "may"))
    assert {one["accuracy"] for one in found} == {None}
    same_text({one["undefined"]["accuracy"] for one in found})


def test_the_truth_lies_within_where_nothing_changed(here, capsys):
    """A run with labels as a log: what is told of it without looking at these is right."""
    saved(signs(0), here / "may")
    june = signs(1)
    saved(june, here / "june")
    right = np.mean(june.instances["label"] == june.instances["predicted"])
    for one in of(ACCURACY, records(capsys, "june", "--reference", "may")):
        assert one["low"] < right < one["high"], one["method"]
