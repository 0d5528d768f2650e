"""All methods on made shifts: which hold where what they take for granted does."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import expit

from farm.errors import DataError
from farm.statistics.label_free.estimates import METHODS, LabelFree, label_free
from farm.statistics.label_free.samples import SampleGroups, Signals
from tests.wording import refused, same_text

NONE = "nothing was kept"


def world(random, tracks, frames, by=0.0):
    """Make tracks of points whose first coordinate decides how often the classifier is right."""
    centre = np.repeat(random.normal(0, np.sqrt(0.3), (tracks, 2)), frames, axis=0)
    features = centre + random.normal(0, np.sqrt(0.7), (tracks * frames, 2)) + [by, 0]
    chance = expit(1.5 - 1.5 * features[:, 0])
    track = np.repeat(np.arange(tracks), frames)
    return Signals(track, chance, chance - 1, features), random.random(len(track)) < chance


def mean_accuracy(by):
    """Integrate the accuracy over normal points."""
    at, weight = np.polynomial.hermite_e.hermegauss(60)
    return float(weight @ expit(1.5 - 1.5 * (at + by)) / weight.sum())


def test_under_a_covariate_shift_weighting_and_confidences_that_are_chances_hold():
    """Of 80 pairs of 40 tracks each; at 95 % fewer than 69 held once in a thousand such tests."""
    random, truth = np.random.default_rng(0), mean_accuracy(1.0)
    held = {"weighting": [], "doc": [], "reference": [], "atc": []}
    of_error = {"weighting": [], "doc": []}
    for seed in range(80):
        (here, right), (there, hits) = world(random, 40, 5), world(random, 40, 5, by=1.0)
        found = label_free(here, right, there, truth=hits, replicates=400, seed=seed)
        for name, own in held.items():
            bounds = found.accuracy[name]
            if bounds.value.defined:
                own.append(bounds.low.value <= truth <= bounds.high.value)
        for name, own in of_error.items():
            bounds = found.errors[name]
            if bounds.value.defined:
                own.append(bounds.low.value <= 0 <= bounds.high.value)
    assert len(held["weighting"]) >= 70
    for own in (held["weighting"], held["doc"], of_error["weighting"], of_error["doc"]):
        assert np.mean(own) >= 0.86
    # Neither takes for granted what is true here: chances to be right whose spread is another there.
    assert np.mean(held["reference"]) < 0.1
    assert np.mean(held["atc"]) < 0.8


def test_the_interval_of_thresholded_confidence_holds_for_what_it_is_of_many_instances():
    random = np.random.default_rng(0)
    (here, right), (there, _) = (world(random, 200_000, 1, by) for by in (0.0, 0.5))
    truth = label_free(here, right, there, replicates=1).accuracy["atc"].value.value
    held = []
    for seed in range(80):
        (here, right), (there, _) = (world(random, 40, 5, by) for by in (0.0, 0.5))
        found = label_free(here, right, there, replicates=400, seed=seed).accuracy["atc"]
        held.append(found.low.value <= truth <= found.high.value)
    assert np.mean(held) >= 0.86


def test_none_sees_that_labels_changed_or_that_no_answer_is_right():
    """What confidences and features say is the same; then their errors tell, as sure as draws can."""
    random = np.random.default_rng(1)
    (here, right), (there, hits) = world(random, 100, 5), world(random, 100, 5)
    noise = hits & (random.random(500) < 0.6)
    for truth in (noise, np.zeros(500, dtype=np.bool_)):
        found = label_free(here, right, there, truth=truth, replicates=400)
        for name in METHODS:
            error = found.errors[name]
            assert error.low.value > 0.15, name
            assert error.value.value == pytest.approx(
                found.accuracy[name].value.value - truth.mean(), abs=1e-12
            )


def test_estimates_look_at_no_label_of_the_target():
    random = np.random.default_rng(2)
    (here, right), (there, hits) = world(random, 30, 4), world(random, 30, 4, by=0.5)
    plain, told = (label_free(here, right, there, truth=given, replicates=400) for given in (None, hits))
    assert plain.accuracy == told.accuracy
    assert not plain.truth.value.defined
    assert {each.value.reason for each in plain.errors.values()} == {"the labels are not known"}


def test_seeds_and_only_seeds_change_draws():
    random = np.random.default_rng(3)
    (here, right), (there, _) = world(random, 30, 4), world(random, 30, 4)
    first, again, other = (
        label_free(here, right, there, replicates=400, seed=seed).accuracy["doc"] for seed in (0, 0, 1)
    )
    assert first == again
    assert first.value == other.value
    assert first.low != other.low


def test_frames_of_one_track_are_worth_less_than_images_alone():
    random = np.random.default_rng(4)
    (here, right), (there, _) = (world(random, 40, 10) for _ in range(2))
    alone = [Signals(np.arange(400), one.confidence, NONE, NONE) for one in (here, there)]
    tracked = label_free(here, right, there, replicates=400).accuracy["doc"]
    single = label_free(alone[0], right, alone[1], replicates=400).accuracy["doc"]
    assert tracked.value.value == pytest.approx(single.value.value)
    assert tracked.high.value - tracked.low.value > 1.2 * (single.high.value - single.low.value)


def test_tracks_of_both_samples_are_drawn_once():
    """Half of each track is under a fault: where a whole track is hard, both halves err together."""
    random = np.random.default_rng(5)
    track = np.repeat(np.arange(60), 6)
    right = random.random(360) < np.repeat(random.beta(0.6, 0.6, 60), 6)
    fault = np.arange(360) % 2 == 1
    samples = [Signals(track[rows], NONE, NONE, NONE) for rows in (~fault, fault)]
    widths = []
    for shared in (True, False):
        found = label_free(
            samples[0],
            right[~fault],
            samples[1],
            truth=right[fault],
            shared_tracks=shared,
            replicates=400,
        ).errors["reference"]
        widths.append(found.high.value - found.low.value)
    assert widths[0] < 0.75 * widths[1]


def test_tracks_of_one_sample_that_are_few_are_drawn_with_the_others():
    here, there = np.repeat(np.arange(42), 3), np.repeat(np.arange(2, 44), 3)  # 2 tracks alone in each
    resampling = SampleGroups.of(here, there, shared=True).resampling()
    assert (resampling.why_not, resampling.n_groups, list(resampling.parts)) == (None, 44, ["stream"])
    apart = SampleGroups.of(here, there).resampling()
    assert {name: len(groups) for name, groups in apart.parts.items()} == {"reference": 42, "target": 42}


def test_many_tracks_are_joined_at_random_and_none_is_torn():
    here, there = np.arange(2400) // 2, np.arange(600, 3000) // 2  # 300 alone in each, 900 in both
    groups = SampleGroups.of(here, there, shared=True)
    assert groups.n == 300 + 500 + 300
    whole = {}
    for track, group in zip([*here, *there], [*groups.reference, *groups.target], strict=True):
        assert whole.setdefault(track, group) == group
    sizes = np.bincount(list(whole.values()))
    assert (sizes.min(), sizes.max()) == (1, 2)
    assert any(abs(a - b) != 1 for a, b in pairwise(whole[track] for track in range(300, 1200)))


def test_few_tracks_have_estimates_and_no_interval():
    random = np.random.default_rng(6)
    (here, right), (there, _) = world(random, 4, 30), world(random, 30, 4)
    found = label_free(here, right, there, replicates=400).accuracy["doc"]
    assert found.value.defined
    same_text(found.low.reason)


def test_what_is_not_known_anywhere_is_undefined_everywhere():
    found = LabelFree.nowhere("june has no instances")
    every = [*found.accuracy.values(), *found.errors.values(), found.truth]
    assert {one.value.reason for one in every} == {"june has no instances"}
    assert list(found.accuracy) == list(METHODS)


def test_samples_that_do_not_fit_are_refused():
    sample = Signals(np.arange(3), np.ones(3), NONE, NONE)
    none = Signals(np.arange(0), NONE, NONE, NONE)
    with refused(DataError):
        label_free(sample, np.ones(2, dtype=np.bool_), sample)
    with refused(DataError):
        label_free(sample, np.ones(3, dtype=np.bool_), none)
    with refused(DataError):
        Signals(np.arange(3), np.ones(2), NONE, NONE)
    with refused(DataError):
        Signals(np.arange(3), NONE, np.array([0, np.nan, 1]), NONE)
