from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import betabinom, binom, binomtest

from farm.api import CalibrationRule
from farm.api.calibration_data import CalibrationData
from farm.judging import JudgedRun
from farm.judging.by_parts import judge_by_parts
from farm.judging.guarantees import NOTHING_PROMISED, on_id, realised_promises, under_fault
from farm.judging.promises import MonitorPromise, PromisedOf, RealisedPromise
from farm.testing import make_readouts
from tests.judging.made_guarantees import guarantee_record, made_promise, noted_run


def seen(
    alarm: Any, *, track: Any = None, wrong: Any = False, unlabelled: Any = False, group: Any = None
) -> PromisedOf:
    n = len(alarm)
    return PromisedOf(
        alarm=np.asarray(alarm, dtype=np.bool_),
        wrong=np.broadcast_to(np.asarray(wrong, dtype=np.bool_), n),
        unlabelled=np.broadcast_to(np.asarray(unlabelled, dtype=np.bool_), n),
        track=np.arange(n) if track is None else np.asarray(track),
        has_tracks=track is not None,
        group=None if group is None else np.asarray(group, dtype=object),
    )


def first(n: int, of: int) -> Any:
    return np.arange(of) < n


def realised(made: Any) -> list[RealisedPromise]:
    return realised_promises(JudgedRun.of(made.instances, made.alarms, made.run))


def test_a_promise_of_false_alarms_is_broken_where_the_exact_low_end_is_above_it() -> None:
    def low(hits: int) -> float:
        return float(binomtest(hits, 200).proportion_ci(0.95, method="exact").low)

    most_kept = next(k for k in range(200) if low(k + 1) > 0.05)
    kept, broken = (on_id(made_promise(), seen(first(most_kept + more, 200))) for more in (0, 1))
    assert (kept.verdict, kept.reason, kept.n, kept.n_units) == ("kept", None, 200, 200)
    assert kept.low.value == pytest.approx(low(most_kept), abs=1e-12)
    assert broken.verdict == "broken"
    assert broken.reason == f"at least {100 * low(most_kept + 1):.3g} % is sure, where 5 % was promised"


def test_risk_is_of_those_without_an_alarm_and_hazard_of_all() -> None:
    alarm, wrong = first(100, 200), np.arange(200) % 4 == 0
    risk, hazard = (
        on_id(made_promise(what=what, at_most=0.2), seen(alarm, wrong=wrong))
        for what in ("risk", "residual_hazard")
    )
    assert (risk.value.value, risk.n) == (0.25, 100)
    assert (hazard.value.value, hazard.n) == (0.125, 200)


def test_an_event_of_tracks_is_any_alarm_in_one() -> None:
    track = np.repeat(np.arange(20), 10)
    found = on_id(made_promise(unit="track", event="track"), seen(np.arange(200) % 20 == 0, track=track))
    exact = binomtest(10, 20).proportion_ci(0.95, method="exact")
    assert (found.value.value, found.n, found.n_units, found.verdict) == (0.5, 200, 20, "broken")
    assert (found.low.value, found.high.value) == pytest.approx((exact.low, exact.high), abs=1e-12)


def test_one_random_instance_of_each_track_counts_short_tracks_as_much_as_long_ones() -> None:
    sizes = np.array([90, *[10] * 9])
    track = np.repeat(np.arange(10), sizes)
    by_track = on_id(made_promise(unit="track"), seen(track == 0, track=track))
    by_instance = on_id(made_promise(), seen(track == 0, track=track))
    assert (by_track.value.value, by_track.n_units) == (0.1, 10)
    assert by_instance.value.value == 0.5
    exact = binomtest(1, 10).proportion_ci(0.95, method="exact")
    assert by_track.low.value == pytest.approx(exact.low, abs=1e-12), "each track wholly so, or not at all"


def test_of_each_track_one_instance_may_be_accepted_and_long_ones_still_weigh_less() -> None:
    sizes = np.array([1, 2] * 5)
    track = np.repeat(np.arange(10), sizes)
    alarm = np.append(False, track[1:] == track[:-1])  # the second frame of each track that has two
    risk = made_promise(what="risk", unit="track")
    found = on_id(risk, seen(alarm, track=track, wrong=sizes[track] == 2))
    assert (found.n, found.n_units) == (10, 10)
    assert found.value.value == pytest.approx(5 * 0.5 / (5 * 1 + 5 * 0.5), abs=1e-12)


def test_frames_of_a_track_are_no_evidence_of_their_own() -> None:
    alarm = first(40, 400)
    alone = on_id(made_promise(), seen(alarm))
    shared = on_id(made_promise(), seen(alarm, track=np.repeat(np.arange(10), 40)))
    assert (alone.verdict, shared.verdict) == ("broken", "kept")
    assert (alone.value, shared.n_units) == (shared.value, 10)


def test_on_average_is_broken_beyond_what_a_calibration_set_explains() -> None:
    # Of n scores the k-th lowest is the threshold, and of m new ones those below it are beta-binomial.
    n, m, k = 99, 300, 95
    covered = betabinom(m, k, n + 1 - k)
    fewest = next(c for c in range(m + 1) if covered.cdf(c) >= 0.025)
    average = made_promise(confidence=None, n=n)
    assert (n + 1) * 0.95 == k
    kept, broken = (on_id(average, seen(first(m - fewest + more, m))) for more in (0, 1))
    assert (kept.verdict, broken.verdict) == ("kept", "broken")
    assert broken.reason == (
        f"{100 * (m - fewest + 1) / m:.3g} %, where 5 % was promised on average; of a validation set of 99 "
        f"chance explains up to {100 * (m - fewest) / m:.3g} %"
    )
    sure = on_id(made_promise(n=n), seen(first(m - fewest, m)))
    assert sure.verdict == "broken", "with a confidence the calibration set is no excuse"


def test_the_worst_group_is_told_and_paid_for_by_their_number() -> None:
    # 10 of 90 alone would be surely above 5 %; among six groups it is not.
    group = np.repeat(["dusk", "fog", "night", "day", "rain", "snow"], [60, 90, 90, 90, 90, 90])
    alarm = (group == "night") & (np.cumsum(group == "night") <= 10)
    alarm |= (group == "dusk") & (np.cumsum(group == "dusk") <= 5)
    by = made_promise(by="weather")
    found = on_id(by, seen(alarm, group=group))
    assert on_id(made_promise(), seen(first(10, 90))).verdict == "broken"
    assert (found.group, found.n_groups, found.n, found.verdict) == ("night", 6, 90, "kept")
    exact = binomtest(10, 90).proportion_ci(1 - 0.05 / 6, method="exact")
    assert found.low.value == pytest.approx(exact.low, abs=1e-12)
    more = (group == "night") & (np.cumsum(group == "night") <= 14)
    assert on_id(by, seen(more, group=group)).verdict == "broken"


def test_groups_are_classes_as_predicted_by_name() -> None:
    predicted = np.repeat([3, 7], 100)
    alarm = (predicted == 7) & (np.arange(200) % 4 == 0)
    run = noted_run({"odin": guarantee_record(by="class")}, classes=[f"sign {n}" for n in range(8)])
    made = make_readouts({"odin": alarm}, predicted=predicted, label=predicted, run=run)
    (found,) = realised(made)
    assert (found.group, found.n_groups, found.value.value, found.verdict) == ("sign 7", 2, 0.25, "broken")


def test_conditions_are_read_from_the_readouts() -> None:
    run = noted_run({"odin": guarantee_record(by="light")})
    light = {"condition light": np.array(["day", None] * 100, dtype=object)}
    made = make_readouts({"odin": np.arange(200) % 4 == 1}, is_ood=first(20, 200), run=run, **light)
    on_data, under_fog = realised(made)
    assert (on_data.group, on_data.n, on_data.value.value) == ("day", 90, 0.0), "others are of no group"
    assert (under_fog.group, under_fog.n, under_fog.verdict) == (None, 20, "void")
    told = realised(make_readouts({"odin": np.arange(200) % 4 == 1}, run=run))
    assert (told[0].verdict, told[0].reason) == (
        "unknown",
        "nothing tells the condition 'light' of these instances",
    )


def test_under_a_fault_a_promise_is_void_whatever_was_realised() -> None:
    for alarm in (first(0, 50), first(50, 50)):
        found = under_fault(made_promise(), seen(alarm), "fog 3")
        assert (found.verdict, found.reason, found.where) == ("void", NOTHING_PROMISED, "fog 3")
        assert found.value.value == alarm.mean()


@pytest.mark.parametrize(
    ("changed", "told", "reason"),
    [
        ({}, {"alarm": []}, "there are no such instances"),
        ({"what": "risk"}, {"unlabelled": first(3, 9)}, "the label is missing for 3 of 9 instances"),
        (
            {"unit": "track"},
            {},
            "it is a promise about tracks, and nothing tells which instances share one",
        ),
        ({"what": "risk"}, {"alarm": first(9, 9)}, "no instance is without an alarm"),
        (
            {"unit": "track"},
            {"track": np.repeat([0, 1, 2], 3)},
            "the instances are of 3 tracks; an interval needs at least 5",
        ),
    ],
)
def test_what_cannot_be_known_is_told_with_its_reason(
    changed: dict[str, Any], told: dict[str, Any], reason: str
) -> None:
    found = on_id(made_promise(**changed), seen(**{"alarm": first(1, 9), **told}))
    assert (found.verdict, found.reason) == ("unknown", reason)


def test_where_nobody_knows_what_is_ood_nothing_is_known_of_promises() -> None:
    made = make_readouts({"odin": first(1, 9)}, is_ood=None, run=noted_run({"odin": guarantee_record()}))
    (found,) = realised(made)
    told = "ID and OOD cannot be told apart: is_ood was not given"
    assert (found.verdict, found.reason, found.value.reason) == ("unknown", told, told)


def test_records_have_promises_where_a_monitor_made_any() -> None:
    run = noted_run({"odin": guarantee_record(("false_alarms", 0.05), ("risk", 0.1)), "oob": None})
    is_ood = np.arange(40) >= 20
    made = make_readouts({"odin": is_ood, "oob": is_ood}, is_ood=is_ood, run=run)
    records = JudgedRun.of(made.instances, made.alarms, made.run).records
    assert {record["monitor"] for record in records if "guarantees" in record} == {"odin"}
    places = {
        record["part"]: [(each["what"], each["where"]) for each in record["guarantees"]]
        for record in records
        if record["monitor"] == "odin"
    }
    on_data, under_fog = ([(what, where) for what in ("false_alarms", "risk")] for where in ("ID", "fog 3"))
    assert places["id"] == on_data
    assert places["ood"] == under_fog
    assert sorted(places["all"]) == sorted(on_data + under_fog)
    told = next(each for record in records for each in record.get("guarantees", ()))
    assert told == {
        "what": "false_alarms",
        "at_most": 0.05,
        "on_average": False,
        "confidence": 0.99,
        "unit": "instance",
        "event": "instance",
        "by": None,
        "guarantee": "at most 5 % false alarms and at most 10 % of accepted decisions wrong, with 99 % "
        "confidence, if instances at work are exchangeable with the 132 of validation",
        "assumption": "validation and working data are exchangeable instances",
        "where": "ID",
        "group": None,
        "n_groups": None,
        "value": 0.0,
        "low": 0.0,
        "high": pytest.approx(binomtest(0, 20).proportion_ci(0.95, method="exact").high),
        "n": 20,
        "n_units": 20,
        "verdict": "kept",
        "reason": None,
    }


def test_faults_of_one_name_are_told_apart_by_their_category() -> None:
    run = noted_run({"odin": guarantee_record()})
    category = np.array([None] * 10 + ["novelty", "shift"] * 5, dtype=object)
    made = make_readouts({"odin": first(1, 20)}, is_ood=~first(10, 20), category=category, run=run)
    records = JudgedRun.of(made.instances, made.alarms, made.run).records
    places = [r["guarantees"][0]["where"] for r in records if r["part"] == "ood" and r["monitor"] == "odin"]
    assert places == ["fog 3 (novelty)", "fog 3 (shift)"]


def test_judged_by_parts_promises_are_not_known() -> None:
    made = make_readouts({"odin": first(1, 20)}, run=noted_run({"odin": guarantee_record()}))
    records = judge_by_parts([(made.instances, made.alarms)], made.run)
    told = next(record["guarantees"] for record in records if record.get("guarantees"))
    assert [(each["verdict"], each["value"]) for each in told] == [("unknown", None)]
    assert told[0]["reason"] == "not told where readouts are judged by parts"


def test_a_monitor_that_failed_promises_nothing() -> None:
    run = noted_run({"odin": guarantee_record()})
    run["monitors"][0]["failure"] = "singular"
    made = make_readouts({"odin": "singular", "oob": first(1, 20)}, run=run)
    assert realised(made) == []


def broken(promise: MonitorPromise, draw: Callable[[np.random.Generator], PromisedOf], times: int) -> float:
    """Return how often a promise is called broken on what is drawn."""
    random = np.random.default_rng(3)
    return float(np.mean([on_id(promise, draw(random)).verdict == "broken" for _ in range(times)]))


def most(chance: float, times: int) -> float:
    """Return how often what has a chance may occur, but for one time in a thousand."""
    return chance + 3.1 * float(np.sqrt(chance * (1 - chance) / times))


def bounded_rate(random: np.random.Generator, *, n: int = 132, alpha: float = 0.05) -> float:
    """Return the rate of false alarms of a threshold that keeps to alpha with a confidence of 90 %."""
    kept = int(next(k for k in range(n) if binom.cdf(k, n, alpha) > 0.1) - 1)  # alarms on validation data
    return float(np.sort(random.random(n))[kept])


def test_an_exact_promise_with_confidence_is_seldom_called_broken() -> None:
    times = 1500
    rate = broken(made_promise(), lambda r: seen(r.random(400) < bounded_rate(r)), times)
    assert rate <= most(0.1 + 0.025, times)
    assert rate > 0.01, "a share of delta is really above what was promised"
    late = broken(made_promise(), lambda r: seen(r.random(400) < 4 * bounded_rate(r)), 200)
    assert late > 0.5, "and what is broken is noticed"


def test_a_promise_that_is_just_kept_is_called_broken_as_often_as_the_interval_errs() -> None:
    times = 1500
    assert broken(made_promise(), lambda r: seen(r.random(400) < 0.05), times) <= most(0.025, times)
    groups = np.repeat(list("abcd"), 100)
    by = made_promise(by="weather")
    rate = broken(by, lambda r: seen(r.random(400) < 0.05, group=groups), times)
    assert rate <= most(0.025, times)


@pytest.mark.parametrize("what", ["false_alarms", "risk"])
@pytest.mark.parametrize("alike", [0.05, 2.0])
def test_so_it_is_of_tracks_however_alike_their_frames(what: str, alike: float) -> None:
    def draw(random: np.random.Generator) -> PromisedOf:
        track = np.repeat(np.arange(30), random.integers(1, 31, 30))
        bad = random.random(len(track)) < random.beta(0.05 * alike, 0.95 * alike, 30)[track]
        if what == "false_alarms":
            return seen(bad, track=track)
        alarm = random.random(len(track)) < random.beta(0.5, 2, 30)[track]
        return seen(alarm, wrong=bad, track=track)

    times = 400
    assert broken(made_promise(unit="track", what=what), draw, times) <= most(0.025, times)


def test_a_conformal_promise_is_seldom_called_broken_on_exchangeable_data() -> None:
    def draw(random: np.random.Generator, n: int = 60, worse: float = 1.0) -> PromisedOf:
        threshold = np.sort(random.random(n))[int(np.ceil((n + 1) * 0.95)) - 1]
        return seen(random.random(300) > 1 - worse * (1 - threshold))

    times = 1500
    average = made_promise(confidence=None, n=60)
    assert broken(average, draw, times) <= most(0.025, times)
    sure = made_promise(n=60)
    assert broken(sure, draw, times) > 0.1, "the same threshold with a confidence would not be honest"
    assert broken(average, lambda r: draw(r, worse=6.0), 200) > 0.5
    by = made_promise(confidence=None, by="light", n=240)
    groups = np.repeat(list("abcd"), 75)

    def each(random: np.random.Generator) -> PromisedOf:
        parts = [draw(random).take(np.arange(75)) for _ in range(4)]
        return seen(np.concatenate([part.alarm for part in parts]), group=groups)

    assert broken(by, each, 600) <= most(0.025, 600)


RULES: tuple[tuple[dict[str, Any], int], ...] = (
    ({"method": "bounded", "accept": 0.9, "confidence": 0.9, "event": "track"}, 60),
    ({"method": "bounded", "accept": 0.9, "confidence": 0.9}, 60),
    ({"method": "conformal", "accept": 0.9, "by": "light"}, 120),
)


@pytest.mark.parametrize(("rule", "n_tracks"), RULES)
def test_what_a_rule_promised_is_seldom_called_broken_of_its_own_population(
    rule: dict[str, Any], n_tracks: int
) -> None:
    """Tracks of 1 to 8 frames, alike in part, with scores that tie."""
    random = np.random.default_rng(6)

    def population(n: int) -> tuple[Any, Any, Any]:
        track = np.repeat(np.arange(n), random.integers(1, 9, n))
        score = 0.8 * random.normal(size=n)[track] + 0.6 * random.normal(size=len(track))
        return score.round(2), track, random.integers(0, 3, n).astype(str)[track]

    def verdict(shift: float) -> str:
        score, track, light = population(n_tracks)
        ids = np.char.mod(f"{random.integers(2**40)}-%d", np.arange(len(score)))
        zeros = np.zeros(len(score), dtype=np.int64)
        data = CalibrationData(
            score, zeros, 1, ids=ids, labels=zeros, track=track.astype(str), conditions={"light": light}
        )
        made = CalibrationRule(**rule).calibrate(data)
        assert made.guarantee is not None
        score, track, light = population(80)
        promise = MonitorPromise("odin", made.guarantee.promises[0], made.guarantee)
        return on_id(promise, seen(score + shift > made.threshold, track=track, group=light)).verdict

    times = 80
    called = np.mean([verdict(0.0) == "broken" for _ in range(times)])
    assert called <= 0.1 + 0.05
    assert np.mean([verdict(1.5) == "broken" for _ in range(10)]) > 0.7, "and what has moved is noticed"


def test_a_run_tells_of_each_instance_once() -> None:
    run = noted_run({"odin": guarantee_record()})
    severity = np.where(np.arange(60) < 20, np.nan, np.where(np.arange(60) < 40, 1.0, 2.0))
    made = make_readouts({"odin": first(5, 60)}, is_ood=~first(20, 60), severity=severity, run=run)
    assert [(each.where, each.n) for each in realised(made)] == [("ID", 20), ("fog 1", 20), ("fog 2", 20)]
