"""Neurons that a user lists by number: each once, and all of them in the layer."""

from __future__ import annotations

from collections.abc import Sequence

from farm.errors import ParameterError


def check_once(neurons: Sequence[int]) -> None:
    """Refuse a neuron that is listed twice.

    Examples
    --------
    >>> check_once([3, 7, 3])
    Traceback (most recent call last):
    farm.errors.ParameterError: neurons lists 3 more than once; list each neuron once
    """
    for neuron in neurons:
        if list(neurons).count(neuron) > 1:
            raise ParameterError(f"neurons lists {neuron} more than once; list each neuron once")


def check_there(neurons: Sequence[int], who: str, layer: str, width: int) -> None:
    """Refuse a neuron that the layer does not have; `who` is the monitor that listed it."""
    if max(neurons) >= width:
        raise ParameterError(
            f"monitor '{who}': neurons lists {max(neurons)}, but layer '{layer}' has {width} neurons, "
            f"0 to {width - 1}"
        )
