"""What is cut out of which image, held against counting pixels one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from farm.errors import DataError, ParameterError
from farm.workloads.annotations import AnnotatedImage, AnnotatedObject
from farm.workloads.crops import CropPlan, CropRules, choose
from farm.workloads.crops.class_map import parse_class_map
from tests.wording import refused

H, W = 60, 80
ALL = ("train", "validation", "test")
FREE = CropRules(narrowest=0, other=1e9, most={})


def image(
    *boxes: Sequence[float], name: str = "a.jpg", height: int = H, width: int = W, **of_all: bool
) -> AnnotatedImage:
    objects = tuple(AnnotatedObject(f"label {i}", "car", tuple(box), **of_all) for i, box in enumerate(boxes))
    return AnnotatedImage(name, "a.json", objects, height=height, width=width)


def of(rules: CropRules, *images: AnnotatedImage, splits: tuple[str, ...] = ("train",)) -> CropPlan:
    return choose({splits: images}, rules)


def reasons(plan: CropPlan) -> Counter[str]:
    counted = Counter[str]()
    for (reason, _), n in plan.left_out.items():
        counted[reason.split(" of more than")[0]] += n
    return counted


@st.composite
def boxes(draw: st.DrawFn) -> tuple[int, int, int, int]:
    left, top = draw(st.integers(0, W - 1)), draw(st.integers(0, H - 1))
    return left, top, draw(st.integers(left + 1, W)), draw(st.integers(top + 1, H))


def pixels(box: Sequence[float]) -> np.ndarray:
    mask = np.zeros((H, W), dtype=bool)
    left, top, right, bottom = (int(edge) for edge in box)
    mask[top:bottom, left:right] = True
    return mask


@given(st.lists(boxes(), min_size=1, max_size=6), st.integers(0, 5), st.sampled_from([0.0, 0.25, 1 / 3, 1.0]))
def test_a_cut_out_holds_its_object_and_no_other_large_one(found, seed, other) -> None:
    plan = of(replace(FREE, seed=seed, other=other), image(*found))
    free = {crop.object.key: crop for crop in of(replace(FREE, seed=seed), image(*found)).crops}
    kept = {crop.object.key for crop in plan.crops}
    assert len(kept) + sum(plan.left_out.values()) == len(found)
    for row, box in enumerate(found):
        key, own = f"label {row}", pixels(box)
        if key not in free:
            assert max(box[2] - box[0], box[3] - box[1]) > H
            continue
        crop = free[key]
        square = pixels((crop.left, crop.top, crop.left + crop.side, crop.top + crop.side))
        assert square.sum() == crop.side**2, "the whole square is in the image"
        assert not (own & ~square).any()
        most = max((int((pixels(b) & square).sum()) for i, b in enumerate(found) if i != row), default=0)
        assert (key in kept) == (most <= other * own.sum() + 1e-6)


@given(st.tuples(*[st.floats(0, 1)] * 4), st.floats(1, 5), st.integers(0, 9))
def test_fractions_of_pixels_are_held_as_well(edges, largest, seed) -> None:
    box = (W * min(edges[0], edges[1]), H * min(edges[2:]), W * max(edges[0], edges[1]), H * max(edges[2:]))
    if box[0] == box[2] or box[1] == box[3]:
        return
    for crop in of(replace(FREE, seed=seed, largest=largest, size=96), image(box)).crops:
        left, top, right, bottom = crop.box
        assert 0 <= left < right <= 96
        assert 0 <= top < bottom <= 96
        # Back to the source by the way it came.
        back = np.array(crop.box) * crop.side / 96 + [crop.left, crop.top, crop.left, crop.top]
        assert back == pytest.approx(box, abs=1e-9)
        least = max(np.ceil(box[2]) - np.floor(box[0]), np.ceil(box[3]) - np.floor(box[1]))
        assert least <= crop.side <= min(largest * least, H)


def test_objects_are_evenly_spread_and_cut_outs_are_of_all_sizes() -> None:
    """Far from any edge, where nothing is shifted back."""
    many = [image((5000, 5000, 5200, 5100), name=f"{i}", height=10000, width=10000) for i in range(2000)]
    crops = of(FREE, *many).crops
    sides = np.array([crop.side for crop in crops])
    assert (sides.min(), sides.max()) == (200, 600)
    assert kstest((sides - 200) / 400, "uniform").pvalue > 0.01
    wide = [crop for crop in crops if crop.side > 300]  # narrower ones have too few places to be called even
    across = [(5000 - crop.left) / (crop.side - 200) for crop in wide]
    down = [(5000 - crop.top) / (crop.side - 100) for crop in wide]
    for places in (across, down):
        assert kstest(places, "uniform").pvalue > 0.01
    assert abs(np.corrcoef(across, down)[0, 1]) < 0.1


def test_a_cut_out_that_reaches_over_the_edge_is_shifted_back() -> None:
    crops = of(FREE, *[image((0, 0, 20, 20), name=f"{i}") for i in range(30)]).crops
    assert {(crop.left, crop.top) for crop in crops} == {(0, 0)}
    assert len({crop.side for crop in crops}) > 10


def test_images_that_are_added_change_no_other_cut_out() -> None:
    old = [image((5, 5, 45, 40), (50, 5, 75, 40), name=f"{i}.jpg") for i in range(40)]
    new = [image((9, 9, 50, 50), name=f"new-{i}.jpg") for i in range(40)]
    before, after = (of(FREE, *images, splits=ALL).crops for images in (old, [*new, *old]))
    kept = [crop for crop in after if not crop.image.name.startswith("new")]
    assert kept == list(before)
    assert len(kept) == 80
    assert [crop.file for crop in kept] == [crop.file for crop in before]


def test_objects_that_are_added_change_no_other_cut_out() -> None:
    one, two = (
        of(FREE, image(*boxes)).crops for boxes in ([(5, 5, 45, 40)], [(5, 5, 45, 40), (1, 50, 9, 59)])
    )
    assert [(crop.left, crop.top, crop.side) for crop in one] == [
        (crop.left, crop.top, crop.side) for crop in two[:1]
    ]
    assert len(two) == 2


def test_each_object_of_an_image_is_drawn_for_itself() -> None:
    crops = of(FREE, image(*[(20, 20, 40, 40)] * 20)).crops
    assert len({(crop.left, crop.top, crop.side) for crop in crops}) > 15


def test_another_seed_is_another_set() -> None:
    images = [image((5, 5, 45, 40), name=f"{i}.jpg") for i in range(40)]
    one, two = (of(replace(FREE, seed=seed), *images, splits=ALL).crops for seed in (0, 1))
    assert [crop.left for crop in one] != [crop.left for crop in two]
    assert [crop.split for crop in one] != [crop.split for crop in two]


def test_each_object_is_cut_out_or_counted_by_why_not() -> None:
    objects = [
        AnnotatedObject("1", "car", (0, 0, 40, 20)),
        AnnotatedObject("2", "crowd", (0, 0, 70, 60), region=True),
        AnnotatedObject("3", "car", (0, 0, 40, 20), truncated=True),
        AnnotatedObject("4", "car", (0, 0, 40, 20), occluded=True),
        AnnotatedObject("5", "rider", (0, 0, 40, 20)),
        AnnotatedObject("6", "car", (0, 0, 29.75, 60)),
        AnnotatedObject("7", "car", (0, 0, 61, 20)),
        AnnotatedObject("8", "bicycle", (0, 0, 30, 20), occluded=True, truncated=True),
        AnnotatedObject("9", "motorcycle", (0, 0, 29, 20)),
    ]
    # Each in an image of its own, so that none disturbs another one.
    images = [AnnotatedImage(one.key, "a.json", (one,), height=H, width=W) for one in objects]
    mapping = parse_class_map({"car": "car", "bike": ["bicycle", "motorcycle"], "drop": ["rider"]}, "c.yaml")
    plan = choose({("train",): images}, CropRules(keep_occluded={"bike"}), mapping)
    assert [(crop.object.key, crop.label) for crop in plan.crops] == [("1", "car"), ("8", "bike")]
    assert plan.classes == ("car", "bike")
    assert plan.left_out == {
        ("a crowd, or a region without labels", "crowd"): 1,
        ("truncated", "car"): 1,
        ("occluded", "car"): 1,
        ("of a class that is dropped", "rider"): 1,
        ("narrower than 30 pixels", "car"): 1,
        ("narrower than 30 pixels", "bike"): 1,
        ("larger than any square in its image", "car"): 1,
    }


def test_what_is_left_out_disturbs_others_all_the_same() -> None:
    """As the source has it: all other objects of the image count, whatever they are."""
    disturbing = AnnotatedObject("2", "rider", (12, 12, 40, 40), occluded=True)
    plain = image((10, 10, 50, 50))
    mapping = parse_class_map({"car": "car", "drop": ["rider"]}, "c.yaml")
    for region in (False, True):
        other = replace(disturbing, region=region)
        both = replace(plain, objects=(*plain.objects, other))
        plan = choose({("train",): [both]}, CropRules(), mapping)
        assert not plan.crops
        assert ("beside another object of more than 0.333 of its area", "car") in plan.left_out


@pytest.mark.parametrize(("high", "n"), [(10, 1), (10.25, 0)])
def test_a_third_of_the_area_is_allowed_and_no_more(high: float, n: int) -> None:
    # 30 x 30 pixels, and inside them a part of another: 30 x 10 is a third.
    assert len(of(CropRules(), image((20, 20, 50, 50), (20, 20, 50, 20 + high))).crops) == n


def test_how_fractions_of_pixels_are_rounded_makes_no_difference() -> None:
    # The one is just as wide as is asked for, and the other has just a third of its area.
    for shift in np.arange(0, 3, 0.1):
        main, third = ((5 + shift, 5 + shift, 35 + shift, high + shift) for high in (35, 15))
        assert len(of(CropRules(), image(main, third)).crops) == 1, shift


def test_no_class_and_split_has_more_than_was_asked_for() -> None:
    images = [image((5, 5, 45, 40), name=f"{i}.jpg") for i in range(300)]
    free = of(FREE, *images, splits=ALL)
    plan = of(replace(FREE, most={"train": 20, "test": 0}), *images, splits=ALL)
    counts = Counter(crop.split for crop in plan.crops)
    assert counts == {"train": 20, "validation": Counter(crop.split for crop in free.crops)["validation"]}
    assert plan.left_out == {("more of the class than its split takes", "car"): 300 - len(plan.crops)}
    assert {crop.file for crop in plan.crops} <= {crop.file for crop in free.crops}
    # Which are kept is drawn, and not the first ones.
    first = [crop for crop in free.crops if crop.split == "train"][:20]
    assert first != [crop for crop in plan.crops if crop.split == "train"]
    assert plan.crops == [crop for crop in free.crops if crop in plan.crops]


def test_splits_are_of_whole_images_in_the_shares_asked_for() -> None:
    images = [image((2, 5, 38, 40), (42, 5, 78, 40), name=f"{i}.jpg") for i in range(1000)]
    rules = replace(FREE, shares={"train": 6, "validation": 3, "test": 1})
    found = {crop.image.name: set[str]() for crop in of(rules, *images, splits=ALL).crops}
    for crop in of(rules, *images, splits=ALL).crops:
        found[crop.image.name].add(crop.split)
    assert {len(splits) for splits in found.values()} == {1}
    counts = Counter(split for (split,) in found.values())
    for split, share in (("train", 0.6), ("validation", 0.3), ("test", 0.1)):
        assert abs(counts[split] / 1000 - share) < 3 * np.sqrt(share * (1 - share) / 1000)


def test_splits_that_annotations_are_for_are_kept() -> None:
    one, two = ([image((5, 5, 45, 40), name=f"{k}{i}") for i in range(50)] for k in "ab")
    plan = choose({("train", "validation"): one, ("test",): two}, replace(FREE, shares={"train": 1}))
    assert Counter(crop.split for crop in plan.crops) == {"train": 50, "test": 50}
    with refused(ParameterError):
        choose({("validation", "test"): one}, replace(FREE, shares={"train": 1}))


@pytest.mark.parametrize(
    "wrong",
    [
        {"size": 7},
        {"largest": 0.9},
        {"narrowest": -1},
        {"other": float("nan")},
        {"most": {"train": -1}},
        {"most": {"trian": 5}},
        {"shares": {"train": 0.0}},
    ],
)
def test_rules_that_cannot_be_are_told(wrong) -> None:
    with refused(ParameterError):
        CropRules(**wrong)


def test_classes_that_nobody_knows_are_told() -> None:
    with refused(ParameterError):
        of(CropRules(keep_occluded={"cra"}), image((5, 5, 45, 40)))
    with refused(DataError):
        choose(
            {("train",): [image((5, 5, 45, 40))]}, CropRules(), parse_class_map({"bike": "bike"}, "c.yaml")
        )
