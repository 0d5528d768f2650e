"""torchvision's networks, fitted to the images at hand; an extra, `pip install 'farm-testbed[vision]'`."""

from __future__ import annotations

import importlib
from typing import Any

from torch import nn

from farm.errors import RequirementError, one_line

SMALLEST = 32
"""Smaller images are enlarged to this: at half of it nothing would be left after five poolings."""


def torchvision(who: str) -> Any:
    """Import it, with its networks; an error names who needs it."""
    try:
        importlib.import_module("torchvision.models")
        return importlib.import_module("torchvision")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "torchvision":
            raise RequirementError(f"torchvision cannot be imported: {error}") from error
        raise RequirementError(
            f"{who} needs the package torchvision, which is not installed; "
            "try: pip install 'farm-testbed[vision]'"
        ) from None
    except (ImportError, RuntimeError, OSError) as error:
        # Beside a torch that it was not built for, it breaks on import.
        raise RequirementError(
            f"torchvision is installed but cannot be imported ({one_line(error)}); expected one that was "
            "built for the installed torch"
        ) from error


def enlarged(shape: tuple[int, int, int]) -> tuple[int, int] | None:
    """Return the height and width that small images are brought to; None where they stay as they are."""
    height, width = shape[1:]
    return None if min(height, width) >= SMALLEST else (max(height, SMALLEST), max(width, SMALLEST))


def for_channels(convolution: nn.Conv2d, channels: int) -> nn.Conv2d:
    """Return a convolution for so many channels: itself, or a new one like it."""
    if convolution.in_channels == channels:
        return convolution
    kernel, stride, padding = convolution.kernel_size, convolution.stride, convolution.padding
    bias = convolution.bias is not None
    return nn.Conv2d(channels, convolution.out_channels, kernel, stride, padding, bias=bias)  # type: ignore[arg-type]


def fit_resnet(made: Any, channels: int, side: int) -> None:
    """Make a ResNet take so many channels; for small images its first layers keep every pixel."""
    if side < 64:
        made.conv1 = nn.Conv2d(channels, 64, 3, padding=1, bias=False)
        made.maxpool = nn.Identity()
    else:
        made.conv1 = for_channels(made.conv1, channels)
