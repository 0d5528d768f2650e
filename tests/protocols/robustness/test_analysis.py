"""Analyses of variance and what follows from them, against statsmodels, scipy and sums by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.multicomp import pairwise_tukeyhsd

from farm.protocols.robustness import analysis
from farm.protocols.robustness.analysis import (
    Analyses,
    classification,
    groups,
    ood,
    plain_against_transformed,
    tukey_between_classifiers,
)
from farm.protocols.robustness.results import Results
from farm.protocols.robustness.summary import pairs_and_none, worst_trainings
from farm.protocols.robustness.tables import variance
from farm.statistics.anova_result import Anova
from farm.statistics.table import Undefined
from tests.protocols.robustness.made_results import CLASSIFIERS, made_results, made_spec, small_spec


@pytest.fixture(scope="module")
def whole() -> Results:
    """Return what the source has: 2 classifiers, 10 transformations, 5 levels, 20 repetitions."""
    return made_results(fall={("MC-Dropout", "fog"): 0.02})


@pytest.fixture(scope="module")
def small() -> Results:
    return made_results(small_spec(), fall={("MC-Dropout", "fog"): 0.004})


def effects(found: Anova | Undefined) -> dict[str, Any]:
    assert isinstance(found, Anova), found
    return {effect.name: effect for effect in found.effects}


def reference(frame: pd.DataFrame, measure: str, factors: dict[str, str]) -> pd.DataFrame:
    """Return statsmodels' table with all interactions of two factors, type II."""
    names = {name: f"x{i}" for i, name in enumerate(factors)}
    table = frame.rename(columns={measure: "y"}).assign(
        **{names[name]: frame[column].astype(str) for name, column in factors.items()}
    )
    terms = [f"C({one})" for one in names.values()]
    terms += [f"C({one}):C({other})" for one, other in combinations(names.values(), 2)]
    found = anova_lm(ols(f"y ~ {' + '.join(terms)}", table).fit(), typ=2)
    called = {
        **{f"C({one})": name for name, one in names.items()},
        **{f"C({names[a]}):C({names[b]})": f"{a} x {b}" for a, b in combinations(names, 2)},
    }
    return found.rename(index=called)


def same(found: Anova | Undefined, expected: pd.DataFrame) -> None:
    ours = effects(found)
    assert set(ours) == set(expected.index) - {"Residual"}
    for name, effect in ours.items():
        row = expected.loc[name]
        numbers = effect.df, effect.error_df, effect.f, effect.p
        assert numbers == pytest.approx(
            (row["df"], expected.loc["Residual", "df"], row["F"], row["PR(>F)"]), rel=1e-6, abs=1e-12
        )


THREE = {"classifier": "classifier", "transformation": "transformation", "level": "level"}


@pytest.mark.parametrize("measure", ["accuracy", "auroc", "brier"])
def test_the_sources_tables_of_single_values_are_statsmodels(small: Results, measure: str) -> None:
    found = classification(small, measure)
    assert found.effects == [
        *("classifier", "transformation", "level"),
        *("classifier x transformation", "classifier x level", "transformation x level"),
    ]
    same(found.independent, reference(small.classification, measure, THREE))


def test_degrees_of_freedom_are_those_of_tables_2_to_4(whole: Results) -> None:
    found = effects(classification(whole, "accuracy").independent)
    assert {name: (one.df, one.error_df) for name, one in found.items()} == {
        "classifier": (1, 1936),
        "transformation": (9, 1936),
        "level": (4, 1936),
        "classifier x transformation": (9, 1936),
        "classifier x level": (4, 1936),
        "transformation x level": (36, 1936),
    }


@pytest.mark.parametrize(
    ("kind", "sets", "error_df"), [("standard", 7, 266), ("pair", 11, 418), ("gan", 6, 228)]
)
def test_degrees_of_freedom_are_those_of_tables_6_8_and_11(
    whole: Results, kind: str, sets: int, error_df: int
) -> None:
    found = ood(whole, kind)
    assert {name: (one.df, one.error_df) for name, one in effects(found.independent).items()} == {
        "classifier": (1, error_df),
        "OOD set": (sets - 1, error_df),
        "classifier x OOD set": (sets - 1, error_df),
    }
    frames = {"standard": whole.ood, "pair": lambda _: pairs_and_none(whole)}
    frame = worst_trainings(whole) if kind == "gan" else frames[kind](kind)
    same(found.independent, reference(frame, "auroc", {"classifier": "classifier", "OOD set": "group"}))


def test_degrees_of_freedom_are_those_of_table_1(whole: Results) -> None:
    found = effects(plain_against_transformed(whole, "accuracy").independent)
    assert {name: (one.df, one.error_df) for name, one in found.items()} == {
        "classifier": (1, 3996),
        "transformed": (1, 3996),
        "classifier x transformed": (1, 3996),
    }


def by_network(results: Results, measure: str, keys: list[str]) -> dict[str, pd.DataFrame]:
    """Return of each classifier the values with a row a network, and a column a condition."""
    frame = results.classification
    return {
        name: frame[frame["classifier"] == name].pivot(index="repetition", columns=keys, values=measure)
        for name in results.classifiers
    }


def test_with_networks_as_blocks_classifiers_are_compared_by_their_networks_means(whole: Results) -> None:
    """A split plot: classifiers are between networks, so that 40 means are compared, F(1, 38)."""
    found = effects(classification(whole, "accuracy").by_network)["classifier"]
    tables = by_network(whole, "accuracy", ["transformation", "level"])
    expected = stats.f_oneway(*(table.mean(axis=1) for table in tables.values()))
    assert (found.df, found.error_df) == (1, 38)
    # Variances are found step by step, down to a small change of the likelihood.
    assert (found.f, found.p) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-4)


@pytest.mark.parametrize("factor", ["transformation", "level"])
def test_with_networks_as_blocks_conditions_are_compared_within_networks(small: Results, factor: str) -> None:
    """By sums of squares: a factor beside what it does to networks of one classifier, interaction likewise.

    Each network has its own weakness for a transformation and a level, so that no variance is estimated as 0.
    """
    small = replace(small, frame=with_weaknesses(small.frame))
    found = effects(classification(small, "accuracy").by_network)
    frame = small.classification.groupby(["classifier", "repetition", factor])["accuracy"].mean()
    # classifier x network x level of the factor; the other factor's levels are averaged
    values = np.stack([frame[name].unstack().to_numpy() for name in small.classifiers])
    others = len(small.classification) / values.size
    g, n, k = values.shape
    grand, of_level = values.mean(), values.mean(axis=(0, 1))
    of_both, of_classifier = values.mean(axis=1), values.mean(axis=(1, 2))
    main = others * g * n * ((of_level - grand) ** 2).sum()
    crossed = of_both - of_classifier[:, None] - of_level + grand
    interaction = others * n * (crossed**2).sum()
    left = values - values.mean(axis=2, keepdims=True) - of_both[:, None] + of_classifier[:, None, None]
    error, error_df = others * (left**2).sum(), g * (n - 1) * (k - 1)
    for name, squares in ((factor, main), (f"classifier x {factor}", interaction)):
        f = squares / (k - 1) / (error / error_df)
        one = found[name]
        assert (one.df, one.error_df) == (k - 1, error_df)
        assert (one.f, one.p) == pytest.approx((f, stats.f.sf(f, k - 1, error_df)), rel=1e-4, abs=1e-12)
        assert one.p_corrected is None or one.p_corrected >= one.p - 1e-12


def with_weaknesses(frame: pd.DataFrame) -> pd.DataFrame:
    rng, frame = np.random.default_rng(5), frame.copy()
    for key in ("transformation", "level"):
        own = frame.groupby(["classifier", "repetition", key], dropna=False).ngroup()
        frame["accuracy"] += rng.normal(0, 0.02, own.max() + 1)[own]
    return frame


def test_plain_and_transformed_of_networks_are_paired(small: Results) -> None:
    """Of each network there are two values; the interaction with it is a t-test of their differences."""
    found = effects(plain_against_transformed(small, "accuracy").by_network)
    differences = []
    for name in small.classifiers:
        plain = small.plain[small.plain["classifier"] == name].set_index("repetition")["accuracy"]
        own = small.classification[small.classification["classifier"] == name]
        differences.append((own.groupby("repetition")["accuracy"].mean() - plain).to_numpy())
    expected = stats.ttest_ind(*differences)
    one = found["classifier x transformed"]
    assert (one.df, one.error_df) == (1, 18)
    assert (one.f, one.p) == pytest.approx((expected.statistic**2, expected.pvalue))


def test_networks_tell_no_difference_where_single_values_do() -> None:
    """Networks that differ much, and conditions that do not: the source takes 6 values for 6 networks."""
    results = made_results(small_spec(), seed=2, of_network=0.02, noise=0.001)
    found = classification(results, "accuracy")
    assert effects(found.independent)["classifier"].p < effects(found.by_network)["classifier"].p


# Tukey ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", ["level", "transformation"])
def test_tukeys_p_between_classifiers_is_the_studentized_range_of_all_combinations(
    small: Results, factor: str
) -> None:
    found = tukey_between_classifiers(classification(small, "accuracy"), factor)
    frame = small.classification
    residual = reference(frame, "accuracy", THREE).loc["Residual"]
    cells = frame.groupby(["classifier", factor])["accuracy"].agg(["mean", "size"])
    for level in frame[factor].unique():
        one, other = (cells.loc[name, level] for name in small.classifiers)
        error = np.sqrt(residual["sum_sq"] / residual["df"] / one["size"])
        q = abs(one["mean"] - other["mean"]) / error
        p = stats.studentized_range.sf(q, len(cells), residual["df"])
        name = level if isinstance(level, str) else f"{level:g}"
        assert found[name, "Baseline", "MC-Dropout"] == pytest.approx(p, abs=1e-9)
        assert found[name, "MC-Dropout", "Baseline"] == found[name, "Baseline", "MC-Dropout"]
    assert len(found) == 2 * frame[factor].nunique()


def test_tukeys_p_on_ood_sets_is_statsmodels(small: Results) -> None:
    """With two factors and their interaction the error is that of cells, as of a single factor."""
    results = made_results(
        made_spec(parts="ood", pairs=False, gans=[], repetitions=5, sets=["uniform-noise", "colour-swap"])
    )
    found = tukey_between_classifiers(ood(results, "standard"), "OOD set")
    frame = results.ood("standard")
    made = pairwise_tukeyhsd(frame["auroc"], frame["classifier"] + "|" + frame["group"])
    for (a, b), p in zip(combinations(made.groupsunique, 2), made.pvalues, strict=True):
        (first, one), (second, other) = str(a).split("|"), str(b).split("|")
        if one == other:
            assert found[one, first, second] == pytest.approx(p, abs=1e-4)
    assert len(found) == 4


def test_comparison_intervals_overlap_where_tukey_tells_no_difference(whole: Results) -> None:
    found = groups(classification(whole, "accuracy"), "transformation")
    assert isinstance(found, list)
    frame = whole.classification
    residual = reference(frame, "accuracy", THREE).loc["Residual"]
    error = np.sqrt(residual["sum_sq"] / residual["df"] / (len(frame) / 10))
    told = set()
    for one, other in combinations(found, 2):
        q = abs(one.mean - other.mean) / error
        p = stats.studentized_range.sf(q, 10, residual["df"])
        overlap = one.low <= other.high and other.low <= one.high
        assert overlap == (p >= 0.05)
        assert bool(set(one.letters) & set(other.letters)) == overlap
        told.add(overlap)
    assert told == {True, False}, "the example has both"
    means = frame.groupby("transformation")["accuracy"].mean()
    assert {one.name: one.mean for one in found} == pytest.approx(means.to_dict())
    assert [one.mean for one in found] == sorted((one.mean for one in found), reverse=True)
    assert all(one.letters_by_network for one in found)


# Where there is no analysis -------------------------------------------------------------------------------


def reasons(found: Analyses) -> set[str]:
    return {one.reason for one in (found.independent, found.by_network) if isinstance(one, Undefined)}


def test_given_classifiers_are_not_analysed(small: Results) -> None:
    found = classification(replace(small, given=frozenset({"MC-Dropout"})), "accuracy")
    (why,) = reasons(found)
    assert why.startswith("MC-Dropout brought its weights along")
    assert found.effects == []
    assert isinstance(groups(found, "transformation"), Undefined)
    assert tukey_between_classifiers(found, "level") == {}


def test_one_repetition_is_not_analysed() -> None:
    (why,) = reasons(classification(made_results(small_spec(repetitions=1)), "accuracy"))
    assert why == "one repetition tells no spread; set repetitions to 5 or more"


def test_a_value_that_is_missing_leaves_nothing_to_analyse(small: Results) -> None:
    frame = small.frame.copy()
    frame.loc[frame[frame["kind"] == "transformation"].index[:3], "auroc"] = np.nan
    broken = replace(small, frame=frame)
    assert reasons(classification(broken, "auroc")) == {"auroc has no value in 3 of 120 results"}
    assert not reasons(classification(broken, "accuracy"))


def test_one_classifier_under_one_condition_is_not_analysed() -> None:
    alone = small_spec(classifiers=CLASSIFIERS[:1], transformations=["robustness-fog"], levels=[2])
    found = classification(made_results(alone), "accuracy")
    assert reasons(found) == {"there is one classifier, and one condition"}


def test_no_results_are_not_analysed(small: Results) -> None:
    assert reasons(ood(small, "gan")) == {"there are no results"}
    assert reasons(ood(small, "standard")) == {"there are no results"}


def test_a_factor_that_does_not_vary_is_none() -> None:
    found = classification(made_results(small_spec(classifiers=CLASSIFIERS[:1], levels=[2])), "accuracy")
    assert found.factors == ("transformation",)
    assert isinstance(found.by_network, Anova)
    assert isinstance(groups(found, "transformation"), list)
    assert tukey_between_classifiers(found, "transformation") == {}
    without = classification(made_results(small_spec(transformations=["robustness-fog"])), "accuracy")
    assert without.factors == ("classifier", "level")
    assert isinstance(groups(without, "transformation"), Undefined)


def test_a_missing_cell_leaves_an_analysis_of_the_rest(small: Results) -> None:
    found = classification(replace(small, frame=small.frame.drop(small.frame.index[5])), "accuracy")
    for side in (found.independent, found.by_network):
        assert isinstance(side, Anova | Undefined)
        if isinstance(side, Undefined):
            assert side.reason
    assert effects(found.independent)["classifier"].error_df == 120 - 1 - (1 + 2 + 1 + 2 + 1 + 2) - 1


def test_levels_are_told_apart_by_their_names() -> None:
    assert analysis._table(made_results(small_spec(levels=[0.5, 1])).classification, "accuracy")[
        "level"
    ].unique().tolist() == ["0.5", "1"]


def test_a_transformation_that_lacks_levels_is_left_out_and_named() -> None:
    own = {"name": "robustness-blur", "severity": 3}
    spec = small_spec(transformations=["robustness-fog", "robustness-grey", own])
    found = classification(made_results(spec), "accuracy")
    assert found.left_out == ("blur",)
    assert found.effects
    assert "blur" in " ".join(variance(found, "x").notes)
