"""Which files this process opens for reading, and for whose code.

Python tells of every file that it opens (the audit event `open`), in any thread. Seen so are `open` and
`os.open`, and all that is built on them: imports, `np.load` and its kind, PIL, `torch.load`, `read_csv`,
`json`, `joblib`. Not seen is what C, C++ or Rust opens by a path of its own: safetensors, onnxruntime,
`torch.jit.load`, Parquet, sqlite3, OpenCV, HDF5. Nor is what another process reads, what was read before
`begin`, and what an installed package reads for the testbed with nobody's own code between the two.

What is read once may be used for long: when it is read while a module is imported, in a constructor, or by
a function that remembers its results. So each opening is remembered for as long as the process lives, with
the code that asked for it. That are the files of the functions that were at work, back to the first of the
testbed's, without those of libraries. What the testbed itself opens, be it because somebody's code asks it
for the next images, was asked for by nobody.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from functools import cache
from types import FrameType, TracebackType
from typing import Any, Self

from farm.registry import HOME, OUR_PACKAGES

LIMIT = 100_000
"""So many openings are remembered; of more, the folders of the first of them."""
FORGOTTEN = "\0"
"""Stands for the names of files in a folder that were opened and are forgotten; no file is called so."""
ELSEWHERE = ""
"""Stands among the files of the code for that of a thread in which the testbed is not at work."""

Opening = tuple[str, frozenset[str]]
"""The path as it was opened, made absolute, and the files of the code that asked for it."""

_WRITES = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
"""What is opened to be read and changed in place (`r+`, and a memory map by default) is read, too."""
_NOBODY: frozenset[str] = frozenset()
_OUTSIDE = frozenset({ELSEWHERE})

_opened: dict[Opening, float] = {}
_forgotten: dict[Opening, float] = {}
_written: dict[str, float] = {}
_recorders: tuple[dict[Opening, float], ...] = ()
_begun: list[bool] = []
_kinds: dict[str, str] = {}
_interned: dict[frozenset[str], frozenset[str]] = {}


def begin() -> None:
    """Note from now on what is opened for somebody's own code; a second call does nothing.

    Python has no way to end it. An opening takes a few microseconds more from now on.
    """
    if not _begun:
        _begun.append(True)
        sys.addaudithook(_hook)


class Recorder:
    """Notes while it is entered what is opened by anybody, in any thread.

    Examples
    --------
    >>> from pathlib import Path
    >>> import farm.errors
    >>> with Recorder() as recorder:
    ...     _ = Path(farm.errors.__file__).read_bytes()
    >>> [Path(path).name for path in recorder.everything()]
    ['errors.py']
    """

    def __init__(self) -> None:
        self._opened: dict[Opening, float] = {}

    def __enter__(self) -> Self:
        global _recorders
        begin()
        _recorders = (*_recorders, self._opened)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _recorders
        _recorders = tuple(one for one in _recorders if one is not self._opened)

    def everything(self) -> dict[str, float]:
        """Give all that was opened, with the time of the first."""
        return _first(self._opened)

    def elsewhere(self) -> dict[str, float]:
        """Give what was opened in threads that are not the testbed's: a fit may have started them."""
        return _first(self._opened, {ELSEWHERE})


def read_by(code: Collection[str]) -> dict[str, float]:
    """Give what was opened since `begin` for any of these files of code, with the time of the first."""
    return _first({**_opened, **_forgotten}, {_real(file) for file in code})


def written() -> dict[str, float]:
    """Give what this process opened for writing, with the time of the first."""
    return dict(_written)


def _first(opened: Mapping[Opening, float], code: Collection[str] | None = None) -> dict[str, float]:
    found: dict[str, float] = {}
    for (path, callers), when in list(opened.items()):
        if code is None or any(_real(caller) in code for caller in callers):
            found[path] = min(when, found.get(path, when))
    return found


@cache
def _real(file: str) -> str:
    return os.path.realpath(file) if file else ELSEWHERE


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    """Note an opening; whatever is wrong with it, whoever opens the file is told by Python, not here."""
    if event != "open":
        return
    try:
        path, _, flags = arguments
        if type(path) is not str:
            if isinstance(path, int):
                return
            path = os.fsdecode(path)
        if not path.startswith("/"):
            path = os.path.join(os.getcwd(), path)  # noqa: PTH109, PTH118 - at every opening
        now = time.time()
        if flags & _WRITES:
            _keep(_written, path, now)
            return
        code = _callers(sys._getframe(1))
        if code is not _NOBODY and code is not _OUTSIDE:
            _keep(_opened, (path, code), now)
        for opened in _recorders:
            opened.setdefault((path, code), now)
    except Exception:  # noqa: BLE001 - nobody's `open` may fail for this
        pass


def _keep(kept: dict[Any, float], key: Any, now: float) -> None:
    kept.setdefault(key, now)
    if len(kept) <= LIMIT:
        return
    with suppress(RuntimeError, KeyError):  # another thread opens a file too, and does the same
        first = next(iter(kept))
        when = kept.pop(first)
        if isinstance(first, tuple):
            path, code = first
            _forgotten.setdefault((f"{path.rpartition('/')[0]}/{FORGOTTEN}", code), when)


def _callers(frame: FrameType | None) -> frozenset[str]:
    found: set[str] = set()
    while frame is not None:
        file = frame.f_code.co_filename
        kind = _kinds.get(file) or _kinds.setdefault(file, _kind(file))
        if kind == "testbed":
            break
        if kind == "own":
            found.add(file)
        frame = frame.f_back
    else:
        found.add(ELSEWHERE)
    if not found:
        return _NOBODY
    callers = frozenset(found)
    return _OUTSIDE if callers == _OUTSIDE else _interned.setdefault(callers, callers)


def _kind(file: str) -> str:
    if file.startswith(_testbed()):
        return "testbed"
    return "library" if file.startswith(("<frozen ", *_libraries())) else "own"


@cache
def _testbed() -> tuple[str, ...]:
    """Give where the testbed's own modules are, as they were imported and as they lie."""
    imported = os.path.dirname(os.path.dirname(os.path.dirname(_hook.__code__.co_filename)))  # noqa: PTH120
    return spelt(f"{home}/{package}" for home in (imported, HOME) for package in OUR_PACKAGES)


@cache
def _libraries() -> tuple[str, ...]:
    return spelt(library_folders())


def library_folders() -> tuple[str, ...]:
    """Give where Python and what is installed lie: their versions are in every key.

    Not all that is below `sys.prefix`: an environment may have been made in a project's own folder.
    """
    prefixes = (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)
    parts = ("bin", "etc", "include", "lib", "lib64", "share")
    named = ("stdlib", "platstdlib", "purelib", "platlib")
    own = (f"{prefix}/{part}" for prefix in dict.fromkeys(prefixes) for part in parts)
    return (*own, *(sysconfig.get_path(name) for name in named))


def spelt(folders: Iterable[str]) -> tuple[str, ...]:
    """Give folders as they are written and as they lie, with a slash at the end."""
    both = (spelling for folder in folders for spelling in (folder, os.path.realpath(folder)))
    return tuple(dict.fromkeys(f"{folder.rstrip('/')}/" for folder in both))
