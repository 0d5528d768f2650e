"""What is said of a stream that still runs: as of the whole stream afterwards, in constant memory."""

import numpy as np
import pytest
from scipy.stats import binom

from farm.judging.live import Watch
from farm.judging.live_bounds import REFERENCE, TOGETHER, LiveEvidence, LiveShare, Peeking
from farm.measures.episodes import Episodes
from farm.report.live import last_words, live_tables
from farm.report.terminal import printed
from farm.statistics.anytime import RatioSequence, ScoreEvidence, Together, repeated_fixed_n
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


def follow_visits(live, hits, counts):
    """Follow visits of so many instances each, of which the first are hits."""
    for hit, count in zip(hits, counts, strict=True):
        for place in range(count):
            live.follow(place < hit)
        live.end_visit()
        assert len(live._ended) < TOGETHER
    return live.share


def test_a_share_is_that_of_visits_in_order():
    random = np.random.default_rng(0)
    counts = random.integers(0, 5, 300)
    hits = random.binomial(counts, 0.1)
    found = follow_visits(LiveShare(longest=4), hits, counts)
    whole = RatioSequence(4)
    whole.add(hits, counts)
    assert found.value.value == hits.sum() / counts.sum()
    assert (found.low.value, found.high.value) == pytest.approx((whole.low, whole.high))


def test_a_long_visit_counts_for_more_than_a_short_one():
    assert follow_visits(LiveShare(longest=9), [1, 0], [1, 9]).value.value == 0.1


def test_risk_lies_between_its_bounds_at_all_times_where_long_visits_are_safer():
    # Of visits of one instance 27 % of what is accepted is wrong, of those of twelve 5 %; where much is
    # accepted less is wrong.
    random, times, missed = np.random.default_rng(9), 100, 0
    accept, wrong, sizes = np.array([[0.3, 0.9], [0.5, 1.0]]), np.array([[0.4, 0.2], [0.1, 0.03]]), (1, 12)
    mean = np.array(sizes)[:, None] * accept
    truth = (mean * wrong).sum() / mean.sum()
    for _ in range(times):
        long, easy = random.random((2, 300)) < 0.5
        long, easy = long.astype(int), easy.astype(int)
        counts = random.binomial(np.array(sizes)[long], accept[long, easy])
        share = follow_visits(LiveShare(longest=12), random.binomial(counts, wrong[long, easy]), counts)
        # Bounds only come nearer to each other: what they missed once they miss at the end.
        missed += not share.low.defined or not share.low.value <= truth <= share.high.value
    assert missed <= binom.ppf(0.999, times, 0.05)


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
    row = rows["track"].ne(rows["track"].shift()).cumsum()
    # A track of four in a row is a visit of three and one of one.
    visit = (rows.groupby(row).cumcount() % watch.longest == 0).cumsum().to_numpy()
    alarm, decision = alarms["alarm"].to_numpy(), alarms["decision"].to_numpy()
    quiet = Episodes(rows["episode"].to_numpy(), rows["is_ood"].to_numpy()).quiet
    decided = decision != -1
    wrong = decision != rows["label"].to_numpy()
    for share, values, counts in (
        (found.coverage, decided, np.ones(len(rows), dtype=bool)),
        (found.risk, wrong & decided, decided),
        (found.false_alarm_rate, alarm & quiet, quiet),
    ):
        whole = RatioSequence(watch.longest)
        whole.add(np.bincount(visit, values & counts), np.bincount(visit, counts))
        told = share.share
        assert told.value.value == pytest.approx(values[counts].mean())
        assert (told.low.value, told.high.value) == pytest.approx((whole.low, whole.high))


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


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_bounds_stand_below_what_is_known_by_now(width):
    watch = made_watch(700, by=1.0)
    watch.remember()
    shown = printed(live_tables(watch, 100, width), width=width)
    assert max(map(len, shown.splitlines())) <= width
    same_text(shown)
    known, lasting = shown.split("at all times together")
    for heading in ("accepted %", "alarms %", "coverage", "of change")[: 3 if width == 40 else 4]:
        assert heading in lasting
        assert heading not in known


@pytest.mark.parametrize("width", [40, 60])
def test_of_names_eight_characters_are_left_where_columns_go(width):
    watch = Watch(["mahalanobis-of-all", "mahalanobis-of-one"], window=100, longest=30, yardsticks=["never"])
    watch.quiet = 1
    for each in watch.monitors.values():
        each.false_alarms = 10_000
    shown = printed(live_tables(watch, 100, width), width=width)
    assert max(map(len, shown.splitlines())) <= width
    rows = [line.split("…")[0] for line in shown.splitlines() if line.startswith("maha")]
    assert len(rows) == 4
    assert min(map(len, rows)) >= 7
    same_text(shown)


def test_yardsticks_give_no_evidence_unless_there_are_no_others():
    assert list(Watch(["odin", "never"], yardsticks=["never"]).evidence.growth) == ["odin"]
    assert list(Watch(["always", "never"], yardsticks=["always", "never"]).evidence.growth) == [
        "always",
        "never",
    ]
    random = np.random.default_rng(7)
    evidence, alone = LiveEvidence(["odin"]), LiveEvidence(["odin"])
    for score in random.normal(size=400):
        evidence.follow({"odin": score, "never": 0.0}, {"odin": False, "never": False}, quiet=True)
        alone.follow({"odin": score}, {"odin": False}, quiet=True)
        evidence.end_visit()
        alone.end_visit()
    for each in (evidence, alone):
        each.take()
    assert evidence.together.log_e == alone.together.log_e != 0.0


def test_a_share_that_moved_has_no_bounds_and_the_title_says_why():
    watch = Watch(["odin"], window=100)
    for place in range(400):
        watch.monitors["odin"].follow_decision(decided=place < 200, right=True)
        watch.end_visit()
    shown = printed(live_tables(watch, 100, 80), width=80)
    assert next(line for line in shown.splitlines()[::-1] if line.startswith("odin")).split()[-2] == "moved"
    assert "moved: no single value goes with all that came" in shown.replace("\n", " ")
