import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farm.statistics import bayes
from farm.statistics.bayes import DRAWS, practical, practical_probabilities
from farm.statistics.table import FullTable

# Whole steps, so that many pairs of differences lie on the very edge of the region of equivalence.
DIFFERENCES = st.lists(st.integers(-6, 6).map(float), min_size=1, max_size=8).map(np.array)
ROPES = st.sampled_from([0.0, 0.5, 1.0, 2.0])


def probabilities(differences, rope, seed=0, **options):
    zeros = np.zeros(len(differences))
    return practical_probabilities(
        np.asarray(differences, float), zeros, rope, np.random.default_rng(seed), **options
    )


def brute_force(differences, rope, seed, draws, prior_strength):
    """The definition of Benavoli et al. (2017), one draw and one pair of differences at a time."""
    random = np.random.default_rng(seed)
    seen = [*differences, 0.0]
    wins = [0.0, 0.0, 0.0]
    for _ in range(draws):
        weights = random.dirichlet([1.0] * len(differences) + [prior_strength])
        shares = [0.0, 0.0, 0.0]
        for i, one in enumerate(seen):
            for j, other in enumerate(seen):
                mean = (one + other) / 2
                shares[0 if mean > rope else 2 if mean < -rope else 1] += weights[i] * weights[j]
        greatest = [abs(share - max(shares)) < 1e-12 for share in shares]
        for place, is_greatest in enumerate(greatest):
            wins[place] += is_greatest / sum(greatest)
    return [each / draws for each in wins]


@settings(deadline=None, max_examples=40)
@given(DIFFERENCES, ROPES, st.sampled_from([0.5, 1.0, 3.0]))
def test_agrees_with_the_definition_written_out(differences, rope, strength):
    found = probabilities(differences, rope, draws=60, prior_strength=strength)
    assert found == pytest.approx(brute_force(differences, rope, 0, 60, strength), abs=1e-12)


@given(DIFFERENCES, ROPES)
def test_swapping_the_two_swaps_the_probabilities(differences, rope):
    better, equivalent, worse = probabilities(differences, rope, draws=500)
    assert probabilities(-differences, rope, draws=500) == pytest.approx(
        (worse, equivalent, better), abs=1e-12
    )


@given(DIFFERENCES, ROPES)
def test_add_up_to_one(differences, rope):
    found = probabilities(differences, rope, draws=500)
    assert sum(found) == pytest.approx(1)
    assert all(0 <= p <= 1 for p in found)


class TestOneDifference:
    """With one difference, the pseudo-observation's weight w has the density s * w ** (s - 1)."""

    @pytest.mark.parametrize("strength", [0.5, 1.0, 2.0])
    def test_far_outside_the_region(self, strength):
        """Equivalent are only both-pseudo pairs, w squared: better wins where w < root of one half."""
        better, equivalent, worse = probabilities([5.0], 1.0, draws=200_000, prior_strength=strength)
        assert better == pytest.approx(0.5 ** (strength / 2), abs=0.005)
        assert (better + equivalent, worse) == pytest.approx((1, 0))

    def test_outside_the_region_though_not_on_average_with_no_difference(self):
        """Better is only the pair of the difference with itself, (1 - w) squared."""
        better, _, worse = probabilities([1.5], 1.0, draws=200_000)
        assert better == pytest.approx((1 - math.sqrt(0.5)) ** 0.5, abs=0.005)
        assert worse == 0


class Given:
    """Draws weights that are given, those of the differences first."""

    def __init__(self, *weights):
        self.weights = weights

    def dirichlet(self, strengths, size):
        return np.tile(self.weights, (size, 1))


@pytest.mark.parametrize(
    ("differences", "rope", "weights", "expected"),
    [
        # Equal weights of 1, -1 and no difference: three of the nine pairs for each.
        ([1, -1], 0.0, (1 / 3, 1 / 3, 1 / 3), (1 / 3, 1 / 3, 1 / 3)),
        # Only a pair of two differences of 2 is above 1, and its weight is a half.
        ([2], 1.0, (math.sqrt(0.5), 1 - math.sqrt(0.5)), (0.5, 0.5, 0)),
        ([-2], 1.0, (math.sqrt(0.5), 1 - math.sqrt(0.5)), (0, 0.5, 0.5)),
        # Where no sign has more than 0.45 * 0.45, and what is between them the rest.
        ([2, -2], 1.0, (0.45, 0.45, 0.1), (0, 1, 0)),
        # Of sixteen pairs four come to 0, and six are on either side.
        ([2, -2, 5, -5], 0.0, (0.25, 0.25, 0.25, 0.25, 0), (0.5, 0, 0.5)),
    ],
)
def test_shares_that_tie_divide_the_draw(differences, rope, weights, expected):
    zeros = np.zeros(len(differences))
    found = practical_probabilities(np.array(differences, float), zeros, rope, Given(*weights), draws=10)
    assert found == pytest.approx(expected)


def test_a_mean_on_the_edge_is_still_equivalent():
    assert probabilities([0.1, 0.1], 0.1) == (0, 1, 0)
    assert practical_probabilities(
        np.array([0.3, 0.3]), np.array([0.29, 0.29]), 0.01, np.random.default_rng(0)
    ) == (0, 1, 0)


def test_everything_is_equivalent_within_a_huge_region():
    assert probabilities(np.random.default_rng(0).normal(size=20), 100.0) == (0, 1, 0)


def test_a_clear_and_steady_difference_is_certain():
    assert probabilities(np.full(50, 0.2), 0.01) == pytest.approx((1, 0, 0), abs=1e-3)


def test_no_difference_without_a_region_is_no_difference():
    assert probabilities(np.zeros(5), 0.0) == (0, 1, 0)


def test_more_sets_make_surer():
    few, many = (probabilities(np.tile([0.3, -0.1, 0.2], n), 0.05)[0] for n in (2, 20))
    assert few < many


def test_a_stronger_prior_draws_towards_no_difference():
    weak, strong = (probabilities([0.2] * 5, 0.1, prior_strength=s)[1] for s in (0.5, 10.0))
    assert weak < strong


def test_a_strong_symmetry_is_half_and_half():
    better, _, worse = probabilities([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0], 0.0, draws=200_000)
    assert better == pytest.approx(worse, abs=0.005)


def test_chunks_change_nothing(monkeypatch):
    differences = np.random.default_rng(1).normal(size=7)
    whole = probabilities(differences, 0.1, draws=1000)
    monkeypatch.setattr(bayes, "CHUNK", 50)
    assert probabilities(differences, 0.1, draws=1000) == pytest.approx(whole, abs=1e-12)


class TestPairs:
    VALUES = np.random.default_rng(3).normal([0.6, 0.55, 0.5], 0.1, (12, 3))

    def table(self, order=(0, 1, 2), **options):
        names = tuple(("odin", "oob", "knn")[i] for i in order)
        values = tuple(map(tuple, self.VALUES[:, list(order)].tolist()))
        return FullTable("mcc", tuple(f"s{i}" for i in range(12)), names, values, **options)

    def test_one_with_each_other(self):
        found = list(practical(self.table(), "oob", 0.02, 7))
        assert [each.other for each in found] == ["odin", "knn"]
        assert all(type(each.better) is float for each in found)

    def test_the_same_seed_gives_the_same_numbers_and_another_nearly_so(self):
        one, again, other = (list(practical(self.table(), "odin", 0.02, seed)) for seed in (7, 7, 8))
        assert one == again
        assert one != other
        for a, b in zip(one, other, strict=True):
            assert a.better == pytest.approx(b.better, abs=10 * 0.5 / math.sqrt(DRAWS))

    def test_neither_the_order_nor_the_company_changes_a_pair(self):
        first = next(practical(self.table(), "odin", 0.02, 7))
        swapped = next(practical(self.table(order=(1, 0)), "oob", 0.02, 7))
        assert (first.other, swapped.other) == ("oob", "odin")
        assert (swapped.better, swapped.equivalent, swapped.worse) == pytest.approx(
            (first.worse, first.equivalent, first.better), abs=1e-12
        )

    def test_direction(self):
        up, down = (next(practical(self.table(higher_is_better=h), "odin", 0.02, 7)) for h in (True, False))
        assert (up.better, up.worse) == pytest.approx((down.worse, down.better), abs=1e-12)
