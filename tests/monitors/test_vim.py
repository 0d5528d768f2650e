"""ViM against a transcription of its published steps."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.linalg import null_space, pinv
from scipy.special import logsumexp
from sklearn.decomposition import TruncatedSVD
from sklearn.metrics import roc_auc_score

from farm.api import Capabilities, Head, Labelled, collect
from farm.errors import ParameterError
from farm.run.fitting import Material
from farm.testing.fakes import FakeClassifier
from monitors.vim import Vim
from tests.wording import refused


@pytest.fixture(scope="module")
def noise(small):
    pixels = np.random.default_rng(0).random((200, 1, 16, 16), dtype=np.float32)
    return small.classifier.observe(pixels, tuple(small.test.activations))


def by_hand(small, dimensions: int) -> np.ndarray:
    weights, bias = (values.astype(np.float64) for values in small.classifier.head)
    origin = -pinv(weights) @ bias
    train = collect(small.material, "last-hidden").features - origin
    principal = TruncatedSVD(dimensions, algorithm="arpack").fit(train).components_
    rest = null_space(principal)
    logits = np.concatenate([o.logits for o, _ in small.material]).astype(np.float64)
    alpha = logits.max(axis=1).sum() / np.linalg.norm(train @ rest, axis=1).sum()
    virtual = alpha * np.linalg.norm((small.test.features("last-hidden") - origin) @ rest, axis=1)
    return virtual - logsumexp(small.test.logits.astype(np.float64), axis=1)


@pytest.mark.parametrize("dimensions", [1, 20, 64])
def test_the_score_is_its_published_formula(small, fitted, dimensions) -> None:
    score = fitted(Vim(dimensions=dimensions)).score(small.test)
    np.testing.assert_allclose(score, by_hand(small, dimensions), rtol=1e-5, atol=1e-5)


def test_the_logits_vanish_at_the_origin_of_the_residual(small, fitted) -> None:
    origin = fitted(Vim()).state["origin"]
    weights, bias = small.classifier.head
    np.testing.assert_allclose(weights @ origin + bias, 0, atol=1e-5)


def test_it_ranks_as_the_probability_of_the_virtual_class(small, fitted) -> None:
    """The published score is a softmax over the logits and one more: a monotone map of ours."""
    score = fitted(Vim()).score(small.test)
    logits = small.test.logits.astype(np.float64)
    virtual = score + logsumexp(logits, axis=1)
    probability = np.exp(virtual - logsumexp(np.column_stack([logits, virtual]), axis=1))
    np.testing.assert_allclose(probability, 1 / (1 + np.exp(-score)), rtol=1e-9)


def test_half_of_few_features_are_the_principal_space(small, fitted) -> None:
    width = small.test.features("last-hidden").shape[1]
    usual = fitted(Vim()).score(small.test)
    np.testing.assert_array_equal(usual, fitted(Vim(dimensions=width // 2)).score(small.test))
    assert not np.allclose(usual, fitted(Vim(dimensions=5)).score(small.test))


def test_training_data_without_any_residual_give_finite_scores(small) -> None:
    labelled = next(iter(small.material))
    same = np.tile(labelled.observation.features("last-hidden")[:1], (len(labelled.labels), 1))
    seen = dataclasses.replace(labelled.observation, activations={"last-hidden": same})
    material = dataclasses.replace(small.material, train=[Labelled(seen, labelled.labels)])
    assert np.isfinite(Vim().fit(material, small.classifier).score(small.test)).all()


class WithHead(FakeClassifier):
    """Three features, two classes: the logits are the first two features."""

    head = Head(np.eye(2, 3, dtype=np.float32), np.zeros(2, np.float32))

    def __init__(self) -> None:
        super().__init__(
            lambda images: np.full((len(images), 2), 0.5),
            ("left", "right"),
            layers={"last-hidden": lambda images: images.reshape(len(images), 3)},
            logits=lambda images: images.reshape(len(images), 3)[:, :2],
        )
        self.capabilities = Capabilities(logits=True, layers=("last-hidden",), head=True)


def alpha_of(rows: list[list[float]], logits: list[list[float]]) -> float:
    """Return the scale that comes of training data with these features and logits, for a space of one."""
    classifier, n = WithHead(), len(rows)
    seen = classifier.observe(np.array(rows, np.float32).reshape(n, 1, 1, 3), ("last-hidden",))
    seen = dataclasses.replace(seen, logits=np.array(logits, np.float32))
    data = [Labelled(seen, np.zeros(n, np.int64))]
    state = Vim(dimensions=1).fit(Material(("left", "right"), 0, data, data), classifier).state
    return float(state["alpha"])


def test_the_scale_is_the_mean_greatest_logit_over_the_mean_residual() -> None:
    # Along the first axis 30 and 40, off it 3 and 4 in the plane of the other two: by symmetry that plane is
    # what is left over, and the mean residual is 3.5. The greatest logits are 5 and 9.
    rows = [[10 * r, y, z] for r in (3, 4) for y, z in ((r, 0), (-r, 0), (0, r), (0, -r))]
    logits = [[5, 1]] * 4 + [[2, 9]] * 4
    assert alpha_of(rows, logits) == pytest.approx(7 / 3.5, rel=1e-9)


def test_a_residual_that_is_only_rounding_counts_as_a_millionth_of_the_features_length() -> None:
    """Of training data on one line; where they are all at the origin, as a millionth of a millionth."""
    assert alpha_of([[2, 0, 0], [4, 0, 0]], [[5, 1], [2, 9]]) == pytest.approx(7 / 3e-6, rel=1e-9)
    assert alpha_of([[0, 0, 0], [0, 0, 0]], [[5, 1], [2, 9]]) == pytest.approx(7 / 1e-12, rel=1e-9)


def test_noise_is_farther_than_test_data(small, noise, fitted) -> None:
    monitor = fitted(Vim())
    near, far = monitor.score(small.test), monitor.score(noise)
    assert far.mean() > near.mean()
    assert roc_auc_score([0] * len(near) + [1] * len(far), np.append(near, far)) > 0.5


def test_a_principal_space_of_everything_is_refused(fitted) -> None:
    with refused(ParameterError):
        fitted(Vim(dimensions=128))
    with refused(ParameterError):
        Vim(dimensions=0)
