"""Folders are whole or not there at all; checksums tell."""

from __future__ import annotations

import errno
import os
import re

import pytest

from farm.errors import DataError, StorageError
from farm.files import (
    check_files,
    check_free,
    file_digest,
    json_digest,
    new_folder,
    numbered_folder,
    read_json,
    read_record,
    write_json,
)


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

    message = f"cannot write {tmp_path / 'a'}: {hint}"
    with pytest.raises(StorageError, match=f"^{re.escape(message)}$") as caught:
        fill()
    assert caught.value.exit_code == 1
    assert everything_in(tmp_path) == []


def test_a_parent_that_is_a_file_is_told(tmp_path):
    (tmp_path / "file").write_text("x")
    with (
        pytest.raises(StorageError, match=re.escape(f"cannot write {tmp_path / 'file' / 'a'}: ")),
        new_folder(tmp_path / "file" / "a"),
    ):
        pass


def test_nothing_is_ever_overwritten(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "mine.txt").write_text("dear")
    message = f"{tmp_path / 'a'} exists already; expected a new folder: remove it or choose another name"
    with pytest.raises(DataError, match=re.escape(message)), new_folder(tmp_path / "a"):
        pass
    assert (tmp_path / "a" / "mine.txt").read_text() == "dear"


def test_a_file_at_the_path_is_not_overwritten_either(tmp_path):
    (tmp_path / "a").write_text("dear")
    with pytest.raises(DataError, match="exists already"):
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

    with pytest.raises(DataError, match="exists already"):
        fill()


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
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "x.json", {"a": float("nan")})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": ', "cannot be read as JSON"),
        ("[1]", "holds a list; expected a JSON object"),
        ("", "is it truncated?"),
    ],
)
def test_a_file_that_holds_no_json_object_is_told(tmp_path, text, message):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(DataError, match=re.escape(message)) as caught:
        read_json(path)
    assert str(path) in str(caught.value)


def test_a_missing_json_file_is_told(tmp_path):
    with pytest.raises(
        DataError, match=re.escape(f"{tmp_path / 'x.json'} is not there; expected a JSON file")
    ):
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
    with pytest.raises(DataError, match=re.escape(f"{folder / 'x.bin'} was changed or truncated")):
        check_files(folder, {"x.bin": digest})


def test_a_missing_file_is_told(folder):
    with pytest.raises(
        DataError, match=re.escape(f"{folder / 'y.bin'} is missing; the folder's record lists it")
    ):
        check_files(folder, {"y.bin": "0"})


@pytest.mark.parametrize(
    "name", ["../x.bin", "/etc/passwd", "a/../x.bin", "a/../../x.bin", "./x.bin", "a//x.bin", "a\\x.bin", ""]
)
def test_a_record_cannot_point_outside_its_folder(folder, name):
    with pytest.raises(DataError, match=re.escape(f"its record names the file '{name}'")):
        check_files(folder, {name: "0"})


def test_files_may_lie_in_a_folder_below(tmp_path):
    with new_folder(tmp_path / "whole") as folder:
        (folder / "a" / "b").mkdir(parents=True)
        (folder / "a" / "b" / "x.bin").write_bytes(b"1234")
    digests = {"a/b/x.bin": file_digest(tmp_path / "whole" / "a" / "b" / "x.bin")}
    check_files(tmp_path / "whole", digests)
    (tmp_path / "whole" / "a" / "b" / "x.bin").write_bytes(b"1235")
    with pytest.raises(DataError, match="was changed or truncated"):
        check_files(tmp_path / "whole", digests)


def test_a_record_must_have_what_a_record_has(tmp_path):
    path = tmp_path / "run.json"
    write_json(path, {"schema": 1, "files": {}})
    assert read_record(path, 1, ["files"]) == {"schema": 1, "files": {}}
    with pytest.raises(DataError, match=re.escape(f"{path} lacks the key 'layers'; was it edited?")):
        read_record(path, 1, ["files", "layers"])
    with pytest.raises(DataError, match=re.escape(f"{path}: schema is 1; expected 2")):
        read_record(path, 2, [])


def test_a_record_must_list_the_files_that_are_needed(folder):
    with pytest.raises(DataError, match=re.escape(f"{folder}: its record does not list 'other'")):
        check_files(folder, {}, ["other"])
