"""Which network is better, and how surely: draws against draws made one by one, and against the truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farm.comparing.classifier_sums import value_of
from farm.config.specs import NO_FAULT
from farm.judging import VerdictTable
from farm.measures import Measure, undefined
from farm.measures.boxes import BOX_ECE
from farm.measures.probability_sums import CLASSIFIER_ECE
from farm.protocols.uncertainty.compared import DRAWN, Contrast, Place, mean_of, parts_of, value_of_sums
from farm.protocols.uncertainty.measured import BOXES, CLASSES, Task
from farm.protocols.uncertainty.results import Results
from farm.protocols.uncertainty.streams import JudgedNetwork
from farm.protocols.uncertainty.summary import comparisons, groups, rankings, shown
from farm.statistics.bootstrap import Difference
from tests.protocols.uncertainty.made_streams import Skill, made_results, made_spec, made_stream

VANILLA, HEAD, ENSEMBLE = ("cnn", "vanilla"), ("cnn", "head"), ("cnn", "ensemble")
EVERY = [(task, measure) for task, own in DRAWN.items() for measure in own]
FEW = {"variants": ["vanilla", "head", "ensemble"], "members": 2}


@pytest.fixture(scope="module")
def results() -> Results:
    skill = {("ensemble", "any"): Skill(right=0.95, error=1.5), ("head", "any"): Skill(claim=0.4)}
    return made_results(made_spec(**FEW), skill=skill)


@pytest.mark.parametrize(("task", "measure"), EVERY)
def test_sums_of_all_instances_make_the_value_that_results_have(
    results: Results, task: Task, measure: str
) -> None:
    readouts = results.streams.of[JudgedNetwork(*HEAD, 0)]["heavy rain"]
    table = VerdictTable.of(readouts.instances, readouts.alarms.iloc[:0], {})
    found = value_of_sums(task, measure, parts_of(table, task, measure).sum(axis=0)[None])
    told = results.mean(HEAD, "heavy rain", task, measure)
    assert told is not None
    assert found[0] == pytest.approx(told.value)
    if measure == "ece":
        name = CLASSIFIER_ECE if task == CLASSES else BOX_ECE
        assert told.value == pytest.approx(value_of(table, name).value)


@pytest.mark.parametrize(("task", "measure"), EVERY)
def test_a_draw_is_the_value_of_the_images_that_are_drawn(results: Results, task: Task, measure: str) -> None:
    """All images but those of a few tracks, each as often as a weight says."""
    readouts = results.streams.of[JudgedNetwork(*HEAD, 0)]["heavy fog"]
    table = VerdictTable.of(readouts.instances, readouts.alarms.iloc[:0], {})
    weights = np.random.default_rng(3).integers(0, 4, len(table))
    drawn = table.take(np.repeat(np.arange(len(table)), weights))
    parts = parts_of(table, task, measure)
    found = value_of_sums(task, measure, (weights @ parts)[None])
    again = value_of_sums(task, measure, parts_of(drawn, task, measure).sum(axis=0)[None])
    assert found[0] == pytest.approx(again[0])


def test_a_network_does_not_differ_from_itself(results: Results) -> None:
    for task, measure in EVERY:
        place = [Place(HEAD, NO_FAULT)]
        same = results.draws(task, measure).contrast(place, place)
        assert same.difference.value.value == 0
        assert not shown(same, same.difference.p)


def test_images_of_other_data_are_drawn_for_themselves(results: Results) -> None:
    draws = results.draws(BOXES, "mae")
    one, other = (draws.at(Place(HEAD, shift)) for shift in (NO_FAULT, "another setup"))
    assert one is not None
    assert other is not None
    assert abs(np.corrcoef(one.draws, other.draws)[0, 1]) < 0.05


def test_intervals_of_a_mean_are_those_of_theory(results: Results) -> None:
    instances = results.streams.of[JudgedNetwork(*VANILLA, 0)][NO_FAULT].instances
    right = (instances["label"] == instances["predicted"]).to_numpy()
    value, low, high = results.draws(CLASSES, "accuracy").bounded([Place(VANILLA, NO_FAULT)])
    error = right.std(ddof=1) / np.sqrt(len(right))
    assert value.value == pytest.approx(right.mean())
    assert (high.value - low.value) / 2 == pytest.approx(1.96 * error, rel=0.06)


def test_paired_differences_have_the_spread_of_differences(results: Results) -> None:
    own = results.streams.of
    iou = [
        VerdictTable.of(one.instances, one.alarms.iloc[:0], {}).boxes.each("box_iou")  # type: ignore[union-attr]
        for one in (
            own[JudgedNetwork(*ENSEMBLE, 0)]["light rain"],
            own[JudgedNetwork(*HEAD, 0)]["light rain"],
        )
    ]
    apart = iou[0] - iou[1]
    found = results.draws(BOXES, "iou").contrast([Place(ENSEMBLE, "light rain")], [Place(HEAD, "light rain")])
    assert found.difference.value.value == pytest.approx(apart.mean())
    half = (found.difference.high.value - found.difference.low.value) / 2
    assert half == pytest.approx(1.96 * apart.std(ddof=1) / np.sqrt(len(apart)), rel=0.06)


def test_the_better_network_is_told(results: Results) -> None:
    for task, measure in ((CLASSES, "accuracy"), (BOXES, "mae"), (BOXES, "iou")):
        found = {
            (one.first, one.second): one
            for one in comparisons(results, task, measure)
            if one.where == "all shifts"
        }
        assert found[VANILLA, ENSEMBLE].better == ENSEMBLE
        assert found[HEAD, ENSEMBLE].better == ENSEMBLE
        assert found[VANILLA, HEAD].better is None


@pytest.mark.slow
def test_rankings_by_chance_are_seldom_called_stable() -> None:
    told = 0
    for seed in range(12):
        alike = made_results(made_spec(repetitions=3), seed=seed, n=60)
        told += any(one.stable for one in rankings(alike))
    assert told <= 3


@pytest.mark.slow
def test_networks_of_one_skill_are_seldom_told_apart() -> None:
    """Of 15 pairs and both places, in each of 12 evaluations: in about one of 20 evaluations any shows."""
    told = 0
    for seed in range(12):
        made = made_results(made_spec(merged=None), seed=seed, n=150)
        told += any(one.better is not None for one in comparisons(made, CLASSES, "accuracy"))
    assert told <= 3


def test_differences_must_have_one_side_in_each_repetition() -> None:
    low, high, p = Measure(0.01), Measure(0.03), Measure(0.001)
    difference = Difference(Measure(0.02), low, high, p)
    for by_seed, expected in (
        ((0.02,), True),
        ((0.01, 0.03), True),
        ((0.05, -0.01), False),
        ((0.04, 0.0), False),
    ):
        contrast = Contrast(Measure(0.5), Measure(0.48), difference, by_seed)
        assert shown(contrast, p) is expected
        assert not shown(contrast, Measure(0.06))
        assert not shown(contrast, undefined("no draws"))


def test_repetitions_are_averaged_and_each_has_its_own_difference() -> None:
    results = made_results(made_spec(**FEW, repetitions=3), wobble=0.05)
    places = [Place(kind, "heavy rain") for kind in (HEAD, VANILLA)]
    found = results.draws(CLASSES, "accuracy").contrast(places[:1], places[1:])
    frame = results.frame[(results.frame["shift"] == "heavy rain") & (results.frame["measure"] == "accuracy")]
    by_seed = frame.pivot(index="seed", columns="variant", values="value")
    assert found.by_seed == pytest.approx((by_seed["head"] - by_seed["vanilla"]).tolist())
    assert found.difference.value.value == pytest.approx(np.mean(found.by_seed))


def test_a_repetition_that_is_missing_leaves_no_mean() -> None:
    results = made_results(made_spec(**FEW, repetitions=2))
    of = {network: own for network, own in results.streams.of.items() if network != JudgedNetwork(*HEAD, 1)}
    partial = Results(replace(results.streams, of=of))
    told = partial.mean(HEAD, NO_FAULT, CLASSES, "accuracy")
    assert told is not None
    assert told.reason == "1 of 2 repetitions are there"
    (pair,) = (
        one
        for one in comparisons(partial, CLASSES, "accuracy")
        if (one.first, one.second, one.where) == (VANILLA, HEAD, "test data")
    )
    assert pair.better is None
    assert not pair.p.defined
    assert mean_of([Measure(1.0), undefined("why")], 2).reason == "why"


def test_few_tracks_give_no_interval() -> None:
    readouts = made_stream(Skill(), NO_FAULT, images=NO_FAULT, network="x", n=4)
    assert len(readouts.instances) == 4
    results = made_results(made_spec(**FEW, merged=None), n=4)
    _, low, _ = results.draws(CLASSES, "accuracy").bounded([Place(VANILLA, NO_FAULT)])
    assert low.reason == "the stream has 4 tracks; resampling needs at least 5"


def test_own_classifiers_are_compared_with_each_other_and_with_each_backbone() -> None:
    own = [{"name": "lenet", "as": "mine"}, {"name": "lenet", "as": "theirs"}]
    alone = made_results(made_spec(backbones=[], classifiers=own))
    assert groups(alone) == {"own": [("mine", "own"), ("theirs", "own")]}
    both = made_results(made_spec(classifiers=own[:1], variants=["vanilla"]))
    assert groups(both) == {"cnn": [("cnn", "vanilla"), ("mine", "own")]}


def test_a_ranking_is_called_stable_only_where_repetitions_agree() -> None:
    skills = {
        (variant, "any"): Skill(right=right, error=error)
        for variant, right, error in zip(
            ("vanilla", "last-layer", "after-backbone", "head", "everywhere", "ensemble"),
            (0.6, 0.67, 0.74, 0.81, 0.88, 0.95),
            (3.5, 3.1, 2.7, 2.3, 1.9, 1.5),
            strict=True,
        )
    }
    apart = made_results(made_spec(repetitions=3), skill=skills, wobble=0.01)
    found = rankings(apart)
    assert len(found) == 6
    assert all(one.stable for one in found)
    assert {one.order[0] for one in found} == {("cnn", "ensemble")}
    once = rankings(made_results(made_spec(**FEW)))
    assert {one.agreement for one in once} == {
        "one repetition cannot tell whether another would rank them alike"
    }
    assert not any(one.stable for one in once)
