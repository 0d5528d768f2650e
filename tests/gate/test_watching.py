"""What is said of a log at all moments together, and how often it is wrong."""

import json

import numpy as np
import pytest
from scipy.stats import binom

from farm.gate.alarm_rates import alarm_records
from farm.gate.drift import Reference
from farm.gate.watching import WatchedLog
from farm.judging import JudgedRun
from farm.report.tables import render
from farm.statistics.anytime import RatioSequence, ScoreEvidence, repeated_fixed_n
from farm.store.readouts import Readouts
from farm.testing import make_readouts
from tests.gate.test_drift import fleet
from tests.wording import same_text


def log_of(scores, **options):
    """A log without labels; above 1.5 there is an alarm."""
    said = {name: {"score": own, "alarm": own > 1.5} for name, own in scores.items()}
    return make_readouts(said, **{"is_ood": None, "label": None, "predicted": 0, **options})


def watched(now, before):
    table = JudgedRun.of(now.instances, now.alarms, now.run).table
    return WatchedLog(table, Reference.of(before, "may"), list(table.said))


def resembling(random, n):
    """Scores of two monitors that look at the same images."""
    shared = random.normal(size=n)
    return {name: 0.8 * shared + 0.6 * random.normal(size=n) for name in ("odin", "oob")}


def test_evidence_is_that_of_the_scores_in_order():
    random = np.random.default_rng(0)
    before, now = resembling(random, 80), resembling(random, 120)
    order = random.permutation(120)
    log = log_of({name: own[order] for name, own in now.items()})
    for table in (log.instances, log.alarms):
        table["position"] = order[table["position"].to_numpy()]
    found = watched(log, log_of(before))
    for seed, name in enumerate(now):
        expected = np.cumsum(ScoreEvidence(before[name], seed).add(now[name]))
        growth = found.growth(name)
        assert (growth.log_e, growth.strongest) == pytest.approx((expected[-1], max(expected.max(), 0)))
        rate = (before[name] > 1.5).mean()
        assert found.peeking(name) == repeated_fixed_n(now[name] > 1.5, rate)


def test_where_tracks_are_shared_each_is_one_value():
    before, now = fleet(seed=1), fleet(1.0, drives=40)
    found = watched(now, before)
    scores = [
        log.alarms.loc[log.alarms["monitor"] == "odin", "score"].to_numpy().reshape(-1, 10).mean(axis=1)
        for log in (before, now)
    ]
    assert (found.unit, found.record("odin")["n"]) == ("track", 40)
    expected = np.cumsum(ScoreEvidence(scores[0], 0).add(scores[1]))
    # Tracks of the reference are drawn from in another order, so that only about the same is found.
    assert found.growth("odin").log_e == pytest.approx(expected[-1], abs=3)
    assert found.growth("odin").first[20] < 40
    alarm = now.alarms.loc[now.alarms["monitor"] == "odin", "alarm"].to_numpy()
    rate = RatioSequence(10)
    rate.add(alarm.reshape(-1, 10).sum(axis=1), np.full(40, 10))
    told = found.alarm_rate("odin")
    assert (told.value.value, told.low.value) == (pytest.approx(alarm.mean()), rate.low)


def drives(random, *, mixed):
    """Drives of 1 and 20 frames, of which long ones score far lower; one after the other, or alternating."""
    lengths = np.where(random.random(60) < 0.5, 20, 1)
    track = np.arange(60).repeat(lengths)
    scores = (random.normal(size=60) - 3 * (lengths == 20))[track] + 0.3 * random.normal(size=len(track))
    if mixed:
        # Each begins somewhere in the first third and goes on beside others.
        begin = random.random(60) * 10
        order = np.argsort(begin[track] + np.concatenate([np.arange(n) for n in lengths]), kind="stable")
        track, scores = track[order], scores[order]
    return log_of({"odin": scores}, track=[f"drive {i}" for i in track])


@pytest.mark.parametrize("mixed", [True, False])
def test_drives_of_unequal_length_seldom_show_1_in_20_where_nothing_moved(mixed):
    random, times, shown = np.random.default_rng(11), 120, 0
    for _ in range(times):
        found = watched(drives(random, mixed=mixed), drives(random, mixed=mixed))
        shown += found.growth("odin").first[20] is not None
        assert found.record("odin")["by_lot"] == mixed
    assert shown <= binom.ppf(0.999, times, 0.05)


def test_of_drives_that_alternate_no_moment_is_told():
    now = drives(np.random.default_rng(0), mixed=True)
    moved = Readouts(now.instances, now.alarms.assign(score=now.alarms["score"] + 6, alarm=True), now.run)
    found = watched(moved, drives(np.random.default_rng(1), mixed=False))
    assert found.growth("odin").first[20] is not None
    assert found.peeking("odin") is None
    same_text(found.sentence("odin"))


def first_passings(times, draw, **options):
    """Count logs like their references that ever show 1 in 20: of one monitor, and together."""
    said = {"odin": 0, "together": 0}
    random = np.random.default_rng(7)
    for _ in range(times):
        found = watched(log_of(draw(random), **options), log_of(draw(random), **options))
        said["odin"] += found.growth("odin").first[20] is not None
        said["together"] += found.together.first[20] is not None
    return said


def test_of_logs_like_their_reference_at_most_one_in_twenty_ever_shows_1_in_20():
    times = 300
    said = first_passings(times, lambda random: resembling(random, 100))
    assert max(said.values()) <= binom.ppf(0.999, times, 0.05)


def test_frames_taken_for_single_instances_break_it_and_tracks_mend_it():
    """Of drives of 20 frames that are next to alike."""
    times = 60

    def drives(random):
        return {"odin": np.repeat(random.normal(size=12), 20) + 0.1 * random.normal(size=240)}

    most = binom.ppf(0.999, times, 0.05)
    assert first_passings(times, drives)["odin"] > most
    track = [f"drive {i}" for i in np.repeat(np.arange(12), 20)]
    assert first_passings(times, drives, track=track)["odin"] <= most


def test_what_is_not_known_has_a_reason():
    random = np.random.default_rng(0)
    now, before = log_of(resembling(random, 50)), log_of(resembling(random, 50))
    few = log_of(resembling(random, 3))
    gap = log_of({"odin": np.where(np.arange(50) == 3, np.nan, 1.0), "oob": np.ones(50)})
    other = log_of({"oob": random.normal(size=50)})
    reasons = [
        watched(log, reference).growth("odin").reason
        for log, reference in ((now, few), (gap, before), (now, gap), (now, other))
    ]
    found = watched(now, other)
    assert found.together.log_e == pytest.approx(found.growth("oob").log_e)
    assert found.record("odin")["together"]["sentence"] is None
    assert watched(now, other).peeking("odin") is None
    same_text("\n".join([*reasons, found.sentence("odin")]))


def test_an_alarm_rate_that_moved_is_told_to_have():
    now = log_of({"odin": np.where(np.arange(2000) < 1000, 0.0, 2.0)})
    found = watched(now, log_of({"odin": np.arange(100) / 50}))
    assert not found.alarm_rate("odin").low.defined
    same_text(found.sentence("odin"))


def test_records_and_tables_tell_of_it():
    now, reference = fleet(1.0), Reference.of(fleet(seed=1), "may.csv")
    records = alarm_records(now, reference=reference)
    wholes = [record for record in records if record["part"] == "all"]
    assert [record["monitor"] for record in wholes if record.get("anytime")] == ["odin", "oob"]
    assert all("anytime" not in record for record in records if record["part"] != "all")
    assert json.loads(render(records, "json")) == records
    assert wholes[0]["anytime"]["passed_20"] <= wholes[0]["anytime"]["passed_100"]
    assert "anytime" not in alarm_records(now)[0]
    assert render(records, "csv").splitlines()[0].count("anytime.together.passed_20") == 1
    same_text(render(records, width=100))
