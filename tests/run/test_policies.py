"""Policies in a stream: truth tables by hand, and the same answers whatever the batches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm import registry
from farm.api import Cancel, Observation, Verdict
from farm.errors import ParameterError, UnknownNameError
from farm.run.policies import Hysteresis, Latching, MOutOfN
from tests.wording import refused


def cancelled(policy, margins, tracks=None, sizes=None):
    """Let a policy decide on scores around a threshold of 0, batch by batch; x marks a cancellation."""
    margins = np.asarray(margins, dtype=float)
    tracks = None if tracks is None else np.array(list(tracks), dtype=str)
    sizes = [len(margins)] if sizes is None else sizes
    assert sum(sizes) == len(margins)
    told, start = [], 0
    for size in sizes:
        rows = slice(start, start + size)
        verdict = Verdict(margins[rows], margins[rows] > 0, 0, 0.0)
        seen = Observation(
            ids=np.array([str(i) for i in range(size)]),
            images=np.zeros((size, 1, 1, 1), np.float32),
            probabilities=np.ones((size, 1)),
            predicted=np.zeros(size, np.int64),
            confidence=np.ones(size),
            track=None if tracks is None else tracks[rows],
        )
        made = policy.decide(verdict, seen)
        assert made.dtype == np.bool_
        told += made.tolist()
        start += size
    return "".join("x" if one else "." for one in told)


def alarms(text):
    """Return margins: x is an alarm, . is none."""
    return [0.5 if letter == "x" else -0.5 for letter in text]


# Truth tables ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("m", "n", "alarm", "expected"),
    [
        (1, 1, "x..x.", "x..x."),
        (1, 3, "x....x.", "xxx..xx"),
        (2, 2, ".xx.x.xx", "..x....x"),
        (2, 3, "x.x..xx.", "..x...xx"),
        (3, 3, "xxxx.xxx", "..xx...x"),
        (2, 5, "x...xx.....", "....xxxxx.."),
    ],
)
def test_m_of_n_cancels_while_enough_of_the_latest_had_an_alarm(m, n, alarm, expected):
    assert cancelled(MOutOfN(m=m, n=n), alarms(alarm)) == expected


@pytest.mark.parametrize(
    ("begin", "end", "alarm", "expected"),
    [
        (1, 1, "x..xx.", "x..xx."),
        (2, 1, "x.xxx.xx.", "...xx..x."),
        (1, 2, "x.x..x...", "xxxx.xx.."),
        (2, 3, "xx..x..x...xx", ".xxxxxxxxx..x"),
        (3, 2, "xx.xxx.x..xx.", ".....xxxx...."),
    ],
)
def test_hysteresis_begins_after_alarms_in_a_row_and_ends_after_quiet_in_a_row(begin, end, alarm, expected):
    assert cancelled(Hysteresis(begin=begin, end=end), alarms(alarm)) == expected


def test_quiet_is_so_much_below_the_threshold():
    #          alarm, then no alarm but not quiet, at the margin (quiet), and beyond
    margins = [0.1, -0.1, -0.24, -0.25, -0.1, -0.25, -0.3]
    assert cancelled(Hysteresis(begin=1, end=2, margin=0.25), margins) == "xxxxxx."
    assert cancelled(Hysteresis(begin=1, end=2), margins) == "xx....."
    assert cancelled(Hysteresis(begin=1, end=1, margin=0.25), margins) == "xxx...."


def test_what_is_neither_alarm_nor_quiet_breaks_a_row_of_alarms():
    assert cancelled(Hysteresis(begin=2, end=1, margin=0.5), [0.1, -0.1, 0.1, 0.1]) == "...x"


def test_a_score_on_the_threshold_is_no_alarm_and_quiet():
    assert cancelled(Hysteresis(begin=1, end=1), [0.5, 0.0]) == "x."


@pytest.mark.parametrize(
    ("alarm", "expected"), [("..x..x.", "..xxxxx"), ("...", "..."), ("x", "x"), ("", "")]
)
def test_latching_never_lets_go(alarm, expected):
    assert cancelled(Latching(), alarms(alarm)) == expected


# Tracks and streams ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "arguments", "stream", "track", "alone"),
    [
        (MOutOfN, {"m": 2, "n": 3}, ".xx..xx", ".xx..x.", "......."),
        (Hysteresis, {"begin": 2, "end": 2}, ".xx..xx", ".xx..x.", "......."),
        (Latching, {}, "xxxxxxx", "xxx.xxx", "xx..xxx"),
    ],
)
def test_within_a_track_memory_begins_anew_where_the_track_changes(policy, arguments, stream, track, alone):
    margins, tracks = alarms("xx..xxx"), "aaabbba"
    assert cancelled(policy(**arguments), margins, tracks) == stream
    assert cancelled(policy(**arguments, within="stream"), margins, tracks) == stream
    assert cancelled(policy(**arguments, within="track"), margins, tracks) == track
    # An instance without a track stands alone.
    assert cancelled(policy(**arguments, within="track"), margins) == alone
    assert cancelled(policy(**arguments, within="stream"), margins) == stream


MAKERS = [
    lambda within: MOutOfN(m=2, n=4, within=within),
    lambda within: Hysteresis(begin=2, end=3, margin=0.25, within=within),
    lambda within: Latching(within=within),
    lambda within: Cancel(),
]


@pytest.mark.parametrize("within", ["stream", "track"])
@pytest.mark.parametrize("make", MAKERS)
def test_after_a_reset_a_policy_is_as_new(make, within):
    rng = np.random.default_rng(0)
    policy, margins, tracks = make(within), [-0.5, *rng.normal(size=40)], "a" * 41
    first = cancelled(policy, margins, tracks)
    assert "x" in first
    assert cancelled(policy, [0.5, 0.5, 0.5], "aaa").endswith("x")
    policy.reset()
    assert cancelled(policy, margins, tracks) == first


@given(st.data())
def test_decisions_do_not_depend_on_how_the_stream_is_cut_into_batches(data):
    make = data.draw(st.sampled_from(MAKERS))
    within = data.draw(st.sampled_from(["stream", "track"]))
    margins = data.draw(st.lists(st.sampled_from([-0.5, -0.25, -0.1, 0.0, 0.5]), max_size=40))
    tracks = data.draw(st.text("ab", min_size=len(margins), max_size=len(margins)))
    cuts = data.draw(st.lists(st.integers(0, len(margins)), max_size=8).map(sorted))
    sizes = np.diff([0, *cuts, len(margins)]).tolist()
    tracks = data.draw(st.sampled_from([tracks, None]))
    whole = cancelled(make(within), margins, tracks)
    assert cancelled(make(within), margins, tracks, sizes) == whole
    assert cancelled(make(within), margins, tracks, [1] * len(margins)) == whole


@given(st.lists(st.booleans(), max_size=60), st.integers(1, 6), st.integers(0, 6))
def test_m_of_n_is_a_rolling_count(alarm, m, more):
    n = m + more
    expected = "".join("x" if sum(alarm[max(i - n + 1, 0) : i + 1]) >= m else "." for i in range(len(alarm)))
    assert cancelled(MOutOfN(m=m, n=n), np.where(alarm, 1.0, -1.0)) == expected


@given(st.lists(st.floats(-1, 1), max_size=40))
def test_the_smallest_memory_is_none(margins):
    plain = cancelled(Cancel(), margins)
    assert cancelled(MOutOfN(m=1, n=1), margins) == plain
    assert cancelled(Hysteresis(begin=1, end=1), margins) == plain


@given(st.lists(st.floats(-1, 1), max_size=60), st.integers(1, 4), st.integers(1, 4))
def test_hysteresis_is_a_machine_of_two_states(margins, begin, end):
    """Each state looks back over the latest instances, since it was entered."""
    told, cancelling, since = [], False, 0
    for i, _ in enumerate(margins):
        if cancelling:
            row = margins[max(i - end + 1, since) : i + 1]
            turn = len(row) == end and all(margin <= 0 for margin in row)
        else:
            row = margins[max(i - begin + 1, since) : i + 1]
            turn = len(row) == begin and all(margin > 0 for margin in row)
        if turn:
            cancelling, since = not cancelling, i + 1
        told.append("x" if cancelling else ".")
    assert cancelled(Hysteresis(begin=begin, end=end), margins) == "".join(told)


# Names and parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "arguments"),
    [
        ("m-of-n", {"m": 6, "n": 5}),
        ("m-of-n", {"m": 0, "n": 5}),
        ("m-of-n", {"m": 1, "n": 0}),
        ("m-of-n", {"m": 2.0, "n": 5}),
        ("m-of-n", {"m": 2}),
        ("m-of-n", {"m": 2, "n": 5, "within": "tracks"}),
        ("hysteresis", {"begin": 0, "end": 1}),
        ("hysteresis", {"begin": 1, "end": 0}),
        ("hysteresis", {"begin": 1, "end": 1, "margin": -0.1}),
        ("latching", {"within": "x"}),
        ("cancel", {"m": 1}),
    ],
)
def test_a_bad_parameter_is_told(policy, arguments):
    with refused(ParameterError):
        registry.policy(policy, **arguments)


def test_policies_go_by_name():
    assert list(registry.entries("policy")) == [
        *("adwin", "cancel", "cusum", "ewma", "hysteresis"),
        *("latching", "m-of-n", "martingale", "page-hinkley"),
    ]
    made = registry.policy("m-of-n", m=2, n=5)
    assert made.recipe == {"name": "m-of-n", "m": 2, "n": 5, "within": "stream"}
    assert MOutOfN(m=2, n=5).recipe == made.recipe
    assert type(registry.policy("m_of_n", m=1, n=1)) is MOutOfN
    with refused(UnknownNameError):
        registry.policy("hysterisis")
