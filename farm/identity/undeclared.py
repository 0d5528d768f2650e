"""What was read and is in no key: data that somebody's code opens by a path it puts together itself."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.util import source_from_cache
from pathlib import Path
from typing import Any

from farm.cache import default_cache_folder
from farm.errors import DataError
from farm.identity.component import Identities
from farm.identity.files import content_digest
from farm.identity.reads import FORGOTTEN, Recorder, library_folders, read_by, spelt, written
from farm.identity.state import state_of
from farm.registry import HOME, OUR_PACKAGES

UNDECLARED = "undeclared"
"""The key under which a pass's record has the content of files that were read and are in no key, if any."""
SHOWN = 3
MANY = 100
"""Of more such files in one folder than this, their names are kept and one digest of them all."""

Content = str | None | Mapping[str, Any]
"""Of a file its digest; of many in a folder their `names` and their `digest`; None where nobody knows it."""

_LIBRARIES = ("lib", "lib32", "lib64", "libexec", "bin", "sbin", "share", "include")
_SYSTEM = (
    *("/proc", "/sys", "/dev", "/etc"),
    *(f"{above}/{folder}" for above in ("", "/usr", "/usr/local") for folder in _LIBRARIES),
)
"""The system's own; /usr/src, /var, /run, /opt and /tmp are not, since people mount and keep data there."""
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
        if folders[folder]:
            continue
        for file in _files_in(folder) if opened.endswith(f"/{FORGOTTEN}") else [opened]:
            if any(one.covers(file) for one in declared):
                continue
            real = os.path.realpath(file)
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
    cannot be told. What is `also_declared` is in the keys of what they make, too.
    """
    read = read_by([str(file) for one in made_by for file in one.code_files()])
    if recorder is not None:
        read = {**recorder.elsewhere(), **read}
    return list(undeclared(read, [*made_by, *also_declared], apart))


def digests(found: Mapping[str, float], home: Path) -> dict[str, Content]:
    """Give the content of files by their paths, from a folder where they lie in it.

    None where one was written after it was read, so that nobody knows what was read. Very many files in one
    folder are told by that folder: their names, so that whatever else is written there does not matter, and
    one digest.
    """
    base, made = os.path.realpath(home), dict[str, Content]()
    for folder, files in _by_folder(found).items():
        unknown = {path for path in files if _written_since(path, found[path])}
        if len(files) > MANY:
            names = sorted(os.path.basename(path) for path in files)  # noqa: PTH119
            digest = None if unknown else content_now(folder, Path(), names)
            made[_from(base, folder)] = {"names": names, "digest": digest}
            continue
        for path in files:
            made[_from(base, path)] = None if path in unknown else content_now(path, Path())
    return made


class Since:
    """Says what of the files that records tell of is another now; looks at each at most once.

    Parameters
    ----------
    home
        The experiment's folder: paths in records are relative to it.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._now: dict[tuple[str, tuple[str, ...]], str | None] = {}

    def changes(self, record: Mapping[str, Any]) -> list[str]:
        """Say what became of what was read for a run and is in no key; nothing where it is as it was."""
        read = [pair for one in record.get("passes", ()) for pair in one.get(UNDECLARED, {}).items()]
        told = [difference(name, content, self._content(name, content)) for name, content in read]
        return list(dict.fromkeys(one for one in told if one))

    def _content(self, name: str, content: Content) -> str | None:
        names = tuple(content["names"]) if isinstance(content, Mapping) else ()
        if (name, names) not in self._now:
            self._now[name, names] = content_now(name, self._home, names or None)
        return self._now[name, names]


def difference(name: str, content: Content, now: str | None) -> str:
    """Say what became of what was read; `now` is the digest of its content, None where it is gone.

    Examples
    --------
    >>> difference("weights_3.npz", "c0ffee", "c0ffee"), difference("weights_3.npz", "c0ffee", None)
    ('', 'weights_3.npz is gone')
    """
    if now is None:
        return f"{name} is gone"
    if isinstance(content, Mapping):
        where = "the experiment's folder" if name == "." else name
        told = f"some of {len(content['names'])} files read in {where} (a parameter should name their folder)"
        digest, meanwhile, told = content["digest"], "while they were computed with", f"{told} were changed"
    else:
        digest, meanwhile, told = content, "while it was computed", f"{name} was changed"
    if digest is None:
        return f"{told} {meanwhile}"
    return "" if now == digest else told


def content_now(name: str, home: Path, names: Collection[str] | None = None) -> str | None:
    """Give the digest of what `digests` names; None where it is gone, or cannot be read.

    Of a folder, only of the files with these `names`.
    """
    try:
        return content_digest(home / name, only=None if names is None else frozenset(names))
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


def _written_since(path: str, when: float) -> bool:
    now = state_of(path)
    return now is None or now.newest > when * 1e9


def _files_in(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            yield from (_source_of(entry.path) for entry in entries)
    except OSError:
        return  # it is gone


def _by_folder(found: Iterable[str]) -> dict[str, list[str]]:
    folders: dict[str, list[str]] = {}
    for path in found:
        folders.setdefault(os.path.dirname(path), []).append(path)  # noqa: PTH120
    return folders


def _from(base: str, path: str) -> str:
    """Give a path from a folder where it lies in it."""
    return os.path.relpath(path, base) if path == base or path.startswith(f"{base}/") else path
