"""Tracks stay whole and in their order, wherever they are put."""

from __future__ import annotations

import numpy as np
import pytest

from farm.api.changes import Units

TRACK = np.array(["a", "b", "a", "c", "b", "a"])
WORDS = {"025": "x", "14": "y", "3": "z"}


def words(rows: np.ndarray) -> str:
    """Write a letter for each whole track."""
    text = "".join(map(str, rows.tolist()))
    for rows_of_one, letter in WORDS.items():
        text = text.replace(rows_of_one, letter)
    return text


def test_tracks_come_whole_and_in_their_order() -> None:
    units, chance = Units.of(TRACK, 6), np.random.default_rng(0)
    assert [rows.tolist() for rows in units.rows] == [[0, 2, 5], [1, 4], [3]]
    orders = {words(units.shuffled(chance)) for _ in range(60)}
    assert orders == {"xyz", "xzy", "yxz", "yzx", "zxy", "zyx"}
    again = {"".join(sorted(words(units.resampled(chance)))) for _ in range(200)}
    assert again == {"xxx", "xxy", "xxz", "xyy", "xyz", "xzz", "yyy", "yyz", "yzz", "zzz"}


def test_streams_are_of_any_length_and_each_track_is_as_likely() -> None:
    drawn = Units.of(TRACK, 6).drawn(np.random.default_rng(0), 6000)
    assert len(drawn) == 6000
    assert set(words(drawn)[:-1]) == {"x", "y", "z"}
    assert np.bincount(drawn) == pytest.approx(1000, rel=0.15)
    assert len(Units.of(TRACK, 6).drawn(np.random.default_rng(0), 1)) == 1


def test_without_tracks_each_instance_stands_alone() -> None:
    units = Units.of(None, 4)
    assert sorted(units.shuffled(np.random.default_rng(0)).tolist()) == [0, 1, 2, 3]
    assert set(units.drawn(np.random.default_rng(0), 100).tolist()) == {0, 1, 2, 3}


def test_batches_are_joined_where_all_have_tracks() -> None:
    rows = Units.of_batches([TRACK[:4], TRACK[4:]], 6).rows
    assert [one.tolist() for one in rows] == [[0, 2, 5], [1, 4], [3]]
    assert len(Units.of_batches([TRACK[:4], None], 6)) == 6


def test_the_first_of_each_track_is_left() -> None:
    assert [rows.tolist() for rows in Units.of(TRACK, 6).firsts().rows] == [[0], [1], [3]]


@pytest.mark.parametrize("track", [None, np.empty(0, dtype=str)])
def test_of_nothing_there_are_none(track) -> None:
    assert len(Units.of(track, 0)) == 0
    assert len(Units.of(track, 0).shuffled(np.random.default_rng(0))) == 0
