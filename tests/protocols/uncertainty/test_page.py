"""The page of an evaluation of uncertainty: what it shows, and what its reliability diagrams are of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from farm.config.specs import NO_FAULT
from farm.judging.boxes import boxes_of
from farm.protocols.uncertainty import wording
from farm.protocols.uncertainty.measured import BOXES, CLASSES
from farm.protocols.uncertainty.page import page
from farm.protocols.uncertainty.reliabilities import least_calibrated, reliability_frame
from farm.protocols.uncertainty.results import Results
from farm.report.page.book import FigureBook
from tests.protocols.uncertainty.made_streams import Skill, made_results, made_spec
from tests.report.page.test_html import HOSTILE, Parsed
from tests.report.page.test_page import ids, section, text

SECTIONS = [
    *("answer", "test-data", "classification", "localization"),
    *("calibration", "monitors", "networks", "method"),
]
FIGURES = {
    *("test-data", "coverage"),
    *(f"{task}-{of}" for task in (CLASSES, BOXES) for of in ("cnn", "over-networks", "reliability")),
}


@pytest.fixture(scope="module")
def results() -> Results:
    return made_results(
        skill={
            ("vanilla", "any"): Skill(sharp=0.5),
            ("head", "heavy rain"): Skill(right=0.6, claim=0.3),
            ("head", "unknown objects"): Skill(claim=0.2),
        }
    )


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("figures")


@pytest.fixture(scope="module")
def whole(results: Results, drawn: Path) -> str:
    return page(results, FigureBook(drawn))


def test_the_page_has_its_sections_and_figures(whole: str, drawn: Path) -> None:
    assert [name for name in ids(whole) if name in SECTIONS] == SECTIONS
    assert {path.stem for path in drawn.glob("*.png")} == FIGURES


def test_the_answer_begins_with_how_far_the_single_network_falls(results: Results, whole: str) -> None:
    answer = text(section(whole, "answer"))
    for sentence in (*wording.falls(results), *wording.conformal(results), wording.scope(results)):
        assert sentence in answer
    assert "Which findings of the source hold here" in answer
    assert "Not all results are there" not in answer


def test_what_is_missing_is_told_before_anybody_compares(results: Results) -> None:
    broken = Results(replace(results.streams, failures={"out of memory": 3}, missing=2))
    answer = text(section(page(broken), "answer"))
    assert "Not all results are there" in answer
    assert "out of memory (in 3 cells)" in answer
    assert "2 cells are not there yet" in answer


def test_names_are_nothing_but_names() -> None:
    shifts = [{"name": "rain", "as": HOSTILE, "severity": 3}]
    spec = made_spec(shifts=shifts, merged=None, variants=["vanilla", "head"])
    made = page(made_results(spec, n=60))
    assert HOSTILE in Parsed(made).text
    assert not any("onerror" in attributes for _, attributes in Parsed(made).tags)


def test_boxes_are_least_calibrated_where_they_claim_too_little(results: Results) -> None:
    assert least_calibrated(results, BOXES) == ["unknown objects", "heavy rain"]
    assert "unknown objects" not in least_calibrated(results, CLASSES)


def test_reliability_of_classes_is_of_the_bins_that_hold_something(results: Results) -> None:
    frame = reliability_frame(results, CLASSES, [NO_FAULT])
    own = frame[frame["network"] == "cnn vanilla"]
    (readouts,) = (
        one
        for (network, at, task), one in results.judged.items()
        if (network.variant, at, task) == ("vanilla", NO_FAULT, CLASSES)
    )
    sure = readouts.instances["confidence"].to_numpy()
    right = (readouts.instances["predicted"] == readouts.instances["label"]).to_numpy()
    number = np.minimum(np.ceil(sure * 10).astype(int) - 1, 9)
    held = np.unique(number)
    assert own["said"].tolist() == pytest.approx([sure[number == i].mean() for i in held])
    assert own["was"].tolist() == pytest.approx([right[number == i].mean() for i in held])


def test_reliability_of_boxes_is_the_mean_of_the_sides_and_none_without_a_spread(results: Results) -> None:
    frame = reliability_frame(results, BOXES, [NO_FAULT])
    assert "cnn vanilla" not in set(frame["network"])
    own = frame[frame["network"] == "cnn head"]
    (readouts,) = (
        one
        for (network, at, task), one in results.judged.items()
        if (network.variant, at, task) == ("head", NO_FAULT, BOXES)
    )
    boxes = boxes_of(readouts.instances)
    assert boxes is not None
    assert boxes.spread is not None
    from scipy.stats import norm

    levels = norm.cdf((boxes.target - boxes.predicted) / boxes.spread)
    said = np.arange(1, 11) / 10
    assert own["said"].tolist() == pytest.approx(said.tolist())
    assert own["was"].tolist() == pytest.approx([(levels <= one).mean() for one in said])
