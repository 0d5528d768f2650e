import csv
import io
import json
import math
import re
import shutil
import subprocess

import pandas as pd
import pytest

from farm.comparing import compare_runs
from farm.errors import ParameterError
from farm.report.cells import DASH, number
from farm.report.comparison import TABLES, cells, legend, render_comparison, render_table, subtitle, title
from farm.statistics.table import Undefined
from farm.statistics.wording import p_cell
from tests.comparing.made_runs import FOG, NOVEL, make_run
from tests.wording import refused, same_text

FAULTS = [("noise", f"noise-{i}", 3.0) for i in range(7)] + [FOG, NOVEL]
RATES = {
    "good": (0.05, 0.8),
    "mid_dling": (0.05, 0.5),
    "inverted": (0.3, 0.1),
    "never": (0.0, 0.0),
    "50 % & {more}": (0.02, 0.3),
    "broken": (0.1, 0.1),
}


def compare(*runs, **options):
    return compare_runs(
        runs or [make_run(rates=RATES, faults=FAULTS, failed=["broken"])], replicates=200, **options
    )


FOUND = compare(by="category")
PLAIN = render_comparison(FOUND, width=100)


def rows(text, pattern):
    """Take the rows of a table apart: monitor, value, low and high."""
    return [match.groups() for line in text.splitlines() if (match := re.search(pattern, line))]


def expected():
    """Return what each row has to say."""
    return [
        (s.monitor, *(number(m.value, 3) if m.defined else None for m in (s.value, s.low, s.high)))
        for one in FOUND.sections
        for s in one.standings
        if s.value.defined
    ]


NUMBER = r"([<>]?-?\d\.\d{3})"


def test_the_table_has_the_numbers():
    assert rows(PLAIN, rf"^[*=? ]  (.*?) +{NUMBER}  {NUMBER} to {NUMBER}") == expected()


def test_markdown_has_the_same_numbers():
    text = render_comparison(FOUND, "markdown").replace("\\", "")
    assert rows(text, rf"^\| [*=?]? \| (.*?) \| {NUMBER} \| {NUMBER} to {NUMBER} \|") == expected()


def test_latex_has_the_same_numbers():
    text = render_comparison(FOUND, "latex").replace("$-$", "-")
    for escaped, plain in ((r"\_", "_"), (r"\%", "%"), (r"\&", "&"), (r"\{", "{"), (r"\}", "}")):
        text = text.replace(escaped, plain)
    for name in (r"\textless{}", r"\textgreater{}"):
        text = text.replace(name, "<" if "less" in name else ">")
    assert rows(text, rf"^[*=?]? ?& (.*?) & {NUMBER} & {NUMBER} to {NUMBER} &") == expected()


def test_csv_has_them_unrounded():
    table = list(csv.DictReader(io.StringIO(render_comparison(FOUND, "csv"))))
    standings = [(one, s) for one in FOUND.sections for s in one.standings]
    assert len(table) == len(standings) == 3 * len(RATES)
    for row, (section, standing) in zip(table, standings, strict=True):
        assert (row["section"], row["monitor"], int(row["n"])) == (section.name, standing.monitor, section.n)
        for name in ("value", "low", "high", "p"):
            measure = getattr(standing, name)
            assert (float(row[name]) if row[name] else None) == measure.json
        if not standing.value.defined:
            assert row["why"] == standing.value.reason


def test_json_has_everything_and_no_nan():
    def refuse(constant):
        raise AssertionError(constant)

    found = json.loads(render_comparison(FOUND, "json"), parse_constant=refuse)
    assert len(found["sets"]) == len(FAULTS)
    for one, made in zip(found["sets"], FOUND.sets, strict=True):
        assert one["name"] == made.name
        assert one["values"]["never"] is None
        assert one["values"]["good"] == made.cell(FOUND.measure, "good").value
    for section, made in zip(found["sections"], FOUND.sections, strict=True):
        assert [m["value"] for m in section["monitors"]] == [s.value.json for s in made.standings]
        for m in section["monitors"]:
            assert all(m[name] is not None or m["undefined"][name] for name in ("value", "low", "high", "p"))
    (noise, novelty, shift, _) = found["conclusions"]
    assert noise["n_sets"] == 7
    assert noise["ranks"]["good"] == 1.0
    same_text(noise["counts_as_0"])
    same_text(noise["left_out"])
    assert all(0 <= pair["p"] <= 1 for pair in noise["pairs"])
    assert novelty["ranks"] is shift["ranks"] is None
    assert "1 of 1 sets" in novelty["why_no_ranks"]


@pytest.mark.parametrize("style", ["table", "markdown", "latex"])
def test_every_sentence_note_and_legend_is_told(style):
    text = render_comparison(FOUND, style, width=400)
    for plain, escaped in (
        ("\\_", "_"),
        ("\\*", "*"),
        ("\\%", "%"),
        ("\\&", "&"),
        ("\\{", "{"),
        ("\\}", "}"),
    ):
        text = text.replace(plain, escaped)
    text = text.replace(r"\textgreater", ">").replace(r"\textless", "<").replace("{}", "")
    text = text.replace("\\<", "<").replace("\\>", ">")
    for one in FOUND.conclusions:
        assert one.sentence in text
    for one in FOUND.sections:
        assert subtitle(one) in text
        for note in one.notes:
            assert note in text
    for line in legend(FOUND):
        assert line in text
    assert title(FOUND) in text


def test_what_is_left_out_and_what_counts_as_0_is_told_once():
    lines = legend(FOUND)
    assert lines.count("noise: monitor 'broken' is left out: on every set it failed") == 1
    assert lines.count("all sets: monitor 'broken' is left out: on every set it failed") == 1
    same_text(lines[-1])
    alone = compare(make_run(rates=RATES, faults=FAULTS[:7], failed=["broken"]))
    same_text(legend(alone))


def test_the_legend_names_alpha_the_method_and_the_correction():
    lines = legend(compare(alpha=0.1))
    assert "(alpha 0.1, corrected for all pairs of monitors)" in lines[0]
    same_text(lines[1])
    assert "Wilcoxon's signed-rank test" in lines[2]
    single = legend(compare(make_run(faults=[FOG])))
    assert not any("Wilcoxon" in line for line in single), "where there are no ranks nothing is said of them"


def test_marks_and_words():
    noise = FOUND.sections[0]
    assert cells(noise, 0)[0] == "*"
    assert cells(noise, 0)[-1] == "", "the best has no p"
    told = {s.monitor: cells(noise, place) for place, s in enumerate(noise.standings)}
    assert told["never"] == ("", "never", DASH, "undefined", "")
    assert told["broken"] == ("", "broken", DASH, "failed", "")
    assert told["inverted"][0] == "?", "200 replicates tell none of these monitors apart"
    twins = compare(make_run(rates={"one": (0.05, 0.5), "other": (0.06, 0.5)}, faults=[FOG]))
    (fog,) = twins.sections
    assert fog.standings[1].like_best
    assert cells(fog, 1)[0] == "="
    assert cells(fog, 1)[-1] not in {"", "0"}


def test_only_0_and_1_look_like_it():
    shown = compare(
        make_run(rates={"a": (0.0, 1.0), "b": (0.001, 0.999)}, n_ood=4000, faults=[FOG]),
        measure="specific.recall",
    )
    (fog,) = shown.sections
    assert cells(fog, 0)[2:4] == ("1.000", DASH)
    assert cells(fog, 1)[2] in {"0.998", "0.999", ">0.999"}


RANKED = [one.ranks for one in FOUND.conclusions if not isinstance(one.ranks, Undefined)]


def unescaped(text):
    for escaped, plain in (("\\textless{}", "<"), ("\\textgreater{}", ">"), ("$-$", "-")):
        text = text.replace(escaped, plain)
    return re.sub(r"\\([_*|<>%&{}#])", r"\1", text)


def rows_of_ranks(text):
    """Take the rows of mean ranks apart: the name, the mean rank, and each p."""
    for line in text.splitlines():
        parts = re.fullmatch(r"[ |]*\d+ (\S.*?)[ |&]+(\d+\.\d\d)\b(.*)", line)
        if parts:
            yield parts[1], parts[2], *re.findall(r"(?:[<>] )?\d\.\d+", parts[3])


@pytest.mark.parametrize("style", ["table", "markdown", "latex"])
def test_mean_ranks_and_p_of_each_pair_are_told(style):
    found = list(rows_of_ranks(unescaped(render_comparison(FOUND, style))))
    expected = []
    for ranks in RANKED:
        for place, monitor in enumerate(ranks.monitors):
            p = [p_cell(ranks.pair(monitor, above).p_holm) for above in ranks.monitors[:place]]
            expected.append((monitor, f"{ranks.mean_ranks[place]:.2f}", *p))
    assert len(expected) == 2 * 5
    assert found == expected


@pytest.mark.parametrize("style", ["table", "markdown", "latex"])
def test_what_all_ranks_tell_is_told(style):
    text = " ".join(unescaped(render_comparison(FOUND, style, width=300)).split())
    for ranks in RANKED:
        chi_squared, distance = ranks.friedman.chi_squared.value, ranks.critical_difference
        assert f"chi-squared(4) = {chi_squared:.2f}" in text
        assert f"{ranks.friedman}; critical difference {distance:.3f}" in text
    alone = compare(make_run(faults=[FOG]))
    assert "critical difference" not in render_comparison(alone, style)


def test_where_columns_are_too_many_p_beside_the_first_is_shown():
    rates = {f"m{i}": (0.05, 0.9 - 0.06 * i) for i in range(12)}
    found = compare(make_run(rates=rates, faults=FAULTS[:7]))
    (only,) = [one.ranks for one in found.conclusions]
    text = render_comparison(found, width=100)
    beside_first = [p_cell(only.pair(only.monitors[0], m).p_holm) for m in only.monitors[1:]]
    assert [row[2:] for row in rows_of_ranks(text)] == [(), *((p,) for p in beside_first)]
    same_text(line for line in text.splitlines() if "mean ranks" in line or "p of all pairs" in line)
    wide = render_comparison(found, width=200)
    assert [len(row) for row in rows_of_ranks(wide)] == [2 + place for place in range(12)]


def beside(control="mid_dling", **options):
    run = make_run(rates=RATES, faults=FAULTS, failed=["broken"])
    return compare_runs([run], **{"by": "category", "control": control, "replicates": 400} | options)


def test_beside_a_control_marks_follow_the_question():
    noise = beside().sections[0]
    marks = {each.monitor: cells(noise, place)[0] for place, each in enumerate(noise.standings)}
    told = {"good": "+", "mid_dling": "*", "50 % & {more}": "=", "inverted": "-", "never": "", "broken": ""}
    assert marks == told
    same_text(legend(beside())[:3])
    same_text(title(beside()))
    lower = beside(measure="specific.fnr").sections[0]
    assert [cells(lower, place)[0] for place in range(3)] == ["+", "*", "-"]
    few = beside(replicates=100).sections[0]
    assert {cells(few, place)[0] for place in range(4)} == {"?", "*"}
    same_text(legend(beside(replicates=100))[0])


def test_beside_a_control_a_p_stands_in_each_row_but_its_own():
    found = beside()
    ranks = found.conclusions[0].ranks
    expected = [
        (m, f"{mean:.2f}", *([] if m == "mid_dling" else [p_cell(ranks.pair(m, "mid_dling").p_holm)]))
        for m, mean in zip(ranks.monitors, ranks.mean_ranks, strict=True)
    ]
    assert list(rows_of_ranks(render_comparison(found)))[:5] == expected


@pytest.mark.parametrize("table", [name for name in TABLES if name != "guarantees"])
def test_each_table_alone_in_every_format(table):
    frame = getattr(FOUND, table)
    read = pd.read_csv(io.StringIO(render_table(FOUND, table, "csv")))
    told = json.loads(render_table(FOUND, table, "json"))
    assert len(read) == len(told) == len(frame) > 0
    for name in frame.select_dtypes("float64"):
        assert read[name].to_numpy() == pytest.approx(frame[name].to_numpy(), nan_ok=True)
        assert [row[name] for row in told] == [None if math.isnan(value) else value for value in frame[name]]
    for style in ("table", "markdown", "latex"):
        text = unescaped(render_table(FOUND, table, style, width=80))
        names = [name for name in ("monitor", "first", "second", "category") if name in frame]
        assert all(str(value) in text for name in names for value in frame[name])
    plain = render_table(FOUND, table, "table", width=80)
    assert max(map(len, plain.splitlines())) <= 80
    assert "…" not in plain
    same_text(plain)


@pytest.mark.parametrize("table", ["ranks", "tests", "pairs"])
def test_a_table_without_rows_says_why(table):
    single = compare(make_run(faults=[FOG], rates={"good": (0.05, 0.8), "never": (0.0, 0.0)}))
    for style in ("table", "markdown", "latex"):
        same_text(render_table(single, table, style))
    assert render_table(single, table, "json") == "[]\n"
    assert render_table(single, table, "csv").count("\n") == 1


def test_reasons_stand_in_csv_in_the_order_that_they_are_given():
    rates = {"always": (1.0, 1.0), "never": (0.0, 0.0), "good": (0.05, 0.8)}
    found = compare(make_run(faults=[FOG], rates=rates), measure="specific.fnr")
    table = csv.DictReader(io.StringIO(render_comparison(found, "csv")))
    for row, standing in zip(table, found.sections[0].standings, strict=True):
        measures = (getattr(standing, name) for name in ("value", "low", "high", "p"))
        reasons = dict.fromkeys(measure.reason for measure in measures if not measure.defined)
        assert row["why"] == "; ".join(reasons)


def test_titles():
    same_text(title(FOUND))
    same_text(title(compare(measure="specific.fnr")))
    same_text(subtitle(FOUND.sections[0]))
    repeated = compare(make_run(0, faults=[FOG]), make_run(1, faults=[FOG], tracks=0))
    same_text(subtitle(repeated.sections[0]))
    each = compare(make_run(0, faults=[FOG], tracks=0))
    assert subtitle(each.sections[0]) == "1 set, n = 420 instances"


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_nothing_is_cut_however_narrow(width):
    text = render_comparison(FOUND, width=width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert "…" not in text
    assert rows(text, rf"{NUMBER} to {NUMBER}") == [each[2:] for each in expected()]


def test_wide_names_are_broken_and_numbers_are_not():
    rates = {"a-monitor-with-a-very-long-name-" * 3: (0.05, 0.8), "[bold]x[/bold]": (0.05, 0.2)}
    found = compare(make_run(rates=rates, faults=[FOG]))
    text = render_comparison(found, width=60)
    assert "[bold]x[/bold]" in text, "a name is no markup"
    assert len(rows(text, rf"{NUMBER} to {NUMBER}")) == 2
    joined = "".join(line[3:].split("  ")[0].strip() for line in text.splitlines())
    assert "a-monitor-with-a-very-long-name-" * 3 in joined


def test_colour_only_where_asked_for():
    assert "\x1b[" not in PLAIN
    assert "\x1b[1m" in render_comparison(FOUND, colour=True)
    assert (
        re.sub(r"\x1b\[[0-9;]*m", "", render_comparison(FOUND, width=100, colour=True)).split()
        == PLAIN.split()
    )


def test_an_unknown_format():
    with refused(ParameterError):
        render_comparison(FOUND, "tex")


def test_latex_is_escaped_and_its_braces_match():
    text = render_comparison(FOUND, "latex")
    assert r"50 \% \& \{more\}" in text
    assert r"mid\_dling" in text
    assert "$-$0." in text
    body = re.sub(r"\\[{}\\]", "", text)
    assert body.count("{") == body.count("}")
    for table in re.findall(r"\\begin{tabular}{([lr]+)}\n(.*?)\\end{tabular}", text, re.DOTALL):
        rows = [line for line in table[1].splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
        assert {len(re.findall(r"(?<!\\)&", line)) for line in rows} == {len(table[0]) - 1}
    assert not re.search(r"(?<!\\)[%#_](?!.*booktabs)", text.split("\n", 1)[1])


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles(tmp_path):
    document = (
        r"\documentclass{article}\usepackage{booktabs}\usepackage[utf8]{inputenc}\begin{document}" + "\n"
    )
    (tmp_path / "paper.tex").write_text(document + render_comparison(FOUND, "latex") + r"\end{document}")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "paper.pdf").stat().st_size


def test_markdown_escapes_names():
    text = render_comparison(
        compare(make_run(rates={"a|b": (0.05, 0.8), "x_y_z": (0.05, 0.2)}, faults=[FOG])), "markdown"
    )
    assert r"a\|b" in text
    assert r"x\_y\_z" in text


def test_where_no_monitor_has_a_value_none_is_marked():
    found = compare(make_run(rates={"never": (0.0, 0.0)}, faults=[FOG]))
    text = render_comparison(found)
    assert not any(line.startswith("*  ") for line in text.splitlines())
    same_text(text)
    assert math.isnan(found.sections[0].standings[0].value.value)
