"""CUSUM and EWMA run as long as textbooks say: against tables, and against equations that are solved here."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from farm.api.changes import Cusum, Ewma
from farm.errors import ParameterError
from tests.wording import refused

STATES = 400
TABLE_CUSUM = [(4.0, 0.0, 168.0), (5.0, 0.0, 465.0), (4.0, 1.0, 8.38), (5.0, 1.0, 10.4), (5.0, 0.5, 38.0)]
"""Limit, shift and run length of two-sided charts with k = 1/2 (Montgomery, after Siegmund and others)."""
TABLE_EWMA = [
    (0.1, 2.814, [500.0, 31.3, 10.3, 4.36]),
    (0.25, 2.998, [500.0, 48.2, 11.1, 3.6]),
    (0.05, 2.615, [500.0, 28.8, 11.4, 5.24]),
]
"""Weight, limit, and run lengths at shifts of 0, 1/2, 1 and 2 (Lucas and Saccucci)."""


def cusum_chain(limit: float, shift: float, k: float = 0.5) -> float:
    """Solve the Markov chain of Brook and Evans, of whose states the first is zero."""
    width = 2 * limit / (2 * STATES - 1)
    steps = (np.arange(STATES) - np.arange(STATES)[:, None]) * width + k - shift
    moves = norm.cdf(steps + width / 2) - norm.cdf(steps - width / 2)
    moves[:, 0] = norm.cdf(steps[:, 0] + width / 2)
    return float(np.linalg.solve(np.eye(STATES) - moves, np.ones(STATES))[0])


def ewma_equation(weight: float, limit: float, shift: float) -> float:
    """Solve the integral equation of Crowder by Gauss-Legendre points; the chart begins at zero."""
    edge = limit * np.sqrt(weight / (2 - weight))
    points, weights = np.polynomial.legendre.leggauss(120)
    points, weights = edge * points, edge * weights

    def density(start: np.ndarray | float) -> np.ndarray:
        off = (points - (1 - weight) * np.reshape(start, (-1, 1))) / weight
        return norm.pdf(off - shift) / weight * weights

    lengths = np.linalg.solve(np.eye(len(points)) - density(points), np.ones(len(points)))
    return float(1 + (density(0.0) @ lengths)[0])


def two_sided(limit: float, shift: float) -> float:
    return 1 / (1 / cusum_chain(limit, shift) + 1 / cusum_chain(limit, -shift))


@pytest.mark.parametrize(("limit", "shift", "expected"), TABLE_CUSUM)
def test_the_chain_of_the_cusum_gives_the_textbooks_table(limit, shift, expected) -> None:
    assert two_sided(limit, shift) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(("weight", "limit", "expected"), TABLE_EWMA)
def test_the_equation_of_the_ewma_gives_the_textbooks_table(weight, limit, expected) -> None:
    found = [ewma_equation(weight, limit, shift) for shift in (0.0, 0.5, 1.0, 2.0)]
    assert found == pytest.approx(expected, rel=0.02)


def run_length(detector, limit: float, shift: float, alarms: int, about: float) -> tuple[float, float]:
    """Return the mean run length along one stream with restarts, and its standard error as a share."""
    values = np.random.default_rng(7).normal(shift, 1.0, round(alarms * about))
    found = np.flatnonzero(detector.along(values, limit) > limit)
    runs = np.diff(found, prepend=-1)
    return float(runs.mean()), float(runs.std() / runs.mean() / np.sqrt(len(runs)))


@pytest.mark.parametrize(
    ("limit", "shift", "alarms"), [(4.0, 0.0, 12_000), (5.0, 0.0, 6000), (4.0, 1.0, 8000), (5.0, 1.0, 8000)]
)
def test_the_cusum_runs_as_long_as_its_chain(limit, shift, alarms) -> None:
    expected = cusum_chain(limit, shift)
    found, error = run_length(Cusum(), limit, shift, alarms, expected)
    assert abs(found / expected - 1) < min(3 * error, 0.04)


@pytest.mark.parametrize(
    ("weight", "limit", "shift", "alarms"),
    [(0.1, 2.814, 0.0, 6000), (0.25, 2.998, 0.0, 6000), (0.1, 2.814, 1.0, 8000), (0.25, 2.998, 1.0, 8000)],
)
def test_the_ewma_runs_as_long_as_its_equation(weight, limit, shift, alarms) -> None:
    expected = ewma_equation(weight, limit, shift)
    detector = Ewma(weight=weight, variance="steady", direction="both")
    found, error = run_length(detector, limit, shift, alarms, expected)
    assert abs(found / expected - 1) < min(3 * error, 0.04)


def test_exact_limits_of_the_ewma_see_at_once_what_a_shewhart_chart_sees() -> None:
    """With its own standard deviation the first value alone is as sure as it is large."""
    assert Ewma(weight=0.1).follow(4.0) == pytest.approx(4.0)
    steady = Ewma(weight=0.1, variance="steady")
    assert steady.follow(4.0) == pytest.approx(4.0 * np.sqrt(0.1 * 1.9))
    values = np.random.default_rng(0).normal(size=500)
    ewma, own = Ewma(weight=0.1).along(values), steady.along(values[1:])
    assert ewma[-1] == pytest.approx(own[-1])


def test_statistics_are_those_of_the_formulas_in_any_unit() -> None:
    values = np.random.default_rng(1).normal(2.0, 3.0, 300)
    z, total, average = (values - 2) / 3, 0.0, 0.0
    cusum, ewma = Cusum(mean=2.0, sd=3.0, shift=0.8), Ewma(mean=2.0, sd=3.0, weight=0.3, variance="steady")
    likely = Cusum(mean=2.0, sd=3.0, shift=0.8, unit="log-likelihood")
    for value, one in zip(values.tolist(), z.tolist(), strict=True):
        total, average = max(0.0, total + one - 0.4), 0.3 * one + 0.7 * average
        assert cusum.follow(value) == pytest.approx(total)
        assert likely.follow(value) == pytest.approx(0.8 * total)
        assert ewma.follow(value) == pytest.approx(average / np.sqrt(0.3 / 1.7))


def test_the_first_step_of_the_log_likelihood_is_that_of_the_two_normal_densities() -> None:
    found = Cusum(mean=1.0, sd=2.0, shift=1.5, unit="log-likelihood").follow(5.0)
    assert found == pytest.approx(norm.logpdf(5.0, 4.0, 2.0) - norm.logpdf(5.0, 1.0, 2.0))


def test_a_limit_of_log_n_lets_at_least_n_normal_values_pass_on_average() -> None:
    found, _ = run_length(Cusum(unit="log-likelihood"), np.log(100), 0.0, 400, 500)
    assert found > 100


@pytest.mark.parametrize("kind", [Cusum, Ewma])
@pytest.mark.parametrize("parameters", [{"mean": float("nan")}, {"sd": 0.0}])
def test_what_means_nothing_is_refused(kind, parameters) -> None:
    with refused(ParameterError):
        kind(**parameters)
