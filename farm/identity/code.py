"""The code of a module: its source, and all that it imports, as one digest.

Source is followed within the testbed's packages and wherever no version tells what it is: beside the
experiment, on the import path, in packages that are installed as links to their source. Of everything else
that is imported the version counts. Python and its own library are not in it.

What cannot be seen is what is imported by a name that is put together at run time from elsewhere.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from pkgutil import iter_modules

from farm.errors import ExperimentError
from farm.files import json_digest
from farm.identity.finding import Found, find_among, find_top, search_path
from farm.identity.installed import Installed, installed
from farm.identity.source import EVERYTHING, Import, read_source
from farm.identity.state import FileState, settled, state_of
from farm.registry import HOME, OUR_PACKAGES

TESTBED = "farm"
NOT_INSTALLED = "not installed"


@dataclass(frozen=True)
class CodeDigest:
    """A digest of source and versions, the files that the source is in, and the versions by package."""

    digest: str
    files: tuple[Path, ...]
    packages: Mapping[str, str]


def code_digest(
    modules: Iterable[str],
    folder: Path,
    packages: Iterable[str] = OUR_PACKAGES,
    *,
    imported: Iterable[str] = (),
) -> CodeDigest:
    """Give the digest of some modules' code; nothing of it is imported or run.

    Parameters
    ----------
    modules
        Their names. Their source is followed within their own top-level packages, even in one that has a
        version.
    folder
        Where modules are looked for that are found nowhere else.
    packages
        Top-level packages whose source is followed wherever something imports them. Of `farm`, other
        packages' code gets only what `testbed_digest` does not have already.
    imported
        Modules that count as if one of these imported them; they need not be there.

    Examples
    --------
    >>> code = code_digest(["monitors.max_softmax"], Path())
    >>> code.files[-1].name, list(code.packages)
    ('max_softmax.py', ['numpy'])
    """
    return _followed(frozenset(modules), frozenset(imported), folder, tuple(packages)).code


def testbed_digest() -> CodeDigest:
    """Give the digest of all the testbed's own code that runs when an experiment does."""
    return _testbed().code


testbed_digest.__test__ = False  # type: ignore[attr-defined]  # whatever its name makes pytest think


@dataclass(frozen=True)
class _Followed:
    code: CodeDigest
    names: frozenset[str]
    at: Installed
    seen: Mapping[Path, FileState | None]

    def is_still_so(self) -> bool:
        return self.at is installed() and all(state_of(path) == was for path, was in self.seen.items())


_KNOWN: dict[object, _Followed] = {}


def _testbed() -> _Followed:
    return _followed(frozenset({f"{TESTBED}.experiment"}), frozenset(), HOME, OUR_PACKAGES)


def _followed(
    modules: frozenset[str], imported: frozenset[str], folder: Path, packages: tuple[str, ...]
) -> _Followed:
    folder = folder.absolute()
    key = (modules, imported, folder, packages, search_path())
    known = _KNOWN.get(key)
    if known is None or not known.is_still_so():
        walk = _Walk(folder, packages, modules)
        for module in sorted(modules):
            walk.follow(module)
            walk.check_found(module)
        for module in sorted(imported):
            walk.meet(module, "")
        walk.go_on()
        known = walk.result()
        if settled(known.seen.values()):
            _KNOWN[key] = known
    return known


class _Walk:
    """One walk from module to module; remembers the state of every file and folder that it looked at."""

    def __init__(self, folder: Path, packages: Iterable[str], modules: Iterable[str]) -> None:
        self._folder, self._installed = folder, installed()
        self._follow = {*packages, *(module.partition(".")[0] for module in modules)}
        self._ours = TESTBED in packages
        self._tops: dict[str, Found | None] = {}
        self._parts: dict[str, Found | None] = {}
        self._met: set[tuple[str, bool]] = set()
        self._found: dict[str, Found] = {}
        self._sources: dict[str, str] = {}
        self._versions: dict[str, str] = {}
        self._waiting: list[tuple[str, str, Import]] = []
        self._seen: dict[Path, FileState | None] = {place: state_of(place) for place in search_path()}

    def result(self) -> _Followed:
        """Put it together: names and content, and no place, so that a copy elsewhere has the same digest."""
        packages = dict(sorted(self._versions.items()))
        names = sorted(self._sources)
        digest = json_digest(
            {"source": [[name, self._sources[name]] for name in names], "packages": packages}
        )
        files = (self._found[name].file for name in names)
        code = CodeDigest(digest, tuple(file for file in files if file is not None), packages)
        return _Followed(code, frozenset(self._found), self._installed, self._seen)

    def check_found(self, module: str) -> None:
        """Raise where a module that must be there is not."""
        if module not in self._found and module.partition(".")[0] not in sys.stdlib_module_names:
            raise ExperimentError(
                f"module '{module}' is not there; expected it to be installed, or to lie in {self._folder}"
            )

    def go_on(self) -> None:
        """Take what is imported by what was taken, until there is no more."""
        while self._waiting:
            importer, package, one = self._waiting.pop()
            for module in self._modules(one, package):
                self.meet(module, importer)

    def meet(self, module: str, importer: str) -> None:
        """Take a module that something imports: its source, its package's version, or nothing."""
        top = module.partition(".")[0]
        if top in sys.stdlib_module_names:
            return
        found = self._top(top)
        if found is None:
            self._versions[top] = NOT_INSTALLED
        elif top in self._follow or not self._has_version(top, found):
            from_outside = self._ours and top == TESTBED != importer.partition(".")[0]
            if (module, from_outside) not in self._met:
                self._met.add((module, from_outside))
                self.follow(module, self._apart if from_outside else frozenset())

    def follow(self, module: str, apart: frozenset[str] = frozenset()) -> None:
        """Take a module's source and that of the packages it lies in, except those that are apart."""
        name, *rest = module.split(".")
        found = self._top(name)
        if found is not None and name not in OUR_PACKAGES:
            self._has_version(name, found)
        while found is not None:
            if name not in self._found and name not in apart:
                self._take(name, found)
            if not rest:
                return
            self._seen |= {place: state_of(place) for place in found.inside if place not in self._seen}
            part = rest.pop(0)
            name = f"{name}.{part}"
            if name not in self._parts:
                self._parts[name] = find_among(found.inside, part)
            found = self._parts[name]

    @cached_property
    def _apart(self) -> frozenset[str]:
        return _testbed().names

    def _take(self, name: str, found: Found) -> None:
        self._found[name] = found
        if found.file is not None:
            self._seen[found.file], source = read_source(found.file)
            self._sources[name] = source.digest
            package = name if found.inside else name.rpartition(".")[0]
            self._waiting += [(name, package, one) for one in source.imports]

    def _modules(self, one: Import, package: str) -> Iterator[str]:
        """Give the names of the modules that an import may mean: `from a import b` may take a module too."""
        base = one.module
        if one.level:
            above = package.split(".") if package else []
            if one.level > len(above):
                return  # no such package: the import fails, as whoever runs it is told
            base = ".".join([*above[: len(above) - one.level + 1], *([base] if base else [])])
        if not base:
            return
        yield base
        for name in one.names:
            if name == EVERYTHING:
                yield from self._all_in(base)
            else:
                yield f"{base}.{name}"

    def _all_in(self, package: str) -> Iterator[str]:
        found = self._found.get(package)
        for module in iter_modules([str(place) for place in found.inside] if found else []):
            yield f"{package}.{module.name}"

    def _top(self, name: str) -> Found | None:
        if name not in self._tops:
            found = self._tops[name] = find_top(name, self._folder)
            if found is None or self._folder in found.beside:
                self._seen[self._folder] = state_of(self._folder)
        return self._tops[name]

    def _has_version(self, top: str, found: Found) -> bool:
        versions = self._installed.versions(top, found)
        self._versions |= versions
        return bool(versions)
