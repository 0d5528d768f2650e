"""Runs made by hand whose monitors promised something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farm.api.guarantee import Guarantee, Promise, What
from farm.judging.promises import MonitorPromise
from farm.store.readouts import Readouts
from farm.testing import make_readouts


def made_promise(what: What = "false_alarms", at_most: float = 0.05, **changed: Any) -> MonitorPromise:
    """Return a promise of at most 5 % false alarms, with a few things changed."""
    promise, usual = Promise(what, at_most), {"n": 132, "needed": 19, "confidence": 0.9}
    return MonitorPromise("odin", promise, Guarantee((promise,), **usual | changed))


def guarantee_record(
    *promises: tuple[What, float], confidence: float | None = 0.99, **changed: Any
) -> dict[str, Any]:
    """Return the record of a guarantee, as a calibration keeps it."""
    told = tuple(Promise(*each, 0.03) for each in promises or [("false_alarms", 0.05)])
    return Guarantee(told, confidence=confidence, **{"n": 132, "needed": 19} | changed).record()


def noted_run(guarantees: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return a run's record with the monitors' guarantees; None where a monitor makes none."""
    monitors: Sequence[Any] = [
        {"name": name, "calibration": {"method": "bounded", "threshold": 0.5, "guarantee": made}}
        if made is not None
        else {"name": name, "calibration": {"method": "id-quantile", "threshold": 0.5}}
        for name, made in guarantees.items()
    ]
    return {"monitors": monitors, **more}


MONITORS: Mapping[str, tuple[float, Mapping[str, Any]]] = {
    "max-softmax": (0.02, {}),
    "energy": (0.04, {"confidence": None}),
    "odin": (0.04, {"promises": [("risk", 0.05)], "confidence": 0.9}),
    "mahalanobis": (0.02, {"promises": [("false_alarms", 0.05), ("residual_hazard", 0.01)]}),
    "knn": (0.03, {"event": "track"}),
    "oob": (0.04, {"confidence": None, "by": "weather"}),
    "react": (0.12, {}),
    "dice": (0.03, {"confidence": None}),
    "vim": (0.05, {"promises": [("risk", 0.02)], "confidence": 0.95}),
    "gram": (0.01, {"promises": [("false_alarms", 0.05), ("residual_hazard", 0.1)], "confidence": 0.9}),
}
"""The share of ID instances with an alarm, and what was promised."""
FAULTS = (
    *(("shift", name, 3.0) for name in ("fog", "snow", "rain")),
    *(("noise", name, 2.0) for name in ("gaussian-noise", "shot-noise", "speckle")),
    *(("anomaly", name, None) for name in ("stuck-frame", "dropped-channel")),
    *(("adversarial", name, None) for name in ("fgsm", "pgd")),
    *(("novelty", name, None) for name in ("belgian-signs", "shuffled-pixels")),
)


def made_campaign() -> list[Readouts]:
    """Return runs of ten monitors, each under one of twelve faults, all with the same ID instances."""
    n_id, n, length = 800, 1000, 8
    is_ood, track = np.arange(n) >= n_id, np.arange(n) // length
    notes = noted_run(
        {
            name: guarantee_record(*made.get("promises", ()), unit="track", **_but(made, "promises"))
            for name, (_, made) in MONITORS.items()
        },
        workload={"name": "signs"},
        classifier={"name": "lenet"},
        seed=0,
    )
    found = []
    for number, (category, fault, severity) in enumerate(FAULTS):
        of_fault = np.random.default_rng([1, number])

        def chance(
            share: float, under: float, seed: int, of_fault: np.random.Generator = of_fault
        ) -> NDArray[np.bool_]:
            of_id = np.random.default_rng([2, seed]).random(n)
            return np.where(is_ood, of_fault.random(n) < under, of_id < share)

        alarms = {
            name: chance(share, of_fault.random(), place)
            for place, (name, (share, _)) in enumerate(MONITORS.items())
        }
        wrong = chance(0.03, 0.4, 99)
        label = np.where(is_ood & (category == "novelty"), -1, 0)
        found.append(
            make_readouts(
                alarms,
                is_ood=is_ood,
                label=label,
                predicted=wrong.astype(int),
                category=category,
                faultload=fault,
                severity=np.nan if severity is None else severity,
                id=[f"{fault if ood else 'clean'} {i}" for i, ood in enumerate(is_ood)],
                track=[f"track {i}" for i in track],
                run={**notes, "folder": f"cells/{fault}"},
                **{"condition weather": np.array(["dry", "rain", "snow"], dtype=object)[track % 3]},
            )
        )
    return found


def _but(made: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in made.items() if key != name}
