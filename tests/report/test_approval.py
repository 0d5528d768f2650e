"""The type-approval record: nothing is passed over in silence or fetched, and a page holds 20 criteria."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from farm.cli import main
from farm.report.approval import approval_record, overall, verdict_table
from farm.report.checked import RECORD_BEGINS, NotRun, RunIdentity
from tests.comparing.made_runs import FOG, make_run
from tests.report.made_verdicts import (
    ALL,
    CRASHED,
    DELAY,
    EACH,
    FAILED,
    IN_PARTS,
    NO_VALUE,
    OPEN,
    PASSED,
    TIME,
    UNJUDGED,
    checked,
    make,
)

CHROMIUM = os.environ.get("FARM_CHROMIUM") or shutil.which("chromium")
QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
HOSTILE = "</style><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31m"
RUN = RunIdentity(
    name="gate",
    checksum="9d00711354f8",
    workload="signs",
    workload_hash="12f7ccdba611",
    classifier="lenet",
    classifier_digest="3b4cfb325b50",
    faults=(("fog", 3.0), ("novelty", None), ("fog", 1.0)),
    n=3200,
    seed=0,
    versions={"farm-testbed": "0.1.0", "python": "3.11.7", "torch": "2.13.0", "scipy": "1.17"},
)
PASSES = [PASSED, TIME, EACH[0]]


def of(judged, *, runs=(RUN,), **options):
    return replace(checked(judged, **options), criteria_sha256="ab" * 32, tested=list(runs))


class Texts(HTMLParser):
    """What stands in each element of some kinds, and which elements there are."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.found, self._open = [], {}, []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("td", "th", "dt", "dd", "li", "p", "strong", "small", "h1", "h2", "title", "caption"):
            self._open.append(tag)
            self.found.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_data(self, data):
        if self._open:
            self.found[self._open[-1]][-1] += data


def facts(found):
    page = Texts(approval_record(found)).found
    return dict(zip(page["dt"], page["dd"], strict=True))


@pytest.mark.parametrize(
    ("judged", "broken", "verdict", "word"),
    [
        ([PASSED, TIME], [], "pass", "Pass"),
        ([PASSED, FAILED, OPEN, UNJUDGED], [CRASHED], "fail", "Fail"),
        ([PASSED, OPEN], [], "undecided", "Not enough data"),
        ([PASSED, OPEN, UNJUDGED], [], "error", "Error"),
        ([PASSED], [CRASHED], "error", "Error"),
        ([], [], "undecided", "Not enough data"),
    ],
)
def test_the_verdict_on_all_is_one_word(judged, broken, verdict, word):
    found = of(judged, broken=broken)
    assert overall(found) == verdict
    page = Texts(approval_record(found)).found
    assert page["strong"] == [word]
    assert page["title"] == [f"Type-approval record: {word}"]


@pytest.mark.parametrize("undecided", ["report", "pass", "fail"])
def test_what_is_undecided_is_no_pass_whatever_a_job_makes_of_it(undecided):
    found = of([PASSED, OPEN], undecided=undecided)
    assert overall(found) == "undecided"
    said = {
        "report": "What is not decided is neither passed nor failed.",
        "pass": "The check was told to let pass what is not decided; this record does not call it a pass.",
        "fail": "The check was told to count as failed what is not decided.",
    }
    paragraphs = Texts(approval_record(found)).found["p"]
    assert [each for each in paragraphs if each in said.values()] == [said[undecided]]


def test_what_was_tested():
    assert facts(of(PASSES)) == {
        "Classifier": "lenet, digest 3b4cfb325b50",
        "Test data": "signs, content hash 12f7ccdba611",
        "Faults": "fog (1, 3), novelty",
        "Runs": "1 run with seed 0, 3,200 instances, in runs/gate-001; checksum 9d00711354f8",
        "Software": "farm-testbed 0.1.0, python 3.11.7, torch 2.13.0",
        "Criteria": f"criteria.yaml, SHA-256 {'ab' * 32}",
        "Bounds by": "2,000 resamplings where they are drawn, seed 0",
    }
    page = Texts(approval_record(of(PASSES))).found
    assert page["p"][0] == "Checked on 2030-01-02 03:04 UTC by farm-testbed 0.1.0"
    assert page["small"] == ["3 passed"]


def test_many_runs_are_counted():
    runs = [replace(RUN, seed=i, classifier_digest=f"d{i}", checksum=f"c{i}") for i in range(6)]
    told = facts(of(PASSES, runs=runs))
    assert told["Classifier"] == "lenet, digest d0, d1, d2, d3 and 2 more"
    assert told["Runs"] == "6 runs with 6 seeds, 19,200 instances, in runs/gate-001"
    assert told["Test data"] == "signs, content hash 12f7ccdba611"


def test_of_a_log_it_says_that_nothing_is_recorded():
    told = facts(of([PASSED], runs=[RunIdentity.of({"name": "log", "classifier": {"name": None}})]))
    assert told["Classifier"] == "without a name, digest not recorded"
    assert told["Faults"] == "none recorded"
    assert told["Software"] == "not recorded"
    assert told["Runs"] == "1 run, in runs/gate-001"


def test_an_identity_is_taken_from_a_record():
    record = {
        "name": "gate",
        "checksum": "c",
        "seed": 3,
        "workload": {"name": "signs", "hash": "h"},
        "classifier": {"name": "lenet", "digest": "d"},
        "stream": {
            "length": 7,
            "faults": [{"name": "fog", "severity": 2}, {"name": "rain", "severity": [1, 5]}],
            "everywhere": [{"name": "blur", "severity": None}],
        },
        "versions": {"torch": "2"},
    }
    faults = (("fog", 2.0), ("rain", None), ("blur", None))
    expected = RunIdentity("gate", "c", "signs", "h", "lenet", "d", faults, 7, 3, {"torch": "2"})
    assert RunIdentity.of(record) == expected


@pytest.mark.parametrize(
    ("digests", "said"),
    [
        ("a", "a classifier that is trained again is another one, and not covered"),
        (
            "abc",
            "Several trainings were tested, 3 of lenet. Bounds are about images, and not about what other",
        ),
    ],
)
def test_bounds_are_about_images_and_not_about_trainings(digests, said):
    text = approval_record(of(PASSES, runs=[replace(RUN, classifier_digest=one) for one in digests]))
    assert said in text


def test_it_says_what_a_pass_does_not_mean():
    text = approval_record(of(PASSES))
    assert "A pass says that the bounds hold on this test data and for these faults, at 95 % each" in text
    assert "It does not say that the system is safe elsewhere" in text


def rows(found):
    """Return the texts of each verdict: its row, and what stands below it."""
    html = str(verdict_table(found))
    return [Texts(body).found for body in re.findall(r"<tbody>.*?</tbody>", html)]


def test_what_a_protocol_found_has_its_part_and_says_what_n_is():
    shown = [one["td"] for one in rows(of(IN_PARTS))]
    assert shown == [
        ['the classifier, "train k=2"', "0.800", "0.800 to 0.800", "40", "40", "FAIL"],
        [
            "the classifier",
            *("∞", "120 to ∞", "40", "40", "not enough data"),
            "Between 120 and infinity, and 200 is within.",
        ],
        ['the classifier, "oob, weather=rain"', "0.300", "0.260 to 0.400", "40", "40", "pass"],
    ]
    said = "Of what a protocol finds, n:"
    assert said in approval_record(of(IN_PARTS))
    assert said not in approval_record(of(PASSES))


def test_a_row_a_verdict_with_its_value_bounds_sizes_and_what_would_decide_it():
    passed, failed, undecided = rows(of([PASSED, FAILED, OPEN]))
    assert passed["th"] == ["overall.mcc >= 0.4 on category:noise"]
    assert passed["td"] == ["max-softmax", "0.512", "0.471 to 0.553", "480", "96", "pass"]
    assert failed["td"] == ["oob", "0.215", "0.170 to 0.262", "480", "96", "FAIL"]
    *row, why = undecided["td"]
    assert row == ["knn", "0.410", "0.370 to 0.449", "480", "96", "not enough data"]
    needed = "Some 2,300 instances instead of 480 would decide it with a chance of 80 %"
    assert why == f"{needed}, if 0.410 is the true value."


def test_what_the_numbers_do_not_tell_stands_below_them():
    onsets, undefined, error, noted, worse = rows(
        of(
            [
                DELAY,
                NO_VALUE,
                UNJUDGED,
                replace(PASSED, note="the baseline is of another classifier"),
                replace(
                    FAILED, reason="at most 0.262, which is below 0.4; the baseline is of another engine"
                ),
            ]
        )
    )
    infinite = "\N{INFINITY}"
    assert onsets["td"][1:] == [
        infinite,
        f"3 to {infinite}",
        "80 onsets",
        "80",
        "not enough data",
        "9 of 80 onsets were missed.",
    ]
    assert undefined["td"][-1] == "Undefined: none of the 3200 instances was cancelled."
    dash = "\N{EN DASH}"
    told = "Could not be judged, because the monitor failed: singular."
    assert error["td"] == ["odin", dash, dash, dash, dash, "ERROR", told]
    assert noted["td"][-1] == "Passed, but the baseline is of another classifier."
    assert worse["td"][-1] == "The baseline is of another engine."


def test_levels_that_differ_have_a_column():
    heads = Texts(str(verdict_table(of([PASSED])))).found["th"][:7]
    assert heads == ["Criterion", "Monitor", "Value", "Bounds (95 % each)", "n", "Tracks", "Verdict"]
    surer = replace(PASSED, criterion=replace(PASSED.criterion, level=0.99))
    found = of([PASSED, surer])
    assert Texts(str(verdict_table(found))).found["th"][3:5] == ["Bounds", "Level"]
    assert [row["td"][3] for row in rows(found)] == ["95 %", "99 %"]
    assert "at 95 % and 99 % each" in approval_record(found)


def test_a_fault_stands_beside_its_monitor():
    (row,) = rows(of([EACH[1]]))
    assert row["td"][0] == "max-softmax, gaussian-noise"


def test_what_did_not_run_is_listed():
    page = Texts(approval_record(of([PASSED], broken=[CRASHED]))).found
    assert page["li"] == ["monitor 'odin' in runs/gate-001: ComponentFailure: monitor 'odin' gave NaN"]
    assert "What failed to run, or is missing" in page["h2"]
    assert "What failed to run, or is missing" not in Texts(approval_record(of([PASSED]))).found["h2"]


def test_there_are_lines_to_sign_on():
    page = approval_record(of([PASSED]))
    assert re.findall(r"<p>(\w+)<span></span></p>", page) == ["Name", "Place", "Date", "Signature"]


def test_names_from_data_are_text():
    judged = make("overall.mcc >= 0.4", "undecided", 0.1, 0, 0.2, monitor=HOSTILE, reason=f"of {HOSTILE}")
    names = ("name", "checksum", "workload", "workload_hash", "classifier", "classifier_digest")
    run = replace(
        RUN, faults=((HOSTILE, None),), versions={"torch": HOSTILE}, **dict.fromkeys(names, HOSTILE)
    )
    found = of(
        [judged],
        runs=[run, replace(run, classifier_digest="other")],
        broken=[NotRun(HOSTILE, HOSTILE, HOSTILE)],
        criteria=HOSTILE,
    )
    html = approval_record(replace(found, criteria_sha256=HOSTILE))
    page = Texts(html)
    assert {"script", "img"}.isdisjoint(name for name, _ in page.tags)
    assert all(not key.startswith("on") for _, attributes in page.tags for key in attributes)
    assert "\x1b" not in html
    assert "<script>alert(1)</script>" in "".join(page.found["dd"])
    assert html.count("</style>") == 1


def test_it_fetches_nothing_and_is_known_by_its_first_lines():
    html = approval_record(of(ALL))
    assert html.startswith(RECORD_BEGINS)
    assert not re.search(r"https?:|url\(|@import|src=|href=", html)
    policy = next(one["content"] for name, one in Texts(html).tags if one.get("http-equiv"))
    assert policy.startswith("default-src 'none'")


def test_it_is_made_to_be_printed():
    html = approval_record(of(ALL))
    assert "@page { size: A4 portrait;" in html
    assert "thead { display: table-header-group; }" in html
    assert html.count("<thead>") == 1
    assert html.index('class="signature"') > html.index("</table>")


def pages(folder, found):
    """Print it with a browser; say how many pages it takes, and what its PDF is."""
    (folder / "record.html").write_text(approval_record(found), encoding="utf-8")
    printed = folder / "record.pdf"
    own = (f"--user-data-dir={folder / 'profile'}", "--no-pdf-header-footer", f"--print-to-pdf={printed}")
    source = (folder / "record.html").as_uri()
    subprocess.run([CHROMIUM, *QUIET, *own, source], check=True, capture_output=True, timeout=120)
    pdf = printed.read_bytes()
    return len(re.findall(rb"/Type\s*/Page\b", pdf)), pdf


@pytest.mark.skipif(not CHROMIUM, reason="there is no chromium on this machine")
@pytest.mark.parametrize(
    ("judged", "n"),
    [((PASSES * 9)[:20], 1), ((PASSES * 9)[:25], 1), ([*ALL, *ALL, PASSED, OPEN], 1), (PASSES * 25, 2)],
    ids=["20 passed", "25 passed", "20 of all kinds", "75 passed"],
)
def test_a_page_holds_what_most_files_of_criteria_ask(tmp_path, judged, n):
    count, pdf = pages(tmp_path, of(judged))
    assert count == n
    assert re.search(rb"/MediaBox\s*\[\s*0 0 59[45][.\d]* 84[12]", pdf), "A4, upright"


MET, NOT_MET, OPEN_STILL = (
    "specific.fpr <= 0.2 on id for good",
    "specific.fnr <= 0.5 for poor",
    "specific.fnr <= 0.2 for good",
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rates = {"good": (0.05, 0.8), "poor": (0.05, 0.1)}
    make_run(0, rates, [FOG], n_id=300, n_ood=300, tracks=300).save("run")
    return tmp_path


def check(here, criteria, *options):
    (here / "criteria.yaml").write_text("criteria:\n" + "".join(f"  - {one}\n" for one in criteria))
    return main(["check", "run", "--criteria", "criteria.yaml", "--replicates", "100", *options])


@pytest.mark.parametrize(
    ("criteria", "code", "word"),
    [([MET], 0, "Pass"), ([MET, NOT_MET], 1, "Fail"), ([MET, OPEN_STILL], 3, "Not enough data")],
)
def test_farm_check_writes_it_and_ends_as_without_it(here, capsys, criteria, code, word):
    assert check(here, criteria) == code
    alone = capsys.readouterr().out
    assert check(here, criteria, "--record", "record.html") == code
    assert capsys.readouterr().out == alone
    page = Texts((here / "record.html").read_text(encoding="utf-8")).found
    assert page["strong"] == [word]
    told = dict(zip(page["dt"], page["dd"], strict=True))
    assert told["Classifier"].startswith("lenet, digest ")
    sha = hashlib.sha256((here / "criteria.yaml").read_bytes()).hexdigest()
    assert told["Criteria"] == f"criteria.yaml, SHA-256 {sha}"


def test_only_an_earlier_record_is_replaced(here, capsys):
    assert check(here, [NOT_MET], "--record", "record.html") == 1
    assert check(here, [MET], "--record", "record.html") == 0
    assert "<strong>Pass</strong>" in (here / "record.html").read_text(encoding="utf-8")
    (here / "own.html").write_text("<!DOCTYPE html>\n<p>mine</p>")
    capsys.readouterr()
    assert check(here, [MET], "--record", "own.html") == 2
    told = "--record own.html is there and was not written by `farm check --record`, so it is not replaced"
    assert capsys.readouterr().err.startswith(f"farm: {told}")
    assert (here / "own.html").read_text() == "<!DOCTYPE html>\n<p>mine</p>"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--record", "no/where.html"], "--record no/where.html: no is no folder; expected one"),
        (["--record", "run"], "--record run is no file; expected a new one"),
        (["--junit", "a", "--record", "./a"], "--junit and --record are both a; expected two files"),
        (["--markdown", "a", "--record", "a"], "--markdown and --record are both a; expected two files"),
    ],
)
def test_a_place_where_it_cannot_be_is_told_first(here, capsys, options, said):
    assert check(here, [MET], *options) == 2
    assert capsys.readouterr().err.startswith(f"farm: {said}")
    assert not (here / "a").exists()


def test_writing_it_imports_neither_torch_nor_scikit_learn(here):
    (here / "criteria.yaml").write_text(f"criteria: ['{MET}']\n")
    code = (
        "import sys; from farm.cli import main; "
        "code = main(['check', 'run', '--criteria', 'criteria.yaml', '--record', 'record.html']); "
        "heavy = ('torch', 'sklearn', 'matplotlib'); "
        "print(code, [m for m in heavy if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "0 []\n"
