import itertools
import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scikit_posthocs
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from farm.errors import ParameterError
from farm.statistics.corrections import holm, shaffer
from farm.statistics.groups import groups_of
from farm.statistics.ranks import compare_ranks, critical_difference, critical_q, friedman, set_ranks
from farm.statistics.table import FullTable
from farm.statistics.wilcoxon import EXACT_UP_TO, settled, signed_rank, signed_rank_pairs
from tests.statistics.references import holm_by_statsmodels
from tests.wording import refused, same_text

# Demsar (2006), Table 6: AUC of four variants of C4.5 on 14 data sets. The paper ranks C4.5+cf before
# C4.5+m+cf on the 13th, where both print as 0.975; 0.9751 restores the order that its ranks come from.
C45 = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")
AUC = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)

# Few distinct values, so that most tie; and values that hardly ever do.
TIED = st.integers(0, 3).map(lambda x: x / 10)
FREE = st.integers(-(10**6), 10**6).map(lambda x: x / 10**6)


def tables(min_sets=2, max_sets=12, min_monitors=2, max_monitors=6):
    def rows(shape):
        n, k = shape
        cell = st.sampled_from([TIED, FREE])
        return cell.flatmap(
            lambda c: st.lists(st.lists(c, min_size=k, max_size=k), min_size=n, max_size=n)
        ).map(np.array)

    shapes = st.tuples(st.integers(min_sets, max_sets), st.integers(min_monitors, max_monitors))
    return shapes.flatmap(rows)


def full(values, names=None, **options):
    n, k = values.shape
    names = names or tuple(f"m{j}" for j in range(k))
    return FullTable(
        "auc", tuple(f"s{i}" for i in range(n)), names, tuple(map(tuple, values.tolist())), **options
    )


def chi_squared_of(f, n, k):
    """Give Friedman's chi-squared, corrected for ties, that Iman and Davenport's F is made of."""
    return n * (k - 1) * f / (n - 1 + f)


class TestDemsar:
    """The worked examples of "Statistical comparisons of classifiers over multiple data sets" (2006)."""

    def test_mean_ranks(self):
        result = compare_ranks(full(AUC, C45))
        assert result.monitors == ("C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5")
        assert result.mean_ranks == pytest.approx((1.964, 2.000, 2.893, 3.143), abs=5e-4)

    def test_friedman_and_iman_davenport(self):
        """The paper gives 9.28 without the correction for ties, and F(3, 39) = 3.69 from that."""
        ranks = set_ranks(AUC)
        result = friedman(ranks)
        correction = ((ranks - 2.5) ** 2).sum() / (14 * 4 * (4 * 4 - 1) / 12)
        uncorrected = chi_squared_of(result.statistic.value, *ranks.shape) * correction
        assert uncorrected == pytest.approx(9.28, abs=0.01)
        assert (14 - 1) * uncorrected / (14 * 3 - uncorrected) == pytest.approx(3.69, abs=0.01)
        assert result.degrees_of_freedom == (3, 39)
        # F's critical value at 0.05 is 2.85 there: with either chi-squared, the classifiers differ.
        assert result.statistic.value > 3.69 > 2.85
        assert compare_ranks(full(AUC, C45)).any_differ

    def test_nemenyi(self):
        """CD is 1.25 at alpha 0.05, where nothing differs by so much, and 1.12 at 0.10, where two do."""
        at_5, at_10 = compare_ranks(full(AUC, C45)), compare_ranks(full(AUC, C45), alpha=0.10)
        assert at_5.critical_difference == pytest.approx(1.25, abs=0.005)
        assert at_10.critical_difference == pytest.approx(1.12, abs=0.005)
        assert at_5.groups == (("C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"),)
        assert at_10.groups == (("C4.5+m+cf", "C4.5+m", "C4.5+cf"), ("C4.5+cf", "C4.5"))

    @pytest.mark.parametrize(
        ("alpha", "published"),
        [
            (0.05, (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164)),
            (0.10, (1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920)),
        ],
    )
    def test_critical_values_for_two_to_ten(self, alpha, published):
        """Table 5 of the paper."""
        found = [critical_q(k, alpha) for k in range(2, 11)]
        assert found == pytest.approx(published, abs=1e-3)

    def test_signed_rank_of_two(self):
        """Table 2 of the paper: R+ = 93 and R- = 12, each with half of the two zeros' ranks, 1.5."""
        sums, n_equal, p, exact = signed_rank(AUC[:, 1], AUC[:, 0])
        assert (sums[0] + 1.5, sums[1] + 1.5, n_equal, exact) == (93, 12, 2, True)
        assert p < 0.05


class TestFriedman:
    @given(tables(min_monitors=3))
    def test_agrees_with_scipy(self, values):
        result, (n, k) = friedman(set_ranks(values)), values.shape
        if not result.p.defined:
            assert (values == values[:, :1]).all()
            return
        reference = stats.friedmanchisquare(*values.T).statistic
        if not result.statistic.defined:
            assert reference == pytest.approx(n * (k - 1))
            return
        assert result.statistic.value >= 0
        assert chi_squared_of(result.statistic.value, n, k) == pytest.approx(reference, abs=1e-9)
        assert result.chi_squared.value == pytest.approx(reference, abs=1e-9)
        assert result.chi_squared_p.value == pytest.approx(
            stats.friedmanchisquare(*values.T).pvalue, abs=1e-9
        )
        assert result.degrees_of_freedom == (k - 1, (k - 1) * (n - 1))
        f = (n - 1) * reference / (n * (k - 1) - reference)
        assert result.p.value == pytest.approx(stats.f.sf(f, *result.degrees_of_freedom), abs=1e-9)

    def test_all_tied_is_undefined(self):
        result = friedman(set_ranks(np.ones((5, 3))))
        assert result.statistic.reason == result.p.reason == "all 3 monitors tie on each of the 5 sets"

    def test_the_same_ranks_everywhere_have_no_f_but_the_chance_to_agree(self):
        """Of the 6 orders of three monitors, four sets hit the first one's with a chance of 6 ** -3."""
        result = friedman(set_ranks(np.tile([0.1, 0.2, 0.3], (4, 1))))
        assert "F is infinite" in result.statistic.reason
        assert result.p.value == pytest.approx(6**-3)
        assert result.chi_squared.value == pytest.approx(4 * 2)
        with_a_tie = friedman(set_ranks(np.tile([0.1, 0.2, 0.2], (4, 1))))
        assert with_a_tie.p.value == pytest.approx(3**-3)


class TestRanks:
    @given(tables(), st.booleans())
    def test_agree_with_pandas(self, values, higher_is_better):
        expected = pd.DataFrame(values).rank(axis=1, method="average", ascending=not higher_is_better)
        assert set_ranks(values, higher_is_better).tolist() == expected.to_numpy().tolist()

    @given(tables())
    def test_direction_is_all_that_a_sign_changes(self, values):
        assert (set_ranks(values, True) == set_ranks(-values, False)).all()

    def test_values_that_differ_by_rounding_alone_tie(self):
        assert set_ranks(np.array([[0.1 + 0.2, 0.3], [0.0, 1.0]]))[0].tolist() == [1.5, 1.5]

    def test_zero_has_no_digits_to_settle(self):
        assert settled(np.zeros(2), 0.0).tolist() == [0, 0]


class TestNemenyi:
    @given(tables(min_sets=3), st.sampled_from([0.01, 0.05, 0.2]))
    def test_a_distance_above_the_critical_one_is_a_p_of_scikit_posthocs_below_alpha(self, values, alpha):
        result = compare_ranks(full(values), alpha)
        # It ranks in the one direction only, and a reflection of all ranks leaves their distances.
        reference = scikit_posthocs.posthoc_nemenyi_friedman(values).to_numpy()
        order = [int(name[1:]) for name in result.monitors]
        ranks = np.array(result.mean_ranks)
        distances = np.abs(ranks[:, None] - ranks[None, :])
        clear = np.abs(distances - result.critical_difference) > 1e-6
        p = reference[np.ix_(order, order)]
        assert ((p < alpha) == (distances > result.critical_difference))[clear].all()

    @given(tables(min_sets=3))
    def test_p_of_each_pair_agrees_with_scikit_posthocs(self, values):
        result = compare_ranks(full(values))
        reference = scikit_posthocs.posthoc_nemenyi_friedman(values).to_numpy()
        for a, b in itertools.combinations(range(values.shape[1]), 2):
            assert result.nemenyi_p(f"m{a}", f"m{b}") == pytest.approx(reference[a, b], abs=1e-9)
            assert result.nemenyi_p(f"m{b}", f"m{a}") == result.nemenyi_p(f"m{a}", f"m{b}")

    def test_q_is_the_normal_quantile_for_two(self):
        assert critical_q(2, 0.03) == pytest.approx(stats.norm.isf(0.015))

    def test_four_times_the_sets_halve_the_critical_difference(self):
        assert critical_difference(5, 80) == pytest.approx(critical_difference(5, 20) / 2)

    @pytest.mark.parametrize("alpha", [0, 1, -0.05, math.nan])
    def test_alpha_is_checked(self, alpha):
        with refused(ParameterError):
            compare_ranks(full(AUC, C45), alpha)


class TestSignedRank:
    @given(st.permutations(list(range(1, 13))), st.lists(st.booleans(), min_size=12, max_size=12))
    def test_agrees_with_scipy_without_ties(self, sizes, signs):
        differences = np.array(sizes) * np.where(signs, 1.0, -1.0)
        _, _, p, exact = signed_rank(differences, np.zeros(12))
        assert exact
        assert p == pytest.approx(stats.wilcoxon(differences, method="exact").pvalue, abs=1e-12)

    @pytest.mark.parametrize("seed", range(8))
    def test_agrees_with_all_signs_tried_where_some_tie_or_are_zero(self, seed):
        """scipy's permutation test goes through all 2 ** 9 signs."""
        differences = np.random.default_rng(seed).integers(-3, 4, 9).astype(float)
        _, n_equal, p, _ = signed_rank(differences, np.zeros(9))
        assert n_equal == (differences == 0).sum()
        for zeros in ("pratt", "zsplit"):
            method = stats.PermutationMethod(n_resamples=10_000)
            reference = stats.wilcoxon(differences, zero_method=zeros, method=method)
            assert p == pytest.approx(reference.pvalue, abs=1e-9)

    def test_normal_beyond_the_exact(self):
        differences = np.random.default_rng(0).normal(0.2, 1, EXACT_UP_TO + 1).round(1)
        _, _, p, exact = signed_rank(differences, np.zeros(len(differences)))
        assert not exact
        reference = stats.wilcoxon(differences, zero_method="pratt", correction=True, method="asymptotic")
        assert p == pytest.approx(reference.pvalue)
        _, _, exact_p, _ = signed_rank(differences[:-1], np.zeros(EXACT_UP_TO))
        assert exact_p == pytest.approx(
            stats.wilcoxon(
                differences[:-1], zero_method="pratt", correction=True, method="asymptotic"
            ).pvalue,
            abs=2e-3,
        )

    @pytest.mark.parametrize("n", [1, 5, EXACT_UP_TO + 1])
    def test_no_difference_anywhere_is_no_evidence(self, n):
        assert signed_rank(np.full(n, 0.3), np.full(n, 0.3)) == ((0.0, 0.0), n, 1.0, True)

    @given(tables(min_monitors=2, max_monitors=2))
    def test_swapping_the_two_swaps_the_sums_alone(self, values):
        sums, n_equal, p, _ = signed_rank(values[:, 0], values[:, 1])
        swapped = signed_rank(values[:, 1], values[:, 0])
        assert swapped[:2] == (sums[::-1], n_equal)
        assert swapped[2] == pytest.approx(p, rel=1e-14)
        assert 0 < p <= 1

    def test_differences_that_differ_by_rounding_alone_tie(self):
        sums, *_ = signed_rank(np.array([0.3, 0.2, 0.5]), np.array([0.2, 0.3, 0.1]))
        assert sums == (4.5, 1.5)

    def test_first_is_the_better_one_in_either_direction(self):
        values = np.array([[0.9, 0.1]] * 6)
        (higher,), (lower,) = (signed_rank_pairs(full(values, higher_is_better=up)) for up in (True, False))
        assert (higher.first_sum, higher.second_sum) == (21, 0) == (lower.second_sum, lower.first_sum)

    def test_pairs_carry_their_correction(self):
        pairs = signed_rank_pairs(full(AUC, C45))
        assert [(each.first, each.second) for each in pairs[:2]] == [("C4.5", "C4.5+m"), ("C4.5", "C4.5+cf")]
        assert len(pairs) == 6
        assert [each.p_holm for each in pairs] == pytest.approx(holm([each.p for each in pairs]))
        assert [each.p_shaffer for each in pairs] == pytest.approx(shaffer([each.p for each in pairs], 4))


class TestGroups:
    @given(st.integers(1, 8).flatmap(lambda k: st.lists(st.booleans(), min_size=k * k, max_size=k * k)))
    def test_are_all_the_largest_ones(self, bits):
        k = math.isqrt(len(bits))
        upper = np.triu(np.array(bits).reshape(k, k), 1)
        apart = upper | upper.T
        subsets = [[i for i in range(k) if code >> i & 1] for code in range(1, 2**k)]
        fine = [set(s) for s in subsets if not any(apart[i, j] for i in s for j in s)]
        largest = {tuple(sorted(s)) for s in fine if not any(s < other for other in fine)}
        found = groups_of(apart)
        assert set(found) == largest
        assert list(found) == sorted(found)

    def test_many_alike_are_one_group_at_once(self):
        assert groups_of(np.zeros((60, 60), dtype=bool)) == (tuple(range(60)),)


class TestComparison:
    @given(tables(min_sets=3, min_monitors=3), st.randoms(use_true_random=False))
    def test_the_order_of_sets_and_monitors_does_not_matter(self, values, random):
        n, k = values.shape
        sets, monitors = list(range(n)), list(range(k))
        random.shuffle(sets)
        random.shuffle(monitors)
        one = compare_ranks(full(values))
        other = compare_ranks(full(values[np.ix_(sets, monitors)], tuple(f"m{j}" for j in monitors)))
        assert dict(zip(one.monitors, one.mean_ranks, strict=True)) == pytest.approx(
            dict(zip(other.monitors, other.mean_ranks, strict=True))
        )
        assert {frozenset(group) for group in one.groups} == {frozenset(group) for group in other.groups}
        for a in one.wilcoxon:
            assert other.pair(a.second, a.first).p == pytest.approx(a.p)

    @given(tables())
    def test_mean_ranks_rise_and_average_to_the_middle(self, values):
        ranks = compare_ranks(full(values)).mean_ranks
        assert list(ranks) == sorted(ranks)
        assert np.mean(ranks) == pytest.approx((len(ranks) + 1) / 2)

    def test_lower_is_better(self):
        result = compare_ranks(full(AUC, C45, higher_is_better=False))
        assert result.monitors[0] == "C4.5"
        assert result.mean_ranks == pytest.approx((5 - 3.143, 5 - 2.893, 3.000, 5 - 1.964), abs=5e-4)

    def test_nothing_is_told_apart_where_friedman_finds_nothing(self):
        """Nemenyi alone would tell the first from the last here."""
        values = np.random.default_rng(16).normal(size=(12, 12))
        values[:, 0] += 0.5
        result = compare_ranks(full(values))
        assert result.mean_ranks[-1] - result.mean_ranks[0] > result.critical_difference
        assert not result.any_differ
        assert len(result.groups) == 1
        same_text(result.tests[0])
        assert "not asked" in result.tests[1]

    def test_where_too_few_sets_tell_any_pair_apart_no_test_does(self):
        """Each of three sets gives the same ranks: by themselves Friedman and Nemenyi would tell."""
        values = np.tile([0.1, 0.2, 0.3], (7, 1)) + np.linspace(0, 0.05, 7)[:, None] * np.arange(3)
        few, enough = (compare_ranks(full(values[:n])) for n in (3, 7))
        assert few.friedman.p.value < 0.05
        assert few.nemenyi_p("m0", "m2") < 0.05
        assert not few.any_differ
        assert few.groups == (("m2", "m1", "m0"),)
        same_text("\n".join(few.tests))
        assert enough.too_few is None
        assert enough.any_differ
        assert len(enough.groups) == 2

    def test_friedman_is_too_rough_over_three_sets_of_three(self):
        """All 6 ** 3 tables of orders, each as likely where the monitors are alike."""
        orders = list(itertools.permutations([1.0, 2.0, 3.0]))
        p = [friedman(np.array(ranks)).p.value for ranks in itertools.product(orders, repeat=3)]
        assert np.mean(np.array(p) < 0.05) == pytest.approx(0.194, abs=5e-4)

    def test_says_which_test_found_what_and_what_n_counts(self):
        result = compare_ranks(full(AUC, C45, a_set_is="one data set"))
        same_text(result.counted)
        first, second, third = result.tests
        same_text(first)
        same_text(second)
        same_text(third)

    def test_pairs_are_told_apart_by_the_corrected_p_alone(self):
        """Of four monitors on nine sets: p by scipy, corrected by statsmodels."""
        values = np.random.default_rng(4).normal([0.0, 0.45, 0.9, 1.4], 0.7, (9, 4))
        result, names = compare_ranks(full(values)), ("m0", "m1", "m2", "m3")
        pairs = list(itertools.combinations(names, 2))
        raw = [stats.wilcoxon(values[:, int(a[1])], values[:, int(b[1])]).pvalue for a, b in pairs]
        corrected = holm_by_statsmodels(raw)
        assert [each.p_holm for each in result.wilcoxon] == pytest.approx(corrected, abs=1e-12)
        apart = {frozenset(pair) for pair, p in zip(pairs, corrected, strict=True) if p < 0.05}
        assert 0 < len(apart) < sum(p < 0.05 for p in raw), "the correction matters"
        assert f"{len(apart)} of 6 pairs differ" in result.tests[2]

    def test_beside_a_control_its_pairs_alone_are_tested(self):
        values = np.random.default_rng(4).normal([0.0, 0.45, 0.9, 1.4], 0.7, (9, 4))
        result = compare_ranks(full(values), control="m2")
        others = ["m0", "m1", "m3"]
        raw = [stats.wilcoxon(values[:, int(m[1])], values[:, 2]).pvalue for m in others]
        assert [(each.first, each.second) for each in result.wilcoxon] == [("m2", m) for m in others]
        corrected = holm_by_statsmodels(raw)
        assert [each.p_holm for each in result.wilcoxon] == pytest.approx(corrected, abs=1e-12)
        assert {each.p_shaffer for each in result.wilcoxon} == {None}
        told = sum(p < 0.05 for p in corrected)
        assert f"{told} of 3 pairs with m2 differ" in result.tests[2]
        assert result.mean_ranks == compare_ranks(full(values)).mean_ranks
        for m in others:
            assert result.favours(m, "m2") == (m == "m3") != result.favours("m2", m)

    @pytest.mark.parametrize(("k", "needed"), [(2, 6), (4, 7), (9, 9)])
    def test_beside_a_control_fewer_sets_are_enough(self, k, needed):
        """Two times one half to the power of the sets, for each of the others."""
        values = np.linspace(0.1, 0.2, needed)[:, None] - np.arange(k)
        for n in (needed - 1, needed):
            result = compare_ranks(full(values[:n]), control="m0")
            smallest = min(each.p_holm for each in result.wilcoxon)
            assert smallest == result.floor == pytest.approx((k - 1) * 2 * 0.5**n)
            assert (result.floor < 0.05) == (n >= needed)
            assert result.sets_needed == needed

    def test_p_that_is_alpha_itself_tells_nothing_apart(self):
        """Five sets, on all of which one is better: p is 2 / 2 ** 5."""
        values = np.array([[0.0, 1.0 + i] for i in range(5)])
        at, above = (compare_ranks(full(values), alpha) for alpha in (2 / 32, 2 / 32 + 1e-9))
        assert at.wilcoxon[0].p == 2 / 32
        assert "0 of 1 pairs differ" in at.tests[2]
        assert "1 of 1 pairs differ" in above.tests[2]

    def test_groups_stop_at_the_critical_difference(self):
        values = np.random.default_rng(0).normal([3.0, 2.9, 0.0], size=(30, 3))
        first, second = compare_ranks(full(values, ("good", "alike", "bad"))).groups
        assert (set(first), second) == ({"good", "alike"}, ("bad",))

    def test_all_equal_is_said(self):
        result = compare_ranks(full(np.ones((4, 3))))
        assert not result.any_differ
        assert result.groups == (("m0", "m1", "m2"),)
        same_text(result.tests[0])

    def test_numbers_are_pythons_own(self):
        result = compare_ranks(full(AUC, C45))
        numbers = [*result.mean_ranks, result.critical_difference, result.friedman.p.value]
        numbers += [result.wilcoxon[0].p, result.wilcoxon[0].first_sum, result.wilcoxon[0].p_holm]
        assert {type(x) for x in numbers} == {float}


def test_ranks_need_neither_a_plot_nor_a_model():
    code = "import sys, farm.statistics.ranks, farm.statistics.bayes; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"matplotlib", "scikit_posthocs", "statsmodels", "sklearn", "torch"} & set(loaded)
