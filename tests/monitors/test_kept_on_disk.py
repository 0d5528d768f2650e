"""Fits and scores are the same bit for bit, whether layers are kept in memory or on disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from farm.api import Monitor, parameters_of
from farm.errors import RequirementError
from farm.run import fitting
from farm.run.fitting import Material, ObservedSplit
from monitors import _layer
from tests.monitors.making import NAMES, make_or_skip

LAYERS = ("last-hidden", "mean of conv2", "max of conv2", "conv2")


@pytest.fixture(scope="module")
def materials(small, tmp_path_factory) -> Iterator[dict[bool, Material]]:
    made = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "BATCH", 100)
        for on_disk in (False, True):
            patch.setattr(fitting, "IN_MEMORY", 0 if on_disk else 10**12)
            folder = tmp_path_factory.mktemp("layers")
            needs = [make_or_skip("knn", layer="conv2", pool=pool) for pool in ("mean", "max", "none")]
            layers = fitting.union_of_layers([make_or_skip("vim"), *needs])
            assert layers[1:] == LAYERS[1:]
            splits = [
                ObservedSplit(small.classifier, split, layers, folder=folder)
                for split in (small.workload.train, small.workload.validation)
            ]
            assert all((split.nbytes == 0) == on_disk for split in splits)
            made[on_disk] = replace(small.material, train=splits[0], validation=splits[1])
        yield made


def variants(name: str) -> Iterator[Monitor]:
    """Make the default, and one of maps for each pooling where the monitor has a layer."""
    yield make_or_skip(name)
    takes = {"layer": "conv2"} if "layer" in parameters_of(type(make_or_skip(name))) else None
    if name == "callable":
        takes = {"layers": ["conv2"]}
    for pool in ("mean", "max", "none") if takes else ():
        yield make_or_skip(name, **takes, pool=pool)


def came_out(monitor: Monitor, small: Any, material: Material) -> tuple[Any, ...]:
    try:
        monitor.fit(material, small.classifier)
    except RequirementError as error:
        pytest.skip(str(error))  # the classifier gives no members
    state = {name: (array.dtype, array.shape, array.tobytes()) for name, array in monitor.state.items()}
    return state, monitor.score(small.test).tobytes(), monitor.all_notes()


@pytest.mark.parametrize("name", NAMES)
def test_a_fit_on_mapped_layers_is_that_on_layers_in_memory(pytorch_ood, small, materials, name) -> None:
    for one, other in zip(variants(name), variants(name), strict=True):
        in_memory, on_disk = (
            came_out(monitor, small, materials[where]) for monitor, where in ((one, False), (other, True))
        )
        assert in_memory == on_disk, one.parameters


@pytest.mark.parametrize(
    "name", ["mahalanobis", "relative-mahalanobis", "vim", "gaussian-mixture", "patterns"]
)
def test_block_by_block_comes_out_as_all_at_once(small, fitted, monkeypatch, name) -> None:
    whole = fitted(make_or_skip(name)).score(small.test)
    monkeypatch.setattr(_layer, "BLOCK", 5000)
    np.testing.assert_allclose(fitted(make_or_skip(name)).score(small.test), whole, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("pool", ["mean", "max"])
def test_pooled_is_as_if_the_layer_had_one_value_a_channel(small, fitted, pool) -> None:
    def by_hand(observation):
        maps = observation.activations["conv2"].astype(np.float64)
        flat = getattr(maps.reshape(*maps.shape[:2], -1), pool)(axis=2).astype(np.float32)
        return replace(observation, activations={"last-hidden": flat})

    class Pooled:
        def __init__(self, split):
            self.split = split

        def __iter__(self):
            return ((by_hand(seen), labels) for seen, labels in self.split)

    flat = replace(
        small.material, train=Pooled(small.material.train), validation=Pooled(small.material.validation)
    )
    expected = make_or_skip("mahalanobis").fit(flat, small.classifier)
    monitor = fitted(make_or_skip("mahalanobis", layer="conv2", pool=pool))
    assert np.array_equal(monitor.score(small.test), expected.score(by_hand(small.test)))
    assert (monitor.all_notes(), expected.all_notes()) == ({"pooled": [f"{pool} of conv2"]}, {})


def test_two_members_may_want_one_layer_in_two_ways(small, fitted) -> None:
    members = [
        {"name": "knn", "as": pool, "layer": "conv2", "pool": pool} for pool in ("mean", "max", "none")
    ]
    vote = fitted(make_or_skip("vote", members=members))
    assert vote.needs.observed == LAYERS[1:]
    for member, spec in zip(vote._members, members, strict=True):
        alone = fitted(make_or_skip("knn", layer="conv2", pool=spec["pool"]))
        assert np.array_equal(member.score(small.test), alone.score(small.test))
    seen = small.classifier.observe(small.test.images, vote.needs.observed)
    assert np.array_equal(vote.score(seen), vote.score(small.test))
    assert vote.all_notes()["pooled"] == ["mean of conv2", "max of conv2"]
