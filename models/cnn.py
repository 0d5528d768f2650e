"""The classifier of a study of monitors: two convolutions, one pooling and two linear layers."""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import nn

from farm.api import check_number
from models._trained import TrainedModel
from models.training import Recipe, jittered


class CnnModule(nn.Sequential):
    """Two 3 x 3 convolutions without padding, a pooling that halves each side, and two linear layers.

    It is a sequence, so that what comes before its first dropout is computed once for all passes.
    """

    def __init__(
        self, shape: tuple[int, int, int], classes: int, filters: int, hidden: int, dropout: float
    ) -> None:
        channels, height, width = shape
        flat = filters * ((height - 4) // 2) * ((width - 4) // 2)
        parts: dict[str, nn.Module] = {
            "conv1": nn.Conv2d(channels, filters, 3),
            "relu1": nn.ReLU(),
            "dropout1": nn.Dropout(dropout),
            "conv2": nn.Conv2d(filters, filters, 3),
            "relu2": nn.ReLU(),
            "dropout2": nn.Dropout(dropout),
            "pool": nn.MaxPool2d(2),
            "flatten": nn.Flatten(),
            "fc1": nn.Linear(flat, hidden),
            "relu3": nn.ReLU(),
            "dropout3": nn.Dropout(dropout),
            "fc2": nn.Linear(hidden, classes),
        }
        kept = ((name, part) for name, part in parts.items() if dropout or not isinstance(part, nn.Dropout))
        super().__init__(OrderedDict(kept))


class Cnn(TrainedModel):
    """Two convolutions of 32 filters, one max pooling, two linear layers: trained for a few epochs.

    With dropout it gives `members`, and `mc-dropout` makes a classifier of their mean: there the source
    drops 0.6 after each hidden layer and trains for 8 epochs.

    Parameters
    ----------
    epochs
        How many passes over the training data.
    filters
        Channels of each convolution.
    hidden
        Neurons of the first linear layer.
    dropout
        The share of values that is dropped after both convolutions and the first linear layer, in training
        and in members; at 0 it has no members.
    batch_size, learning_rate, weight_decay
        The optimiser's settings (AdamW, one cycle).
    patience
        Stop after this many epochs without a lower validation loss; None never stops early.
    augment
        Turn, scale, shift and relight training images a little.
    loss
        `cross-entropy`; `logistic`, each class against all others; or `adversarial`, cross-entropy on each
        batch and on its FGSM examples.

    Examples
    --------
    >>> Cnn(dropout=0.6, epochs=8).parameters["filters"]
    32
    """

    kind = "cnn"
    smallest = 8
    reference = "Heindrich: Image classifiers in automated vehicles, 2020"

    def __init__(
        self,
        *,
        epochs: int = 4,
        filters: int = 32,
        hidden: int = 128,
        dropout: float = 0.0,
        batch_size: int = 128,
        learning_rate: float = 3e-3,
        weight_decay: float = 1e-4,
        patience: int | None = None,
        augment: bool = False,
        loss: str = "cross-entropy",
    ) -> None:
        check_number("filters", filters, low=1, whole=True)
        check_number("hidden", hidden, low=2, whole=True)
        check_number("dropout", dropout, low=0, high=0.95)
        self._filters, self._hidden, self._dropout = filters, hidden, dropout
        waits = epochs if patience is None else patience
        self._recipe = Recipe(epochs, batch_size, learning_rate, weight_decay, waits, jittered(augment), loss)

    def _network(self, shape: tuple[int, int, int], classes: int) -> nn.Module:
        module = CnnModule(shape, classes, self._filters, self._hidden, self._dropout)
        return module.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]
