"""A monitor's own networks: asked for by name, kept as arrays, made again, and run once for all."""

from __future__ import annotations

import numpy as np
import pytest

from farm.api import OwnNetwork
from farm.errors import ParameterError, RequirementError
from monitors._networks import (
    classifiers_in,
    networks_in,
    output_of,
    own_network,
    packed,
    training_notes,
    unpacked,
)
from tests.monitors.own_networks import (
    SHAPE,
    WATCHED,
    Given,
    Linear,
    LinearClassifier,
    images,
    trained_classifier,
    trained_network,
)
from tests.wording import refused

ONE, OTHER = OwnNetwork("one"), OwnNetwork(parameters=(("loss", "logistic"),))


def test_parameters_come_in_one_order_and_can_be_a_key() -> None:
    one = own_network("autoencoder", {"epochs": 5, "widths": [1, 2]}, loss="mse")
    other = own_network("autoencoder", {"widths": [1, 2], "epochs": 5}, loss="mse")
    assert one == other == OwnNetwork("autoencoder", (("epochs", 5), ("loss", "mse"), ("widths", (1, 2))))
    assert len({one, other}) == 1
    assert own_network("vae", None) == own_network("vae", {}) == OwnNetwork("vae")


@pytest.mark.parametrize("wrong", [3, {"loss": "bce"}, {1: 2}, {"epochs": {"a": 1}}, {"epochs": [[1]]}])
def test_wrong_parameters_are_named(wrong) -> None:
    with refused(ParameterError):
        own_network("autoencoder", wrong, loss="mse")


def test_what_is_packed_is_unpacked() -> None:
    networks = {ONE: trained_network(best_epoch=2), OTHER: trained_classifier()}
    state = packed([ONE, OTHER], Given([], [], networks=networks))
    assert {array.dtype.kind for array in state.values()} == {"u", "f"}
    for trained, again in zip(networks.values(), unpacked(state), strict=True):
        assert (again.kind, again.name, again.parameters) == (trained.kind, trained.name, trained.parameters)
        assert (again.shape, again.classes, again.notes) == (trained.shape, trained.classes, trained.notes)
        assert again.state.keys() == trained.state.keys()
        assert all(np.array_equal(again.state[name], trained.state[name]) for name in again.state)
    assert training_notes(state) == {"networks": [{"best_epoch": 2}, {}]}
    assert training_notes({"weights": np.ones(1)}) == {}


def test_equal_networks_compute_an_output_once() -> None:
    state = packed([ONE], Given([], [], networks={ONE: trained_network()}))
    (one,), (equal,) = networks_in(state), networks_in(state)
    (other,) = networks_in(packed([ONE], Given([], [], networks={ONE: trained_network(seed=1)})))
    seen = WATCHED.observe(images(3, 0))
    Linear.runs = 0
    found = output_of(one, "latent", seen)
    assert output_of(equal, "latent", seen) is found
    assert Linear.runs == 1
    output_of(one, "error", seen), output_of(other, "latent", seen)
    assert Linear.runs == 3
    assert not found.flags.writeable


def test_equal_classifiers_are_run_once() -> None:
    state = packed([OTHER], Given([], [], networks={OTHER: trained_classifier()}))
    (one,), (equal,) = classifiers_in(state), classifiers_in(state)
    seen = WATCHED.observe(images(3, 0))
    LinearClassifier.runs = 0
    expected = seen.images.reshape(3, -1) @ trained_classifier().state["weights"]
    assert np.array_equal(one.logits(seen), expected.astype(np.float64))
    assert equal.seen(seen) is one.seen(seen)
    assert LinearClassifier.runs == 2  # probabilities and logits of one observation


def test_a_classifier_without_logits_is_refused() -> None:
    trained = trained_classifier(black_box=True)
    (own,) = classifiers_in(packed([OTHER], Given([], [], networks={OTHER: trained})))
    with refused(RequirementError):
        own.logits(WATCHED.observe(np.zeros((1, *SHAPE), np.float32)))
