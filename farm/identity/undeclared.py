"""What was read and is in no key: data that somebody's code opens by a path it puts together itself."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib.util import source_from_cache
from pathlib import Path

from farm.cache import default_cache_folder
from farm.errors import DataError
from farm.identity.component import Identities
from farm.identity.files import content_digest
from farm.identity.reads import Recorder, library_folders, read_by, spelt, written
from farm.identity.state import state_of
from farm.registry import HOME, OUR_PACKAGES

SHOWN = 3
MANY = 100
"""Of a folder with more such files than this, the whole folder is remembered."""

_SYSTEM = ("/proc", "/sys", "/dev", "/etc", "/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin")
"""The system's own; /var, /run, /opt and /tmp are not, since people mount and keep data there."""
_SETTINGS = ("~/.config", "~/.cache/matplotlib", "~/.cache/fontconfig")
"""How programs look for somebody, and lists of the fonts that are installed: never data."""
_RECORDS = (".dist-info", ".egg-info")
"""Folders in which distributions tell their versions, wherever they lie."""


def undeclared(
    read: Mapping[str, float], declared: Sequence[Identities], apart: Iterable[Path] = ()
) -> dict[str, float]:
    """Give those of the files that nothing declares, as real paths, with the time when each was read first.

    Declared is what the identities cover; whatever comes with the testbed, Python, an installed package or
    the system; what the testbed keeps in its cache and in the folders `apart`; and what this process wrote
    itself. Of compiled code, the source counts.
    """
    if not read:
        return {}
    none = (*_nobodys(), *spelt(str(folder) for folder in (default_cache_folder(), *apart)))
    found: dict[str, float] = {}
    folders: dict[str, bool] = {}
    for path, when in read.items():
        opened = os.path.abspath(_source_of(path))  # noqa: PTH100 - a link counts where it is declared
        folder = os.path.dirname(opened)  # noqa: PTH120
        if folder not in folders:  # of a hundred thousand images one is looked at
            known = f"{folder}/".startswith(none)
            folders[folder] = known or any(one.covers(folder) for one in declared)
        if folders[folder] or any(one.covers(opened) for one in declared):
            continue
        real = os.path.realpath(opened)
        if not real.startswith(none) and _is_data(real):
            found[real] = min(when, found.get(real, when))
    own = _written_before(found)
    return {path: when for path, when in sorted(found.items()) if path not in own}


def undeclared_by(
    made_by: Sequence[Identities],
    also_declared: Sequence[Identities] = (),
    recorder: Recorder | None = None,
    apart: Iterable[Path] = (),
) -> list[str]:
    """Give what the code of some components read and nothing declares, whenever this process did.

    With a recorder also what threads read meanwhile in which the testbed was not at work: whose they are
    cannot be told.
    """
    read = read_by([str(file) for one in made_by for file in one.code_files()])
    if recorder is not None:
        read = {**recorder.elsewhere(), **read}
    return list(undeclared(read, [*made_by, *also_declared], apart))


def digests(found: Mapping[str, float], home: Path) -> dict[str, str | None]:
    """Give the content of files by their paths, from a folder where they lie in it.

    None where it was written after it was read, so that nobody knows what was read. Of a folder with very
    many such files the folder itself.
    """
    base, counts = os.path.realpath(home), _by_folder(found)
    made: dict[str, str | None] = {}
    for path, when in found.items():
        folder = os.path.dirname(path)  # noqa: PTH120
        changed = (state := state_of(path)) is None or state.newest > when * 1e9
        place = folder if counts[folder] > MANY else path
        name = os.path.relpath(place, base) if _is_in(place, base) else place
        if changed:
            made[name] = None
        elif name not in made:
            made[name] = content_now(place, Path())
    return made


def difference(name: str, digest: str | None, now: str | None) -> str:
    """Say what became of a file that was read; `now` is its content, None where it is gone.

    Examples
    --------
    >>> difference("weights_3.npz", "c0ffee", "c0ffee"), difference("weights_3.npz", "c0ffee", None)
    ('', 'weights_3.npz is gone')
    """
    if now is None:
        return f"{name} is gone"
    if digest is None:
        return f"{name} was changed while it was computed"
    return "" if now == digest else f"{name} was changed"


def content_now(name: str, home: Path) -> str | None:
    """Give the content of what `digests` names; None where it is gone, or cannot be read."""
    try:
        return content_digest(home / name)
    except DataError:
        return None


def advice(files: Collection[str]) -> str:
    """Say which files were read, and what to do; what comes before it says whose code read them.

    Examples
    --------
    >>> advice(["/home/weights_3.npz"])
    'read /home/weights_3.npz, which is in no parameter: name it in one'
    """
    names = list(files)
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    one = len(names) == 1
    which = f"which {'is' if one else 'are'} in no parameter: name {'it' if one else 'them'} in one"
    return f"read {', '.join(names[:SHOWN])}{more}, {which}"


@cache
def _nobodys() -> tuple[str, ...]:
    settings = (os.path.expanduser(folder) for folder in _SETTINGS)  # noqa: PTH111
    ours = (str(HOME / package) for package in OUR_PACKAGES)
    return spelt([*_SYSTEM, *settings, *ours, *library_folders()])


def _source_of(path: str) -> str:
    """Give the source of compiled code that Python keeps; it may not even have been opened."""
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


def _written_before(found: Mapping[str, float]) -> set[str]:
    """Give what this process wrote before it read it, by whatever path."""
    names = {os.path.basename(path) for path in found}  # noqa: PTH119
    own = {
        os.path.realpath(path): when
        for path, when in written().items()
        if os.path.basename(path) in names  # noqa: PTH119
    }
    return {path for path, when in found.items() if own.get(path, float("inf")) <= when}


def _by_folder(found: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for path in found:
        folder = os.path.dirname(path)  # noqa: PTH120
        counts[folder] = counts.get(folder, 0) + 1
    return counts


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")
