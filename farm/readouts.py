"""Readouts: what happened, instance by instance, with everything needed to judge and to repeat it.

A run's folder holds `instances.parquet` (one row an instance), `alarms.parquet` (one row an instance and
monitor), `run.json` (the whole provenance, and a checksum of each other file) and, where hidden layers were
asked for, one `layer-*.npy` each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from farm.errors import DataError
from farm.files import (
    SIGNATURE,
    check_files,
    check_signature,
    file_digest,
    new_folder,
    read_record,
    signed,
    write_json,
)

SCHEMA = 3
TIME_COLUMNS = ("classifier_time_us", "monitor_time_us")
"""The only columns that may differ between two runs of the same experiment."""


@dataclass(frozen=True)
class Readouts:
    """Two frames and a record; judging needs nothing else.

    `label` -1 says that no known class is right. `score` is higher for more anomalous instances, an
    `alarm` is a score above the threshold, and `cancelled` is what the policy made of it. `decision` is the
    class acted upon, -1 where none: the prediction where it is not cancelled, else the fallback's.
    """

    instances: pd.DataFrame
    alarms: pd.DataFrame
    run: Mapping[str, Any] = field(default_factory=dict)
    layers: Mapping[str, np.ndarray] = field(default_factory=dict)

    def save(self, folder: Path | str) -> Path:
        """Write the folder, whole or not at all."""
        folder = Path(folder)
        with new_folder(folder) as temporary:
            self.instances.to_parquet(temporary / "instances.parquet", index=False)
            self.alarms.to_parquet(temporary / "alarms.parquet", index=False)
            layer_files = {name: f"layer-{i}-{_plain(name)}.npy" for i, name in enumerate(self.layers)}
            for layer, name in layer_files.items():
                np.save(temporary / name, self.layers[layer], allow_pickle=False)
            names = ["instances.parquet", "alarms.parquet", *layer_files.values()]
            files = {name: file_digest(temporary / name) for name in names}
            record = {**self.run, "layers": layer_files, "files": files}
            write_json(temporary / "run.json", signed({"schema": SCHEMA, **record}))
        return folder

    @classmethod
    def load(cls, folder: Path | str) -> Readouts:
        """Read a run's folder, checking that it is complete and unchanged."""
        folder = Path(folder)
        run = checked_record(folder)
        layers = {
            layer: np.load(folder / name, mmap_mode="r", allow_pickle=False)
            for layer, name in run["layers"].items()
        }
        instances = pd.read_parquet(folder / "instances.parquet")
        alarms = pd.read_parquet(folder / "alarms.parquet")
        return cls(instances, alarms, run, layers)


def checked_record(folder: Path) -> dict[str, Any]:
    """Read the record of a run's folder, checking that the folder is complete and unchanged."""
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder; expected one that `farm run` wrote")
    if not (folder / "run.json").exists() and (folder / "campaign.json").exists():
        raise DataError(
            f"{folder} is a campaign's folder; expected one run's: give a cell's, {folder / 'cells'}/..."
        )
    run = read_record(folder / "run.json", SCHEMA, ["files", "layers", SIGNATURE])
    check_signature(folder / "run.json", run)
    needed = ["instances.parquet", "alarms.parquet", *run["layers"].values()]
    check_files(folder, run["files"], needed)
    return run


def _plain(layer: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", layer)
