"""The tables and the sentences: which numbers stand where, and what is said of them."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from farm.config.specs import NO_FAULT
from farm.judging.inspection import Look
from farm.measures import Measure
from farm.measures.measure import Bounded
from farm.protocols.uncertainty import wording
from farm.protocols.uncertainty.asked import VARIANTS
from farm.protocols.uncertainty.results import Results
from farm.protocols.uncertainty.streams import JudgedNetwork
from farm.protocols.uncertainty.tables import looks, short
from farm.report.looks import render_looks
from tests.protocols.uncertainty.made_streams import SHIFTS, Skill, made_results, made_spec
from tests.wording import same_text

SKILL = {
    ("ensemble", "any"): Skill(right=0.95, error=1.2),
    ("vanilla", "any"): Skill(right=0.7),
    ("vanilla", "heavy rain"): Skill(right=0.55, error=6.0),
}
RATES = {"cnn": {"head": {"dropout": 0.2, "box_dropout": 0.1, "learning_rate": 0.01}}}


@pytest.fixture(scope="module")
def results() -> Results:
    return made_results(made_spec(rates=RATES), skill=SKILL)


@pytest.fixture(scope="module")
def tables(results: Results) -> list[Look]:
    return list(looks(results))


def table(tables: list[Look], title: str) -> Look:
    (found,) = (one for one in tables if one.title.startswith(title))
    return found


def cell(look: Look, row: str, column: str) -> Any:
    (found,) = (one for one in look.rows if one[0] == row)
    return found[look.columns.index(column)]


def value(results: Results, variant: str, task: str, shift: str, measure: str) -> float:
    frame = results.frame
    keys = {"variant": variant, "task": task, "shift": shift, "measure": measure}
    rows = np.logical_and.reduce([frame[key] == wanted for key, wanted in keys.items()])
    (found,) = frame.loc[rows, "value"]
    return float(found)


def test_each_of_the_sources_tables_is_there(tables: list[Look]) -> None:
    titles = [one.title for one in tables]
    for number in (3, 4, 5, 6):
        assert any(f"(Table {number})" in title for title in titles)
    assert any("(Figures 10 and 11)" in title for title in titles)
    assert any("(Figure 12)" in title for title in titles)
    assert any("(Figure 13)" in title for title in titles)
    assert len(titles) == len(set(titles))


def test_numbers_stand_where_they_belong(results: Results, tables: list[Look]) -> None:
    for title, task, measure, shift in (
        ("Accuracy under shift", "classification", "accuracy", "another setup"),
        ("ECE of classes under shift", "classification", "ece", "heavy rain"),
        ("Brier score", "classification", "brier", "none, merged"),
        ("IoU under shift", "localization", "iou", "unknown objects"),
        ("ECE of boxes under shift", "localization", "ece", "heavy fog"),
        ("MAE of boxes", "localization", "mae", NO_FAULT),
    ):
        (look, *_) = (one for one in tables if one.title.startswith(title) and "under shift" in one.title)
        for variant in ("head", "ensemble"):
            assert cell(look, f"cnn {variant}", shift).value == value(results, variant, task, shift, measure)
    boxes = table(tables, "ECE of boxes under shift")
    assert cell(boxes, "cnn vanilla", NO_FAULT).reason == "the classifier gives no spread of its boxes"
    assert [row[0] for row in boxes.rows] == [f"cnn {variant}" for variant in VARIANTS]


def test_single_networks_have_intervals_on_the_test_data(results: Results, tables: list[Look]) -> None:
    look = table(tables, "Test data without any shift")
    assert [row[0] for row in look.rows] == ["cnn vanilla"]
    for column, task, measure in (
        ("accuracy, all classes", "classification", "accuracy"),
        ("IoU", "localization", "iou"),
    ):
        found = cell(look, "cnn vanilla", column)
        assert isinstance(found, Bounded)
        told = value(results, "vanilla", task, NO_FAULT, measure)
        assert found.low.value < told == found.value.value < found.high.value
    assert isinstance(cell(look, "cnn vanilla", "NLL, merged"), Measure)


def test_rates_are_those_that_the_networks_were_made_with(tables: list[Look]) -> None:
    look = table(tables, "Rates as used")
    assert look.rows == [("cnn head", "0.2", "0.1", "0.01", None)]


def test_quartiles_are_over_all_networks(results: Results, tables: list[Look]) -> None:
    look = table(tables, "Accuracy over all networks")
    frame = results.frame
    own = frame[(frame["measure"] == "accuracy") & (frame["shift"] == "heavy rain")]["value"]
    assert cell(look, "heavy rain", "median").value == pytest.approx(float(own.median()))
    assert cell(look, "heavy rain", "least").value == own.min()
    assert cell(look, "heavy rain", "networks") == 6
    boxes = table(tables, "ECE of boxes over all networks")
    assert cell(boxes, "heavy rain", "networks") == 5, "vanilla tells no spread"


def test_where_classes_are_merged_the_test_data_are_told_so_too(tables: list[Look], results: Results) -> None:
    look = table(tables, "Accuracy over all networks")
    frame = results.frame
    own = frame[(frame["measure"] == "accuracy") & (frame["shift"] == "none, merged")]["value"]
    assert cell(look, "none, merged", "median").value == pytest.approx(float(own.median()))
    assert look.notes == ("Classes are merged under none, merged, another setup.",)
    assert table(tables, "IoU over all networks").notes == ()


def test_a_fall_under_merged_classes_is_from_the_test_data_of_these() -> None:
    skill = {("vanilla", "another setup"): Skill(right=0.4), ("vanilla", "any"): Skill(right=0.9)}
    results = made_results(made_spec(variants=["vanilla"]), skill=skill)
    before, after = (
        value(results, "vanilla", "classification", shift, "accuracy")
        for shift in ("none, merged", "another setup")
    )
    first = next(iter(wording.falls(results)))
    assert first.endswith(f"from {before:.3f} on the test data to {after:.3f}, of merged classes.")


def test_what_nothing_falls_under_is_said() -> None:
    skill = {("vanilla", "none"): Skill(error=9.0)}
    results = made_results(made_spec(variants=["vanilla"]), skill=skill)
    assert "The IoU of cnn vanilla is under none of 5 shifts lower than on the test data." in [
        *wording.falls(results)
    ]


def test_pixels_are_said_of_which_images(tables: list[Look]) -> None:
    (look,) = [one for one in tables if one.title.startswith("MAE of boxes (pixels) under shift")]
    assert "Pixels of images of 48 x 48, as networks see them." in look.notes


def test_members_spread_is_that_of_a_sample(tables: list[Look], results: Results) -> None:
    look = table(tables, "The members of ensembles")
    own = results.members
    values = [one.value for one in own.loc[own["measure"] == "accuracy", "value"]]
    assert cell(look, "cnn, accuracy", "standard deviation").value == pytest.approx(np.std(values, ddof=1))


def test_monitors_that_a_variant_cannot_have_are_told(tables: list[Look]) -> None:
    look = table(tables, "Is the uncertainty a good monitor? AUROC")
    assert [row[0] for row in look.rows if "vanilla" in str(row[0])] == ["cnn vanilla: entropy"]
    assert any("mutual-information and box-spread: not there for cnn vanilla" in note for note in look.notes)


def test_sentences_say_what_was_found(results: Results) -> None:
    told = [*wording.falls(results), *wording.conformal(results)]
    before, after = (
        value(results, "vanilla", "classification", shift, "accuracy") for shift in (NO_FAULT, "heavy rain")
    )
    assert told[0] == (
        f"The accuracy of cnn vanilla falls furthest under heavy rain, of 4 shifts: from {before:.3f} on the "
        f"test data to {after:.3f}."
    )
    (boxes,) = (one for one in told if one.startswith("Boxes that should"))
    assert "heavy rain (1 network)" in boxes
    (first,) = wording.better_variants(results, "classification", "accuracy")
    assert first.startswith("Over all shifts cnn ensemble has the best mean accuracy")
    assert "cnn vanilla" in first
    (stable,) = wording.stability(results)
    assert stable == "One repetition cannot tell whether another would rank the variants alike."


def test_several_repetitions_are_said_to_be_stable_or_not() -> None:
    spec = made_spec(repetitions=3, variants=["vanilla", "head", "last-layer", "ensemble"], members=2)
    skills = {
        (v, "any"): Skill(right=right, error=error)
        for v, right, error in (
            ("vanilla", 0.6, 4.0),
            ("head", 0.72, 3.0),
            ("last-layer", 0.84, 2.0),
            ("ensemble", 0.96, 1.0),
        )
    }
    told = list(wording.stability(made_results(spec, skill=skills)))
    assert len(told) == 3
    assert all("is stable: it is the same in all repetitions (Kendall's W 1.00, p" in one for one in told)


def test_the_beginning_comes_first_and_is_what_a_run_prints(results: Results, tables: list[Look]) -> None:
    first = list(short(results))
    assert [one.title for one in first] == [one.title for one in tables[: len(first)]]
    assert len(first) == 3
    same_text(render_looks([first[1]], "table", width=160))


@pytest.mark.parametrize("style", ["json", "csv", "markdown", "latex", "table"])
def test_tables_are_told_in_every_format(tables: list[Look], style: str) -> None:
    told = render_looks(tables, style)
    if style == "json":
        assert [one["title"] for one in json.loads(told)] == [one.title for one in tables]
    if style == "csv":
        titles = {row[0] for row in csv.reader(io.StringIO(told)) if row}
        assert {one.title for one in tables if one.rows} <= titles
    assert "cnn ensemble" in told


def test_what_is_missing_is_said_first(results: Results) -> None:
    streams = replace(results.streams, failures={"the lens fell off": 2}, missing=3)
    (first, *_) = short(Results(streams))
    assert first.title == "Not all results are there"
    assert first.notes == (
        "the lens fell off (in 2 cells).",
        "3 cells are not there yet; farm run goes on with them.",
    )
    wrong = made_results(made_spec(merged={"groups": {"vehicle": ["lorry"]}, "shifts": ["another setup"]}))
    (first, *_) = short(wrong)
    assert "lorry" in first.notes[0]


def test_own_classifiers_have_rows_everywhere() -> None:
    made = made_results(
        made_spec(classifiers=[{"name": "lenet", "as": "mine"}], variants=["vanilla", "head"])
    )
    every = list(looks(made))
    for title in ("Accuracy under shift", "IoU under shift", "Test data without any shift"):
        assert "mine own" in [row[0] for row in table(every, title).rows]


def test_without_any_of_the_sources_networks_none_of_its_findings_is_looked_at() -> None:
    made = made_results(made_spec(backbones=[], classifiers=[{"name": "lenet", "as": "mine"}]))
    first = list(short(made))
    assert [one.title for one in first] == ["Test data without any shift (Table 3)", "In short"]
    assert first[1].notes[0].startswith("The accuracy of mine own falls furthest under ")


def test_false_alarms_are_those_of_the_whole_test_data() -> None:
    first = [{"name": "novelty", "as": "another setup", "workload": "signs-abroad"}, SHIFTS[0]]
    results = made_results(made_spec(shifts=first, variants=["head"]))
    (look,) = [one for one in looks(results) if "AUROC of the test data" in one.title]
    (row,) = [one for one in look.rows if one[0] == "cnn head: entropy"]
    own = results.streams.of[JudgedNetwork("cnn", "head", 0)][NO_FAULT].alarms
    alarm = own.loc[own["monitor"] == "entropy", "alarm"]
    assert row[1].value == pytest.approx(alarm.mean())
