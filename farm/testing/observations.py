"""Observations cut, joined, copied and disturbed, so that rules can ask what a monitor makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from farm.api import BOX, BOX_SPREAD, Needs, Observation, RawOutputs, read_only

Array = NDArray[Any]
T = TypeVar("T", Observation, RawOutputs)
ONE_AN_INSTANCE = ("ids", "images", "probabilities", "predicted", "confidence", "logits", "track")
HIDDEN = ("logits",)
NUMBERS = ("images", "probabilities", "confidence", *HIDDEN)


def fresh(observation: Observation) -> Observation:
    """Copy it, arrays and all, as read-only as a classifier hands it out."""
    return _from([observation], lambda arrays, axis: arrays[0].copy())  # noqa: ARG005


def joined(parts: Sequence[Observation]) -> Observation:
    """Put observations one after the other."""
    return _from(parts, lambda arrays, axis: np.concatenate(arrays, axis=axis))


def batches(observation: Observation, size: int) -> Iterator[Observation]:
    """Cut it into batches, in order."""
    for start in range(0, len(observation), size):
        yield observation.take(slice(start, start + size))


def arrays_of(observation: Observation) -> dict[str, Array]:
    """Return every array by a name that a person understands."""
    plain = {name: getattr(observation, name) for name in (*ONE_AN_INSTANCE, "members")}
    layers = {f"activations of '{layer}'": values for layer, values in observation.activations.items()}
    everything = {**plain, **layers, **observation.outputs}
    return {name: array for name, array in everything.items() if array is not None}


def renamed(observation: Observation, ids: Sequence[str], track: Sequence[str]) -> Observation:
    """Return the instances and their tracks other names."""
    return replace(observation, ids=read_only(np.array(ids)), track=read_only(np.array(track)))


def declared(seen: T, needs: Needs) -> T:
    """Return an observation, or raw outputs, without logits and boxes that needs do not name."""
    shown = {BOX: needs.boxes or needs.box_spread, BOX_SPREAD: needs.box_spread}
    outputs = {name: values for name, values in seen.outputs.items() if shown.get(name, True)}
    return replace(seen, logits=seen.logits if needs.logits else None, outputs=outputs)


def filled(observation: Observation, value: float, names: Sequence[str] = HIDDEN) -> Observation:
    """Put a number into every activation and what else is named: a huge one, or NaN as of a broken sensor.

    By default images and probabilities stay what they may be.
    """
    plain = {name: getattr(observation, name) for name in names}
    return replace(
        observation,
        **{k: read_only(np.full_like(v, value)) for k, v in plain.items() if v is not None},
        activations={k: read_only(np.full_like(v, value)) for k, v in observation.activations.items()},
    )


def _from(parts: Sequence[Observation], make: Callable[[list[Array], int], Array]) -> Observation:
    def array(name: str, axis: int = 0) -> Any:
        found = [getattr(part, name) for part in parts]
        return None if found[0] is None else read_only(make(found, axis))

    def mapping(name: str) -> dict[str, Any]:
        found = [getattr(part, name) for part in parts]
        return {key: read_only(make([one[key] for one in found], 0)) for key in found[0]}

    return Observation(
        **{name: array(name) for name in ONE_AN_INSTANCE},
        members=array("members", 1),  # members x instances x classes
        activations=mapping("activations"),
        outputs=mapping("outputs"),
    )
