"""Rules that every registered monitor keeps; the list is the registry's own."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from farm import registry
from farm.api import CalibrationRule, Observation
from farm.cache import DiskCache

NAMES = sorted(registry.entries("monitor"))


def part(observation: Observation, rows: slice) -> Observation:
    values = {f.name: getattr(observation, f.name) for f in dataclasses.fields(observation)}
    cut = {k: v[rows] for k, v in values.items() if isinstance(v, np.ndarray)}
    layers = {layer: v[rows] for layer, v in observation.activations.items()}
    return Observation(**(values | cut | {"activations": layers}))


@pytest.fixture(scope="module", params=NAMES)
def monitor(request, fitted):
    return fitted(registry.monitor(request.param))


def test_scores_are_one_finite_number_an_instance(small, monitor) -> None:
    scores = monitor.score(small.test)
    assert scores.shape == (len(small.test),)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()


def test_scoring_twice_gives_the_same(small, monitor) -> None:
    np.testing.assert_array_equal(monitor.score(small.test), monitor.score(small.test))


def test_fitting_twice_gives_the_same_state(fitted, monitor) -> None:
    again = fitted(registry.monitor(monitor.name))
    assert again.state.keys() == monitor.state.keys()
    for name, values in monitor.state.items():
        np.testing.assert_array_equal(again.state[name], values)


def test_scores_do_not_depend_on_the_batch_beyond_the_last_bits(small, monitor) -> None:
    whole = monitor.score(small.test)[:30]
    singly = np.concatenate([monitor.score(part(small.test, slice(i, i + 1))) for i in range(30)])
    np.testing.assert_allclose(singly, whole, rtol=1e-4, atol=1e-4)


def test_an_empty_batch_gives_no_scores(small, monitor) -> None:
    assert monitor.score(part(small.test, slice(0, 0))).shape == (0,)


def test_constant_and_huge_images_give_finite_scores(small, monitor) -> None:
    layers = tuple(small.test.activations)
    for value in (0.0, 1.0, 1e20):
        images = np.full((3, 1, 16, 16), value, np.float32)
        seen = small.classifier.observe(np.minimum(images, 1.0), layers)
        if value > 1:
            activations = {k: np.full_like(v, value) for k, v in seen.activations.items()}
            seen = dataclasses.replace(seen, activations=activations)
        assert np.isfinite(monitor.score(seen)).all()


def test_state_survives_the_disk_to_the_same_scores(small, monitor, tmp_path) -> None:
    cache = DiskCache(tmp_path)
    cache.arrays("monitor", {"name": monitor.name}, lambda: monitor.state)
    kept = cache.arrays("monitor", {"name": monitor.name}, dict)
    restored = registry.monitor(monitor.name).restore(kept, small.classifier)
    np.testing.assert_array_equal(restored.score(small.test), monitor.score(small.test))
    assert restored.nbytes == monitor.nbytes


def test_a_monitor_leaves_the_classifier_and_the_observation_alone(small, monitor) -> None:
    before = small.classifier.digest
    images = small.test.images.copy()
    features = small.test.features("last-hidden").copy()
    monitor.score(small.test)
    assert small.classifier.digest == before
    np.testing.assert_array_equal(small.test.images, images)
    np.testing.assert_array_equal(small.test.features("last-hidden"), features)


def test_calibration_accepts_what_was_asked_of_validation_data(small, monitor) -> None:
    calibration = monitor.calibrate(small.material.validation, CalibrationRule(accept=0.9), 10)
    if monitor.fixed_threshold is None:
        assert calibration.validation_acceptance >= 0.9
        assert calibration.asked_acceptance == 0.9
    else:
        assert calibration.threshold == monitor.fixed_threshold
