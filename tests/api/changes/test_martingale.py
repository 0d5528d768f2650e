"""Conformal evidence: what Ville promises, what Shiryaev and Roberts do, and what breaks it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from farm.api.changes import Conformal, Martingale, ShiryaevRoberts

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
@pytest.mark.parametrize("direction", ["up", "both"])
def test_exchangeable_streams_hardly_ever_alarm(kind: str, direction: str) -> None:
    for reference, length in ((4, 100), (15, 200)):
        found = alarming(Martingale(direction=direction), KINDS[kind], reference, length)
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


@pytest.mark.parametrize("direction", ["up", "both"])
@pytest.mark.parametrize("kind", ["continuous", "two values"])
def test_shiryaev_roberts_runs_at_least_as_long_as_its_limit(direction: str, kind: str) -> None:
    least, n = 40, 30_000
    values = KINDS[kind](np.random.default_rng(3), n + 20)
    evidence = Conformal(values[:20], ShiryaevRoberts(direction=direction), seed=0)
    limit = math.log(least + 1)
    alarms = int((evidence.along(values[20:], limit) > limit).sum())
    assert 0 < alarms <= n / least + 3 * math.sqrt(n / least)


def test_shiryaev_roberts_is_the_sum_of_martingales_that_begin_one_after_the_other() -> None:
    p = np.random.default_rng(0).random(60) ** 1.5
    growth = np.diff(Martingale().along(p), prepend=0.0)
    expected = [np.log(1 + sum(math.exp(growth[j : i + 1].sum()) for j in range(i + 1))) for i in range(60)]
    assert ShiryaevRoberts().along(p) == pytest.approx(expected)


def test_evidence_is_kept_in_logarithms() -> None:
    certain = Martingale().along([1e-200] * 500)
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
    seen = evidence._ranks.n
    evidence.restart()
    assert evidence._ranks.n == seen
    assert Martingale().along([0.2]) == evidence._betting.along([0.2])


def test_other_lots_break_ties_otherwise() -> None:
    values = np.zeros(30)
    one, other = (Conformal(values, Martingale(), seed=seed).along(values) for seed in (0, 1))
    assert not np.array_equal(one, other)


def test_bets_on_a_rise_gain_nothing_where_p_values_are_large() -> None:
    p = np.random.default_rng(0).random(300)
    gained = {side: Martingale(direction=side).along(np.maximum(p, 0.3)).max() for side in ("up", "down")}
    assert gained["up"] < 0.1
    assert gained["down"] > LIMIT


def test_many_at_once_are_the_same_as_one_at_a_time() -> None:
    values = np.random.default_rng(2).normal(size=120)
    for kind in (Martingale, ShiryaevRoberts):
        at_once, single = (Conformal(values[:20], kind(), seed=1) for _ in range(2))
        assert at_once.along(values[20:]).tolist() == pytest.approx([single.follow(v) for v in values[20:]])
        assert len(at_once.along([])) == 0
