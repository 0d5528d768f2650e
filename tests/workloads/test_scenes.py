"""The rendered road scenes: what a workload promises, and what rendering must never do."""

from __future__ import annotations

import numpy as np
import pytest

from farm.api import (
    Context,
    FaultContext,
    NoCache,
    OODImages,
    Workload,
    check_workload,
    generator,
    parameters_of,
)
from farm.errors import ParameterError
from farm.workloads.scene_company import Company
from farm.workloads.scene_light import LIGHTS, WEATHERS
from farm.workloads.scene_setups import SETUPS
from farm.workloads.scene_shots import Site, develop, oversampling, shoot
from farm.workloads.scene_streets import Skies
from farm.workloads.scene_things import OBJECTS, usual
from farm.workloads.scenes import Scenes
from faultloads.novelty import Novelty
from tests.wording import refused

CLASSES = ("traffic-sign", "traffic-light", "pedestrian", "car", "truck", "bus", "bike")
FEW = {"train": 6, "validation": 2, "test": 3}
VARIANTS = {
    "home": {},
    "elsewhere": {"setup": "elsewhere"},
    "bad weather": {"weather": ["snow", "fog"]},
    "unusual": {"objects": "unusual"},
    "unknown": {"objects": "unknown"},
    "large": {"size": 100},
}


def made(name: str = "scenes", seed: int = 7, **parameters) -> Workload:
    source = Scenes(**FEW | parameters)
    source.name = name  # as an experiment does by `as`
    return source.load(Context(seed=seed))


@pytest.fixture(scope="module", params=VARIANTS.values(), ids=VARIANTS)
def workload(request) -> Workload:
    return made(**request.param)


@pytest.fixture(scope="module")
def scenes() -> Workload:
    return made()


def bounds(masks):
    """Return left, top, right, bottom of what is True, by looking at each row and column."""
    found = []
    for mask in masks:
        down, across = np.nonzero(mask)
        found.append((across.min(), down.min(), across.max() + 1, down.max() + 1))
    return np.array(found, dtype=float).reshape(-1, 4)


class TestWorkload:
    def test_keeps_the_rules_of_every_workload(self, workload):
        check_workload(workload)  # disjoint splits among them
        assert workload.shape[0] == 3

    def test_every_class_is_in_every_split_equally_often(self, workload):
        for split, n in zip(workload.splits, FEW.values(), strict=True):
            assert set(np.bincount(split.labels, minlength=len(workload.classes))) == {n}

    def test_ids_tell_name_split_class_and_number_and_are_groups(self, scenes):
        split = scenes.test
        assert split.ids[8] == "scenes/test/traffic-light/00001"
        assert [i.split("/")[2] for i in split.ids.tolist()] == [CLASSES[n] for n in split.labels]
        assert split.groups.tolist() == split.ids.tolist()

    def test_pictures_differ_and_use_the_range(self, workload):
        split = workload.train
        images = split.images.read(np.arange(len(split)))
        assert images.dtype == np.float32
        assert images.min() < 0.05
        assert images.max() > 0.95
        assert images.std(axis=(1, 2, 3)).min() > 0.02
        assert len(set(split.digests)) == len(split)

    def test_conditions_are_known_words_and_plausible_numbers(self, workload):
        for split in workload.splits:
            said = split.conditions
            assert list(said) == ["weather", "light", "kind", "distance_m", "covered"]
            assert set(said["weather"]) <= set(WEATHERS)
            assert set(said["light"]) <= set(LIGHTS)
            assert said["distance_m"].min() > 1
            assert said["distance_m"].max() < 60
            assert ((said["covered"] >= 0) & (said["covered"] < 0.9)).all()
            assert (said["covered"] > 0).mean() < 0.4


class TestBoxes:
    def test_they_are_of_a_random_size_within_the_picture(self, workload):
        size = workload.shape[1]
        for split in workload.splits:
            left, top, right, bottom = split.boxes.T
            assert split.boxes.dtype == np.float64
            assert (split.boxes > 0).all()
            assert (split.boxes < size).all()
            longer = np.maximum(right - left, bottom - top) / size
            assert longer.min() > 0.45
            assert longer.max() <= 0.97
            assert longer.std() > 0.05

    def test_they_bound_what_is_visible_of_the_thing(self, workload):
        for split in workload.splits:
            whole = split.conditions["covered"] == 0
            assert np.array_equal(bounds(split.masks[whole]), split.boxes[whole])
            seen = bounds(split.masks[~whole])
            assert (seen[:, :2] >= split.boxes[~whole, :2]).all()
            assert (seen[:, 2:] <= split.boxes[~whole, 2:]).all()

    def test_what_covers_a_thing_is_told_as_a_share(self):
        split = made(train=60).train
        covered = split.conditions["covered"]
        left, top, right, bottom = split.boxes.T
        filled = split.masks.sum(axis=(1, 2)) / ((right - left) * (bottom - top))
        some = covered > 0.05
        assert 0.06 < some.mean() < 0.12
        assert filled[some].mean() < filled[~some].mean()

    def test_things_stand_anywhere(self, scenes):
        left, top, right, bottom = made(train=30).train.boxes.T
        assert np.corrcoef(left + right, top + bottom)[0, 1] < 0.3
        for middle in ((left + right) / 2, (top + bottom) / 2):
            assert middle.std() > 3
            assert abs(middle.mean() - 24) < 3

    def test_a_larger_picture_shows_the_same(self, scenes):
        large = made(size=96)
        for one, other in zip(scenes.splits, large.splits, strict=True):
            # Each is rounded to pixels of its own, and to what fills a quarter of one.
            assert np.abs(one.boxes - other.boxes / 2).max() <= 2
            assert np.abs(one.boxes - other.boxes / 2).mean() < 0.5
            small, halved = (
                split.images.read(np.arange(len(split))).mean(axis=(1, 2, 3)) for split in (one, other)
            )
            assert np.abs(small - halved).max() < 0.05


class TestDeterminism:
    def test_the_same_seed_gives_the_same_bits(self, scenes):
        again = made()
        assert again.content_hash == scenes.content_hash
        for first, second in zip(scenes.splits, again.splits, strict=True):
            assert np.array_equal(first.boxes, second.boxes)
            assert np.array_equal(first.masks, second.masks)

    @pytest.mark.parametrize(("name", "seed"), [("scenes", 8), ("others", 7)])
    def test_another_seed_or_name_gives_other_scenes(self, scenes, name, seed):
        other = made(name, seed)
        assert other.name == name
        for one in other.splits:
            for split in scenes.splits:
                assert not set(one.digests) & set(split.digests)
        assert not (other.test.boxes == scenes.test.boxes).all(axis=1).any()

    def test_no_scene_is_in_two_splits(self, scenes):
        for one, other in ((scenes.train, scenes.validation), (scenes.train, scenes.test)):
            same = (one.boxes[: len(other)] == other.boxes).all(axis=1)
            assert same.mean() < 0.1
            assert not set(one.digests) & set(other.digests)

    def test_a_scene_depends_neither_on_those_before_it_nor_on_those_with_it(self, scenes):
        setup, names = SETUPS["home"], ("scenes", "train")
        sorts, size = usual(setup), 48
        for number, name in enumerate(CLASSES[:4]):
            site = Site(
                setup, WEATHERS, Skies(7, names, size * oversampling(size)), Company(7, names, setup, sorts)
            )
            alone = develop([shoot(generator(7, *names, name, 3), site, sorts[name], size)])
            place = 3 * len(CLASSES) + number
            # Sums of the blur may be grouped otherwise.
            seen = scenes.train.images.read(np.array([place]))
            assert np.abs(alone.images / 255 - seen).max() <= 1.01 / 255
            assert alone.boxes[0].tolist() == scenes.train.boxes[place].tolist()

    @pytest.mark.parametrize("objects", OBJECTS)
    def test_more_scenes_leave_the_earlier_ones_as_they_are(self, objects):
        few = made(objects=objects, train=2, validation=1, test=1)
        many = made(objects=objects, train=13, validation=3, test=2)
        for small, large in zip(few.splits, many.splits, strict=True):
            n = len(small)
            assert n < len(large)
            assert large.digests[:n] == small.digests
            assert large.ids[:n].tolist() == small.ids.tolist()
            assert np.array_equal(large.boxes[:n], small.boxes)
            assert np.array_equal(large.masks[:n], small.masks)


class TestWeather:
    def test_clear_and_overcast_are_most_and_all_are_met(self):
        weather = made(train=60).train.conditions["weather"]
        shares = {name: float((weather == name).mean()) for name in WEATHERS}
        assert all(shares[name] == pytest.approx(share, abs=0.1) for name, share in WEATHERS.items())
        assert min(shares.values()) > 0

    def test_a_list_has_each_equally_often_and_no_other(self):
        weather = made(train=40, weather=["snow", "fog"]).train.conditions["weather"]
        assert set(weather) == {"snow", "fog"}
        assert (weather == "snow").mean() == pytest.approx(0.5, abs=0.1)

    def test_a_mapping_says_how_often_each_is(self):
        weather = made(train=40, weather={"rain": 3, "clear": 1}).train.conditions["weather"]
        assert (weather == "rain").mean() == pytest.approx(0.75, abs=0.1)

    def test_fog_takes_contrast_from_the_same_things_at_the_same_places(self):
        clear, fog = (made(train=20, weather=[name]).train for name in ("clear", "fog"))
        assert np.array_equal(clear.boxes, fog.boxes)
        assert np.array_equal(clear.conditions["kind"], fog.conditions["kind"])
        spread = [split.images.read(np.arange(len(split))).std(axis=(1, 2, 3)) for split in (clear, fog)]
        assert np.mean(spread[1] / spread[0]) < 0.75

    def test_snow_whitens_the_ground(self):
        rows = []
        for name in ("clear", "snow"):
            split = made(train=20, weather=[name]).train
            vehicles = np.isin(split.labels, [CLASSES.index("car"), CLASSES.index("truck")])
            low = split.images.read(np.flatnonzero(vehicles))[..., -4:, :]
            day = split.conditions["light"][vehicles] == "day"
            rows.append(low[day].mean())
        assert rows[1] > rows[0] + 0.03


class TestShifts:
    def test_signs_elsewhere_are_those_of_another_country(self, scenes):
        elsewhere = made(setup="elsewhere", train=30).train.conditions["kind"]
        assert {"school", "railway"} & set(elsewhere)
        assert set(SETUPS["home"].cars) == set(SETUPS["elsewhere"].cars)

    def test_corner_cases_are_of_the_same_classes_and_of_other_kinds(self, scenes):
        unusual = made(objects="unusual", train=30).train
        assert made(objects="unusual").classes == scenes.classes == CLASSES
        usual = made(train=30).train
        assert not set(usual.conditions["kind"]) & set(unusual.conditions["kind"])
        counts = [len(set(unusual.conditions["kind"][unusual.labels == label])) for label in range(7)]
        assert min(counts) >= 4

    def test_unknown_things_have_classes_of_their_own(self, scenes):
        unknown = made(objects="unknown")
        assert not set(unknown.classes) & set(scenes.classes)
        assert len(unknown.classes) >= 6
        assert unknown.test.conditions["kind"].tolist() == [unknown.classes[n] for n in unknown.test.labels]


class TestAsSourceOfNovelty:
    def targets(self, ours: Workload, theirs: Workload):
        fault = Novelty(workload="theirs", shared="map")
        load = lambda spec, split: OODImages.of(theirs, split)  # noqa: E731
        return fault.prepare(FaultContext(ours, ours.test, None, load, Context(cache=NoCache())))

    @pytest.mark.parametrize("parameters", [{"setup": "elsewhere"}, {"objects": "unusual"}], ids=str)
    def test_known_classes_keep_their_labels_and_boxes(self, scenes, parameters):
        theirs = made("theirs", **parameters)
        found = self.targets(scenes, theirs)
        assert found.labels.tolist() == theirs.test.labels.tolist()
        assert set(found.category) == {"shift"}
        assert np.array_equal(found.split.boxes, theirs.test.boxes)

    def test_unknown_things_have_a_box_and_no_right_answer(self, scenes):
        theirs = made("theirs", objects="unknown")
        found = self.targets(scenes, theirs)
        assert set(found.labels) == {-1}
        assert set(found.category) == {"novelty"}
        assert np.array_equal(found.split.boxes, theirs.test.boxes)

    def test_without_a_name_of_its_own_it_is_refused(self, scenes):
        with refused(ParameterError):
            self.targets(scenes, made(setup="elsewhere"))


class TestParameters:
    @pytest.mark.parametrize("name", ["train", "validation", "test", "size"])
    @pytest.mark.parametrize("value", [0, -1, 2.5, "3", True, None])
    def test_a_bad_number_is_named(self, name, value):
        with refused(ParameterError):
            Scenes(**{name: value})

    @pytest.mark.parametrize("size", [31, 257])
    def test_a_size_that_shows_too_little_or_takes_too_long_is_refused(self, size):
        with refused(ParameterError):
            Scenes(size=size)

    def test_one_scene_a_class_is_not_enough_to_learn_from(self):
        with refused(ParameterError):
            Scenes(train=1)

    @pytest.mark.parametrize(
        "weather",
        [
            "snow",
            [],
            {},
            3,
            ["hail"],
            ["snow", "fog", "snow"],
            [["snow"]],
            {"snow": 0.5, "sun": 0.5},
            {"snow": 0},
            {"snow": "much"},
        ],
        ids=str,
    )
    def test_a_bad_weather_is_named(self, weather):
        with refused(ParameterError):
            Scenes(weather=weather)

    @pytest.mark.parametrize(("name", "value"), [("setup", "abroad"), ("objects", "odd"), ("objects", None)])
    def test_an_unknown_word_is_named(self, name, value):
        with refused(ParameterError):
            Scenes(**{name: value})

    def test_all_parameters_have_defaults_and_are_told(self):
        assert set(parameters_of(Scenes)) == {*FEW, "size", "weather", "setup", "objects"}
        assert Scenes(test=9).parameters["test"] == 9
        assert Scenes().name == "scenes"


def test_progress_counts_the_rounds_of_every_split():
    class Counting:
        def __init__(self):
            self.seen = []

        def track(self, items, description, total=None):
            self.seen.append((description, total))
            yield from items

        def note(self, message):
            raise AssertionError(message)

    progress = Counting()
    Scenes(train=2, validation=1, test=1).load(Context(seed=0, progress=progress))
    assert progress.seen == [("scenes: train", 2), ("scenes: validation", 1), ("scenes: test", 1)]
