"""Conformal evidence: uniform p-values, Ville's promise, and what breaks it."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import kstest

from farm.api.changes import Conformal, ConformalRanks, Martingale, ShiryaevRoberts
from farm.errors import ParameterError
from tests.wording import refused

CHANCE = 0.05
LIMIT = math.log(1 / CHANCE)
STREAMS = 300
KINDS = {
    "continuous": lambda chance, n: chance.normal(size=n),
    "two values": lambda chance, n: (chance.random(n) < 0.1).astype(float),
    "one value": lambda chance, n: np.zeros(n),
    "skewed with ties": lambda chance, n: np.round(chance.exponential(size=n) ** 3, 1),
}


def promised(n: int, share: float) -> float:
    """Return how many of n may alarm: those promised, and three standard errors."""
    return n * share + 3 * math.sqrt(n * share * (1 - share))


def alarming(betting, draw, reference: int, length: int, after=lambda values: values) -> int:
    """Count the streams whose evidence ever exceeds the limit."""
    alarms = 0
    for seed in range(STREAMS):
        chance = np.random.default_rng(seed)
        values = draw(chance, reference + length)
        evidence = Conformal(values[:reference], betting, seed=seed)
        evidence.forget()
        alarms += bool((evidence.along(after(values[reference:])) > LIMIT).any())
    return alarms


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reference", [1, 11, 200])
def test_p_values_are_uniform_and_do_not_tell_of_one_another(kind: str, reference: int) -> None:
    chance = np.random.default_rng(5)
    firsts, lasts = [], []
    for _ in range(400):
        values = KINDS[kind](chance, reference + 30)
        ranks = ConformalRanks(values[:reference])
        p = [ranks.p(value, chance.random()) for value in values[reference:].tolist()]
        firsts.append(p[0])
        lasts.append(p[-1])
    assert min(kstest(firsts, "uniform").pvalue, kstest(lasts, "uniform").pvalue) > 0.001
    assert abs(np.corrcoef(firsts, lasts)[0, 1]) < 4 / math.sqrt(400)


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=12),
    st.lists(st.integers(-1, 7), max_size=20),
)
def test_p_values_are_a_plain_count_of_those_before(reference: list[int], stream: list[int]) -> None:
    """Of binned scores: every second of the reference says where the bins are."""
    cuts = sorted(set(reference[::2]))
    ranks = ConformalRanks(np.array(reference, dtype=float))
    before = [bisect_right(cuts, score) for score in reference[1::2]]
    for score in stream:
        own = bisect_right(cuts, score)
        ordered = sorted([*before, own])
        above = len(ordered) - bisect_right(ordered, own)
        equal = len(ordered) - bisect_left(ordered, own) - above
        assert ranks.p(float(score), 0.25) == pytest.approx((above + 0.75 * equal) / len(ordered))
        before.append(own)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bets", ["powers", "jumper"])
def test_exchangeable_streams_hardly_ever_alarm(kind: str, bets: str) -> None:
    for reference, length in ((1, 100), (15, 200)):
        found = alarming(Martingale(bets=bets), KINDS[kind], reference, length)
        assert found <= promised(STREAMS, CHANCE)


@pytest.mark.parametrize(
    "after",
    [
        lambda values: values + 0.8,
        lambda values: np.sort(values),
        lambda values: np.where(np.arange(len(values)) < 100, values, values + 1.5),
    ],
    ids=["shifted from the start", "rising", "shifted later"],
)
def test_where_exchangeability_is_broken_it_alarms(after) -> None:
    found = alarming(Martingale(), KINDS["continuous"], 200, 250, after)
    assert found > promised(STREAMS, CHANCE) * 3


def test_against_a_fixed_small_reference_alone_the_promise_would_be_broken() -> None:
    """Why what was seen is counted: these p-values share the reference's luck."""
    alarms = 0
    for seed in range(100):
        chance = np.random.default_rng(seed)
        reference = np.sort(chance.normal(size=15))
        above = 15 - np.searchsorted(reference, chance.normal(size=2000))
        p = (above + 1 - chance.random(2000)) / 16
        alarms += bool((Martingale().along(p) > LIMIT).any())
    assert alarms > promised(100, CHANCE)


@pytest.mark.parametrize("bets", ["powers", "jumper"])
@pytest.mark.parametrize("kind", ["continuous", "two values"])
def test_shiryaev_roberts_runs_at_least_as_long_as_its_limit(bets: str, kind: str) -> None:
    least, n = 40, 30_000
    values = KINDS[kind](np.random.default_rng(3), n + 20)
    evidence = Conformal(values[:20], ShiryaevRoberts(bets=bets), seed=0)
    limit = math.log(least + 1)
    alarms = int((evidence.along(values[20:], limit) > limit).sum())
    assert 0 < alarms <= n / least + 3 * math.sqrt(n / least)


def test_shiryaev_roberts_is_the_sum_of_martingales_that_begin_one_after_the_other() -> None:
    p = np.random.default_rng(0).random(60) ** 1.5
    growth = np.diff(Martingale().along(p), prepend=0.0)
    expected = [np.log(1 + sum(math.exp(growth[j : i + 1].sum()) for j in range(i + 1))) for i in range(60)]
    assert ShiryaevRoberts().along(p) == pytest.approx(expected)


@pytest.mark.parametrize("bets", ["powers", "jumper"])
def test_no_bet_wins_on_average(bets: str) -> None:
    """Whatever came before, the mean factor over a uniform p-value is 1."""
    for before in ([], [0.01] * 9, [0.9, 0.2, 0.5] * 4):

        def factor(p: float, before: list[float] = before) -> float:
            evidence = Martingale(bets=bets)
            start = evidence.along(before)[-1] if before else 0.0
            return math.exp(evidence.follow(p) - start)

        # Powers are steep at 0: decade by decade, and below 1e-40 lies 1 % of the steepest.
        mean = sum(quad(factor, 10.0**-e, 10.0 ** (1 - e), limit=200)[0] for e in range(1, 41))
        assert mean == pytest.approx(1.0, abs=0.01)


def test_evidence_is_kept_in_logarithms() -> None:
    certain = Martingale().along([1e-200] * 50)
    assert np.isfinite(certain).all()
    assert certain[-1] > 10_000
    long_quiet = Martingale().along([0.999] * 5000)
    assert np.isfinite(long_quiet).all()


def test_a_restart_keeps_what_was_seen_and_a_new_stream_does_not() -> None:
    values = np.random.default_rng(1).normal(size=300)
    evidence = Conformal(values[:50], Martingale(), seed=4)
    first = evidence.along(values[50:])
    evidence.forget()
    assert np.array_equal(evidence.along(values[50:]), first)
    ranks = evidence._ranks
    seen = ranks._n
    evidence.restart()
    assert ranks._n == seen
    assert Martingale().along([0.2]) == evidence._betting.along([0.2])


def test_other_lots_break_ties_otherwise() -> None:
    values = np.zeros(30)
    one, other = (Conformal(values, Martingale(), seed=seed).along(values) for seed in (0, 1))
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("reference", [[], [1.0, math.nan]])
def test_a_reference_that_ranks_nothing_is_refused(reference) -> None:
    with refused(ParameterError):
        ConformalRanks(np.array(reference))


def test_unknown_bets_are_refused() -> None:
    with refused(ParameterError):
        Martingale(bets="lines")
