"""What a monitor must leave as it found it: global random numbers, settings, the classifier, the screen."""

from __future__ import annotations

import io
import os
import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from farm.api import Classifier, CountedClassifier
from farm.store.identity.audit import Audit

GENERATORS: dict[str, Callable[[], str]] = {
    "random": lambda: repr(random.getstate()),
    "numpy.random": lambda: repr([np.asarray(s).tobytes() for s in np.random.get_state(legacy=True)]),  # noqa: NPY002
    "torch": lambda: str(torch.get_rng_state().numpy().tobytes()),
}
"""The global generators, and how to tell whether somebody drew from them."""
SETTINGS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "numpy's handling of errors": (np.geterr, lambda errors: np.seterr(**errors)),
    "the current folder": (os.getcwd, os.chdir),
    "torch's recording of gradients": (torch.is_grad_enabled, torch.set_grad_enabled),
    "torch's default type": (torch.get_default_dtype, torch.set_default_dtype),
    "torch's number of threads": (torch.get_num_threads, torch.set_num_threads),
    "torch's deterministic algorithms": (
        torch.are_deterministic_algorithms_enabled,
        torch.use_deterministic_algorithms,
    ),
}
"""What is set for a whole process: how to read it, and how to put it back."""
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")

MOST, MOST_TEXT = 10, 200
"""So many warnings, and so many characters of what is printed, are kept."""


@dataclass
class Seen:
    """What changed while somebody watched."""

    drawn: list[str] = field(default_factory=list)
    """Global random generators that were drawn from or seeded."""
    settings: list[str] = field(default_factory=list)
    classifier: list[str] = field(default_factory=list)
    printed: str = ""
    warned: list[str] = field(default_factory=list)
    opened: Audit = field(default_factory=Audit)
    """What files the monitor's own code opened."""


@contextmanager
def watched(classifier: Classifier) -> Iterator[Seen]:
    """Watch what happens meanwhile to everything that is shared, and put settings back afterwards."""
    seen, screen = Seen(), _Screen()
    states, settings, parts = _drawn(), _settings(), _parts(classifier)

    def note(message: Warning | str, category: type[Warning], *where: object, **more: object) -> None:  # noqa: ARG001
        if len(seen.warned) < MOST:
            seen.warned.append(f"{category.__name__}: {' '.join(str(message).split())}")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = note
        try:
            with redirect_stdout(screen), redirect_stderr(screen), seen.opened:
                yield seen
        finally:
            seen.drawn = [name for name, state in _drawn().items() if state != states[name]]
            seen.settings = _differences(settings, _settings())
            seen.classifier = _differences(parts, _parts(classifier))
            seen.printed = " ".join(screen.kept.split())
            for name, (_, put_back) in SETTINGS.items():
                put_back(settings[name])


class _Screen(io.TextIOBase):
    """Keeps the beginning of what is printed; all of it could be much."""

    kept = ""

    def write(self, text: str) -> int:
        if len(self.kept) < MOST_TEXT:
            self.kept += text[:MOST_TEXT]
        return len(text)


@contextmanager
def chance(seed: int) -> Iterator[None]:
    """Set all global generators, and put them back afterwards.

    Who reads them is the same each time for the same seed, so that only the rule about them finds that.
    """
    before = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    torch.default_generator.manual_seed(seed)
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002
        torch.set_rng_state(before[2])


def _drawn() -> dict[str, str]:
    return {name: state() for name, state in GENERATORS.items()}


def _settings() -> dict[str, Any]:
    return {name: read() for name, (read, _) in SETTINGS.items()}


def _parts(classifier: Classifier) -> dict[str, Any]:
    """Describe a classifier and every torch module that it holds, by what a monitor could change."""
    inner = classifier.inner if isinstance(classifier, CountedClassifier) else classifier
    parts: dict[str, Any] = {"digest": inner.digest}
    for attribute in vars(inner).values():
        if not isinstance(attribute, nn.Module):
            continue
        for name, module in attribute.named_modules(prefix=type(attribute).__name__):
            parts[f"training mode of {name}"] = module.training
            parts[f"hooks of {name}"] = sum(len(getattr(module, hooks)) for hooks in HOOKS)
        for name, parameter in attribute.named_parameters():
            parts[f"requires_grad of {name}"] = parameter.requires_grad
            parts[f"gradient of {name}"] = "none" if parameter.grad is None else "some"
            parts[f"values of {name}"] = _checksum(parameter)
        for name, buffer in attribute.named_buffers():
            parts[f"values of {name}"] = _checksum(buffer)
    return parts


def _checksum(values: torch.Tensor) -> str:
    return str(hash(values.detach().cpu().contiguous().numpy().tobytes()))


def _differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    changed = [name for name in before | after if before.get(name) != after.get(name)]
    return [f"{name} was {before.get(name)!r} and is {after.get(name)!r}" for name in changed]
