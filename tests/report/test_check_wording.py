import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.gate.criterion import parse_criterion
from farm.report import check_wording as words
from farm.report.cells import DASH
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
    WORSE,
    checked,
    make,
)
from tests.wording import same_text

MCC = parse_criterion("overall.mcc >= 0.4")
FPR = parse_criterion("specific.fpr <= 0.05 on id")
TIMES = parse_criterion("monitor_time_us.p99 <= 500")
MARGIN = parse_criterion("overall.mcc not worse than baseline:b by 0.02")


@pytest.mark.parametrize(
    ("judged", "expected"),
    [
        (PASSED, ">= 0.471"),
        (FAILED, "<= 0.262"),
        (OPEN, "0.370 to 0.449"),
        (EACH[0], "<= 0.130"),
        (EACH[1], ">= 0.590"),
        (TIME, "<= 131"),
        (DELAY, "3 to ∞"),
        (WORSE, "<= -0.052"),
        (NO_VALUE, DASH),
    ],
)
def test_the_bound_is_the_one_that_decided(judged, expected):
    assert words.bound_words(judged) == expected


@pytest.mark.parametrize(
    ("value", "criterion", "expected"),
    [
        (0.4123, MCC, "0.412"),
        (0.39996, MCC, "0.39996"),
        (0.4, MCC, "0.400"),
        (0.9999, MCC, "0.9999"),
        (1.0, MCC, "1.000"),
        (-0.0301, MCC, "-0.030"),
        (0.0499, FPR, "0.0499"),
        (0.00001, FPR, "0.00001"),
        (1e-12, FPR, "1.00e-12"),
        (500.0, TIMES, "500"),
        (500.02, TIMES, "500.02"),
        (123.4, TIMES, "123"),
        (0.0123, TIMES, "0.0123"),
        (12345.6, TIMES, "12,346"),
        (math.inf, TIMES, "∞"),
        (-0.0811, MARGIN, "-0.081"),
        (-0.01999, MARGIN, "-0.01999"),
        (0.03, MARGIN, "+0.030"),
    ],
)
def test_figures_show_the_side_they_are_on(value, criterion, expected):
    assert words.figure(value, criterion) == expected


@given(st.floats(-1, 1))
def test_no_figure_looks_like_the_bound_without_being_it(value):
    shown = float(words.figure(value, MCC))
    assert (shown >= 0.4, shown <= 0.4) == (value >= 0.4, value <= 0.4)
    assert shown == pytest.approx(value, abs=6e-4)


def test_a_sentence_says_why_and_what_it_would_take():
    same_text(words.sentence(OPEN))
    same_text(words.sentence(FAILED))
    same_text(words.sentence(DELAY))


def test_where_is_the_value_that_each_goes_through():
    assert [words.where_words(one) for one in EACH] == ["fog", "gaussian-noise"]
    assert words.where_words(PASSED) == ""
    text = "specific.fpr <= 0.1 on id each workload category:noise severity<=3"
    one = make(text, "pass", 0, 0, 0.01, where='id workload:"my signs" category:noise severity<=3')
    assert words.where_words(one) == '"my signs"'


def test_where_is_the_part_that_a_protocol_found_unless_the_criterion_names_it():
    assert [words.where_words(one) for one in IN_PARTS] == ['"train k=2"', "", '"oob, weather=rain"']


def test_names_tell_all_verdicts_apart():
    names = [words.title_words(one) for one in [*ALL, *IN_PARTS]]
    assert len(set(names)) == len(names)
    same_text(names[0])
    same_text(names[3])


def test_tracks_are_told_where_they_are_fewer():
    assert (words.size_words(PASSED), words.size_words(TIME)) == ("480 in 96", "3,200")


def test_evidence_has_all_that_a_verdict_rests_on():
    assert list(words.evidence_lines(FAILED)) == [
        "criterion: overall.mcc >= 0.4 on category:noise",
        "monitor: oob",
        "on: category:noise",
        "value: 0.215",
        "lower bound: 0.170 (95 %)",
        "upper bound: 0.262 (95 %)",
        "instances: 480, 120 of them OOD, in 96 tracks",
        "benchmark sets: fog, severity 3 on signs with lenet",
        "counts: tp 40, fp 12, fn 80, tn 348",
        "bounds: whole tracks resampled",
    ]
    same_text(words.evidence_lines(NO_VALUE))
    same_text(words.evidence_lines(IN_PARTS[0]))
    same_text(words.evidence_lines(IN_PARTS[1]))


@pytest.mark.parametrize(
    ("judged", "broken", "undecided", "counts", "code"),
    [
        ([PASSED, TIME], [], "report", "2 passed", 0),
        ([PASSED, OPEN], [], "report", "1 not decided, 1 passed", 3),
        ([PASSED, OPEN], [], "pass", "1 not decided, 1 passed", 0),
        ([PASSED, OPEN], [], "fail", "1 not decided, 1 passed", 1),
        ([OPEN, FAILED], [], "pass", "1 failed, 1 not decided", 1),
        ([OPEN, FAILED], [], "report", "1 failed, 1 not decided", 1),
        ([PASSED, UNJUDGED], [], "pass", "1 not judged, 1 passed", 1),
        ([OPEN, UNJUDGED, FAILED], [], "report", "1 not judged, 1 failed, 1 not decided", 1),
        ([PASSED], [CRASHED], "report", "1 passed; 1 part of the runs failed or is missing", 1),
        ([OPEN], [CRASHED] * 2, "pass", "1 not decided; 2 parts of the runs failed or are missing", 1),
    ],
)
def test_counts_and_exit_codes(judged, broken, undecided, counts, code):
    found = checked(judged, broken, undecided=undecided)
    assert (words.counts_words(found), found.exit_code) == (counts, code)


def test_what_is_undecided_is_said_to_count_as_what_it_does():
    assert words.consequence(checked([PASSED])) == ""
    assert "exit code 3" in words.consequence(checked([OPEN]))
    assert "counts as failed" in words.consequence(checked([OPEN], undecided="fail"))
    assert "counts as passed" in words.consequence(checked([OPEN], undecided="pass"))


@given(st.text())
def test_plain_text_is_one_line_that_xml_can_write(text):
    found = words.plain(text)
    assert found == " ".join(found.split())
    assert all(c >= " " and c not in "\x7f\ufffe\uffff" and not 0xD800 <= ord(c) <= 0xDFFF for c in found)
    assert words.plain(found) == found
