"""The page of a robustness evaluation: what it says, and that it says no more than its tables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from farm.cli import main
from farm.judging.inspection import Look
from farm.measures import Measure, undefined
from farm.measures.measure import Bounded
from farm.protocols.robustness import tables, wording
from farm.protocols.robustness.page import _answer, _gans, page
from farm.protocols.robustness.results import Results
from farm.protocols.robustness.summary import ClassifierDifference, differences, means
from farm.report.cells import interval
from farm.report.page.book import FigureBook
from tests.protocols.robustness.made_results import (
    CLASSIFIERS,
    HOSTILE,
    made_results,
    made_spec,
    made_training,
    small_spec,
)
from tests.protocols.robustness.toys import HERE, robustness, written
from tests.report.page.test_html import Parsed
from tests.report.page.test_page import ids, section, text

FEW: Mapping[str, Any] = {
    "repetitions": 4,
    "transformations": ["robustness-fog", "robustness-blur"],
    "levels": [1, 5],
    "sets": ["uniform-noise", "natural-images", "mixed-images"],
    "gans": [{"name": "gan-lee", "as": "lee"}, {"name": "gan-sricharan", "as": "sri"}],
    "gan_trainings": 2,
}
NUMBER = re.compile(r"(?<![\w.])\d\.\d{3,5}")


@pytest.fixture(scope="module")
def results() -> Results:
    return made_results(
        made_spec(**FEW), skill={"MC-Dropout": 0.76}, fall={("MC-Dropout", "uniform-noise"): 0.3}
    )


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("figures")


@pytest.fixture(scope="module")
def whole(results: Results, drawn: Path) -> str:
    return page(results, FigureBook(drawn))


class Unfilled(FigureBook):
    """Draws nothing."""

    def filled(self, html: str) -> str:
        return re.sub("\0[^\0]*\0", "", html)


def answer(results: Results) -> str:
    """Return what the first section says; a whole page takes its time."""
    return text(_answer(results, Unfilled()))


def numbers_of(looks: list[Look]) -> set[float]:
    """Return all numbers of tables."""
    found: set[float] = set()
    for look in looks:
        for row in look.rows:
            for cell in row:
                parts = (cell.value, cell.low, cell.high) if isinstance(cell, Bounded) else (cell,)
                found |= {part.value for part in parts if isinstance(part, Measure) and part.defined}
    return found


# The parts ------------------------------------------------------------------------------------------------


def test_sections_are_there_and_links_lead_somewhere(whole: str) -> None:
    names = ["answer", "accuracy", "auroc", "brier", "standard", "pairs", "gans", "method"]
    assert re.findall(r'<section id="([\w-]+)">', whole) == names
    known = ids(whole)
    assert len(known) == len(set(known))
    assert {str(a["href"])[1:] for name, a in Parsed(whole).tags if name == "a"} <= set(known)
    assert "\0" not in whole


def test_figures_are_written_beside_the_page(whole: str, drawn: Path) -> None:
    per_measure = ("by-transformation-and-level", "by-level", "by-transformation", "groups", "panels")
    assert {path.stem for path in drawn.iterdir()} == {
        "plain-and-transformed",
        *(f"{measure}-{name}" for measure in ("accuracy", "auroc", "brier") for name in per_measure),
        *("ood-standard", "ood-pair", "gan-sets", "gan-trainings", "gan-surrogates-accuracy"),
    }
    assert whole.count("<svg") == len({path.stem for path in drawn.iterdir()})


def test_a_part_that_was_not_asked_for_has_no_section(results: Results) -> None:
    frame = results.frame
    of_classification = replace(results, frame=frame[frame["part"] == "classification"], gans=())
    found = re.findall(r'<section id="([\w-]+)">', page(of_classification, Unfilled()))
    assert found == ["answer", "accuracy", "auroc", "brier", "method"]
    of_ood = replace(results, frame=frame[frame["part"] == "ood"])
    found = re.findall(r'<section id="([\w-]+)">', page(of_ood, Unfilled()))
    assert found == ["answer", "standard", "pairs", "gans", "method"]


def test_names_stay_text(results: Results) -> None:
    name = HOSTILE
    spec = made_spec(
        **{
            **FEW,
            "name": name,
            "description": name,
            "classifiers": [{"name": "cnn", "as": name}, {"name": "cnn", "as": '"><img src=x onerror=a(1)>'}],
            "transformations": [{"name": "robustness-fog", "as": name}, "robustness-blur"],
            "gans": [{"name": "gan-lee", "as": '"><img src=y onerror=a(1)>'}],
        }
    )
    hostile = page(made_results(spec, failures={name: 2}, undefined={name: 1}), Unfilled())
    plain = page(made_results(made_spec(**{**FEW, "gans": FEW["gans"][:1]}), failures={"why": 2}), Unfilled())
    tags, expected = (
        [tag for tag, _ in Parsed(one).tags if tag in ("script", "img")] for one in (hostile, plain)
    )
    assert tags == expected
    assert not any("onerror" in attributes for _, attributes in Parsed(hostile).tags)
    assert name in text(hostile)


# What is said ---------------------------------------------------------------------------------------------


def test_the_answer_says_no_number_that_no_table_has(results: Results) -> None:
    known = numbers_of(list(tables.looks(results)))
    known |= {one.mean for one in means(results, results.classification, "accuracy", ["transformation"])}
    hard = means(results, results.classification, "accuracy", ["transformation"])
    for name in results.spec.transformation_names:
        known.add(float(np.mean([one.mean for one in hard if one.condition == (name,)])))
    for frame in (results.plain, results.classification):
        for one in differences(results, frame, "accuracy"):
            known |= {
                one.first_mean,
                one.second_mean,
                one.difference,
                one.low.value,
                one.high.value,
                one.p.value,
            }
    lines = [
        wording.fall(results),
        wording.hardest_transformations(results),
        *wording.overall_difference(results, "accuracy"),
        *wording.lowest_sets(results),
    ]
    told = [number for line in lines for number in NUMBER.findall(line.replace("0.5)", ""))]
    assert len(told) > 15
    for number in told:
        digits = len(number) - 2
        rounded = {f"{abs(one):.{digits}f}" for one in known}
        assert number in rounded, number


def test_the_answer_begins_with_accuracies(results: Results) -> None:
    told = answer(results)
    plain = results.plain.groupby("classifier")["accuracy"].mean()
    under = results.classification.groupby("classifier")["accuracy"].mean()
    for name in results.classifiers:
        assert (
            f"{name} is right on {plain[name]:.3f} of the plain test images and on {under[name]:.3f} of the "
            "transformed ones"
        ) in told
    assert "(mean over 4 conditions, 4 repetitions)" in told


def test_a_difference_is_told_only_where_it_shows(results: Results) -> None:
    """In every sentence that names a better classifier the corrected p is below 5 %."""
    alike = made_results(made_spec(**FEW), of_network=0.05, seed=3)
    for one in (results, alike):
        for measure in ("accuracy", "auroc", "brier"):
            for frame in (one.plain, one.classification):
                (found,) = differences(one, frame, measure)
                sentence = wording.difference_sentence(found, measure, "here")
                assert ("is better" in sentence) == found.shows
                assert ("no difference" in sentence) == (not found.shows)
    assert "is better" in answer(results)
    assert " is better in accuracy" not in answer(alike)


def test_where_classifiers_differ_names_each_condition_once(results: Results) -> None:
    for by, names in (("level", ["1", "5"]), ("transformation", ["fog", "blur"])):
        told = wording.where_they_differ(results, "accuracy", by)
        shown = differences(results, results.classification, "accuracy", [by])
        assert all(len(re.findall(rf"\b{name}\b", told)) == 1 for name in names), told
        assert ("no difference shows" in told) == any(not one.shows for one in shown)


@pytest.mark.parametrize(("n", "shown"), [(2, 1), (3, 2), (5, 4), (7, 4)])
def test_the_hardest_transformations_are_not_the_easiest_too(n: int, shown: int) -> None:
    names = ("fog", "blur", "grey", "snow", "rain", "noise", "crop")[:n]
    spec = small_spec(transformations=[f"robustness-{name}" for name in names], repetitions=2)
    for measure in ("accuracy", "brier"):
        told = wording.hardest_transformations(made_results(spec), measure)
        hard, _, easy = told.partition(";")
        assert len(re.findall(r"\(\d", hard)) == shown
        assert not [name for name in names if name in hard and name in easy]
        assert re.findall(r"lowest|highest", told) == (
            ["lowest", "highest"] if measure == "accuracy" else ["highest", "lowest"]
        )


def test_a_single_transformation_is_not_called_the_hardest() -> None:
    spec = small_spec(transformations=["robustness-fog"], repetitions=2)
    assert wording.hardest_transformations(made_results(spec)) == ""


def test_sets_that_are_not_above_chance_are_named(results: Results) -> None:
    frame = results.frame.copy()
    noise = (frame["classifier"] == "Baseline") & (frame["transformation"] == "uniform-noise")
    frame.loc[noise, "auroc"] = [0.47, 0.52, 0.54, 0.51]
    first, second = wording.lowest_sets(replace(results, frame=frame))
    assert first.startswith("Of Baseline AUROC is lowest on uniform-noise: 0.510")
    assert first.endswith("It is not shown to differ from chance (0.5) on uniform-noise.")
    assert "chance" not in second
    frame.loc[noise, "auroc"] = [0.02, 0.03, 0.01, 0.02]
    first, _ = wording.lowest_sets(replace(results, frame=frame))
    assert first.endswith("It is surer of uniform-noise than of test images.")


def test_no_p_value_is_told_where_there_is_none() -> None:
    one = made_results(made_spec(**{**FEW, "repetitions": 1}))
    told = text(page(one, Unfilled()))
    assert not re.search(r"p [=<] 0", told)
    assert "one repetition gives no interval" in told
    assert "one repetition tells no spread" in told
    assert "One repetition cannot choose and judge" in told
    for look in tables.looks(one):
        if "p" in look.columns:
            at = look.columns.index("p")
            assert all(isinstance(row[at], Measure) and not row[at].defined for row in look.rows)


def test_of_given_classifiers_it_is_said_what_repetitions_are(results: Results) -> None:
    told = text(page(replace(results, given=frozenset({"MC-Dropout"})), Unfilled()))
    assert "MC-Dropout brings its weights along" in told
    assert "they are no independent evidence of what retraining would do" in told
    both = answer(replace(results, given=frozenset(results.classifiers)))
    assert "Baseline and MC-Dropout bring their weights along" in both


def test_one_classifier_is_compared_with_nobody() -> None:
    spec = made_spec(**{**FEW, "classifiers": CLASSIFIERS[:1]})
    results = made_results(spec)
    assert not re.search("differ|is better in", answer(results))
    for look in tables.looks(results):
        if "differ in" in look.title:
            assert (look.rows, look.notes) == ([], ("There are no two classifiers to compare.",))


def test_three_classifiers_are_compared_two_by_two() -> None:
    names = [{"name": "cnn", "as": name} for name in ("A", "B", "C")]
    results = made_results(made_spec(**{**FEW, "classifiers": names, "gans": []}))
    look = tables.between(results, results.classification, "accuracy", ["transformation"])
    assert [row[0] for row in look.rows] == [
        f"{at}: {pair}" for pair in ("A and B", "A and C", "B and C") for at in ("fog", "blur")
    ]
    assert "A and C" in answer(results)


@pytest.mark.parametrize("measure", ["accuracy", "auroc", "brier"])
def test_an_interval_in_a_sentence_is_that_of_the_better_one(measure: str) -> None:
    sign = -1 if measure == "brier" else 1
    found = ClassifierDifference(
        *("A", "B", (), 20, 0.1, 0.12, -0.02 * sign),
        *(Measure(value) for value in sorted((-0.03 * sign, -0.01 * sign))),
        Measure(0.002),
        measure != "brier",
    )
    told = wording.difference_sentence(found, measure, "here")
    assert told.startswith("Here B is better")
    digits = 5 if measure == "brier" else 3
    assert f"difference {0.02:.{digits}f}, 95 % interval {interval(0.01, 0.03, digits)}" in told


def test_a_difference_that_is_not_told_says_why() -> None:
    why = undefined("one repetition gives no interval")
    found = ClassifierDifference("A", "B", (), 1, 0.9, 0.8, 0.1, why, why, why, True)
    told = wording.difference_sentence(found, "accuracy", "here")
    assert told == "Whether A and B differ in accuracy here is not told: one repetition gives no interval."


# What is missing ------------------------------------------------------------------------------------------


def test_what_is_missing_is_said_in_the_answer(results: Results) -> None:
    fewer = replace(
        results, failures={"the lens fell off": 4}, missing=1, undefined={"AUROC: each is right": 2}
    )
    told = answer(fewer)
    assert "Not all results are there" in told
    assert "the lens fell off (in 4 cells)" in told
    assert "1 cell is not there yet; farm run goes on with them" in told
    assert "AUROC: each is right (in 2 results)" in told
    assert "Not all results are there" not in answer(results)


def test_a_long_list_of_reasons_is_cut_and_says_by_how_much(results: Results) -> None:
    told = answer(replace(results, failures={f"reason {i}": 1 for i in range(20)}))
    assert "reason 11" in told
    assert "reason 12" not in told
    assert "and 8 more" in told


def test_a_page_of_some_of_the_results_is_made() -> None:
    """Whatever is missing: cells of each kind, a whole classifier, all of a transformation."""
    results = made_results(made_spec(**{**FEW, "gans": FEW["gans"][:1], "repetitions": 2}))
    rng = np.random.default_rng(0)
    for keep in (
        rng.uniform(size=len(results.frame)) < 0.5,
        (results.frame["classifier"] == "Baseline").to_numpy(),
        (results.frame["transformation"] != "fog").to_numpy(),
        (results.frame["kind"] != "plain").to_numpy(),
        (results.frame["kind"] == "plain").to_numpy(),
        (results.frame["kind"] == "gan").to_numpy(),
        np.arange(len(results.frame)) < 1,
    ):
        part = replace(results, frame=results.frame[keep], missing=int((~keep).sum()))
        assert "not there yet" in page(part, Unfilled())


def test_a_measure_without_a_value_is_no_number_on_the_page(results: Results) -> None:
    frame = results.frame.copy()
    frame.loc[(frame["transformation"] == "fog") & (frame["repetition"] == 2), "auroc"] = np.nan
    told = text(page(replace(results, frame=frame), Unfilled()))
    assert "nan" not in told.lower().replace("nano", "")
    assert "auroc has no value in" in told


# GAN sets -------------------------------------------------------------------------------------------------


def test_each_gan_set_shows_what_it_draws(whole: str) -> None:
    images = [a for name, a in Parsed(section(whole, "gans")).tags if name == "img"]
    assert [a["alt"] for a in images] == ["images drawn by lee-1", "images drawn by sri-1"]
    assert all(str(a["src"]).startswith("data:image/png;base64,") for a in images)


def test_where_the_first_training_failed_the_next_shows_its_images(results: Results) -> None:
    left = tuple(one for one in results.gans if one.name != "lee-1")
    made = _gans(replace(results, gans=left), Unfilled())
    images = [a["alt"] for name, a in Parsed(made).tags if name == "img"]
    assert images == ["images drawn by lee-2", "images drawn by sri-1"]


@pytest.mark.parametrize("channels", [1, 3])
def test_images_of_the_notes_are_read_back(channels: int) -> None:
    one = made_training("lee-1", "lee", channels=channels)
    assert one.samples.shape == (8, 12, 10, channels)
    assert one.samples.dtype == np.uint8


def test_how_a_gan_learned_is_a_row_each(results: Results) -> None:
    look = tables.gan_trainings(results.gans)
    assert [row[0] for row in look.rows] == ["lee-1", "lee-2", "sri-1", "sri-2"]
    assert look.rows[0][1:3] == ("surrogate's accuracy 0.3", "5")
    assert made_training("x-1", "x", limit=None).rule == "5 epochs"
    assert made_training("x-1", "x").kept_value == pytest.approx(0.31)
    assert made_training("x-1", "x").curve["kept"].tolist() == [False] * 4 + [True]


# Criteria -------------------------------------------------------------------------------------------------


def test_criteria_are_judged_on_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "criteria.yaml").write_text(
        "criteria:\n"
        "  - classifier_accuracy >= 0.3 on faultload:muddle\n"
        "  - classifier_brier_mean <= 0.01 on faultload:muddle\n",
        encoding="utf-8",
    )
    values = robustness(
        parts="classification",
        repetitions=1,
        classifiers=[{"name": f"{HERE}:Trained", "as": "calibrated"}],
        transformations=[{"name": f"{HERE}:Muddle", "as": "muddle", "severity": 1}],
        criteria="criteria.yaml",
    )
    out = tmp_path / "out"
    assert main(["run", str(written(tmp_path, values)), "--out", str(out), "--quiet"]) == 0
    capsys.readouterr()
    assert main(["report", str(out), "--out", str(tmp_path / "page.html")]) == 0
    verdict = section((tmp_path / "page.html").read_text(encoding="utf-8"), "verdict")
    told = text(verdict)
    assert "Type-approval record" in told
    assert "classifier_brier_mean <= 0.01" in told.replace("≤", "<=")
    assert re.search(r"\bfail", told.lower())
    assert re.search(r"\bpass", told.lower())

    (tmp_path / "criteria.yaml").unlink()
    assert main(["report", str(out), "--out", str(tmp_path / "page.html")]) == 0
    told = text(section((tmp_path / "page.html").read_text(encoding="utf-8"), "verdict"))
    assert "No verdict: " in told
    assert "criteria.yaml" in told


def test_tables_say_what_their_intervals_are_about() -> None:
    spec = made_spec(**FEW)
    for given, said in (
        ((), "both are about other trainings, on these test images."),
        (("Baseline", "MC-Dropout"), "both are about other test images of the kind."),
        (("Baseline",), "for those that brought their weights along about other test images."),
    ):
        results = made_results(spec, given=frozenset(given))
        (look,) = [one for one in tables.short(results) if one.title.startswith("Where")]
        assert look.notes[0].endswith(said)
