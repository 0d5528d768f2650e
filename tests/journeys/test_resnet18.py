"""A ResNet-18 at 112 x 112 with eight monitors: arrays, and novel images in a file with `x_test` alone."""

from __future__ import annotations

import json

import numpy as np

from tests.journeys.pictures import KNOWN, several

SIZE = 112
EXPERIMENT = """
name: resnet
workload: {name: npz, path: shapes.npz, classes: [diamond, disc, square]}
classifier: {name: module, factory: resnet18:ResNet18, weights: resnet18.pt}
faultload: {name: novelty, workload: {name: npz, path: crosses.npz}}
monitors: [oob, knn, mahalanobis, vim, react, energy, odin, max-softmax]
batch_size: 16
"""


def test_from_arrays_and_a_large_network_to_eight_verdicts(journey) -> None:
    x_train, y_train = several(KNOWN, range(20), SIZE)
    x_test, y_test = several(KNOWN, range(20, 28), SIZE)
    crosses, _ = several(("cross",), range(12), SIZE)
    np.savez(journey.folder / "shapes.npz", x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test)
    np.savez(journey.folder / "crosses.npz", x_test=crosses)
    journey.bring("resnet18.py")
    journey.write("resnet.yaml", EXPERIMENT)
    journey.python("resnet18.py")
    journey.farm("run resnet.yaml --out first --quiet")

    judged = json.loads(journey.farm("judge first --format json"))
    whole = {one["monitor"]: one for one in judged if one["part"] == "all"}
    assert {(one["n"], one["n_ood"]) for one in whole.values()} == {(36, 12)}
    assert len([one for one in whole.values() if one["ranked"] and not one["failure"]]) == 8
    assert whole["vim"]["classifier_accuracy"] > 0.5, "two in three have a right answer"
    assert whole["vim"]["auroc"] > 0.7
