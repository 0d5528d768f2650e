"""The tables and the page of a dependability evaluation, and the sentences that say what would help."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from farm.cli import main
from farm.errors import DataError
from farm.protocols.dependability import tables, wording
from farm.protocols.dependability.kinds import ATTRIBUTES, METRICS
from farm.protocols.dependability.page import page
from farm.protocols.dependability.results import Results
from farm.report.page.book import FigureBook
from tests.protocols.dependability import toys
from tests.protocols.dependability.toys import FADE, GLARE, run, truth
from tests.report.page.test_html import HOSTILE, Parsed
from tests.report.page.test_page import ids, section, text
from tests.wording import same_text

SECTIONS = [
    *("answer", "scenario-coverage", "neuron-activation", "neuron-pattern", "adversarial-loss", "scenario"),
    *("interpretation-precision", "weighted-confusion", "monitor-coverage", "method"),
]
FIGURES = {
    *("scenario-coverage", "neuron-activation", "neuron-pattern"),
    *("occlusion-maps", "occlusion-curve"),
}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("figures")


@pytest.fixture(scope="module")
def whole(results: Results, drawn: Path) -> str:
    return page(results, FigureBook(drawn))


def of_copy(results: Results, **changes: Any) -> Results:
    """Return the results of a campaign whose file says something else."""
    spec = results.streams.spec.model_copy(update=changes)
    return Results(replace(results.streams, spec=spec))


def table_of(results: Results, title: str) -> dict[str, tuple[Any, ...]]:
    """Return the rows of the one table that begins so, by their names."""
    (found,) = [look for look in tables.looks(results) if look.title.startswith(title)]
    return {str(row[0]): row[1:] for row in found.rows}


# Tables ---------------------------------------------------------------------------------------------------


def test_all_tables_are_told_as_json(toy: Path, results: Results, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(toy), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["title"] for one in told] == [one.title for one in tables.looks(results)]
    assert told[0]["title"] == "Dependability metrics"
    assert len(told[0]["rows"]) == len([row for row in results.rows() if not row.detail])


@pytest.mark.parametrize("style", ["csv", "markdown", "latex"])
def test_tables_are_told_in_every_format(
    toy: Path, results: Results, style: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(toy), "--format", style]) == 0
    told = capsys.readouterr().out
    assert all(name in told for name in ("fade", "max-softmax", "dark as bright"))
    if style == "csv":
        titles = {one[0] for one in csv.reader(io.StringIO(told)) if one}
        assert {look.title for look in tables.looks(results) if look.rows} <= titles


def test_the_first_table_marks_what_each_metric_serves(results: Results) -> None:
    (first,) = tables.short(results)
    for row in first.rows:
        (kind,) = [one for one in METRICS.values() if str(row[0]).startswith(one.title)] or [
            METRICS["scenario"]
        ]
        letters = [
            letter if name in kind.attributes else "·"
            for letter, name in zip("RICC", ATTRIBUTES, strict=True)
        ]
        assert row[1] == " ".join(letters)
    better = {str(row[0]).partition(":")[0]: row[-1] for row in first.rows}
    assert {name for name, end in better.items() if end == "lower"} == {
        *("Neuron activation pattern", "Occlusion sensitivity covering", "Weighted confusion"),
        "residual_hazard by scenario",
    }


def test_tables_have_the_numbers_of_theory(results: Results) -> None:
    facts = truth()
    found = table_of(results, "Scenario coverage")
    assert found["test, k=2: all"][:2] == (3, 4)
    assert found["test, k=2: weather x light"][:2] == (3, 4)
    assert "train, k=2: weather x light" not in found, "what is complete is not listed"
    assert table_of(results, "Record next") == {"test, k=2": ("weather=wet, light=night", 1, 1)}
    assert table_of(results, "Never recorded") == {"test, k=2": ("weather=wet, light=night",)}
    # Of six units the first is never on, and the second always.
    assert table_of(results, "Neuron k-activation")["test, maps, k=1"][-2:] == (1, 1)
    wrong = facts[facts["label"] != facts["predicted"]]
    dark = int((wrong["label"] == 0).sum())
    bright = len(wrong) - dark
    times, weight, share = table_of(results, "The costliest confusions")["dark as bright"]
    assert (times, weight.value) == (dark, 4)
    assert share.value == pytest.approx(4 * dark / (4 * dark + bright))
    loss = table_of(results, "Adversarial confidence loss")
    assert [loss[name][0] for name in ("fade", "glare")] == ["4", "4"]
    assert loss["fade"][2] + loss["glare"][2] == loss["the worst of each image"][2] == len(facts)
    met = table_of(results, "What monitors were tried on")
    night = int(facts["night"].sum())
    assert met["light=night"] == (night, night, night)
    looks = [one for one in tables.looks(results) if one.title == "What did not meet, 2 conditions at a time"]
    assert [one.rows for one in looks] == [[("weather=wet, light=night", name) for name in ("fade", "glare")]]
    of_scenarios = [look for look in tables.looks(results) if look.title.startswith("Activation patterns")]
    lying = [[row[3] for row in look.rows] for look in of_scenarios]
    assert lying == [sorted(own, reverse=True) for own in lying], "those of which most lie apart come first"
    assert any(len(set(own)) > 1 for own in lying)


def test_what_was_not_asked_for_has_no_table(results: Results) -> None:
    few = of_copy(results, metrics=["weighted_confusion"])
    assert [one.title for one in tables.looks(few)] == ["Dependability metrics", "The costliest confusions"]


# Sentences ------------------------------------------------------------------------------------------------


def improvement(results: Results, metric: str) -> str:
    """Return what is said beyond the general."""
    told = wording.improvement(results, metric)
    assert told.startswith(METRICS[metric].improve)
    return told.removeprefix(METRICS[metric].improve).strip()


def test_each_metric_says_what_would_improve_it(results: Results) -> None:
    same_text(f"{metric}: {wording.improvement(results, metric)}" for metric in METRICS)


def test_what_is_said_to_be_worst_is(results: Results) -> None:
    frame = results.frame
    loss = improvement(results, "adversarial_loss")
    assert results.loss.found.by_transformer["fade"].worst == int(re.findall(r"\((\d+) of 120", loss)[0]) > 60
    patterns = frame[(frame["metric"] == "neuron_pattern") & frame["part"].str.contains("weather=")]
    worst = patterns.loc[patterns["value"].idxmax()]
    data, _, scenario = worst["part"].partition(" units, ")
    at = f"the {data} data under {scenario} ({100 * worst['value']:.1f} %)"
    assert improvement(results, "neuron_pattern") == f"The largest share that lies apart is in {at}."
    own = frame[frame["metric"] == "scenario.classifier_accuracy"]
    cells = own[own["part"].str.startswith("weather=")]
    # The classifier errs at night alone, and is shown to.
    weakest = cells.loc[cells["value"].idxmin()]
    assert weakest["part"] == "weather=dry, light=night"
    assert improvement(results, "scenario") == (
        f"Weaker in classifier_accuracy than all images together: {weakest['part']}."
    )


def test_where_nothing_lies_apart_nothing_is_said(results: Results) -> None:
    """With two groups none can."""
    few = results.streams.spec.neurons.model_copy(update={"groups": 2})
    assert improvement(of_copy(results, neurons=few), "neuron_pattern") == ""


def test_all_is_covered_is_said_only_where_it_is(results: Results) -> None:
    asked = results.streams.spec.scenarios
    unplanned = asked.model_copy(update={"next": 0})
    assert improvement(of_copy(results, scenarios=unplanned), "scenario_coverage") == ""
    covered = asked.model_copy(update={"k": [1]})
    for one in (asked, unplanned):
        found = of_copy(results, data=["train"], scenarios=one)
        assert improvement(found, "scenario_coverage") == "All possible cells are covered."
    found = of_copy(results, scenarios=covered)
    assert improvement(found, "scenario_coverage") == "All possible cells are covered."
    too_many = asked.model_copy(update={"k": [3]})
    assert improvement(of_copy(results, scenarios=too_many), "scenario_coverage") == ""


def test_of_several_transformers_the_worst_is_the_most_often_worst(tmp_path: Path) -> None:
    """Three glares share the images out, so that none is the worst of most."""
    glares = [{**GLARE, "as": f"glare {level}", "severity": level} for level in (1, 2, 3)]
    changes: dict[str, Any] = {"metrics": "adversarial_loss", "data": "test"}
    assert run(tmp_path, loss={"transformers": [*glares, {**FADE, "severity": 0.5}]}, **changes) == 0
    results = Results.of(tmp_path / "out")
    by = results.loss.found.by_transformer
    worst = max(by, key=lambda name: by[name].worst)
    told = improvement(results, "adversarial_loss")
    assert told == f"The worst is most often {worst} ({by[worst].worst} of 120 images)."
    assert sum(one.worst for one in by.values()) == 120


# The page -------------------------------------------------------------------------------------------------


def test_sections_are_there_and_links_lead_somewhere(whole: str) -> None:
    assert re.findall(r'<section id="([\w-]+)">', whole) == SECTIONS
    known = ids(whole)
    assert len(known) == len(set(known))
    assert {str(a["href"])[1:] for name, a in Parsed(whole).tags if name == "a"} <= set(known)
    assert "\0" not in whole


def test_figures_are_written_beside_the_page(whole: str, drawn: Path) -> None:
    assert {path.stem for path in drawn.iterdir()} == FIGURES


def test_a_metric_that_was_not_asked_for_has_no_section(results: Results) -> None:
    found = page(of_copy(results, metrics=["weighted_confusion", "occlusion_covering"]))
    assert re.findall(r'<section id="([\w-]+)">', found) == [
        *("answer", "interpretation-precision", "weighted-confusion", "method"),
    ]
    answer = text(section(found, "answer"))
    assert METRICS["occlusion_covering"].title in answer
    assert METRICS["interpretation_precision"].title not in answer


def test_one_row_a_metric_marks_its_attributes(results: Results, whole: str) -> None:
    body = section(whole, "answer").partition("<tbody>")[2].partition("</tbody>")[0]
    rows = body.split("</tr>")[:-1]
    assert len(rows) == len(METRICS) == 9
    for row, (name, kind) in zip(rows, METRICS.items(), strict=True):
        cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, flags=re.DOTALL)
        assert text(cells[0]).startswith(kind.title)
        assert kind.meaning in text(cells[0])
        assert [text(cell) == "●" for cell in cells[1:5]] == [one in kind.attributes for one in ATTRIBUTES]
        for one in results.rows():
            if one.metric.partition(".")[0] == name and not one.detail:
                assert f"{one.part}: {wording.value_words(one)} n = {one.n:,}" in text(cells[5])
        assert text(cells[6]) == text(wording.improvement(results, name))
        assert kind.improve in text(cells[6])


def test_images_that_lie_apart_are_shown(whole: str, results: Results) -> None:
    told = section(whole, "neuron-pattern")
    (units,) = [one for one in results.neurons.found if (one.data, one.layer) == ("test", "units")]
    listed = {name for scenario in units.patterns.groups for name in units.patterns.outlying(scenario)}
    facts = truth().set_index("id")
    assert len(listed) > 5
    assert facts.loc[sorted(listed), "odd"].all()
    shown = text(told).partition(
        "Images that lie apart: test, units, the farthest of each scenario in turn: "
    )[2]
    assert set(shown.partition("Images")[0].strip().split(", ")) == listed
    assert "cannot be shown" not in told


@pytest.mark.parametrize("error", [DataError("the images are gone"), OSError("the disk is gone")])
def test_where_images_cannot_be_had_again_the_page_stands(
    toy: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception
) -> None:
    def gone(*_: object) -> None:
        raise error

    monkeypatch.setenv("FARM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(toys.Squares, "_load", gone)
    afresh = of_copy(Results.of(toy), metrics=["neuron_pattern"])
    told = text(section(page(afresh), "neuron-pattern"))
    assert "They cannot be shown: " in told
    assert " is gone" in told or " are gone" in told
    assert "Images that lie apart: test, units: test/" in told


def test_names_stay_text(tmp_path: Path) -> None:
    changes: dict[str, Any] = {
        "description": HOSTILE,
        "monitors": [{"name": "max-softmax", "as": HOSTILE}],
        "faults": [{**FADE, "as": f"fade {HOSTILE}", "severity": 1}],
        "loss": {"transformers": [{**FADE, "as": "<b>fade</b>"}]},
    }
    assert run(tmp_path, **changes) == 0
    html = page(Results.of(tmp_path / "out"))
    assert not any("onerror" in attributes for _, attributes in Parsed(html).tags)
    shown = text(html)
    for name in (
        f"residual_hazard, {HOSTILE}, all",
        f"fade {HOSTILE}",
        "The worst is most often <b>fade</b>",
    ):
        assert name in shown


def test_a_page_is_written_by_its_command(toy: Path, tmp_path: Path, whole: str) -> None:
    for _ in range(2):  # a second time in one process
        assert main(["report", str(toy), "--out", str(tmp_path / "page.html")]) == 0
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text(section(html, "answer")) == text(section(whole, "answer"))
