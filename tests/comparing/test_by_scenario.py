"""Measures by scenario: against judging each alone, against statsmodels, and as monitors are compared."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from statsmodels.stats.proportion import proportion_confint

from farm.api.boxes import PREDICTED_BOX, SPREAD_OF_BOX, TRUE_BOX
from farm.comparing import compare_runs
from farm.comparing.between_failures import MTBF
from farm.comparing.by_scenario import SHARES, by_scenario, discounted
from farm.comparing.measures import MEASURES, OF_CLASSIFIER, measured
from farm.errors import ExperimentError, ParameterError
from farm.judging import JudgedRun
from farm.measures import Measure
from farm.statistics.by_track import share_by_track
from farm.testing import make_readouts
from tests.comparing.made_runs import FOG, make_run
from tests.wording import refused

EVERY = [*((name, "middling") for name in MEASURES), *((name, None) for name in OF_CLASSIFIER)]


def made(seed=0, tracks=0):
    """Return readouts of one fault with a classifier's probabilities, and each instance's conditions."""
    run = make_run(seed, faults=(FOG,), tracks=tracks)
    random, n = np.random.default_rng([seed, 7]), len(run.instances)
    instances = run.instances.assign(confidence=random.random(n), brier=2 * random.random(n))
    target = np.tile([2.0, 2.0, 8.0, 8.0], (n, 1))
    boxes = {
        TRUE_BOX: target,
        PREDICTED_BOX: target + random.normal(size=(n, 4)),
        SPREAD_OF_BOX: 1 + 0 * target,
    }
    for columns, values in boxes.items():
        instances = instances.assign(**dict(zip(columns, values.T, strict=True)))
    instances = instances.assign(label_probability=1 - random.random(n))
    run = type(run)(instances, run.alarms, {**run.run, "classes": ["a", "b", "c"]})
    words = {"weather": ["clear", "rain"], "light": ["day", "dusk", "night"]}
    return run, {name: random.choice(of, n).tolist() for name, of in words.items()}


def table_of(run):
    return JudgedRun.of(run.instances, run.alarms, run.run).table


def rows_of(conditions, scenario):
    return np.all([np.array(conditions[name]) == word for name, word in scenario.items()], axis=0)


def alone(run, rows):
    """Judge some instances as if there were no others."""
    some = run.instances[rows]
    own = run.alarms[run.alarms["position"].isin(some["position"])]
    return JudgedRun.of(some, own, run.run)


@pytest.mark.parametrize(("name", "monitor"), EVERY)
def test_each_value_is_that_of_the_instances_alone(name, monitor):
    run, conditions = made()
    found = by_scenario(table_of(run), conditions, name, monitor, replicates=40)
    assert len(found) == 6
    for cell in found:
        rows = rows_of(conditions, cell.scenario)
        record = next(
            r for r in alone(run, rows).points if r["part"] == "all" and r["monitor"] == (monitor or "oracle")
        )
        assert (cell.n, cell.value) == (rows.sum(), measured(name).of(record))


def kinds(run, name):
    """Return which instances a share counts, and which of them are hits, one column after the other."""
    alarms = run.alarms[run.alarms["monitor"] == "middling"].set_index("position")
    alarm = alarms.loc[run.instances["position"], "alarm"].to_numpy()
    wrong = (run.instances["label"] != run.instances["predicted"]).to_numpy()
    every, task, rate = np.ones(len(alarm), dtype=bool), *name.rpartition(".")[::2]
    true = run.instances["is_ood"].to_numpy() if task == "specific" else wrong
    return {
        "fpr": (~true, alarm),
        "fnr": (true, ~alarm),
        "recall": (true, alarm),
        "precision": (alarm, true),
        "error": (every, alarm != true),
        "micro_f1": (every, alarm == true),
        "alarm_rate": (every, alarm),
        "coverage": (every, ~alarm),
        "accepted_accuracy": (~alarm, ~wrong),
        "residual_hazard": (every, wrong & ~alarm),
        "classifier_accuracy": (every, ~wrong),
    }[rate]


@pytest.mark.parametrize("name", SHARES)
def test_shares_have_wilsons_interval_or_that_of_tracks(name):
    monitor = None if name in OF_CLASSIFIER else "middling"
    for tracks in (0, 100):
        run, conditions = made(tracks=tracks)
        counting, hit = kinds(run, name)
        for cell in by_scenario(table_of(run), conditions, name, monitor, by=["light"], level=0.9):
            rows = rows_of(conditions, cell.scenario) & counting
            if tracks:
                code = pd.factorize(run.instances["track"][rows], sort=True)[0]
                ends = [end.value for end in share_by_track(hit[rows], code, 0.9)]
            else:
                ends = proportion_confint(hit[rows].sum(), rows.sum(), 0.1, method="wilson")
            assert cell.value.value == pytest.approx(hit[rows].mean())
            assert (cell.low.value, cell.high.value) == pytest.approx(ends)


@pytest.mark.parametrize("name", ["overall.mcc", "auroc", "safety_gain", "specific.weighted_f1"])
def test_what_is_no_share_is_resampled_as_monitors_are_compared(name):
    run, conditions = made(tracks=100)
    for cell in by_scenario(table_of(run), conditions, name, "good", by=["weather"], replicates=200, seed=3):
        rows = rows_of(conditions, cell.scenario)
        own = type(run)(
            run.instances[rows], run.alarms[run.alarms["position"].isin(np.flatnonzero(rows))], run.run
        )
        (section,) = compare_runs([own], measure=name, replicates=200, seed=3).sections
        standing = next(each for each in section.standings if each.monitor == "good")
        compared = [each.value for each in (standing.low, standing.value, standing.high)]
        assert [each.value for each in (cell.low, cell.value, cell.high)] == pytest.approx(compared)


@pytest.mark.parametrize(
    "name", ["classifier_brier_mean", "classifier_brier_sum", "classifier_confidence_auroc"]
)
def test_what_follows_from_probabilities_has_an_interval(name):
    run, conditions = made(tracks=100)
    for cell in by_scenario(table_of(run), conditions, name, by=["weather"], replicates=200):
        assert cell.low.value < cell.value.value < cell.high.value


def judged(wrong, *, monitors=None, **columns):
    readouts = make_readouts(monitors or {}, wrong=wrong, **columns)
    return JudgedRun.of(readouts.instances, readouts.alarms, readouts.run).table


def test_a_few_instances_do_not_lead_by_bad_luck():
    light = np.repeat(["day", "dusk", "night"], [300, 3, 100])
    wrong = np.concatenate([np.arange(300) < 15, [True, True, False], np.arange(100) < 50])
    for name, first in (("classifier_accuracy", "night"), ("classifier_brier_sum", None)):
        table = judged(wrong, brier=2.0 * wrong, track=None)
        found = by_scenario(table, {"light": light}, name, replicates=200)
        if first:
            assert [cell.scenario["light"] for cell in found] == ["night", "dusk", "day"]
            assert found[1].value.value < found[0].value.value
            assert [cell.at_best.value for cell in found] == sorted(cell.high.value for cell in found)
            assert found[0].at_worst == found[0].low
        else:
            assert [cell.scenario["light"] for cell in found] == ["night", "day", "dusk"]
            assert found[0].at_best == found[0].low
            assert "3 tracks" in found[2].low.reason


def test_what_says_nothing_comes_last():
    """No mistake to be missed at dusk; four tracks by day; of the rest the one that misses most."""
    light = np.repeat(["dawn", "day", "dusk", "night"], 40)
    wrong = light != "dusk"
    alarm = np.where(light == "dawn", np.arange(160) % 40 < 8, np.arange(160) % 40 < 32)
    track = [f"t{i // 10}" if word == "day" else f"{i // 2}" for i, word in enumerate(light)]
    found = by_scenario(
        judged(wrong, monitors={"odin": alarm}, track=track), {"light": light}, "overall.fnr", "odin"
    )
    assert [cell.scenario["light"] for cell in found] == ["dawn", "night", "day", "dusk"]
    assert found[2].value.value == pytest.approx(0.2)
    assert "4 tracks" in found[2].low.reason
    assert found[3].value.reason == found[3].high.reason == "none of the 40 instances should be cancelled"


def test_all_pairs_that_occur_and_what_is_not_told():
    conditions = {
        "weather": np.array(["fog", "clear", "fog", "clear"]),
        "light": pd.Series(["day", None, "day", "day"]),
        "road": ["a", "b", "c", "d"],
    }
    found = by_scenario(judged([0, 0, 1, 1]), conditions, "classifier_accuracy", by=("weather", "light"))
    assert sorted(
        (*cell.scenario.values(), cell.n) for cell in found if None not in cell.scenario.values()
    ) == [
        ("clear", "day", 1),
        ("fog", "day", 2),
    ]
    assert [cell.scenario for cell in found if cell.scenario["light"] is None] == [
        {"weather": "clear", "light": None}
    ]
    assert {type(word) for cell in found for word in cell.scenario.values()} == {str, type(None)}


def test_times_between_failures():
    """In the rain one failure, which began before; three by night, and none in the sun."""
    weather = np.repeat(["dry", "rain", "dry", "sun"], [100, 100, 100, 100])
    wrong = np.isin(np.arange(400), [10, 11, 50, 99, 100, 101, 250])
    table = judged(wrong)
    found = by_scenario(table, {"weather": weather}, MTBF, frame_rate=10)
    assert [(cell.scenario["weather"], cell.value.value) for cell in found[:2]] == [
        ("dry", 5.0),
        ("rain", 10.0),
    ]
    assert found[2].value.reason == "no failure in 100 instances"
    assert found[2].low.value == pytest.approx(10 / -np.log(0.025))


def test_exact_values_of_tracks_that_are_hit_wholly_or_not():
    track = np.arange(600) // 10
    table = judged(track % 30 < 3, track=[f"t{i}" for i in track])
    half = np.where(track < 30, "one", "other")
    for cell in by_scenario(table, {"half": half}, "classifier_accuracy"):
        reference = binomtest(27, 30).proportion_ci(0.95, "exact")
        assert (cell.low.value, cell.high.value) == pytest.approx((reference.low, reference.high))
        assert cell.n_tracks == 30


@pytest.mark.parametrize(
    ("value", "measure", "expected"),
    [
        (0.8, "classifier_accuracy", 0.2),
        (-0.4, "overall.mcc", -0.4),
        (0.2, "overall.fnr", 0.8),
        (-0.1, "availability_cost", 0.725),
        (1.2, "classifier_brier_sum", 1.8),
        (0.05, "box_ece", 0.35),
        (0.8, "box_iou", 0.2),
        (400.0, MTBF, 100.0),
    ],
)
def test_scenarios_that_were_never_seen_make_it_worse(value, measure, expected):
    assert discounted(Measure(value), measure, 0.25).value == pytest.approx(expected)
    assert discounted(Measure(value), measure, 1.0).value == pytest.approx(value)
    gap = Measure(float("nan"), "no instances")
    assert discounted(gap, measure, 0.5) is gap


@pytest.mark.parametrize("measure", ["box_mae", "box_nll", "classifier_nll"])
def test_what_has_no_worst_value_cannot_be_made_worse(measure):
    assert discounted(Measure(1.5), measure, 0.5).reason == f"no value of {measure} counts as the worst"
    assert discounted(Measure(1.5), measure, 1.0).value == 1.5


@pytest.mark.parametrize("measure", ["box_mae", "box_iou", "box_nll", "classifier_nll"])
def test_means_over_instances_have_the_interval_of_a_mean(measure):
    """Drawn by instances, as a t interval has it: of so many, both are the same."""
    run, conditions = made()
    table = table_of(run)
    for cell in by_scenario(table, conditions, measure, by=["light"]):
        own = table.take(np.flatnonzero(rows_of(conditions, cell.scenario)))
        values = -np.log(own.label_probability) if measure == "classifier_nll" else own.boxes.each(measure)
        half = 1.96 * values.std() / np.sqrt(len(values))
        assert cell.value.value == pytest.approx(values.mean())
        assert (cell.low.value, cell.high.value) == pytest.approx(
            (values.mean() - half, values.mean() + half), abs=0.4 * half
        )


@pytest.mark.parametrize("measure", ["classifier_ece", "box_ece"])
def test_a_calibration_error_has_no_interval_of_draws_and_says_why(measure):
    run, conditions = made()
    for cell in by_scenario(table_of(run), conditions, measure, by=["light"]):
        assert cell.value.defined
        assert cell.low.reason == f"draws of {measure} are farther from 0 than it is, and give it no interval"


def test_what_cannot_be_asked_for_is_refused():
    table, conditions = judged([0, 1], monitors={"odin": [0, 1]}), {"light": ["day", "night"]}
    with refused(ParameterError):
        discounted(Measure(0.5), "overall.mcc", 1.1)
    for measure, monitor, by in (
        ("overall.mcc", None, None),
        ("overall.mcc", "odni", None),
        ("classifier_accuracy", "odin", None),
        ("missed_onsets", "odin", None),
        ("overall.mcc", "odin", ["lihgt"]),
        ("overall.mcc", "odin", []),
    ):
        with refused(ParameterError):
            by_scenario(table, conditions, measure, monitor, by=by)
    with refused(ParameterError):
        by_scenario(table, {"light": ["day"]}, "overall.mcc", "odin")
    with refused(ExperimentError):
        by_scenario(table, conditions, "overall.mc", "odin")
