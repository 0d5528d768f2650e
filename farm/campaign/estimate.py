"""How long the rest of a campaign will take, and how much disk, told before anything is computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

Features = Mapping[str, Any]
"""What the time of a cell depends on: its `workload` and `classifier` by name, the names of the `monitors`
that are computed, and `instances`, where known; of a finished one also `seconds` and `nbytes`."""

UNKNOWN = "nothing like it ran here yet: the first cells will tell"


@dataclass(frozen=True)
class Estimate:
    """What is left; None where nothing is known."""

    seconds: float | None
    nbytes: int | None
    basis: str
    """Where it is from, for people."""


def estimate(
    todo: Sequence[Features],
    finished: Sequence[Features],
    workers: int,
    remembered: Sequence[Features] = (),
) -> Estimate:
    """Estimate what cells take, from the medians of those most like them.

    Parameters
    ----------
    todo
        The cells that are left.
    finished
        Cells of the same campaign.
    workers
        How many cells are computed at the same time.
    remembered
        Cells of earlier campaigns, as `farm.campaign.durations.recall` gives them.

    Examples
    --------
    >>> cell = {"workload": "signs", "classifier": "lenet", "monitors": ["odin"]}
    >>> estimate([cell] * 10, [{**cell, "seconds": 4.0, "nbytes": 1000}], workers=2)
    Estimate(seconds=20.0, nbytes=10000, basis='10 cells like finished ones')
    """
    if not todo:
        return Estimate(0.0, 0, "nothing is left to compute")
    sources: list[tuple[str, Callable[[Features], Hashable], Sequence[Features]]] = [
        ("like finished ones", _alike, finished),
        ("like the campaign's others", lambda _: None, finished),
        ("like earlier ones on this machine", _same, remembered),
        ("like earlier ones on this machine", _same_but_length, remembered),
    ]
    known = [(told, key, _medians(key, samples)) for told, key, samples in sources]
    found: list[tuple[float, float | None]] = []
    counts: Counter[str] = Counter()
    for cell in todo:
        for told, key, medians in known:
            if (taken := medians.get(key(cell))) is not None:
                found.append(taken)
                counts[told] += 1
                break
    if not found:
        return Estimate(None, None, UNKNOWN)
    unknown = len(todo) - len(found)
    if unknown:
        counts["taken to be like the rest"] = unknown
    seconds = [one[0] for one in found]
    seconds += [median(seconds)] * unknown
    sizes = [one[1] for one in found if one[1] is not None]
    # The last cell ends no earlier than the longest does, however many workers there are.
    total = max(sum(seconds) / max(workers, 1), max(seconds))
    nbytes = round(sum(sizes) / len(sizes) * len(todo)) if sizes else None
    return Estimate(total, nbytes, ", ".join(f"{_cells(n)} {told}" for told, n in counts.items()))


def in_words(seconds: float) -> str:
    """Say a time as people do who do not know it exactly.

    Examples
    --------
    >>> in_words(3), in_words(42), in_words(700), in_words(9500), in_words(200_000)
    ('a few seconds', 'about 40 s', 'about 12 min', 'about 2.5 h', 'about 2.5 days')
    """
    if seconds < 10:
        return "a few seconds"
    if seconds < 85:
        return f"about {round(seconds / 10) * 10} s"
    if seconds < 85 * 60:
        return f"about {round(seconds / 60)} min"
    if seconds < 36 * 3600:
        return f"about {round(seconds / 1800) / 2:g} h"
    return f"about {round(seconds / 43200) / 2:g} days"


def in_bytes(nbytes: int) -> str:
    """Say a size.

    Examples
    --------
    >>> in_bytes(900), in_bytes(1_234_567), in_bytes(45_000_000_000)
    ('0.9 kB', '1.2 MB', '45 GB')
    """
    size, units = nbytes / 1000, ["kB", "MB", "GB", "TB"]
    while size >= 999.5 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.0f} {units[0]}" if size >= 9.95 else f"{size:.1f} {units[0]}"


def _alike(cell: Features) -> Hashable:
    return cell.get("workload"), cell.get("classifier"), len(cell["monitors"])


def _same(cell: Features) -> Hashable:
    return *_same_but_length(cell), cell.get("instances")


def _same_but_length(cell: Features) -> tuple[Hashable, ...]:
    return cell.get("workload"), cell.get("classifier"), tuple(sorted(cell["monitors"]))


def _medians(
    key: Callable[[Features], Hashable], samples: Sequence[Features]
) -> dict[Hashable, tuple[float, float | None]]:
    groups: dict[Hashable, list[Features]] = {}
    for sample in samples:
        groups.setdefault(key(sample), []).append(sample)
    return {group: (median(one["seconds"] for one in own), _size(own)) for group, own in groups.items()}


def _size(samples: Sequence[Features]) -> float | None:
    sizes = [one["nbytes"] for one in samples if one.get("nbytes") is not None]
    return median(sizes) if sizes else None


def _cells(n: int) -> str:
    return f"{n} cell" + ("s" if n != 1 else "")
