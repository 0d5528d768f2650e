"""What an OD-test found, a row a result: how often each method was right on a triplet of sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from farm.errors import DataError
from farm.protocols.od_test.spec import OdTest
from farm.protocols.strips import noted_images
from farm.store.campaign_folder import CampaignFolder, planned_cells
from farm.store.files import write_text
from farm.store.readouts import Readouts

FILE = "results.csv"
COLUMNS = ("source", "validation", "target", "network", "method", "n", "accuracy", "optimistic")
LABEL = "validation_fault"


@dataclass(frozen=True)
class NetworkAccuracy:
    """How often a trained network is right on what it was trained on: the source's Table 2."""

    source: str
    network: str
    loss: str
    accuracy: float


@dataclass(frozen=True, eq=False)
class Samples:
    """Images that a generative network draws after it has learned a source: the source's Figure 5."""

    source: str
    network: str
    images: np.ndarray
    """N x height x width x channels, uint8."""


@dataclass(frozen=True)
class Results:
    """All results of an OD-test that are there.

    `frame` has `COLUMNS`; where there are several seeds, `seed` too. `validation` is empty for a method that
    learns nothing from D_v, and `network` for one that looks at images alone.
    """

    spec: OdTest
    frame: pd.DataFrame
    networks: tuple[NetworkAccuracy, ...]
    failures: Mapping[str, int]
    """Why monitors failed, and in how many cells."""
    missing: int
    """Cells that are not there."""
    samples: tuple[Samples, ...] = ()

    @classmethod
    def of(cls, folder: Path | str) -> Results:
        """Read the results of a campaign's folder."""
        place = CampaignFolder(folder)
        spec = OdTest.model_validate(place.record()["campaign"]["protocol"])
        cells = planned_cells(place)
        rows: list[dict[str, Any]] = []
        networks: dict[NetworkAccuracy, None] = {}
        failures: dict[str, int] = {}
        contents: dict[tuple[str, str], str] = {}
        samples: dict[tuple[str, str], Samples] = {}
        for cell, path in cells:
            if path is None:
                continue
            readouts = Readouts.load(path, to_judge=True)
            rows += _rows(spec, cell["label"], readouts)
            _check_different(cell["label"], readouts.run, contents)
            networks |= dict.fromkeys(_networks(cell["label"], readouts.run))
            for one in _samples(cell["label"], readouts.run):
                samples[one.source, one.network] = one
            for monitor in readouts.run["monitors"]:
                if why := monitor["failure"]:
                    failures[why] = failures.get(why, 0) + 1
        if not rows:
            raise DataError(f"{place.path} holds no result of an OD-test yet; `farm run` goes on with it")
        seeds = {row["seed"] for row in rows}
        columns = [*COLUMNS, *(["seed"] if len(seeds) > 1 else [])]
        frame = pd.DataFrame(rows)[columns]
        missing = sum(path is None for _, path in cells)
        return cls(spec, frame, tuple(networks), failures, missing, tuple(samples.values()))

    @property
    def honest(self) -> pd.DataFrame:
        """The results on sets that the methods did not learn from."""
        return self.frame[~self.frame["optimistic"]]

    def write(self, folder: Path) -> Path:
        """Write all results as CSV beside the cells."""
        target = folder / FILE
        write_text(target, self.frame.to_csv(index=False, lineterminator="\n"))
        return target


def _check_different(
    label: Mapping[str, Any], run: Mapping[str, Any], contents: dict[tuple[str, str], str]
) -> None:
    """Raise where two sets have the same images: what was learned from one tells nothing on the other."""
    pixels = (run.get("validation_fault") or {}).get("pixels")
    if pixels is None:
        return
    other = contents.setdefault((str(label["workload"]), pixels), str(label[LABEL]))
    if other != label[LABEL]:
        raise DataError(
            f"sets '{other}' and '{label[LABEL]}' have the same images: what was learned from one was judged "
            "on the other; leave one out, and run again"
        )


def _rows(spec: OdTest, label: Mapping[str, Any], readouts: Readouts) -> Iterator[dict[str, Any]]:
    learns = {method.title: method.learns for method in spec.methods}
    is_ood = readouts.instances["is_ood"].to_numpy()
    for method, said in readouts.alarms.groupby("monitor", sort=False, observed=True):
        # Instances and alarms have one order: that of the stream.
        alarm = said.sort_values("position")["alarm"].to_numpy()
        yield {
            "source": label["workload"],
            "validation": label[LABEL] if learns[str(method)] else "",
            "target": label["faultload"],
            "network": "" if method in spec.without_network else label["classifier"],
            "method": str(method),
            "n": len(is_ood),
            "accuracy": float(np.mean(alarm == is_ood)),
            "optimistic": bool(learns[str(method)] and label[LABEL] == label["faultload"]),
            "seed": label["seed"],
        }


def _networks(label: Mapping[str, Any], run: Mapping[str, Any]) -> Iterator[NetworkAccuracy]:
    """Return the networks of a run whose accuracies are known: the classifier, and those of monitors' own."""
    n = len(run["classes"])
    for notes in [{**(run["classifier"].get("notes") or {}), "classes": n}, *_own_networks(run)]:
        # A network that tells outliers from the source has another task, and says so by its classes.
        if "train_accuracy" in notes and notes.get("classes") == n and not notes.get("against_outliers"):
            loss = str(notes.get("loss", ""))
            if loss != "adversarial":
                yield NetworkAccuracy(label["workload"], label["classifier"], loss, notes["train_accuracy"])


def _own_networks(run: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Return what monitors noted of their networks."""
    for monitor in run["monitors"]:
        yield from (monitor.get("notes") or {}).get("networks") or []


def _samples(label: Mapping[str, Any], run: Mapping[str, Any]) -> Iterator[Samples]:
    """Return the images that networks of monitors drew."""
    for notes in _own_networks(run):
        if "samples" in notes:
            yield Samples(label["workload"], "pixelcnn", noted_images(notes))
