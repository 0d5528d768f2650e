"""The order in which tracks are taken, and what each sums up to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from farm.statistics.anytime import BettingSequence, Tracks
from tests.statistics.anytime.streams import ever_wrong


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.floats(0, 1)), max_size=30))
def test_tracks_are_summed_up_in_the_order_of_the_stream_or_by_lot(rows):
    track = np.array([track for track, _ in rows], dtype=str)
    values = np.array([value for _, value in rows], dtype=np.float64)
    found, own = Tracks(track), list(dict.fromkeys(track.tolist()))
    taken = list(dict.fromkeys(track[found.rows].tolist()))
    assert found.alternate == (sorted(track.tolist(), key=own.index) != track.tolist())
    assert sorted(taken) == sorted(own)
    assert found.alternate or taken == own
    assert found.sizes.tolist() == [track.tolist().count(name) for name in taken]
    assert found.sums(values) == pytest.approx([values[track == name].sum() for name in taken])
    assert found.means(values) == pytest.approx([values[track == name].mean() for name in taken])


def test_the_lot_is_by_name_and_neither_by_length_nor_by_place():
    """A short track is as often before a long one that began with it as after."""
    before = 0
    for number in range(300):
        names = np.array([f"long {number}", f"short {number}", f"long {number}"])
        taken = names[Tracks(names).rows]
        assert taken[1] == names[0]
        before += taken[0] == names[1]
        again = np.append(names[[0, 1, 0]], f"other {number}")
        kept = again[Tracks(again).rows]
        assert kept[kept != f"other {number}"].tolist() == taken.tolist()
    assert binom.ppf(0.0001, 300, 0.5) <= before <= binom.ppf(0.9999, 300, 0.5)


def test_alarms_that_come_in_tracks_break_the_promise_by_frame_and_keep_it_by_track():
    random, by_frame, tracked = np.random.default_rng(0), 0, 0
    for _ in range(100):
        track = np.repeat(np.arange(100), 10)
        alarms = (random.random(100) < 0.2)[track].astype(float)
        by_frame += any(ever_wrong(BettingSequence(0.9), alarms, 0.2))
        tracked += any(ever_wrong(BettingSequence(0.9), Tracks(track).means(alarms), 0.2))
    assert by_frame > binom.ppf(0.9999, 100, 0.1)
    assert tracked <= binom.ppf(0.9999, 100, 0.1)
