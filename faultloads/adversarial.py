"""Attacks that follow the gradients of a classifier.

Gradients are sums over floating-point numbers whose last bits change with the batch size, and a sign or a
nearest boundary may tip over with them: in batches of other sizes images agree to a tolerance. A stream
without time makes them in batches of its own: there, bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from farm.api import Images, IntArray, PerInstance, check_choice, check_number
from faultloads._attack import Attack

_TINY = 1e-12


class _LossAttack(Attack):
    """Raises the loss of the right class."""

    def _loss_gradient(self, images: Images, labels: IntArray) -> Images:
        """Return the direction, pixel by pixel, in which the right class loses most."""
        import torch  # not before: a plan names attacks, and computes none
        from torch.nn import functional as F

        with torch.enable_grad():
            pixels = torch.tensor(images, requires_grad=True)
            # In double precision: in single, the loss of a confident instance has no gradient left.
            logits = self._attacked.differentiable(pixels).double()
            right = torch.from_numpy(labels).to(logits.device)
            (gradient,) = torch.autograd.grad(F.cross_entropy(logits, right, reduction="sum"), pixels)
        result: Images = gradient.numpy()
        return result


class Fgsm(_LossAttack):
    """The fast gradient sign method: each pixel takes one step that raises the loss of the right class.

    Parameters
    ----------
    eps
        The step.
    surrogate
        The model to attack instead of the classifier under test: a name, or a mapping with its name and
        parameters. It is trained on the workload; with the recipe of the classifier under test it would be
        the same network.

    Examples
    --------
    >>> Fgsm().parameters
    {'eps': 0.05, 'surrogate': None}
    """

    reference = "Goodfellow, Shlens, Szegedy: Explaining and harnessing adversarial examples, ICLR 2015"
    origin = "Goodfellow et al., 2015"

    def __init__(self, *, eps: float = 0.05, surrogate: str | Mapping[str, Any] | None = None) -> None:
        super().__init__(surrogate=surrogate)
        check_number("eps", eps, above=0, high=1)
        self._eps = eps

    def _attack(self, images: Images, labels: IntArray, random: PerInstance) -> Images:
        del random
        gradient = self._loss_gradient(images, labels)
        return np.asarray(images + np.float32(self._eps) * np.sign(gradient), dtype=np.float32)


class Pgd(_LossAttack):
    """Projected gradient descent: steps that raise the loss, each brought back to a ball about the image.

    Parameters
    ----------
    norm
        The ball's: `linf`, where no pixel moves further than `eps`, or `l2`, where the whole image does not.
    eps
        The ball's radius. None takes 0.05 for `linf` and 0.5 for `l2`.
    steps
        How many steps.
    step_size
        How long each is, in the ball's norm. None takes 2.5 radii over all steps together.
    random_start
        Whether to start anywhere in the ball, which depends on the instance's id, instead of in its middle.
    surrogate
        The model to attack instead of the classifier under test, as for `fgsm`.

    Examples
    --------
    >>> Pgd(norm="l2", eps=1.0, steps=20).parameters["random_start"]
    True
    """

    reference = "Madry et al.: Towards deep learning models resistant to adversarial attacks, ICLR 2018"
    origin = "Madry et al., 2018"

    def __init__(
        self,
        *,
        norm: str = "linf",
        eps: float | None = None,
        steps: int = 10,
        step_size: float | None = None,
        random_start: bool = True,
        surrogate: str | Mapping[str, Any] | None = None,
    ) -> None:
        check_choice("norm", norm, ("linf", "l2"))
        radius = {"linf": 0.05, "l2": 0.5}[norm] if eps is None else eps
        check_number("eps", radius, above=0)
        check_number("steps", steps, low=1, whole=True)
        if step_size is not None:
            check_number("step_size", step_size, above=0)
        super().__init__(surrogate=surrogate)
        self._norm, self._eps, self._steps, self._random_start = norm, radius, steps, random_start
        self._step_size = 2.5 * radius / steps if step_size is None else step_size

    def _attack(self, images: Images, labels: IntArray, random: PerInstance) -> Images:
        moved = self._start(images, random) if self._random_start else images
        for _ in range(self._steps):
            gradient = self._loss_gradient(moved, labels)
            direction = np.sign(gradient) if self._norm == "linf" else gradient / _lengths(gradient)
            moved = self._inside(images, moved + np.float32(self._step_size) * direction)
        return moved

    def _start(self, images: Images, random: PerInstance) -> Images:
        if self._norm == "linf":
            start = random.uniform(*images.shape[1:], low=-self._eps, high=self._eps)
            return self._inside(images, images + start)
        direction = random.normal(*images.shape[1:])
        # The volume within a radius grows with its power of the number of pixels.
        radius = random.uniform(1, 1, 1) ** np.float32(1 / images[0].size) * np.float32(self._eps)
        return self._inside(images, images + direction / _lengths(direction) * radius)

    def _inside(self, images: Images, moved: Images) -> Images:
        """Return the nearest point of the ball, then the nearest image to it, still in the ball."""
        change = moved - images
        if self._norm == "linf":
            change = np.clip(change, -np.float32(self._eps), np.float32(self._eps))
        else:
            change *= np.minimum(1, np.float32(self._eps) / _lengths(change))
        return np.asarray(np.clip(images + change, 0, 1))


def _lengths(changes: Images) -> Images:
    """Return the Euclidean length of each, to divide by."""
    squares = (changes.astype(np.float64) ** 2).sum(axis=(1, 2, 3), keepdims=True)
    return np.asarray(np.maximum(np.sqrt(squares), _TINY), dtype=np.float32)
