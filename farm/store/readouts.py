"""Readouts: what happened, instance by instance, with everything needed to judge and to repeat it.

A run's folder holds `instances.parquet` (one row an instance), `alarms.parquet` (one row an instance and
monitor), `run.json` (the whole provenance, and a checksum of each other file), where hidden layers were asked
for one `layer-*.npy` each, the pictures that a report shows, unless none were to be kept, and where they were
asked for heat maps of occlusion.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray

from farm.errors import DataError, UnknownNameError
from farm.store.class_probabilities import class_probabilities, without_probabilities
from farm.store.files import check_files, file_digest, new_folder, signed, write_json
from farm.store.logs import read_log
from farm.store.occlusion import OcclusionMaps, read_occlusion
from farm.store.pictures import Pictures, read_pictures
from farm.store.plain_arrays import mapped_npy
from farm.store.run_form import SCHEMA, RunForm, SignedRunForm, signed_run
from farm.store.run_tables import ALARMS, INSTANCES, read_frame

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
    pictures: Pictures | None = None
    occlusion: OcclusionMaps | None = None

    def save(self, folder: Path | str) -> Path:
        """Write the folder, whole or not at all."""
        folder = Path(folder)
        with new_folder(folder) as temporary:
            self.instances.to_parquet(temporary / INSTANCES, index=False)
            self.alarms.to_parquet(temporary / ALARMS, index=False)
            layer_files = {name: f"layer-{i}-{_plain(name)}.npy" for i, name in enumerate(self.layers)}
            for layer, name in layer_files.items():
                np.save(temporary / name, self.layers[layer], allow_pickle=False)
            names = [INSTANCES, ALARMS, *layer_files.values()]
            for images in (self.pictures, self.occlusion):
                if images is not None:
                    names += images.save(temporary)
            files = {name: file_digest(temporary / name) for name in names}
            record = {**self.run, "layers": layer_files, "files": files}
            write_json(temporary / "run.json", signed({"schema": SCHEMA, **record}))
        return folder

    @classmethod
    def load(
        cls,
        folder: Path | str,
        *,
        to_judge: bool = False,
        conditions: Sequence[str] = (),
        probabilities: bool = False,
    ) -> Readouts:
        """Read a run's folder, checking that it is complete and unchanged; or a log (CSV or Parquet).

        To judge, alarms need no ids of instances, and their monitors are categories: half the memory.
        Pictures and heat maps are left out then, and so are the probabilities of all classes, unless with
        `probabilities`. A run has all conditions in which its instances were taken; of a log, `conditions`
        are other columns to read (`farm.store.logs.CONDITION` tells what they are called).
        """
        folder = Path(folder)
        if not folder.is_dir():
            return cls(*read_log(folder, conditions, to_judge=to_judge))
        run = checked_record(folder)
        layers = {layer: mapped_npy(folder / name) for layer, name in run["layers"].items()}
        every, alarms = folder / INSTANCES, folder / ALARMS
        instances = read_frame(every, partial(_judged, every) if to_judge and not probabilities else None)
        lean = partial(_lean, alarms) if to_judge else None
        pictures = None if to_judge else read_pictures(folder, run["files"])
        occlusion = None if to_judge else read_occlusion(folder, run)
        return cls(instances, read_frame(alarms, lean), run, layers, pictures, occlusion)

    @property
    def probabilities(self) -> NDArray[np.float32]:
        """The classifier's probability of every class, instances x classes; where they were kept."""
        return class_probabilities(self.instances, self.run.get("classes") or ())

    def __repr__(self) -> str:
        told = {"name": self.run.get("name"), "instances": len(self.instances)}
        told |= {"monitors": self.alarms["monitor"].unique().tolist(), "folder": self.run.get("folder")}
        inside = ", ".join(f"{key}={value!r}" for key, value in told.items() if value is not None)
        return f"Readouts({inside})"

    def _repr_html_(self) -> str:
        """Show a notebook the answer, the table and the figures."""
        import farm  # which finds what stands above this package, only when it is asked for

        return str(farm.as_html(self))

    def image(self, id: str) -> NDArray[np.uint8]:
        """Return an instance's pixels as they were streamed, H x W x C; the run's stream is made again."""
        (pixels,) = self.images([id])
        return np.asarray(pixels)

    def images(self, ids: Sequence[str]) -> NDArray[np.uint8]:
        """Return the pixels of some instances as they were streamed, N x H x W x C.

        The run's stream is made again, once: from the data, and with the code, that it ran on. Where these
        changed since, it is refused. Nothing is trained, but the classifier where a fault attacks it.
        """
        stream = self._remade
        places = dict(zip(self.instances["id"], self.instances["position"], strict=True))
        for name in ids:
            if name not in places:
                known = ", ".join(list(places)[:2])
                raise UnknownNameError(
                    f"the run has no instance '{name}'; expected one of {len(places):,} ids, such as {known}"
                )
        found: NDArray[np.uint8] = stream.images(np.array([places[name] for name in ids], dtype=np.int64))
        return found

    @cached_property
    def _remade(self) -> Any:
        import farm  # as above

        return farm.RemadeStream(self)


def checked_record(folder: Path, form: type[RunForm] = SignedRunForm) -> dict[str, Any]:
    """Read the record of a run's folder, checking that the folder is complete and unchanged."""
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder; expected one that `farm run` wrote")
    if not (folder / "run.json").exists():
        raise DataError(_no_run(folder))
    run = signed_run(folder, form)
    needed = [INSTANCES, ALARMS, *run["layers"].values()]
    check_files(folder, run["files"], needed)
    return run


def _no_run(folder: Path) -> str:
    """Say what a folder without a run's record is, and what could be given in its place."""
    if (folder / "campaign.json").exists():
        return (
            f"{folder} is a campaign's folder; expected one run's: give a cell's, {folder / 'cells'}/..., or "
            "read all of them with `farm.load` in Python"
        )
    for other, how in (("guard", "farm.Guard.load"), ("comparison", "farm.load")):
        if (folder / f"{other}.json").exists():
            return f"{folder} is a {other}'s folder; expected one of a run: read it with `{how}`"
    inside = sorted(
        {str(path.parent) for name in ("run", "campaign") for path in folder.glob(f"*/{name}.json")}
    )
    hint = f"; give what it holds, such as {' or '.join(inside[:2])}" if inside else ""
    return (
        f"{folder} is no folder of a run, a comparison or a campaign: run.json, comparison.json and "
        f"campaign.json are not there; expected one that `farm run` wrote{hint}"
    )


def _judged(instances: Path, names: list[str]) -> pd.DataFrame:
    """Read instances to be judged by what all runs have of them."""
    return pd.read_parquet(instances, columns=without_probabilities(names))


def _lean(alarms: Path, names: list[str]) -> pd.DataFrame:
    """Read alarms to be judged; no more than a column of them is held twice."""
    columns = [name for name in names if name != "id"]
    table = pq.read_table(alarms, columns=columns, read_dictionary=["monitor"], pre_buffer=False)
    frame: pd.DataFrame = table.to_pandas(split_blocks=True, self_destruct=True)
    return frame


def _plain(layer: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", layer)
