"""Which data somebody's own code opens that no identity covers: looked for where somebody asks.

Python tells of every file that it opens (the audit event `open`), in any thread. Seen so are `open` and
`os.open`, and all that is built on them: imports, `np.load` and its kind, PIL, `torch.load`, `read_csv`,
`json`, `joblib`. Not seen is what C, C++ or Rust opens by a path of its own: safetensors, onnxruntime,
`torch.jit.load`, Parquet, sqlite3, OpenCV, HDF5. Nor is what another process reads.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.util import source_from_cache
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from farm.registry import HOME, OUR_PACKAGES
from farm.store.cache import default_cache_folder
from farm.store.identity.component import Identities

_WRITES = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
"""What is opened to be read and changed in place (`r+`, and a memory map by default) is read, too."""
_PARTS = ("bin", "etc", "include", "lib", "lib32", "lib64", "libexec", "sbin", "share")
"""Of an environment or a system, what no user keeps data in; an environment may lie in a project's folder."""
_SYSTEM = ("/proc", "/sys", "/dev", "~/.config", "~/.cache/matplotlib", "~/.cache/fontconfig")
_RECORDS = (".dist-info", ".egg-info")
"""Folders in which distributions tell their versions, wherever they lie."""

_audits: tuple[Audit, ...] = ()


class Audit:
    """Notes, while it is entered, the files that somebody's own code opens.

    A file counts where one of the functions at work, back to the first of the testbed's, is neither a
    library's nor the testbed's: what the testbed opens itself, it declares. Python has no way to take the
    hook out again; outside of an audit it does nothing.

    Examples
    --------
    >>> with Audit() as audit:
    ...     _ = Path(__file__).read_bytes()
    >>> audit.undeclared([])
    []
    """

    _hooked = False

    def __init__(self) -> None:
        self._read: dict[str, None] = {}
        self._written: set[str] = set()

    def __enter__(self) -> Self:
        global _audits
        if not Audit._hooked:
            Audit._hooked = True
            sys.addaudithook(_hook)
        _audits = (*_audits, self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _audits
        _audits = tuple(one for one in _audits if one is not self)

    def note(self, path: str, flags: int, frame: FrameType | None) -> None:
        """Take down an opening."""
        if flags & _WRITES:
            self._written.add(path)
        elif path not in self._read and path not in self._written and _is_somebodys(frame):
            self._read[path] = None

    def undeclared(self, declared: Sequence[Identities], apart: Iterable[Path] = ()) -> list[str]:
        """Return what was read and is in no identity, nor in the testbed's cache, nor in the folders `apart`.

        Of compiled code, the source counts; what comes with Python, a package or the system never does.
        """
        none = (*_nobodys(), *_testbed(), *_spelt(str(folder) for folder in (default_cache_folder(), *apart)))
        covered = frozenset().union(*(one.covered() for one in declared))
        found = set()
        for path in self._read:
            file = os.path.abspath(_source_of(path))  # noqa: PTH100 - a link counts where it is declared
            real = os.path.realpath(file)
            lies_in = {place for one in (file, real) for place in (one, *map(str, Path(one).parents))}
            if not real.startswith(none) and covered.isdisjoint(lies_in) and _is_data(real):
                found.add(real)
        return sorted(found)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    """Note an opening; whatever is wrong with it, whoever opens the file is told by Python, not here."""
    if event != "open" or not _audits:
        return
    try:
        path, _, flags = arguments
        if isinstance(path, int):
            return
        path = os.path.join(os.getcwd(), os.fsdecode(path))  # noqa: PTH109, PTH118 - at every opening
        for audit in _audits:
            audit.note(path, flags, sys._getframe(1))
    except Exception:  # noqa: BLE001 - nobody's `open` may fail for this
        pass


def _is_somebodys(frame: FrameType | None) -> bool:
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_testbed()):
            return False
        if not file.startswith(("<frozen ", *_nobodys())):
            return True
        frame = frame.f_back
    return False


@cache
def _testbed() -> tuple[str, ...]:
    """Return where the testbed's own modules are, as they were imported and as they lie."""
    imported = str(Path(_hook.__code__.co_filename).parents[3])
    return _spelt(f"{home}/{package}" for home in (imported, HOME) for package in OUR_PACKAGES)


@cache
def _nobodys() -> tuple[str, ...]:
    """Return where Python, what is installed and the system lie: their versions are in every key."""
    prefixes = (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix, "", "/usr", "/usr/local")
    return _spelt((*_SYSTEM, *(f"{prefix}/{part}" for prefix in dict.fromkeys(prefixes) for part in _PARTS)))


def _spelt(folders: Iterable[str]) -> tuple[str, ...]:
    """Return folders as they are written and as they lie, with a slash at the end."""
    written = [os.path.expanduser(folder) for folder in folders]  # noqa: PTH111
    both = (spelling for folder in written for spelling in (folder, os.path.realpath(folder)))
    return tuple(dict.fromkeys(f"{folder.rstrip('/')}/" for folder in both))


def _source_of(path: str) -> str:
    if path.endswith(".pyc"):
        try:
            source = source_from_cache(path)
        except (ValueError, NotImplementedError):
            return path
        if os.path.exists(source):  # noqa: PTH110
            return source
    return path


def _is_data(path: str) -> bool:
    parts = path.split("/")
    if any(part.endswith(_RECORDS) for part in parts) or "__pycache__" in parts:
        return False
    try:
        return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116
    except (OSError, ValueError):
        return False  # it was looked for in vain, or is gone
