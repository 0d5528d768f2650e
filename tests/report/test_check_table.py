import json
import re
from dataclasses import replace

import pytest

from farm.report.check_table import check_json, check_table
from tests.report.made_verdicts import (
    ALL,
    CRASHED,
    DELAY,
    EACH,
    IN_PARTS,
    NO_VALUE,
    OPEN,
    PASSED,
    checked,
    make,
)
from tests.wording import same_text

FOUND = checked(broken=[CRASHED])


@pytest.mark.parametrize("width", [60, 80, 120])
def test_it_keeps_to_the_width_and_numbers_stay_whole(width):
    lines = check_table(FOUND, width=width).splitlines()
    assert max(map(len, lines)) <= max(width, 76)
    text = "\n".join(lines)
    for whole in ("not enough data", "0.370 to 0.449", "480 in 96", ">= 0.590"):
        assert whole in text


def test_each_verdict_is_a_row_below_its_criterion():
    lines = check_table(FOUND, width=120).splitlines()
    assert re.match(r"verdict +monitor +on +value  bound \(95 %\) +instances$", lines[0])
    same_text(lines[1])
    assert re.match(r"pass +max-softmax +0\.512  >= 0\.471 +480 in 96$", lines[2])
    assert re.match(r"FAIL +oob +0\.215  <= 0\.262 +480 in 96$", lines[3])
    assert re.match(r"not enough data +knn +0\.410  0\.370 to 0\.449 +480 in 96$", lines[4])
    same_text(lines[5])
    assert re.search(r"^FAIL +max-softmax +gaussian-noise +0\.610  >= 0\.590 +120$", "\n".join(lines), re.M)


def test_rows_of_one_report_have_the_same_columns():
    rows = [
        line for line in check_table(FOUND, width=120).splitlines() if re.match(r"pass|FAIL|not en", line)
    ]
    assert len(rows) == len(ALL)
    assert len({re.search(r"max-softmax|oob|knn|never", row).start() for row in rows}) == 1
    assert len({len(row) for row in rows}) == 1


def test_levels_that_differ_have_a_column():
    strict = replace(PASSED, criterion=replace(PASSED.criterion, level=0.99))
    text = check_table(checked([PASSED, strict]), width=120)
    assert re.search(r"bound +level +instances", text)
    assert re.search(r">= 0\.471 +99 % +480 in 96", text)


def test_columns_that_say_nothing_are_left_out():
    head = check_table(checked([PASSED]), width=120).splitlines()[0]
    assert " on " not in head
    assert " on " in check_table(checked(EACH), width=120).splitlines()[0]


def test_what_failed_and_what_counts_is_told_at_the_end():
    text = check_table(FOUND, width=120)
    same_text(text)
    assert "exit code 3" in text
    assert "exit code" not in check_table(checked([PASSED]))


def test_what_a_protocol_found_is_told_with_its_parts():
    same_text(check_table(checked(IN_PARTS), width=100))
    assert "a protocol" not in check_table(FOUND)
    told = json.loads(check_json(checked(IN_PARTS)))["verdicts"]
    assert [one["on"] for one in told] == [one.where for one in IN_PARTS]
    assert (told[1]["value"], told[1]["low"], told[1]["high"], told[1]["needed"]) == ("inf", 120, "inf", None)
    assert [(one["n"], one["n_ood"], one["tracks"], one["monitor"]) for one in told] == [
        (40, None, 40, "the classifier")
    ] * 3


def test_long_names_are_broken_and_none_is_markup():
    name = "[red]" + "very-long-name-" * 6
    text = check_table(checked([make("overall.mcc >= 0.4", "pass", 0.5, 0.45, 0.55, monitor=name)]), width=80)
    assert max(map(len, text.splitlines())) <= 80
    begin = text.splitlines()[2].index("[red]")
    column = [line[begin:].split("  ")[0] for line in text.splitlines()[2:]]
    assert "".join(column).startswith(name)


def test_colour_only_if_asked_for():
    assert "\x1b" not in check_table(FOUND)
    assert "\x1b[1;31mFAIL" in check_table(FOUND, colour=True)


def test_json_has_everything_and_no_infinity():
    found = json.loads(check_json(FOUND))
    assert found["counts"] == {"error": 0, "fail": 4, "undecided": 2, "pass": 3}
    assert found["exit_code"] == 1
    assert len(found["verdicts"]) == len(ALL)
    same_text(json.dumps(found["verdicts"][0], indent=1))
    assert found["broken"] == [
        {"what": CRASHED.what, "where": CRASHED.where, "reason": CRASHED.reason},
    ]
    delay = found["verdicts"][ALL.index(DELAY)]
    assert (delay["value"], delay["low"], delay["high"]) == ("inf", 3.0, "inf")
    undefined = found["verdicts"][ALL.index(NO_VALUE)]
    assert undefined["value"] is None
    same_text(undefined["undefined"]["value"])
    undecided = found["verdicts"][ALL.index(OPEN)]
    assert (undecided["needed"], undecided["n"], undecided["tracks"]) == (2213, 480, 96)
    same_text(undecided["criterion"])
