"""Novelty made of the instances themselves or of nothing: what is kept of them, and that no label is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import map_coordinates

from farm.api import NO_ANSWER, Context, FaultContext
from farm.errors import DataError, ParameterError
from farm.testing.fakes import tiny_workload
from faultloads.textures import PATTERNS, PureNoise, Textures
from faultloads.unrecognisable import ORDERS, ColourSwap, MixedHalves, ShuffledPixels, Swirl
from tests.wording import refused

ALL = [ShuffledPixels, MixedHalves, Swirl, ColourSwap, Textures, PureNoise]


@pytest.fixture(scope="module")
def workload():
    return tiny_workload(size=32)


def prepared(fault, workload, split=None):
    chosen = split or workload.test
    targets = fault.prepare(FaultContext(workload, chosen, None, lambda spec: workload, Context()))
    return fault, targets


def applied(fault, images, ids=None):
    n = len(images)
    names = np.arange(n).astype(str) if ids is None else ids
    return fault.apply(images, np.full(n, NO_ANSWER), names, np.full(n, np.nan)).images


def noise(n=20, channels=3, high=32, wide=32):
    return np.random.default_rng(0).uniform(0, 1, (n, channels, high, wide)).astype(np.float32)


def on_test(fault, workload, rows=None):
    test = workload.test
    chosen = np.arange(len(test)) if rows is None else np.array(rows)
    return applied(fault, test.images.read(chosen), test.ids[chosen])


@pytest.mark.parametrize("cls", ALL)
def test_no_right_answer_remains(cls, workload):
    fault, targets = prepared(cls(), workload)
    assert set(targets.labels) == {NO_ANSWER}
    assert set(targets.category) == {"novelty"}
    assert len(targets.indices) == len(workload.test)
    assert np.isnan(fault.check_severity(None))
    with refused(ParameterError):
        fault.check_severity(1)


@pytest.mark.parametrize("cls", ALL)
def test_an_instance_looks_the_same_whatever_else_is_in_its_batch(cls, workload):
    fault, _ = prepared(cls(), workload)
    whole = on_test(fault, workload)
    assert whole.dtype == np.float32
    for size in (1, 7, 64):
        parts = [on_test(fault, workload, range(i, min(i + size, 96))) for i in range(0, 96, size)]
        assert np.concatenate(parts).tobytes() == whole.tobytes()


@pytest.mark.parametrize("cls", [ShuffledPixels, Swirl, Textures, PureNoise])
@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 17, 40), (1, 2, 2)])
def test_any_size_grey_or_not(cls, shape):
    faulted = applied(cls(), noise(8, *shape))
    assert faulted.shape == (8, *shape)
    assert ((faulted >= 0) & (faulted <= 1)).all()


def test_shuffled_pixels_keep_their_colours_and_lose_their_places():
    images = noise()
    faulted = applied(ShuffledPixels(), images)
    for image, before in zip(faulted, images, strict=True):
        pixels, old = image.reshape(3, -1).T, before.reshape(3, -1).T
        assert sorted(map(tuple, pixels)) == sorted(map(tuple, old))
        assert (pixels == old).all(axis=1).mean() < 0.02
    # Every instance has an order of its own.
    same = np.repeat(images[:1], 2, axis=0)
    first, second = applied(ShuffledPixels(), same)
    assert (first != second).any()


def test_mixed_halves_are_of_two_classes(workload):
    fault, _ = prepared(MixedHalves(), workload)
    test = workload.test
    partners = fault.partners(test.ids)
    assert (test.labels[partners] != test.labels).all()
    images = test.images.read(np.arange(len(test)))
    expected = np.concatenate([images[..., :16], images[partners][..., 16:]], axis=3)
    assert np.array_equal(on_test(fault, workload), expected)


def test_every_instance_of_another_class_may_be_the_partner():
    workload = tiny_workload(tracks=(8, 6, 200))
    fault, _ = prepared(MixedHalves(), workload)
    labels = workload.test.labels
    # Classes in any order, each partner class as likely.
    pairs = np.zeros((4, 4))
    np.add.at(pairs, (labels, labels[fault.partners(workload.test.ids)]), 1)
    others = pairs[~np.eye(4, dtype=bool)]
    assert np.trace(pairs) == 0
    assert abs(others / 800 - 1 / 3).max() < 5 * np.sqrt(2 / 9 / 800)


def test_two_classes_are_needed_to_mix(workload):
    single = replace(workload.test, labels=np.zeros_like(workload.test.labels))
    with refused(DataError):
        prepared(MixedHalves(), workload, single)


def test_an_instance_of_another_split_is_told(workload):
    fault, _ = prepared(MixedHalves(), workload)
    with refused(DataError):
        applied(fault, noise(1), np.array(["elsewhere"]))


@pytest.mark.parametrize(("high", "wide"), [(32, 32), (24, 40)])
def test_swirl_is_a_turn_that_fades_with_the_distance(high, wide):
    images = noise(3, 3, high, wide)
    faulted = applied(Swirl(turns=0.5, radius=1.5), images)
    middle_down, middle_along = (high - 1) / 2, (wide - 1) / 2
    rows, columns = np.empty((high, wide)), np.empty((high, wide))
    for y in range(high):
        for x in range(wide):
            dy, dx = y - middle_down, x - middle_along
            distance = np.sqrt((dy / high) ** 2 + (dx / wide) ** 2) * 2
            angle = np.pi * 0.001 ** (distance / 1.5)
            turned = complex(dx, dy) * np.exp(1j * angle)
            rows[y, x], columns[y, x] = turned.imag + middle_down, turned.real + middle_along
    for image, before in zip(faulted, images, strict=True):
        for plane, old in zip(image, before, strict=True):
            expected = map_coordinates(old, [rows, columns], order=1, mode="reflect")
            assert plane == pytest.approx(expected, abs=2e-3)  # coordinates are rounded to 1/1024 pixel


def test_colours_change_places():
    images = noise()
    for order in ORDERS:
        expected = images[:, ["rgb".index(colour) for colour in order]]
        assert np.array_equal(applied(ColourSwap(order=order), images), expected)


def test_drawn_colours_all_change_and_not_always_alike():
    images = noise(60)
    faulted = applied(ColourSwap(), images)
    seen = set()
    for image, before in zip(faulted, images, strict=True):
        order = tuple(next(k for k in range(3) if np.array_equal(plane, before[k])) for plane in image)
        seen.add(order)
    assert seen == {(1, 2, 0), (2, 0, 1)}


def test_grey_images_have_no_colours_to_swap():
    with refused(DataError):
        applied(ColourSwap(), noise(channels=1))


@pytest.mark.parametrize("pattern", [*PATTERNS, None])
def test_a_texture_has_contrast_and_knows_nothing_of_the_image(pattern):
    fault = Textures(pattern=pattern)
    faulted = applied(fault, noise(40))
    assert np.array_equal(faulted, applied(fault, np.zeros((40, 3, 32, 32), np.float32)))
    assert (faulted.std(axis=(2, 3)).max(axis=1) > 0.02).all()
    assert len({image.tobytes() for image in faulted}) == 40


def test_textures_scale_with_the_image():
    small, large = (applied(Textures(), np.zeros((20, 3, size, size), np.float32)) for size in (32, 64))
    # Every other pixel of the large one lies where one of the small one does; but for the edges of checks and
    # the contrast of clouds they are alike.
    assert np.abs(large[:, :, ::2, ::2] - small).mean() < 0.02


def test_uniform_noise_is_uniform_and_normal_noise_is_normal_but_for_its_tails():
    nothing = np.zeros((30, 3, 32, 32), np.float32)
    uniform = applied(PureNoise(), nothing).ravel()
    assert np.histogram(uniform, 10, (0, 1))[0] / uniform.size == pytest.approx(np.full(10, 0.1), abs=0.005)
    normal = applied(PureNoise(distribution="normal"), nothing).ravel()
    inside = (normal > 0) & (normal < 1)
    assert inside.mean() == pytest.approx(0.9545, abs=0.005)  # within two standard deviations
    assert normal.mean() == pytest.approx(0.5, abs=0.005)
    assert (normal < 0.25).mean() == pytest.approx(0.1587, abs=0.005)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ColourSwap(order="rgb"),
        lambda: PureNoise(distribution="cauchy"),
        lambda: Textures(pattern="plaid"),
        lambda: Swirl(turns=0),
        lambda: Swirl(radius=-1),
    ],
)
def test_a_wrong_parameter_is_told(make):
    with refused(ParameterError):
        make()
