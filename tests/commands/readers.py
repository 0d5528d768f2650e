"""Everything that the command line reads, once in a valid form, and the commands that read it."""

from __future__ import annotations

import sys
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from PIL import Image
from safetensors.numpy import save_file

from farm.cli import main
from tests.campaign.made_campaigns import make_campaign
from tests.workloads.annotations import annotation_makers as annotations
from tests.workloads.annotations.annotation_makers import Thing

CLASSIFIER = {"name": "farm.testing.fakes:TinyModel", "as": "means"}
TINY = {"name": "farm.testing.fakes:TinySource", "as": "tiny"}
MONITORS = ["max-softmax", {"name": "energy", "as": "second"}]
EXPERIMENT: dict[str, Any] = {
    "name": "mine",
    "seed": 1,
    "workload": TINY,
    "classifier": CLASSIFIER,
    "monitors": [*MONITORS, {"name": "max-logit", "policy": {"name": "m-of-n", "m": 2, "n": 3}}],
    "calibration": {"method": "id-quantile", "accept": 0.9},
    "fallback": "last",
    "batch_size": 16,
    "occlusion": {"images": 3, "window": 3},
}
FAULTS = [{"name": "gaussian-noise", "severity": 2}, {"name": "fog", "severity": 1, "share": 2}]
CAMPAIGN = {
    "name": "small",
    "workload": TINY,
    "classifier": CLASSIFIER,
    "monitors": MONITORS,
    "batch_size": 16,
    "faultloads": ["gaussian-noise", {"name": "fog", "severity": 2}],
    "severities": [1, 3],
    "seeds": [0, 1],
    "exclude": [{"seed": 1, "severity": 3}],
    "limits": {"seconds": 600, "memory_gb": 4},
}
BOXES, DIAL = "farm.testing.fake_boxes:BoxSource", "tests.tuning.made_models:Dial"
SEARCHED = {
    "classifier_nll": {"scale": {"low": 0.1, "high": 2, "log": True}},
    "box_mae": {"spread": [1, 2.0]},
}
TUNING = {
    "experiment": "dial.yaml",
    "trials": 2,
    "set": {"breaks": 3},
    "steps": {"one": {"search": SEARCHED}},
}
MODULE = """
import numpy as np
from torch import nn

def predict(images):
    level = images.mean(axis=(1, 2, 3))
    return np.stack([1 - level, level], axis=1)

def network():
    return nn.Sequential(nn.Flatten(), nn.Linear(192, 2))
"""
CRITERIA = {
    "criteria": ["specific.fpr <= 0.3 on id", "overall.mcc >= 0.1 on category:noise"],
    "level": 0.9,
    "monitors": ["max-softmax"],
    "undecided": "report",
    "replicates": 50,
    "seed": 1,
    "power": 0.8,
}
DOMAIN: dict[str, Any] = {
    "conditions": {"weather": ["sun", "rain"], "lanes": [2, 4], "lane": [1, 2, 3]},
    "restrictions": [{"at_most": 1, "of": ["lanes=2", "lane=3"]}, {"at_least": -2, "of": ["-2*weather=sun"]}],
}
COSTS = {"wrong": 10, "cancelled_right": 1.5, "by_label": {"ash": 3}, "by_pair": {"ash": {"birch": 20}}}


@dataclass(frozen=True)
class Reader:
    """Files that may be damaged, and the commands that read them."""

    files: tuple[str, ...]
    commands: tuple[str, ...]
    records: tuple[str, ...] = ()
    """What has checksums of these files, or of itself."""
    cases: int = 50
    """So many files are damaged where little time is taken."""


LOOKS = (
    *(
        "farm judge {}",
        "farm compare {} --replicates 50",
        "farm inspect {} --look classes --look scores --look time",
    ),
    *(
        "farm plan {}",
        "farm check {} --criteria c.yaml --replicates 50",
        "farm anova {} twin --measure specific.fnr",
        "farm judge {} --format json",
    ),
)


def _looks(place: str) -> tuple[str, ...]:
    return tuple(command.format(place) for command in LOOKS)


WORKLOAD = "farm describe workload {} --images out.png --set path={}"
READERS = {
    "experiment": Reader(("mine.yaml",), ("farm faults write mine.yaml --quiet --out out",)),
    "campaign's file": Reader(("many.yaml",), ("farm run many.yaml --dry-run --out out",)),
    "search": Reader(
        ("tuning.yaml", "dial.yaml", "searched/optuna.log"),
        (
            "farm tune tuning.yaml --quiet --set trials=2 --out searched",
            "farm tune tuning.yaml --quiet --set trials=2 --out out",
        ),
    ),
    "list of faults": Reader(("faults.yaml", "listed.yaml"), ("farm run listed.yaml --dry-run --out out",)),
    "criteria": Reader(("c.yaml",), ("farm check run --criteria c.yaml",)),
    "domain": Reader(("domain.yaml",), ("farm scenarios domain.yaml recorded.csv",)),
    "recorded scenarios": Reader(
        ("recorded.csv", "recorded.parquet"),
        ("farm scenarios domain.yaml recorded.csv", "farm scenarios domain.yaml recorded.parquet"),
    ),
    "annotations": Reader(
        ("coco.json", "det.json", "frames/2.json", "kitti/2.txt", "classes.yaml"),
        tuple(
            f"farm crops {path} --images streets --out out --classes classes.yaml --size 16 --quiet"
            for path in ("coco.json", "det.json", "frames", "kitti")
        ),
    ),
    "annotated image": Reader(
        ("streets/0.jpg", "streets/3.jpg"),
        ("farm crops kitti --images streets --out out --size 16 --quiet",),
        cases=20,
    ),
    "costs": Reader(
        ("costs.yaml",),
        ("farm inspect run --costs costs.yaml", "farm compare run --systems --costs costs.yaml"),
    ),
    "CSV log": Reader(("log.csv",), _looks("log.csv")),
    "Parquet log": Reader(("log.parquet",), _looks("log.parquet")),
    "run": Reader(
        ("run/run.json", "run/instances.parquet", "run/alarms.parquet"),
        (
            *_looks("run"),
            "farm verify run",
            "farm export run --format csv --out out",
            "farm baseline save run --out out",
        ),
        ("run/run.json",),
    ),
    "report": Reader(
        ("run/run.json", "run/pictures.json", "run/pictures.npy", "log.csv"),
        ("farm report run --out out.html", "farm report run log.csv --out out.html"),
        ("run/run.json",),
        cases=10,  # a page takes more than a second to draw
    ),
    "repeated run": Reader(
        (
            *("run/run.json", "run/pictures.json", "run/pictures.npy"),
            *("run/occlusion.json", "run/occlusion.npz"),
        ),
        ("farm run run/run.json --out out",),
        ("run/run.json",),
    ),
    "campaign": Reader(
        ("campaign/campaign.json", "campaign/status.json", "campaign/failed/ID.json", "campaign/lock"),
        (
            "farm status campaign",
            "farm verify campaign",
            "farm judge campaign",
            "farm run many.yaml --dry-run --out campaign",
        ),
    ),
    "baseline": Reader(
        ("kept.yaml", "against.yaml"),
        (
            "farm baseline compare run --baseline kept.yaml --replicates 50",
            "farm check run --criteria against.yaml",
            "farm baseline save run --out kept.yaml",
        ),
        ("kept.yaml",),
    ),
    "guard": Reader(
        ("guard/guard.json", "guard/classifier.npz", "guard/monitor.npz"),
        ("farm decide guard image.png",),
        ("guard/guard.json",),
    ),
    "experiment to fit": Reader(("guarded.yaml",), ("farm fit guarded.yaml --quiet --out out",)),
    "Python file": Reader(("theirs.py",), ("farm init . --out out",)),
    "npz": Reader(("data.npz",), (WORKLOAD.format("npz", "data.npz"),)),
    "folder": Reader(
        ("images/0/0.png", "images/1/0.ppm", "images/0/1.jpg", "images/1/1.bmp"),
        (WORKLOAD.format("folder", "images"),),
    ),
    "boxes of a folder": Reader(
        ("boxes.csv", "boxes.parquet"),
        tuple(
            f"{WORKLOAD.format('folder', 'images')} --set boxes={name}"
            for name in ("boxes.csv", "boxes.parquet")
        ),
    ),
    "table": Reader(
        ("index.csv", "index.parquet"),
        (WORKLOAD.format("table", "index.csv"), WORKLOAD.format("table", "index.parquet")),
    ),
    "image": Reader(
        ("image.png", "image.jpg", "image.webp"), ("farm decide guard image.png image.jpg image.webp",)
    ),
    "benchmark set": Reader(
        ("set/set.json", "set/index.parquet", "set/images.npy", "stored.yaml"),
        ("farm run stored.yaml --quiet --out out",),
        ("set/set.json",),
    ),
    "benchmark set of pictures": Reader(
        ("pngs/set.json", "pngs/000003.png", "pictures.yaml"),
        ("farm run pictures.yaml --quiet --out out",),
        ("pngs/set.json",),
    ),
    "weights": Reader(("weights.safetensors", "weighed.yaml"), ("farm run weighed.yaml --quiet --out out",)),
}


def farm(*arguments: str) -> None:
    """Run a command that makes something, and insist that it does."""
    if (code := main(arguments)) not in (0, 3):
        raise AssertionError(f"farm {' '.join(arguments)}: exit code {code}")


def make_all(place: Path) -> None:
    """Put all that the readers read into a folder."""
    with chdir(place):
        _write_files()
        _write_images()
        farm("run", "mine.yaml", "--quiet", "--out", "run")
        _write_logs()
        farm("run", "mine.yaml", "--quiet", "--set", "seed=2", "--out", "twin")
        farm("faults", "write", "mine.yaml", "--quiet", "--out", "set")
        farm("faults", "write", "mine.yaml", "--quiet", "--images", "png", "--out", "pngs")
        farm("fit", "guarded.yaml", "--quiet", "--out", "guard")
        sys.modules.pop("theirs", None)
        farm("tune", "tuning.yaml", "--quiet", "--out", "searched")
        farm("baseline", "save", "run", "--out", "kept.yaml")
        folder = make_campaign(Path("campaign"), n=3, missing=1, failing=True)
        folder.note_failure("ID", "ID", "tiny", "failed", "it did not work")
        (folder.path / "lock").write_text("{}", encoding="utf-8")
        folder.status.write_text("{}", encoding="utf-8")


def _write(name: str, values: Any) -> None:
    Path(name).write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")


def _write_files() -> None:
    _write("mine.yaml", {**EXPERIMENT, "faultload": FAULTS})
    _write("many.yaml", CAMPAIGN)
    _write(
        "listed.yaml", {**CAMPAIGN, "faultloads": [{"list": "faults.yaml"}], "severities": [2], "exclude": []}
    )
    _write("dial.yaml", {"workload": BOXES, "classifier": DIAL, "monitors": ["never"]})
    _write("tuning.yaml", TUNING)
    _write("faults.yaml", {"one": {"name": "fog"}, "two": {"name": "gaussian-noise"}})
    _write("c.yaml", CRITERIA)
    _write(
        "against.yaml",
        {"criteria": ["specific.fpr not worse than baseline:kept.yaml by 0.1"], "replicates": 50},
    )
    _write("costs.yaml", COSTS)
    _write("domain.yaml", DOMAIN)
    recorded = pd.DataFrame({"weather": ["sun", "rain", "sun"], "lanes": [2, 4, 4], "lane": [1, 2, 3]})
    recorded.to_csv("recorded.csv", index=False)
    recorded.to_parquet("recorded.parquet", index=False)
    guarded = {"workload": {"name": "npz", "path": "data.npz"}, "monitors": ["max-softmax"]}
    _write("guarded.yaml", {**guarded, "classifier": {"name": "function", "function": "theirs:predict"}})
    weighed = {"name": "module", "factory": "theirs:network", "weights": "weights.safetensors"}
    _write("weighed.yaml", {**guarded, "classifier": weighed})
    Path("theirs.py").write_text(MODULE, encoding="utf-8")
    _write("stored.yaml", {**EXPERIMENT, "stream": {"benchmark": "set"}})
    _write("pictures.yaml", {**EXPERIMENT, "stream": {"benchmark": "pngs"}})


def _write_images() -> None:
    rng = np.random.default_rng(1)
    made: dict[str, np.ndarray] = {}
    for split, n in (("train", 40), ("test", 12)):
        labels = np.arange(n) % 2
        dark = rng.integers(0, 100, (n, 8, 8, 3), dtype=np.uint8)
        made[f"x_{split}"] = dark + np.uint8(150) * labels[:, None, None, None].astype(np.uint8)
        made[f"y_{split}"] = labels
        made[f"track_{split}"] = np.arange(n) // 2
    np.savez("data.npz", **made)
    suffixes = {0: "png", 1: "ppm", 2: "jpg", 3: "bmp"}
    rows = []
    for i, image in enumerate(made["x_train"]):
        path = Path(f"images/{i % 2}/{i // 2}.{suffixes[i % 4]}")
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path)
        rows.append(
            {"path": str(path), "label": i % 2, "group": i // 4, "left": 0, "top": 0, "right": 5, "bottom": 6}
        )
    index = pd.DataFrame(rows).assign(height=8, width=8, weather="rain")
    index.to_csv("index.csv", index=False)
    index.to_parquet("index.parquet", index=False)
    boxes = index.assign(image=index["path"].str.removeprefix("images/"))
    boxes = boxes[["image", "left", "top", "right", "bottom"]][::2]
    boxes.to_csv("boxes.csv", index=False)
    boxes.to_parquet("boxes.parquet", index=False)
    for suffix in ("png", "jpg", "webp"):
        Image.fromarray(made["x_test"][0]).save(f"image.{suffix}")
    _write_streets()
    weights = {"1.weight": np.zeros((2, 192), np.float32), "1.bias": np.zeros(2, np.float32)}
    save_file(weights, "weights.safetensors")


def _write_streets() -> None:
    """Write annotated images in every format."""
    scene = {str(i): [Thing("car", (20 + i, 20, 80, 90)), Thing("bus", (110, 30, 160, 90))] for i in range(4)}
    annotations.draw(scene, Path("streets"), ".jpg")
    annotations.coco(scene, Path("coco.json"), ".jpg")
    annotations.bdd(scene, Path("det.json"), ".jpg")
    annotations.bdd_files(scene, Path("frames"))
    annotations.kitti(scene, Path("kitti"))
    _write("classes.yaml", {"car": "car", "vehicle": ["bus", "truck"], "drop": ["rider"]})


def _write_logs() -> None:
    """Write logs with every column there is."""
    for form, read, write in (
        ("csv", pd.read_csv, pd.DataFrame.to_csv),
        ("parquet", pd.read_parquet, pd.DataFrame.to_parquet),
    ):
        farm("export", "run", "--format", form, "--out", f"exported.{form}")
        log = read(f"exported.{form}")
        write(log.assign(timestamp=range(len(log))), f"log.{form}", index=False)
