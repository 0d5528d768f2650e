import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import permutation_test
from statsmodels.stats.contingency_tables import mcnemar

import farm.statistics.paired as module
from farm.errors import DataError
from farm.measures.oracle import OUTCOMES
from farm.statistics.paired import paired, right
from tests.wording import refused, same_text

COUNT = st.integers(0, 25)
TABLES = st.tuples(COUNT, COUNT, COUNT, COUNT).filter(any)
ROWS = st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 6)), min_size=2, max_size=40).filter(
    lambda rows: 1 < len({group for _, _, group in rows}) < len(rows)
)


def arrays(both, first, second, neither):
    counts = [both, first, second, neither]
    return np.repeat([True, True, False, False], counts), np.repeat([True, False, True, False], counts)


def columns(rows):
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def differences(first, second, group):
    return np.array([first[group == g].sum() - second[group == g].sum() for g in np.unique(group)])


def every_flip(sizes):
    """The plain way: all signs of all differences, one by one."""
    seen = abs(sum(sizes))
    sums = [abs(sum(s * d for s, d in zip(signs, sizes, strict=True))) for signs in flips(len(sizes))]
    return sum(value >= seen for value in sums) / len(sums)


def flips(k):
    return itertools.product([1, -1], repeat=k)


@given(TABLES)
def test_exact_test_agrees_with_statsmodels(table):
    both, b, c, neither = table
    found = paired(*arrays(*table))
    reference = mcnemar([[both, b], [c, neither]], exact=True)
    assert (found.both, found.first, found.second, found.neither) == table
    assert min(found.first, found.second) == reference.statistic
    assert found.p.value == pytest.approx(reference.pvalue, abs=1e-12)
    assert found.method == "exact binomial"


@pytest.mark.parametrize(("b", "c"), [(5000, 5200), (4900, 5300), (300_000, 301_000)])
def test_chi_squared_for_many_is_what_the_exact_test_comes_to(b, c):
    reference = mcnemar([[0, b], [c, 0]], exact=False, correction=True)
    assert paired(*arrays(0, b, c, 0)).p.value == pytest.approx(reference.pvalue, rel=0.02)


def test_published_example_of_the_exact_p_value():
    """Table 1 of Fagerland, Lydersen and Laake (2013), from Bentur et al. (2009): 1 against 7 of 21 children.

    2 * (1 + 8) / 2^8 = 0.0703.
    """
    found = paired(*arrays(1, 1, 7, 12))
    assert found.p.value == pytest.approx(0.0703, abs=5e-5)
    assert (found.n, found.better) == (21, "second")


@given(TABLES)
def test_first_and_second_can_change_places(table):
    both, b, c, neither = table
    one, other = paired(*arrays(both, b, c, neither)), paired(*arrays(both, c, b, neither))
    assert 0 < one.p.value <= 1
    assert one.p.value == pytest.approx(other.p.value, rel=1e-14)
    assert {one.better, other.better} in ({None}, {"first", "second"})


def test_same_verdicts_are_not_told_apart():
    found = paired(*arrays(4, 0, 0, 3))
    assert (found.p.value, found.better) == (1.0, None)
    grouped = paired(*arrays(4, 0, 0, 4), group=np.arange(8) // 2)
    assert grouped.p.value == 1.0


@given(ROWS)
def test_flips_are_those_of_every_group_one_by_one(rows):
    first, second, group = columns(rows)
    found = paired(first, second, group=group)
    assert found.method == "all sign flips"
    assert found.n_groups == len(np.unique(group))
    assert found.p.value == pytest.approx(every_flip(differences(first, second, group).tolist()), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_flips_agree_with_scipys_permutation_test(seed):
    random = np.random.default_rng(seed)
    group = np.repeat(np.arange(9), random.integers(1, 12, 9))
    first, second = random.random((2, len(group))) < [[0.8], [0.55]]
    reference = permutation_test(
        (differences(first, second, group),), np.sum, permutation_type="samples", n_resamples=np.inf
    )
    assert paired(first, second, group=group).p.value == pytest.approx(reference.pvalue, abs=1e-12)


@given(TABLES)
def test_groups_of_one_and_a_pair_of_no_matter_are_mcnemars_test(table):
    """A pair on which both are right makes it a grouped test, and tells nothing."""
    first, second = arrays(*table)
    alone = paired(first, second, group=np.arange(len(first)).astype(str))
    assert alone == paired(first, second)
    more = np.concatenate([np.arange(len(first)), [len(first)] * 2])
    grouped = paired(np.append(first, [True] * 2), np.append(second, [True] * 2), group=more)
    assert grouped.method == "all sign flips"
    assert grouped.p.value == pytest.approx(alone.p.value, abs=1e-12)


@given(ROWS, st.randoms(use_true_random=False))
def test_neither_order_nor_group_names_matter(rows, random):
    first, second, group = columns(rows)
    order = list(range(len(rows)))
    random.shuffle(order)
    names = np.array([f"track {-g}" for g in group])
    assert paired(first, second, group=group) == paired(first[order], second[order], group=names[order])


def test_drawn_flips_come_near_all_flips(monkeypatch):
    random = np.random.default_rng(5)
    group = np.arange(600) // 6
    first, second = random.random((2, 600)) < [[0.8], [0.77]]
    every = paired(first, second, group=group)
    monkeypatch.setattr(module, "MOST_STEPS", 0)
    drawn = paired(first, second, group=group, seed=3)
    assert drawn.method == "drawn sign flips"
    assert 0.01 < every.p.value < 0.5
    spread = math.sqrt(every.p.value * (1 - every.p.value) / module.FLIPS)
    assert drawn.p.value == pytest.approx(every.p.value, abs=4 * spread)
    assert drawn == paired(first, second, group=group, seed=3)
    assert drawn != paired(first, second, group=group, seed=4)


def test_drawn_flips_are_never_certain(monkeypatch):
    monkeypatch.setattr(module, "MOST_STEPS", 0)
    found = paired(*arrays(0, 400, 0, 0), group=np.arange(400) // 4)
    assert found.p.value == 1 / (1 + module.FLIPS)


def test_many_alike_frames_are_no_new_evidence():
    """Tracks on which one monitor, picked by chance, is right throughout: each test's errors at 5 %."""
    random = np.random.default_rng(0)
    group, runs = np.arange(300) // 15, 300
    rejected = np.zeros(2)
    for _ in range(runs):
        first = np.repeat(random.random(20) < 0.5, 15)
        second = ~first
        rejected += [paired(first, second).p.value < 0.05, paired(first, second, group=group).p.value < 0.05]
    by_frame, by_track = rejected / runs
    assert by_frame > 0.4
    assert by_track <= 0.07


def test_what_is_told_of_groups():
    found = paired(*arrays(2, 3, 1, 2), group=np.arange(8) // 2)
    assert (found.n, found.n_groups, found.better) == (8, 4, "first")


def test_right_is_true_positive_or_true_negative():
    codes = np.arange(4, dtype=np.uint8)
    assert [name for name, good in zip(OUTCOMES, right(codes), strict=True) if good] == ["tn", "tp"]


def test_nothing_is_undefined():
    nothing = np.empty(0, dtype=np.bool_)
    assert paired(nothing, nothing).p.reason == "no instances"


def test_a_single_instance_tells_nothing():
    assert paired(np.array([True]), np.array([False])).p.value == 1.0


def test_a_single_group_is_undefined():
    found = paired(*arrays(2, 3, 1, 2), group=np.full(8, "a"))
    assert math.isnan(found.p.value)
    same_text(found.p.reason)


def test_refuses_arrays_of_different_lengths():
    one, two = np.array([True]), np.array([True, False])
    with refused(DataError):
        paired(one, two)
    with refused(DataError):
        paired(two, two, group=np.array([0]))


def test_refuses_a_missing_group():
    two = np.array([True, False])
    with refused(DataError):
        paired(two, two, group=np.array(["a", None], dtype=object))
