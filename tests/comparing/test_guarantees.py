"""What guarantees come to over several runs: each fit by itself, each ID instance once."""

import numpy as np
import pandas as pd
import pytest

from farm.comparing import Comparison, compare_runs
from farm.comparing.comparison import compare
from farm.comparing.guarantees import realised_over
from farm.judging import JudgedRun
from farm.testing import make_readouts
from tests.judging.made_guarantees import FAULTS, MONITORS, guarantee_record, made_campaign, noted_run


def judged(*made):
    return [JudgedRun.of(each.instances, each.alarms, each.run, number) for number, each in enumerate(made)]


def run_of(*, fault="fog", first=0, alarms=5, changed=None, n=40, **more):
    """Return a run of so many ID instances from one number on, and as many under a fault."""
    is_ood = np.arange(2 * n) >= n
    made = guarantee_record(**(changed or {}))
    return make_readouts(
        {"odin": np.arange(2 * n) < alarms, "plain": np.arange(2 * n) < alarms},
        is_ood=is_ood,
        faultload=fault,
        id=[f"{fault if ood else 'id'} {i + first}" for i, ood in enumerate(is_ood)],
        run=noted_run({"odin": made, "plain": None}, **more),
    )


def shown(found):
    return [(each.promise.monitor, each.where, each.n, each.value.value) for each in found]


def test_instances_that_runs_share_count_once():
    runs = judged(run_of(), run_of(fault="snow"), run_of(fault="snow", first=30, alarms=15))
    assert shown(realised_over(runs)) == [
        # The third run has 10 of the ID instances of the others, of which alarms are known already.
        ("odin", "ID", 70, (5 + 5) / 70),
        ("odin", "fog 3", 40, 0.0),
        ("odin", "snow 3", 70, 0.0),
    ]


def test_each_fit_has_promises_of_its_own():
    seeds = [run_of(seed=seed, changed={"n": 100 + seed}) for seed in (0, 1)]
    found = shown(realised_over(judged(*seeds)))
    assert [name for name, where, *_ in found if where == "ID"] == ["odin (seed 0)", "odin (seed 1)"]
    networks = [run_of(seed=0, classifier={"name": name}) for name in ("lenet", "resnet")]
    found = shown(realised_over(judged(*networks)))
    assert [name for name, where, *_ in found if where == "ID"] == ["odin (lenet)", "odin (resnet)"]
    alike = [run_of(seed=0, changed={"n": n}) for n in (100, 101)]
    found = shown(realised_over(judged(*alike)))
    assert [name for name, where, *_ in found if where == "ID"] == ["odin (fit 1)", "odin (fit 2)"]


def test_only_monitors_that_are_asked_for_are_told():
    runs = judged(run_of())
    assert realised_over(runs, ["plain"]) == ()
    assert realised_over(runs, ["odin"]) == realised_over(runs)


def test_where_nobody_knows_what_is_ood_it_is_said():
    made = make_readouts({"odin": [True, False]}, is_ood=None, run=noted_run({"odin": guarantee_record()}))
    (found,) = realised_over(judged(made))
    assert (found.verdict, found.reason) == (
        "unknown",
        "ID and OOD cannot be told apart: is_ood was not given",
    )


@pytest.fixture(scope="module")
def campaign():
    return compare_runs(made_campaign(), replicates=100)


def test_a_campaign_has_a_row_a_promise_and_place(campaign):
    frame = campaign.guarantees
    n_promises = sum(len(made.get("promises", [0])) for _, made in MONITORS.values())
    assert len(frame) == n_promises * (1 + len(FAULTS))
    assert set(frame["monitor"]) == set(MONITORS)
    on_data = frame[frame["where"] == "ID"]
    assert set(frame[frame["where"] != "ID"]["verdict"]) == {"void"}
    assert on_data.set_index("monitor")["verdict"]["react"] == "broken"
    assert on_data.set_index("monitor")["group"]["oob"] in ("dry", "rain", "snow")
    assert (on_data[on_data["by"].isna() & (on_data["what"] == "false_alarms")]["n"] == 800).all()
    assert frame["n_units"].max() == 100


def test_what_was_found_is_kept_with_a_comparison(campaign, tmp_path):
    pd.testing.assert_frame_equal(
        Comparison.load(campaign.save(tmp_path / "kept")).guarantees, campaign.guarantees
    )


def test_at_other_thresholds_nothing_is_promised():
    rng = np.random.default_rng(0)
    made = make_readouts(
        {"odin": {"score": rng.random(200)}},
        is_ood=np.arange(200) >= 100,
        wrong=rng.random(200) < 0.2,
        run=noted_run({"odin": guarantee_record()}),
    )
    assert len(compare(made, replicates=50).guarantees) == 2
    assert compare(made, replicates=50, false_alarms=50).guarantees.empty
