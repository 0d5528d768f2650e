"""A run's stream, made again: the pixels of any of its instances, long after it has run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farm.api import Batch, IntArray
from farm.config.experiment import parse_experiment
from farm.errors import DataError
from farm.run.execution import assemble_stream
from farm.run.faults import chunk_size
from farm.run.loading import importable
from farm.run.pictures import in_bytes
from farm.store.readouts import Readouts
from farm.store.threads import limited_threads

NEAR = 1e-6
"""How far a fault's measured change may be from the recorded one, relative to it, on another machine."""


class RemadeStream:
    """The stream of a run, made again from what its record tells; the classifier only if a fault needs it.

    It is refused where it is not the one that ran: where data, faults or their code changed since.
    """

    def __init__(self, readouts: Readouts) -> None:
        run = readouts.run
        if not isinstance(run.get("experiment"), Mapping) or not isinstance(run.get("stream"), Mapping):
            what = "a log has no stream" if "log" in run else "no experiment is on its record"
            raise DataError(
                f"{what}, so that its images cannot be made again; expected a run of `farm run`, or of "
                "`farm.run.execution.run_experiment`"
            )
        self._folder = Path(home) if (home := run.get("home")) and Path(home).is_dir() else Path()
        self._instances = readouts.instances
        self._who = f"run '{run.get('name')}'"
        experiment = parse_experiment(run["experiment"], self._who)
        self._batch_size, self._threads = experiment.batch_size, experiment.threads
        with importable(self._folder):
            self._stream, workload, classifier = assemble_stream(
                experiment.model_copy(update={"monitors": []}), self._folder
            )
        self._check("the stream's", run["stream"], dict(self._stream.provenance))
        self._check("", {"classes": run.get("classes")}, {"classes": list(self._stream.classes)})
        if classifier is not None:
            digest = (run.get("classifier") or {}).get("digest")
            self._check("the attacked classifier's", {"digest": digest}, {"digest": classifier.digest})
        self._shape = workload.shape

    def images(self, positions: IntArray) -> NDArray[np.uint8]:
        """Return images by their places in the stream, N x H x W x C, of as many channels as they have."""
        step = chunk_size(self._shape)
        parts = [self._some(positions[start : start + step]) for start in range(0, len(positions), step)]
        channels, height, width = self._shape
        return np.concatenate([np.empty((0, height, width, channels), np.uint8), *parts])

    def _some(self, positions: IntArray) -> NDArray[np.uint8]:
        with importable(self._folder), limited_threads(self._threads):
            if not self._stream.uses_classifier:
                batch = self._stream.at(positions)
                self._check_instances(batch, positions)
                return in_bytes(batch.images)
            # An attack makes the same bits in the company of the same instances alone.
            size, end = self._batch_size, len(self._instances)
            made = []
            for position in positions.tolist():
                start = position // size * size
                places = np.arange(start, min(start + size, end))
                batch = self._stream.at(places)
                self._check_instances(batch, places)
                made.append(in_bytes(batch.images[position - start : position - start + 1]))
            return np.concatenate(made)

    def _check(self, what: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
        """Raise where what the record tells of the stream is otherwise now."""
        before, now = (json.loads(json.dumps(one)) for one in (before, now))
        if changed := _first_change(before, now):
            place, one, other = changed
            told = f"{what} {place}".strip()
            raise DataError(
                f"{self._who} cannot be made again: {told} was {one!r} and is {other!r} now; bring back the "
                "data and the code that it ran on"
            )

    def _check_instances(self, batch: Batch, positions: IntArray) -> None:
        """Raise where instances are not those that the readouts have, or faults changed them otherwise."""
        known = self._instances.set_index("position").loc[positions]
        for column, found in (("id", batch.ids), ("label", batch.labels), ("is_ood", batch.is_ood)):
            different = np.flatnonzero(known[column].to_numpy() != found)
            if different.size:
                at = int(different[0])
                self._refuse(f"the instance at {positions[at]}", column, known[column].iloc[at], found[at])
        for column, measured in (("fault_linf", batch.fault_linf), ("fault_l2", batch.fault_l2)):
            recorded = known[column].to_numpy()
            different = np.flatnonzero(~np.isclose(recorded, measured, rtol=NEAR, atol=0, equal_nan=True))
            if different.size:
                at = int(different[0])
                self._refuse(f"'{batch.ids[at]}'", column, f"{recorded[at]:.4g}", f"{measured[at]:.4g}")

    def _refuse(self, which: str, column: str, before: object, now: object) -> None:
        raise DataError(
            f"{self._who} cannot be made again: {column} of {which} was {before} and is {now} now; its data "
            "or its fault's code changed since"
        )


def _first_change(before: Any, now: Any, place: str = "") -> tuple[str, Any, Any] | None:
    """Return where two JSON values differ first, and both values there.

    Examples
    --------
    >>> _first_change({"seed": 0, "faults": [{"severity": 3}]}, {"seed": 0, "faults": [{"severity": 1}]})
    ('faults.0.severity', 3, 1)
    """
    if isinstance(before, dict) and isinstance(now, dict):
        pairs = [(key, before.get(key), now.get(key)) for key in dict.fromkeys([*before, *now])]
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        pairs = [(str(i), *both) for i, both in enumerate(zip(before, now, strict=True))]
    else:
        return None if before == now else (place, before, now)
    found = (_first_change(one, other, f"{place}.{key}".strip(".")) for key, one, other in pairs)
    return next((change for change in found if change), None)
