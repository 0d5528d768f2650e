"""Writing that is whole or not there at all, and checksums that tell."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from farm.api.files import TEXT, read_text
from farm.errors import DataError, StorageError


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Fill a temporary folder beside `path`, and rename it into place only when all went well.

    Whatever happens inside (an error, Ctrl-C, a full disk), nothing is left at `path`. When this is left
    without an error, all of it is on the disk: a machine that is switched off does not lose it.
    """
    check_free(path)
    temporary: Path | None = None
    try:
        try:
            new_parents = [parent for parent in path.parents if not parent.exists()]
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.unfinished-", dir=path.parent))
            yield temporary
            temporary.chmod(0o755)
            _flush_all(temporary)
            temporary.rename(path)
            for entered in (path, *new_parents):
                _flush_folder(entered.parent)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                check_free(path)  # somebody else was faster
            raise StorageError(f"cannot write {path}: {_reason(error)}") from error
    finally:
        if temporary is not None and temporary.exists():
            shutil.rmtree(temporary, ignore_errors=True)


def check_free(path: Path) -> None:
    """Raise where something is at `path` already: nothing is ever overwritten."""
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise DataError(f"{path} exists already; expected a new folder: remove it or choose another name")


def check_new_file(path: Path) -> None:
    """Raise where something is at `path` already, of a file that is to be written there."""
    if path.exists():
        raise DataError(f"{path} exists already; expected a new file: remove it or choose another name")


def numbered_folder(parent: Path, name: str) -> Path:
    """Return the first free `name-001`, `name-002`, ... in a folder."""
    number = 1
    while (path := parent / f"{name}-{number:03d}").exists():
        number += 1
    return path


def file_digest(path: Path) -> str:
    """Hash a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def json_digest(value: Any) -> str:
    """Hash a JSON value in its canonical form."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def write_json(path: Path, value: Any) -> None:
    """Write JSON for people, whole or not at all: indented, and without NaN, which is not JSON.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     record = Path(folder) / "record.json"
    ...     write_json(record, {"done": 1})
    ...     write_json(record, {"done": 2})
    ...     read_json(record), len(list(Path(folder).iterdir()))
    ({'done': 2}, 1)
    """
    replace_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def replace_text(path: Path, text: str) -> None:
    """Write a file beside another and rename it over that: who reads sees one or the other, whole."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.unfinished-", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _flush_folder(path.parent)


def write_text(path: Path, text: str) -> None:
    """Write text for people, whole or not at all; a link stays one."""
    path = path.resolve()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, text)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object; a number that is not finite is none of JSON's."""
    value = read_json_value(path)
    if not isinstance(value, dict):
        raise DataError(f"{path} holds a {type(value).__name__}; expected a JSON object")
    return value


def read_json_value(path: Path, most: int = TEXT) -> Any:
    """Read any JSON value from a file of at most so many bytes."""
    try:
        return json.loads(read_text(path, most), parse_constant=_finite, parse_float=_finite)
    except FileNotFoundError:
        raise DataError(f"{path} is not there; expected a JSON file") from None
    except RecursionError:
        raise DataError(f"{path}: values are nested too deep; was it edited?") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read as JSON ({error}); is it truncated?") from error


def _finite(text: str) -> float:
    if math.isfinite(value := float(text)):
        return value
    raise ValueError(f"{text} is no finite number")


SIGNATURE = "checksum"
"""The key under which a record has the digest of all its other keys."""


def signed(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with its own digest, by which a change of it is found."""
    plain = json.loads(json.dumps({k: v for k, v in record.items() if k != SIGNATURE}, allow_nan=False))
    return {**plain, SIGNATURE: json_digest(plain)}


def check_signature(path: Path, record: Mapping[str, Any]) -> None:
    """Raise where a record that was read is not as it was signed."""
    if signed(record)[SIGNATURE] != record.get(SIGNATURE):
        raise DataError(f"{path} was changed: its checksum differs from its content")


def check_files(folder: Path, digests: Mapping[str, str], needed: Iterable[str] = ()) -> None:
    """Check every file that a folder's record lists against its digest, and that it lists those needed."""
    for name in needed:
        if name not in digests:
            raise DataError(f"{folder}: its record does not list '{name}'; was it edited?")
    for name, expected in digests.items():
        path = folder / name
        parts = PurePosixPath(name).parts
        if not parts or ".." in parts or "/" in parts or "\\" in name or "/".join(parts) != name:
            raise DataError(f"{folder}: its record names the file '{name}'; expected one in that folder")
        if not path.is_file():
            raise DataError(f"{path} is missing; the folder's record lists it")
        if file_digest(path) != expected:
            raise DataError(f"{path} was changed or truncated: its checksum differs from the record")


def check_optional(folder: Path, digests: Mapping[str, str], names: Collection[str]) -> bool:
    """Check files that a folder has all of or none; say whether its record lists them."""
    own = {name: digest for name, digest in digests.items() if name in names}
    if own:
        check_files(folder, own, names)
    return bool(own)


def _flush_all(folder: Path) -> None:
    """Put all files of a folder on the disk, and then the entries of its folders, the deepest first."""
    for place, _, files in os.walk(folder, topdown=False):
        for path in (Path(place) / name for name in files):
            if path.is_file():
                with path.open("rb") as file:
                    os.fsync(file.fileno())
        _flush_folder(Path(place))


def _flush_folder(folder: Path) -> None:
    """Put a folder's entries on the disk, on systems and file systems that have a way to ask for it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # not everywhere can a folder be opened
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(handle)


def _reason(error: OSError) -> str:
    hint = ""
    if error.errno == errno.ENOSPC:
        hint = "; free some space or choose another disk with --out"
    elif error.errno in (errno.EACCES, errno.EROFS):
        hint = "; choose a folder you may write to with --out"
    return f"{error.strerror or error}{hint}"
