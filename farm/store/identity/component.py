"""What a component is made from: its class, its name, its parameters, code, and the files that it reads."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from farm.api import JSON, Context
from farm.errors import DataError, ParameterError, UnknownNameError, UserError, suggestion
from farm.registry import BASES, HOME, OUR_PACKAGES, Kind, canonical, entries
from farm.store.files import json_digest
from farm.store.identity.code import CodeDigest, code_digest, testbed_digest
from farm.store.identity.content import content_digest, mentioned
from farm.store.identity.memory import newest, states_of
from farm.store.timing import timed

_TARGET = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*):[^\W\d]\w*")
OWN_NETWORK = b"OwnNetwork"
"""What code says that asks for a network of its own."""
_OURS = tuple(HOME / package for package in OUR_PACKAGES)
DATA_SUFFIXES = frozenset(
    (
        *(".npy", ".npz", ".mat", ".h5", ".hdf5"),
        *(".pt", ".pth", ".ckpt", ".bin", ".safetensors", ".onnx", ".pb", ".tflite"),
        *(".pkl", ".pickle", ".joblib"),
        *(".csv", ".tsv", ".parquet", ".feather", ".arrow"),
    )
)
"""How arrays, weights and tables end."""


class Identities:
    """The identities of one plan: what was looked at once is not looked at again.

    Do not keep it for long: what changes after the first look is not seen.

    Examples
    --------
    >>> made = Identities(Path()).component("monitor", "vote", "both", {"members": ["knn", "energy"]})
    >>> made["target"], made["name"], made["files"]
    ('monitors.vote:Vote', 'both', {})
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._context = Context(folder=folder)
        self._components: dict[str, dict[str, JSON]] = {}
        self._code: dict[tuple[frozenset[str], frozenset[str]], CodeDigest] = {}
        self._places: dict[str, Path | None] = {}
        self._contents: dict[Path, str] = {}
        self._data_in: dict[Path, dict[Path, str]] = {}

    @timed("identity")
    def component(
        self, kind: Kind, name: str, alias: str | None, parameters: Mapping[str, Any]
    ) -> dict[str, JSON]:
        """Return what makes a component what it is, as JSON; what is the same has the same identity.

        It holds the kind, the class (`target`), the name that readouts show, the parameters that are set, a
        digest of the code with the versions of packages, and the content of files. Nothing is imported for
        it. It is kept: do not change it.

        Code is the class's own, and that of whatever a text in the parameters names: a `module:attribute`, or
        a registered component of any kind. Files are those that `farm.api.Context.find` finds for a text in
        the parameters; with a file goes what lies beside it and is spoken of in it, such as the images of an
        index. The arrays, weights and tables that lie beside code that is not the testbed's count by name,
        size and time. What else a component opens is not in it: make the path a parameter. `farm run --audit`
        lists what was opened so.
        """
        try:
            written = json.dumps(dict(parameters), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ParameterError(
                f"{kind} '{name}': a parameter cannot be written down as JSON: {error}"
            ) from error
        asked = json.dumps([kind, name, alias, written])
        if asked not in self._components:
            self._components[asked] = self._made(kind, name, alias, json.loads(written))
        return self._components[asked]

    @timed("identity")
    def benchmark(self, path: str) -> dict[str, JSON]:
        """Return the identity of a benchmark set that was written to disk: its content alone."""
        return {"kind": "benchmark", "content": self._content(self._context.find(path, "stream.benchmark"))}

    @timed("identity")
    def files_of(self, recipe: JSON) -> dict[str, JSON]:
        """Return the content of the files and folders that the texts in a recipe name."""
        found = {text: self._place(text) for text in sorted({*_texts(recipe)})}
        return {text: self._content(place) for text, place in found.items() if place is not None}

    @cached_property
    def testbed(self) -> CodeDigest:
        """The testbed's own code that runs when an experiment does."""
        return testbed_digest()

    @property
    def code(self) -> list[CodeDigest]:
        """All code that was looked at, first the testbed's."""
        return [self.testbed, *self._code.values()]

    def covered(self) -> frozenset[str]:
        """Return all that was looked at so far, as it is named and as it lies: code, data, folders of data.

        Examples
        --------
        >>> identities = Identities(Path())
        >>> _ = identities.component("monitor", "monitors.nearest:NearestNeighbours", None, {})
        >>> [str(HOME / "monitors" / name) in identities.covered() for name in ("nearest.py", "vote.py")]
        [True, False]
        """
        files = {file for code in self.code for file in code.files}
        spoken_of = {
            place.parent / name for place in self._contents if place.is_file() for name in mentioned(place)
        }
        beside = {place for data in self._data_in.values() for place in data}
        places = {*files, *self._contents, *spoken_of, *beside}
        return frozenset(spelt(place) for place in places for spelt in (os.path.abspath, os.path.realpath))

    @timed("identity")
    def is_still_so(self) -> bool:
        """Say whether code and data are what they were when they were first asked for."""
        later = Identities(self.folder)
        try:
            return (
                later.testbed.digest == self.testbed.digest
                and all(later._code_of(*asked).digest == code.digest for asked, code in self._code.items())
                and all(_data_in(folder) == data for folder, data in self._data_in.items())
                and all(later._content(path) == digest for path, digest in self._contents.items())
            )
        except (UserError, OSError):  # some of it is gone
            return False

    def written_since(self, when: float) -> list[Path]:
        """Return the files of what was asked for that were written after a time, in seconds since 1970.

        Of a folder of data, the folder, where it was added to or taken from.
        """
        states = states_of([*(file for code in self.code for file in code.files), *self._contents])
        return [path for path, state in states.items() if newest([state]) > when * 1e9]

    @cached_property
    def _modules(self) -> Mapping[str, set[str]]:
        """The modules of all components that are registered under a name, whatever their kind."""
        found: dict[str, set[str]] = {}
        for kind in BASES:
            for name, entry in entries(kind).items():
                found.setdefault(name, set()).add(entry.target.partition(":")[0].strip())
        return found

    def _made(self, kind: Kind, name: str, alias: str | None, parameters: JSON) -> dict[str, JSON]:
        target = name
        if ":" not in name:
            known, name = entries(kind), canonical(kind, name)
            if name not in known:
                raise UnknownNameError(f"{kind} '{name}' is not known; {suggestion(name, known)}")
            target = known[name].target
        texts = {*_texts(parameters)}
        modules = {target.partition(":")[0].strip()}
        for text in texts:
            modules |= self._modules.get(text, set()) | self._modules.get(text.replace("_", "-"), set())
        imported = {match[1] for text in texts if (match := _TARGET.fullmatch(text))}
        code = self._code_of(frozenset(modules), frozenset(imported))
        if kind == "monitor" and any(OWN_NETWORK in file.read_bytes() for file in code.files):
            # Which of them, only the monitor could tell; to make it would load what it imports.
            modules |= {entry.target.partition(":")[0].strip() for entry in entries("network").values()}
            own = [file for file in code.files if not any(file.is_relative_to(place) for place in _OURS)]
            imported |= {match[1] for file in own for match in _TARGET.finditer(file.read_text("utf-8"))}
            code = self._code_of(frozenset(modules), frozenset(imported))
        named = {text: place for text in sorted(texts) if (place := self._place(text)) is not None}
        return {
            "kind": kind,
            "target": target,
            "name": alias or name,
            "parameters": parameters,
            "code": code.digest,
            "packages": dict(code.packages),
            "files": {text: self._content(place) for text, place in named.items()}
            | self._beside(code.files, named.values()),
        }

    def _code_of(self, modules: frozenset[str], imported: frozenset[str]) -> CodeDigest:
        asked = modules, imported
        if asked not in self._code:
            self._code[asked] = code_digest(modules, self.folder, imported=imported)
        return self._code[asked]

    def _beside(self, files: Iterable[Path], known: Iterable[Path]) -> dict[str, JSON]:
        """Return the data that lie beside code that is not the testbed's, but for those that are known.

        Those that other components name are among them: who was asked before must not matter.
        """
        named = {os.path.abspath(path) for path in known}  # noqa: PTH100 - not through links
        own = {file.parent for file in files if not any(file.is_relative_to(place) for place in _OURS)}
        found: dict[str, JSON] = {}
        for folder in sorted(own):
            if folder not in self._data_in:
                self._data_in[folder] = _data_in(folder)
            data = self._data_in[folder].items()
            found |= {f"beside: {path.name}": said for path, said in data if str(path) not in named}
        return found

    def _place(self, text: str) -> Path | None:
        """Find what a component finds by this text."""
        if text not in self._places:
            try:
                found = self._context.find(text, "") if text else None
            except (DataError, OSError):
                found = None
            # Nobody has all of a disk for data: a single slash is a sign that parts something.
            self._places[text] = None if found is None or found.resolve() == Path("/") else found
        return self._places[text]

    def _content(self, path: Path) -> str:
        """Hash a file or folder, and with a file what it speaks of beside it."""
        if path not in self._contents:
            digest = content_digest(path)
            if path.is_file() and (names := mentioned(path)):
                digest = json_digest([digest, content_digest(path.parent, only=names)])
            self._contents[path] = digest
        return self._contents[path]


def _data_in(folder: Path) -> dict[Path, str]:
    """Return the arrays, weights and tables in a folder, each with its size and time."""
    paths = [path for path in folder.iterdir() if path.suffix.lower() in DATA_SUFFIXES and path.is_file()]
    states = {path: path.stat() for path in sorted(paths)}
    return {path: f"{info.st_size} bytes of {info.st_mtime_ns}" for path, info in states.items()}


def _texts(value: JSON) -> Iterator[str]:
    """Return every text in some JSON, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inside in value.items():
            yield key
            yield from _texts(inside)
    elif isinstance(value, Sequence):
        for inside in value:
            yield from _texts(inside)
