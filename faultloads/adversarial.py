"""Attacks that follow the gradients of a classifier.

No pixel moves further than `eps`, to the last bit (in the norm `l2`: no image, to 1 in 100,000). Which way a
pixel moves is another matter: gradients are sums whose last bits change with the batch size, and a sign may
tip over with them. In batches of other sizes most images agree to the last bits, and some do not: two
versions of a pixel may then lie up to twice `eps` apart. A stream without time makes images in batches of its
own, so that there they agree bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from farm.api import Images, IntArray, PerInstance, check_choice, check_number
from faultloads._attack import Attack, reach

_TINY = 1e-12


class _LossAttack(Attack):
    """Raises the loss of the right class, or lowers that of the target."""

    def _loss_gradient(self, images: Images, labels: IntArray) -> Images:
        """Return the direction, pixel by pixel, in which the right class loses, or the target gains, most."""
        import torch  # not before: a plan names attacks, and computes none
        from torch.nn import functional as F

        with torch.enable_grad():
            pixels = torch.tensor(images, requires_grad=True)
            # In double precision: in single, the loss of a confident instance has no gradient left.
            logits = self._attacked.differentiable(pixels).double()
            wanted = labels if self._aim is None else np.full_like(labels, self._aim)
            chosen = torch.from_numpy(wanted).to(logits.device)
            (gradient,) = torch.autograd.grad(F.cross_entropy(logits, chosen, reduction="sum"), pixels)
        result: Images = gradient.numpy()
        return result if self._aim is None else -result


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
    target
        The class, by name or number, that images shall be taken for; those of that class are left alone.
        None is content with any wrong class.
    skip_wrong
        Whether images are left alone that the classifier under test gets wrong already.

    Examples
    --------
    >>> Fgsm().parameters
    {'eps': 0.05, 'surrogate': None, 'target': None, 'skip_wrong': False}
    """

    reference = "Goodfellow, Shlens, Szegedy: Explaining and harnessing adversarial examples, ICLR 2015"
    origin = "Goodfellow et al., 2015"

    def __init__(
        self,
        *,
        eps: float = 0.05,
        surrogate: str | Mapping[str, Any] | None = None,
        target: str | int | None = None,
        skip_wrong: bool = False,
    ) -> None:
        super().__init__(surrogate=surrogate, target=target, skip_wrong=skip_wrong)
        check_number("eps", eps, above=0, high=1)
        self._eps = eps

    def _attack(self, images: Images, labels: IntArray, random: PerInstance) -> Images:
        del random
        gradient = self._loss_gradient(images, labels)
        return np.clip(images + np.float32(self._eps) * np.sign(gradient), *reach(images, self._eps))


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
    target, skip_wrong
        Which class to be taken for, and whether to leave wrong images alone, as for `fgsm`.

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
        target: str | int | None = None,
        skip_wrong: bool = False,
    ) -> None:
        check_choice("norm", norm, ("linf", "l2"))
        radius = {"linf": 0.05, "l2": 0.5}[norm] if eps is None else eps
        check_number("eps", radius, above=0)
        check_number("steps", steps, low=1, whole=True)
        if step_size is not None:
            check_number("step_size", step_size, above=0)
        super().__init__(surrogate=surrogate, target=target, skip_wrong=skip_wrong)
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
        if self._norm == "linf":
            return np.clip(moved, *reach(images, self._eps))
        change = moved - images
        change *= np.minimum(1, np.float32(self._eps) / _lengths(change))
        return np.asarray(np.clip(images + change, 0, 1))


def _lengths(changes: Images) -> Images:
    """Return the Euclidean length of each, to divide by."""
    squares = (changes.astype(np.float64) ** 2).sum(axis=(1, 2, 3), keepdims=True)
    return np.asarray(np.maximum(np.sqrt(squares), _TINY), dtype=np.float32)
