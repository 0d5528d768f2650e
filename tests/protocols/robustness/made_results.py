"""Results of a robustness evaluation made by hand: no network, no fault, no campaign."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

from farm.protocols.robustness.results import ADDED, COLUMNS, GanTraining, Results
from farm.protocols.robustness.spec import NATURAL, PLAIN, Robustness

HOSTILE = "<script>alert(1)</script>"
SAMPLES = 8
CLASSIFIERS = [{"name": "cnn", "as": "Baseline"}, {"name": "cnn", "as": "MC-Dropout"}]
MEASURES = ("accuracy", "brier", "auroc")


def made_spec(**changes: Any) -> Robustness:
    """Return the source's evaluation, of which nothing is loaded."""
    return Robustness.model_validate(
        {
            "name": "made",
            "protocol": "robustness",
            "workload": "digits",
            "classifiers": CLASSIFIERS,
            **changes,
        }
    )


def small_spec(**changes: Any) -> Robustness:
    """Return an evaluation of few conditions, for what has to be made many times."""
    few = {"transformations": ["robustness-fog", "robustness-blur", "robustness-grey"], "levels": [1, 5]}
    return made_spec(**{"parts": "classification", "repetitions": 10, **few, **changes})


def made_results(
    spec: Robustness | None = None,
    *,
    seed: int = 0,
    skill: Mapping[str, float] | None = None,
    of_transformation: float = 0.04,
    of_level: float = 0.02,
    of_network: float = 0.01,
    noise: float = 0.005,
    of_training: float = 0.0,
    fall: Mapping[tuple[str, str], float] | None = None,
    **changes: Any,
) -> Results:
    """Return all results of a specification.

    Parameters
    ----------
    skill
        Each classifier's mean accuracy, and mean AUROC, where nothing is transformed; 0.8 where not said.
    of_transformation
        By how much each transformation, or OOD set, is harder than the one before it.
    of_level
        By how much each level lowers the mean.
    of_network
        The standard deviation between networks: it is in all values of a classifier in a repetition.
    noise
        The standard deviation of each single value.
    of_training
        The standard deviation between trainings of a GAN.
    fall
        By how much a classifier is worse under a transformation, or on a set, than it would be.
    """
    spec = made_spec() if spec is None else spec
    rng = np.random.default_rng(seed)
    skill, fall = {} if skill is None else skill, {} if fall is None else fall
    frames = []
    conditions = pd.DataFrame(_conditions(spec, of_transformation, of_level))
    trained = conditions["kind"] == "gan"
    conditions.loc[trained, "harder"] += rng.normal(0, of_training, int(trained.sum()))
    shape = (spec.repetitions, len(conditions))
    for name in spec.classifier_names:
        own = conditions["group"].map(lambda group, name=name: fall.get((name, group), 0.0))
        mean = skill.get(name, 0.8) - conditions["harder"].to_numpy() - own.to_numpy(dtype=np.float64)
        found = {
            measure: mean + rng.normal(0, of_network, (spec.repetitions, 1)) + rng.normal(0, noise, shape)
            for measure in MEASURES
        }
        found["brier"] = (1 - found["brier"]) / 10
        halves = {
            half: found["auroc"] + rng.normal(0, noise, shape) for half in ("first_half", "second_half")
        }
        for number in range(spec.repetitions):
            values = {key: of_all[number] for key, of_all in (found | halves).items()}
            frames.append(conditions.assign(classifier=name, repetition=number + 1, n=1000, **values))
    frame = pd.concat(frames, ignore_index=True)
    ood = frame["part"] == "ood"
    frame.loc[ood, ["accuracy", "brier"]] = np.nan
    frame.loc[frame["kind"] != "gan", ["first_half", "second_half"]] = np.nan
    gans = tuple(
        made_training(row["transformation"], row["group"])
        for row in conditions[conditions["kind"] == "gan"].to_dict("records")
    )
    return Results(**{"spec": spec, "frame": frame[[*COLUMNS, *ADDED]], "gans": gans, **changes})


def _conditions(spec: Robustness, harder: float, of_level: float) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    names, places = spec.transformation_names, {}
    for condition in spec.conditions.values():
        place = places.setdefault((condition.kind, condition.group), len(places)) % len(names)
        levels: list[float | None] = [condition.level]
        if condition.kind == "transformation":
            place = names.index(condition.name)
            levels = [*spec.levels_of(spec.transformations[place])]
        rows += [
            {
                "part": condition.part,
                "transformation": condition.name,
                "level": np.nan if level is None else level,
                "kind": condition.kind,
                "group": condition.group,
                "harder": 0.0
                if condition.name in (PLAIN, NATURAL)
                else harder * (place + 1) / len(names) + of_level * (level or 0.0) / 5,
            }
            for level in levels
        ]
    return rows


def made_training(name: str, group: str, *, limit: float | None = 0.3, channels: int = 3) -> GanTraining:
    """Return how a GAN learned, with the notes of `faultloads/gan.py`."""
    values = [0.9, 0.6, 0.4, 0.35, 0.31]
    chosen = len(values) - 1
    rng = np.random.default_rng(0)
    strip = rng.integers(0, 256, (SAMPLES * 12, 10, channels), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(strip[:, :, 0] if channels == 1 else strip).save(file, "PNG")
    notes = {
        "rule": {"measure": "accuracy", "limit": limit},
        "curve": [
            {"epoch": float(i + 1), "accuracy": value, "generator_loss": 1.0, "discriminator_loss": 0.5}
            for i, value in enumerate(values)
        ],
        "epochs": float(len(values)),
        "kept_check": chosen,
        "kept_accuracy": values[chosen],
        "seed": 0,
        "surrogate": "four-convolutions",
        "surrogate_digest": "0" * 32,
        "surrogate_accuracy": 0.97,
        "sheet": f"{sum(name.encode()):032x}",
        "size": [12, 10],
        "samples": base64.b64encode(file.getvalue()).decode(),
    }
    return GanTraining(name, group, notes)
