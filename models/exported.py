"""Classifiers as exported programs: files of torch.export or TorchScript, without their Python source."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from farm.api import (
    Capabilities,
    Classifier,
    Context,
    Images,
    ModelSource,
    RawOutputs,
    SavedClassifier,
    State,
    Workload,
    check_choice,
)
from farm.errors import RequirementError
from models._inputs import (
    Task,
    as_list,
    check_columns,
    check_input,
    checked_size,
    class_order,
    in_batches,
    preprocessing,
    read_file,
    same_file,
    try_out,
)
from models._programs import Program, load_program
from models.torch_classifier import Preprocessing, _device

Content: TypeAlias = Callable[[], NDArray[np.uint8]]
"""Gives the bytes of a program's file."""


class Exported(ModelSource):
    """A program that `torch.export.save` (`.pt2`) or TorchScript (`.ts`, `.pt`) wrote to a file.

    Such files are programs, and loading one runs what its maker put in: take them from those you trust only.
    (The weights of `module` are mere numbers.) Which of the two a file is, is seen from its content. Hidden
    layers cannot be asked for. Logits are given; gradients too where they are found to flow back to the
    images, which is tried once. A program that was exported for one batch size gets batches of that size.

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
    ) -> None:
        check_choice("outputs", outputs, ("logits", "probabilities"))
        self._path, self._outputs = path, outputs
        self._mean, self._std, self._size = as_list(mean), as_list(std), checked_size(size)
        self._classes, self._device = as_list(classes), device

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
        classifier.capabilities = replace(
            classifier.capabilities, gradients=bool(np.asarray(saved.state["gradients"]))
        )
        return classifier

    def _around(
        self, program: Program, content: Content, task: Task, device: torch.device, what: str
    ) -> ProgramClassifier:
        prepare = preprocessing(self._mean, self._std, self._size, task)
        fixed = None
        if program.takes is not None:
            fixed = check_input(program.takes, self._size, task, what)
        settings = (self._outputs, self._mean, self._std, self._size, self._classes, task.classes)
        return ProgramClassifier(
            program.run,
            task.classes,
            name=self.name,
            digest=hashlib.blake2b(program.digest + repr(settings).encode(), digest_size=16).hexdigest(),
            nbytes=program.nbytes,
            content=content,
            preprocessing=prepare.to(device),
            device=device,
            order=class_order(self._classes, task),
            outputs=self._outputs,
            batch=fixed,
        )


class ProgramClassifier(Classifier):
    """A program from images to logits or probabilities: a black box, but for gradients where they flow."""

    def __init__(
        self,
        run: Callable[[Tensor], Any],
        classes: Sequence[str],
        *,
        name: str,
        digest: str,
        nbytes: int,
        content: Content,
        preprocessing: Preprocessing,
        device: torch.device,
        order: Sequence[int] | None,
        outputs: str,
        batch: int | None,
    ) -> None:
        self.name = name
        self.classes = tuple(classes)
        self._run, self._digest, self._nbytes, self._content = run, digest, nbytes, content
        self._preprocessing, self._device, self._batch = preprocessing, device, batch
        self._order = None if order is None else torch.as_tensor(order, device=device)
        self._logits = outputs == "logits"
        self.capabilities = Capabilities(logits=self._logits)

    @property
    def digest(self) -> str:
        """A hash of the file and of the settings around it."""
        return self._digest

    @property
    def state(self) -> State:
        """The program's bytes, and whether gradients were found to flow through it."""
        return {"program": self._content(), "gradients": np.array(self.capabilities.gradients)}

    @property
    def nbytes(self) -> int:
        """The memory of the program's weights and buffers."""
        return self._nbytes

    def differentiable(self, images: Tensor) -> Tensor:
        """Return logits through which gradients flow back to the images."""
        if not self._logits:
            raise RequirementError(
                f"classifier '{self.name}' gives probabilities, and so no gradients of logits"
            )
        return self._answers(images)

    def find_gradients(self, images: Images) -> None:
        """Declare gradients if they reach these images, and are finite there."""
        if not self._logits:
            return
        pixels = torch.from_numpy(np.array(images)).requires_grad_()
        try:
            best = self._answers(pixels).max(dim=1).values.sum()
            (gradient,) = torch.autograd.grad(best, pixels)
        except RuntimeError:
            return  # the program detaches its input, or works in integers
        flow = bool(torch.isfinite(gradient).all())
        self.capabilities = Capabilities(logits=True, gradients=flow)

    def _answers(self, images: Tensor) -> Tensor:
        ready = self._preprocessing(images.to(self._device))
        parts = [self._run(part)[:n] for part, n in in_batches(ready, self._batch)]
        answers = parts[0] if len(parts) == 1 else torch.cat(parts)
        check_columns(answers.shape, len(self.classes), self.name)
        return answers if self._order is None else answers[:, self._order]

    def _forward(self, images: Images, layers: Sequence[str], members: int) -> RawOutputs:
        if layers or members:
            raise RequirementError(f"classifier '{self.name}' is an exported program: no layers, no members")
        with torch.inference_mode():
            answers = self._answers(torch.from_numpy(np.require(images, requirements=["C", "W"])))
            if not self._logits:
                return RawOutputs(answers.double().cpu().numpy())
            # Softmax in double precision: in single, confident instances saturate to ties.
            probabilities = torch.softmax(answers.double(), dim=1).cpu().numpy()
        return RawOutputs(probabilities, logits=answers.float().cpu().numpy())
