"""What cells took in earlier campaigns on this machine, remembered for the next estimate.

It is a convenience: where it cannot be read or written, nothing is known or kept, and that is no error.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

from farm.campaign.estimate import Features
from farm.errors import DataError
from farm.files import read_record, replace_json

SCHEMA = 1
SECONDS_KEPT = 9
"""The latest times of a kind of cell of which the median is taken."""
KINDS_KEPT = 1000
"""The kinds of cells that are remembered; those not seen for longest go."""
_KEYS = {"workload", "classifier", "instances", "monitors", "seconds", "nbytes"}


def recall(path: Path | None = None) -> list[dict[str, Any]]:
    """Give the kinds of cells that ran here before, with the median of their seconds, and their size."""
    return [{**kind, "seconds": median(kind["seconds"])} for kind in _read(path or _default_path())]


def remember(cells: Iterable[Features], path: Path | None = None) -> None:
    """Add finished cells to what is remembered.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> cell = {"workload": "signs", "classifier": "lenet", "monitors": ["odin"], "instances": 500}
    >>> with TemporaryDirectory() as folder:
    ...     memory = Path(folder) / "durations.json"
    ...     remember([{**cell, "seconds": seconds, "nbytes": 1000} for seconds in (9.0, 4.0, 5.0)], memory)
    ...     recall(memory)[0]["seconds"]
    5.0
    """
    path = path or _default_path()
    kinds = {_kind(kind): kind for kind in _read(path)}
    for cell in cells:
        known = kinds.pop(_kind(cell), {"seconds": [], "nbytes": None})
        kinds[_kind(cell)] = {
            "workload": cell.get("workload"),
            "classifier": cell.get("classifier"),
            "instances": cell.get("instances"),
            "monitors": sorted(cell["monitors"]),
            "seconds": [*known["seconds"], round(float(cell["seconds"]), 3)][-SECONDS_KEPT:],
            "nbytes": known["nbytes"] if cell.get("nbytes") is None else int(cell["nbytes"]),
        }
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_json(path, {"schema": SCHEMA, "kinds": list(kinds.values())[-KINDS_KEPT:]})


def _read(path: Path) -> list[dict[str, Any]]:
    with suppress(DataError):
        kinds = read_record(path, SCHEMA, ["kinds"])["kinds"]
        return [kind for kind in kinds if _is_whole(kind)] if isinstance(kinds, list) else []
    return []


def _is_whole(kind: Any) -> bool:
    if not isinstance(kind, Mapping) or not set(kind) >= _KEYS:
        return False
    seconds, monitors = kind["seconds"], kind["monitors"]
    numbers = isinstance(seconds, list) and all(isinstance(one, int | float) for one in seconds)
    return numbers and bool(seconds) and isinstance(monitors, list)


def _kind(cell: Features) -> Hashable:
    return (
        cell.get("workload"),
        cell.get("classifier"),
        cell.get("instances"),
        tuple(sorted(cell["monitors"])),
    )


def _default_path() -> Path:
    from farm.cache import default_cache_folder  # loads numpy, which `farm status` can do without

    return default_cache_folder() / "durations.json"
