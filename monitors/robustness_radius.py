"""The input-robustness radius: how far an image is from one that the classifier calls something else.

Its directions are gradients, and the nearest of two boundaries that are equally near may tip over with their
last bits: across batch sizes such an instance may be measured along another direction.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from farm.api import (
    Explanation,
    Features,
    FloatArray,
    Images,
    Needs,
    Observation,
    check_choice,
    check_number,
)
from monitors._reasons import ToldByOutputs
from monitors._unlearned import Unlearned
from monitors.free_energy import lead_of, logits_of

FLATTEST = 1e-200
"""A slope below this is none: the boundary it leads to is farther than any image."""


class RobustnessRadius(Unlearned, ToldByOutputs):
    """The distance to the nearest image with another prediction, negated: few familiar images are that close.

    An estimate. The published method asks a verifier for a distance within which nothing can change, which
    few networks allow. Here the logits are taken for linear around the image, which gives a distance and a
    way to the boundary of each rival class. Then the classifier is asked along the shortest of these ways,
    which is doubled until the prediction changes and bisected from then on. So a nearer change elsewhere may
    exist. On the way pixels may leave [0, 1]. The cost: one forward pass, `rivals` backward and `steps` more
    forward passes.

    Parameters
    ----------
    norm
        What a distance is: `linf`, the greatest change of any pixel, or `l2`, the Euclidean length.
    rivals
        How many of the likeliest other classes give a direction; any class counts as another prediction.
    steps
        How many points on the way are tried. 0 trusts the linear estimate. Where none of them changes the
        prediction, the farthest counts.
    largest
        No radius is greater, and an image without a slope towards any rival has this one. None takes the
        distance from a black image to a white one.

    Examples
    --------
    >>> RobustnessRadius(norm="l2", steps=0).needs.gradients
    True
    """

    reference = (
        "Liu, Chen, Mine, Wang: Input validation for neural networks via runtime local robustness "
        "verification, arXiv 2020; estimated as in Moosavi-Dezfooli et al.: DeepFool, CVPR 2016"
    )

    def __init__(
        self, *, norm: str = "linf", rivals: int = 3, steps: int = 4, largest: float | None = None
    ) -> None:
        check_choice("norm", norm, ("linf", "l2"))
        check_number("rivals", rivals, low=1, whole=True)
        check_number("steps", steps, low=0, whole=True)
        if largest is not None:
            check_number("largest", largest, above=0)
        self._norm, self._rivals, self._steps, self._largest = norm, rivals, steps, largest

    @property
    def needs(self) -> Needs:
        """Logits, and gradients back to the image."""
        return Needs(logits=True, gradients=True)

    def _score(self, observation: Observation) -> Features:
        images, logits = observation.images, logits_of(observation)
        farthest = 1.0 if self._norm == "linf" else float(np.sqrt(images[:1].size))
        largest = farthest if self._largest is None else self._largest
        radii, ways = self._linear(images, logits, largest)
        return -self._tried(images, logits, radii, ways, largest) if self._steps else -radii

    def _explain(self, observation: Observation) -> Explanation:
        told, radius = super()._explain(observation), -float(self._score(observation)[0])
        way = f"another prediction is estimated to be {radius:.3g} away ({self._norm})"
        return replace(told, reason=f"{way}; {told.reason}")

    def _linear(self, images: Images, logits: FloatArray, largest: float) -> tuple[FloatArray, FloatArray]:
        """Return the distance to the nearest boundary and the way there (length 1), as if all were linear."""
        order = np.argsort(-logits, axis=1, kind="stable")[:, : self._rivals + 1]
        ranked = np.take_along_axis(logits, order, axis=1)
        radii, ways = np.full(len(images), largest), np.zeros(images.shape)
        with torch.enable_grad():
            pixels = torch.tensor(images, requires_grad=True)
            traced = self.classifier.differentiable(pixels).cpu().gather(1, torch.from_numpy(order))
            leads = (traced[:, :1] - traced[:, 1:]).sum(dim=0).unbind()
        for rank, lead in enumerate(leads, start=1):
            slopes = torch.autograd.grad(lead, pixels, retain_graph=True)[0].double()
            # How fast the lead shrinks along the best way of length 1 is the slopes' dual norm.
            dual = 1 if self._norm == "linf" else 2
            speed = np.maximum(slopes.flatten(1).norm(dual, dim=1).numpy(), FLATTEST)
            distance = (ranked[:, 0] - ranked[:, rank]) / speed
            nearer = distance < radii
            way = slopes.sign().numpy() if self._norm == "linf" else slopes.numpy() / _per_image(speed)
            radii[nearer], ways[nearer] = distance[nearer], -way[nearer]
        return radii, ways

    def _tried(
        self, images: Images, logits: FloatArray, radii: FloatArray, ways: FloatArray, largest: float
    ) -> FloatArray:
        """Return the distance along these ways at which the prediction changes."""
        predicted = logits.argmax(axis=1)
        near, far = np.zeros(len(images)), np.full(len(images), np.inf)
        lead_near, lead_far = lead_of(logits, predicted), np.zeros(len(images))
        at = radii
        for _ in range(self._steps):
            moved = torch.from_numpy((images + _per_image(at) * ways).astype(np.float32))
            with torch.inference_mode():
                lead = lead_of(self.classifier.differentiable(moved).cpu().double().numpy(), predicted)
            held = lead > 0
            near, lead_near = np.where(held, at, near), np.where(held, lead, lead_near)
            far, lead_far = np.where(held, far, at), np.where(held, lead_far, lead)
            at = np.where(np.isinf(far), np.minimum(2 * near, largest), (near + far) / 2)
        # The two leads say where in between. Without that, a lead's last bit could move the result by a step.
        found = np.isfinite(far)
        total = np.maximum(lead_near[found] - lead_far[found], FLATTEST)
        near[found] += (far - near)[found] * lead_near[found] / total
        return near


def _per_image(values: FloatArray) -> FloatArray:
    return values.reshape(-1, 1, 1, 1)
