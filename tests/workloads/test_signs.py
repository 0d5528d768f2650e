"""The rendered signs: what a workload promises, and what rendering must never do."""

from __future__ import annotations

import numpy as np
import pytest

from farm.api import Context, Workload, WorkloadSource, check_workload, generator, parameters_of
from farm.errors import ParameterError
from farm.workloads.sign_camera import CROP_SIZE, choose_view, photograph
from farm.workloads.sign_catalogue import ABROAD, HOME, PLATES
from farm.workloads.sign_pictograms import PICTOGRAMS
from farm.workloads.sign_scenes import LIGHTS, WEATHERS, draw_face, make_scene
from farm.workloads.signs import Signs, SignsAbroad
from tests.wording import refused

COUNTRIES = [Signs, SignsAbroad]
SMALL = {"train_groups": 3, "validation_groups": 2, "test_groups": 2, "views": 2}


def pixels(split):
    return split.images.read(np.arange(len(split)))


@pytest.fixture(scope="module", params=COUNTRIES, ids=["signs", "signs-abroad"])
def workload(request) -> Workload:
    return request.param(**SMALL).load(Context(seed=7))


@pytest.fixture(scope="module")
def signs() -> Workload:
    return Signs(**SMALL).load(Context(seed=7))


class TestWorkload:
    def test_keeps_the_rules_of_every_workload(self, workload):
        check_workload(workload)
        assert workload.shape == (3, CROP_SIZE, CROP_SIZE)

    def test_every_class_is_in_every_split_equally_often(self, workload):
        for split, groups in zip(workload.splits, (3, 2, 2), strict=True):
            counts = np.bincount(split.labels, minlength=len(workload.classes))
            assert set(counts) == {groups * SMALL["views"]}

    def test_pixels_use_the_range(self, workload):
        images = pixels(workload.train)
        assert images.dtype == np.float32
        assert images.min() < 0.1
        assert images.max() > 0.9
        assert images.std(axis=(1, 2, 3)).min() > 0.01

    def test_ids_and_groups_are_unique_over_all_splits(self, workload):
        ids = np.concatenate([split.ids for split in workload.splits])
        groups = np.concatenate([np.unique(split.groups) for split in workload.splits])
        assert len(set(ids)) == len(ids)
        assert len(set(groups)) == len(groups)

    def test_an_id_is_its_group_and_the_view(self, workload):
        split = workload.test
        assert str(split.ids[1]) == f"{workload.name}/test/00000-1"
        assert [i.rsplit("-", 1)[0] for i in split.ids.tolist()] == split.groups.tolist()

    def test_a_group_is_one_sign_in_one_light(self, workload):
        split = workload.train
        for group in np.unique(split.groups):
            members = split.groups == group
            assert members.sum() == SMALL["views"]
            for values in (split.labels, split.conditions["weather"], split.conditions["light"]):
                assert len(set(values[members])) == 1
            assert len(set(split.conditions["pose_degrees"][members])) == SMALL["views"]

    def test_conditions_are_known_words_and_plausible_angles(self, workload):
        for split in workload.splits:
            assert set(split.conditions["weather"]) <= set(WEATHERS)
            assert set(split.conditions["light"]) <= set(LIGHTS)
            angles = split.conditions["pose_degrees"]
            assert angles.dtype == np.float64
            assert angles.min() >= 0
            assert angles.max() < 80
            assert angles.std() > 3

    def test_boxes_lie_in_the_image_and_contain_the_mask(self, workload):
        for split in workload.splits:
            left, top, right, bottom = split.boxes.T
            assert split.boxes.dtype == np.float64
            assert (split.boxes >= 0).all()
            assert (split.boxes <= CROP_SIZE).all()
            assert (right - left > 5).all()
            assert (bottom - top > 10).all()
            at = np.arange(CROP_SIZE)
            across = (at >= left[:, None]) & (at < right[:, None])
            down = (at >= top[:, None]) & (at < bottom[:, None])
            assert not (split.masks & ~(down[:, :, None] & across[:, None, :])).any()

    def test_most_signs_are_mostly_visible(self, workload):
        left, top, right, bottom = workload.train.boxes.T
        visible = workload.train.masks.sum(axis=(1, 2)) / ((right - left) * (bottom - top))
        # A triangle fills half of its box.
        assert np.median(visible) > 0.45
        assert (visible > 0.2).mean() > 0.95


class TestDeterminism:
    def test_the_same_seed_gives_the_same_bits(self, signs):
        again = Signs(**SMALL).load(Context(seed=7))
        assert again.content_hash == signs.content_hash
        for first, second in zip(signs.splits, again.splits, strict=True):
            assert np.array_equal(first.boxes, second.boxes)
            assert np.array_equal(first.masks, second.masks)

    def test_another_seed_gives_other_images_of_the_same_signs(self, signs):
        other = Signs(**SMALL).load(Context(seed=8))
        assert not set(other.train.digests) & set(signs.train.digests)
        assert np.array_equal(other.train.labels, signs.train.labels)

    @pytest.mark.parametrize("source", COUNTRIES)
    def test_more_groups_leave_the_earlier_ones_as_they_are(self, source):
        few = source(train_groups=2, validation_groups=1, test_groups=1, views=1).load(Context(seed=1))
        many = source(train_groups=4, validation_groups=3, test_groups=2, views=1).load(Context(seed=1))
        for small, large in zip(few.splits, many.splits, strict=True):
            n = len(small)
            assert n < len(large)
            assert large.digests[:n] == small.digests
            assert large.ids[:n].tolist() == small.ids.tolist()
            assert large.labels[:n].tolist() == small.labels.tolist()
            assert np.array_equal(large.masks[:n], small.masks)

    def test_more_views_leave_the_earlier_ones_as_they_are(self, signs):
        more = Signs(**SMALL | {"views": 3}).load(Context(seed=7))
        first = dict(zip(signs.train.ids.tolist(), signs.train.digests, strict=True))
        second = dict(zip(more.train.ids.tolist(), more.train.digests, strict=True))
        assert len(second) > len(first)
        assert {i: second[i] for i in first} == first

    def test_a_picture_does_not_depend_on_those_taken_with_it(self):
        face = draw_face(HOME.designs[0], HOME.style)
        scene = make_scene(generator(0, "scene"), face)
        shots = [(scene, choose_view(generator(0, "view", i))) for i in range(5)]
        together = photograph(shots).images
        assert np.array_equal(together, np.concatenate([photograph([shot]).images for shot in shots]))

    def test_splits_of_one_country_differ_from_those_of_the_other(self, signs):
        abroad = SignsAbroad(**SMALL).load(Context(seed=7))
        assert not set(abroad.test.digests) & set(signs.test.digests)
        assert not set(abroad.test.groups) & set(signs.test.groups)


class TestCatalogue:
    def test_the_countries_share_ten_classes(self):
        assert set(HOME.classes) & set(ABROAD.classes) == set(ABROAD.classes[:10])

    def test_there_are_enough_classes_of_each_kind(self):
        assert len(HOME.classes) == len(set(HOME.classes)) >= 24
        assert len(set(ABROAD.classes) - set(HOME.classes)) >= 10

    @pytest.mark.parametrize("country", [HOME, ABROAD], ids=lambda c: c.name)
    def test_every_design_is_drawable_and_unlike_the_others(self, country):
        for design in country.designs:
            assert design.plate in PLATES
            assert design.pictogram in PICTOGRAMS
        faces = {draw_face(design, country.style).tobytes() for design in country.designs}
        assert len(faces) == len(country.designs)

    def test_a_sign_means_the_same_in_both_countries_and_looks_different(self):
        home = {design.name: design for design in HOME.designs}
        for design in ABROAD.designs[:10]:
            assert design == home[design.name]
            here, there = (np.asarray(draw_face(design, c.style), float) for c in (HOME, ABROAD))
            assert 1 < np.abs(here - there).mean() < 60

    def test_no_new_sign_abroad_is_one_from_home_under_another_name(self):
        known = {(design.plate, design.pictogram) for design in HOME.designs}
        assert not [d.name for d in ABROAD.designs[10:] if (d.plate, d.pictogram) in known]

    def test_a_face_is_opaque_on_the_plate_and_clear_around_it(self):
        alpha = np.asarray(draw_face(HOME.designs[0], HOME.style))[..., 3]
        middle = len(alpha) // 2
        assert alpha[middle, middle] == 255
        assert alpha[0, 0] == alpha[-1, -1] == 0
        disc = np.pi / 4 / 1.06**2
        assert (alpha / 255).mean() == pytest.approx(disc, abs=0.01)


class TestParameters:
    @pytest.mark.parametrize("source", COUNTRIES)
    @pytest.mark.parametrize("name", ["train_groups", "validation_groups", "test_groups", "views"])
    @pytest.mark.parametrize("value", [0, -1, 2.5, "3", True, None])
    def test_a_bad_value_is_named(self, source, name, value):
        with refused(ParameterError):
            source(**{name: value})

    def test_one_sign_a_class_is_not_enough_to_learn_from(self):
        with refused(ParameterError):
            Signs(train_groups=1)

    @pytest.mark.parametrize("source", COUNTRIES)
    def test_all_parameters_have_defaults_and_are_told(self, source: type[WorkloadSource]):
        assert set(parameters_of(source)) == set(SMALL)
        assert source(views=9).parameters["views"] == 9
        assert all(value >= 1 for value in source().parameters.values())

    def test_names_are_those_of_the_registry(self):
        assert [source().name for source in COUNTRIES] == ["signs", "signs-abroad"]


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
    Signs(**SMALL).load(Context(seed=0, progress=progress))
    assert progress.seen == [("signs: train", 3), ("signs: validation", 2), ("signs: test", 2)]
