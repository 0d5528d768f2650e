"""Repeated measures and mixed models against statsmodels' AnovaRM, R's print-outs and tables by chance."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.regression.mixed_linear_model import MixedLM
from statsmodels.stats.anova import AnovaRM

from benchmarks.anova_level import Setting, rejected, told_apart
from farm.statistics.anova import anova
from farm.statistics.anova_result import Anova
from farm.statistics.differences import level_differences
from farm.statistics.table import Undefined
from tests.wording import same_text

# R's `ToothGrowth` (Crampton 1947), by supplement and dose, in the order of its file.
TEETH = {
    ("VC", 0.5): [4.2, 11.5, 7.3, 5.8, 6.4, 10.0, 11.2, 11.2, 5.2, 7.0],
    ("VC", 1.0): [16.5, 16.5, 15.2, 17.3, 22.5, 17.3, 13.6, 14.5, 18.8, 15.5],
    ("VC", 2.0): [23.6, 18.5, 33.9, 25.5, 26.4, 32.5, 26.7, 21.5, 23.3, 29.5],
    ("OJ", 0.5): [15.2, 21.5, 17.6, 9.7, 14.5, 10.0, 8.2, 9.4, 16.5, 9.7],
    ("OJ", 1.0): [19.7, 23.3, 23.6, 26.4, 20.0, 25.2, 25.8, 21.2, 14.5, 27.3],
    ("OJ", 2.0): [25.5, 26.4, 22.4, 24.5, 24.8, 30.9, 26.4, 27.3, 29.4, 23.0],
}
# `reacttime` of R's help on mauchly.test (Maxwell and Delaney): ten people, three angles, twice.
REACTION = [
    [420, 420, 480, 480, 600, 780], [420, 480, 480, 360, 480, 600], [480, 480, 540, 660, 780, 780],
    [420, 540, 540, 480, 780, 900], [540, 660, 540, 480, 660, 720], [360, 420, 360, 360, 480, 540],
    [480, 480, 600, 540, 720, 840], [480, 600, 660, 540, 720, 900], [540, 600, 540, 480, 720, 780],
    [480, 420, 540, 540, 660, 780],
]  # fmt: skip


def teeth() -> pd.DataFrame:
    rows = [(*levels, run, value) for levels, values in TEETH.items() for run, value in enumerate(values)]
    return pd.DataFrame(rows, columns=["supp", "dose", "run", "value"])


def drawn(shape, n, seed) -> pd.DataFrame:
    """Draw values of every combination in each of `n` runs; runs change what a factor does."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(1, *shape)) + rng.normal(size=(n, *shape))
    for i in range(len(shape)):
        values += rng.normal(size=(n, *(k if i == j else 1 for j, k in enumerate(shape))))
    rows = [(*at[1:], f"r{at[0]}", values[at]) for at in product(*(range(k) for k in (n, *shape)))]
    return pd.DataFrame(rows, columns=[*(f"f{i}" for i in range(len(shape))), "run", "value"])


def analysed(table, factors, **options) -> Anova:
    found = anova(table, "value", factors, blocks="run", **options)
    assert isinstance(found, Anova), found
    return found


def reaction(wide=False) -> Anova:
    rows = [(i % 3, i // 3, n, float(row[i])) for n, row in enumerate(REACTION) for i in range(6)]
    table = pd.DataFrame(rows, columns=["angle", "noise", "run", "value"])
    table["both"] = table["noise"].astype(str) + table["angle"].astype(str)
    return analysed(table, ["both"] if wide else ["angle", "noise"])


def test_tooth_growth_taken_as_pairs():
    independent = anova(teeth(), "value", ["supp", "dose"])
    assert independent.effects[2].p == pytest.approx(0.02186, abs=1e-5)  # as R's aov prints it
    found = analysed(teeth(), ["supp", "dose"])
    assert found.effects[2].p == pytest.approx(0.107, abs=5e-4)
    assert not found.effects[2].shows
    same_text(found.sentences)


@settings(max_examples=15)
@given(st.lists(st.integers(2, 4), min_size=1, max_size=3), st.integers(2, 6), st.integers(0, 10**6))
def test_every_effect_is_that_of_statsmodels(shape, n, seed):
    table, factors = drawn(shape, n, seed), [f"f{i}" for i in range(len(shape))]
    reference = AnovaRM(table, "value", "run", within=factors).fit().anova_table
    found = analysed(table.sample(frac=1, random_state=0), factors, interactions="all")
    for effect in found.effects:
        row = reference.loc[":".join(effect.factors)]
        assert (effect.df, effect.error_df) == (row["Num DF"], row["Den DF"])
        assert (effect.f, effect.p) == pytest.approx((row["F Value"], row["Pr > F"]), rel=1e-6, abs=1e-12)
        assert effect.f == pytest.approx(effect.sum_of_squares / effect.df / (effect.error / effect.error_df))
        assert 1 / effect.df - 1e-9 <= effect.epsilon <= 1
    total = ((table["value"] - table["value"].mean()) ** 2).sum()
    between = ((table.groupby("run")["value"].transform("mean") - table["value"].mean()) ** 2).sum()
    assert sum(e.sum_of_squares + e.error for e in found.effects) + between == pytest.approx(total)
    assert found.effects[0].eta_squared == pytest.approx(found.effects[0].sum_of_squares / total)


def test_sphericity_as_r_prints_it():
    found = {effect.name: effect for effect in reaction().effects}
    # mauchly.test and anova(..., test = "Spherical") of R's own example.
    printed = {"angle": (0.9601, 0.8497, 0.9616), "angle x noise": (0.89378, 0.6381, 0.9040)}
    for name, (w, p, epsilon) in printed.items():
        check = found[name].sphericity
        assert (check.statistic.value, check.p.value) == pytest.approx((w, p), abs=6e-5)
        assert found[name].epsilon == pytest.approx(epsilon, abs=6e-5)
    assert found["noise"].sphericity is None
    assert (found["noise"].epsilon, found["noise"].p_corrected) == (1, pytest.approx(found["noise"].p))
    (both,) = reaction(wide=True).effects
    check = both.sphericity
    assert check.statistic.value == pytest.approx(0.031084, abs=6e-7)
    # Five contrasts ask for the second order: without it p is 0.038. The reference: draws of spherical data.
    spread = [np.cov(one, rowvar=False) for one in np.random.default_rng(0).normal(size=(20_000, 10, 5))]
    w = np.linalg.det(spread) / (np.trace(spread, axis1=1, axis2=2) / 5) ** 5
    assert check.p.value == pytest.approx((w <= check.statistic.value).mean(), abs=0.004)
    assert check.doubted


def test_few_blocks_leave_sphericity_untested():
    found = analysed(drawn((5,), 3, 0), ["f0"])
    assert 1 / 4 <= found.effects[0].epsilon <= 2 / 4
    same_text(found.effects[0].sphericity.sentence)


def test_two_levels_are_compared_as_pairs():
    table = drawn((2, 3), 7, 1)
    found = analysed(table, ["f0", "f1"])
    means = table.groupby(["run", "f0"])["value"].mean().unstack()
    reference = stats.ttest_rel(means[0], means[1])
    assert found.effects[0].p == pytest.approx(reference.pvalue)
    (pair,) = level_differences(found, "f0").pairs
    ends = reference.confidence_interval(0.95)
    assert pair.p == pytest.approx(reference.pvalue, abs=1e-7)
    assert sorted(map(abs, (pair.low, pair.high))) == pytest.approx(sorted(map(abs, ends)), abs=1e-6)


@pytest.mark.parametrize("gap", [False, True])
def test_levels_inside_blocks_are_compared_by_paired_t(gap):
    table = drawn((4, 2), 6, 2)
    if gap:
        table = table[(table["run"] != "r0") | (table["f0"] != 1)]
    found = level_differences(analysed(table, ["f0", "f1"]), "f0", 0.9)
    means = table.groupby(["run", "f0"])["value"].mean().unstack()
    assert len(found.pairs) == 6
    for pair in found.pairs:
        both = means[[int(pair.first), int(pair.second)]].dropna()
        reference = stats.ttest_rel(both[int(pair.first)], both[int(pair.second)])
        ends = reference.confidence_interval(1 - 0.1 / 6)
        assert pair.p == pytest.approx(min(6 * reference.pvalue, 1))
        assert (pair.low, pair.high) == pytest.approx((ends.low, ends.high))
        assert pair.differ == (pair.p < 0.1) == (pair.low > 0 or pair.high < 0)
    assert any(pair.differ for pair in found.pairs)
    same_text(found.notes)


def test_a_pair_without_an_error_has_no_p():
    table = drawn((3,), 4, 0)
    copied = table[table["f0"] == 0].assign(f0=3, value=lambda rows: rows["value"] + 0.25)
    # Level 4 is where level 1 is not: no run has both.
    other = table[(table["f0"] == 1) & (table["run"] < "r2")].assign(f0=4)
    here = pd.concat([table[(table["f0"] != 1) | (table["run"] >= "r2")], copied, other])
    found = level_differences(analysed(here, ["f0"]), "f0")
    unknown = {frozenset((p.first, p.second)): p.difference for p in found.pairs if p.p is None}
    assert unknown == {frozenset("03"): pytest.approx(0.25), frozenset("14"): None}
    letter = dict(zip(found.levels, found.letters, strict=True))
    assert set(letter["0"]) & set(letter["3"])
    assert set(letter["1"]) & set(letter["4"])
    same_text(found.notes)


def test_two_blocks_are_said_to_be_too_few():
    table = drawn((4,), 2, 0)
    found = analysed(table, ["f0"])
    assert not found.effects[0].enough
    assert analysed(drawn((4,), 3, 0), ["f0"]).effects[0].enough
    same_text((found.effects[0].sentence, *level_differences(found, "f0").notes))
    # What shows in spite of it is said as ever.
    table["value"] += 1e4 * table["f0"]
    found = analysed(table, ["f0"])
    assert found.effects[0].shows
    same_text((found.effects[0].sentence, *level_differences(found, "f0").notes))


def test_rows_of_a_block_that_are_alike_count_once():
    table = drawn((3, 4), 5, 3)
    means = table.groupby(["f0", "run"], as_index=False)["value"].mean()
    one, other = analysed(table, ["f0"]), analysed(means, ["f0"])
    assert one.effects[0].p == pytest.approx(other.effects[0].p)
    assert (one.blocks.averaged, one.n) == ((4, 4), 15)


def test_a_mixed_model_of_a_full_design_is_that_of_repeated_measures():
    # A third factor that splits runs makes it mixed; within each half nothing is missing.
    table = drawn((3, 2), 12, 5)
    table["half"] = table["run"].map(lambda run: int(run[1:]) % 2)
    table["value"] += table["run"].map(lambda run: 3 * np.sin(int(run[1:])))
    found = analysed(table, ["half", "f0"])
    assert found.blocks.analysis == "mixed model"
    # A split plot by hand: the half beside runs, f0 and the interaction beside runs x f0.
    means = table.groupby(["half", "run", "f0"])["value"].mean().unstack()
    whole = stats.f_oneway(means.loc[0].mean(axis=1), means.loc[1].mean(axis=1))
    deviations = means.sub(means.mean(axis=1), axis=0)
    error = (deviations - deviations.groupby("half").transform("mean")).to_numpy()
    squares = 12 * ((deviations.mean() - deviations.mean().mean()) ** 2).sum()
    half, f0, both = found.effects
    assert (half.df, half.error_df, f0.df, f0.error_df, both.error_df) == (1, 10, 2, 20, 20)
    assert half.f == pytest.approx(whole.statistic, rel=1e-3)
    assert f0.f == pytest.approx(squares / 2 / ((error**2).sum() / 20), rel=1e-3)
    same_text(found.blocks.sentence)
    # Only what changes inside a run can be paired.
    methods = [level_differences(found, factor).method for factor in ("half", "f0")]
    assert methods == ["Tukey's HSD", "paired t, Bonferroni"]


def test_a_gap_leaves_a_mixed_model_close_to_the_full_table():
    table = drawn((3, 4), 10, 8)
    full, gap = analysed(table, ["f0", "f1"]), analysed(table.drop(0), ["f0", "f1"])
    assert (full.blocks.analysis, gap.blocks.analysis) == ("repeated measures", "mixed model")
    for one, other in zip(full.effects, gap.effects, strict=True):
        assert other.f == pytest.approx(one.f, rel=0.25)
        assert abs(one.error_df - other.error_df) <= 1
    assert [*gap.blocks.variances] == [
        "between runs", "between runs in the f0", "between runs in the f1", "left over"
    ]  # fmt: skip
    assert gap.blocks.variances["between runs in the f0"] > 0.1
    assert level_differences(gap, "f0").means == pytest.approx(level_differences(full, "f0").means, abs=0.2)


def test_variances_are_those_of_statsmodels():
    table = drawn((3, 4), 12, 8).drop([0, 17])
    found = analysed(table, ["f0", "f1"]).blocks.variances
    random = {
        "between runs": "1",
        "between runs in the f0": "0 + C(f0)",
        "between runs in the f1": "0 + C(f1)",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns on its way
        model = MixedLM.from_formula("value ~ C(f0) * C(f1)", table, groups="run", vc_formula=random)
        fit = model.fit(method=["lbfgs", "bfgs"])
    names = [*model.exog_vc.names, "left over"]
    assert found == pytest.approx(dict(zip(names, [*fit.vcomp, fit.scale], strict=True)), abs=0.01)


def test_what_a_design_cannot_tell_is_said():
    table = drawn((2, 3), 4, 0)
    for of in (
        table[table["run"] == "r0"],
        table.assign(run=table["f0"].astype(str)),
        table.assign(value=table["f0"] * 1.0 + table["f1"] ** 2),
    ):
        found = anova(of, "value", ["f0", "f1"], blocks="run")
        assert isinstance(found, Undefined)
        same_text(found.reason)


def test_runs_of_one_value_each_are_independent():
    table = drawn((3,), 4, 0).assign(run=range(12))
    found = analysed(table, ["f0"])
    assert found.effects[0].p == pytest.approx(anova(table, "value", ["f0"]).effects[0].p)
    same_text(found.blocks.sentence)


def test_effects_that_are_none_are_found_in_one_of_twenty_tables():
    # Three monitors, ten faults; what a run does to a monitor is as large as what is left over.
    of = Setting(runs=6, missing=0.0)
    assert rejected(of, "independent", tables=40) > 0.3
    assert 0.02 <= rejected(of, "blocks", tables=200) <= 0.08


def test_levels_that_are_alike_are_told_apart_in_one_of_twenty_tables():
    # One of six monitors varies twenty times as much as the others: one error for all pairs misleads.
    of = Setting(runs=5, missing=0.0, monitors=6, faults=3, spread=20.0)
    assert told_apart(of, "pooled", tables=200) > 0.12
    assert told_apart(of, "paired", tables=200) <= 0.08
