"""The identity of components: what is in it, and what changes it."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from farm import registry
from farm.errors import DataError, ExperimentError, ParameterError, UnknownNameError
from farm.store.files import json_digest
from farm.store.identity import Identities, code_digest
from tests.wording import refused

EVERY = [(kind, name) for kind in registry.BASES for name in registry.entries(kind)]


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """Return an experiment's folder, and run from elsewhere."""
    for name in ("home", "here", "shared"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("FARM_DATA", str(tmp_path / "shared"))
    return tmp_path / "home"


def identity(home: Path, kind: registry.Kind, name: str, /, **parameters: object) -> dict:
    return Identities(home).component(kind, name, None, parameters)


def test_every_registered_component_has_one(home) -> None:
    made = [identity(home, kind, name) for kind, name in EVERY]
    assert len({json_digest(one) for one in made}) == len(EVERY)
    assert all(one["code"] and one["files"] == {} for one in made)


def test_what_is_in_it(home) -> None:
    parameters = {"k": 10, "layers": ("a", "b"), "same": {0: 1.5}}
    made = Identities(home).component("monitor", "knn", "near", parameters)
    code = code_digest(["monitors.nearest"], home)
    assert made == {
        "kind": "monitor",
        "target": "monitors.nearest:NearestNeighbours",
        "name": "near",
        "parameters": {"k": 10, "layers": ["a", "b"], "same": {"0": 1.5}},
        "code": code.digest,
        "packages": code.packages,
        "files": {},
    }
    assert json.loads(json.dumps(made)) == made


def test_other_spellings_of_a_name_are_the_same(home) -> None:
    assert identity(home, "faultload", "gaussian_noise") == identity(home, "faultload", "gaussian-noise")


def test_an_alias_and_a_parameter_make_another(home) -> None:
    made = [
        Identities(home).component("monitor", "knn", alias, parameters)
        for alias in (None, "near")
        for parameters in ({}, {"k": 1}, {"k": 1.0}, {"k": True}, {"k": "1"}, {"k": None})
    ]
    assert len({json_digest(one) for one in made}) == 12


def test_an_unknown_name_is_told_as_the_registry_does(home) -> None:
    with pytest.raises(UnknownNameError) as told:
        identity(home, "monitor", "od1n")
    with pytest.raises(UnknownNameError) as by_registry:
        registry.component_class("monitor", "od1n")
    assert str(told.value) == str(by_registry.value) == "monitor 'od1n' is not known; did you mean 'odin'?"


def test_a_module_that_is_not_there_is_told(home) -> None:
    with refused(ExperimentError):
        identity(home, "monitor", "nowhere:Mine")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, b"x", {(1,): 2}])
def test_a_parameter_that_is_no_json_is_told(home, value) -> None:
    with refused(ParameterError):
        identity(home, "monitor", "knn", k=value)


def test_a_users_own_class_and_what_it_imports(home) -> None:
    (home / "mine.py").write_text("import helping\nraise RuntimeError('imported')\n")
    (home / "helping.py").write_text("a = 1\n")
    (home / "other.py").write_text("")
    before = identity(home, "monitor", "mine:Mine")
    assert (before["target"], before["name"]) == ("mine:Mine", "mine:Mine")
    (home / "other.py").write_text("changed = 1\n")
    assert identity(home, "monitor", "mine:Mine") == before
    (home / "helping.py").write_text("a = 2\n")
    assert identity(home, "monitor", "mine:Mine")["code"] != before["code"]
    assert "mine" not in sys.modules


@pytest.mark.parametrize(
    "parameters",
    [
        {"function": "helping:score"},
        {"deep": [{"inside": ["helping.part:score"]}]},
        {"helping:score": 1},
    ],
)
def test_code_that_parameters_name_counts(home, parameters) -> None:
    (home / "helping").mkdir()
    (home / "helping" / "__init__.py").write_text("from . import part\n")
    (home / "helping" / "part.py").write_text("a = 1\n")
    before = identity(home, "monitor", "callable", **parameters)
    (home / "helping" / "part.py").write_text("a = 2\n")
    after = identity(home, "monitor", "callable", **parameters)
    assert {key for key in before if before[key] != after[key]} == {"code"}


def test_an_installed_package_that_parameters_name_counts_by_its_version(home) -> None:
    made = identity(home, "model", "module", factory="numpy.linalg:norm", ratio="16:9", when="noon:ish")
    assert "numpy" in made["packages"]
    code = code_digest(["models.own"], home, imported=["numpy"])
    assert len(code.files) == len(code_digest(["models.own"], home).files)


@pytest.mark.parametrize(
    ("kind", "name", "parameters", "module"),
    [
        ("monitor", "vote", {"members": ["energy", "knn"]}, "monitors.nearest"),
        ("monitor", "vote", {"members": [{"name": "knn", "as": "near"}]}, "monitors.nearest"),
        ("monitor", "fusion", {"weights": {"knn": 1}}, "monitors.nearest"),
        ("faultload", "novelty", {"workload": "signs-abroad"}, "farm.workloads.signs"),
        ("faultload", "novelty", {"workload": {"name": "noise_uniform"}}, "farm.workloads.noise"),
        ("faultload", "compose", {"faults": ["blur", {"name": "jpeg-compression"}]}, "faultloads.digital"),
        ("schedule", "sequence", {"parts": [{"name": "onset"}]}, "farm.run.schedules"),
    ],
)
def test_components_that_parameters_name_count(home, kind, name, parameters, module) -> None:
    own = registry.entries(kind)[name].target.partition(":")[0]
    made = identity(home, kind, name, **parameters)
    modules = {own, module}
    for text in ("energy",) if "energy" in str(parameters) else ():
        modules.add(registry.entries("monitor")[text].target.partition(":")[0])
    assert made["code"] == code_digest(modules, home).digest


@pytest.mark.parametrize("place", ["home", "here", "shared"])
def test_a_file_counts_wherever_it_is_found(home, place) -> None:
    file = home.parent / place / "data.npz"
    file.write_bytes(b"PK\0one")
    before = identity(home, "workload", "npz", path="data.npz")
    assert list(before["files"]) == ["data.npz"]
    was = file.stat()
    file.write_bytes(b"PK\0two")
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))
    after = identity(home, "workload", "npz", path="data.npz")
    assert {key for key in before if before[key] != after[key]} == {"files"}


def test_the_first_place_counts_as_for_who_reads_it(home) -> None:
    (home.parent / "shared" / "data.npz").write_bytes(b"PK\0there")
    there = identity(home, "workload", "npz", path="data.npz")
    (home / "data.npz").write_bytes(b"PK\0beside")
    assert identity(home, "workload", "npz", path="data.npz") != there


def test_a_relative_folder_is_one_from_here(home, monkeypatch) -> None:
    (home / "data.npz").write_bytes(b"PK\0one")
    (home / "mine.py").write_text("")
    expected = identity(home, "workload", "mine:Mine", path="data.npz")
    monkeypatch.chdir(home)
    assert Identities(Path()).component("workload", "mine:Mine", None, {"path": "data.npz"}) == expected


@pytest.mark.parametrize("value", ["", "/", "nowhere.npz", "a\0b", "x" * 5000, 3, None, True])
def test_what_is_no_file_is_none(home, value) -> None:
    assert identity(home, "workload", "npz", path=value)["files"] == {}


def test_the_experiments_own_folder_is_one_like_any(home) -> None:
    before = identity(home, "workload", "folder", path=".")
    assert list(before["files"]) == ["."]
    (home / "1.png").write_bytes(b"")
    assert identity(home, "workload", "folder", path=".") != before


def test_files_are_found_deep_in_parameters(home) -> None:
    (home / "other").mkdir()
    (home / "other" / "1.png").write_bytes(b"one")
    parameters = {"workload": {"name": "folder", "path": "other"}}
    before = identity(home, "faultload", "novelty", **parameters)
    (home / "other" / "1.png").write_bytes(b"two")
    assert identity(home, "faultload", "novelty", **parameters)["files"] != before["files"]


@pytest.mark.parametrize("flat", [True, False])
def test_the_images_of_an_index_count_and_what_else_is_there_does_not(home, flat) -> None:
    image = home / ("1.png" if flat else "images/deep/1.png")
    image.parent.mkdir(parents=True, exist_ok=True)
    image.write_bytes(b"one")
    (home / "index.csv").write_text(f"path,label\n{image.relative_to(home)},stop\n")
    before = identity(home, "workload", "table", path="index.csv")
    (home / "runs").mkdir()
    (home / "runs" / "new").write_bytes(b"results")
    assert identity(home, "workload", "table", path="index.csv") == before
    image.write_bytes(b"two")
    assert identity(home, "workload", "table", path="index.csv")["files"] != before["files"]


def test_the_images_of_an_index_in_a_fault_count_too(home) -> None:
    (home / "theirs").mkdir()
    (home / "theirs" / "1.png").write_bytes(b"one")
    (home / "index.csv").write_text("path,label\ntheirs/1.png,stop\n")
    parameters = {"workload": {"name": "table", "path": "index.csv"}}
    before = identity(home, "faultload", "novelty", **parameters)
    (home / "theirs" / "1.png").write_bytes(b"two")
    assert identity(home, "faultload", "novelty", **parameters)["files"] != before["files"]


def test_a_copy_of_all_of_it_elsewhere_is_the_same(home, monkeypatch) -> None:
    (home / "images").mkdir()
    (home / "images" / "1.png").write_bytes(b"one")
    (home / "index.csv").write_text("path,label\nimages/1.png,stop\n")
    (home / "mine.py").write_text("import beside\n")
    (home / "beside.py").write_text("")
    copy = home.parent / "copy"
    shutil.copytree(home, copy)
    here, there = (identity(folder, "workload", "mine:Mine", path="index.csv") for folder in (home, copy))
    assert here == there
    assert sorted(here["files"]) == ["index.csv"]


def test_a_benchmark_set_counts_by_its_content(home) -> None:
    (home / "set").mkdir()
    np.save(home / "set" / "images.npy", np.zeros(3))
    before = Identities(home).benchmark("set")
    (home / "set").rename(home.parent / "shared" / "moved")
    assert Identities(home).benchmark("moved") == before
    np.save(home.parent / "shared" / "moved" / "images.npy", np.ones(3))
    assert Identities(home).benchmark("moved") != before
    with refused(DataError):
        Identities(home).benchmark("set")


def test_what_one_plan_looked_at_it_does_not_look_at_again(home) -> None:
    (home / "data.npz").write_bytes(b"PK\0one")
    plan = Identities(home)
    first = plan.component("workload", "npz", None, {"path": "data.npz"})
    (home / "data.npz").write_bytes(b"PK\0two")
    assert plan.component("workload", "npz", None, {"path": "data.npz"}) is first
    assert plan.component("workload", "npz", "other", {"path": "data.npz"})["files"] == first["files"]
    assert Identities(home).component("workload", "npz", None, {"path": "data.npz"}) != first


def test_a_plan_tells_which_of_its_files_were_written_since(home) -> None:
    (home / "mine.py").write_text("import helping\nclass Mine: pass\n")
    (home / "helping.py").write_text("")
    (home / "table.csv").write_text("1")
    (home / "images").mkdir()
    (home / "other.py").write_text("")
    for file in home.iterdir():
        os.utime(file, (1e9, 1e9))
    plan = Identities(home)
    plan.component("monitor", "mine:Mine", None, {"table": "table.csv", "images": "images"})
    now = time.time() + 0.1  # a file's times are those of a slower clock
    assert set(plan.written_since(now - 1000)) >= {home / name for name in ("mine.py", "table.csv", "images")}
    assert plan.written_since(now) == []
    while time.time() < now + 0.1:
        time.sleep(0.02)
    for name in ("helping.py", "other.py", "images/new.png"):
        (home / name).write_text("")
    assert plan.written_since(now) == [home / "helping.py", home / "images"]
    (home / "mine.py").unlink()
    assert plan.written_since(now) == [home / "helping.py", home / "images"]


def test_weights_of_other_components_beside_own_code_count_whoever_was_asked_before(home) -> None:
    (home / "mine.py").write_text("")
    for name in ("a.npz", "b.npz"):
        (home / name).write_bytes(b"PK\0" + name.encode())
    alone = identity(home, "model", "mine:Mine", weights="b.npz")
    one = Identities(home)
    one.component("model", "mine:Mine", "a", {"weights": "a.npz"})
    assert one.component("model", "mine:Mine", None, {"weights": "b.npz"}) == alone
    assert set(alone["files"]) == {"b.npz", "beside: a.npz"}
