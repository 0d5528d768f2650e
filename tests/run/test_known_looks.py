"""Novel classes that the classifier takes for one known class."""

from __future__ import annotations

import numpy as np
import pytest

from farm.api import ArrayImages, FaultTargets, FunctionClassifier, Split
from farm.run.known_looks import known_looks

TAKEN_FOR = {
    0: [2] * 8 + [0, 1],  # four fifths
    1: [2] * 79 + [0] * 21,  # a little less
    2: [1] * 3,
    3: [0] * 5,  # shared, so not novel
    -1: [0] * 4,  # nobody told its class
}


@pytest.mark.parametrize("step", [1, -1])
def test_classes_of_which_four_fifths_are_taken_for_one_known_class_are_found(step):
    labels = np.repeat([*TAKEN_FOR], [len(seen) for seen in TAKEN_FOR.values()])[::step]
    taken_for = np.concatenate([*TAKEN_FOR.values()])[::step]
    images = np.broadcast_to((taken_for / 2).astype(np.float32)[:, None, None, None], (len(labels), 1, 2, 2))
    ids = np.arange(len(labels)).astype(str)
    split = Split("test", ArrayImages(np.ascontiguousarray(images)), labels, ids, ids)
    novel = np.where(labels == 3, 0, -1)
    targets = FaultTargets(split, "theirs", np.arange(len(labels)), novel, np.full(len(labels), "novelty"))
    classifier = FunctionClassifier(
        lambda batch: np.eye(3)[np.rint(2 * batch[:, 0, 0, 0]).astype(int)], ("a", "b", "c")
    )
    found = [
        (look.novel, look.known, look.share, look.rows.tolist()) for look in known_looks(targets, classifier)
    ]
    rows = {label: np.flatnonzero(labels == label).tolist() for label in (0, 2)}
    assert found == [(2, 1, 1.0, rows[2]), (0, 2, 0.8, rows[0])]
