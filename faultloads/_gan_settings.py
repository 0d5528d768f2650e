"""How a GAN is trained, when that stops, which of its generators is kept, and what is said where it fails."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from farm.api import check_choice, check_number

LOSSES = ("gan", "wgan")
SHOWN = 20
"""At most so many checks of a curve are told in an error."""


@dataclass(frozen=True)
class StoppingRule:
    """Stop once a measure of the generated images reaches a limit; without a limit, after all epochs.

    An `accuracy` reaches it from below, and the best generator still below it is kept. A `classifier_loss`
    reaches it from above, and the generator that did is kept.
    """

    measure: Literal["accuracy", "classifier_loss"]
    limit: float | None

    def is_over(self, values: Sequence[float]) -> bool:
        """Say whether the latest check reached the limit.

        >>> StoppingRule("accuracy", 0.3).is_over([0.1, 0.3]), StoppingRule("accuracy", None).is_over([1.0])
        (True, False)
        """
        if self.limit is None:
            return False
        return values[-1] >= self.limit if self.measure == "accuracy" else values[-1] <= self.limit

    def kept(self, values: Sequence[float]) -> int | None:
        """Return the check whose generator is to be kept, of equals the later one; None where none is.

        >>> StoppingRule("accuracy", 0.3).kept([0.1, 0.2, 0.15, 0.4])
        1
        >>> StoppingRule("classifier_loss", 0.005).kept([1.2, 0.4, 0.004])
        2
        """
        if self.measure == "classifier_loss" or self.limit is None:
            return len(values) - 1
        below = [i for i, value in enumerate(values) if value < self.limit]
        return max(below, key=lambda i: (values[i], i), default=None)

    def failure(self, values: Sequence[float], epochs: Sequence[float]) -> str | None:
        """Say in what a training failed, and what to set; None where it did not. `epochs` are the checks'."""
        if self.limit is None:
            return None
        by_accuracy = self.measure == "accuracy"
        what = f"the surrogate's {'accuracy' if by_accuracy else 'loss'} on generated images"
        if not self.is_over(values):
            best = max(values) if by_accuracy else min(values)
            lighter = "a lower accuracy or weight" if by_accuracy else "a higher classifier_loss or weight"
            return (
                f"{what} is {best:.2g} at best within {math.ceil(epochs[-1])} epochs, and the rule asks for "
                f"{self.limit:g} {in_short(values, epochs)}: set more epochs, or {lighter}"
            )
        if self.kept(values) is None:
            return (
                f"{what} is {values[0]:.2g} at the first check, epoch {epochs[0]:g}, and the rule keeps one "
                f"below {self.limit:g}: set more checks an epoch, or a lower learning_rate"
            )
        return None


@dataclass(frozen=True)
class GanSettings:
    """What is trained, and how; everything here decides the images."""

    name: str
    rule: StoppingRule
    inverted: bool
    """Whether the generator wants to be told from real images, and the surrogate to be sure."""
    loss: str
    epochs: int
    checks: int
    width: int
    latent: int
    batch_size: int
    learning_rate: float
    weight: float
    critic_steps: int

    def __post_init__(self) -> None:
        check_choice("loss", self.loss, LOSSES)
        for name in ("epochs", "checks", "width", "latent", "critic_steps"):
            check_number(name, getattr(self, name), low=1, whole=True)
        check_number("batch_size", self.batch_size, low=2, whole=True)  # one alone has no spread to normalise
        check_number("learning_rate", self.learning_rate, above=0)
        check_number("weight", self.weight, low=0)


def in_short(values: Sequence[float], epochs: Sequence[float]) -> str:
    """Return a curve in brackets."""
    n = len(values)
    if not n:
        return "(before the first check)"
    shown = range(n) if n <= SHOWN else [round(i * (n - 1) / (SHOWN - 1)) for i in range(SHOWN)]
    told = " ".join(f"{values[i]:.2g}" for i in shown)
    return f"({told} by epoch {' '.join(f'{epochs[i]:g}' for i in shown)})"
