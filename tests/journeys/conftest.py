"""A way as a person walks it: commands in processes of their own, from an empty folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
FARM = Path(sysconfig.get_path("scripts"), "farm")
SOON = 300.0
"""Seconds within which any command ends, however busy the machine is."""


class Journey:
    """An empty folder, and what was done in it so far.

    Parameters
    ----------
    folder
        Where files are written and commands run.
    notes
        Where what commands took is noted: outside, so that the folder is the user's alone.
    """

    def __init__(self, folder: Path, notes: Path) -> None:
        self.folder, self._note = folder, notes / "used.json"
        self.commands, self.cpu_seconds, self.peak_megabytes = 0, 0.0, 0.0
        self.environment = {**os.environ, "FARM_CACHE": str(notes / "cache"), "PYTHONPATH": ""}

    def write(self, name: str, text: str) -> None:
        """Write a file as a person would."""
        (self.folder / name).write_text(text, encoding="utf-8")

    def bring(self, name: str) -> None:
        """Bring a module of the user's own along."""
        shutil.copy(HERE / "users" / name, self.folder)

    def farm(self, command: str, exits: int = 0, within: str = ".") -> str:
        """Run a command of `farm`, and return what it prints."""
        return self._run([FARM, *command.split()], exits, within)

    def python(self, command: str) -> str:
        """Run a script of the user's own."""
        return self._run([sys.executable, *command.split()], 0, ".")

    def _run(self, command: list[str | Path], exits: int, within: str) -> str:
        ran = subprocess.run(
            [sys.executable, HERE / "measured.py", self._note, *command],
            cwd=self.folder / within,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=SOON,
            check=False,
        )
        assert ran.returncode == exits, f"{command}\n{ran.stdout}\n{ran.stderr}"
        seconds, megabytes = json.loads(self._note.read_text())
        self.commands += 1
        self.cpu_seconds += seconds
        self.peak_megabytes = max(self.peak_megabytes, megabytes)
        return ran.stdout


@pytest.fixture
def journey(
    tmp_path_factory: pytest.TempPathFactory, record_property: Callable[[str, object], None]
) -> Iterator[Journey]:
    """Begin in an empty folder; tell in the end what it took."""
    made = Journey(tmp_path_factory.mktemp("empty"), tmp_path_factory.mktemp("notes"))
    yield made
    took = f"{made.cpu_seconds:.1f} s of computing, {made.peak_megabytes:.0f} MB at most"
    record_property("journey", f"{took}, {made.commands} commands")
