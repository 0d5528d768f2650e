import pandas as pd

from farm.comparing import benchmark_sets
from farm.comparing.sameness import changed_monitors, check_distinct, names, unranked
from farm.errors import DataError
from farm.store.readouts import Readouts
from tests.comparing.made_runs import FOG, make_run
from tests.wording import refused, same_text


def run_of(**record):
    return Readouts(pd.DataFrame(), pd.DataFrame(), record)


def workloads(*recipes):
    return [run_of(workload={"name": "npz", "recipe": recipe}) for recipe in recipes]


def test_one_recipe_is_one_name():
    assert names(workloads({"path": "a"}, {"path": "a"}), "workload") == ["npz", "npz"]
    assert names([run_of(), run_of(workload=None)], "workload") == ["unnamed workload"] * 2


def test_two_recipes_of_one_name_are_told_apart_by_what_differs():
    runs = workloads({"path": "a", "size": 32}, {"path": "b", "size": 32}, {"path": "a", "size": 32})
    assert names(runs, "workload") == ["npz (path a)", "npz (path b)", "npz (path a)"]
    assert names(workloads({"path": "a"}, {}), "workload") == ["npz (path a)", "npz (path None)"]
    assert names([*workloads({"path": "a"}), run_of(workload={"name": "signs"})], "workload") == [
        "npz",
        "signs",
    ]


def test_another_training_makes_another_set_and_another_seed_does_not():
    def trained(seed, epochs):
        run = make_run(seed, faults=[FOG])
        recipe = {"name": "lenet", "epochs": epochs}
        return Readouts(
            run.instances, run.alarms, {**run.run, "classifier": {"name": "lenet", "recipe": recipe}}
        )

    sets = benchmark_sets([trained(0, 5), trained(1, 5), trained(2, 50)])
    assert {one.name: len(one.streams) for one in sets} == {
        "fog 5 on signs with lenet (epochs 5)": 2,
        "fog 5 on signs with lenet (epochs 50)": 1,
    }


def test_a_run_is_counted_once(tmp_path):
    make_run().save(tmp_path / "a")
    runs = [Readouts.load(tmp_path / "a")] * 2
    with refused(DataError):
        check_distinct(runs)
    check_distinct([make_run(), make_run()])  # never saved: nothing tells that they are the same


def monitor(**changed):
    values = {"name": "oob", "class": "monitors.oob:OutsideTheBox", "parameters": {"tau": 0.1, "clusters": 3}}
    return run_of(monitors=[values | changed])


def test_a_monitor_that_changed_its_settings_is_told():
    (told,) = changed_monitors([monitor(), monitor(parameters={"tau": 0.2, "clusters": 3})])
    same_text(told)
    (told,) = changed_monitors([monitor(), monitor(policy={"name": "latching"})])
    same_text(told)


def test_what_follows_from_the_data_is_no_change():
    calibrated = [{"method": "id-quantile", "asked_acceptance": 0.95, "threshold": t} for t in (0.3, 0.4)]
    assert list(changed_monitors([monitor(calibration=each) for each in calibrated])) == []
    stricter = {**calibrated[0], "asked_acceptance": 0.99}
    (told,) = changed_monitors([monitor(calibration=calibrated[0]), monitor(calibration=stricter)])
    same_text(told)
    assert list(changed_monitors([run_of(), run_of(monitors=None)])) == []
    surer = [
        monitor(calibration={**calibrated[0], "guarantee": {"confidence": confidence, "promises": []}})
        for confidence in (0.9, 0.99)
    ]
    assert len(list(changed_monitors(surer))) == 1


def test_what_a_run_does_not_tell_is_no_difference():
    full = monitor(policy={"name": "latching"}, calibration={"method": "id-quantile"})
    log, failed = run_of(monitors=[{"name": "oob"}]), monitor(policy={"name": "latching"})
    assert list(changed_monitors([log, full, failed, log])) == []
    (told,) = changed_monitors([log, full, monitor(), log])
    assert "differ in its policy," in told


def test_unranked_monitors_are_named_once():
    runs = [make_run(unranked=["poor"]), make_run(1, unranked=["poor"])]
    assert unranked(runs) == ["poor"]
