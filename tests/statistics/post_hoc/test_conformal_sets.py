"""Conformal sets: by hand, by their definitions, by the law of ranks, class by class, and under a shift."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax
from scipy.stats import binom

from farm.api import uniform_by_id
from farm.errors import DataError, ParameterError
from farm.statistics.post_hoc.conformal_sets import ConformalSets, mean_size, size_counts
from tests.statistics.post_hoc.made import as_json, classified
from tests.wording import refused, same_text

KINDS = ("least-ambiguous", "adaptive")


def made(seed, n=40, classes=4):
    random = np.random.default_rng(seed)
    return softmax(3 * random.normal(size=(n, classes)), axis=1), random.integers(0, classes, n)


class TestByHand:
    """Four validation instances, of which a coverage of 0.6 takes the third: ceil(0.6 * 5)."""

    validation = np.array([[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]])
    labels = np.array([0, 1, 1, 0])
    new = np.array([[0.35, 0.4, 0.25], [0.05, 0.9, 0.05], [0.28, 0.29, 0.43]])

    def test_least_ambiguous(self):
        """Labels have 0.7, 0.3, 0.6 and 0.2: what is as likely as 0.3 is in."""
        fitted = ConformalSets.fit(self.validation, self.labels, 0.6)
        assert fitted.apply(self.new).tolist() == [
            [True, True, False],
            [False, True, False],
            [False, False, True],
        ]
        assert fitted.thresholds[0].score == pytest.approx(0.7)

    def test_adaptive(self):
        """Above the labels are 0, 0.5, 0 and, the tie going by the order of classes, 0.6: up to 0.5 is in."""
        fitted = ConformalSets.fit(self.validation, self.labels, 0.6, kind="adaptive")
        assert fitted.thresholds[0].score == pytest.approx(0.5)
        assert fitted.apply(self.new).tolist() == [
            [True, True, False],
            [False, True, False],
            [False, True, True],
        ]

    def test_adaptive_and_drawn(self):
        """To what is above comes a share of their own: 0.35, 0.8, 0.06 and 0.7."""
        draws = np.array([0.5, 1.0, 0.1, 0.5])
        fitted = ConformalSets.fit(self.validation, self.labels, 0.6, kind="adaptive", draws=draws)
        assert fitted.thresholds[0].score == pytest.approx(0.7)
        found = fitted.apply(self.new, np.array([1.0, 0.0, 0.5])).tolist()
        assert found == [[False, True, False], [False, True, False], [False, True, True]]

    def test_each_class(self):
        """Class 0 has 0.7 and 0.2, class 1 0.3 and 0.6: of two, the second for a half; class 2 has none."""
        fitted = ConformalSets.fit(self.validation, self.labels, 0.5, each_class=True)
        assert [each.score for each in fitted.thresholds] == pytest.approx([0.8, 0.7, np.inf])
        assert fitted.apply(self.new).tolist() == [
            [True, True, True],
            [False, True, True],
            [True, False, True],
        ]
        same_text(each.why_all for each in fitted.thresholds)


@given(st.integers(0, 10**6), st.integers(1, 40), st.sampled_from([0.3, 0.5, 0.8, 0.95]))
def test_by_their_definitions(seed, n, coverage):
    (probabilities, labels), (new, _) = made(seed, n), made(seed + 1, 20)
    fitted = [ConformalSets.fit(probabilities, labels, coverage, kind=kind) for kind in KINDS]
    rank = int(np.ceil((n + 1) * coverage - 1e-9))
    rows = np.arange(n)
    own = np.append(np.sort(probabilities[rows, labels])[::-1], 0)[min(rank, n + 1) - 1]
    np.testing.assert_array_equal(fitted[0].apply(new), new >= own)
    above = np.sort([p[p > p[label]].sum() for p, label in zip(probabilities, labels, strict=True)])
    most = np.append(above, np.inf)[min(rank, n + 1) - 1]
    expected = [[p[p > each].sum() <= most + 1e-12 for each in p] for p in new]
    np.testing.assert_array_equal(fitted[1].apply(new), expected)
    assert fitted[1].apply(new)[np.arange(20), new.argmax(axis=1)].all()
    assert size_counts(fitted[0].apply(new)).tolist() == [
        sum(row.sum() == size for row in new >= own) for size in range(5)
    ]
    assert mean_size(fitted[0].apply(new)).value == pytest.approx((new >= own).sum() / 20)


@given(st.integers(0, 10**6), st.sampled_from(KINDS))
def test_a_higher_coverage_takes_nothing_out(seed, kind):
    (probabilities, labels), (new, _) = made(seed), made(seed + 1)
    few, many = (ConformalSets.fit(probabilities, labels, each, kind=kind).apply(new) for each in (0.6, 0.8))
    assert (few <= many).all()


@pytest.mark.parametrize(
    ("kind", "drawn"), [("least-ambiguous", False), ("adaptive", False), ("adaptive", True)]
)
def test_on_data_of_its_kind_the_coverage_lies_where_it_is_expected(kind, drawn):
    """In 400 draws of 60 and of 100. An interval of 95 % fails in at most 33, but for one time in 1,000."""
    random, outside, short, covered = np.random.default_rng(3), 0, 0, []
    for _ in range(400):
        (p, labels), (new, right) = classified(random, 60), classified(random, 100)
        draws = (random.random(60), random.random(100)) if drawn else (None, None)
        fitted = ConformalSets.fit(p, labels, 0.9, kind=kind, draws=draws[0])
        found = fitted.coverage(fitted.apply(new, draws[1]), right)
        low, high = (each.value for each in found.expected)
        covered.append(found.had.value.value)
        outside += not low <= covered[-1] <= high
        short += found.falls_short
    assert outside <= binom.ppf(0.999, 400, 0.05)
    assert short <= binom.ppf(0.999, 400, 0.025)
    error = np.std(covered) / 20
    if kind == "adaptive" and not drawn:
        assert np.mean(covered) > 0.9  # the likeliest class is always in
    else:
        assert np.mean(covered) == pytest.approx(55 / 61, abs=3 * error)


def with_a_hard_class(random, n):
    """Of class 3 one in ten is kept, and it is mistaken for class 0."""
    p, labels = classified(random, n)
    of = labels == 3
    p[of] = 0.95 * p[of][:, [3, 1, 2, 0]] + 0.05 * p[of]
    rows = ~of | (random.random(n) < 0.1)
    return p[rows], labels[rows]


def test_a_rare_and_hard_class_has_the_coverage_only_where_each_class_is_to_have_it():
    """In 100 draws, of four classes and all of them."""
    random, outside, short = np.random.default_rng(4), np.zeros(5, dtype=int), 0
    for _ in range(100):
        (p, labels), (new, right) = with_a_hard_class(random, 1200), with_a_hard_class(random, 2000)
        together = ConformalSets.fit(p, labels, 0.9)
        each = ConformalSets.fit(p, labels, 0.9, each_class=True)
        short += together.coverage(together.apply(new)[right == 3], right[right == 3]).falls_short
        for label in range(5):
            of = (right == label) | (label == 4)
            found = each.coverage(each.apply(new)[of], right[of])
            low, high = (end.value for end in found.expected)
            outside[label] += not low <= found.had.value.value <= high
    assert (outside <= binom.ppf(0.9995, 100, 0.05)).all()
    assert short == 100


@pytest.mark.parametrize("kind", KINDS)
def test_under_a_shift_the_coverage_falls_short_and_says_so(kind):
    random = np.random.default_rng(5)
    fitted = ConformalSets.fit(*classified(random, 1000), 0.95, kind=kind)
    same, shifted = classified(random, 1000), classified(random, 1000, noise=2.0)
    found = [fitted.coverage(fitted.apply(p), labels) for p, labels in (same, shifted)]
    assert [each.falls_short for each in found] == [False, True]
    assert found[1].had.high.value < 0.93


def test_of_too_few_validation_instances_sets_hold_all_classes():
    probabilities, labels = made(0, n=18)
    for kind in KINDS:
        fitted = ConformalSets.fit(probabilities, labels, 0.95, kind=kind)
        assert fitted.apply(made(1)[0]).all()
        assert fitted.coverage(fitted.apply(probabilities), labels).had.value.value == 1
    record = as_json(fitted.record())
    assert record["thresholds"][0]["threshold"] is None
    same_text(record["thresholds"][0]["why_all"])


def test_tracks_are_as_many_as_count():
    probabilities, labels = made(0, n=60)
    track = np.arange(60) // 3
    fitted = ConformalSets.fit(probabilities, labels, 0.9, track=track)
    assert (fitted.thresholds[0].n, fitted.thresholds[0].unit) == (20, "track")
    of_class = ConformalSets.fit(probabilities, labels, 0.5, track=track, each_class=True)
    assert [each.n for each in of_class.thresholds] == [len(set(track[labels == own])) for own in range(4)]
    with_tracks = fitted.coverage(fitted.apply(probabilities), labels, track=track)
    alone = fitted.coverage(fitted.apply(probabilities), labels)
    assert with_tracks.expected[0].value < alone.expected[0].value


def test_instances_without_a_right_answer_are_left_out():
    probabilities, labels = made(0, n=60)
    fitted = ConformalSets.fit(probabilities, labels, 0.8)
    some = np.where(np.arange(60) < 20, -1, labels)
    sets, track = fitted.apply(probabilities), np.arange(60) // 2
    assert fitted.coverage(sets, some, track=track) == fitted.coverage(
        sets[20:], labels[20:], track=track[20:]
    )
    found = fitted.coverage(sets, np.full(60, -1))
    assert not found.falls_short
    same_text(found.had.value.reason)
    same_text(fitted.coverage(sets[:0], labels[:0]).had.value.reason)


def test_draws_by_id_are_the_same_in_any_batch():
    probabilities, labels = made(0, n=60)
    ids = np.array([f"image {i}" for i in range(60)])
    draws = uniform_by_id(0, "conformal sets", ids)
    fitted = ConformalSets.fit(probabilities, labels, 0.8, kind="adaptive", draws=draws)
    parts = [
        fitted.apply(probabilities[rows], uniform_by_id(0, "conformal sets", ids[rows]))
        for rows in (slice(0, 7), slice(7, 60))
    ]
    np.testing.assert_array_equal(np.vstack(parts), fitted.apply(probabilities, draws))


def test_bad_input_is_refused():
    probabilities, labels = made(0, n=30)
    draws = np.full(30, 0.5)
    fit = ConformalSets.fit
    with refused(ParameterError):
        fit(probabilities, labels, 1.0)
    with refused(ParameterError):
        fit(probabilities, labels, 0.9, kind="smallest")
    for changed in (
        {"draws": draws},
        {"kind": "adaptive", "draws": draws[:5]},
        {"kind": "adaptive", "draws": draws + 1},
        {"track": np.arange(29)},
        {"track": np.arange(29), "each_class": True},
    ):
        with refused(DataError):
            fit(probabilities, labels, 0.9, **changed)
    for bad in ((probabilities * 2, labels), (probabilities, labels - 1), (probabilities[:0], labels[:0])):
        with refused(DataError):
            fit(*bad, 0.9)
    fitted = fit(probabilities, labels, 0.9)
    with refused(DataError):
        fitted.apply(probabilities[:, :3] / probabilities[:, :3].sum(axis=1, keepdims=True))
    with refused(DataError):
        fitted.apply(probabilities, draws)
    with refused(DataError):
        fitted.coverage(fitted.apply(probabilities), labels[:20])
    with refused(DataError):
        fitted.coverage(fitted.apply(probabilities), labels + 4)
    with refused(DataError):
        fitted.coverage(fitted.apply(probabilities), labels, track=labels[:20])


def test_of_no_sets_there_is_no_size():
    assert mean_size(np.empty((0, 3), dtype=bool)).reason == "no instances"
    assert size_counts(np.empty((0, 3), dtype=bool)).tolist() == [0, 0, 0, 0]


def test_its_record():
    record = as_json(ConformalSets.fit(*made(0, n=30), 0.8, each_class=True).record())
    assert (record["kind"], record["drawn"], record["n_classes"]) == ("least-ambiguous", False, 4)
    assert [each["n"] for each in record["thresholds"]] == np.bincount(made(0, n=30)[1]).tolist()
