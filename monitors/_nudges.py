"""ODIN's nudge, and the search for the temperature and magnitude that tell a validation fault apart best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from farm.api import Classifier, FitData, FloatArray, Images, Observation, State, best_threshold, generator
from farm.errors import ComponentFailure
from monitors._rows import drawn
from monitors.max_softmax import log_odds_against

TEMPERATURES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
STEPS = tuple(i * 0.0002 for i in range(21))
"""The magnitudes of Liang et al., from 0 to 0.004, for images in [0, 1]."""
LEARNT = 0.8
"""The share of the images that sets a pair's threshold; the rest judges it."""


def directions(classifier: Classifier, pixels: Tensor, temperatures: Sequence[float]) -> Iterator[Tensor]:
    """Yield the signs, pixel by pixel, that raise the confidence in the predicted class at a temperature."""
    with torch.enable_grad():
        logits = classifier.differentiable(pixels)
    # The derivative of log p of the likeliest class by the logits: 1 there, less p everywhere. Said so,
    # it takes none of autograd's steps.
    plain = logits.detach()
    ones = torch.ones((len(plain), 1), device=plain.device, dtype=plain.dtype)
    likeliest = plain.argmax(dim=1, keepdim=True)
    for i, temperature in enumerate(temperatures):
        towards = torch.softmax(plain / temperature, dim=1).neg_()
        towards.scatter_add_(1, likeliest, ones)
        again = i + 1 < len(temperatures)
        (gradient,) = torch.autograd.grad(logits, pixels, towards, retain_graph=again)
        yield gradient.sign_()


def nudged_logits(classifier: Classifier, pixels: Tensor, direction: Tensor, magnitude: float) -> np.ndarray:
    """Return the logits after a step."""
    with torch.inference_mode():
        nudged = torch.add(pixels, direction, alpha=magnitude)
        logits: np.ndarray = classifier.differentiable(nudged).cpu().numpy()
    return logits


def scores_on_grid(classifier: Classifier, images: Images) -> FloatArray:
    """Return ODIN's scores at each magnitude and temperature (magnitudes x temperatures x instances)."""
    found = np.empty((len(STEPS), len(TEMPERATURES), len(images)))
    pixels = torch.tensor(images, requires_grad=True)
    still = None
    for j, direction in enumerate(directions(classifier, pixels, TEMPERATURES)):
        for i, magnitude in enumerate(STEPS):
            if magnitude == 0:  # whatever the direction
                still = nudged_logits(classifier, pixels, direction, 0.0) if still is None else still
            logits = still if magnitude == 0 else nudged_logits(classifier, pixels, direction, magnitude)
            assert logits is not None
            found[i, j] = log_odds_against(logits / np.float32(TEMPERATURES[j]))
    return found


class Chosen(NamedTuple):
    """The best pair, and how well each of them told the images apart that set no threshold."""

    magnitude: float
    temperature: float
    accuracies: FloatArray


def best_pair(inside: FloatArray, outside: FloatArray, rng: np.random.Generator) -> Chosen:
    """Judge each magnitude and temperature (the first two axes of the scores) by an inner split.

    Of pairs that are equally good it is the one of the smallest magnitude, then the smallest temperature.
    """
    splits = []
    for scores in (inside, outside):
        n = scores.shape[2]
        if n < 2:
            raise ComponentFailure(
                f"there is {n} image to choose parameters on; expected at least 2 of each kind"
            )
        order, cut = rng.permutation(n), min(max(round(LEARNT * n), 1), n - 1)
        splits.append((scores[:, :, order[:cut]], scores[:, :, order[cut:]]))
    (learnt_in, held_in), (learnt_out, held_out) = splits
    accuracies = np.empty(inside.shape[:2])
    for pair in np.ndindex(*accuracies.shape):
        threshold, _ = best_threshold(learnt_in[pair], learnt_out[pair])
        right = int((held_in[pair] <= threshold).sum()) * held_out.shape[2]
        right += int((held_out[pair] > threshold).sum()) * held_in.shape[2]
        accuracies[pair] = right / (2 * held_in.shape[2] * held_out.shape[2])
    i, j = np.unravel_index(accuracies.argmax(), accuracies.shape)
    return Chosen(STEPS[int(i)], TEMPERATURES[int(j)], accuracies)


def best_on_outliers(classifier: Classifier, data: FitData, most: int) -> State:
    """Choose on at most so many images of ID validation data, and on as many outliers."""
    rng = generator(data.seed, "odin", "selection")

    def scores(of: Callable[[], Iterable[Observation]]) -> FloatArray:
        parts = [scores_on_grid(classifier, some.images) for some in drawn(of, most, rng)]
        return np.concatenate([np.empty((len(STEPS), len(TEMPERATURES), 0)), *parts], axis=2)

    inside = scores(lambda: (observation for observation, _ in data.validation))
    best = best_pair(inside, scores(lambda: data.outliers or ()), rng)
    return {
        "magnitude": np.array(best.magnitude),
        "temperature": np.array(best.temperature),
        "accuracies": best.accuracies,
    }
