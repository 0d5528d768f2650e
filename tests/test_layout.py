"""The project's own rules about its layout."""

from __future__ import annotations

import tomllib
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MODULES = {"__init__", "cli", "errors", "registry"}
FOR_COMPONENTS = {"farm.api", "farm.errors", "farm.registry"}


def test_every_part_of_the_testbed_is_open_or_closed_to_components():
    (contract,) = (c for c in PROJECT["tool"]["importlinter"]["contracts"] if "contracts alone" in c["name"])
    packages = {p.parent.name for p in (ROOT / "farm").glob("*/__init__.py")}
    expected = {f"farm.{part}" for part in packages | MODULES if part != "__init__"} - FOR_COMPONENTS
    assert set(contract["forbidden_modules"]) == expected


def test_four_modules_stand_at_the_top_of_the_testbed():
    assert {p.stem for p in (ROOT / "farm").glob("*.py")} == MODULES


def test_plug_ins_are_short():
    long = {
        str(path.relative_to(ROOT)): n
        for folder in ("monitors",)
        for path in (ROOT / folder).glob("*.py")
        if (n := len(path.read_text(encoding="utf-8").splitlines())) > 150
    }
    assert long == {}


def test_the_version_is_one():
    assert version("farm-testbed") == PROJECT["project"]["version"]
