"""Files of torch.export and TorchScript, opened and looked at before they are run."""

from __future__ import annotations

import hashlib
import io
import warnings
import zipfile
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import nn

from farm.errors import DataError, one_line
from models.graph_outputs import Graph, ScriptGraph, TorchGraph

M = TypeVar("M", bound=nn.Module)


@dataclass(frozen=True)
class Program:
    """What a file holds: its graph, a hash, its weights' memory, and the input it declares."""

    graph: Graph
    digest: bytes
    nbytes: int
    takes: list[int | None] | None = None


def load_program(content: bytes, device: torch.device, what: str) -> Program:
    """Load what a file of either format holds; see from the content which it is."""
    kind = _kind(content, what)
    digest = hashlib.blake2b(content, digest_size=16).digest()
    try:
        if kind == "torch.export":
            return _load_export(content, digest, device, what)
        with warnings.catch_warnings():
            # Torch asks whoever writes TorchScript to stop; whoever has such a file can still use it.
            warnings.simplefilter("ignore")
            script = torch.jit.load(io.BytesIO(content), map_location=device)
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"{what} cannot be loaded as {kind}: {one_line(error)[:300]}") from error
    return Program(ScriptGraph(_without_gradients(script.eval()), what), digest, _nbytes(script))


def _load_export(content: bytes, digest: bytes, device: torch.device, what: str) -> Program:
    program = torch.export.load(io.BytesIO(content))
    if device.type != "cpu":
        from torch.export.passes import move_to_device_pass

        program = move_to_device_pass(program, device)
    inputs = program.graph_signature.user_inputs
    shapes = {n.name: n.meta["val"].shape for n in program.graph.nodes if n.op == "placeholder" and n.meta}
    if len(inputs) != 1 or inputs[0] not in shapes:
        raise DataError(f"{what} takes {len(inputs)} inputs; expected one, a batch of images")
    takes = [n if isinstance(n, int) else None for n in shapes[inputs[0]]]
    # Whether dropout is at work was decided when it was exported, so there is no evaluation mode to set.
    module = program.module()
    return Program(TorchGraph(_without_gradients(module), what), digest, _nbytes(module), takes)


def _kind(content: bytes, what: str) -> str:
    """Tell the two formats apart, and from plain weights, without running anything."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            # A truncated file may end in an archive that lay within it; that one does not begin at the start.
            if min((part.header_offset for part in archive.infolist()), default=0):
                raise zipfile.BadZipFile("it does not begin with its first part")
            names = {name.rpartition("/")[2] for name in archive.namelist()}
            damaged = archive.testzip()
    except (OSError, zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError) as error:
        raise DataError(
            f"{what} cannot be read ({error}); expected a file of torch.export or TorchScript: is it "
            "truncated?"
        ) from error
    if damaged is not None:
        raise DataError(f"{what} is damaged (in '{damaged}'); expected what torch wrote")
    if names & {"archive_format", "serialized_exported_program.json"}:
        return "torch.export"
    if "constants.pkl" in names:
        return "TorchScript"
    hint = "; for a state dict use the classifier 'module'" if "data.pkl" in names else ""
    raise DataError(f"{what} holds no program; expected a file of torch.export or TorchScript{hint}")


def _without_gradients(module: M) -> M:
    for weights in module.parameters():
        weights.requires_grad_(False)  # gradients are asked of images alone
    return module


def _nbytes(module: nn.Module) -> int:
    return sum(t.nbytes for t in [*module.parameters(), *module.buffers()])
