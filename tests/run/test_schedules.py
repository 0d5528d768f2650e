"""When faults come: each schedule against its definition, instance by instance, without end."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farm import registry
from farm.api import generator
from farm.errors import ParameterError
from farm.run.schedules import Bursts, Onset, Ramp, Recurring, Sequence
from tests.wording import refused, same_text

N = 3500
"""How many instances are looked at: more than three stretches, and no whole number of them."""


def plan(schedule, n=N, seed=0):
    """Return is_ood, intensity and episode of the first n instances."""
    parts, held = [], 0
    for stretch in schedule.stretches(seed):
        assert len(stretch.is_ood) == len(stretch.intensity) == len(stretch.episode) > 0
        parts.append(stretch)
        held += len(stretch.is_ood)
        if held >= n:
            break
    return tuple(
        np.concatenate([getattr(p, f) for p in parts])[:n] for f in ("is_ood", "intensity", "episode")
    )


EVERY = {
    "onset": Onset(at=1500, share=0.5),
    "ramp": Ramp(begin=100, end=3000),
    "recurring": Recurring(period=70, burst=30, share=0.8),
    "bursts": Bursts(gap=40, burst=15),
    "sequence": Sequence(views=7, share=0.3),
}


def test_every_registered_schedule_is_tested_here():
    assert set(EVERY) == set(registry.entries("schedule"))


@pytest.mark.parametrize("name", EVERY)
def test_the_seed_alone_decides(name):
    first, again, other = (plan(EVERY[name], seed=seed) for seed in (3, 3, 4))
    for mine, theirs in zip(first, again, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert not np.array_equal(first[0], other[0])


# Definitions, one instance at a time ----------------------------------------------------------------------


def compare(schedule, expected, *, certain=True, seed=0):
    """Compare a plan with `expected(i)`: the episode, probability of OOD, and intensity of instance i."""
    is_ood, intensity, episode = plan(schedule, seed=seed)
    wanted = [expected(i) for i in range(N)]
    assert episode.tolist() == [one[0] for one in wanted]
    probability = np.array([one[1] for one in wanted])
    if certain:
        assert is_ood[probability == 1].all()
    assert not is_ood[probability == 0].any()
    np.testing.assert_allclose(intensity, [one[2] for one in wanted], rtol=1e-12)
    # As many as were to be expected, within five standard deviations.
    spread = np.sqrt((probability * (1 - probability)).sum())
    assert abs(is_ood.sum() - probability.sum()) <= 5 * spread


PLACES = st.integers(0, N)
SHARES = st.sampled_from([1.0, 0.5, 0.1])
SOME = settings(max_examples=15)


@SOME
@given(PLACES, SHARES)
def test_an_onset_comes_once_and_stays(at, share):
    compare(Onset(at=at, share=share), lambda i: (0, share, 1) if i >= at else (-1, 0, 1))


@SOME
@given(PLACES, st.integers(1, N), SHARES)
def test_a_ramp_of_the_share_grows_to_its_end(begin, length, share):
    def expected(i):
        grown = min(max((i + 1 - begin) / length, 0), 1)
        return (0 if i >= begin else -1), share * grown, 1

    compare(Ramp(begin=begin, end=begin + length, share=share), expected)


@SOME
@given(PLACES, st.integers(1, N), SHARES)
def test_a_ramp_of_the_severity_is_ood_from_its_beginning(begin, length, share):
    def expected(i):
        begun = i >= begin
        return (0 if begun else -1), share * begun, min(max((i + 1 - begin) / length, 0), 1)

    schedule = Ramp(begin=begin, end=begin + length, of="severity", share=share)
    assert schedule.ramps_severity
    assert not Ramp(begin=begin, end=begin + length, of="share").ramps_severity
    compare(schedule, expected)


@SOME
@given(st.integers(2, 3000), st.data(), SHARES)
def test_recurring_faults_are_the_last_part_of_each_period(period, data, share):
    burst = data.draw(st.integers(1, period - 1))

    def expected(i):
        number, place = i // period, i % period
        return (number, share, 1) if period - place <= burst else (-1, 0, 1)

    compare(Recurring(period=period, burst=burst, share=share), expected)


@SOME
@given(st.integers(1, 2000), st.integers(1, 2000), SHARES, st.integers(0, 3))
def test_bursts_and_gaps_are_drawn_from_geometric_distributions(gap, burst, share, seed):
    rng, episodes, number = generator(seed, "stream", "bursts"), [], 0
    while len(episodes) < N:
        episodes += [-1] * int(rng.geometric(1 / gap)) + [number] * int(rng.geometric(1 / burst))
        number += 1
    compare(
        Bursts(gap=gap, burst=burst, share=share),
        lambda i: (episodes[i], share * (episodes[i] >= 0), 1),
        seed=seed,
    )


def test_bursts_have_the_lengths_asked_for_on_average():
    is_ood, _, episode = plan(Bursts(gap=40, burst=15), n=60_000)
    lengths = np.bincount(episode[episode >= 0])[:-1]
    gaps = (~is_ood).sum() / len(lengths)
    assert lengths.mean() == pytest.approx(15, rel=0.1)
    assert gaps == pytest.approx(40, rel=0.1)
    assert lengths.min() == 1
    assert lengths.max() > 40


@SOME
@given(st.integers(1, 2000), st.floats(0.01, 1.0), st.integers(0, 3))
def test_views_of_one_object_are_alike_and_each_faulted_object_is_an_episode(views, share, seed):
    is_ood, intensity, episode = plan(Sequence(views=views, share=share), seed=seed)
    chosen = generator(seed, "stream", "objects").random(-(-N // views)) < share
    numbers = np.cumsum(chosen) - 1
    assert is_ood.tolist() == [bool(chosen[i // views]) for i in range(N)]
    assert episode.tolist() == [numbers[i // views] if chosen[i // views] else -1 for i in range(N)]
    assert (intensity == 1).all()
    assert Sequence(views=views).objects == views
    assert Onset(at=1).objects == 1


# Chance ----------------------------------------------------------------------------------------------------


def test_chance_never_repeats_along_the_stream():
    """No stretch of the stream is the copy of an earlier one, at any distance."""
    is_ood, _, _ = plan(Onset(at=0, share=0.5), n=12_000)
    signs = np.where(is_ood, 1.0, -1.0)
    power = np.abs(np.fft.rfft(signs, 2 * len(signs))) ** 2
    alike = np.fft.irfft(power) / len(signs)
    # Of independent draws, each of these has a standard deviation of at most 1 / sqrt(12,000).
    assert np.abs(alike[1 : len(signs)]).max() < 0.1


def test_chance_is_even_along_the_stream():
    is_ood, _, _ = plan(Onset(at=0, share=0.25), n=40_000)
    parts = is_ood.reshape(40, -1).mean(axis=1)
    assert np.abs(parts - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 1000)


# Parameters -------------------------------------------------------------------------------------------


WRONG = [
    (Onset, {"at": -1}),
    (Onset, {"at": 1.5}),
    (Onset, {"at": 1, "share": 0}),
    (Onset, {"at": 1, "share": 1.01}),
    (Ramp, {"begin": -1, "end": 5}),
    (Ramp, {"begin": 0.5, "end": 5}),
    (Ramp, {"begin": 5, "end": 5}),
    (Ramp, {"begin": 5, "end": 6.5}),
    (Ramp, {"end": 5, "of": "speed"}),
    (Ramp, {"end": 5, "share": 0}),
    (Recurring, {"period": 1, "burst": 1}),
    (Recurring, {"period": 10.5, "burst": 1}),
    (Recurring, {"period": 10, "burst": 10}),
    (Recurring, {"period": 10, "burst": 0}),
    (Recurring, {"period": 10, "burst": 1.5}),
    (Recurring, {"share": 0}),
    (Bursts, {"gap": 0}),
    (Bursts, {"gap": 1.5}),
    (Bursts, {"burst": 0}),
    (Bursts, {"burst": 1.5}),
    (Bursts, {"share": 2}),
    (Sequence, {"views": 0}),
    (Sequence, {"views": 1.5}),
    (Sequence, {"share": 0}),
    (Sequence, {"share": 1.01}),
]


def test_wrong_parameters_are_told():
    for schedule, arguments in WRONG:
        with refused(ParameterError):
            schedule(**arguments)


def test_the_outermost_parameters_are_taken():
    assert plan(Onset(at=0), n=1)[0].tolist() == [True]
    assert plan(Ramp(begin=0, end=1), n=1)[0].tolist() == [True]
    assert plan(Recurring(period=2, burst=1), n=4)[0].tolist() == [False, True] * 2
    assert plan(Bursts(gap=1, burst=1), n=4)[0].tolist() == [False, True] * 2
    assert plan(Sequence(views=1, share=1), n=2)[0].tolist() == [True, True]


def test_what_is_not_said_has_a_value_of_its_own():
    """Defaults are promises: experiments that were written leave them out."""
    same_text(str(one(**needed).recipe) for one, needed in NEEDED.items())


NEEDED = {Onset: {"at": 3}, Ramp: {"end": 9}, Recurring: {}, Bursts: {}, Sequence: {}}
"""What each schedule has no default for."""


def test_a_schedule_has_no_end():
    for schedule in EVERY.values():
        assert len(list(islice(schedule.stretches(0), 30))) == 30
