"""What classifiers around a network of torch have in common: one pass, eager or by another engine."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import asdict, replace
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from farm.api import (
    AUTO,
    EAGER,
    ENGINES,
    ONNX,
    Cache,
    Classifier,
    Engine,
    FloatArray,
    Images,
    Needs,
    RawOutputs,
    State,
    StrArray,
    check_choice,
    check_engine,
    engine_versions,
    missing_for,
)
from farm.errors import ComponentFailure, DataError, RequirementError
from models.engines import (
    CompiledSession,
    OnnxSession,
    Session,
    Unfit,
    exported,
    largest_difference,
    onnx_graph,
    unlike_any,
)

KIND = "engines"
FORMAT = 1
NO_GRAPH = np.empty(0, dtype=np.uint8)
OUTPUT = "output {}"
"""What an engine's session calls an output, which may be called like a layer."""


class Passes(NamedTuple):
    """What passes with dropout give, passes x instances x columns."""

    probabilities: FloatArray
    boxes: NDArray[np.float32] | None


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
    _itself: Self | None = None
    """The eager one, of a classifier on an engine."""
    _session: Session | None = None
    _built_for = ""
    """What the digest was when the session was made."""
    _engine_graph = NO_GRAPH
    _outputs: tuple[str, ...] = ()
    """What it gives beside classes, such as `box`."""

    @property
    def digest(self) -> str:
        """A hash of everything that decides the outputs; refused where they are not what the engine runs."""
        now = self._network_digest()
        if self._session is not None and now != self._built_for:
            raise ComponentFailure(
                f"the weights of classifier '{self.name}' were changed after its engine '{self.engine.name}' "
                "was built, which still has the old ones; ask for the engine again (on_engine)"
            )
        return now

    @abstractmethod
    def _network_digest(self) -> str:
        """Return the hash as it is now."""

    @abstractmethod
    def _tensors(self, images: Tensor, layers: Sequence[str]) -> list[Tensor]:
        """Return the answers, which are logits where it is capable of them, each output and these layers."""

    @abstractmethod
    def _modules(self, layers: Sequence[str]) -> Sequence[nn.Module]:
        """Return what `_tensors` runs for these layers; raise `Unfit` where that cannot be exported."""

    def _forward(self, images: Images, layers: Sequence[str], members: int) -> RawOutputs:
        flags = images.flags
        if not (flags.c_contiguous and flags.writeable):  # torch warns of what nobody may write to
            images = np.require(images, requirements=["C", "W"])
        session, beside = self._session, len(self._outputs)
        asked = self._asked(layers) if beside else layers
        answers, *values = self._eager(images, layers) if session is None else session(images, asked)
        outputs = dict(zip(self._outputs, values[:beside], strict=True))
        activations = dict(zip(layers, values[beside:], strict=True))
        # Whatever runs the network, its members run eager: an engine has dropout no more.
        passes = self._members(images, members).probabilities if members else None
        if self.capabilities.logits:
            return RawOutputs(logits=answers, activations=activations, members=passes, outputs=outputs)
        return RawOutputs(answers, activations=activations, members=passes, outputs=outputs)

    def _asked(self, layers: Sequence[str]) -> tuple[str, ...]:
        return *map(OUTPUT.format, self._outputs), *layers

    def _members(self, images: Images, members: int, ids: StrArray | None = None) -> Passes:
        """Return so many passes (capability `members`), where ids are given by masks of each image's own."""
        del images, members, ids
        raise RequirementError(f"classifier '{self.name}' is one network: it gives no members")

    def _eager(self, pixels: Images, layers: Sequence[str]) -> list[NDArray[np.float32]]:
        with torch.inference_mode():
            found = self._tensors(torch.from_numpy(pixels), layers)
        return [_plain(value) for value in found]

    def on_engine(self, requested: str, layers: Sequence[str], images: Images, cache: Cache) -> Self:
        """Return it on another engine that gives these layers; it is checked on these images when built."""
        check_choice("engine", requested, ENGINES)
        plain = self._itself or self
        if plain.engine.name != EAGER:  # it came as what another engine runs
            super().on_engine(requested, layers, images, cache)
            return self
        check_engine(requested)
        if (name := ONNX if requested == AUTO else requested) == EAGER:
            return plain._on(Engine(EAGER, requested))
        if lacking := missing_for(name):
            return plain._on(Engine(EAGER, requested, reason=lacking))
        engine = Engine(name, name, layers=tuple(sorted(set(layers))), versions=engine_versions(name))
        plain.resolve(Needs(layers=engine.layers), f"engine '{name}'")
        key = {
            "format": FORMAT,
            "network": plain.digest,
            "engine": engine.key,
            "checked": hashlib.blake2b(np.ascontiguousarray(images).data, digest_size=16).hexdigest(),
            "threads": torch.get_num_threads(),
            "arithmetic": torch.backends.cpu.get_cpu_capability(),
        }
        state = cache.arrays(KIND, key, lambda: plain._built(engine, images).engine_state)
        try:
            found = plain.on_saved_engine(state, images.shape[1:])
        except RequirementError:  # something else changed that its code depends on, and no key tells
            found = plain._built(engine, images)
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
        """Return it on an engine that was built before; it is checked on images that no workload has."""
        plain = self._itself or self
        record = json.loads(np.asarray(state["record"], dtype=np.uint8).tobytes())
        if record.pop("network") != plain.digest:
            raise DataError(f"the engine that was kept is not of classifier '{self.name}' as it is now")
        engine = Engine(**{**record, "layers": tuple(record["layers"])})
        try:
            found = plain._on(engine, np.asarray(state["graph"], dtype=np.uint8), shape)
            if found._session is not None:
                largest_difference(plain.observe, found.observe, unlike_any(shape), engine.layers)
        except Unfit as error:
            raise RequirementError(f"engine '{engine.name}' cannot be used here: {error}") from None
        return found

    def _built(self, engine: Engine, images: Images) -> Self:
        """Build an engine and check it; return it eager where that is unfit."""
        try:
            graph, shape = NO_GRAPH, images.shape[1:]
            if engine.name == ONNX:
                graph = np.frombuffer(onnx_graph(self._program(engine.layers, shape)), dtype=np.uint8)
            found = self._on(engine, graph, shape)
            # Those that nobody has come first, since the first are looked at in small batches too.
            looked_at = np.concatenate([unlike_any(shape), images])
            difference = largest_difference(self.observe, found.observe, looked_at, engine.layers)
        except Unfit as error:
            return self._on(Engine(EAGER, engine.requested, reason=f"{engine.name}: {error}"))
        found.engine = replace(engine, max_diff=difference)
        return found

    def _on(self, engine: Engine, graph: NDArray[Any] = NO_GRAPH, shape: Sequence[int] = ()) -> Self:
        found = copy(self)
        found.engine, found._engine_graph, found._itself = engine, graph, self
        if engine.name == EAGER:
            return found
        found._built_for = self.digest
        if engine.name == ONNX:
            found._session = OnnxSession(graph.tobytes(), self._asked(engine.layers))
        else:
            program = self._program(engine.layers, shape)
            found._session = CompiledSession(program, self._asked(engine.layers), shape)
        told = (
            f"its engine '{engine.name}' was built without that layer; name it, or the monitor, where the "
            "engine is asked for"
        )
        others = dict.fromkeys(set(self.capabilities.layers) - set(engine.layers), told)
        found.capabilities = replace(self.capabilities, layers=engine.layers)
        found.lacks = {**self.lacks, **others, "layers": told}
        return found

    def _program(self, layers: Sequence[str], shape: Sequence[int]) -> torch.export.ExportedProgram:
        def tensors(images: Tensor) -> list[Tensor]:
            return [value.float() for value in self._tensors(images, layers)]

        return exported(tensors, self._modules(layers), np.zeros((2, *shape), dtype=np.float32))
