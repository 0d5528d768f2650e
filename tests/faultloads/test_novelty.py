"""Novelty: what both workloads know is never counted as novel."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from PIL import Image

from farm import registry
from farm.api import NO_ANSWER, Context, FaultContext, NoCache, OODImages
from farm.config.experiment import FaultSpec
from farm.errors import DataError, ParameterError
from farm.run.faults import Fault
from farm.run.streams import BenchmarkStream
from farm.run.testbed import Testbed
from farm.testing.fakes import TinyModel, tiny_workload
from faultloads.novelty import Novelty
from tests.wording import refused

OURS = ("ash", "birch", "cedar", "dogwood")


@pytest.fixture(scope="module")
def ours():
    return tiny_workload(classes=OURS)


def prepare(ours, theirs, **arguments):
    asked = []

    def load(specification, split):
        asked.append(specification)
        return OODImages.of(theirs, split)

    faultload = Novelty(workload="theirs", **arguments)
    faultload.name = "novelty"
    targets = faultload.prepare(FaultContext(ours, ours.test, None, load, Context()))
    assert asked == ["theirs"]
    return faultload, targets


def theirs(*classes, **arguments):
    return tiny_workload(classes=classes, name="theirs", seed=1, **arguments)


def of_class(workload, *names, split="test"):
    labels = getattr(workload, split).labels
    return np.flatnonzero(np.isin(labels, [workload.classes.index(name) for name in names])).tolist()


def test_classes_that_nobody_shares_are_all_novel(ours):
    other = theirs("elm", "fir")
    _, targets = prepare(ours, other)
    assert targets.indices.tolist() == list(range(len(other.test)))
    assert set(targets.labels) == {NO_ANSWER}
    assert set(targets.category) == {"novelty"}
    assert targets.workload == "theirs"
    assert targets.notes == {
        "shared_classes": [],
        "shared": "leave-out",
        "left_out": 0,
        "novel": len(other.test),
    }


def test_a_class_of_equal_name_is_left_out(ours):
    other = theirs("elm", "birch", "fir")
    _, targets = prepare(ours, other)
    assert targets.indices.tolist() == of_class(other, "elm", "fir")
    assert set(targets.labels) == {NO_ANSWER}
    assert targets.notes["shared_classes"] == ["birch"]
    assert targets.notes["left_out"] == len(of_class(other, "birch"))


def test_a_mapped_class_keeps_our_label_and_is_a_shift(ours):
    other = theirs("elm", "cedar", "birch")
    _, targets = prepare(ours, other, shared="map")
    assert len(targets.indices) == len(other.test)
    wanted = {"elm": (NO_ANSWER, "novelty"), "cedar": (2, "shift"), "birch": (1, "shift")}
    for row, label, category in zip(targets.indices, targets.labels, targets.category, strict=True):
        assert (label, category) == wanted[other.classes[other.test.labels[row]]]
    assert targets.notes["novel"] == len(of_class(other, "elm"))


@pytest.mark.parametrize("same", [{"elm": "ash"}, {0: 0}, {"0": "0"}, {"elm": 0}, {0: "ash"}, [[0, "ash"]]])
def test_classes_may_be_said_to_be_the_same_by_name_and_by_number(ours, same):
    other = theirs("elm", "fir")
    _, targets = prepare(ours, other, same=same)
    assert targets.indices.tolist() == of_class(other, "fir")
    assert targets.notes["shared_classes"] == ["elm"]


def test_two_of_their_classes_may_be_one_of_ours(ours):
    other = theirs("elm", "fir", "gum")
    _, targets = prepare(ours, other, same={"elm": "ash", "fir": "ash"}, shared="map")
    assert sorted(set(targets.labels[targets.category == "shift"])) == [0]
    assert targets.notes["shared_classes"] == ["elm", "fir"]


def test_a_class_named_like_a_number_is_found_by_its_name_first(ours):
    other = theirs("1", "0")
    _, targets = prepare(ours, other, same={"1": "ash"})
    assert targets.notes["shared_classes"] == ["1"]


@pytest.mark.parametrize(
    "same",
    [
        {"elk": "ash"},
        {"elm": "ceder"},
        {2: "ash"},
        {-1: "ash"},
    ],
)
def test_a_class_that_is_not_there_is_told_with_a_suggestion(ours, same):
    with refused(ParameterError):
        prepare(ours, theirs("elm", "fir"), same=same)


def test_nothing_left_is_told_with_what_was_shared(ours):
    with refused(DataError) as caught:
        prepare(ours, theirs("ash", "birch"))
    assert "'shared_classes': ['ash', 'birch']" in str(caught.value)


def test_images_of_another_size_are_told(ours):
    with refused(DataError):
        prepare(ours, theirs("elm", "fir", size=16))


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_images_come_from_the_asked_split(ours, split):
    other = theirs("elm", "birch")
    _, targets = prepare(ours, other, split=split)
    assert targets.split is getattr(other, split)
    assert targets.indices.tolist() == of_class(other, "elm", split=split)


@pytest.mark.parametrize(
    "arguments",
    [
        {"shared": "keep"},
        {"split": "dev"},
    ],
)
def test_a_wrong_word_is_told(arguments):
    with refused(ParameterError):
        registry.faultload("novelty", workload="theirs", **arguments)


@pytest.mark.parametrize("same", [["elm"], "elm", [["elm"]], [["elm", "ash", 2]]])
def test_what_is_no_pair_is_told(ours, same):
    with refused(ParameterError):
        prepare(ours, theirs("elm", "fir"), same=same)


def test_a_number_survives_the_record_of_a_run_though_a_class_is_named_like_it(ours):
    """JSON makes text of keys, and text is a name first: repeated, another class would be known."""
    other = theirs("elm", "fir", "0")
    written = {"name": "novelty", "workload": "theirs", "same": {0: "ash"}}
    for _ in range(2):
        spec = FaultSpec.model_validate(written)
        _, targets = prepare(ours, other, same=spec.make("faultload").parameters["same"])
        assert targets.notes["shared_classes"] == ["elm"]
        written = json.loads(spec.model_dump_json(by_alias=True, exclude_unset=True))
    inside = {"name": "compose", "faults": [{"name": "novelty", "same": {0: 1}}]}
    assert FaultSpec.model_validate(inside).parameters["faults"][0]["same"] == [[0, 1]]


def test_a_number_is_a_number_though_a_class_is_named_like_it(ours):
    other = theirs("elm", "fir", "0")
    assert by_key(ours, other, 0) == {"elm"}
    assert by_key(ours, other, "0") == {"0"}  # text is a name first
    assert by_key(ours, other, "1") == {"fir"}  # and a number where no class is named so


def by_key(ours, other, key):
    """Say which of their classes a key of `same` stands for."""
    _, targets = prepare(ours, other, same={key: "ash"})
    return set(other.classes) - {other.classes[i] for i in other.test.labels[targets.indices]}


def test_ours_may_be_told_by_number_too(ours):
    other = theirs("elm", "fir")
    _, targets = prepare(ours, other, same={"elm": 2}, shared="map")
    assert set(targets.labels[other.test.labels == 0]) == {2}


def test_a_workload_of_the_same_name_is_refused(ours):
    with refused(ParameterError):
        prepare(ours, tiny_workload(classes=("elm", "fir"), seed=1))


def test_novelty_has_no_severity():
    assert np.isnan(Novelty(workload="theirs").check_severity(None))
    with refused(ParameterError):
        Novelty(workload="theirs").check_severity(1)


def test_images_arrive_in_the_stream_as_they_are(ours):
    other = theirs("elm", "birch", "fir")
    faultload, targets = prepare(ours, other)
    stream = BenchmarkStream(ours, Fault(faultload, targets), order="sequential", ood_share=0.5)
    batch = next(stream.batches(10_000))
    place = {f"{name}|novelty": i for i, name in enumerate(other.test.ids)}
    rows = [place[name] for name in batch.ids[batch.is_ood]]
    assert np.array_equal(batch.images[batch.is_ood], other.test.images.read(np.array(rows)))
    assert set(batch.labels[batch.is_ood]) == {NO_ANSWER}
    assert set(batch.workload[batch.is_ood]) == {"theirs"}
    assert not set(rows) & set(of_class(other, "birch"))


# Images under some conditions ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def abroad():
    """Return images in four kinds of weather, of which one has no name, on one or two lanes."""
    made = theirs("elm", "birch")
    n = np.arange(len(made.test))
    conditions = {
        "weather": np.array(["clear", "snow", "fog", ""])[n % 4],
        "lanes": np.array([1.0, 2.0, 2.5, np.nan])[n // 4 % 4],
        "zone": np.array(["30", "50"])[n // 16 % 2],
    }
    return dataclasses.replace(made, test=dataclasses.replace(made.test, conditions=conditions))


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ({"weather": "snow"}, lambda n: n % 4 == 1),
        ({"weather": ["snow", "fog"]}, lambda n: np.isin(n % 4, [1, 2])),
        ({"weather": ""}, lambda n: n % 4 == 3),
        ({"lanes": 2}, lambda n: n // 4 % 4 == 1),
        ({"lanes": ["1", 2.5]}, lambda n: np.isin(n // 4 % 4, [0, 2])),
        ({"zone": 30}, lambda n: n // 16 % 2 == 0),
        ({"zone": 50.0}, lambda n: n // 16 % 2 == 1),
        ({"weather": ["fog"], "lanes": [1, 2]}, lambda n: (n % 4 == 2) & np.isin(n // 4 % 4, [0, 1])),
    ],
)
def test_only_images_under_the_conditions_are_taken(ours, abroad, where, kept):
    rows = np.flatnonzero(kept(np.arange(len(abroad.test))))
    _, targets = prepare(ours, abroad, shared="map", where=where)
    assert targets.split.ids[targets.indices].tolist() == abroad.test.ids[rows].tolist()
    assert targets.labels.tolist() == np.where(abroad.test.labels[rows] == 1, 1, NO_ANSWER).tolist()
    left_out = len(abroad.test) - len(rows)
    assert (targets.notes["left_out_by_where"], targets.notes["left_out"]) == (left_out, left_out)
    assert json.loads(json.dumps(targets.notes["where"])) == {
        name: values if isinstance(values, list) else [values] for name, values in where.items()
    }


def test_conditions_and_shared_classes_are_left_out_together(ours, abroad):
    _, targets = prepare(ours, abroad, where={"weather": "snow"})
    snow = np.arange(len(abroad.test)) % 4 == 1
    rows = np.flatnonzero(snow & (abroad.test.labels == 0))
    assert targets.split.ids[targets.indices].tolist() == abroad.test.ids[rows].tolist()
    assert targets.notes["left_out_by_where"] == (~snow).sum()
    assert targets.notes["left_out"] == len(snow) - len(rows)


@pytest.mark.parametrize(
    "where",
    [
        {"wether": "snow"},
        {"weather": ["snow", "fogg"]},
        {"lanes": 3},
        {"lanes": "two"},
        {"zone": [30, 70]},
    ],
)
def test_a_condition_or_value_that_no_image_has_is_told_with_a_suggestion(ours, abroad, where):
    with refused(ParameterError):
        prepare(ours, abroad, where=where)


def test_a_workload_without_conditions_is_told(ours):
    with refused(ParameterError):
        prepare(ours, theirs("elm", "fir"), where={"weather": "snow"})


def test_conditions_that_no_image_has_together_are_told(ours, abroad):
    other = dataclasses.replace(abroad.test, conditions={"a": abroad.test.ids, "b": abroad.test.ids})
    with refused(DataError):
        prepare(
            ours,
            dataclasses.replace(abroad, test=other),
            where={"a": str(abroad.test.ids[0]), "b": str(abroad.test.ids[1])},
        )


@pytest.mark.parametrize(
    "where",
    [
        {},
        ["snow"],
        {"weather": []},
        {"weather": True},
        {"weather": [None]},
        {"weather": {"snow": 1}},
        {2: "snow"},
    ],
)
def test_what_is_no_condition_is_told(where):
    with refused(ParameterError):
        registry.faultload("novelty", workload="theirs", where=where)


def test_the_same_data_serve_as_workload_and_as_novelty_where_conditions_differ(tmp_path):
    """Images that were left out for their conditions may be those that the classifier learned from."""
    rows = []
    for i in range(48):
        pixels = np.random.default_rng(i).integers(0, 256, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{i}.png")
        split = ("train", "train", "validation", "test")[i // 4 % 4]
        rows.append((f"{i}.png", "elm" if i % 2 else "fir", split, "snow" if i % 4 > 1 else "clear"))
    clear = ["path,label,split,weather", *(",".join(row) for row in rows if row[3] == "clear")]
    (tmp_path / "clear.csv").write_text("\n".join(clear))
    every = ["path,label,weather", *(f"{path},{label},{weather}" for path, label, _, weather in rows)]
    (tmp_path / "all.csv").write_text("\n".join(every))
    bed = Testbed(seed=0, cache=NoCache(), folder=tmp_path)
    clear = bed.workload({"name": "table", "path": "clear.csv"})
    classifier = bed.classifier(TinyModel(), clear)
    whole = {"name": "novelty", "workload": {"name": "table", "path": "all.csv"}, "shared": "map"}
    stream = bed.stream(clear, classifier, {**whole, "where": {"weather": "snow"}}, ood_share=1.0)
    stream.guard(clear)
    batch = next(stream.batches(100))
    assert set(batch.ids) == {f"all/{path}|novelty" for path, *_, weather in rows if weather == "snow"}
    assert set(batch.category) == {"shift"}
    with refused(DataError):
        bed.stream(clear, classifier, whole, ood_share=1.0).guard(clear)
    with refused(ParameterError):
        same = {**whole, "workload": {"name": "table", "path": "all.csv", "title": "clear"}}
        bed.stream(clear, classifier, {**same, "where": {"weather": "snow"}})


def test_images_of_another_size_are_brought_to_ours_where_that_is_asked_for(ours):
    other = theirs("elm", "fir", size=16)
    _, targets = prepare(ours, other, resize=True)
    assert targets.split.images.shape == ours.shape
    assert targets.notes["resized_from"] == [3, 16, 16]
    assert targets.notes["novel"] == len(other.test)
    assert np.array_equal(targets.split.ids, other.test.ids)
    large = other.test.images.read(np.arange(4))
    small = targets.split.images.read(np.arange(4))
    # In the middle each pixel is a mean of four by four, of which the inner ones count for more.
    weights = np.array([1, 3, 3, 1]) / 8
    by_hand = np.einsum("nchw,h,w->nc", large[:, :, 5:9, 7:11], weights, weights)
    np.testing.assert_allclose(small[:, :, 3, 4], by_hand, atol=1e-6)


def test_images_of_our_size_are_left_as_they_are(ours):
    other = theirs("elm", "fir")
    _, targets = prepare(ours, other, resize=True)
    assert targets.split is other.test
    assert "resized_from" not in targets.notes


def test_resized_images_arrive_in_a_stream_the_same_in_every_batch(ours):
    bed = Testbed(seed=0, cache=NoCache())
    digits = bed.workload({"name": "digits", "size": 12, "channels": 1})
    fault = {"name": "novelty", "workload": {"name": "farm.testing.fakes:TinySource"}, "resize": True}
    stream = bed.stream(digits, bed.classifier(TinyModel(), digits), fault, length=30)
    shown = [np.concatenate([b.images for b in stream.batches(size)]) for size in (1, 7)]
    assert shown[0].shape == (30, 1, 12, 12)
    np.testing.assert_array_equal(*shown)
