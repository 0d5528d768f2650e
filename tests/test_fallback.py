"""What takes a cancelled decision's place, and what that costs."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.api import Observation
from farm.errors import ComponentFailure
from farm.fallback import MOST_TRACKS, LastAccepted, NoFallback, SecondClassifier
from farm.testing.fakes import FakeClassifier


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


def decide(fallback, cancelled, predicted, tracks=None):
    made = fallback.decide(np.array([c == "x" for c in cancelled], dtype=bool), seen(predicted, tracks))
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
    assert decide(LastAccepted(), "x.xx.x", [7, 3, 4, 5, 6, 8]) == [-1, 3, 3, 3, 6, 6]


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
    rows = data.draw(st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.sampled_from("abc"))))
    fallback, told, last = LastAccepted(), [], {}
    cuts = [0, *data.draw(st.lists(st.integers(0, len(rows)), max_size=6).map(sorted)), len(rows)]
    for start, stop in pairwise(cuts):
        part = rows[start:stop]
        letters = "".join("x" if c else "." for c, _, _ in part)
        told += decide(fallback, letters, [p for _, p, _ in part], [t for *_, t in part])
    expected = []
    for one, predicted, track in rows:
        if not one:
            last[track] = predicted
        expected.append(last.get(track, -1))
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


def test_a_second_classifier_runs_only_for_batches_in_which_something_was_cancelled():
    classifier = second()
    fallback = SecondClassifier(classifier)
    assert decide(fallback, "...", [0, 1, 2]) == [0, 1, 2]
    assert (classifier.calls, fallback.batches, fallback.instances) == (0, 0, 0)
    decide(fallback, "..x", [0, 1, 2])
    decide(fallback, "x", [0])
    assert (classifier.calls, fallback.batches, fallback.instances) == (2, 2, 4)


def test_a_second_classifier_looks_at_a_batch_once_for_all_monitors_and_again_at_the_next():
    classifier = second()
    fallback = SecondClassifier(classifier)
    one, other = seen([0, 2]), seen([0, 2])
    for observation in (one, one, other, other):
        for cancelled in ([True, False], [False, True]):
            made = fallback.decide(np.array(cancelled), observation)
            assert made.tolist() == np.where(cancelled, 1, [0, 2]).tolist()
    assert classifier.calls == 2


def test_a_second_classifier_is_timed_alone_and_forgets_with_the_stream(monkeypatch):
    clock = iter(range(0, 10**9, 8000))
    monkeypatch.setattr("farm.fallback.time", SimpleNamespace(perf_counter_ns=lambda: next(clock)))
    fallback = SecondClassifier(second())
    assert fallback.mean_time_us is None
    decide(fallback, "xx", [0, 0])
    assert fallback.mean_time_us == 4.0
    decide(fallback, "x.xxxx", [0] * 6)
    assert fallback.mean_time_us == 2.0
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
    with pytest.raises(ComponentFailure, match="classifier 'broken' returned shape"):
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
    assert (told["batches"], told["instances"]) == (1, 2)
    assert told["mean_time_us"] > 0
