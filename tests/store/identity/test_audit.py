"""An audit notes what somebody's own code opens, and of that what no identity covers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
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
from farm.store.files import read_json
from farm.store.identity import Identities, audit
from farm.store.identity.audit import Audit

READER = """
from pathlib import Path
from threading import Thread
HERE = Path(__file__).parent

def read(n):
    return (HERE / f"weights_{n}").read_text()

def in_a_thread(n):
    thread = Thread(target=read, args=(n,))
    thread.start()
    thread.join()
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an experiment's folder with data."""
    folder = tmp_path / "home"
    folder.mkdir()
    for n in range(4):
        (folder / f"weights_{n}").write_text(f"{n}")
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.fixture
def reader(home: Path) -> Iterator[ModuleType]:
    """Return somebody's own code, imported; it is forgotten afterwards."""
    (home / "own_reader.py").write_text(READER)
    sys.modules.pop("own_reader", None)
    yield import_module("own_reader")
    sys.modules.pop("own_reader", None)


def names(found: list[str]) -> list[str]:
    return [Path(path).name for path in found]


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
        ("a.csv", lambda path: path.open("r+b").close()),
        ("a.npy", np.load),
        ("a.npy", lambda path: np.memmap(path, np.uint8)),
        ("a.npz", lambda path: np.load(path)["a"]),
        ("a.png", lambda path: Image.open(path).load()),
        ("a.pt", torch.load),
        ("a.csv", pd.read_csv),
        ("a.json", lambda path: json.loads(path.read_text())),
    ],
)
def test_what_python_opens_is_seen(data: Path, name: str, read: Callable[[Path], object]) -> None:
    with Audit() as heard:
        read(data / name)
    assert heard.undeclared([]) == [str(data / name)]


def test_a_relative_path_means_the_folder_it_was_opened_in(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data)
    with Audit() as heard:
        Path("a.csv").read_text()
        os.chdir("/")
    assert heard.undeclared([]) == [str(data / "a.csv")]


def test_what_was_written_before_is_no_data(home: Path) -> None:
    with Audit() as heard:
        (home / "own").write_text("mine")
        (home / "own").read_text()
        with open(os.open(home / "own", os.O_RDONLY)) as file:  # noqa: PTH123
            file.read()
        (home / "weights_1").read_text()
        (home / "weights_1").write_text("2")
    assert names(heard.undeclared([])) == ["weights_1"]


def test_nothing_is_heard_before_and_after(home: Path) -> None:
    (home / "weights_0").read_text()
    with Audit() as outer:
        with Audit() as inner:
            (home / "weights_1").read_text()
        (home / "weights_2").read_text()
    (home / "weights_3").read_text()
    assert names(inner.undeclared([])) == ["weights_1"]
    assert names(outer.undeclared([])) == ["weights_1", "weights_2"]


def test_nothing_is_raised_whatever_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd:
        def __fspath__(self) -> str:
            return str(tmp_path / "missing")

    with Audit() as heard:
        for path in (tmp_path / "missing", Odd(), b"\xff\xfe", "null\0byte"):
            with pytest.raises((OSError, ValueError)):
                open(path)  # noqa: PTH123, SIM115
        os.close(os.open(tmp_path, os.O_RDONLY))
        monkeypatch.setattr(audit, "_is_somebodys", None)
        (tmp_path / "there").touch()
        (tmp_path / "there").read_text()
        monkeypatch.undo()
    assert heard.undeclared([]) == [], "neither what is not there, nor folders"


def test_one_hook_is_installed_and_only_where_somebody_asks() -> None:
    code = (
        "import sys\nadded = []\nsys.addaudithook(lambda event, _: event == 'sys.addaudithook' and "
        "added.append(event))\nimport farm.run.testbed\nfrom farm.store.identity.audit import Audit\n"
        "assert added == []\nfor _ in range(2):\n    with Audit(): pass\nprint(len(added))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "1\n"


@pytest.mark.parametrize("how", ["read", "in_a_thread"])
def test_somebodys_code_is_heard_in_any_thread(reader: ModuleType, how: str) -> None:
    with Audit() as heard:
        getattr(reader, how)(2)
    assert names(heard.undeclared([])) == ["weights_2"]


def test_what_the_testbed_opens_was_asked_for_by_nobody(home: Path) -> None:
    (home / "record.json").write_text("{}")
    with Audit() as heard:
        read_json(home / "record.json")
    assert heard.undeclared([]) == []


def test_all_threads_are_heard_at_once(home: Path) -> None:
    def work() -> None:
        for _ in range(50):
            for n in range(4):
                (home / f"weights_{n}").read_text()

    threads = [threading.Thread(target=work) for _ in range(4)]
    with Audit() as heard:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert names(heard.undeclared([])) == [f"weights_{n}" for n in range(4)]


# What is declared --------------------------------------------------------------------------------------


def identities(home: Path, **parameters: object) -> Identities:
    made = Identities(home)
    made.component("monitor", "own_monitor:Own", None, parameters)
    return made


def covers(made: Identities, path: str) -> bool:
    with Audit() as heard:
        Path(path).read_bytes()
    return heard.undeclared([made]) == []


@pytest.fixture
def monitor(home: Path) -> Path:
    """Write a monitor's module; a text in code names `table.txt`, which is no parameter."""
    (home / "own_helper.py").write_text("")
    (home / "own_monitor.py").write_text('import own_helper\nTABLE = "table.txt"\nclass Own: pass\n')
    (home / "table.txt").write_text("0")
    (home / "beside.npy").write_text("0")
    return home


@pytest.mark.parametrize(
    ("name", "covered"),
    [
        ("own_monitor.py", True),
        ("own_helper.py", True),
        ("table.txt", False),
        ("beside.npy", True),
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
    with Audit() as heard:
        path.read_text()
    assert names(heard.undeclared([Identities(monitor), made])) == ([] if covered else [path.name])


def test_identities_cover_what_is_asked_for_later_and_what_is_only_named(monitor: Path) -> None:
    made = identities(monitor)
    path = str(monitor / "weights_1")
    assert not covers(made, path)
    made.files_of({"name": "folder", "paths": ["weights_1", "nothing"], "size": 3})
    assert covers(made, path)
    assert not covers(made, str(monitor / "weights_2"))
    made.component("monitor", "own_monitor:Own", None, {"weights": "weights_2"})
    assert covers(made, str(monitor / "weights_2"))


def test_links_are_covered_where_they_are_named_and_where_they_lead(monitor: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/1.png").write_text("1")
    (monitor / "linked").symlink_to(tmp_path / "elsewhere")
    (monitor / "chosen").mkdir()
    (monitor / "chosen/2.png").symlink_to(tmp_path / "elsewhere/1.png")
    assert covers(identities(monitor, folder="linked"), str(tmp_path / "elsewhere/1.png"))
    assert covers(identities(monitor, folder="linked"), str(monitor / "linked/1.png"))
    assert covers(identities(monitor, folder="chosen"), str(monitor / "chosen/2.png"))


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
    with Audit() as heard:
        for path in [*outside, *(str(tmp_path / place) for place in places)]:
            Path(path).read_bytes()
    assert heard.undeclared([], [tmp_path / "campaign"]) == [str(tmp_path / "data/1")]


def test_an_environment_in_the_projects_folder_hides_no_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(audit, "_nobodys", audit._nobodys.__wrapped__)
    for name in ("weights", "lib"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1").write_text("")
    with Audit() as heard:
        for name in ("weights", "lib"):
            (tmp_path / name / "1").read_text()
    assert heard.undeclared([]) == [str(tmp_path / "weights/1")]


def test_code_that_is_imported_by_a_name_put_together_counts_by_its_source(home: Path) -> None:
    (home / "own_part_7.py").write_text("")
    for _ in range(2):  # the second time from what Python compiled
        with Audit() as heard:
            __import__("own_part_" + str(7))
        del sys.modules["own_part_7"]
        assert heard.undeclared([]) == [str(home / "own_part_7.py")]
