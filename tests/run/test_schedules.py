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
    """Return share, intensity, coming and episode of the first n instances, where one interval is planned."""
    parts, held = [], 0
    for stretch in schedule.stretches(seed):
        assert stretch.share.shape == stretch.intensity.shape == stretch.coming.shape
        assert stretch.share.shape == (len(stretch.episode), 1)
        parts.append(stretch)
        held += len(stretch.episode)
        if held >= n:
            break
    columns = ("share", "intensity", "coming", "episode")
    return tuple(np.concatenate([getattr(p, name) for p in parts])[:n].reshape(n) for name in columns)


EVERY = {
    "onset": Onset(at=1500, share=0.5),
    "ramp": Ramp(begin=100, end=3000),
    "recurring": Recurring(period=70, burst=30, share=0.8),
    "bursts": Bursts(gap=40, burst=15),
    "sequence": Sequence(views=7, share=0.3),
}


def test_every_registered_schedule_is_tested_here():
    assert {*EVERY, "scenario"} == set(registry.entries("schedule")), "scenarios have a file of their own"


@pytest.mark.parametrize("name", EVERY)
def test_the_seed_decides_what_is_drawn_and_nothing_else(name):
    first, again, other = (plan(EVERY[name], seed=seed) for seed in (3, 3, 4))
    for mine, theirs in zip(first, again, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert np.array_equal(first[0], other[0]) == (name != "bursts")


# Definitions, one instance at a time ----------------------------------------------------------------------


def compare(schedule, expected, *, seed=0):
    """Compare a plan with `expected(i)`: the episode, share of OOD, and intensity of instance i."""
    share, intensity, coming, episode = plan(schedule, seed=seed)
    wanted = [expected(i) for i in range(N)]
    assert episode.tolist() == coming.tolist() == [one[0] for one in wanted]
    np.testing.assert_allclose(share, [one[1] for one in wanted], rtol=1e-12)
    np.testing.assert_allclose(intensity, [one[2] for one in wanted], rtol=1e-12)


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
    assert schedule.intervals[0].ramps_severity
    assert not Ramp(begin=begin, end=begin + length, of="share").intervals[0].ramps_severity
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
    rng, episodes, number = generator(seed, "stream", "bursts", 0), [], 0
    while len(episodes) < N:
        episodes += [-1] * int(rng.geometric(1 / gap)) + [number] * int(rng.geometric(1 / burst))
        number += 1
    compare(
        Bursts(gap=gap, burst=burst, share=share),
        lambda i: (episodes[i], share * (episodes[i] >= 0), 1),
        seed=seed,
    )


def test_bursts_have_the_lengths_asked_for_on_average():
    episode = plan(Bursts(gap=40, burst=15), n=60_000)[-1]
    lengths = np.bincount(episode[episode >= 0])[:-1]
    gaps = (episode < 0).sum() / len(lengths)
    assert lengths.mean() == pytest.approx(15, rel=0.1)
    assert gaps == pytest.approx(40, rel=0.1)
    assert lengths.min() == 1
    assert lengths.max() > 40


def test_in_a_sequence_each_object_that_is_faulted_is_an_episode():
    share, intensity, coming, _ = plan(Sequence(views=7, share=0.3))
    assert (set(share), set(intensity), set(coming)) == ({0.3}, {1.0}, {0})
    assert [(one.views, one.each_object) for one in EVERY.values()] == [(None, False)] * 4 + [(7, True)]


def test_what_comes_again_chooses_its_faults_anew():
    again = {name for name, one in EVERY.items() if one.intervals[0].comes_again}
    assert again == {"recurring", "bursts"}


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
    assert plan(Onset(at=0), n=1)[0].tolist() == [1]
    assert plan(Ramp(begin=0, end=1), n=1)[0].tolist() == [1]
    assert plan(Recurring(period=2, burst=1), n=4)[0].tolist() == [0, 1] * 2
    assert plan(Bursts(gap=1, burst=1), n=4)[0].tolist() == [0, 1] * 2
    assert plan(Sequence(views=1, share=1), n=2)[0].tolist() == [1, 1]


def test_what_is_not_said_has_a_value_of_its_own():
    """Defaults are promises: experiments that were written leave them out."""
    same_text(str(one(**needed).recipe) for one, needed in NEEDED.items())


NEEDED = {Onset: {"at": 3}, Ramp: {"end": 9}, Recurring: {}, Bursts: {}, Sequence: {}}
"""What each schedule has no default for."""


def test_a_schedule_has_no_end():
    for schedule in EVERY.values():
        assert len(list(islice(schedule.stretches(0), 30))) == 30
