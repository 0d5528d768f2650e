"""Every parameter of every registered monitor changes something, and refuses what it cannot take.

To add a monitor: give `OTHER` a row for each of its parameters, with another value and what it changes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple, get_type_hints

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from farm import registry
from farm.api import CalibrationRule, Observation, parameters_of
from farm.errors import ParameterError, RequirementError, UserError
from farm.store.threads import limited_threads
from farm.testing.monitor_checks import system_for
from farm.testing.new_process import Elsewhere
from farm.testing.observations import joined
from farm.testing.trial import Trial
from tests.monitors.making import TARGETS, make, make_or_skip
from tests.monitors.own_networks import AnyNetworks
from tests.wording import same_text

MEMBERS = ["entropy", "knn"]


class Change(NamedTuple):
    """Another value, what it changes, and what else must be set for that.

    What changes is the `state`, the `scores`, the `threshold` or, where it only declares, the `needs`.
    """

    value: Any
    changes: str
    given: Mapping[str, Any] = {}


LAYER = Change("conv2", "scores")
POOL = Change("max", "scores", {"layer": "conv2"})
BOXES = {
    "clusters": Change(1, "state"),
    "tau": Change(0.5, "threshold"),
    "tau_unit": Change("width", "scores"),
    "boundary": Change("strict", "scores", {"tau": 0.5}),
    "layer": Change(["last-hidden", "conv2"], "scores"),
    "pool": POOL,
}
PATTERNS = {
    "gamma": Change(3, "threshold"),
    "layer": LAYER,
    "pool": POOL,
    "neurons": Change(0.25, "scores"),
}
KNOWN = {"limit": 0.5}
"""Streams take seconds to make up."""
CHART = {
    "run_length": Change(50, "state"),
    "limit": Change(0.01, "state", KNOWN),
    "restart": Change(True, "scores", {"limit": 0.01}),
}
SCORE_CHART = {**CHART, "of": Change("knn", "state", KNOWN)}
OTHER: Mapping[str, Mapping[str, Change]] = {
    "adwin": {
        **SCORE_CHART,
        "delta": Change(0.9, "scores", KNOWN),
        "clock": Change(4, "scores", KNOWN),
    },
    "ash": {"quantile": Change(0.5, "scores")},
    "box-spread": {"unit": Change("pixels", "scores")},
    "callable": {
        "function": Change("tests.monitors.test_parameters:doubt_of_layers", "scores"),
        "fit": Change(
            "tests.monitors.test_parameters:fitted_offset",
            "state",
            {"function": "tests.monitors.test_parameters:with_offset"},
        ),
        "layers": Change(["conv2"], "scores", {"function": "tests.monitors.test_parameters:doubt_of_layers"}),
        "pool": Change(
            "max",
            "scores",
            {"function": "tests.monitors.test_parameters:doubt_of_layers", "layers": ["conv2"]},
        ),
        "needs": Change(["logits"], "needs", {"function": "tests.monitors.test_parameters:doubt_of_layers"}),
        "classifier": Change(
            True, "scores", {"function": "tests.monitors.test_parameters:doubt_of_classifier"}
        ),
    },
    "cusum": {**SCORE_CHART, "shift": Change(2.0, "scores", KNOWN)},
    "deep-ensemble": {"size": Change(3, "scores")},
    "dice": {"sparsity": Change(0.5, "state")},
    "drift-mmd": {
        **CHART,
        "window": Change(10, "scores", KNOWN),
        "points": Change(50, "state", KNOWN),
        "layer": Change("conv2", "scores", KNOWN),
        "pool": Change("max", "scores", {"layer": "conv2", **KNOWN}),
    },
    "energy": {"temperature": Change(5.0, "scores")},
    "ewma": {
        **SCORE_CHART,
        "weight": Change(0.5, "scores", KNOWN),
        "variance": Change("steady", "scores", KNOWN),
    },
    "flicker": {
        "window": Change(3, "scores"),
        "changes": Change(2, "threshold"),
        "tracks": Change(1, "scores"),
    },
    "fusion": {
        "members": Change(MEMBERS, "scores"),
        "by": Change("max", "scores"),
        "weights": Change([1.0, 3.0], "scores"),
    },
    "gaussian-mixture": {
        "components": Change(1, "state"),
        "floor": Change(0.5, "state"),
        "layer": LAYER,
        "pool": POOL,
    },
    "gen": {"gamma": Change(0.5, "scores"), "m": Change(3, "scores")},
    "gradnorm": {"temperature": Change(5.0, "scores")},
    "kl-matching": {"source": Change("training", "state")},
    "knn": {"k": Change(1, "scores"), "points": Change(100, "state"), "layer": LAYER, "pool": POOL},
    "mahalanobis": {"layer": LAYER, "pool": POOL},
    "martingale": {
        "of": Change("knn", "state"),
        "chance": Change(0.1, "state"),
        "run_length": Change(100, "scores"),
        "direction": Change("both", "scores"),
        "restart": Change(True, "scores", {"chance": 0.5, "of": "knn"}),
    },
    "mc-dropout": {"passes": Change(3, "scores")},
    "mutual-information": {"members": Change(3, "scores")},
    "neighbour-svm": {
        "k": Change(4, "scores"),
        "space": Change("vae", "scores"),
        "network": Change({"epochs": 1}, "scores", {"space": "vae"}),
        "points": Change(50, "state"),
    },
    "nnguide": {"k": Change(1, "scores"), "points": Change(100, "state"), "layer": LAYER, "pool": POOL},
    "odin": {
        "temperature": Change(1.0, "scores"),
        "magnitude": Change(0.01, "scores"),
        "selection_temperature": Change(1000.0, "state"),
        "selection": Change("validation-fault", "state"),
        "selection_images": Change(8, "state", {"selection": "validation-fault"}),
    },
    "oob": {**BOXES, "neurons": Change("all", "state")},
    "oob-isomap": {
        **BOXES,
        "neighbours": Change(10, "scores"),
        "dimensions": Change(3, "state"),
        "landmarks": Change(20, "state"),
    },
    "oob-pca": {**BOXES, "dimensions": Change(3, "state")},
    "openmax": {"tail": Change(5, "state"), "alpha": Change(2, "scores")},
    "openmax-svm": {"tail": Change(5, "state"), "alpha": Change(2, "scores")},
    "page-hinkley": {
        **SCORE_CHART,
        "delta": Change(0.1, "scores", KNOWN),
        "alpha": Change(0.9, "scores", KNOWN),
    },
    "patterns": PATTERNS,
    "patterns-bdd": PATTERNS,
    "physical-bounds": {
        "checks": Change(["black"], "scores"),
        "tolerance": Change(3.0, "threshold"),
        "full_scale": Change(0.9, "scores"),
        "frozen_below": Change(0.5, "scores"),
    },
    "pixelcnn": {"network": Change({"epochs": 1}, "scores")},
    "pytorch-ood": {
        "detector": Change("MaxSoftmax", "scores"),
        "settings": Change({"k": 5}, "scores"),
        "layer": LAYER,
        "pool": POOL,
        "source": Change("validation", "state"),
    },
    "random": {"rate": Change(0.5, "threshold")},
    "react": {"quantile": Change(0.5, "state")},
    "reconstruction": {
        "loss": Change("bce", "scores"),
        "network": Change({"epochs": 1}, "scores"),
        "centre": Change("id", "state"),
    },
    "relative-mahalanobis": {"layer": LAYER, "pool": POOL},
    "robustness-radius": {
        "norm": Change("l2", "scores"),
        "rivals": Change(1, "scores"),
        "steps": Change(0, "scores"),
        "largest": Change(0.01, "scores"),
    },
    "scale": {"quantile": Change(0.5, "scores")},
    "she": {"layer": LAYER, "pool": POOL},
    "vim": {"dimensions": Change(10, "state")},
    "vote": {
        "members": Change(MEMBERS, "scores"),
        "atleast": Change("all", "scores"),
        "calibrated": Change("each", "threshold"),
        "accept": Change(0.5, "state", {"calibrated": "each"}),
    },
}
CLASSES = {name: registry.import_target(target, name) for name, target in TARGETS.items()}
WALK = {(name, parameter) for name, cls in CLASSES.items() for parameter in parameters_of(cls)}
WITH_PARAMETERS = sorted({name for name, _ in WALK})


def doubt_of_layers(observation: Observation) -> np.ndarray:
    return sum((values.sum() for values in observation.activations.values()), np.zeros(len(observation)))


def fitted_offset(data: Any) -> dict[str, np.ndarray]:
    return {"offset": np.array(len(data.classes))}


def with_offset(observation: Observation, state: Mapping[str, np.ndarray] | None = None) -> np.ndarray:
    return 1 - observation.confidence + (0 if state is None else state["offset"])


def doubt_of_classifier(observation: Observation, classifier: Any = None) -> np.ndarray:
    return np.full(len(observation), 0.0 if classifier is None else len(classifier.classes))


@cache
def came_out(name: str, given: str) -> dict[str, Any]:
    """Fit and calibrate it, and score a stream in which tracks run on, stop and mix."""
    # For all its parameters the same system: one on which it can be tried as it is.
    system = system_for(make_or_skip(name))
    trial = Trial(make_or_skip(name, **json.loads(given)), system, Elsewhere())
    with limited_threads(1):
        networks = AnyNetworks(trial.system.workload.shape, trial.system.workload.classes)
        try:
            lent = trial.lent()
            fitted = trial.fit(data=replace(lent, whole=replace(lent.whole, networks=networks)))
        except RequirementError as error:
            pytest.skip(str(error))  # the classifier gives no members
        sample = trial.observed.sample
        mixed = sample.take(np.random.default_rng(0).permutation(len(sample)))
        classes = len(trial.system.workload.classes)
        return {
            "needs": fitted.needs,
            "state": {key: (array.shape, array.tobytes()) for key, array in fitted.state.items()},
            "threshold": fitted.calibrate(trial.lent().validation, CalibrationRule(), classes).threshold,
            "scores": trial.score(fitted, joined([sample, mixed])).tobytes(),
        }


@pytest.mark.parametrize("name", WITH_PARAMETERS)
def test_another_value_of_each_parameter_changes_something(pytorch_ood, name: str) -> None:
    unchanged = []
    for parameter in parameters_of(CLASSES[name]):
        row = OTHER.get(name, {})
        assert parameter in row, f"OTHER lacks a row for the parameter '{parameter}' of '{name}'"
        other = row[parameter]
        before = came_out(name, json.dumps(other.given))
        after = came_out(name, json.dumps({**other.given, parameter: other.value}))
        if before[other.changes] == after[other.changes]:
            unchanged.append(f"{parameter}={other.value!r} leaves its {other.changes} as it was")
    assert unchanged == []


def test_the_table_lists_nothing_that_is_not_there() -> None:
    assert {(name, parameter) for name, row in OTHER.items() for parameter in row} <= WALK


BAD: tuple[Any, ...] = (float("nan"), float("inf"), -1, "no-such-word", ["no-such-word"], [])
"""What no parameter means, where its type allows it at all."""
MEANT = {("callable", "layers", "[]"), ("callable", "needs", "[]")}
"""But these: lists that may be empty."""


def make_and_resolve(name: str, **parameters: Any) -> None:
    """Do what is done before any fit: only the classifier knows whether a layer is there."""
    system_for(make(name)).classifier.resolve(make(name, **parameters).needs, "it")


@pytest.mark.parametrize("name", WITH_PARAMETERS)
def test_a_value_that_means_nothing_is_refused_before_the_fit(pytorch_ood, name: str) -> None:
    make_or_skip(name)
    refusals, taken = [], []
    for parameter in parameters_of(CLASSES[name]):
        for bad in BAD:
            if (name, parameter, str(bad)) in MEANT:
                continue
            try:
                make_and_resolve(name, **{parameter: bad})
            except UserError as error:
                refusals.append(str(error))
            else:
                taken.append(f"{parameter}={bad!r}")
    assert taken == []
    same_text(refusals)


@pytest.mark.parametrize("name", WITH_PARAMETERS)
def test_a_value_of_a_wrong_type_is_refused_by_name(pytorch_ood, name: str) -> None:
    make_or_skip(name)
    refusals, taken, unnamed = [], [], []
    for parameter in parameters_of(CLASSES[name]):
        annotation = get_type_hints(CLASSES[name].__init__)[parameter]
        for wrong in (True, 1.5, "word", ["word"], {"key": 1}):
            try:
                TypeAdapter(annotation).validate_python(wrong, strict=True)
            except ValidationError:
                try:
                    make(name, **{parameter: wrong})
                except ParameterError as error:
                    refusals.append(str(error))
                    if parameter not in str(error):
                        unnamed.append(f"{parameter}={wrong!r}: {error}")
                else:
                    taken.append(f"{parameter}={wrong!r}")
    assert (taken, unnamed) == ([], [])
    same_text(refusals)
