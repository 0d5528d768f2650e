"""Engines: a torch network run by onnxruntime, or compiled, with the layers that are wanted as outputs.

`torch.export` reads the network, and refuses one whose steps depend on the values of its images: a mere trace
would keep the steps of one image for all.
"""

from __future__ import annotations

import importlib
import io
import logging
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from farm.api import Images, Observation
from farm.errors import RequirementError, one_line

TOLERANCE = 1e-5
"""Probabilities may differ from the eager ones by so much, layers and boxes by this share of their range."""
SIZES = (1, 3)
"""Batches of these sizes are checked beside a large one: a graph may have taken one size for granted."""
INPUT = "images"
LONGEST = 200
"""Characters of an exporter's message that are kept."""

Tensors = Callable[[Tensor], Sequence[Tensor]]
Observe = Callable[[Images, Sequence[str]], Observation]


class Unfit(Exception):  # noqa: N818 - no error: the network runs eager
    """Why an engine cannot be used."""


class Session(ABC):
    """A network with some of its layers as outputs, ready to run."""

    def __init__(self, layers: Sequence[str]) -> None:
        self._places = {layer: place for place, layer in enumerate(layers)}

    @abstractmethod
    def _outputs(self, pixels: Images) -> list[NDArray[np.float32]]:
        """Return the answers, and all layers."""

    def __call__(self, pixels: Images, asked: Sequence[str]) -> list[NDArray[np.float32]]:
        """Run it; give the answers and the layers that are asked for, which must be among its own."""
        answers, *found = self._outputs(pixels)
        return [answers, *(found[self._places[layer]] for layer in asked)]


class OnnxSession(Session):
    """A graph in onnxruntime, with as many threads as torch has."""

    def __init__(self, graph: bytes, layers: Sequence[str]) -> None:
        super().__init__(layers)
        runtime = _onnxruntime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = torch.get_num_threads(), 1
        options.log_severity_level = 4  # what is the matter is told by the error
        try:
            self._session = runtime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its errors have no common base but this
            raise Unfit(f"onnxruntime cannot run it: {_short(error)}") from error
        self._names = [output.name for output in self._session.get_outputs()]

    def _outputs(self, pixels: Images) -> list[NDArray[Any]]:
        found: list[NDArray[Any]] = self._session.run(self._names, {INPUT: pixels})
        return found


class CompiledSession(Session):
    """A program compiled by torch: once for a single image, and once for any batch of the images' form."""

    def __init__(
        self, program: torch.export.ExportedProgram, layers: Sequence[str], shape: Sequence[int]
    ) -> None:
        super().__init__(layers)
        try:
            with _quiet():
                self._compiled = torch.compile(program.module(), dynamic=True)
                for n in (2, 1):
                    self._outputs(np.zeros((n, *shape), dtype=np.float32))
        except Exception as error:  # no compiler, and whatever else stands in its way
            raise Unfit(f"the network cannot be compiled: {_short(error)}") from error

    def _outputs(self, pixels: Images) -> list[NDArray[Any]]:
        with torch.no_grad():
            return [value.numpy() for value in self._compiled(torch.from_numpy(pixels))]


def _onnxruntime() -> Any:
    """Import it: an extra, and needed by no other engine."""
    try:
        return importlib.import_module("onnxruntime")
    except ImportError as error:
        how = "try: pip install 'farm-testbed[fast]'"
        raise RequirementError(f"onnxruntime cannot be imported ({one_line(error)}); {how}") from None


def exported(tensors: Tensors, modules: Sequence[nn.Module], images: Images) -> torch.export.ExportedProgram:
    """Return what `tensors` does with a batch of any size as a program; raise `Unfit` where it cannot be."""
    try:
        whole = _Whole(tensors, modules)
        whole.training = False  # itself alone: its parts are, and programs refuse to be asked
        sizes = {"images": {0: torch.export.Dim("n")}}
        with _quiet(), torch.no_grad():
            return torch.export.export(whole, (torch.from_numpy(images),), dynamic_shapes=sizes)
    except (MemoryError, OSError):
        raise  # not the network's, and not to be kept as if it were
    except Exception as error:  # whatever stands in the exporter's way
        raise Unfit(f"the network cannot be exported: {_short(error)}") from error


def onnx_graph(program: torch.export.ExportedProgram) -> bytes:
    """Return a program as an ONNX file; raise `Unfit` where it has an operation that ONNX lacks."""
    try:
        with _quiet():
            made = torch.onnx.export(program, (), dynamo=True, input_names=[INPUT], verbose=False)
            assert made is not None
            for node in made.model.graph.all_nodes():
                node.metadata_props.clear()  # where its author's files lie
            content: bytes = made.model_proto.SerializeToString()
    except (MemoryError, OSError):
        raise
    except Exception as error:
        raise Unfit(f"the network cannot be written as ONNX: {_short(error)}") from error
    return content


def unlike_any(shape: Sequence[int]) -> Images:
    """Return a white, a black and two random images: what becomes of such no validation image shows."""
    noise = np.random.default_rng(0).random((2, *shape), dtype=np.float32)
    return np.concatenate([np.ones((1, *shape), np.float32), np.zeros((1, *shape), np.float32), noise])


def largest_difference(eager: Observe, session: Observe, images: Images, layers: Sequence[str]) -> float:
    """Return by how much a session differs from the eager network; raise `Unfit` where that is too much."""
    try:
        pairs = [(eager(images[:n], layers), session(images[:n], layers)) for n in (len(images), *SIZES)]
    except Exception as error:
        raise Unfit(f"it does not run: {_short(error)}") from error
    ranges = {layer: float(np.ptp(pairs[0][0].activations[layer])) for layer in layers}
    worst = 0.0
    for own, its in pairs:
        if other := (own.predicted != its.predicted).sum():
            raise Unfit(f"it predicts another class for {other} of {len(own)} images")
        apart = {"probabilities": _apart(own.probabilities, its.probabilities)}
        for layer in layers:
            apart[f"layer '{layer}'"] = _apart(own.activations[layer], its.activations[layer], ranges[layer])
        for name, values in own.outputs.items():
            if name not in its.outputs:
                raise Unfit(f"it does not give '{name}', which the network gives beside its classes")
            span = float(np.ptp(pairs[0][0].outputs[name]))
            apart[f"outputs '{name}'"] = _apart(values, its.outputs[name], span)
        for what, difference in apart.items():
            if not difference <= TOLERANCE:
                raise Unfit(f"its {what} differ by {difference:.2g}; expected at most {TOLERANCE:g}")
            worst = max(worst, difference)
    return worst


class _Whole(nn.Module):
    """All that is done with a batch of images, as one module, which is what can be exported."""

    def __init__(self, tensors: Tensors, modules: Sequence[nn.Module]) -> None:
        super().__init__()
        self.parts, self._tensors = nn.ModuleList(modules), tensors

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        return tuple(self._tensors(images))


def _apart(own: NDArray[Any], its: NDArray[Any], unit: float = 1.0) -> float:
    if own.shape != its.shape:
        return float("inf")
    difference = np.abs(own.astype(np.float64) - its).max(initial=0)
    return float(difference / max(unit, np.finfo(np.float32).tiny))


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what exporters print about themselves from those who asked for something else."""
    level = logging.root.manager.disable
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        logging.disable(logging.ERROR)
        try:
            yield
        finally:
            logging.disable(level)


def _short(error: BaseException) -> str:
    """Say in a line what stood in the way: exporters write pages."""
    text = str(error)
    if "data-dependent" in text:
        return "what it does depends on the values of its images"
    if "Constraints violated" in text:
        return "what it does holds for one size of batches alone"
    if found := re.search(r"No ONNX function found for <OpOverload\(op='([^']+)'", text):
        return f"ONNX has nothing for its operation {found.group(1)}"
    first = text.strip().partition("\n")[0].partition(" For more information")[0] or type(error).__name__
    return first if len(first) <= LONGEST else f"{first[:LONGEST]}..."
