"""Warps and filters of images that are not square, against scipy and formulas written pixel by pixel."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from farm.api import PerInstance
from faultloads import _warps
from faultloads.geometry import Crop, Perspective, Reflection, Rotation, Scale, Translation
from faultloads.robustness import (
    RobustnessCrop,
    RobustnessPerspective,
    RobustnessReflection,
    RobustnessRotation,
)
from tests.faultloads.applying import apply, names, pictures
from tests.tables import all_hold

SHAPES = [(20, 33), (41, 16)]
SCIPYS = {"edge": "nearest", "symmetric": "reflect", "constant": "grid-constant", "wrap": "grid-wrap"}
NUMBERS = {
    "degrees": [25, -140, 0],
    "part": [0.6, 1.0, 1.7],
    "across": [0.13, -0.4, 0.07],
    "down": [-0.21, 0.02, 0.3],
}


def oblong(shape, n=3, channels=3):
    return pictures(n, channels, size=48)[:, :, : shape[0], : shape[1]].copy()


def seen_from(source, shape, degrees=0.0, part=1.0, across=0.0, down=0.0):
    """Return rows and columns of the source: what is seen is turned as numbers in the complex plane are."""
    high, wide = shape
    places = np.empty((2, high, wide))
    turn = np.exp(-1j * np.deg2rad(float(degrees))) * float(part)
    for row in range(high):
        for column in range(wide):
            upwards = complex(column - (wide - 1) / 2, (high - 1) / 2 - row) * turn
            places[0, row, column] = (source[0] - 1) / 2 + float(down) * source[0] - upwards.imag
            places[1, row, column] = (source[1] - 1) / 2 + float(across) * source[1] + upwards.real
    return places


def read(image, places, edge="edge"):
    return np.stack(
        [ndimage.map_coordinates(plane.astype(float), places, order=1, mode=SCIPYS[edge]) for plane in image]
    )


def tilted_places(shape, corners, part=1.0):
    """Solve the eight equations that take the corners, as shares, back to the unit square."""
    rows, sides = [], []
    for (x, y), (u, v) in zip(np.asarray(corners, float), [(0, 0), (1, 0), (1, 1), (0, 1)], strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        sides += [u, v]
    matrix = np.append(np.linalg.solve(rows, sides), 1).reshape(3, 3)
    high, wide = shape
    places = np.empty((2, high, wide))
    for row in range(high):
        for column in range(wide):
            across = 0.5 + part * ((column + 0.5) / wide - 0.5)
            down = 0.5 + part * ((row + 0.5) / high - 0.5)
            u, v, depth = matrix @ (across, down, 1)
            places[:, row, column] = v / depth * high - 0.5, u / depth * wide - 0.5
    return places


def close(ours, expected, most=2e-4):
    assert ours.shape == expected.shape
    assert np.abs(ours - expected).max() < most


def test_images_that_are_not_square_are_turned_enlarged_and_moved_as_said():
    def check(shape, edge):
        images = oblong(shape)
        ours = _warps.affine(
            images, **{name: np.float32(values) for name, values in NUMBERS.items()}, edge=edge
        )
        for i, image in enumerate(images):
            places = seen_from(shape, shape, **{name: values[i] for name, values in NUMBERS.items()})
            close(ours[i], read(image, places, edge))

    all_hold(check, [(shape, edge) for shape in SHAPES for edge in ("edge", "symmetric", "constant")])


def test_pieces_are_cut_from_a_texture_that_is_not_square():
    texture = pictures(1, 1, size=64)[0, 0, :50]

    def check(*shape):
        numbers = {name: np.float32(values) for name, values in NUMBERS.items()}
        pieces = _warps.cut_out(texture, shape, **numbers)
        assert pieces.shape == (3, 1, *shape)
        for i, piece in enumerate(pieces):
            places = seen_from(texture.shape, shape, **{name: values[i] for name, values in NUMBERS.items()})
            # At the seam of this texture single steps are large, so that a rounding error weighs more.
            close(piece, read(texture[None], places, "wrap"), most=1e-3)

    all_hold(check, SHAPES)


CORNERS = np.float32(
    [
        [[0.1, 0.05], [0.8, 0.2], [0.95, 0.9], [0.02, 0.7]],
        [[0, 0.3], [1, 0], [0.75, 1], [0.2, 0.8]],
        [[0, 0], [1, 0], [1, 1], [0, 1]],
    ]
)


def test_corners_of_images_that_are_not_square_go_where_they_are_put():
    def check(shape, part, edge):
        images = oblong(shape)
        ours = _warps.askew(images, CORNERS, part=part, edge=edge)
        for i, image in enumerate(images):
            close(ours[i], read(image, tilted_places(shape, CORNERS[i], part), edge), most=1e-3)

    all_hold(
        check, [(s, part, edge) for s in SHAPES for part, edge in [(1.0, "symmetric"), (0.8, "constant")]]
    )


def test_distances_are_in_shorter_sides_from_the_middles_of_pixels():
    places = np.float32([[0.2, 0.7], [1, 0]])

    def check(high, wide):
        down, across = _warps.distances_from(places, (high, wide))
        for i, (row, column) in enumerate(places):
            expected_down = [(k + 0.5 - row * high) / min(high, wide) for k in range(high)]
            expected_across = [(k + 0.5 - column * wide) / min(high, wide) for k in range(wide)]
            assert down[i] == pytest.approx(expected_down, abs=1e-5)
            assert across[i] == pytest.approx(expected_across, abs=1e-5)

    all_hold(check, [*SHAPES, (24, 24)])


def test_a_smear_adds_pixels_along_its_line_each_in_its_direction():
    weights, degrees = [0.4, 0.3, 0.2, 0.1], [0, 30, -75, 160]

    def check(*shape):
        images = oblong(shape, n=4)
        ours = _warps.smear(images, weights, np.float32(degrees))
        for image, result, angle in zip(images, ours, degrees, strict=True):
            expected = np.zeros(image.shape)
            for step, weight in enumerate(weights):
                way = step * np.exp(1j * np.deg2rad(angle))
                rows = np.clip(np.arange(shape[0]) + int(np.ceil(way.imag - 0.5)), 0, shape[0] - 1)
                columns = np.clip(np.arange(shape[1]) + int(np.ceil(way.real - 0.5)), 0, shape[1] - 1)
                expected += weight * image[:, rows][:, :, columns]
            close(result, expected, most=1e-6)

    all_hold(check, SHAPES)


# What faults draw, on images that are not square ---------------------------------------------------------


def drawn(kind, n=3):
    return PerInstance(0, kind.__name__, names(n))


def test_faults_see_images_that_are_not_square_from_where_their_numbers_say():
    def check(kind, severity, most, numbers):
        """`numbers` gives each instance's arguments from the random numbers that it draws."""
        for shape in SHAPES:
            images = oblong(shape)
            ours = apply(kind(), images, severity)
            for i, (image, arguments) in enumerate(zip(images, numbers(drawn(kind), most), strict=True)):
                close(ours[i], read(image, seen_from(shape, shape, **arguments)).clip(0, 1), most=5e-4)

    def turned(random, most):
        return [{"degrees": most * share} for share in random.uniform(low=-1, high=1)]

    def moved(random, most):
        return [{"across": most * a, "down": most * d} for a, d in random.uniform(2, low=-1, high=1)]

    def scaled(random, most):
        return [{"part": most ** -float(power)} for power in random.uniform(low=-1, high=1)]

    def cropped(random, most):
        shares = random.uniform(2, low=-0.5, high=0.5)
        return [{"part": most, "across": (1 - most) * a, "down": (1 - most) * d} for a, d in shares]

    levels = {
        (Rotation, turned): [6, 12, 18, 24, 30],
        (Translation, moved): [0.06, 0.12, 0.18, 0.24, 0.3],
        (Scale, scaled): [1.15, 1.3, 1.45, 1.6, 1.75],
        (Crop, cropped): [0.92, 0.84, 0.76, 0.68, 0.6],
        (RobustnessRotation, turned): [10, 15, 20, 25, 30],
        (RobustnessCrop, cropped): [62 / 64, 60 / 64, 58 / 64, 56 / 64, 54 / 64],
    }
    # Half-way to the first level everything is half-way to no change.
    middle = {Scale: 1.075, Crop: 0.96, RobustnessCrop: 63 / 64}
    cases = []
    for (kind, numbers), each in levels.items():
        cases += [(kind, severity, most, numbers) for severity, most in enumerate(each, start=1)]
        cases.append((kind, 0.5, middle.get(kind, each[0] / 2), numbers))
    all_hold(check, cases)


def test_planes_tilt_in_images_that_are_not_square():
    inwards = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])

    def check(kind, severity, share, part):
        for shape in SHAPES:
            images = oblong(shape)
            ours = apply(kind(), images, severity)
            for image, result, moves in zip(images, ours, drawn(kind).uniform(4, 2), strict=True):
                corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) + share * inwards * moves
                close(result, read(image, tilted_places(shape, corners, part)), most=2e-3)

    shares = [(0.03, 0.5), (0.06, 1), (0.12, 2), (0.18, 3), (0.24, 4), (0.3, 5)]
    table = [(0.1, 0.9), (0.15, 0.85), (0.2, 0.8), (0.25, 0.75), (0.3, 0.7)]
    cases = [(Perspective, severity, share, 1.0) for share, severity in shares]
    cases += [(RobustnessPerspective, severity, *each) for severity, each in enumerate(table, start=1)]
    all_hold(check, cases)


def test_a_reflection_is_a_round_spot_at_its_place_in_images_that_are_not_square():
    levels = [(0.6, 0.1), (0.7, 0.13), (0.8, 0.16), (0.9, 0.19), (1, 0.22)]

    def check(severity, brightness, radius):
        for high, wide in SHAPES:
            images = oblong((high, wide))
            ours = apply(Reflection(), images, severity)
            places = drawn(Reflection).uniform(2, low=0.15, high=0.85)
            for image, result, (down, across) in zip(images, ours, places, strict=True):
                rows, columns = np.mgrid[:high, :wide] + 0.5
                squares = (rows - down * high) ** 2 + (columns - across * wide) ** 2
                light = brightness * np.exp(-squares / (2 * (radius * min(high, wide)) ** 2))
                close(result, image + light * (1 - image), most=1e-5)

    all_hold(check, [(severity, *each) for severity, each in enumerate(levels, start=1)])


def test_the_robustness_reflection_is_a_blurred_square_in_images_that_are_not_square():
    def check(severity, pixels):
        for high, wide in [(64, 96), (96, 64)]:
            black = np.zeros((3, 1, high, wide), dtype=np.float32)
            side = pixels * min(high, wide) / 64
            share = pixels / 64
            places = 0.5 + (1 - share) * drawn(RobustnessReflection).uniform(2, low=-0.5, high=0.5)
            for result, (down, across) in zip(
                apply(RobustnessReflection(), black, severity), places, strict=True
            ):
                fine = 8
                square = np.zeros((high * fine, wide * fine))
                top, left = (
                    round((p * size - side / 2) * fine) for p, size in ((down, high), (across, wide))
                )
                reach = round(side * fine)
                square[max(top, 0) : top + reach, max(left, 0) : left + reach] = 1
                blurred = ndimage.gaussian_filter(square, side / 4 * fine, mode="constant")
                close(result[0], blurred.reshape(high, fine, wide, fine).mean(axis=(1, 3)), most=0.03)

    all_hold(check, [(1, 8), (5, 24)])


def test_motion_weights_are_half_a_normal_distribution():
    def check(radius, sigma, n):
        steps = np.arange(2 * n + 1)
        expected = np.exp(-(steps**2) / (2 * sigma**2))
        ours = _warps.motion_weights(radius, sigma)
        # Weights below 1e-5 of the greatest are left out; the others keep theirs.
        kept = expected > 1e-5
        assert len(ours) == kept.sum()
        assert ours == pytest.approx(expected[kept] / expected.sum())

    all_hold(check, [(10, 3, 10), (20, 15, 20), (1.4, 0.5, 1), (1.6, 2.0, 2)])
