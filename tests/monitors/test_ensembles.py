"""Entropies of mean probabilities, by hand and against SciPy's."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import entropy

from farm.api import Needs, OwnNetwork
from farm.errors import ParameterError, RequirementError
from monitors.ensembles import DeepEnsemble, McDropout, entropy_of_mean
from tests.monitors.own_networks import WATCHED, given, images, restored_as_fitted, trained_classifier
from tests.wording import refused, same_text

TEST = WATCHED.observe(images(20, 7))


def members(n: int) -> np.ndarray:
    return softmax(np.random.default_rng(0).normal(0, 3, (n, 20, 3)), axis=2)


def test_the_entropy_of_a_mean_by_hand() -> None:
    agreed, torn = [[0.5, 0.5], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]
    half = entropy_of_mean(np.array([agreed, torn]).transpose(1, 0, 2))
    np.testing.assert_allclose(half, np.log(2))  # passes that disagree are as doubtful as one that doubts
    certain = entropy_of_mean(np.array([[[1.0, 0.0, 0.0]]]))
    assert certain.tolist() == [0.0]
    nearly = entropy_of_mean(np.array([[[1.0, 1e-30, 0.0]]]))
    np.testing.assert_allclose(nearly, 1e-30 * (1 + 30 * np.log(10)))


def test_mc_dropout_is_the_entropy_of_the_mean_of_its_passes() -> None:
    seen = dataclasses.replace(TEST, members=members(7))
    score = McDropout().restore({}, WATCHED).score(seen)
    np.testing.assert_allclose(score, entropy(members(7).mean(axis=0), axis=1), rtol=1e-12)
    same_text(McDropout().restore({}, WATCHED).explain(seen.take([0]))[0].reason)


def test_mc_dropout_takes_as_many_passes_as_it_asked_for() -> None:
    seen = dataclasses.replace(TEST, members=members(7))
    score = McDropout(passes=3).restore({}, WATCHED).score(seen)
    np.testing.assert_allclose(score, entropy(members(7)[:3].mean(axis=0), axis=1), rtol=1e-12)
    assert McDropout(passes=3).needs == Needs(members=3)


def test_mc_dropout_says_what_is_missing() -> None:
    with refused(RequirementError):
        McDropout().restore({}, WATCHED).score(TEST)
    with refused(RequirementError):
        McDropout().fit(given(), WATCHED)


def test_an_ensemble_is_the_entropy_of_the_mean_of_its_networks() -> None:
    needs = DeepEnsemble(size=3).needs.networks
    assert needs == tuple(OwnNetwork(parameters=(("loss", "adversarial"),), member=i) for i in (1, 2, 3))
    trained = {need: trained_classifier(seed) for seed, need in enumerate(needs)}
    monitor = DeepEnsemble(size=3).fit(given(trained), WATCHED)
    flat = TEST.images.reshape(20, -1)
    each = [softmax((flat @ one.state["weights"]).astype(np.float64), axis=1) for one in trained.values()]
    expected = entropy(np.mean(each, axis=0), axis=1)
    np.testing.assert_allclose(monitor.score(TEST), expected, rtol=1e-6)
    assert restored_as_fitted(monitor, DeepEnsemble(size=3), TEST)
    same_text(monitor.explain(TEST.take([0]))[0].reason)
    assert len(DeepEnsemble().needs.networks) == 5


@pytest.mark.parametrize("cls", [McDropout, DeepEnsemble])
@pytest.mark.parametrize("wrong", [1, 2.5])
def test_wrong_parameters_are_named(cls, wrong) -> None:
    (name,) = cls().parameters
    with refused(ParameterError):
        cls(**{name: wrong})
