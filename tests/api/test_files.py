"""Files that people name: what may never end is not opened, and what is too large is not read."""

from __future__ import annotations

import os

import pytest

from farm.api import check_regular, files, read_bytes, read_text
from farm.api.files import TEXT, files_were_closed
from tests.wording import refused


def test_files_folders_and_nothing_at_all_are_no_concern(tmp_path):
    (tmp_path / "a").write_bytes(b"x")
    for path in (tmp_path / "a", tmp_path, tmp_path / "nowhere", "a\0b"):
        check_regular(path)


@pytest.mark.parametrize("read", [check_regular, read_bytes, read_text])
def test_pipes_are_refused_through_links_too(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        with refused(OSError):
            read(tmp_path / name)


def test_a_file_is_read_up_to_the_size_that_is_asked_for(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    assert read_bytes(path, 5) == read_bytes(path) == b"12345"
    with refused(OSError):
        read_bytes(path, 4)


def test_a_text_that_only_seems_large_is_not_read(tmp_path):
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(TEXT + 1)
    with refused(OSError):
        read_text(tmp_path / "sparse")


def test_a_name_that_no_file_can_have_is_an_error_of_the_system():
    with refused(OSError):
        read_bytes("a\0b")


def test_it_is_noticed_once_that_files_were_closed():
    files_were_closed()
    assert not files_were_closed()
    os.close(files._KEPT_OPEN[0])
    assert files_were_closed()
    assert not files_were_closed()


def test_a_file_that_took_the_place_of_a_closed_one_hides_nothing(tmp_path):
    files_were_closed()
    handle = files._KEPT_OPEN[0]
    other = os.open(tmp_path, os.O_RDONLY)
    os.dup2(other, handle)
    assert files_were_closed()
    os.close(other)
    os.close(handle)
