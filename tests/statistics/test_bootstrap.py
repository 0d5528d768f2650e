import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap as scipy_bootstrap
from scipy.stats import norm, t, ttest_rel

import farm.statistics.resampling as resampling_module
from farm.errors import DataError, ParameterError
from farm.measures import OVERALL, SPECIFIC, Counts, Measure, auroc, detection
from farm.measures.many import MANY
from farm.measures.oracle import outcomes, overall, specific, tally
from farm.statistics.bootstrap import Bootstrap
from farm.statistics.resampling import Resampling
from farm.statistics.resolution import MOST_REPLICATES, Resolution, of_all_pairs
from tests.statistics.replicated import Auroc, Counted, Mean, bootstrap
from tests.wording import refused, same_text

MONITORS = ("a", "b")


class Stream:
    """A stream of tracks, made up: what monitors score and say of it, what it costs."""

    def __init__(self, seed, *, tracks=12, longest=4, mixed=False, distinct=6):
        random = np.random.default_rng(seed)
        self.group = np.repeat(np.arange(tracks), random.integers(1, longest + 1, tracks))
        self.n = len(self.group)
        is_ood = random.random(tracks)[self.group] < 0.5
        self.is_ood = is_ood ^ (random.random(self.n) < 0.3) if mixed else is_ood
        self.wrong = random.random(self.n) < 0.4
        # Few distinct scores, so that many tie.
        self.scores = {name: random.integers(0, distinct, self.n) + 0.5 * self.is_ood for name in MONITORS}
        self.alarms = {name: score > distinct / 2 for name, score in self.scores.items()}
        self.costs = {name: random.random(self.n) for name in MONITORS}

    @property
    def resampling(self):
        return Resampling(self.n, is_ood=self.is_ood, group=self.group)

    def measures(self):
        told = {name: specific(alarm, self.is_ood) for name, alarm in self.alarms.items()}
        helped = {name: outcomes(self.wrong, alarm) for name, alarm in self.alarms.items()}
        return [
            Counted("specific", told, list(MANY)),
            Counted("overall", helped, ["mcc", "error"]),
            Mean("cost", self.costs),
            Mean("id_alarms", self.alarms, among=~self.is_ood),
            Auroc(self.scores, self.is_ood),
        ]

    def plainly(self, rows, monitor):
        """Every measure of these instances, one by one, with the functions that give a record's."""
        alarm, is_ood = self.alarms[monitor][rows], self.is_ood[rows]
        told = Counts(**tally(specific(alarm, is_ood)), wording=SPECIFIC)
        helped = Counts(**tally(outcomes(self.wrong[rows], alarm)), wording=OVERALL)
        found = {f"specific_{name}": getattr(detection, name)(told).value for name in MANY}
        found |= {f"overall_{name}": getattr(detection, name)(helped).value for name in ("mcc", "error")}
        found["cost"] = float(self.costs[monitor][rows].mean())
        found["id_alarms"] = float(alarm[~is_ood].mean()) if not is_ood.all() else math.nan
        found["auroc"] = auroc(self.scores[monitor][rows], is_ood).value
        return found


def simple(alarm, is_ood, measures=("mcc", "fnr"), **options):
    """One monitor, ungrouped unless told otherwise."""
    group, options = options.pop("group", None), {"seed": 0} | options
    counted = Counted("specific", {"m": specific(alarm, is_ood)}, measures)
    return bootstrap([counted], Resampling(len(alarm), is_ood=is_ood, group=group), **options)


def missing(found):
    """In how many replicates a single monitor's first measure is undefined."""
    return int(np.isnan(next(iter(found.draws.values()))).sum())


def tail_of(k, level=0.95):
    """Hesterberg's expanded tail, from the formula in the documentation of R's package resample."""
    return norm.cdf(t.ppf((1 - level) / 2, k - 1) / math.sqrt((k - 1) / k))


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_replicates_are_those_of_a_plain_loop(seed, mixed):
    stream = Stream(seed, tracks=30, mixed=mixed)
    resampling = stream.resampling
    assert resampling.why_not is None
    found = bootstrap(stream.measures(), resampling, seed=seed, replicates=40)
    weights = np.concatenate(list(resampling.weights(40, seed=seed)))
    for replicate, weight in enumerate(weights.astype(int)):
        rows = np.repeat(np.arange(stream.n), weight[resampling.code])
        for monitor in MONITORS:
            for measure, value in stream.plainly(rows, monitor).items():
                got = found.draws[measure, monitor][replicate]
                assert got == pytest.approx(value, abs=1e-12, nan_ok=True), measure


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=40)
def test_points_are_the_measures_of_the_stream(seed, mixed):
    stream = Stream(seed, mixed=mixed)
    found = bootstrap(stream.measures(), stream.resampling, seed=0, replicates=1)
    for monitor in MONITORS:
        for measure, value in stream.plainly(np.arange(stream.n), monitor).items():
            assert found.points[measure, monitor].value == pytest.approx(value, abs=1e-12, nan_ok=True)


@given(st.integers(0, 10**6))
@settings(max_examples=40)
def test_each_part_keeps_its_number_of_groups(seed):
    stream = Stream(seed, tracks=20, mixed=seed % 2 == 0)
    resampling = stream.resampling
    weights = np.concatenate(list(resampling.weights(20, seed=seed)))
    assert sorted(np.concatenate(list(resampling.parts.values()))) == list(range(resampling.n_groups))
    for groups in resampling.parts.values():
        assert (weights[:, groups].sum(axis=1) == len(groups)).all()


def test_every_group_of_a_part_is_as_likely():
    resampling = Resampling(30, is_ood=np.arange(30) < 10)
    drawn = next(resampling.weights(4000, seed=0)).mean(axis=0)
    # A binomial with mean 1: its mean over 4000 has a standard deviation of 0.016.
    assert drawn == pytest.approx(np.ones(30), abs=0.07)


def test_share_of_ood_stays_what_it_was():
    is_ood = np.arange(60) < 12
    found = bootstrap([Mean("share", {"m": is_ood})], Resampling(60, is_ood=is_ood), seed=0, replicates=200)
    assert set(found.draws["share", "m"]) == {0.2}


def test_groups_are_drawn_whole():
    """Frames that are all alike within a track are no more than as many tracks."""
    alarm_of, is_ood_of = np.arange(20) % 3 == 0, np.arange(20) < 10
    tracks = simple(alarm_of, is_ood_of)
    frames = simple(np.repeat(alarm_of, 7), np.repeat(is_ood_of, 7), group=np.repeat(np.arange(20), 7))
    for measure in ("specific_mcc", "specific_fnr"):
        one, other = tracks.interval(measure, "m"), frames.interval(measure, "m")
        assert one.low.value == pytest.approx(other.low.value, abs=1e-12)
        assert one.high.value == pytest.approx(other.high.value, abs=1e-12)
    assert (frames.n_groups, tracks.n_groups) == (20, 20)


def scipys(data, statistic, level, **options):
    found = scipy_bootstrap(
        data,
        statistic,
        method="percentile",
        confidence_level=level,
        n_resamples=20_000,
        batch=500,
        rng=np.random.default_rng(1),
        **options,
    )
    return found.confidence_interval


def test_mcc_and_rates_agree_with_scipys_bootstrap():
    random = np.random.default_rng(0)
    is_ood = np.arange(200) < 80
    alarm = random.random(200) < np.where(is_ood, 0.8, 0.15)
    found = simple(alarm, is_ood, replicates=20_000)
    level = 1 - 2 * tail_of(80)

    def mcc(hits, false_alarms, axis):
        tp, fp = hits.sum(axis=axis), false_alarms.sum(axis=axis)
        fn, tn = 80 - tp, 120 - fp
        return (tp * tn - fp * fn) / np.sqrt(80.0 * 120 * (tp + fp) * (fn + tn))

    def fnr(hits, false_alarms, axis):
        return 1 - hits.mean(axis=axis) + 0 * false_alarms.mean(axis=axis)

    data = (alarm[is_ood].astype(float), alarm[~is_ood].astype(float))
    for name, statistic in (("mcc", mcc), ("fnr", fnr)):
        ends, own = scipys(data, statistic, level), found.interval(f"specific_{name}", "m")
        width = ends.high - ends.low
        # An end of 20,000 replicates is sure to 1 % of the width; a rate moves in steps of 1/80.
        near = max(0.04 * width, 0.0126 if name == "fnr" else 0)
        assert (own.low.value, own.high.value) == pytest.approx((ends.low, ends.high), abs=near)


def test_auroc_agrees_with_scipys_bootstrap():
    random = np.random.default_rng(0)
    ood, in_distribution = random.normal(1.0, 1, 30).round(1), random.normal(0, 1, 50).round(1)
    is_ood = np.arange(80) < 30

    def area(a, b, axis):
        a, b = np.moveaxis(a, axis, -1)[..., :, None], np.moveaxis(b, axis, -1)[..., None, :]
        return ((a > b) + 0.5 * (a == b)).mean(axis=(-1, -2))

    measure = Auroc({"m": np.concatenate([ood, in_distribution])}, is_ood)
    found = bootstrap([measure], Resampling(80, is_ood=is_ood), seed=0, replicates=20_000)
    reference = scipy_bootstrap(
        (ood, in_distribution),
        area,
        method="percentile",
        n_resamples=20_000,
        batch=500,
        rng=np.random.default_rng(1),
    )
    draws = found.draws["auroc", "m"]
    assert draws.std(ddof=1) == pytest.approx(reference.standard_error, rel=0.03)
    quantiles = [0.01, 0.1, 0.5, 0.9, 0.99]
    assert np.quantile(draws, quantiles) == pytest.approx(
        np.quantile(reference.bootstrap_distribution, quantiles), abs=0.1 * reference.standard_error
    )


def test_difference_agrees_with_scipys_paired_bootstrap():
    random = np.random.default_rng(0)
    costs = {"a": random.gamma(2, 1, 60), "b": random.gamma(2, 1.2, 60)}
    costs["b"] += 0.8 * costs["a"]
    found = bootstrap([Mean("cost", costs)], Resampling(60), seed=0, replicates=20_000)
    own = found.difference("cost", "a", "b")
    ends = scipys(
        (costs["a"], costs["b"]),
        lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis),
        1 - 2 * tail_of(60),
        paired=True,
    )
    near = 0.04 * (ends.high - ends.low)
    assert (own.low.value, own.high.value) == pytest.approx((ends.low, ends.high), abs=near)


NORMAL = norm.ppf((np.arange(12) + 0.5) / 12)
SHIFTS = (0.3, 0.6, -0.8)


@pytest.fixture(scope="module")
def normal_numbers():
    """Give a bootstrap of twelve of them, of the same shifted, and of zeros."""
    shifted = {f"{shift}": NORMAL + shift for shift in SHIFTS}
    numbers = Mean("x", {"m": NORMAL, **shifted, "b": np.zeros(12)})
    return bootstrap([numbers], Resampling(12), seed=0, replicates=40_000)


def test_mean_of_normal_numbers_has_students_interval(normal_numbers):
    """What the expansion is for: of symmetric data it gives mean +- t * s / sqrt(n), for few groups too."""
    own = normal_numbers.interval("x", "m")
    half = t.ppf(0.975, 11) * NORMAL.std(ddof=1) / math.sqrt(12)
    assert (own.low.value, own.high.value) == pytest.approx((-half, half), rel=0.04)


@pytest.mark.parametrize("shift", SHIFTS)
def test_p_value_of_few_normal_numbers_is_students(normal_numbers, shift):
    found = normal_numbers.difference("x", f"{shift}", "b")
    assert found.p.value == pytest.approx(ttest_rel(NORMAL + shift, np.zeros(12)).pvalue, rel=0.1)


@pytest.mark.parametrize(
    ("draws", "fewest", "share"),
    [
        ([1.0] * 18 + [-1.0], 6, 2 / 20),
        ([-1.0] * 18 + [1.0], 6, 2 / 20),
        ([1.0] * 18 + [2.0], 6, 1 / 20),
        ([1.0] * 16 + [0.0] * 3, 9, 4 / 20),
        ([1.0] * 16 + [-1.0] + [np.nan] * 2, 9, 4 / 20),
        ([1.0] * 10 + [-1.0] * 9, 9, 1.0),
        ([1.0] * 11 + [-1.0] * 8, 9, 9 / 20),
        ([0.0] * 12 + [-1.0] * 7, 9, 1.0),
    ],
)
def test_p_value_by_hand(draws, fewest, share):
    """The share of replicates not beyond 0, one more in both counts; then as Student's t has it."""
    draws = np.array(draws)
    points = {("x", "a"): Measure(0.5), ("x", "b"): Measure(0.0)}
    columns = {("x", "a"): draws, ("x", "b"): np.zeros(len(draws))}
    made = Bootstrap(50, fewest, None, 0.3, points, columns)
    z = norm.isf(share) if share < 0.5 else 0.0
    expected = 2 * t.sf(z * math.sqrt((fewest - 1) / fewest), fewest - 1)
    assert made.difference("x", "a", "b").p.value == pytest.approx(expected, abs=1e-12)


def tracks_of(random, n_id, n_ood, frames, rates):
    """Alarms that resemble each other within a track, at these rates on ID and on OOD instances."""
    rate = np.repeat(rates, [n_id, n_ood])[:, None]
    latent = np.sqrt(0.5) * random.standard_normal((n_id + n_ood, 1))
    latent = latent + np.sqrt(0.5) * random.standard_normal((n_id + n_ood, frames))
    return (latent < norm.ppf(rate)).ravel()


RUNS, AT_ONCE = 250, 10
"""Streams, and how many of them are resampled together, as so many monitors of one."""


def shares_that_hold(runs, grouped):
    """Give how often 95 % intervals of MCC and FNR cover what is true, of tracks or of single frames."""
    random = np.random.default_rng(7)
    n_id, n_ood, frames, rates = 14, 10, 15, (0.1, 0.7)
    is_ood = np.repeat([False, True], [n_id * frames, n_ood * frames])
    track = np.arange((n_id + n_ood) * frames) // frames
    shares = np.array([n_id * (1 - rates[0]), n_id * rates[0], n_ood * (1 - rates[1]), n_ood * rates[1]])
    true = {name: float(MANY[name](shares)) for name in ("mcc", "fnr")}
    held = dict.fromkeys(true, 0)
    resampling = Resampling(len(is_ood), is_ood=is_ood, group=track if grouped else None)
    for seed in range(runs // AT_ONCE):
        codes = {
            f"m{i}": specific(tracks_of(random, n_id, n_ood, frames, rates), is_ood) for i in range(AT_ONCE)
        }
        found = bootstrap([Counted("specific", codes, list(true))], resampling, seed=seed, replicates=400)
        for name, value in true.items():
            intervals = [found.interval(f"specific_{name}", monitor) for monitor in codes]
            held[name] += sum(each.low.value <= value <= each.high.value for each in intervals)
    return [times / runs for times in held.values()]


def test_intervals_of_few_tracks_cover_what_is_true():
    """At 95 %: by tracks nearly so, of frames as if they were independent far less."""
    assert min(shares_that_hold(RUNS, grouped=True)) >= 0.92
    assert max(shares_that_hold(RUNS, grouped=False)) <= 0.80


def test_monitors_that_are_as_good_are_seldom_told_apart():
    """Of 5 %, by p and by the interval alike."""
    random = np.random.default_rng(11)
    n_id, n_ood, frames = 15, 15, 8
    is_ood = np.repeat([False, True], n_id * frames)
    resampling = Resampling(len(is_ood), is_ood=is_ood, group=np.arange(2 * n_id * frames) // frames)
    apart, excluded = 0, 0
    for seed in range(RUNS // AT_ONCE):
        codes = {
            (name, i): specific(tracks_of(random, n_id, n_ood, frames, (0.2, 0.7)), is_ood)
            for i in range(AT_ONCE)
            for name in MONITORS
        }
        found = bootstrap([Counted("specific", codes, ["mcc"])], resampling, seed=seed, replicates=400)
        for i in range(AT_ONCE):
            difference = found.difference("specific_mcc", *[(name, i) for name in MONITORS])
            apart += difference.p.value < 0.05
            excluded += not difference.low.value <= 0 <= difference.high.value
    assert 0.01 <= apart / RUNS <= 0.09
    assert abs(apart - excluded) <= 3


def test_pairing_makes_differences_of_like_monitors_sharp():
    random = np.random.default_rng(2)
    is_ood = np.arange(400) < 200
    score = random.normal(0, 1, 400) + 1.5 * is_ood
    scores = {"a": score, "b": score + random.normal(0, 0.05, 400)}
    found = bootstrap([Auroc(scores, is_ood)], Resampling(400, is_ood=is_ood), seed=0)
    a, difference = found.interval("auroc", "a"), found.difference("auroc", "a", "b")
    assert difference.high.value - difference.low.value < 0.2 * (a.high.value - a.low.value)


@given(st.integers(0, 10**6))
@settings(max_examples=15)
def test_monitors_can_change_places(seed):
    stream = Stream(seed, tracks=24)
    assume(stream.resampling.why_not is None)
    found = bootstrap(stream.measures(), stream.resampling, seed=seed, replicates=300)
    for measure in ("specific_error", "cost", "auroc"):
        one, other = found.difference(measure, "a", "b"), found.difference(measure, "b", "a")
        assert one.value.value == -other.value.value
        assert one.p == other.p
        assert (one.low.value, one.high.value) == pytest.approx(
            (-other.high.value, -other.low.value), nan_ok=True
        )


@given(st.integers(0, 10**6))
@settings(max_examples=15)
def test_bounds_and_levels(seed):
    stream = Stream(seed, tracks=30)
    assume(stream.resampling.why_not is None)
    wide, narrow = (
        bootstrap(stream.measures(), stream.resampling, seed=seed, replicates=200, level=level)
        for level in (0.9, 0.6)
    )
    for measure, monitor in wide.points:
        outer, inner = wide.interval(measure, monitor), narrow.interval(measure, monitor)
        if outer.low.defined and inner.low.defined:
            assert outer.low.value <= inner.low.value <= inner.high.value <= outer.high.value
            assert outer.low.value >= (-1 if measure.endswith("mcc") else 0)
            assert outer.high.value <= 1 + 1e-12


@given(st.integers(0, 10**6), st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_order_of_grouped_instances_does_not_matter(seed, random):
    stream = Stream(seed, tracks=24)
    before = bootstrap(stream.measures(), stream.resampling, seed=0, replicates=50)
    order = list(range(stream.n))
    random.shuffle(order)
    for name in ("group", "is_ood", "wrong"):
        setattr(stream, name, getattr(stream, name)[order])
    for columns in (stream.scores, stream.alarms, stream.costs):
        columns.update({name: values[order] for name, values in columns.items()})
    after = bootstrap(stream.measures(), stream.resampling, seed=0, replicates=50)
    for column, draws in before.draws.items():
        assert after.draws[column] == pytest.approx(draws, abs=1e-12, nan_ok=True)


def test_auroc_depends_on_the_order_of_scores_alone():
    stream = Stream(3, tracks=30, distinct=50)
    found = [
        bootstrap([Auroc(scores, stream.is_ood)], stream.resampling, seed=0, replicates=100)
        for scores in (stream.scores, {name: np.exp(score / 9) - 5 for name, score in stream.scores.items()})
    ]
    assert found[0].interval("auroc", "a") == found[1].interval("auroc", "a")


def test_size_of_blocks_changes_no_draw(monkeypatch):
    stream = Stream(1, tracks=30)
    whole = bootstrap(stream.measures(), stream.resampling, seed=0, replicates=50)
    monkeypatch.setattr(resampling_module, "_CELLS", 7 * stream.n)
    parts = bootstrap(stream.measures(), stream.resampling, seed=0, replicates=50)
    for column, draws in whole.draws.items():
        assert parts.draws[column] == pytest.approx(draws, abs=1e-14, nan_ok=True)


def test_same_seed_gives_the_same():
    stream = Stream(1, tracks=30)
    first, again, other = (
        bootstrap(stream.measures(), stream.resampling, seed=seed).interval("auroc", "a")
        for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


def test_numbers_are_pythons_own():
    found = simple(np.arange(40) % 3 == 0, np.arange(40) < 20, replicates=300, level=0.9)
    assert type(found.interval("specific_mcc", "m").low.value) is float


def test_a_difference_of_few_instances_is_told_by_most_replicates():
    costs = {"a": np.arange(20.0), "b": np.arange(20.0) + np.where(np.arange(20) < 4, 5, 0)}
    found = bootstrap([Mean("cost", costs)], Resampling(20), seed=0, replicates=1000)
    # The four that differ are in none of the replicates with a chance of 0.8^20 = 0.012: a tie.
    assert found.difference("cost", "a", "b").p.value < 0.06


def test_monitors_that_say_the_same_are_not_told_apart():
    is_ood, alarm = np.arange(40) < 20, np.arange(40) % 4 == 0
    codes = {name: specific(alarm, is_ood) for name in MONITORS}
    found = bootstrap([Counted("specific", codes, ["mcc"])], Resampling(40, is_ood=is_ood), seed=0)
    difference = found.difference("specific_mcc", *MONITORS)
    assert (difference.value.value, difference.p.value) == (0.0, 1.0)
    same_text(difference.low.reason)


def test_costs_that_are_the_same_are_not_told_apart_by_their_last_bits():
    """The same costs, come by in another order within each track: sums of floats differ in the end."""
    cost = np.random.default_rng(0).random((50, 10)) / 3
    costs = {"a": cost.ravel(), "b": cost[:, ::-1].ravel()}
    found = bootstrap([Mean("cost", costs)], Resampling(500, group=np.arange(500) // 10), seed=0)
    assert (found.draws["cost", "a"] != found.draws["cost", "b"]).any()
    difference = found.difference("cost", "a", "b")
    assert difference.p.value == 1.0


def test_perfect_monitor_has_no_spread_to_tell():
    is_ood = np.arange(40) < 20
    found = simple(is_ood, is_ood)
    for measure, value in (("specific_mcc", 1.0), ("specific_fnr", 0.0)):
        interval = found.interval(measure, "m")
        assert interval.value.value == value
        assert interval.low.reason == interval.high.reason
        same_text(interval.low.reason)


def test_perfect_against_useless_has_no_p_value():
    is_ood = np.arange(40) < 20
    codes = {"perfect": specific(is_ood, is_ood), "never": specific(np.zeros(40, dtype=bool), is_ood)}
    found = bootstrap([Counted("specific", codes, ["fnr"])], Resampling(40, is_ood=is_ood), seed=0)
    difference = found.difference("specific_fnr", "perfect", "never")
    assert difference.value.value == -1.0
    assert not difference.p.defined


def test_monitor_that_never_alarms_has_no_mcc_and_no_difference():
    is_ood = np.arange(40) < 20
    codes = {
        "never": specific(np.zeros(40, dtype=bool), is_ood),
        "m": specific(np.arange(40) % 3 == 0, is_ood),
    }
    found = bootstrap([Counted("specific", codes, ["mcc"])], Resampling(40, is_ood=is_ood), seed=0)
    interval = found.interval("specific_mcc", "never")
    assert missing(found) == 2000
    assert interval.low.reason == interval.value.reason == "none of the 40 instances raised an alarm"
    difference = found.difference("specific_mcc", "m", "never")
    reason = "never: none of the 40 instances raised an alarm"
    assert {difference.value.reason, difference.low.reason, difference.p.reason} == {reason}


def test_too_many_undefined_replicates_leave_the_interval_undefined():
    """One alarm: a replicate has none of it with a chance of 1/e."""
    is_ood = np.arange(200) < 100
    found = simple(np.arange(200) == 3, is_ood)
    interval, n = found.interval("specific_mcc", "m"), missing(found)
    assert interval.value.defined
    assert n == pytest.approx(2000 * math.exp(-1), abs=120)
    assert interval.low.reason == f"undefined in {n} of 2000 replicates: an end may lie among them"


def test_few_undefined_replicates_are_counted_and_left_out():
    """Five alarms: a replicate has none of them with a chance of about 0.006."""
    found = simple(np.arange(200) < 5, np.arange(200) < 100)
    interval = found.interval("specific_mcc", "m")
    assert 0 < missing(found) < 0.02 * 2000
    assert 0 < interval.low.value < interval.value.value < interval.high.value


@pytest.mark.parametrize(
    ("n", "options", "reason"),
    [
        (0, {}, "no instances"),
        (1, {}, "the stream has 1 instance; resampling needs at least 5"),
        (9, {"group": np.zeros(9)}, "the stream has 1 group; resampling needs at least 5"),
        (9, {"is_ood": np.arange(9) < 3}, "the OOD part has 3 instances; resampling needs at least 5"),
        (
            40,
            {"is_ood": np.arange(40) < 20, "group": np.arange(40) % 20 // 5 + 4 * (np.arange(40) < 20)},
            "the ID part has 4 groups; resampling needs at least 5",
        ),
        (
            40,
            {"is_ood": np.arange(40) % 2 == 0, "group": np.arange(40) // 20},
            "the mixed part has 2 groups; resampling needs at least 5",
        ),
    ],
)
def test_too_few_groups_leave_everything_undefined_with_a_reason(n, options, reason):
    found = bootstrap(
        [Mean("cost", {name: np.arange(n) * 1.0 for name in MONITORS})], Resampling(n, **options), seed=0
    )
    interval, difference = found.interval("cost", "a"), found.difference("cost", "a", "b")
    assert interval.low.reason == interval.high.reason == reason
    for measure in (difference.low, difference.high, difference.p):
        assert measure.reason == reason
    assert interval.value.defined == (n > 0)


def test_level_that_the_replicates_cannot_reach_is_undefined():
    found = simple(np.arange(10) % 3 == 0, np.arange(10) < 5, level=0.99)
    reason = "2000 replicates are too few for a level of 0.99 and 5 groups"
    assert found.interval("specific_fnr", "m").low.reason == reason


def parts(group):
    """Eight ID instances, eight OOD ones."""
    resampling = Resampling(16, is_ood=np.arange(16) >= 8, group=np.array(group))
    return {name: len(groups) for name, groups in resampling.parts.items()}


def test_groups_of_both_kinds_are_a_part_of_their_own():
    assert parts(np.arange(16) // 2) == {"ID part": 4, "OOD part": 4}
    assert parts(np.arange(16) % 8) == {"mixed part": 8}
    assert parts([0, 0, 1, 1, 2, 3, 4, 5, 4, 5, 6, 6, 7, 7, 8, 8]) == {
        "ID part": 4,
        "mixed part": 2,
        "OOD part": 3,
    }


def test_a_part_of_one_group_joins_another():
    a_single_mixed_one = [0, 0, 1, 1, 2, 2, 3, 9, 9, 4, 4, 5, 5, 6, 6, 6]
    assert parts(a_single_mixed_one) == {"ID part": 5, "OOD part": 3}
    pure_ones_alone = [50, 1, 2, 3, 4, 5, 6, 7, 60, 1, 2, 3, 4, 5, 6, 7]
    assert parts(pure_ones_alone) == {"mixed part": 9}


def test_without_is_ood_there_is_one_part():
    label, predicted = np.arange(50) % 4, np.arange(50) % 3
    codes = overall(np.arange(50) % 2 == 0, label, predicted)
    found = bootstrap([Counted("overall", {"m": codes}, ["mcc"])], Resampling(50), seed=0)
    assert found.interval("overall_mcc", "m").low.defined


def test_missing_scores_and_values_are_undefined():
    is_ood = np.arange(40) < 20
    score = np.arange(40.0)
    score[3] = np.nan
    measures = [Auroc({"m": score, "ok": np.arange(40) % 7.0}, is_ood), Mean("cost", {"m": score})]
    found = bootstrap(measures, Resampling(40, is_ood=is_ood), seed=0)
    same_text(found.interval("auroc", "m").low.reason)
    same_text(found.interval("cost", "m").high.reason)
    assert found.interval("auroc", "ok").low.defined


def test_one_class_has_no_auroc_but_has_rates():
    never = np.zeros(40, dtype=bool)
    alarm = np.arange(40) % 5 == 0
    measures = [
        Auroc({"m": alarm * 1.0}, never),
        Counted("specific", {"m": specific(alarm, never)}, ["fpr", "mcc"]),
    ]
    found = bootstrap(measures, Resampling(40, is_ood=never), seed=0)
    same_text(found.interval("auroc", "m").low.reason)
    same_text(found.interval("specific_mcc", "m").low.reason)
    assert found.interval("specific_fpr", "m").low.defined


@pytest.mark.parametrize("fewest", [5, 6, 9, 300])
@pytest.mark.parametrize("replicates", [400, 2000, 40_000])
def test_no_p_is_below_the_floor_and_the_clearest_difference_has_it(fewest, replicates):
    points = {("mcc", "a"): Measure(0.9), ("mcc", "b"): Measure(0.1)}
    always = {column: np.full(replicates, point.value) for column, point in points.items()}
    always["mcc", "a"] = always["mcc", "a"] + np.linspace(0, 0.05, replicates)
    made = Bootstrap(2 * fewest, fewest, None, 0.9, points, always, replicates)
    p = made.difference("mcc", "a", "b").p.value
    assert Resolution(fewest, replicates, 2, 0.05).floor == pytest.approx(p)
    assert Resolution(fewest, replicates, 7, 0.05).floor == pytest.approx(of_all_pairs(p, 7))
    assert Resolution(fewest, replicates, 7, 0.05, control=True).floor == pytest.approx(min(6 * p, 1))


@pytest.mark.parametrize("monitors", [2, 3, 8, 30])
def test_the_correction_is_the_chance_that_the_range_of_all_is_so_wide(monitors):
    drawn = np.random.default_rng(monitors).standard_normal((100_000, monitors))
    ranges = np.sort(np.ptp(drawn, axis=1))
    for p in (0.3, 0.03, 0.003):
        wider = 1 - np.searchsorted(ranges, np.sqrt(2) * norm.isf(p / 2)) / len(ranges)
        assert of_all_pairs(p, monitors) == pytest.approx(wider, abs=0.006)


@settings(max_examples=20)
@given(fewest=st.integers(5, 400), monitors=st.integers(2, 60), control=st.booleans())
def test_what_is_planned_or_needed_is_enough(fewest, monitors, control):
    planned = Resolution.planned(fewest, monitors, 0.05, control)
    assert planned.replicates >= 2000
    needed = planned.needed
    assert (needed is None) == planned.enough
    if needed is not None:  # no number of replicates helps: of fewer tracks than it asks for, none would
        what, number = needed
        assert what == "tracks"
        assert Resolution(number, MOST_REPLICATES, monitors, 0.05, control).enough
        assert not Resolution(number - 1, MOST_REPLICATES, monitors, 0.05, control).enough


def test_refuses_what_it_does_not_know():
    stream = Stream(0)
    found = bootstrap(stream.measures(), stream.resampling, seed=0, replicates=1)
    with refused(ParameterError):
        found.interval("auroc", "aa")
    with refused(ParameterError):
        Counted("specific", {}, ["mc"])


@pytest.mark.parametrize("options", [{"replicates": 0}, {"level": 0.0}, {"level": 95}, {"level": math.nan}])
def test_refuses_impossible_options(options):
    with refused(ParameterError):
        bootstrap([], Resampling(9), seed=0, **options)


def test_refuses_arrays_of_other_lengths():
    with refused(DataError):
        Resampling(4, is_ood=np.zeros(3, dtype=bool))
    with refused(DataError):
        Resampling(4, group=np.zeros(3))
    resampling = Resampling(9)
    for measure in (
        Mean("cost", {"m": np.zeros(8)}),
        Auroc({"m": np.zeros(8)}, np.arange(8) < 4),
        Counted("specific", {"m": np.zeros(8, dtype=np.uint8)}, ["mcc"]),
    ):
        with refused(DataError):
            bootstrap([measure], resampling, seed=0)


def test_refuses_a_missing_group():
    with refused(DataError):
        Resampling(2, group=np.array(["a", None], dtype=object))


def test_a_single_group_tells_no_difference():
    single = Resolution(fewest=1, replicates=2000, monitors=3, alpha=0.05)
    assert (single.floor, single.enough) == (1.0, False)
