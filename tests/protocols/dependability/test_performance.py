"""What decisions are worth by scenario, held against the instances of each; and what to record next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import matthews_corrcoef

from farm.judging.readouts import load_run
from farm.measures import wilson
from farm.measures.measure import Measure
from farm.protocols.dependability.performance import ScenarioPerformance
from farm.protocols.dependability.results import Results
from farm.protocols.dependability.rows import ONE_SIDED, Lacking
from farm.store.campaign_folder import CampaignFolder, planned_cells
from tests.protocols.dependability.toys import HERE, SIZES, run, truth

N = SIZES["test"]
MEASURES = [
    *("classifier_accuracy", "residual_hazard", "overall.mcc"),
    *("overall.error", "alarm_rate", "classifier_brier_sum"),
]
DOMAIN = {
    "conditions": {"weather": ["dry", "wet"], "light": ["day", "night"], "speed": ["..40", "40..200"]},
    "restrictions": [{"at_most": 2, "of": ["light=night", "weather=dry", "speed=40..200"]}],
}
"""Of dry nights none is fast; slow ones the toys have, too, so that the data are asked to be slow."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Return a campaign of more measures and monitors, on images as they were taken."""
    folder = tmp_path_factory.mktemp("measured")
    changes: dict[str, Any] = {
        "metrics": ["scenario", "adversarial_loss", "monitor_coverage"],
        "monitors": ["max-softmax", "always"],
        "performance": {"measures": MEASURES, "ordered": True},
    }
    assert run(folder, **changes) == 0
    return Results.of(folder / "out")


def joined(results: Results) -> pd.DataFrame:
    """Return all test data, as they are and faulted, with what each monitor said of each instance."""
    parts = []
    for cell, path in planned_cells(CampaignFolder(results.streams.place)):
        if path is None or cell["label"]["faultload"] == "training-data":
            continue
        one = load_run(path)
        said = one.alarms.pivot_table(index="position", columns="monitor", values="alarm")
        parts.append(one.instances.join(said.astype(bool), on="position"))
    every = pd.concat(parts, ignore_index=True)
    words = "weather=" + every["condition weather"] + ", light=" + every["condition light"]
    wrong = every["predicted"] != every["label"]
    return every.assign(scenario=words, wrong=wrong, plain=~every["is_ood"])


def value(results: Results, metric: str, part: str) -> pd.Series:
    frame = results.frame
    (index,) = frame.index[(frame["metric"] == f"scenario.{metric}") & (frame["part"] == part)]
    return frame.loc[index]


def by_hand(measure: str, monitor: str, own: pd.DataFrame) -> float:
    wrong, alarm = own["wrong"], own[monitor]
    if measure == "residual_hazard":
        return float((wrong & ~alarm).mean())
    if measure == "overall.error":
        return float((wrong != alarm).mean())
    if measure == "alarm_rate":
        return float(alarm.mean())
    if own[["wrong", monitor]].nunique().min() < 2:
        return float("nan")
    return float(matthews_corrcoef(wrong, alarm))


@pytest.mark.parametrize("monitor", ["max-softmax", "always"])
@pytest.mark.parametrize("measure", ["residual_hazard", "overall.mcc", "overall.error", "alarm_rate"])
def test_monitors_are_judged_on_all_that_scenarios_had(measured: Results, measure: str, monitor: str) -> None:
    every = joined(measured)
    assert len(every) == 3 * N
    groups = {"all": every, **dict(list(every.groupby("scenario")))}
    assert len(groups) == 4
    for part, own in groups.items():
        found = value(measured, measure, f"{monitor}, {part}")
        assert found["n"] == len(own)
        assert found["value"] == pytest.approx(by_hand(measure, monitor, own), nan_ok=True)


def test_the_classifier_is_judged_on_the_images_as_they_are(measured: Results) -> None:
    every = joined(measured)
    plain = every[every["plain"]]
    for part, own in (("all", plain), *plain.groupby("scenario")):
        found = value(measured, "classifier_accuracy", part)
        assert (found["value"], found["n"]) == (pytest.approx(1 - own["wrong"].mean()), len(own))
        found = value(measured, "classifier_brier_sum", part)
        assert found["value"] == pytest.approx(own["brier"].mean())


def test_discounted_counts_a_scenario_that_was_never_recorded_as_the_worst(measured: Results) -> None:
    """Of the four scenarios the test data lack one."""
    share = 3 / 4
    for measure, part, worst in (
        ("classifier_accuracy", "", 0),
        ("residual_hazard", "max-softmax, ", 1),
        ("overall.error", "always, ", 1),
        ("classifier_brier_sum", "", 2),
    ):
        plain, found = (value(measured, measure, part + name) for name in ("all", "discounted"))
        for end in ("value", "low", "high"):
            assert found[end] == pytest.approx(share * plain[end] + (1 - share) * worst)


def test_the_weakest_lies_within_ends_that_hold_for_all_scenarios_together(measured: Results) -> None:
    frame = measured.frame
    for measure, prefix, better in (
        ("classifier_accuracy", "", max),
        ("residual_hazard", "max-softmax, ", min),
        ("alarm_rate", "max-softmax, ", min),
        ("residual_hazard", "always, ", min),
    ):
        own = frame[frame["metric"] == f"scenario.{measure}"]
        cells = own[own["part"].str.startswith(f"{prefix}weather=")]
        assert len(cells) == 3
        weakest = value(measured, measure, f"{prefix}weakest")
        worst = cells["value"].min() if better is max else cells["value"].max()
        assert weakest["value"] == worst
        assert weakest["low"] <= worst <= weakest["high"]
        # Each scenario's own ends are nearer, since they hold for that one alone.
        at = cells.loc[cells["value"] == worst].iloc[0]
        assert weakest["high"] - weakest["low"] > at["high"] - at["low"]


def test_its_ends_are_those_of_wilson_by_three(measured: Results) -> None:
    """Where no instances share a track within a scenario, each end holds with a third of the mistakes."""
    facts = truth()
    nights = int(facts["night"].sum())
    assert facts.groupby(["scenario", "track"]).size().loc["weather=dry, light=night"].max() == 1
    low, high = wilson(0, nights, 1 - (1 - (2 * ONE_SIDED - 1)) / 3)
    found = value(measured, "classifier_accuracy", "weakest")
    assert (found["low"], found["high"]) == pytest.approx((low.value, high.value))


def test_scenarios_stand_weakest_first(measured: Results) -> None:
    own = measured.frame[measured.frame["metric"] == "scenario.classifier_accuracy"]
    cells = own[own["part"].str.startswith("weather=")]
    assert cells["part"].iloc[0] == "weather=dry, light=night"
    assert cells["high"].is_monotonic_increasing


# The time between failures --------------------------------------------------------------------------------


def test_the_time_between_failures_by_hand(measured: Results, results: Results) -> None:
    """Each night is a failure of its own: no track has two nights, and no other image fails."""
    facts = truth()
    failures = int(facts["night"].sum())
    assert facts.groupby("track")["night"].sum().max() == 1
    images = value(measured, "mtbf", "all")
    assert images["value"] == pytest.approx(N / failures)
    seconds = value(results, "mtbf", "all")
    for end in ("value", "low", "high"):
        assert seconds[end] == pytest.approx(images[end] / 10), "ten images a second"
    night = value(measured, "mtbf", "weather=dry, light=night")
    assert (night["value"], night["n"]) == (1, failures)
    # `max-softmax` lets all plain images pass; with `always` nothing wrong is acted upon.
    assert value(measured, "mtbf", "max-softmax, all")["value"] == images["value"]
    always = value(measured, "mtbf", "always, all")
    assert np.isnan([always["value"], always["high"]]).all()
    assert 0 < always["low"] < N


def test_where_nothing_failed_it_is_at_least_something(measured: Results) -> None:
    day = value(measured, "mtbf", "weather=dry, light=day")
    assert np.isnan([day["value"], day["high"]]).all()
    reported = {(one.measure, one.part): one for one in measured.reported(ONE_SIDED)}
    one = reported["scenario.mtbf", "weather=dry, light=day"]
    assert one.value == one.low == Measure(day["low"])
    assert not one.high.defined
    assert str(one.high.reason).startswith("no failure in 64 instances")


# What to record next --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("allowed", "new"), [(True, 1), (False, 0)])
def test_what_to_record_next_has_the_weakest_scenario_and_is_allowed(
    tmp_path: Path, allowed: bool, new: int
) -> None:
    """A dry night is the weakest. It was always slow, and where the domain has it so, is nothing else."""
    domain = DOMAIN if not allowed else {"conditions": DOMAIN["conditions"]}
    scenarios = {"domain": domain, "by": ["weather", "light"], "k": [2, 3]}
    workload = {"name": f"{HERE}:Squares", "slow_nights": True}
    changes: dict[str, Any] = {"metrics": ["scenario", "adversarial_loss"], "workload": workload}
    assert run(tmp_path, scenarios=scenarios, **changes) == 0
    found = Results.of(tmp_path / "out").performance
    assert isinstance(found, ScenarioPerformance)
    (one,) = found.next_recordings
    weakest = {"weather": "dry", "light": "night"}
    assert one.weakest.scenario == weakest
    assert dict(one.scenario) == (weakest | {"speed": "40..200"} if allowed else weakest)
    assert one.new == new
    proposal = found.recorded.scenario_with("test", {"light": "night"})
    assert proposal is not None
    made = found.recorded.of.domain
    assert not made.broken(np.array([proposal.scenario])).any()
    written = made.written(proposal.scenario)
    assert written["light"] == "night"
    assert (written["weather"], written["speed"]) != ("dry", "..40"), "that is there"
    assert proposal.gain == 1, "of three conditions a scenario is one cell"


def test_without_an_order_there_is_no_time_between_failures(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"metrics": "scenario", "data": "test", "performance": {}}
    assert run(tmp_path, **changes) == 0
    results = Results.of(tmp_path / "out")
    assert not isinstance(results.performance, Lacking)
    (row,) = [row for row in results.rows() if row.metric == "scenario.mtbf"]
    assert "the stream is shuffled" in str(row.value.value.reason)


def test_a_monitor_that_failed_says_why_and_the_others_are_judged(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"metrics": "scenario", "data": "test", "classifier": f"{HERE}:BlackBox"}
    assert run(tmp_path, monitors=["oob", "max-softmax"], **changes) == 1
    rows = {(row.metric, row.part): row.value.value for row in Results.of(tmp_path / "out").rows()}
    assert "needs the layer 'last-hidden'" in str(rows["scenario.residual_hazard", "oob, all"].reason)
    assert rows["scenario.residual_hazard", "max-softmax, all"].value == pytest.approx(16 / N)
    assert not any(part.startswith("oob, ") and part != "oob, all" for _, part in rows)


def test_without_monitors_the_measures_of_monitors_say_so(tmp_path: Path) -> None:
    assert run(tmp_path, metrics="scenario", data="test", monitors=[]) == 0
    rows = {(row.metric, row.part): row.value.value for row in Results.of(tmp_path / "out").rows()}
    assert "no monitor is asked for" in str(rows["scenario.residual_hazard", "all"].reason)
    assert rows["scenario.classifier_accuracy", "all"].defined
