"""What classifiers around a network of torch have in common: one pass, eager or by another engine."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import asdict, replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from farm.api import (
    AUTO,
    EAGER,
    ONNX,
    Cache,
    Classifier,
    Engine,
    Images,
    RawOutputs,
    State,
    check_engine,
    engine_versions,
    missing_for,
)
from farm.errors import DataError
from models.engines import (
    CompiledSession,
    OnnxSession,
    Session,
    Unfit,
    exported,
    largest_difference,
    onnx_graph,
)

KIND = "engines"
FORMAT = 1
NO_GRAPH = np.empty(0, dtype=np.uint8)


def _plain(values: Tensor) -> NDArray[np.float32]:
    """Return a tensor of whatever type and device as an array, without steps that are not needed."""
    values = values if values.dtype is torch.float32 else values.float()
    array: NDArray[np.float32] = values.numpy(force=True)
    return array


class NetworkClassifier(Classifier, ABC):
    """A classifier around a network of torch. Subclasses say what they compute from a batch, in tensors.

    An engine is built once, checked on images of the workload, and kept with what came of that. Where it
    gives something else than the network, or cannot be built, the network runs eager.
    """

    engine = Engine(EAGER, EAGER)
    _session: Session | None = None
    _engine_graph = NO_GRAPH

    @abstractmethod
    def _tensors(self, images: Tensor, layers: Sequence[str]) -> list[Tensor]:
        """Return the answers, which are logits where it is capable of them, and each of these layers."""

    @abstractmethod
    def _modules(self, layers: Sequence[str]) -> Sequence[nn.Module]:
        """Return what `_tensors` runs for these layers; raise `Unfit` where that cannot be exported."""

    def _forward(self, images: Images, layers: Sequence[str], members: int) -> RawOutputs:
        del members  # the capability is not declared, so nobody asks
        flags = images.flags
        if not (flags.c_contiguous and flags.writeable):  # torch warns of what nobody may write to
            images = np.require(images, requirements=["C", "W"])
        answers, *values = (
            self._eager(images, layers) if self._session is None else self._session(images, layers)
        )
        activations = dict(zip(layers, values, strict=True))
        if self.capabilities.logits:
            return RawOutputs(logits=answers, activations=activations)
        return RawOutputs(answers, activations=activations)

    def _eager(self, pixels: Images, layers: Sequence[str]) -> list[NDArray[np.float32]]:
        with torch.inference_mode():
            found = self._tensors(torch.from_numpy(pixels), layers)
        return [_plain(value) for value in found]

    def on_engine(self, requested: str, layers: Sequence[str], images: Images, cache: Cache) -> Self:
        """Return it on another engine that gives these layers; it is checked on these images when built."""
        if self.engine.name != EAGER and self._session is None:  # it came as what another engine runs
            super().on_engine(requested, layers, images, cache)
            return self
        if (name := ONNX if requested == AUTO else requested) == EAGER:
            return self._on(Engine(EAGER, requested))
        check_engine(requested)
        if lacking := missing_for(name):
            return self._on(Engine(EAGER, requested, reason=lacking))
        engine = Engine(name, name, layers=tuple(sorted(set(layers))), versions=engine_versions(name))
        key = {
            "format": FORMAT,
            "network": self.digest,
            "engine": engine.key,
            "checked": hashlib.blake2b(np.ascontiguousarray(images).data, digest_size=16).hexdigest(),
            "threads": torch.get_num_threads(),
            "arithmetic": torch.backends.cpu.get_cpu_capability(),
        }
        state = cache.arrays(KIND, key, lambda: self._built(engine, images).engine_state)
        found = self.on_saved_engine(state, images.shape[1:])
        found.engine = replace(found.engine, requested=requested)
        return found

    @property
    def engine_state(self) -> State:
        """The engine as arrays, with what came of its check; nothing of one that came with the network."""
        if self._session is None and self.engine.name != EAGER:
            return {}
        record = {**asdict(self.engine), "network": self.digest}
        told = np.frombuffer(json.dumps(record).encode(), dtype=np.uint8)
        return {"record": told, "graph": self._engine_graph}

    def on_saved_engine(self, state: State, shape: Sequence[int]) -> Self:
        """Return it on an engine that was built before; `shape` is that of an image."""
        record = json.loads(np.asarray(state["record"], dtype=np.uint8).tobytes())
        if record.pop("network") != self.digest:
            raise DataError(f"the engine that was kept is not of classifier '{self.name}' as it is now")
        engine = Engine(**{**record, "layers": tuple(record["layers"])})
        return self._on(engine, np.asarray(state["graph"], dtype=np.uint8), shape)

    def _built(self, engine: Engine, images: Images) -> Self:
        """Build an engine and check it; return it eager where that is unfit."""
        try:
            graph = NO_GRAPH
            if engine.name == ONNX:
                program = self._program(engine.layers, images.shape[1:])
                graph = np.frombuffer(onnx_graph(program), dtype=np.uint8)
            found = self._on(engine, graph, images.shape[1:])
            difference = largest_difference(self.observe, found.observe, images, engine.layers)
        except Unfit as error:
            return self._on(Engine(EAGER, engine.requested, reason=f"{engine.name}: {error}"))
        found.engine = replace(engine, max_diff=difference)
        return found

    def _on(self, engine: Engine, graph: NDArray[Any] = NO_GRAPH, shape: Sequence[int] = ()) -> Self:
        found = copy(self)
        found.engine, found._engine_graph, found._session = engine, graph, None
        if engine.name == EAGER:
            return found
        if engine.name == ONNX:
            found._session = OnnxSession(graph.tobytes(), engine.layers)
        else:
            found._session = CompiledSession(self._program(engine.layers, shape), engine.layers, shape)
        told = f"its engine '{engine.name}' was built without that layer; ask for engine: eager"
        others = dict.fromkeys(set(self.capabilities.layers) - set(engine.layers), told)
        found.capabilities = replace(self.capabilities, layers=engine.layers)
        found.lacks = {**self.lacks, **others, "layers": told}
        return found

    def _program(self, layers: Sequence[str], shape: Sequence[int]) -> torch.export.ExportedProgram:
        def tensors(images: Tensor) -> list[Tensor]:
            return [value.float() for value in self._tensors(images, layers)]

        return exported(tensors, self._modules(layers), np.zeros((2, *shape), dtype=np.float32))
