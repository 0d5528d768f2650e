"""Bounds of what is counted by track: shares against scipy, draws against exact bounds and by hand."""

import numpy as np
import pytest
from scipy.stats import binomtest

import farm.statistics.bounds as bounds_module
from farm.measures import Measure
from farm.statistics.bounds import DRAWS, TrackedSides, drawn_by_count, of_counts, share_by_track
from farm.statistics.resampling import exponential_weights


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


class TestDraws:
    SIDES = (np.arange(60), np.arange(60, 100))
    TRACK = np.where(np.arange(100) < 60, np.arange(100) // 6, 8 + np.arange(100) // 20)

    def drawn(self):
        sides = TrackedSides(self.TRACK, self.SIDES)
        counts = [side.counts(np.arange(100) % 3, 3) for side in sides.weighed]
        return sides, *sides.draw(counts)

    def test_what_is_drawn_is_a_sum_of_weights(self):
        """Instances of each kind, weighed by their tracks; a track on both sides has one weight."""
        sides, drawn, unseen_weight = self.drawn()
        assert not sides.bundled
        (weights,) = exponential_weights(DRAWS, 14, seed=0)
        for rows, side in zip(self.SIDES, drawn, strict=True):
            assert side.n == pytest.approx(weights[:, self.TRACK[rows]].sum(axis=1))
            for kind in range(3):
                own = self.TRACK[rows[rows % 3 == kind]]
                assert side.of[:, kind] == pytest.approx(weights[:, own].sum(axis=1))
        assert unseen_weight == pytest.approx(weights[:, -1])

    def test_bundles_have_a_weight_each(self, monkeypatch):
        monkeypatch.setattr(bounds_module, "MOST_DRAWN", 5)
        sides, drawn, _ = self.drawn()
        assert sides.bundled
        # Five weights a draw: what 13 tracks come to lies in a space of five dimensions.
        together = np.column_stack([column for side in drawn for column in (side.n, *side.of.T)])
        assert np.linalg.matrix_rank(together) <= 5
        for rows, tracks, found in zip(self.SIDES, sides.tracks, drawn, strict=True):
            assert len(tracks.groups) == len(np.unique(self.TRACK[rows]))
            assert found.n.mean() == pytest.approx(len(rows), rel=0.05)
            assert found.of.mean(axis=0) == pytest.approx(np.bincount(rows % 3), rel=0.05)

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

    def test_counts_alone_are_drawn_as_instances_are(self):
        """Sums of so many exponential weights: their mean and variance are the count, and none stays none."""
        by_side = np.array([[40.0, 3.0, 0.0], [0.0, 7.0, 90.0]])
        drawn, weight = drawn_by_count(by_side)
        for counts, side in zip(by_side, drawn, strict=True):
            assert side.of.mean(axis=0) == pytest.approx(counts, rel=0.05)
            assert side.of.var(axis=0) == pytest.approx(counts, rel=0.15)
            assert (side.of[:, counts == 0] == 0).all()
            assert side.n == pytest.approx(side.of.sum(axis=1))
        assert weight.mean() == pytest.approx(1, rel=0.05)

    def test_a_share_of_counts_has_clopper_and_pearsons_interval(self):
        by_side = np.array([[46.0, 4.0]])
        term = of_counts(lambda counts: counts[..., 1] / counts.sum(axis=-1), by_side, [(0, 1)])
        found = term.interval(Measure(0.08), *drawn_by_count(by_side))
        reference = binomtest(4, 50).proportion_ci(0.95, "exact")
        # Of 2,000 draws 50 lie beyond each end: its density makes that some 3 % of the lower one.
        assert (found.low.value, found.high.value) == pytest.approx((reference.low, reference.high), rel=0.1)


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
