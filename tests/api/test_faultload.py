"""The drivers of the faultload's base class: targets, ranges, severities."""

from __future__ import annotations

import numpy as np
import pytest

from farm.api import CATEGORIES, Context, FaultContext, FaultTargets
from farm.errors import ComponentFailure, DataError, ParameterError
from farm.testing.fakes import FakeFaultload, tiny_workload
from tests.wording import refused

IMAGES = np.full((2, 3, 8, 8), 0.5, np.float32)
LABELS, IDS, NONE = np.array([0, 1]), np.array(["a", "b"]), np.full(2, np.nan)


@pytest.fixture
def context(tiny, classifier):
    return FaultContext(tiny, tiny.test, classifier, lambda spec: tiny, Context())


def targets_of(split, **changes):
    n = len(split)
    values = {"indices": np.arange(n), "labels": split.labels, "category": np.full(n, "noise")} | changes
    return FaultTargets(split=split, workload="tiny", **values)


class Choosing(FakeFaultload):
    """Acts upon the targets that a test sets."""

    def _prepare(self, context):
        return self.targets


def test_a_transformation_acts_upon_every_instance_of_its_split(context, tiny):
    targets = FakeFaultload(category="shift").prepare(context)
    assert targets.split is tiny.test
    assert targets.indices.tolist() == list(range(len(tiny.test)))
    assert targets.labels.tolist() == tiny.test.labels.tolist()
    assert set(targets.category) == {"shift"}


def test_categories_are_the_five_of_farm():
    assert CATEGORIES == ("novelty", "adversarial", "shift", "noise", "anomaly")


def test_nothing_to_act_upon_is_told_with_the_reason(context, tiny):
    faultload = Choosing(name="dust")
    empty = {"indices": np.empty(0, int), "labels": np.empty(0, int), "category": np.empty(0, str)}
    faultload.targets = targets_of(tiny.test, notes={"left_out": 9}, **empty)
    with refused(DataError):
        faultload.prepare(context)


@pytest.mark.parametrize("label", [4, -2])
def test_a_label_that_is_no_class_is_told(context, tiny, label):
    faultload = Choosing(name="dust")
    labels = tiny.test.labels.copy()
    labels[5] = label
    faultload.targets = targets_of(tiny.test, labels=labels)
    with refused(DataError):
        faultload.prepare(context)


def test_images_of_another_size_are_told(context):
    faultload = Choosing(name="dust")
    faultload.targets = targets_of(tiny_workload(size=4).test)
    with refused(DataError):
        faultload.prepare(context)


def test_a_changed_shape_is_a_failure():
    faultload = FakeFaultload(transform=lambda images: images[:, :, ::2], name="dust")
    with refused(ComponentFailure):
        faultload.apply(IMAGES, LABELS, IDS, NONE)


@pytest.mark.parametrize("factor", [3.0, -1.0, np.nan])
def test_a_pixel_out_of_range_is_a_failure_that_names_the_instance(factor):
    def spoil(images):
        changed = images.copy()
        changed[1, 0, 0, 0] *= np.float32(factor)
        return changed

    with refused(ComponentFailure):
        FakeFaultload(transform=spoil, name="dust").apply(IMAGES, LABELS, IDS, NONE)


def test_a_changed_dtype_is_a_failure():
    faultload = FakeFaultload(transform=lambda images: images.astype(float), name="dust")
    with refused(ComponentFailure):
        faultload.apply(IMAGES, LABELS, IDS, NONE)


def test_a_severity_is_checked_against_those_known():
    faultload = FakeFaultload(severities=(1, 3, 5), name="dust")
    for known in (0, 1, 2.5, 3, 5):
        assert faultload.check_severity(known) == known
    for wrong in (-1, 6, None, float("nan")):
        with refused(ParameterError):
            faultload.check_severity(wrong)


def test_a_severity_that_means_nothing_is_refused():
    faultload = FakeFaultload(name="dust")
    assert np.isnan(faultload.check_severity(None))
    with refused(ParameterError):
        faultload.check_severity(2)


def test_a_faultload_that_raises_becomes_a_failure_that_names_it():
    def fail(images):
        raise ValueError("no kernel")

    with refused(ComponentFailure):
        FakeFaultload(transform=fail, name="dust").apply(IMAGES, LABELS, IDS, NONE)


def test_labels_of_a_wrong_length_are_a_failure_that_names_it():
    class Short(FakeFaultload):
        def _apply(self, images, labels, ids, severity, keys):
            return super()._apply(images, labels[:1], ids, severity, keys)

    with refused(ComponentFailure):
        Short().apply(IMAGES, LABELS, IDS, NONE)


class Relabelling(FakeFaultload):
    """Gives the labels that a test sets."""

    def _apply(self, images, labels, ids, severity, keys):
        return super()._apply(images, self.labels, ids, severity, keys)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0.0, 1.0]),
        np.array([0, 4]),
        np.array([-2, 0]),
    ],
)
def test_labels_that_are_no_classes_are_a_failure_that_names_it(context, labels):
    faultload = Relabelling(name="dust")
    faultload.prepare(context)
    faultload.labels = labels
    with refused(ComponentFailure):
        faultload.apply(IMAGES, LABELS, IDS, NONE)


@pytest.mark.parametrize("error", [ParameterError("too strong"), ComponentFailure("no plane")])
def test_errors_of_our_own_pass_through_unchanged(error):
    def fail(images):
        raise error

    with refused(type(error)):
        FakeFaultload(transform=fail, name="dust").apply(IMAGES, LABELS, IDS, NONE)
