"""What takes a cancelled decision's place, and what that costs."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.api import Observation
from farm.errors import ComponentFailure
from farm.run.fallback import MOST_TRACKS, LastAccepted, NoFallback, SecondClassifier
from farm.testing.fakes import FakeClassifier
from tests.wording import refused


def seen(predicted, tracks=None):
    n = len(predicted)
    return Observation(
        ids=np.array([str(i) for i in range(n)]),
        images=np.full((n, 1, 2, 2), 0.5, np.float32),
        probabilities=np.ones((n, 1)),
        predicted=np.array(predicted, dtype=np.int64),
        confidence=np.ones(n),
        track=None if tracks is None else np.array(list(tracks), dtype=str),
    )


def flags(text):
    return np.array([letter == "x" for letter in text], dtype=bool)


def decide(fallback, cancelled, predicted, tracks=None, alarms=None):
    """Let a fallback decide; x marks what is cancelled, and what has an alarm."""
    told = () if alarms is None else (flags(alarms),)
    made = fallback.decide(flags(cancelled), seen(predicted, tracks), *told)
    assert made.dtype == np.int64
    return made.tolist()


def second(class_=1, **arguments):
    def probabilities(images):
        return np.tile(np.eye(3)[class_], (len(images), 1))

    return FakeClassifier(probabilities, ("a", "b", "c"), **{"name": "second", **arguments})


# None, and the last accepted -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cancelled", "expected"), [("...", [2, 0, 1]), ("x.x", [-1, 0, -1]), ("xxx", [-1, -1, -1]), ("", [])]
)
def test_without_a_fallback_a_cancelled_decision_is_none(cancelled, expected):
    assert decide(NoFallback(), cancelled, [2, 0, 1][: len(cancelled)]) == expected


def test_the_last_accepted_decision_stays_until_there_is_another():
    assert decide(LastAccepted(), "x.xx.x", [7, 3, 4, 5, 6, 8], "aaaaaa") == [-1, 3, 3, 3, 6, 6]


def test_an_instance_without_a_track_has_nothing_before_it():
    fallback = LastAccepted()
    assert decide(fallback, ".", [4], "a") == [4]
    assert decide(fallback, "..x.x", [7, 3, 4, 5, 6]) == [7, 3, -1, 5, -1]
    assert decide(fallback, "x", [9], "a") == [4], "nor does it come between those that have one"
    assert decide(LastAccepted(), "", []) == []


@pytest.mark.parametrize(
    ("cancelled", "alarms", "expected"),
    [
        # A policy lets the second alarm pass: its decision stands, and is not recalled.
        ("..x", ".x.", [1, 2, 1]),
        (".x", "xx", [1, -1]),
        # Cancelled without an alarm, as a policy with a memory does.
        (".x.x", "....", [1, 1, 3, 3]),
        ("....", "xxxx", [1, 2, 3, 4]),
    ],
)
def test_a_decision_that_had_an_alarm_is_not_recalled(cancelled, alarms, expected):
    n = len(cancelled)
    assert decide(LastAccepted(), cancelled, [1, 2, 3, 4][:n], "a" * n, alarms) == expected


def test_the_last_accepted_decision_is_of_the_same_track():
    assert decide(LastAccepted(), "..xxx.x", [1, 2, 9, 9, 9, 3, 9], "abbacab") == [1, 2, 2, 1, -1, 3, 2]


def test_what_was_accepted_in_an_earlier_batch_counts():
    fallback = LastAccepted()
    assert decide(fallback, "..", [1, 2], "ab") == [1, 2]
    assert decide(fallback, "xx", [9, 9], "ba") == [2, 1]
    fallback.reset()
    assert decide(fallback, "xx", [9, 9], "ba") == [-1, -1]


@given(st.data())
def test_the_last_accepted_decision_does_not_depend_on_the_batches(data):
    row = st.tuples(st.booleans(), st.integers(0, 5), st.sampled_from("abc"), st.booleans())
    rows = data.draw(st.lists(row))
    fallback, told, last = LastAccepted(), [], {}
    cuts = [0, *data.draw(st.lists(st.integers(0, len(rows)), max_size=6).map(sorted)), len(rows)]
    for start, stop in pairwise(cuts):
        part = rows[start:stop]
        letters, alarms = ("".join("x" if one[i] else "." for one in part) for i in (0, 3))
        told += decide(fallback, letters, [one[1] for one in part], [one[2] for one in part], alarms)
    expected = []
    for one, predicted, track, alarm in rows:
        if not one and not alarm:
            last[track] = predicted
        expected.append(last.get(track, -1) if one else predicted)
    assert told == expected


def test_memory_is_bounded_to_the_latest_tracks():
    fallback = LastAccepted()
    n = MOST_TRACKS
    names = [f"t{i}" for i in range(n)]
    decide(fallback, "." * n, list(range(n)), names)
    # The first track is met again and the second is not; then another one comes.
    assert decide(fallback, "x", [9], ["t0"]) == [0]
    assert decide(fallback, ".", [5], ["new"]) == [5]
    assert decide(fallback, "xxxx", [9] * 4, ["t1", "t0", "t2", "new"]) == [-1, 0, 2, 5]
    assert len(fallback._accepted) == n
    decide(fallback, "x" * n, [9] * n, [f"unheard-{i}" for i in range(n)])
    assert len(fallback._accepted) == n, "a track without an accepted decision takes no place"


# A second classifier -------------------------------------------------------------------------------------


def test_a_second_classifier_decides_where_something_was_cancelled():
    assert decide(SecondClassifier(second(2)), "x.x", [0, 1, 1]) == [2, 1, 2]


def looking():
    """Return a classifier that sees the class in an image's first pixel, and what it looks at."""
    looked = []

    def probabilities(images):
        numbers = images[:, 0, 0, 0].astype(int)
        looked.append(numbers.tolist())
        return np.eye(9)[numbers]

    return FakeClassifier(probabilities, tuple("abcdefghi"), name="looking"), looked


def numbered(numbers):
    """Return an observation whose images show these numbers, and in which 0 is predicted."""
    shown = np.array(numbers, np.float32)[:, None, None, None] * np.ones((1, 1, 2, 2), np.float32)
    return replace(seen([0] * len(numbers)), images=shown)


def test_a_second_classifier_looks_only_at_what_was_cancelled():
    classifier, looked = looking()
    fallback = SecondClassifier(classifier)
    assert decide(fallback, "...", [0, 1, 2]) == [0, 1, 2]
    assert (looked, fallback.batches, fallback.instances) == ([], 0, 0)
    assert fallback.decide(flags("..x.x"), numbered([4, 5, 6, 7, 8])).tolist() == [0, 0, 6, 0, 8]
    assert fallback.decide(flags("x"), numbered([3])).tolist() == [3]
    assert looked == [[6, 8], [3]]
    assert (fallback.batches, fallback.instances) == (2, 3)


def test_a_second_classifier_looks_once_at_what_it_was_told_that_it_will_be_asked():
    classifier, looked = looking()
    fallback = SecondClassifier(classifier)
    for observation in (numbered([1, 2, 3, 4]), numbered([1, 2, 3, 4])):
        for cancelled in ("x...", "x.x.", "...."):
            fallback.announce(flags(cancelled), observation)
        assert fallback.decide(flags("x..."), observation).tolist() == [1, 0, 0, 0]
        assert fallback.decide(flags("x.x."), observation).tolist() == [1, 0, 3, 0]
        assert fallback.decide(flags("...."), observation).tolist() == [0] * 4
    assert looked == [[1, 3]] * 2


def test_a_second_classifier_never_looks_at_an_instance_twice():
    classifier, looked = looking()
    fallback, observation = SecondClassifier(classifier), numbered([1, 2, 3, 4])
    for cancelled in ("x...", "x.x.", "xxxx", ".x.x"):
        expected = [i + 1 if letter == "x" else 0 for i, letter in enumerate(cancelled)]
        assert fallback.decide(flags(cancelled), observation).tolist() == expected
    assert looked == [[1], [3], [2, 4]]
    assert (fallback.batches, fallback.instances) == (3, 4)


def test_what_was_decided_before_does_not_change_when_more_is_asked():
    fallback, observation = SecondClassifier(looking()[0]), numbered([1, 2])
    first = fallback.decide(flags("x."), observation)
    fallback.decide(flags(".x"), observation)
    assert first.tolist() == [1, 0]


def test_a_second_classifier_is_timed_alone_and_forgets_with_the_stream(monkeypatch):
    clock = iter(range(0, 10**9, 8000))
    monkeypatch.setattr("farm.run.fallback.time", SimpleNamespace(perf_counter_ns=lambda: next(clock)))
    fallback = SecondClassifier(second())
    assert fallback.mean_time_us is None
    decide(fallback, "xx", [0, 0])
    assert fallback.mean_time_us == 4.0
    decide(fallback, "x.x", [0] * 3)
    assert fallback.mean_time_us == 4.0
    decide(fallback, "x.xxxx...", [0] * 9)
    assert fallback.mean_time_us == pytest.approx(24 / 9)
    fallback.reset()
    assert (fallback.batches, fallback.instances, fallback.mean_time_us) == (0, 0, None)


def test_after_a_reset_the_same_batch_is_looked_at_again():
    classifier = second()
    fallback, observation = SecondClassifier(classifier), seen([0])
    fallback.decide(np.array([True]), observation)
    fallback.reset()
    fallback.decide(np.array([True]), observation)
    assert classifier.calls == 2


def test_a_second_classifier_that_fails_says_who():
    broken = FakeClassifier(lambda images: images.mean(), ("a", "b"), name="broken")
    with refused(ComponentFailure):
        decide(SecondClassifier(broken), "x", [0])


def test_records_tell_who_takes_a_decisions_place():
    assert (NoFallback().record(), LastAccepted().record()) == ({"name": "none"}, {"name": "last"})
    classifier = second()
    fallback = SecondClassifier(classifier)
    assert fallback.record() == {
        "name": "second",
        "recipe": None,
        "digest": classifier.digest,
        "nbytes": 0,
        "batches": 0,
        "instances": 0,
        "mean_time_us": None,
    }
    classifier.recipe = {"name": "second", "width": 3}
    decide(fallback, "x.", [0, 0])
    told = fallback.record()
    assert told["recipe"] == {"name": "second", "width": 3}
    assert (told["batches"], told["instances"]) == (1, 1)
    assert told["mean_time_us"] > 0
