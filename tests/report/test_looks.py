"""Small tables in every format: what stands in them, and that no name becomes markup."""

import re

import pytest

from farm.judging.inspection import Look
from farm.measures.measure import Bounded, Measure, undefined
from farm.report.cells import DASH
from farm.report.looks import render_looks
from farm.report.page.tables import look_table
from tests.wording import same_text

INTERVAL = Bounded(Measure(-0.25), Measure(-0.5), Measure(0.125))
LOOK = Look(
    "of a_b & c",
    ("monitor", "value", "n"),
    [("x|y_1", INTERVAL, 1200), ("-2 %", undefined("no alarm"), None)],
    ("50 % are new",),
)


def test_markdown_is_a_table_with_names_kept_as_they_are():
    text = render_looks([LOOK], "markdown")
    same_text(text)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {4}


def test_latex_has_its_braces_and_columns():
    text = render_looks([LOOK, LOOK], "latex")
    same_text(render_looks([LOOK], "latex"))
    assert text.count(r"\begin{tabular}{lrr}") == 2
    body = re.sub(r"\\[{}]", "", text)
    assert body.count("{") == body.count("}")
    assert text.count(r"\midrule") == text.count(r"\toprule") == text.count(r"\bottomrule") == 2


@pytest.mark.parametrize("style", ["table", "markdown", "latex"])
def test_reasons_and_notes_are_told_once(style):
    text = render_looks([LOOK], style, width=200).replace("\\", "").replace("--", DASH)
    assert text.count("no alarm") == text.count("50 % are new") == 1


@pytest.mark.parametrize("style", ["table", "markdown", "latex"])
def test_a_title_alone_is_no_table(style):
    text = render_looks([Look("monitor: no groups, too few values", (), [])], style)
    assert "monitor: no groups, too few values" in text
    assert "tabular" not in text
    assert "|" not in text


def test_a_table_without_rows_has_its_heading():
    empty = Look("", ("monitor", "n"), [])
    assert render_looks([empty], "markdown") == "| monitor | n |\n|:--|--:|\n"
    lines = render_looks([empty], "latex").splitlines()
    assert lines[-5:] == [r"monitor & n \\", r"\midrule", r"\bottomrule", r"\end{tabular}", r"\par}"]


@pytest.mark.parametrize("width", [200, 42, 34])
def test_headings_wrap_before_cells_and_names_are_broken_last(width):
    look = Look("", ("monitor", "cancelled though right", "fault"), [("max-softmax", INTERVAL, "shot noise")])
    said = render_looks([look], "table", width=width)
    same_text(said)
    assert "max-softmax" in said
    assert max(map(len, said.splitlines())) <= width


def test_a_long_title_is_as_wide_as_the_terminal_and_not_as_the_table():
    long = Look("a title that is far longer than its table is wide", ("n",), [(1,)])
    assert long.title in render_looks([long], "table", width=60).splitlines()


def test_a_page_has_values_that_sort_their_intervals_and_why_there_is_none():
    made = look_table(LOOK)
    assert '<td data-value="-0.25">-0.250<small>-0.500 to 0.125</small></td>' in made
    assert '<td data-value="1200">1,200</td>' in made
    assert f"<td>{DASH}</td><td></td>" in made
    assert f'<p class="note">{DASH} no alarm</p>' in made
    assert "<caption>of a_b &amp; c</caption>" in made
    assert "<caption>" not in look_table(LOOK, titled=False)


def test_a_page_aligns_small_numbers_and_leaves_large_ones():
    rows = [("a", Measure(3.0), Measure(12345.6)), ("b", Measure(1.25), Measure(1.0))]
    made = look_table(Look("", ("monitor", "rank", "time"), rows))
    assert all(f">{told}<" in made for told in ("3.000", "1.250", "1.235e+04", "1"))


@pytest.mark.parametrize("style", ["table", "markdown", "latex", "csv"])
@pytest.mark.parametrize("digits", [3, 5])
def test_a_table_may_ask_for_more_digits_of_its_intervals(style, digits):
    small = Bounded(Measure(0.0123456), Measure(0.0111111), Measure(0.0134567))
    text = render_looks([Look("", ("monitor", "score"), [("odin", small)], digits=digits)], style, width=80)
    low, value, high = (f"{x:.{digits}f}" for x in (0.0111111, 0.0123456, 0.0134567))
    assert f"{low}{DASH}{high}" in text.replace("--", DASH)
    assert re.search(rf"(?<!\d){value}(?!\d)", text)


def test_a_page_has_as_many_digits_of_intervals_as_its_terminal_table():
    small = Bounded(Measure(0.0123456), Measure(0.0111111), Measure(0.0134567))
    made = look_table(Look("", ("monitor", "score"), [("odin", small)], digits=5))
    assert ">0.01235<" in made
    assert f"0.01111{DASH}0.01346" in made
    plain = look_table(Look("", ("monitor", "score"), [("odin", small)]))
    assert ">0.012<" in plain
    assert f"0.011{DASH}0.013" in plain


def test_digits_are_of_intervals_alone():
    rows = [("odin", Measure(0.0123456), 1200, "0.5")]
    three, five = (
        render_looks([Look("", ("monitor", "p", "n", "note"), rows, digits=n)], "csv") for n in (3, 5)
    )
    assert three == five
