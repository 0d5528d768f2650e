"""Groups of OOD instances that become known part by part, and end as those of the whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from farm.records.parts import MOST_SEVERITIES, Group, Part


class Kind(NamedTuple):
    """A fault, whatever its severity."""

    faultload: str | None
    category: str | None


class Key(NamedTuple):
    """A kind at one severity; at none where it is a ramp, or has no severity."""

    kind: Kind
    severity: float | None


class Kinds:
    """What severities each kind was met with: at most a few, or the ends of a ramp."""

    def __init__(self) -> None:
        self._severities: dict[Kind, set[float]] = {}
        self._ends: dict[Kind, tuple[float, float]] = {}
        self._ramps: set[Kind] = set()

    def meet(self, groups: Iterable[Group]) -> None:
        """Take note of the groups of a part."""
        for group in groups:
            kind = Kind(group.faultload, group.category)
            known = () if group.severity is None else (group.severity,)
            self._note(kind, known, group.severity_range or (*known, *known))
            if group.severity_range:
                self._ramps.add(kind)

    def merge(self, other: Kinds) -> None:
        """Take note of all that another has met."""
        for kind in other._severities:
            self._note(kind, other._severities[kind], other._ends.get(kind, ()))
        self._ramps |= other._ramps

    def _note(self, kind: Kind, severities: Iterable[float], ends: tuple[float, ...]) -> None:
        met = self._severities.setdefault(kind, set())
        met.update(severities)
        if ends:
            all_ends = (*ends, *self._ends.get(kind, ()))
            self._ends[kind] = (min(all_ends), max(all_ends))
        if len(met) > MOST_SEVERITIES or kind in self._ramps:
            self._ramps.add(kind)
            met.clear()

    def key(self, kind: Kind, severity: float | None) -> Key:
        """Say under which key a kind's instances of one severity are counted by now."""
        return Key(kind, None if kind in self._ramps else severity)

    def parts(self, keys: Iterable[Key], *, some_id: bool) -> dict[Part, tuple[Key | None, ...]]:
        """Name the parts to be judged, in the order of `partition`, and what each sums up; None is ID."""
        id_ = (None,) if some_id else ()
        named: dict[Part, tuple[Key | None, ...]] = {}
        for key in sorted(keys, key=_last_if_none):
            ends = self._ends.get(key.kind) if key.kind in self._ramps else None
            group = Group(*key.kind, key.severity, ends)
            for name, summed in (("all", (*id_, key)), ("id", id_), ("ood", (key,))):
                if summed:
                    named[Part(group, name, ())] = summed
        return named or {Part(Group(), name, ()): (None,) for name in ("all", "id")}


def _last_if_none(key: Key) -> tuple[object, ...]:
    return tuple((value is None, value) for value in (*key.kind, key.severity))
