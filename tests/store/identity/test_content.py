"""Content of files and folders: what changes the digest, and what is remembered."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farm.errors import DataError
from farm.store.files import file_digest
from farm.store.identity import content, content_digest
from farm.store.identity import memory as remembering
from tests.wording import refused, same_text


@pytest.fixture
def memory(tmp_path) -> Path:
    return tmp_path / "memory"


@pytest.fixture
def data(tmp_path) -> Path:
    folder = tmp_path / "data"
    (folder / "stop" / "deep").mkdir(parents=True)
    (folder / "stop" / "1.png").write_bytes(b"one")
    (folder / "stop" / "deep" / "2.png").write_bytes(b"two")
    (folder / ".hidden").write_bytes(b"three")
    return folder


@pytest.fixture
def still(monkeypatch) -> None:
    """Let everything have been written long ago."""
    monkeypatch.setattr(remembering, "UNSETTLED_SECONDS", -1000)


@pytest.fixture
def opened(monkeypatch) -> list[str]:
    """Note the files that are hashed."""
    seen: list[str] = []
    really = content._of_file
    monkeypatch.setattr(content, "_of_file", lambda path: (seen.append(path), really(path))[1])
    return seen


def change(folder: Path, how: str) -> None:
    file = folder / "stop" / "1.png"
    if how == "a byte":
        file.write_bytes(b"onE")
    elif how == "a byte, and the old time":
        before = file.stat()
        file.write_bytes(b"onE")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    elif how == "replaced":
        (folder.parent / "new").write_bytes(b"onE")
        (folder.parent / "new").replace(file)
    elif how == "longer":
        file.write_bytes(b"one more")
    elif how == "renamed":
        file.rename(folder / "stop" / "3.png")
    elif how == "moved":
        file.rename(folder / "1.png")
    elif how == "removed":
        file.unlink()
    elif how == "added":
        (folder / "new.txt").write_bytes(b"")
    elif how == "a hidden one":
        (folder / ".hidden").write_bytes(b"four")
    elif how == "an empty folder":
        (folder / "go").mkdir()
    elif how == "two swapped":
        other = folder / "stop" / "deep" / "2.png"
        one, two = file.read_bytes(), other.read_bytes()
        file.write_bytes(two)
        other.write_bytes(one)


CHANGES = (
    "a byte",
    "a byte, and the old time",
    "replaced",
    "longer",
    "renamed",
    "moved",
    "removed",
    "added",
    "a hidden one",
    "an empty folder",
    "two swapped",
)


@pytest.mark.parametrize("how", CHANGES)
@pytest.mark.usefixtures("still")
def test_every_change_is_seen_though_the_digest_is_remembered(data, memory, how) -> None:
    before = content_digest(data, memory)
    assert any(memory.iterdir())
    change(data, how)
    assert content_digest(data, memory) != before


@pytest.mark.parametrize("how", CHANGES)
def test_every_change_is_seen_at_once(data, memory, how) -> None:
    before = content_digest(data, memory)
    change(data, how)
    assert content_digest(data, memory) != before


def test_a_copy_elsewhere_has_the_same_digest(data, memory, tmp_path) -> None:
    shutil.copytree(data, tmp_path / "copy")
    assert content_digest(data, memory) == content_digest(tmp_path / "copy", memory)


def test_a_file_has_the_digest_of_its_bytes_alone(data, memory, tmp_path) -> None:
    file = data / "stop" / "1.png"
    assert content_digest(file, memory) == file_digest(file)
    large = tmp_path / "large"
    large.write_bytes(b"12345678" * (1 << 18))
    assert content_digest(large, memory) == file_digest(large)


def test_a_file_is_no_folder_that_holds_it(data, memory) -> None:
    deep = data / "stop" / "deep"
    assert content_digest(deep, memory) != content_digest(deep / "2.png", memory)


@pytest.mark.usefixtures("still")
def test_what_was_hashed_once_is_not_read_again(data, memory, opened) -> None:
    first = content_digest(data, memory)
    assert len(opened) == 3
    assert content_digest(data, memory) == first
    assert content_digest(data / "stop" / "..", memory) == first
    assert len(opened) == 3


def test_what_has_just_been_written_is_not_remembered(data, memory) -> None:
    content_digest(data, memory)
    assert not memory.exists()


@pytest.mark.usefixtures("still")
def test_what_changes_while_it_is_read_is_not_remembered(data, memory, monkeypatch) -> None:
    really = content._of_file

    def meanwhile(path: str) -> str:
        answer = really(path)
        (data / "stop" / "1.png").write_bytes(b"changed")
        return answer

    monkeypatch.setattr(content, "_of_file", meanwhile)
    content_digest(data, memory)
    assert not memory.exists()


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"nonsense", b"0" * 32 + b"\n" + b"1" * 32, None])
@pytest.mark.usefixtures("still")
def test_a_damaged_memory_is_made_anew(data, memory, opened, damage) -> None:
    right = content_digest(data, memory)
    (kept,) = memory.iterdir()
    whole = kept.read_bytes()
    flipped = whole[:-1] + bytes([whole[-1] ^ 1])
    kept.write_bytes(flipped if damage is None else damage)
    assert content_digest(data, memory) == right
    assert len(opened) == 6
    assert kept.read_bytes() == whole
    assert [file.name for file in memory.iterdir()] == [kept.name]


@pytest.mark.usefixtures("still")
def test_a_memory_that_cannot_be_written_is_no_error(data, tmp_path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    assert content_digest(data, in_the_way / "memory") == content_digest(data, tmp_path / "memory")


@pytest.mark.usefixtures("still")
def test_a_folder_in_the_place_of_a_memory_is_no_error(data, memory) -> None:
    right = content_digest(data, memory)
    (kept,) = memory.iterdir()
    kept.unlink()
    kept.mkdir()
    assert content_digest(data, memory) == right
    assert list(memory.iterdir()) == [kept]  # and nothing unfinished is left


@pytest.mark.usefixtures("still")
def test_the_cache_folder_is_where_it_is_remembered(data, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("FARM_CACHE", str(tmp_path / "cache"))
    content_digest(data)
    assert len(list((tmp_path / "cache" / "digests").iterdir())) == 1


def test_links_are_followed(data, memory, tmp_path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "9.png").write_bytes(b"nine")
    (data / "linked").symlink_to(outside)
    (data / "link.png").symlink_to(outside / "9.png")
    before = content_digest(data, memory)
    (outside / "9.png").write_bytes(b"NINE")
    assert content_digest(data, memory) != before


def test_a_link_to_a_folder_that_was_seen_counts_by_its_name(data, memory) -> None:
    before = content_digest(data, memory)
    (data / "up").symlink_to(data)
    with_link = content_digest(data, memory)
    (data / "up").rename(data / "above")
    assert len({before, with_link, content_digest(data, memory)}) == 3


def test_links_in_a_circle_end(data, memory, tmp_path) -> None:
    plain = content_digest(data, memory)
    (data / "stop" / "up").symlink_to(data)
    (data / "self").symlink_to(data / "self")
    circle = content_digest(data, memory)
    assert circle != plain
    shutil.copytree(data, tmp_path / "copy", symlinks=True)
    (tmp_path / "copy" / "stop" / "up").unlink()
    (tmp_path / "copy" / "stop" / "up").symlink_to(tmp_path / "copy")
    assert content_digest(tmp_path / "copy", memory) == circle


def test_many_links_to_one_folder_cost_one_walk(tmp_path, memory) -> None:
    for level in range(30):
        folder = tmp_path / "levels" / str(level)
        folder.mkdir(parents=True)
        for side in "ab":  # two ways down at each level: a thousand million paths
            (folder / side).symlink_to(tmp_path / "levels" / str(level + 1))
    assert content_digest(tmp_path / "levels" / "0", memory)


def test_a_link_to_nothing_counts_by_its_name(data, memory) -> None:
    before = content_digest(data, memory)
    (data / "gone.png").symlink_to(data / "nowhere")
    broken = content_digest(data, memory)
    assert broken != before
    (data / "nowhere").write_bytes(b"")
    assert content_digest(data, memory) != broken


def test_a_pipe_is_not_waited_for(data, memory) -> None:
    before = content_digest(data, memory)
    os.mkfifo(data / "pipe")
    assert content_digest(data, memory) != before
    assert content_digest(data / "pipe", memory)


def test_only_some_entries_of_a_folder(data, memory) -> None:
    (data / "results").mkdir()
    chosen = content_digest(data, memory, only=["stop", "not there"])
    (data / "results" / "new").write_bytes(b"")
    assert content_digest(data, memory, only=["stop"]) == chosen
    change(data, "a byte")
    assert content_digest(data, memory, only=["stop"]) != chosen


def test_what_is_not_there_is_said(tmp_path, memory) -> None:
    with refused(DataError):
        content_digest(tmp_path / "nowhere", memory)


@pytest.mark.parametrize("called", ["open", "listdir", "stat"])
def test_what_cannot_be_read_is_said(data, memory, monkeypatch, called) -> None:
    def refuse(*arguments: object, **more: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        if called == "open":
            patch.setattr("builtins.open", refuse)
        else:
            patch.setattr(content.os, called, refuse)
        with pytest.raises(DataError) as caught:
            content_digest(data, memory)
    same_text(caught.value)


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=8).filter(
    lambda name: name not in (".", "..")
)
CONTENTS = st.dictionaries(NAMES, st.binary(max_size=8), max_size=4)


def fill(folder: Path, contents: dict[str, bytes]) -> Path:
    for name, inside in contents.items():
        (folder / name).write_bytes(inside)
    return folder


@settings(max_examples=60, deadline=None)
@given(one=CONTENTS, other=CONTENTS)
def test_equal_content_and_equal_digests_are_the_same(tmp_path_factory, one, other) -> None:
    folders = [fill(tmp_path_factory.mktemp("data"), contents) for contents in (one, other, one)]
    memory = tmp_path_factory.mktemp("memory")
    first, second, third = (content_digest(folder, memory) for folder in folders)
    assert (first == second) == (one == other)
    assert first == third
