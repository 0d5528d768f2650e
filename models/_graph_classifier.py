"""A graph that somebody brought along as a classifier: its answers, its layers, its head, its gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from farm.api import LAST_HIDDEN, Capabilities, Head, Images, Needs, State
from farm.errors import ParameterError, RequirementError, suggestion
from models._inputs import Task, in_batches
from models._network import NetworkClassifier
from models.engines import Unfit
from models.graph_outputs import Graph
from models.torch_classifier import Preprocessing, check_columns

LAST = 4
"""So many layers are named where it is not known which the last hidden one is."""


class GraphClassifier(NetworkClassifier):
    """A graph from images to logits or probabilities.

    Parameters
    ----------
    graph
        What runs. All that it shows is a layer.
    task
        What it is for.
    digest, nbytes, files
        A hash of all that decides the outputs, the memory of the weights where anybody can tell, and what
        gives the arrays that it is saved as.
    takes
        Height and width that the graph is given.
    outputs
        What it gives: `logits` or `probabilities`.
    last_hidden
        The layer that is meant by `last-hidden`; what enters the linear layer at its end where not given.
    batch
        The one batch size that it takes, if it does not take any.
    """

    def __init__(
        self,
        graph: Graph,
        task: Task,
        *,
        name: str,
        digest: str,
        nbytes: int | None,
        files: Callable[[], State],
        preprocessing: Preprocessing,
        device: torch.device,
        order: Sequence[int] | None,
        outputs: str,
        last_hidden: str | None,
        batch: int | None,
    ) -> None:
        self.name = name
        self.classes = tuple(task.classes)
        self._graph, self._digest, self._nbytes, self._files = graph, digest, nbytes, files
        self._preprocessing, self._device, self._batch = preprocessing, device, batch
        self._shape = (task.shape[0], *(preprocessing.size or task.shape[1:]))
        self._order = None if order is None else torch.as_tensor(order, device=device)
        self._logits = outputs == "logits"
        self._values = dict(graph.layers)
        self.engine = graph.engine
        self.lacks = dict(graph.lacks)
        if last_hidden is not None and last_hidden not in self._values:
            hint = graph.lacks.get("layers") or suggestion(last_hidden, self._values)
            raise ParameterError(f"last_hidden is '{last_hidden}', which is no layer of the graph; {hint}")
        hidden = graph.end.hidden if graph.end else None
        if last_hidden is not None:
            hidden = self._values[last_hidden]
        if hidden is not None:
            self._values[LAST_HIDDEN] = hidden
        head = graph.end is not None and graph.end.hidden == hidden
        end, last = "its graph does not end in a linear layer", ", ".join(list(self._values)[-LAST:])
        told = f"{end}: set the classifier's last_hidden to the layer that is meant; its last ones: {last}"
        self.lacks.setdefault(LAST_HIDDEN, told)
        self.lacks.setdefault("head", end if last_hidden is None else f"{end} that takes '{last_hidden}'")
        if not self._logits:
            told = "it gives probabilities: export it without its softmax, and leave out `outputs`"
            self.lacks |= {"logits": told, "gradients": told}
        self.capabilities = Capabilities(logits=self._logits, layers=tuple(self._values), head=head)

    def _network_digest(self) -> str:
        """Return a hash of the file, of what lies beside it, and of the settings around it."""
        return self._digest

    @property
    def state(self) -> State:
        """The bytes of its files, and whether gradients were found to flow through it."""
        if "gradients" in self._graph.lacks:
            return self._files()
        return {**self._files(), "gradients": np.array(self.capabilities.gradients)}

    @property
    def nbytes(self) -> int | None:
        """The memory of weights and buffers, where anybody can tell."""
        return self._nbytes

    @property
    def head(self) -> Head:
        """The weights of the linear layer that it ends in, a row a class in the workload's order."""
        if not self.capabilities.head:
            return super().head
        with torch.inference_mode():
            images = torch.zeros((self._batch or 1, *self._shape), device=self._device)
            weights, bias = self._graph.head(images)
            bias = weights.new_zeros(len(weights)) if bias is None else bias
            order = slice(None) if self._order is None else self._order
            rows, values = weights[order].float().cpu(), bias[order].float().cpu()
        return Head(rows.contiguous().numpy().copy(), values.contiguous().numpy().copy())

    def differentiable(self, images: Tensor) -> Tensor:
        """Return logits through which gradients flow back to the images."""
        if not self._logits or "gradients" in self._graph.lacks:
            raise RequirementError(f"classifier '{self.name}' gives no gradients: {self.lacks['gradients']}")
        return self._run(images)[0]

    def find_gradients(self, images: Images) -> None:
        """Declare gradients if they reach these images, and are finite there."""
        if not self._logits:
            return
        pixels = torch.from_numpy(np.array(images)).requires_grad_()
        try:
            best = self.differentiable(pixels).max(dim=1).values.sum()
            (gradient,) = torch.autograd.grad(best, pixels)
        except RuntimeError:
            return  # the program detaches its input, or works in integers
        self.declare_gradients(flow=bool(torch.isfinite(gradient).all()))

    def declare_gradients(self, *, flow: bool) -> None:
        """Say whether gradients flow."""
        self.capabilities = replace(self.capabilities, gradients=flow)

    def _run(self, images: Tensor, values: Sequence[str] = ()) -> list[Tensor]:
        """Return the answers in the workload's order, and then each of these values."""
        ready = self._preprocessing(images.to(self._device))
        if self._batch is None:
            found = self._graph.run(ready, values)
        else:
            parts = [
                [value[:n] for value in self._graph.run(part, values)]
                for part, n in in_batches(ready, self._batch)
            ]
            found = [torch.cat(one) for one in zip(*parts, strict=True)]
        check_columns(found[0].shape, len(self.classes), self.name)
        return found if self._order is None else [found[0][:, self._order], *found[1:]]

    def _tensors(self, images: Tensor, layers: Sequence[str]) -> list[Tensor]:
        if any(layer not in self._values for layer in layers):
            self.resolve(Needs(layers=tuple(layers)), "whoever asks")
        wanted = self._wanted(layers)
        answers, *found = self._run(images, wanted)
        values = dict(zip(wanted, found, strict=True))
        return [answers, *(values[self._values[layer]] for layer in layers)]

    def _modules(self, layers: Sequence[str]) -> Sequence[nn.Module]:
        if self._device.type != "cpu":
            raise Unfit(f"the program is on the device '{self._device}', and engines run on the processor")
        if self._batch is not None:
            raise Unfit(f"the program takes batches of {self._batch} alone")
        return self._preprocessing, self._graph.module(self._wanted(layers))

    def _wanted(self, layers: Sequence[str]) -> list[str]:
        """Return the graph's values for these layers; one that goes by two names is computed once."""
        return list(dict.fromkeys(self._values[layer] for layer in layers))
