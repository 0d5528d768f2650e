"""DeepFool: an attack that looks for the nearest class boundary.

Its gradients are sums over floating-point numbers whose last bits change with the batch size, and with them
which boundary is the nearest may tip over: in batches of other sizes most images agree to the last bits, and
some cross another boundary. A stream without time makes them in batches of its own: there, bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from farm.api import Images, IntArray, PerInstance, check_number
from faultloads._attack import Attack, reach

if TYPE_CHECKING:
    from torch import Tensor

_TINY = 1e-12


class DeepFool(Attack):
    """A small step over the nearest class boundary, which is found by linearising again and again.

    It leaves the class that the attacked classifier predicts, right or wrong.

    Parameters
    ----------
    overshoot
        How much further than to the boundary, as a share of the way.
    steps
        At most this many linearisations; an image that has crossed is left as it is.
    candidates
        How many of the likeliest classes to look at, the predicted one included.
    eps
        How far a pixel may move at the most: what is found is cut off there. None is as far as needed.
    surrogate
        The model to attack instead of the classifier under test, as for `fgsm`.
    skip_wrong
        Whether to leave wrong images alone, as for `fgsm`.

    Examples
    --------
    >>> DeepFool().parameters["overshoot"]
    0.02
    """

    reference = "Moosavi-Dezfooli, Fawzi, Frossard: DeepFool, CVPR 2016"
    origin = "Moosavi-Dezfooli et al., 2016"

    def __init__(
        self,
        *,
        overshoot: float = 0.02,
        steps: int = 50,
        candidates: int = 10,
        eps: float | None = None,
        surrogate: str | Mapping[str, Any] | None = None,
        skip_wrong: bool = False,
    ) -> None:
        super().__init__(surrogate=surrogate, skip_wrong=skip_wrong)
        check_number("overshoot", overshoot, low=0)
        check_number("steps", steps, low=1, whole=True)
        check_number("candidates", candidates, low=2, whole=True)
        if eps is not None:
            check_number("eps", eps, above=0, high=1)
        self._overshoot, self._steps, self._candidates, self._eps = overshoot, steps, candidates, eps

    def _attack(self, images: Images, labels: IntArray, random: PerInstance) -> Images:
        import torch  # not before: a plan names attacks, and computes none

        del labels, random
        clean = torch.tensor(images)
        moved, way = clean.clone(), torch.zeros_like(clean)
        with torch.no_grad():
            order = self._attacked.differentiable(clean).argsort(dim=1, descending=True, stable=True).cpu()
        order = order[:, : self._candidates]
        rows = torch.arange(len(clean))
        for _ in range(self._steps):
            logits, gradients = self._linearised(moved[rows], order[rows])
            inside = logits[:, 0] >= logits[:, 1:].amax(dim=1)
            rows, logits, gradients = rows[inside], logits[inside], gradients[inside]
            if not len(rows):
                break
            way[rows] += _to_boundary(logits, gradients)
            moved[rows] = (clean[rows] + (1 + self._overshoot) * way[rows]).clamp(0, 1)
        result: Images = moved.numpy()
        return result if self._eps is None else np.clip(result, *reach(images, self._eps))

    def _linearised(self, images: Tensor, order: Tensor) -> tuple[Tensor, Tensor]:
        """Return the candidates' logits (images x candidates) and the gradient of each."""
        import torch

        with torch.enable_grad():
            pixels = images.clone().requires_grad_()
            logits = self._attacked.differentiable(pixels).cpu().gather(1, order)
            columns = [logits[:, i].sum() for i in range(order.shape[1])]
            gradients = [torch.autograd.grad(column, pixels, retain_graph=True)[0] for column in columns]
        return logits.detach(), torch.stack(gradients, dim=1)


def _to_boundary(logits: Tensor, gradients: Tensor) -> Tensor:
    """Return the shortest way to where another candidate equals the first, if all were linear."""
    import torch

    apart = logits[:, :1] - logits[:, 1:]
    slopes = gradients[:, 1:] - gradients[:, :1]
    lengths = slopes.flatten(2).norm(dim=2).clamp(min=_TINY)
    nearest = (apart / lengths).argmin(dim=1)
    rows = torch.arange(len(logits))
    # A little more than nothing, so that an image right on the boundary crosses it too.
    factor = (apart[rows, nearest] + 1e-4) / lengths[rows, nearest] ** 2
    way: Tensor = factor.view(-1, 1, 1, 1) * slopes[rows, nearest]
    return way
