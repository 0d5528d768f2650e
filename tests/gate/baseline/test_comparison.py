"""Runs beside their baseline: which monitors, which instances, and what is to be said of both sides."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from farm.errors import DataError, ExperimentError
from farm.gate.baseline import (
    Baseline,
    compare_with_baseline,
    load_baseline,
    save_baseline,
)
from farm.gate.baseline.comparison import Changed, changed
from tests.comparing.made_runs import make_run
from tests.gate.baseline.kept_runs import by_chance, flipped, run_of
from tests.wording import refused, same_text


def compared(now, then, **asked):
    baseline = then if isinstance(then, Baseline) else Baseline.of([then])
    return compare_with_baseline(now, baseline, **{"replicates": 100, **asked})


def test_monitors_by_measures():
    found = compared(by_chance(1), by_chance(0))
    names = [(each.monitor, each.measure.name) for each in found.overall]
    measures = ("overall.mcc", "specific.fpr", "specific.fnr", "residual_hazard")
    assert names == [(monitor, measure) for monitor in ("oob", "odin") for measure in measures]
    assert found.by_set == ()
    assert (found.runs, found.n, found.n_ood) == (("demo",), 400, 200)


def test_every_set_by_itself_beside_the_mean():
    then = make_run(0)
    found = compared(then, then, measures=["specific.fnr"], monitors=["good"])
    assert [len(each.sets) for each in found.overall] == [3]
    assert [each.sets for each in found.by_set] == [(name,) for name in found.overall[0].sets]


# Instances.


@pytest.mark.parametrize("saved", [False, True])
def test_instances_are_counted_by_what_became_of_them(tmp_path, saved):
    n = 400
    rng = np.random.default_rng(0)
    sides = [(rng.random(n) < 0.4, rng.random(n) < 0.3) for _ in range(2)]
    then, now = (run_of({"oob": alarm}, wrong=wrong) for alarm, wrong in sides)
    baseline = Baseline.of([then])
    if saved:
        save_baseline(then, tmp_path / "b.yaml")
        baseline = load_baseline(tmp_path / "b.yaml")
    specific, overall = compared(now, baseline).changed
    is_ood = np.arange(n) >= n // 2
    for found, truths in ((specific, (is_ood, is_ood)), (overall, (sides[0][1], sides[1][1]))):
        counts = [0, 0, 0, 0]
        missed = []
        for i in range(n):
            was = (truths[0][i], sides[0][0][i])
            is_now = (truths[1][i], sides[1][0][i])
            counts[0] += is_now == (True, False) and was != (True, False)
            counts[1] += was == (True, False) and is_now != (True, False)
            counts[2] += is_now == (False, True) and was != (False, True)
            counts[3] += was == (False, True) and is_now != (False, True)
            if is_now == (True, False) and was != (True, False):
                missed.append(f"signs/{i:05d}")
        assert [
            found.newly_missed,
            found.no_longer_missed,
            found.new_false_alarms,
            found.no_longer_false_alarms,
        ] == counts
        assert list(found.missed_ids) == missed
        assert min(counts) > 5


def test_ids_of_several_runs_say_whose_they_are():
    runs = [by_chance(seed, name=f"cell {seed}") for seed in (0, 1)]
    runs = [replace(run, run={**run.run, "seed": seed}) for seed, run in enumerate(runs)]
    places = np.flatnonzero(runs[1].alarms["alarm"][200:400]) + 200
    now = [runs[0], flipped(runs[1], places[:1])]
    found = compared(now, Baseline.of(runs), monitors=["oob"])
    assert found.changed[0].missed_ids == (f"cell 1: signs/{places[0]:05d}",)
    assert found.overall[0].n == 800


# Which monitors.


def test_who_is_on_one_side_only_is_noted():
    then = by_chance(monitors=("oob", "odin", "old"))
    now = by_chance(monitors=("odin", "oob", "new", "newer"))
    found = compared(now, then)
    assert found.monitors == ("odin", "oob")
    assert found.notes == ("old is gone", "new and newer are not in the baseline")
    assert compared(now, then, monitors=["oob"]).notes == ()


def test_a_monitor_that_fails_now_is_noted():
    found = compared(make_run(0, failed=("good",)), make_run(0))
    assert found.monitors == ("middling", "poor")
    same_text(found.notes)


@pytest.mark.parametrize(
    ("now", "then", "asked"),
    [
        ({}, {}, "god"),
        ({"failed": ("good",)}, {}, "good"),
        ({}, {"failed": ("good",)}, "good"),
        ({"unranked": ("good",)}, {}, "good"),
    ],
)
def test_a_monitor_that_cannot_be_compared_is_an_error(now, then, asked):
    with refused(ExperimentError):
        compared(make_run(0, **now), make_run(0, **then), monitors=[asked])


def test_no_monitor_in_common_is_an_error():
    with pytest.raises(DataError) as error:
        compared(by_chance(monitors=("a", "b")), by_chance(monitors=("c",)))
    same_text(str(error.value))


def test_a_monitor_that_one_of_several_runs_lacks_has_no_mean():
    runs = [by_chance(seed, name=f"cell {seed}") for seed in (0, 1)]
    now = [runs[0], by_chance(1, name="cell 1", monitors=("odin",))]
    found = compared(now, Baseline.of(runs), measures=["specific.fpr"])
    oob, odin = found.overall[1], found.overall[0]
    if found.monitors[0] == "oob":
        oob, odin = odin, oob
    assert oob.verdict == "cannot be told"
    same_text(oob.difference.value.reason)
    assert oob.right.n == 400, "the one run that has it on both sides"
    assert odin.difference.value.defined


# What is to be said of both sides.


def test_another_classifier_and_other_mistakes_are_noted():
    n = 400
    wrong = np.arange(n) % 5 == 0
    other = wrong.copy()
    other[[0, 1, 2]] = [False, True, True]
    then = run_of({"oob": np.arange(n) % 3 == 0}, wrong=wrong)
    now = run_of({"oob": np.arange(n) % 3 == 0}, wrong=other)
    mistakes = (
        "the classifier is right on other instances than it was: 3 of 400 (2 newly wrong, 1 newly right); "
        "each side is judged against its own mistakes"
    )
    assert compared(now, then).notes == (mistakes,)
    retrained = replace(now, run={**now.run, "classifier": {"name": "lenet", "digest": "ff"}})
    assert compared(retrained, then).notes == (mistakes, "the classifier is another one than the baseline's")
    assert compared(then, then).notes == ()


def test_another_name_of_the_classifier_is_no_other_set():
    then = by_chance(0)
    now = replace(then, run={**then.run, "classifier": {"name": "resnet", "digest": "ff"}})
    same_text(compared(now, then).overall[0].sets)


def test_runs_of_the_baseline_that_are_not_compared_are_noted():
    runs = [by_chance(seed, name=f"cell {seed}") for seed in (0, 1, 2)]
    found = compared(runs[1], Baseline.of(runs))
    same_text(found.notes)
    with refused(DataError):
        compared(by_chance(5, name="cell 5"), Baseline.of(runs))


def test_another_stream_is_an_error():
    with refused(DataError):
        compared(by_chance(n=300), by_chance(n=400))


@pytest.mark.parametrize("name", ["auroc", "aupr", "fpr_at_95_tpr", "system_mcc"])
def test_what_decisions_do_not_tell_is_refused_with_what_to_do(tmp_path, name):
    save_baseline(by_chance(), tmp_path / "b.yaml")
    baseline = load_baseline(tmp_path / "b.yaml")
    what = "the classes acted upon" if name == "system_mcc" else "scores"
    with pytest.raises(ExperimentError) as error:
        compared(by_chance(), baseline, measures=[name])
    assert str(error.value) == (
        f"{name} needs {what}, and {tmp_path / 'b.yaml'} has decisions alone, one bit each; give the folder "
        "of the baseline's run, or a measure of decisions such as overall.mcc"
    )
    assert compared(by_chance(), by_chance(), measures=[name]).overall[0].difference.value.value == 0


def test_an_unknown_measure_has_a_near_name():
    with refused(ExperimentError):
        compared(by_chance(), by_chance(), measures=["overall.mc"])


def test_neither_torch_nor_scikit_learn_is_needed():
    code = (
        "import sys, farm.commands.baseline, farm.gate.baseline; "
        "assert not {'torch', 'sklearn'} & set(sys.modules), 'loaded'"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_where_no_run_has_the_monitor_nothing_changed():
    nothing = dict.fromkeys(
        ("newly_missed", "no_longer_missed", "new_false_alarms", "no_longer_false_alarms"), 0
    )
    expected = [Changed("oob", task, missed_ids=(), **nothing) for task in ("specific", "overall")]
    assert changed([], "oob") == expected
