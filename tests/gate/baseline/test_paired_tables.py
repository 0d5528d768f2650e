"""What a paired difference is drawn of, and how sure it is: exact where that is known, and in simulations."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import beta, binom, binomtest

from benchmarks.paired_coverage import LEVEL, Setting, held, stream, truth
from farm.comparing import measured
from farm.comparing.joint_tracks import JointTracks, task_of
from farm.errors import ParameterError
from farm.gate.baseline import Baseline, before, paired_differences, paired_sets
from farm.gate.baseline.paired_tables import PairedTables
from farm.measures import Measure
from farm.measures.many import MANY
from farm.statistics.clopper_pearson import high_of_share
from tests.gate.baseline.kept_runs import by_chance, flipped, run_of
from tests.wording import refused

N, K = 1000, 500
"""Of so many instances the second half is OOD."""


def tables_of(sets, *asked):
    """Give the tables of all streams."""
    return [PairedTables(each, asked) for each in JointTracks.of(sets).streams]


def difference(now, then, measure, *, level=0.95, replicates=4000):
    sets = paired_sets([now], Baseline.of([then]))
    (found,) = paired_differences(sets, measured(measure), ["oob"], level=level, replicates=replicates)
    return found


def ends(now, then, measure, **options):
    found = difference(now, then, measure, **options).difference
    return found.low.value, found.high.value


@pytest.fixture
def run():
    return run_of({"oob": np.arange(N) % 2 == 0})


class TestExactly:
    @pytest.mark.parametrize("level", [0.9, 0.95])
    @pytest.mark.parametrize("measure", ["specific.fpr", "specific.fnr"])
    def test_where_nothing_differs_it_is_what_may_differ_unseen(self, run, level, measure):
        exact = binomtest(0, K).proportion_ci(level, method="exact").high
        found = difference(run, run, measure, level=level, replicates=10_000)
        assert (found.changed, found.verdict, found.difference.value.value) == (0, "the same", 0.0)
        assert (found.difference.low.value, found.difference.high.value) == pytest.approx(
            (-exact, exact), rel=0.04
        )

    @pytest.mark.parametrize("seen", [1, 4, 40])
    def test_changes_in_one_direction_are_clopper_and_pearsons(self, run, seen):
        """On the other side of the value an unseen change back takes one of them away."""
        alarms = run.alarms["alarm"].to_numpy()
        quiet = np.flatnonzero(~alarms[:K])[:seen]
        found = difference(flipped(run, quiet), run, "specific.fpr", level=0.9, replicates=10_000)
        assert found.changed == seen
        assert found.difference.value.value == pytest.approx(seen / K)
        assert found.difference.high.value == pytest.approx(high_of_share(seen, K, 0.95), rel=0.04)
        assert found.difference.low.value < beta.ppf(0.05, seen, K + 1 - seen)
        assert found.difference.low.value > beta.ppf(0.05, seen, K + 1 - seen) - 3.1 / K

    def test_where_all_differ_alike_an_exception_goes_the_other_way(self):
        never, always = run_of({"oob": np.zeros(N)}), run_of({"oob": np.ones(N)})
        found = difference(always, never, "specific.fpr", replicates=10_000)
        assert found.difference.value.value == found.difference.high.value == 1.0
        assert found.difference.low.value == pytest.approx(1 - 2 * high_of_share(0, K, 0.975), abs=0.001)
        assert found.verdict == "worse, surely"

    def test_mcc_moves_as_if_all_that_is_unseen_were_for_the_worst(self, run):
        """By hand: the counts are 250 each, and of the one side a share of 500 is moved either way."""
        more = high_of_share(0, K, 0.975)

        def mcc(**moved):
            counts = {"tn": 0.5, "fp": 0.5, "fn": 0.5, "tp": 0.5, **moved}
            return float(MANY["mcc"](np.array([counts[name] for name in ("tn", "fp", "fn", "tp")])))

        # One track more that is fp now and was tn before; the two differ by it alone.
        rest = 0.5 * (1 - more)
        changes = (
            mcc(fp=rest + more, tn=rest) - mcc(fp=rest, tn=rest + more),
            mcc(fn=rest + more, tp=rest) - mcc(fn=rest, tp=rest + more),
        )
        low, high = ends(run, run, "specific.mcc", replicates=10_000)
        assert low == pytest.approx(min(changes), rel=0.04)
        assert high == pytest.approx(-min(changes), rel=0.04)

    def test_auroc_that_is_the_same_may_change_by_the_share_of_pairs(self):
        run = by_chance(n=N)
        found = difference(run, run, "auroc", replicates=10_000)
        more = high_of_share(0, K, 0.975)
        assert (found.difference.low.value, found.difference.high.value) == pytest.approx(
            (-more, more), rel=0.04
        )
        assert (found.changed, found.verdict) == (0, "the same")


class TestUnseen:
    def test_only_what_the_measure_counts_is_a_change_of_it(self, run):
        now = flipped(run, range(N - 3, N))
        assert [difference(now, run, f"specific.{name}").changed for name in ("fpr", "fnr", "mcc")] == [
            0,
            3,
            3,
        ]

    def test_a_track_changes_as_a_whole_until_the_size_of_changes_is_known(self):
        track = np.arange(N) // 5
        run = run_of({"oob": np.arange(N) % 2 == 0}, track=track)
        nothing = ends(run, run, "specific.fpr", replicates=10_000)[1]
        assert nothing == pytest.approx(high_of_share(0, K // 5, 0.975), rel=0.04)
        many = flipped(run, range(1, 400, 10))  # one instance of 40 tracks, a false alarm now
        found = difference(many, run, "specific.fpr")
        assert found.changed == 40
        # 1.96 of it are the spread alone; were the unseen track to change as a whole, it would be 3.3.
        spread = 0.2 * np.sqrt(0.4 * 0.6 / 100)
        assert 40 / K + 1.9 * spread < found.difference.high.value < 40 / K + 2.6 * spread

    def test_a_track_that_is_in_several_sets_changes_in_all_of_them(self):
        """100 tracks under two faults, or 200 of their own: twice as many that nothing was seen in."""
        alarm = np.arange(400) % 2 == 0
        shared = np.r_[np.arange(300), np.arange(200, 300)]
        runs = [
            run_of({"oob": alarm}, faults=("fog", "snow"), n_ood=200, track=track)
            for track in (np.arange(400), shared)
        ]
        apart, together = (ends(run, run, "specific.fnr", replicates=10_000)[1] for run in runs)
        assert together == pytest.approx(high_of_share(0, 100, 0.975), rel=0.05)
        assert apart == pytest.approx(together / 2, rel=0.05)

    def test_it_has_as_many_mistaken_instances_as_tracks_have_that_have_some(self):
        """One instance of each ten is wrong: an unseen track of ten has one that may be missed."""
        n, track = 800, np.arange(800) // 10
        wrong = np.arange(n) % 10 == 0
        run = run_of({"oob": wrong}, wrong=wrong, track=track, n_ood=n // 2)
        high = ends(run, run, "residual_hazard", replicates=10_000)[1]
        # Half of the stream is of that side, and one frame in ten of the unseen track.
        assert high == pytest.approx(0.5 * 0.1 * high_of_share(0, 40, 0.975), rel=0.1)
        only_once = run_of({"oob": wrong & (track < 1)}, wrong=wrong & (track < 1), track=track)
        assert ends(only_once, only_once, "residual_hazard")[1] == pytest.approx(
            0.5 * high_of_share(0, 40, 0.975), rel=0.15
        ), "on the OOD side none was wrong: all of an unseen track may be"

    def test_whether_a_classifier_is_right_changes_with_the_classifier_alone(self):
        rng = np.random.default_rng(0)
        alarm, wrong = rng.random(400) < 0.3, rng.random(400) < 0.2
        same, other = (
            tables_of(paired_sets([now], Baseline.of([run_of({"oob": alarm}, wrong=wrong)])), COLUMN)
            for now in (
                run_of({"oob": ~alarm}, wrong=wrong),
                run_of({"oob": alarm}, wrong=wrong ^ (rng.random(400) < 0.02)),
            )
        )
        for tables, n in ((same, 8), (other, 16)):
            assert [len(amounts) for amounts in tables[0].terms[COLUMN].amounts] == [n, n]

    def test_a_draw_of_equal_weights_is_the_difference_itself(self):
        now, then = by_chance(1), by_chance(0)
        sets = paired_sets([now], Baseline.of([then]))
        for name in ("overall.mcc", "specific.weighted_f1", "coverage", "residual_hazard", "auroc"):
            (tables,) = tables_of(sets, (name, "oob"))
            weights = np.ones((1, 400))
            drawn = tables.drawn(weights)[task_of(name), "oob"]
            drawn = tables.terms[name, "oob"].values(drawn, [None, None], np.ones(1))
            value = difference(now, then, name, replicates=100).difference.value.value
            assert drawn == pytest.approx([value], abs=1e-12), name
        assert difference(now, then, "auroc").changed == 400, "all scores are others"

    def test_what_does_not_follow_from_decisions_is_refused(self, run):
        sets = paired_sets([run], Baseline.of([run]))
        with refused(ParameterError):
            tables_of(sets, ("system_mcc", "oob"))


COLUMN = ("overall.mcc", "oob")
STREAMS = 50
RARE = Setting(30, 8, "rare", 0.95, worse=True)
COMMON = Setting(100, 1, "common", 0.6, worse=True)
LONG = Setting(30, 20, "common", 0.95, worse=False)


@cache
def bounds_held(of, streams):
    return held(of, streams=streams, replicates=200)


class TestCoverage:
    """Of so many streams 95 % hold, less chance: fewer than that once in 1,000 tests."""

    @pytest.mark.parametrize(
        ("of", "streams"),
        [
            (RARE, STREAMS),
            (COMMON, STREAMS),
            *(pytest.param(of, 200, marks=pytest.mark.slow) for of in (RARE, COMMON, LONG)),
        ],
        ids=lambda of: (
            f"{of.tracks} tracks of {of.frames}, {of.errors}" if isinstance(of, Setting) else str(of)
        ),
    )
    def test_each_bound_alone_holds(self, of, streams):
        fewest = binom.ppf(0.001, streams, LEVEL) / streams
        for name, one in bounds_held(of, streams).items():
            assert one.n >= 0.9 * streams, name
            assert min(one.low, one.high) >= fewest, name

    def test_bounds_are_not_so_far_out_that_they_always_hold(self):
        """Of many tracks that often differ."""
        found = bounds_held(COMMON, STREAMS)
        assert min(found["specific.mcc"].low, found["overall.mcc"].high) < 1.0

    def test_the_truth_is_that_of_a_huge_sample(self):
        of = Setting(20_000, 8, "common", 0.6, worse=True)
        (one,) = stream(np.random.default_rng(0), of)
        (each,) = one.streams
        for name in ("overall.mcc", "specific.mcc"):
            values = []
            for monitor in ("m", before("m")):
                said = each.said[monitor]
                positive = each.should_cancel if name.startswith("overall") else each.is_ood
                values.append(np.corrcoef(positive, said.alarm)[0, 1])
            assert values[0] - values[1] == pytest.approx(truth(name, of), abs=0.01)
        hazards = [(each.should_cancel & ~each.said[m].cancelled).mean() for m in ("m", before("m"))]
        assert hazards[0] - hazards[1] == pytest.approx(truth("residual_hazard", of), abs=0.005)
        fprs = [each.said[m].alarm[~each.is_ood].mean() for m in ("m", before("m"))]
        assert fprs[0] - fprs[1] == pytest.approx(truth("specific.fpr", of), abs=0.005)

    def test_rare_changes_are_covered(self):
        """Of 400 instances 3.5 get worse on average: resampling alone misses that one time in seven."""
        rng = np.random.default_rng(1)
        n, rate = 800, 3.5 / 400
        then = run_of({"oob": np.arange(n) >= n // 2})
        (one,) = paired_sets([then], Baseline.of([then]))
        (stream,) = one.streams
        monitors = [f"m{i}" for i in range(20)]  # at once, as that takes less time
        found = []
        for seed in range(6):
            said, values = {}, {}
            for name in monitors:
                missed = stream.is_ood & (rng.random(n) < rate)
                said[before(name)] = stream.said["oob"]
                said[name] = replace(stream.said["oob"], alarm=stream.is_ood & ~missed)
                values[before(name)], values[name] = Measure(0.0), Measure(missed[n // 2 :].mean())
            sets, fnr = [replace(one, streams=[replace(stream, said=said)])], measured("specific.fnr")
            found += paired_differences(
                sets, fnr, monitors, level=0.9, replicates=300, values=values, seed=seed
            )
        low, high = np.array([(one.difference.low.value, one.difference.high.value) for one in found]).T
        assert len(found) == 120
        # At each end 5 % may miss: 6 of 120, and more than 11 by chance once in 50 tests, but for the seed.
        assert (high < rate).sum() <= 11
        assert (low > rate).sum() <= 11
