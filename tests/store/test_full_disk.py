"""A full disk that somebody meets is the machine's fault, whoever met it and whatever they made of it.

Of a component it is believed only where a disk is full.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from farm.api import Cancel, ModelSource
from farm.errors import ComponentFailure, StorageError
from farm.run.fitting import fit_monitors
from farm.run.recorder import cannot_tell
from farm.run.system import SystemUnderTest
from farm.run.testbed import Testbed
from farm.store.full_disk import LEAST, is_full_disk, stop_where_full
from farm.testing.fakes import FakeMonitor
from tests.wording import refused, same_text


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
ROOM = 2**30


@pytest.fixture(autouse=True)
def disks(monkeypatch, tmp_path):
    """Return what is free, by folder: who is in none of them has room."""
    free: dict[Path, dict[str, int]] = {}
    for name in ("temp", "here", "cache", "data"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temp"))
    monkeypatch.setenv("FARM_CACHE", str(tmp_path / "cache/not/there/yet"))
    monkeypatch.chdir(tmp_path / "here")

    def statvfs(path):
        own = next((free[each] for each in (Path(path), *Path(path).parents) if each in free), {})
        told = {
            "f_blocks": 2 * ROOM,
            "f_bavail": ROOM,
            "f_frsize": 1,
            "f_files": 99,
            "f_favail": 9,
            "f_flag": 0,
        }
        return SimpleNamespace(**{**told, "f_bfree": ROOM, **own})

    monkeypatch.setattr(os, "statvfs", statvfs)
    return free


@pytest.fixture
def fills(disks, tmp_path):
    """Let the disk that temporary files go to be full."""
    disks[tmp_path / "temp"] = {"f_bavail": 0}


def error_of(function):
    with pytest.raises((OSError, RuntimeError, ComponentFailure)) as caught:
        function()
    return caught.value


def failed(number=errno.ENOSPC, *names):
    """Return the failure of a component that met an error of the system."""
    failure = ComponentFailure("it failed")
    failure.__cause__ = OSError(number, "no space", *names)
    return failure


def told(error):
    """Return what is told where a component's error ends all; None where it is its own failure."""
    try:
        stop_where_full("m failed", error)
    except StorageError as stopped:
        return str(stopped) if stopped.__cause__ is error else "it has another cause"
    return None


@pytest.mark.parametrize("function", FULL)
def test_a_full_disk_is_seen_behind_what_was_made_of_it(function):
    assert is_full_disk(error_of(function)), "the testbed's own: not looked at"


def test_a_component_is_not_believed_where_all_has_room():
    assert told(failed()) is None
    assert told(failed(errno.ENOSPC, "/nowhere/at/all")) is None
    assert told(error_of(wrapped)) is None
    assert not is_full_disk(failed())


@pytest.mark.parametrize("name", ["temp", "here", "cache"])
def test_the_place_that_is_full_is_named(disks, tmp_path, name):
    disks[tmp_path / name] = {"f_bavail": LEAST - 1}
    expected = f"m failed; the disk of {tmp_path / name} is full (1,048,575 bytes are free)"
    assert told(failed()) == told(error_of(wrapped)) == expected
    assert is_full_disk(failed())
    disks[tmp_path / name] = {"f_bavail": LEAST}
    assert told(failed()) is None


@pytest.mark.parametrize("kind", [str, os.fsencode, Path])
def test_what_the_error_names_comes_first(disks, tmp_path, kind):
    disks[tmp_path / "data"] = disks[tmp_path / "temp"] = {"f_bavail": 0}
    own = failed(errno.ENOSPC, kind(tmp_path / "data/new/file.npy"))
    assert told(own) == f"m failed; the disk of {tmp_path / 'data'} is full (0 bytes are free)"
    other = failed(errno.ENOSPC, kind(tmp_path / "here/a"), None, kind(tmp_path / "data/b"))
    assert "/data is full" in told(other), "of a renaming both ends are looked at"
    assert "/temp is full" in told(failed(errno.ENOSPC, 7)), "a number is no name"


def test_a_disk_may_be_full_of_small_files(disks, tmp_path):
    disks[tmp_path / "here"] = {"f_favail": 0}
    assert (
        told(failed())
        == f"m failed; the disk of {tmp_path / 'here'} is full (no other file has room, however small)"
    )
    disks[tmp_path / "here"] = {"f_favail": 0, "f_files": 0}
    assert told(failed()) is None, "that file system does not count them"


@pytest.mark.parametrize("kind", [{"f_blocks": 0, "f_bfree": 0}, {"f_flag": os.ST_RDONLY}])
def test_where_nothing_is_ever_written_nothing_is_full(disks, tmp_path, kind):
    disks[tmp_path / "here"] = {"f_bavail": 0, **kind}
    assert told(failed()) is None


def test_what_cannot_be_looked_at_does_not_hide_the_next(disks, tmp_path, monkeypatch, fills):
    (tmp_path / "here").rmdir()
    monkeypatch.setattr(shutil, "disk_usage", told_of(tmp_path / "data", shutil.disk_usage))
    assert "/temp is full" in told(failed(errno.ENOSPC, str(tmp_path / "data/file")))
    assert told(failed(errno.ENOSPC, "a\0b")) is not None


def told_of(hidden, usage):
    """Let a folder be one that nothing is told of."""

    def told(path):
        if path == hidden:
            raise PermissionError(errno.EACCES, "hidden")
        return usage(path)

    return told


def test_a_quota_is_believed_and_so_is_the_testbed():
    assert told(failed(errno.EDQUOT)) == "m failed"
    own = ComponentFailure("it failed")
    own.__cause__ = StorageError("cannot write x")
    assert told(own) == "m failed"
    assert is_full_disk(own)
    assert told(failed(errno.EIO)) is None


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
def test_a_fit_that_meets_a_full_disk_ends_all(tiny, classifier, function, fills):
    monitors = [FakeMonitor(name="a"), FakeMonitor(name="b", fit=lambda _: function())]
    with refused(StorageError):
        fit_monitors(monitors, classifier, tiny)


@pytest.mark.parametrize("function", [full, wrapped])
def test_a_fit_is_not_believed_where_all_has_room(tiny, classifier, function):
    failures = fit_monitors([FakeMonitor(name="b", fit=lambda _: function())], classifier, tiny)
    same_text(failures["b"])


def test_any_other_error_is_the_monitors_own(tiny, classifier):
    failures = fit_monitors([FakeMonitor(name="b", fit=lambda _: broken())], classifier, tiny)
    assert failures == {"b": "monitor 'b' failed in fit: OSError: [Errno 5] the disk is broken"}


def steps(tiny, classifier, monitor, **around):
    system = SystemUnderTest(classifier, [monitor], **around)
    list(system.steps(Testbed().stream(tiny, classifier, order="sequential", length=4)))
    return system.failures


@pytest.mark.parametrize("function", FULL)
def test_a_score_that_meets_a_full_disk_ends_all(tiny, classifier, function, fills):
    monitor = FakeMonitor(name="b", fixed_threshold=0.0)
    assert fit_monitors([monitor], classifier, tiny) == {}
    monitor._score_with = lambda _: function()
    with refused(StorageError):
        steps(tiny, classifier, monitor)
    monitor._score_with = lambda _: broken()
    same_text(steps(tiny, classifier, monitor)["b"])


def test_a_score_is_not_believed_where_all_has_room(tiny, classifier):
    monitor = FakeMonitor(name="b", fixed_threshold=0.0)
    assert fit_monitors([monitor], classifier, tiny) == {}
    monitor._score_with = lambda _: full()
    same_text(steps(tiny, classifier, monitor)["b"])


def test_so_does_a_policy_and_what_takes_the_decisions_place(tiny, classifier, disks, tmp_path):
    class Policy(Cancel):
        def decide(self, verdict, observation):
            full()

    class Fallback:
        def decide(self, cancelled, observation, alarms=None):
            full()

    monitor = FakeMonitor(name="b", score=lambda o: np.zeros(len(o)))
    assert fit_monitors([monitor], classifier, tiny) == {}
    for named, around in (
        ("policy 'policy'", {"policies": {"b": Policy()}}),
        ("fallback Fallback", {"fallbacks": {"b": Fallback()}}),
    ):
        told = f"monitor 'b': its {named} failed: .*the disk is full"
        disks.clear()
        assert re.search(told, steps(tiny, classifier, monitor, **around)["b"])
        disks[tmp_path / "here"] = {"f_bavail": 0}
        with refused(StorageError):
            steps(tiny, classifier, monitor, **around)


def test_so_does_a_second_classifier(tiny, disks, tmp_path):
    class Second(ModelSource):
        def classifier(self, workload, context):
            full()

    failures = {}
    assert Testbed().fallbacks({"b": Second()}, tiny, failures) == {}
    same_text(failures["b"])
    disks[tmp_path / "cache"] = {"f_bavail": 0}
    with refused(StorageError):
        Testbed().fallbacks({"b": Second()}, tiny, failures)


def test_so_does_what_a_monitor_notes(tiny, classifier, disks, tmp_path):
    class Noting(FakeMonitor):
        def notes(self):
            return self.noted()

    monitor = Noting(name="b")
    monitor.noted = dict
    assert fit_monitors([monitor], classifier, tiny) == {}
    monitor.noted = full
    same_text(cannot_tell(monitor))
    disks[tmp_path / "temp"] = {"f_bavail": 0}
    with refused(StorageError):
        cannot_tell(monitor)
    monitor.noted = broken
    same_text(cannot_tell(monitor))
