import numpy as np
import pytest

from farm.comparing import benchmark_sets, measured
from farm.errors import DataError
from farm.judging import judge
from farm.measures import Measure
from farm.statistics.table import Missing
from farm.store.readouts import Readouts
from tests.comparing.made_runs import FOG, NOISE, NOVEL, RATES, make_run
from tests.wording import refused, same_text

MCC = measured("overall.mcc")


def set_named(sets, part):
    (found,) = [one for one in sets if part in one.name]
    return found


def test_a_set_is_a_fault_at_a_severity_on_a_workload_with_a_classifier():
    faults = [("noise", "gaussian-noise", 3.0), ("noise", "gaussian-noise", 5.0), NOVEL]
    sets = benchmark_sets([make_run(faults=faults), make_run(1, faults=faults, classifier="vgg")])
    assert sorted(one.name for one in sets) == [
        "btsc on signs with lenet",
        "btsc on signs with vgg",
        "gaussian-noise 3 on signs with lenet",
        "gaussian-noise 3 on signs with vgg",
        "gaussian-noise 5 on signs with lenet",
        "gaussian-noise 5 on signs with vgg",
    ]
    assert {(one.category, one.severity) for one in sets} == {
        ("noise", "3"),
        ("noise", "5"),
        ("novelty", "no severity"),
    }


def test_runs_with_another_seed_are_repetitions_of_a_set():
    runs = [make_run(seed) for seed in range(3)]
    sets = benchmark_sets(runs)
    assert len(sets) == 3
    assert all(len(one.streams) == len(one.records) == 3 for one in sets)
    fog = set_named(sets, "fog")
    own = [
        r["overall"]["mcc"]
        for run in runs
        for r in judge(run.instances, run.alarms, run.run)
        if (r["part"], r["faultload"], r["monitor"]) == ("all", "fog", "good")
    ]
    assert fog.cell(MCC, "good").value == pytest.approx(np.mean(own), abs=1e-15)


def test_the_orders_of_the_tables_are_no_matter():
    straight, shuffled = benchmark_sets([make_run()]), benchmark_sets([make_run(shuffled=True)])
    for one, other in zip(straight, shuffled, strict=True):
        assert one == other
        for name in RATES:
            assert one.cell(MCC, name) == other.cell(MCC, name)
            (a,), (b,) = one.streams, other.streams
            rows = [
                sorted(
                    zip(
                        s.track,
                        s.is_ood,
                        s.should_cancel,
                        s.said[name].alarm,
                        s.said[name].score,
                        strict=True,
                    )
                )
                for s in (a, b)
            ]
            assert rows[0] == rows[1]


def test_streams_agree_with_their_records():
    for one in benchmark_sets([make_run(shuffled=True)]):
        (stream,), (records,) = one.streams, one.records
        for name, said in stream.said.items():
            record = records[name]
            assert len(stream) == record["n"]
            assert int(stream.is_ood.sum()) == record["n_ood"]
            assert int((said.alarm & stream.is_ood).sum()) == record["specific"]["tp"]
            assert int((said.cancelled & stream.should_cancel).sum()) == record["overall"]["tp"]
            assert said.decided.mean() == pytest.approx(record["coverage"])
            assert said.right.sum() / said.decided.sum() == pytest.approx(record["accepted_accuracy"])


def test_a_fallbacks_decisions_are_decisions_also_those_of_a_class_that_occurs_nowhere_else():
    run = make_run(rates={"good": (0.2, 0.8)})
    by_position = run.alarms.set_index("position")["alarm"].to_numpy()
    predicted = run.instances["predicted"].to_numpy()
    decision = np.where(by_position, np.where(np.arange(len(predicted)) % 2, 77, -1), predicted)
    alarms = run.alarms.assign(cancelled=by_position, decision=decision)
    for one in benchmark_sets([Readouts(run.instances, alarms, run.run)]):
        (stream,), (records,) = one.streams, one.records
        assert stream.said["good"].decided.mean() == pytest.approx(records["good"]["coverage"])
        assert stream.said["good"].decided.mean() > 1 - stream.said["good"].cancelled.mean()


def test_a_policys_cancelling_is_not_the_alarm():
    run = make_run()
    alarms = run.alarms.assign(cancelled=False)
    for one in benchmark_sets([Readouts(run.instances, alarms, run.run)]):
        assert not one.streams[0].said["good"].cancelled.any()
        assert one.streams[0].said["good"].alarm.any()


def test_the_oracle_and_what_the_run_does_not_rank_have_no_part():
    (one,) = benchmark_sets([make_run(faults=[FOG], unranked=["poor"])])
    assert list(one.records[0]) == ["good", "middling"]


def test_a_monitor_that_failed_or_is_missing_in_one_run_has_no_value():
    less = {name: rate for name, rate in RATES.items() if name != "poor"}
    sets = benchmark_sets([make_run(0), make_run(1, failed=["good"]), make_run(2, rates=less)])
    for one in sets:
        assert one.cell(MCC, "good") == Missing("failed in 1 of 3 runs")
        assert one.cell(MCC, "poor") == Missing("was not run in 1 of 3 runs")
        assert one.cell(MCC, "middling").defined
        assert one.cell(MCC, "nobody") == Missing("was not run in 3 of 3 runs")
        assert one.failures == {"good": "singular"}
    (one,) = benchmark_sets([make_run(faults=[FOG], failed=["good"])])
    assert one.cell(MCC, "good") == Missing("failed")
    assert "good" not in one.streams[0].said


def test_an_undefined_value_stays_undefined_with_its_reason():
    (one,) = benchmark_sets([make_run(rates={"never": (0.0, 0.0)}, faults=[FOG])])
    cell = one.cell(MCC, "never")
    assert isinstance(cell, Measure)
    same_text(cell.reason)


def test_a_run_without_faults_is_a_set_of_its_own():
    (one,) = benchmark_sets([make_run(faults=())])
    assert one.name == "no fault on signs with lenet"
    assert (one.faultload, one.category, one.severity) == ("no fault", "no fault", "no severity")
    assert not one.streams[0].is_ood.any()
    assert one.cell(MCC, "good").defined
    same_text(one.cell(measured("specific.fnr"), "good").reason)


def test_a_fault_of_several_categories_in_a_run_is_a_set_for_each():
    mapped = ("shift", *NOVEL[1:])
    runs = [make_run(seed, faults=[NOVEL, mapped, FOG]) for seed in range(2)]
    sets = benchmark_sets([*runs, make_run(2, faults=[mapped])])  # a run in which nothing is novel
    assert [(one.name, one.category, len(one.streams), len(one.records)) for one in sets] == [
        ("btsc (novelty) on signs with lenet", "novelty", 2, 2),
        ("btsc (shift) on signs with lenet", "shift", 3, 3),
        ("fog 5 on signs with lenet", "shift", 2, 2),
    ]
    assert all(int(stream.is_ood.sum()) == 120 for one in sets for stream in one.streams)


def test_faults_without_a_name_are_not_no_fault():
    run = make_run(faults=[FOG])
    instances = run.instances.drop(columns=["faultload", "category", "severity"])
    (one,) = benchmark_sets([Readouts(instances, run.alarms, run.run)])
    assert (one.faultload, one.category, one.severity) == ("unnamed fault", "no category", "no severity")


def test_a_ramp_is_one_set_and_repeats_where_its_last_instance_differs():
    runs = []
    for seed, end in ((0, 5.0), (1, 4.98)):
        run = make_run(seed, faults=[FOG])
        ramp = np.where(run.instances["is_ood"], np.linspace(0, end, len(run.instances)), np.nan)
        runs.append(Readouts(run.instances.assign(severity=ramp), run.alarms, run.run))
    (one,) = benchmark_sets(runs)
    assert one.name == "fog up to 5 on signs with lenet"
    assert len(one.streams) == 2


@pytest.mark.parametrize("column", ["is_ood", "label"])
def test_what_every_comparison_needs_is_asked_for(column):
    run = make_run(folder="runs/a")
    gone = Readouts(run.instances.drop(columns=[column]), run.alarms, run.run)
    with refused(DataError):
        benchmark_sets([gone])
    some = run.instances.astype({column: object})
    some.loc[3, column] = None
    with refused(DataError):
        benchmark_sets([Readouts(some, run.alarms, run.run)])


def test_alarms_that_do_not_match_the_instances_are_refused():
    run = make_run()
    with refused(DataError):
        benchmark_sets([Readouts(run.instances, run.alarms.iloc[1:], run.run)])


def test_a_fault_has_one_category():
    with refused(DataError):
        benchmark_sets([make_run(faults=[NOISE]), make_run(1, faults=[("shift", *NOISE[1:])])])


def test_instances_without_a_track_are_tracks_of_their_own():
    run = make_run(faults=[FOG])
    without = Readouts(run.instances.drop(columns="track"), run.alarms, run.run)
    (one,) = benchmark_sets([without])
    assert len(set(one.streams[0].track)) == len(one.streams[0])
    some = run.instances.assign(track=run.instances["track"].where(run.instances["position"] > 9, None))
    (one,) = benchmark_sets([Readouts(some, run.alarms, run.run)])
    expected = run.instances["track"][run.instances["position"] > 9].nunique() + 10
    assert len(set(one.streams[0].track)) == expected


def test_scores_with_gaps_are_no_scores():
    run = make_run(faults=[FOG])
    gap = run.alarms.assign(score=run.alarms["score"].where(run.alarms["position"] > 0))
    (one,) = benchmark_sets([Readouts(run.instances, gap, run.run)])
    assert one.streams[0].said["good"].scores is None
    (one,) = benchmark_sets([Readouts(run.instances, run.alarms.drop(columns="score"), run.run)])
    assert one.streams[0].said["good"].scores is None


def test_a_table_of_no_alarms_is_read():
    (one,) = benchmark_sets([make_run(faults=[FOG], failed=list(RATES))])
    assert one.streams[0].said == {}
    assert isinstance(one.cell(MCC, "good"), Missing)


def test_a_run_that_does_not_tell_a_faults_category_has_that_of_others():
    told, silent = make_run(), make_run(1)
    silent = Readouts(silent.instances.drop(columns="category"), silent.alarms, silent.run)
    sets = benchmark_sets([silent, told])
    assert {one.name: one.category for one in sets} == {
        one.name: one.category for one in benchmark_sets([told])
    }
    assert all(len(one.streams) == 2 for one in sets)
    nameless = Readouts(silent.instances.drop(columns="faultload"), silent.alarms, silent.run)
    assert {one.category for one in benchmark_sets([nameless])} == {"no category"}
