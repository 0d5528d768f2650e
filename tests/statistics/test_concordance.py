"""Kendall's W against scipy, a worked example, all rankings counted one by one, and what chance does."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from farm.errors import DataError
from farm.statistics.concordance import concordance


def test_a_worked_example() -> None:
    """Sums of ranks 11, 5, 9, 5 and mean 7.5: 12 * 27 / (9 * (64 - 4))."""
    ranks = np.array([[4.0, 2, 3, 1], [4, 1, 3, 2], [3, 2, 4, 1]])
    sums = ranks.sum(axis=0)
    assert sums.tolist() == [11, 5, 10, 4]
    found = concordance(ranks)
    assert found.w.value == pytest.approx(12 * ((sums - 7.5) ** 2).sum() / (9 * (64 - 4)))
    assert not found.same


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_w_is_that_of_friedmans_chi_squared(data: st.DataObject) -> None:
    judges = data.draw(st.integers(2, 5))
    items = data.draw(st.integers(3, 5))
    cell = st.integers(0, 4)
    values = np.array([[data.draw(cell) for _ in range(items)] for _ in range(judges)], dtype=np.float64)
    found = concordance(values)
    if not found.w.defined:
        assert (values == values[:, :1]).all()
        return
    chi_squared = scipy.stats.friedmanchisquare(*values.T).statistic
    assert found.w.value == pytest.approx(chi_squared / (judges * (items - 1)))
    assert 0 < found.p.value <= 1


@pytest.mark.parametrize(
    "values", [[[1, 2, 3], [1, 3, 2], [2, 1, 3]], [[1, 1, 2], [1, 2, 2]], [[3, 1, 2], [3, 1, 2]]]
)
def test_p_counts_all_rankings(values: list[list[float]]) -> None:
    ranks = np.array([scipy.stats.rankdata(row) for row in values])
    found = concordance(np.array(values, dtype=np.float64))
    every = [
        np.var(np.sum(one, axis=0))
        for one in product(*([list(order) for order in permutations(row)] for row in ranks.tolist()))
    ]
    as_much = sum(value >= np.var(ranks.sum(axis=0)) - 1e-9 for value in every)
    assert found.p.value == pytest.approx(as_much / len(every))


def test_drawn_rankings_have_nearly_the_p_of_all() -> None:
    """Of three judges there are half a million rankings of six items."""
    values = np.array([[1.0, 2, 3, 4, 5, 6], [1, 2, 3, 4, 6, 5], [2, 1, 3, 4, 5, 6]])
    found = concordance(values)
    assert found.p.value < 0.002
    assert concordance(values).p == found.p, "the same draws, always"
    assert concordance(np.array([[1.0, 2, 3, 4, 5, 6]] * 3)).same


def test_what_cannot_be_told_has_a_reason() -> None:
    assert concordance(np.ones((1, 3))).w.reason == "1 x 3 values; expected at least two judges and two items"
    assert concordance(np.ones((3, 2))).w.reason == "each judge holds all items for equal"
    with pytest.raises(DataError, match="expected judges x items, all known"):
        concordance(np.array([[1.0, np.nan], [1.0, 2.0]]))


def test_judges_who_know_nothing_are_seldom_told_to_agree() -> None:
    rng = np.random.default_rng(5)
    draws = 400
    ps = [concordance(rng.normal(size=(3, 4))).p.value for _ in range(draws)]
    told = sum(p < 0.05 for p in ps)
    assert told <= scipy.stats.binom.ppf(0.9999, draws, 0.05)
    agreeing = [concordance(np.arange(4) + rng.normal(0, 0.3, (3, 4))).p.value for _ in range(50)]
    assert np.mean(np.array(agreeing) < 0.05) > 0.9
