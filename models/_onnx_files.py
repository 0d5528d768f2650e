"""The files of an ONNX graph, where they are or as they were saved, and sessions of onnxruntime on them."""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np

from farm.api import State, read_bytes
from farm.errors import DataError, ParameterError, RequirementError, one_line
from models._inputs import as_array, read_file

GRAPH, BESIDE = "graph", "beside."
"""What the arrays of a saved graph are called: its file, and those beside it."""
FOLDER = "session.model_external_initializers_file_folder_path"
"""Where a session whose graph came as bytes looks for weights."""
LOCATION = re.compile(rb"\x0a\x08location\x12([\x01-\x7f])")
"""Where a tensor says in which other file its values lie: a key and, by its length, a value."""


class OnnxFiles:
    """A graph and the files that its weights are in; read again when asked for, and checked to be the same.

    Parameters
    ----------
    unpacked
        Gives the graph's file, with those that belong to it beside it, while it is entered.
    device, threads
        What sessions run on.
    what
        What errors call it.
    """

    def __init__(
        self,
        unpacked: Callable[[], AbstractContextManager[Path]],
        device: str,
        threads: int,
        what: str,
    ) -> None:
        self._unpacked, self._device, self._threads, self.what = unpacked, device, threads, what
        with unpacked() as path:
            self.digest = _digest(_contents(path, what))

    @classmethod
    def at(cls, path: Path, device: str, threads: int) -> Self:
        """Return the files at a path."""
        return cls(lambda: nullcontext(path), device, threads, f"classifier.path '{path}'")

    @classmethod
    def saved(cls, state: State, name: str, device: str, threads: int) -> Self:
        """Return the files that `state` gave."""
        return cls(lambda: _as_files(state), device, threads, f"the saved graph of '{name}'")

    @property
    def content(self) -> bytes:
        """The bytes of the graph itself."""
        with self._unpacked() as path:
            return self._unchanged(path)[GRAPH]

    def session(self, content: bytes | None = None, *, plain: bool = False) -> Any:
        """Open a session of the file, or of bytes in its place; `plain`, without the time to make it fast."""
        runtime = onnxruntime()
        provider = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}[self._device]
        if provider not in runtime.get_available_providers():
            raise ParameterError(
                f"device is '{self._device}', which this onnxruntime cannot use; expected cpu"
            )
        options = runtime.SessionOptions()
        # As many threads as everything else in the experiment; its own default is one a core.
        options.intra_op_num_threads, options.inter_op_num_threads = self._threads, 1
        options.log_severity_level = 3
        if plain:
            options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
        with self._unpacked() as path:
            if content is not None:
                options.add_session_config_entry(FOLDER, str(path.parent))
            try:
                return runtime.InferenceSession(
                    str(path) if content is None else content, sess_options=options, providers=[provider]
                )
            except Exception as error:  # its errors have no common base but this
                raise DataError(
                    f"{self.what} cannot be loaded as ONNX ({one_line(error)[:300]}); is it whole, with the "
                    "weights that belong to it beside it?"
                ) from error

    def state(self) -> State:
        """Return the bytes of all files as arrays."""
        with self._unpacked() as path:
            contents = self._unchanged(path)
        for name in contents:
            plain = name.removeprefix(BESIDE)
            if Path(plain).name != plain or (plain == GRAPH and name != GRAPH):
                raise RequirementError(
                    f"{self.what} keeps weights in '{plain}', with which it cannot be saved; put all into "
                    "one file"
                )
        return {name: as_array(content) for name, content in contents.items()}

    def _unchanged(self, path: Path) -> dict[str, bytes]:
        """Read the files again that nobody should have changed since: large graphs are not kept in memory."""
        contents = _contents(path, self.what)
        if _digest(contents) != self.digest:
            raise DataError(f"{self.what} was changed while it was in use; expected the file that was loaded")
        return contents


@contextmanager
def _as_files(state: State) -> Iterator[Path]:
    """Write what was saved as files again, because a graph names the files that its weights are in."""
    with TemporaryDirectory(prefix="farm-onnx-") as folder:
        for name, content in state.items():
            file = Path(folder) / Path(name.removeprefix(BESIDE)).name
            file.write_bytes(np.asarray(content, dtype=np.uint8).tobytes())
        yield Path(folder) / GRAPH


def onnxruntime() -> Any:
    """Import the package, or say which extra has it."""
    try:
        return importlib.import_module("onnxruntime")
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "onnxruntime":
            raise RequirementError(
                "classifier 'onnx' needs the package onnxruntime, which is not installed; "
                "try: pip install 'farm-testbed[onnx]'"
            ) from None
        raise RequirementError(f"onnxruntime cannot be imported: {one_line(error)}") from error


def _contents(path: Path, what: str) -> dict[str, bytes]:
    """Return the bytes of a graph, and of every file that it says its weights are in."""
    content = read_file(path, what)
    found = {GRAPH: content}
    names = {content[m.end() : m.end() + m.group(1)[0]] for m in LOCATION.finditer(content)}
    for name in sorted(names):
        try:
            found[BESIDE + name.decode()] = read_bytes(path.parent / name.decode())
        except (OSError, UnicodeDecodeError) as error:
            shown, why = name.decode(errors="replace"), getattr(error, "strerror", None) or error
            raise DataError(
                f"{what}: its weights in '{shown}' cannot be read ({why}); expected them beside it"
            ) from error
    return found


def _digest(contents: Mapping[str, bytes]) -> bytes:
    seen = hashlib.blake2b(digest_size=16)
    for content in contents.values():
        seen.update(hashlib.blake2b(content, digest_size=16).digest())
    return seen.digest()
