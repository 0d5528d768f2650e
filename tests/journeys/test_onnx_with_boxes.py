"""An ONNX file, an index with a box around each object, and an index of novel pictures without labels."""

from __future__ import annotations

import json

import pytest

from tests.journeys.pictures import KNOWN, save

EXPERIMENT = """
name: boxes
workload: {name: table, path: shapes.csv}
classifier: {name: onnx, path: net.onnx, mean: [0.5, 0.5, 0.5], std: [0.25, 0.25, 0.25]}
faultload:
  - {name: novelty, workload: {name: table, path: crosses.csv}}
  - {name: gaussian-noise, severity: 3}
monitors: [oob, oob-pca, energy, max-softmax]
batch_size: 32
"""


def test_from_an_index_and_an_onnx_file_to_a_comparison(journey) -> None:
    for package in ("onnxruntime", "onnx"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    rows = ["path,label,split,left,top,right,bottom,light"]
    for shape in KNOWN:
        for split, numbers in (("train", range(60)), ("test", range(60, 90))):
            boxes = save(journey.folder / "shapes" / split / shape, shape, numbers)
            for i, box in zip(numbers, boxes, strict=True):
                place = ",".join(map(str, box))
                rows.append(f"shapes/{split}/{shape}/{i:03}.png,{shape},{split},{place},{'day' if i % 3 else 'night'}")
    journey.write("shapes.csv", "\n".join(rows))
    save(journey.folder / "crosses", "cross", range(40), size=40)
    journey.write("crosses.csv", "\n".join(["path", *(f"crosses/{i:03}.png" for i in range(40))]))
    journey.bring("own_net.py")
    journey.bring("export_net.py")
    journey.write("boxes.yaml", EXPERIMENT)
    journey.python("export_net.py")

    journey.farm("describe workload table --set path=shapes.csv --images card.png")
    journey.farm("run boxes.yaml --out first --quiet")
    compared = json.loads(journey.farm("compare first --format json"))
    print(compared)
    journey.farm("report first --out first.html")
    assert 0
