"""Layers in readouts: whole, or pooled over their places, by whatever runs the network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from farm.config.experiment import parse_experiment
from farm.errors import RequirementError
from farm.run.execution import run_experiment
from farm.run.rehearsal import rehearse
from tests.wording import refused

SMALL: dict[str, Any] = {
    "name": "kept",
    "workload": {"name": "digits", "size": 16, "channels": 1},
    "classifier": {"name": "lenet", "epochs": 1, "hidden": 16},
    "monitors": ["max-softmax", {"name": "oob", "layer": "conv2", "as": "oob"}],
    "stream": {"length": 50},
    "pictures": "none",
}


def experiment(*layers: str, **changed: Any) -> Any:
    return parse_experiment({**SMALL, "layers": list(layers), **changed}, "kept.yaml")


@pytest.mark.parametrize("engine", ["eager", "onnx"])
def test_a_pooled_layer_has_a_value_a_channel_and_a_flat_one_is_as_it_is(engine: str) -> None:
    if engine == "onnx":
        pytest.importorskip("onnxscript", reason="onnxscript, of the extra 'fast', is not installed")
    asked = ["max of conv2", "conv2", "mean of conv2", "max of last-hidden", "last-hidden"]
    found = run_experiment(experiment(*asked, classifier={**SMALL["classifier"], "engine": engine}), Path())
    layers = found.layers
    assert (found.run["classifier"]["engine"]["name"], list(layers)) == (engine, asked)
    maps = layers["conv2"]
    assert maps.ndim == 4
    assert maps.shape[2] > 1
    np.testing.assert_array_equal(layers["max of conv2"], maps.max(axis=(2, 3)))
    np.testing.assert_allclose(layers["mean of conv2"], maps.mean(axis=(2, 3)), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(layers["max of last-hidden"], layers["last-hidden"])
    assert {monitor["failure"] for monitor in found.run["monitors"]} == {None}


def test_pooled_layers_are_kept_on_disk_under_their_names(tmp_path: Path) -> None:
    from farm.store.readouts import Readouts

    found = run_experiment(experiment("max of conv2"), Path())
    read = Readouts.load(found.save(tmp_path / "run"))
    np.testing.assert_array_equal(read.layers["max of conv2"], found.layers["max of conv2"])
    assert read.run["experiment"]["layers"] == ["max of conv2"]


@pytest.mark.parametrize("layer", ["max of conv3", "least of conv2"])
def test_a_layer_that_is_not_there_is_told_before_anything_is_trained(layer: str) -> None:
    with refused(RequirementError):
        rehearse(experiment(layer), Path())
