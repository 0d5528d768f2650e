"""Heat maps are what a classifier says of images with a patch on them, and cost little more than it does."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.api import Batch, FunctionClassifier, Images, Objects, Workload
from farm.config.experiment import OcclusionSpec, parse_experiment
from farm.errors import DataError, noting_ctrl_c
from farm.run.execution import run_experiment
from farm.run.occlusion import chosen, touching
from farm.run.testbed import Testbed
from farm.store.readouts import TIME_COLUMNS, Readouts
from farm.testing.fakes import TinyModel, TinySource
from tests.run.test_pictures import Notes
from tests.wording import refused, same_text

SEEDS = st.integers(0, 10**6)
ASKED = OcclusionSpec(images=5, window=3, stride=2)
POSITIONS = 9
"""Of this patch in an image of 8 x 8 pixels."""
HALF = OcclusionSpec(images=1, window=2, stride=1, fill="black")


def tiny(**columns: Any) -> Workload:
    """Return a small workload whose test images have these columns, such as masks."""
    made = Testbed(seed=1).workload(TinySource(tracks=(4, 3, 6), frames=2))
    return replace(made, test=replace(made.test, **columns))


def masks_of(workload: Workload, seed: int = 0) -> np.ndarray:
    """Return masks of some pixels each, on none of them all or nothing."""
    rng = np.random.default_rng(seed)
    made = rng.random((len(workload.test), *workload.shape[1:])) < 0.1
    made[:, 0, 0], made[:, -1, -1] = True, False
    return made


def run(workload: Workload, asked: Any = ASKED, classifier: Any = None, **more: Any) -> Readouts:
    bed = Testbed(seed=1, progress=more.pop("progress", None))
    classifier = classifier or bed.classifier(TinyModel(), workload)
    monitors = bed.fit(["max-softmax"], classifier, workload)
    stream = bed.stream(workload, classifier, more.pop("faults", None), **more.pop("streamed", {}))
    return bed.run(stream, classifier, monitors, workload, occlusion=asked, **more)


# What the classifier is shown -----------------------------------------------------------------------------


def slowly(image: Images, asked: OcclusionSpec, says: Callable[[Images], np.ndarray]) -> np.ndarray:
    """Return the heat map of one image, patch by patch, each on a copy of its own."""
    _, height, width = image.shape
    rows = []
    for top in range(0, height - asked.window + 1, asked.stride):
        row = []
        for left in range(0, width - asked.window + 1, asked.stride):
            shown = image.copy()
            for channel in range(len(image)):
                fill = {"black": 0.0, "white": 1.0, "mean": image[channel].mean()}
                value = fill.get(asked.fill, asked.fill)
                shown[channel, top : top + asked.window, left : left + asked.window] = value
            row.append(says(shown[None])[0])
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize("fill", ["mean", "black", "white", 0.25, 1])
@pytest.mark.parametrize(("window", "stride"), [(3, 2), (2, 1), (8, 3), (5, 7)])
def test_the_heat_is_the_probability_of_the_predicted_class_with_the_patch_there(
    fill: Any, window: int, stride: int
) -> None:
    workload = tiny()
    classifier = TinyModel().classifier(workload, Testbed().context)
    asked = OcclusionSpec(images=4, window=window, stride=stride, fill=fill)
    readouts = run(workload, asked)
    found = readouts.occlusion
    assert found is not None
    by_id = {name: place for place, name in enumerate(workload.test.ids)}
    for i, position in enumerate(found.position.tolist()):
        instance = readouts.instances.iloc[position]
        (image,) = workload.test.images.read(np.array([by_id[instance["id"]]]))
        plain = classifier.observe(image[None])
        assert found.predicted[i] == instance["predicted"] == plain.predicted[0]
        assert found.plain[i] == pytest.approx(plain.confidence[0], rel=1e-9)
        of_class = slowly(image, asked, lambda shown: classifier.observe(shown).probabilities)
        np.testing.assert_allclose(found.heat[i], of_class[..., found.predicted[i]], atol=1e-6)
        np.testing.assert_array_equal(found.images[i], np.rint(image * 255).transpose(1, 2, 0))
    assert found.heat.std() > 0


def test_a_hidden_corner_is_seen_where_the_patch_covers_it() -> None:
    """A classifier of one pixel, whose heat map is known by hand."""
    workload = tiny()

    def corner(images: Images) -> np.ndarray:
        seen = (images[:, 0, 1, 1] > 0).astype(float)
        rest = (1 - (0.25 + 0.6 * seen)) / 3
        return np.column_stack([0.25 + 0.6 * seen, rest, rest, rest])

    found = run(workload, HALF, FunctionClassifier(corner, workload.classes)).occlusion
    assert found is not None
    expected = np.full((1, 7, 7), 0.85)
    expected[0, :2, :2] = 0.25
    np.testing.assert_allclose(found.heat, expected, rtol=1e-6)
    assert (found.predicted.tolist(), found.plain.tolist()) == ([0], [pytest.approx(0.85)])


def test_positions_are_seen_in_batches() -> None:
    workload, sizes = tiny(), []

    def counted(images: Images) -> np.ndarray:
        sizes.append(len(images))
        level = images.mean(axis=(1, 2, 3), dtype=np.float64)[:, None]
        return np.hstack([level, np.repeat((1 - level) / 3, 3, axis=1)])

    classifier = FunctionClassifier(counted, workload.classes)
    asked = OcclusionSpec(images=2, window=2, stride=1)
    run(workload, asked, classifier, pictures=None)
    assert sizes[-2:] == [49, 49], "all positions of an image at once"
    larger = Testbed(seed=1).workload(TinySource(size=20))
    run(larger, OcclusionSpec(images=2, window=1, stride=1), classifier, pictures=None)
    assert sizes[-4:] == [256, 144] * 2, "in parts, where there are many"


# What is looked at ----------------------------------------------------------------------------------------


@given(SEEDS, st.integers(1, 12), st.integers(1, 6))
def test_no_track_comes_twice_while_others_remain(seed: int, n: int, tracks: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "workload": rng.choice(["one", "other"], 12),
            "track": rng.integers(0, tracks, 12).astype(str),
            "label": rng.integers(-1, 2, 12),
            "is_ood": rng.random(12) < 0.3,
        }
    )
    taken = chosen(frame, n)
    known = frame[~frame["is_ood"] & (frame["label"] >= 0)]
    assert taken.index.tolist() == sorted(taken.index)
    assert len(taken) == min(n, len(known))
    assert set(taken.index) <= set(known.index)
    of_track = taken.groupby(["workload", "track"]).size()
    rest = known.drop(taken.index)
    most = of_track.max() if len(of_track) else 0
    for name, left in rest.groupby(["workload", "track"]):
        assert of_track.get(name, 0) >= most - 1, "one that has more to give is not behind"
        mine = taken.index[(taken["workload"] == name[0]) & (taken["track"] == name[1])]
        assert max(mine, default=-1) < left.index.min(), "the first of each track"


def test_only_id_instances_with_a_right_answer_are_looked_at() -> None:
    found = run(tiny(), OcclusionSpec(images=9, window=3), faults={"name": "fog", "severity": 2})
    assert found.occlusion is not None
    looked_at = found.instances.iloc[found.occlusion.position]
    assert not looked_at["is_ood"].any()
    assert looked_at["track"].is_unique
    np.testing.assert_array_equal(found.occlusion.plain, looked_at["confidence"])


# Where the object is --------------------------------------------------------------------------------------


@given(SEEDS, st.integers(1, 7), st.integers(1, 7), st.integers(1, 7), st.integers(1, 4))
def test_a_position_occludes_where_its_patch_touches_the_mask(
    seed: int, height: int, width: int, window: int, stride: int
) -> None:
    window = min(window, height, width)
    mask = np.random.default_rng(seed).random((height, width)) < 0.15
    expected = [
        [
            mask[top : top + window, left : left + window].any()
            for left in range(0, width - window + 1, stride)
        ]
        for top in range(0, height - window + 1, stride)
    ]
    found = touching(mask, OcclusionSpec(window=window, stride=stride))
    np.testing.assert_array_equal(found, np.array(expected))


def test_masks_are_those_of_the_instances() -> None:
    workload = tiny()
    masks = masks_of(workload)
    readouts = run(tiny(masks=masks))
    found = readouts.occlusion
    assert found is not None
    place = {name: at for at, name in enumerate(workload.test.ids)}
    own = masks[[place[name] for name in readouts.instances["id"].iloc[found.position]]]
    np.testing.assert_array_equal(found.masks, own)
    for mask, occluding in zip(own, found.occluding, strict=True):
        np.testing.assert_array_equal(occluding, touching(mask, ASKED))
    assert found.why_no_mask == ("",) * 5
    assert (found.boxed.any(), found.notes) == (False, ())


def test_where_faults_move_objects_masks_move_along() -> None:
    workload = tiny(masks=masks_of(tiny()))
    shift = {"name": "translation", "severity": 3, "both": True}
    plain, moved = run(workload).occlusion, run(workload, faults=shift).occlusion
    assert plain is not None
    assert moved is not None
    assert (plain.masks != moved.masks).any()
    for mask, occluding in zip(moved.masks, moved.occluding, strict=True):
        np.testing.assert_array_equal(occluding, touching(mask, ASKED))


def test_where_there_are_boxes_alone_they_are_filled_and_that_is_noted() -> None:
    workload = tiny()
    boxes = np.tile([1.0, 2.0, 4.0, 7.0], (len(workload.test), 1))
    found = run(tiny(boxes=boxes)).occlusion
    assert found is not None
    expected = np.zeros((8, 8), dtype=bool)
    expected[2:7, 1:4] = True
    np.testing.assert_array_equal(found.masks, np.broadcast_to(expected, (5, 8, 8)))
    assert found.boxed.all()
    same_text(found.notes)


def test_each_instance_without_a_mask_has_its_reason() -> None:
    workload = tiny()
    n = len(workload.test)
    masks, boxes = masks_of(workload), np.full((n, 4), np.nan)
    third = np.arange(n) % 3
    masks[third != 0], boxes[third == 1] = False, [0.0, 0.0, 3.0, 3.0]
    found = run(tiny(masks=masks, boxes=boxes), OcclusionSpec(images=40, window=3)).occlusion
    assert found is not None
    assert set(zip(found.boxed.tolist(), found.why_no_mask, strict=True)) == {
        (False, ""),
        (True, ""),
        (False, "workload 'tiny' does not tell where it is"),
    }
    unknown = np.array(found.why_no_mask) != ""
    assert not found.occluding[unknown].any()
    assert found.occluding[~unknown].any(axis=(1, 2)).all()
    same_text(found.notes)
    nothing = run(tiny()).occlusion
    assert nothing is not None
    same_text(nothing.why_no_mask[0])


def test_an_object_that_takes_no_pixel_is_no_mask() -> None:
    workload = tiny()
    found = run(tiny(boxes=np.tile([20.0, 2.0, 24.0, 7.0], (len(workload.test), 1)))).occlusion
    assert found is not None
    assert not found.boxed.any()
    same_text(found.why_no_mask[0])


# What it costs others -------------------------------------------------------------------------------------


def test_nothing_else_of_a_run_depends_on_it() -> None:
    with_, without = (run(tiny(masks=masks_of(tiny())), asked) for asked in (ASKED, None))
    assert with_.occlusion is not None
    assert without.occlusion is None
    assert "occlusion" not in without.run
    for one, other in ((with_.instances, without.instances), (with_.alarms, without.alarms)):
        kept = [name for name in one if name not in TIME_COLUMNS]
        pd.testing.assert_frame_equal(one[kept], other[kept], check_exact=True)
    assert with_.run["occlusion"] == {"failure": None}
    assert with_.run["monitors"] == without.run["monitors"]


def test_the_same_run_has_the_same_maps_bit_for_bit() -> None:
    first, second = (run(tiny(masks=masks_of(tiny())), batch_size=size).occlusion for size in (64, 3))
    assert first is not None
    assert second is not None
    for name in ("position", "predicted", "heat", "occluding", "images", "masks"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


# What goes wrong ------------------------------------------------------------------------------------------


def test_a_patch_that_does_not_fit_is_told_before_anything_is_streamed() -> None:
    with refused(DataError):
        run(tiny(), OcclusionSpec(window=9))


def doing(what: Callable[[Images], object]) -> FunctionClassifier:
    """Return a classifier that does something when it sees the nine positions of one image."""

    def says(images: Images) -> np.ndarray:
        if len(images) == POSITIONS:
            what(images)
        return np.full((len(images), 4), 0.25)

    return FunctionClassifier(says, tiny().classes)


def test_what_fails_costs_the_maps_alone_and_stands_in_the_record() -> None:
    notes, workload = Notes(), tiny()
    found = run(workload, ASKED, doing(lambda images: 1 / 0), progress=notes)
    assert found.occlusion is None
    assert found.pictures is not None
    assert len(found.alarms) == len(found.instances) == len(workload.test)
    same_text([found.run["occlusion"]["failure"], *notes.notes])


def test_a_classifier_that_changes_its_images_is_told() -> None:
    found = run(tiny(), ASKED, doing(lambda images: images.fill(0.5)))
    assert found.occlusion is None
    same_text(found.run["occlusion"]["failure"])


def test_a_stream_with_nothing_to_look_at_is_told() -> None:
    found = run(tiny(), faults={"name": "fog", "severity": 2}, streamed={"ood_share": 1.0})
    assert found.occlusion is None
    same_text(found.run["occlusion"]["failure"])


class OtherMasks:
    """A stream whose masks are of another size than its images."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def at(self, positions: Any) -> Batch:
        batch: Batch = self._stream.at(positions)
        masks, lost = np.ones((len(batch), 4, 4), bool), np.full(len(batch), "")
        return replace(batch, find_objects=lambda: Objects(None, masks, lost))


def test_masks_of_another_size_than_their_images_are_told() -> None:
    bed, workload = Testbed(seed=1), tiny()
    classifier = bed.classifier(TinyModel(), workload)
    stream: Any = OtherMasks(bed.stream(workload, classifier))
    found = bed.run(
        stream, classifier, bed.fit(["max-softmax"], classifier, workload), workload, occlusion=ASKED
    )
    same_text(found.run["occlusion"]["failure"])


def test_ctrl_c_stops_a_run_even_while_maps_are_made() -> None:
    with noting_ctrl_c(), pytest.raises(KeyboardInterrupt):
        run(tiny(), ASKED, doing(lambda images: signal.raise_signal(signal.SIGINT)))


# From a file ----------------------------------------------------------------------------------------------


def experiment(**changes: Any) -> Any:
    values = {
        "name": "hidden",
        "workload": {"name": "farm.testing.fakes:TinySource"},
        "classifier": {"name": "farm.testing.fakes:TinyModel"},
        "monitors": ["max-softmax"],
    }
    return parse_experiment({**values, **changes}, "here")


def test_an_experiment_says_what_is_to_be_hidden(tmp_path: Any) -> None:
    found = run_experiment(experiment(occlusion={"images": 3, "window": 4}), tmp_path)
    assert found.occlusion is not None
    assert found.occlusion.asked == OcclusionSpec(images=3, window=4)
    assert found.run["experiment"]["occlusion"] == {"images": 3, "window": 4, "stride": 2, "fill": "mean"}
    assert run_experiment(experiment(), tmp_path).occlusion is None


def test_an_experiment_whose_patch_does_not_fit_trains_nothing(tmp_path: Any) -> None:
    with refused(DataError):
        run_experiment(
            experiment(occlusion={}, workload={"name": "farm.testing.fakes:TinySource", "size": 6}), tmp_path
        )
