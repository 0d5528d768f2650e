"""A fitted monitor as plain bytes, and back: only where it comes back as it was.

A second monitor is made with the same parameters, and given what would be kept. Where it does not score as
the first one does, something of the fit is not in the state, and only the first one can be used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farm.api import JSON, Calibration, Classifier, Labelled, Monitor, Observation, State
from farm.errors import FarmError, one_line

RECORD = "record"
PLAIN = "biufcUS"
"""Kinds of arrays that are kept: numbers, truth values, text."""


class Refused(Exception):  # noqa: N818 - no error: it is fitted as if nothing were kept
    """What is kept, or would be, does not make the monitor what it was."""


def packed(monitor: Monitor, validation: Iterable[Labelled]) -> State:
    """Give a fitted monitor as bytes, with names, order, types and memory layout of its arrays.

    The layout too: sums of the same numbers in another order of memory differ in their last bits.
    """
    try:
        record = {
            "arrays": [_form(name, array) for name, array in monitor.state.items()],
            "calibration": monitor.calibration.record(),
            "notes": dict(monitor.notes()),
        }
        text = json.dumps(record, allow_nan=False)
        kept: State = {
            RECORD: np.frombuffer(text.encode(), np.uint8),
            **{str(i): _bytes_of(array) for i, array in enumerate(monitor.state.values())},
        }
        twin = type(monitor)(**monitor._arguments)
        twin.name = monitor.name
        restored(twin, kept, monitor.classifier)
        first = next(iter(validation)).observation
        mine, its = (_scores(one, first) for one in (monitor, twin))
    except Exception as error:  # whatever it is, only the monitor itself can be used
        raise Refused(f"the fitted monitor '{monitor.name}' cannot be kept: {one_line(error)}") from error
    if mine != its:
        raise Refused(f"the fitted monitor '{monitor.name}' scores otherwise when it is restored")
    return kept


def restored(monitor: Monitor, kept: State, classifier: Classifier) -> None:
    """Make a monitor what it was when it was packed, or raise `Refused`."""
    who = f"the fitted monitor '{monitor.name}'"
    try:
        record = json.loads(kept[RECORD].tobytes())
        arrays = {form["name"]: _array_of(kept[str(i)], form) for i, form in enumerate(record["arrays"])}
        calibration = Calibration.from_record(record["calibration"])
        monitor.restore(arrays, classifier, calibration)
        monitor.restart()
        notes = json.loads(json.dumps(dict(monitor.notes())))
    except FarmError as error:
        raise Refused(f"{who} cannot be restored: {error}") from error
    except Exception as error:
        raise Refused(f"{who} cannot be restored: {one_line(error)}") from error
    if notes != record["notes"]:
        raise Refused(f"{who} has the notes {notes}, and had {record['notes']} when it was kept")


def _scores(monitor: Monitor, observation: Observation) -> bytes:
    monitor.restart()
    scores = monitor.score(observation)
    monitor.restart()
    return scores.tobytes()


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
