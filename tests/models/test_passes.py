"""Passes whose masks follow from each image's id, and what passes share."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from farm.api import PerInstance
from farm.errors import ParameterError
from models import _masks, _passes
from models._branches import Branches, split_at_dropout
from models._masks import Draws, OwnMask
from models._passes import DropoutPasses, dropouts
from models.torch_classifier import Preprocessing
from tests.wording import refused

IDS = np.array([f"image-{i}" for i in range(40)])


def network() -> nn.Sequential:
    torch.manual_seed(1)
    parts = (nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Dropout(0.4), nn.Flatten(), nn.Linear(4 * 36, 9), nn.ReLU())
    return nn.Sequential(*parts, nn.Dropout(0.3), nn.Linear(9, 5)).eval().requires_grad_(False)


def run(module, images, ids, passes=6, seed=3):
    def answers(found, shape):
        return [found]

    made = DropoutPasses(Preprocessing(), module, dropouts(module, {}), seed, answers)
    return made.run(torch.from_numpy(images), passes, ids)[0].numpy()


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(1).random((40, 3, 8, 8), dtype=np.float32)


@pytest.fixture(scope="module")
def whole(images):
    return run(network(), images, IDS)


def test_a_pass_is_what_its_masks_say(images, whole) -> None:
    net = network()
    for number, image in ((0, 0), (4, 33)):
        values = net[:2](torch.from_numpy(images[[image]]))
        for place, rate, rest in ((2, 0.4, net[3:6]), (6, 0.3, net[7:])):
            channels, *places = values.shape[1:]
            drawn = PerInstance(3, f"{place} 0", IDS[[image]]).bits(6, *places, channels)[0, number]
            kept = np.moveaxis(drawn / 65536 >= round(rate * 65536) / 65536, -1, 0)
            values = rest(values * torch.from_numpy(kept).float() / (1 - rate))
        np.testing.assert_allclose(whole[number, image], values[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [1, 7, 17])
def test_a_pass_of_an_image_depends_on_no_batch(images, whole, size) -> None:
    order = np.random.default_rng(2).permutation(len(images))
    parts = [order[at : at + size] for at in range(0, len(order), size)]
    found = np.concatenate([run(network(), images[rows], IDS[rows]) for rows in parts], axis=1)
    np.testing.assert_allclose(found, whole[:, order], rtol=1e-4, atol=1e-5)


def test_fewer_passes_are_the_first_of_more(images, whole) -> None:
    np.testing.assert_allclose(run(network(), images, IDS, passes=2), whole[:2], rtol=1e-4, atol=1e-5)


def test_other_ids_and_other_seeds_drop_others(images, whole) -> None:
    same = np.full(len(images), "a")
    for ids, seed in ((IDS[::-1], 3), (same, 3), (IDS, 4)):
        assert np.isclose(run(network(), images, ids, seed=seed), whole, rtol=1e-3).mean() < 0.2
    twice = run(network(), images[[0, 0]], same[:2])
    np.testing.assert_allclose(twice[:, 0], twice[:, 1], rtol=1e-5)


def test_passes_at_once_and_one_by_one_are_the_same(monkeypatch, images, whole) -> None:
    monkeypatch.setattr(_passes, "VALUES", 0)
    np.testing.assert_allclose(run(network(), images, IDS), whole, rtol=1e-4, atol=1e-5)


def test_passes_in_chunks_are_the_same(monkeypatch, images, whole) -> None:
    for name, value in (("TOGETHER", 7), ("PIXELS_OWN", 1)):
        monkeypatch.setattr(_passes, name, value)
    np.testing.assert_allclose(run(network(), images, IDS), whole, rtol=1e-4, atol=1e-5)


def test_large_maps_are_drawn_pass_by_pass_and_depend_on_no_batch_either(monkeypatch, images, whole) -> None:
    monkeypatch.setattr(_masks, "SMALL", 100)
    by_pass = run(network(), images, IDS)
    assert not np.allclose(by_pass, whole, rtol=1e-3)
    np.testing.assert_allclose(run(network(), images[5:9], IDS[5:9]), by_pass[:, 5:9], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(run(network(), images, IDS, passes=2), by_pass[:2], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.95])
def test_as_many_values_are_dropped_as_the_rate_says_and_the_mean_stays(rate) -> None:
    n, passes, width = 50, 8, 100
    mask = OwnMask(Draws(0, IDS[np.arange(n) % 40], passes), range(passes), "here", rate)
    kept = mask(nn.Identity(), (), torch.ones(n * passes, width))
    share = (kept == 0).double().mean().item()
    # Forty different images: five standard errors of a binomial share of that many values.
    assert abs(share - rate) < 5 * np.sqrt(rate * (1 - rate) / (40 * passes * width))
    assert kept.max().item() == pytest.approx(1 / (1 - rate), rel=1e-3)


def test_a_rate_of_one_drops_everything() -> None:
    mask = OwnMask(Draws(0, IDS[:2], 1), range(1), "here", 1.0)
    assert (mask(nn.Identity(), (), torch.ones(2, 3)) == 0).all()


def test_what_runs_again_in_a_pass_drops_others() -> None:
    mask = OwnMask(Draws(0, IDS[:2], 3), range(3), "here", 0.5)
    first, second = (mask(nn.Identity(), (), torch.ones(6, 50)) for _ in range(2))
    assert not torch.equal(first, second)


def test_no_images_give_no_rows() -> None:
    assert run(network(), np.zeros((0, 3, 8, 8), np.float32), IDS[:0]).shape == (6, 0, 5)


# What passes share ----------------------------------------------------------------------------------------


def branching(trunk_drops: bool) -> Branches:
    torch.manual_seed(2)
    drop = (nn.Dropout(0.5),) if trunk_drops else ()
    trunk = nn.Sequential(nn.Flatten(), nn.Linear(192, 6), *drop)
    inner = nn.Sequential(nn.ReLU(), nn.Dropout(0.5))  # deeper than the sequence itself
    branches = {
        "a": nn.Sequential(nn.Linear(6, 6), inner, nn.Linear(6, 3)),
        "b": nn.Sequential(nn.Linear(6, 4), nn.ReLU()),
    }
    return Branches(trunk, branches).eval().requires_grad_(False)


@pytest.mark.parametrize("trunk_drops", [True, False])
def test_both_halves_are_the_whole(images, trunk_drops) -> None:
    module, pixels = branching(trunk_drops), torch.from_numpy(images)
    drops = [part for part in module.modules() if isinstance(part, nn.Dropout)]
    before, rest = split_at_dropout(Preprocessing(), module, drops)
    whole, found = module(pixels), rest(before(pixels))
    assert list(found) == ["a", "b"]
    assert all(torch.equal(found[name], whole[name]) for name in whole)
    assert not any(part in drops for part in before.modules())


def test_what_lies_before_the_first_dropout_of_a_branch_runs_once(images) -> None:
    module, calls = branching(False), []
    for name, part in module.named_modules():
        if isinstance(part, nn.Linear):
            part.register_forward_hook(lambda _, inputs, __, name=name: calls.append((name, len(inputs[0]))))
    made = DropoutPasses(
        Preprocessing(), module, dropouts(module, {}), 0, lambda found, shape: [found["a"], found["b"]]
    )
    a, b = made.run(torch.from_numpy(images[:5]), 4, IDS[:5])
    assert calls == [("trunk.1", 5), ("a.0", 5), ("b.0", 5), ("a.2", 20)]
    assert len({one.numpy().tobytes() for one in a}) == 4
    assert len({one.numpy().tobytes() for one in b}) == 1


def test_other_parts_drop_where_they_are_named() -> None:
    net = network()
    assert dropouts(net, {"1": 0.2}) == {"2": 0.4, "6": 0.3, "1": 0.2}
    with refused(ParameterError):
        dropouts(net, {"11": 0.2})
    for rate in (0, 1.5):
        with refused(ParameterError):
            dropouts(net, {"1": rate})
