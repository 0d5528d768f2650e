"""Guarantees against reality as people read them, and as programs do."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from farm.cli import main
from farm.comparing.comparison import compare
from farm.comparing.guarantees import realised_over
from farm.judging import JudgedRun
from farm.report.cells import interval
from farm.report.comparison import render_comparison, render_table
from farm.report.guarantees import entries, guarantee_looks, realised
from farm.report.page import findings_of, page
from farm.report.page.sections.guarantees import guarantees
from farm.report.tables import render
from farm.testing import make_readouts
from tests.judging.made_guarantees import FAULTS, MONITORS, guarantee_record, made_campaign, noted_run
from tests.wording import same_text

STYLES = ("table", "markdown", "latex")


def one_run(folder="runs/one"):
    """Return a run of a promise kept, one broken, one unknown, and a monitor that promises nothing."""
    is_ood = np.arange(300) >= 200
    alarms = {"odin": np.arange(300) % 50 == 0, "oob": np.arange(300) % 5 == 0, "knn": is_ood, "never": False}
    run = noted_run(
        {
            "odin": guarantee_record(("false_alarms", 0.05), ("risk", 0.2), confidence=0.9),
            "oob": guarantee_record(confidence=None, by="class"),
            "knn": guarantee_record(unit="track", event="track"),
            "never": None,
        },
        folder=folder,
        classes=["stop", "yield"],
        workload={"name": "signs"},
        classifier={"name": "lenet"},
    )
    label = np.arange(300) // 2 % 2
    return make_readouts(alarms, is_ood=is_ood, label=label, predicted=label, run=run)


def records_of(*made):
    return [record for each in made for record in JudgedRun.of(each.instances, each.alarms, each.run).records]


def judged_of(made):
    return [JudgedRun.of(each.instances, each.alarms, each.run) for each in made]


def one_in_many_run(*monitors):
    """Return a run of 2,400 ID instances of which one has an alarm."""
    n = 2600
    run = noted_run({name: guarantee_record() for name in monitors})
    alarms = {name: np.arange(n) == 0 for name in monitors}
    return make_readouts(alarms, is_ood=np.arange(n) >= 2400, run=run)


@pytest.fixture(scope="module")
def campaign():
    return made_campaign()


@pytest.fixture(scope="module")
def compared(campaign):
    return compare(*campaign, replicates=100)


@pytest.mark.parametrize("style", STYLES)
def test_below_a_runs_tables_stand_its_promises(style):
    told = render(records_of(one_run()), style)
    heading = "Guarantees against reality"
    assert told.count(heading) == 1
    same_text(told[told.index(heading) :])


def test_a_policy_is_not_what_was_promised_of():
    made = one_run()
    made.run["monitors"][0]["policy"] = {"name": "m-of-n", "m": 2, "n": 5}
    note = "odin: promised of its alarms, and not of what the policy m-of-n (m 2, n 5) makes of them"
    for told in (
        render(records_of(made), width=120),
        render_comparison(compare(made, replicates=50), width=120),
    ):
        assert told.count(note) == 1


def told_of(n_ood, **guarantee):
    """Tell of 200 ID instances of a place with one false alarm, and of a few under fog; tracks are of two."""
    is_ood = np.arange(200 + n_ood) >= 200
    track = [f"track {i // 2}" for i in range(len(is_ood))]
    place = np.full(len(is_ood), "town", dtype=object)
    run = noted_run({"odin": guarantee_record(unit="track", **guarantee), "oob": guarantee_record()})
    alarms = {name: np.arange(len(is_ood)) == 7 for name in ("odin", "oob")}
    made = make_readouts(alarms, is_ood=is_ood, track=track, run=run, **{"condition place": place})
    return render(records_of(made))


def test_a_share_of_few_tracks_tells_how_few():
    """Of three tracks there is no interval; of twenty there is, and it is wide."""
    assert "of 3 tracks" in told_of(6)
    many = told_of(40)
    assert "of 20 tracks" not in many
    most = 100 * binomtest(0, 20).proportion_ci(0.95, method="exact").high
    assert interval(0, most, 1) in many


def test_one_alarm_is_not_written_as_none():
    """The interval ends below 1 %, so that there is room for a second digit; of few, there is none."""
    made = one_in_many_run("odin")
    assert realised(entries(realised_over(judged_of([made])))[0]) == ("0.04", interval(0, 0.23))
    assert "0.04" in render(records_of(made))
    assert realised({"value": 0.0004, "low": 0.0, "high": 0.02}) == ("<0.1", interval(0, 2, 1))


def test_what_is_taken_for_granted_is_told_once_for_all_monitors_and_its_exceptions_by_name():
    told = " ".join(told_of(6, seen_in_fit=True).split())
    assert (
        "odin: promised if validation and working data are exchangeable tracks, though the monitor's fit "
        "looked at the validation data All others: promised if validation and working data are exchangeable "
        "instances"
    ) in told
    (only,) = guarantee_looks(entries(realised_over(judged_of([one_in_many_run("odin", "oob")]))))
    assert only.notes[0] == "Promised if validation and working data are exchangeable instances"


def test_a_single_group_is_not_the_worst_of_any():
    told = told_of(6, by="place")
    assert "odin: there is one group by place, town" in told
    assert "worst" not in told


@pytest.mark.parametrize("style", STYLES)
def test_where_nothing_was_promised_nothing_is_said_of_it(style):
    made = make_readouts({"odin": np.arange(20) < 3}, is_ood=np.arange(20) > 9)
    assert "uarantee" not in render(records_of(made), style)
    assert "uarantee" not in render_comparison(compare(made, replicates=50), style)
    assert guarantees(findings_of([made], [None]), None) is None


def test_of_several_runs_it_is_said_which():
    told = render(records_of(one_run(), one_run("runs/two")))
    assert "runs/one: Guarantees against reality" in told
    assert "runs/two: Guarantees against reality" in told


def test_csv_has_a_column_for_each_number():
    frame = pd.read_csv(io.StringIO(render(records_of(one_run()), "csv")))
    row = frame[(frame["part"] == "id") & (frame["monitor"] == "odin")].iloc[0]
    assert (row["guarantees.1.what"], row["guarantees.2.what"]) == ("false_alarms", "risk")
    assert row["guarantees.1.value"] == 0.02
    assert frame[frame["monitor"] == "never"].filter(like="guarantees").isna().all(axis=None)


@pytest.mark.parametrize("width", [80, 100, 120])
def test_ten_monitors_under_twelve_faults_are_read_well(compared, width):
    told = render_table(compared, "guarantees", "table", width=width)
    lines = told.splitlines()
    assert max(map(len, lines)) <= width
    assert "…" not in told
    for name in (*MONITORS, *(name for _, name, _ in FAULTS)):
        assert any(name in line for line in lines), f"{name} is broken in two"
    if width == 100:
        same_text(told)


@pytest.mark.parametrize("style", STYLES)
def test_a_comparison_ends_with_its_promises(compared, style):
    whole, alone = render_comparison(compared, style), render_table(compared, "guarantees", style)
    assert whole.rstrip().endswith(alone.split("booktabs}\n")[-1].rstrip())


def test_programs_get_all_of_it(compared):
    told = json.loads(render_table(compared, "guarantees", "json"))
    assert told == json.loads(render_comparison(compared, "json"))["guarantees"]
    frame = pd.read_csv(io.StringIO(render_table(compared, "guarantees", "csv")))
    assert len(frame) == len(told) == len(compared.guarantees)
    assert frame["value"].to_numpy() == pytest.approx([row["value"] for row in told])


@pytest.mark.parametrize("style", [*STYLES, "json"])
def test_a_table_without_promises_says_why(style):
    made = make_readouts({"odin": np.arange(20) < 3}, is_ood=np.arange(20) > 9)
    told = render_table(compare(made, replicates=50), "guarantees", style)
    assert told == "[]\n" if style == "json" else "no monitor has one" in told


def test_the_commands_tell_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    one_run().save("one")
    assert main(["judge", "one"]) == 0
    assert "Guarantees against reality\n" in capsys.readouterr().out
    assert main(["judge", "one", "--format", "json"]) == 0
    records = json.loads(capsys.readouterr().out)
    verdicts = [each["verdict"] for r in records if r["part"] == "id" for each in r.get("guarantees", ())]
    assert verdicts == ["kept", "kept", "broken", "unknown"]
    assert main(["compare", "one", "--table", "guarantees", "--format", "csv", "--replicates", "50"]) == 0
    told = capsys.readouterr()
    assert len(told.out.splitlines()) == 1 + 2 * 4
    assert not told.err, "of ranks nobody asked"


def test_promises_alone_are_those_of_the_whole_comparison(campaign, compared, monkeypatch):
    monkeypatch.setattr("farm.comparing.comparison.section", None)
    alone = compare(*campaign, promises_only=True)
    assert alone.promises == compared.promises
    assert not alone.sections
    assert render_table(alone, "guarantees", "json") == render_table(compared, "guarantees", "json")


def test_the_page_says_what_was_promised_and_what_became_of_it(campaign):
    few = campaign[:3]
    text = page(findings_of(few, [None] * len(few)), makers=(guarantees,))
    broken = text.count('class="badge bad"')
    assert broken > 0
    assert f"{broken} surely broken" in text
    assert text.count("<tr") == 2 * (1 + 12), "two tables, each with a heading and a row a promise"
    for _, name, _ in FAULTS[:3]:
        assert f">{name} 3" in text
    promised = (
        "max-softmax, react</strong>: at most 5 % false alarms (each track counts the same), with 99 % "
        "confidence, if tracks at work are exchangeable with the 132 of validation."
    )
    assert promised in text
    assert "is void; in per cent" in text
    of_fog = next(each for each in entries(realised_over(judged_of(few))) if each["where"] == "fog 3")
    assert f"<small>{interval(100 * of_fog['low'], 100 * of_fog['high'], 1)}</small>" in text
