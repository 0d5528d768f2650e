"""Bounds of what is counted by track: draws against exact bounds and by hand."""

import numpy as np
import pytest
from scipy.stats import binomtest

import farm.statistics.bounds as bounds_module
from farm.measures import Measure
from farm.statistics.bounds import DRAWS, TrackedSides, drawn_by_count, of_counts
from farm.statistics.resampling import exponential_weights


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
