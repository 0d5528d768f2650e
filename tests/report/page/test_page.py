"""What stands on a page, section by section."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from farm.report.notebook import as_html
from farm.report.page import FigureBook, Findings, PageSection, find, findings_of, page
from farm.report.page.html import tag
from farm.testing import make_readouts
from tests.report.page.made_report import CLASSES, FAULTS, HOSTILE, made_findings, made_run, make_page
from tests.report.page.test_html import Parsed


@pytest.fixture(scope="module")
def found() -> Findings:
    return made_findings()


@pytest.fixture(scope="module")
def whole() -> str:
    return make_page()


def section(html: str, name: str) -> str:
    """Return one section of a page."""
    return html[html.index(f'<section id="{name}">') :].partition("</section>")[0]


def text(html: str) -> str:
    return " ".join(Parsed(html).text.split())


def ids(html: str) -> list[str]:
    return [str(attributes["id"]) for _, attributes in Parsed(html).tags if "id" in attributes]


def test_each_section_has_its_id_and_the_contents_lead_there(whole: str) -> None:
    names = [
        "answer",
        "heat",
        "ranks",
        "trade",
        "severity",
        "cells",
        "classifier",
        "data",
        "repeat",
        "method",
    ]
    assert re.findall(r'<section id="([\w-]+)">', whole) == names
    nav = whole.partition("<nav")[2].partition("</nav>")[0]
    assert re.findall(r'href="#([\w-]+)"', nav) == names


def test_ids_are_unique_and_links_lead_somewhere(whole: str) -> None:
    known = ids(whole)
    assert len(known) == len(set(known))
    links = {str(a["href"])[1:] for name, a in Parsed(whole).tags if name == "a"}
    assert links <= set(known)


def test_the_page_is_the_same_each_time(whole: str) -> None:
    assert make_page() == whole


def test_the_answer_says_who_helps_where_it_is_worst_and_what_failed(found: Findings, whole: str) -> None:
    told = text(section(whole, "answer"))
    for one in found.answers:
        assert " ".join(one.sentence.split()) in told
    assert "In short: careful surely helps on" in told
    noise = [one for one in found.sets if one.set.category == "noise"]
    worst = min(noise, key=lambda one: one.value("accepted_accuracy", "careful"))
    wrong = 100 * (1 - worst.value("accepted_accuracy", "careful"))
    assert f"With it, most goes wrong on {worst.fault}: {wrong:.0f} % of what it accepts is wrong." in told
    assert f"broken in runs/snow: singular matrix in {HOSTILE}" in told
    assert "Not computed yet: 2 cells of runs are not there." in told


def test_every_value_of_the_heat_map_is_that_of_its_cell(found: Findings, whole: str) -> None:
    panel = section(whole, "heat").partition('class="panel of-specific-mcc"')[2].partition("</table>")[0]
    values = {
        (target, value)
        for value, target in re.findall(r'data-value="([-\d.]+)" class="h\d+"><a href="#([\w-]+)"', panel)
    }
    expected = {
        (one.id, str(round(one.value("specific.mcc", monitor), 4)))
        for one in found.sets
        for monitor in found.monitors
        if not np.isnan(one.value("specific.mcc", monitor))
    }
    assert values == expected
    assert len(values) >= 9 * 4 - 9


def test_a_cell_without_a_value_says_why(whole: str) -> None:
    panel = section(whole, "heat").partition("</table>")[0]
    assert 'title="failed"' in panel
    assert 'title="was not run"' in panel


def test_the_hardest_faults_of_a_category_come_first(found: Findings, whole: str) -> None:
    panel = section(whole, "heat").partition("</table>")[0]
    order = re.findall(r'scope="row"><a href="#([\w-]+)"', panel)
    by_id = {one.id: one for one in found.sets}
    means = [
        np.nanmean([by_id[each].value("overall.mcc", m) for m in ("careful", "cautious", "blind")])
        for each in order
        if by_id[each].set.category == "shift"
    ]
    assert means == sorted(means)


def test_images_are_worst_first_with_what_was_said_of_them(found: Findings, whole: str) -> None:
    one = next(each for each in found.sets if each.fault == "fog 5")
    cell = whole.partition(f'id="{one.id}"')[2].partition('<details id="cell-')[0]
    missed = cell.partition("<strong>cautious</strong>")[2].partition("Falsely cancelled")[0]
    scores = [float(score) for score in re.findall(r"<span>score ([-\d.]+)</span>", missed)]
    assert len(scores) == 4
    n_faulty = missed.partition("(clean images)")[0].count("<span>score")
    assert scores[:n_faulty] == sorted(scores[:n_faulty])
    assert scores[n_faulty:] == sorted(scores[n_faulty:])
    table, shown = one.run.judged.table, one.run.pictures
    assert shown is not None
    rows = shown.shown.query("monitor == 'cautious' and why == 'missed'")
    rows = rows.assign(clean=~table.is_ood[rows["position"]]).sort_values(["clean", "rank"])
    for position, told in zip(rows["position"], re.findall(r'aria-label="([^"]+)"', missed), strict=True):
        sure = 100 * float(table.confidence[position])  # type: ignore[index]
        name = (
            CLASSES[int(table.classes[table.predicted[position]])].replace("<", "&lt;").replace(">", "&gt;")
        )
        assert f"taken for {name}, {sure:.0f} % sure" in told
    assert f"cautious has never seen {HOSTILE}" in text(missed)


def test_an_image_is_embedded_once_and_its_place_is_its_own(found: Findings, whole: str) -> None:
    """The picture that holds all of a set's images has each where its span looks for it."""
    one = next(each for each in found.sets if each.fault == "fog 5")
    assert whole.count(f".of-{one.id} .px{{background-image") == 1
    cell = whole.partition(f'id="{one.id}"')[2].partition('<details id="cell-')[0]
    places = re.findall(r"background-position:-(\d+)px -(\d+)px", cell)
    shown = one.run.pictures.shown  # type: ignore[union-attr]
    different = shown[shown["why"] != "id"]["picture"].nunique()
    assert {(int(x) % 72, int(y) % 72) for x, y in places} == {(0, 0)}
    assert len(set(places)) == different


def test_the_stream_in_time_is_drawn_where_there_is_one(whole: str) -> None:
    assert whole.count("Scores and alarms along the stream: ") == 1
    assert "Scores and alarms along the stream: novelty on signs" in whole


def test_planes_name_the_class_that_images_were_taken_for(whole: str) -> None:
    assert "careful: images that were taken for 'stop', and the boxes of that class" in text(whole)


def test_without_pictures_the_page_says_so_and_has_all_else() -> None:
    made = page(findings_of([made_run(FAULTS[0], 0)], [None]))
    assert "The runs kept no pictures" in text(section(made, "cells"))
    assert "background-image" not in made
    assert "Samples" not in text(section(made, "data"))


def test_of_many_sets_fewer_images_are_shown_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("farm.report.page.images.BUDGET", 40_000)
    made = make_page()
    (most,) = re.findall(r"Of each kind the (\d+) worst are shown; a report of one cell shows 4", made)
    assert 1 <= int(most) < 4
    cell = section(made, "cells")
    rows = re.findall(r'<h5>[^<]+</h5><ul class="row">(.*?)</ul>', cell)
    assert rows
    assert max(row.count("<figure>") for row in rows) == int(most)


def test_logs_without_labels_are_told_by_their_alarms() -> None:
    alarm = np.arange(100) % 10 == 0
    log = make_readouts({"odin": alarm}, is_ood=None, label=None, predicted=np.arange(100) % 2)
    made = page(findings_of([log], [None]))
    assert "nothing tells whether alarms are right" in text(section(made, "alarms"))
    assert "10.0" in text(section(made, "alarms"))
    assert '<section id="heat">' not in made
    assert '<section id="cells">' not in made


def test_a_log_without_confidences_has_no_reliability_diagram(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("label,predicted,is_ood,alarm\n" + "0,0,0,0\n1,1,0,0\n-1,0,1,1\n1,0,0,1\n" * 9)
    made = section(page(find([log])), "classifier")
    assert "Reliability" not in made
    assert "mixes up" in made


@pytest.mark.parametrize(
    "lacking", [{"label": None}, {"is_ood": None}, {"confidence": None, "category": None}]
)
def test_what_is_not_known_costs_only_what_needs_it(lacking: dict[str, None]) -> None:
    rng = np.random.default_rng(0)
    columns = {
        "is_ood": np.arange(80) % 2 == 0,
        "label": rng.integers(0, 2, 80),
        "predicted": rng.integers(0, 2, 80),
        "confidence": rng.random(80),
    }
    made = page(findings_of([make_readouts({"odin": rng.random(80) > 0.5}, **(columns | lacking))], [None]))
    assert '<section id="cells">' in made
    if "label" in lacking:
        assert "nothing tells whether" in text(section(made, "answer"))


def test_a_protocol_adds_its_page_by_one_function(found: Findings) -> None:
    def own(found: Findings, book: FigureBook) -> PageSection:
        return PageSection("own", "Mine", tag("p", f"{len(found.sets)} sets"))

    made = page(found, makers=[own])
    assert text(section(made, "own")) == "Mine9 sets"


def test_two_runs_of_one_stream_are_compared_and_those_of_others_taken_together(tmp_path: Path) -> None:
    first = made_run(FAULTS[1], 1)
    better = made_run(FAULTS[1], 1)
    worse = better.alarms["monitor"] == "careful"
    better.alarms.loc[worse, "alarm"] = ~better.alarms.loc[worse, "alarm"]
    other = made_run(FAULTS[1], 5)
    places = []
    for number, run in enumerate((first, better, other)):
        places.append(run.save(tmp_path / f"run-{number}"))
    compared = find(places[:2])
    assert compared.earlier == str(places[0])
    assert [run.folder for run in compared.runs] == [str(places[1])]
    told = text(section(page(compared), "changes"))
    assert f"Against {places[0]}, on the same images" in told
    assert "less often right, surely" in told
    together = find([places[0], places[2]])
    assert together.changes is None
    assert len(together.runs) == 2
    assert len(together.sets) == 1


def test_a_run_shows_itself_in_a_notebook() -> None:
    run = made_run(FAULTS[1], 1)
    shown = run._repr_html_()
    assert shown == as_html(run)
    ((name, attributes),) = Parsed(shown).tags
    assert (name, attributes["sandbox"]) == ("iframe", "allow-scripts")
    assert '<section id="cells">' in str(attributes["srcdoc"])


def test_a_fault_of_several_categories_has_a_cell_for_each() -> None:
    novel = made_run(("novelty", "abroad", None), 0)
    rows = novel.instances["is_ood"] & (np.arange(len(novel.instances)) % 2 == 0)
    instances = novel.instances.assign(
        category=novel.instances["category"].mask(rows, "shift"), label=novel.instances["label"].mask(rows, 0)
    )
    found = findings_of([replace(novel, instances=instances)], [None])
    parts = {one.fault: one.part.group.category for one in found.sets}
    assert parts == {"abroad (novelty)": "novelty", "abroad (shift)": "shift"}
    assert "abroad (shift)" in page(found)
