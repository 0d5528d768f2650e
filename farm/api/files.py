"""Files that people name, and those that are open.

A pipe or a device, which may never end, is refused and not opened.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

TEXT = 64 * 2**20
"""Bytes of YAML or JSON that are read at most: what is made of them takes many times as many."""

_KEPT_OPEN: list[int] = []
"""A file that nobody else knows of, which does not block; closed where somebody closes whatever is open."""
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def check_regular(path: Path | str) -> None:
    """Raise `OSError` where what is there is neither a file nor a folder; nothing there is no concern here.

    Examples
    --------
    >>> check_regular("/dev/null")
    Traceback (most recent call last):
    OSError: [Errno 22] a device, not a file: '/dev/null'
    """
    try:
        kind = stat.S_IFMT(Path(path).stat().st_mode)
    except (OSError, ValueError):
        return
    if kind in _KINDS:
        raise OSError(errno.EINVAL, f"{_KINDS[kind]}, not a file", str(path))


def read_bytes(path: Path | str, most: int | None = None) -> bytes:
    """Return a file's content; raise `OSError` where there is no file, or one of more bytes than `most`."""
    check_regular(path)
    path = Path(path)
    try:
        size = path.stat().st_size
        if most is not None and size > most:
            raise OSError(errno.EFBIG, f"{size:,} bytes; expected at most {most:,}", str(path))
        return path.read_bytes()
    except MemoryError:
        raise OSError(errno.ENOMEM, f"{size:,} bytes do not fit into memory", str(path)) from None
    except ValueError as error:  # a name that no file can have
        raise OSError(errno.EINVAL, str(error), str(path)) from None


def read_text(path: Path | str, most: int = TEXT) -> str:
    """Return the text of a file of YAML or JSON; raise `OSError` or `UnicodeDecodeError` where it fails."""
    return read_bytes(path, most).decode("utf-8")


def files_were_closed() -> bool:
    """Say whether somebody closed what others had opened since this was asked last.

    Whoever does so in a process breaks whatever else is at work in it, and is not noticed elsewhere.
    """
    if _KEPT_OPEN:
        try:
            # What else may have come to bear its number blocks. To ask that takes a fifth of a full look,
            # and this is asked after each score.
            if not os.get_blocking(_KEPT_OPEN[0]):
                return False
        except OSError:
            pass
    asked_before = bool(_KEPT_OPEN)
    _KEPT_OPEN[:] = [os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)]
    return asked_before
