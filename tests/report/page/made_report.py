"""A page with all that a page can have, from readouts made by hand: no model, no monitor, no run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from farm.report.page import FigureBook, Findings, findings_of, page
from farm.store.pictures import Pictures, shown_frame
from farm.store.readouts import Readouts
from farm.testing import make_readouts

HOSTILE = "<img src=x onerror=alert(1)>"
"""A class's name."""
CLASSES = ("stop", "yield", HOSTILE)
N = 240
FAULTS: Sequence[tuple[str, str, float | None]] = (
    ("shift", "fog", 1.0),
    ("shift", "fog", 5.0),
    ("shift", "snow", 1.0),
    ("shift", "snow", 5.0),
    ("noise", "shot-noise", 1.0),
    ("noise", "shot-noise", 5.0),
    ("noise", "blur", 5.0),
    ("novelty", "novelty", None),
    ("anomaly", "$x$ <b>", 5.0),
)
REPORTED = [f"{name} {severity:g}" if severity else name for _, name, severity in FAULTS]
SIZE = 8


def made_run(
    fault: tuple[str, str, float | None], seed: int, *, failing: bool = False, timed: bool = False
) -> Readouts:
    """Return a run of a fault that makes more mistakes the harder it is, which `careful` scores best."""
    category, name, severity = fault
    rng = np.random.default_rng(seed)
    place = np.arange(N)
    is_ood = (place // 20) % 2 == 1 if timed else place % 3 == 0
    strength = 3.0 if severity is None else severity
    hard = rng.normal(size=N) + is_ood * strength / 3
    wrong = hard > 1.0
    label = rng.integers(0, len(CLASSES), N)
    predicted = np.where(wrong, (label + 1) % len(CLASSES), label)
    if category == "novelty":
        label = np.where(is_ood, -1, label)
    scores = {
        "careful": hard - 1.0 + 0.2 * rng.normal(size=N),
        "cautious": 0.5 * hard - 1.2 + rng.normal(size=N),
        "blind": rng.normal(size=N) - 1.6,
        "random": rng.normal(size=N) - 1.6,
    }
    monitors: dict[str, Any] = {
        monitor: {"score": score, "alarm": score > 0, "monitor_time_us": np.full(N, 5.0 * (1 + number))}
        for number, (monitor, score) in enumerate(scores.items())
    }
    if failing:
        monitors["broken"] = f"singular matrix in {HOSTILE}"
    notes = [
        {
            "name": monitor,
            "failure": said if isinstance(said, str) else None,
            "yardstick": monitor == "random",
            "nbytes": 1000 * (1 + number),
            "calibration": {
                "method": "id-quantile",
                "threshold": 0.0,
                "asked_acceptance": 0.95,
                "per_class": None,
            },
        }
        for number, (monitor, said) in enumerate(monitors.items())
    ]
    run = {
        "name": "made",
        "folder": f"runs/{name}",
        "seed": seed,
        "seconds": 2.0,
        "workload": {"name": "signs", "hash": "abc", "sizes": {"train": 60}, "notes": {}, "card": _card()},
        "classifier": {"name": "lenet"},
        "classes": list(CLASSES),
        "experiment": {"name": "made", "workload": {"name": "signs"}, "monitors": [{"name": "careful"}]},
        "versions": {"python": "3.11", "torch": None},
        "hardware": {"cores": 2},
        "monitors": notes,
    }
    columns: dict[str, Any] = {"episode": np.where(is_ood, place // 40, -1)} if timed else {}
    return make_readouts(
        monitors,
        is_ood=is_ood,
        label=label,
        predicted=predicted,
        category=category,
        faultload=name,
        severity=severity,
        confidence=1 / (1 + np.exp(hard - 2.0)),
        classifier_time_us=np.full(N, 100.0),
        id=[f"{name}-{k}" for k in range(N)],
        track=[f"t{k // 4}" for k in range(N)],
        run=run,
        **columns,
    )


def _card() -> dict[str, Any]:
    splits = [
        {"name": name, "images": 60, "groups": 15, "classes": 3, "identical": 0, "content_hash": "x"}
        for name in ("train", "validation", "test")
    ]
    classes = [{"name": name, "train": 20, "validation": 20, "test": 20} for name in CLASSES]
    return {
        "shape": [3, SIZE, SIZE],
        "splits": splits,
        "classes": classes,
        "boxes": False,
        "masks": False,
        "conditions": {"weather": {"rain": 3}, "light": {"min": 0.0, "median": 0.5, "max": 1.0}},
    }


def made_pictures(run: Readouts, seed: int) -> Pictures:
    """Return pictures whose red grows with their position, and what the worst are by the monitors' scores."""
    rows: list[dict[str, Any]] = []
    instances, alarms = run.instances, run.alarms
    right = instances["label"] == instances["predicted"]
    for monitor in ("careful", "cautious"):
        own = alarms[alarms["monitor"] == monitor].reset_index()
        for why, wanted, ascending in (
            ("missed", ~right & ~own["alarm"], True),
            ("cancelled", right & own["alarm"], False),
        ):
            worst = own[wanted].sort_values("score", ascending=ascending)["position"][:4]
            for rank, position in enumerate(worst):
                rows.append(_row(position, monitor, why, rank, f"{monitor} has never seen {HOSTILE}"))
    rows += [_row(position, None, "ood", rank, "") for rank, position in enumerate(_first(instances, True))]
    rows += [_row(position, None, "id", 0, "") for position in _first(instances, False)]
    positions = sorted({row["position"] for row in rows})
    for row in rows:
        row["picture"] = positions.index(row["position"])
    images = np.random.default_rng(seed).integers(0, 255, (len(positions), SIZE, SIZE, 3)).astype(np.uint8)
    about = ("faultload", "category", "severity")
    group = {name: instances[name].dropna().unique().tolist() if name in instances else [] for name in about}
    plane = {
        "monitor": "careful",
        **{name: found[0] if found else None for name, found in group.items()},
        "predicted": 0,
        "axes": ["layer[0]", "layer[9]"],
        "boxes": [[0.0, 1.0, 0.0, 1.0]],
        "points": [[0.5, 0.5], [3.0, 0.2]],
        "positions": [1, 0],
    }
    return Pictures(images, shown_frame(rows), [plane])


def _first(instances: Any, is_ood: bool) -> list[int]:
    return instances["position"][instances["is_ood"] == is_ood][:3].tolist()


def _row(position: int, monitor: str | None, why: str, rank: int, explanation: str) -> dict[str, Any]:
    told = {"position": int(position), "monitor": monitor, "why": why, "rank": rank}
    return {"picture": 0, **told, "explanation": explanation}


def made_findings() -> Findings:
    """Return what nine runs found; one has a monitor that failed, and one comes in time."""
    runs = [made_run(fault, seed, failing=seed == 2, timed=seed == 7) for seed, fault in enumerate(FAULTS)]
    pictures = [made_pictures(run, seed) for seed, run in enumerate(runs)]
    return findings_of(runs, pictures, places=("runs",), unfinished="2 cells of runs are not there")


def make_page(book: FigureBook | None = None) -> str:
    """Return the page of `made_findings`."""
    return page(made_findings(), book)
