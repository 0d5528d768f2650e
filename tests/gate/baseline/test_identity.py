"""Is it the same stream?"""

from dataclasses import replace

import numpy as np
import pytest

from farm.comparing.sets import judged_runs
from farm.errors import DataError
from farm.gate.baseline import Baseline, load_baseline, save_baseline
from farm.gate.baseline.identity import StreamIdentity
from farm.judging import VerdictTable
from tests.gate.baseline.kept_runs import by_chance, flipped
from tests.wording import refused, same_text


def changed(run, column, places, value):
    instances = run.instances.copy()
    instances.loc[places, column] = value
    return replace(run, instances=instances)


def reordered(run, order):
    """Give the same instances at other places of the stream."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    alarms = run.alarms.assign(position=place[run.alarms["position"]])
    return replace(run, instances=run.instances.assign(position=place), alarms=alarms)


def check_same_stream(baseline, run):
    baseline.of_run(run).check_same_stream(*judged_runs([run]))


def identity(run):
    return StreamIdentity.of(VerdictTable.of(run.instances, run.alarms, run.run))


def fewer(run, n):
    alarms = run.alarms[run.alarms["position"] < n]
    return replace(run, instances=run.instances[:n], alarms=alarms)


def test_rows_in_another_order_are_the_same_stream():
    run = by_chance()
    shuffled = replace(run, instances=run.instances.sample(frac=1, random_state=0))
    assert identity(shuffled) == identity(run)


def test_what_monitors_and_classifier_say_is_no_part_of_it():
    run = by_chance()
    other = changed(flipped(run, [3]), "predicted", [4, 5], 3)
    check_same_stream(Baseline.of([run]), other)


def test_the_last_bits_of_a_severity_are_no_part_of_it():
    run = by_chance()
    check_same_stream(Baseline.of([run]), changed(run, "severity", [390], 3.0 + 1e-9))


CASES = {
    "instances": (
        lambda run: changed(run, "id", [7], "signs/new"),
        "its instances are others, though as many (400, 200 of them OOD)",
        " (first at place 7: 'signs/new', in the baseline 'signs/00007')",
    ),
    "number": (
        lambda run: fewer(run, 390),
        "it has 390 instances, 190 of them OOD; the baseline has 400, 200 of them OOD",
        " (first at place 390: 'signs/00390' on one side only)",
    ),
    "side": (
        lambda run: changed(run, "is_ood", [210], False),
        "it has 400 instances, 199 of them OOD; the baseline has 400, 200 of them OOD",
        " (first at place 210: 'signs/00210' with is_ood, fault and severity 'False fog 3', in the baseline "
        "'True fog 3')",
    ),
    "labels": (
        lambda run: changed(run, "label", [12], 4),
        "its instances have other labels",
        " (first at place 12: 'signs/00012' with label '4', in the baseline '2')",
    ),
    "faults": (
        lambda run: changed(run, "faultload", [300, 301], "snow"),
        "its instances have other faults or severities",
        " (first at place 300: 'signs/00300' with is_ood, fault and severity 'True snow 3', in the baseline "
        "'True fog 3')",
    ),
    "severities": (
        lambda run: changed(run, "severity", [300], 3.01),
        "its instances have other faults or severities",
        " (first at place 300: 'signs/00300' with is_ood, fault and severity 'True fog 3.01', in the "
        "baseline 'True fog 3')",
    ),
    "order": (
        lambda run: reordered(run, np.roll(np.arange(400), 1)),
        "its instances are those of the baseline in another order",
        " (first at place 0: 'signs/00399', in the baseline 'signs/00000')",
    ),
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Give a run, and the baseline of it by whether that was saved in a file."""
    run, path = by_chance(folder="runs/now"), tmp_path_factory.mktemp("kept") / "b.yaml"
    save_baseline(run, path)
    return run, {False: Baseline.of([run]), True: load_baseline(path)}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("saved", [False, True])
def test_another_stream_is_an_error_that_says_what_differs(kept, case, saved):
    change, what, first = CASES[case]
    run, baselines = kept
    with pytest.raises(DataError) as error:
        check_same_stream(baselines[saved], change(run))
    told = f"runs/now is not on the stream of the baseline 'demo': {what}{'' if saved else first}; a paired"
    assert str(error.value).startswith(told)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("column", ["label", "is_ood"])
def test_a_baseline_needs_every_label_and_side(column):
    run = by_chance(folder="runs/now")
    some = replace(run, instances=run.instances.astype({column: object}))
    some.instances.loc[[3, 4], column] = None
    with refused(DataError):
        Baseline.of([some])
    with refused(DataError):
        Baseline.of([replace(run, instances=run.instances.drop(columns=column))])


def test_instances_without_ids_go_by_their_place():
    run = by_chance(ids=False)
    check_same_stream(Baseline.of([run]), run)
    assert Baseline.of([run]).runs[0].ids[:2] == ["instance 0", "instance 1"]
    assert identity(run) != identity(by_chance())


def test_one_digest_is_of_all_rows_not_of_a_set_of_values():
    """Two instances that swap their labels make another stream, though the labels are the same in sum."""
    run = by_chance()
    label = run.instances["label"].to_numpy().copy()
    label[[0, 1]] = label[[1, 0]]
    other = replace(run, instances=run.instances.assign(label=label))
    same_text(identity(run).difference(identity(other)))
