import re
from dataclasses import replace

import numpy as np
import pytest

from farm.comparing import benchmark_sets
from farm.comparing.measures import CLASSIFIER
from farm.errors import ExperimentError
from farm.gate.criterion import parse_criterion
from farm.gate.population import Population
from farm.gate.selected import select
from farm.store.readouts import Readouts
from tests.comparing.made_runs import FOG, NOISE, NOVEL, RATES, SHOT, make_run
from tests.wording import refused, same_text

HARD = ("noise", "gaussian-noise", 5.0)
FAULTS = (NOISE, HARD, SHOT, FOG, NOVEL)


def chosen(runs, text):
    return select(runs, parse_criterion(text))


def only(runs, text):
    (found,) = chosen(runs, text)
    return found


def faults(selected):
    return [(one.faultload, one.severity) for one in selected.sets]


def problem(runs, text):
    with pytest.raises(ExperimentError) as raised:
        chosen(runs, text)
    told = str(raised.value)
    assert "\n" not in told
    assert told.startswith(f"criterion '{text}': ")
    return told.removeprefix(f"criterion '{text}': ")


def with_run(run, **record):
    return Readouts(run.instances, run.alarms, {**run.run, **record})


def with_columns(run, *, alarms=None, **columns):
    return Readouts(run.instances.assign(**columns), run.alarms.assign(**(alarms or {})), run.run)


def onset_run(seed=0, *, faults=(FOG,), at=200, **options):
    """A run whose faults begin at one instant: ID instances come first in the table."""
    run = make_run(seed, faults=faults, n_id=at, **options)
    episode = np.where(run.instances["is_ood"], 0, -1)
    return with_run(with_columns(run, episode=episode), stream={"order": {"name": "onset", "at": at}})


@pytest.fixture(scope="module")
def run():
    return make_run(faults=FAULTS)


class TestConditions:
    def test_without_any_all_sets_are_meant(self, run):
        found = only([run], "overall.mcc >= 0.4")
        assert found.name == "all sets"
        assert len(found.sets) == 5
        assert found.monitors == tuple(RATES)
        assert not found.failures

    @pytest.mark.parametrize(
        ("on", "expected"),
        [
            ("category:noise", [("gaussian-noise", "3"), ("gaussian-noise", "5"), ("shot-noise", "3")]),
            ("faultload:fog", [("fog", "5")]),
            ("category:noise severity>=4", [("gaussian-noise", "5")]),
            ("severity<=3", [("gaussian-noise", "3"), ("shot-noise", "3")]),
            ("severity<5 severity>3", None),
            ("severity:3", [("gaussian-noise", "3"), ("shot-noise", "3")]),
            (
                "severity>0",
                [("fog", "5"), ("gaussian-noise", "3"), ("gaussian-noise", "5"), ("shot-noise", "3")],
            ),
        ],
    )
    def test_faults_and_severities(self, run, on, expected):
        text = f"overall.mcc >= 0.4 on {on}"
        if expected is None:
            same_text(problem([run], text))
            return
        found = only([run], text)
        assert sorted(faults(found)) == expected
        assert found.name == on

    def test_streams_are_those_of_the_sets(self, run):
        found = only([run], "overall.mcc >= 0.4 on faultload:fog")
        ((one,), (stream,)) = found.sets, found.sets[0].streams
        assert one.name == "fog 5 on signs with lenet"
        (same,) = (each for each in benchmark_sets([run]) if each.name == one.name)
        assert same.records[0]["good"]["overall"]["tp"] == int(
            (stream.said["good"].cancelled & stream.should_cancel).sum()
        )

    def test_workloads_and_classifiers(self):
        runs = [make_run(0), make_run(1, workload="digits"), make_run(2, classifier="vgg")]
        assert {one.workload for one in only(runs, "overall.mcc >= 0.4 on workload:digits").sets} == {
            "digits"
        }
        assert [r.run.number for r in only(runs, "overall.mcc >= 0.4 on classifier:lenet").runs] == [0, 1]
        found = chosen(runs, "overall.mcc >= 0.4 on each classifier workload:signs")
        assert [one.name for one in found] == [
            "classifier:lenet workload:signs",
            "classifier:vgg workload:signs",
        ]

    def test_workloads_of_one_name_are_meant_together_or_by_what_differs(self):
        runs = [
            with_run(make_run(seed), workload={"name": "npz", "recipe": {"path": path}})
            for seed, path in ((0, "a.npz"), (1, "b.npz"))
        ]
        assert len(only(runs, "overall.mcc >= 0.4 on workload:npz").runs) == 2
        found = only(runs, 'overall.mcc >= 0.4 on workload:"npz (path b.npz)"')
        assert [each.run.number for each in found.runs] == [1]

    def test_repetitions_are_streams_of_one_set(self):
        runs = [with_run(make_run(seed), seed=seed) for seed in (10, 9)]
        found = only(runs, "overall.mcc >= 0.4 on faultload:fog")
        assert len(found.sets) == 1
        assert [stream.run for stream in found.sets[0].streams] == [0, 1]
        found = only(runs, "overall.mcc >= 0.4 on faultload:fog seed:9")
        assert [stream.run for stream in found.sets[0].streams] == [1]
        assert [one.name for one in chosen(runs, "overall.mcc >= 0.4 on each seed")] == ["seed:9", "seed:10"]

    @pytest.mark.parametrize(
        "record",
        [
            {"stream": {"order": "sequential"}},
            {"stream": {"order": {"name": "sequential", "at": 3}}},
            {"stream": {"benchmark_hash": "1", "made_by": {"order": "sequential"}}},
            {"experiment": {"stream": {"order": {"name": "sequential"}}}},
        ],
    )
    def test_the_order_of_the_stream(self, record):
        runs = [with_run(make_run(0), stream={"order": "shuffled"}), with_run(make_run(1), **record)]
        found = only(runs, "overall.mcc >= 0.4 on stream:sequential")
        assert [each.run.number for each in found.runs] == [1]
        assert found.runs[0].run.order == "sequential"

    def test_a_ramp_has_no_single_severity(self):
        made = make_run(faults=[FOG])
        severity = np.where(made.instances["is_ood"], np.linspace(0, 5, len(made.instances)), np.nan)
        runs = [with_columns(made, severity=severity), make_run(1, faults=[NOISE])]
        assert faults(only(runs, "overall.mcc >= 0.4 on severity<=5")) == [("gaussian-noise", "3")]
        same_text(problem(runs, "overall.mcc >= 0.4 on severity>=4"))
        assert len(only(runs, "overall.mcc >= 0.4 on faultload:fog").sets) == 1

    def test_each_value_has_its_own(self, run):
        found = chosen([run], "overall.mcc >= 0.4 on each category")
        assert [one.name for one in found] == ["category:noise", "category:novelty", "category:shift"]
        assert [len(one.sets) for one in found] == [3, 1, 1]
        found = chosen([run], "overall.mcc >= 0.4 on each severity")
        assert [one.name for one in found] == ["severity:3", "severity:5"]
        assert [len(one.sets) for one in found] == [2, 2]

    def test_what_has_no_fault_is_of_no_category(self):
        runs = [make_run(0, faults=()), make_run(1, faults=[FOG])]
        assert [one.name for one in chosen(runs, "overall.mcc >= 0.4 on each category")] == ["category:shift"]
        same_text(problem(runs, 'overall.mcc >= 0.4 on category:"no fault"'))
        assert len(only(runs, "overall.mcc >= 0.4").sets) == 2


class TestWhatMatchesNothing:
    @pytest.mark.parametrize(
        ("on", "told"),
        [
            (
                "category:noize",
                "nothing has category:noize; did you mean 'noise'? there are noise, novelty, shift",
            ),
            ("category:x", "nothing has category:x; there are noise, novelty, shift"),
            ("category:noise severity<3", "nothing with category:noise has severity<3; there are 3, 5"),
            (
                "category:novelty severity>0",
                "nothing with category:novelty has severity>0; no stream there has a",
            ),
            (
                "category:shift faultload:shot-noise",
                "nothing with category:shift has faultload:shot-noise; there",
            ),
            ("workload:sign", "nothing has workload:sign; did you mean 'signs'? there is signs"),
            ("seed:3", "nothing has seed:3; no stream there has a seed"),
            ("stream:onset", "nothing has stream:onset; no stream there has a stream"),
            ("each seed", "'each seed' has nothing to be about; no stream there has a seed"),
        ],
    )
    def test_is_an_error(self, run, on, told):
        assert problem([run], f"overall.mcc >= 0.4 on {on}").startswith(told)

    def test_of_many_values_some_are_told(self):
        made = make_run(faults=[("noise", f"fault-{i:02}", 1.0) for i in range(15)])
        told = problem([made], "overall.mcc >= 0.4 on faultload:fog")
        same_text(told)

    def test_no_run_at_all(self):
        with refused(ExperimentError):
            chosen([], "overall.mcc >= 0.4")


class TestSides:
    def test_of_id_there_is_one_stream_a_run(self, run):
        other = make_run(1, faults=[FOG])
        found = only([run, other], "specific.fpr <= 0.05 on id")
        (one,) = found.sets
        assert one.name == "ID on signs with lenet"
        assert [stream.run for stream in one.streams] == [0, 1]
        assert all(len(stream) == 300 and not stream.is_ood.any() for stream in one.streams)
        for stream, made in zip(one.streams, (run, other), strict=True):
            own = made.alarms[
                (made.alarms["monitor"] == "good")
                & ~made.instances["is_ood"].reindex(made.alarms["position"]).to_numpy()
            ]
            assert int(stream.said["good"].alarm.sum()) == int(own["alarm"].sum())
            assert stream.said["good"].score.tolist() == own["score"].tolist()

    def test_of_ood_there_is_one_stream_a_fault(self, run):
        found = only([run], "specific.fnr <= 0.5 on ood category:noise")
        assert [len(one.streams[0]) for one in found.sets] == [120, 120, 120]
        assert all(one.streams[0].is_ood.all() for one in found.sets)
        stream = found.sets[0].streams[0]
        lengths = {
            len(getattr(stream.said["good"], name)) for name in ("alarm", "cancelled", "decided", "right")
        }
        assert lengths == {120}

    def test_there_are_no_records_which_are_of_whole_streams(self, run):
        for on in ("", " on ood"):
            assert only([run], f"specific.fnr <= 0.5{on}").sets[0].records == []

    def test_the_population_stays_as_it_was(self, run):
        population = Population.of([run])
        before = [len(each.stream) for each in population.streams]
        chosen(population, "specific.fpr <= 0.05 on id")
        chosen(population, "specific.fnr <= 0.5 on ood")
        (found,) = chosen(population, "overall.mcc >= 0.4")
        assert [len(each.stream) for each in population.streams] == before
        assert [len(one.streams) for one in found.sets] == [1] * 5

    def test_streams_that_have_nothing_of_a_side_are_left_out(self):
        runs = [make_run(0, faults=()), make_run(1, faults=[FOG])]
        found = only(runs, "specific.fnr <= 0.5 on ood")
        assert faults(found) == [("fog", "5")]
        assert [each.run.number for each in found.runs] == [1]

    def test_a_side_that_is_nowhere(self):
        same_text(problem([make_run(faults=())], "residual_hazard <= 0.5 on ood"))
        without = make_run(faults=[FOG], n_id=0)
        same_text(problem([without], "specific.fpr <= 0.05 on id"))


class TestRows:
    def test_are_the_instances_of_the_sets_each_once_in_the_streams_order(self):
        run = make_run(faults=FAULTS, shuffled=True)
        found = only([run], "overall.mcc >= 0.4 on category:noise")
        (rows,) = found.runs
        assert len(rows.table) == 300 + 3 * 120
        assert set(rows.table.faultload) == {None, "gaussian-noise", "shot-noise"}
        assert (np.diff(rows.table.position) > 0).all()
        given = run.instances.set_index("position")["track"].loc[rows.table.position]
        assert rows.table.track.tolist() == given.tolist()
        expected = run.alarms[run.alarms["monitor"] == "good"].set_index("position")["score"]
        assert rows.table.said["good"].score.tolist() == expected.loc[rows.table.position].tolist()

    def test_agree_with_the_streams(self):
        run = make_run(faults=FAULTS, shuffled=True)
        for one in Population.of([run]).streams:
            assert run.instances["track"].iloc[one.stream.row].tolist() == one.stream.track.tolist()
            assert run.instances["is_ood"].iloc[one.stream.row].tolist() == one.stream.is_ood.tolist()
            ood = run.instances.iloc[one.stream.row[one.stream.is_ood]]
            assert ood["faultload"].unique().tolist() == [one.of.faultload]

    def test_of_a_side(self, run):
        (rows,) = only([run], "specific.fpr <= 0.05 on id").runs
        assert len(rows.table) == 300
        assert not rows.table.is_ood.any()
        (rows,) = only([run], "specific.fnr <= 0.5 on ood faultload:fog").runs
        assert rows.table.faultload.tolist() == ["fog"] * 120

    def test_severities_that_read_the_same_keep_their_own(self):
        near = ("noise", "gaussian-noise", 3.00000001)
        run = make_run(faults=[NOISE, near])
        streams = Population.of([run]).streams
        assert len({each.of for each in streams}) == 1
        own = [run.instances["severity"].iloc[each.stream.row].dropna().unique().tolist() for each in streams]
        assert own == [[3.0], [3.00000001]]
        for each in streams:
            assert run.instances["track"].iloc[each.stream.row].tolist() == each.stream.track.tolist()


class TestMonitors:
    def test_those_that_are_named(self, run):
        assert only([run], "overall.mcc >= 0.4 for poor, good").monitors == ("poor", "good")

    def test_those_that_the_run_does_not_rank_only_if_named(self):
        run = make_run(unranked=["poor"])
        assert only([run], "overall.mcc >= 0.4").monitors == ("good", "middling")
        assert only([run], "overall.mcc >= 0.4 for poor").monitors == ("poor",)
        none = make_run(unranked=list(RATES))
        told = "no run has a monitor that it ranks, but for those that know nothing; name one with 'for'"
        assert problem([none], "overall.mcc >= 0.4") == told

    def test_those_that_know_nothing_only_if_named(self, run):
        entries = [{**each, "yardstick": each["name"] == "poor"} for each in run.run["monitors"]]
        blind = replace(run, run={**run.run, "monitors": entries})
        assert only([blind], "overall.mcc >= 0.4").monitors == ("good", "middling")
        assert only([blind], "overall.mcc >= 0.4 for poor").monitors == ("poor",)

    def test_one_that_is_not_there(self, run):
        same_text(problem([run], "overall.mcc >= 0.4 for goood"))
        same_text(problem([run], "overall.mcc >= 0.4 for oracle"))

    def test_one_that_is_in_some_runs_alone(self):
        less = {name: rate for name, rate in RATES.items() if name != "poor"}
        runs = [make_run(0), make_run(1, rates=less, faults=[FOG])]
        for text in ("overall.mcc >= 0.4", "overall.mcc >= 0.4 for poor"):
            same_text(problem(runs, text))
        assert only(runs, "overall.mcc >= 0.4 for good").monitors == ("good",)
        assert only(runs, "overall.mcc >= 0.4 on category:noise").monitors == tuple(RATES)

    def test_one_that_failed_is_told_with_its_reason(self):
        found = only([make_run(failed=["good"])], "overall.mcc >= 0.4")
        assert found.monitors == tuple(RATES)
        assert found.failures == {"good": "the monitor failed: singular"}
        assert "good" not in found.sets[0].streams[0].said
        runs = [make_run(0), make_run(1, failed=["good"])]
        assert only(runs, "overall.mcc >= 0.4").failures == {
            "good": "the monitor failed in 1 of 2 runs (runs/1: singular)"
        }

    def test_one_that_left_no_alarms_failed(self, run):
        monitors = [*run.run["monitors"], {"name": "mute"}]
        found = only([with_run(run, monitors=monitors)], "auroc >= 0.4")
        assert found.failures == {"mute": "the monitor failed: it left no alarms"}

    def test_of_the_classifier_there_is_one(self, run):
        timed = with_columns(run, classifier_time_us=1.0)
        assert only([timed], "classifier_time_us.p99 <= 3").monitors == (CLASSIFIER,)


class TestWhatAMeasureNeeds:
    def test_id_instances(self):
        run = make_run(faults=[FOG], n_id=0)
        for measure in ("specific.fpr <= 0.1", "specific.mcc >= 0.1", "auroc >= 0.6"):
            assert problem([run], measure) == (
                f"{measure.split()[0]} needs ID instances, and 'is_ood' is true for all 120 instances of "
                "fog 5 on signs with lenet in runs/0"
            )

    def test_ood_instances(self):
        runs = [make_run(0, faults=()), make_run(1, faults=[FOG])]
        told = (
            "needs OOD instances, and 'is_ood' is false for all 300 instances of no fault on signs with lenet"
        )
        assert problem(runs, "specific.fnr <= 0.1") == (
            f"specific.fnr {told} in runs/0; 'on ood' leaves such streams out"
        )
        assert problem(runs, "specific.mcc >= 0.1") == f"specific.mcc {told} in runs/0"
        assert problem(runs[:1], "specific.fnr <= 0.1") == f"specific.fnr {told} in runs/0"
        only(runs, "specific.fnr <= 0.1 on ood")
        only(runs, "specific.fpr <= 0.1")

    def test_right_answers(self):
        run = make_run(faults=[NOVEL])
        run = with_columns(run, label=np.where(run.instances["is_ood"], -1, run.instances["label"]))
        for text in (
            "overall.mcc >= 0.1 on ood",
            "overall.fpr <= 0.1 on ood",
            "availability_cost <= 0.1 on ood",
        ):
            assert problem([run], text) == (
                f"{text.split()[0]} needs instances that have a right answer, and 'label' is -1 for all 120 "
                "instances of btsc on signs with lenet in runs/0"
            )
        only([run], "overall.mcc >= 0.1")
        only([run], "overall.mcc >= 0.1 on id")
        only([run], "residual_hazard <= 0.1 on ood")

    def test_scores(self, run):
        gap = run.alarms["score"].where((run.alarms["monitor"] != "poor") | (run.alarms["position"] > 0))
        some = with_columns(run, alarms={"score": gap})
        same_text(problem([some], "auroc >= 0.6"))
        only([some], "auroc >= 0.6 for good")
        only([some], "overall.mcc >= 0.6")

    def test_times(self, run):
        same_text(problem([run], "monitor_time_us.p99 <= 5"))
        same_text(problem([run], "classifier_time_us.p99 <= 5"))
        time = np.where(run.alarms["monitor"] == "good", 3.0, np.nan)
        timed = with_columns(run, alarms={"monitor_time_us": time}, classifier_time_us=np.nan)
        only([timed], "monitor_time_us.p99 <= 5 for good")
        assert "of monitor 'middling'" in problem([timed], "monitor_time_us.p99 <= 5")
        assert problem([timed], "classifier_time_us.p99 <= 5").startswith("classifier_time_us needs times")

    @pytest.mark.parametrize(
        "text", ["detection_delay.p95 <= 9", "missed_onsets <= 0.1", "false_alarms_per_1000 <= 3"]
    )
    def test_onsets(self, text):
        measure = re.match(r"\w+", text)[0]
        plain = make_run(faults=[FOG])
        assert problem([plain], text) == (
            f"{measure} needs a stream with onsets, and runs/0 has no column 'episode'"
        )
        none = with_run(with_columns(plain, episode=-1), stream={"order": "shuffled"})
        told = (
            f"{measure} needs onsets, and by 'episode' the stream of runs/0 in the order 'shuffled' has none"
        )
        assert problem([none], text) == told
        quiet = with_columns(none, episode=np.where(plain.instances["is_ood"], -1, 0))
        assert problem([quiet], text) == told
        found = only([none, onset_run(1)], f"{text} on stream:onset")
        assert [each.run.number for each in found.runs] == [1]

    def test_whole_streams_along_time(self):
        run = onset_run(faults=[FOG, NOISE])
        found = only([run], "detection_delay.p95 <= 9")
        assert len(found.runs[0].table) == len(run.instances)
        for on in ("category:noise", "severity:5", "each category"):
            assert re.fullmatch(
                "detection_delay is measured along whole streams, and that of runs/0 also has .*, which is "
                "not selected; select all of its faults, or run them apart",
                problem([run], f"detection_delay.p95 <= 9 on {on}"),
            )
        only([run], "detection_delay.p95 <= 9 on severity>=3")
        only([run, onset_run(1, faults=[SHOT])], "detection_delay.p95 <= 9 on faultload:shot-noise")

    def test_sizes(self, run):
        same_text(problem([run], "monitor_bytes <= 1000"))
        sized = with_run(run, monitors=[{**note, "nbytes": 7} for note in run.run["monitors"]])
        (rows,) = only([sized], "monitor_bytes <= 1000").runs
        assert rows.run.monitors["good"].nbytes == 7

    def test_of_a_monitor_that_failed_nothing(self):
        run = make_run(failed=["good"], faults=[FOG])
        assert only([run], "auroc >= 0.6").failures == {"good": "the monitor failed: singular"}

    def test_labels(self, run):
        gone = Readouts(run.instances.drop(columns="label"), run.alarms, run.run)
        with refused(ExperimentError):
            chosen([gone], "overall.mcc >= 0.4")
        assert chosen([gone], "specific.fpr <= 0.4")

    def test_is_ood_only_where_it_matters(self, run):
        gone = Readouts(run.instances.drop(columns="is_ood"), run.alarms, run.run)
        for free in ("coverage >= 0.4", "overall.mcc >= 0.4", "alarm_rate <= 0.4"):
            (found,) = chosen([gone], free)
            assert [len(each.stream) for each in found.streams] == [len(run.instances)]
        asked = (
            "specific.fpr <= 0.4",
            "auroc >= 0.4",
            "coverage >= 0.4 on id",
            "alarm_rate <= 0.4 on category:shift",
        )
        for text in (*asked, "missed_onsets <= 0.4"):
            with refused(ExperimentError):
                chosen([gone], text)
