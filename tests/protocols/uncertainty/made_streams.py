"""Streams of an evaluation of uncertainty, made by hand: networks of which theory knows what they are worth.

A network is right with the probability `right`, and says so with that to the power of `sharp`: it is
calibrated where that is 1. Its boxes err by `error` pixels on each side, and claim `claim` times as much.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from farm.api import generator
from farm.api.boxes import PREDICTED_BOX, SPREAD_OF_BOX, TRUE_BOX
from farm.config.specs import NO_FAULT
from farm.protocols.uncertainty.asked import NOVELTY, VALIDATION, VANILLA, Uncertainty
from farm.protocols.uncertainty.results import Results
from farm.protocols.uncertainty.spec import WATCHED_BY, planned
from farm.protocols.uncertainty.streams import Streams
from farm.store.class_probabilities import probability_frame
from farm.store.readouts import Readouts

CLASSES = ("car", "truck", "pedestrian", "sign")
SHIFTS = [
    {"name": "rain", "as": "light rain", "severity": 1},
    {"name": "rain", "as": "heavy rain", "severity": 4},
    {"name": "fog", "as": "heavy fog", "severity": 4},
    {"name": "novelty", "as": "another setup", "workload": "signs-abroad"},
    {"name": "novelty", "as": "unknown objects", "workload": "digits"},
]
GROUPS = {"pedestrian": ["pedestrian"], "vehicle": ["car", "truck"]}
MERGED = {"groups": GROUPS, "shifts": ["another setup"]}
UNKNOWN = "unknown objects"
N, N_VALIDATION = 400, 300
SIDE = 48


@dataclass(frozen=True)
class Skill:
    """What a network is worth on a stream."""

    right: float = 0.8
    sharp: float = 1.0
    error: float = 2.0
    claim: float = 1.0


def made_spec(**changes: Any) -> Uncertainty:
    """Return an evaluation of which nothing is loaded."""
    values = {
        "name": "made",
        "protocol": "uncertainty",
        "workload": "signs",
        "shifts": SHIFTS,
        "merged": MERGED,
        "members": 3,
        **changes,
    }
    return Uncertainty.model_validate({key: value for key, value in values.items() if value is not ...})


def made_results(
    spec: Uncertainty | None = None,
    *,
    skill: Mapping[tuple[str, str], Skill] | None = None,
    n: int = N,
    seed: int = 0,
    wobble: float = 0.0,
    **changes: Any,
) -> Results:
    """Return results of networks with these skills, by variant and by stream; `any` is each other stream.

    `wobble` is the standard deviation of what right has in each training.
    """
    spec = made_spec() if spec is None else spec
    cells = list(_cells(spec, skill or {}, n, seed, wobble))
    return Results(replace(Streams.sorted(spec, cells), **changes))


def _cells(
    spec: Uncertainty, skill: Mapping[tuple[str, str], Skill], n: int, seed: int, wobble: float
) -> Iterator[tuple[dict[str, Any], Readouts]]:
    brought = {one.alias for one in spec.shifts if one.name == NOVELTY}
    for one in planned(spec):
        for number in range(spec.repetitions):
            own_seed = spec.seed + number
            off = wobble * generator(seed, "wobble", one.title, str(own_seed)).normal()
            streams = [NO_FAULT] if one.member else [NO_FAULT, VALIDATION, *spec.shift_names]
            for stream in streams:
                usual = skill.get((one.variant, "any"), Skill())
                worth = skill.get((one.variant, stream), usual)
                worth = replace(worth, right=float(np.clip(worth.right + off, 0.3, 0.99)))
                label = {"classifier": one.title, "faultload": stream, "seed": own_seed}
                yield (
                    label,
                    made_stream(
                        worth,
                        stream,
                        images=stream if stream in brought or stream == VALIDATION else NO_FAULT,
                        network=f"{one.title} {own_seed}",
                        n=N_VALIDATION if stream == VALIDATION else n,
                        seed=seed,
                        spread=one.variant != VANILLA,
                        monitors=[] if one.member or stream == VALIDATION else _watching(spec, one.variant),
                        recipe=dict(one.said),
                    ),
                )


def _watching(spec: Uncertainty, variant: str) -> list[str]:
    return [name for name in spec.monitor_names if variant != VANILLA or name not in spec.of_members]


def made_stream(
    worth: Skill,
    stream: str,
    *,
    images: str,
    network: str,
    n: int = N,
    seed: int = 0,
    spread: bool = True,
    monitors: list[str] | None = None,
    recipe: Mapping[str, Any] | None = None,
) -> Readouts:
    """Return the readouts of one network on one stream; networks see the same images."""
    data = generator(seed, "images", images)
    labels = data.integers(0, len(CLASSES), n)
    if images == "another setup":
        labels = data.integers(0, 3, n)  # no signs
    corner = data.uniform(2, 20, (n, 2))
    target = np.hstack([corner, corner + data.uniform(8, 24, (n, 2))])
    random = generator(seed, "network", network, stream)
    right = random.uniform(0.5, 1.0, n) * 2 * (worth.right - 0.5) + (1 - worth.right) * 1.0
    right = np.clip(right, 0.26, 0.995)
    hit = random.uniform(size=n) < right
    predicted = np.where(hit, labels, (labels + random.integers(1, len(CLASSES), n)) % len(CLASSES))
    sure = right**worth.sharp
    sure = np.clip(sure, 0.26, 0.999)
    probabilities = np.repeat(((1 - sure) / (len(CLASSES) - 1))[:, None], len(CLASSES), axis=1)
    probabilities[np.arange(n), predicted] = sure
    probabilities = probabilities.astype(np.float32)
    unknown = images == UNKNOWN
    label = np.full(n, -1) if unknown else labels
    boxes = target + random.normal(0, worth.error, (n, 4))
    of_label = probabilities[np.arange(n), labels].astype(np.float64)
    squares = (probabilities.astype(np.float64) ** 2).sum(axis=1)
    shifted = stream not in (NO_FAULT, VALIDATION)
    instances = pd.DataFrame(
        {
            "position": np.arange(n),
            "id": [f"{images}/{i}" for i in range(n)],
            "track": [f"{images}/{i}" for i in range(n)],
            "label": label,
            "predicted": predicted,
            "confidence": probabilities.max(axis=1).astype(np.float64),
            "label_probability": np.where(unknown, np.nan, of_label),
            "brier": np.where(unknown, np.nan, 1 - 2 * of_label + squares),
            "is_ood": np.full(n, shifted),
            "faultload": [stream if shifted else None] * n,
            "category": [("novelty" if unknown else "shift") if shifted else None] * n,
            "severity": np.full(n, np.nan),
            **{name: target[:, i].astype(np.float32) for i, name in enumerate(TRUE_BOX)},
            **{name: boxes[:, i].astype(np.float32) for i, name in enumerate(PREDICTED_BOX)},
        }
    )
    if spread:
        claimed = np.full((n, 4), worth.error * worth.claim, dtype=np.float32)
        instances = instances.assign(**{name: claimed[:, i] for i, name in enumerate(SPREAD_OF_BOX)})
    frame = probability_frame(probabilities, CLASSES)
    instances = pd.concat([instances, frame], axis=1)
    doubt, knows_nothing = 1 - sure, {"score": np.zeros(n), "alarm": np.zeros(n, dtype=np.bool_)}
    told = {"score": doubt, "alarm": doubt > 1 - 0.6**worth.sharp}
    names = [*(monitors or ()), *([] if WATCHED_BY in (monitors or ()) else [WATCHED_BY])]
    alarms = pd.concat(
        [
            pd.DataFrame(
                {"position": np.arange(n), "monitor": name, **(knows_nothing if name == WATCHED_BY else told)}
            )
            for name in names
        ],
        ignore_index=True,
    )
    run = {
        "classes": list(CLASSES),
        "monitors": [
            {"name": name, "ranked": True, "yardstick": name == WATCHED_BY, "failure": None} for name in names
        ],
        "classifier": {"name": network, "recipe": dict(recipe or {}), "digest": network},
        "workload": {"name": "signs"},
        "boxes": {"height": SIDE, "width": SIDE, "spread_ddof": 1 if spread else None},
        "stream": {"split": "validation"} if stream == VALIDATION else {},
        "seed": seed,
    }
    return Readouts(instances, alarms, run)
