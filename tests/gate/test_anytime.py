"""Criteria along a stream: bounds at all moments together, track by track, and what peeking would say."""

import json

import numpy as np
import pytest
from scipy.stats import beta, binom

from farm.comparing.measures import MEASURES, measured
from farm.gate.anytime import COUNTS_NONE, MOVED, decision_along
from farm.gate.criteria_file import load_criteria, parse_criteria
from farm.gate.criterion import parse_criterion
from farm.gate.demand import DecisiveMoment, Demand
from farm.gate.shares import along_stream, is_share_of_each
from farm.gate.verdict import judge_criteria
from farm.judging import JudgedRun
from farm.measures import undefined
from farm.report.check_ci import check_junit
from farm.report.check_table import check_json, check_table
from farm.report.checked import check_runs
from farm.statistics.anytime import BettingSequence, RateEvidence, RatioSequence, Tracks
from farm.testing import make_readouts
from tests.gate.test_verdict import made
from tests.wording import same_text


def judged(runs, text, **options):
    file = parse_criteria({"criteria": [text], **options}, "gate.yaml")
    return judge_criteria(runs if isinstance(runs, list) else [runs], file)


def of_one(runs, text, **options):
    (verdict,) = judged(runs, text, **options)
    return verdict


def all_id(alarm, **options):
    return made(np.asarray(alarm), np.zeros(len(alarm), dtype=bool), **options)


def test_the_bounds_are_those_of_the_instances_in_order():
    alarm = np.random.default_rng(0).random(2000) < 0.02
    verdict = of_one(all_id(alarm), "alarm_rate <= 0.05 anytime at 99 %")
    sequence = BettingSequence(0.99)
    sequence.add(alarm.astype(float))
    own = verdict.evidence
    assert (own.value.value, own.low.value, own.high.value) == (alarm.mean(), sequence.low, sequence.high)
    assert (verdict.verdict, own.n, own.n_groups) == ("pass", 2000, 2000)


def test_the_first_moment_is_told_and_the_first_of_peeking():
    """After two alarms at once peeking says fail, and then there are few."""
    alarm = (np.arange(2000) < 2) | (np.arange(2000) % 50 == 49)
    verdict = of_one(all_id(alarm), "alarm_rate <= 0.1 anytime")
    when = verdict.evidence.anytime
    assert when.peeked == DecisiveMoment(False, 2)  # 0.1 * 0.1 is below 5 %
    capital = np.cumsum(RateEvidence(0.1, at_least=True).add(alarm.astype(float)))
    assert when.decided == DecisiveMoment(True, int(np.argmax(capital >= np.log(40))) + 1)
    same_text(verdict.reason)


def test_position_is_the_order_not_the_row():
    alarm = np.random.default_rng(1).random(600) < 0.2
    run, back = all_id(alarm), all_id(alarm)
    back.instances["position"] = back.instances["position"].to_numpy()[::-1]
    back.alarms["position"] = back.alarms["position"].to_numpy()[::-1]
    first = of_one(run, "alarm_rate <= 0.3 anytime").evidence.anytime
    turned = of_one(all_id(alarm[::-1]), "alarm_rate <= 0.3 anytime").evidence.anytime
    assert of_one(back, "alarm_rate <= 0.3 anytime").evidence.anytime == turned != first


def test_repetitions_follow_each_other():
    alarms = [np.random.default_rng(seed).random(400) < 0.02 for seed in (0, 1)]
    runs = [make_readouts({"m": alarm}, run={"folder": f"runs/{i}"}) for i, alarm in enumerate(alarms)]
    verdict = of_one(runs, "alarm_rate <= 0.1 anytime")
    sequence = BettingSequence(0.95)
    sequence.add(np.concatenate(alarms).astype(float))
    assert (verdict.evidence.n_groups, verdict.evidence.high.value) == (800, sequence.high)


def alarms_in_tracks(random, lengths):
    """Alarms that come in tracks, and the track of each instance: others than in the order of names."""
    alarm = random.random(lengths.sum()) < np.repeat(random.beta(0.3, 5, len(lengths)), lengths)
    return alarm, random.permutation(len(lengths)).repeat(lengths)


def test_tracks_are_taken_together_by_what_they_sum_up_to():
    random = np.random.default_rng(2)
    alarm, track = alarms_in_tracks(random, random.integers(1, 20, 80))
    verdict = of_one(all_id(alarm, track=track), "alarm_rate <= 0.4 anytime")
    tracks, sequence = Tracks(track), RatioSequence(19, 0.95)
    sequence.add(tracks.sums(alarm), tracks.sizes)
    own = verdict.evidence
    assert (own.n, own.n_groups, own.value.value) == (len(alarm), 80, pytest.approx(alarm.mean()))
    assert (own.low.value, own.high.value) == (sequence.low, sequence.high)
    assert own.anytime.unit == "track"
    assert " of 80" in verdict.reason
    same_text(f"{verdict.reason}\n{own.method}")


def test_where_tracks_alternate_they_are_taken_by_lot_and_no_moment_is_told():
    random = np.random.default_rng(2)
    alarm, track = alarms_in_tracks(random, random.integers(1, 20, 80))
    mixed = random.permutation(len(alarm))
    verdict = of_one(all_id(alarm[mixed], track=track[mixed]), "alarm_rate <= 0.4 anytime")
    own = verdict.evidence
    assert (verdict.verdict, own.n_groups, own.value.value) == ("pass", 80, pytest.approx(alarm.mean()))
    assert own.anytime.peeked is None
    # What the lot says depends on the tracks' names alone, and not on how they alternate.
    again = random.permutation(len(alarm))
    assert of_one(all_id(alarm[again], track=track[again]), "alarm_rate <= 0.4 anytime").evidence == own
    same_text(f"{verdict.reason}\n{own.method}")


def test_short_tracks_without_alarms_do_not_hide_long_ones_with_many():
    """More than a fifth of all instances alarm, and of tracks the mean is 0.09."""
    random = np.random.default_rng(0)
    lengths = random.permutation(np.repeat([1, 30], [300, 200]))
    rate = np.where(lengths == 30, 0.21, 0.005)
    alarm = random.random(lengths.sum()) < np.repeat(rate, lengths)
    run = all_id(alarm, track=np.arange(500).repeat(lengths))
    verdict = of_one(run, "alarm_rate <= 12 % anytime")
    assert (verdict.verdict, of_one(run, "alarm_rate <= 12 %").verdict) == ("fail", "fail")
    same_text(verdict.reason)


@pytest.mark.parametrize("related", [True, False])
def test_decisions_on_tracks_of_unequal_length_are_seldom_wrong(related):
    """The share is the bound itself, so that each decision is wrong."""
    random, streams, n = np.random.default_rng(0), 300, 150
    wrong = {False: 0, True: 0}
    share = (0.3 * 30 * 0.2 + 0.7 * 0.02) / (0.3 * 30 + 0.7) if related else 0.1
    asked = Demand.of(parse_criterion(f"alarm_rate <= {share} anytime"))
    for _ in range(streams):
        sizes = np.where(random.random(n) < 0.3, 30, 1)
        rate = np.where(sizes == 30, 0.2, 0.02) if related else random.beta(0.5, 4.5, n)
        _, decided = decision_along(random.binomial(sizes, rate).astype(float), sizes, asked, 0.9)
        if decided is not None:
            wrong[decided.passed] += 1
    assert max(wrong.values()) <= binom.ppf(0.999, streams, 0.1)


def test_a_share_is_of_those_that_count():
    random = np.random.default_rng(3)
    wrong, alarm, is_ood = random.random(900) < 0.1, random.random(900) < 0.3, np.arange(900) % 3 == 0
    run = made(alarm, is_ood, wrong=wrong)
    risk = of_one(run, "risk <= 0.3 anytime on id").evidence
    counted = ~is_ood & ~alarm
    assert (risk.n, risk.value.value) == (counted.sum(), wrong[counted].mean())
    assert of_one(run, "specific.fnr <= 0.9 anytime").evidence.n == is_ood.sum()
    assert of_one(run, "classifier_accuracy >= 0.5 anytime").evidence.value.value == pytest.approx(
        (~wrong).mean()
    )


def test_without_an_instance_that_counts_nothing_is_met():
    verdict = of_one(all_id(np.ones(50, dtype=bool)), "risk <= 0.1 anytime")
    assert (verdict.verdict, verdict.evidence.value) == ("fail", undefined(COUNTS_NONE))


def test_a_rate_that_rose_along_the_stream_fails_and_one_that_fell_is_not_met():
    calm, wild = np.zeros(1500, dtype=bool), np.arange(1500) % 2 == 0
    rose = of_one(all_id(np.concatenate([calm, wild])), "alarm_rate <= 0.05 anytime")
    assert rose.verdict == "fail"
    assert 1500 < rose.evidence.anytime.decided.at < 1530
    assert rose.evidence.low.value >= 0.05
    assert rose.evidence.high == undefined(MOVED)
    fell = of_one(all_id(np.concatenate([wild, calm])), "alarm_rate <= 0.6 anytime")
    assert (fell.verdict, fell.evidence.anytime.decided) == ("undecided", None)
    same_text("\n".join(each.reason for each in (rose, fell)))


def test_a_failure_that_its_value_contradicts_is_told_to_have_been_for_a_while():
    alarm = np.arange(4000) % np.where(np.arange(4000) < 600, 4, 100) == 0
    verdict = of_one(all_id(alarm), "alarm_rate <= 0.1 anytime")
    assert verdict.verdict == "fail"
    assert verdict.evidence.value.value < 0.1 < verdict.evidence.low.value
    turned = of_one(all_id(alarm), "coverage >= 0.9 anytime")
    assert turned.evidence.value.value > 0.9 > turned.evidence.high.value
    same_text(f"{verdict.reason}\n{turned.reason}")


@pytest.mark.parametrize(
    ("text", "passes"), [("alarm_rate < 1 anytime", True), ("coverage > 0 anytime", True)]
)
def test_a_bound_at_the_end_of_what_there_is(text, passes):
    assert (of_one(all_id(np.arange(300) % 2 == 0), text).verdict == "pass") == passes
    assert of_one(all_id(np.ones(300, dtype=bool)), text).verdict == "undecided"


def test_decisions_along_the_stream_are_wrong_as_seldom_as_the_level_says_and_peeking_is_not():
    """Streams whose rate is just at the bound, stopped at the worst of moments."""
    random, streams, n = np.random.default_rng(0), 200, 500
    alarms = {f"m{i}": random.random(n) < 0.1 for i in range(streams)}
    run = made(alarms, np.zeros(n, dtype=bool))
    verdicts = judged(run, "alarm_rate <= 0.1 anytime at 90 %")
    when = [each.evidence.anytime for each in verdicts]
    most = binom.ppf(0.999, streams, 0.1)
    for passed in (False, True):
        assert sum(each.decided is not None and each.decided.passed == passed for each in when) <= most
    peeked = sum(each.peeked is not None and not each.peeked.passed for each in when)
    assert peeked > most
    # At the end alone the same test is wrong as seldom as it says.
    ended = [beta.ppf(0.1, alarm.sum(), n - alarm.sum() + 1) > 0.1 for alarm in alarms.values()]
    assert sum(ended) <= most


def test_what_is_a_share_of_each_is_its_own_mean():
    random = np.random.default_rng(5)
    wrong, alarm, is_ood = random.random(300) < 0.3, random.random(300) < 0.4, random.random(300) < 0.5
    run = made(alarm, is_ood, wrong=wrong)
    judged_run = JudgedRun.of(run.instances, run.alarms, run.run)
    record = next(r for r in judged_run.records if r["monitor"] == "m" and r["part"] == "all")
    shares = [name for name in MEASURES if is_share_of_each(name)]
    assert {"risk", "coverage", "alarm_rate", "specific.fpr", "overall.precision"} <= set(shares)
    for name in shares:
        own = along_stream(judged_run.table, name, "m")
        assert np.nanmean(own) == pytest.approx(measured(name).of(record).value)


def test_what_passed_tells_when_in_all_that_is_written(tmp_path):
    path = tmp_path / "gate.yaml"
    path.write_text("criteria: [alarm_rate <= 0.05 anytime, coverage >= 0.5]\n")
    found = check_runs([all_id(np.arange(600) % 50 == 0)], load_criteria(path), places=["runs/a"])
    along, plain = json.loads(check_json(found))["verdicts"]
    assert along["anytime"]["decided"]["passed"] is True
    assert along["anytime"]["n"] == 600
    same_text(check_table(found))
    assert "passed at instance" in check_junit(found)
    assert "anytime" not in plain
