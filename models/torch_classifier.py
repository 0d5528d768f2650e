"""Any `torch.nn.Module` as a classifier: white box, one forward pass, nothing left behind on the module."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from farm.api import LAST_HIDDEN, Capabilities, FloatArray, Head, Images, State, derived_seed
from farm.errors import ComponentFailure, DataError, ParameterError, suggestion
from models._network import NetworkClassifier
from models.engines import Unfit

MEMBERS_SEED = "members.seed"
TOGETHER = 16
"""So many images go through passes at once, or as many as have PIXELS: more leave the processor's caches."""
PIXELS = TOGETHER * 32 * 32
MOST_MASKS = 2**26
"""Masks are kept up to so many bytes; what goes beyond is drawn again for every batch."""
NO_DROPOUT = "it has no torch.nn.Dropout with p above 0; take one that has, such as vgg-small"


class Preprocessing(nn.Module):
    """From images in [0, 1] to what a network was trained on: size, then mean and spread a channel."""

    def __init__(
        self,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        self.mean: Tensor | None
        self.std: Tensor | None
        self.register_buffer("mean", _per_channel(mean), persistent=False)
        self.register_buffer("std", _per_channel(std), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        """Resize, then normalise; each only where asked for."""
        if self.size is not None and tuple(images.shape[-2:]) != self.size:
            images = F.interpolate(images, self.size, mode="bilinear", antialias=True)
        if self.mean is not None:
            images = images - self.mean
        if self.std is not None:
            images = images / self.std
        return images


class TorchClassifier(NetworkClassifier):
    """A white box around a module that gives logits.

    Layers go by the names of the module's parts and mean their outputs; `last-hidden` means what enters
    the last linear layer. Hooks are there only during a pass that asks for layers.

    Parameters
    ----------
    module
        Gives one row of logits an image. It is put into evaluation mode.
    classes
        The workload's classes, in the workload's order.
    last_hidden
        The part whose input is meant by `last-hidden`; the last linear layer where not given.
    order
        The module's output for each class, where it counts them in another order.
    members_seed
        What the masks of its members are drawn by, where it can give members: a module with
        `torch.nn.Dropout`, p above 0, gives passes with dropout (MC-Dropout). A pass has a mask of its own,
        the same for all images, whatever the batch.
    """

    def __init__(
        self,
        module: nn.Module,
        classes: Sequence[str],
        *,
        name: str,
        preprocessing: Preprocessing | None = None,
        device: str = "cpu",
        last_hidden: str | None = None,
        order: Sequence[int] | None = None,
        version: str = "",
        members_seed: int = 0,
    ) -> None:
        self.name = name
        self.classes = tuple(classes)
        self._device = _device(device)
        self._module = module.to(self._device).eval().requires_grad_(False)
        self._preprocessing = (preprocessing or Preprocessing()).to(self._device)
        self._order = None if order is None else torch.as_tensor(order, device=self._device)
        self._version = version
        self._parts = {part: m for part, m in module.named_modules() if part}
        self._dropouts = {
            part: m for part, m in module.named_modules() if isinstance(m, nn.Dropout) and m.p > 0
        }
        self._members_seed = members_seed
        self._masks: dict[Any, Tensor] = {}
        linear = [part for part, m in self._parts.items() if isinstance(m, nn.Linear)]
        if last_hidden is not None and last_hidden not in self._parts:
            hint = suggestion(last_hidden, self._parts)
            raise ParameterError(f"last_hidden is '{last_hidden}', which the module has not; {hint}")
        self._head = last_hidden or (linear[-1] if linear else None)
        hidden = (LAST_HIDDEN,) if self._head else ()
        shown = isinstance(self._parts.get(self._head or ""), nn.Linear)
        self.capabilities = Capabilities(
            logits=True,
            layers=(*hidden, *self._parts),
            gradients=True,
            members=bool(self._dropouts),
            head=shown,
        )
        if not self._dropouts:
            self.lacks = {"members": NO_DROPOUT}

    def _network_digest(self) -> str:
        """Return a hash of weights, buffers, preprocessing, class order and the maker's version."""
        seen = hashlib.blake2b(digest_size=16)
        for key, value in sorted(self._module.state_dict().items()):
            seen.update(key.encode())
            seen.update(value.detach().cpu().contiguous().numpy().tobytes())
        shape = self._preprocessing
        order = None if self._order is None else self._order.tolist()
        means = [None if t is None else t.flatten().tolist() for t in (shape.mean, shape.std)]
        seen.update(repr((self.classes, order, shape.size, means, self._version)).encode())
        if self._dropouts and self._members_seed:
            seen.update(f"members by {self._members_seed}".encode())
        return seen.hexdigest()

    @property
    def state(self) -> State:
        """Weights and buffers, the normalisation, and what the masks of members are drawn by."""
        arrays = {f"module.{key}": _array(value) for key, value in self._module.state_dict().items()}
        shape = self._preprocessing
        normalisation = {"preprocessing.mean": shape.mean, "preprocessing.std": shape.std}
        arrays |= {key: _array(value) for key, value in normalisation.items() if value is not None}
        return arrays | ({MEMBERS_SEED: np.array(self._members_seed)} if self._dropouts else {})

    @property
    def nbytes(self) -> int:
        """The memory of weights and buffers."""
        return sum(t.nbytes for t in self._module.state_dict().values())

    @property
    def head(self) -> Head:
        """The last linear layer's weights, a row a class in the workload's order."""
        last = self._parts.get(self._head or "")
        if not isinstance(last, nn.Linear):
            return super().head
        order = slice(None) if self._order is None else self._order.cpu().numpy()
        weights = last.weight.detach().cpu().numpy()
        bias = np.zeros(len(weights), np.float32) if last.bias is None else last.bias.detach().cpu().numpy()
        return Head(weights[order].copy(), bias[order].copy())

    def differentiable(self, images: Tensor) -> Tensor:
        """Return logits through which gradients flow back to the images, on whatever device."""
        return self._in_order(self._module(self._preprocessing(images.to(self._device))))

    def _in_order(self, logits: Tensor) -> Tensor:
        """Return what the module gave in the workload's order of classes."""
        if not isinstance(logits, Tensor):
            raise ComponentFailure(
                f"classifier '{self.name}' returned a {type(logits).__name__}; expected a tensor of logits: "
                "wrap the module in one that returns those alone"
            )
        check_columns(logits.shape, len(self.classes), self.name)
        return logits if self._order is None else logits[:, self._order]

    def _members(self, images: Images, members: int) -> FloatArray:
        if not self._dropouts:
            return super()._members(images, members)
        size = max(TOGETHER, PIXELS // math.prod(images.shape[2:]))
        halves = _split_at_dropout(self._preprocessing, self._module, self._dropouts.values())
        with torch.inference_mode():
            chunks = [
                self._passes(torch.from_numpy(images[start : start + size]), members, *halves)
                for start in range(0, max(len(images), 1), size)
            ]
        return np.concatenate(chunks, axis=1)

    def _passes(self, images: Tensor, members: int, before: nn.Module, rest: nn.Module) -> FloatArray:
        shared = before(images.to(self._device))
        passes = [self._in_order(self._masked(rest, shared, number)) for number in range(members)]
        return np.stack([torch.softmax(one.double(), dim=1).numpy(force=True) for one in passes])

    def _masked(self, rest: nn.Module, values: Tensor, number: int) -> Tensor:
        """Return what the module gives in one pass with dropout."""
        handles = [
            part.register_forward_hook(
                _Mask(self._masks, self._members_seed, f"member {number} {name}", part.p)
            )
            for name, part in self._dropouts.items()
        ]
        try:
            found: Tensor = rest(values)
            return found
        finally:
            for handle in handles:
                handle.remove()

    def _tensors(self, images: Tensor, layers: Sequence[str]) -> list[Tensor]:
        if not layers:
            return [self.differentiable(images)]
        kept: dict[str, Tensor] = {}
        handles = [self._hook(layer, kept) for layer in layers]
        try:
            return [self.differentiable(images), *(kept[layer] for layer in layers)]
        finally:
            for handle in handles:
                handle.remove()

    def _modules(self, layers: Sequence[str]) -> Sequence[nn.Module]:
        del layers
        if self._device.type != "cpu":
            raise Unfit(f"the network is on the device '{self._device}', and engines run on the processor")
        return self._preprocessing, self._module

    def _hook(self, layer: str, kept: dict[str, Tensor]) -> Any:
        """Keep a layer's values of the next pass; a copy, since what comes next may work in place."""

        def keep(values: Tensor) -> None:
            if layer in kept:
                raise RuntimeError(f"layer '{layer}' runs twice in one pass; which of its values is meant?")
            kept[layer] = values.detach().clone()

        if layer == LAST_HIDDEN and self._head:
            return self._parts[self._head].register_forward_pre_hook(lambda _, inputs: keep(inputs[0]))
        return self._parts[layer].register_forward_hook(lambda _, __, output: keep(output))


class _Mask:
    """Drops the same values of every image in one pass; what runs again in it drops others."""

    def __init__(self, kept: dict[Any, Tensor], seed: int, name: str, p: float) -> None:
        self._kept, self._seed, self._name, self._p, self._calls = kept, seed, name, p, 0

    def __call__(self, module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        del module, inputs  # in evaluation, dropout gives what it got
        key = self._name, self._calls, output.shape[1:], output.dtype
        if (mask := self._kept.get(key)) is None:
            mask = self._drawn(output)
            if sum(one.nbytes for one in self._kept.values()) + mask.nbytes <= MOST_MASKS:
                self._kept[key] = mask
        self._calls += 1
        return output * mask

    def _drawn(self, output: Tensor) -> Tensor:
        seed = derived_seed(self._seed, self._name, self._calls)
        drawn = torch.rand((1, *output.shape[1:]), generator=torch.Generator().manual_seed(seed))
        left = (drawn >= self._p).to(output)
        if output.dim() == 4 and not output.is_contiguous():  # values side by side that are multiplied so
            left = left.to(memory_format=torch.channels_last)
        return left / (1 - self._p) if self._p < 1 else left


def _split_at_dropout(
    preprocessing: nn.Module, module: nn.Module, dropouts: Iterable[nn.Module]
) -> tuple[nn.Module, nn.Module]:
    """Return what all passes share, of a plain sequence what is before its first dropout, and the rest."""
    hooks = module._forward_hooks or module._forward_pre_hooks
    parts: list[nn.Module] = []
    if isinstance(module, nn.Sequential) and type(module).forward is nn.Sequential.forward and not hooks:
        parts = list(module)
    drops = {*dropouts}
    at = next((i for i, part in enumerate(parts) if drops & {*part.modules()}), None)
    # What lies deeper might change in place what all passes begin with.
    if at is None or parts[at] not in drops:
        return nn.Identity(), nn.Sequential(preprocessing, module)
    return nn.Sequential(preprocessing, *parts[:at]), nn.Sequential(*parts[at:])


def members_seed(state: State) -> int:
    """Return what the masks of a saved classifier's members are drawn by."""
    return int(state[MEMBERS_SEED]) if MEMBERS_SEED in state else 0


def check_columns(shape: Sequence[int], n_classes: int, name: str) -> None:
    """Check that outputs are one row an image and one column a class, before columns are put in order."""
    if len(shape) != 2:
        raise ComponentFailure(
            f"classifier '{name}' returned shape {tuple(shape)}; expected images x classes"
        )
    if shape[1] != n_classes:
        raise ComponentFailure(
            f"classifier '{name}' returned {shape[1]} outputs; expected {n_classes}, "
            "one a class of the workload: give it the images of all its classes, or another last layer"
        )


def load_arrays(module: nn.Module, state: State, what: str) -> None:
    """Put the weights and buffers of a saved state into a module that was made anew."""
    saved = {key.removeprefix("module."): array for key, array in state.items() if key.startswith("module.")}
    own = module.state_dict()
    for key in [*own, *saved]:
        there, wanted = _form(saved.get(key)), _form(own.get(key))
        if there != wanted:
            raise DataError(
                f"the code of {what} has changed since it was saved: its part '{key}' is now "
                f"{wanted}, and was {there}"
            )
    module.load_state_dict({key: torch.from_numpy(np.array(array)) for key, array in saved.items()})


def _form(values: Any) -> str:
    if values is None:
        return "not there"
    kind = str(values.dtype).removeprefix("torch.")
    return f"{kind} {' x '.join(map(str, values.shape))}".rstrip()


def _array(values: Tensor) -> np.ndarray[Any, Any]:
    """Return a tensor's values, whatever its device, and wherever its memory lies."""
    return np.array(values.detach().cpu().contiguous().numpy())


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ParameterError(f"device is '{name}', which this machine cannot use ({reason})") from None
    return device


def _per_channel(values: Sequence[float] | None) -> Tensor | None:
    return None if values is None else torch.tensor(values, dtype=torch.float32).view(1, -1, 1, 1)
