"""Classifiers from ONNX files, by way of onnxruntime: an extra, `pip install 'farm-testbed[onnx]'`."""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from farm.api import (
    LAST_HIDDEN,
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
    read_bytes,
)
from farm.errors import DataError, ParameterError, RequirementError, one_line, suggestion
from models._inputs import (
    Task,
    as_array,
    as_list,
    check_columns,
    check_input,
    checked_size,
    class_order,
    in_batches,
    preprocessing,
    read_file,
    try_out,
)
from models.torch_classifier import Preprocessing

GRAPH, BESIDE = "graph", "beside."
"""What the arrays of a saved graph are called: its file, and those beside it."""


class OnnxFile(ModelSource):
    """A network in an ONNX file, run by onnxruntime.

    Needs the extra `onnx`: `pip install 'farm-testbed[onnx]'`. The file has one input, a batch of images
    N x C x H x W in float32, and its first output is one row an image and one column a class. Whatever other
    outputs the graph has are its layers, by the names that they have there; without any it is a black box.
    There are no gradients. A graph that was made for one batch size gets batches of that size.

    Parameters
    ----------
    path
        The file; a relative path is looked for beside the experiment, here, and in `$FARM_DATA`.
    outputs
        What its first output is: `logits`, or `probabilities` (then monitors get no logits).
    last_hidden
        The output that is meant by `last-hidden`, where there is one.
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
        _onnxruntime()
        path = context.find(self._path, "classifier.path")
        what = f"classifier.path '{path}'"
        session = _session(path, self._device, context.threads, what)
        digest = _digest(_contents(path, what))
        classifier = self._around(session, digest, partial(_state, path, digest, what), workload, what)
        try_out(classifier, workload, what)
        return classifier

    def restore(self, saved: SavedClassifier) -> Classifier:
        """Load the graph from its saved bytes."""
        what = f"the saved graph of '{self._path}'"
        with TemporaryDirectory(prefix="farm-onnx-") as folder:
            # As files again, because a graph names the files that its weights are in.
            for name, content in saved.state.items():
                file = Path(folder) / Path(name.removeprefix(BESIDE)).name
                file.write_bytes(np.asarray(content, dtype=np.uint8).tobytes())
            path = Path(folder) / GRAPH
            # As many threads as everything else around it may use.
            session = _session(path, self._device, torch.get_num_threads(), what)
            digest = _digest(_contents(path, what))
        return self._around(session, digest, lambda: saved.state, saved, what)

    def _around(
        self, session: Any, digest: bytes, state: Callable[[], State], task: Task, what: str
    ) -> OnnxClassifier:
        inputs = session.get_inputs()
        if len(inputs) != 1 or inputs[0].type != "tensor(float)":
            told = ", ".join(f"{i.name} ({i.type})" for i in inputs)
            raise DataError(f"{what} takes {told}; expected one input of type tensor(float), the images")
        takes = [n if isinstance(n, int) else None for n in inputs[0].shape]
        layers = {output.name: output.name for output in session.get_outputs()[1:]}
        if self._last_hidden is not None:
            if self._last_hidden not in layers:
                hint = suggestion(self._last_hidden, layers)
                raise ParameterError(
                    f"last_hidden is '{self._last_hidden}', which is no further output of the graph; {hint}"
                )
            layers[LAST_HIDDEN] = self._last_hidden
        settings = (self._outputs, self._mean, self._std, self._size, self._classes, self._last_hidden)
        around = repr((settings, task.classes, _onnxruntime().__version__)).encode()
        return OnnxClassifier(
            session,
            task.classes,
            name=self.name,
            digest=hashlib.blake2b(digest + around, digest_size=16).hexdigest(),
            state=state,
            preprocessing=preprocessing(self._mean, self._std, self._size, task),
            order=class_order(self._classes, task),
            outputs=self._outputs,
            layers=layers,
            batch=check_input(takes, self._size, task, what),
        )


class OnnxClassifier(Classifier):
    """An onnxruntime session as a classifier; `layers` are further outputs by the names that they go by."""

    def __init__(
        self,
        session: Any,
        classes: Sequence[str],
        *,
        name: str,
        digest: str,
        state: Callable[[], State],
        preprocessing: Preprocessing,
        order: Sequence[int] | None,
        outputs: str,
        layers: dict[str, str],
        batch: int | None,
    ) -> None:
        self.name = name
        self.classes = tuple(classes)
        self._session, self._preprocessing = session, preprocessing
        self._digest, self._state = digest, state
        self._order, self._layers, self._batch = order, layers, batch
        self._logits = outputs == "logits"
        self._input, self._first = session.get_inputs()[0].name, session.get_outputs()[0].name
        self.capabilities = Capabilities(logits=self._logits, layers=tuple(layers))

    @property
    def digest(self) -> str:
        """A hash of the file, of the weights that lie beside it, and of the settings around it."""
        return self._digest

    @property
    def state(self) -> State:
        """The bytes of the file, and of those beside it that hold its weights."""
        return self._state()

    @property
    def nbytes(self) -> None:
        """Unknown: onnxruntime packs weights in its own way and does not tell."""
        return

    def _forward(self, images: Images, layers: Sequence[str], members: int) -> RawOutputs:
        if members:
            raise RequirementError(f"classifier '{self.name}' is an ONNX graph: no members")
        with torch.inference_mode():
            ready = self._preprocessing(torch.from_numpy(np.require(images, requirements=["C", "W"])))
        # Only what is asked for is computed; an output that goes by two names is computed once.
        wanted = list(dict.fromkeys([self._first, *(self._layers[layer] for layer in layers)]))
        kept: dict[str, list[NDArray[Any]]] = {output: [] for output in wanted}
        for part, n in in_batches(ready, self._batch):
            for output, values in zip(
                wanted, self._session.run(wanted, {self._input: part.numpy()}), strict=True
            ):
                kept[output].append(values[:n])
        found = {output: np.concatenate(values) for output, values in kept.items()}
        answers = found[self._first]
        check_columns(answers.shape, len(self.classes), self.name)
        if self._order is not None:
            answers = answers[:, self._order]
        activations = {layer: found[self._layers[layer]].astype(np.float32) for layer in layers}
        if not self._logits:
            return RawOutputs(answers.astype(np.float64), activations=activations)
        # Softmax in double precision: in single, confident instances saturate to ties.
        probabilities = torch.softmax(torch.from_numpy(answers).double(), dim=1).numpy()
        return RawOutputs(probabilities, logits=answers.astype(np.float32), activations=activations)


def _onnxruntime() -> Any:
    try:
        return importlib.import_module("onnxruntime")
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "onnxruntime":
            raise RequirementError(
                "classifier 'onnx' needs the package onnxruntime, which is not installed; "
                "try: pip install 'farm-testbed[onnx]'"
            ) from None
        raise RequirementError(f"onnxruntime cannot be imported: {one_line(error)}") from error


def _session(path: Path, device: str, threads: int, what: str) -> Any:
    runtime = _onnxruntime()
    provider = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}[device]
    if provider not in runtime.get_available_providers():
        raise ParameterError(f"device is '{device}', which this onnxruntime cannot use; expected cpu")
    options = runtime.SessionOptions()
    # As many threads as everything else in the experiment; its own default is one a core.
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    try:
        return runtime.InferenceSession(str(path), sess_options=options, providers=[provider])
    except Exception as error:  # its errors have no common base but this
        raise DataError(
            f"{what} cannot be loaded as ONNX ({one_line(error)[:300]}); is it whole, with the weights that "
            "belong to it beside it?"
        ) from error


_LOCATION = re.compile(rb"\x0a\x08location\x12([\x01-\x7f])")
"""Where a tensor says in which other file its values lie: a key and, by its length, a value."""


def _contents(path: Path, what: str) -> dict[str, bytes]:
    """Return the bytes of a graph, and of every file that it says its weights are in."""
    content = read_file(path, what)
    found = {GRAPH: content}
    names = {content[m.end() : m.end() + m.group(1)[0]] for m in _LOCATION.finditer(content)}
    for name in sorted(names):
        try:
            found[BESIDE + name.decode()] = read_bytes(path.parent / name.decode())
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{what}: its weights in {name!r} cannot be read: {error}") from error
    return found


def _digest(contents: Mapping[str, bytes]) -> bytes:
    seen = hashlib.blake2b(digest_size=16)
    for content in contents.values():
        seen.update(hashlib.blake2b(content, digest_size=16).digest())
    return seen.digest()


def _state(path: Path, digest: bytes, what: str) -> State:
    """Read the files again that nobody should have changed since: large graphs are not kept in memory."""
    contents = _contents(path, what)
    if _digest(contents) != digest:
        raise DataError(f"{what} was changed while it was in use; expected the file that was loaded")
    for name in contents:
        plain = name.removeprefix(BESIDE)
        if Path(plain).name != plain or (plain == GRAPH and name != GRAPH):
            raise RequirementError(
                f"{what} keeps weights in '{plain}', with which it cannot be saved; put all into one file"
            )
    return {name: as_array(content) for name, content in contents.items()}
