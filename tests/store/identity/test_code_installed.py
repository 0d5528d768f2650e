"""Packages count by their versions where a version says what they are, by their source elsewhere."""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path

import pytest

from farm import registry
from farm.store.identity import Identities, code, code_digest, memory


@pytest.fixture
def site(tmp_path, monkeypatch) -> Path:
    """Return a folder of installed packages, on the import path."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    return folder


@pytest.fixture
def own(tmp_path) -> Path:
    """Return an experiment's folder with a module that uses a package of somebody else's."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "mine.py").write_text("from theirs.part import score\n")
    return folder


def install(site: Path, version: str, *, points: str = "", link: Path | None = None) -> None:
    """Install the package `theirs` of the distribution `their-package`, or as a link to its source."""
    for old in site.glob("*.dist-info"):
        for file in old.iterdir():
            file.unlink()
        old.rmdir()
    info = site / f"their_package-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: their-package\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(points)
    (info / "top_level.txt").write_text("theirs\n")
    if link is not None:
        (info / "direct_url.json").write_text(
            json.dumps({"url": "file:///x", "dir_info": {"editable": True}})
        )
    package = (link or site) / "theirs"
    package.mkdir(exist_ok=True, parents=True)
    (package / "__init__.py").write_text("import numpy\n")
    (package / "part.py").write_text("def score(): ...\n")
    touched(site)


def touched(folder: Path) -> None:
    """Return a folder a time of its own: `importlib.metadata` remembers listings by it."""
    touched.count = getattr(touched, "count", 0) + 1  # type: ignore[attr-defined]
    os.utime(folder, (1e9 + touched.count, 1e9 + touched.count))  # type: ignore[attr-defined]


def test_an_installed_package_counts_by_its_version(site, own) -> None:
    install(site, "1.0")
    before = code_digest(["mine"], own)
    assert before.packages == {"their-package": "1.0"}
    assert [file.name for file in before.files] == ["mine.py"]
    (site / "theirs" / "part.py").write_text("def score(): return 1\n")
    assert code_digest(["mine"], own) == before
    install(site, "1.1")
    after = code_digest(["mine"], own)
    assert after.packages == {"their-package": "1.1"}
    assert after.digest != before.digest


@pytest.mark.parametrize("place", ["source", "site"])
def test_one_that_is_installed_as_a_link_counts_by_its_source(site, own, monkeypatch, place) -> None:
    source = site.parent / place
    install(site, "1.0", link=source)
    monkeypatch.setattr(sys, "path", [*sys.path, str(source)])
    before = code_digest(["mine"], own)
    assert list(before.packages) == ["numpy"]
    assert [file.name for file in before.files] == ["mine.py", "__init__.py", "part.py"]
    (source / "theirs" / "part.py").write_text("def score(): return 1\n")
    assert code_digest(["mine"], own).digest != before.digest


def test_a_link_by_way_of_a_finder_is_followed_too(site, own, tmp_path, monkeypatch) -> None:
    install(site, "1.0", link=tmp_path / "source")

    class Finder:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
            del path, target
            init = tmp_path / "source" / "theirs" / "__init__.py"
            return spec_from_file_location(name, init) if name == "theirs" else None

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    assert [file.name for file in code_digest(["mine"], own).files] == ["mine.py", "__init__.py", "part.py"]


def test_a_module_of_the_users_own_is_no_package_of_the_same_name(site, own) -> None:
    install(site, "1.0")
    (site / "theirs" / "part.py").unlink()
    (site / "theirs" / "__init__.py").unlink()
    (site / "theirs").rmdir()
    (own / "theirs.py").write_text("part = 1\n")
    found = code_digest(["mine"], own)
    assert (found.packages, [file.name for file in found.files]) == ({}, ["mine.py", "theirs.py"])


def test_a_package_that_registers_a_component_counts_by_source_and_version(site, own) -> None:
    install(site, "1.0", points="[farm.monitors]\ndarkness = theirs.part:Darkness\n")
    before = Identities(own).component("monitor", "darkness", None, {})
    assert before["target"] == "theirs.part:Darkness"
    assert set(before["packages"]) == {"numpy", "their-package"}
    (site / "theirs" / "part.py").write_text("class Darkness: ...\n")
    assert Identities(own).component("monitor", "darkness", None, {})["code"] != before["code"]


def test_what_a_name_means_is_asked_again_when_something_is_installed(site, own) -> None:
    assert "darkness" not in registry.entries("monitor")
    install(site, "1.0", points="[farm.monitors]\ndarkness = theirs.part:Darkness\n")
    assert "darkness" in registry.entries("monitor")


def test_what_has_been_still_for_a_while_is_not_looked_up_again(site, own, monkeypatch) -> None:
    monkeypatch.setattr(memory, "UNSETTLED_SECONDS", -1000)
    monkeypatch.setattr(code, "_KNOWN", {})
    install(site, "1.0")
    first = code_digest(["mine"], own)
    assert code_digest(["mine"], own) is first
    (own / "another.py").write_text("")  # the module might now be found here
    assert code_digest(["mine"], own) == first
    (own / "mine.py").write_text("import theirs, numpy\n")
    assert set(code_digest(["mine"], own).packages) == {"numpy", "their-package"}
    install(site, "1.1")
    assert code_digest(["mine"], own).packages["their-package"] == "1.1"


def test_files_that_come_and_go_on_the_path_cost_no_look_at_distributions(site, monkeypatch) -> None:
    own = site / "theirs_too.py"
    first = registry.installed()
    own.write_text("")  # the folder is young now, and what is installed is not
    assert registry.installed() == first
    install(site, "1.0")
    assert registry.installed() != first


def test_a_module_that_hides_another_on_the_path_is_found(site, own, monkeypatch) -> None:
    monkeypatch.setattr(memory, "UNSETTLED_SECONDS", -1000)
    monkeypatch.setattr(code, "_KNOWN", {})
    (own / "theirs.py").write_text("part = 1\n")
    before = code_digest(["mine"], own)
    (site / "theirs.py").write_text("part = 2\n")
    assert code_digest(["mine"], own).digest != before.digest


def test_what_has_just_been_written_is_looked_up_again(site, own) -> None:
    install(site, "1.0")
    os.utime(own / "mine.py", (time.time() + 1000,) * 2)  # however slow the machine is
    first = code_digest(["mine"], own)
    again = code_digest(["mine"], own)
    assert again == first
    assert again is not first
