"""Classifiers from ONNX files, by way of onnxruntime: an extra, `pip install 'farm-testbed[onnx]'`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch

from farm.api import Classifier, Context, ModelSource, SavedClassifier, Workload, check_choice
from farm.errors import DataError
from models._graph_classifier import GraphClassifier
from models._inputs import (
    Task,
    as_list,
    check_input,
    checked_size,
    class_order,
    preprocessing,
    try_out,
)
from models._onnx_files import OnnxFiles, onnxruntime
from models.graph_outputs import OnnxGraph


class OnnxFile(ModelSource):
    """A network in an ONNX file, run by onnxruntime.

    Needs the extra `onnx`: `pip install 'farm-testbed[onnx]'`. The file has one input, a batch of images
    N x C x H x W in float32, and its first output is one row an image and one column a class. Every value on
    the way is a layer, by the name that it has in the graph, and what enters the linear layer that it ends in
    is `last-hidden`. There are no gradients. A graph that was made for one batch size gets batches of that
    size.

    Parameters
    ----------
    path
        The file; a relative path is looked for beside the experiment, here, and in `$FARM_DATA`.
    outputs
        What its first output is: `logits`, or `probabilities` (then monitors get no logits).
    last_hidden
        The value that is meant by `last-hidden`, if not what enters the last linear layer.
    mean, std
        The normalisation a channel that it was trained with, if it is not a part of the graph; images come in
        [0, 1].
    size
        The height and width that it takes, if not the workload's.
    classes
        The class names in the order of its outputs, if not the workload's order.
    device
        `cpu`, or `cuda` where onnxruntime has been installed for it.

    Examples
    --------
    >>> OnnxFile(path="net.onnx", last_hidden="features").parameters["outputs"]
    'logits'
    """

    trained_here = False

    def __init__(
        self,
        *,
        path: str,
        outputs: str = "logits",
        last_hidden: str | None = None,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        size: Sequence[int] | None = None,
        classes: Sequence[str] | None = None,
        device: str = "cpu",
    ) -> None:
        check_choice("outputs", outputs, ("logits", "probabilities"))
        check_choice("device", device, ("cpu", "cuda"))
        self._path, self._outputs, self._last_hidden = path, outputs, last_hidden
        self._mean, self._std, self._size = as_list(mean), as_list(std), checked_size(size)
        self._classes, self._device = as_list(classes), device

    def check(self, context: Context) -> None:
        """Look for the file."""
        context.find(self._path, "classifier.path")

    def classifier(self, workload: Workload, context: Context) -> Classifier:
        """Load the graph and try it on two images."""
        onnxruntime()
        files = OnnxFiles.at(context.find(self._path, "classifier.path"), self._device, context.threads)
        classifier = self._around(files, workload)
        try_out(classifier, workload, files.what)
        return classifier

    def restore(self, saved: SavedClassifier) -> Classifier:
        """Load the graph from its saved bytes."""
        # As many threads as everything else around it may use.
        threads = torch.get_num_threads()
        return self._around(OnnxFiles.saved(saved.state, self._path, self._device, threads), saved)

    def _around(self, files: OnnxFiles, task: Task) -> GraphClassifier:
        session = files.session()
        inputs = session.get_inputs()
        if len(inputs) != 1 or inputs[0].type != "tensor(float)":
            told = ", ".join(f"{i.name} ({i.type})" for i in inputs)
            raise DataError(
                f"{files.what} takes {told}; expected one input of type tensor(float), the images"
            )
        takes = [n if isinstance(n, int) else None for n in inputs[0].shape]
        settings = (self._outputs, self._mean, self._std, self._size, self._classes, self._last_hidden)
        around = repr((settings, task.classes, onnxruntime().__version__)).encode()
        batch = check_input(takes, self._size, task, files.what)
        return GraphClassifier(
            OnnxGraph(session, files),
            task,
            name=self.name,
            digest=hashlib.blake2b(files.digest + around, digest_size=16).hexdigest(),
            nbytes=None,  # onnxruntime packs weights in its own way and does not tell
            files=files.state,
            preprocessing=preprocessing(self._mean, self._std, self._size, task),
            device=torch.device("cpu"),
            order=class_order(self._classes, task),
            outputs=self._outputs,
            last_hidden=self._last_hidden,
            batch=batch,
        )
