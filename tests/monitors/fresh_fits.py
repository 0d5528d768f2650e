"""Fits every monitor and makes every model from nothing, in whichever process it is run.

Run as a module with a folder it does so there, under other global random numbers, and writes what came out.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.cluster  # noqa: F401 - a limit of threads holds for libraries that are loaded by then
import torch

from farm.api import Classifier, Monitor, NoCache, Observation, Workload
from farm.errors import RequirementError
from farm.run.fitting import Material, ObservedSplit
from farm.run.testbed import Testbed
from farm.store.threads import limited_threads
from tests.models.boxed import with_boxes
from tests.monitors.making import NAMES, make
from tests.monitors.own_networks import AnyNetworks
from tests.monitors.stand_in import torchvision_at_hand

WORKLOAD = {
    "name": "farm.testing.fakes:TinySource",
    "classes": ["ash", "birch"],
    "size": 16,
    "tracks": [66, 12, 12],
}
CLASSIFIER = {"name": "lenet", "epochs": 3, "hidden": 24}
LAYERS = ("last-hidden", "conv2")
MANY = 200
"""With more points than that a class, methods take other ways than with few."""
MORE: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "oob of widths": ("oob", {"neurons": "all", "tau_unit": "width", "layer": list(LAYERS)}),
    "oob-isomap of three dimensions": ("oob-isomap", {"dimensions": 3, "landmarks": 250}),
    "kl-matching of training data": ("kl-matching", {"source": "training"}),
    "odin of outliers": ("odin", {"selection": "validation-fault", "selection_images": 20}),
    "neighbour-svm of an autoencoder": ("neighbour-svm", {"k": 8, "space": "vae", "points": 210}),
    "reconstruction without outliers": ("reconstruction", {"centre": "id"}),
    "knn of some": ("knn", {"points": 210}),
    "nnguide of some": ("nnguide", {"points": 210}),
    "vote of each": ("vote", {"members": ["oob-isomap", "knn"], "calibrated": "each"}),
    "fusion of drawn ones": ("fusion", {"members": ["random", "gaussian-mixture"]}),
}
"""Parameters by which a fit takes another way than by default."""


def everything(folder: Path) -> dict[str, str]:
    """Return a digest of whatever comes out: weights, states, scores; by what it is of."""
    bed = Testbed(seed=0, cache=NoCache(), folder=folder)
    with limited_threads(1), torchvision_at_hand(folder):
        workload = bed.workload(WORKLOAD)
        classifier = bed.classifier(CLASSIFIER, workload)
        noise = np.random.default_rng(0).random((60, *workload.shape), dtype=np.float32)
        material = Material(
            classes=workload.classes,
            seed=0,
            train=ObservedSplit(classifier, workload.train, LAYERS),
            validation=ObservedSplit(classifier, workload.validation, LAYERS),
            outliers=[classifier.observe(noise, LAYERS)],
            networks=AnyNetworks(workload.shape, workload.classes),
        )
        found = {"points a class": str(points_of_a_class(material)), "network": classifier.digest}
        shown = observed(classifier, workload, LAYERS)
        for name, one in monitors().items():
            try:
                fitted = one.fit(material, classifier)
            except RequirementError as error:
                found[name] = str(error)
                continue
            found[name] = digest({**fitted.state, "scores": fitted.score(shown)})
        for number, recipe in enumerate(json.loads((folder / "models.json").read_text(encoding="utf-8"))):
            model, size = recipe["model"], recipe["size"]
            digits = with_boxes(bed.workload({"name": "digits", "size": size, "channels": 1}))
            made = bed.classifier(model, digits)
            outputs = observed(made, digits, ()).probabilities
            found[f"model {number}: {model['name']}"] = digest({made.digest: outputs})
    return found


def monitors() -> dict[str, Monitor]:
    """Make all that are registered, and some with other parameters; without those whose extra is missing."""
    made = {}
    for name, (kind, parameters) in {**{name: (name, {}) for name in NAMES}, **MORE}.items():
        try:
            made[name] = make(kind, **parameters)
        except RequirementError:
            continue
    return made


def points_of_a_class(material: Material) -> int:
    """Return how many training points the class with the fewest of them has, misclassified ones left out."""
    right = np.concatenate([labels[seen.predicted == labels] for seen, labels in material])
    return int(np.bincount(right, minlength=len(material.classes)).min())


def observed(classifier: Classifier, workload: Workload, layers: tuple[str, ...]) -> Observation:
    """Show the classifier the first test images, in their tracks."""
    rows = np.arange(40)
    images, test = workload.test.images.read(rows), workload.test
    return classifier.observe(images, layers, ids=test.ids[rows], track=test.groups[rows])


def digest(arrays: Mapping[str, np.ndarray]) -> str:
    """Return a hash of all bits, and of names, types and shapes."""
    text = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        text.update(f"{name} {array.dtype} {array.shape} ".encode())
        text.update(np.ascontiguousarray(array).tobytes())
    return text.hexdigest()


if __name__ == "__main__":
    random.seed(11)
    np.random.seed(11)  # noqa: NPY002 - nobody may read it
    torch.manual_seed(11)
    where = Path(sys.argv[1])
    sys.path.insert(0, str(where))  # what models are made of
    (where / "found.json").write_text(json.dumps(everything(where)), encoding="utf-8")
