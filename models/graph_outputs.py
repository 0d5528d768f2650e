"""Networks as graphs, with every value on the way by name: programs of torch.export, and ONNX files.

A graph that is asked for its answer alone runs as it came. Where more is asked for, it runs with further
outputs, in one pass: a torch.fx graph is written anew with copies of what is wanted, and an ONNX graph is
opened again with what is wanted among its outputs.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, fx, nn

from farm.api import EAGER, ONNX, Engine
from farm.errors import DataError, one_line
from models._onnx_bytes import OnnxNode, nodes, with_outputs
from models._onnx_files import OnnxFiles
from models.engines import Unfit

THROUGH, LINEAR, TRANSPOSED, ADD, OTHER = "through", "linear", "transposed", "add", "other"
"""What an operation does, as far as the end of a graph asks: `linear` takes weights with a row an output, and
`transposed` with a column."""


class Step(NamedTuple):
    """How a value is made: what is done, and to which values."""

    does: str
    takes: Sequence[str]


class LinearEnd(NamedTuple):
    """The last linear layer of a graph, by the names of its values."""

    hidden: str
    weights: str
    bias: str | None
    transposed: bool


class Graph(ABC):
    """A network from a batch of images to answers."""

    layers: Mapping[str, str]
    """What people call its values, and how it calls them itself."""
    end: LinearEnd | None = None
    lacks: Mapping[str, str]
    """Why it cannot give something, and what to do about it."""
    engine = Engine(EAGER, EAGER)

    def module(self, values: Sequence[str]) -> nn.Module:  # noqa: ARG002
        """Return the module that gives these values; raise `Unfit` where none can be exported."""
        raise Unfit("the program cannot be exported again")

    @abstractmethod
    def run(self, images: Tensor, values: Sequence[str] = ()) -> list[Tensor]:
        """Return the answer, and then each of these values."""

    def head(self, images: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the weights, a row an output, and the bias of its linear end; some images make it run."""
        assert self.end is not None
        asked = [self.end.weights] if self.end.bias is None else [self.end.weights, self.end.bias]
        _, weights, *bias = self.run(images, asked)
        return (weights.T if self.end.transposed else weights), (bias[0] if bias else None)


def linear_end(
    steps: Mapping[str, Step],
    answer: str,
    moving: Container[str],
    shape_of: Callable[[str], Sequence[object] | None],
) -> LinearEnd | None:
    """Find the linear layer that a graph ends in, also behind softmax, flatten and the like.

    `moving` are the values that hang on the images. Where a shape is known, it has to be a matrix's.

    Examples
    --------
    >>> steps = {"a": Step("other", ["x"]), "b": Step("linear", ["a", "w", "v"]), "c": Step("through", ["b"])}
    >>> linear_end(steps, "c", {"x", "a", "b", "c"}, lambda name: None)
    LinearEnd(hidden='a', weights='w', bias='v', transposed=False)
    """
    nothing, at = Step(OTHER, ()), answer
    while (step := steps.get(at, nothing)).does == THROUGH:
        at = step.takes[0]
    added: list[str] = []
    if step.does == ADD and len(step.takes) == 2:
        product, *added = sorted(step.takes, key=lambda name: name not in moving)
        step = steps.get(product, nothing)
    if step.does not in (LINEAR, TRANSPOSED) or len(step.takes) < 2:
        return None
    hidden, weights, *bias = [*step.takes, *added]
    if hidden not in moving or weights in moving or any(one in moving for one in bias) or len(bias) > 1:
        return None
    transposed = step.does == TRANSPOSED
    answers, *matrices = shape_of(answer), shape_of(hidden), shape_of(weights)
    if any(shape is not None and len(shape) != 2 for shape in matrices):
        return None
    # Where rows are put together behind it, it is no layer from an image to its classes.
    if answers and matrices[1] and answers[-1] != matrices[1][transposed]:
        return None
    return LinearEnd(hidden, weights, bias[0] if bias else None, transposed)


class TorchGraph(Graph):
    """The module of a program of torch.export.

    A layer goes by the name of the part of the module whose output it is, as in the module itself; of a part
    that runs more than once, the later times as `name@1`, `name@2`. Any other value goes by the name of its
    node, with a `%` before it where a part has that name.
    """

    def __init__(self, module: fx.GraphModule, what: str) -> None:
        self._module, self._what = module, what
        self._nodes = {node.name: node for node in module.graph.nodes}
        self._written: dict[tuple[str, ...], fx.GraphModule] = {}
        image = next(node for node in module.graph.nodes if node.op == "placeholder")
        moving = {image}
        for node in module.graph.nodes:
            if not moving.isdisjoint(node.all_input_nodes):
                moving.add(node)
        shown = [node for node in module.graph.nodes if node in moving and _is_layer(node, image)]
        self.layers = _names(shown, module.graph.nodes)
        self.lacks = {}
        answer = self._output().all_input_nodes
        if len(answer) == 1:
            steps = {node.name: _torch_step(node) for node in module.graph.nodes}
            self.end = linear_end(steps, answer[0].name, {node.name for node in moving}, self._shape)

    def module(self, values: Sequence[str] = ()) -> fx.GraphModule:
        """Return the module of the program as it is, or one with further outputs."""
        asked = tuple(values)
        if asked and asked not in self._written:
            self._written[asked] = self._with(asked)
        return self._written[asked] if asked else self._module

    def run(self, images: Tensor, values: Sequence[str] = ()) -> list[Tensor]:
        """Run the module as it is, or one with further outputs."""
        if not values:
            answer = self._module(images)
            if not isinstance(answer, Tensor):
                kind = type(answer).__name__
                raise DataError(f"{self._what} gives a {kind}; expected one tensor, images x classes")
            return [answer]
        return list(self.module(values)(images))

    def _with(self, values: Iterable[str]) -> fx.GraphModule:
        graph = fx.Graph()
        anew: dict[fx.Node, fx.Node] = {}
        graph.graph_copy(self._module.graph, anew)
        kept = []
        for value in values:
            node = anew[self._nodes[value]]
            with graph.inserting_after(node):
                # A copy, since what comes next may work in place.
                kept.append(graph.call_function(torch.clone, (node,)))
        (answer,) = self._output().all_input_nodes
        graph.output((anew[answer], *kept))
        return fx.GraphModule(self._module, graph)

    def _output(self) -> fx.Node:
        output: fx.Node = next(node for node in reversed(self._module.graph.nodes) if node.op == "output")
        return output

    def _shape(self, name: str) -> Sequence[object] | None:
        return getattr(self._nodes[name].meta.get("val"), "shape", None)


class ScriptGraph(Graph):
    """TorchScript, which shows nothing but its answer."""

    def __init__(self, script: Callable[[Tensor], Any], what: str) -> None:
        self._script, self._what, self.layers = script, what, {}
        export = "export it by torch.export.export(module.eval(), (images,)) and torch.export.save instead"
        self.lacks = {
            "layers": f"TorchScript shows no layers: {export}",
            "head": f"TorchScript does not show its layers: {export}",
        }

    def run(self, images: Tensor, values: Sequence[str] = ()) -> list[Tensor]:
        """Run the script; nobody can ask for more."""
        del values
        answer = self._script(images)
        if not isinstance(answer, Tensor):
            kind = type(answer).__name__
            raise DataError(f"{self._what} gives a {kind}; expected one tensor, images x classes")
        return [answer]


class OnnxGraph(Graph):
    """An ONNX graph in an onnxruntime session; its layers go by the names that values have there.

    Parameters
    ----------
    session
        Of the file as it is.
    files
        Where the graph's bytes come from, and what opens a session of others.
    """

    engine = Engine(ONNX, ONNX)
    KEPT = 2
    """So many sessions with further outputs are kept, the latest: each has weights of its own."""

    def __init__(self, session: Any, files: OnnxFiles) -> None:
        self._session, self._files = session, files
        self._opened: dict[frozenset[str], Any] = {}
        self._input = session.get_inputs()[0]
        self._answer, *further = [output.name for output in session.get_outputs()]
        self._own = {self._answer, *further}
        self.layers = {name: name for name in further}
        self.lacks = {"gradients": "ONNX has none: bring the network as 'module', or as 'exported'"}
        try:
            self._look(nodes(files.content))
        except Exception as error:  # noqa: BLE001 - what onnxruntime raises has no common base but this
            why = f"no outputs can be added to it ({one_line(error)[:200]}): make layers outputs of the file"
            self.lacks |= {"layers": why, "head": why}

    def run(self, images: Tensor, values: Sequence[str] = ()) -> list[Tensor]:
        """Run the session of the file, or one with further outputs."""
        session, further = self._session, frozenset(values) - self._own
        if further:
            session = self._opened.pop(further, None) or self._session_with(further)
            self._opened[further] = session
            for old in list(self._opened)[: -self.KEPT]:
                del self._opened[old]
        found = session.run([self._answer, *values], {self._input.name: images.numpy()})
        return [torch.from_numpy(value) for value in found]

    def _session_with(self, names: Iterable[str], *, plain: bool = False) -> Any:
        return self._files.session(with_outputs(self._files.content, sorted(names)), plain=plain)

    def _look(self, made_by: Sequence[OnnxNode]) -> None:
        """Find out which values there are, and what they look like; onnxruntime works that out itself."""
        steps: dict[str, Step] = {}
        moving = {self._input.name}
        for node in made_by:
            makes = [name for name in node.makes if name]
            steps |= {
                name: Step(_onnx_does(node) if i == 0 else OTHER, node.takes) for i, name in enumerate(makes)
            }
            if not moving.isdisjoint(node.takes):
                moving.update(makes)
        found = self._session_with({name for name in steps if name in moving} - self._own, plain=True)
        outputs = {output.name: output for output in found.get_outputs()}
        batch = self._input.shape[0]
        shown = [name for name in steps if name in outputs and name != self._answer]
        self.layers = {**self.layers, **{name: name for name in shown if _is_batch(outputs[name], batch)}}

        def shape_of(name: str) -> Sequence[object] | None:
            return outputs[name].shape or None if name in outputs else None

        self.end = linear_end(steps, self._answer, moving, shape_of)


def _is_layer(node: fx.Node, image: fx.Node) -> bool:
    """Say whether a node gives numbers an image; a batch's size is compared as text, since it may be free."""
    value, images = node.meta.get("val"), image.meta.get("val")
    if node.op != "call_function" or not isinstance(value, Tensor) or not isinstance(images, Tensor):
        return False
    return value.is_floating_point() and value.ndim > 1 and str(value.shape[0]) == str(images.shape[0])


def _names(shown: Sequence[fx.Node], everything: Iterable[fx.Node]) -> dict[str, str]:
    """Name nodes by the parts of the module whose outputs they are, and the others by their own names."""
    runs: dict[str, dict[str, set[fx.Node]]] = {}
    for node in everything:
        for run, (path, *_) in (node.meta.get("nn_module_stack") or {}).items():
            part = re.sub(r"^L\['self'\]\.?", "", str(path))
            runs.setdefault(part, {}).setdefault(run, set()).add(node)
    runs.pop("", None)
    names: dict[str, str] = {}
    for part, of_part in runs.items():
        for i, inside in enumerate(of_part.values()):
            # The output of a part is what others use.
            found = [node for node in shown if node in inside and not inside.issuperset(node.users)]
            if len(found) == 1:
                names[f"{part}@{i}" if i else part] = found[0].name
    named = set(names.values())
    for node in shown:
        if node.name not in named:
            names[f"%{node.name}" if node.name in names else node.name] = node.name
    place = {node.name: i for i, node in enumerate(shown)}
    return dict(sorted(names.items(), key=lambda item: place[item[1]]))


_TORCH: Mapping[str, tuple[str, Sequence[int]]] = {
    "aten.linear.default": (LINEAR, (0, 1, 2)),
    "aten.addmm.default": (TRANSPOSED, (1, 2, 0)),
    "aten.mm.default": (TRANSPOSED, (0, 1)),
    "aten.matmul.default": (TRANSPOSED, (0, 1)),
    "aten.add.Tensor": (ADD, (0, 1)),
    "aten.softmax.int": (THROUGH, (0,)),
    "aten._softmax.default": (THROUGH, (0,)),
    "aten.flatten.using_ints": (THROUGH, (0,)),
    "aten.view.default": (THROUGH, (0,)),
    "aten.reshape.default": (THROUGH, (0,)),
    "aten.dropout.default": (THROUGH, (0,)),
    "aten.dropout_.default": (THROUGH, (0,)),
    "aten.clone.default": (THROUGH, (0,)),
    "aten.contiguous.default": (THROUGH, (0,)),
    "aten.alias.default": (THROUGH, (0,)),
    "aten.detach.default": (THROUGH, (0,)),
}
"""What operations of torch do, and where among its arguments the values stand: images, weights, bias."""


def _torch_step(node: fx.Node) -> Step:
    does, places = _TORCH.get(str(node.target), (OTHER, ()))
    takes = [node.args[i] for i in places if i < len(node.args) and node.args[i] is not None]
    if not all(isinstance(one, fx.Node) for one in takes) or (does != THROUGH and node.kwargs):
        return Step(OTHER, ())  # factors, or a number that is added
    return Step(does, [one.name for one in takes if isinstance(one, fx.Node)])


def _onnx_does(node: OnnxNode) -> str:
    if node.kind == "Gemm":
        factors = [node.numbers.get("alpha", 1), node.numbers.get("beta", 1)]
        if factors != [1, 1] or node.numbers.get("transA", 0):
            return OTHER
        return LINEAR if node.numbers.get("transB", 0) else TRANSPOSED
    if node.kind in ("Softmax", "Identity", "Flatten", "Dropout", "Reshape"):
        return THROUGH
    return {"MatMul": TRANSPOSED, "Add": ADD}.get(node.kind, OTHER)


def _is_batch(output: Any, batch: object) -> bool:
    """Say whether a value is floats with a row an image, as far as onnxruntime tells."""
    if output.type not in ("tensor(float)", "tensor(float16)", "tensor(double)") or len(output.shape) < 2:
        return False
    rows = output.shape[0]
    return rows == batch or not isinstance(rows, int)
