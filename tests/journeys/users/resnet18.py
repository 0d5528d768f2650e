"""A user's ResNet-18: `python resnet18.py` fits its last layer to `shapes.npz`, and keeps the weights.

K. He et al., Deep Residual Learning for Image Recognition, CVPR 2016. Its first layers are left as they are
drawn, which is quick and tells simple shapes apart.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

WIDTHS = (64, 128, 256, 512)


class Block(nn.Module):
    """Two convolutions, and a way past them."""

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, width, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.relu1 = nn.ReLU()
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.relu2 = nn.ReLU()
        self.past = nn.Sequential()
        if stride != 1 or before != width:
            self.past = nn.Sequential(nn.Conv2d(before, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, images: Tensor) -> Tensor:
        inside = self.relu1(self.norm1(self.conv1(images)))
        return self.relu2(self.norm2(self.conv2(inside)) + self.past(images))


class ResNet18(nn.Module):
    """The network of eighteen layers."""

    def __init__(self, n_classes: int = 3) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2, padding=1),
        )
        blocks = []
        for before, width in zip((64, *WIDTHS), WIDTHS, strict=False):
            blocks += [Block(before, width, 1 if width == 64 else 2), Block(width, width, 1)]
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(512, n_classes)

    def features(self, images: Tensor) -> Tensor:
        return self.pool(self.blocks(self.stem(images)))

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.features(images))


def fitted() -> ResNet18:
    """Return the network with its last layer fitted, and its norms to the training images."""
    data = np.load("shapes.npz", allow_pickle=False)
    images = torch.from_numpy(data["x_train"].transpose(0, 3, 1, 2) / np.float32(255))
    labels = torch.from_numpy(data["y_train"])
    torch.manual_seed(0)
    net = ResNet18()
    for part in net.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.momentum = None  # the mean over all that it sees
    with torch.no_grad():
        net(images)
        net.eval()
        features = net.features(images)
    optimizer = torch.optim.LBFGS(net.head.parameters(), max_iter=50, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        wrong = nn.functional.cross_entropy(net.head(features), labels)
        wrong.backward()
        return wrong

    optimizer.step(loss)
    return net


if __name__ == "__main__":
    torch.save(fitted().state_dict(), "resnet18.pt")
