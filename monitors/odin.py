"""ODIN: a nudge towards the predicted class raises the confidence in familiar images more than in others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from farm.api import JSON, Explanation, Features, FitData, Needs, Observation, State, check_number
from monitors._reasons import ToldByOutputs
from monitors.max_softmax import log_odds_against

MAGNITUDES = (0.0, 0.0014, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08)
"""The magnitudes among which Generalized ODIN chooses, for images in [0, 1]."""


class Odin(ToldByOutputs):
    """Temperature scaling and a small perturbation of the input, with parameters chosen on ID data alone.

    The score is the log-odds against the likeliest class at the temperature, after the perturbation. It
    enters the classifier again: one pass with gradients, one without.

    Parameters
    ----------
    temperature
        Divides the logits.
    magnitude
        The step a pixel takes. None takes the one with the greatest summed confidence on ID validation data.
    selection_temperature
        The temperature at which that confidence is summed. Generalized ODIN has none (1). At a high one the
        sum only ever grows with the magnitude, so that the largest wins whatever the data.

    Examples
    --------
    >>> Odin(temperature=1000.0, magnitude=0.0014).needs.gradients
    True
    """

    reference = (
        "Liang, Li, Srikant: ODIN, ICLR 2018; parameters as in Hsu et al.: Generalized ODIN, CVPR 2020"
    )

    def __init__(
        self,
        *,
        temperature: float = 1000.0,
        magnitude: float | None = None,
        selection_temperature: float = 1.0,
    ) -> None:
        check_number("temperature", temperature, above=0)
        check_number("selection_temperature", selection_temperature, above=0)
        if magnitude is not None:
            check_number("magnitude", magnitude, low=0)
        self._temperature, self._asked = temperature, magnitude
        self._selection_temperature = selection_temperature

    @property
    def needs(self) -> Needs:
        """Logits, and gradients back to the image."""
        return Needs(logits=True, gradients=True)

    def _fit(self, data: FitData) -> State:
        candidates = np.array(MAGNITUDES if self._asked is None else [self._asked])
        sums = np.zeros(len(candidates))
        if self._asked is None:
            for observation, _ in data.validation:
                pixels = torch.tensor(observation.images, requires_grad=True)
                direction = self._direction(pixels)
                for i, magnitude in enumerate(candidates):
                    logits = self._logits(pixels, direction, float(magnitude))
                    odds = log_odds_against(logits / self._selection_temperature)
                    sums[i] += (1 / (1 + np.exp(odds))).sum()
        return {"candidates": candidates, "sums": sums, "magnitude": candidates[sums.argmax()]}

    def _load(self, state: State) -> None:
        self._magnitude = float(np.asarray(state["magnitude"], dtype=np.float32))

    def _score(self, observation: Observation) -> Features:
        if self._magnitude == 0:
            assert observation.logits is not None  # the needs say so
            return log_odds_against(observation.logits / np.float32(self._temperature))
        pixels = torch.tensor(observation.images, requires_grad=True)
        direction = self._direction(pixels)
        logits = self._logits(pixels, direction, self._magnitude)
        logits /= np.float32(self._temperature)
        return log_odds_against(logits)

    def _explain(self, observation: Observation) -> Explanation:
        told = super()._explain(observation)  # before the nudge: to say what it did takes two more passes
        by = f"after moving each value by {self._magnitude:.3g} towards that class"
        done = f"scored at temperature {self._temperature:g}, {by if self._magnitude else 'without a nudge'}"
        return replace(told, reason=f"{told.reason}; {done}")

    def notes(self) -> Mapping[str, JSON]:
        """The magnitude in use, and the summed confidence that each candidate had."""
        candidates, sums = self.state["candidates"].tolist(), self.state["sums"].tolist()
        tried = {f"{c:g}": s for c, s in zip(candidates, sums, strict=True)} if self._asked is None else {}
        chosen = float(self.state["magnitude"])
        at_edge = self._asked is None and chosen == max(MAGNITUDES)
        return {"magnitude": chosen, "largest_tried": at_edge, "summed_confidence": tried}

    def _direction(self, pixels: Tensor) -> Tensor:
        """Return the sign, pixel by pixel, that raises the confidence in the predicted class."""
        with torch.enable_grad():
            logits = self.classifier.differentiable(pixels)
        # The derivative of log p of the likeliest class by the logits: 1 there, less p everywhere. Said so,
        # it takes none of autograd's steps.
        plain = logits.detach()
        towards = torch.softmax(plain / self._temperature, dim=1).neg_()
        ones = torch.ones((len(plain), 1), device=plain.device, dtype=plain.dtype)
        towards.scatter_add_(1, plain.argmax(dim=1, keepdim=True), ones)
        (gradient,) = torch.autograd.grad(logits, pixels, towards)
        return gradient.sign_()

    def _logits(self, pixels: Tensor, direction: Tensor, magnitude: float) -> np.ndarray:
        with torch.inference_mode():
            nudged = torch.add(pixels, direction, alpha=magnitude)
            logits: np.ndarray = self.classifier.differentiable(nudged).cpu().numpy()
        return logits
