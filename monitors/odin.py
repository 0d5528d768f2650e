"""ODIN: a nudge towards the predicted class raises the confidence in familiar images more than in others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch

from farm.api import (
    JSON,
    Explanation,
    Features,
    FitData,
    Needs,
    Observation,
    State,
    check_choice,
    check_number,
    parameters_of,
)
from farm.errors import ParameterError
from monitors._nudges import best_on_outliers, directions, nudged_logits
from monitors._reasons import ToldByOutputs
from monitors.max_softmax import log_odds_against

MAGNITUDES = (0.0, 0.0014, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08)
"""The magnitudes among which Generalized ODIN chooses, for images in [0, 1]."""
UNUSED = {
    "id": ("selection_images",),
    "validation-fault": ("temperature", "magnitude", "selection_temperature"),
}
"""By the selection, the parameters that would have no effect."""
SELECTIONS = tuple(UNUSED)


class Odin(ToldByOutputs):
    """Temperature scaling and a small perturbation of the input, with parameters chosen on data.

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
    selection
        `id` as said so far. `validation-fault` sees the outliers of a named validation fault, and takes the
        magnitude (0 to 0.004 in 21 steps, on images in [0, 1]) and the temperature (1 to 1000 in 10) of Liang
        et al. which tell them from ID validation data best: a threshold is set on 80 % of both, and the
        balanced accuracy on the rest decides.
    selection_images
        At most so many images of each of the two, drawn by the experiment's seed, take part in that: each is
        passed forward 202 times and back 10 times.

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
        selection: str = "id",
        selection_images: int = 500,
    ) -> None:
        check_number("temperature", temperature, above=0)
        check_number("selection_temperature", selection_temperature, above=0)
        if magnitude is not None:
            check_number("magnitude", magnitude, low=0)
        check_choice("selection", selection, SELECTIONS)
        check_number("selection_images", selection_images, low=2, whole=True)
        given = {"temperature": temperature, "magnitude": magnitude}
        given |= {"selection_temperature": selection_temperature, "selection_images": selection_images}
        for name in UNUSED[selection]:
            if given[name] != parameters_of(Odin)[name].default:
                raise ParameterError(
                    f"{name} is {given[name]!r}, which selection '{selection}' has no use for; leave it out"
                )
        self._asked_temperature, self._asked, self._selection = temperature, magnitude, selection
        self._selection_temperature, self._selection_images = selection_temperature, selection_images

    @property
    def needs(self) -> Needs:
        """Logits, gradients back to the image, and outliers where parameters are chosen on these."""
        return Needs(logits=True, gradients=True, outliers=self._selection != "id")

    def _fit(self, data: FitData) -> State:
        if self._selection != "id":
            return best_on_outliers(self.classifier, data, self._selection_images)
        candidates = np.array(MAGNITUDES if self._asked is None else [self._asked])
        sums = np.zeros(len(candidates))
        if self._asked is None:
            for observation, _ in data.validation:
                pixels = torch.tensor(observation.images, requires_grad=True)
                (direction,) = directions(self.classifier, pixels, [self._asked_temperature])
                for i, magnitude in enumerate(candidates):
                    logits = nudged_logits(self.classifier, pixels, direction, float(magnitude))
                    odds = log_odds_against(logits / self._selection_temperature)
                    sums[i] += (1 / (1 + np.exp(odds))).sum()
        return {"candidates": candidates, "sums": sums, "magnitude": candidates[sums.argmax()]}

    def _load(self, state: State) -> None:
        self._magnitude = float(np.asarray(state["magnitude"], dtype=np.float32))
        chosen = state.get("temperature")
        self._temperature = self._asked_temperature if chosen is None else float(chosen)

    def _score(self, observation: Observation) -> Features:
        if self._magnitude == 0:
            assert observation.logits is not None  # the needs say so
            return log_odds_against(observation.logits / np.float32(self._temperature))
        pixels = torch.tensor(observation.images, requires_grad=True)
        (direction,) = directions(self.classifier, pixels, [self._temperature])
        logits = nudged_logits(self.classifier, pixels, direction, self._magnitude)
        logits /= np.float32(self._temperature)
        return log_odds_against(logits)

    def _explain(self, observation: Observation) -> Explanation:
        told = super()._explain(observation)  # before the nudge: to say what it did takes two more passes
        by = f"after moving each value by {self._magnitude:.3g} towards that class"
        done = f"scored at temperature {self._temperature:g}, {by if self._magnitude else 'without a nudge'}"
        return replace(told, reason=f"{told.reason}; {done}")

    def notes(self) -> Mapping[str, JSON]:
        """The magnitude in use, and how good each candidate was."""
        if self._selection != "id":
            own = {"magnitude": float(self.state["magnitude"]), "temperature": self._temperature}
            return {**own, "balanced_accuracy_held_out": float(self.state["accuracies"].max())}
        candidates, sums = self.state["candidates"].tolist(), self.state["sums"].tolist()
        tried = {f"{c:g}": s for c, s in zip(candidates, sums, strict=True)} if self._asked is None else {}
        chosen = float(self.state["magnitude"])
        at_edge = self._asked is None and chosen == max(MAGNITUDES)
        return {"magnitude": chosen, "largest_tried": at_edge, "summed_confidence": tried}
