"""Attacks: formulas, balls, norms, and what they say of their success, on a small trained network."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import torch

from farm import registry
from farm.api import (
    Capabilities,
    Classifier,
    Context,
    FaultContext,
    FunctionClassifier,
    NoCache,
    RawOutputs,
    Workload,
)
from farm.errors import ParameterError, RequirementError
from farm.run.testbed import Testbed
from farm.store.cache import DiskCache
from faultloads._attack import Attack
from faultloads.adversarial import Fgsm, Pgd
from faultloads.deepfool import DeepFool
from faultloads.square_attack import SquareAttack, square_sides
from tests.wording import refused

ATTACKS = [Fgsm, Pgd, DeepFool, SquareAttack]


class Small(NamedTuple):
    bed: Testbed
    workload: Workload
    classifier: Classifier

    def context(self, classifier=None):
        chosen = classifier or self.classifier
        return FaultContext(self.workload, self.workload.test, chosen, lambda spec: None, self.bed.context)

    def attacked(self, fault: Attack, n=100, classifier=None):
        """Return clean images, their labels and what the attack made of them."""
        fault.prepare(self.context(classifier))
        return self.again(fault, range(n))

    def again(self, fault: Attack, rows):
        test, chosen = self.workload.test, np.array(rows)
        images, labels = test.images.read(chosen), test.labels[chosen]
        return images, labels, fault.apply(images, labels, test.ids[chosen], np.full(len(chosen), np.nan))


@pytest.fixture(scope="module")
def small():
    bed = Testbed(seed=0, cache=NoCache())
    workload = bed.workload({"name": "digits", "size": 16, "channels": 1})
    return Small(bed, workload, bed.classifier({"name": "lenet", "epochs": 4}, workload))


def loss_gradients(classifier, images, labels):
    """Return the gradient of minus the logarithm of the right class's probability, one image at a time."""
    result = []
    for image, label in zip(images, labels, strict=True):
        pixels = torch.tensor(image[None], requires_grad=True)
        logits = classifier.differentiable(pixels)[0].double()
        (torch.logsumexp(logits, 0) - logits[label]).backward()
        result.append(pixels.grad[0].numpy())
    return np.stack(result)


def lengths(changes):
    return np.linalg.norm(changes.astype(float).reshape(len(changes), -1), axis=1)


@pytest.mark.parametrize(
    "fault", [Fgsm(), Pgd(), DeepFool(), SquareAttack(queries=40)], ids=lambda fault: type(fault).__name__
)
def test_success_and_norms_are_what_classifier_and_pixels_say(small, fault):
    images, _, faulted = small.attacked(fault, n=60)
    before = small.classifier.observe(images).predicted
    now = small.classifier.observe(faulted.images).predicted
    assert faulted.measured["success"].tolist() == (before != now).astype(float).tolist()
    assert faulted.measured["success"].any()
    assert faulted.measured["l2"] == pytest.approx(lengths(faulted.images - images))
    change = abs(faulted.images - images).max(axis=(1, 2, 3))
    assert faulted.measured["linf"] == pytest.approx(change)
    assert set(faulted.measured) == {"linf", "l2", "success"}
    assert faulted.images.dtype == np.float32


@pytest.mark.parametrize("cls", ATTACKS)
def test_labels_stay_and_the_attacked_classifier_is_noted(small, cls):
    targets = cls().prepare(small.context())
    assert targets.labels.tolist() == small.workload.test.labels.tolist()
    assert set(targets.category) == {"adversarial"}
    assert targets.notes == {
        "attacked": small.classifier.name,
        "attacked_digest": small.classifier.digest,
        "attacked_is_surrogate": False,
    }
    with refused(ParameterError):
        cls().check_severity(1)


def test_fgsm_is_its_formula(small):
    images, labels, faulted = small.attacked(Fgsm(eps=0.03), n=40)
    gradients = loss_gradients(small.classifier, images, labels)
    expected = np.clip(images + np.float32(0.03) * np.sign(gradients), 0, 1)
    clear = abs(gradients) > 1e-6 * abs(gradients).max(axis=(1, 2, 3), keepdims=True)
    assert clear.mean() > 0.95  # the others' sign may be that of a rounding error
    assert faulted.images[clear] == pytest.approx(expected[clear], abs=1e-7)


def test_an_instance_without_a_right_answer_loses_the_class_it_is_taken_for(small):
    fault = Fgsm()
    fault.prepare(small.context())
    test, rows = small.workload.test, np.arange(20)
    images, ids = test.images.read(rows), test.ids[rows]
    nothing = np.full(20, np.nan)
    unlabelled = fault.apply(images, np.full(20, -1), ids, nothing)
    predicted = small.classifier.observe(images).predicted
    assert np.array_equal(unlabelled.images, fault.apply(images, predicted, ids, nothing).images)
    assert set(unlabelled.labels) == {-1}


@pytest.mark.parametrize("norm", ["linf", "l2"])
@pytest.mark.parametrize("random_start", [True, False])
@pytest.mark.parametrize(("eps", "step_size"), [(0.02, None), (0.3, 5.0), (2.0, 0.1)])
def test_pgd_never_leaves_its_ball_nor_the_range(small, norm, random_start, eps, step_size):
    fault = Pgd(norm=norm, eps=eps, steps=4, step_size=step_size, random_start=random_start)
    images, _, faulted = small.attacked(fault)
    change = faulted.images.astype(float) - images.astype(float)
    far = abs(change).max(axis=(1, 2, 3)) if norm == "linf" else lengths(change)
    assert far.max() <= eps * (1 + 1e-5) + 1e-7
    assert far.max() > 0.3 * min(eps, 1)
    assert faulted.images.min() >= 0
    assert faulted.images.max() <= 1


WITHIN = [Fgsm, Pgd, SquareAttack]


@pytest.mark.parametrize("cls", WITHIN)
@pytest.mark.parametrize("eps", [0.01, 0.05, 1 / 3, 0.7])
def test_no_pixel_moves_further_than_eps_to_the_last_bit_in_any_batch(small, cls, eps):
    fault = cls(eps=eps)
    images, _, whole = small.attacked(fault, n=60)
    parts = [small.again(fault, range(i, i + 5))[2] for i in range(0, 60, 5)]
    for faulted in (whole.images, np.concatenate([part.images for part in parts])):
        assert abs(faulted.astype(float) - images.astype(float)).max() <= eps
        assert faulted.min() >= 0
        assert faulted.max() <= 1
    assert whole.measured["linf"].max() <= eps
    assert whole.measured["linf"].max() == pytest.approx(eps, abs=1e-6)


@pytest.mark.parametrize("cls", WITHIN)
@pytest.mark.parametrize("target", [3, "digit-3"])
def test_a_target_is_what_images_are_to_be_taken_for(small, cls, target):
    fault = cls(eps=0.15, target=target)
    images, labels, faulted = small.attacked(fault, n=297)
    theirs = labels == 3
    assert np.array_equal(faulted.images[theirs], images[theirs])
    now = small.classifier.observe(faulted.images).predicted
    success = faulted.measured["success"]
    assert np.array_equal(np.isnan(success), theirs)
    assert np.array_equal(success[~theirs] == 1, now[~theirs] == 3)
    before = small.classifier.observe(images).predicted
    _, _, untargeted = small.attacked(cls(eps=0.15), n=297)
    elsewhere = small.classifier.observe(untargeted.images).predicted
    for other in (before, elsewhere):
        assert (now[~theirs] == 3).sum() > 2 * max(1, (other[~theirs] == 3).sum())


def test_a_target_that_is_no_class_is_told(small):
    fault = Fgsm(target="digit-33")
    with refused(ParameterError):
        fault.prepare(small.context())


@pytest.mark.parametrize("cls", ATTACKS)
def test_images_that_are_wrong_already_may_be_left_alone(small, cls):
    images, labels, attacked = small.attacked(cls(), n=297)
    _, _, faulted = small.attacked(cls(skip_wrong=True), n=297)
    wrong = small.classifier.observe(images).predicted != labels
    assert 0 < wrong.sum() < 100
    assert np.array_equal(faulted.images[wrong], images[wrong])
    assert np.array_equal(np.isnan(faulted.measured["success"]), wrong)
    assert not np.array_equal(attacked.images[wrong], images[wrong])
    assert (faulted.images[~wrong] != images[~wrong]).any(axis=(1, 2, 3)).all()
    # What has no right answer is nowhere wrong.
    fault, rows = cls(skip_wrong=True), np.flatnonzero(wrong)[:5]
    fault.prepare(small.context())
    ids = small.workload.test.ids[rows]
    unlabelled = fault.apply(images[rows], np.full(len(rows), -1), ids, np.full(len(rows), np.nan))
    assert not np.isnan(unlabelled.measured["success"]).any()


def test_one_full_step_of_pgd_from_the_middle_is_fgsm(small):
    one = Pgd(eps=0.05, steps=1, step_size=0.05, random_start=False)
    _, _, faulted = small.attacked(one)
    _, _, expected = small.attacked(Fgsm(eps=0.05))
    assert faulted.images == pytest.approx(expected.images, abs=1e-7)


def test_one_step_of_pgd_in_l2_follows_the_gradient(small):
    images, labels, faulted = small.attacked(
        Pgd(norm="l2", eps=1.0, steps=1, step_size=0.1, random_start=False), n=30
    )
    gradients = loss_gradients(small.classifier, images, labels)
    expected = images + 0.1 * gradients / lengths(gradients)[:, None, None, None]
    assert faulted.images == pytest.approx(np.clip(expected, 0, 1), abs=1e-5)


def test_pgd_does_more_than_fgsm_within_the_same_ball(small):
    images, labels, fgsm = small.attacked(Fgsm(eps=0.05), n=297)
    _, _, pgd = small.attacked(Pgd(eps=0.05), n=297)
    rows = np.arange(len(labels))

    def right(batch):
        return np.log(small.classifier.observe(batch).probabilities[rows, labels]).mean()

    assert right(pgd.images) < right(fgsm.images) < right(images)


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_the_random_start_depends_on_the_id_alone(small, norm):
    fault = Pgd(norm=norm, steps=1, step_size=1e-9)
    images, _, whole = small.attacked(fault, n=20)
    _, _, part = small.again(fault, range(5, 9))
    assert whole.images[5:9] == pytest.approx(part.images, abs=1e-6)
    starts = whole.images - images
    assert len({start.tobytes() for start in starts}) == 20


def test_deepfool_crosses_into_another_class_by_less_than_fgsm(small):
    images, labels, deepfool = small.attacked(DeepFool(), n=297)
    assert deepfool.measured["success"].all()
    right = small.classifier.observe(images).predicted == labels
    for eps, least in ((0.05, 0.2), (0.3, 0.9)):
        _, _, fgsm = small.attacked(Fgsm(eps=eps), n=297)
        # Equal success: over those instances for which both succeed.
        both = right & (fgsm.measured["success"] == 1)
        assert both.sum() > least * right.sum()
        assert deepfool.measured["l2"][both].mean() < 0.5 * fgsm.measured["l2"][both].mean()


@pytest.mark.parametrize("eps", [0.01, 1 / 30])
def test_deepfool_is_cut_off_at_eps_to_the_last_bit(small, eps):
    images, _, free = small.attacked(DeepFool(), n=60)
    _, _, faulted = small.attacked(DeepFool(eps=eps), n=60)
    change, wanted = (made.images.astype(float) - images for made in (faulted, free))
    too_far = abs(wanted) > eps
    assert 0 < too_far.sum() < too_far.size
    assert abs(change).max() <= eps
    assert np.array_equal(faulted.images[~too_far], free.images[~too_far])
    assert change[too_far] == pytest.approx(eps * np.sign(wanted[too_far]), abs=1e-7)
    # Too little of a change for some: an attack without bounds always succeeds here.
    assert faulted.measured["success"].sum() < free.measured["success"].sum() == 60
    _, _, bounded_by_the_range = small.attacked(DeepFool(eps=1.0), n=60)
    assert np.array_equal(bounded_by_the_range.images, free.images)


class Linear(Classifier):
    """A linear classifier: its boundaries are where they are computed to be."""

    name, classes = "linear", ("a", "b", "c")

    def __init__(self):
        self.capabilities = Capabilities(logits=True, gradients=True)
        rng = np.random.default_rng(0)
        self.weights = torch.tensor(rng.normal(size=(3, 256)), dtype=torch.float32)
        self.offsets = -0.5 * self.weights.sum(dim=1)  # an image of grey is on all boundaries

    digest, nbytes = "linear", 0

    def differentiable(self, images):
        return images.flatten(1) @ self.weights.T + self.offsets

    def _forward(self, images, layers, members):
        with torch.no_grad():
            logits = self.differentiable(torch.tensor(images))
        return RawOutputs(torch.softmax(logits.double(), 1).numpy(), logits.numpy())


def test_deepfool_finds_the_nearest_boundary_of_a_linear_classifier():
    linear = Linear()
    fault = DeepFool(overshoot=0.02)
    fault._target = fault._attacked = linear
    rng = np.random.default_rng(1)
    images = (0.5 + 0.05 * rng.normal(size=(30, 1, 16, 16))).astype(np.float32)
    labels, ids = np.zeros(30, int), np.arange(30).astype(str)
    faulted = fault.apply(images, labels, ids, np.full(30, np.nan))
    logits = linear.differentiable(torch.tensor(images)).numpy()
    weights = linear.weights.numpy()
    expected = []
    for row in logits:
        top = int(row.argmax())
        others = [k for k in range(3) if k != top]
        expected.append(min((row[top] - row[k]) / np.linalg.norm(weights[top] - weights[k]) for k in others))
    assert faulted.measured["l2"] == pytest.approx(1.02 * np.array(expected), rel=1e-2, abs=1e-4)
    assert faulted.measured["success"].all()


def test_the_square_attack_needs_probabilities_alone(small):
    asked = []

    def function(images):
        asked.append(len(images))
        return small.classifier.observe(images).probabilities

    black_box = FunctionClassifier(function, small.workload.classes)
    images, labels, faulted = small.attacked(SquareAttack(queries=30), classifier=black_box)
    assert sum(asked) <= 100 * (1 + 30 + 2)  # the start, the trials, and twice for the success
    change = faulted.images.astype(float) - images
    assert abs(change).max() <= 0.05 + 1e-7
    # Each pixel moved by eps, or as far as the range allows.
    low, high = np.clip(images - np.float32(0.05), 0, 1), np.clip(images + np.float32(0.05), 0, 1)
    assert np.minimum(abs(faulted.images - low), abs(faulted.images - high)).max() < 1e-7
    right = np.arange(100), labels
    before, now = (small.classifier.observe(batch).probabilities[right] for batch in (images, faulted.images))
    assert now.mean() < before.mean()
    _, _, white_box = small.attacked(SquareAttack(queries=30))
    assert np.array_equal(white_box.images, faulted.images)


def test_more_queries_succeed_more_often(small):
    few, many = (small.attacked(SquareAttack(eps=0.1, queries=n))[2].measured["success"] for n in (1, 60))
    assert many.mean() > few.mean()


def test_squares_shrink_as_published():
    sides = square_sides(10_000, 0.8, 100, 100)
    areas = {sides[i] for i in (0, 11, 51, 201, 1001, 2001, 4001, 6001, 8001)}
    assert areas == {round((0.8 / 2**n) ** 0.5 * 100) for n in range(9)}
    assert square_sides(100, 1.0, 8, 20)[0] == 8  # no larger than the image
    assert square_sides(100, 0.001, 8, 8) == [1] * 100


@pytest.mark.parametrize(
    "fault",
    [Fgsm(), Pgd(steps=4), DeepFool(candidates=4), SquareAttack(queries=20)],
    ids=lambda fault: type(fault).__name__,
)
def test_most_pixels_agree_in_batches_of_other_sizes(small, fault):
    _, _, whole = small.attacked(fault, n=18)
    for size in (1, 7):
        parts = [small.again(fault, range(i, min(i + size, 18)))[2].images for i in range(0, 18, size)]
        apart = abs(np.concatenate(parts) - whole.images)
        # A sign that hangs on a rounding error may tip over; all else agrees.
        assert (apart > 1e-4).mean() < 0.005
    assert small.again(fault, range(18))[2].images.tobytes() == whole.images.tobytes()


@pytest.mark.parametrize("cls", [Fgsm, Pgd, DeepFool])
def test_a_black_box_needs_a_surrogate_for_attacks_by_gradients(small, cls):
    black_box = FunctionClassifier(
        lambda images: small.classifier.observe(images).probabilities, small.workload.classes
    )
    fault = cls()
    fault.name = "attack"
    with refused(RequirementError):
        fault.prepare(small.context(black_box))


def test_a_surrogate_is_attacked_and_success_is_the_targets(small):
    asked = []

    def function(images):
        asked.append(len(images))
        return small.classifier.observe(images).probabilities

    black_box = FunctionClassifier(function, small.workload.classes)
    fault = Fgsm(eps=0.1, surrogate={"name": "lenet", "epochs": 1, "hidden": 64})
    images, _, faulted = small.attacked(fault, classifier=black_box)
    assert asked == [100, 100]  # for the success, and for nothing else
    surrogate = small.bed.classifier({"name": "lenet", "epochs": 1, "hidden": 64}, small.workload)
    assert fault.prepare(small.context(black_box)).notes == {
        "attacked": "lenet",
        "attacked_digest": surrogate.digest,
        "attacked_is_surrogate": True,
    }
    direct = Fgsm(eps=0.1)
    _, _, expected = small.attacked(direct, classifier=surrogate)
    assert np.array_equal(faulted.images, expected.images)
    changed = small.classifier.observe(images).predicted != small.classifier.observe(faulted.images).predicted
    assert faulted.measured["success"].tolist() == changed.astype(float).tolist()


@pytest.mark.parametrize(
    ("cls", "arguments"),
    [
        (Fgsm, {"eps": 0}),
        (Fgsm, {"surrogate": {"epochs": 3}}),
        (Pgd, {"norm": "l1"}),
        (Pgd, {"eps": -1.0}),
        (DeepFool, {"eps": 0}),
        (DeepFool, {"eps": 1.5}),
        (Pgd, {"steps": 0}),
        (Pgd, {"step_size": 0.0}),
        (DeepFool, {"overshoot": -0.1}),
        (DeepFool, {"candidates": 1}),
        (SquareAttack, {"queries": 0}),
        (SquareAttack, {"area": 0}),
    ],
)
def test_a_wrong_parameter_is_told(cls, arguments):
    with refused(ParameterError):
        cls(**arguments)


def test_an_unknown_parameter_of_the_surrogate_is_told(small):
    fault = registry.faultload("faultloads.adversarial:Fgsm", surrogate={"name": "lenet", "epoch": 1})
    with refused(ParameterError):
        fault.prepare(FaultContext(small.workload, small.workload.test, small.classifier, None, Context()))


def test_surrogates_of_one_model_with_other_parameters_are_other_networks(tmp_path) -> None:
    bed = Testbed(cache=DiskCache(tmp_path))
    workload = bed.workload({"name": "digits", "size": 16, "channels": 1})
    target = bed.classifier({"name": "cnn", "epochs": 1, "filters": 4}, workload)
    surrogates = [{"name": "cnn", "epochs": 1, "filters": filters} for filters in (2, 3)]
    notes = [bed.fault_notes(Fgsm(surrogate=one), workload, target) for one in surrogates]
    assert len({each["attacked_digest"] for each in notes}) == 2
