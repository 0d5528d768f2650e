"""Warnings of classifiers that were put in wrongly, and none of those that were not."""

from itertools import product

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from farm.judging import JudgedRun
from farm.judging.classifier_check import classifier_warnings
from farm.testing import make_readouts
from tests.wording import same_text

DIGITS = load_digits()
MODELS = (
    LogisticRegression(max_iter=200),
    LogisticRegression(C=0.05, max_iter=200),
    KNeighborsClassifier(9),
    RandomForestClassifier(10, max_depth=5, random_state=0),
)


def probabilities(model, n_train, seed, classes=10):
    """Return the labels of digits, and what a model that saw others says of them."""
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(DIGITS.target < classes))
    train, test = rows[:n_train], rows[n_train:]
    model.fit(DIGITS.data[train] / 16, DIGITS.target[train])
    found = np.zeros((len(test), classes))
    found[:, model.classes_] = model.predict_proba(DIGITS.data[test] / 16)
    return DIGITS.target[test], found


def warned(label, predicted, confidence=None, **columns):
    columns = {"is_ood": False} | columns
    made = make_readouts({"odin": False}, label=label, predicted=predicted, confidence=confidence, **columns)
    return classifier_warnings(JudgedRun.of(made.instances, made.alarms, made.run).table)


def test_no_healthy_classifier_is_warned_of():
    told = {}
    for model, n_train, seed, classes in product(MODELS, (80, 150, 900), range(2), (2, 10)):
        label, found = probabilities(model, min(n_train, 100 * classes), seed, classes)
        if warnings := warned(label, found.argmax(axis=1), found.max(axis=1)):
            told[str(model), n_train, seed, classes] = warnings
    assert told == {}


@pytest.mark.parametrize("n", [30, 60, 200])
def test_nor_is_one_of_few_instances_and_many_classes(n):
    random = np.random.default_rng(n)
    for _ in range(50):
        label = random.integers(0, 20, n)
        predicted = np.where(random.random(n) < 0.5, label, random.integers(0, 20, n))
        assert warned(label, predicted) == []


LABEL, FOUND = probabilities(MODELS[0], 900, 0)
RIGHT = FOUND.argmax(axis=1)


@pytest.mark.parametrize(
    "order",
    [
        np.random.default_rng(1).permutation(10),
        np.roll(np.arange(10), 1),
        np.array([1, 0, *range(2, 10)]),
        np.arange(1, 11),  # labels that begin at 1
    ],
)
def test_classes_in_another_order_are_found(order):
    (warning,) = warned(LABEL, order[RIGHT], FOUND.max(axis=1))
    assert "look permuted" in warning
    same_text(warning)


def test_a_classifier_that_knows_nothing_is_near_chance():
    random = np.random.default_rng(2)
    for predicted in (random.integers(0, 10, len(LABEL)), np.full(len(LABEL), 3)):
        (warning,) = warned(LABEL, predicted, np.full(len(LABEL), 0.15))
        assert "near chance" in warning
        same_text(warning)


def test_confidences_that_are_all_near_1_are_saturated():
    label, found = probabilities(MODELS[0], 150, 3)
    predicted = found.argmax(axis=1)
    (warning,) = warned(label, predicted, np.where(np.arange(len(label)) % 200, 1.0, 0.8))
    assert "saturated" in warning
    same_text(warning)
    assert warned(label, label, np.ones(len(label))) == [], "they are right"


def test_wrong_and_sure_of_what_is_ood_is_not_saturated():
    is_ood = np.arange(len(LABEL)) % 2 == 0
    predicted = np.where(is_ood, (LABEL + 1) % 10, LABEL)
    confidence = np.where(is_ood, 1.0, 0.9995)
    assert warned(LABEL, predicted, confidence, is_ood=is_ood) == []
    assert warned(LABEL, predicted[::-1], np.ones(len(LABEL)), is_ood=is_ood) != []


def test_one_mistake_among_few_sure_decisions_is_chance():
    label = np.arange(40) % 4
    assert warned(label, np.where(np.arange(40) == 7, 0, label), np.full(40, 0.9995)) == []


def test_where_ood_images_are_not_told_apart_nothing_is_said_of_id_ones():
    (warning,) = warned(LABEL, (RIGHT + 1) % 10, is_ood=None)
    same_text(warning)


@pytest.mark.parametrize(
    "columns",
    [
        {"label": None},
        {"label": -1},
        {"label": np.where(np.arange(len(LABEL)) < 20, LABEL, -1)},
        {"is_ood": True},
        {"label": 4},
    ],
)
def test_where_too_little_is_known_nothing_is_said(columns):
    predicted = np.zeros(len(LABEL), dtype=int)
    assert warned(**({"label": LABEL, "predicted": predicted} | columns)) == []


def test_what_is_ood_has_no_part_in_it():
    is_ood = np.arange(len(LABEL)) % 2 == 0
    assert warned(LABEL, np.where(is_ood, (RIGHT + 1) % 10, RIGHT), is_ood=is_ood) == []


def test_names_of_classes_may_be_any_numbers_and_many():
    label = np.arange(3000) * 7_000_000
    assert warned(np.tile(label, 2), np.tile(label, 2)) == []
