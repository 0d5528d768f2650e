"""ReAct, DICE, ASH-S and SCALE against plain transcriptions of their definitions."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.metrics import roc_auc_score

from farm.api import collect
from farm.errors import ParameterError, RequirementError
from farm.testing.fakes import FakeClassifier
from monitors.scaling import Ash, Scale
from monitors.shaping import Dice, React
from tests.wording import refused

ALL = [(React, "quantile"), (Ash, "quantile"), (Scale, "quantile"), (Dice, "sparsity")]


@pytest.fixture(scope="module")
def noise(small):
    pixels = np.random.default_rng(0).random((200, 1, 16, 16), dtype=np.float32)
    return small.classifier.observe(pixels, tuple(small.test.activations))


def energy(small, rows) -> np.ndarray:
    weights, bias = (values.astype(np.float64) for values in small.classifier.head)
    return -logsumexp(np.asarray(rows, dtype=np.float64) @ weights.T + bias, axis=1)


def test_react_clips_at_the_quantile_of_training_activations(small, fitted) -> None:
    values = np.sort(collect(small.material, "last-hidden").features.ravel())
    monitor = fitted(React(quantile=0.8))
    clip = float(monitor.state["clip"])
    assert (values <= clip).mean() == pytest.approx(0.8, abs=1e-4)
    rows = [[min(v, clip) for v in row] for row in small.test.features("last-hidden").tolist()]
    np.testing.assert_allclose(monitor.score(small.test), energy(small, rows), rtol=1e-9)


def test_react_without_a_clip_is_the_energy_of_the_logits(small, fitted) -> None:
    train = next(iter(small.material)).observation
    expected = -logsumexp(train.logits.astype(np.float64), axis=1)
    np.testing.assert_allclose(fitted(React(quantile=1.0)).score(train), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("quantile", [0.5, 0.85])
def test_ash_and_scale_are_their_published_formulas(small, fitted, quantile) -> None:
    ash, scale = [], []
    for row in small.test.features("last-hidden").astype(np.float64).tolist():
        stay = len(row) - round(len(row) * quantile)
        bound = sorted(row, reverse=True)[stay - 1]
        kept = [v if v >= bound else 0.0 for v in row]
        factor = np.exp(sum(row) / sum(kept))
        ash.append([v * factor for v in kept])
        scale.append([v * factor for v in row])
    for make, rows in ((Ash, ash), (Scale, scale)):
        score = fitted(make(quantile=quantile)).score(small.test)
        np.testing.assert_allclose(score, energy(small, rows), rtol=1e-9)


@pytest.mark.parametrize("sparsity", [0.3, 0.9])
def test_dice_keeps_the_weights_that_contribute_most(small, fitted, sparsity) -> None:
    weights, bias = (values.astype(np.float64) for values in small.classifier.head)
    mean = collect(small.material, "last-hidden").features.astype(np.float64).mean(axis=0)
    contribution = np.array([[w * m for w, m in zip(row, mean, strict=True)] for row in weights])
    order = np.argsort(contribution.ravel())
    thin = weights.copy().ravel()
    thin[order[: int(np.ceil(sparsity * (len(order) - 1)))]] = 0
    # Neurons that never fire tie at 0, and their weights meet activations of 0.
    logits = small.test.features("last-hidden") @ thin.reshape(weights.shape).T + bias
    expected = -logsumexp(logits, axis=1)
    score = fitted(Dice(sparsity=sparsity)).score(small.test)
    np.testing.assert_allclose(score, expected, rtol=1e-5, atol=1e-5)
    kept = fitted(Dice(sparsity=sparsity)).state["kept"].mean()
    assert kept <= 1 - sparsity + 1e-3


@pytest.mark.parametrize("make", [Ash, Scale])
def test_activations_of_zero_give_the_energy_of_the_bias(small, fitted, make) -> None:
    dead = np.zeros_like(small.test.features("last-hidden"))
    seen = dataclasses.replace(small.test, activations={"last-hidden": dead})
    bias = small.classifier.head.bias.astype(np.float64)
    np.testing.assert_allclose(fitted(make()).score(seen), -logsumexp(bias))


@pytest.mark.parametrize(("make", "parameter"), ALL)
@pytest.mark.parametrize("value", [0, 1])
def test_the_extremes_of_each_parameter_give_finite_scores(small, fitted, make, parameter, value) -> None:
    monitor = fitted(make(**{parameter: value}))
    assert np.isfinite(monitor.score(small.test)).all()
    signed = np.random.default_rng(0).normal(size=(len(small.test), 128)).astype(np.float32)
    seen = dataclasses.replace(small.test, activations={"last-hidden": signed})
    assert np.isfinite(monitor.score(seen)).all()


@pytest.mark.parametrize(("make", "parameter"), ALL)
def test_each_parameter_changes_the_scores(small, fitted, make, parameter) -> None:
    usual, other = fitted(make()).score(small.test), fitted(make(**{parameter: 0.6})).score(small.test)
    assert not np.allclose(usual, other)


@pytest.mark.parametrize(("make", "parameter"), ALL)
def test_parameters_out_of_range_are_refused(make, parameter) -> None:
    with refused(ParameterError):
        make(**{parameter: 65})


@pytest.mark.parametrize(("make", "parameter"), ALL)
def test_a_classifier_that_hides_its_head_is_refused(small, make, parameter) -> None:
    closed = FakeClassifier(
        lambda images: np.full((len(images), 2), 0.5),
        ("a", "b"),
        layers={"last-hidden": lambda x: x[:, 0, 0]},
    )
    with refused(RequirementError):
        make().fit(small.material, closed)


# Of 128 neurons ASH's usual 0.9 leaves 13, too few to tell noise on so small a network; 0.65 leaves 45.
@pytest.mark.parametrize("made", [React(), Ash(quantile=0.65), Scale(), Dice()], ids=repr)
def test_noise_is_more_anomalous_than_test_data(small, noise, fitted, made) -> None:
    monitor = fitted(made)
    near, far = monitor.score(small.test), monitor.score(noise)
    assert far.mean() > near.mean()
    assert roc_auc_score([0] * len(near) + [1] * len(far), np.append(near, far)) > 0.5
