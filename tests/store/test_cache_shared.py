"""Several processes and one cache: an entry is made once, and a process that dies holds nobody up."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import farm.store.cache as farm_cache
from farm.errors import DataError
from farm.store.cache import DiskCache, lock_of
from farm.store.files import json_digest
from farm.store.lock import is_held, locked
from tests.wording import refused, same_text

MADE = {"a": np.arange(4, dtype=np.float32)}

# Says when it begins to make the entry, makes it when it is told to, and says what it has got.
PROCESS = """
import sys
from pathlib import Path
import numpy as np
from farm.store.cache import DiskCache

class Told:
    def track(self, items, description, total=None): return iter(items)
    def note(self, message): print("note", message, flush=True)

def wait():
    print("making", flush=True)
    assert sys.stdin.readline(), "nobody told it to go on"

def make():
    wait()
    return {"a": np.arange(4, dtype=np.float32)}

def blocks():
    wait()
    yield np.arange(4, dtype=np.float32)

cache = DiskCache(Path(sys.argv[1]), Told())
if sys.argv[2] == "arrays":
    found = cache.arrays("kind", {"seed": 0}, make)["a"]
else:
    found = cache.mapped("kind", {"seed": 0}, (4,), "float32", blocks)
print("got", found.tolist(), flush=True)
"""


class Other:
    """Another process with the same cache."""

    def __init__(self, folder: Path, how: str = "arrays") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(folder), how],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def says(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Other:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdout.close()
        with suppress(BrokenPipeError):
            self.process.stdin.close()


def place_of(folder: Path) -> Path:
    return folder / "kind" / json_digest({"schema": 1, "key": {"seed": 0}})


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "kind").iterdir())


@pytest.mark.parametrize("how", ["arrays", "mapped"])
def test_one_process_makes_an_entry_and_the_other_waits_and_reads_it(tmp_path, how) -> None:
    with Other(tmp_path, how) as first:
        assert first.says() == "making"
        with Other(tmp_path, how) as second:
            told = second.says()
            assert told == f"note cache: waiting for {place_of(tmp_path)}, which another process is making"
            first.go_on()
            assert first.says() == "got [0.0, 1.0, 2.0, 3.0]"
            assert second.says() == "got [0.0, 1.0, 2.0, 3.0]"  # it was never told to go on making
            assert (first.process.wait(60), second.process.wait(60)) == (0, 0)
    assert names_in(tmp_path) == [place_of(tmp_path).name]


def test_who_waits_for_a_process_that_is_killed_makes_the_entry_himself(tmp_path) -> None:
    with Other(tmp_path) as first:
        assert first.says() == "making"
        with Other(tmp_path) as second:
            same_text(second.says())
            first.kill()
            assert second.says() == "making"
            second.go_on()
            assert second.says() == "got [0.0, 1.0, 2.0, 3.0]"
            assert second.process.wait(60) == 0
    assert names_in(tmp_path) == [place_of(tmp_path).name]


def test_a_killed_process_leaves_a_lock_that_holds_nobody(tmp_path) -> None:
    with Other(tmp_path) as first:
        assert first.says() == "making"
        first.kill()
    assert names_in(tmp_path) == [lock_of(place_of(tmp_path)).name]
    cache = DiskCache(tmp_path)
    assert cache.arrays("kind", {"seed": 0}, lambda: MADE)["a"].tolist() == [0, 1, 2, 3]
    assert names_in(tmp_path) == [place_of(tmp_path).name]


def test_threads_of_one_process_make_it_once_too(tmp_path) -> None:
    cache = DiskCache(tmp_path)
    began, go_on, made = threading.Event(), threading.Event(), []

    def make():
        made.append(threading.current_thread().name)
        began.set()
        assert go_on.wait(60)
        return MADE

    def ask():
        cache.arrays("kind", {"seed": 0}, make)

    first = threading.Thread(target=ask)
    first.start()
    assert began.wait(60)
    second = threading.Thread(target=ask)
    second.start()
    go_on.set()
    for thread in (first, second):
        thread.join(60)
        assert not thread.is_alive()
    assert made == [first.name]


def test_making_one_entry_may_ask_for_another_and_even_for_itself(tmp_path) -> None:
    cache, asked = DiskCache(tmp_path), []

    def other():
        asked.append("other")
        return MADE

    def itself():
        asked.append("itself")
        return MADE

    def make():
        cache.arrays("kind", {"seed": 1}, other)
        cache.arrays("kind", {"seed": 0}, itself)
        return MADE

    cache.arrays("kind", {"seed": 0}, make)
    assert asked == ["other", "itself"]
    assert len(names_in(tmp_path)) == 2


def test_a_make_that_fails_gives_the_lock_back(tmp_path) -> None:
    cache = DiskCache(tmp_path)

    def fail():
        raise DataError("no")

    with refused(DataError):
        cache.arrays("kind", {}, fail)
    assert names_in(tmp_path) == []
    with Other(tmp_path) as other:
        assert other.says() == "making"


@pytest.mark.parametrize("refusal", ["no module", "no locks"])
def test_where_there_are_no_locks_it_goes_on_without(tmp_path, monkeypatch, refusal) -> None:
    if refusal == "no module":
        monkeypatch.setitem(sys.modules, "fcntl", None)
    else:

        def refuse(handle, how):
            raise OSError(errno.ENOLCK, "No locks available")

        monkeypatch.setattr("fcntl.flock", refuse)
    cache = DiskCache(tmp_path)
    assert cache.arrays("kind", {"seed": 0}, lambda: MADE)["a"].tolist() == [0, 1, 2, 3]
    assert names_in(tmp_path) == [place_of(tmp_path).name]


def test_a_hit_says_that_the_entry_was_used(tmp_path) -> None:
    cache = DiskCache(tmp_path)
    cache.arrays("kind", {"seed": 0}, lambda: MADE)
    cache.mapped("images", {}, (4,), "float32", lambda: [MADE["a"]])
    records = list(tmp_path.rglob("entry.json"))
    assert len(records) == 2
    for record in records:
        os.utime(record, (1, 1))
    assert cache.find("kind", {"seed": 0}) is not None
    cache.mapped("images", {}, (4,), "float32", list)
    assert all(record.stat().st_mtime > 1e9 for record in records)


def test_a_cache_that_can_only_be_read_is_read(tmp_path, monkeypatch) -> None:
    cache = DiskCache(tmp_path)
    cache.arrays("kind", {"seed": 0}, lambda: MADE)

    def refuse(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "utime", refuse)
    assert cache.arrays("kind", {"seed": 0}, dict)["a"].tolist() == [0, 1, 2, 3]


def test_finding_makes_nothing_and_forgetting_removes(tmp_path) -> None:
    cache = DiskCache(tmp_path)
    assert cache.find("kind", {"seed": 0}) is None
    cache.forget("kind", {"seed": 0})  # nothing to forget
    cache.arrays("kind", {"seed": 0}, lambda: MADE)
    cache.arrays("kind", {"seed": 1}, lambda: MADE)
    cache.forget("kind", {"seed": 0})
    assert cache.find("kind", {"seed": 0}) is None
    assert cache.find("kind", {"seed": 1}) is not None
    assert len(names_in(tmp_path)) == 1


def test_an_entry_that_is_removed_while_it_is_read_is_made_without_a_word(tmp_path, monkeypatch) -> None:
    notes: list[str] = []

    class Told:
        def track(self, items, description, total=None):
            return iter(items)

        def note(self, message):
            notes.append(message)

    cache = DiskCache(tmp_path, Told())
    cache.arrays("kind", {"seed": 0}, lambda: MADE)
    checked = farm_cache.check_files

    def removed_meanwhile(*arguments):
        monkeypatch.setattr(farm_cache, "check_files", checked)
        checked(*arguments)
        farm_cache.discard(place_of(tmp_path))

    monkeypatch.setattr(farm_cache, "check_files", removed_meanwhile)
    assert cache.arrays("kind", {"seed": 0}, lambda: MADE)["a"].tolist() == [0, 1, 2, 3]
    assert notes == []


def test_a_damaged_entry_that_cannot_be_removed_is_made_in_memory(tmp_path, monkeypatch) -> None:
    cache = DiskCache(tmp_path)
    cache.mapped("images", {}, (4,), "float32", lambda: [MADE["a"]])
    (file,) = tmp_path.rglob("array.npy")
    file.write_bytes(b"rubbish")

    def refuse(entry):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(farm_cache, "discard", refuse)
    assert cache.mapped("images", {}, (4,), "float32", lambda: [MADE["a"]]).tolist() == [0, 1, 2, 3]


def test_without_waiting_a_lock_that_another_holds_is_left_to_him(tmp_path) -> None:
    path, answers = tmp_path / "lock", []
    with locked(path):

        def ask():
            with locked(path, lambda: False) as free:
                answers.append(free)

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join(60)
        assert path.exists()
    assert answers == [False]
    assert not path.exists()
    with locked(path, lambda: False) as free:
        assert free


def test_who_waited_for_a_file_that_is_gone_waits_for_its_successor(tmp_path) -> None:
    """Else two could be inside at once: one with the removed file, one with the new."""
    path, order = tmp_path / "lock", []
    leave, successor_in, second_in = threading.Event(), threading.Event(), threading.Event()

    def first():
        with locked(path):
            assert leave.wait(60)

    def third():
        with locked(path):
            successor_in.set()
            second_in.wait(0.5)
            order.append("third out")

    def second():
        def busy():  # it has opened the file of the first, which goes now; the third makes another
            leave.set()
            holder.join(60)
            successor.start()
            assert successor_in.wait(60)
            return True

        with locked(path, busy):
            order.append("second in")
            second_in.set()

    holder, successor = threading.Thread(target=first), threading.Thread(target=third)
    holder.start()
    while not is_held(path):
        pass
    second()
    successor.join(60)
    assert order == ["third out", "second in"]
    assert not path.exists()


def test_many_take_turns(tmp_path) -> None:
    path, inside, order = tmp_path / "lock", threading.Lock(), []

    def take(number: int) -> None:
        for _ in range(50):
            with locked(path):
                order.append(inside.acquire(blocking=False))
                inside.release()

    threads = [threading.Thread(target=take, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert order == [True] * 200
    assert not path.exists()
