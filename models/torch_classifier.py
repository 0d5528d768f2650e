"""Any `torch.nn.Module` as a classifier: white box, one forward pass, nothing left behind on the module."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from farm.api import BOX, LAST_HIDDEN, NO_CLASSES, Capabilities, Head, Images, State, StrArray
from farm.errors import ComponentFailure, DataError, ParameterError, RequirementError, suggestion
from models._answers import LOGITS, NO_LOGITS, check_gives, named_answers, why_lacking
from models._network import NetworkClassifier, Passes
from models._passes import DropoutPasses, dropouts
from models.engines import Unfit

MEMBERS_SEED = "members.seed"
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
        Gives one row of logits an image, or what `gives` says. It is put into evaluation mode.
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
    dropout_after
        Parts whose outputs are dropped in such passes, too, and at which rate.
    gives
        `logits`, `box` (left, top, right, bottom in pixels of the image that the module gets), or both: then
        a mapping with these keys, or a tuple in this order. Without logits all classes are as likely.
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
        dropout_after: Mapping[str, float] | None = None,
        gives: Sequence[str] = (LOGITS,),
    ) -> None:
        self.name = name
        self.classes = tuple(classes)
        self._device = _device(device)
        self._module = module.to(self._device).eval().requires_grad_(False)
        self._preprocessing = (preprocessing or Preprocessing()).to(self._device)
        self._order = None if order is None else torch.as_tensor(order, device=self._device)
        self._version = version
        self._parts = {part: m for part, m in module.named_modules() if part}
        self._gives = check_gives(gives)
        self._outputs = tuple(name for name in self._gives if name != LOGITS)
        self._after = dict(dropout_after or {})
        self._dropouts = dropouts(module, self._after)
        self._members_seed = members_seed
        self._passes = DropoutPasses(
            self._preprocessing, self._module, self._dropouts, members_seed, self._in_order
        )
        linear = [part for part, m in self._parts.items() if isinstance(m, nn.Linear)]
        if last_hidden is not None and last_hidden not in self._parts:
            hint = suggestion(last_hidden, self._parts)
            raise ParameterError(f"last_hidden is '{last_hidden}', which the module has not; {hint}")
        self._head = last_hidden or (linear[-1] if linear else None)
        hidden = (LAST_HIDDEN,) if self._head else ()
        sure = LOGITS in self._gives
        shown = sure and isinstance(self._parts.get(self._head or ""), nn.Linear)
        self.capabilities = Capabilities(
            logits=sure,
            layers=(*hidden, *self._parts),
            gradients=sure,
            members=bool(self._dropouts),
            head=shown,
            boxes=BOX in self._gives,
        )
        self.lacks = why_lacking(self._gives)
        if not sure:
            self.notes = {NO_CLASSES: f"{NO_LOGITS}: all classes are as likely"}
        if not self._dropouts:
            self.lacks = {**self.lacks, "members": NO_DROPOUT}

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
        if self._gives != (LOGITS,):
            seen.update(f"gives {', '.join(self._gives)}".encode())
        if self._after:
            seen.update(f"drops after {self._after}".encode())
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
        if LOGITS not in self._gives:
            raise RequirementError(f"classifier '{self.name}' gives no gradients: {NO_LOGITS}")
        return self._answers(images)[0]

    def _answers(self, images: Tensor) -> list[Tensor]:
        """Return logits in the workload's order of classes, or likewise probabilities, and the outputs."""
        return self._in_order(self._module(self._preprocessing(images.to(self._device))), images.shape)

    def _in_order(self, found: Any, shape: Sequence[int]) -> list[Tensor]:
        """Name and check what the module gave for images of a shape."""
        if isinstance(found, Tensor) and not self._outputs:
            return [self._ordered(found)]
        named = named_answers(found, self._gives, self.name)
        given = [named[name] for name in self._outputs]
        if (size := self._preprocessing.size) is not None:
            given = [box * box.new_tensor([shape[3] / size[1], shape[2] / size[0]] * 2) for box in given]
        if (logits := named.get(LOGITS)) is None:
            n = len(self.classes)
            return [given[0].new_full((len(given[0]), n), 1 / n), *given]
        return [self._ordered(logits), *given]

    def _ordered(self, logits: Tensor) -> Tensor:
        check_columns(logits.shape, len(self.classes), self.name)
        return logits if self._order is None else logits[:, self._order]

    def _members(self, images: Images, members: int, ids: StrArray | None = None) -> Passes:
        if not self._dropouts:
            return super()._members(images, members)
        with torch.inference_mode():
            found = self._passes.run(torch.from_numpy(images).to(self._device), members, ids)
            answers = torch.softmax(found[0].double(), dim=2) if LOGITS in self._gives else found[0]
        boxes = found[1].numpy(force=True) if self._outputs else None
        return Passes(answers.numpy(force=True), boxes)

    def _tensors(self, images: Tensor, layers: Sequence[str]) -> list[Tensor]:
        if not layers:
            return self._answers(images)
        kept: dict[str, Tensor] = {}
        handles = [self._hook(layer, kept) for layer in layers]
        try:
            return [*self._answers(images), *(kept[layer] for layer in layers)]
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
