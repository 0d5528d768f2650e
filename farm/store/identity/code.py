"""The code of a module: its source, and all that it imports, as one digest.

Source is followed within a component's own package and the testbed's, and wherever no version tells what it
is: beside the experiment, elsewhere on the import path, in packages that are installed as links to their
source. Of everything else that is imported the version counts. Python and its own library are not in it.

What cannot be seen is what is imported by a name that is put together at run time. What was found out is
remembered on disk, with the state of every file and folder that was looked at for it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import Distribution, distribution, packages_distributions
from itertools import accumulate
from pathlib import Path

from farm.errors import ExperimentError
from farm.registry import HOME, OUR_PACKAGES, installed, lies_below
from farm.store.files import json_digest
from farm.store.identity.memory import State, default_memory, recall, remember, settled, states_of
from farm.store.identity.source import read_source
from farm.store.timing import timed

SCHEMA = 2
NOT_INSTALLED = "not installed"


@dataclass(frozen=True)
class CodeDigest:
    """A digest of source and versions, the files that the source is in, and the versions by package."""

    digest: str
    files: tuple[Path, ...]
    packages: Mapping[str, str]


def code_digest(modules: Iterable[str], folder: Path, *, imported: Iterable[str] = ()) -> CodeDigest:
    """Return the digest of some modules' code; nothing of it is imported or run.

    Parameters
    ----------
    modules
        Their names. Their source is followed within their own top-level packages, even in one that has a
        version. What `testbed_digest` has is left out.
    folder
        Where modules are looked for that are found nowhere else.
    imported
        Modules that count as if one of these imported them; they need not be there.

    Examples
    --------
    >>> code = code_digest(["monitors.max_softmax"], Path())
    >>> code.files[-1].name, list(code.packages)
    ('max_softmax.py', ['numpy'])
    """
    return _followed(frozenset(modules), frozenset(imported), folder, _testbed_names()).code


def testbed_digest() -> CodeDigest:
    """Return the digest of all the testbed's own code that runs when an experiment does."""
    return _testbed().code


testbed_digest.__test__ = False  # type: ignore[attr-defined]  # whatever its name makes pytest think


@dataclass(frozen=True)
class _Followed:
    code: CodeDigest
    names: tuple[str, ...]
    """The modules in the files of the code."""
    seen: Mapping[str, State | None]
    """The files and folders that were looked at, and their states."""
    tops: Collection[str]
    places: Mapping[str, list[str]]
    """Where top-level modules were looked for, with what may be one of `tops` there."""

    def is_still_so(self) -> bool:
        return states_of(self.seen) == self.seen and _among(self.places, self.tops) == self.places

    def written(self) -> str:
        files = dict(zip(self.names, map(str, self.code.files), strict=True))
        code = [self.code.digest, files, dict(self.code.packages)]
        return json.dumps([*code, dict(self.seen), sorted(self.tops), dict(self.places)])

    @classmethod
    def read(cls, text: str) -> _Followed:
        digest, files, packages, seen, tops, places = json.loads(text)
        code = CodeDigest(digest, tuple(map(Path, files.values())), packages)
        states = {path: state and tuple(state) for path, state in seen.items()}
        return cls(code, tuple(files), states, frozenset(tops), places)


def _among(places: Iterable[str], tops: Collection[str]) -> dict[str, list[str]]:
    """Return what in folders an import of these names may find; results of runs come and go there."""
    found, wanted = {}, frozenset(tops)
    for place, state in states_of(dict.fromkeys(places)).items():
        look = _looked_for if settled([state]) else _looked_for.__wrapped__
        found[place] = [*look(place, wanted, state)]
    return found


@lru_cache(maxsize=1024)
def _looked_for(place: str, tops: frozenset[str], state: State | None) -> tuple[str, ...]:
    """List a folder once for as long as its state is the same."""
    del state
    try:
        names = os.listdir(place)  # noqa: PTH208
    except OSError:
        names = []
    return tuple(sorted([name for name in names if name.partition(".")[0] in tops]))


_KNOWN: dict[str, _Followed] = {}


def _testbed() -> _Followed:
    return _followed(frozenset({"farm.run.execution"}), frozenset(), HOME, ())


@cache
def _testbed_names() -> tuple[str, ...]:
    return _testbed().names


@timed("identity")
def _followed(
    modules: frozenset[str], imported: frozenset[str], folder: Path, apart: Collection[str]
) -> _Followed:
    entries = [*sys.path, str(folder)]
    places = [*dict.fromkeys([os.path.abspath(entry) for entry in entries])]  # noqa: PTH100 - links stay
    finders = [str(getattr(finder, "__name__", type(finder))) for finder in sys.meta_path]
    around = _digest_of(installed(), tuple(sorted(apart)))
    key = json_digest(["followed", SCHEMA, sorted(modules), sorted(imported), places, finders, around])
    if key not in _KNOWN and (text := recall(default_memory(), key)) is not None:
        _KNOWN[key] = _Followed.read(text)
    if key in _KNOWN and _KNOWN[key].is_still_so():
        return _KNOWN[key]
    walk = _Walk(places, apart, {module.partition(".")[0] for module in modules})
    walk.take(sorted({*modules, *imported}))
    for module in sorted(modules - walk.names):
        if module.partition(".")[0] not in sys.stdlib_module_names:
            raise ExperimentError(
                f"module '{module}' is not there; expected it to be installed, or to lie in "
                f"{folder.absolute()}{lies_below(module.partition('.')[0])}"
            )
    known = walk.result()
    if settled(known.seen.values()):
        _KNOWN[key] = known
        remember(default_memory(), key, known.written())
    return known


@lru_cache(maxsize=16)
def _digest_of(*values: object) -> str:
    return json_digest(values)


class _Walk:
    """One walk from module to module; remembers the state of every file and folder that it looked at."""

    def __init__(self, places: list[str], apart: Collection[str], own: Collection[str]) -> None:
        PathFinder.invalidate_caches()
        self._places, self._apart, self._follow = places, apart, {*OUR_PACKAGES, *own}
        self._specs: dict[str, ModuleSpec | None] = {}
        self._tops: dict[str, Mapping[str, str]] = {}
        self._sources: dict[str, tuple[Path, str]] = {}
        self._seen: dict[str, State | None] = {}
        self.names: set[str] = set()

    def result(self) -> _Followed:
        """Put it together: names and content, and no place, so that a copy elsewhere has the same digest."""
        packages = {name: said for versions in self._tops.values() for name, said in versions.items()}
        packages = dict(sorted(packages.items()))
        sources = dict(sorted(self._sources.items()))
        told = [[name, digest] for name, (_, digest) in sources.items()]
        digest = json_digest({"source": told, "packages": packages})
        code = CodeDigest(digest, tuple(file for file, _ in sources.values()), packages)
        return _Followed(code, tuple(sources), self._seen, self._tops, _among(self._places, self._tops))

    def take(self, waiting: list[str]) -> None:
        """Take modules, and all that they import, until there is no more."""
        met: set[str] = set()
        while waiting:
            module = waiting.pop()
            top = module.partition(".")[0]
            if module in met or top in sys.stdlib_module_names:
                continue
            met.add(module)
            if top not in self._tops:
                self._specs[top] = spec = self._top(top)
                self._tops[top] = _versions(top, spec) if spec else {top: NOT_INSTALLED}
            if top in self._follow or not self._tops[top]:
                waiting += self._imports(module)

    def _imports(self, module: str) -> list[str]:
        """Take a module's source and that of the packages it lies in; return what they import."""
        imported: list[str] = []
        inside: list[str] = []
        for name in accumulate(module.split("."), "{}.{}".format):
            if name not in self._specs:
                self._seen |= states_of([place for place in inside if place not in self._seen])
                self._specs[name] = PathFinder.find_spec(name.rpartition(".")[2], inside)
            spec = self._specs[name]
            if spec is None:
                break
            inside = [*(spec.submodule_search_locations or ())]
            if name not in self.names and name not in self._apart and spec.origin is not None:
                self._seen |= states_of([spec.origin])
                file, package = Path(spec.origin), name if inside else name.rpartition(".")[0]
                digest, found = read_source(file, package)
                self._sources[name] = file, digest
                imported += found
            self.names.add(name)
        return imported

    def _top(self, name: str) -> ModuleSpec | None:
        """Find a top-level module as an import would: what is installed comes before what lies beside.

        A package that is installed as a link to its source may have a finder of its own.
        """
        spec = PathFinder.find_spec(name, self._places)
        if spec is None or spec.origin is None:
            for finder in sys.meta_path:
                if finder is not PathFinder and hasattr(finder, "find_spec"):
                    found = finder.find_spec(name, None)
                    if found is not None and (found.has_location or found.submodule_search_locations):
                        return found
        return spec


def _versions(top: str, spec: ModuleSpec) -> dict[str, str]:
    """Return the versions, by distribution, that say what a package's code is; none where nothing does.

    A distribution that is installed as a link to its source may change under its version.
    """
    if top in OUR_PACKAGES:
        return {}
    places = spec.submodule_search_locations or [str(spec.origin)]
    lies_in = {Path(place).parent.resolve() for place in places}
    owners = [distribution(name) for name in sorted({*_owners(installed()).get(top, ())})]
    return {owner.metadata["Name"]: owner.version for owner in owners if _is_fixed(owner, lies_in)}


def _is_fixed(owner: Distribution, lies_in: Collection[Path]) -> bool:
    if Path(str(owner.locate_file(""))).resolve() not in lies_in or owner.read_text("METADATA") is None:
        return False
    told = json.loads(owner.read_text("direct_url.json") or "{}")
    return not told.get("dir_info", {}).get("editable", False)


@lru_cache(maxsize=1)
def _owners(installed: object) -> Mapping[str, list[str]]:
    del installed
    return packages_distributions()
