"""What a component is made from: its class, its name, its parameters, code, and the files that it reads."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from farm.api import JSON, Context
from farm.errors import DataError, ParameterError, UnknownNameError, suggestion
from farm.files import json_digest
from farm.identity.code import CodeDigest, code_digest, testbed_digest
from farm.identity.current import in_memory_is_current
from farm.identity.files import content_digest
from farm.identity.installed import installed
from farm.identity.mentioned import mentioned
from farm.identity.source import texts_in
from farm.identity.state import state_of
from farm.registry import HOME, OUR_PACKAGES, Kind

_TARGET = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*):[^\W\d]\w*")


def component_identity(
    kind: Kind, name: str, alias: str | None, parameters: Mapping[str, Any], folder: Path
) -> dict[str, JSON]:
    """Give what makes a component what it is, as JSON; what is the same has the same identity.

    It holds the kind, the class (`target`), the name that readouts show, the parameters that are set, a
    digest of the code with the versions of packages, and the content of files. Nothing is imported for it.

    Code is the class's own, and that of whatever a text in the parameters names: a `module:attribute`, or a
    registered component of any kind. Files are those that `farm.api.Context.find` finds for a text in the
    parameters; with a file goes what lies beside it and is spoken of in it, such as the images of an index.
    In code beside the experiment the texts that name a file count too. What a component opens by a name
    that it puts together itself is not in it: make it a parameter. See `farm.identity.reads`.

    Examples
    --------
    >>> made = component_identity("monitor", "vote", "both", {"members": ["knn", "energy"]}, Path())
    >>> made["target"], made["name"], made["files"]
    ('monitors.vote:Vote', 'both', {})
    """
    return Identities(folder).component(kind, name, alias, parameters)


def benchmark_identity(path: str, folder: Path) -> dict[str, JSON]:
    """Give the identity of a benchmark set that was written to disk: its content alone."""
    return Identities(folder).benchmark(path)


class Identities:
    """The identities of one plan: what was looked at once is not looked at again.

    Do not keep it for long: what changes after the first look is not seen.
    """

    def __init__(self, folder: Path) -> None:
        self._context = Context(folder=folder)
        self._components: dict[str, dict[str, JSON]] = {}
        self._code: dict[tuple[frozenset[str], frozenset[str]], CodeDigest] = {}
        self._places: dict[str, Path | None] = {}
        self._contents: dict[Path, str] = {}
        self._covered: tuple[int, frozenset[str]] = (0, frozenset())

    def component(
        self, kind: Kind, name: str, alias: str | None, parameters: Mapping[str, Any]
    ) -> dict[str, JSON]:
        """Give a component's identity; see `component_identity`. It is kept: do not change it."""
        written = _written(parameters, f"{kind} '{name}'")
        asked = json.dumps([kind, name, alias, written])
        if asked not in self._components:
            self._components[asked] = self._made(kind, name, alias, json.loads(written))
        return self._components[asked]

    def benchmark(self, path: str) -> dict[str, JSON]:
        """Give a benchmark set's identity; see `benchmark_identity`."""
        return {"kind": "benchmark", "content": self._content(self._context.find(path, "stream.benchmark"))}

    def files_of(self, recipe: JSON) -> dict[str, JSON]:
        """Give the content of the files and folders that the texts in a recipe name."""
        return dict(sorted(self._told_by(set(_texts(recipe))).items()))

    def covers(self, path: str) -> bool:
        """Say whether a file's content is in what was given so far: code, and what parameters name.

        Examples
        --------
        >>> identities = Identities(Path())
        >>> _ = identities.component("monitor", "monitors.nearest:NearestNeighbours", None, {})
        >>> [identities.covers(str(HOME / "monitors" / name)) for name in ("nearest.py", "weights_3.npz")]
        [True, False]
        """
        named = self._contents.keys()
        if self._covered[0] != (size := len(self._code) + len(named)):
            files = {file for code in (testbed_digest(), *self._code.values()) for file in code.files}
            beside = {place.parent / name for place in named if place.is_file() for name in mentioned(place)}
            spelt = (spell(place) for place in {*files, *named, *beside} for spell in _SPELLINGS)
            self._covered = size, frozenset(spelt)
        return any(place in self._covered[1] for spell in _SPELLINGS for place in _above(spell(path)))

    def code_files(self) -> set[Path]:
        """Give the files of the code of what was asked for so far."""
        return {file for code in self._code.values() for file in code.files}

    def in_memory_is_current(self) -> bool:
        """Say whether what this process imported can only be the code of what was asked for."""
        return all(in_memory_is_current(code) for code in (testbed_digest(), *self._code.values()))

    def written_since(self, when: float) -> list[Path]:
        """Give the files of what was asked for that were written after a time, in seconds since 1970.

        Of a folder of data, the folder, where it was added to or taken from.
        """
        code = [file for one in (testbed_digest(), *self._code.values()) for file in one.files]
        states = {path: state_of(path) for path in [*code, *self._contents]}
        return [path for path, state in states.items() if state is not None and state.newest > when * 1e9]

    def _made(self, kind: Kind, name: str, alias: str | None, parameters: JSON) -> dict[str, JSON]:
        known = installed()
        target = name
        if ":" not in name:
            entries = known.entries[kind]
            name = known.canonical(kind, name)
            if name not in entries:
                raise UnknownNameError(f"{kind} '{name}' is not known; {suggestion(name, entries)}")
            target = entries[name].target
        texts = set(_texts(parameters))
        modules = {target.partition(":")[0].strip()}
        for text in texts:
            modules |= known.modules.get(text, set()) | known.modules.get(text.replace("_", "-"), set())
        imported = {match.group(1) for text in texts if (match := _TARGET.fullmatch(text))}
        code = self._code_of(frozenset(modules), frozenset(imported))
        return {
            "kind": kind,
            "target": target,
            "name": alias or name,
            "parameters": parameters,
            "code": code.digest,
            "packages": dict(code.packages),
            "files": dict(sorted({**self._told_by(texts), **self._told_in(code)}.items())),
        }

    def _code_of(self, modules: frozenset[str], imported: frozenset[str]) -> CodeDigest:
        asked = modules, imported
        if asked not in self._code:
            self._code[asked] = code_digest(modules, self._context.folder, imported=imported)
        return self._code[asked]

    def _told_by(self, texts: Iterable[str]) -> dict[str, JSON]:
        """Give the content of the files and folders that parameters name."""
        found = {text: self._place(text) for text in texts}
        return {text: self._content(place) for text, place in found.items() if place is not None}

    def _told_in(self, code: CodeDigest) -> dict[str, JSON]:
        """Give the content of the files that are named in code that is not the testbed's."""
        found: dict[str, set[str]] = {}
        for file in code.files:
            if file.suffix != ".py" or any(file.is_relative_to(HOME / package) for package in OUR_PACKAGES):
                continue
            for text in texts_in(file):
                for place in (file.parent / text, self._place(text)):
                    if place is not None and _is_file(place):
                        found.setdefault(f"code: {text}", set()).add(self._content(place))
        return {text: " ".join(sorted(contents)) for text, contents in found.items()}

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


_SPELLINGS = (os.path.abspath, os.path.realpath)
"""A link is covered where it lies, and what it leads to where that lies."""


def _above(path: str) -> Iterator[str]:
    """Give a path and all folders that it lies in, but not the root."""
    while len(path) > 1:
        yield path
        path = path.rpartition("/")[0]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a text that is too long for a name
        return False


def _written(parameters: Mapping[str, Any], what: str) -> str:
    def checked(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(found := dict(pairs)) < len(pairs):
            raise ValueError("two keys are the same text")
        return found

    try:
        written = json.dumps(dict(parameters), allow_nan=False)
        json.loads(written, object_pairs_hook=checked)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{what}: a parameter cannot be written down as JSON: {error}") from error
    return written


def _texts(value: JSON) -> Iterator[str]:
    """Give every text in some JSON, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inside in value.items():
            yield key
            yield from _texts(inside)
    elif isinstance(value, Sequence):
        for inside in value:
            yield from _texts(inside)
