"""Distances to the nearest training images: against a plain transcription, in every space, found once."""

from __future__ import annotations

import numpy as np
import pytest

from farm.api import Needs, OwnNetwork
from farm.errors import ParameterError
from monitors import _distances
from monitors._distances import NearestDistances
from monitors._rows import drawn
from monitors._svm import fit_svm
from monitors.neighbour_svm import NeighbourSvm
from tests.monitors.own_networks import (
    WATCHED,
    batches,
    given,
    images,
    restored_as_fitted,
    together,
    trained_network,
)
from tests.wording import refused, same_text

MSE = OwnNetwork("autoencoder", (("loss", "mse"),))
BCE = OwnNetwork("autoencoder", (("epochs", 5), ("loss", "bce")))
VAE = OwnNetwork("vae")
NETWORKS = {MSE: trained_network(1), BCE: trained_network(2), VAE: trained_network(3)}
TEST = WATCHED.observe(images(40, 7))


def transcription(points: np.ndarray, rows: np.ndarray, k: int) -> np.ndarray:
    apart = rows.astype(np.float64)[:, None] - points.astype(np.float64)[None]
    return np.sort(np.sqrt((apart**2).sum(axis=2)), axis=1)[:, :k]


@pytest.mark.parametrize("k", [1, 2, 4, 8])
@pytest.mark.parametrize("offset", [0.0, 1e4], ids=["centred", "far from 0"])
def test_distances_equal_the_transcription(k, offset) -> None:
    rng = np.random.default_rng(0)
    bank = (offset + rng.normal(size=(700, 30))).astype(np.float32)
    rows = (offset + rng.normal(size=(300, 30))).astype(np.float32)
    found = NearestDistances.to(bank, k)(rows)
    np.testing.assert_allclose(found, transcription(bank, rows, k), rtol=1e-12)


def test_distances_far_below_what_float32_can_tell_are_exact(monkeypatch) -> None:
    monkeypatch.setattr(_distances, "BLOCK", 64)
    rng = np.random.default_rng(0)
    bank = (1e3 + 1e-3 * rng.integers(0, 9, (200, 16))).astype(np.float32)
    rows = bank[:20].copy()
    found = NearestDistances.to(bank, 8)(rows)
    assert (found[:, 0] == 0).all()
    np.testing.assert_allclose(found, transcription(bank, rows, 8), rtol=1e-12)


def test_fewer_points_than_neighbours_give_fewer_distances() -> None:
    bank = np.eye(3, dtype=np.float32)
    assert NearestDistances.to(bank, 8)(bank).shape == (3, 3)


def test_no_images_give_no_distances() -> None:
    nearest = NearestDistances.to(images(9, 0).reshape(9, -1), 4)
    assert nearest(images(0, 1)).shape == (0, 4)


def test_one_at_a_time_is_as_all_at_once() -> None:
    bank = images(300, 0).reshape(300, -1)
    nearest = NearestDistances.to(bank, 8)
    rows = images(200, 1)
    singly = np.concatenate([nearest(row[None]) for row in rows])
    assert np.array_equal(singly, nearest(rows))


@pytest.mark.parametrize(
    ("parameters", "need"),
    [
        ({}, None),
        ({"k": 8}, None),
        ({"k": 2, "space": "autoencoder-mse"}, MSE),
        ({"k": 4, "space": "autoencoder-bce", "network": {"epochs": 5}}, BCE),
        ({"k": 8, "space": "vae"}, VAE),
    ],
)
def test_scores_equal_the_transcription(parameters, need) -> None:
    data = given(NETWORKS)
    monitor = NeighbourSvm(**parameters).fit(data, WATCHED)

    def place(own: np.ndarray) -> np.ndarray:
        flat = own.reshape(len(own), -1)
        return flat if need is None else flat.astype(np.float64) @ NETWORKS[need].state["basis"]

    k = parameters.get("k", 1)
    points = place(together(seen for seen, _ in data.train)).astype(np.float32)

    def features(own: np.ndarray) -> np.ndarray:
        return transcription(points, place(own).astype(np.float32), k)

    inside = features(together(seen for seen, _ in data.validation))
    machine = fit_svm(inside, features(together(data.outliers)))
    expected = features(TEST.images) @ machine["weights"] + machine["bias"]
    np.testing.assert_allclose(monitor.score(TEST), expected, rtol=1e-6, atol=1e-8)
    assert monitor.needs == Needs(networks=() if need is None else (need,), outliers=True)
    assert monitor.fixed_threshold == 0.0
    assert restored_as_fitted(monitor, NeighbourSvm(**parameters), TEST)
    told = monitor.explain(TEST.take([0]))[0]
    np.testing.assert_allclose(told.details["distances"], features(TEST.images[:1])[0], rtol=1e-6)
    same_text(told.reason)


def test_monitors_of_another_k_look_for_neighbours_once(monkeypatch) -> None:
    looked = []
    plain = NearestDistances._of
    monkeypatch.setattr(
        NearestDistances, "_of", lambda self, rows: looked.append(len(rows)) or plain(self, rows)
    )
    data = given(NETWORKS)
    spaces = ("pixels", "autoencoder-mse")
    monitors = [NeighbourSvm(k=k, space=space).fit(data, WATCHED) for k in (1, 2, 4, 8) for space in spaces]
    other = NeighbourSvm(points=50).fit(data, WATCHED)
    seen = WATCHED.observe(images(40, 7))
    looked.clear()
    scores = [monitor.score(seen) for monitor in monitors]
    assert looked == [40, 40]
    other.score(seen)
    assert looked == [40, 40, 40]
    alone = monitors[4].score(WATCHED.observe(images(40, 7)))
    assert np.array_equal(alone, scores[4])


def test_the_points_kept_are_drawn_by_the_seed() -> None:
    data = given()
    train = together(seen for seen, _ in data.train).reshape(100, -1)
    kept = NeighbourSvm(points=30).fit(data, WATCHED).state["points"]
    assert kept.shape == (30, 16)
    where = [int(np.flatnonzero((train == point).all(axis=1))[0]) for point in kept]
    assert where == sorted(set(where))
    assert np.array_equal(kept, NeighbourSvm(points=30, k=4).fit(data, WATCHED).state["points"])
    data.seed = 1
    assert not np.array_equal(kept, NeighbourSvm(points=30).fit(data, WATCHED).state["points"])
    assert NeighbourSvm(points=30).fit(data, WATCHED).notes()["points"] == 30


@pytest.mark.parametrize("most", [1, 7, 32, 99, 100, 1000])
def test_what_is_drawn_does_not_depend_on_the_batches(most) -> None:
    own = images(100, 1)
    parts = [
        together(drawn(lambda size=size: batches(own, size), most, np.random.default_rng(0)))
        for size in (1, 32, 100)
    ]
    assert len(parts[0]) == min(most, 100)
    assert all(np.array_equal(part, parts[0]) for part in parts)


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"k": 9},
        {"space": "logits"},
        {"points": 0},
        {"network": {"epochs": 5}},
        {"network": {"loss": "bce"}, "space": "autoencoder-mse"},
        {"network": "vae", "space": "vae"},
    ],
)
def test_wrong_parameters_are_named(wrong) -> None:
    with refused(ParameterError):
        NeighbourSvm(**wrong)
