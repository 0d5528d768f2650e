"""Rules that every registered faultload keeps; the list is the registry's own."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farm import registry
from farm.api import CATEGORIES, Context, FaultContext, Transformation
from farm.errors import ParameterError, UserError
from farm.testbed import Testbed

SIGNS = {"name": "signs", "train_groups": 2, "validation_groups": 1, "test_groups": 1, "views": 2}
DIGITS = {"name": "digits", "size": 32, "channels": 3}
NEEDED = {
    "novelty": {"workload": DIGITS},
    "compose": {"faults": ["gaussian-noise", {"name": "pixel-trap", "severity": 1}]},
    "square-attack": {"queries": 20},
}
NAMES = sorted(registry.entries("faultload"))
ATTACKS = {"fgsm", "pgd", "deepfool", "square-attack"}
NOT_MONOTONE = {
    "spatter": "water brightens and mud darkens: levels 4 and 5 are another substance",
    "elastic-transform": "its published levels trade reach for smoothness",
    "glass-blur": "its published levels trade reach, repetitions and blur",
    "frost": "its published levels weigh picture against frost",
    "snow": "its published levels change flakes and blur together",
    "saturate": "its first two published levels take colour away, the others add some",
}


@pytest.fixture(scope="module")
def context() -> FaultContext:
    bed = Testbed(seed=0)
    workload = bed.workload(SIGNS)
    classifier = bed.classifier({"name": "lenet", "epochs": 1}, workload)
    return FaultContext(workload, workload.test, classifier, bed.workload, bed.context)


def make(name: str):
    return registry.faultload(name, **NEEDED.get(name, {}))


@pytest.fixture(scope="module", params=NAMES)
def prepared(request, context):
    faultload = make(request.param)
    return faultload, faultload.prepare(context)


def apply(faultload, targets, rows, severity=None):
    levels = faultload.severities
    level = (levels[-1] if levels else np.nan) if severity is None else severity
    indices = targets.indices[rows]
    images = targets.split.images.read(indices)
    labels = targets.labels[rows]
    faulted = faultload.apply(images, labels, targets.split.ids[indices], np.full(len(rows), float(level)))
    return images, faulted


ROWS = np.arange(0, 48, 2)


def test_its_class_says_what_it_is(prepared):
    faultload, _ = prepared
    assert faultload.category in CATEGORIES
    assert list(faultload.severities) == sorted(faultload.severities)
    assert faultload.__doc__
    json.dumps(faultload.parameters)


def test_targets_are_in_the_split_with_labels_and_categories(prepared, context):
    _, targets = prepared
    assert len(targets.indices) == len(targets.labels) == len(targets.category)
    assert set(targets.category) <= set(CATEGORIES)
    assert targets.labels.min() >= -1
    assert targets.labels.max() < len(context.workload.classes)
    json.dumps(dict(targets.notes))


def test_images_keep_shape_dtype_and_range_and_something_changes(prepared):
    faultload, targets = prepared
    before, faulted = apply(faultload, targets, ROWS)
    assert faulted.images.dtype == np.float32
    assert faulted.images.shape == before.shape
    assert faulted.images.min() >= 0
    assert faulted.images.max() <= 1
    if faultload.name != "novelty":  # its fault is where images come from
        assert np.abs(faulted.images - before).mean() > 1e-4


def test_the_images_it_is_given_stay_as_they_are(prepared):
    faultload, targets = prepared
    indices = targets.indices[ROWS]
    images = targets.split.images.read(indices)
    kept = images.copy()
    level = float(faultload.severities[-1]) if faultload.severities else np.nan
    faultload.apply(images, targets.labels[ROWS], targets.split.ids[indices], np.full(len(ROWS), level))
    np.testing.assert_array_equal(images, kept)


def test_the_same_bits_again_and_from_a_new_object(prepared, context):
    faultload, targets = prepared
    _, first = apply(faultload, targets, ROWS)
    other = make(faultload.name)
    _, again = apply(other, other.prepare(context), ROWS)
    np.testing.assert_array_equal(first.images, again.images)


@pytest.mark.parametrize("size", [1, 7])
def test_an_instance_gets_the_same_whatever_else_is_in_its_batch(prepared, size):
    faultload, targets = prepared
    _, whole = apply(faultload, targets, ROWS)
    parts = [apply(faultload, targets, ROWS[i : i + size])[1].images for i in range(0, len(ROWS), size)]
    found = np.concatenate(parts)
    if faultload.uses_classifier:
        # Gradients are sums whose last bits depend on the batch, and a sign turns a bit into a step.
        assert (np.abs(found - whole.images) > 1e-4).mean() < 0.02
    else:
        np.testing.assert_array_equal(found, whole.images)


def test_the_seed_matters_where_there_is_chance(prepared, context):
    faultload, targets = prepared
    if not isinstance(faultload, Transformation):
        return
    other = make(faultload.name)
    seeded = Context(seed=99)
    other.prepare(
        FaultContext(context.workload, context.split, context.classifier, context.load_workload, seeded)
    )
    _, first = apply(faultload, targets, ROWS)
    _, second = apply(other, targets, ROWS)
    random = type(faultload)._transform.__code__.co_names
    if {"normal", "uniform", "integers", "bits"} & set(random):
        assert not np.array_equal(first.images, second.images)


def test_severity_zero_changes_nothing(prepared):
    faultload, targets = prepared
    if not faultload.severities:
        return
    before, faulted = apply(faultload, targets, ROWS, severity=0)
    np.testing.assert_array_equal(faulted.images, before)


def test_a_higher_severity_changes_more(prepared):
    faultload, targets = prepared
    if len(faultload.severities) < 2 or faultload.name in NOT_MONOTONE:
        return
    changes = []
    for level in faultload.severities:
        before, faulted = apply(faultload, targets, ROWS, severity=level)
        changes.append(float(np.abs(faulted.images - before).mean()))
    assert changes == sorted(changes), changes
    assert changes[-1] > changes[0]


def test_every_exception_to_monotony_is_still_there():
    assert set(NOT_MONOTONE) <= set(NAMES)


def test_severities_may_differ_within_a_batch(prepared):
    faultload, targets = prepared
    if not faultload.severities or faultload.uses_classifier:
        return
    rows = ROWS[:4]
    indices = targets.indices[rows]
    images, ids = targets.split.images.read(indices), targets.split.ids[indices]
    highest = float(faultload.severities[-1])
    levels = np.array([0.0, 1.0, highest, 0.5])
    mixed = faultload.apply(images, targets.labels[rows], ids, levels).images
    for i, level in enumerate(levels):
        alone = faultload.apply(
            images[i : i + 1], targets.labels[rows][i : i + 1], ids[i : i + 1], levels[i : i + 1]
        )
        np.testing.assert_array_equal(mixed[i], alone.images[0], err_msg=f"severity {level}")


def test_a_severity_out_of_range_is_told(prepared):
    faultload, _ = prepared
    for wrong in (-1, 6, float("nan")):
        with pytest.raises(ParameterError, match=f"faultload '{faultload.name}'"):
            faultload.check_severity(wrong)


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from([(3, 32, 32), (3, 20, 29), (3, 48, 40)]))
@pytest.mark.parametrize("name", [n for n in NAMES if n not in ATTACKS | {"novelty", "compose"}])
def test_any_image_of_any_size_stays_an_image(name, seed, shape):
    """Noise, black, white and bright images; sizes that are no square."""
    rng = np.random.default_rng(seed)
    images = np.stack([rng.random(shape), np.zeros(shape), np.ones(shape)]).astype(np.float32)
    faultload = make(name)
    if not isinstance(faultload, Transformation):
        return  # such a one needs the instances of a split
    level = rng.uniform(0.1, faultload.severities[-1]) if faultload.severities else np.nan
    ids = np.array(["a", "b", "c"])
    try:
        faulted = faultload.apply(images, np.zeros(3, np.int64), ids, np.full(3, level)).images
    except UserError:
        return  # refused by name
    assert faulted.shape == images.shape
    assert np.isfinite(faulted).all()
    assert faulted.min() >= 0
    assert faulted.max() <= 1
