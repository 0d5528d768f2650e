"""Corrections for several hypotheses, beside statsmodels, brute force and a published example."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchmarks.compare_error_rates import not_transitive, over_sets, shifted, skewed, uneven
from farm.statistics.corrections import holm, shaffer, true_pairs
from tests.statistics.references import holm_by_statsmodels

# Garcia and Herrera (2008): the mean ranks of five classifiers over 30 data sets, and what Shaffer's static
# procedure divides alpha by, from the smallest p to the largest.
RANKS = {"C4.5": 2.100, "1-NN": 3.250, "Naive Bayes": 2.200, "Kernel": 4.333, "CN2": 3.117}
DIVISORS = (10, 6, 6, 6, 6, 4, 4, 3, 2, 1)


class TestHolm:
    def test_by_hand(self):
        """Holm (1979): the smallest p times the number of tests, the next times one less, never falling."""
        assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
    def test_agrees_with_statsmodels(self, p_values):
        assert holm(p_values) == pytest.approx(holm_by_statsmodels(p_values), abs=1e-12)


class TestShaffer:
    def test_the_example_of_garcia_and_herrera(self):
        """The paper's p of all ten pairs, and what is left of them when all pairs are accounted for."""
        pairs = list(itertools.combinations(RANKS, 2))
        error = np.sqrt(5 * 6 / (6 * 30))
        p = [2 * stats.norm.sf(abs(RANKS[a] - RANKS[b]) / error) for a, b in pairs]
        order = np.argsort(p)
        assert [pairs[i] for i in order[:3]] == [
            ("C4.5", "Kernel"),
            ("Naive Bayes", "Kernel"),
            ("Kernel", "CN2"),
        ]
        in_order = np.array(p)[order]
        # To the digits of mean ranks with three decimals.
        assert in_order[:3] == pytest.approx([4.487e-8, 1.736e-7, 0.0029], rel=0.01)
        by_hand = np.minimum(np.maximum.accumulate(in_order * DIVISORS), 1)
        assert by_hand[:3] == pytest.approx([4.487e-7, 1.042e-6, 0.0173], rel=0.01)
        assert np.array(shaffer(p, 5))[order] == pytest.approx(by_hand)

    def test_how_many_pairs_can_be_equal_for_up_to_ten(self):
        """By brute force: sizes of groups of equal monitors, in all ways that ten or fewer can be split."""
        for k in range(1, 11):
            sizes = {
                s
                for n in range(1, k + 1)
                for s in itertools.combinations_with_replacement(range(1, k + 1), n)
            }
            counts = {sum(s * (s - 1) // 2 for s in split) for split in sizes if sum(split) == k}
            assert true_pairs(k) == tuple(sorted(counts))

    def test_how_many_pairs_can_be_equal_by_naming_all_worths(self):
        """Of five monitors, each of one of five worths."""
        pairs = list(itertools.combinations(range(5), 2))
        worths = itertools.product(range(5), repeat=5)
        assert true_pairs(5) == tuple(sorted({sum(w[a] == w[b] for a, b in pairs) for w in worths}))

    @given(st.integers(2, 8), st.randoms(use_true_random=False))
    def test_no_p_is_above_that_of_holm_or_below_its_own(self, k, random):
        p = [random.random() ** 4 for _ in range(k * (k - 1) // 2)]
        for own, by_shaffer, by_holm in zip(p, shaffer(p, k), holm(p), strict=True):
            assert own <= by_shaffer <= by_holm

    @given(st.lists(st.floats(0, 1), min_size=10, max_size=10))
    def test_a_p_is_the_least_alpha_at_which_the_procedure_rejects(self, p):
        """Step by step, as it is published: at each alpha, reject until one p is too large."""
        adjusted = np.array(shaffer(p, 5))
        order = np.argsort(p, kind="stable")
        for alpha in (0.01, 0.05, 0.3):
            rejected = set()
            for i, divisor in zip(order, DIVISORS, strict=True):
                if p[i] * divisor > alpha:
                    break
                rejected.add(int(i))
            assert rejected == set(np.flatnonzero(adjusted <= alpha).tolist())

    def test_two_monitors_need_no_correction(self):
        assert shaffer([0.04], 2) == [0.04]


class TestErrorRates:
    """How often two monitors of the same worth are told apart over sets; the benchmark counts far more."""

    @pytest.mark.parametrize("draw", [shifted, skewed, uneven])
    def test_monitors_that_differ_by_a_shift(self, draw):
        rates = over_sets(draw, (0, 0, 1, 1), 12, tables := 150)
        for wrong in rates.wrong:
            assert stats.binomtest(round(wrong * tables), tables, 0.05, alternative="greater").pvalue > 0.01
        by_holm, by_shaffer, beside_one = rates.found
        assert 0.1 < by_holm < by_shaffer < beside_one

    def test_shaffer_is_wrong_too_often_where_being_equal_is_not_transitive(self):
        """Which is why sentences are of Holm's correction."""
        by_holm, by_shaffer, _ = over_sets(not_transitive, (0, 0, 0), 60, 200, (True, False, True)).wrong
        assert stats.binomtest(round(by_holm * 200), 200, 0.05, alternative="greater").pvalue > 0.01
        assert stats.binomtest(round(by_shaffer * 200), 200, 0.05, alternative="greater").pvalue < 0.05
