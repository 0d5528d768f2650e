"""A user's small network: `python own_net.py net.pt` trains it on `shapes/train`, and keeps its weights.

With `net.onnx` it becomes an ONNX file, network and weights in one.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn


def make() -> nn.Module:
    """Return the network, untrained."""
    return nn.Sequential(
        nn.Conv2d(3, 8, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.Conv2d(8, 16, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 8 * 8, 32),
        nn.ReLU(),
        nn.Linear(32, 3),
    )


def train() -> nn.Module:
    """Return the network, trained."""
    classes = sorted(folder.name for folder in Path("shapes/train").iterdir())
    files = [(path, name) for name in classes for path in sorted(Path("shapes/train", name).glob("*.png"))]
    pictures = np.stack([np.asarray(Image.open(path)) for path, _ in files])
    images = torch.from_numpy(pictures.transpose(0, 3, 1, 2) / np.float32(255))
    labels = torch.tensor([classes.index(name) for _, name in files])
    torch.manual_seed(0)
    net = make()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.003)
    for _ in range(40):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net((images - 0.5) / 0.25), labels).backward()
        optimizer.step()
    return net


def export(net: nn.Module, path: str) -> None:
    """Write the network as an ONNX file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions of torch have a newer exporter, too
        torch.onnx.export(
            net.eval(),
            (torch.zeros(1, 3, 32, 32),),
            path,
            input_names=["images"],
            output_names=["logits"],
            dynamic_axes={"images": {0: "n"}, "logits": {0: "n"}},
            dynamo=False,
        )


if __name__ == "__main__":
    _, path = sys.argv
    if path.endswith(".onnx"):
        export(train(), path)
    else:
        torch.save(train().state_dict(), path)
