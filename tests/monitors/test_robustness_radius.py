"""The input-robustness radius against distances known by hand and by an independent transcription."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch import Tensor, nn

from farm.api import Classifier
from farm.errors import ParameterError, RequirementError
from farm.testing.fakes import FakeClassifier
from models.torch_classifier import TorchClassifier
from monitors.robustness_radius import RobustnessRadius
from tests.wording import refused

NORMS = ["linf", "l2"]
SMALL_WEIGHTS = arrays(np.float32, (4, 3), elements=st.integers(-5, 5).map(float))
PIXELS = arrays(np.float32, (6, 1, 1, 3), elements=st.floats(0, 1, width=32))


class Formula(nn.Module):
    """Logits by a formula over the single pixel of an image."""

    def __init__(self, *logits: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.logits = logits

    def forward(self, images: Tensor) -> Tensor:
        return torch.stack([logit(images.flatten(1)[:, 0]) for logit in self.logits], dim=1)


def watched(module: nn.Module, n_classes: int) -> Classifier:
    return TorchClassifier(module, [f"class-{i}" for i in range(n_classes)], name="tiny")


def linear(weights: object, bias: object | None = None) -> Classifier:
    rows = torch.as_tensor(np.asarray(weights, np.float32))
    module = nn.Linear(rows.shape[1], rows.shape[0])
    with torch.no_grad():
        module.weight.copy_(rows)
        module.bias.copy_(torch.as_tensor(np.zeros(len(rows)) if bias is None else np.asarray(bias)))
    return watched(nn.Sequential(nn.Flatten(), module), len(rows))


def radii(classifier: Classifier, pixels: object, **parameters: object) -> np.ndarray:
    """One image a row of pixels."""
    images = np.asarray(pixels, np.float32)
    images = images.reshape(len(images), 1, 1, -1)
    return -RobustnessRadius(**parameters).restore({}, classifier).score(classifier.observe(images))


def lead(classifier: Classifier, images: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        logits = classifier.differentiable(torch.tensor(images, dtype=torch.float32)).double().numpy()
    own = logits[np.arange(len(logits)), predicted]
    logits[np.arange(len(logits)), predicted] = -np.inf
    return own - logits.max(axis=1)


def nearest_boundary(classifier: Classifier, image: np.ndarray, norm: str) -> tuple[float, np.ndarray]:
    """Linearise one image, class by class, and give the least distance with its direction."""
    jacobian = torch.autograd.functional.jacobian(
        lambda x: classifier.differentiable(x)[0], torch.tensor(image[None])
    )
    slopes = jacobian.double().numpy().reshape(len(classifier.classes), -1)
    with torch.no_grad():
        logits = classifier.differentiable(torch.tensor(image[None]))[0].double().numpy()
    top = int(logits.argmax())
    found = []
    for k in range(len(logits)):
        if k != top:
            w = slopes[top] - slopes[k]
            size = np.abs(w).sum() if norm == "linf" else np.sqrt(w @ w)
            way = -np.sign(w) if norm == "linf" else -w / size
            found.append(((logits[top] - logits[k]) / size, way))
    distance, way = min(found, key=lambda pair: pair[0])
    return float(distance), way.reshape(image.shape)


# Distances known by hand --------------------------------------------------------------------------------

# Logits 3, 2 and -0.5. The boundary to class 1 has the normal (3, -4) and lies 1 away in logits, the one to
# class 2 has (4, -1) and lies 3.5 away.
THREE = [[3, 0], [0, 4], [-1, 1]]


@pytest.mark.parametrize("steps", [0, 1, 4, 9])
@pytest.mark.parametrize(("norm", "expected"), [("l2", 1 / 5), ("linf", 1 / 7)])
def test_the_radius_of_a_linear_classifier_is_exact(norm, expected, steps) -> None:
    found = radii(linear(THREE), [[1.0, 0.5]], norm=norm, steps=steps)
    np.testing.assert_allclose(found, [expected], rtol=1e-6)


def test_the_score_is_the_radius_negated() -> None:
    seen = (tiny := linear(THREE)).observe(np.array([1.0, 0.5], np.float32).reshape(1, 1, 1, 2))
    score = RobustnessRadius(norm="l2").restore({}, tiny).score(seen)
    np.testing.assert_allclose(score, [-0.2], rtol=1e-6)


# Logits 2, 1.5 and 1. The runner-up's boundary has the normal (0.5, 0) and is 1 away; that of the third has
# (3, -2) and is 1 / sqrt(13) away.
NEARER_THIRD = [[2, 0], [1.5, 0], [-1, 2]]


def test_the_likeliest_rival_need_not_have_the_nearest_boundary() -> None:
    one, two = (radii(linear(NEARER_THIRD), [[1, 1]], norm="l2", rivals=r, steps=0) for r in (1, 2))
    np.testing.assert_allclose([one[0], two[0]], [1.0, 1 / np.sqrt(13)], rtol=1e-6)


def test_on_the_way_any_class_counts_as_another_prediction() -> None:
    """Towards the runner-up, along (-1, 0), the third class overtakes at 2 - 2 t = 1 + t."""
    found = radii(linear(NEARER_THIRD), [[1, 1]], norm="l2", rivals=1, steps=3)
    np.testing.assert_allclose(found, [1 / 3], rtol=1e-6)


def test_more_rivals_than_classes_are_all_of_them() -> None:
    three = linear(NEARER_THIRD)
    assert radii(three, [[1, 1]], rivals=2) == radii(three, [[1, 1]], rivals=50)


def test_trying_shortens_a_way_that_the_linear_estimate_has_too_long() -> None:
    """2 - x^2 falls to 0 at the root of 2, but its tangent at 0.5 gets there 1.75 later."""
    bent = watched(Formula(lambda x: 2 - x**2, lambda x: 0 * x), 2)
    found = {steps: radii(bent, [[0.5]], steps=steps, largest=4.0)[0] for steps in (0, 4, 25)}
    assert found[0] == pytest.approx(1.75)
    assert found[4] == pytest.approx(np.sqrt(2) - 0.5, rel=1e-2)
    assert found[25] == pytest.approx(np.sqrt(2) - 0.5, rel=1e-5)


def test_trying_lengthens_a_way_that_the_linear_estimate_has_too_short() -> None:
    """1.2 tanh(x) reaches 1 later than its tangent at 0 does."""
    bent = watched(Formula(lambda x: 1 + 0 * x, lambda x: 1.2 * torch.tanh(x)), 2)
    found = {steps: radii(bent, [[0.0]], steps=steps, largest=4.0)[0] for steps in (0, 1, 4, 25)}
    assert found[0] == pytest.approx(1 / 1.2)
    assert found[1] == pytest.approx(1 / 1.2)  # it held there, and that is the farthest point tried
    assert found[4] == pytest.approx(np.arctanh(1 / 1.2), rel=2e-2)
    assert found[25] == pytest.approx(np.arctanh(1 / 1.2), rel=1e-5)


def test_where_no_change_is_found_the_farthest_point_tried_counts() -> None:
    never = watched(Formula(lambda x: 1 + 0 * x, lambda x: 0.5 * torch.tanh(x)), 2)
    found = [radii(never, [[0.0]], steps=steps, largest=10.0)[0] for steps in range(6)]
    np.testing.assert_allclose(found, [2, 2, 4, 8, 10, 10], rtol=1e-6)


# Edges --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [0, 4])
@pytest.mark.parametrize(
    ("parameters", "expected"),
    [({"norm": "linf"}, 1.0), ({"norm": "l2"}, 2.0), ({"largest": 7.0}, 7.0), ({"largest": 0.5}, 0.5)],
)
def test_without_a_slope_the_radius_is_the_largest(parameters, expected, steps) -> None:
    flat = linear(np.zeros((3, 4)), bias=[0.0, 2.0, 1.0])
    found = radii(flat, [[0.1, 0.2, 0.3, 0.4], [0, 0, 0, 0]], steps=steps, **parameters)
    assert found.tolist() == [expected] * 2


@pytest.mark.parametrize("steps", [0, 4])
def test_no_radius_is_above_the_largest(steps) -> None:
    assert radii(linear([[1.0], [0.0]]), [[0.9]], steps=steps).tolist() == [pytest.approx(0.9)]
    assert radii(linear([[1.0], [0.0]]), [[0.9]], steps=steps, largest=0.25).tolist() == [0.25]


@pytest.mark.parametrize("steps", [0, 4])
@pytest.mark.parametrize("weights", [[[0.0], [0.0]], [[1.0], [1.0]], [[1.0], [-1.0]]])
def test_a_tie_is_on_the_boundary(weights, steps) -> None:
    assert radii(linear(weights), [[0.0]], steps=steps).tolist() == [0.0]


@pytest.mark.parametrize("steps", [0, 4])
def test_a_classifier_of_one_class_has_no_boundary(steps) -> None:
    assert radii(linear([[1.0, 2.0]]), [[0.5, 0.5]], steps=steps).tolist() == [1.0]


@pytest.mark.parametrize("value", [0.0, 1.0, 1e20, 1e30])
@pytest.mark.parametrize("norm", NORMS)
def test_constant_and_huge_images_give_finite_scores(small, norm, value) -> None:
    seen = small.classifier.observe(np.full((2, 1, 16, 16), value, np.float32))
    monitor = RobustnessRadius(norm=norm).restore({}, small.classifier)
    assert np.isfinite(monitor.score(seen)).all()


def test_an_empty_batch_gives_an_empty_array(small) -> None:
    seen = small.classifier.observe(np.zeros((0, 1, 16, 16), np.float32))
    assert RobustnessRadius().restore({}, small.classifier).score(seen).shape == (0,)


# A trained network --------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", NORMS)
def test_the_estimate_equals_a_transcription(small, fitted, norm) -> None:
    expected = [-nearest_boundary(small.classifier, image, norm)[0] for image in small.test.images[:30]]
    score = fitted(RobustnessRadius(norm=norm, rivals=9, steps=0)).score(small.test)[:30]
    np.testing.assert_allclose(score, expected, rtol=1e-4)


@pytest.mark.parametrize("norm", NORMS)
def test_the_prediction_changes_at_the_radius(small, fitted, norm) -> None:
    images, predicted = small.test.images[:30], small.test.predicted[:30]
    ways = np.stack([nearest_boundary(small.classifier, image, norm)[1] for image in images])
    found = -fitted(RobustnessRadius(norm=norm, rivals=9, steps=12)).score(small.test)[:30]
    for share, holds in ((0.99, True), (1.01, False)):
        there = images + (share * found).reshape(-1, 1, 1, 1) * ways
        assert ((lead(small.classifier, there, predicted) > 0) == holds).all()


def test_few_steps_are_close_to_many(small, fitted) -> None:
    few, many = (fitted(RobustnessRadius(steps=s)).score(small.test) for s in (4, 20))
    assert np.quantile(np.abs(few / many - 1), 0.99) < 0.02


@pytest.mark.parametrize("norm", NORMS)
def test_what_is_misclassified_is_nearer_to_a_boundary(small, fitted, norm) -> None:
    """The observation that the published method rests on."""
    wrong = small.test.predicted != small.workload.test.labels
    score = fitted(RobustnessRadius(norm=norm)).score(small.test)
    assert np.median(-score[wrong]) < 0.5 * np.median(-score[~wrong])


@pytest.mark.parametrize("changed", [{"norm": "l2"}, {"rivals": 1}, {"steps": 0}, {"largest": 0.01}])
def test_every_parameter_changes_something(small, fitted, changed) -> None:
    plain, other = (fitted(RobustnessRadius(**p)).score(small.test) for p in ({}, changed))
    assert (plain != other).any()


@pytest.mark.parametrize("norm", NORMS)
def test_a_score_does_not_depend_on_its_batch(small, norm) -> None:
    """Nor on gradients being off where it is called."""
    monitor = RobustnessRadius(norm=norm).restore({}, small.classifier)
    images = small.test.images[:40]
    with torch.no_grad():
        singly = [monitor.score(small.classifier.observe(image[None]))[0] for image in images]
    np.testing.assert_allclose(monitor.score(small.classifier.observe(images)), singly, rtol=1e-4)


def test_it_leaves_the_classifier_and_the_images_as_they_were(small, fitted) -> None:
    before, images = small.classifier.digest, small.test.images.copy()
    fitted(RobustnessRadius()).score(small.test)
    module = small.classifier._module
    assert small.classifier.digest == before
    assert not module.training
    assert all(p.grad is None and not p.requires_grad for p in module.parameters())
    np.testing.assert_array_equal(small.test.images, images)


# Any linear classifier ----------------------------------------------------------------------------------


@given(SMALL_WEIGHTS, PIXELS, st.sampled_from(NORMS), st.integers(0, 12))
def test_any_linear_classifier_has_the_distance_to_its_nearest_hyperplane(
    weights, images, norm, steps
) -> None:
    logits = images.reshape(6, 3).astype(np.float64) @ weights.T.astype(np.float64)
    expected = []
    for row in logits:
        top = int(row.argmax())
        sizes = [np.linalg.norm(weights[top] - w, 1 if norm == "linf" else 2) for w in weights]
        gaps = row[top] - row
        distances = [g / s for k, (g, s) in enumerate(zip(gaps, sizes, strict=True)) if k != top and s > 0]
        # Two classes with the same weights are tied wherever they lead.
        tied = any(k != top and s == 0 for k, s in enumerate(sizes))
        expected.append(0.0 if tied else min([*distances, 1.0 if norm == "linf" else np.sqrt(3)]))
    found = radii(linear(weights), images, norm=norm, steps=steps)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


# What it asks for -----------------------------------------------------------------------------------------


def test_it_needs_logits_and_gradients(small) -> None:
    needs = RobustnessRadius().needs
    assert needs.logits
    assert needs.gradients
    half = FakeClassifier(
        lambda x: np.full((len(x), 2), 0.5), ("a", "b"), logits=lambda x: np.zeros((len(x), 2))
    )
    with refused(RequirementError):
        RobustnessRadius().fit(small.material, half)


@pytest.mark.parametrize(
    "parameters",
    [
        {"norm": "l1"},
        {"rivals": 0},
        {"rivals": 1.5},
        {"steps": -1},
        {"largest": 0.0},
    ],
)
def test_a_bad_parameter_is_named(parameters) -> None:
    with refused(ParameterError):
        RobustnessRadius(**parameters)
