"""LeNet: the small convolutional network of the benchmark, with 128 neurons in its last hidden layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from farm.api import check_number
from models._trained import TrainedModel
from models.training import Recipe, jittered


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


class LeNet(TrainedModel):
    """LeNet, trained on the workload's training split and stopped early on its validation split.

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
    loss
        `cross-entropy`; `logistic`, each class against all others; or `adversarial`, cross-entropy on each
        batch and on its FGSM examples.

    Examples
    --------
    >>> LeNet(epochs=3).parameters["hidden"]
    128
    """

    kind = "lenet"
    smallest = 16
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
        loss: str = "cross-entropy",
    ) -> None:
        check_number("hidden", hidden, low=2, whole=True)
        self._hidden = hidden
        self._recipe = Recipe(
            epochs, batch_size, learning_rate, weight_decay, patience, jittered(augment), loss
        )

    def _network(self, shape: tuple[int, int, int], classes: int) -> nn.Module:
        return LeNetModule(*shape, classes, self._hidden)
