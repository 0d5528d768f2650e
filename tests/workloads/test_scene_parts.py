"""What scenes are put together of: solids, perspective, light, things of every kind, and their company."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from farm.api import generator
from farm.workloads.photography import blurred, boxes_around
from farm.workloads.scene_company import LARGEST_OTHER, Company, Surroundings, shapes_of
from farm.workloads.scene_easel import Easel
from farm.workloads.scene_light import Light
from farm.workloads.scene_setups import SETUPS
from farm.workloads.scene_solids import ALWAYS, IN_THE_DARK, Solid, choose, pick
from farm.workloads.scene_streets import Street
from farm.workloads.scene_things import FALLEN, OBJECTS, choose_spot, usual
from farm.workloads.scene_views import Shape, Window, place

RED, GREEN, BLUE, GREY = (0.8, 0.0, 0.0), (0.0, 0.8, 0.0), (0.0, 0.0, 0.8), (0.5, 0.5, 0.5)
PLAIN = Light("overcast", "day", 1.0, np.array([0.0, 1.0, 0.0]), 0.0, 0.0, np.zeros(3), 0.0, 0.0, 0.0)
"""Without sun, haze or lamps: an upright face shows 86 % of its colour, one that looks upwards all of it."""
KINDS = [
    (setup, objects, name, kind)
    for setup in SETUPS
    for objects in OBJECTS
    for name, sort in OBJECTS[objects](SETUPS[setup]).items()
    for kind in sort.kinds
]


def painted(*placed, light=PLAIN, window=None, mask=None):
    canvas = Image.new("RGB", (100, 100))
    Easel(canvas, window or Window(-0.5, -0.5, 1.0, 100), light).paint(placed, mask)
    return np.asarray(canvas)


def cube(colours, side=1.0):
    """Make a box whose faces towards the front, the back and to both sides are painted."""
    solid, half = Solid(), side / 2
    solid.block((-half, half), (0, side), (-half, half), GREY)
    for x, colour in zip((-half, half), colours, strict=True):
        solid.plate(x, (0, side), (-half, half), colour)
    return Shape(solid)


class TestPerspective:
    def test_what_is_twice_as_far_is_seen_half_as_large(self):
        near, far = (place(cube([RED, RED], 0.01), (0.2, 0.0, away), 1.0).extent for away in (4.0, 8.0))
        assert far == pytest.approx(tuple(value / 2 for value in near), rel=0.01)
        assert near[0] == pytest.approx(0.2 / 4, abs=0.005)
        assert near[3] == pytest.approx(1 / 4, abs=0.005)

    def test_a_ball_is_as_large_as_its_width(self):
        solid = Solid()
        solid.rod([(0.0, 1.0, 0.0)], 0.5, RED)
        assert place(Shape(solid), (0, 0, 5), 1.0).extent == pytest.approx((-0.05, -0.05, 0.05, 0.05))

    @pytest.mark.parametrize(("yaw", "colour"), [(0, RED), (np.pi, GREEN)])
    def test_it_looks_away_unless_it_is_turned(self, yaw, colour):
        seen = painted(place(cube([RED, GREEN]), (0, 0, 3), 0.5, yaw))
        assert seen[50, 50].tolist() == pytest.approx([255 * 0.86 * c for c in colour], abs=1)

    @pytest.mark.parametrize("yaw", [np.pi / 2, -np.pi / 2])
    def test_from_the_side_neither_front_nor_back_is_seen(self, yaw):
        seen = painted(place(cube([RED, GREEN]), (0, 0, 3), 0.5, yaw))
        assert seen[50, 50].tolist() == pytest.approx([255 * 0.86 * 0.5] * 3, abs=1)

    def test_its_right_side_is_to_the_right_where_it_looks_away(self):
        solid = Solid()
        solid.rod([(0.0, 0.0, 1.0)], 0.1, RED)
        assert place(Shape(solid), (0, 0, 5), 0.0).extent[0] > 0
        assert place(Shape(solid), (0, 0, 5), 0.0, yaw=np.pi).extent[0] < 0

    def test_what_has_fallen_over_lies_on_the_ground(self):
        solid = Solid()
        solid.rod([(0.0, 0.0, 0.0), (0.0, 2.0, 0.0)], 0.1, RED)
        world = place(Shape(solid), (0, 0, 5), 0.0, lying=True).world
        assert world[:, 1].tolist() == pytest.approx([0, 0])
        assert np.ptp(world[:, 0]) == pytest.approx(2)

    def test_near_parts_hide_far_ones_whatever_was_added_first(self):
        for first, second in (((-1, RED), (1, GREEN)), ((1, GREEN), (-1, RED))):
            solid = Solid()
            for x, colour in (first, second):
                solid.block((x - 0.1, x + 0.1), (0, 1), (-0.5, 0.5), colour)
            middle = painted(place(Shape(solid), (0, 0, 5), 0.5))[50, 50]
            assert middle.argmax() == 0
            assert painted(place(Shape(solid), (0, 0, 5), 0.5, np.pi))[50, 50].argmax() == 1

    def test_later_layers_and_later_things_hide_earlier_ones(self):
        solid = Solid()
        solid.block((-1.1, -0.9), (0, 1), (-0.5, 0.5), RED)
        solid.block((0.9, 1.1), (0, 1), (-0.5, 0.5), GREEN, layer=1)
        near, far = place(Shape(solid), (0, 0, 5), 0.5), place(cube([BLUE, BLUE]), (0, 0, 9), 0.5)
        assert painted(near)[50, 50].argmax() == 1
        assert painted(near, far)[50, 50].argmax() == 2

    def test_the_mask_is_white_where_the_last_thing_is(self):
        mask = Image.new("L", (100, 100))
        left, right = (place(cube([RED, RED]), (x, 0, 5), 0.5) for x in (-1.2, 1.2))
        seen = painted(left, right, mask=mask)
        expected = (seen.sum(axis=2) > 0) & (np.arange(100) >= 50)
        assert np.array_equal(np.asarray(mask) == 255, expected)

    def test_a_picture_lies_between_its_corners_in_perspective(self):
        image = Image.new("RGBA", (20, 20), (200, 0, 0, 255))
        image.paste((0, 200, 0, 255), (10, 0, 20, 20))
        solid = Solid()
        solid.part()
        solid.picture([(0, 1, -1), (0, 1, 1), (0, -1, 1), (0, -1, -1)], image)
        seen = painted(place(Shape(solid), (0, 0, 2.5), 0.0, yaw=0.9), window=Window(-0.6, -0.6, 1.2, 100))
        red, green = seen[50, :, 0] > 90, seen[50, :, 1] > 90
        # Its right side has come nearer, and so takes more of the picture.
        assert 0 < red.sum() < green.sum()
        assert np.flatnonzero(red).max() <= np.flatnonzero(green).min() + 1


class TestLight:
    def seen(self, light, normal=(0.0, 0.0, -1.0), depth=10.0, glow=0.0, colour=GREY):
        found = light.seen(np.array([colour]), np.array([normal]), np.array([depth]), np.array([glow]))
        return found[0].tolist()

    def test_air_takes_light_and_gives_its_own(self):
        light = replace(PLAIN, thickness=0.1, air=np.array([1.0, 0.5, 0.0]))
        clear = np.exp(-1)
        expected = [255 * (0.43 * clear + air * (1 - clear)) for air in (1, 0.5, 0)]
        assert self.seen(light) == pytest.approx(expected, abs=1)

    def test_sun_lights_what_looks_at_it(self):
        light = replace(PLAIN, sun=np.array([0.0, 0.0, -1.0]), sunlit=0.5)
        towards, away = self.seen(light), self.seen(light, normal=(0.0, 0.0, 1.0))
        assert towards[0] == pytest.approx(255 * 0.43 * 1.35, abs=1)
        assert away[0] == pytest.approx(255 * 0.43 * 0.5, abs=1)

    def test_snow_lies_on_what_looks_upwards_alone(self):
        light = replace(PLAIN, snow=1.0)
        assert self.seen(light, normal=(0.0, 1.0, 0.0))[0] > 230
        assert self.seen(light) == self.seen(PLAIN)

    @pytest.mark.parametrize(
        ("light", "glow", "shines"),
        [
            ("day", ALWAYS, True),
            ("night", ALWAYS, True),
            ("day", IN_THE_DARK, False),
            ("night", IN_THE_DARK, True),
            ("night", 0.0, False),
        ],
    )
    def test_lamps_are_lit_always_or_in_the_dark(self, light, glow, shines):
        dim = replace(PLAIN, light=light, ambient=0.1)
        assert (self.seen(dim, glow=glow, colour=RED)[0] > 200) == shines

    def test_headlights_reach_what_is_near(self):
        dim = replace(PLAIN, ambient=0.1, lamps=0.8)
        assert self.seen(dim, depth=5.0)[0] > 2 * self.seen(dim, depth=40.0)[0]


class TestThings:
    @pytest.mark.parametrize(("setup", "objects", "name", "kind"), KINDS)
    def test_each_kind_can_be_made_and_seen(self, setup, objects, name, kind):
        """At the height of a camera, on its spot, it takes a good part of its box."""
        sort = OBJECTS[objects](SETUPS[setup])[name]
        for number in range(3):
            rng = generator(number, "kinds")
            shapes = shapes_of(sort.make(rng, SETUPS[setup], kind))
            spot, yaw = choose_spot(rng, sort, kind, Street("town", 5.0, 9.0), SETUPS[setup])
            thing, *_ = (place(one, spot, 1.4, yaw, lying=kind in FALLEN) for one in shapes)
            assert thing.world[:, 1].min() > -1.4 - 0.15  # nothing reaches into the ground
            left, top, right, bottom = thing.extent
            side = 1.1 * max(right - left, bottom - top)
            mask = Image.new("L", (100, 100))
            painted(thing, window=Window(left - 0.05 * side, top - 0.05 * side, side, 100), mask=mask)
            down, across = np.nonzero(np.asarray(mask))
            box = (np.ptp(across) + 1) * (np.ptp(down) + 1)
            assert max(np.ptp(across), np.ptp(down)) > 60
            assert len(down) > 0.15 * box

    def test_two_of_a_kind_differ(self):
        for setup, objects, name, kind in KINDS:
            sort = OBJECTS[objects](SETUPS[setup])[name]
            one, other = (
                shapes_of(sort.make(generator(seed, "kinds"), SETUPS[setup], kind))[0] for seed in (0, 1)
            )
            assert (
                one.points.shape != other.points.shape
                or not np.allclose(one.points, other.points)
                or not np.allclose(one.colours, other.colours)
            )

    def test_traffic_keeps_to_its_side(self):
        for setup, right_hand in (("home", True), ("elsewhere", False)):
            sort = usual(SETUPS[setup])["car"]
            spots = [
                choose_spot(generator(i, "side"), sort, "saloon", Street("town", 5, 9), SETUPS[setup])
                for i in range(200)
            ]
            away = [spot[0] > 0 for spot, yaw in spots if np.cos(yaw) > 0.9]
            assert len(away) > 40
            assert all(value == right_hand for value in away)


class TestCompany:
    def test_nobody_is_large_or_before_the_thing(self):
        setup, seen = SETUPS["home"], 0
        company = Company(0, ("test",), setup, usual(setup))
        mark = Solid()
        mark.block((-2, 2), (0, 1.5), (-0.9, 0.9), RED)
        window = Window(-0.4, -0.4, 0.8, 100)
        scene = Surroundings(Street("town", 6.0, 10.0), PLAIN, window, 1.4)
        thing = place(Shape(mark), (0, 0, 10), 1.4)

        def area(box, other):
            left, top = max(box[0], other[0]), max(box[1], other[1])
            right, bottom = min(box[2], other[2]), min(box[3], other[3])
            return max(right - left, 0) * max(bottom - top, 0)

        furniture = {"tree", "bare tree", "lamp post"}
        for number in range(400):
            found = company.around(generator(number, "around"), thing, scene)
            assert [one.distance for one in found] == sorted((one.distance for one in found), reverse=True)
            kept = {
                id(shape) for (name, _), (_, s) in company._kept.items() if name in furniture for shape in s
            }
            for one in found:
                if one.distance <= thing.distance:
                    assert not area(one.extent, thing.extent)
                if id(one.shape) not in kept and len(one.shape.starts) > 3:  # no posts
                    seen += 1
                    assert area(one.extent, window.box) <= LARGEST_OTHER * area(thing.extent, thing.extent)
        assert seen > 100


class TestChoices:
    def test_names_come_as_often_as_their_shares(self):
        rng = generator(0, "choices")
        drawn = [choose(rng, {"a": 1, "b": 3, "c": 0}) for _ in range(2000)]
        assert drawn.count("a") / 2000 == pytest.approx(0.25, abs=0.03)
        assert "c" not in drawn

    def test_colours_vary_within_the_range(self):
        drawn = np.array([pick(generator(i, "colour"), [(0.0, 0.5, 1.0)]) for i in range(200)])
        assert drawn.min() > 0
        assert drawn.max() <= 1
        assert drawn.mean(axis=0).tolist() == pytest.approx([0.03, 0.5, 0.97], abs=0.02)
        assert drawn[:, 1].std() > 0.03


class TestPhotography:
    def test_a_blur_without_width_changes_nothing(self):
        picture = generator(0, "blur").random((2, 10, 12, 3), np.float32)
        assert blurred(picture, [0, 0], [(0, 0), (0, 0)]) == pytest.approx(picture, abs=1e-5)

    def test_defocus_spreads_a_point_as_the_normal_distribution_does(self):
        picture = np.zeros((1, 21, 21, 3), np.float32)
        picture[0, 10, 10] = 1
        spread = blurred(picture, [1.5], [(0, 0)])[0, :, :, 0].sum(axis=1)
        at = np.arange(21) - 10
        assert spread.sum() == pytest.approx(1, abs=1e-4)
        assert (spread * at**2).sum() == pytest.approx(1.5**2, rel=0.01)

    def test_a_box_goes_around_what_is_true(self):
        outline = np.zeros((2, 8, 9), bool)
        outline[0, 2, 3] = outline[1, 1:7, 0] = outline[1, 4, 8] = True
        assert boxes_around(outline).tolist() == [[3, 2, 4, 3], [0, 1, 9, 7]]
