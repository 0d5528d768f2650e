"""What is said of many triplets: means, intervals that are right about as often as they say, and tests."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from farm.protocols.od_test.results import Results
from farm.protocols.od_test.spec import OdTest
from farm.protocols.od_test.summary import (
    FEWEST_SOURCES,
    interval,
    mean_accuracies,
    optimism_gaps,
    significance,
)
from farm.statistics.ranks import RankComparison
from farm.statistics.table import Undefined


def made(n_sources: int, methods: dict[str, float], seed: int = 0) -> Results:
    """Return the results of methods of some mean accuracy, with an effect of each source and target."""
    rng = np.random.default_rng(seed)
    sources = [f"s{i}" for i in range(n_sources)]
    spec = OdTest.model_validate(
        {
            "name": "made",
            "protocol": "od-test",
            "sources": sources,
            "outliers": ["x", "y"],
            "networks": ["lenet"],
            "methods": list(methods),
        }
    )
    rows = []
    for method, mean in methods.items():
        for source in sources:
            own = rng.normal(0, 0.03)
            of_target = {target: rng.normal(0, 0.05) for target in spec.sets}
            rows += [
                (s, v, t, "lenet", method, 100, mean + own + of_target[t] + rng.normal(0, 0.01), False)
                for s, v, t in spec.triplets
                if s == source
            ]
    columns = ["source", "validation", "target", "network", "method", "n", "accuracy", "optimistic"]
    return Results(spec, pd.DataFrame(rows, columns=columns), (), {}, 0)


def test_of_equal_blocks_the_interval_is_students_of_their_means() -> None:
    rng = np.random.default_rng(1)
    values, blocks = rng.normal(size=(6, 7)), np.repeat(list("abcdef"), 7)
    mean, low, high = interval(values.ravel(), blocks)
    means = values.mean(axis=1)
    expected = stats.t.interval(0.95, 5, means.mean(), stats.sem(means))
    assert (mean, low, high) == pytest.approx((values.mean(), *expected))


@pytest.mark.parametrize("n_sources", [3, 6, 10])
def test_the_interval_holds_the_mean_as_often_as_it_says(n_sources: int) -> None:
    """Over sources as blocks it does; over triplets as if they were independent it would not."""
    held, would = 0, 0
    runs = 200
    for seed in range(runs):
        results = made(n_sources, {"m": 0.7}, seed)
        (found,) = mean_accuracies(results)
        held += found.low <= 0.7 <= found.high
        _, low, high = interval(results.frame["accuracy"].to_numpy(), map(str, range(found.n)))
        would += low <= 0.7 <= high
    assert held / runs > 0.95 - 3 * np.sqrt(0.95 * 0.05 / runs)
    assert would / runs < 0.8


@pytest.mark.parametrize(("of_learned", "of_target"), [(0.1, 0.02), (0.02, 0.1), (0.05, 0.05)])
def test_within_a_source_it_holds_too_whatever_differs_more(of_learned: float, of_target: float) -> None:
    """What was learned from makes results alike, and what was judged on does."""
    rng = np.random.default_rng(3)
    pairs = [(v, t) for v in "abcdefgh" for t in "abcdefgh" if v != t]
    learned, target = zip(*pairs, strict=True)
    held, would, runs = 0, 0, 400
    for _ in range(runs):
        v, t = (dict(zip("abcdefgh", rng.normal(0, sd, 8), strict=True)) for sd in (of_learned, of_target))
        values = np.array([0.7 + v[x] + t[y] + rng.normal(0, 0.01) for x, y in pairs])
        held += abs(0.7 - (found := interval(values, target, learned))[0]) <= found[2] - found[0]
        would += abs(0.7 - (found := interval(values, target))[0]) <= found[2] - found[0]
    assert held / runs > 0.95 - 3 * np.sqrt(0.95 * 0.05 / runs)
    if of_learned > of_target:
        assert would / runs < 0.7, "by targets alone it would be too narrow"


def test_an_interval_of_accuracies_holds_no_other_numbers() -> None:
    for one in mean_accuracies(made(2, {"good": 0.97, "bad": 0.02})):
        assert 0 <= one.low <= one.high <= 1


def test_below_five_sources_there_is_no_p_value() -> None:
    found = significance(made(FEWEST_SOURCES - 1, {"a": 0.9, "b": 0.6}))
    assert isinstance(found, Undefined)
    assert found.reason == (
        "4 source sets are fewer than 5: even if one method were the best on each, a test of two methods "
        "over 4 could give no p below 0.125"
    )


def test_sources_and_not_triplets_are_tested() -> None:
    found = significance(made(8, {"a": 0.9, "b": 0.6, "c": 0.61}))
    assert isinstance(found, RankComparison)
    assert (found.n_sets, found.monitors[0]) == (8, "a/lenet")
    assert set(found.sets) == {f"s{i}" for i in range(8)}


def test_methods_that_are_alike_are_seldom_found_to_differ() -> None:
    found = [significance(made(6, {"a": 0.7, "b": 0.7, "c": 0.7}, seed)) for seed in range(200)]
    differ = np.mean([one.any_differ for one in found if isinstance(one, RankComparison)])
    assert differ < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


def test_a_gap_is_between_pairs_of_one_source_and_one_set_to_learn_from() -> None:
    rows = [
        ("s", "v", "v", 0.9, True),
        ("s", "v", "t", 0.6, False),
        ("s", "v", "u", 0.5, False),
        ("s", "t", "t", 0.8, True),
        ("s", "t", "v", 0.8, False),
        ("r", "v", "v", 1.0, True),
        ("r", "t", "v", 0.2, False),
    ]
    columns = ["source", "validation", "target", "accuracy", "optimistic"]
    frame = pd.DataFrame(rows, columns=columns).assign(network="", method="m", n=10)
    (gap,) = optimism_gaps(Results(made(2, {"m": 0.5}).spec, frame, (), {}, 0))
    assert (gap.n, gap.optimistic, gap.honest, gap.gap) == pytest.approx((2, 0.85, 0.675, 0.175))
    assert np.isnan(gap.low), "both pairs are of one source"
