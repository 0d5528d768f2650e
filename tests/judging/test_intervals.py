"""Intervals of judged records: against scipy and the gate's bounds, and how often they hold by simulation."""

import numpy as np
import pytest
from scipy.stats import binomtest

import farm.statistics.bounds as bounds_module
from benchmarks.interval_coverage import Setting, coverage
from farm.comparing import BenchmarkSet
from farm.gate.bounds import redrawn
from farm.judging import JudgedRun, judge
from farm.judging.by_parts import judge_by_parts
from farm.judging.intervals import BOUNDED, TASKS
from farm.measures import Measure
from farm.testing import make_readouts

RANDOM = np.random.default_rng(5)
N = 240
IS_OOD = np.arange(N) >= 160
WRONG = RANDOM.random(N) < np.where(IS_OOD, 0.6, 0.1)
ALARM = RANDOM.random(N) < np.where(IS_OOD, 0.7, 0.1)
TRACK = np.arange(N) // 8
OF = {"error": ("fp", "fn", "tn", "tp"), "fpr": ("fp", "tn"), "fnr": ("fn", "tp")}
"""Of which counts a rate is, and of which the first are what it is a share of."""


def readouts(alarm=ALARM, track=None, wrong=WRONG, is_ood=IS_OOD, **columns):
    named = None if track is None else [None if each is None else f"track {each}" for each in track]
    return make_readouts({"m": alarm}, wrong=wrong, is_ood=is_ood, track=named, **columns)


def judged(*args, **columns):
    made = readouts(*args, **columns)
    return JudgedRun.of(made.instances, made.alarms, made.run)


def first(run):
    """Return the record of part all and the one monitor."""
    record = run.records[0]
    assert (record["part"], record["monitor"]) == ("all", "m")
    return record


def ends(block, name):
    return block[f"{name}_low"], block[f"{name}_high"]


def gates(run, category="shift"):
    """Return the bounds that the gate has for the same stream, of 97.5 % at each side."""
    one = BenchmarkSet("signs", "lenet", "fog", category, "3", [], [run.table])
    columns = [(f"{task}.{name}", "m") for task in TASKS for name in BOUNDED]
    made = redrawn([one], columns, replicates=2000, seed=0)
    record = first(run)
    found = {}
    for name, _ in columns:
        task, _, measure = name.partition(".")
        bounded = made.bounds((name, "m"), Measure(record[task][measure]), 0.975)
        found[name] = bounded.low.value, bounded.high.value
    return found


class TestOfInstances:
    @pytest.mark.parametrize("task", TASKS)
    @pytest.mark.parametrize("name", OF)
    def test_rates_have_wilsons_interval(self, task, name):
        record = first(judged())
        block = record[task]
        counts = [block[cell] for cell in OF[name]]
        k = sum(counts[: len(counts) // 2])
        reference = binomtest(k, sum(counts)).proportion_ci(0.95, "wilson")
        assert ends(block, name) == pytest.approx((reference.low, reference.high))
        assert (record["intervals_by"], record["n_tracks"]) == ("instances", None)

    @pytest.mark.parametrize("category", ["shift", "novelty"])
    @pytest.mark.parametrize("task", TASKS)
    def test_mcc_has_the_interval_of_each_instance_being_a_track(self, task, category):
        wrong = WRONG | (IS_OOD if category == "novelty" else False)
        run = judged(category=category, wrong=wrong)
        record = first(run)
        assert ends(record[task], "mcc") == pytest.approx(gates(run, category)[f"{task}.mcc"], abs=0.015)

    @pytest.mark.parametrize("name", ["all right", "one miss", "one false alarm"])
    def test_of_few_instances_what_was_not_seen_counts(self, name):
        place = np.arange(26)
        is_ood = place >= 6
        alarm = is_ood ^ (place == {"one miss": 20, "one false alarm": 1}.get(name))
        run = judged(alarm, wrong=place % 3 == 0, is_ood=is_ood)
        record = first(run)
        for task in TASKS:
            expected = gates(run)[f"{task}.mcc"]
            assert ends(record[task], "mcc") == pytest.approx(expected, abs=0.05), task

    def test_a_perfect_monitor_is_not_surely_perfect(self):
        low, high = ends(first(judged(IS_OOD))["specific"], "mcc")
        assert high == 1.0
        # Not one miss in 80: up to 4.5 % may be true at this level, and 2.3 % false alarms of 160.
        missed = 80 * (1 - 0.025 ** (1 / 80))
        least = (160 * (80 - missed)) / np.sqrt(80 * 160 * (80 - missed) * (160 + missed))
        assert low == pytest.approx(least, abs=0.01)

    def test_tracks_of_one_instance_each_are_instances(self):
        run = judged(track=range(N))
        record, alone = first(run), first(judged())
        assert (record["intervals_by"], record["n_tracks"]) == ("instances", N)
        assert record["specific"] == alone["specific"]

    def test_what_is_undefined_keeps_its_reason(self):
        block = first(judged(np.zeros(N, dtype=bool)))["specific"]
        assert ends(block, "mcc") == (None, None)
        assert block["undefined"]["mcc_low"] == block["undefined"]["mcc"]
        assert block["fnr"] == block["fnr_high"] == 1.0


class TestOfTracks:
    def test_they_are_the_gates_bounds(self):
        """Both ends of 97.5 % each, as `farm check` has them of the same stream."""
        run = judged(track=TRACK)
        record, reference = first(run), gates(run)
        assert (record["intervals_by"], record["n_tracks"]) == ("tracks", N // 8)
        for name, expected in reference.items():
            task, _, measure = name.partition(".")
            assert ends(record[task], measure) == pytest.approx(expected, abs=1e-9), name

    def test_novel_instances_are_never_right(self):
        """No track of them counts for the share of right decisions that are cancelled: twenty others do."""
        columns = {"track": TRACK, "wrong": IS_OOD}
        novel, shifted = (
            ends(first(judged(TRACK < 3, category=each, **columns))["overall"], "fpr")
            for each in ("novelty", "shift")
        )
        reference = binomtest(3, 20).proportion_ci(0.95, "exact")
        assert novel == pytest.approx((reference.low, reference.high))
        assert shifted[1] > novel[1]

    def test_what_was_seen_is_possible_whatever_the_category_says(self):
        """A log may call novel what the classifier gets right; its right decisions count all the same."""
        run = judged(track=TRACK, category="novelty")
        for record in run.records:
            for task in TASKS:
                for name in BOUNDED if record[task] else ():
                    value, (low, high) = record[task][name], ends(record[task], name)
                    assert value is None or low <= value <= high, (record["part"], task, name)

    def test_tracks_that_alarm_wholly_or_not_count_as_one_each(self):
        record = first(judged(np.isin(TRACK, (3, 9, 21, 22)), track=TRACK))
        reference = binomtest(2, 20).proportion_ci(0.95, "exact")
        assert ends(record["specific"], "fpr") == pytest.approx((reference.low, reference.high))
        reference = binomtest(8, 10).proportion_ci(0.95, "exact")
        assert ends(record["specific"], "fnr") == pytest.approx((reference.low, reference.high))

    def test_they_are_wider_where_instances_of_a_track_are_alike(self):
        alarm = np.where(IS_OOD, 7, 2) > (TRACK * 7) % 10
        alone, together = first(judged(alarm)), first(judged(alarm, track=TRACK))
        for name in BOUNDED:
            (low, high), (lower, higher) = (ends(each["specific"], name) for each in (alone, together))
            assert higher - lower > 1.8 * (high - low), name

    def test_an_instance_without_a_track_is_one_of_its_own(self):
        some = [None if number % 8 else number for number in range(N)]
        pairs = [TRACK[number] if number < 16 else None for number in range(N)]
        assert first(judged(track=some))["intervals_by"] == "instances"
        record = first(judged(track=pairs))
        assert (record["intervals_by"], record["n_tracks"]) == ("tracks", N - 14)

    def test_each_part_has_its_own(self):
        """ID instances alone are of tracks; each OOD one stands alone."""
        run = judged(track=[number if number >= 160 else TRACK[number] for number in range(N)])
        by_part = {r["part"]: (r["intervals_by"], r["n_tracks"]) for r in run.records}
        assert by_part == {"all": ("tracks", 100), "id": ("tracks", 20), "ood": ("instances", 80)}

    def test_the_order_of_rows_is_no_matter(self):
        made = readouts(track=TRACK)
        shuffled = made.instances.sample(frac=1, random_state=0)
        assert judge(shuffled, made.alarms, made.run) == judge(made.instances, made.alarms, made.run)

    def test_too_few_tracks_have_a_value_and_no_interval(self):
        track = np.where(IS_OOD, 100 + np.arange(N) // 27, TRACK)  # four of OOD instances
        block = first(judged(track=track))["specific"]
        assert ends(block, "fpr")[0] is not None
        for name in ("mcc", "fnr", "error"):
            assert block[name] is not None
            assert ends(block, name) == (None, None)
            why = block["undefined"][f"{name}_low"]
            assert why == "the OOD instances are of 4 tracks; an interval needs at least 5"

    def test_too_few_tracks_where_nobody_knows_what_is_ood(self):
        run = judged(track=np.arange(N) // 60, is_ood=None)
        why = first(run)["overall"]["undefined"]["error_low"]
        assert why == "the instances are of 4 tracks; an interval needs at least 5"

    def test_too_few_tracks_of_what_a_rate_is_of(self):
        """Many tracks, but all mistakes are in four of them."""
        block = first(judged(track=TRACK, wrong=np.isin(TRACK, (1, 2, 3, 25))))["overall"]
        assert ends(block, "fnr") == (None, None)
        words = "the instances that it is a share of are of 4 tracks; an interval needs at least 5"
        assert block["undefined"]["fnr_low"] == words
        assert ends(block, "fpr")[0] is not None

    def test_very_many_tracks_are_drawn_in_bundles(self, monkeypatch):
        random, track = np.tile(ALARM, 20), np.arange(20 * N) // 4
        options = {"track": track, "wrong": np.tile(WRONG, 20), "is_ood": np.tile(IS_OOD, 20)}
        alarms = (random, np.zeros(20 * N, dtype=bool))
        one_by_one = [first(judged(alarm, **options)) for alarm in alarms]
        monkeypatch.setattr(bounds_module, "MOST_DRAWN", 300)
        bundled = [first(judged(alarm, **options)) for alarm in alarms]
        for task in TASKS:
            for name in BOUNDED:
                low, high = ends(one_by_one[0][task], name)
                expected = pytest.approx((low, high), abs=0.15 * (high - low))
                assert ends(bundled[0][task], name) == expected, (task, name)
        # No false alarm in 800 tracks is not none in a quarter as many bundles.
        high = 1 - 0.025 ** (1 / 800)
        for record in (one_by_one[1], bundled[1]):
            assert ends(record["specific"], "fpr") == (0.0, pytest.approx(high, rel=0.15))


class TestByParts:
    def test_instances_that_stand_alone_have_the_intervals_of_the_whole(self):
        made = readouts()
        whole = judge(made.instances, made.alarms, made.run)
        halves = [slice(0, 100), slice(100, N)]
        parts = judge_by_parts([(made.instances[own], made.alarms[own]) for own in halves], made.run)
        for record, other in zip(whole, parts, strict=True):
            assert other["intervals_by"] == "instances"
            assert [other[task] for task in TASKS] == [record[task] for task in TASKS]

    def test_tracks_are_not_counted_and_the_record_says_so(self):
        made = readouts(track=TRACK)
        for record in judge_by_parts([(made.instances, made.alarms)], made.run):
            assert (record["intervals_by"], record["n_tracks"]) == (None, None)
            block = record["specific"]
            assert block["error"] is not None
            assert ends(block, "error") == (None, None)
            assert block["undefined"]["error_low"].startswith("tracks are not counted")


class TestHolding:
    """Simulations; `benchmarks/interval_coverage.py` has long ones of more settings."""

    @pytest.mark.parametrize("of", [Setting((100, 100), 1, 0.0), Setting((30, 30), 20, 0.2)], ids=str)
    def test_intervals_hold(self, of):
        found = coverage(of, streams=12, seed=3)
        for (task, name), held in found.items():
            assert held.n == 120
            assert held.held >= 0.9 * held.n, (task, name)
        assert sum(held.held for held in found.values()) >= 0.94 * 8 * 120

    def test_wilsons_interval_does_not_where_instances_share_tracks(self):
        found = coverage(Setting((40, 40), 20, 0.5), streams=8, seed=4)
        for task in TASKS:
            assert found[task, "error"].wilson_held < 0.7 * found[task, "error"].n
            assert found[task, "error"].held >= 0.9 * found[task, "error"].n
