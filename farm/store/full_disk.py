"""A full disk that somebody's code meets: the machine's fault, where a disk is full indeed.

"No space left on device" has other causes, too: a limit of the kernel's on watches or semaphores, a small
`/dev/shm` in a container. Who always meets one of these would stop a campaign for ever, so a component is
believed only where a disk is seen to be full; and then it is told which.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from farm.errors import ComponentFailure, StorageError

LEAST = 2**20
"""A disk with fewer bytes left is full: hardly anything that is written is smaller than what still fits."""


def is_full_disk(error: BaseException) -> bool:
    """Say whether a full disk is behind an error, whatever was made of it on the way.

    That is the machine's fault, and of nobody who met it. What the testbed itself met is believed; what a
    component did, only as `stop_where_full` does.

    Examples
    --------
    >>> full = OSError(errno.EDQUOT, "Disk quota exceeded")
    >>> failure = ComponentFailure("it failed")
    >>> failure.__cause__ = full
    >>> is_full_disk(full), is_full_disk(failure), is_full_disk(ComponentFailure("it failed"))
    (True, True, False)
    """
    chain = list(_behind(error))
    if any(isinstance(one, ComponentFailure) for one in chain):
        return _seen(chain) is not None
    return any(isinstance(one, StorageError) or _number(one) in (errno.ENOSPC, errno.EDQUOT) for one in chain)


def stop_where_full(told: str, error: BaseException) -> None:
    """Raise a `StorageError` where a component's error has a full disk behind it; else it is its own failure.

    A quota is believed: how much of it is left cannot be seen.

    Parameters
    ----------
    told
        Whose failure it would be; the place that is full is told after it.
    error
        What the component raised.
    """
    place = _seen(list(_behind(error)))
    if place is not None:
        raise StorageError(f"{told}; {place}" if place else told) from error


def _behind(error: BaseException) -> Iterator[BaseException]:
    """Return an error and what came before it, as a traceback would show it."""
    seen: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in seen:
        yield one
        seen.append(one)
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)


def _seen(chain: list[BaseException]) -> str | None:
    """Say which disk is full; None where none is, nothing where the errors themselves have to be believed."""
    if any(isinstance(one, StorageError) or _number(one) == errno.EDQUOT for one in chain):
        return ""
    without = [one for one in chain if _number(one) == errno.ENOSPC]
    if not without:
        return None
    return next((told for place in _places(without) if (told := _full(place))), None)


def _number(error: BaseException) -> int | None:
    return error.errno if isinstance(error, OSError) else None


def _places(errors: list[BaseException]) -> Iterator[Path]:
    """Return where something may have been written: what the errors name, and where programs write."""
    from farm.store.cache import default_cache_folder  # not above: a campaign's worker begins without NumPy

    names = [getattr(error, name, None) for error in errors for name in ("filename", "filename2")]
    for name in names:
        if isinstance(name, str | bytes | os.PathLike):
            with suppress(OSError):  # of a relative one, where the current folder is gone
                yield Path(os.fsdecode(name)).absolute().parent
    usual: tuple[Callable[[], str | Path], ...] = (tempfile.gettempdir, os.getcwd, default_cache_folder)
    for place in usual:
        with suppress(OSError, RuntimeError):  # there may be no current folder, and no home
            yield Path(place())


def _full(place: Path) -> str | None:
    """Say that the disk of a place is full; None where it is not, or where nothing is ever written."""
    try:
        while not place.exists() and place != place.parent:
            place = place.parent
        total, _, free = shutil.disk_usage(place)
        disk = os.statvfs(place) if hasattr(os, "statvfs") else None
    except (OSError, ValueError):
        return None
    if not total or (disk is not None and disk.f_flag & os.ST_RDONLY):
        return None
    if free < LEAST:
        return f"the disk of {place} is full ({free:,} bytes are free)"
    # Some file systems count no files: these have no end of them.
    if disk is not None and disk.f_files and not disk.f_favail:
        return f"the disk of {place} is full (no other file has room, however small)"
    return None
