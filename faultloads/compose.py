"""Several faults one after another, as one fault: fog, then noise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from farm.api import (
    CATEGORIES,
    NO_ANSWER,
    Category,
    DrawKeys,
    FaultContext,
    Faulted,
    Faultload,
    FaultTargets,
    FloatArray,
    Images,
    IntArray,
    ObjectFate,
    StrArray,
    change_of,
    check_choice,
)
from farm.errors import ParameterError
from farm.registry import make


class _Part(NamedTuple):
    fault: Faultload
    severity: float | None
    """Its own, NaN where severity means nothing to it; None where it takes that of the whole."""

    def at(self, severity: FloatArray) -> FloatArray:
        # At 0 the whole changes nothing, so neither does a part with a severity of its own.
        return severity if self.severity is None else np.where(severity == 0, 0.0, self.severity)


class Compose(Faultload):
    """Several faults, each applied to what the one before it left.

    A part with a severity of its own keeps it, and the others take that of the whole, which goes up to the
    highest that all of them have. Where each has its own, or none, the whole has no severity. Of the measures
    of attacks only a last part's `success` is kept: what comes after an attack may undo it. A part that is
    new in every frame, such as noise, stays so, however long the draws of the whole last.

    Parameters
    ----------
    faults
        The faults in their order: names, or mappings with a name, a severity if it is to be the part's own,
        and parameters. One that brings instances from elsewhere, such as `novelty`, may only come first.
    category
        What kind of fault the whole is; None takes that of the first part.

    Examples
    --------
    >>> both = Compose(faults=["faultloads.anomaly:BitFlips", {"name": "faultloads.anomaly:PixelTrap"}])
    >>> both.severities, both.category
    ((1, 2, 3), 'anomaly')
    >>> black, ids = np.zeros((1, 1, 32, 32), np.float32), np.array(["a"])
    >>> noisy = both.apply(black, np.array([0]), ids, np.array([3.0])).images
    >>> int((noisy[0, 0] == 0).all(axis=1).sum())
    10
    """

    origin = "own"
    category: Category = "shift"  # type: ignore[misc] # a constant of other faultloads, a parameter of this one
    severities: tuple[int, ...] = ()  # type: ignore[misc]
    objects: ObjectFate = "stay"  # type: ignore[misc]

    def __init__(
        self, *, faults: Sequence[str | Mapping[str, Any]], category: Category | None = None
    ) -> None:
        if isinstance(faults, str) or not faults:
            raise ParameterError(f"faults is {faults!r}; expected a list with at least one fault")
        if category is not None:
            check_choice("category", category, CATEGORIES)
        self._parts = _made(faults)
        self._category = category
        self.category = category or self._parts[0].fault.category
        if category is None and any(not getattr(part.fault, "keeps_meaning", True) for part in self._parts):
            self.category = "novelty"  # what leaves no right answer
        self.reads_other_instances = self._parts[0].fault.reads_other_instances
        for part in self._parts[1:]:
            if part.fault.reads_other_instances:
                raise ParameterError(
                    f"faults: '{part.fault.name}' shows other instances, and so not what came before it; "
                    "expected it as the first of the faults"
                )
        self.uses_classifier = any(part.fault.uses_classifier for part in self._parts)
        fates = {part.fault.objects for part in self._parts}
        self.objects = next((fate for fate in ("unknown", "hidden", "move") if fate in fates), "stay")
        free = [part.fault.severities for part in self._parts if part.severity is None]
        self.severities = min(free, key=lambda known: known[-1]) if free else ()

    def _prepare(self, context: FaultContext) -> FaultTargets:
        first = self._parts[0].fault
        targets = first.prepare(context)
        labels = np.full(len(targets.split), NO_ANSWER)
        labels[targets.indices] = targets.labels
        # Later parts act upon what the first one chose, in our classes.
        inner = replace(context, split=replace(targets.split, labels=labels))
        for part in self._parts[1:]:
            later = part.fault.prepare(inner)
            if later.split is not inner.split or not np.array_equal(later.indices, np.arange(len(labels))):
                raise ParameterError(
                    f"faultload '{self.name}': '{part.fault.name}' brings instances from elsewhere, after "
                    f"'{first.name}' has chosen them; expected it as the first of the faults"
                )
            labels = np.where(later.labels == NO_ANSWER, NO_ANSWER, labels)
        category = (
            targets.category if self._category is None else np.full_like(targets.category, self.category)
        )
        notes = {"parts": [part.fault.recipe for part in self._parts], **targets.notes}
        return replace(targets, labels=labels[targets.indices], category=category, notes=notes)

    def _apply(
        self, images: Images, labels: IntArray, ids: StrArray, severity: FloatArray, keys: DrawKeys
    ) -> Faulted:
        now = Faulted(images, labels)
        for part in self._parts:
            own = DrawKeys(ids) if part.fault.coherence == "instance" else keys
            now = part.fault.apply(now.images, now.labels, ids, part.at(severity), own)
        return now._replace(measured={**now.measured, **change_of(images, now.images)})

    def _follow(self, shapes: Images, severity: FloatArray, keys: DrawKeys) -> Images:
        for part in self._parts:
            shapes = part.fault.follow(shapes, keys.now, part.at(severity), keys)
        return shapes


def _made(faults: Sequence[str | Mapping[str, Any]]) -> list[_Part]:
    """Make the parts; two of one name get names of their own, for else they would draw the same numbers."""
    parts: list[_Part] = []
    seen: Counter[str] = Counter()
    for given in faults:
        spec: dict[str, Any] = {"name": given} if isinstance(given, str) else dict(given)
        if "name" not in spec:
            raise ParameterError(f"faults has {given!r}; expected a name, or a mapping with a name")
        name, severity = str(spec.pop("name")), spec.pop("severity", None)
        seen[name] += 1
        alias = name if seen[name] == 1 else f"{name}-{seen[name]}"
        fault = cast(Faultload, make("faultload", name, spec, alias, other_keys=["severity"]))
        takes_whole = severity is None and bool(fault.severities)
        parts.append(_Part(fault, None if takes_whole else fault.check_severity(severity)))
    return parts
