"""Tukey's pairs against R, scipy and statsmodels; letters by what they promise."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multicomp import pairwise_tukeyhsd

from farm.statistics.anova import anova
from farm.statistics.differences import LevelDifferences, level_differences, studentized_p
from farm.statistics.groups import groups_of, letters
from farm.statistics.table import Undefined
from tests.wording import same_text

# R's `warpbreaks` (Tippett 1950).
BREAKS = {
    ("A", "L"): [26, 30, 54, 25, 70, 52, 51, 26, 67],
    ("A", "M"): [18, 21, 29, 17, 12, 18, 35, 30, 36],
    ("A", "H"): [36, 21, 24, 18, 10, 43, 28, 15, 26],
    ("B", "L"): [27, 14, 29, 19, 29, 31, 41, 20, 44],
    ("B", "M"): [42, 26, 19, 16, 39, 28, 21, 39, 29],
    ("B", "H"): [20, 21, 24, 17, 13, 15, 15, 16, 28],
}
SIZES = st.lists(st.integers(2, 8), min_size=2, max_size=4)


def warpbreaks() -> pd.DataFrame:
    rows = [(wool, tension, value) for (wool, tension), values in BREAKS.items() for value in values]
    return pd.DataFrame(rows, columns=["wool", "tension", "value"])


def groups(sizes, seed, spread=1.0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(rng.normal(0, spread), 1, n) for n in sizes]


def compared(samples, level=0.95) -> LevelDifferences:
    rows = [(f"m{i}", value) for i, sample in enumerate(samples) for value in sample]
    analysis = anova(pd.DataFrame(rows, columns=["monitor", "value"]), "value", ["monitor"])
    return level_differences(analysis, "monitor", level)


def test_beside_another_factor_as_r_prints_it():
    # TukeyHSD(aov(breaks ~ wool + tension, data = warpbreaks), "tension", ordered = TRUE), R's own example.
    analysis = anova(warpbreaks(), "value", ["wool", "tension"], interactions="none")
    found = level_differences(analysis, "tension")
    printed = {
        ("L", "M"): (10.000000, 0.6465793, 19.35342, 0.0336262),
        ("L", "H"): (14.722222, 5.3688015, 24.07564, 0.0011218),
        ("M", "H"): (4.722222, -4.6311985, 14.07564, 0.4474210),
    }
    assert [(pair.first, pair.second) for pair in found.pairs] == list(printed)
    for pair in found.pairs:
        found_of = (pair.difference, pair.low, pair.high, pair.p)
        assert found_of == pytest.approx(printed[pair.first, pair.second], abs=5e-6)
    assert dict(zip(found.levels, found.letters, strict=True)) == {"L": "a", "M": "b", "H": "b"}
    effect = analysis.effects[1]
    assert (effect.error_df, effect.error / 50) == (50, pytest.approx(134.96, abs=0.01))
    assert found.notes == ()


def test_an_interaction_is_mentioned():
    found = level_differences(anova(warpbreaks(), "value", ["wool", "tension"]), "tension")
    same_text(found.notes)


@settings(max_examples=4)  # scipy's integrals take their time
@example([2, 5, 3, 3, 8], 0, 0.99)
@given(SIZES, st.integers(0, 10**6), st.sampled_from([0.8, 0.95, 0.99]))
def test_one_factor_is_scipys_test_balanced_or_not(sizes, seed, level):
    samples = groups(sizes, seed)
    reference = stats.tukey_hsd(*samples)
    interval = reference.confidence_interval(level)
    for pair in compared(samples, level).pairs:
        i, j = int(pair.first[1:]), int(pair.second[1:])
        assert pair.p == pytest.approx(reference.pvalue[i, j], abs=1e-9)
        assert (pair.low, pair.high) == pytest.approx((interval.low[i, j], interval.high[i, j]), abs=1e-6)
        assert pair.differ == (reference.pvalue[i, j] < 1 - level)
        assert pair.difference == pytest.approx(reference.statistic[i, j])


def test_one_factor_is_statsmodels_test_to_its_precision():
    samples = groups((8, 6, 7, 8), 4)
    values, names = np.concatenate(samples), np.repeat([f"m{i}" for i in range(4)], [8, 6, 7, 8])
    reference = pairwise_tukeyhsd(values, names)
    found = {frozenset((pair.first, pair.second)): pair for pair in compared(samples).pairs}
    for both, p, apart in zip(
        combinations(reference.groupsunique, 2), reference.pvalues, reference.reject, strict=True
    ):
        assert found[frozenset(both)].p == pytest.approx(p, abs=2e-3)
        assert found[frozenset(both)].differ == apart


@settings(max_examples=8)
@given(SIZES, st.integers(0, 10**6))
def test_pairs_order_and_letters_agree(sizes, seed):
    found = compared(groups(sizes, seed, spread=2))
    assert list(found.means) == sorted(found.means, reverse=True)
    assert len(found.pairs) == len(sizes) * (len(sizes) - 1) // 2
    letter = dict(zip(found.levels, found.letters, strict=True))
    for pair in found.pairs:
        assert pair.difference >= 0
        assert 0 <= pair.p <= 1
        assert pair.low < pair.difference < pair.high
        assert pair.differ == (pair.p < 0.05) == (pair.low > 0)
        assert bool(set(letter[pair.first]) & set(letter[pair.second])) != pair.differ


@pytest.mark.parametrize(
    ("count", "df", "q"), [(12, 8615, 0.23893303639658026), (20, 10412, 0.6052214018322869)]
)
def test_tiny_differences_among_many_runs_raise_no_false_alarm(count, df, q):
    # Integrals at which scipy warns; with so many degrees of freedom the normal limit is a reference.
    assert studentized_p(q, count, df) == pytest.approx(
        stats.studentized_range.sf(q, count, np.inf), abs=1e-10
    )


def test_the_studentized_range_by_its_table():
    # Upper 5 % points as tables print them, e.g. for 3 means and 10 or 20 degrees of freedom.
    for count, df, q in [(2, 10, 3.151), (3, 10, 3.877), (3, 20, 3.578), (5, 20, 4.232), (10, 60, 4.646)]:
        assert studentized_p(q, count, df) == pytest.approx(0.05, abs=2e-4)


def test_two_levels_are_told_apart_as_by_students_t():
    one, two = groups((6, 9), 1)
    assert compared([one, two]).pairs[0].p == pytest.approx(stats.ttest_ind(one, two).pvalue, abs=1e-9)


def test_an_unbalanced_design_is_compared_under_the_same_conditions():
    # Both monitors are alike under each condition, and m0 met the hard one more often.
    rng = np.random.default_rng(0)
    runs = [(0, "easy", 5, 3), (0, "hard", 1, 30), (1, "easy", 5, 30), (1, "hard", 1, 3)]
    rows = [
        (f"m{m}", condition, base + rng.normal(0, 0.1)) for m, condition, base, n in runs for _ in range(n)
    ]
    table = pd.DataFrame(rows, columns=["monitor", "condition", "value"])
    pair = level_differences(anova(table, "value", ["monitor", "condition"]), "monitor").pairs[0]
    assert pair.difference < 0.1
    assert not pair.differ
    # The same contrast of four cell means by hand.
    cells = table.groupby(["monitor", "condition"])["value"]
    error = cells.transform(lambda v: v - v.mean()).pow(2).sum() / (len(table) - 4)
    means = cells.mean().groupby("monitor").mean()
    t = abs(means["m0"] - means["m1"]) / np.sqrt(error * (1 / cells.size()).sum() / 4)
    assert pair.p == pytest.approx(2 * stats.t.sf(t, len(table) - 4), abs=1e-9)


def test_what_cannot_be_compared_is_said():
    table = warpbreaks().assign(run=[0, 1, 2] * 18)
    full = anova(
        table[(table["wool"] != "A") | (table["tension"] != "L") | (table["run"] != 0)],
        "value",
        ["wool", "tension", "run"],
        interactions="two-way",
    )
    found = level_differences(full, "tension")
    assert isinstance(found, Undefined)
    assert "have no run" in found.reason


@st.composite
def relations(draw) -> tuple[list[str], list[tuple[str, str]]]:
    names = [f"m{i}" for i in range(draw(st.integers(1, 8)))]
    return names, [pair for pair in combinations(names, 2) if draw(st.booleans())]


def lettered(names, apart) -> dict[str, str]:
    """Give each name's letters, where these pairs differ."""
    matrix = np.array([[(a, b) in apart or (b, a) in apart for b in names] for a in names], dtype=bool)
    return dict(zip(names, letters(matrix), strict=True))


@given(relations())
def test_two_names_share_a_letter_exactly_when_they_do_not_differ(relation):
    names, apart = relation
    found = lettered(names, apart)
    for pair in combinations(names, 2):
        assert bool(set(found[pair[0]]) & set(found[pair[1]])) == (pair not in apart)
    assert all(found.values())


@given(relations())
def test_letters_are_the_largest_groups_in_order(relation):
    names, apart = relation
    found = lettered(names, apart)
    alphabet = sorted(set("".join(found.values())))
    by_letter = [tuple(i for i, name in enumerate(names) if letter in found[name]) for letter in alphabet]
    matrix = np.array([[(a, b) in apart or (b, a) in apart for b in names] for a in names])
    assert by_letter == list(groups_of(matrix))


def test_letters_by_hand():
    assert lettered("abc", []) == {"a": "a", "b": "a", "c": "a"}
    assert lettered("xyz", [("x", "y"), ("y", "z"), ("x", "z")]) == {"x": "a", "y": "b", "z": "c"}
    # A chain: each is like its neighbours only.
    chain = [("p", "r"), ("p", "s"), ("q", "s")]
    assert lettered("pqrs", chain) == {"p": "a", "q": "ab", "r": "bc", "s": "c"}


def test_more_groups_than_latin_letters():
    found = letters(~np.eye(60, dtype=bool))
    assert len(set(found)) == 60
    assert all(len(letter) == 1 and letter.isalpha() for letter in found)
