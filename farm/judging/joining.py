"""Two runs of one classifier as one stream: do its monitors tell the data of one from those of the other?"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from farm.errors import DataError
from farm.judging.notes import failures, why_not_judged
from farm.store.class_probabilities import is_probability
from farm.store.readouts import Readouts

_KEPT = ("name", "seed", "batch_size", "threads", "workload", "classifier", "classes", "boxes", "merged")
"""What is noted of the first run and holds of both together."""
_OF_STREAM = ("held_out_acceptance", "rows_near_threshold")
"""What is noted of a monitor and follows from what came after it was fitted."""
_SHOWN = 60
"""At most so many characters of a value are shown."""


def joined(plain: Readouts, shifted: Readouts) -> Readouts:
    """Return the ID instances of one run and the OOD instances of another, with all that was said of them.

    They are judged as one stream that had both: an image as it is and the same in fog remain of one track,
    and ids that are in both are told apart. Positions are new, those of ID instances first; since none came
    after another, episodes are not told. What hangs on earlier instances, such as a policy with a memory, is
    as it was in its own run. A monitor that failed in either has failed. Layers, pictures and heat maps stay
    behind, and so do the probabilities of all classes, unless both runs kept them.

    Parameters
    ----------
    plain, shifted
        Runs of one classifier and the same fitted monitors, by one seed.

    Examples
    --------
    >>> from farm.testing import make_readouts
    >>> plain = make_readouts({"odin": [0, 0, 1]}, run={"seed": 0})
    >>> shifted = make_readouts({"odin": [1, 0]}, is_ood=True, run={"seed": 0})
    >>> both = joined(plain, shifted)
    >>> both.instances["is_ood"].tolist(), both.alarms["alarm"].astype(int).tolist()
    ([False, False, False, True, True], [0, 0, 1, 1, 0])
    """
    failed = {*failures(plain.run), *failures(shifted.run)}
    _check_alike(plain.run, shifted.run, failed)
    familiar, said = _part(plain, is_ood=False, first=0)
    strange, said_then = _part(shifted, is_ood=True, first=len(familiar))
    if "id" in familiar and "id" in strange:
        twice = strange["id"].isin(familiar["id"])
        strange["id"] = strange["id"].where(~twice, strange["id"] + " (shifted)")
    instances = pd.concat([familiar, strange], ignore_index=True)
    in_one = set(familiar.columns) ^ set(strange.columns)
    instances = instances.drop(columns=[name for name in in_one if is_probability(name)])
    alarms = pd.concat([said, said_then])
    if "id" in alarms:
        alarms["id"] = instances["id"].to_numpy()[alarms["position"]]
    notes = [_lasting(note) for note in plain.run["monitors"] if note["name"] not in failed]
    blocks = [alarms[alarms["monitor"] == note["name"]] for note in notes]
    both = (*plain.run["monitors"], *shifted.run["monitors"])
    run = {
        **{key: plain.run[key] for key in _KEPT if key in plain.run},
        "monitors": [*notes, *{note["name"]: note for note in both if note.get("failure")}.values()],
        "joined": [
            {key: one.run.get(key) for key in ("name", "folder", "stream")} for one in (plain, shifted)
        ],
    }
    return Readouts(instances, pd.concat([alarms.iloc[:0], *blocks], ignore_index=True), run)


def _part(readouts: Readouts, *, is_ood: bool, first: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the ID or the OOD instances and the alarms on them, with positions from the first on."""
    every, alarms = readouts.instances, readouts.alarms
    own = every[every["is_ood"].to_numpy(np.bool_) == is_ood].reset_index(drop=True)
    if own.empty:
        raise DataError(
            f"{_called(readouts.run)}: none of its {len(every):,} instances is "
            f"{'OOD' if is_ood else 'ID'}; expected some, to be joined with others"
        )
    place = pd.Index(own["position"]).get_indexer(pd.Index(alarms["position"]))
    said = alarms[place >= 0].assign(position=first + place[place >= 0])
    own = own.drop(columns="episode", errors="ignore")
    return own.assign(position=first + np.arange(len(own))), said


def _check_alike(plain: Mapping[str, Any], shifted: Mapping[str, Any], failed: Collection[str]) -> None:
    """Raise where two runs are not of one classifier, the same fitted monitors and one seed."""
    for run in (plain, shifted):
        if why_not := why_not_judged(run):
            raise DataError(f"{_called(run)}: {why_not}; expected a run on test data")
        if run.get("seed") is None:
            raise DataError(f"{_called(run)} tells no seed; expected the readouts of `farm run`")
    for (what, one), (_, other) in zip(_facts(plain, failed), _facts(shifted, failed), strict=True):
        first, second = (json.dumps(value, sort_keys=True, ensure_ascii=False) for value in (one, other))
        if first != second:
            told = f"{what} is not the same"
            if max(len(first), len(second)) <= _SHOWN:
                told += f", {first} and {second}"
            raise DataError(
                f"{_called(plain)} and {_called(shifted)} cannot be one stream: {told}; expected one "
                "classifier, the same fitted monitors and one seed"
            )


def _facts(run: Mapping[str, Any], failed: Collection[str]) -> Iterator[tuple[str, Any]]:
    """Return what two runs must have alike, with its value."""
    yield "the seed", run["seed"]
    classifier = run.get("classifier") or {}
    for key in ("name", "digest", "recipe"):
        yield f"the classifier's {key}", classifier.get(key)
    yield "the list of classes", run.get("classes")
    yield "what is merged", run.get("merged")
    yield "what is noted of boxes", run.get("boxes")
    notes = {str(note["name"]): _lasting(note) for note in run["monitors"]}
    yield "the list of monitors", sorted(notes)
    for name in sorted(notes.keys() - {*failed}):
        calibration = notes[name].get("calibration") or {}
        yield f"the threshold of monitor '{name}'", calibration.get("threshold")
        for what in ("class", "parameters", "policy", "calibration"):
            yield f"what is noted of monitor '{name}' as {what}", notes[name].get(what)


def _lasting(note: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is noted of a monitor whatever stream it watches."""
    found = {key: value for key, value in note.items() if key not in _OF_STREAM}
    if calibration := note.get("calibration"):
        found["calibration"] = {key: value for key, value in calibration.items() if key not in _OF_STREAM}
    return found


def _called(run: Mapping[str, Any]) -> str:
    return str(run.get("folder") or run.get("name") or "a run")
