"""Why a combination gave its score, told by what its members contribute and what they say themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from farm.api import JSON, Explanation

Decisive = Callable[[Sequence[str]], tuple[str, str]]
"""From the members' names, largest contribution first, to the one that decides and how it does."""


def told_by_members(
    parts: Mapping[str, float], own: Mapping[str, Mapping[str, Any]], decisive: Decisive
) -> Explanation:
    """Tell it; `parts` may lack members whose contribution nobody knows, `own` has what each member says.

    Examples
    --------
    >>> own = {"knn": {"reason": "far away"}, "energy": {}}
    >>> told_by_members({"energy": 0.5, "knn": 2.0}, own, lambda names: (names[0], "most from")).reason
    "most from 'knn': far away"
    """
    ranked = sorted(parts, key=lambda name: -parts[name])
    nearest: tuple[str, ...] = ()
    if untold := [f"'{name}'" for name in own if name not in parts]:
        names = " and ".join(untold)
        reason = f"which member decides is not known: what {names} adds is kept for the latest batch only"
    else:
        name, how = decisive(ranked)
        reason = f"{how} '{name}'" + (f": {own[name]['reason']}" if "reason" in own[name] else "")
        nearest = own[name].get("nearest", ())
    details: dict[str, JSON] = {"members": {name: dict(said) for name, said in own.items() if said}}
    return Explanation(reason, {name: parts[name] for name in ranked}, nearest, details)
