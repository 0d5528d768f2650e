"""Classifiers: one forward pass, checked; abilities are tags."""

from __future__ import annotations

import numpy as np
import pytest

from farm.api import ALL_MEMBERS, Capabilities, Classifier, FunctionClassifier, Needs, RawOutputs
from farm.errors import ComponentFailure, DataError, RequirementError
from farm.testing.fakes import FakeClassifier
from tests.wording import refused

IMAGES = np.zeros((3, 1, 2, 2), np.float32)
CLASSES = ("a", "b")


def answering(rows, **more):
    return FakeClassifier(lambda images: np.asarray(rows), CLASSES, name="net", **more)


def test_an_observation_follows_from_the_probabilities():
    seen = answering([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]]).observe(IMAGES)
    assert seen.predicted.tolist() == [0, 1, 0]
    assert seen.confidence.tolist() == [0.9, 0.8, 0.5]
    assert seen.probabilities.dtype == np.float64
    assert seen.ids.tolist() == ["0", "1", "2"]


def test_ids_and_tracks_are_handed_through():
    ids, track = np.array(["x", "y", "z"]), np.array(["t", "t", "u"])
    seen = answering([[1, 0]] * 3).observe(IMAGES, ids=ids, track=track)
    assert (seen.ids.tolist(), seen.track.tolist()) == (["x", "y", "z"], ["t", "t", "u"])


def test_one_observation_is_one_forward_pass():
    fake = answering([[1, 0]] * 3, layers={"a": lambda x: x, "b": lambda x: x})
    fake.observe(IMAGES, ["a", "b"])
    assert fake.calls == 1


@pytest.mark.parametrize(
    ("rows", "shape"),
    [([[1, 0]], "(1, 2)"), ([[1, 0, 0]] * 3, "(3, 3)"), ([1, 0, 1], "(3,)"), (0.5, "()")],
)
def test_a_wrong_shape_is_told_with_the_right_one(rows, shape):
    with refused(ComponentFailure):
        answering(rows).observe(IMAGES)


def test_logits_in_place_of_probabilities_are_told():
    with refused(ComponentFailure):
        answering([[1, 0], [4.2, -1.5], [9, 9]]).observe(IMAGES)


@pytest.mark.parametrize("row", [[np.inf, 0], [-0.5, 1.5], [0.7, 0.2], [0, 0]])
def test_what_is_no_distribution_is_told_with_its_instance(row):
    with refused(ComponentFailure):
        answering([[1, 0], [0, 1], row]).observe(IMAGES)


def test_a_probability_that_is_no_number_is_told_with_its_instance():
    with refused(ComponentFailure):
        answering([[1, 0], [0, 1], [np.nan, 1]]).observe(IMAGES)


def test_rounding_in_the_sum_is_forgiven():
    assert answering([[0.7, 0.3004]] * 3).observe(IMAGES).predicted.tolist() == [0, 0, 0]


def test_an_exception_becomes_a_failure_that_names_the_classifier():
    def fail(images):
        raise ValueError("no such kernel")

    with refused(ComponentFailure):
        FakeClassifier(fail, CLASSES, name="net").observe(IMAGES)


def test_a_users_error_passes_through():
    def fail(images):
        raise DataError("weights are gone")

    with refused(DataError):
        FakeClassifier(fail, CLASSES).observe(IMAGES)


def test_a_function_may_return_plain_lists():
    box = FunctionClassifier(lambda images: [[1, 0]] * len(images), CLASSES)
    assert box.observe(IMAGES).confidence.tolist() == [1, 1, 1]


def test_a_function_that_returns_text_is_a_failure():
    box = FunctionClassifier(lambda images: [["yes", "no"]] * len(images), CLASSES)
    with refused(ComponentFailure):
        box.observe(IMAGES)


@pytest.mark.parametrize("asked", [{"layers": ["fc"]}, {"members": 5}])
def test_a_black_box_asked_for_its_inside_refuses(asked):
    box = FunctionClassifier(lambda images: np.full((len(images), 2), 0.5), CLASSES, name="remote")
    with refused(RequirementError):
        box.observe(IMAGES, **asked)


def test_a_black_box_has_no_known_size_and_no_abilities():
    box = FunctionClassifier(lambda images: images, CLASSES)
    assert box.nbytes is None
    assert box.capabilities == Capabilities()


def test_a_black_boxs_digest_follows_its_stated_version():
    def function(images):
        return images

    one, same = (FunctionClassifier(function, CLASSES, version="1") for _ in range(2))
    assert one.digest == same.digest
    assert one.digest != FunctionClassifier(function, CLASSES, version="2").digest
    assert one.digest != FunctionClassifier(function, ("a", "c"), version="1").digest


def test_gradients_of_a_classifier_without_them_are_refused():
    with refused(RequirementError):
        answering([[1, 0]]).differentiable(IMAGES)


def white_box():
    return answering([[1, 0]], layers={"fc1": lambda x: x, "last-hidden": lambda x: x}, logits=lambda x: x)


def test_needs_that_are_met_pass():
    white_box().resolve(Needs(layers=("fc1",), logits=True), "monitor 'm'")
    with pytest.raises(RequirementError):
        white_box().resolve(Needs(layers=("fc1",), logits=True, gradients=True), "monitor 'm'")


def test_a_misspelt_layer_gets_a_suggestion():
    with refused(RequirementError):
        white_box().resolve(Needs(layers=("last_hidden",)), "monitor 'm'")


def test_a_layer_of_a_black_box_is_told_with_the_way_out():
    with refused(RequirementError):
        answering([[1, 0]]).resolve(Needs(layers=("fc1",)), "monitor 'm'")


@pytest.mark.parametrize("needs", [{"logits": True}, {"gradients": True}, {"members": 3}])
def test_a_missing_ability_is_named(needs):
    next(iter(needs))
    with refused(RequirementError):
        answering([[1, 0]]).resolve(Needs(**needs), "monitor 'm'")


def test_a_classifier_that_returns_a_list_fails_by_name_or_works():
    class Careless(Classifier):
        name, classes, digest, nbytes = "careless", CLASSES, "", None

        def _forward(self, images, layers, members):
            return RawOutputs([[1.0, 0.0]] * len(images))

    try:
        assert Careless().observe(IMAGES).predicted.tolist() == [0, 0, 0]
    except ComponentFailure as failure:
        assert "careless" in str(failure)  # noqa: PT017


def test_a_classifier_that_skips_a_layer_it_was_asked_for_fails_by_name():
    class Forgetful(Classifier):
        name, classes, digest, nbytes = "forgetful", CLASSES, "", None
        capabilities = Capabilities(layers=("fc",))

        def _forward(self, images, layers, members):
            return RawOutputs(np.full((len(images), 2), 0.5))

    with refused(ComponentFailure):
        Forgetful().observe(IMAGES, ["fc"])


@pytest.mark.parametrize("tag", ["boxes", "box_spread"])
def test_what_it_says_where_and_how_surely_is_a_tag(tag):
    outputs = {name: lambda images: np.ones((len(images), 4)) for name in ("box", "box_spread")}
    needs = Needs(**{tag: True})
    for given in ((), ("box",), ("box", "box_spread")):
        made = FakeClassifier(
            lambda images: np.full((len(images), 2), 0.5),
            CLASSES,
            outputs={name: outputs[name] for name in given},
        )
        if {"boxes": "box"}.get(tag, tag) in given:
            made.resolve(needs, "monitor 'm'")
            continue
        made.lacks = {tag: "it was told not to"}
        with refused(RequirementError):
            made.resolve(needs, "monitor 'm'")


def test_all_members_are_those_of_a_mean():
    made = answering([[1, 0]] * 3)
    for capabilities, found in (
        (Capabilities(), "does not give"),
        (Capabilities(members=True), "gives no mean"),
        (Capabilities(members=True, averaged=True), None),
    ):
        made.capabilities = capabilities
        if found is None:
            made.resolve(Needs(members=ALL_MEMBERS), "monitor 'm'")
        else:
            with pytest.raises(RequirementError, match=found):
                made.resolve(Needs(members=ALL_MEMBERS), "monitor 'm'")


def test_observations_cannot_be_written_to_and_the_callers_arrays_can():
    images, ids = IMAGES.copy(), np.array(["a", "b", "c"])
    seen = answering([[1, 0]] * 3).observe(images, ids=ids)
    for name in ("images", "ids", "probabilities", "predicted", "confidence"):
        with refused(ValueError):
            getattr(seen, name)[:] = getattr(seen, name)[0]
    images[:], ids[:] = 0.5, "z"
    assert np.array_equal(seen.images, images)


def test_an_answer_that_is_used_again_stays_the_functions_own():
    answer = np.array([[0.5, 0.5]] * 3)
    classifier = FunctionClassifier(lambda images: answer, ("a", "b"), name="net")
    classifier.observe(IMAGES)
    answer[:] = [0.25, 0.75]
    assert classifier.observe(IMAGES).predicted.tolist() == [1, 1, 1]


def test_what_is_observed_cannot_be_written_to_and_its_makers_keep_their_arrays():
    layer, logits = np.ones((2, 3), np.float32), np.ones((2, 2), np.float32)
    fake = FakeClassifier(
        lambda images: np.full((2, 2), 0.5),
        classes=("a", "b"),
        layers={"hidden": lambda images: layer},
        logits=lambda images: logits,
    )
    images, names = np.zeros((2, 1, 2, 2), np.float32), np.array(["s", "t"])
    seen = fake.observe(images, ["hidden"], ids=names, track=names)
    for name in ("ids", "images", "probabilities", "predicted", "confidence", "logits", "track"):
        with refused(ValueError):
            getattr(seen, name)[:] = getattr(seen, name)[0]
    with refused(ValueError):
        seen.features("hidden")[0, 0] = 7
    with pytest.raises(TypeError):
        seen.activations["hidden"] = layer
    for mine, theirs in ((images, seen.images), (names, seen.ids), (logits, seen.logits)):
        assert mine.flags.writeable
        assert np.shares_memory(mine, theirs)
    layer[0, 0] = 5  # whoever made it may still do what he likes


@pytest.mark.parametrize("wrong", [[np.nan, 1.0], [1.0, np.nan], [0.5, 0.6], [1.5, -0.5]])
@pytest.mark.parametrize("n", [1, 2])
def test_rubbish_is_found_in_one_instance_as_in_many(wrong, n):
    black_box = FunctionClassifier(lambda images: np.array([[0.5, 0.5]] * (n - 1) + [wrong]), ("a", "b"))
    with refused(ComponentFailure):
        black_box.observe(np.zeros((n, 1, 2, 2), np.float32))
