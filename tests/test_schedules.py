"""When faults come: each schedule against its definition, without end and without a memory."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from farm import registry
from farm.errors import ParameterError
from farm.schedules import STRETCH, Bursts, Onset, Ramp, Recurring, Sequence
from tests.wording import refused


def plan(schedule, n=4 * STRETCH, seed=0):
    """Give is_ood, intensity and episode of the first n instances."""
    parts, held = [], 0
    for stretch in schedule.stretches(seed):
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
    assert not np.array_equal(first[0], other[0]) or name == "recurring"


@pytest.mark.parametrize("name", EVERY)
def test_what_is_ood_belongs_to_an_episode_and_episodes_count_up(name):
    is_ood, intensity, episode = plan(EVERY[name])
    assert (episode[is_ood] >= 0).all()
    inside = episode[episode >= 0]
    assert (np.diff(inside) >= 0).all()
    assert ((intensity >= 0) & (intensity <= 1)).all()


def test_an_onset_comes_once_and_stays():
    is_ood, _, episode = plan(Onset(at=1500, share=0.5))
    assert not is_ood[:1500].any()
    assert (episode[:1500] == -1).all()
    assert (episode[1500:] == 0).all()
    assert is_ood[1500:].mean() == pytest.approx(0.5, abs=0.04)


def test_a_ramp_of_the_share_grows():
    is_ood, intensity, episode = plan(Ramp(begin=0, end=4000))
    quarters = [part.mean() for part in np.split(is_ood[:4000], 4)]
    assert quarters == sorted(quarters)
    assert quarters[0] == pytest.approx(0.125, abs=0.04)
    assert (intensity == 1).all()
    assert (episode == 0).all()


def test_a_ramp_of_the_severity_is_ood_from_its_beginning():
    is_ood, intensity, _ = plan(Ramp(begin=10, end=110, of="severity"), n=200)
    assert is_ood.tolist() == [False] * 10 + [True] * 190
    np.testing.assert_allclose(intensity[10:110], np.arange(1, 101) / 100)
    assert (intensity[110:] == 1).all()


def test_recurring_faults_keep_their_period():
    is_ood, _, episode = plan(Recurring(period=50, burst=5), n=500)
    onsets = np.flatnonzero(np.diff(np.concatenate([[-1], episode])) > 0)
    assert onsets.tolist() == list(range(45, 500, 50))
    assert is_ood.sum() == 50


def test_bursts_have_the_lengths_asked_for_on_average():
    is_ood, _, episode = plan(Bursts(gap=40, burst=15), n=60 * STRETCH)
    lengths = np.bincount(episode[episode >= 0])[:-1]
    gaps = (~is_ood).sum() / len(lengths)
    assert lengths.mean() == pytest.approx(15, rel=0.1)
    assert gaps == pytest.approx(40, rel=0.1)
    assert lengths.min() == 1
    assert lengths.max() > 40


def test_views_of_one_object_are_alike():
    is_ood, _, episode = plan(Sequence(views=7, share=0.3), n=700)
    objects = is_ood.reshape(-1, 7)
    assert (objects == objects[:, :1]).all()
    assert objects[:, 0].mean() == pytest.approx(0.3, abs=0.12)
    assert (episode.reshape(-1, 7) == episode.reshape(-1, 7)[:, :1]).all()


@pytest.mark.parametrize(
    ("schedule", "arguments"),
    [
        (Onset, {"at": -1}),
        (Onset, {"at": 1, "share": 0}),
        (Ramp, {"begin": 5, "end": 5}),
        (Ramp, {"end": 5, "of": "speed"}),
        (Recurring, {"period": 10, "burst": 10}),
        (Bursts, {"gap": 0}),
        (Sequence, {"views": 0}),
    ],
)
def test_wrong_parameters_are_told(schedule, arguments):
    with refused(ParameterError):
        schedule(**arguments)


def test_a_schedule_has_no_end():
    for schedule in EVERY.values():
        assert len(list(islice(schedule.stretches(0), 30))) == 30
