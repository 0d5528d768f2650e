"""Classifiers as exported programs: files of torch.export or TorchScript, without their Python source."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from farm.api import Classifier, Context, ModelSource, SavedClassifier, Workload, check_choice
from models._graph_classifier import GraphClassifier
from models._inputs import (
    Task,
    as_list,
    check_input,
    checked_size,
    class_order,
    preprocessing,
    read_file,
    same_file,
    try_out,
)
from models._programs import Program, load_program
from models.torch_classifier import _device

Content: TypeAlias = Callable[[], NDArray[np.uint8]]
"""Gives the bytes of a program's file."""


class Exported(ModelSource):
    """A program that `torch.export.save` (`.pt2`) or TorchScript (`.ts`, `.pt`) wrote to a file.

    Such files are programs, and loading one runs what its maker put in: take them from those you trust only.
    (The weights of `module` are mere numbers.) Which of the two a file is, is seen from its content. Logits
    are given; gradients too where they are found to flow back to the images, which is tried once. A program
    that was exported for one batch size gets batches of that size.

    A program of torch.export shows every value on its way as a layer, by the name of the part of the module
    whose output it is (`features.3`), or else of its node (`add_1`). What enters the linear layer that it
    ends in is `last-hidden`. TorchScript shows no layers.

    Parameters
    ----------
    path
        The file; a relative path is looked for beside the experiment, here, and in `$FARM_DATA`.
    outputs
        What it gives: `logits`, or `probabilities` (then monitors get neither logits nor gradients).
    mean, std
        The normalisation a channel that it was trained with, if it is not a part of the program; images come
        in [0, 1].
    size
        The height and width that it takes, if not the workload's.
    classes
        The class names in the order of its outputs, if not the workload's order.
    device
        Where to run it, as torch names it.
    last_hidden
        The layer that is meant by `last-hidden`, if not what enters the last linear layer.

    Examples
    --------
    >>> Exported(path="net.pt2", mean=[0.5], std=[0.25]).parameters["outputs"]
    'logits'
    """

    trained_here = False

    def __init__(
        self,
        *,
        path: str,
        outputs: str = "logits",
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        size: Sequence[int] | None = None,
        classes: Sequence[str] | None = None,
        device: str = "cpu",
        last_hidden: str | None = None,
    ) -> None:
        check_choice("outputs", outputs, ("logits", "probabilities"))
        self._path, self._outputs = path, outputs
        self._mean, self._std, self._size = as_list(mean), as_list(std), checked_size(size)
        self._classes, self._device, self._last_hidden = as_list(classes), device, last_hidden

    def check(self, context: Context) -> None:
        """Look for the file."""
        context.find(self._path, "classifier.path")

    def classifier(self, workload: Workload, context: Context) -> Classifier:
        """Load the program and try it on two images."""
        path = context.find(self._path, "classifier.path")
        what = f"classifier.path '{path}'"
        device = _device(self._device)
        program = load_program(read_file(path, what), device, what)
        content = partial(same_file, path, program.digest, what)
        classifier = self._around(program, content, workload, device, what)
        try_out(classifier, workload, what)
        classifier.find_gradients(workload.train.images.read(np.arange(1)))
        return classifier

    def restore(self, saved: SavedClassifier) -> Classifier:
        """Load the program from its saved bytes."""
        device, what = _device(self._device), f"the saved program of '{self._path}'"
        content = np.asarray(saved.state["program"], dtype=np.uint8)
        program = load_program(content.tobytes(), device, what)
        classifier = self._around(program, lambda: content, saved, device, what)
        classifier.declare_gradients(flow=bool(np.asarray(saved.state["gradients"])))
        return classifier

    def _around(
        self, program: Program, content: Content, task: Task, device: torch.device, what: str
    ) -> GraphClassifier:
        prepare = preprocessing(self._mean, self._std, self._size, task)
        fixed = None
        if program.takes is not None:
            fixed = check_input(program.takes, self._size, task, what)
        settings = [self._outputs, self._mean, self._std, self._size, self._classes, task.classes]
        if self._last_hidden is not None:
            settings.append(self._last_hidden)
        around = repr(tuple(settings)).encode()
        return GraphClassifier(
            program.graph,
            task,
            name=self.name,
            digest=hashlib.blake2b(program.digest + around, digest_size=16).hexdigest(),
            nbytes=program.nbytes,
            files=lambda: {"program": content()},
            preprocessing=prepare.to(device),
            device=device,
            order=class_order(self._classes, task),
            outputs=self._outputs,
            last_hidden=self._last_hidden,
            batch=fixed,
        )
