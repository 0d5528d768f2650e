"""How episodes are noticed: planted signals by hand, and any signals as a plain walk finds them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from farm.judging.live import Noticing
from farm.measures.delays import Outcome
from farm.measures.episodes import Episodes, begun

#                    0   1  2  3  4   5  6  7   8  9 10
EPISODE = np.array([-1, -1, 0, 0, 0, -1, 1, 1, -1, 2, 2])


def told(*signals: int, episode=EPISODE, is_ood=EPISODE >= 0) -> list[int | str]:
    return Episodes(episode, is_ood).noticed(np.isin(np.arange(len(episode)), signals)).told


@pytest.mark.parametrize(
    ("signals", "expected"),
    [
        ((2, 7, 10), [0, 1, 1]),
        ((4, 6), [2, 0, "open"]),
        ((), ["missed", "missed", "open"]),
        ((3, 4, 6, 7, 9, 10), [1, 0, 0]),  # the first alone counts
        ((1, 2, 5, 7), ["standing", 1, "open"]),  # at 5 it had stood, but not at the onset any more
        ((1, 3), [1, "missed", "open"]),
        ((5, 8), ["after", "after", "open"]),
        (tuple(range(11)), ["standing"] * 3),
    ],
)
def test_planted_signals_by_hand(signals, expected):
    assert told(*signals) == expected


def test_an_onset_is_the_first_ood_instance_of_an_episode():
    # Within an episode at a share below 1 not every instance is OOD; before the first, nothing is wrong yet.
    episode, is_ood = np.array([0, 0, 0, 0, 1, 1, -1]), np.array([0, 1, 0, 1, 0, 0, 0]) > 0
    episodes = Episodes(episode, is_ood)
    assert (episodes.onset.tolist(), episodes.end.tolist(), episodes.empty) == ([1], [4], 1)
    by_signals = {at: told(at, episode=episode, is_ood=is_ood)[0] for at in range(7)}
    assert by_signals == {0: "missed", 1: 0, 2: "on ID", 3: 2, 4: "after", 5: "missed", 6: "missed"}
    assert told(0, 1, episode=episode, is_ood=is_ood) == ["standing"]
    assert told(2, 3, episode=episode, is_ood=is_ood) == ["on ID"]
    assert begun(episode, is_ood).tolist() == [-1, 0, 0, 0, -1, -1, -1]


def test_an_episode_that_begins_at_once_ends_the_one_before():
    episode = np.array([-1, 0, 0, 1, 1, -1])
    assert told(1, 2, 3, 4, episode=episode, is_ood=episode >= 0) == [0, "standing"]
    # A signal at the next onset is not one after the episode before.
    assert told(3, episode=episode, is_ood=episode >= 0) == ["missed", 0]


def test_a_stream_may_begin_and_end_within_an_episode():
    episode = np.zeros(4, dtype=int)
    assert told(0, episode=episode, is_ood=episode == 0) == [0]
    noticed = Episodes(episode, episode == 0).noticed(episode > 0)
    assert noticed.delays.counts == {(Outcome.OPEN, 4): 1}
    assert np.isnan(noticed.delay).all()


@given(st.integers(0, 10**6), st.floats(0.05, 1))
def test_whoever_alarms_at_ood_alone_notices_every_onset_at_once(seed, share):
    rng = np.random.default_rng(seed)
    episode = np.repeat(np.where(np.arange(12) % 2, np.arange(12) // 2, -1), rng.integers(1, 9, 12))
    is_ood = (episode >= 0) & (rng.random(len(episode)) < share)
    episodes = Episodes(episode, is_ood)
    found = episodes.noticed(is_ood)
    assert (found.delay == 0).all()
    assert found.delays.n == len(np.unique(episode[is_ood]))
    assert episodes.empty == 6 - found.delays.n
    rate = episodes.false_alarms(is_ood).per_1000
    assert rate.value == 0 or not rate.defined


def stretch(number: int):
    rows = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=5)
    return rows.map(lambda own: [(number, *row) for row in own])


STREAMS = st.lists(st.booleans(), max_size=6).flatmap(
    lambda inside: st.tuples(*(stretch(number if faulty else -1) for number, faulty in enumerate(inside)))
)


@given(STREAMS)
@example(([(0, True, False)], [(1, True, True)]))  # missed, and the signal is at the next onset
def test_a_stream_that_is_watched_comes_to_the_same_as_its_table(parts):
    rows = [row for part in parts for row in part]
    columns = [np.array([row[i] for row in rows], dtype=kind) for i, kind in enumerate((int, bool, bool))]
    episode, is_ood, signal = columns
    episodes, watched, met = Episodes(episode, is_ood), Noticing(), set()
    for number, wrong, heard in zip(begun(episode, is_ood).tolist(), is_ood, signal, strict=True):
        onset = number != -1 and number not in met
        met.add(number)
        watched.follow(number, is_ood=bool(wrong), signal=bool(heard), onset=onset)
    assert watched.delays == episodes.noticed(signal).delays


@given(STREAMS)
def test_outcomes_are_those_of_a_plain_walk(parts):
    rows = [row for part in parts for row in part]
    expected = []
    for number in sorted({row[0] for row in rows if row[0] != -1 and row[1]}):
        places = [i for i, row in enumerate(rows) if row[0] == number]
        places = places[next(i for i, place in enumerate(places) if rows[place][1]) :]
        onset, end = places[0], places[-1] + 1
        heard = [i for i in places if rows[i][2]]
        if heard and heard[0] == onset and onset > 0 and rows[onset - 1][2]:
            expected.append("standing")
        elif heard:
            expected.append(heard[0] - onset if rows[heard[0]][1] else "on ID")
        elif end == len(rows):
            expected.append("open")
        else:
            fresh = any(rows[i][0] == rows[end][0] and rows[i][1] for i in range(end + 1))
            quiet = rows[end][0] == -1 or not fresh
            expected.append("after" if rows[end][2] and quiet else "missed")
    columns = [np.array([row[i] for row in rows], dtype=kind) for i, kind in enumerate((int, bool, bool))]
    assert Episodes(*columns[:2]).noticed(columns[2]).told == expected
