"""The cache: found by content, checked before it is believed, made anew where it is damaged."""

from __future__ import annotations

import errno
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import farm.store.cache
from farm.store.cache import DiskCache, default_cache_folder
from tests.wording import refused, same_text

ARRAYS = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array([1, 2], np.int64)}


class Notes:
    """A progress that remembers what it was told."""

    def __init__(self):
        self.said = []

    def track(self, items, description, total=None):
        return iter(items)

    def note(self, message):
        self.said.append(message)


class Maker:
    """Makes arrays, and counts how often."""

    def __init__(self, arrays=ARRAYS):
        self.arrays, self.n = arrays, 0

    def __call__(self):
        self.n += 1
        return self.arrays


@pytest.fixture
def notes():
    return Notes()


@pytest.fixture
def cache(tmp_path, notes):
    return DiskCache(tmp_path / "cache", notes)


def files(cache, name):
    return [path for path in cache.folder.rglob(name) if path.is_file()]


def same(found, expected=ARRAYS):
    return found.keys() == expected.keys() and all(
        found[k].dtype == v.dtype and np.array_equal(found[k], v) for k, v in expected.items()
    )


def test_what_is_kept_is_not_made_again(cache, notes):
    make = Maker()
    assert same(cache.arrays("kind", {"seed": 0}, make))
    assert same(cache.arrays("kind", {"seed": 0}, make))
    assert make.n == 1
    assert notes.said == []


def test_another_process_finds_it_too(cache):
    cache.arrays("kind", {"seed": 0}, Maker())
    make = Maker()
    assert same(DiskCache(cache.folder).arrays("kind", {"seed": 0}, make))
    assert make.n == 0


def test_the_order_of_the_keys_does_not_matter(cache):
    make = Maker()
    cache.arrays("kind", {"a": 1, "b": 2}, make)
    cache.arrays("kind", {"b": 2, "a": 1}, make)
    assert make.n == 1


@pytest.mark.parametrize(("kind", "key"), [("kind", {"seed": 1}), ("kind", {}), ("other", {"seed": 0})])
def test_another_key_or_kind_is_made_on_its_own(cache, kind, key):
    cache.arrays("kind", {"seed": 0}, Maker())
    other = Maker({"c": np.zeros(1)})
    assert cache.arrays(kind, key, other).keys() == {"c"}
    assert other.n == 1


def test_arrays_that_do_not_lie_in_order_are_kept_right(cache):
    turned = {"a": np.arange(6).reshape(2, 3).T}
    cache.arrays("kind", {}, Maker(turned))
    assert cache.arrays("kind", {}, Maker(turned))["a"].tolist() == [[0, 3], [1, 4], [2, 5]]


def test_a_single_number_comes_back_without_a_dimension(cache):
    single = {"n": np.array(3)}
    assert cache.arrays("kind", {}, Maker(single))["n"].shape == ()
    assert cache.arrays("kind", {}, Maker(single))["n"].shape == ()


@pytest.mark.parametrize("where", [0, 40, -1])
def test_a_flipped_byte_is_noticed_said_and_made_anew(cache, notes, where):
    make = Maker()
    cache.arrays("kind", {}, make)
    (file,) = files(cache, "arrays.safetensors")
    content = bytearray(file.read_bytes())
    content[where] ^= 0x01
    file.write_bytes(content)
    assert same(cache.arrays("kind", {}, make))
    assert make.n == 2
    assert notes.said == [
        f"cache: {file} was changed or truncated: its checksum differs from the record; making it again"
    ]
    assert same(cache.arrays("kind", {}, make))
    assert make.n == 2


@pytest.mark.parametrize("name", ["arrays.safetensors", "entry.json"])
@pytest.mark.parametrize("keep", [0, 20])
def test_a_truncated_entry_is_noticed_said_and_made_anew(cache, notes, name, keep):
    make = Maker()
    cache.arrays("kind", {}, make)
    (file,) = files(cache, name)
    file.write_bytes(file.read_bytes()[:keep])
    assert same(cache.arrays("kind", {}, make))
    assert make.n == 2
    assert len(notes.said) == 1
    assert str(file) in notes.said[0]


@pytest.mark.parametrize("name", ["arrays.safetensors", "entry.json"])
def test_a_missing_file_of_an_entry_is_noticed_and_made_anew(cache, notes, name):
    make = Maker()
    cache.arrays("kind", {}, make)
    files(cache, name)[0].unlink()
    assert same(cache.arrays("kind", {}, make))
    assert (make.n, len(notes.said)) == (2, 1)


def test_a_make_that_fails_leaves_no_entry(cache):
    def fail():
        raise ValueError("no")

    with refused(ValueError):
        cache.arrays("kind", {}, fail)
    assert files(cache, "*") == []


def test_who_comes_second_takes_what_he_made_himself(cache):
    make = Maker()

    def slow():
        cache.arrays("kind", {}, make)  # somebody else is faster
        return make()

    assert same(cache.arrays("kind", {}, slow))
    assert len(files(cache, "entry.json")) == 1


def test_what_cannot_be_kept_is_said_and_used_all_the_same(cache, notes):
    cache.folder.write_text("a file where the folder should be")
    assert same(cache.arrays("kind", {}, Maker()))
    assert len(notes.said) == 1
    assert f"cannot write {cache.folder}" in notes.said[0]
    same_text(notes.said[0])


@pytest.mark.parametrize("where", ["pathlib.Path.write_bytes", "os.fsync", "pathlib.Path.mkdir"])
def test_a_full_disk_is_said_and_what_was_made_is_used_all_the_same(cache, notes, monkeypatch, where):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(where, full)
        assert same(cache.arrays("kind", {}, Maker()))
    (note,) = notes.said
    assert re.fullmatch(
        r"cache: cannot write .*: No space left on device; .*going on without keeping it", note
    )
    assert files(cache, "*") == []
    make = Maker()
    assert same(cache.arrays("kind", {}, make))
    assert make.n == 1


def test_who_is_overtaken_while_writing_goes_on_all_the_same(cache, monkeypatch):
    whole = farm.store.cache.save

    def overtaken(arrays):
        monkeypatch.setattr(farm.store.cache, "save", whole)
        cache.arrays("kind", {}, Maker())  # somebody else is faster
        return whole(arrays)

    monkeypatch.setattr(farm.store.cache, "save", overtaken)
    assert same(cache.arrays("kind", {}, Maker()))
    make = Maker()
    assert same(cache.arrays("kind", {}, make))
    assert make.n == 0


def test_the_folder_comes_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("FARM_CACHE", str(tmp_path / "mine"))
    assert default_cache_folder() == tmp_path / "mine"
    assert DiskCache().folder == tmp_path / "mine"


def test_without_it_the_folder_lies_in_the_users_cache(tmp_path, monkeypatch):
    monkeypatch.delenv("FARM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache_folder() == tmp_path / "farm"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    assert default_cache_folder() == tmp_path / "home" / ".cache" / "farm"


def test_the_cache_loads_no_torch():
    code = "import sys, farm.store.cache; print('torch' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"
