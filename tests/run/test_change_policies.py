"""Policies that follow alarms or margins: what they cancel, how long they run, what they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from farm import registry
from farm.api.changes import Cusum
from farm.errors import ParameterError
from farm.run.change_policies import AdwinPolicy, CusumPolicy, EwmaPolicy, PageHinkleyPolicy
from farm.run.martingale_policy import MartingalePolicy
from tests.wording import refused

SIMPLE = [
    lambda **more: CusumPolicy(**{"limit": 8.0, **more}),
    lambda **more: EwmaPolicy(**{"limit": 2.0, **more}),
    lambda **more: PageHinkleyPolicy(**{"limit": 3.0, "fewest": 5, **more}),
    lambda **more: AdwinPolicy(**{"limit": 0.5, "clock": 4, **more}),
]
MAKERS = [*SIMPLE, lambda **more: MartingalePolicy(chance=0.1, **more)]


def cancelled(policy, alarms, tracks=None) -> list[bool]:
    tracks = [None] * len(alarms) if tracks is None else tracks
    margins = np.where(alarms, 0.5, -0.5)
    return [
        policy._cancels(bool(alarm), float(margin), track)
        for alarm, margin, track in zip(alarms, margins, tracks, strict=True)
    ]


def quiet_then_loud(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random(400) < np.repeat([0.05, 0.6], 200)


@pytest.mark.parametrize("make", MAKERS)
def test_it_lets_pass_what_is_usual_and_cancels_where_alarms_have_become_many(make) -> None:
    found = np.array(cancelled(make(), quiet_then_loud()))
    assert found[:200].mean() < 0.15
    assert found[250:].mean() > 0.5


@pytest.mark.parametrize("make", MAKERS)
def test_after_a_reset_it_is_as_new(make) -> None:
    policy, alarms = make(), quiet_then_loud()
    first = cancelled(policy, alarms)
    policy.reset()
    assert cancelled(policy, alarms) == first
    assert any(first)


@pytest.mark.parametrize("make", MAKERS)
def test_with_a_restart_no_alarm_of_its_own_lasts(make) -> None:
    found = np.array(cancelled(make(restart=True), quiet_then_loud()))
    assert found.any()
    assert not (found[1:] & found[:-1]).any() or found.sum() < sum(cancelled(make(), quiet_then_loud()))


@pytest.mark.parametrize("make", SIMPLE)
def test_within_a_track_memory_begins_anew_where_the_track_changes(make) -> None:
    alarms = quiet_then_loud()
    alone = cancelled(make(within="track"), alarms, [str(i) for i in range(400)])
    assert sum(alone) < sum(cancelled(make(), alarms))


def test_alarms_are_standardised_by_their_rate_and_margins_by_their_own_mean() -> None:
    alarms = quiet_then_loud()
    sd = math.sqrt(0.1 * 0.9)
    expected = Cusum().along((alarms - 0.1) / sd) > 4.0
    assert cancelled(CusumPolicy(rate=0.1, limit=4.0), alarms) == expected.tolist()
    # The margins are 0.5 and -0.5.
    expected = Cusum().along((np.where(alarms, 0.5, -0.5) + 0.4) / 0.3) > 4.0
    of_margins = CusumPolicy(margins={"mean": -0.4, "sd": 0.3}, limit=4.0)
    assert cancelled(of_margins, alarms) == expected.tolist()


@pytest.mark.parametrize("kind", [CusumPolicy, EwmaPolicy, PageHinkleyPolicy, AdwinPolicy])
def test_alarms_at_their_rate_are_let_pass_for_the_run_length(kind) -> None:
    runs = []
    policy = kind(run_length=100, restart=True)
    for seed in range(4):
        policy.reset()
        found = cancelled(policy, np.random.default_rng(seed).random(10_000) < 0.05)
        runs.append(10_000 / sum(found))
    # Sums of a few alarms take few values, and a limit between two of them runs longer.
    assert 85 < np.mean(runs) < 260


@pytest.mark.parametrize("rate", [0.05, 0.02])
def test_the_promise_of_the_martingale_holds_at_its_rate_and_below(rate: float) -> None:
    ever = 0
    for seed in range(200):
        chance = np.random.default_rng(seed)
        ever += any(cancelled(MartingalePolicy(rate=0.05, chance=0.1), chance.random(300) < rate))
    assert ever <= 20 + 3 * math.sqrt(18)


def test_the_promise_is_broken_where_alarms_come_in_rows_and_kept_where_a_row_is_a_track() -> None:
    ever = {"alone": 0, "tracks": 0}
    tracks = np.repeat(np.arange(40), 10).astype(str).tolist()
    for seed in range(60):
        rows = np.repeat(np.random.default_rng(seed).random(40) < 0.05, 10)
        ever["alone"] += any(cancelled(MartingalePolicy(chance=0.1), rows))
        ever["tracks"] += any(cancelled(MartingalePolicy(chance=0.1), rows, tracks))
    assert ever["alone"] > 40
    assert ever["tracks"] <= 6 + 3 * math.sqrt(5.4)


def test_it_bets_on_the_first_of_each_track_and_holds_what_it_cancels_to_its_end() -> None:
    tracks = np.repeat(np.arange(20), 3).astype(str).tolist()
    loud, firsts = np.ones(60, dtype=bool), np.arange(60) % 3 == 0
    held = cancelled(MartingalePolicy(), loud, tracks)
    assert any(held)
    assert held == np.repeat(held[::3], 3).tolist() == cancelled(MartingalePolicy(), firsts, tracks)
    assert not any(cancelled(MartingalePolicy(), ~firsts, tracks))
    single = np.flatnonzero(cancelled(MartingalePolicy(restart=True), loud, tracks))
    assert len(single) > 2
    assert (single % 3 == 0).all()


def test_it_runs_at_least_as_long_as_promised() -> None:
    policy = MartingalePolicy(run_length=50, restart=True)
    found = sum(cancelled(policy, np.random.default_rng(0).random(20_000) < 0.05))
    assert 0 < found <= 400 + 3 * math.sqrt(400)


@pytest.mark.parametrize(
    ("policy", "arguments"),
    [
        ("cusum", {"limit": 3.0, "run_length": 100}),
        ("cusum", {"rate": 0.05, "margins": {"mean": 0.0, "sd": 1.0}, "limit": 3.0}),
        ("cusum", {"margins": {"mean": 0.0, "sd": 1.0}}),
        ("cusum", {"margins": {"mean": 0.0}, "limit": 3.0}),
        ("cusum", {"margins": {"mean": 0.0, "sd": 0.0}, "limit": 3.0}),
        ("cusum", {"margins": {"mean": 0.0, "sd": 1.0}, "run_length": 100}),
        ("cusum", {"rate": 0.0}),
        ("cusum", {"limit": 0.0}),
        ("cusum", {"run_length": 5}),
        ("cusum", {"shift": 0.0}),
        ("ewma", {"weight": 2.0}),
        ("page-hinkley", {"fewest": 0}),
        ("adwin", {"delta": 0.0}),
        ("adwin", {"within": "drive"}),
        ("martingale", {"chance": 0.1, "run_length": 100}),
        ("martingale", {"chance": 0.0}),
        ("martingale", {"run_length": 1}),
        ("martingale", {"rate": 0.9}),
    ],
)
def test_a_bad_parameter_is_told(policy, arguments) -> None:
    with refused(ParameterError):
        registry.policy(policy, **arguments)
