"""Boxes of a classifier: what is none is told, and what is one goes wherever an observation goes."""

from __future__ import annotations

import numpy as np
import pytest

from farm.api import Context
from farm.errors import ComponentFailure
from farm.run.fitting import Material, ObservedSplit
from farm.testing.fake_boxes import BoxModel, BoxSource
from farm.testing.fakes import FakeClassifier, FakeMonitor
from tests.wording import refused

IMAGES = np.zeros((3, 1, 8, 8), np.float32)


def giving(**outputs):
    made = {name: lambda images, values=values: values for name, values in outputs.items()}
    return FakeClassifier(lambda images: [[1.0, 0.0]] * 3, ("a", "b"), outputs=made, name="net")


@pytest.mark.parametrize(
    "outputs",
    [
        {"box": np.zeros((3, 3))},
        {"box": np.zeros((4, 3))},
        {"box": np.zeros(12)},
        {"box": np.zeros((3, 4), np.int64)},
        {"box": np.array([[0, 0, 1, 1], [0, 0, np.nan, 1], [0, 0, 1, 1]])},
        {"box": np.full((3, 4), np.inf)},
        {"box_spread": np.ones((3, 4))},
        {"box": np.zeros((3, 4)), "box_spread": np.ones((3, 1))},
        {"box": np.zeros((3, 4)), "box_spread": np.array([[1, 1, 1, 1], [1, 1, 1, 1], [1, -0.5, 1, 1]])},
        {"box": np.zeros((3, 4)), "box_spread": np.full((3, 4), np.nan)},
    ],
)
def test_what_are_no_boxes_is_told_with_what_was_expected(outputs):
    with refused(ComponentFailure):
        giving(**outputs).observe(IMAGES)


def test_swapped_sides_and_a_spread_of_0_are_the_measures_business():
    swapped = np.tile([5.0, 5.0, 1.0, 1.0], (3, 1))
    seen = giving(box=swapped, box_spread=np.zeros((3, 4))).observe(IMAGES)
    assert np.array_equal(seen.outputs["box"], swapped)
    assert not seen.outputs["box_spread"].any()
    assert not any(values.flags.writeable for values in seen.outputs.values())


def test_other_outputs_are_nobodys_but_the_classifiers():
    assert giving(depth=np.zeros(7)).observe(IMAGES).outputs["depth"].shape == (7,)


def test_monitors_see_them_when_they_are_fitted_and_when_they_score():
    workload = BoxSource().load(Context())
    classifier = BoxModel().classifier(workload, Context())
    fitted = []

    def fit(data):
        fitted.extend(seen.outputs["box"] for seen, _ in data)
        return {}

    monitor = FakeMonitor(fit=fit, score=lambda seen: seen.outputs["box"][:, 0])
    splits = [ObservedSplit(classifier, split) for split in (workload.train, workload.validation)]
    monitor.fit(Material(workload.classes, 0, *splits), classifier)
    images = workload.train.images.read(np.arange(len(workload.train)))
    boxes = classifier.observe(images).outputs["box"]
    assert np.array_equal(np.concatenate(fitted), boxes)
    few = classifier.observe(images).take(np.array([7, 2]))
    assert np.array_equal(monitor.score(few), boxes[[7, 2], 0])
