"""Runs made by hand whose monitors promised something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from farm.judging.guarantees import Promise


def made_promise(**changed: Any) -> Promise:
    """Return a promise of at most 5 % false alarms, with a few things changed."""
    usual: dict[str, Any] = {"monitor": "odin", "what": "false_alarms", "at_most": 0.05, "confidence": 0.9}
    usual |= {"unit": "instance", "event": "instance", "by": None, "n": 132}
    return Promise(**usual | changed)


def guarantee_record(*promises: tuple[str, float], confidence: float | None = 0.99, **changed: Any) -> Any:
    """Return the record of a guarantee, as a calibration keeps it."""
    usual = {"unit": "instance", "event": "instance", "by": None, "n": 132, "needed": 59}
    told = [{"what": what, "at_most": most, "realised_on_validation": 0.03} for what, most in promises]
    return {
        "promises": told or [{"what": "false_alarms", "at_most": 0.05, "realised_on_validation": 0.03}],
        "on_average": confidence is None,
        "confidence": confidence,
        **usual,
        **changed,
        "assumption": "validation and working data are exchangeable",
    }


def noted_run(guarantees: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return a run's record with the monitors' guarantees; None where a monitor makes none."""
    monitors: Sequence[Any] = [
        {"name": name, "calibration": {"method": "bounded", "threshold": 0.5, "guarantee": made}}
        if made is not None
        else {"name": name, "calibration": {"method": "id-quantile", "threshold": 0.5}}
        for name, made in guarantees.items()
    ]
    return {"monitors": monitors, **more}
