"""Small texts that were dear to find out, remembered on disk; whatever is wrong with one, it is made anew."""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from farm.cache import default_cache_folder


def default_memory() -> Path:
    """Give the folder in the testbed's cache."""
    return default_cache_folder() / "digests"


def recall(folder: Path, key: str) -> str | None:
    """Give what is remembered under a key; None where that is nothing, or damaged."""
    try:
        check, _, text = (folder / key).read_text("utf-8").partition("\n")
    except (OSError, ValueError):
        return None
    return text if check == _check(key, text) else None


def remember(folder: Path, key: str, text: str) -> None:
    """Remember a text, whole or not at all; where nothing can be written, it is not remembered."""
    temporary = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".unfinished-", dir=folder)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{_check(key, text)}\n{text}")
        os.replace(temporary, folder / key)  # noqa: PTH105 - atomic, and over what is there
    except OSError:
        if temporary is not None:
            with suppress(OSError):
                Path(temporary).unlink()


def _check(key: str, text: str) -> str:
    return hashlib.blake2b(f"{key}\n{text}".encode(), digest_size=16).hexdigest()
