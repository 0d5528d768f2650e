"""A fitted monitor as plain bytes, and back: only where it comes back as it was.

A second monitor is made with the same parameters, and given what would be kept. Where it does not score as
the first one does, something of the fit is not in the state, and only the first one can be used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from farm.api import Calibration, Classifier, Labelled, Monitor, Observation, State
from farm.errors import FarmError, one_line
from farm.plain_arrays import pack, unpack


class Refused(Exception):  # noqa: N818 - no error: it is fitted as if nothing were kept
    """What is kept, or would be, does not make the monitor what it was."""


def packed(monitor: Monitor, validation: Iterable[Labelled]) -> State:
    """Give a fitted monitor as bytes, or raise `Refused`."""
    try:
        told = {"calibration": monitor.calibration.record(), "notes": dict(monitor.notes())}
        kept = pack(monitor.state, told)
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
        arrays, record = unpack(kept)
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
