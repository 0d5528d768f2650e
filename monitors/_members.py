"""The members of a combination: made by name, as an experiment does it, and what they need together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import chain
from typing import Any, cast

from farm.api import Monitor, Needs, PooledLayer
from farm.errors import ParameterError
from farm.registry import make

MemberSpec = str | Mapping[str, Any]
"""A monitor's name, or a mapping with its name, its parameters and, if it is to be called otherwise, `as`."""


def as_mappings(members: Sequence[MemberSpec]) -> list[dict[str, Any]]:
    """Return each member as a mapping with a name; fewer than two make no combination."""
    if isinstance(members, str) or not isinstance(members, Sequence) or len(members) < 2:
        raise ParameterError(f"members is {members!r}; expected a list of at least 2 monitors")
    return [as_mapping(given, "members has") for given in members]


def as_mapping(given: MemberSpec, said: str) -> dict[str, Any]:
    """Return one of them as a mapping with a name; `said` is how a message begins."""
    spec = {"name": given} if isinstance(given, str) else given
    if not isinstance(spec, Mapping) or not isinstance(spec.get("name"), str):
        raise ParameterError(f"{said} {given!r}; expected a name, or a mapping with a name")
    if "as" in spec and not isinstance(spec["as"], str):
        raise ParameterError(f"{said.partition(' ')[0]}: 'as' is {spec['as']!r}; expected a name")
    return dict(spec)


def made(specs: Sequence[Mapping[str, Any]]) -> list[Monitor]:
    """Make the members; no two may have one name."""
    monitors: list[Monitor] = []
    for spec in specs:
        parameters = {name: value for name, value in spec.items() if name not in ("name", "as")}
        one = make("monitor", spec["name"], parameters, spec.get("as"), other_keys=["as"])
        if one.name in [monitor.name for monitor in monitors]:
            raise ParameterError(f"members: two are called '{one.name}'; give one another name with 'as'")
        monitors.append(cast(Monitor, one))
    return monitors


def union_of_needs(every: Sequence[Needs]) -> Needs:
    """Return what satisfies all: names each once, flags that any sets, and the largest numbers.

    Examples
    --------
    >>> both = union_of_needs([Needs(layers=("conv1", "conv2")), Needs(layers=("conv2",), logits=True)])
    >>> both.layers, both.logits, both.gradients
    (('conv1', 'conv2'), True, False)
    """
    layers = list(dict.fromkeys(chain.from_iterable(needs.observed for needs in every)))
    pools = tuple(layer.pool if isinstance(layer, PooledLayer) else "none" for layer in layers)
    merged: dict[str, Any] = {
        "layers": tuple(layer.layer if isinstance(layer, PooledLayer) else layer for layer in layers),
        "pool": pools if len(set(pools)) > 1 else pools[0] if pools else "mean",
    }
    for field in (field for field in fields(Needs) if field.name not in merged):
        values = [getattr(needs, field.name) for needs in every]
        names = isinstance(values[0], tuple)
        merged[field.name] = tuple(dict.fromkeys(chain.from_iterable(values))) if names else max(values)
    return Needs(**merged)
