"""An ONNX file, an index with a box around each object, and an index of novel pictures without labels."""

from __future__ import annotations

import json
from itertools import product

import pytest

from tests.journeys.pictures import KNOWN, save

EXPERIMENT = """
name: boxes
workload: {name: table, path: shapes.csv}
classifier: {name: onnx, path: net.onnx, mean: [0.5], std: [0.25]}
faultload:
  - {name: novelty, workload: {name: table, path: crosses.csv}}
  - {name: gaussian-noise, severity: 3}
monitors: [oob, oob-pca, energy, max-softmax]
batch_size: 32
"""


def test_from_an_index_and_an_onnx_file_to_a_guard(journey) -> None:
    for package in ("onnxruntime", "onnx"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    rows = ["path,label,split,left,top,right,bottom,light"]
    for shape, (split, numbers) in product(KNOWN, {"train": range(60), "test": range(60, 90)}.items()):
        boxes = save(journey.folder / "shapes" / split / shape, shape, numbers)
        for i, box in zip(numbers, boxes, strict=True):
            light = "day" if i % 3 else "night"
            rows.append(",".join(map(str, (f"shapes/{split}/{shape}/{i:03}.png", shape, split, *box, light))))
    journey.write("shapes.csv", "\n".join(rows))
    save(journey.folder / "crosses", "cross", range(40), size=40)
    journey.write("crosses.csv", "\n".join(["path", *(f"crosses/{i:03}.png" for i in range(40))]))
    journey.bring("own_net.py")
    journey.write("boxes.yaml", EXPERIMENT)
    journey.python("own_net.py net.onnx")

    assert "boxes: yes" in journey.farm("describe workload table --set path=shapes.csv --images card.png")
    journey.farm("run boxes.yaml --out first --quiet")
    found = json.loads(journey.farm("compare first --format json"))
    values = {one["category"]: one["values"] for one in found["sets"]}
    assert values["novelty"].keys() == {"oob", "oob-pca", "energy", "max-softmax"}
    assert values["novelty"]["oob-pca"] > 0.6
    assert values["noise"].keys() == values["novelty"].keys()

    journey.farm("fit boxes.yaml --monitor oob-pca --out guard")
    told = journey.farm("decide guard shapes/test/disc/070.png crosses/000.png --format json")
    known, novel = json.loads(told)
    assert (known["accepted"], known["label"]) == (True, "disc")
    assert not novel["accepted"]
