"""One value a track, in the order in which tracks end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from farm.errors import DataError
from farm.statistics.anytime import BettingSequence, by_track
from tests.statistics.anytime.streams import ever_wrong
from tests.wording import refused


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.floats(0, 1)), max_size=30))
def test_it_is_each_tracks_mean_when_its_last_instance_has_come(rows):
    last = {track: at for at, (track, _) in enumerate(rows)}
    expected = [
        np.mean([value for own, value in rows if own == track])
        for track in sorted(last, key=last.__getitem__)
    ]
    track = np.array([track for track, _ in rows], dtype=str)
    assert by_track(np.array([value for _, value in rows]), track) == pytest.approx(np.array(expected))


def test_alarms_that_come_in_tracks_break_the_promise_by_frame_and_keep_it_by_track():
    random, by_frame, tracked = np.random.default_rng(0), 0, 0
    for _ in range(100):
        track = np.repeat(np.arange(100), 10)
        alarms = (random.random(100) < 0.2)[track].astype(float)
        by_frame += any(ever_wrong(BettingSequence(0.9), alarms, 0.2))
        tracked += any(ever_wrong(BettingSequence(0.9), by_track(alarms, track), 0.2))
    assert by_frame > binom.ppf(0.9999, 100, 0.1)
    assert tracked <= binom.ppf(0.9999, 100, 0.1)


def test_values_without_a_track_are_refused():
    with refused(DataError):
        by_track(np.ones(3), np.array([1, 2]))
