"""What is said of a stream that still runs: as of the whole stream afterwards, in constant memory."""

import numpy as np
import pytest
from scipy.stats import binom

from farm.judging.live import Watch
from farm.judging.live_bounds import REFERENCE, TOGETHER, LiveEvidence, LiveShare, Peeking
from farm.measures.episodes import Episodes
from farm.report.live import last_words, live_table
from farm.report.terminal import printed
from farm.statistics.anytime import BettingSequence, ScoreEvidence, Together, Tracks, repeated_fixed_n
from tests.judging.test_live import watched
from tests.wording import same_text

__all__ = ["watched"]


def followed(scores, *, quiet=None, ends=None):
    """Follow scores of several monitors; a visit ends after each instance unless it is said where."""
    evidence = LiveEvidence(list(scores))
    n = len(next(iter(scores.values())))
    for place in range(n):
        now = {name: own[place] for name, own in scores.items() if not np.isnan(own[place])}
        alarms = {name: score > 1.6 for name, score in now.items()}
        evidence.follow(now, alarms, quiet=quiet is None or bool(quiet[place]))
        if ends is None or ends[place]:
            evidence.end_visit()
    evidence.take()
    return evidence


def test_a_share_is_that_of_visits_in_order():
    random = np.random.default_rng(0)
    values, visit = random.random(700) < 0.1, np.sort(random.integers(0, 300, 700))
    live = LiveShare()
    for place, value in enumerate(values):
        if place and visit[place] != visit[place - 1]:
            live.end_visit()
        live.follow(value)
        assert len(live._ended) < TOGETHER
    live.end_visit()
    whole = BettingSequence()
    whole.add(Tracks(visit).means(values.astype(float)))
    found = live.share
    assert (found.value.value, found.low.value) == pytest.approx((whole.mean, whole.low))
    assert found.high.value == pytest.approx(whole.high)


def test_before_a_visit_has_ended_nothing_is_known():
    live = LiveShare()
    live.follow(True)
    assert not live.share.value.defined


def test_evidence_is_that_of_scores_after_the_first_quiet_ones():
    random = np.random.default_rng(1)
    shared = random.normal(size=500)
    scores = {name: shared + random.normal(size=500) + (np.arange(500) > 350) for name in ("a", "b")}
    quiet = np.arange(500) % 10 != 3
    found = followed(scores, quiet=quiet)
    first = np.flatnonzero(quiet)[:REFERENCE]
    later = slice(first[-1] + 1, None)
    bets = {
        name: ScoreEvidence(own[first], seed).add(own[later])
        for seed, (name, own) in enumerate(scores.items())
    }
    together = np.cumsum(Together(["a", "b"]).add(bets))
    assert found.together.log_e == pytest.approx(together[-1])
    assert found.growth["b"].log_e == pytest.approx(bets["b"].sum())
    assert found.together.first[20] == first[-1] + 2 + int(np.argmax(together >= np.log(20)))


def test_peeking_is_a_fixed_test_after_each_instance():
    random = np.random.default_rng(2)
    before, after = random.random(100) < 0.1, random.random(900) < 0.1
    test = Peeking()
    for alarm in before:
        test.calibrate(alarm)
    for place, alarm in enumerate(after, start=1):
        test.follow(alarm, place)
    assert test.at == repeated_fixed_n(after.astype(float), before.mean())


def test_who_fails_on_the_way_bets_nothing_from_then_on():
    random = np.random.default_rng(3)
    scores = {name: random.normal(size=600) for name in ("sound", "broken", "late")}
    scores["broken"][300:] = np.nan
    scores["late"][50:] = np.nan
    found = followed(scores)
    before = followed({name: own[:300] for name, own in scores.items()})
    assert found.growth["broken"].log_e == before.growth["broken"].log_e
    assert found.growth["late"].log_e == 0.0
    assert found.growth["sound"].log_e != before.growth["sound"].log_e


def test_a_visit_is_one_value_and_not_quiet_where_a_part_is_not():
    score = np.repeat(np.random.default_rng(4).normal(size=260), 3)
    quiet = np.arange(780) >= 4  # the first visit is not, and the second's first instance
    found = followed({"a": score}, quiet=quiet, ends=np.arange(780) % 3 == 2)
    one = score[::3]
    expected = ScoreEvidence(one[2:202], 0).add(one[202:])
    assert found.growth["a"].log_e == pytest.approx(expected.sum())


def test_streams_that_stay_as_they_began_show_1_in_20_at_most_once_in_twenty():
    random, times, said = np.random.default_rng(5), 150, np.zeros(2)
    for _ in range(times):
        shared = random.normal(size=400)
        found = followed({name: 0.8 * shared + 0.6 * random.normal(size=400) for name in ("a", "b")})
        said += [growth.first[20] is not None for growth in (found.together, found.growth["a"])]
    assert said.max() <= binom.ppf(0.999, times, 0.05)


def test_memory_does_not_grow():
    found = LiveEvidence(["a"])
    for score in np.random.default_rng(6).normal(size=1000):
        found.follow({"a": score}, {"a": False}, quiet=True)
        found.end_visit()
        assert len(found._ended) < TOGETHER
        assert sum(map(len, found._first.values())) < REFERENCE


def test_shares_equal_those_of_the_readouts(watched):
    watch, readouts = watched
    watch.end_visit()
    rows, found = readouts.instances, watch.monitors["half"]
    alarms = readouts.alarms[readouts.alarms["monitor"] == "half"]
    visit = np.cumsum(rows["track"].ne(rows["track"].shift()).to_numpy())
    alarm, decision = alarms["alarm"].to_numpy(), alarms["decision"].to_numpy()
    quiet = Episodes(rows["episode"].to_numpy(), rows["is_ood"].to_numpy()).quiet
    decided = decision != -1
    wrong = decision != rows["label"].to_numpy()
    for share, values, counted in (
        (found.coverage, decided, np.ones(len(rows), dtype=bool)),
        (found.risk, wrong, decided),
        (found.false_alarm_rate, alarm, quiet),
    ):
        expected = Tracks(visit[counted]).means(values[counted].astype(float)).mean()
        assert share.share.value.value == pytest.approx(expected)


def made_watch(n, *, by=0.0):
    """A watch of a stream of one alarm in ten whose scores moved half way."""
    random, watch = np.random.default_rng(8), Watch(["odin", "oob"], window=100)
    for place in range(n):
        score = random.normal(size=2) + by * (place > n // 2)
        scores = dict(zip(watch.monitors, score.tolist(), strict=True))
        alarms = {name: bool(own > 1.3) for name, own in scores.items()}
        watch.evidence.follow(scores, alarms, quiet=place <= n // 2)
        for name, each in watch.monitors.items():
            each.follow(-1, is_ood=False, alarm=alarms[name], cancelled=alarms[name], onset=False)
            each.follow_decision(decided=not alarms[name], right=place % 20 > 0)
        watch.n += 1
        watch.end_visit()
    watch.quiet = watch.n
    return watch


@pytest.mark.parametrize(("n", "by"), [(100, 0.0), (700, 0.0), (700, 1.0)])
def test_the_last_words(n, by):
    same_text("\n".join(last_words(made_watch(n, by=by))))


@pytest.mark.parametrize(("width", "columns"), [(65, 0), (78, 1), (88, 2), (200, 4)])
def test_bounds_are_shown_where_there_is_room(width, columns):
    watch = made_watch(700, by=1.0)
    shown = printed(live_table(watch, 100, width), width=width)
    headings = ["of change", "alarms %", "accepted %", "coverage\n"]
    assert [heading in shown for heading in headings] == [place < columns for place in range(4)]
    assert max(map(len, shown.splitlines())) <= width
    if columns:
        same_text(shown)
