"""Attacks on classifiers whose gradients have a closed form: each step as published, in double precision."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import kstest

from farm.api import Capabilities, Classifier, FunctionClassifier, PerInstance, RawOutputs
from faultloads.adversarial import Fgsm, Pgd
from faultloads.deepfool import DeepFool
from faultloads.square_attack import SquareAttack, square_sides
from tests.tables import all_hold

SHAPE = (3, 6, 9)


class Linear(Classifier):
    """A linear classifier: its boundaries and its gradients are where they are computed to be."""

    name, digest, nbytes = "linear", "linear", 0

    def __init__(self, shape=SHAPE, n_classes=5, size=0.5):
        self.classes, self.capabilities = (
            tuple("abcde"[:n_classes]),
            Capabilities(logits=True, gradients=True),
        )
        rng = np.random.default_rng(0)
        self.weights = torch.tensor(
            rng.normal(scale=size, size=(n_classes, np.prod(shape))).astype(np.float32)
        )
        self.offsets = -0.5 * self.weights.sum(dim=1)  # an image of grey is on all boundaries

    def differentiable(self, images):
        return images.flatten(1) @ self.weights.T + self.offsets

    def _forward(self, images, layers, members):
        with torch.no_grad():
            logits = self.differentiable(torch.tensor(images))
        return RawOutputs(torch.softmax(logits.double(), 1).numpy(), logits.numpy())

    def exact(self, image):
        """Return the logits of an image in double precision."""
        return self.weights.numpy().astype(float) @ image.ravel() + self.offsets.numpy().astype(float)

    def loss_gradient(self, image, label):
        """Return the gradient of the cross-entropy: the weights, weighed by probabilities less the answer."""
        powers = np.exp(self.exact(image) - self.exact(image).max())
        wrong = powers / powers.sum() - np.eye(len(powers))[label]
        return (wrong @ self.weights.numpy().astype(float)).reshape(image.shape)


def pixels(n=20, shape=SHAPE, spread=0.3):
    """Make noise about grey, some of it black and white."""
    noise = np.random.default_rng(1).normal(0.5, spread, size=(n, *shape))
    return noise.clip(0, 1).astype(np.float32)


def ids(n):
    return np.array([f"i{k}" for k in range(n)])


def attacked(fault, images, labels=None, classifier=None):
    fault.name = "attack"
    fault._target = fault._attacked = classifier or Linear(images.shape[1:])
    n = len(images)
    labels = np.arange(n) % 5 if labels is None else labels
    return fault.apply(images, labels, ids(n), np.full(n, np.nan))


def drawn(n):
    return PerInstance(0, "attack", ids(n))


def test_one_step_follows_the_sign_of_the_gradient():
    images = pixels()
    expected = [
        (image + 0.07 * np.sign(Linear().loss_gradient(image.astype(float), i % 5))).clip(0, 1)
        for i, image in enumerate(images)
    ]
    assert np.abs(attacked(Fgsm(eps=0.07), images).images - expected).max() < 1e-6
    assert Fgsm().parameters["eps"] == 0.05


def test_answers_are_taken_from_the_attacked_classifier_where_there_are_none():
    images, linear = pixels(), Linear()
    labels = np.arange(20) % 5
    gone = np.where(np.arange(20) % 2, -1, labels)
    predicted = np.array([linear.exact(image).argmax() for image in images])
    assert (predicted != labels)[1::2].any()
    expected = attacked(Fgsm(), images, np.where(gone == -1, predicted, labels))
    assert np.array_equal(attacked(Fgsm(), images, gone).images, expected.images)


def transcribed_pgd(image, label, start, norm, eps, steps, step_size):
    """Follow Madry et al.: a step up the loss, then back into the ball and into the range of images."""
    linear, now = Linear(image.shape), start
    for step in range(steps + 1):
        change = now - image
        length = np.linalg.norm(change)
        inside = change.clip(-eps, eps) if norm == "linf" else change * min(1, eps / max(length, 1e-12))
        now = (image + inside).clip(0, 1)
        if step < steps:
            gradient = linear.loss_gradient(now, label)
            way = np.sign(gradient) if norm == "linf" else gradient / np.linalg.norm(gradient)
            now = now + step_size * way
    return now


def starts(images, norm, eps):
    """Return where attacks start: evenly within the ball, from the numbers that the instances draw."""
    random = drawn(len(images))
    if norm == "linf":
        return images + random.uniform(*images.shape[1:], low=-eps, high=eps)
    ways = random.normal(*images.shape[1:]).astype(float)
    ways /= np.sqrt((ways**2).sum(axis=(1, 2, 3), keepdims=True))
    return images + ways * eps * random.uniform(1, 1, 1).astype(float) ** (1 / images[0].size)


def test_projected_gradient_descent_is_the_published_one():
    def check(norm, random_start, asked, eps, steps, step_size):
        images = pixels()
        ours = attacked(Pgd(norm=norm, random_start=random_start, **asked), images).images
        origins = starts(images, norm, eps) if random_start else images
        for i, (image, origin) in enumerate(zip(images.astype(float), origins, strict=True)):
            expected = transcribed_pgd(image, i % 5, origin, norm, eps, steps, step_size)
            assert np.abs(ours[i] - expected).max() < 1e-5

    cases = []
    for norm, default in (("linf", 0.05), ("l2", 0.5)):
        # What is asked for, then radius, steps and step size: a step is 2.5 radii over the steps.
        for asked, *expected in (
            ({}, default, 10, 0.25 * default),
            ({"eps": 0.2, "steps": 4}, 0.2, 4, 0.125),
            ({"eps": 0.3, "steps": 7, "step_size": 0.02}, 0.3, 7, 0.02),
            ({"eps": 0.1, "steps": 1, "step_size": 0.04}, 0.1, 1, 0.04),
        ):
            cases += [(norm, random_start, asked, *expected) for random_start in (True, False)]
    all_hold(check, cases)
    assert Pgd().parameters["random_start"] is True


def test_random_starts_are_spread_evenly_over_the_ball():
    grey = np.full((600, 1, 2, 2), 0.5, dtype=np.float32)

    def change(norm):
        return attacked(Pgd(norm=norm, eps=0.1, steps=1, step_size=1e-9), grey).images - 0.5

    assert kstest(change("linf").ravel(), "uniform", (-0.1, 0.2)).pvalue > 0.01
    moved = change("l2").reshape(600, 4)
    # In four dimensions the share of the ball within a distance is its fourth power.
    lengths = np.linalg.norm(moved, axis=1)
    assert kstest((lengths / 0.1) ** 4, "uniform").pvalue > 0.01
    ways = moved / lengths[:, None]
    assert np.abs(ways.mean(axis=0)).max() < 4 / np.sqrt(4 * 600)
    assert np.abs(ways.T @ ways / 600 - np.eye(4) / 4).max() < 0.06


def test_steps_stay_steps_where_the_loss_is_flat():
    # So sure that the answer has probability 1 to all digits: the gradient is 0, and nobody divides by it.
    sure = Linear(size=400.0)
    images = pixels()
    predicted = np.array([sure.exact(image).argmax() for image in images])
    for fault in (Fgsm(), Pgd(norm="l2", random_start=False), Pgd(random_start=False)):
        assert np.isfinite(attacked(fault, images, predicted, sure).images).all()


def transcribed_deepfool(image, linear, overshoot, steps, candidates):
    """Follow Moosavi-Dezfooli et al., algorithm 2, with a bit more than nothing beyond each boundary."""
    weights = linear.weights.numpy().astype(float)
    first, *others = np.argsort(-linear.exact(image))[:candidates]
    now, way = image, np.zeros(image.size)
    for _ in range(steps):
        logits = linear.exact(now)
        if logits[first] < max(logits[other] for other in others):
            break
        ways = []
        for other in others:
            slope, apart = weights[other] - weights[first], logits[first] - logits[other]
            ways.append((apart / np.linalg.norm(slope), (apart + 1e-4) * slope / (slope @ slope)))
        way = way + min(ways, key=lambda one: one[0])[1]
        now = (image + (1 + overshoot) * way.reshape(image.shape)).clip(0, 1)
    return now


def test_deepfool_is_the_published_one():
    def check(spread, asked, overshoot, steps, candidates):
        images = pixels(30, spread=spread)
        linear = Linear()
        ours = attacked(DeepFool(**asked), images, classifier=linear)
        for image, result, crossed in zip(
            images.astype(float), ours.images, ours.measured["success"], strict=True
        ):
            expected = transcribed_deepfool(image, linear, overshoot, steps, candidates)
            assert np.abs(result - expected).max() < 2e-5
            assert crossed == (linear.exact(expected).argmax() != linear.exact(image).argmax())
        # Two steps do not suffice where the range cuts each of them short.
        if steps > 2:
            assert ours.measured["success"].all()

    # Where images are black and white the range cuts a step short, so that another one is needed.
    all_hold(
        check,
        [
            (0.1, {}, 0.02, 50, 10),
            (0.6, {}, 0.02, 50, 10),
            (0.6, {"steps": 1}, 0.02, 1, 10),
            (0.6, {"steps": 2, "overshoot": 0.0}, 0.0, 2, 10),
            (0.1, {"candidates": 2, "overshoot": 0.3}, 0.3, 50, 2),
            (0.6, {"candidates": 3}, 0.02, 50, 3),
        ],
    )


def transcribed_square_attack(image, label, linear, random, eps, queries, area):
    """Follow Andriushchenko et al., algorithms 1 and 2; `random` has what the instance draws."""
    stripes, places, colours = random
    channels, high, wide = image.shape

    def moved(bits):
        return (image + np.where(bits < 2**15, -eps, eps)).clip(0, 1)

    def margin(tried):
        logits = linear.exact(tried)
        return logits[label] - np.delete(logits, label).max()

    best = moved(stripes)
    for trial in range(queries):
        if margin(best) < 0:
            break
        halved = sum(
            trial / queries * 10_000 > limit for limit in (10, 50, 200, 1000, 2000, 4000, 6000, 8000)
        )
        side = max(1, min(high, wide, round(np.sqrt(area * 0.5**halved * high * wide))))
        top, left = int(places[trial, 0] * (high - side + 1)), int(places[trial, 1] * (wide - side + 1))
        tried = best.copy()
        square = np.s_[:, top : top + side, left : left + side]
        tried[square] = moved(colours[trial].reshape(channels, 1, 1))[square]
        if margin(tried) < margin(best):
            best = tried
    return best


def test_the_square_attack_is_the_published_one():
    def check(asked, eps, queries, area):
        images, linear = pixels(16), Linear()
        labels = np.array([linear.exact(image).argmax() for image in images])
        ours = attacked(SquareAttack(**asked), images, labels, linear)
        random = drawn(16)
        stripes = random.bits(3, 1, 9)
        numbers = zip(stripes, random.uniform(queries, 2), random.bits(queries, 3), strict=True)
        ended = 0
        for image, label, result, own in zip(images, labels, ours.images, numbers, strict=True):
            expected = transcribed_square_attack(image.astype(float), label, linear, own, eps, queries, area)
            assert np.abs(result - expected).max() < 1e-6
            ended += linear.exact(expected).argmax() != label
        assert ended > 0
        assert ours.measured["success"].sum() == ended

    all_hold(
        check,
        [
            ({}, 0.05, 200, 0.8),
            ({"eps": 0.1, "queries": 30, "area": 0.3}, 0.1, 30, 0.3),
            ({"eps": 0.02, "queries": 60, "area": 1.0}, 0.02, 60, 1.0),
        ],
    )


def test_squares_shrink_as_published():
    sides = square_sides(10_000, 0.8, 100, 100)
    # The last trial before each halving, and the first after it.
    for n, limit in enumerate((10, 50, 200, 1000, 2000, 4000, 6000, 8000)):
        before, after = (round((0.8 / 2**k) ** 0.5 * 100) for k in (n, n + 1))
        assert sides[limit : limit + 2] == [before, after]
    assert len(sides) == 10_000
    assert square_sides(100, 1.0, 8, 20)[0] == 8  # no larger than the image
    assert square_sides(100, 1.0, 20, 8)[0] == 8
    assert square_sides(100, 0.001, 8, 8) == [1] * 100


@pytest.mark.parametrize(
    ("answers", "trials"),
    [([0.5, 0.5, 0.0], 12), ([0.6, 0.4, 0.0], 12), ([0.4, 0.6, 0.0], 0), ([0.0, 1.0, 0.0], 0)],
)
def test_an_image_is_tried_on_until_its_class_has_less_than_another(answers, trials):
    asked = []

    def function(images):
        asked.append(len(images))
        return np.array([answers] * len(images))

    black_box = FunctionClassifier(function, tuple("abc"))
    faulted = attacked(SquareAttack(queries=12), pixels(3), np.zeros(3, int), black_box)
    # The stripes, then the trials, then before and after the attack for its success.
    assert asked == [3] * (1 + trials + 2)
    assert np.allclose(np.abs(faulted.images - pixels(3)).max(axis=(1, 2, 3)), 0.05, atol=1e-6)
