import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom, norm

import farm.statistics.resampling as resampling_module
from farm.comparing.joint_tracks import AREAS, JointTracks
from farm.errors import ParameterError
from farm.gate import bounds as bounds_module
from farm.gate.binomial import Trials, as_trials, quantile_bounds, ranks
from farm.gate.bounds import redrawn
from farm.gate.observed import mean_over
from farm.gate.tables import Ranked, StreamTables
from farm.measures import auroc
from farm.measures.delays import Delays
from farm.measures.many import MANY
from farm.statistics.bounds import Drawn, Extra, placed
from farm.statistics.clopper_pearson import high_of_share, low_of_share
from tests.gate.made_streams import alike, in_tracks, make_set, make_stream
from tests.wording import refused, same_text

LEVELS = (0.5, 0.8, 0.95, 0.999)


def bounded(sets, name, level=0.95, *, monitor="m", replicates=2000, seed=0):
    sets = sets if isinstance(sets, list) else [sets]
    made = redrawn(sets, [(name, monitor)], replicates=replicates, seed=seed)
    found = made.bounds((name, monitor), mean_over(sets, name, monitor), level)
    return found.low.value, found.value.value, found.high.value


def truth_of(name, n_id, n_ood, fpr, fnr):
    return float(MANY[name](np.array([(1 - fpr) * n_id, fpr * n_id, fnr * n_ood, (1 - fnr) * n_ood])))


class TestTrials:
    @pytest.mark.parametrize(("seen", "n", "at"), [(0, 20, 0.05), (2, 30, 0.05), (9, 30, 0.5), (3, 4, 0.7)])
    @pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
    def test_needed_is_a_number_that_decides_with_the_chance_and_one_less_does_not(self, seen, n, at, power):
        needed, share = Trials(seen, n, at).needed(0.95, power), seen / n

        def chance(number):
            """Add up the chances of all counts whose bound decides."""
            counts = np.arange(number + 1)
            if share < at:
                decide = [high_of_share(k, number, 0.95) <= at for k in counts]
            else:
                decide = [low_of_share(k, number, 0.95) >= at for k in counts]
            return binom.pmf(counts, number, share)[decide].sum()

        assert chance(needed) >= power
        assert chance(needed - 1) < power

    @pytest.mark.parametrize("seen", [4, 4 + 1e-8])
    def test_no_number_decides_a_share_that_is_the_bound(self, seen):
        assert Trials(seen, 20, 0.2).needed(0.95, 0.8) is None


class TestQuantiles:
    @pytest.mark.parametrize("level", LEVELS)
    @pytest.mark.parametrize("q", [0.5, 0.9, 0.95, 0.99])
    @pytest.mark.parametrize("n", [1, 2, 20, 58, 59, 100, 299])
    def test_ranks_are_those_of_a_brute_force_binomial(self, n, q, level):
        """Of all ranks, the nearest ones whose chance to be on the wrong side is small enough."""
        chance = [math.comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(n + 1)]
        below = [r for r in range(1, n + 1) if sum(chance[r:]) >= level - 1e-12]
        above = [r for r in range(1, n + 1) if sum(chance[:r]) >= level - 1e-12]
        assert ranks(n, q, level) == (max(below, default=0), min(above, default=None))

    def test_the_upper_bound_of_p95_is_that_of_the_delays(self):
        random = np.random.default_rng(0)
        for n in (59, 93, 200):
            values = random.integers(0, 30, n).astype(float)
            found = quantile_bounds(values, 0.95, 0.95)
            assert found[1] == Delays.of(values).bound_of_p95()

    def test_what_is_too_few_for_an_upper_bound_has_a_reason(self):
        low, high = quantile_bounds(np.arange(20.0), 0.99, 0.95, what="onsets")
        assert low.value == 18.0
        same_text(high.reason)
        assert quantile_bounds(np.arange(3.0), 0.5, 0.95)[0].value == 0.0

    def test_infinite_values_are_values(self):
        values = np.append(np.arange(90.0), [np.inf] * 10)
        low, high = quantile_bounds(values, 0.95, 0.95)
        assert (low.value, high.value) == (np.inf, np.inf)
        assert quantile_bounds(values, 0.5, 0.95)[1].value == 58.0

    def test_values_measured_together_count_as_often_as_they_were_measured(self):
        each = np.random.default_rng(1).random(400)
        apart = quantile_bounds(each, 0.9, 0.95)
        assert quantile_bounds(np.repeat(each, 64), 0.9, 0.95, independent=400) == apart
        sure = quantile_bounds(np.repeat(each, 64), 0.9, 0.95)
        assert apart[0].value < sure[0].value < sure[1].value < apart[1].value

    @given(st.lists(st.integers(0, 9), min_size=1, max_size=120), st.integers(0, 9), st.booleans())
    def test_to_meet_a_bound_is_to_have_a_share_of_values_that_do(self, values, bound, strict):
        values, q = np.array(values, dtype=float), 0.9
        low, high = quantile_bounds(values, q, 0.95)
        trials = as_trials(values, q, bound, strict=strict, independent=len(values))
        met = high.defined and (high.value < bound if strict else high.value <= bound)
        assert met == (low_of_share(trials.seen, trials.n, 0.95) >= q)
        lowest = max(low.value, 0.0)
        failed = ranks(len(values), q, 0.95)[0] > 0 and not (lowest < bound if strict else lowest <= bound)
        assert failed == (high_of_share(trials.seen, trials.n, 0.95) <= q - 1e-12)

    def test_bounds_of_p95_hold_in_95_of_100_streams(self):
        random = np.random.default_rng(2)
        truth = -math.log(0.05)
        found = [quantile_bounds(random.exponential(size=150), 0.95, 0.95) for _ in range(1500)]
        below = np.mean([low.value <= truth for low, _ in found])
        above = np.mean([high.value >= truth for _, high in found])
        # Of 150 values ranks go by steps of 3 % here: the bounds are sure to 96.3 and 97.4 %.
        assert 0.945 <= below <= 0.985
        assert 0.945 <= above <= 0.985


class TestExactly:
    @pytest.mark.parametrize("k", [0, 1, 7, 59])
    def test_a_rate_of_independent_instances_has_clopper_and_pearsons_bounds(self, k):
        low, value, high = bounded(make_set(make_stream(np.arange(59) < k)), "specific.fpr")
        assert value == k / 59
        assert low == pytest.approx(beta.ppf(0.05, k, 60 - k) if k else 0.0)
        assert high == pytest.approx(beta.ppf(0.95, k + 1, 59 - k) if k < 59 else 1.0)

    @pytest.mark.parametrize("name", ["specific.fnr", "specific.recall"])
    def test_the_other_side_is_no_matter(self, name):
        is_ood = np.arange(100) >= 40
        low, value, high = bounded(make_set(make_stream(np.arange(100) % 5 == 0, is_ood=is_ood)), name)
        k = 60 * value
        ends = (beta.ppf(0.05, k, 61 - k), beta.ppf(0.95, k + 1, 60 - k))
        assert (low, high) == pytest.approx(ends)

    @pytest.mark.parametrize("name", ["residual_hazard", "coverage", "overall.error", "accepted_accuracy"])
    def test_so_has_a_rate_of_decisions_of_one_side(self, name):
        wrong = np.arange(60) % 10 == 0
        low, value, high = bounded(make_set(make_stream(np.arange(60) % 4 == 0, wrong=wrong)), name)
        n = 45 if name == "accepted_accuracy" else 60
        k = round(n * value)
        ends = (beta.ppf(0.05, k, n + 1 - k), beta.ppf(0.95, k + 1, n - k))
        assert (low, high) == pytest.approx(ends)

    def test_tracks_count_and_not_frames_where_all_are_alike(self):
        track = np.arange(400) // 20
        low, value, high = bounded(make_set(make_stream(track < 3, track=track)), "specific.fpr")
        assert value == 0.15
        assert (low, high) == pytest.approx((beta.ppf(0.05, 3, 18), beta.ppf(0.95, 4, 17)))

    def test_not_one_miss_is_bounded_by_the_number_of_tracks(self):
        high = bounded(make_set(make_stream(np.zeros(500), track=np.arange(500) // 10)), "specific.fpr")[2]
        assert high == pytest.approx(1 - 0.05 ** (1 / 50))

    def test_draws_come_to_the_same(self, monkeypatch):
        """Where each track is one instance, the draws have Clopper and Pearson's distribution."""
        monkeypatch.setattr(bounds_module, "_trials", lambda *_: None)
        for k in (0, 3, 40):
            one = make_set(make_stream(np.arange(80) < k))
            low, _, high = bounded(one, "specific.fpr", replicates=40_000)
            ends = (low_of_share(k, 80, 0.95), high_of_share(k, 80, 0.95))
            assert (low, high) == pytest.approx(ends, rel=0.02, abs=1e-4)


class TestUnseen:
    def test_a_perfect_monitor_is_not_surely_perfect(self):
        is_ood = np.arange(100) >= 40
        low, value, high = bounded(make_set(make_stream(is_ood, is_ood=is_ood)), "specific.mcc")
        assert (value, high) == (1.0, 1.0)
        # Not one of 40 false alarms: a rate of 7.2 % may be true, which is what lowers the MCC most.
        assert low == pytest.approx(truth_of("mcc", 40, 60, 1 - 0.05 ** (1 / 40), 0.0), abs=0.01)

    def test_of_several_sets_it_is_in_one_unless_they_share_tracks(self):
        nothing = np.zeros(50)
        apart = [make_set(make_stream(nothing, track=np.arange(50) + 50 * i), name=f"f{i}") for i in range(4)]
        shared = [make_set(make_stream(nothing), name=f"f{i}") for i in range(4)]
        high_apart, high_shared = (bounded(sets, "specific.fpr")[2] for sets in (apart, shared))
        assert high_shared == pytest.approx(1 - 0.05 ** (1 / 50), rel=0.1)
        assert high_apart == pytest.approx(high_shared / 4, rel=0.1)

    def test_a_large_track_that_was_quiet_is_not_outvoted_by_small_ones(self):
        """99 tracks of one frame and one of 1000: that is next to one track, not 100."""
        track = np.minimum(np.arange(1099), 99)
        high = bounded(make_set(make_stream(np.zeros(1099), track=track)), "specific.fpr")[2]
        assert high > 0.8

    def test_it_is_no_worse_than_bad_tracks_are_and_one_more(self):
        """Each second of 60 tracks has one false alarm of 10: the next is taken to have about a third."""
        alarm = (np.arange(600) % 20) == 3
        low, value, high = bounded(make_set(make_stream(alarm, track=np.arange(600) // 10)), "specific.fpr")
        assert value == 0.05
        assert 0.035 < low < 0.045
        # Were it wholly bad, 0.05 would become (60 * 0.05 + 1) / 61 = 0.066 in the mean, and 0.08 at the end.
        assert 0.06 < high < 0.072

    def test_the_share_of_ood_instances_stays_in_each_draw(self):
        """Who always alarms is wrong on what is ID; only of OOD instances something may come to be missed."""
        is_ood = np.arange(800) >= 600
        track = np.where(is_ood, np.arange(800), np.arange(800) // 100)
        stream = make_stream(np.ones(800), is_ood=is_ood, track=track)
        _, value, high = bounded(make_set(stream), "specific.error")
        assert value == 0.75
        assert high == pytest.approx(0.75 + 0.25 * (1 - 0.05 ** (1 / 200)), rel=0.001)

    def test_what_has_no_right_answer_cannot_turn_out_right(self):
        wrong = np.arange(100) >= 40
        options = {"is_ood": wrong, "wrong": wrong}
        stream = make_stream(wrong | (np.arange(100) % 10 == 0), **options)
        novel = bounded(make_set(stream, category="novelty"), "overall.fpr")
        assert novel[2] == pytest.approx(high_of_share(4, 40, 0.95))
        assert bounded(make_set(stream), "overall.fpr")[2] != pytest.approx(novel[2], abs=1e-6)

    def test_a_fallback_may_be_wrong_where_there_is_one(self):
        alarm = np.arange(100) < 20
        stream = make_stream(alarm)
        said = replace(stream.said["m"], decided=np.ones(100, bool), right=np.ones(100, bool))
        fallback = replace(stream, said={"m": said})
        with_one, without = (bounded(make_set(each), "coverage") for each in (fallback, stream))
        assert with_one[1] == 1.0
        assert without[1] == 0.8
        assert bounded(make_set(fallback), "residual_hazard")[2] == pytest.approx(1 - 0.05 ** (1 / 100))
        # Without a fallback no more can be gained than what is wrong and cancelled, and nothing lost.
        assert bounded(make_set(stream), "safety_gain")[0] == 0.0
        assert bounded(make_set(fallback), "safety_gain")[0] < 0.0


class TestPlaces:
    """Where the unseen track is, and what it does: by hand."""

    class Fixed:
        """A term that changes by given amounts."""

        def __init__(self, tracks, changes):
            self.tracks = [np.array(each) for each in tracks]
            self.changes = changes

        def extra(self, side, way):
            return Extra(0, 1.0, way * self.changes[side])

    def test_it_is_where_all_streams_together_change_most(self):
        """Track 3 is in both streams, and on one side of the second: its 1 + 3 is more than the 3 of 1."""
        terms = [self.Fixed([[0, 1], [2, 3]], [3.0, 1.0]), self.Fixed([[0, 3], [4]], [3.0, 3.5])]
        for way in (-1, 1):
            first, second = placed(terms, [1.0, 1.0], way, 5)
            # Track 0 has 3 + 3.
            assert [each is None for each in first + second] == [False, True, False, True]
            assert first[0].change == second[0].change == way * 3.0
            first, second = placed(terms, [0.1, 1.0], way, 5)
            # Of the first stream a tenth counts: 0.3 + 3 of track 0, and 3.5 of track 4.
            assert [each is None for each in first + second] == [True, True, True, False]
            first, second = placed(terms, [1.0, 0.1], way, 5)
            assert [each is None for each in first + second] == [False, True, False, True]
        alone = placed([self.Fixed([[0, 1], [2]], [0.5, 2.0])], [1.0], 1, 3)
        assert [each is None for each in alone[0]] == [True, False]

    def test_draws_are_means_over_sets_of_means_over_their_streams(self):
        """One set of one stream, another of three: each set counts half, whatever it is of."""

        def stream(rate, run):
            return make_stream(np.arange(4000) < 4000 * rate, run=run, track=np.arange(4000) + 4000 * run)

        sets = [
            make_set(stream(0.5, 0), name="fog"),
            make_set(stream(0.1, 1), stream(0.2, 2), stream(0.6, 3), name="snow"),
        ]
        low, value, high = bounded(sets, "specific.fpr", replicates=400)
        assert value == pytest.approx((0.5 + 0.3) / 2)
        spread = math.sqrt((0.25 + (0.09 + 0.16 + 0.24) / 9) / 4 / 4000)
        assert (value - low, high - value) == pytest.approx((1.645 * spread, 1.645 * spread), rel=0.2)

    def test_an_unseen_track_of_pairs(self):
        """Tracks of 1 and 3 scores with 0.5 and all of their pairs in the right order: an area of 0.875.

        A typical score is of a track of (1 + 9) / 4; a typical right pair is in a track with (0.25 + 1 + 1)
        / 2.5 of them, and a typical wrong one in a track with (0.25 + 1) / 1.5.
        """
        term = Ranked([np.array([4, 5])], [np.array([1.0, 3.0])], [np.array([0.5, 1.0])])
        up, down = term.extra(0, 1), term.extra(0, -1)
        more, less = 2.5 * 0.9, 2.5 * 1.25 / 1.5
        assert (up.kind, up.amount, up.change) == (
            1,
            *map(pytest.approx, (more, (4 * 0.875 + more) / (4 + more) - 0.875)),
        )
        assert (down.kind, down.amount, down.change) == (
            0,
            *map(pytest.approx, (less, 4 * 0.875 / (4 + less) - 0.875)),
        )
        drawn = [Drawn(np.array([4.0, 8.0]), np.array([0.875, 0.6]))]
        values = term.values(drawn, [up], np.array([1.0, 2.0]))
        assert values == pytest.approx([(3.5 + more) / (4 + more), (4.8 + 2 * more) / (8 + 2 * more)])
        values = term.values(drawn, [down], np.array([1.0, 2.0]))
        assert values == pytest.approx([3.5 / (4 + less), 4.8 / (8 + 2 * less)])
        assert term.values(drawn, [None], np.ones(2)) == pytest.approx([0.875, 0.6])


AT_ONCE = 25
"""Streams that are drawn together, as so many monitors of one, as that takes less time."""


def beside(drawn):
    """Put the monitors of sets that are alike otherwise beside one another, as m0, m1, and so on."""
    drawn = [sets if isinstance(sets, list) else [sets] for sets in drawn]
    found = []
    for alike_sets in zip(*drawn, strict=True):
        (stream,) = alike_sets[0].streams
        said = {f"m{i}": each.streams[0].said["m"] for i, each in enumerate(alike_sets)}
        found.append(replace(alike_sets[0], streams=[replace(stream, said=said)]))
    return found


def coverage(make, name, truth, streams, replicates=400):
    """In which shares of streams the lower bound is no higher than the truth, and the upper one no lower."""
    ends = []
    for seed in range(streams // AT_ONCE):
        sets = beside([make() for _ in range(AT_ONCE)])
        columns = [(name, f"m{i}") for i in range(AT_ONCE)]
        made = redrawn(sets, columns, replicates=replicates, seed=seed)
        found = [made.bounds(column, mean_over(sets, *column), 0.95) for column in columns]
        ends += [(each.low.value, each.high.value) for each in found]
    low, high = np.array(ends).T
    return np.mean(low <= truth + 1e-12), np.mean(high >= truth - 1e-12)


class TestCoverage:
    """At 95 %: of 250 streams, 93 % or more with a chance of 0.93."""

    @pytest.mark.parametrize(
        ("name", "options"),
        [
            ("mcc", {"tracks": (30, 30), "frames": 6, "fpr": 0.05, "fnr": 0.2, "share": 0.5}),
            ("mcc", {"tracks": (150, 80), "frames": 1, "fpr": 0.03, "fnr": 0.1, "share": 0.0}),
            ("mcc", {"tracks": (12, 10), "frames": 8, "fpr": 0.1, "fnr": 0.4, "share": 0.3}),
            ("fpr", {"tracks": (40, 10), "frames": 8, "fpr": 0.04, "fnr": 0.2, "share": 0.5}),
            ("precision", {"tracks": (60, 40), "frames": 2, "fpr": 0.05, "fnr": 0.5, "share": 0.3}),
            ("error", {"tracks": (20, 40), "frames": 5, "fpr": 0.05, "fnr": 0.1, "share": 0.7}),
        ],
    )
    def test_bounds_of_tracks_hold(self, name, options):
        random = np.random.default_rng(7)
        n_id, n_ood = options["tracks"]
        truth = truth_of(name, n_id, n_ood, options["fpr"], options["fnr"])
        found = coverage(lambda: make_set(in_tracks(random, **options)), f"specific.{name}", truth, 250)
        assert min(found) >= 0.93

    def test_bounds_of_the_mean_over_sets_with_shared_tracks_hold(self):
        random = np.random.default_rng(8)

        def make():
            hits = alike(random, 40, 2, 0.85, 0.6)
            streams = [make_stream(h, is_ood=np.ones(40), track=np.arange(40)) for h in hits.T]
            return [make_set(stream, name=f"f{i}") for i, stream in enumerate(streams)]

        assert min(coverage(make, "specific.fnr", 0.15, 250)) >= 0.93

    @pytest.mark.parametrize(("mean", "tracks"), [(1.8, 60), (2.9, 30)])
    def test_bounds_of_auroc_hold(self, mean, tracks):
        random, is_ood = np.random.default_rng(9), np.repeat([False, True], tracks)

        def make():
            return make_set(make_stream(is_ood, is_ood=is_ood, score=random.normal(mean * is_ood)))

        assert min(coverage(make, "auroc", norm.cdf(mean / math.sqrt(2)), 250)) >= 0.93

    def test_bounds_are_not_wider_than_they_have_to_be(self):
        """Of many independent instances the bounds of MCC hold in 95 of 100 streams, and not in all."""
        random = np.random.default_rng(10)
        options = {"tracks": (400, 400), "frames": 1, "fpr": 0.1, "fnr": 0.3, "share": 0.0}
        truth = truth_of("mcc", 400, 400, 0.1, 0.3)
        found = coverage(lambda: make_set(in_tracks(random, **options)), "specific.mcc", truth, 300, 300)
        assert min(found) >= 0.92
        assert max(found) <= 0.985


def some(tracks):
    random = np.random.default_rng(0)
    return make_set(in_tracks(random, tracks=(tracks, tracks), frames=3, fpr=0.1, fnr=0.3, share=0.5))


class TestDraws:
    def test_they_are_the_same_again_and_others_with_another_seed(self):
        one = some(20)
        assert bounded(one, "specific.mcc") == bounded(one, "specific.mcc")
        assert bounded(one, "specific.mcc") != bounded(one, "specific.mcc", seed=1)

    def test_blocks_change_nothing(self, monkeypatch):
        one = some(20)
        whole = bounded(one, "specific.mcc")
        monkeypatch.setattr(resampling_module, "_CELLS", 1000)
        assert bounded(one, "specific.mcc") == pytest.approx(whole, abs=1e-12)

    def test_what_else_is_drawn_changes_nothing(self):
        one = some(20)
        alone = bounded(one, "specific.mcc")
        names = ("overall.error", "specific.mcc", "coverage", "specific.precision")
        made = redrawn([one], [(name, "m") for name in names], replicates=2000, seed=0)
        found = made.bounds(("specific.mcc", "m"), mean_over([one], "specific.mcc", "m"), 0.95)
        assert (found.low.value, found.value.value, found.high.value) == pytest.approx(alone, abs=1e-12)

    def test_a_level_that_the_draws_cannot_reach_has_no_bounds(self):
        one = some(20)
        column = ("specific.mcc", "m")
        found = redrawn([one], [column], replicates=100, seed=0).bounds(
            column, mean_over([one], *column), 0.999
        )
        assert found.low.reason == found.high.reason == "100 draws are too few for a level of 99.9 %"

    def test_a_higher_level_never_narrows(self):
        one = some(9)
        for name in ("specific.mcc", "specific.fpr", "specific.weighted_f1"):
            ends = [bounded(one, name, level) for level in LEVELS[:3]]
            for (low, value, high), (lower, _, higher) in itertools.pairwise(ends):
                assert lower <= low <= value <= high <= higher

    def test_each_tracks_part_of_the_area_is_that_of_its_pairs(self):
        """A tie is half a pair, seen from either side."""
        random, is_ood, track = np.random.default_rng(0), np.arange(60) >= 40, np.arange(60) // 4
        score = random.integers(0, 4, 60) + is_ood
        stream = make_stream(is_ood, is_ood=is_ood, track=track, score=score.astype(float))
        (joined,) = JointTracks.of([make_set(stream)]).streams
        term = StreamTables(joined, [("auroc", "m")]).terms["auroc", "m"]
        for side, tracks in enumerate(term.tracks):
            for area, number in zip(term.areas[side], tracks, strict=True):
                own = joined.own[joined.alone.code] == number
                pairs = auroc(score[own | (is_ood == (side == 0))], is_ood[own | (is_ood == (side == 0))])
                assert area == pytest.approx(pairs.value)

    def test_measures_without_counts_are_refused(self):
        one = make_set(make_stream(np.zeros(9)))
        for name in ("aupr", "system_mcc"):
            with refused(ParameterError):
                redrawn([one], [(name, "m")], replicates=9, seed=0)
        with refused(ParameterError):
            redrawn([one], [("auroc", "m")], replicates=9, seed=0)


@pytest.mark.parametrize("measure", ["overall.mcc", "alarm_rate", "classifier_brier_sum", *AREAS])
def test_very_many_tracks_are_weighed_in_bundles_to_the_same_end(monkeypatch, measure):
    """But for areas, whose pairs are of tracks; tracks are of two streams, and of both sides."""
    n, weights, random = 4400, [], np.random.default_rng(3)
    is_ood, wrong = np.arange(n) % 3 == 0, np.arange(n) % 5 == 0
    streams = [
        make_stream(
            random.random(n) < np.where(wrong, 0.4, 0.1),
            wrong=wrong,
            is_ood=is_ood,
            track=np.minimum(np.arange(n), 300 * number + np.arange(n)[::-1]),
            score=random.random(n) + is_ood,
        )
        for number in range(2)
    ]
    said = {"confidence": np.where(wrong, 0.5, 0.8) * random.random(n), "brier": 2 * random.random(n)}
    streams = [replace(stream, **said) for stream in streams]
    sets = [make_set(stream, name=f"fog {number}") for number, stream in enumerate(streams)]

    def exponential_weights(replicates, n_groups, *, seed):
        weights.append(n_groups)
        return resampling_module.exponential_weights(replicates, n_groups, seed=seed)

    monkeypatch.setattr(bounds_module, "exponential_weights", exponential_weights)
    replicates = 50 if measure in AREAS else 2000
    in_bundles = bounded(sets, measure, 0.9, replicates=replicates)
    monkeypatch.setattr(bounds_module, "MOST_DRAWN", n)
    one_by_one = bounded(sets, measure, 0.9, replicates=replicates)
    assert in_bundles == pytest.approx(one_by_one, abs=0.004)
    n_tracks = JointTracks.of(sets).together.n_groups
    assert n_tracks > 2000
    assert weights == [n_tracks + 1 if measure in AREAS else 2001, n_tracks + 1]
