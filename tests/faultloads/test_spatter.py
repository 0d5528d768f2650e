"""Spatter: its steps against scipy and hand-worked values, its drops by their colours."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from farm.api import PerInstance
from faultloads import spatter
from faultloads.spatter import Spatter
from tests.faultloads.applying import apply, check_contract, names, pictures


def plain(value, n=32, channels=3):
    return np.full((n, channels, 32, 32), value, dtype=np.float32)


def test_spatter_keeps_the_contract():
    check_contract(Spatter())
    check_contract(Spatter(levels="cifar-10-c"))


def test_water_lightens_towards_pale_turquoise():
    for severity, opacity in ((1, 0.6), (2, 0.6), (3, 0.5)):
        added = apply(Spatter(), plain(0.0), severity)
        assert np.allclose(added[:, 0] * 238, added[:, 1] * 175, atol=1e-3)
        assert np.array_equal(added[:, 1], added[:, 2])
        wet = added.max(axis=(1, 2, 3)) > 0
        assert wet.mean() > 0.9
        assert np.allclose(added[wet, 1].max(axis=(1, 2)), opacity * 238 / 255, atol=1e-5)


def test_mud_hides_what_is_behind_it():
    dark, bright = (apply(Spatter(), plain(value), 5) for value in (0.0, 1.0))
    clean = (dark == 0).all(axis=1)
    assert (bright.transpose(0, 2, 3, 1)[clean] == 1).all()
    assert 0.6 < clean.mean() < 0.9
    whole = bright[:, 0] < 64 / 255
    assert whole.any()
    assert np.allclose(bright.transpose(0, 2, 3, 1)[whole].min(axis=0) * 255, [63, 42, 20], atol=0.5)
    # At least four fifths mud, or none.
    share = 1 - bright[:, 0] + dark[:, 0]
    assert ((share < 1e-6) | (share > 0.8 - 1e-6)).all()


@pytest.mark.parametrize(
    ("severity", "least", "most"),
    [(1, 0.03, 0.12), (2, 0.1, 0.25), (3, 0.15, 0.3), (4, 0.08, 0.18), (5, 0.15, 0.25)],
)
def test_drops_cover_what_the_published_ones_do(severity, least, most):
    # The package imagecorruptions changed 6, 16, 22, 12, 19 % of a 32 x 32 image's values by over 2 of 255.
    images = pictures(64)
    changed = np.abs(apply(Spatter(), images, severity) - images) > 2 / 255
    assert least < changed.mean() < most


def test_a_grey_image_gets_the_brightness_of_the_drops():
    colour, grey = (apply(Spatter(), plain(0.0, channels=n), 3) for n in (3, 1))
    luma = np.tensordot([0.299, 0.587, 0.114], colour, axes=(0, 1))
    assert np.allclose(grey[:, 0], luma, atol=1e-6)


def test_between_water_and_mud_is_a_mixture():
    images = pictures(4)
    water, mud = (apply(Spatter(), images, severity) for severity in (3, 4))
    assert np.allclose(apply(Spatter(), images, 3.25), 0.75 * water + 0.25 * mud, atol=1e-6)


def test_an_image_without_a_drop_stays_as_it_is():
    images = pictures(4)
    dry = np.full((4, 32, 32), -1, dtype=np.float32)
    assert np.array_equal(spatter._water(images, dry, 0.65, 0.3, 2, 0.68, 0.5), images)


MUD = {
    ("imagenet-c", 4): (0.65, 0.3, 1, 0.65, 1.5),
    ("imagenet-c", 5): (0.67, 0.4, 1, 0.65, 1.5),
    ("cifar-10-c", 4): (0.65, 0.1, 0.7, 0.69, 0.6),
    ("cifar-10-c", 5): (0.65, 0.1, 0.5, 0.68, 0.6),
}


@pytest.mark.parametrize(("levels", "severity"), MUD)
def test_mud_is_the_published_one(levels, severity):
    mean, deviation, sigma, threshold, softened = MUD[levels, severity]
    images = pictures(4)
    noises = PerInstance(0, "Spatter", names(4)).normal(32, 32).astype(np.float64)
    for image, noise, ours in zip(
        images, noises, apply(Spatter(levels=levels), images, severity), strict=True
    ):
        liquid = ndimage.gaussian_filter(mean + deviation * noise, sigma, mode="nearest")
        mud = ndimage.gaussian_filter((liquid > threshold) / 1.0, softened, mode="nearest")
        assert np.abs(mud - 0.8).min() > 1e-6  # nothing hangs on a rounding error
        mud[mud < 0.8] = 0
        brown = np.array([63, 42, 20]).reshape(3, 1, 1) / 255
        assert np.abs(image * (1 - mud) + brown * mud - ours).max() < 1e-5


WATER = [(0.62, 0.1, 0.7, 0.7), (0.65, 0.1, 0.8, 0.7), (0.65, 0.3, 1, 0.69)]


@pytest.mark.parametrize(("severity", "drawn"), [*enumerate(WATER, start=1)])
def test_water_of_cifar_10_c_lies_where_the_smoothed_noise_exceeds_the_threshold(severity, drawn):
    mean, deviation, sigma, threshold = drawn
    black = plain(0.0)
    noises = PerInstance(0, "Spatter", names(32)).normal(32, 32).astype(np.float64)
    seen = 0
    for noise, ours in zip(noises, apply(Spatter(levels="cifar-10-c"), black, severity), strict=True):
        liquid = ndimage.gaussian_filter(mean + deviation * noise, sigma, mode="nearest")
        wet = ours[1] > 0
        assert not wet[liquid < threshold - 1e-6].any()
        if wet.any():
            assert ours[1].max() == pytest.approx(0.5 * 238 / 255, abs=1e-5)
            seen += 1
    assert seen > 16


@pytest.mark.parametrize("share", [0, 0.001, 0.01, 0.2])
def test_distances_are_scipys(share):
    edges = np.random.default_rng(1).random((6, 40, 33)) < share
    for plane, distance in zip(edges, spatter._distance(edges), strict=True):
        expected = ndimage.distance_transform_edt(~plane) if plane.any() else np.full(plane.shape, 20)
        assert np.allclose(distance, np.minimum(expected, 20), atol=1e-5)


def test_the_edge_of_a_square_is_its_outline():
    levels = np.zeros((2, 12, 12), dtype=np.float32)
    levels[0, 4:8, 4:8] = 200
    edges = spatter._edges(levels)
    assert not edges[1].any()
    near = ndimage.binary_dilation(levels[0] > 0) & ~ndimage.binary_erosion(levels[0] > 0)
    assert (edges[0] <= near).all()
    assert edges[0].sum() >= 12


def test_a_faint_line_is_an_edge_only_where_it_touches_a_clear_one():
    levels = np.zeros((2, 16, 40), dtype=np.float32)
    levels[:, 8:, :] = 25  # a slope of 4 x 25: between the two thresholds
    assert not spatter._edges(levels).any()
    levels[0, 8:, :20] = 200
    edges = spatter._edges(levels)
    assert edges[0].any(axis=0)[25:35].all()
    assert not edges[1].any()


def test_relief_spreads_distances_over_all_levels():
    # A ramp with equally many pixels at each distance is equalised to equal steps; 255 is the most.
    distance = np.repeat(np.arange(16, dtype=np.float32), 2).reshape(1, 1, 32).repeat(32, axis=1)
    relief = spatter._relief(distance)
    assert relief.min() >= 0
    assert relief.max() == 255
    flat = spatter._relief(np.full((1, 8, 8), 20, dtype=np.float32))
    assert np.array_equal(flat, np.full((1, 8, 8), 20))
