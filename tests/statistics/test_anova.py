"""Analysis of variance against published tables, sums of squares by hand, and data that allow none."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from farm.errors import ParameterError
from farm.statistics.anova import anova
from farm.statistics.anova_result import Anova, homogeneity, normality, repetition
from farm.statistics.table import Undefined
from tests.wording import refused, same_text

# R's `warpbreaks` (Tippett 1950): breaks of yarn by wool and tension.
WARPBREAKS = {
    ("A", "L"): [26, 30, 54, 25, 70, 52, 51, 26, 67],
    ("A", "M"): [18, 21, 29, 17, 12, 18, 35, 30, 36],
    ("A", "H"): [36, 21, 24, 18, 10, 43, 28, 15, 26],
    ("B", "L"): [27, 14, 29, 19, 29, 31, 41, 20, 44],
    ("B", "M"): [42, 26, 19, 16, 39, 28, 21, 39, 29],
    ("B", "H"): [20, 21, 24, 17, 13, 15, 15, 16, 28],
}
# Montgomery, Design and Analysis of Experiments, the bottling example: fill height by carbonation,
# pressure and speed.
BOTTLING = {
    (10, 25, 200): [-3, -1], (10, 25, 250): [-1, 0], (10, 30, 200): [-1, 0], (10, 30, 250): [1, 1],
    (12, 25, 200): [0, 1], (12, 25, 250): [2, 1], (12, 30, 200): [2, 3], (12, 30, 250): [6, 5],
    (14, 25, 200): [5, 4], (14, 25, 250): [7, 6], (14, 30, 200): [7, 9], (14, 30, 250): [10, 11],
}  # fmt: skip
# The kidney data of statsmodels' own tests (test_anova.py): days in hospital by duration and weight gain.
KIDNEY = {
    (1, 1): [0, 2, 1, 3, 0, 2, 0, 5, 6, 8],
    (1, 2): [2, 4, 7, 12, 15, 4, 3, 1, 5, 20],
    (1, 3): [15, 10, 8, 5, 25, 16, 7, 30, 3, 27],
    (2, 1): [0, 1, 1, 0, 4, 2, 7, 4, 0, 3],
    (2, 2): [5, 3, 2, 0, 1, 1, 3, 6, 7, 9],
    (2, 3): [10, 8, 12, 3, 7, 15, 4, 9, 6, 1],
}


def table_of(cells, factors) -> pd.DataFrame:
    rows = [(*levels, value) for levels, values in cells.items() for value in values]
    return pd.DataFrame(rows, columns=[*factors, "value"])


def analysed(table, factors, **arguments) -> Anova:
    found = anova(table, "value", factors, **arguments)
    assert isinstance(found, Anova), found
    return found


def reason(table, factors, **arguments) -> str:
    found = anova(table, "value", factors, **arguments)
    assert isinstance(found, Undefined)
    return found.reason


def balanced(shape, repeats, seed) -> pd.DataFrame:
    """Give random values with effects of every factor, `repeats` in each cell."""
    rng = np.random.default_rng(seed)
    effects = rng.normal(size=shape)
    cells = {at: rng.normal(effects[at], 0.5, repeats).tolist() for at in product(*(range(n) for n in shape))}
    return table_of(cells, [f"f{i}" for i in range(len(shape))])


def sums_by_hand(table, factors, orders) -> dict[tuple[str, ...], float]:
    """Give the sums of squares of a balanced design: those of marginal means, less their parts'."""
    values, grand = table["value"], table["value"].mean()
    effects: dict[tuple[str, ...], pd.Series] = {}
    for order in orders:
        for term in combinations(factors, order):
            effect = values.groupby([table[f] for f in term]).transform("mean") - grand
            for part, taken in effects.items():
                if set(part) < set(term):
                    effect = effect - taken
            effects[term] = effect
    return {term: float((effect**2).sum()) for term, effect in effects.items()}


def test_bottling_as_montgomery_prints_it():
    found = analysed(
        table_of(BOTTLING, ["carbonation", "pressure", "speed"]),
        ["carbonation", "pressure", "speed"],
        interactions="all",
    )
    printed = {
        "carbonation": (252.750, 2, 178.412),
        "pressure": (45.375, 1, 64.059),
        "speed": (22.042, 1, 31.118),
        "carbonation x pressure": (5.250, 2, 3.706),
        "carbonation x speed": (0.583, 2, 0.412),
        "pressure x speed": (1.042, 1, 1.471),
        "carbonation x pressure x speed": (1.083, 2, 0.765),
    }
    assert [effect.name for effect in found.effects] == list(printed)
    for effect in found.effects:
        got = (effect.sum_of_squares, effect.df, effect.f)
        assert got == pytest.approx(printed[effect.name], abs=6e-4)
    assert (found.effects[0].error, found.effects[0].error_df) == (pytest.approx(8.5), 12)
    assert 1 - sum(e.eta_squared for e in found.effects) == pytest.approx(1 - 0.974749, abs=1e-6)
    assert found.effects[0].sum_of_squares / found.effects[0].eta_squared == pytest.approx(336.625)


def test_warpbreaks_as_r_prints_it():
    found = analysed(table_of(WARPBREAKS, ["wool", "tension"]), ["wool", "tension"])
    printed = [  # summary(aov(breaks ~ wool * tension, warpbreaks))
        (450.7, 1, 3.765, 0.058213),
        (2034.3, 2, 8.498, 0.000693),
        (1002.8, 2, 4.189, 0.021044),
    ]
    for effect, row in zip(found.effects, printed, strict=True):
        assert effect.sum_of_squares == pytest.approx(row[0], abs=0.06)
        assert effect.df == row[1]
        assert effect.f == pytest.approx(row[2], abs=6e-4)
        assert effect.p == pytest.approx(row[3], abs=6e-7)
    assert found.effects[0].error_df == 48
    assert found.effects[0].error == pytest.approx(5745.1, abs=0.06)


def test_unbalanced_kidney_data_as_rs_car_prints_them():
    table = table_of(KIDNEY, ["duration", "weight"]).assign(value=lambda t: np.log(t["value"] + 1))
    found = analysed(table.drop([0, 1, 2]), ["duration", "weight"])  # Anova(lm, type = "II")
    assert [e.sum_of_squares for e in found.effects] == pytest.approx(
        [3.067066, 13.27205, 0.1905093], abs=1e-5
    )
    assert [e.f for e in found.effects] == pytest.approx([5.667033, 12.26141, 0.1760025], abs=1e-5)
    assert [e.p for e in found.effects] == pytest.approx([0.02106078, 4.487909e-05, 0.8391231], abs=1e-7)
    assert (found.effects[0].error_df, found.balanced) == (51, False)
    assert found.effects[0].error == pytest.approx(27.60181, abs=1e-5)


def test_degrees_of_freedom_of_a_published_experiment_without_the_three_way_interaction():
    # Two classifiers x ten transformations x five levels x twenty runs: 1936 degrees of freedom are left.
    found = analysed(balanced((2, 10, 5), 20, seed=1), ["f0", "f1", "f2"])
    assert [effect.df for effect in found.effects] == [1, 9, 4, 9, 4, 36]
    assert (found.effects[0].error_df, found.n) == (1936, 2000)
    assert analysed(balanced((2, 7), 20, 0), ["f0", "f1"]).effects[0].error_df == 266


@given(
    st.lists(st.integers(2, 4), min_size=1, max_size=3),
    st.integers(2, 4),
    st.sampled_from(["none", "two-way", "all"]),
    st.integers(0, 10**6),
)
def test_sums_of_squares_by_hand(shape, repeats, interactions, seed):
    table = balanced(shape, repeats, seed)
    factors = [f"f{i}" for i in range(len(shape))]
    found = analysed(table, factors, interactions=interactions)
    order = {"none": 1, "two-way": 2, "all": 3}[interactions]
    by_hand = sums_by_hand(table, factors, range(1, order + 1))
    assert {e.factors: e.sum_of_squares for e in found.effects} == pytest.approx(by_hand)
    total = float(((table["value"] - table["value"].mean()) ** 2).sum())
    assert found.effects[0].error == pytest.approx(total - sum(by_hand.values()))
    # Balanced: the shares add up, and those of each effect lie where they must.
    shares = sum(e.eta_squared for e in found.effects) + found.effects[0].error / total
    assert shares == pytest.approx(1)
    for e in found.effects:
        mean_square = e.sum_of_squares / e.df
        assert e.f == pytest.approx(mean_square / (found.effects[0].error / found.effects[0].error_df))
        assert e.p == pytest.approx(stats.f.sf(e.f, e.df, found.effects[0].error_df))
        assert e.omega_squared <= e.eta_squared <= e.partial_eta_squared + 1e-12 <= 1 + 1e-9
        assert e.partial_eta_squared == pytest.approx(e.f * e.df / (e.f * e.df + e.error_df))


@given(st.lists(st.integers(2, 6), min_size=2, max_size=5), st.integers(0, 10**6))
def test_one_factor_is_scipys_one_way_test(sizes, seed):
    rng = np.random.default_rng(seed)
    groups = [rng.normal(i, 1, n) for i, n in enumerate(sizes)]
    table = table_of({(f"m{i}",): group.tolist() for i, group in enumerate(groups)}, ["monitor"])
    (effect,) = analysed(table, ["monitor"]).effects
    reference = stats.f_oneway(*groups)
    assert (effect.f, effect.p) == pytest.approx((reference.statistic, reference.pvalue))
    # Omega squared in the other form in which textbooks give it, by F alone.
    gain = effect.df * (effect.f - 1)
    assert effect.omega_squared == pytest.approx(gain / (gain + sum(sizes)))


@given(st.integers(0, 10**6), st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_neither_order_nor_units_nor_names_matter(seed, shift, scale):
    table = balanced((2, 3), 3, seed).drop([0, 5, 6])  # unbalanced
    plain = analysed(table, ["f0", "f1"])
    other = table.sample(frac=1, random_state=seed % 1000)
    other = other.assign(value=other["value"] * scale + shift * scale, f0=other["f0"].map({0: "z", 1: "a"}))
    changed = analysed(other.rename(columns={"f0": "a b-c"}), ["a b-c", "f1"])
    for one, two in zip(plain.effects, changed.effects, strict=True):
        assert (two.f, two.p, two.eta_squared) == pytest.approx(
            (one.f, one.p, one.eta_squared), rel=1e-5, abs=1e-9
        )


def test_level_means_weigh_every_condition_alike():
    cells = {
        ("a", "x"): [1.0, 3.0],
        ("a", "y"): [10.0] * 3 + [14.0],
        ("b", "x"): [5.0, 6.0],
        ("b", "y"): [8.0, 9.0],
    }
    found = analysed(table_of(cells, ["m", "c"]), ["m", "c"])
    means = found.level_means["m"]
    # Cell means 2 and 11 for a, 5.5 and 8.5 for b; the plain mean of a's six runs would be 8.
    assert means.means == pytest.approx((6.5, 7.0))
    assert means.levels == ("a", "b")
    mean_square = found.effects[0].error / found.effects[0].error_df
    assert means.covariance[0][0] == pytest.approx(mean_square * (1 / 2 + 1 / 4) / 4)
    assert means.covariance[0][1] == pytest.approx(0, abs=1e-12)


def test_sentences():
    found = analysed(table_of(WARPBREAKS, ["wool", "tension"]), ["wool", "tension"])
    same_text([effect.sentence for effect in found.effects])
    same_text(found.sentences[3])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda t: t.assign(m="odin"), "the factor 'm' has one level only, 'odin'"),
        (lambda t: t.assign(value=0.9), "each of the 12 values of 'value' is 0.9"),
        (
            lambda t: t.assign(value=t["value"].where(t.index != 3)),
            "'value' is missing or infinite in 1 of 12 rows",
        ),
        (lambda t: t.assign(value=t["value"].where(t.index > 1, np.inf)), "infinite in 2 of 12 rows"),
        (lambda t: t.assign(c=t["c"].where(t.index != 3)), "'c' is missing in 1 of 12 rows"),
        (lambda t: t.iloc[:0], "there are no rows"),
        (
            lambda t: t[(t["m"] != "a") | (t["c"] != "x")],
            "1 of 4 combinations of m x c have no run, such as m 'a' and c 'x'; run them, or leave the",
        ),
        (
            lambda t: t.drop_duplicates(["m", "c"]),
            "4 values leave no degree of freedom for the error",
        ),
        (
            lambda t: t.assign(value=t.groupby(["m", "c"])["value"].transform("max")),
            "the levels fix every value",
        ),
    ],
)
def test_what_cannot_be_analysed_is_said(change, why):
    rng = np.random.default_rng(0)
    cells = {at: rng.normal(size=3).tolist() for at in product("ab", "xy")}
    assert why in reason(change(table_of(cells, ["m", "c"])), ["m", "c"])


def test_factors_that_change_together_cannot_be_told_apart():
    table = table_of({("a", "x"): [1.0, 2.0, 4.0], ("b", "y"): [3.0, 4.0, 6.0]}, ["m", "c"])
    same_text(reason(table, ["m", "c"], interactions="none"))


def test_one_run_a_cell_is_enough_where_an_interaction_is_left_out():
    found = analysed(balanced((3, 4), 1, 0), ["f0", "f1"], interactions="none")
    assert found.effects[0].error_df == 6
    same_text(found.homogeneity.sentence)


def test_empty_combinations_that_no_interaction_needs_leave_only_the_means_undefined():
    table = balanced((2, 2, 2), 3, 0)
    table = table[(table["f0"] != 0) | (table["f1"] != 0) | (table["f2"] != 0)]
    found = analysed(table, ["f0", "f1", "f2"])
    assert (found.smallest_cell, found.largest_cell) == (0, 3)
    same_text(found.level_means["f1"].reason)


def test_mistakes_are_refused():
    table = balanced((2, 2), 2, 0)
    with refused(ParameterError):
        anova(table, "value", ["f0", "f0"])
    with refused(ParameterError):
        anova(table, "value", [])
    with refused(ParameterError):
        anova(table, "value", ["f0"], alpha=5)
    with refused(ParameterError):
        anova(table, "value", ["f0"], interactions="twoway")


@given(st.integers(3, 60), st.integers(0, 10**6))
def test_normality_is_shapiro_and_wilks_test(n, seed):
    residuals = np.random.default_rng(seed).standard_t(3, n)
    check, reference = normality(residuals), stats.shapiro(residuals)
    assert (check.statistic.value, check.p.value) == pytest.approx(
        (reference.statistic, reference.pvalue), rel=1e-14
    )
    assert check.doubted == (reference.pvalue < 0.05)


def test_normality_is_told_for_no_more_residuals_than_the_test_is_known_for():
    check = normality(np.random.default_rng(0).normal(size=5001))
    same_text(check.sentence)
    assert check.doubted is None


def test_the_residuals_are_those_of_the_model():
    table = table_of(WARPBREAKS, ["wool", "tension"])
    cell_means = table.groupby(["wool", "tension"])["value"].transform("mean")
    reference = stats.shapiro(table["value"] - cell_means)
    found = analysed(table, ["wool", "tension"])
    assert found.normality.p.value == pytest.approx(reference.pvalue)
    spread = stats.levene(*WARPBREAKS.values(), center="median")
    assert found.homogeneity.p.value == pytest.approx(spread.pvalue)
    assert found.homogeneity.statistic.value == pytest.approx(spread.statistic)


@given(st.integers(0, 10**6))
def test_homogeneity_is_an_anova_of_the_deviations_from_each_median(seed):
    rng = np.random.default_rng(seed)
    cell = np.repeat(np.arange(4), rng.integers(3, 8, 4))
    values = rng.normal(size=len(cell)) * (1 + cell)
    median = pd.Series(values).groupby(cell).transform("median")
    deviations = np.abs(values - median)
    reference = stats.f_oneway(*(deviations[cell == i] for i in range(4)))
    check = homogeneity(values, cell)
    assert (check.statistic.value, check.p.value) == pytest.approx((reference.statistic, reference.pvalue))


@pytest.mark.parametrize(
    ("values", "cell", "why"),
    [
        ([1.0, 2.0, 3.0], [0, 0, 0], "there are 1 cells; at least 2 are needed"),
        ([1.0, 2.0, 3.0, 4.0, 5.0], [0, 0, 1, 1, 1], "the smallest cell has 2 runs; at least 3 are needed"),
        ([1.0] * 3 + [2.0] * 3, [0, 0, 0, 1, 1, 1], "within each cell all runs deviate equally"),
    ],
)
def test_a_spread_that_cannot_be_compared_is_said(values, cell, why):
    check = homogeneity(np.array(values), np.array(cell))
    assert why in check.sentence
    assert np.isnan(check.p.value)


def test_copies_of_runs_are_found_by_their_values():
    # Twenty runs entered a hundred times each: the degrees of freedom are not 1980.
    rng = np.random.default_rng(0)
    runs = pd.DataFrame({"m": ["a", "b"] * 10, "value": rng.normal(size=20)})
    found = analysed(pd.concat([runs] * 100, ignore_index=True), ["m"])
    same_text(found.warnings)
    assert analysed(runs, ["m"]).warnings == ()
    assert found.sentences[-1] == found.warnings[0]


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([0.1, 0.2, 0.3])), min_size=1, max_size=12))
def test_repetition_counts_what_is_more_than_distinct(rows):
    cell, values = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    again = len(rows) - len(set(rows))
    found = repetition(values, cell)
    assert (found[0].split()[0] == str(again)) if again else (found == ())


def test_needs_neither_torch_nor_scikit_learn():
    code = "import sys, farm.statistics.anova; print({'torch', 'sklearn'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# Means of combinations ---------------------------------------------------------------------------------


def test_of_an_interaction_the_means_are_those_of_cells():
    table = table_of(WARPBREAKS, ["wool", "tension"])
    found = analysed(table, ["wool", "tension"])
    of = found.level_means["wool x tension"]
    assert list(found.level_means) == ["wool", "tension", "wool x tension"]
    cells = table.groupby(["wool", "tension"])["value"].mean()
    assert of.levels == tuple(", ".join(at) for at in cells.index)
    assert of.means == pytest.approx(cells.to_list())
    # With all interactions each cell has a mean of its own: independent, with the variance of 9 runs' mean.
    error = found.effects[0].error / found.effects[0].error_df
    assert np.array(of.covariance) == pytest.approx(np.eye(6) * error / 9, abs=1e-9)
    assert of.error_df == found.effects[0].error_df == 48


def test_of_three_factors_combinations_are_averaged_over_the_third():
    table = table_of(BOTTLING, ["carbonation", "pressure", "speed"])
    found = analysed(table, ["carbonation", "pressure", "speed"])
    assert set(found.level_means) == {
        *("carbonation", "pressure", "speed"),
        *("carbonation x pressure", "carbonation x speed", "pressure x speed"),
    }
    for one, other in combinations(["carbonation", "pressure", "speed"], 2):
        of = found.level_means[f"{one} x {other}"]
        cells = table.groupby([one, other])["value"].mean()
        assert of.levels == tuple(f"{a}, {b}" for a, b in cells.index)
        assert of.means == pytest.approx(cells.to_list())


def test_means_of_combinations_have_the_errors_of_a_prediction():
    """Where a cell has fewer runs its mean is less sure: statsmodels' own standard errors of predictions."""
    from statsmodels.formula.api import ols

    table = table_of({**KIDNEY, (1, 1): KIDNEY[1, 1][:3], (2, 3): KIDNEY[2, 3][:5]}, ["days", "gain"])
    of = analysed(table, ["days", "gain"]).level_means["days x gain"]
    fit = ols("value ~ C(days) * C(gain)", table).fit()
    cells = table[["days", "gain"]].drop_duplicates().sort_values(["days", "gain"])
    predicted = fit.get_prediction(cells)
    assert of.means == pytest.approx(predicted.predicted_mean.tolist())
    assert np.sqrt(np.diag(of.covariance)) == pytest.approx(predicted.se_mean.tolist())


def test_with_blocks_there_are_means_of_factors_alone():
    table = balanced((2, 3), 4, seed=1)
    table["run"] = table.groupby([column for column in table if column != "value"]).cumcount()
    factors = [column for column in table if column not in ("value", "run")]
    assert set(analysed(table, factors, blocks="run").level_means) == set(factors)
