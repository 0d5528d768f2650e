"""GradNorm against gradients that torch takes, instance by instance."""

from __future__ import annotations

import copy
import dataclasses
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch import nn
from torch.nn import functional as F

from farm.errors import ParameterError, RequirementError
from farm.testing.fakes import FakeClassifier
from monitors.gradnorm import GradNorm
from tests.wording import refused

TEMPERATURES = [0.5, 1.0, 1000.0]
FEATURES = arrays(np.float32, (5, 6), elements=st.floats(-100, 100, width=32))


def divergence(logits: torch.Tensor, temperature: float) -> torch.Tensor:
    """From the uniform distribution to the softmax, of one instance."""
    uniform = torch.full_like(logits, 1 / logits.shape[1])
    return F.kl_div(torch.log_softmax(logits / temperature, dim=1), uniform, reduction="sum")


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_it_is_the_gradient_that_torch_takes_of_a_head(temperature) -> None:
    random = torch.Generator().manual_seed(3)
    head = nn.Linear(7, 4).double()
    with torch.no_grad():
        for values in head.parameters():
            values.copy_(torch.randn(values.shape, generator=random))
    features = torch.randn(20, 7, generator=random, dtype=torch.float64)
    expected = []
    for row in features:
        loss = divergence(head(row[None]), temperature)
        (gradient,) = torch.autograd.grad(loss, [head.weight])
        expected.append(-float(gradient.abs().sum()))
    scores = GradNorm(temperature=temperature).of(features.numpy(), head(features).detach().numpy())
    np.testing.assert_allclose(scores, expected, rtol=1e-10)


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_it_is_the_gradient_that_torch_takes_of_a_whole_network(small, fitted, temperature) -> None:
    twin = copy.deepcopy(small.classifier)
    module = twin._module.double()
    last = [part for part in module.modules() if isinstance(part, nn.Linear)][-1]
    last.weight.requires_grad_()
    expected = []
    for image in small.test.images[:25]:
        loss = divergence(twin.differentiable(torch.tensor(image[None]).double()), temperature)
        (gradient,) = torch.autograd.grad(loss, [last.weight])
        expected.append(-float(gradient.abs().sum()))
    scores = fitted(GradNorm(temperature=temperature)).score(small.test)[:25]
    np.testing.assert_allclose(scores, expected, rtol=2e-4)  # the classifier itself is in single precision


def test_an_example_worked_by_hand() -> None:
    features, logits = np.array([[1.0, -2.0]]), np.array([[math.log(9.0), 0.0]])
    # Softmax 0.9 and 0.1, each 0.4 from a half, times 3.
    np.testing.assert_allclose(GradNorm().of(features, logits), [-2.4])
    # At temperature 2 the odds are 3: 0.75 and 0.25, each 0.25 from a half, halved, times 3.
    np.testing.assert_allclose(GradNorm(temperature=2.0).of(features, logits), [-0.75])


def test_no_gradient_where_the_prediction_is_uniform_or_the_features_are_0() -> None:
    """The bias would have one at features of 0: it is left out."""
    assert GradNorm().of(np.array([[5.0, 5.0]]), np.array([[2.0, 2.0]])).tolist() == [0.0]
    assert GradNorm().of(np.array([[0.0, 0.0]]), np.array([[9.0, 2.0]])).tolist() == [0.0]


@given(FEATURES, arrays(np.float64, (5, 4), elements=st.floats(-1e3, 1e3)), st.sampled_from(TEMPERATURES))
def test_a_score_depends_on_neither_its_batch_nor_a_shift_of_the_logits(
    features, logits, temperature
) -> None:
    monitor = GradNorm(temperature=temperature)
    whole = monitor.of(features, logits)
    singly = [monitor.of(features[i : i + 1], logits[i : i + 1])[0] for i in range(5)]
    np.testing.assert_allclose(singly, whole, rtol=1e-12)
    np.testing.assert_allclose(monitor.of(features, logits + 7.0), whole, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(monitor.of(2 * features, logits), 2 * whole, rtol=1e-12)
    assert (whole <= 0).all()


@pytest.mark.parametrize("value", [0.0, 1e20, 3.4e38, -3.4e38, 1e-40])
def test_huge_features_and_logits_give_finite_scores(small, fitted, value) -> None:
    there = small.test.activations["last-hidden"]
    for logits in (small.test.logits, np.full_like(small.test.logits, value)):
        activations = {"last-hidden": np.full_like(there, value)}
        seen = dataclasses.replace(small.test, activations=activations, logits=logits)
        assert np.isfinite(fitted(GradNorm()).score(seen)).all()


def test_it_needs_what_enters_and_what_leaves_the_last_layer(small) -> None:
    needs = GradNorm().needs
    assert (needs.layers, needs.logits, needs.head) == (("last-hidden",), True, True)
    assert not needs.gradients  # the closed form takes none
    rows = {"last-hidden": lambda images: images.reshape(len(images), -1)}
    blind = FakeClassifier(lambda images: np.full((len(images), 2), 0.5), ("a", "b"), layers=rows)
    with refused(RequirementError):
        GradNorm().fit(small.material, blind)


def test_without_a_linear_last_layer_the_closed_form_does_not_hold_and_it_refuses(small) -> None:
    rows = {"last-hidden": lambda images: images.reshape(len(images), -1)}
    headless = FakeClassifier(
        lambda images: np.full((len(images), 2), 0.5),
        ("a", "b"),
        layers=rows,
        logits=lambda images: np.zeros((len(images), 2)),
    )
    with refused(RequirementError):
        GradNorm().fit(small.material, headless)


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan"), "1"])
def test_a_temperature_is_above_0(temperature) -> None:
    with refused(ParameterError):
        GradNorm(temperature=temperature)
