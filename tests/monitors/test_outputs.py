"""Max-softmax and ODIN."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import logsumexp, softmax

from farm.api import FunctionClassifier
from farm.errors import ParameterError
from monitors.max_softmax import MaxSoftmax, log_odds_against
from monitors.odin import MAGNITUDES, Odin
from tests.wording import refused

LOGITS = arrays(np.float32, (3, 4), elements=st.floats(-30, 30, width=32))


@given(LOGITS)
def test_log_odds_equal_their_definition(logits: np.ndarray) -> None:
    wide = logits.astype(np.float64)
    top = wide.argmax(axis=1)
    others = np.array([logsumexp(np.delete(row, t)) for row, t in zip(wide, top, strict=True)])
    expected = others - wide[np.arange(3), top]
    np.testing.assert_allclose(log_odds_against(logits), expected, rtol=1e-12, atol=1e-12)


def test_log_odds_do_not_saturate_where_probabilities_do() -> None:
    logits = np.array([[60.0, 0.0], [80.0, 0.0]])
    assert softmax(logits, axis=1)[:, 0].tolist() == [1.0, 1.0]
    assert np.diff(log_odds_against(logits))[0] == -20.0


def test_max_softmax_ranks_as_the_greatest_probability(small, fitted) -> None:
    score = fitted(MaxSoftmax()).score(small.test)
    expected = np.log1p(-small.test.confidence) - np.log(small.test.confidence)
    sure = small.test.confidence < 1 - 1e-9  # beyond, 1 - p itself has no digits left
    np.testing.assert_allclose(score[sure], expected[sure], rtol=1e-5, atol=1e-5)


def test_max_softmax_of_a_black_box_uses_its_probabilities(small, fitted) -> None:
    blind = dataclasses.replace(small.test, logits=None)
    monitor = fitted(MaxSoftmax())
    np.testing.assert_allclose(monitor.score(blind), monitor.score(small.test), atol=1e-4)


def test_max_softmax_of_a_certain_black_box_is_finite(fitted) -> None:
    certain = FunctionClassifier(lambda x: np.tile([1.0, 0.0], (len(x), 1)), ("a", "b"))
    seen = certain.observe(np.zeros((2, 1, 4, 4), np.float32))
    assert np.isfinite(fitted(MaxSoftmax()).score(seen)).all()


def test_odin_at_temperature_1_and_magnitude_0_is_max_softmax(small, fitted) -> None:
    odin = fitted(Odin(temperature=1.0, magnitude=0.0)).score(small.test)
    np.testing.assert_allclose(odin, fitted(MaxSoftmax()).score(small.test), rtol=1e-9)


def test_odin_equals_a_direct_transcription(small, fitted) -> None:
    temperature, magnitude = 1000.0, 0.01
    pixels = torch.tensor(small.test.images[:20], requires_grad=True)
    logits = small.classifier.differentiable(pixels) / temperature
    loss = torch.nn.functional.cross_entropy(logits, logits.argmax(dim=1), reduction="sum")
    loss.backward()
    nudged = pixels.detach() - magnitude * pixels.grad.sign()
    with torch.no_grad():
        after = torch.softmax(small.classifier.differentiable(nudged).double() / temperature, dim=1)
    greatest = after.amax(dim=1).numpy()
    odin = fitted(Odin(temperature=temperature, magnitude=magnitude)).score(small.test)[:20]
    np.testing.assert_allclose(1 / (1 + np.exp(odin)), greatest, rtol=1e-6)


def test_odin_raises_the_confidence_it_measures(small, fitted) -> None:
    """The perturbation goes towards the predicted class: the other way would lower it."""
    still = fitted(Odin(temperature=1.0, magnitude=0.0)).score(small.test)
    nudged = fitted(Odin(temperature=1.0, magnitude=0.005)).score(small.test)
    assert (nudged < still).mean() > 0.95


@pytest.mark.parametrize(("parameters", "at"), [({}, 1.0), ({"selection_temperature": 1000.0}, 1000.0)])
def test_odin_chooses_the_magnitude_with_the_greatest_summed_confidence(
    small, fitted, parameters, at
) -> None:
    odin = fitted(Odin(**parameters))
    sums = odin.notes()["summed_confidence"]
    assert set(sums) == {f"{m:g}" for m in MAGNITUDES}
    best = max(sums, key=sums.get)
    assert odin.notes()["magnitude"] == float(best)
    # And the sums are what they say: recompute one.
    total = 0.0
    for observation, _ in small.material.validation:
        pixels = torch.tensor(observation.images, requires_grad=True)
        torch.softmax(small.classifier.differentiable(pixels) / 1000.0, 1).amax(1).log().sum().backward()
        nudged = pixels.detach() + 0.01 * pixels.grad.sign()
        with torch.no_grad():
            logits = small.classifier.differentiable(nudged).double()
        total += float(torch.softmax(logits / at, dim=1).amax(dim=1).sum())
    np.testing.assert_allclose(sums["0.01"], total, rtol=1e-6)


def test_odin_scores_at_its_temperature_whatever_its_magnitude_was_selected_at(small, fitted) -> None:
    one, other = (fitted(Odin(magnitude=0.01, selection_temperature=t)) for t in (1.0, 1000.0))
    np.testing.assert_array_equal(one.score(small.test), other.score(small.test))


def test_odin_says_where_the_largest_magnitude_tried_won(small, fitted) -> None:
    notes = fitted(Odin(selection_temperature=1000.0)).notes()
    assert notes["magnitude"] == max(MAGNITUDES)  # at a high temperature the sum only ever grows
    assert notes["largest_tried"] is True
    chosen = fitted(Odin()).notes()
    assert chosen["largest_tried"] == (chosen["magnitude"] == max(MAGNITUDES))
    assert fitted(Odin(magnitude=max(MAGNITUDES))).notes()["largest_tried"] is False  # asked, not tried


@pytest.mark.parametrize("temperature", [0.0, -1.0])
def test_a_selection_temperature_is_above_0(temperature) -> None:
    with refused(ParameterError):
        Odin(selection_temperature=temperature)


def test_odin_leaves_the_classifier_as_it_was(small, fitted) -> None:
    before = small.classifier.digest
    fitted(Odin(magnitude=0.01)).score(small.test)
    module = small.classifier._module
    assert small.classifier.digest == before
    assert not module.training
    assert all(p.grad is None for p in module.parameters())
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in module.modules())
