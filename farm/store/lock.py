"""A lock file that one process holds at a time, and that the system gives back when the process dies."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_own = threading.local()


@contextmanager
def locked(path: Path, busy: Callable[[], bool] = lambda: True) -> Iterator[bool]:
    """Hold the lock file at `path`, which is made and afterwards removed again; say whether to go on.

    Where somebody else holds it, `busy` is asked whether to wait. Without waiting, the answer is False, and
    nothing is held. A thread that holds it already goes on at once. So does everybody where there are no
    locks: on a file system that has none, or in a folder that cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked(Path(folder) / "lock") as held:
    ...     held, len(list(Path(folder).iterdir()))
    (True, 1)
    """
    name = os.path.abspath(path)  # noqa: PTH100 - a folder that is gone must not matter
    held: set[str] = _own.__dict__.setdefault("held", set())
    if name in held:
        yield True
        return
    handle, free = _taken(path, busy)
    if handle is None:
        yield free
        return
    held.add(name)
    try:
        yield True
    finally:
        held.discard(name)
        _give_back(path, handle)


def is_held(path: Path) -> bool:
    """Say whether somebody holds the lock file at `path`; nothing is made or removed for it."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe would be waited for
    except OSError:
        return False
    try:
        return not _flock(handle, wait=False, shared=True)
    except (OSError, ImportError):
        return False
    finally:
        os.close(handle)


def _taken(path: Path, busy: Callable[[], bool]) -> tuple[int | None, bool]:
    """Return the file that holds the lock; None and whether to go on all the same, where it is not held."""
    asked = False
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError:
            return None, True
        mine = False
        try:
            if not _flock(handle, wait=asked):
                if not busy():
                    return None, False
                asked = True
                _flock(handle, wait=True)
            # Who held it before may have removed this file, and another may hold its successor.
            mine = _lies_at(handle, path)
            if mine:
                return handle, True
        except (OSError, ImportError):
            with suppress(OSError):
                path.unlink()
            return None, True
        finally:
            if not mine:
                os.close(handle)


def _flock(handle: int, *, wait: bool, shared: bool = False) -> bool:
    import fcntl  # not on every system

    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(handle, how if wait else how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _give_back(path: Path, handle: int) -> None:
    try:
        # While it is held, so that nobody's but this file is removed.
        with suppress(OSError):
            if _lies_at(handle, path):
                path.unlink()
    finally:
        os.close(handle)


def _lies_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
