"""Large arrays in the cache: written block by block, mapped from disk, never believed when damaged."""

from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pytest

import farm.store.cache
from farm.api import NoCache
from farm.errors import DataError
from farm.store.cache import DiskCache
from tests.wording import refused, same_text

ROWS = np.arange(24, dtype=np.uint8).reshape(6, 2, 2)


class Maker:
    """Gives the rows in blocks, and counts how often."""

    def __init__(self):
        self.n = 0

    def __call__(self):
        self.n += 1
        yield from (ROWS[:4], ROWS[4:])


@pytest.fixture
def notes():
    return []


@pytest.fixture
def cache(tmp_path, notes):
    class Progress:
        def track(self, items, description, total=None):
            return iter(items)

        def note(self, message):
            notes.append(message)

    return DiskCache(tmp_path / "cache", Progress())


def mapped(cache, make, key=0):
    return cache.mapped("images", {"key": key}, ROWS.shape, "uint8", make)


def test_it_is_made_once_and_mapped_read_only(cache) -> None:
    make = Maker()
    for _ in range(2):
        array = mapped(cache, make)
        assert isinstance(array, np.memmap)
        assert not array.flags.writeable
        np.testing.assert_array_equal(array, ROWS)
    assert make.n == 1
    mapped(cache, make, key=1)
    assert make.n == 2


def test_without_a_cache_it_is_made_in_memory_and_read_only() -> None:
    array = mapped(NoCache(), Maker())
    np.testing.assert_array_equal(array, ROWS)
    assert not array.flags.writeable


@pytest.mark.parametrize("where", [0, -1])
def test_a_flipped_byte_is_noticed_and_it_is_made_anew(cache, notes, where) -> None:
    make = Maker()
    mapped(cache, make)
    (file,) = cache.folder.rglob("array.npy")
    content = bytearray(file.read_bytes())
    content[where] ^= 1
    file.write_bytes(content)
    np.testing.assert_array_equal(mapped(cache, make), ROWS)
    assert make.n == 2
    assert notes == [
        f"cache: {file} was changed or truncated: its checksum differs from the record; making it again"
    ]


def test_what_cannot_be_made_is_told_and_leaves_nothing(cache) -> None:
    def blocks():
        yield ROWS[:4]
        raise DataError("the fifth is broken")

    with refused(DataError):
        mapped(cache, blocks)
    assert list(cache.folder.rglob("*.npy")) == []
    np.testing.assert_array_equal(mapped(cache, Maker()), ROWS)


def test_on_a_full_disk_it_is_made_in_memory(cache, notes, monkeypatch) -> None:
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(farm.store.cache, "write_npy", full)
    np.testing.assert_array_equal(mapped(cache, Maker()), ROWS)
    same_text(notes[0])
    assert [path for path in cache.folder.rglob("*") if path.is_file()] == []


def test_who_is_overtaken_takes_what_the_other_made(cache) -> None:
    def slow():
        mapped(cache, Maker())  # somebody else is faster
        yield from Maker()()

    np.testing.assert_array_equal(mapped(cache, slow), ROWS)
    assert len(list(cache.folder.rglob("entry.json"))) == 1


def test_a_folder_that_cannot_be_written_is_said(tmp_path, cache, notes) -> None:
    Path(cache.folder).write_text("a file where the folder should be")
    np.testing.assert_array_equal(mapped(cache, Maker()), ROWS)
    assert len(notes) == 1
