"""A copy of the project that can be changed and tested while the project itself stays as it is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks._mutation_places import Mutant
from benchmarks._mutation_tests import Tests

ZYGOTE = Path(__file__).with_name("_mutation_zygote.py")
OPTIONS = ("-q", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=short")
ADDED = "addopts=--doctest-modules --import-mode=importlib"
NEW_SYSTEM = ("unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")
IN_PLACE = 'mount --bind "$1" "$2" && cd "$2" && shift 2 && exec "$@"'
"""Nobody outside sees the copy in the project's place, and nobody inside the project or others' processes."""
NO_TESTS = 5
"""Pytest's code for it."""


@dataclass(frozen=True)
class Run:
    """What came of one run of tests."""

    code: int | None
    """Pytest's; negative where a signal ended it, None where its time was over."""
    seconds: float
    failed: Sequence[str]
    passed: int

    @property
    def found_nothing(self) -> bool:
        """Whether nothing failed."""
        return self.code in (0, NO_TESTS)


@dataclass
class Copy:
    """One copy of a project, and the process that runs tests in it."""

    root: Path
    """The project."""
    original: Path
    """The project's files as they are to be copied, which nobody changes."""
    folder: Path
    """A folder of the copy's own, which has to be there."""
    modules: Sequence[str] = ()
    """What to import before any test."""
    _states: dict[str, tuple[int, int]] = field(default_factory=dict)
    _changes: int = 0

    def __enter__(self) -> Copy:
        self.tree, self.temporary = self.folder / "tree", self.folder / "tmp"
        shutil.copytree(self.original, self.tree, symlinks=True)
        (self.folder / "home").mkdir()
        self.temporary.mkdir()
        self._states = dict(self._files())
        in_place = can_mount()
        self.home = self.root if in_place else self.tree
        command = [sys.executable, str(ZYGOTE), str(self.home), *self.modules]
        if in_place:
            command = [*in_place, "sh", "-c", IN_PLACE, "sh", str(self.tree), str(self.root), *command]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self._environment(),
            cwd=self.tree,
            text=True,
        )
        self._answer()
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def run(self, tests: Tests, limit: float, *options: str) -> Run:
        """Run some tests; what they leave in the copy and running is done away with."""
        base = f"--basetemp={self.temporary / 'pytest'}"
        arguments = [*OPTIONS, "-o", ADDED, base, *options, *tests.arguments]
        asked = {
            "arguments": arguments,
            "limit": limit,
            "told": str(self.folder / "told.json"),
            "log": str(self.folder / "log.txt"),
        }
        assert self._process.stdin is not None
        print(json.dumps(asked), file=self._process.stdin, flush=True)
        try:
            return Run(**self._answer())
        finally:
            shutil.rmtree(self.temporary, ignore_errors=True)
            self.temporary.mkdir(exist_ok=True)
            self._restore()

    @contextmanager
    def changed(self, mutant: Mutant) -> Iterator[None]:
        """Have a mutant in the place of the original."""
        path = self.tree / mutant.file
        path.write_text(mutant.applied(path.read_text(encoding="utf-8")), encoding="utf-8")
        self._changes += 1
        # Byte code is told from that of other mutants by the second of the file's time.
        os.utime(path, (10**9 + self._changes,) * 2)
        self._states[mutant.file] = _state(path)
        try:
            yield
        finally:
            shutil.copy2(self.original / mutant.file, path)
            self._states[mutant.file] = _state(path)

    @property
    def log(self) -> str:
        """What the last run printed."""
        return (self.folder / "log.txt").read_text(encoding="utf-8", errors="replace")

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the process that runs tests has ended")
        return json.loads(line)

    def _environment(self) -> dict[str, str]:
        """Return the environment for tests: temporary files and what they keep at home are the copy's."""
        data = self.root.parent / "shared" / "data"
        own = {"HOME": str(self.folder / "home"), "TMPDIR": str(self.temporary)}
        if self.home != self.root:
            own["PYTHONPATH"] = str(self.tree)
            if data.is_dir():
                own["FARM_DATA"] = str(data)
        # Without byte code, every run would compile all sources and rewrite all tests again.
        return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | own

    def _files(self) -> Iterator[tuple[str, tuple[int, int]]]:
        for folder, folders, files in os.walk(self.tree):
            folders[:] = [name for name in folders if name != "__pycache__"]
            for name in files:
                path = Path(folder, name)
                yield path.relative_to(self.tree).as_posix(), _state(path)

    def _restore(self) -> None:
        """Undo what tests did to the copy's files."""
        now = dict(self._files())
        for file in now.keys() - self._states.keys():
            (self.tree / file).unlink()
        for file, state in self._states.items():
            if now.get(file) != state:
                (self.tree / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(self.original / file, self.tree / file)
                self._states[file] = _state(self.tree / file)


def copy_tree(root: Path, to: Path) -> None:
    """Copy a project without its history and what its .gitignore names."""
    ignored = [".git"]
    if (root / ".gitignore").is_file():
        lines = (root / ".gitignore").read_text(encoding="utf-8").split()
        ignored += [line.strip("/") for line in lines if not line.startswith("#")]
    shutil.copytree(root, to, ignore=shutil.ignore_patterns(*ignored), symlinks=True)


@cache
def can_mount() -> tuple[str, ...]:
    """Return the command that puts a copy in the project's place for its own processes, if one works."""
    for command in (NEW_SYSTEM, (*NEW_SYSTEM, "--map-root-user")):
        here = str(ZYGOTE.parent)
        try:
            subprocess.run([*command, "mount", "--bind", here, here], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return command
    return ()


def _state(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_mtime_ns, found.st_size
