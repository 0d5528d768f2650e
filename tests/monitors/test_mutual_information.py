"""Mutual information, by hand and against SciPy's entropies; how many members it takes, and of what."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import softmax
from scipy.stats import entropy

from farm.api import ALL_MEMBERS, Needs, NoCache
from farm.errors import ParameterError, RequirementError
from farm.run.testbed import Testbed
from models.averaged import EnsembleClassifier
from monitors.mutual_information import MutualInformation, disagreement
from tests.monitors.own_networks import WATCHED, images
from tests.wording import refused, same_text

SEEN = WATCHED.observe(images(20, 7))
CNN = {"name": "cnn", "epochs": 1, "filters": 3, "hidden": 8}
DROPPING = {**CNN, "dropout": 0.5}
LOGITS = arrays(np.float64, (4, 3, 5), elements=st.floats(-30, 30, width=32))


@pytest.fixture(scope="module")
def bed() -> Testbed:
    return Testbed(seed=2, cache=NoCache())


@pytest.fixture(scope="module")
def digits(bed):
    return bed.workload({"name": "digits", "size": 8, "channels": 1})


def by_entropies(members: np.ndarray) -> np.ndarray:
    return entropy(members.mean(axis=0), axis=1) - entropy(members, axis=2).mean(axis=0)


def test_by_hand() -> None:
    torn = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    doubtful = [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]
    leaning = [[0.75, 0.25, 0.0], [0.25, 0.75, 0.0]]
    found = disagreement(np.array([torn, doubtful, leaning]).swapaxes(0, 1))
    # Of the last: log 2 less 2 log 2 - 3/4 log 3, the entropy of 3/4 and 1/4.
    np.testing.assert_allclose(found, [np.log(2), 0, 0.75 * np.log(3) - np.log(2)], rtol=1e-12)


@given(LOGITS)
def test_it_is_the_difference_of_entropies(logits: np.ndarray) -> None:
    members = softmax(logits, axis=2)
    found = disagreement(members)
    np.testing.assert_allclose(found, by_entropies(members), rtol=1e-9, atol=1e-12)
    assert (found >= 0).all()
    assert (found <= np.log(4) + 1e-12).all()  # four members tell no more than which of them it is


@given(arrays(np.float32, (6, 7), elements=st.floats(-30, 30, width=32)), st.integers(2, 9))
def test_members_that_are_the_same_have_exactly_none(logits: np.ndarray, n: int) -> None:
    row = softmax(logits.astype(np.float64), axis=1)
    for members in (row, row.astype(np.float32)):
        assert disagreement(np.stack([members] * n)).tolist() == [0.0] * 6


def test_it_takes_as_many_members_as_it_asked_for() -> None:
    members = softmax(np.random.default_rng(0).normal(0, 3, (7, 20, 3)), axis=2)
    seen = dataclasses.replace(SEEN, members=members)
    few, every = (MutualInformation(members=n).restore({}, WATCHED) for n in (3, None))
    np.testing.assert_allclose(few.score(seen), by_entropies(members[:3]), rtol=1e-9)
    np.testing.assert_allclose(every.score(seen), by_entropies(members), rtol=1e-9)
    assert (few.needs, every.needs) == (Needs(members=3), Needs(members=ALL_MEMBERS))
    (told,) = every.explain(seen.take(np.array([0])))
    same_text(told.reason)
    assert told.details == {"likeliest": "cedar"}


@pytest.mark.parametrize(
    ("classifier", "n"),
    [
        ({"name": "mc-dropout", "of": DROPPING, "passes": 6}, 6),
        ({"name": "ensemble", "of": CNN, "size": 3}, 3),
    ],
)
def test_by_default_it_takes_all_that_the_answer_is_the_mean_of(bed, digits, classifier, n) -> None:
    made = bed.classifier(classifier, digits)
    every, few = bed.fit([MutualInformation(), {"name": "mutual-information", "members": 2}], made, digits)
    pixels = digits.test.images.read(np.arange(30))
    seen = made.observe(pixels, members=ALL_MEMBERS)
    assert len(seen.members) == n
    doubt = entropy(seen.probabilities, axis=1)
    np.testing.assert_allclose(
        every.score(seen), doubt - entropy(seen.members, axis=2).mean(axis=0), atol=1e-9
    )
    np.testing.assert_allclose(few.score(seen), by_entropies(seen.members[:2]), atol=1e-9)
    assert (every.score(seen) > 0).any()
    with refused(RequirementError):
        made.resolve(MutualInformation(members=20).needs, "monitor 'mutual-information'")


def test_an_ensemble_of_one_network_again_and_again_has_none(bed, digits) -> None:
    again = EnsembleClassifier("again", [bed.classifier(CNN, digits)] * 5, 5)
    seen = again.observe(digits.test.images.read(np.arange(30)), members=ALL_MEMBERS)
    assert (MutualInformation().restore({}, again).score(seen) == 0).all()


@pytest.mark.parametrize("classifier", [CNN, DROPPING])
def test_what_gives_no_mean_of_members_is_refused_with_the_reason(bed, digits, classifier) -> None:
    with refused(RequirementError):
        bed.fit([MutualInformation()], bed.classifier(classifier, digits), digits)


def test_a_number_of_passes_will_do_for_a_network_alone(bed, digits) -> None:
    made = bed.classifier(DROPPING, digits)
    (monitor,) = bed.fit([{"name": "mutual-information", "members": 4}], made, digits)
    seen = made.observe(digits.test.images.read(np.arange(30)), members=4)
    np.testing.assert_allclose(monitor.score(seen), by_entropies(seen.members), rtol=1e-6, atol=1e-9)


def test_members_that_were_not_observed_are_told() -> None:
    with refused(RequirementError):
        MutualInformation().restore({}, WATCHED).score(SEEN)


@pytest.mark.parametrize("wrong", [1, 2.5, 0])
def test_wrong_parameters_are_named(wrong) -> None:
    with refused(ParameterError):
        MutualInformation(members=wrong)
