"""Which files were read, for whose code, and what of it nothing declares."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

import farm.errors
from farm.files import file_digest, read_json
from farm.identity import Identities, reads
from farm.identity import undeclared as declaring
from farm.identity.reads import Recorder, read_by
from farm.identity.undeclared import (
    Since,
    advice,
    content_now,
    difference,
    digests,
    undeclared,
    undeclared_by,
)
from tests.wording import same_text

READER = """
from functools import lru_cache
from pathlib import Path
from threading import Thread
HERE = Path(__file__).parent

def read(n):
    return (HERE / f"weights_{n}").read_text()

@lru_cache
def remembered(n):
    return read(n)

def in_a_thread(n):
    thread = Thread(target=read, args=(n,))
    thread.start()
    thread.join()

def by_a_library(n):
    thread = Thread(target=(HERE / f"weights_{n}").read_text)
    thread.start()
    thread.join()
"""


@pytest.fixture(autouse=True)
def nothing_read(monkeypatch: pytest.MonkeyPatch) -> None:
    reads.begin()
    monkeypatch.setattr(reads, "_opened", {})
    monkeypatch.setattr(reads, "_forgotten", {})
    monkeypatch.setattr(reads, "_written", {})


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give an experiment's folder with data that other processes wrote long ago."""
    folder = tmp_path / "home"
    folder.mkdir()
    for n in range(4):
        (folder / f"weights_{n}").write_text(f"{n}")
    monkeypatch.setattr(reads, "_written", {})
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.fixture
def reader(home: Path) -> Iterator[ModuleType]:
    """Give somebody's own code, imported; it is forgotten afterwards."""
    (home / "own_reader.py").write_text(READER)
    sys.modules.pop("own_reader", None)
    yield import_module("own_reader")
    sys.modules.pop("own_reader", None)


def names(found: dict[str, float] | list[str]) -> list[str]:
    return sorted(Path(path).name for path in found)


# What is seen ------------------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path: Path) -> Path:
    np.save(tmp_path / "a.npy", np.zeros(3))
    np.savez(tmp_path / "a.npz", a=np.zeros(3))
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    torch.save({"a": torch.zeros(3)}, tmp_path / "a.pt")
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "a.json").write_text("{}")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("a.csv", lambda path: path.read_bytes()),
        ("a.csv", lambda path: os.close(os.open(path, os.O_RDONLY))),
        ("a.csv", lambda path: os.close(os.open(os.fsencode(path), os.O_RDONLY))),
        ("a.npy", np.load),
        ("a.npy", lambda path: np.load(path, mmap_mode="r")),
        ("a.npz", lambda path: np.load(path)["a"]),
        ("a.png", lambda path: Image.open(path).load()),
        ("a.pt", torch.load),
        ("a.csv", pd.read_csv),
        ("a.json", lambda path: json.loads(path.read_text())),
    ],
)
def test_what_python_opens_is_seen(
    data: Path, name: str, read: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "_written", {})
    with Recorder() as recorder:
        read(data / name)
    assert str(data / name) in recorder.everything()
    assert str(data / name) in read_by([__file__]), "and that it is read by code of this file"
    assert str(data / name) not in read_by([reads.__file__])


def test_a_relative_path_means_the_folder_it_was_opened_in(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "_written", {})
    monkeypatch.chdir(data)
    with Recorder() as recorder:
        Path("a.csv").read_text()
        os.chdir("/")
    assert [*recorder.everything()] == [str(data / "a.csv")]


def test_descriptors_and_what_was_written_before_are_no_data(tmp_path: Path) -> None:
    path, other = tmp_path / "own.txt", tmp_path / "other.txt"
    with Recorder() as recorder:
        path.write_text("mine")
        path.read_text()
        with open(os.open(path, os.O_RDONLY)) as file:  # noqa: PTH123
            file.read()
        other.symlink_to(path)
        other.read_text()
    assert sorted(recorder.everything()) == [str(other), str(path)]
    assert undeclared(recorder.everything(), []) == {}


@pytest.mark.parametrize(
    "opened",
    [
        lambda path: np.memmap(path, np.uint8),
        lambda path: path.open("r+b").close(),
        lambda path: (path.open("ab").close(), path.read_bytes()),
    ],
    ids=["memmap", "r+", "written before"],
)
def test_what_may_be_changed_in_place_is_read_too(
    home: Path, opened: Callable[[Path], object], request: pytest.FixtureRequest
) -> None:
    path = home / "weights_1"
    with Recorder() as recorder:
        opened(path)
    own = request.node.callspec.id == "written before"
    assert names(recorder.everything()) == ["weights_1"]
    assert names(undeclared(recorder.everything(), [])) == ([] if own else ["weights_1"])


def test_what_is_read_and_written_afterwards_is_data(home: Path) -> None:
    path = home / "weights_1"
    with Recorder() as recorder:
        path.read_text()
        path.write_text("2")
    assert names(undeclared(recorder.everything(), [])) == ["weights_1"]


def test_a_recorder_hears_nothing_before_and_after(home: Path) -> None:
    (home / "weights_0").read_text()
    with Recorder() as outer:
        with Recorder() as inner:
            (home / "weights_1").read_text()
        (home / "weights_2").read_text()
    (home / "weights_3").read_text()
    assert names(inner.everything()) == ["weights_1"]
    assert names(outer.everything()) == ["weights_1", "weights_2"]


def test_nothing_is_raised_whatever_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd:
        def __fspath__(self) -> str:
            return str(tmp_path / "missing")

    with Recorder() as recorder:
        for path in (tmp_path / "missing", Odd(), b"\xff\xfe", "null\0byte"):
            with pytest.raises((OSError, ValueError)):
                open(path)  # noqa: PTH123, SIM115
        os.close(os.open(tmp_path, os.O_RDONLY))
        monkeypatch.setattr(reads, "_callers", None)
        (tmp_path / "there").touch()
        (tmp_path / "there").read_text()
        monkeypatch.undo()
    assert undeclared(recorder.everything(), []) == {}, "neither what is not there, nor folders"


def test_of_very_many_the_folders_of_the_first_are_remembered(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "deep").mkdir()
    (tmp_path / "later").mkdir()
    later = [tmp_path / f"later/{n}" for n in range(9)]
    for path in later:
        path.write_text("")
    monkeypatch.setattr(reads, "_written", {})
    monkeypatch.setattr(reads, "LIMIT", 3)
    for path in [home / "weights_0", *later, *later]:
        path.read_text()
    assert (len(reads._opened), len(reads._forgotten)) == (3, 2), "however many are opened"
    found = undeclared(read_by([__file__]), [])
    expected = [*(path.name for path in later), *(f"weights_{n}" for n in range(4))]
    assert names(found) == expected, "each file there may have been read; no folder was"
    declared = Identities(home)
    declared.files_of({"data": str(home)})
    assert len(undeclared(read_by([__file__]), [declared])) == len(later)


def test_only_one_hook_is_ever_installed(tmp_path: Path) -> None:
    code = (
        "import sys\nadded = []\nsys.addaudithook(lambda event, _: event == 'sys.addaudithook' and "
        "added.append(event))\nfrom farm.identity import reads\nassert added == []\n"
        "reads.begin()\nreads.begin()\nwith reads.Recorder(): pass\nprint(len(added))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "1\n"


# For whose code ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["read", "remembered", "in_a_thread"])
def test_a_read_belongs_to_the_code_on_the_way(reader: ModuleType, how: str) -> None:
    getattr(reader, how)(2)
    assert names(read_by([str(reader.__file__)])) == ["weights_2"]


def test_what_is_remembered_is_known_to_have_been_read_long_ago(reader: ModuleType) -> None:
    reader.remembered(2)
    with Recorder() as recorder:
        reader.remembered(2)
    assert recorder.everything() == {}
    assert names(read_by([str(reader.__file__)])) == ["weights_2"]


def test_what_is_read_while_a_module_is_imported_belongs_to_it(home: Path, reader: ModuleType) -> None:
    (home / "own_user.py").write_text("import own_reader\nWEIGHTS = own_reader.read(3)\n")
    import_module("own_user")
    del sys.modules["own_user"]
    assert "weights_3" in names(read_by([str(home / "own_user.py")]))
    assert "weights_3" in names(read_by([str(reader.__file__)]))


def test_code_that_is_found_by_a_link_is_the_same(home: Path, reader: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "link.py").symlink_to(home / "own_reader.py")
    reader.read(1)
    assert names(read_by([str(tmp_path / "link.py")])) == ["weights_1"]


def test_what_the_testbed_opens_was_asked_for_by_nobody(home: Path) -> None:
    (home / "record.json").write_text("{}")
    reads._written.clear()
    with Recorder() as recorder:
        read_json(home / "record.json")
    assert names(recorder.everything()) == ["record.json"]
    assert read_by([__file__]) == {}


def test_a_thread_of_a_librarys_belongs_to_nobody_but_is_seen(reader: ModuleType) -> None:
    with Recorder() as recorder:
        reader.by_a_library(1)
        reader.read(2)
    assert names(read_by([str(reader.__file__)])) == ["weights_2"]
    assert "weights_1" in names(recorder.elsewhere())


def test_all_threads_are_heard_at_once(home: Path) -> None:
    def work() -> None:
        for _ in range(50):
            for n in range(4):
                (home / f"weights_{n}").read_text()

    threads = [threading.Thread(target=work) for _ in range(4)]
    with Recorder() as recorder:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert names(recorder.everything()) == [f"weights_{n}" for n in range(4)]


# What is declared --------------------------------------------------------------------------------------


def identities(home: Path, **parameters: object) -> Identities:
    made = Identities(home)
    made.component("monitor", "own_monitor:Own", None, parameters)
    return made


@pytest.fixture
def monitor(home: Path) -> Path:
    """Write a monitor's module; its text `table.txt` names a file, its others none."""
    (home / "own_helper.py").write_text("")
    (home / "own_monitor.py").write_text('import own_helper\nTABLE = "table.txt"\nclass Own: pass\n')
    (home / "table.txt").write_text("0")
    return home


@pytest.mark.parametrize(
    ("name", "covered"),
    [
        ("own_monitor.py", True),
        ("own_helper.py", True),
        ("table.txt", True),
        ("weights_1", False),
        ("other.py", False),
        ("chosen/deep/1.png", True),
        ("chosen.png", False),
        ("index.csv", True),
        ("pictures/stop/1.png", True),
        ("others/1.png", False),
    ],
)
def test_what_identities_cover(monitor: Path, name: str, covered: bool) -> None:
    path = monitor / name
    path.parent.mkdir(parents=True, exist_ok=True)
    (monitor / "chosen").mkdir(exist_ok=True)
    path.write_text("0")
    (monitor / "index.csv").write_text("path,label\npictures/stop/1.png,stop\n")
    made = identities(monitor, folder="chosen", index="index.csv")
    assert made.covers(str(path)) is covered
    reads._written.clear()
    found = undeclared({str(path): time.time()}, [Identities(monitor), made])
    assert names(found) == ([] if covered else [path.name])


def test_identities_cover_what_is_asked_for_later_and_what_is_only_named(monitor: Path) -> None:
    made = identities(monitor)
    path = str(monitor / "weights_1")
    assert not made.covers(path)
    made.files_of({"name": "folder", "paths": ["weights_1", "nothing"], "size": 3})
    assert made.covers(path)
    assert not made.covers(str(monitor / "weights_2"))
    made.component("monitor", "own_monitor:Own", None, {"weights": "weights_2"})
    assert made.covers(str(monitor / "weights_2"))


def test_links_are_covered_where_they_are_named_and_where_they_lead(monitor: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/1.png").write_text("1")
    (monitor / "linked").symlink_to(tmp_path / "elsewhere")
    (monitor / "chosen").mkdir()
    (monitor / "chosen/2.png").symlink_to(tmp_path / "elsewhere/1.png")
    assert identities(monitor, folder="linked").covers(str(tmp_path / "elsewhere/1.png"))
    assert identities(monitor, folder="linked").covers(str(monitor / "linked/1.png"))
    assert identities(monitor, folder="chosen").covers(str(monitor / "chosen/2.png"))


def test_what_is_nobodys_is_declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FARM_CACHE", str(tmp_path / "cache"))
    places = ["cache/entry.json", "campaign/run.json", "my.dist-info/METADATA", "__pycache__/a.nbi", "data/1"]
    for place in places:
        (tmp_path / place).parent.mkdir()
        (tmp_path / place).write_text("")
    outside = [
        "/proc/cpuinfo",
        "/etc/passwd",
        os.__file__,
        np.__file__,
        pytest.__file__,
        farm.errors.__file__,
    ]
    read = dict.fromkeys([*outside, *(str(tmp_path / place) for place in places)], time.time())
    reads._written.clear()
    assert undeclared(read, [], [tmp_path / "campaign"]) == {str(tmp_path / "data/1"): read[outside[0]]}


def test_an_environment_in_the_projects_folder_hides_no_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(declaring, "_nobodys", declaring._nobodys.__wrapped__)
    for name in ("weights", "lib"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1").write_text("")
    reads._written.clear()
    read = {str(tmp_path / name / "1"): time.time() for name in ("weights", "lib")}
    assert [*undeclared(read, [])] == [str(tmp_path / "weights/1")]


def test_code_that_is_imported_by_a_name_put_together_counts_by_its_source(home: Path) -> None:
    (home / "own_part_7.py").write_text("")
    for _ in range(2):  # the second time from what Python compiled
        with Recorder() as recorder:
            __import__("own_part_" + str(7))
        del sys.modules["own_part_7"]
        reads._written.clear()
        assert str(home / "own_part_7.py") in undeclared(recorder.everything(), [])
        assert not any(path.endswith(".pyc") for path in undeclared(recorder.everything(), []))


def test_what_the_code_of_components_read_and_nothing_declares(home: Path, reader: ModuleType) -> None:
    made = Identities(home)
    made.component("monitor", "own_reader:Reader", None, {"weights": "weights_0"})
    for n in (0, 1):
        reader.read(n)
    (home / "weights_3").read_text()  # by code of this file
    assert names(undeclared_by([made])) == ["weights_1"]
    with Recorder() as recorder:
        reader.by_a_library(2)
    assert names(undeclared_by([made], recorder=recorder)) == ["weights_1", "weights_2"]
    also = Identities(home)
    also.files_of(["weights_2"])
    assert names(undeclared_by([made], [also], recorder)) == ["weights_1"]
    assert undeclared_by([made], [], recorder, [home]) == []


# What is kept of it ------------------------------------------------------------------------------------


def test_content_is_kept_by_the_path_from_home(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("other")
    now = time.time() + 1
    kept = digests({str(home / "weights_1"): now, str(other): now}, home)
    assert kept == {"weights_1": file_digest(home / "weights_1"), str(other): file_digest(other)}
    assert {name: content_now(name, home) for name in kept} == kept
    other.unlink()
    assert content_now(str(other), home) is None


def test_what_was_written_after_it_was_read_is_not_known(home: Path) -> None:
    with Recorder() as recorder:
        (home / "weights_1").read_text()
    time.sleep(0.02)
    (home / "weights_1").write_text("another")
    kept = digests(recorder.everything(), home)
    assert kept == {"weights_1": None}
    now = content_now("weights_1", home)
    same_text(difference("weights_1", None, now))
    assert difference("weights_1", now, now) == ""
    assert difference("weights_1", "other", now) == "weights_1 was changed"
    assert difference("weights_1", "other", None) == "weights_1 is gone"


def test_of_very_many_in_a_folder_names_and_one_digest_are_kept(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declaring, "MANY", 3)
    now = time.time() + 1
    (home / "few").mkdir()
    (home / "few/1").write_text("")
    (home / "many").mkdir()
    for n in range(4):
        (home / f"many/{n}").write_text("")
    found = {str(path): now for path in home.glob("*/*")}
    kept = json.loads(json.dumps(digests(found, home)))
    assert sorted(kept) == ["few/1", "many"]
    assert kept["many"]["names"] == ["0", "1", "2", "3"]
    record = {"passes": [{"undeclared": kept}, {}]}
    (home / "many/unrelated").write_text("an export, say")
    assert Since(home).changes(record) == []
    (home / "many/2").write_text("changed")
    told = "some of 4 files read in many (a parameter should name their folder) were changed"
    assert Since(home).changes(record) == [told]
    (home / "many/2").write_text("")
    assert Since(home).changes(record) == []
    (home / "many/2").unlink()
    assert Since(home).changes(record) == [told]
    (home / "many").rename(home / "moved")
    assert Since(home).changes(record) == ["many is gone"]
    (home / "moved").rename(home / "many")
    (home / "many/2").write_text("")
    kept = digests(found | {str(home / "many/1"): 0.0}, home)
    assert Since(home).changes({"passes": [{"undeclared": kept}]}) == [
        f"{told} while they were computed with"
    ]
    assert Since(home).changes({}) == []


def test_advice_names_some() -> None:
    same_text(advice(["/a", "/b"]))
    same_text(advice([f"/{n}" for n in range(5)]))
