"""What a file speaks of beside it: the images of an index, the weights of a graph."""

from __future__ import annotations

import json
import mmap
import os
import re
from collections.abc import Mapping
from pathlib import Path

from farm.identity.files import Member, remembered, unreadable
from farm.identity.state import state_of

_BETWEEN = re.compile(rb"[\x00-\x20,;\"'/\\:|()\[\]{}<>=]+")
"""What parts names in a text, whether that is a table, JSON or a plain list."""
_HEAD = 4096
_WEIGHTS_IN = b"\x08location\x12"
"""What an ONNX graph writes before the name of a file that holds its weights."""


def mentioned(file: Path, memory: Path | None = None) -> list[str]:
    """Give the names of those files and folders beside a file that its content speaks of.

    A path in an index counts by its first part, so `images/stop/01.png` means all of the folder `images`.
    Read are texts of any kind, Parquet, and ONNX graphs; other binary files have all they need inside.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     index = Path(folder) / "index.csv"
    ...     _ = index.write_text("path,label\\nimages/1.png,stop")
    ...     for name in ("images", "results"):
    ...         (Path(folder) / name).mkdir()
    ...     mentioned(index, Path(folder) / "memory")
    ['images']
    """
    where = os.path.abspath(file)  # noqa: PTH100 - a link's images lie beside the link
    folder, own = os.path.split(where)

    def look() -> list[Member]:
        names = sorted(set(os.listdir(folder)) - {own})  # noqa: PTH208
        return [Member("", "", where, state_of(where)), *(Member(name, "beside", "", None) for name in names)]

    def make(members: list[Member]) -> str:
        return json.dumps(_spoken_of(Path(where), [member.name for member in members[1:]]))

    found: list[str] = json.loads(remembered(where, look, make, memory, about="mentioned"))
    return found


def _spoken_of(file: Path, names: list[str]) -> list[str]:
    encoded = {name: os.fsencode(name) for name in names}
    try:
        with file.open("rb") as handle:
            head = handle.read(_HEAD)
            if not head:
                return []
            with mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as data:
                if data.find(_WEIGHTS_IN) >= 0:
                    return [name for name, raw in encoded.items() if data.find(raw) >= 0]
            if head.startswith(b"PAR1"):
                return _in_text(_parquet_text(file), encoded)
            return [] if b"\0" in head else _in_text(file.read_bytes(), encoded)
    except OSError as error:
        raise unreadable(str(file), error) from error


def _in_text(text: bytes, encoded: Mapping[str, bytes]) -> list[str]:
    words = set(_BETWEEN.split(text))
    plain = text.replace(b'""', b'"')  # as a CSV file writes a quotation mark
    # A name with a space or a comma in it is no word; there are few such.
    return [n for n, raw in encoded.items() if raw in words or (_BETWEEN.search(raw) and raw in plain)]


def _parquet_text(file: Path) -> bytes:
    """Give all texts in a Parquet file; none where it is damaged, as whoever reads it will say."""
    import pyarrow.parquet

    try:
        columns = pyarrow.parquet.read_table(file).columns
        values = {value for column in columns for value in column.unique().to_pylist()}
    except (ValueError, NotImplementedError):
        return b""
    return "\n".join(sorted(value for value in values if isinstance(value, str))).encode()
