"""Folders are whole or not there at all; checksums tell."""

from __future__ import annotations

import errno
import os
import stat

import pytest

from farm.errors import DataError, StorageError
from farm.store.files import (
    check_files,
    check_free,
    file_digest,
    json_digest,
    new_folder,
    numbered_folder,
    read_json,
    write_json,
)
from farm.store.records import Form, read_record
from tests.wording import refused


def everything_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_new_folder_appears_with_its_files(tmp_path):
    with new_folder(tmp_path / "a" / "b") as folder:
        (folder / "x.txt").write_text("x")
    assert (tmp_path / "a" / "b" / "x.txt").read_text() == "x"
    assert everything_in(tmp_path / "a") == ["b"]


def test_nothing_is_at_the_path_while_it_is_being_filled(tmp_path):
    with new_folder(tmp_path / "a") as folder:
        assert folder.parent == tmp_path
        assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt(), SystemExit(3), DataError("y")])
def test_whatever_happens_inside_leaves_nothing(tmp_path, error):
    def fill():
        with new_folder(tmp_path / "a") as folder:
            (folder / "x.txt").write_text("half")
            raise error

    with pytest.raises(type(error)):
        fill()
    assert everything_in(tmp_path) == []


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.ENOSPC, "No space left on device; free some space or choose another disk with --out"),
        (errno.EACCES, "Permission denied; choose a folder you may write to with --out"),
        (errno.EROFS, "Read-only file system; choose a folder you may write to with --out"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_a_disk_that_refuses_is_told_with_the_path_and_a_hint(tmp_path, number, hint):
    def fill():
        with new_folder(tmp_path / "a") as folder:
            (folder / "x.txt").write_text("half")
            raise OSError(number, os.strerror(number))

    with refused(StorageError) as caught:
        fill()
    assert caught.value.exit_code == 1
    assert everything_in(tmp_path) == []


def test_a_parent_that_is_a_file_is_told(tmp_path):
    (tmp_path / "file").write_text("x")
    with (
        refused(StorageError),
        new_folder(tmp_path / "file" / "a"),
    ):
        pass


def test_nothing_is_ever_overwritten(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "mine.txt").write_text("dear")
    with refused(DataError), new_folder(tmp_path / "a"):
        pass
    assert (tmp_path / "a" / "mine.txt").read_text() == "dear"


def test_a_file_at_the_path_is_not_overwritten_either(tmp_path):
    (tmp_path / "a").write_text("dear")
    with refused(DataError):
        check_free(tmp_path / "a")


def test_an_empty_folder_may_be_filled(tmp_path):
    (tmp_path / "a").mkdir()
    with new_folder(tmp_path / "a") as folder:
        (folder / "x.txt").write_text("x")
    assert everything_in(tmp_path / "a") == ["x.txt"]


def test_who_comes_second_is_told_that_the_folder_exists(tmp_path):
    def fill():
        with new_folder(tmp_path / "a"), new_folder(tmp_path / "a") as faster:
            (faster / "x.txt").write_text("first")

    with refused(DataError):
        fill()


@pytest.fixture
def flushed(monkeypatch):
    """What was put on the disk, in order, each with the names that its folder had then."""
    seen = []
    real = os.fsync

    def remember(handle):
        seen.append((os.fstat(handle).st_ino, sorted(names_of(handle))))
        real(handle)

    def names_of(handle):
        return os.listdir(handle) if stat.S_ISDIR(os.fstat(handle).st_mode) else []  # noqa: PTH208

    monkeypatch.setattr(os, "fsync", remember)
    return seen


def test_all_of_a_new_folder_is_put_on_the_disk_before_and_its_name_after_it_is_in_place(tmp_path, flushed):
    with new_folder(tmp_path / "a") as folder:
        (folder / "below").mkdir()
        for name in ("x.txt", "below/y.txt"):
            (folder / name).write_text(name)
    (*before, after) = [inode for inode, _ in flushed]
    made = [tmp_path / "a" / name for name in ("below/y.txt", "below", "x.txt", ".")]
    assert before == [path.stat().st_ino for path in made]  # each once, the deepest first
    assert after == tmp_path.stat().st_ino
    assert [names for _, names in flushed if names] == [["y.txt"], ["below", "x.txt"], ["a"]]


def test_folders_that_are_made_on_the_way_are_put_on_the_disk_too(tmp_path, flushed):
    with new_folder(tmp_path / "runs" / "today" / "a"):
        pass
    names = [names for _, names in flushed]
    assert names == [[], ["a"], ["today"], ["runs"]]


@pytest.mark.parametrize("where", ["open", "fsync"])
def test_a_file_system_that_does_not_flush_folders_is_good_enough(tmp_path, monkeypatch, where):
    real = getattr(os, where)

    def refuse(what, *more):
        if where == "open" and os.path.isdir(what):  # noqa: PTH112
            raise PermissionError(errno.EACCES, "a folder cannot be opened")
        if where == "fsync" and stat.S_ISDIR(os.fstat(what).st_mode):
            raise OSError(errno.EINVAL, "not for folders")
        return real(what, *more)

    with monkeypatch.context() as patch:
        patch.setattr(os, where, refuse)
        with new_folder(tmp_path / "a") as folder:
            (folder / "x.txt").touch()
    assert everything_in(tmp_path) == ["a"]


def test_a_disk_that_fails_to_flush_a_folder_is_told(tmp_path, monkeypatch):
    def fail(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with refused(StorageError), new_folder(tmp_path / "a"):
        pass
    assert everything_in(tmp_path) == []


def test_a_record_is_replaced_whole_and_put_on_the_disk(tmp_path, flushed):
    path = tmp_path / "x.json"
    write_json(path, {"n": 1})
    write_json(path, {"n": 2})
    assert read_json(path) == {"n": 2}
    assert everything_in(tmp_path) == ["x.json"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert [inode for inode, _ in flushed][2:] == [path.stat().st_ino, tmp_path.stat().st_ino]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_record_that_cannot_be_replaced_stays_what_it_was(tmp_path, monkeypatch, error):
    path = tmp_path / "x.json"
    write_json(path, {"n": 1})

    def fail(handle):
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(type(error)):
        write_json(path, {"n": 2})
    with refused(ValueError):
        write_json(path, {"n": float("nan")})
    assert read_json(path) == {"n": 1}
    assert everything_in(tmp_path) == ["x.json"]


def test_numbered_folders_count_up(tmp_path):
    assert numbered_folder(tmp_path, "run") == tmp_path / "run-001"
    (tmp_path / "run-001").mkdir()
    assert numbered_folder(tmp_path, "run") == tmp_path / "run-002"


def test_a_json_digest_does_not_depend_on_the_order_of_keys():
    assert json_digest({"a": 1, "b": [2]}) == json_digest({"b": [2], "a": 1})
    assert json_digest({"a": 1}) != json_digest({"a": 2})


def test_json_is_read_back_as_written(tmp_path):
    value = {"name": "größer", "numbers": [1, 0.1, None, True]}
    write_json(tmp_path / "x.json", value)
    assert read_json(tmp_path / "x.json") == value


def test_nan_is_not_written_as_json(tmp_path):
    with refused(ValueError):
        write_json(tmp_path / "x.json", {"a": float("nan")})


@pytest.mark.parametrize(
    "text",
    [
        '{"a": ',
        "[1]",
        "",
    ],
)
def test_a_file_that_holds_no_json_object_is_told(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    with refused(DataError) as caught:
        read_json(path)
    assert str(path) in str(caught.value)


def test_a_missing_json_file_is_told(tmp_path):
    with refused(DataError):
        read_json(tmp_path / "x.json")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "x.bin").write_bytes(b"1234")
    return tmp_path


def test_unchanged_files_pass(folder):
    check_files(folder, {"x.bin": file_digest(folder / "x.bin")})


@pytest.mark.parametrize("content", [b"1235", b"123", b""])
def test_a_changed_or_truncated_file_is_told(folder, content):
    digest = file_digest(folder / "x.bin")
    (folder / "x.bin").write_bytes(content)
    with refused(DataError):
        check_files(folder, {"x.bin": digest})


def test_a_missing_file_is_told(folder):
    with refused(DataError):
        check_files(folder, {"y.bin": "0"})


@pytest.mark.parametrize(
    "name", ["../x.bin", "/etc/passwd", "a/../x.bin", "a/../../x.bin", "./x.bin", "a//x.bin", "a\\x.bin", ""]
)
def test_a_record_cannot_point_outside_its_folder(folder, name):
    with refused(DataError):
        check_files(folder, {name: "0"})


def test_files_may_lie_in_a_folder_below(tmp_path):
    with new_folder(tmp_path / "whole") as folder:
        (folder / "a" / "b").mkdir(parents=True)
        (folder / "a" / "b" / "x.bin").write_bytes(b"1234")
    digests = {"a/b/x.bin": file_digest(tmp_path / "whole" / "a" / "b" / "x.bin")}
    check_files(tmp_path / "whole", digests)
    (tmp_path / "whole" / "a" / "b" / "x.bin").write_bytes(b"1235")
    with refused(DataError):
        check_files(tmp_path / "whole", digests)


def test_a_record_must_have_what_a_record_has(tmp_path):
    path = tmp_path / "run.json"
    write_json(path, {"schema": 1, "files": {}})
    assert read_record(path, 1, Listing) == {"schema": 1, "files": {}}
    with refused(DataError):
        read_record(path, 1, Layered)
    with refused(DataError):
        read_record(path, 2, Listing)


class Listing(Form):
    files: dict[str, str]


class Layered(Listing):
    layers: dict[str, str]


@pytest.mark.parametrize(
    "text",
    [
        '{"schema": 1, "files": {"a": 1}}',
        '{"schema": 1, "files": NaN}',
        '{"schema": 1, "files": 1e999}',
        "[" * 9000,
    ],
)
def test_a_record_of_wrong_types_is_told_by_its_key(tmp_path, text):
    path = tmp_path / "run.json"
    path.write_text(text)
    with refused(DataError):
        read_record(path, 1, Listing)


def test_a_record_must_list_the_files_that_are_needed(folder):
    with refused(DataError):
        check_files(folder, {}, ["other"])
