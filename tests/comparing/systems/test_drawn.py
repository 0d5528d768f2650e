"""How sure means over strata and their differences are, beside exact intervals and tests."""

import numpy as np
import pytest
import scipy

from farm.comparing.systems.drawn import StratumValues, redrawn, track_numbers
from farm.statistics.bounds import MOST_DRAWN

UNITS = {"hazard": 1.0, "cost": 10.0}
DRAWS = 20_000


def of(number, measure="hazard", weights=None, sign=1):
    return ((number, measure), weights or {0: 1.0}, sign)


@pytest.mark.parametrize(("n", "k"), [(30, 0), (30, 30), (200, 7), (MOST_DRAWN + 1000, 40)])
def test_single_instances_have_clopper_and_pearson_s_interval(n, k):
    parts = [StratumValues("all", np.arange(n), {(0, "hazard"): (np.arange(n) < k).astype(float)})]
    replicates = 4000 if n > 1000 else DRAWS
    found = redrawn(parts, [(of(0),)], UNITS, replicates=replicates, seed=0).bounds(0, 0.9)
    exact = scipy.stats.binomtest(k, n).proportion_ci(0.9, "exact")
    assert found.value.value == pytest.approx(k / n)
    assert (found.low.value, found.high.value) == pytest.approx((exact.low, exact.high), rel=0.05, abs=1e-12)


@pytest.mark.parametrize(("more", "less"), [(5, 0), (6, 0), (9, 3), (20, 18), (4, 4)])
@pytest.mark.parametrize("both", [0, 11])
def test_a_difference_of_single_instances_has_the_sign_test_s_p(more, less, both):
    n = 300
    place = np.arange(n)
    first = (place < more) | (place >= n - both)
    second = ((place >= more) & (place < more + less)) | (place >= n - both)
    parts = [
        StratumValues("all", place, {(0, "hazard"): first.astype(float), (1, "hazard"): second.astype(float)})
    ]
    found = redrawn(parts, [(of(0), of(1, sign=-1))], UNITS, replicates=DRAWS, seed=1)
    exact = scipy.stats.binomtest(more, more + less, 0.5).pvalue
    assert found.p(0).value == pytest.approx(exact, rel=0.12, abs=0.0005)
    # The interval leaves 0 out at exactly the levels below 1 - p.
    p = found.p(0).value
    for level, holds in ((1 - p - 0.002, False), (min(1 - p + 0.002, 0.9999), True)):
        if 0 < level < 1 and more > less and p < 0.9:
            ends = found.bounds(0, level)
            assert (ends.low.value <= 0) == holds


def test_strata_weigh_what_they_are_given_and_share_their_tracks():
    track = np.arange(40)
    even, low = (track % 2 == 0).astype(float), (track < 4).astype(float)
    values = [{(0, "hazard"): even}, {(0, "hazard"): low}]
    mixed = {0: 0.25, 1: 0.75}
    apart, together = (
        redrawn(
            [StratumValues("a", track, values[0]), StratumValues("b", track + shift, values[1])],
            [(of(0, weights=mixed),)],
            UNITS,
            replicates=DRAWS,
            seed=0,
        )
        for shift in (40, 0)
    )
    assert apart.points[0].value == pytest.approx(0.25 * 0.5 + 0.75 * 0.1)
    # Drawn together, tracks that are bad in both make the mean less sure.
    spread = [found.draws[0, -1].std() for found in (apart, together)]
    alone = 0.25**2 * 0.5**2 / 40 + 0.75**2 * 0.1 * 0.9 / 40
    joint = alone + 2 * 0.25 * 0.75 * (2 / 40 - 0.5 * 0.1) / 40
    assert np.square(spread) == pytest.approx([alone, joint], rel=0.25)


def test_a_dear_mistake_that_was_not_seen_may_come():
    track = np.repeat(np.arange(100), 10)
    cheap = (np.arange(1000) % 10 == 0) / 100
    parts = [StratumValues("all", track, {(0, "cost"): cheap, (1, "cost"): np.zeros(1000)})]
    found = redrawn(parts, [(of(0, "cost"), of(1, "cost", sign=-1))], UNITS, replicates=2000, seed=0)
    assert found.points[0].value == pytest.approx(10 * 0.001)
    # Each track of the first cost something; one more of the second that costs all of it would outweigh that.
    assert found.p(0).value > 0.5
    both = redrawn(parts, [(of(0, "cost"),)], UNITS, replicates=2000, seed=0).bounds(0, 0.95)
    assert both.high.value == pytest.approx(10 * -np.log(0.025) / 100, rel=0.15)


def test_few_tracks_have_no_interval():
    parts = [StratumValues("fog", np.arange(40) // 10, {(0, "hazard"): np.zeros(40)})]
    found = redrawn(parts, [(of(0),)], UNITS, replicates=2000, seed=0)
    assert (
        found.bounds(0, 0.95).low.reason
        == "the instances of 'fog' are of 4 tracks; an interval needs at least 5"
    )
    assert found.p(0).reason == found.bounds(0, 0.95).high.reason


def test_tracks_of_one_name_on_one_workload_are_one():
    names = [np.array(["b", "a", "b"]), np.array(["a"]), np.array(["b"])]
    found = track_numbers(list(zip(["signs", "signs", "digits"], names, strict=True)))
    assert [own.tolist() for own in found] == [[1, 0, 1], [0], [2]]
