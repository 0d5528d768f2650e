"""Are two runs about the same thing? Names alone do not tell: two files of images are both called `npz`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from farm.errors import DataError


class RunNotes(Protocol):
    """A run, of which is noted what it was made of."""

    @property
    def run(self) -> Mapping[str, Any]:
        """The notes."""


def check_distinct(runs: Sequence[RunNotes]) -> None:
    """Check that no run is given twice; that would double what is known without any more being known."""
    known: dict[str, str] = {}
    for run in runs:
        log = run.run.get("log") or {}
        digest = (run.run.get("files") or {}).get("alarms.parquet") or log.get("digest")
        folder = str(run.run.get("folder"))
        if digest in known:
            raise DataError(f"{known[digest]} and {folder} hold the same readouts; expected each run once")
        if digest is not None:
            known[digest] = folder


def names(runs: Sequence[RunNotes], what: str) -> list[str]:
    """Name each run's workload or classifier, with what differs where one name was made in several ways.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> recipes = [{"path": "a.npz", "size": 32}, {"path": "b.npz", "size": 32}]
    >>> runs = [SimpleNamespace(run={"workload": {"name": "npz", "recipe": recipe}}) for recipe in recipes]
    >>> names(runs, "workload")
    ['npz (path a.npz)', 'npz (path b.npz)']
    """
    noted = [run.run.get(what) or {} for run in runs]
    recipes: dict[str, list[Mapping[str, Any]]] = {}
    for each in noted:
        recipes.setdefault(_name(each, what), []).append(each.get("recipe") or {})
    found = []
    for each in noted:
        name, recipe = _name(each, what), each.get("recipe") or {}
        inside = ", ".join(f"{key} {recipe.get(key)}" for key in _differing(recipes[name]))
        found.append(f"{name} ({inside})" if inside else name)
    return found


def changed_monitors(runs: Sequence[RunNotes], but: Sequence[str] = ()) -> Iterator[str]:
    """Say which monitors go by one name and are not the same in all runs, as far as these tell.

    `but` is what may differ.
    """
    made: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        for note in run.run.get("monitors") or ():
            made.setdefault(str(note["name"]), []).append(_settings(note))
    for name, settings in made.items():
        known = {key: value for each in settings for key, value in each.items()}
        changed = _differing([known | each for each in settings])
        differing = ", ".join(key for key in changed if key not in but)
        if differing:
            yield (
                f"{name} is not the same in all runs, which differ in its {differing}, and counts as one "
                "monitor all the same; to compare the two, name them apart (as: ...)"
            )


def unranked(runs: Sequence[RunNotes]) -> list[str]:
    """Name the monitors that a run does not rank, such as those fitted on faults."""
    notes = (note for run in runs for note in run.run.get("monitors") or ())
    return list(dict.fromkeys(str(note["name"]) for note in notes if not note.get("ranked", True)))


def _name(noted: Mapping[str, Any], what: str) -> str:
    name = noted.get("name")
    return f"unnamed {what}" if name is None else str(name)


def _settings(note: Mapping[str, Any]) -> dict[str, Any]:
    """Take what a user sets; what follows from the data, such as a threshold, differs from seed to seed.

    A log tells nothing of it, and a monitor that failed has no calibration.
    """
    if "parameters" not in note:
        return {}
    settings = {**note["parameters"], **{key: note.get(key) for key in ("class", "policy", "fallback")}}
    if calibration := note.get("calibration"):
        promised = calibration.get("guarantee") or {}
        settings["calibration"] = (
            *(calibration.get(key) for key in ("method", "asked_acceptance")),
            *(promised.get(key) for key in ("confidence", "event", "by")),
            *((one["what"], one["at_most"]) for one in promised.get("promises", ())),
        )
    return settings


def _differing(made: Sequence[Mapping[str, Any]]) -> list[str]:
    keys = dict.fromkeys(key for each in made for key in each)
    return [key for key in keys if any(each.get(key) != made[0].get(key) for each in made)]
