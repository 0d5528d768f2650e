"""Shares, means and rates of tracks: against scipy, by hand, and by simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

import farm.statistics.bounds as bounds_module
from farm.errors import ParameterError
from farm.measures import Measure
from farm.statistics.by_track import mean_by_track, rate_by_track, share_by_track, share_of_a_track
from tests.wording import refused


class TestSharesOfTracks:
    @pytest.mark.parametrize("level", [0.8, 0.95])
    @pytest.mark.parametrize("hit", [0, 1, 7, 20])
    def test_tracks_that_are_hit_wholly_or_not_are_single_trials(self, hit, level):
        track = np.repeat(np.arange(20), 5)
        low, high = share_by_track(track < hit, track, level)
        reference = binomtest(hit, 20).proportion_ci(level, "exact")
        assert (low.value, high.value) == pytest.approx((reference.low, reference.high))

    def test_instances_that_stand_alone_come_to_the_exact_interval(self):
        """Of two tracks of one size more, nothing is exact any more, and the draws have to tell."""
        track = np.arange(302) // 1
        track[-1] = track[-3] = track[-2]
        low, high = share_by_track(np.arange(302) < 30, track)
        reference = binomtest(30, 302).proportion_ci(0.95, "exact")
        assert (low.value, high.value) == pytest.approx((reference.low, reference.high), rel=0.1)

    def test_numbers_and_order_of_tracks_are_no_matter(self):
        random = np.random.default_rng(0)
        track, hit = np.arange(300) // 7, random.random(300) < 0.2
        found = share_by_track(hit, track)
        assert share_by_track(hit, 3 * track + 11) == found
        order = random.permutation(300)
        assert share_by_track(hit[order], track[order]) == found

    def test_too_few_tracks(self):
        for n, words in ((1, "1 track;"), (4, "4 tracks;")):
            low, high = share_by_track(np.ones(40, dtype=bool), np.arange(40) * n // 40)
            assert low.reason == high.reason == f"the instances are of {words} an interval needs at least 5"
        assert share_by_track(np.ones(40, dtype=bool), np.arange(40) // 8)[0].defined

    def test_a_share_of_very_many_tracks_is_as_sure_as_of_tracks(self, monkeypatch):
        """No hit in 4,000 tracks is not none in half as many bundles."""
        track = np.arange(8000) // 2
        _, high = share_by_track(np.zeros(8000, dtype=bool), track)
        assert high.value == pytest.approx(1 - 0.025 ** (1 / 4000), rel=0.1)
        hit = np.random.default_rng(0).random(8000) < 0.3
        bundled = [end.value for end in share_by_track(hit, track)]
        monkeypatch.setattr(bounds_module, "MOST_DRAWN", 4000)
        low, high = (end.value for end in share_by_track(hit, track))
        assert bundled == pytest.approx([low, high], abs=0.1 * (high - low))


@pytest.mark.parametrize(("tracks", "rate"), [(8, 0.2), (12, 0.05), (40, 0.05), (40, 0.5)])
def test_intervals_of_shares_hold_in_tracks_of_all_sizes(tracks, rate):
    """Tracks of 1 to 30 instances, each with a rate of its own; the true share is that of all there could be.

    Wilson's interval, which takes each instance for itself, holds in some 50 of 100 of these streams.
    """
    random, held = np.random.default_rng(tracks), []
    for _ in range(300):
        sizes = random.integers(1, 31, tracks)
        track = np.repeat(np.arange(tracks), sizes)
        hit = random.random(len(track)) < random.beta(2 * rate, 2 * (1 - rate), tracks)[track]
        low, high = (end.value for end in share_by_track(hit, track))
        held.append(low <= rate <= high)
    assert np.mean(held) >= 0.93


class TestMeans:
    def test_a_mean_of_zeros_and_ones_in_single_tracks_is_a_share(self):
        """Where a track is one instance, a share's unseen track and a mean's are the same."""
        values, track = (np.arange(200) % 9 == 0).astype(float), np.arange(200)
        found = mean_by_track(values, track, lowest=0, highest=1)
        assert (found.low, found.high) == share_by_track(values == 1, track)

    @pytest.mark.parametrize("level", [0.5, 0.95])
    def test_nothing_but_the_lowest_value_is_none_of_so_many_tracks(self, level):
        found = mean_by_track(np.full(90, 2.0), np.arange(90) // 3, lowest=2, highest=7, level=level)
        reference = binomtest(0, 30).proportion_ci(level, "exact")
        assert (found.value, found.low) == (Measure(2.0), Measure(2.0))
        assert found.high.value == pytest.approx(2 + 5 * reference.high)

    def test_the_other_way_round_it_is_the_mirror_image(self):
        random, track = np.random.default_rng(1), np.arange(120) // 6
        values = random.random(120)
        found = mean_by_track(values, track, lowest=0, highest=2)
        mirrored = mean_by_track(-values, track, lowest=-2, highest=0)
        assert [mirrored.high.value, mirrored.low.value] == pytest.approx(
            [-found.low.value, -found.high.value]
        )

    def test_a_value_that_could_be_worse_makes_it_less_sure(self):
        values, track = np.arange(120) % 5 / 5, np.arange(120) // 6
        near, far = (mean_by_track(values, track, lowest=0, highest=high) for high in (1, 4))
        assert near.low.value == pytest.approx(far.low.value)
        assert far.high.value > near.high.value + 0.1

    def test_too_few_tracks_have_a_mean_and_no_ends(self):
        found = mean_by_track(np.full(40, 0.25), np.arange(40) // 10, lowest=0, highest=1)
        assert found.value == Measure(0.25)
        assert "of 4 tracks" in found.low.reason
        assert found.high.reason == found.low.reason

    def test_no_instances(self):
        assert mean_by_track(np.empty(0), np.empty(0, int), lowest=0, highest=1).high.reason == "no instances"

    @pytest.mark.parametrize("values", [[0.5, 1.5], [0.5, np.nan], [-0.1, 0.5]])
    def test_what_is_beyond_what_could_be_is_refused(self, values):
        with refused(ParameterError):
            mean_by_track(np.array(values), np.arange(2), lowest=0, highest=1)
        with refused(ParameterError):
            mean_by_track(np.array(values), np.arange(2), lowest=1, highest=1)

    @given(st.lists(st.floats(0, 1), min_size=12, max_size=60))
    def test_the_ends_lie_around_the_mean_and_within_what_could_be(self, values):
        found = mean_by_track(np.array(values), np.arange(len(values)) // 2, lowest=0, highest=1)
        assert -1e-9 <= found.low.value <= found.value.value <= found.high.value <= 1 + 1e-9
        assert found.low.value < found.high.value


def drives(random, tracks, least=1):
    """Return the track of each instance of so many, and how many instances there are."""
    sizes = random.integers(least, 31, tracks)
    return np.repeat(np.arange(tracks), sizes)


def least_held(streams, level=0.975):
    """Return what share of streams an end at this level holds in but for one in 1,000 sets of streams."""
    return level - 3.1 * np.sqrt(level * (1 - level) / streams)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tracks", "wrong", "heavy"),
    [(6, 0.2, 0.1), (20, 0.05, 0.05), (40, 0.05, 0.02), (40, 0.3, 0.3), (150, 0.05, 0.02)],
)
def test_intervals_of_means_hold_where_heavy_values_are_rare(tracks, wrong, heavy):
    """Tracks of 1 to 30 instances, each with mistakes of a rate and a weight of its own: 1, or rarely 4."""
    random, held = np.random.default_rng(tracks), []
    for _ in range(400):
        track = drives(random, tracks)
        mistaken = random.random(len(track)) < random.beta(2 * wrong, 2 * (1 - wrong), tracks)[track]
        weight = np.where((random.random(tracks) < heavy)[track], 4.0, 1.0)
        found = mean_by_track(mistaken * weight, track, lowest=0, highest=4)
        true = wrong * (1 + 3 * heavy)
        held.append((found.low.value <= true, true <= found.high.value))
    assert (np.mean(held, axis=0) >= least_held(400)).all()


class TestRates:
    def test_where_there_was_no_event_there_may_be_one_a_track(self):
        """An unseen track has one event among its instances, and not one at each of them."""
        track = np.arange(600) // 20
        low, high = rate_by_track(np.zeros(600, dtype=bool), track)
        assert low.value == 0
        # Its weight has Clopper and Pearson's bound among those of 30 tracks; of its instances one counts.
        share = binomtest(0, 30).proportion_ci(0.95, "exact").high
        odds = share / (1 - share)
        assert high.value == pytest.approx(odds / (20 + odds), rel=0.1)

    def test_one_more_than_on_the_worst_track(self):
        """Six events on one of 30 tracks: the unseen one has seven, and weighs as much as that one does."""
        track = np.arange(600) // 20
        low, high = rate_by_track(np.isin(np.arange(600), np.arange(3, 15, 2)), track)
        weights = np.random.default_rng(0).exponential(size=(200_000, 31))
        events = 6 * weights[:, 0] + 7 * weights[:, -1]
        instances = 20 * weights[:, :-1].sum(axis=1) + 7 * weights[:, -1]
        assert high.value == pytest.approx(np.quantile(events / instances, 0.975), rel=0.1)
        without = 6 * weights[:, 0] / (20 * weights.sum(axis=1))
        assert low.value == pytest.approx(np.quantile(without, 0.025), rel=0.3)

    def test_too_few_tracks(self):
        assert "1 track;" in rate_by_track(np.arange(40) == 3, np.zeros(40, dtype=int))[0].reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tracks", "events", "alike"),
    [(8, 1, 0.5), (20, 0.1, 0.2), (20, 0.3, 5), (40, 0.3, 0.5), (150, 0.1, 0.3)],
)
def test_intervals_of_rates_hold(tracks, events, alike):
    """Each track of 5 to 30 instances has a rate of its own, gamma distributed, at which events begin."""
    random, held = np.random.default_rng(tracks), []
    rate = events / 17.5
    for _ in range(400):
        track = drives(random, tracks, least=5)
        begins = random.random(len(track)) < rate * random.gamma(alike, 1 / alike, tracks)[track]
        low, high = (end.value for end in rate_by_track(begins, track))
        held.append((low <= rate, rate <= high))
    assert (np.mean(held, axis=0) >= least_held(400)).all()


def test_a_random_instance_of_a_random_track_is_one_of_each_with_the_same_chance() -> None:
    track = np.repeat([0, 1, 2, 3, 4], [4, 2, 1, 2, 1])
    counts = np.array([1, 1, 0, 0, 1, 1, 0, 1, 1, 1], dtype=bool)
    hit = np.array([1, 0, 1, 0, 1, 1, 1, 0, 0, 0], dtype=bool)
    found = share_of_a_track(hit, counts, track)
    # Hit and counting: 1/4, 1, 0, 0, 0; counting: 1/2, 1, 0, 1, 1.
    assert found.value.value == pytest.approx(1.25 / 3.5, abs=1e-12)
    told = "the instances are of 4 tracks; an interval needs at least 5"
    assert (found.low.reason, found.high.reason) == (told, told)
    assert share_of_a_track(hit, counts & False, track).value.reason == "no instance counts"


def test_where_each_track_is_one_instance_it_is_the_share_of_those_that_count() -> None:
    hit, counts = np.arange(40) < 3, np.arange(40) < 30
    found = share_of_a_track(hit, counts, np.arange(40))
    exact = binomtest(3, 30).proportion_ci(0.95, method="exact")
    assert found.value.value == 0.1
    assert (found.low.value, found.high.value) == pytest.approx((exact.low, exact.high), abs=1e-12)
