"""Networks of torch that are no classifiers: trained or made again, kept in the cache, computed in chunks."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from farm.api import (
    JSON,
    Context,
    FloatArray,
    Images,
    Network,
    NetworkSource,
    State,
    Workload,
    check_choice,
    derived_seed,
)
from farm.errors import DataError
from models._network_training import NetworkModule, Schedule, as_tensor, train
from models.torch_classifier import load_arrays

M = TypeVar("M", bound=NetworkModule)
PIXELS = 2**16
"""Of so many pixels are the images that are computed at once, so that what lies between layers fits."""


class TorchNetwork(Network, Generic[M]):
    """A module with trained weights, and the validation loss of each epoch of its training.

    Parameters
    ----------
    module
        Has the weights; it is put into evaluation mode.
    shape
        Channels, height and width of the images.
    curve
        The validation loss of each epoch.
    measure
        What the loss is.
    """

    def __init__(self, module: M, shape: tuple[int, int, int], curve: FloatArray, measure: str) -> None:
        self.module = module.eval().requires_grad_(False)
        self.shape = shape
        self.outputs = module.outputs
        self._curve, self._measure = curve, measure
        self.notes = {
            "loss": measure,
            "validation_loss": curve.tolist(),
            "epochs": len(curve),
            "best_epoch": int(curve.argmin()) + 1,
            "final_validation_loss": float(curve.min()),
        }

    @property
    def state(self) -> State:
        """Its weights and the losses of its training, from which its recipe makes it again."""
        weights = {f"module.{k}": v.numpy().copy() for k, v in self.module.state_dict().items()}
        return {**weights, curve_of(self._measure): self._curve}

    def compute(self, images: Images, output: str) -> FloatArray:
        """Return one of its outputs, a row an image."""
        check_choice("output", output, self.outputs)
        return self._in_chunks(images, output)

    def _in_chunks(self, images: Images, output: str) -> FloatArray:
        if images.shape[1:] != self.shape:
            raise DataError(
                f"images have shape {images.shape[1:]}; expected {self.shape}, as the network was trained on"
            )
        size = max(1, min(256, PIXELS // (self.shape[1] * self.shape[2])))
        with torch.inference_mode():
            parts = [
                self._values(as_tensor(images[start : start + size]), output).double().numpy()
                for start in range(0, max(1, len(images)), size)
            ]
        return np.concatenate(parts)

    def _values(self, images: Tensor, output: str) -> Tensor:
        return self.module.values(images, output)


class TorchNetworkSource(NetworkSource):
    """A recipe for such a network. Subclasses say what the module is, and how long to train.

    The weights are kept in the cache under the content of all that made them: the data, the parameters, the
    seed, the code, the thread count, the machine's arithmetic and the version of torch.
    """

    kind: ClassVar[str]
    """What random numbers and kept arrays go by."""
    _schedule: Schedule

    @property
    @abstractmethod
    def _measure(self) -> str:
        """What the loss is, in a word."""

    @abstractmethod
    def _module(self, shape: tuple[int, int, int]) -> NetworkModule:
        """Make the module, with weights from torch's own generator."""

    def _network(self, module: Any, shape: tuple[int, int, int], curve: FloatArray) -> TorchNetwork[Any]:
        return TorchNetwork(module, shape, curve, self._measure)

    def network(self, workload: Workload, context: Context) -> TorchNetwork[Any]:
        """Train it on the training split, or find it in the cache."""

        def make() -> State:
            module = self._drawn(workload.shape, context.seed)
            curve = np.array(train(module, workload, self._schedule, context, self.kind))
            return self._network(module, workload.shape, curve).state

        # Its parameters and its code are in the key of whatever a component keeps.
        key: dict[str, JSON] = {
            "train": workload.train.content_hash,
            "validation": workload.validation.content_hash,
            "seed": context.seed,
            "threads": context.threads,
            "torch": torch.__version__,
            "numpy": np.__version__,
            "arithmetic": torch.backends.cpu.get_cpu_capability(),
        }
        return self.restore(context.cache.arrays(self.kind, key, make), workload.shape)

    def untrained(self, workload: Workload, context: Context) -> TorchNetwork[Any]:
        """Make it with the weights that training begins with."""
        module = self._drawn(workload.shape, context.seed)
        return self._network(module, workload.shape, np.array([np.inf]))

    def restore(self, state: State, shape: tuple[int, int, int]) -> TorchNetwork[Any]:
        """Make it again from its weights, without training."""
        curve = _curve(state, self._measure, self.name)
        module = self._drawn(shape, seed=0)
        load_arrays(module, state, f"network '{self.name}'")
        return self._network(module, shape, curve)

    def _drawn(self, shape: tuple[int, int, int], seed: int) -> NetworkModule:
        # Of its own generator: torch's global one is neither read nor moved.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derived_seed(seed, self.kind, "weights"))
            return self._module(shape)


def curve_of(measure: str) -> str:
    """Return the name of the array of validation losses; the measure in it tells networks apart."""
    return f"validation_loss.{measure}"


def _curve(state: State, measure: str, name: str) -> NDArray[Any]:
    curve = state.get(curve_of(measure))
    if curve is None or curve.ndim != 1 or not len(curve):
        raise DataError(
            f"network '{name}' was not saved with the loss '{measure}': there is no list of numbers "
            f"'{curve_of(measure)}' among its arrays"
        )
    return np.asarray(curve, dtype=np.float64)
