"""Arrays of numbers and text as plain bytes with a record beside them, and back: exactly as they were."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farm.api import JSON, State

RECORD = "record"
PLAIN = "biufcUS"
"""Kinds of arrays that are kept: numbers, truth values, text."""


def pack(arrays: State, record: Mapping[str, JSON]) -> State:
    """Give arrays as bytes, with their names, order, types and memory layout, and a record of more.

    The layout too: sums of the same numbers in another order of memory differ in their last bits.
    Raise a `TypeError` or `ValueError` where something cannot be written down plainly.

    Examples
    --------
    >>> kept = pack({"names": np.array(["é", "b"])}, {"seed": 1})
    >>> arrays, record = unpack(kept)
    >>> arrays["names"].tolist(), dict(record)
    (['é', 'b'], {'seed': 1})
    """
    forms = [_form(name, array) for name, array in arrays.items()]
    text = json.dumps({"arrays": forms, "record": dict(record)}, allow_nan=False)
    return {
        RECORD: np.frombuffer(text.encode(), np.uint8),
        **{str(i): _bytes_of(array) for i, array in enumerate(arrays.values())},
    }


def unpack(kept: State) -> tuple[State, Mapping[str, Any]]:
    """Give arrays and record as they were packed."""
    said = json.loads(kept[RECORD].tobytes())
    arrays = {form["name"]: _array_of(kept[str(i)], form) for i, form in enumerate(said["arrays"])}
    return arrays, said["record"]


def _form(name: str, array: NDArray[Any]) -> dict[str, JSON]:
    if array.dtype.kind not in PLAIN:
        raise TypeError(f"its '{name}' is of type {array.dtype}")
    turned = array.flags.f_contiguous and not array.flags.c_contiguous
    return {"name": name, "type": array.dtype.str, "shape": array.shape, "turned": turned}


def _bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    inside = array.T if array.flags.f_contiguous else np.ascontiguousarray(array)
    return inside.reshape(-1).view(np.uint8)


def _array_of(kept: NDArray[Any], form: Mapping[str, Any]) -> NDArray[Any]:
    # An array of its own, since in a file it may lie where its type should not.
    array: NDArray[Any] = np.empty(form["shape"], form["type"], order="F" if form["turned"] else "C")
    _bytes_of(array)[:] = kept
    return array
