"""`farm check` as a person, and a job of continuous integration, meet it."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest

from farm.cli import main
from farm.gate.reported import ReportedMeasure
from farm.measures import Measure
from farm.protocols import PROTOCOLS
from tests.campaign.made_campaigns import edit, make_campaign
from tests.comparing.made_runs import FOG, make_run
from tests.wording import same_text

RATES = {"good": (0.05, 0.8), "poor": (0.05, 0.1)}
MET = "specific.fpr <= 0.2 on id"
NOT_MET = "specific.fnr <= 0.5 for poor"
OPEN = "specific.fnr <= 0.2 for good"
"""The rate asked for is the one by which the misses were drawn: no sample of this size can tell."""

LENIENT = "specific.fpr <= 0.999 on id for doubt"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_run(0, RATES, [FOG], n_id=300, n_ood=300, tracks=300).save("run")
    return tmp_path


def check(capsys, *criteria, runs=("run",), options=(), file=""):
    """Check by some criteria, in a file that has more before them; give the exit code and the output."""
    lines = [file, "criteria:", *(f"  - {one}" for one in criteria)]
    Path("criteria.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    code = main(["check", *runs, "--criteria", "criteria.yaml", *options])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.mark.parametrize(
    ("criteria", "undecided", "code"),
    [
        ([MET], None, 0),
        ([MET, NOT_MET], None, 1),
        ([MET, OPEN], None, 3),
        ([MET, OPEN], "pass", 0),
        ([MET, OPEN], "fail", 1),
        ([OPEN, NOT_MET], "pass", 1),
        ([MET], "fail", 0),
    ],
)
def test_exit_codes(here, capsys, criteria, undecided, code):
    chosen = [] if undecided is None else ["--undecided", undecided]
    assert check(capsys, *criteria, options=chosen)[0] == code
    if undecided is not None:
        assert check(capsys, *criteria, file=f"undecided: {undecided}")[0] == code


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_has_colours_and_a_file_has_none(here, capsys, monkeypatch, terminal):
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    assert ("\x1b[1;31mFAIL" in check(capsys, NOT_MET)[1]) == terminal


def test_the_command_line_overrides_the_file(here, capsys):
    assert check(capsys, OPEN, file="undecided: fail")[0] == 1
    assert check(capsys, OPEN, file="undecided: fail", options=["--undecided", "pass"])[0] == 0
    assert check(capsys, OPEN, file="undecided: pass", options=["--undecided", "report"])[0] == 3
    options = ["--format", "json", "--seed", "7", "--replicates", "300"]
    found = json.loads(check(capsys, MET, file="seed: 1\nreplicates: 200", options=options)[1])
    assert (found["seed"], found["replicates"]) == (7, 300)
    found = json.loads(check(capsys, MET, file="seed: 1\nreplicates: 200", options=options[:2])[1])
    assert (found["seed"], found["replicates"]) == (1, 200)


def test_the_table_says_what_was_found(here, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = check(capsys, MET, NOT_MET, OPEN)
    assert (code, err) == (1, "")
    assert max(map(len, out.splitlines())) <= 80
    same_text(out)
    for said in (MET, NOT_MET, OPEN, "not enough data", "would decide it"):
        assert said in " ".join(out.split())


def test_all_formats_say_the_same(here, capsys):
    options = ["--format", "json", "--junit", "out.xml", "--markdown", "out.md"]
    code, out, _ = check(capsys, MET, NOT_MET, OPEN, options=options)
    found = json.loads(out)
    assert (code, found["exit_code"]) == (1, 1)
    assert found["counts"] == {"error": 0, "fail": 1, "undecided": 1, "pass": 2}
    assert found["runs"] == ["run"]
    root = ET.parse("out.xml").getroot()
    assert [root.get(name) for name in ("tests", "failures", "errors")] == ["4", "1", "0"]
    assert root.find("testsuite").get("name") == "criteria.yaml"
    text = (here / "out.md").read_text(encoding="utf-8")
    same_text(text)
    assert text.count("| **FAIL** |") == 1
    verdicts = {(one["criterion"], one["monitor"]): one["verdict"] for one in found["verdicts"]}
    assert verdicts == {
        (MET, "good"): "pass",
        (MET, "poor"): "pass",
        (NOT_MET, "poor"): "fail",
        (OPEN, "good"): "undecided",
    }


@pytest.mark.parametrize(
    ("criterion", "said"),
    [
        ("overall.mc >= 0.4", "did you mean 'overall.mcc'?"),
        ("overall.mcc >= 0.4 on faultload:fogg", "fog"),
        ("overall.mcc >= 0.4 for goood", "did you mean 'good'?"),
        ("overall.mcc >= 2", "never be met"),
        ("specific.fpr <= 0.1 on ood", "ID"),
        ("detection_delay.p95 <= 10", "onset"),
        ("overall.mcc not worse than baseline:nowhere.yaml by 0.02", "nowhere.yaml"),
    ],
)
def test_what_cannot_be_judged_is_one_line_and_nothing_is_written(here, capsys, criterion, said):
    (here / "old.md").write_text("<!-- farm check -->\nof last time\n")
    code, out, err = check(capsys, MET, criterion, options=["--junit", "new.xml", "--markdown", "old.md"])
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err
    assert not (here / "new.xml").exists()
    same_text((here / "old.md").read_text())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--junit", "no/where.xml"], "--junit no/where.xml: no is no folder; expected one"),
        (["--markdown", "run"], "--markdown run is no file; expected a new one"),
        (["--junit", "own.xml"], "--junit own.xml is there and was not written by `farm check --junit`"),
        (
            ["--markdown", "own.xml"],
            "--markdown own.xml is there and was not written by `farm check --markdown`",
        ),
        (["--junit", "a", "--markdown", "./a"], "--junit and --markdown are both a; expected two files"),
        (["--replicates", "0"], "--replicates is 0; expected 1 to 1,000,000"),
        (["--seed", "-1"], "--seed is -1; expected at least 0"),
    ],
)
def test_what_cannot_be_done_is_told_first(here, capsys, options, said):
    (here / "own.xml").write_text('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="others"/>')
    code, out, err = check(capsys, "overall.mc >= 0.4", options=options)
    assert (code, out) == (2, "")
    assert err.startswith(f"farm: {said}")


def test_files_of_its_own_kind_are_replaced(here, capsys):
    options = ["--junit", "out.xml", "--markdown", "out.md"]
    (here / "out.md").touch()  # a job's summary is an empty file at first
    assert check(capsys, NOT_MET, options=options)[0] == 1
    assert check(capsys, MET, options=options)[0] == 0
    assert ET.parse("out.xml").getroot().get("failures") == "0"
    assert "FAIL" not in (here / "out.md").read_text(encoding="utf-8")
    assert sorted(path.name for path in here.iterdir()) == ["criteria.yaml", "out.md", "out.xml", "run"]
    swapped = ["--junit", "out.md"]
    assert check(capsys, MET, options=swapped)[0] == 2


def test_a_monitor_that_failed_is_a_failure(here, capsys):
    make_run(0, RATES, [FOG], failed=["poor"]).save("broken")
    options = ["--junit", "out.xml", "--markdown", "out.md", "--format", "json"]
    code, out, _ = check(capsys, f"{MET} for good", runs=["broken"], options=options)
    assert code == 1
    (broken,) = json.loads(out)["broken"]
    assert broken == {"what": "monitor 'poor'", "where": "broken", "reason": "singular"}
    assert ET.parse("out.xml").getroot().get("errors") == "1"
    same_text((here / "out.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("undecided", ["report", "pass", "fail"])
def test_what_is_asked_of_a_monitor_that_failed_cannot_be_judged(here, capsys, undecided):
    make_run(0, RATES, [FOG], failed=["poor"]).save("broken")
    options = ["--junit", "out.xml", "--markdown", "out.md", "--undecided", undecided]
    asked = (f"{MET} for good, poor", f"{NOT_MET.split(' for ')[0]} for poor")
    code, out, _ = check(capsys, *asked, runs=["broken"], options=[*options, "--format", "json"])
    found = json.loads(out)
    assert (code, found["exit_code"]) == (1, 1)
    assert found["counts"] == {"error": 2, "fail": 0, "undecided": 0, "pass": 1}
    for one in found["verdicts"]:
        if one["verdict"] == "error":
            assert (one["value"], one["low"], one["high"], one["undefined"]) == (None, None, None, {})
    told = "poor: could not be judged, because the monitor failed: singular"
    root = ET.parse("out.xml").getroot()
    assert (root.get("failures"), root.get("errors")) == ("0", "3"), "and one for the monitor itself"
    assert [case.get("message") for case in root.iter("error")] == [told, told, "singular"]
    text = (here / "out.md").read_text(encoding="utf-8")
    same_text(text)
    assert text.count("| **ERROR** |") == text.count(told) == 2
    shown = check(capsys, *asked, runs=["broken"], options=options)[1]
    assert shown.count("ERROR") == shown.count(told) == 2


def test_a_campaign_with_all_of_its_cells(here, capsys):
    make_campaign(here / "all", n=2)
    code, out, err = check(capsys, LENIENT, runs=["all"])
    assert (code, err) == (0, "")
    assert "1 passed" in out


@pytest.fixture
def of_protocol(here, monkeypatch):
    """Make a campaign of a protocol that finds measures if it is told so; return what makes it."""

    def made(name, **protocol):
        make_campaign(here / name, n=2)
        edit(
            here / name / "campaign.json",
            lambda record: record["campaign"].update(protocol={"protocol": "made"}),
        )
        monkeypatch.setitem(PROTOCOLS, "made", "made_protocol")

        def of(folder):
            return SimpleNamespace(**{key: find(Path(folder)) for key, find in protocol.items()})

        results = SimpleNamespace(Results=SimpleNamespace(of=of))
        monkeypatch.setitem(sys.modules, "made_protocol.results", results)

    return made


def finds(folder):
    """Find a coverage by the folder's name, and a pattern with a bound by the level."""
    covered = Measure(len(folder.name) / 10)
    return lambda level: [
        *(
            ReportedMeasure("scenario_coverage", part, covered, covered, covered, 40, 40, "read off")
            for part in ("train k=2", "test k=2")
        ),
        ReportedMeasure(
            "neuron_pattern", "conv", Measure(0.2), Measure(0.1), Measure(0.2 + level / 10), 9, 9, ""
        ),
    ]


def test_what_the_protocol_of_a_campaign_found_is_judged(of_protocol, capsys):
    of_protocol("eight888", reported=finds)
    asked = [
        "scenario_coverage >= 80 % on each part",
        "'scenario_coverage > 80 % on part:\"test k=2\"'",
        "neuron_pattern <= 0.292 at 90 %",
        "neuron_pattern <= 0.292",
        LENIENT,
    ]
    code, out, err = check(capsys, *asked, runs=["eight888"], options=["--format", "json"])
    assert (code, err) == (1, "")
    told = [(one["monitor"], one["on"], one["verdict"]) for one in json.loads(out)["verdicts"]]
    assert told == [
        ("the classifier", 'part:"train k=2"', "pass"),
        ("the classifier", 'part:"test k=2"', "pass"),
        ("the classifier", 'part:"test k=2"', "fail"),
        ("the classifier", "part:conv", "pass"),
        ("the classifier", "part:conv", "undecided"),
        ("doubt", "id", "pass"),
    ]


def test_what_no_protocol_found_cannot_be_judged(here, of_protocol, capsys):
    of_protocol("silent")
    make_campaign(here / "plain", n=1)
    for runs in (["run"], ["plain"], ["silent"]):
        code, out, err = check(capsys, MET, "neuron_pattern <= 0.3", runs=runs)
        assert (code, out) == (2, "")
        same_text(err)


def test_of_several_folders_no_protocol_is_asked(of_protocol, capsys):
    of_protocol("eight888", reported=finds)
    for runs in (["run", "eight888"], ["eight888", "run"]):
        code, _, err = check(capsys, "neuron_pattern <= 0.3", runs=runs)
        assert code == 2
        same_text(err)


def test_a_protocol_is_asked_only_for_what_it_finds(of_protocol, capsys):
    of_protocol("busy", reported=lambda folder: pytest.fail("it was asked"))
    assert check(capsys, LENIENT, runs=["busy"])[0] == 0


def test_what_a_campaign_lacks_is_a_failure(here, capsys):
    folder = make_campaign(here / "some", n=3, missing=2)
    cells = folder.record()["cells"]
    one = cells[1]
    folder.note_failure(one["id"], one["target"], one["title"], "failed", "it took more than 600 s")
    code, out, _ = check(capsys, LENIENT, runs=["some"], options=["--format", "json"])
    assert code == 1
    found = json.loads(out)
    assert found["counts"] == {"error": 0, "fail": 0, "undecided": 0, "pass": 1}
    assert [(one["what"], one["where"], one["reason"]) for one in found["broken"]] == [
        (f"cell '{cells[1]['title']}'", "some", "it took more than 600 s"),
        (f"cell '{cells[2]['title']}'", "some", "it was not computed yet; `farm run` the campaign"),
    ]


def test_a_folder_that_is_none_says_so(here, capsys):
    code, out, err = check(capsys, MET, runs=["nowhere"])
    assert (code, out) == (2, "")
    same_text(err)


def test_it_imports_neither_torch_nor_scikit_learn_nor_all_of_scipy(here):
    (here / "criteria.yaml").write_text(f"undecided: pass\ncriteria: ['{MET}', '{OPEN}']\n")
    code = (
        "import sys; from farm.cli import main; "
        "files = ['--criteria', 'criteria.yaml', '--junit', 'o.xml', '--markdown', 'o.md']; "
        "code = main(['check', 'run', *files]); "
        "heavy = ('torch', 'sklearn', 'scipy.stats', 'statsmodels'); "
        "print(code, [m for m in heavy if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "0 []\n"
