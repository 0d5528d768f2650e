"""Sections, and the resampling behind them, on streams of which the truth is known."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from farm.comparing import MEASURES, benchmark_sets, measured
from farm.comparing.conclusions import of_streams
from farm.comparing.sections import resampled, section
from farm.judging import judge
from farm.statistics.resampling import Resampling
from farm.statistics.resolution import of_all_pairs
from farm.store.readouts import Readouts
from tests.comparing.made_runs import FOG, NOISE, NOVEL, RATES, SHOT, make_run
from tests.statistics.references import holm_by_statsmodels
from tests.statistics.replicated import Counted, bootstrap
from tests.wording import same_text


def compare(runs, measure="overall.mcc", monitors=None, **options):
    names = monitors or [note["name"] for note in runs[0].run["monitors"]]
    return compare_sets(benchmark_sets(runs), measure, names, **options)


USUAL = {"alpha": 0.05, "replicates": 400, "seed": 0}


def resample(sets, measure, values, replicates):
    asked = {measured(measure): values}
    (made,) = resampled(sets, asked, level=0.95, replicates=replicates, seed=0).values()
    return made


def compare_sets(sets, measure, monitors=tuple(RATES), **options):
    return section("all", sets, measured(measure), monitors, **USUAL | options)


@pytest.fixture(scope="module")
def one_run():
    return benchmark_sets([make_run()])


def standing(found, monitor):
    return next(each for each in found.standings if each.monitor == monitor)


def with_twin(run, of="good"):
    """Add a monitor that says the very same under another name."""
    twin = run.alarms[run.alarms["monitor"] == of].assign(monitor="twin")
    noted = [*run.run["monitors"], {"name": "twin"}]
    return Readouts(run.instances, pd.concat([run.alarms, twin]), {**run.run, "monitors": noted})


@pytest.fixture(scope="module")
def repeated():
    """Give runs of which one set is repeated, and the other two are not; and their records."""
    runs = [make_run(0), make_run(1, faults=[FOG])]
    return benchmark_sets(runs), [r for run in runs for r in judge(run.instances, run.alarms, run.run)]


@pytest.mark.parametrize("measure", MEASURES)
def test_values_are_means_over_sets_of_the_means_over_their_runs(repeated, measure):
    # The repeated set must not count twice.
    sets, records = repeated
    found = compare_sets(sets, measure, replicates=200)
    per_set = {}
    for record in records:
        if record["part"] == "all" and record["monitor"] in RATES:
            key = (record["monitor"], record["faultload"])
            per_set.setdefault(key, []).append(measured(measure).of(record).value)
    for each in found.standings:
        expected = np.mean([np.mean(v) for (monitor, _), v in per_set.items() if monitor == each.monitor])
        assert each.value.value == pytest.approx(expected, abs=1e-12)
        if each.low.defined:
            assert each.low.value <= each.value.value <= each.high.value


@pytest.mark.parametrize("measure", MEASURES)
def test_the_best_comes_first_whichever_end_is_good(one_run, measure):
    found = compare_sets(one_run, measure, replicates=200)
    values = [each.value.value for each in found.standings]
    assert values == sorted(values, reverse=MEASURES[measure])
    assert found.best == found.standings[0].monitor
    same_text(found.standings[0].p.reason)


NO_INTERVAL = {"aupr", "fpr_at_95_tpr", "system_mcc"}


@pytest.mark.parametrize("measure", MEASURES)
def test_what_has_no_interval_says_so(one_run, measure):
    found = compare_sets(one_run, measure, replicates=200)
    if measure in NO_INTERVAL:
        assert found.notes == (f"no intervals: {measure} has no interval by resampling",)
        assert {each.like_best for each in found.standings[1:]} == {None}
        assert found.n_groups is None
    else:
        assert found.notes == ()
        assert all(each.low.defined for each in found.standings)


def with_fallback(run):
    """Let something take the place of each second decision that is cancelled; at times it is right."""
    predicted = run.instances["predicted"].to_numpy()[run.alarms["position"]]
    instead = np.where(run.alarms["position"] % 2, run.alarms["position"] % 3, -1)
    decision = np.where(run.alarms["alarm"], instead, predicted)
    alarms = run.alarms.assign(cancelled=run.alarms["alarm"], decision=decision)
    return Readouts(run.instances, alarms, run.run)


@pytest.fixture(scope="module")
def with_fallbacks():
    return benchmark_sets([with_fallback(make_run(0)), with_fallback(make_run(1, faults=[FOG]))])


@pytest.mark.parametrize("measure", sorted(set(MEASURES) - NO_INTERVAL))
@pytest.mark.parametrize("fallback", [False, True])
def test_the_streams_as_they_are_give_the_values_of_the_records(
    measure, fallback, repeated, with_fallbacks, monkeypatch
):
    """What is resampled is the measure of the records: drawing each track once must give its value."""

    def once(self, replicates, *, seed):
        yield np.ones((replicates, self.n_groups))

    monkeypatch.setattr(Resampling, "weights", once)
    sets = with_fallbacks if fallback else repeated[0]
    values = {each.monitor: each.value for each in compare_sets(sets, measure, replicates=2).standings}
    made = resample(sets, measure, values, replicates=2)
    for monitor, value in values.items():
        assert made.draws[measure, monitor] == pytest.approx(value.value, abs=1e-12)


def test_each_draw_keeps_the_share_of_ood(monkeypatch):
    """OOD tracks drawn three times as often as ID ones: the measure must still be that of the stream."""
    run = make_run(faults=[FOG], tracks=0)  # each track is ID or OOD

    def thrice(self, replicates, *, seed):
        weights = np.ones((replicates, self.n_groups))
        weights[:, self.parts["OOD part"]] = 3.0
        yield weights

    monkeypatch.setattr(Resampling, "weights", thrice)
    values = {each.monitor: each.value for each in compare([run]).standings}
    made = resample(benchmark_sets([run]), "overall.mcc", values, replicates=2)
    for monitor, value in values.items():
        assert made.draws["overall.mcc", monitor] == pytest.approx(value.value, abs=1e-12)


def test_few_tracks_on_one_side_of_one_stream_make_intervals_wider():
    runs = [make_run(0, faults=[FOG], n_ood=7, tracks=0), make_run(1, faults=[NOISE], tracks=0)]
    values = {each.monitor: each.value for each in compare(runs, "specific.fpr").standings}
    made = resample(benchmark_sets(runs), "specific.fpr", values, replicates=9)
    assert made.fewest == 7


def test_of_one_stream_without_mixed_tracks_it_is_the_bootstrap_of_the_statistics():
    """The share of OOD is kept exactly, which the bootstrap does only where all tracks are equally long."""
    run = make_run(rates={"good": (0.1, 0.7), "poor": (0.1, 0.4)}, faults=[FOG], tracks=0)
    found = compare([run], "specific.mcc", replicates=300)
    is_ood = run.instances["is_ood"].to_numpy()
    track = run.instances["track"].to_numpy(dtype=str)
    (one,) = benchmark_sets([run])
    codes = {
        name: 2 * is_ood.astype(np.uint8) + run.alarms.loc[run.alarms["monitor"] == name, "alarm"].to_numpy()
        for name in ("good", "poor")
    }
    reference = bootstrap(
        [Counted("specific", codes, ["mcc"])],
        Resampling(len(is_ood), is_ood=is_ood, group=track),
        seed=1,
        replicates=4000,
    )
    for name in codes:
        interval, mine = reference.interval("specific_mcc", name), standing(found, name)
        width = interval.high.value - interval.low.value
        assert mine.value.value == pytest.approx(interval.value.value, abs=1e-12)
        assert mine.low.value == pytest.approx(interval.low.value, abs=0.15 * width)
        assert mine.high.value == pytest.approx(interval.high.value, abs=0.15 * width)
    assert len(one.streams[0]) == len(is_ood)


def test_a_second_set_on_the_same_id_images_tells_nothing_new_of_false_alarms():
    one = compare([make_run(faults=[FOG])], "specific.fpr", replicates=2000)
    many = compare(
        [make_run(faults=[(c, f"{f}{i}", s) for i in range(6) for c, f, s in (FOG,)])],
        "specific.fpr",
        replicates=2000,
    )

    def width(found):
        return standing(found, "good").high.value - standing(found, "good").low.value

    # By itself each stream would seem to add its own: the interval would shrink by the root of six.
    assert 0.8 < width(many) / width(one) < 1.25


def test_other_workloads_are_other_images():
    def width(found):
        return standing(found, "good").high.value - standing(found, "good").low.value

    same = compare(
        [make_run(0, faults=[FOG]), make_run(0, faults=[NOISE], workload="signs")],
        "specific.fpr",
        replicates=2000,
    )
    other = compare(
        [make_run(0, faults=[FOG]), make_run(0, faults=[NOISE], workload="digits")],
        "specific.fpr",
        replicates=2000,
    )
    assert width(other) / width(same) == pytest.approx(1 / np.sqrt(2), rel=0.15)


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Of ten monitors on each stream, which alarm by chance and know nothing of one another."""
    truths, monitors = {"specific.fpr": 0.1, "specific.fnr": 0.4}, [f"m{i}" for i in range(10)]
    held = dict.fromkeys(truths, 0)
    for seed in range(15):
        rates = dict.fromkeys(monitors, (0.1, 0.6))
        sets = benchmark_sets([make_run(seed, rates, [FOG, NOISE], n_id=200, n_ood=60, tracks=60)])
        for measure, truth in truths.items():
            made = compare_sets(sets, measure, monitors, replicates=300, seed=seed)
            held[measure] += sum(found.low.value <= truth <= found.high.value for found in made.standings)
    for measure, times in held.items():
        # 95 % asked for: of 150 fewer than 134 or more than 149 have a chance below 1 in 100 each.
        assert stats.binomtest(times, 150, 0.95).pvalue > 0.01, measure


def test_two_monitors_that_say_the_same_cannot_be_told_apart():
    found = compare([with_twin(make_run())])
    first, second = found.standings[:2]
    assert {first.monitor, second.monitor} == {"good", "twin"}
    assert (second.p.value, second.like_best) == (1.0, True)
    assert second.low.value == pytest.approx(first.low.value, abs=1e-12)
    assert standing(found, "poor").like_best is False


def test_two_constant_monitors_that_say_the_same_cannot_be_told_apart():
    rates = {"always": (1.0, 1.0), "yes": (1.0, 1.0), "good": (0.05, 0.8)}
    found = compare([make_run(rates=rates)], "specific.fnr")
    assert found.best == "always"
    assert standing(found, "yes").p.value == 1.0
    assert standing(found, "yes").like_best is True
    assert not standing(found, "always").low.defined


def test_constants_that_differ_tell_no_spread_and_have_no_p():
    found = compare([make_run(rates={"always": (1.0, 1.0), "never": (0.0, 0.0)})], "specific.fnr")
    never = standing(found, "never")
    assert (never.value.value, never.like_best) == (1.0, None)
    same_text(never.p.reason)


@pytest.mark.parametrize("streams", [60, pytest.param(300, marks=pytest.mark.slow)])
def test_monitors_of_the_same_worth_are_told_apart_as_rarely_as_alpha_says(streams):
    rates = {"one": (0.05, 0.5), "other": (0.05, 0.5)}
    told = [
        compare([make_run(seed, rates, [FOG])], "specific.mcc", replicates=200).standings[1].like_best
        is False
        for seed in range(streams)
    ]
    assert stats.binomtest(sum(told), streams, 0.05).pvalue > 0.01


def test_a_clearly_worse_monitor_is_not_like_the_best():
    found = compare([make_run()])
    assert [each.monitor for each in found.standings] == ["good", "middling", "poor"]
    assert [each.like_best for each in found.standings] == [True, False, False]


@pytest.mark.parametrize(
    ("n_monitors", "n", "tracks", "needed"),
    [(3, 100, 10, ("tracks", 6)), (20, 600, 0, ("replicates", 50_000))],
)
def test_where_no_p_can_be_small_enough_nothing_is_said_to_be_alike(n_monitors, n, tracks, needed):
    """The best has an MCC near 1, the others one far below: only draws or tracks are few."""
    rates = {"best": (0.0, 0.99)} | {f"bad-{i}": (0.6, 0.3) for i in range(n_monitors - 1)}
    run = make_run(rates=rates, faults=[FOG], n_id=n // 2, n_ood=n // 2, tracks=0)
    if tracks:  # a track is all ID or all OOD
        run = Readouts(
            run.instances.assign(track=[f"t{i * tracks // n}" for i in range(n)]), run.alarms, run.run
        )
    found = compare([run], "specific.mcc", replicates=2000)
    assert found.best == "best"
    assert {each.like_best for each in found.standings[1:]} == {None}
    assert found.resolution.needed[0] == needed[0]
    assert found.resolution.needed[1] == pytest.approx(needed[1], rel=0.05)
    assert min(each.p.value for each in found.standings[1:]) == pytest.approx(found.resolution.floor)
    same_text(found.notes[0])
    same_text(of_streams("shift", found, 0.05))
    more = compare([run], "specific.mcc", replicates=None)
    if needed[0] == "replicates":
        assert more.resolution.replicates == found.resolution.needed[1]
        assert {each.like_best for each in more.standings[1:]} == {False}
    else:
        assert more.resolution.replicates == 2000


def test_as_many_tracks_as_are_asked_for_tell_monitors_apart():
    rates = {"best": (0.0, 0.99), "bad": (0.6, 0.3), "worse": (0.7, 0.2)}
    run = make_run(rates=rates, faults=[FOG], n_id=120, n_ood=120, tracks=0)
    tracks = [f"t{i // 20}" for i in range(240)]
    found = compare(
        [Readouts(run.instances.assign(track=tracks), run.alarms, run.run)], "specific.mcc", replicates=None
    )
    assert found.resolution.fewest == 6
    assert [each.like_best for each in found.standings] == [True, False, False]


def test_p_is_corrected_for_all_pairs_of_monitors():
    rates = {f"m{i}": (0.05, 0.6 - 0.02 * i) for i in range(6)}
    sets = benchmark_sets([make_run(rates=rates, faults=[FOG])])
    found = compare([make_run(rates=rates, faults=[FOG])])
    values = {each.monitor: each.value for each in found.standings}
    made = resample(sets, "overall.mcc", values, replicates=400)
    others = [each for each in found.standings if each.monitor != found.best]
    raw = [made.difference("overall.mcc", found.best, each.monitor).p.value for each in others]
    corrected = [of_all_pairs(p, 6) for p in raw]
    assert [each.p.value for each in others] == pytest.approx(corrected, abs=1e-12)
    assert len(set(raw)) > 1, "there is something to correct"


SIX = {f"m{i}": (0.05, 0.6 - 0.02 * i) for i in range(6)}


def test_beside_a_control_each_p_is_of_the_difference_to_it():
    run = make_run(rates=SIX, faults=[FOG])
    found = compare([run], control="m3")
    values = {each.monitor: each.value for each in found.standings}
    made = resample(benchmark_sets([run]), "overall.mcc", values, replicates=400)
    others = [each for each in found.standings if each.monitor != "m3"]
    raw = [made.difference("overall.mcc", "m3", each.monitor).p.value for each in others]
    assert [each.p.value for each in others] == pytest.approx(holm_by_statsmodels(raw), abs=1e-12)
    assert len(set(raw)) > 1, "there is something to correct"
    assert [each.like_control for each in others] == [each.p.value >= 0.05 for each in others]
    control = standing(found, "m3")
    assert (control.like_control, control.p.defined) == (True, False)
    same_text(control.p.reason)
    assert {each.like_best for each in found.standings} == {None}, "nobody asked"
    assert [each.value for each in found.standings] == [each.value for each in compare([run]).standings]


def test_beside_a_control_fewer_replicates_are_enough():
    """Of six monitors 6 * 5 / 2 pairs are looked at where none is named, and five beside a control."""
    rates = {"best": (0.0, 0.99)} | {f"bad-{i}": (0.6, 0.3) for i in range(5)}
    run = make_run(rates=rates, faults=[FOG], n_id=300, n_ood=300, tracks=0)
    free, beside = (compare([run], replicates=None, control=name) for name in (None, "best"))
    assert beside.resolution.replicates < free.resolution.replicates
    few = compare([run], replicates=150, control="best")
    assert {each.like_control for each in few.standings[1:]} == {None}
    assert few.resolution.needed == ("replicates", beside.resolution.replicates)
    assert min(each.p.value for each in few.standings[1:]) == pytest.approx(few.resolution.floor)
    same_text(few.notes)
    same_text(of_streams("shift", few, 0.05))
    assert {each.like_control for each in beside.standings[1:]} == {False}


def test_a_control_without_a_value_leaves_no_answer():
    rates = {**RATES, "never": (0.0, 0.0)}
    found = compare([make_run(rates=rates, faults=[FOG])], control="never")
    assert {each.like_control for each in found.standings} == {None}
    same_text(standing(found, "good").p.reason)
    same_text(of_streams("shift", found, 0.05))
    assert standing(found, "good").low.defined


@pytest.mark.parametrize("streams", [60, pytest.param(300, marks=pytest.mark.slow)])
def test_monitors_like_the_control_are_told_from_it_as_rarely_as_alpha_says(streams):
    """Any of three in so many streams; on the safe side is no mistake."""
    rates = dict.fromkeys(("control", "one", "two", "three"), (0.05, 0.5))
    told = 0
    for seed in range(streams):
        found = compare([make_run(seed, rates, [FOG])], "specific.mcc", control="control")
        told += any(each.like_control is False for each in found.standings)
    assert stats.binomtest(told, streams, 0.05, alternative="greater").pvalue > 0.01


def test_the_seed_decides_and_the_order_of_runs_does_not():
    runs = [make_run(seed) for seed in range(2)]
    first, again, other = compare(runs), compare(runs), compare(runs, seed=1)
    assert first == again
    assert first != other
    assert [s.value for s in first.standings] == [s.value for s in other.standings]


def test_a_monitor_undefined_on_one_set_has_no_mean():
    run = make_run(faults=[FOG, NOISE])
    fog = run.instances["faultload"].eq("fog") | ~run.instances["is_ood"]
    silent = run.alarms["monitor"].eq("good") & run.alarms["position"].isin(run.instances["position"][fog])
    run = Readouts(run.instances, run.alarms.assign(alarm=run.alarms["alarm"] & ~silent), run.run)
    found = compare([run])
    good = found.standings[-1]
    assert (good.monitor, good.gap, good.like_best) == ("good", "undefined", None)
    same_text(good.value.reason)
    assert found.notes == (f"good: {good.value.reason}",)
    assert [each.monitor for each in found.standings[:2]] == ["middling", "poor"]
    assert standing(found, "middling").low.defined, "one monitor's gap takes nothing from the others"


def test_never_and_always_have_no_mcc_and_are_last():
    found = compare([make_run(rates={"never": (0.0, 0.0), **RATES, "always": (1.0, 1.0)}, faults=[NOVEL])])
    assert [each.monitor for each in found.standings] == ["good", "middling", "poor", "never", "always"]
    same_text(found.notes)


def test_failed_and_missing_monitors_are_told_apart():
    less = {name: rate for name, rate in RATES.items() if name != "poor"}
    runs = [make_run(0, faults=[FOG, SHOT]), make_run(1, less, faults=[FOG], failed=["good"])]
    found = compare(runs)
    assert [(each.monitor, each.gap) for each in found.standings] == [
        ("middling", None),
        ("good", "failed"),
        ("poor", "not run"),
    ]
    same_text(found.notes)


def test_where_no_monitor_has_a_value_there_is_no_best():
    found = compare([make_run(rates={"never": (0.0, 0.0)})])
    assert found.best is None
    same_text(found.notes)
    found = compare([make_run(failed=list(RATES))])
    assert found.best is None
    assert {each.gap for each in found.standings} == {"failed"}


@pytest.mark.parametrize(
    ("sizes", "side"),
    [
        ({"n_id": 4, "n_ood": 50}, "ID instances are of 4 tracks"),
        ({"n_ood": 1}, "OOD instances are of 1 track;"),
    ],
)
def test_too_few_tracks_have_values_and_no_intervals(sizes, side):
    found = compare([make_run(faults=[FOG], tracks=0, **sizes)], "specific.error")
    assert side in found.notes[0]
    same_text(found.notes[0])
    assert all(each.value.defined and not each.low.defined for each in found.standings)
    assert found.standings[0].like_best is True
    assert found.standings[1].like_best is None


def test_a_few_tracks_with_both_id_and_ood_instances_cost_no_interval():
    run = make_run(faults=[FOG], tracks=0)
    track = run.instances["track"].where(run.instances["position"] != 300, "t0")
    run = Readouts(run.instances.assign(track=track), run.alarms, run.run)
    grouped = Resampling(420, is_ood=run.instances["is_ood"].to_numpy(), group=track.to_numpy(dtype=str))
    assert grouped.why_not is None
    for position in (301, 302):
        track = track.where(run.instances["position"] != position, f"t{position - 300}")
    run = Readouts(run.instances.assign(track=track), run.alarms, run.run)
    grouped = Resampling(420, is_ood=run.instances["is_ood"].to_numpy(), group=track.to_numpy(dtype=str))
    same_text(grouped.why_not)
    assert all(each.low.defined for each in compare([run]).standings)


def test_a_run_without_faults_has_intervals_of_what_is_defined():
    run = make_run(faults=())
    assert all(each.low.defined for each in compare([run], "specific.fpr").standings)
    assert compare([run], "specific.fnr").best is None


def test_too_few_replicates_are_said():
    found = compare([make_run()], replicates=10)
    assert all("10 replicates are too few" in each.low.reason for each in found.standings)
    assert {each.like_best for each in found.standings[1:]} == {None}


def test_instances_that_sets_of_one_run_share_count_once():
    found = compare([make_run(0), make_run(1)])
    assert found.n == 2 * (300 + 3 * 120)
    assert found.n_streams == 6
    assert found.n_groups == 100
    long = {"n_id": 1000}  # so that every one of the 100 tracks occurs
    two = [make_run(0, workload="a", **long), make_run(1, workload="b", **long)]
    assert compare(two).n_groups == 200


def test_missing_scores_take_the_interval_of_auroc_and_nothing_else():
    run = make_run(faults=[FOG])
    scores = run.alarms["score"].where(run.alarms["monitor"] != "poor")
    run = Readouts(run.instances, run.alarms.assign(score=scores), run.run)
    found = compare([run], "auroc")
    assert [each.monitor for each in found.standings] == ["good", "middling", "poor"]
    assert standing(found, "middling").low.defined
    same_text(standing(found, "poor").value.reason)
    assert standing(compare([run]), "poor").low.defined
