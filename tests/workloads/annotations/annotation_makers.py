"""One small street, annotated in every format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw

HEIGHT, WIDTH = 120, 200


class Thing(NamedTuple):
    """An object of an image."""

    label: str
    box: tuple[float, float, float, float]
    occluded: bool = False
    truncated: bool = False


Scene = dict[str, Sequence[Thing]]
"""Objects by the image's name, without a suffix."""

STREET: Scene = {
    "000000": [Thing("car", (20, 30, 61.5, 70.25)), Thing("person", (120, 20, 150, 90), occluded=True)],
    "000001": [Thing("truck", (0, 10, 90, 80), truncated=True), Thing("car", (130, 40, 170, 75))],
    "000002": [],
}
WEATHER = ("clear", "rainy", "snowy")


def draw(scene: Scene, folder: Path, suffix: str = ".png") -> Path:
    """Draw each image, its objects as boxes of colours of their own; no two images are the same."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (name, things) in enumerate(scene.items()):
        grey = np.random.default_rng(seed).integers(60, 120, (HEIGHT, WIDTH, 3), dtype=np.uint8)
        picture = Image.fromarray(grey)
        pen = ImageDraw.Draw(picture)
        for number, thing in enumerate(things):
            left, top, right, bottom = thing.box
            pen.polygon(
                [(left, top), (right - 1, top), (right - 1, bottom - 1), (left, bottom - 1)],
                fill=(255 - 50 * number, 80 * number, 0),
            )
        picture.save(folder / f"{name}{suffix}")
    return folder


def coco(scene: Scene, path: Path, suffix: str = ".png", **more: Any) -> Path:
    """Write COCO's file."""
    labels = sorted({thing.label for things in scene.values() for thing in things})
    images, annotations = [], []
    for number, (name, things) in enumerate(scene.items()):
        image = {"id": number, "file_name": f"{name}{suffix}", "width": WIDTH, "height": HEIGHT}
        images.append({**image, "weather": WEATHER[number % 3]})
        for thing in things:
            left, top, right, bottom = thing.box
            annotations.append(
                {
                    "id": len(annotations) + 100,
                    "image_id": number,
                    "category_id": labels.index(thing.label),
                    "bbox": [left, top, right - left, bottom - top],
                    "iscrowd": 0,
                    "attributes": {"occluded": thing.occluded, "truncated": thing.truncated},
                }
            )
    categories = [{"id": number, "name": label} for number, label in enumerate(labels)]
    value = {"images": images, "annotations": annotations, "categories": categories, **more}
    path.write_text(json.dumps(value))
    return path


def kitti(scene: Scene, folder: Path, score: str = "") -> Path:
    """Write a folder of KITTI's labels."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, things in scene.items():
        lines = [
            f"{thing.label} {thing.truncated:.2f} {thing.occluded:d} -1.57 {' '.join(map(str, thing.box))} "
            f"1.5 1.6 3.9 1.8 1.5 8.4 0.01{score}\n"
            for thing in things
        ]
        (folder / f"{name}.txt").write_text("".join(lines))
    return folder


def frames(scene: Scene, suffix: str = ".png") -> list[dict[str, Any]]:
    """Return BDD100K's list."""
    return [
        {
            "name": f"{name}{suffix}",
            "attributes": {"weather": WEATHER[number % 3], "scene": "city street", "timeofday": "night"},
            "timestamp": 10000,
            "labels": [
                *(
                    {
                        "id": str(100 * number + place),
                        "category": thing.label,
                        "attributes": {"occluded": thing.occluded, "truncated": thing.truncated},
                        "box2d": dict(zip(("x1", "y1", "x2", "y2"), thing.box, strict=True)),
                    }
                    for place, thing in enumerate(things)
                ),
                {"id": 99999, "category": "area/drivable", "attributes": {}, "poly2d": []},
            ],
        }
        for number, (name, things) in enumerate(scene.items())
    ]


def bdd(scene: Scene, path: Path, suffix: str = ".png") -> Path:
    """Write BDD100K's list."""
    path.write_text(json.dumps(frames(scene, suffix)))
    return path


def bdd_files(scene: Scene, folder: Path) -> Path:
    """Write a file an image, as BDD100K had it first."""
    folder.mkdir(parents=True, exist_ok=True)
    for frame in frames(scene, ""):
        objects = frame.pop("labels")
        frame |= {"frames": [{"timestamp": 10000, "objects": objects}]}
        (folder / f"{frame['name']}.json").write_text(json.dumps(frame))
    return folder
