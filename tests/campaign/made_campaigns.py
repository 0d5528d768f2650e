"""Campaigns' folders made by hand: real readouts of fakes, without anybody who computed them as cells."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from farm.campaign.keys import Keys
from farm.run.testbed import Testbed
from farm.store.campaign_folder import CampaignFolder
from farm.store.files import signed
from farm.store.readouts import Readouts
from farm.testing.fakes import FakeFaultload, FakeMonitor, TinyModel, TinySource

MONITORS = ("doubt", "broken")
COMMIT = "c0ffee"


@cache
def readouts(fault: str = "negative", seed: int = 0, failing: bool = True) -> Readouts:
    """Run an experiment of fakes; the monitor `broken` fails, unless told otherwise.

    The fault `elsewhere` brings images of another workload.
    """
    bed = Testbed(seed=seed)
    workload = bed.workload(TinySource(tracks=(4, 3, 4), frames=3))
    classifier = bed.classifier(TinyModel(), workload)
    rubbish = (lambda o: np.full(len(o), np.nan)) if failing else (lambda o: -o.confidence)
    monitors = [FakeMonitor(name="doubt"), FakeMonitor(name="broken", score=rubbish)]
    rules: dict[str, Any] = {}
    failures = bed.fit_all(monitors, classifier, workload, rules)
    faultload: Any = FakeFaultload(
        transform=lambda images: 1 - images, category="noise", severities=(1, 3), name=fault
    )
    severity: float | None = 3.0
    if fault == "elsewhere":
        other = {"name": "farm.testing.fakes:TinySource", "title": "abroad", "classes": ["elm", "fir"]}
        faultload, severity = {"name": "novelty", "workload": other}, None
    stream = bed.stream(workload, classifier, faultload, severity=severity, ood_share=0.25)
    made = bed.run(stream, classifier, monitors, workload, batch_size=16, failures=failures)
    steady = {
        "versions": {"python": "3.11", "torch": "2.4"},
        "hardware": {"processor": "one"},
        "testbed_commit": COMMIT,
    }
    return replace(made, run={**made.run, **steady})


def planned(number: int, fault: str = "negative", seed: int = 0) -> dict[str, Any]:
    """Give a cell as a campaign's record has it."""
    keys = {name: f"{number:04x}{i:012x}" for i, name in enumerate(MONITORS)}
    label = {
        "workload": "tiny",
        "classifier": "means",
        "faultload": fault,
        "severity": "3",
        "seed": str(seed),
    }
    return {
        "id": f"{number:016x}",
        "title": f"tiny, means, {fault} severity 3, seed {seed}",
        "label": label,
        "target": Keys(f"{number:016x}", keys).target,
        "monitors": keys,
    }


def write_campaign(path: Path, cells: Iterable[Mapping[str, Any]]) -> CampaignFolder:
    """Write what campaign lies in a folder."""
    folder = CampaignFolder(path)
    folder.prepare()
    folder.write_record({"name": "small", "home": str(path), "campaign": {}, "cells": list(cells)})
    return folder


def write_cell(folder: CampaignFolder, cell: Mapping[str, Any], source: Readouts, **changes: Any) -> Path:
    """Save readouts as a cell; `changes` are to its record."""
    names = [entry["name"] for entry in source.run["monitors"]]
    shared = ("versions", "hardware", "testbed_commit")
    record = {
        **source.run,
        "cell": {name: cell[name] for name in ("id", "title", "label")} | {"keys": cell["monitors"]},
        **changes,
    }
    record["passes"] = [{"monitors": names, "seconds": 2.0, **{name: record[name] for name in shared}}]
    return replace(source, run=record).save(folder.cells / cell["target"])


def make_campaign(path: Path, n: int = 2, missing: int = 0, failing: bool = False) -> CampaignFolder:
    """Make a campaign of as many cells, the last of which are not there."""
    cells = [planned(number, seed=number) for number in range(n)]
    folder = write_campaign(path, cells)
    for number, cell in enumerate(cells[: n - missing]):
        write_cell(folder, cell, readouts(seed=number % 2, failing=failing))
    return folder


def edit(path: Path, change: Any) -> None:
    """Change a JSON file as somebody with an editor would."""
    values = json.loads(path.read_text(encoding="utf-8"))
    change(values)
    # Somebody who edits with care signs anew: what is wrong must be found all the same.
    values = signed(values) if "checksum" in values else values
    path.write_text(json.dumps(values), encoding="utf-8")
