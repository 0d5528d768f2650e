"""LeNet: the small convolutional network of the benchmark, with 128 neurons in its last hidden layer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from farm.api import (
    JSON,
    Classifier,
    Context,
    ModelSource,
    SavedClassifier,
    State,
    Workload,
    check_number,
    derived_seed,
)
from farm.errors import ParameterError
from models import training
from models.torch_classifier import Preprocessing, TorchClassifier, load_arrays


class LeNetModule(nn.Module):
    """Two convolutions and three linear layers; about 100,000 parameters at 32 x 32 RGB."""

    def __init__(self, channels: int, height: int, width: int, classes: int, hidden: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        flat = 16 * (((height - 4) // 2 - 4) // 2) * (((width - 4) // 2 - 4) // 2)
        self.fc1 = nn.Linear(flat, 168)
        self.fc2 = nn.Linear(168, hidden)
        self.fc3 = nn.Linear(hidden, classes)

    def forward(self, images: Tensor) -> Tensor:
        """Return logits."""
        x = F.max_pool2d(torch.relu(self.conv1(images)), 2)
        x = F.max_pool2d(torch.relu(self.conv2(x)), 2)
        x = torch.relu(self.fc1(x.flatten(1)))
        x = torch.relu(self.fc2(x))
        logits: Tensor = self.fc3(x)
        return logits


class LeNet(ModelSource):
    """LeNet, trained on the workload's training split and stopped early on its validation split.

    The weights are kept in the cache under the content of all that made them: the data, these parameters,
    the seed, the code, the thread count, the machine's arithmetic and the version of torch.

    Parameters
    ----------
    epochs
        At most this many passes over the training data.
    hidden
        Neurons in the last hidden layer.
    batch_size, learning_rate, weight_decay
        The optimiser's settings (AdamW, one cycle).
    patience
        Stop after this many epochs without a lower validation loss.
    augment
        Turn, scale, shift and relight training images a little.

    Examples
    --------
    >>> LeNet(epochs=3).parameters["hidden"]
    128
    """

    reference = (
        "LeCun, Bottou, Bengio, Haffner: Gradient-based learning applied to document recognition, 1998"
    )

    def __init__(
        self,
        *,
        epochs: int = 15,
        hidden: int = 128,
        batch_size: int = 64,
        learning_rate: float = 3e-3,
        weight_decay: float = 1e-4,
        patience: int = 5,
        augment: bool = True,
    ) -> None:
        check_number("epochs", epochs, low=1, whole=True)
        check_number("hidden", hidden, low=2, whole=True)
        check_number("batch_size", batch_size, low=1, whole=True)
        check_number("learning_rate", learning_rate, above=0)
        check_number("weight_decay", weight_decay, low=0)
        check_number("patience", patience, low=1, whole=True)
        self._hidden = hidden
        self._recipe = training.Recipe(epochs, batch_size, learning_rate, weight_decay, patience, augment)

    def classifier(self, workload: Workload, context: Context) -> Classifier:
        """Train on the workload, or find the checkpoint in the cache."""
        module, preprocessing = self._parts(workload, context)

        def make() -> State:
            whole = nn.Sequential(preprocessing, module)
            training.train(whole, workload, self._recipe, context, "lenet")
            return {k: v.numpy() for k, v in module.state_dict().items()}

        weights = context.cache.arrays("lenet", self._key(workload, context), make)
        module.load_state_dict({k: torch.from_numpy(v.copy()) for k, v in weights.items()})
        return TorchClassifier(module, workload.classes, name=self.name, preprocessing=preprocessing)

    def untrained(self, workload: Workload, context: Context) -> Classifier:
        """Make it with the weights that training begins with."""
        module, preprocessing = self._parts(workload, context)
        return TorchClassifier(module, workload.classes, name=self.name, preprocessing=preprocessing)

    def restore(self, saved: SavedClassifier) -> Classifier:
        """Make it again from its weights, without training."""
        module = self._module(saved.shape, len(saved.classes), seed=0)
        load_arrays(module, saved.state, f"model '{self.name}'")
        mean, std = (saved.state[f"preprocessing.{part}"].ravel().tolist() for part in ("mean", "std"))
        return TorchClassifier(module, saved.classes, name=self.name, preprocessing=Preprocessing(mean, std))

    def _parts(self, workload: Workload, context: Context) -> tuple[LeNetModule, Preprocessing]:
        height, width = workload.shape[1:]
        if min(height, width) < 16:
            raise ParameterError(
                f"lenet needs images of at least 16 x 16; workload '{workload.name}' has {height} x {width}"
            )
        module = self._module(workload.shape, len(workload.classes), context.seed)
        return module, Preprocessing(*_statistics(workload))

    def _module(self, shape: tuple[int, int, int], classes: int, seed: int) -> LeNetModule:
        # Of its own generator: torch's global one is neither read nor moved.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derived_seed(seed, "lenet", "weights"))
            return LeNetModule(*shape, classes, self._hidden)

    def _key(self, workload: Workload, context: Context) -> Mapping[str, JSON]:
        # Its parameters and its code are in the key of whatever a component keeps.
        return {
            "workload": workload.content_hash,
            "seed": context.seed,
            "threads": context.threads,
            "torch": torch.__version__,
            "numpy": np.__version__,
            "arithmetic": torch.backends.cpu.get_cpu_capability(),
        }


def _statistics(workload: Workload) -> tuple[list[float], list[float]]:
    """Mean and spread of each channel over the training data."""
    total = np.zeros(workload.shape[0])
    squares = np.zeros(workload.shape[0])
    pixels = 0
    for indices in workload.train.chunks(1024):
        images = workload.train.images.read(indices).astype(np.float64)
        total += images.sum(axis=(0, 2, 3))
        squares += (images**2).sum(axis=(0, 2, 3))
        pixels += images[:, 0].size
    mean = total / pixels
    spread = np.sqrt(np.maximum(squares / pixels - mean**2, 1e-6))
    return mean.tolist(), spread.tolist()
