"""A full disk that somebody meets is the machine's fault, whoever met it and whatever they made of it."""

from __future__ import annotations

import errno

import numpy as np
import pytest

from farm.api import Cancel
from farm.errors import ComponentFailure, StorageError, is_full_disk
from farm.fitting import fit_monitors
from farm.run_record import cannot_tell
from farm.sut import SystemUnderTest
from farm.testbed import Testbed
from farm.testing.fakes import FakeMonitor


def full(number=errno.ENOSPC):
    raise OSError(number, "the disk is full")


def wrapped():
    """Fail as libraries do that clean up after the disk's error, and meet another."""
    try:
        full()
    finally:
        raise RuntimeError("unexpected position")


def broken():
    raise OSError(errno.EIO, "the disk is broken")


FULL = [full, lambda: full(errno.EDQUOT), wrapped]


def error_of(function):
    with pytest.raises((OSError, RuntimeError, ComponentFailure)) as caught:
        function()
    return caught.value


@pytest.mark.parametrize("function", FULL)
def test_a_full_disk_is_seen_behind_what_was_made_of_it(function):
    assert is_full_disk(error_of(function))


def test_what_no_traceback_shows_is_not_behind_an_error():
    def told_apart():
        try:
            full()
        except OSError:
            raise ComponentFailure("it has nothing to do with it") from None

    assert not is_full_disk(error_of(told_apart))
    assert not is_full_disk(error_of(broken))
    assert is_full_disk(StorageError("it is gone"))


def test_errors_that_name_each_other_come_to_an_end():
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    assert not is_full_disk(one)


@pytest.mark.parametrize("function", FULL)
def test_a_fit_that_meets_a_full_disk_ends_all(tiny, classifier, function):
    monitors = [FakeMonitor(name="a"), FakeMonitor(name="b", fit=lambda _: function())]
    with pytest.raises(StorageError, match=r"monitor 'b' failed in fit: .*(full|position)"):
        fit_monitors(monitors, classifier, tiny)


def test_any_other_error_is_the_monitors_own(tiny, classifier):
    failures = fit_monitors([FakeMonitor(name="b", fit=lambda _: broken())], classifier, tiny)
    assert failures == {"b": "monitor 'b' failed in fit: OSError: [Errno 5] the disk is broken"}


def steps(tiny, classifier, monitor, **around):
    system = SystemUnderTest(classifier, [monitor], **around)
    list(system.steps(Testbed().stream(tiny, classifier, order="sequential", length=4)))
    return system.failures


@pytest.mark.parametrize("function", FULL)
def test_a_score_that_meets_a_full_disk_ends_all(tiny, classifier, function):
    monitor = FakeMonitor(name="b", fixed_threshold=0.0)
    assert fit_monitors([monitor], classifier, tiny) == {}
    monitor._score_with = lambda _: function()
    with pytest.raises(StorageError, match=r"^monitor 'b' failed in score: .* \(in the batch that begins"):
        steps(tiny, classifier, monitor)
    monitor._score_with = lambda _: broken()
    assert "the disk is broken" in steps(tiny, classifier, monitor)["b"]


def test_so_does_a_policy_and_what_takes_the_decisions_place(tiny, classifier):
    class Policy(Cancel):
        def decide(self, verdict, observation):
            full()

    class Fallback:
        def decide(self, cancelled, observation, alarms=None):
            full()

    monitor = FakeMonitor(name="b", score=lambda o: np.zeros(len(o)))
    assert fit_monitors([monitor], classifier, tiny) == {}
    for whose, around in (
        ("policy", {"policies": {"b": Policy()}}),
        ("fallback", {"fallbacks": {"b": Fallback()}}),
    ):
        with pytest.raises(StorageError, match=f"monitor 'b': its {whose} failed: .*the disk is full"):
            steps(tiny, classifier, monitor, **around)


def test_so_does_what_a_monitor_notes(tiny, classifier):
    class Noting(FakeMonitor):
        def notes(self):
            return self.noted()

    monitor = Noting(name="b")
    monitor.noted = dict
    assert fit_monitors([monitor], classifier, tiny) == {}
    monitor.noted = full
    with pytest.raises(StorageError, match=r"monitor 'b' failed in its notes: .*the disk is full"):
        cannot_tell(monitor)
    monitor.noted = broken
    assert "the disk is broken" in cannot_tell(monitor)
