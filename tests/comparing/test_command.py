"""`farm compare` and `farm judge` as a person meets them."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from farm.cli import main
from farm.judging import judge
from farm.store.readouts import Readouts
from tests.comparing.made_runs import FOG, RATES, make_run
from tests.wording import same_text

FAULTS = [("noise", f"noise-{i}", 3.0) for i in range(7)]


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    make_run(0, faults=FAULTS).save(folder / "a")
    make_run(1, faults=FAULTS).save(folder / "b")
    return folder


@pytest.fixture
def runs(two_runs, tmp_path, monkeypatch):
    shutil.copytree(two_runs, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return ["a", "b"]


def printed(capsys, *arguments, code=0):
    assert main(["compare", *arguments]) == code
    return capsys.readouterr()


@pytest.mark.parametrize("style", ["table", "json", "csv", "latex", "markdown"])
def test_every_format(runs, capsys, style):
    out = printed(capsys, *runs, "--format", style, "--replicates", "200").out
    assert "middling" in out
    assert "nan" not in out.lower()


def test_latex_is_short_for_its_format(runs, capsys):
    options = (*runs, "--replicates", "200")
    assert printed(capsys, *options, "--latex") == printed(capsys, *options, "--format", "latex")


@pytest.mark.parametrize(("style", "lines"), [("latex", 1), ("markdown", 0)])
def test_pages_for_papers_begin_with_the_answer(runs, capsys, style, lines):
    out = printed(capsys, *runs, "--format", style, "--replicates", "200").out.splitlines()
    (answer,) = json.loads(printed(capsys, *runs, "--format", "json", "--replicates", "200").out)["answer"]
    assert out[lines].replace("\\", "") == answer["sentence"]
    assert out[lines + 1] == ""


@pytest.mark.parametrize("style", ["table", "json", "csv", "latex", "markdown"])
def test_one_table_alone_beside_a_control(runs, capsys, style):
    options = ("--control", "middling", "--table", "pairs", "--replicates", "200")
    out = printed(capsys, *runs, *options, "--format", style).out
    assert all(name in out for name in ("middling", "good", "poor"))
    if style == "json":
        found = json.loads(out)
        assert {pair["first"] for pair in found} == {"middling"}
        assert {pair["over"] for pair in found} == {"instances", "sets"}


def test_beside_a_table_alone_it_is_told_what_is_left_out(runs, capsys):
    make_run(rates={**RATES, "never": (0, 0)}, faults=FAULTS, failed=["poor"]).save("gaps")
    for style in ("csv", "table"):
        found = printed(capsys, "gaps", "--table", "ranks", "--format", style, "--replicates", "50")
        assert "poor" not in found.out
        same_text(found.err)


@pytest.mark.parametrize("style", ["csv", "json", "table"])
def test_why_a_table_alone_has_no_rows_is_told(tmp_path, monkeypatch, capsys, style):
    monkeypatch.chdir(tmp_path)
    make_run(faults=[FOG]).save("one")
    found = printed(capsys, "one", "--table", "tests", "--format", style, "--replicates", "50")
    same_text(found.out if style == "table" else found.err)
    assert (found.err == "") == (style == "table")


def test_a_control_is_compared_with_all_others(runs, capsys):
    found = json.loads(printed(capsys, *runs, "--control", "middling", "--format", "json").out)
    assert found["control"] == "middling"
    (only,) = found["conclusions"]
    same_text(only["sentence"])
    pairs = [(pair["first"], pair["second"]) for pair in only["pairs"]]
    assert pairs == [("middling", "good"), ("middling", "poor")]


def test_options_are_taken(runs, capsys):
    arguments = ["--measure", "specific.fnr", "--by", "category", "--monitor", "good", "--monitor", "poor"]
    more = ["--alpha", "0.1", "--undefined", "drop", "--replicates", "150", "--seed", "3", "--format", "json"]
    found = json.loads(printed(capsys, *runs, *arguments, *more).out)
    assert (found["measure"], found["by"], found["alpha"]) == ("specific.fnr", "category", 0.1)
    assert (found["undefined"], found["replicates"], found["seed"]) == ("drop", 150, 3)
    assert [m["monitor"] for m in found["sections"][0]["monitors"]] == ["good", "poor"]


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_the_diagram_is_drawn(runs, capsys, suffix, tmp_path):
    err = printed(capsys, *runs, "--cd", f"out.{suffix}", "--replicates", "50").err
    assert err == f"farm: drawn to out.{suffix}\n"
    assert (tmp_path / f"out.{suffix}").stat().st_size > 1000


def test_what_stands_in_the_way_of_a_diagram_is_told_first(runs, capsys, tmp_path):
    (tmp_path / "there.svg").touch()
    for path, message in (
        ("there.svg", "there.svg exists already; expected a new file"),
        ("out.gif", "--cd out.gif: suffix '.gif'; expected .svg, .png, .pdf"),
        ("no/out.svg", "--cd no/out.svg: no is no folder; expected one"),
    ):
        found = printed(capsys, *runs, "--cd", path, code=2)
        assert found.out == ""
        assert message in found.err


def test_a_diagram_of_one_set_is_refused_after_the_table(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_run(faults=[FOG]).save("a")
    found = printed(capsys, "a", "--cd", "out.svg", "--replicates", "50", code=2)
    same_text(found.out)
    same_text(found.err)
    assert not (tmp_path / "out.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a", "a"], "a and a hold the same readouts; expected each run once"),
        (["a", "--measure", "overal.mcc"], "did you mean 'overall.mcc'?"),
        (["a", "--by", "what"], "--by 'what' is not known"),
        (["a", "--undefined", "none"], "--undefined 'none' is not known"),
        (["a", "--monitor", "goood"], "did you mean 'good'?"),
        (["nowhere"], "nowhere does not exist; expected a folder that `farm run` wrote, or a log"),
    ],
)
def test_mistakes_are_one_line(runs, capsys, arguments, message):
    found = printed(capsys, *arguments, code=2)
    assert message in found.err
    assert found.err.count("\n") == 1


def test_undefined_may_be_an_error(runs, capsys):
    make_run(rates={**RATES, "never": (0, 0)}).save("silent")
    found = printed(capsys, "silent", "--undefined", "error", "--replicates", "50", code=2)
    same_text(found.err)


def test_the_folder_of_a_run_without_labels_is_named(runs, capsys):
    run = make_run(faults=[FOG])
    Readouts(run.instances.drop(columns="label"), run.alarms, run.run).save("unlabelled")
    same_text(printed(capsys, "unlabelled", code=2).err)


def test_judge_takes_runs_and_logs_together(runs, capsys, tmp_path):
    (tmp_path / "log.csv").write_text("label,predicted,is_ood,alarm,extra\n0,0,0,0,x\n-1,1,1,1,x\n")
    assert main(["judge", "a", "log.csv", "b", "--format", "json"]) == 0
    found = capsys.readouterr()
    records = json.loads(found.out)
    run = Readouts.load("a")
    expected = judge(run.instances, run.alarms, {**run.run, "folder": "a"})
    assert records[: len(expected)] == json.loads(json.dumps(expected))
    assert list(dict.fromkeys(record["run"] for record in records)) == ["a", "log.csv", "b"]
    same_text(found.err)


def test_judging_does_not_wait_for_the_comparison(runs):
    code = (
        "import sys; from farm.cli import main; assert main({}) == 0; "
        "print([m for m in sys.modules if m.startswith(({})) ], file=sys.stderr)"
    )
    heavy = "'farm.comparing', 'farm.gate', 'scipy', 'yaml', 'statsmodels', 'sklearn', 'torch', 'matplotlib'"
    for arguments, modules in (
        (["judge", "a"], heavy),
        (
            ["compare", "a", "--replicates", "50"],
            "'statsmodels', 'sklearn', 'torch', 'matplotlib', 'scikit_posthocs'",
        ),
    ):
        command = [sys.executable, "-c", code.format(arguments, modules)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stderr.strip() == "[]", arguments


def test_the_parser_imports_no_numbers():
    code = "import sys, farm.cli; print([m for m in ('numpy', 'scipy', 'pandas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_narrow_terminal(runs, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    out = printed(capsys, *runs, "--replicates", "50").out
    assert np.max([len(line) for line in out.splitlines()]) <= 60
    assert "…" not in out
