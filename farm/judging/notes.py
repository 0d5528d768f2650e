"""What a run notes of its monitors and its classifier, whatever they said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from farm.api.calibration_data import CLASS
from farm.errors import DataError
from farm.measures.oracle import ORACLE

YARDSTICKS = ("never", "always", "random")
"""What monitors that know nothing are called where a run does not note what they are, such as a log."""


@dataclass(frozen=True)
class Noted:
    """A monitor's name and what is known of it."""

    name: str
    ranked: bool
    yardstick: bool
    """Whether it knows nothing, and is there to be compared with."""
    failure: str | None
    nbytes: int | None
    calibration: Mapping[str, Any] | None
    policy: str | None
    fallback: str | None


def why_not_judged(run: Mapping[str, Any]) -> str | None:
    """Say why nobody is judged by a run, if so: what was learned from shows nothing of who learned.

    Examples
    --------
    >>> why_not_judged({"stream": {"split": "train"}})
    'its stream is training data, which shows nothing of a classifier or monitor that learned from it'
    """
    split = (run.get("stream") or {}).get("split")
    if split is None:
        return None
    data = "training" if split == "train" else split
    return f"its stream is {data} data, which shows nothing of a classifier or monitor that learned from it"


def failures(run: Mapping[str, Any]) -> list[str]:
    """Name the monitors that failed by the run's own account."""
    return [str(note["name"]) for note in run.get("monitors") or () if note.get("failure")]


def noted(run: Mapping[str, Any], said: Iterable[str]) -> list[Noted]:
    """Return the monitors in the order of the run, then those only heard of, then the perfect one.

    Examples
    --------
    >>> for monitor in noted({"monitors": [{"name": "odin"}]}, ["oob"]):
    ...     print(monitor.name, monitor.ranked, monitor.failure)
    odin True it left no alarms
    oob True None
    oracle False None
    """
    notes: dict[str, Mapping[str, Any]] = {str(note["name"]): note for note in run.get("monitors") or ()}
    heard = list(said)
    if ORACLE in notes or ORACLE in heard:
        raise DataError(f"monitor '{ORACLE}': that is the perfect monitor's name; expected another")
    notes |= {name: {} for name in heard if name not in notes} | {ORACLE: {"ranked": False}}
    return [
        Noted(
            name=name,
            ranked=bool(note.get("ranked", True)),
            yardstick=bool(note.get("yardstick", name in YARDSTICKS)),
            failure=note.get("failure") or (None if name in (*heard, ORACLE) else "it left no alarms"),
            nbytes=note.get("nbytes"),
            calibration=note.get("calibration"),
            policy=described(note.get("policy")),
            fallback=described(note.get("fallback")),
        )
        for name, note in notes.items()
    ]


def promised_conditions(run: Mapping[str, Any]) -> set[str]:
    """Name the conditions within whose groups a monitor's guarantee is to hold.

    Examples
    --------
    >>> made = [{"name": name, "calibration": {"guarantee": {"by": name}}} for name in ("weather", "class")]
    >>> promised_conditions({"monitors": [*made, {"name": "odin", "calibration": None}]})
    {'weather'}
    """
    calibrations = (note.get("calibration") or {} for note in run.get("monitors") or ())
    named = ((made.get("guarantee") or {}).get("by") for made in calibrations)
    return {str(by) for by in named if by not in (None, CLASS)}


def number_of_classes(run: Mapping[str, Any]) -> int | None:
    """Return how many classes a run's classifier tells apart; None where nobody noted it.

    Examples
    --------
    >>> number_of_classes({"classes": ["stop", "yield"]}), number_of_classes({})
    (2, None)
    """
    # A log tells the classes that occur in it, of which a classifier may have more.
    return None if "log" in run else len(run.get("classes") or ()) or None


def class_names(run: Mapping[str, Any], highest: int) -> list[str]:
    """Return what a run's classes are called, by their numbers; without names, the numbers up to the highest.

    Examples
    --------
    >>> class_names({"classes": ["stop", "yield"]}, 0), class_names({}, 1)
    (['stop', 'yield'], ['0', '1'])
    """
    told = run.get("classes") or ()
    return [str(name) for name in told] or [str(number) for number in range(highest + 1)]


def image_size(run: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return height and width of the images that a run's boxes lie in; None where nobody noted it.

    Examples
    --------
    >>> image_size({"boxes": {"height": 32, "width": 64, "spread_ddof": None}}), image_size({})
    ((32, 64), None)
    """
    noted = run.get("boxes")
    return None if noted is None else (int(noted["height"]), int(noted["width"]))


def described(noted: Mapping[str, Any] | None) -> str | None:
    """Write what a run notes of a policy or a fallback in one line; what is null has no part in it.

    Examples
    --------
    >>> described({"name": "ewma", "rate": 0.1, "limit": None}), described({"name": "last"}), described(None)
    ('ewma (rate 0.1)', 'last', None)
    """
    if noted is None:
        return None
    # A second classifier has more to it than the recipe that made it.
    recipe = dict(noted.get("recipe") or {}) if "recipe" in noted else dict(noted)
    recipe.pop("name", None)
    inside = ", ".join(f"{name} {value}" for name, value in recipe.items() if value is not None)
    return f"{noted['name']} ({inside})" if inside else str(noted["name"])
