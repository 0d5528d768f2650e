import csv
import io
import json
import math
import re
import shutil
import subprocess

import pytest

from farm.comparison import compare_runs
from farm.errors import ParameterError
from farm.report.cells import DASH, number
from farm.report.comparison import HEADINGS, cells, legend, render_comparison, subtitle, title
from tests.comparison.made_runs import FOG, NOVEL, make_run
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
    """Give what each row has to say."""
    return [
        (s.monitor, *(number(m.value, 3) if m.defined else None for m in (s.value, s.low, s.high)))
        for one in FOUND.sections
        for s in one.standings
        if s.value.defined
    ]


NUMBER = r"([<>]?-?\d\.\d{3})"


def test_the_table_has_the_numbers():
    assert rows(PLAIN, rf"^[*= ]  (.*?) +{NUMBER}  {NUMBER} to {NUMBER}") == expected()


def test_markdown_has_the_same_numbers():
    text = render_comparison(FOUND, "markdown").replace("\\", "")
    assert rows(text, rf"^\| [*=]? \| (.*?) \| {NUMBER} \| {NUMBER} to {NUMBER} \|") == expected()


def test_latex_has_the_same_numbers():
    text = render_comparison(FOUND, "latex").replace("$-$", "-")
    for escaped, plain in ((r"\_", "_"), (r"\%", "%"), (r"\&", "&"), (r"\{", "{"), (r"\}", "}")):
        text = text.replace(escaped, plain)
    for name in (r"\textless{}", r"\textgreater{}"):
        text = text.replace(name, "<" if "less" in name else ">")
    assert rows(text, rf"^[*=]? ?& (.*?) & {NUMBER} & {NUMBER} to {NUMBER} &") == expected()


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
    assert all(0 <= pair["p_holm"] <= 1 for pair in noise["pairs"])
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
    assert "(alpha 0.1, Holm's correction)" in lines[0]
    same_text(lines[1])
    assert "Wilcoxon's signed-rank test" in lines[2]
    single = legend(compare(make_run(faults=[FOG])))
    assert not any("Wilcoxon" in line for line in single), "where there are no ranks nothing is said of them"


def test_marks_and_words():
    first, *others = FOUND.sections[0].standings
    assert cells(first, True)[0] == "*"
    assert cells(first, True)[-1] == "", "the best has no p"
    told = {s.monitor: cells(s, False) for s in others}
    assert told["never"] == ("", "never", DASH, "undefined", "")
    assert told["broken"] == ("", "broken", DASH, "failed", "")
    assert told["inverted"][0] == ""
    twins = compare(make_run(rates={"one": (0.05, 0.5), "other": (0.06, 0.5)}, faults=[FOG]))
    second = twins.sections[0].standings[1]
    assert second.like_best
    assert cells(second, False)[0] == "="
    assert cells(second, False)[-1] not in {"", "0"}


def test_only_0_and_1_look_like_it():
    shown = compare(
        make_run(rates={"a": (0.0, 1.0), "b": (0.001, 0.999)}, n_ood=4000, faults=[FOG]),
        measure="specific.recall",
    )
    first, second = shown.sections[0].standings
    assert cells(first, True)[2:4] == ("1.000", DASH)
    assert cells(second, False)[2] in {"0.998", "0.999", ">0.999"}


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
    table = [line for line in text.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in table} == {len(HEADINGS) - 1}
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
