"""A network of one's own, class folders, and novel pictures that lie in one flat folder."""

from __future__ import annotations

import json

from tests.journeys.pictures import save, save_classes

EXPERIMENT = """
name: shapes
workload: {name: folder, path: shapes}
classifier: {name: module, factory: own_net:make, weights: net.pt, mean: [0.5], std: [0.25]}
faultload: {name: novelty, workload: {name: folder, path: crosses}}
monitors: [oob, {name: knn, k: 5}, max-softmax]
batch_size: 32
"""


def test_from_pictures_and_weights_to_a_report(journey) -> None:
    save_classes(journey.folder / "shapes")
    save(journey.folder / "crosses", "cross", range(40), size=48)
    journey.bring("own_net.py")
    journey.write("shapes.yaml", EXPERIMENT)
    journey.python("own_net.py net.pt")

    assert "130 instances, 40 of them OOD" in journey.farm("run shapes.yaml --dry-run")
    journey.farm("run shapes.yaml --out first --quiet")

    judged = json.loads(journey.farm("judge first --format json"))
    whole = {one["monitor"]: one for one in judged if one["part"] == "all"}
    assert [whole["knn"][count] for count in ("n", "n_ood")] == [130, 40]
    assert whole["knn"]["auroc"] > 0.9
    assert whole["knn"]["classifier_accuracy"] > 0.6, "nine in thirteen have a right answer"

    journey.farm("report first --out first.html")
    assert "crosses" in (journey.folder / "first.html").read_text(encoding="utf-8")
