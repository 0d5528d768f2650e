"""What classifiers that people bring along have in common: prepared inputs, class order, and a first try."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from farm.api import Classifier, Observation, Workload, check_number, read_bytes
from farm.errors import ComponentFailure, DataError, ExperimentError, ParameterError, suggestion
from models.torch_classifier import Preprocessing

T = TypeVar("T")


class Task(Protocol):
    """What a classifier is for: a workload tells it, and so does a classifier that was saved."""

    @property
    def name(self) -> str: ...

    @property
    def classes(self) -> tuple[str, ...]: ...

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of the images."""
        ...


def as_list(values: Sequence[T] | None) -> list[T] | None:
    """Return a sequence as the list that it is in a file, so that hashes of settings are the same."""
    return None if values is None else list(values)


def checked_size(size: Sequence[int] | None) -> tuple[int, int] | None:
    """Check the height and width that a user writes."""
    if size is None:
        return None
    if not isinstance(size, Sequence) or len(size) != 2:
        raise ParameterError(f"size is {size!r}; expected two whole numbers, height and width")
    for value in size:
        check_number("size", value, low=1)
    return size[0], size[1]


def preprocessing(
    mean: Sequence[float] | None,
    std: Sequence[float] | None,
    size: tuple[int, int] | None,
    task: Task,
) -> Preprocessing:
    """Check the normalisation that a user writes, and make what prepares images."""
    for name, values in (("mean", mean), ("std", std)):
        if values is not None and len(values) not in (1, task.shape[0]):
            raise ParameterError(f"{name} has {len(values)} values; expected one a channel: {task.shape[0]}")
        if values is not None and max(values) > 1:
            raise ParameterError(
                f"{name} is {list(values)!r}; images come in [0, 1]: divide by 255 what counts to 255"
            )
    if std is not None and min(std) <= 0:
        raise ParameterError(f"std is {list(std)!r}; expected numbers above 0")
    return Preprocessing(mean, std, size)


def class_order(classes: Sequence[str] | None, task: Task) -> list[int] | None:
    """Say which output belongs to each of the workload's classes."""
    if classes is None:
        return None
    if len(set(classes)) != len(classes) or len(classes) != len(task.classes):
        raise ParameterError(
            f"classes has {len(classes)} names, {len(set(classes))} of them different; expected the "
            f"{len(task.classes)} of the workload, each once"
        )
    for name in task.classes:
        if name not in classes:
            raise ParameterError(f"classes lacks '{name}' of the workload; {suggestion(name, classes)}")
    return [list(classes).index(name) for name in task.classes]


def check_input(
    declared: Sequence[int | None], size: tuple[int, int] | None, task: Task, what: str
) -> int | None:
    """Check a program's declared input (None where a dimension is free) and give its batch size, if fixed."""
    channels, height, width = task.shape
    given = (channels, *(size or (height, width)))
    shown = " x ".join("any" if n is None else str(n) for n in declared)
    if len(declared) != 4:
        raise DataError(f"{what} takes {len(declared)} dimensions ({shown}); expected N x C x H x W")
    if any(n is not None and n != m for n, m in zip(declared[1:], given, strict=True)):
        takes = [n or m for n, m in zip(declared[2:], given[1:], strict=True)]
        hint = f"; set size: {takes} to resize them" if declared[1] in (None, channels) else ""
        raise DataError(
            f"{what} takes {shown} (N x C x H x W), but images of workload '{task.name}' come as "
            f"{' x '.join(map(str, given))}{hint}"
        )
    return declared[0]


def in_batches(images: Tensor, fixed: int) -> Iterator[tuple[Tensor, int]]:
    """Cut a batch into those of a program's fixed size, the last one filled up; with how many count."""
    for start in range(0, max(len(images), 1), fixed):
        part = images[start : start + fixed]
        filling = images.new_zeros((fixed - len(part), *images.shape[1:]))
        yield torch.cat([part, filling]), len(part)


def looks_like_probabilities(logits: NDArray[np.floating] | None) -> bool:
    """Say whether what is called logits are numbers from 0 on that sum to 1."""
    return logits is not None and bool((logits >= 0).all() and abs(logits.sum(1) - 1).max() < 1e-3)


def read_file(path: Path, what: str) -> bytes:
    """Read a program's file."""
    try:
        return read_bytes(path)
    except OSError as error:
        raise DataError(f"{what} cannot be read ({error.strerror}); expected a file") from error


def as_array(content: bytes) -> NDArray[np.uint8]:
    """Return a file's bytes as an array, to be kept with others."""
    return np.frombuffer(content, dtype=np.uint8)


def same_file(path: Path, digest: bytes, what: str) -> NDArray[np.uint8]:
    """Read a file again that nobody should have changed since: large programs are not kept in memory."""
    content = read_file(path, what)
    if hashlib.blake2b(content, digest_size=16).digest() != digest:
        raise DataError(f"{what} was changed while it was in use; expected the file that was loaded")
    return as_array(content)


def first_look(classifier: Classifier, workload: Workload) -> Observation:
    """Run two images; where that breaks, say which form they have, since it may take another."""
    images = workload.train.images.read(np.arange(2))
    try:
        return classifier.observe(images)
    except ComponentFailure as error:
        if error.__cause__ is None:
            raise  # not its own code, but what it returned
        form = " x ".join(map(str, images.shape[1:]))
        raise ComponentFailure(
            f"{error}; if it takes other images than {form} (C x H x W), set size and channels of the "
            "workload"
        ) from error


def try_out(classifier: Classifier, workload: Workload, what: str) -> None:
    """Run images twice: probabilities that pass for logits, or a program left in training mode, show."""
    seen, again = first_look(classifier, workload), first_look(classifier, workload)
    if looks_like_probabilities(seen.logits):
        raise ExperimentError(f"{what} gives probabilities already; set outputs: probabilities")
    if not np.allclose(seen.probabilities, again.probabilities, atol=1e-4):
        raise ExperimentError(
            f"{what} answers differently to the same images; expected a program of inference: was it "
            "exported in training mode (dropout)?"
        )
