"""What is installed: which distribution a package belongs to, and which names are registered."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cached_property
from importlib.metadata import Distribution, distribution, packages_distributions
from pathlib import Path
from typing import NamedTuple

from farm.identity.finding import Found, search_path
from farm.identity.state import FileState, settled, state_of
from farm.registry import BASES, Entry, Kind, entries

_RECORDS = (".dist-info", ".egg-info", ".egg-link")


class Installed:
    """What is installed now; asked for once, since it reads the records of every distribution."""

    def __init__(self) -> None:
        self._versions: dict[str, dict[str, str]] = {}

    @cached_property
    def entries(self) -> Mapping[Kind, Mapping[str, Entry]]:
        """All registered names by kind."""
        return {kind: entries(kind) for kind in BASES}

    @cached_property
    def modules(self) -> Mapping[str, frozenset[str]]:
        """The modules of all components that have a name, whatever their kind."""
        found: dict[str, set[str]] = {}
        for of_kind in self.entries.values():
            for name, entry in of_kind.items():
                found.setdefault(name, set()).add(entry.target.partition(":")[0].strip())
        return {name: frozenset(modules) for name, modules in found.items()}

    def canonical(self, kind: Kind, name: str) -> str:
        """Give the registered spelling of a name, as `farm.registry.canonical` does."""
        spelt = name.replace("_", "-")
        return spelt if name not in (known := self.entries[kind]) and spelt in known else name

    @cached_property
    def _owners(self) -> Mapping[str, list[str]]:
        return packages_distributions()

    def versions(self, top: str, found: Found) -> Mapping[str, str]:
        """Give the versions, by distribution, that say what a package's code is; none where nothing does.

        A distribution that is installed as a link to its source may change under its version.
        """
        if top not in self._versions:
            beside = {os.path.realpath(folder) for folder in found.beside}
            owners = (distribution(name) for name in sorted({*self._owners.get(top, ())}))
            fixed = [owner for owner in owners if _is_fixed(owner, beside)]
            self._versions[top] = {owner.metadata["Name"]: owner.version for owner in fixed}
        return self._versions[top]


def _is_fixed(owner: Distribution, beside: set[str]) -> bool:
    if os.path.realpath(str(owner.locate_file(""))) not in beside or owner.read_text("METADATA") is None:
        return False
    told = json.loads(owner.read_text("direct_url.json") or "{}")
    return not told.get("dir_info", {}).get("editable", False)


class _Latest(NamedTuple):
    places: Mapping[Path, FileState | None]
    records: Mapping[Path, FileState | None]
    made: Installed


_LATEST: list[_Latest] = []


def installed() -> Installed:
    """Give what is installed: the same object until a distribution comes or goes on the import path."""
    places = {place: state_of(place) for place in search_path()}
    latest = _LATEST[0] if _LATEST else None
    if latest is not None and latest.places == places:
        return latest.made
    # A folder of somebody's own may be on the path, or come and go: it matters where it tells of any.
    records = {record: state_of(record) for place in places for record in _records(place)}
    same = latest is not None and [*latest.records.items()] == [*records.items()]
    made = latest.made if latest is not None and same else Installed()
    if settled(records.values()):
        _LATEST[:] = [_Latest(places if settled(places.values()) else dict.fromkeys(places), records, made)]
    return made


def _records(place: Path) -> list[Path]:
    """Give the folders in which distributions keep what they tell of themselves; of an archive, itself."""
    if place.suffix == ".egg":
        return [place]
    try:
        return sorted(place / name for name in os.listdir(place) if name.endswith(_RECORDS))  # noqa: PTH208
    except OSError:
        return [place] if place.exists() else []
