"""Fitted monitors, found again by all that made them.

What is found must score as what was fitted would, bit for bit. So a monitor is kept only where everything
that made it can be told: its class lies in a file that is as it was imported, its parameters can be written
down, the classifier was made by a recipe, and a second monitor that is given its state has the same scores.
Any other is fitted each time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Final

from farm.api import (
    JSON,
    Calibration,
    CalibrationRule,
    Classifier,
    Labelled,
    ModelSource,
    Monitor,
    Observation,
    Progress,
    Silent,
    State,
    Workload,
)
from farm.api.component import another
from farm.errors import FarmError, one_line
from farm.store.cache import DiskCache
from farm.store.files import json_digest
from farm.store.identity import Identities
from farm.store.identity.loaded import circumstances, loaded_identity
from farm.store.plain_arrays import pack, unpack
from farm.store.timing import timed

KIND: Final = "fitted-monitors"
FORMAT = 2

Key = Mapping[str, JSON]


class Refused(Exception):  # noqa: N818 - no error: it is fitted as if nothing were kept
    """What is kept, or would be, does not make the monitor what it was."""


class FittedMonitors:
    """The monitors that were fitted on one classifier, in a cache.

    Parameters
    ----------
    cache
        Where they are kept.
    source
        What made the classifier: its digest does not see its code.
    threads
        How many threads numerical libraries may use meanwhile.
    folder
        Where the user's own modules and files are looked for.
    """

    def __init__(
        self,
        cache: DiskCache,
        source: ModelSource,
        *,
        threads: int = 1,
        folder: Path = Path(),
        progress: Progress | None = None,
    ) -> None:
        self._cache, self._source, self._threads, self._folder = cache, source, threads, folder
        self._progress = progress or Silent()

    @timed("keys")
    def keys(
        self,
        monitors: Iterable[Monitor],
        rules: Mapping[str, CalibrationRule],
        classifier: Classifier,
        workload: Workload,
        seed: int,
        outliers: str | None = None,
    ) -> dict[str, Key]:
        """Return the keys of those that can be kept, by their names; `outliers` is a hash of all of them."""
        identities, keys = Identities(self._folder), dict[str, Key]()
        try:
            around = circumstances(classifier, self._source, threads=self._threads, identities=identities)
            files = identities.files_of(workload.recipe)
        except FarmError:  # not all that fits depend on can be told
            return keys
        surroundings = {
            **around,
            "train": workload.train.content_hash,
            "validation": workload.validation.content_hash,
            "classes": workload.classes,
            # Of its folders all, since a monitor may read there what is no image.
            "files": files,
            "seed": seed,
            "outliers": outliers,
        }
        for monitor in monitors:
            # None is kept whose identity would not tell everything, or not what is in memory.
            with suppress(FarmError):
                made = loaded_identity("monitor", monitor, identities)
                rule = rules[monitor.name]
                by = workload.validation.conditions.get(rule.by or "")
                keys[monitor.name] = {
                    "format": FORMAT,
                    "monitor": made,
                    "calibration": asdict(rule),
                    # The content of a split is not told by its conditions.
                    "by": None if by is None else json_digest(by.tolist()),
                    **surroundings,
                }
        return keys

    def restore(self, monitor: Monitor, key: Key, classifier: Classifier) -> bool:
        """Make a monitor what it was when it was kept; say whether that was found."""
        if (kept := self._cache.find(KIND, key)) is None:
            return False
        try:
            restored(monitor, kept, classifier)
        except Refused as error:
            self._progress.note(f"cache: {error}; fitting it anew")
            self._cache.forget(KIND, key)
            return False
        return True

    def fit(
        self,
        monitor: Monitor,
        key: Key,
        classifier: Classifier,
        validation: Iterable[Labelled],
        fit: Callable[[], None],
        watched: Callable[[Monitor], AbstractContextManager[None]],
    ) -> None:
        """Fit a monitor and keep it, or take what another process has fitted meanwhile.

        `fit` fits and calibrates it. While it is at work, and not while it waits, `watched` is entered.
        """
        fitted = False

        def make() -> State:
            nonlocal fitted
            with watched(monitor):
                fit()
                fitted = True
                return packed(monitor, validation)

        try:
            kept = self._cache.arrays(KIND, key, make)
            if not fitted:
                with watched(monitor):
                    restored(monitor, kept, classifier)
                    fitted = True
        except Refused:
            pass  # fitted, but not to be kept; or kept by another process, and not taken by this one
        if not fitted:
            with watched(monitor):
                fit()


def packed(monitor: Monitor, validation: Iterable[Labelled]) -> State:
    """Return a fitted monitor as bytes, or raise `Refused`."""
    try:
        told = {"calibration": monitor.calibration.record(), "notes": monitor.all_notes()}
        kept = pack(monitor.state, told)
        twin = another(monitor)
        restored(twin, kept, monitor.classifier)
        first = next(iter(validation)).observation
        mine, its = (_scores(one, first) for one in (monitor, twin))
    except Exception as error:  # whatever it is, only the monitor itself can be used
        raise Refused(f"the fitted monitor '{monitor.name}' cannot be kept: {one_line(error)}") from error
    if mine != its:
        raise Refused(f"the fitted monitor '{monitor.name}' scores otherwise when it is restored")
    return kept


def restored(monitor: Monitor, kept: State, classifier: Classifier) -> None:
    """Make a monitor what it was when it was packed, or raise `Refused`."""
    who = f"the fitted monitor '{monitor.name}'"
    try:
        arrays, record = unpack(kept)
        calibration = Calibration.from_record(record["calibration"])
        monitor.restore(arrays, classifier, calibration)
        monitor.restart()
        monitor.pooled = tuple(record["notes"].get("pooled", ()))
        notes = json.loads(json.dumps(monitor.all_notes()))
    except Exception as error:  # whatever it is, it is fitted anew
        raise Refused(f"{who} cannot be restored: {one_line(error)}") from error
    if notes != record["notes"]:
        raise Refused(f"{who} has the notes {notes}, and had {record['notes']} when it was kept")


def _scores(monitor: Monitor, observation: Observation) -> bytes:
    monitor.restart()
    scores = monitor.score(observation)
    monitor.restart()
    return scores.tobytes()
