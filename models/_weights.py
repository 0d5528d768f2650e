"""Weights in files that people bring along, none of which may hold code."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from farm.errors import DataError


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read a state dict: a `.safetensors` file, or what torch wrote, by `weights_only`."""
    try:
        if path.suffix == ".safetensors":
            weights: Any = load_file(path)
        else:
            weights = torch.load(path, map_location="cpu", weights_only=True)
    except _unpickling_error() as error:
        raise DataError(
            f"classifier.weights '{path}' cannot be loaded: it holds pickled code or is damaged; expected a "
            "state dict, whole and without pickled code: save module.state_dict()"
        ) from error
    except (SafetensorError, RuntimeError, OSError, EOFError, ValueError, struct.error) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise DataError(
            f"classifier.weights '{path}' cannot be loaded ({reason}); expected a state dict, whole and "
            "without pickled code: save module.state_dict()"
        ) from error
    if not isinstance(weights, dict) or not all(isinstance(v, Tensor) for v in weights.values()):
        raise DataError(f"classifier.weights '{path}' holds no state dict; save module.state_dict() alone")
    return weights


def fit_weights(
    module: nn.Module,
    weights: dict[str, Tensor],
    path: Path,
    remedy: str = "save the state_dict() of what the factory makes",
) -> None:
    """Put weights into a module that they have to fit."""
    _check_shapes(module, weights, path)
    wrong = module.load_state_dict(weights, strict=False)
    if wrong.missing_keys or wrong.unexpected_keys:
        raise DataError(
            f"classifier.weights '{path}' do not fit the module: missing {wrong.missing_keys[:3]}, "
            f"unexpected {wrong.unexpected_keys[:3]}: {remedy}"
        )


def _check_shapes(module: nn.Module, weights: dict[str, Tensor], path: Path) -> None:
    for key, value in module.state_dict().items():
        if key in weights and weights[key].shape != value.shape:
            raise DataError(
                f"classifier.weights '{path}': '{key}' has shape {tuple(weights[key].shape)}; the module "
                f"expects {tuple(value.shape)}: take the module that was trained"
            )


def _unpickling_error() -> type[Exception]:
    import pickle  # only for the name of the error that torch raises on foreign content

    return pickle.UnpicklingError
