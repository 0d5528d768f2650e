"""Evidence that grows without promising too much, whenever one stops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from farm.errors import DataError, ParameterError
from farm.statistics.anytime import RateEvidence, ScoreEvidence, Together
from tests.statistics.anytime.streams import STREAMS
from tests.wording import refused

ALPHA, N_STREAMS, LENGTH = 0.2, 150, 200


def most(chance=ALPHA):
    """How many streams may ever show such evidence, so that an honest one fails once in 10,000."""
    return int(binom.ppf(0.9999, N_STREAMS, chance))


def rate(bound, values, **claim):
    evidence = RateEvidence(bound, **claim)
    return np.cumsum(evidence.add(values)), evidence.p


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("at_least", [False, True])
def test_evidence_against_a_true_rate_is_seldom_strong_at_any_time(name, at_least):
    mean, draw = STREAMS[name]
    random = np.random.default_rng(sorted(STREAMS).index(name))
    found = [rate(mean, draw(random, LENGTH), at_least=at_least) for _ in range(N_STREAMS)]
    assert sum(p <= ALPHA for _, p in found) <= most()
    # At a fixed time it is 1 at most on the average. Its tail is heavy, so that what is averaged is capped.
    at_end = np.exp([path[-1] for path, _ in found])
    assert np.minimum(at_end, 50).mean() <= 1 + 4 * np.minimum(at_end, 50).std() / math.sqrt(N_STREAMS)


def test_every_bet_on_two_values_is_exactly_fair():
    """All streams of four values: their evidence, weighed with their chances, is 1."""
    p, total = 0.3, 0.0
    for number in range(16):
        values = np.array([number >> bit & 1 for bit in range(4)], dtype=float)
        chance = np.prod(np.where(values == 1, p, 1 - p))
        total += chance * math.exp(rate(p, values)[0][-1])
    assert total == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("truth", "bound", "at_least"), [(0.15, 0.05, False), (0.8, 0.9, True)])
def test_a_false_claim_is_found_out_though_it_was_true_for_long(truth, bound, at_least):
    random = np.random.default_rng(0)
    before, after = (
        random.random(5000) < (bound + truth) / 2 - (truth - bound) / 2,
        random.random(600) < truth,
    )
    evidence = RateEvidence(bound, at_least=at_least)
    evidence.add(before)
    assert evidence.p > 0.05
    evidence.add(after)
    assert evidence.p < 0.001


def test_what_a_first_value_is_worth_is_the_mean_of_all_bets():
    # Of a value of 1 against 0.5, what puts a part f at risk becomes 1 + f.
    evidence = RateEvidence(0.5)
    (bet,) = evidence.add(np.ones(1))
    assert math.exp(bet) == pytest.approx(1 + np.mean([0, 0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8]))
    assert (evidence.n, evidence.log_e, evidence.p) == (1, bet, math.exp(-bet))
    evidence.add(np.zeros(5))
    assert evidence.log_e < bet
    assert evidence.p == math.exp(-bet)


def scores(draw, n_reference=30):
    evidences = []
    for seed in range(N_STREAMS):
        random = np.random.default_rng(seed)
        values = draw(random, n_reference + LENGTH)
        evidence = ScoreEvidence(values[:n_reference], seed)
        evidence.add(values[n_reference:])
        evidences.append(evidence.p)
    return np.array(evidences)


@pytest.mark.parametrize(
    "draw",
    [
        lambda random, n: random.normal(size=n),
        lambda random, n: random.integers(0, 3, n).astype(float),
        lambda random, n: random.permutation(np.arange(float(n)) ** 3),
    ],
    ids=["normal", "three values", "exchangeable only"],
)
def test_exchangeable_scores_seldom_look_strange(draw):
    assert (scores(draw) <= ALPHA).sum() <= most()


def test_scores_of_tracks_taken_one_by_one_do():
    def tracked(random, n):
        return np.repeat(random.normal(size=n // 20 + 1), 20)[:n]

    assert (scores(tracked) <= ALPHA).sum() > most()


@pytest.mark.parametrize("way", [-1.5, 1.5])
def test_scores_that_move_either_way_are_found_out(way):
    def moving(random, n):
        return random.normal(size=n) + way * (np.arange(n) > 150)

    assert np.median(scores(moving, n_reference=100)) < 0.001


def test_the_same_scores_and_seed_are_worth_the_same():
    values = np.random.default_rng(0).normal(size=300)
    found = []
    for parts in ([200], [100, 101, 250]):
        evidence = ScoreEvidence(values[:100], seed=3)
        for part in np.split(values[100:], [at - 100 for at in parts]):
            evidence.add(part)
        found.append(evidence.log_e)
    assert found[0] == pytest.approx(found[1], abs=1e-9)
    other = ScoreEvidence(values[:100], seed=4)
    other.add(values[100:])
    assert other.log_e != found[0]


@pytest.mark.parametrize("n_reference", [12, 100])
def test_monitors_of_the_same_images_together_promise_no_more(n_reference):
    strong = 0
    for seed in range(100):
        values = np.random.default_rng(seed).normal(size=n_reference + 100)
        of = {"one": values, "other way": -values, "outside": np.abs(values)}
        together = Together(list(of))
        together.add(
            {
                name: ScoreEvidence(own[:n_reference], seed=seed + at).add(own[n_reference:])
                for at, (name, own) in enumerate(of.items())
            }
        )
        strong += together.p <= ALPHA
    assert strong <= binom.ppf(0.9999, 100, ALPHA)


def test_a_product_of_the_same_bets_promises_too_much():
    """What the average is for: four monitors with the same scores are not four times the evidence."""
    paths = np.array([rate(0.3, np.random.default_rng(s).random(LENGTH) < 0.3)[0] for s in range(N_STREAMS)])
    assert (paths.max(axis=1) >= math.log(1 / ALPHA)).sum() <= most()
    assert ((4 * paths).max(axis=1) >= math.log(1 / ALPHA)).sum() > most()


def test_together_begins_as_the_average_and_follows_who_gains():
    together = Together(["a", "b"])
    bets = {"a": np.log([3.0]), "b": np.log([1.0])}
    assert np.exp(together.add(bets)) == pytest.approx([2.0])
    assert together.weights["a"] == pytest.approx(0.75, abs=0.01)
    assert sum(together.weights.values()) == pytest.approx(1.0)
    assert together.log_e == pytest.approx(math.log(2.0))


def test_one_monitor_together_is_that_monitor():
    alone = RateEvidence(0.1)
    bets = alone.add(np.random.default_rng(0).random(100) < 0.4)
    together = Together(["a"])
    together.add({"a": bets})
    assert (together.n, together.log_e, together.p) == pytest.approx((100, alone.log_e, alone.p))


@pytest.mark.parametrize("bound", [0, 1, 1.5, math.nan])
def test_a_bound_that_nothing_could_contradict_is_refused(bound):
    with refused(ParameterError):
        RateEvidence(bound)


def test_a_value_that_is_no_rate_is_refused():
    with refused(DataError):
        RateEvidence(0.5).add(np.array([1.0, 2.0]))


@pytest.mark.parametrize("names", [[], ["a", "a"]])
def test_monitors_that_are_none_or_twice_there_are_refused(names):
    with refused(ParameterError):
        Together(names)


@pytest.mark.parametrize("bets", [{"a": np.zeros(2)}, {"a": np.zeros(2), "b": np.zeros(1)}])
def test_bets_that_some_monitor_did_not_make_are_refused(bets):
    with refused(DataError):
        Together(["a", "b"]).add(bets)
