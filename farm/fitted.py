"""Fitted monitors, found again by all that made them.

What is found must score as what was fitted would, bit for bit. So a monitor is kept only where everything
that made it can be told: its class lies in a file that is as it was imported, its parameters can be written
down, and the classifier was made by a recipe; and where its code and the classifier's, as far as can be seen,
read no file that nothing of this names. Any other is fitted each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Final

from farm.api import (
    JSON,
    CalibrationRule,
    Classifier,
    Labelled,
    ModelSource,
    Monitor,
    Progress,
    Silent,
    State,
    Workload,
)
from farm.cache import DiskCache
from farm.errors import FarmError
from farm.fitted_state import Refused, packed, restored
from farm.identity.circumstances import circumstances
from farm.identity.component import Identities
from farm.identity.loaded import loaded_identity
from farm.identity.reads import Recorder
from farm.identity.undeclared import advice, undeclared_by

KIND: Final = "fitted-monitors"
FORMAT = 1

Key = Mapping[str, JSON]


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
        self._model, self._data = Identities(folder), Identities(folder)
        self._monitors: dict[str, Identities] = {}

    def keys(
        self,
        monitors: Iterable[Monitor],
        rules: Mapping[str, CalibrationRule],
        classifier: Classifier,
        workload: Workload,
        seed: int,
    ) -> dict[str, Key]:
        """Give the keys of those that can be kept, by their names."""
        surroundings = self._surroundings(classifier, workload, seed)
        if surroundings is None:
            return {}
        if self._reads([self._model], f"nothing fitted on classifier '{classifier.name}' is kept: its code"):
            return {}
        identities = {monitor.name: self._identity(monitor) for monitor in monitors}
        return {
            monitor.name: {
                "format": FORMAT,
                "monitor": identities[monitor.name],
                "calibration": asdict(rules[monitor.name]),
                **surroundings,
            }
            for monitor in monitors
            if identities[monitor.name] is not None and not self._reads_of(monitor)
        }

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
            with watched(monitor), Recorder() as recorder:
                fit()
                fitted = True
                kept = packed(monitor, validation)
            if self._reads_of(monitor, recorder):
                raise Refused(f"the fitted monitor '{monitor.name}' depends on more than its key tells")
            return kept

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

    def _surroundings(self, classifier: Classifier, workload: Workload, seed: int) -> dict[str, JSON] | None:
        """Give what all monitors' fits depend on; None where not all of it can be told."""
        try:
            around = circumstances(classifier, self._source, threads=self._threads, folder=self._folder)
            loaded_identity("model", self._source, self._folder, self._model)
            files = self._data.files_of(workload.recipe)
        except FarmError:
            return None
        return {
            **around,
            "train": workload.train.content_hash,
            "validation": workload.validation.content_hash,
            "classes": workload.classes,
            # Of its folders all, since a monitor may read there what is no image.
            "files": files,
            "seed": seed,
        }

    def _identity(self, monitor: Monitor) -> dict[str, JSON] | None:
        """Give a monitor's identity; None where it would not tell everything, or not what is in memory."""
        made_from = self._monitors[monitor.name] = Identities(self._folder)
        try:
            return loaded_identity("monitor", monitor, self._folder, made_from)
        except FarmError:
            return None

    def _reads_of(self, monitor: Monitor, recorder: Recorder | None = None) -> bool:
        made_by = [self._monitors[monitor.name], self._model]
        return self._reads(made_by, f"the fitted monitor '{monitor.name}' is not kept: its code", recorder)

    def _reads(self, made_by: Sequence[Identities], who: str, recorder: Recorder | None = None) -> bool:
        """Say whether code read what is in no key, and tell of it."""
        files = undeclared_by(made_by, [self._data], recorder, [self._cache.folder])
        if files:
            self._progress.note(f"{who} {advice(files)}")
        return bool(files)
