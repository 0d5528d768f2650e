"""`farm plan` as a person meets it: plain sentences, JSON, and one line where nothing sensible was asked."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from farm.cli import main
from farm.judging.readouts import judged_records
from farm.measures import wilson
from farm.statistics.planning import instances_for_half_width
from farm.store.readouts import Readouts
from farm.testing import make_readouts
from tests.wording import same_text


def asked(capsys, *arguments) -> str:
    assert main(["plan", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def answer(capsys, *arguments) -> dict:
    (found,) = json.loads(asked(capsys, *arguments, "--format", "json"))
    return found


def readouts(*, is_ood=True, tracks=False, episodes=None) -> Readouts:
    """Return 100 ID and twice 40 OOD instances; `odin` errs on 10 ID, 8 fog and 4 snow, `broken` failed."""
    fault = np.repeat(["", "fog", "snow"], [100, 40, 40])
    ood = fault != ""
    alarm = ood.copy()
    alarm[[*range(10), *range(100, 108), *range(140, 144)]] ^= True
    return make_readouts(
        {"odin": alarm, "broken": "it raised"},
        is_ood=ood if is_ood else None,
        faultload=np.where(ood, fault, None),
        category=np.where(ood, "shift", None),
        severity=np.where(ood, 2.0, np.nan),
        track=[f"t{i // 3 if tracks else i}" for i in range(180)],
        episode=episodes,
    )


@pytest.fixture
def run(tmp_path) -> Path:
    return readouts().save(tmp_path / "run")


def test_a_rate(capsys):
    same_text(asked(capsys, "--half-width", 0.02, "--rate", 0.1))
    assert answer(capsys, "--half-width", 0.02, "--rate", 0.1)["instances"] == 868


def test_any_rate_at_another_level(capsys):
    n = instances_for_half_width(0.05, level=0.99)
    (said,) = answer(capsys, "--half-width", 0.05, "--level", 0.99)["sentences"]
    assert said == (
        f"To know any rate to within ±5 percentage points (99 % Wilson interval): {n} instances. "
        "These suffice whatever the rate: 50 % is the worst case."
    )


def test_sentences_are_as_wide_as_the_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    said = asked(capsys, "--half-width", 0.01, "--fpr", 0.05, "--ood-share", 0.2)
    assert max(map(len, said.splitlines())) <= 60
    same_text(said)


def test_both_kinds(capsys):
    said = asked(capsys, "--half-width", 0.02, "--fpr", 0.05, "--fnr", 0.2, "--ood-share", 0.2)
    same_text(said)
    found = answer(capsys, "--half-width", 0.02, "--fpr", 0.05)
    assert (found["id_instances"], found["ood_instances"], found["fnr"]) == (469, 2398, None)
    same_text(found["sentences"][1])


def test_ranks_and_delays(capsys):
    said = asked(capsys, "--rank-difference", 1.0, "--monitors", 8, "--delay-bound")
    same_text(said)
    assert answer(capsys, "--delay-bound", "--missed", 1)["onsets"] == 93
    fewest = answer(capsys, "--rank-difference", 2, "--monitors", 3)
    assert (fewest["sets"], fewest["fewest_sets"]) == (7, 7)
    assert not any("every second time" in told for told in fewest["sentences"])
    stricter = answer(capsys, "--rank-difference", 1, "--monitors", 8, "--alpha", 0.01)
    assert stricter["sets"] > 111


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing was asked; try 'farm plan --half-width 0.02 --rate 0.1'"),
        (["--rate", "0.1"], "need --half-width, such as 0.02"),
        (["--ood-share", "0.1"], "need --half-width, such as 0.02"),
        (["--half-width", "0.02", "--rate", "0.1", "--fpr", "0.1"], "expected one or the other"),
        (["--half-width", "2"], "half_width is 2.0; expected a number between 0 and 0.5"),
        (
            ["--half-width", "0.02", "--rate", "10"],
            "rate is 10.0; expected a number between 0 and 1 (0.1",
        ),
        (["--rank-difference", "1"], "--rank-difference and --monitors; expected both"),
        (["--monitors", "3"], "--rank-difference and --monitors; expected both"),
        (
            ["--rank-difference", "5", "--monitors", "3"],
            "difference is 5.0; expected a number above 0, at",
        ),
        (["--missed", "3"], "--missed has no effect without --delay-bound"),
        (
            ["nowhere"],
            "nowhere does not exist; expected a folder that `farm run` wrote, or a log (.csv or .parquet)",
        ),
        (["nowhere", "--rate", "0.1"], "RUN itself tells; leave them out"),
    ],
)
def test_a_mistake_is_one_line(capsys, arguments, message):
    assert main(["plan", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert printed.err.count("\n") == 1


def test_a_run_tells_how_sure_its_rates_are(capsys, run):
    rates = answer(capsys, run)["rates"]
    odin = [rate for rate in rates if rate["monitor"] == "odin"]
    assert [(r["measure"], r["faultload"], r["severity"], r["n"], r["value"]) for r in odin] == [
        ("fpr", None, None, 100, 0.1),
        ("fnr", "fog", 2.0, 40, 0.2),
        ("fnr", "snow", 2.0, 40, 0.1),
    ]
    low, high = wilson(8, 40)
    assert (odin[1]["low"], odin[1]["high"]) == (low.value, high.value)
    assert odin[1]["half_width"] == pytest.approx((high.value - low.value) / 2)
    assert all(rate["more"] is None for rate in rates)


def test_a_run_tells_how_many_more_instances_are_needed(capsys, run):
    found = answer(capsys, run, "--half-width", 0.05)
    more = {rate["faultload"]: rate["more"] for rate in found["rates"] if rate["monitor"] == "odin"}
    assert more == {
        None: instances_for_half_width(0.05, 0.1) - 100,
        "fog": instances_for_half_width(0.05, 0.2) - 40,
        "snow": instances_for_half_width(0.05, 0.1) - 40,
    }
    points = "to within ±5 percentage points (95 % Wilson interval)"
    assert found["sentences"] == [
        f"To know every FPR {points}: {more[None]} more ID instances, beside the 100 there are; odin needs "
        "most.",
        f"To know every FNR {points}: up to {more['fog']} more OOD instances a fault (most of fog 2), beside "
        "the 40 there are; odin needs most.",
    ]
    same_text(answer(capsys, run, "--half-width", 0.2)["sentences"])


def test_the_oracle_is_not_planned_for_and_a_failure_keeps_its_reason(capsys, run):
    rates = answer(capsys, run)["rates"]
    assert {rate["monitor"] for rate in rates} == {"odin", "broken"}
    assert {rate["reason"] for rate in rates if rate["monitor"] == "broken"} == {"failed: it raised"}
    assert all(rate["value"] is None for rate in rates if rate["monitor"] == "broken")


def test_a_runs_table(capsys, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    lines = asked(capsys, run, "--half-width", 0.05).splitlines()
    more = str(instances_for_half_width(0.05, 0.2) - 40)
    fog = next(line.split() for line in lines if "odin" in line and "fog" in line)
    assert fog == ["odin", "FNR", "fog", "2", "40", "20.00", "10.50\N{EN DASH}34.76", "12.13", more]
    assert all(line == line.rstrip() for line in lines)
    assert any("failed: it raised" in line for line in lines)
    without = asked(capsys, run)
    assert "more needed" not in without
    assert "None" not in without


def test_a_run_whose_ood_instances_are_unknown(capsys, tmp_path):
    folder = readouts(is_ood=False).save(tmp_path / "run")
    found = answer(capsys, folder, "--half-width", 0.05)
    odin, broken = found["rates"]
    assert (odin["measure"], odin["n"], broken["reason"]) == ("alarm_rate", 180, "failed: it raised")
    assert odin["low"] < odin["value"] < odin["high"]
    assert odin["more"] == math.ceil(180 * (((odin["high"] - odin["low"]) / 2 / 0.05) ** 2 - 1))
    same_text(found["sentences"][0])
    same_text(asked(capsys, folder))


def test_alarm_rates_of_tracks_need_more(capsys, tmp_path):
    track = [f"drive {i}" for i in np.repeat(np.arange(40), 15)]
    alarm = np.repeat(np.random.default_rng(0).random(40) < 0.1, 15)
    made = make_readouts({"odin": alarm}, is_ood=None, label=None, predicted=0, track=track)
    found = answer(capsys, made.save(tmp_path / "run"), "--half-width", 0.05)
    single = wilson(int(alarm.sum()), 600)
    (rate,) = found["rates"]
    assert rate["high"] - rate["low"] > 3 * (single[1].value - single[0].value)
    assert rate["more"] > 600
    same_text(found["sentences"])


@pytest.mark.parametrize("half_width", [0.02, 0.2])
def test_rates_of_tracks_have_the_intervals_that_they_are_judged_with(capsys, tmp_path, half_width):
    made = readouts(tracks=True)
    found = answer(capsys, made.save(tmp_path / "run"), "--half-width", half_width)
    whole = [r for r in judged_records(made) if r["monitor"] == "odin" and r["part"] == "all"]
    judged = {r["faultload"]: r["specific"] for r in whole}
    odin = [rate for rate in found["rates"] if rate["monitor"] == "odin"]
    for rate in odin:
        own, name = judged[rate["faultload"] or "fog"], rate["measure"]
        assert [rate["low"], rate["high"]] == pytest.approx([own[f"{name}_low"], own[f"{name}_high"]])
        wanted = rate["n"] * (rate["half_width"] / half_width) ** 2
        assert rate["more"] == max(math.ceil(wanted - rate["n"]), 0)
        assert rate["intervals_by"] == "tracks"
    same_text(found["sentences"])


def test_intervals_of_tracks_are_of_the_level(capsys, tmp_path):
    folder = readouts(tracks=True).save(tmp_path / "run")
    halves = [answer(capsys, folder, "--level", level)["rates"][0]["half_width"] for level in (0.8, 0.95)]
    assert halves[0] < 0.8 * halves[1]
    assert main(["plan", str(folder), "--half-width", "0"]) == 2
    assert "expected a number between 0 and 0.5" in capsys.readouterr().err


def test_onsets_are_counted(capsys, tmp_path):
    # Four episodes of ten fog instances each; the first begins with eight misses, the others with an alarm.
    episodes = np.repeat([-1, 0, 1, 2, 3, -1], [100, 10, 10, 10, 10, 40])
    found = answer(capsys, readouts(episodes=episodes).save(tmp_path / "run"))
    same_text(found["sentences"])
    missed = readouts(episodes=np.repeat([-1, 0, 1, -1], [100, 8, 32, 40])).save(tmp_path / "missed")
    same_text(answer(capsys, missed)["sentences"])


def test_needs_neither_torch_nor_scikit_learn(run):
    code = (
        f"import sys; from farm.cli import main; main(['plan', {str(run)!r}, '--half-width', '0.05']); "
        "print({'torch', 'sklearn', 'statsmodels'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


GUARANTEES = {
    "conformal": ["--accept", 0.95],
    "bounded": ["--accept", 0.95, "--confidence", 0.99],
    "risk": ["--risk", 0.02, "--confidence", 0.9],
    "learn-then-test": ["--accept", 0.9, "--risk", 0.05, "--hazard", 0.04, "--confidence", 0.9],
}


@pytest.mark.parametrize("method", GUARANTEES)
def test_how_much_validation_data_a_guarantee_needs(capsys, method):
    asks = ["--guarantee", method, *GUARANTEES[method]]
    same_text(asked(capsys, *asks, "--n", 40))
    needed = answer(capsys, *asks)["needed"]
    assert [answer(capsys, *asks, "--n", n)["enough"] for n in (needed - 1, needed)] == [False, True]


def test_one_is_one(capsys):
    same_text(asked(capsys, "--guarantee", "conformal", "--accept", 0.5, "--n", 1))
    same_text(asked(capsys, "--guarantee", "conformal", "--n", 1))


@pytest.mark.parametrize("method", GUARANTEES)
@pytest.mark.parametrize("n", [1, 30, 77])
def test_what_so_many_could_promise_at_best_they_can(capsys, method, n):
    asks = ["--guarantee", method, *GUARANTEES[method]]
    best = answer(capsys, *asks, "--n", n)["at_best"]
    if method == "learn-then-test":  # the risk follows from the others, whose accept was asked for
        assert best["risk"] >= best["residual_hazard"]
        best = {"false_alarms": best["false_alarms"], "residual_hazard": best["residual_hazard"]}
    if max(best.values()) == 1:
        assert (method, n) == ("risk", 1)
        return
    for by, enough in ((0, True), (-2e-4, False)):
        shares = {what: share + by for what, share in best.items()}
        told = ["--guarantee", method]
        if "false_alarms" in shares:
            told += ["--accept", 1 - shares["false_alarms"]]
        for what, option in (("risk", "--risk"), ("residual_hazard", "--hazard")):
            told += [option, shares[what]] if what in shares else []
        told += asks[asks.index("--confidence") :] if "--confidence" in asks else []
        assert answer(capsys, *told, "--n", n)["enough"] == enough


@pytest.mark.parametrize(
    "options",
    [
        ["--guarantee", "sure"],
        ["--guarantee", "bounded"],
        ["--guarantee", "bounded", "--confidence", 0.9, "--risk", 0.1],
        ["--guarantee", "risk", "--risk", 0.1, "--confidence", 0.9, "--accept", 0.9],
        ["--guarantee", "conformal", "--n", 0],
        ["--guarantee", "conformal", "--accept", "nan"],
        ["--guarantee", "bounded", "--confidence", "inf"],
        ["--guarantee", "risk", "--risk", "nan", "--confidence", 0.9],
        ["--guarantee", "learn-then-test", "--hazard", "inf", "--confidence", 0.9],
        ["--confidence", 0.9],
    ],
)
def test_a_guarantee_that_cannot_be_planned_is_refused(capsys, options):
    assert main(["plan", *map(str, options)]) != 0
    same_text(capsys.readouterr().err)
