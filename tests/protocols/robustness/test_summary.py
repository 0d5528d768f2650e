"""What is said of many repetitions: means, intervals that are right as often as they say, and tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from farm.protocols.robustness import analysis
from farm.protocols.robustness.results import Results, drawn_tracks
from farm.protocols.robustness.spec import NATURAL
from farm.protocols.robustness.summary import (
    ALPHA,
    HIGHER_IS_BETTER,
    ConditionMean,
    differences,
    hardest,
    means,
    pairs_and_none,
    worst_trainings,
)
from farm.statistics.anova_result import Anova
from tests.protocols.robustness.made_results import made_results, made_spec, small_spec

SMALL = small_spec()
ONE_CONDITION = small_spec(transformations=["robustness-fog"], levels=[1])


def table(results: Results, measure: str, classifier: str) -> pd.DataFrame:
    """Return values with a row a repetition, and a column a condition."""
    frame = results.classification[results.classification["classifier"] == classifier]
    return frame.pivot(index="repetition", columns=["transformation", "level"], values=measure)


# By hand --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["accuracy", "auroc", "brier"])
def test_a_mean_over_conditions_counts_each_repetition_once(measure: str) -> None:
    results = made_results(SMALL)
    for one in means(results, results.classification, measure):
        values = table(results, measure, one.classifier).mean(axis=1)
        low, high = stats.t.interval(0.95, 9, values.mean(), stats.sem(values))
        found = one.n, one.mean, one.sd, one.low, one.high
        assert found == pytest.approx((10, values.mean(), values.std(ddof=1), low, high))


def test_a_mean_in_a_condition_is_of_its_values() -> None:
    results = made_results(SMALL)
    for one in means(results, results.classification, "accuracy", ["transformation", "level"]):
        values = table(results, "accuracy", one.classifier)[one.condition]
        low, high = stats.t.interval(0.95, 9, values.mean(), stats.sem(values))
        assert (one.mean, one.low, one.high) == pytest.approx((values.mean(), low, high))


def test_an_interval_holds_no_number_that_cannot_be() -> None:
    results = made_results(SMALL, skill={"Baseline": 1.03, "MC-Dropout": 0.01}, of_network=0.1, noise=0.05)
    found = means(results, results.classification, "accuracy", ["transformation"])
    assert {one.high for one in found if one.classifier == "Baseline"} == {1.0}
    assert {one.low for one in found if one.classifier == "MC-Dropout"} == {0.0}


def test_of_a_classifier_that_was_given_the_spread_is_the_error_itself() -> None:
    """Its repetitions draw the test images anew: more of them make no other images."""
    results = made_results(SMALL, given=frozenset({"Baseline"}))
    of_given, of_trained = means(results, results.classification, "accuracy")
    values = table(results, "accuracy", "Baseline").mean(axis=1)
    half = stats.t.ppf(0.975, 9) * values.std(ddof=1)
    assert (of_given.low, of_given.high) == pytest.approx((values.mean() - half, values.mean() + half))
    assert of_given.high - of_given.low > 2 * (of_trained.high - of_trained.low)


@pytest.mark.parametrize("given", [frozenset(), frozenset({"MC-Dropout"})])
@pytest.mark.parametrize("by", [[], ["transformation"], ["level"], ["transformation", "level"]])
def test_differences_are_paired_by_repetition(by: list[str], given: frozenset[str]) -> None:
    results = made_results(SMALL, given=given, skill={"Baseline": 0.81})
    found = differences(results, results.classification, "accuracy", by)
    names = ["transformation", "level"]
    paired = table(results, "accuracy", "Baseline") - table(results, "accuracy", "MC-Dropout")
    raw = []
    for one in found:
        at = dict(zip(by, one.condition, strict=True))
        rows = [c for c in paired.columns if all(c[names.index(key)] == at[key] for key in by)]
        values = paired[rows].mean(axis=1)
        error = values.std(ddof=1) * (1 if given else 1 / np.sqrt(10))
        low, high = stats.t.interval(0.95, 9, values.mean(), error)
        assert (one.n, one.difference) == pytest.approx((10, values.mean()))
        assert (one.low.value, one.high.value) == pytest.approx((low, high))
        assert one.first_mean - one.second_mean == pytest.approx(one.difference)
        raw.append(2 * stats.t.sf(abs(values.mean()) / error, 9))
        if not given:
            assert raw[-1] == pytest.approx(stats.ttest_1samp(values, 0).pvalue)
    corrected = multipletests(raw, method="holm")[1]
    assert [one.p.value for one in found] == pytest.approx(corrected.tolist())
    assert len(found) == int(np.prod([{"transformation": 3, "level": 2}[key] for key in by]))


def test_all_pairs_of_classifiers_are_corrected_together() -> None:
    names = [{"name": "cnn", "as": name} for name in "abc"]
    results = made_results(small_spec(classifiers=names), skill={"a": 0.803})
    found = differences(results, results.classification, "accuracy", ["transformation"])
    assert [(one.first, one.second) for one in found[::3]] == [("a", "b"), ("a", "c"), ("b", "c")]
    alone = []
    for one in found:
        two = results.frame[results.frame["classifier"].isin([one.first, one.second])]
        two = two[two["transformation"] == one.condition[0]]
        (single,) = differences(replace(results, frame=two), two, "accuracy")
        alone.append(single.p.value)
    assert [one.p.value for one in found] == pytest.approx(multipletests(alone, method="holm")[1].tolist())


def test_an_undefined_test_counts_as_none_of_them() -> None:
    results = made_results(SMALL)
    frame = results.frame.copy()
    frame.loc[(frame["transformation"] == "fog") & (frame["repetition"] == 3), "auroc"] = np.nan
    found = differences(results, frame[frame["kind"] == "transformation"], "auroc", ["transformation"])
    undefined = [one for one in found if not one.p.defined]
    assert [one.condition for one in undefined] == [("fog",)]
    assert undefined[0].p.reason == "in 1 of 10 repetitions a result has no value"
    rest = frame[(frame["transformation"] != "fog") & (frame["kind"] == "transformation")]
    alone = differences(results, rest, "auroc", ["transformation"])
    assert [one.p.value for one in found if one.p.defined] == [one.p.value for one in alone]


@pytest.mark.parametrize("measure", ["accuracy", "brier"])
def test_who_is_better_is_said_the_right_way_round(measure: str) -> None:
    results = made_results(SMALL, skill={"Baseline": 0.9, "MC-Dropout": 0.7})
    (one,) = differences(results, results.classification, measure)
    assert (one.difference > 0) == HIGHER_IS_BETTER[measure]
    assert one.better == "Baseline"


def test_one_repetition_and_equal_ones_tell_no_spread() -> None:
    single = made_results(small_spec(repetitions=1))
    (one,) = differences(single, single.classification, "accuracy")
    assert one.p.reason == "one repetition gives no interval"
    assert one.better is None
    (mean, _) = means(single, single.classification, "accuracy")
    assert np.isnan([mean.sd, mean.low, mean.high]).all()
    same = made_results(SMALL, of_network=0, noise=0)
    (one,) = differences(same, same.classification, "accuracy")
    assert "the same in each repetition" in str(one.p.reason)


def test_only_what_both_have_is_compared() -> None:
    results = made_results(SMALL)
    gone = (results.frame["classifier"] == "Baseline") & (results.frame["repetition"] == 4)
    frame = results.frame[~(gone & (results.frame["transformation"] == "fog"))]
    found = differences(results, frame[frame["kind"] == "transformation"], "accuracy", ["transformation"])
    assert {one.condition[0]: one.n for one in found} == {"fog": 9, "blur": 10, "grey": 10}


def test_pairs_have_the_untransformed_set_among_them() -> None:
    results = made_results(made_spec(parts="ood", gans=[], repetitions=2))
    frame = pairs_and_none(results)
    assert set(frame["group"]) == {"none", *results.spec.transformation_names}
    assert set(frame.loc[frame["group"] == "none", "transformation"]) == {NATURAL}


def test_the_hardest_comes_first() -> None:
    found = [
        ConditionMean("a", ("x",), 2, 0.5, 0, 0, 1),
        ConditionMean("b", ("x",), 2, 0.7, 0, 0, 1),
        ConditionMean("a", ("y",), 2, 0.9, 0, 0, 1),
        ConditionMean("a", ("z",), 2, np.nan, 0, 0, 1),
    ]
    assert hardest(found, "accuracy") == [("x", pytest.approx(0.6)), ("y", 0.9)]
    assert hardest(found, "brier") == [("y", 0.9), ("x", pytest.approx(0.6))]


def test_all_trainings_of_a_gan_are_one_set_in_the_means() -> None:
    results = made_results(made_spec(repetitions=4, gan_trainings=3))
    found = means(results, results.named_sets, "auroc", ["set"])
    assert len(found) == 2 * (7 + 10 + 6)
    (one,) = (x for x in found if x.condition == ("lee-gan",) and x.classifier == "Baseline")
    rows = results.ood("gan")
    rows = rows[(rows["group"] == "lee-gan") & (rows["classifier"] == "Baseline")]
    by_repetition = rows.groupby("repetition")["auroc"].mean()
    assert (one.n, one.mean) == (4, pytest.approx(by_repetition.mean()))
    assert (one.low, one.high) == pytest.approx(
        stats.t.interval(0.95, 3, by_repetition.mean(), stats.sem(by_repetition))
    )


# The worst training ---------------------------------------------------------------------------------------


def gan_spec(**changes: Any) -> Any:
    few = {"sets": [], "pairs": False, "gans": [{"name": "gan-lee", "as": "lee"}], "repetitions": 6}
    return made_spec(**{"parts": "ood", "gan_trainings": 10, **few, **changes})


def test_the_worst_training_is_chosen_on_other_images_and_repetitions() -> None:
    spec = gan_spec(classifiers=["cnn"], gan_trainings=3, repetitions=2)
    results = made_results(spec)
    frame = results.frame.copy()
    values = {  # repetition, training: first half, second half
        (1, "lee-1"): (0.50, 0.90),
        (1, "lee-2"): (0.80, 0.20),
        (1, "lee-3"): (0.70, 0.60),
        (2, "lee-1"): (0.95, 0.30),
        (2, "lee-2"): (0.10, 0.75),
        (2, "lee-3"): (0.40, 0.65),
    }
    for (repetition, training), halves in values.items():
        at = (frame["repetition"] == repetition) & (frame["transformation"] == training)
        frame.loc[at, ["first_half", "second_half"]] = halves
    worst = worst_trainings(replace(results, frame=frame)).set_index("repetition")
    # For the first repetition: by the second's second half lee-1 is worst, and its first half counts. For the
    # second: by the first's first half lee-1 again, and its second half counts.
    assert worst["transformation"].to_dict() == {1: "lee-1", 2: "lee-1"}
    assert worst["auroc"].to_dict() == {1: 0.50, 2: 0.30}


def test_one_repetition_cannot_choose_and_judge() -> None:
    assert worst_trainings(made_results(gan_spec(repetitions=1))).empty


def test_a_training_that_is_truly_worst_is_found() -> None:
    results = made_results(gan_spec(), of_training=0.1)
    found = worst_trainings(results)
    by_training = results.ood("gan").groupby("transformation")["auroc"].mean()
    assert set(found["transformation"]) == {by_training.idxmin()}
    assert len(found) == 2 * 6
    assert found["auroc"].mean() == pytest.approx(by_training.min(), abs=0.01)


def alike(seed: int, *, of_images: float, of_networks: float) -> Results:
    """Return results on trainings that are alike, but for what images and networks happen to be.

    What the images of a half do is in all repetitions; what a network does with a training, in all images.
    """
    results = made_results(gan_spec(), seed=seed, of_transformation=0, of_level=0, of_network=0, noise=0.01)
    rng, frame = np.random.default_rng([seed, 1]), results.frame.copy()
    for half in ("first_half", "second_half"):
        drawn = dict(zip(frame["transformation"].unique(), rng.normal(0, of_images, 10), strict=True))
        frame[half] += frame["transformation"].map(drawn)
    both = rng.normal(0, of_networks, len(frame))
    frame[["first_half", "second_half"]] += both[:, None]
    return replace(results, frame=frame.assign(auroc=frame[["first_half", "second_half"]].mean(axis=1)))


@pytest.mark.parametrize(("of_images", "of_networks"), [(0.03, 0.0), (0.0, 0.05), (0.03, 0.05)])
def test_the_worst_of_equal_trainings_is_no_worse_on_the_average(
    of_images: float, of_networks: float
) -> None:
    """To choose and to judge by the same values would make it out as worse than it is."""
    honest, naive = [], []
    for seed in range(50):
        results = alike(seed, of_images=of_images, of_networks=of_networks)
        honest.append(worst_trainings(results)["auroc"].mean())
        naive.append(results.ood("gan").groupby("transformation")["auroc"].mean().min())
    error = np.std(honest, ddof=1) / np.sqrt(len(honest))
    assert abs(np.mean(honest) - 0.8) < 3.5 * error
    assert np.mean(naive) < 0.8 - 5 * error


# Simulations ----------------------------------------------------------------------------------------------


def independent_p(results: Results) -> float:
    """Return the p of classifiers by the source's way, with each value for itself: by hand, since faster."""
    frame = results.classification
    design = [frame[key].astype(str) for key in ("classifier", "transformation", "level")]
    values = frame["accuracy"].to_numpy()
    cells = frame.groupby(design)["accuracy"]
    squares = float(((values - cells.transform("mean")) ** 2).sum())
    df = len(values) - cells.ngroups
    of_classifier = frame.groupby("classifier")["accuracy"].mean()
    between = len(values) / 2 * float(((of_classifier - of_classifier.mean()) ** 2).sum())
    return float(stats.f.sf(between / (squares / df), 1, df))


def false_alarms(runs: int) -> tuple[float, float, float]:
    """Return how often classifiers that are alike are told apart: ours, by conditions, and the source's."""
    ours = by_condition = source = 0
    for seed in range(runs):
        results = made_results(SMALL, seed=seed)
        frame = results.classification
        ours += differences(results, frame, "accuracy")[0].shows
        by_condition += any(one.shows for one in differences(results, frame, "accuracy", ["transformation"]))
        source += independent_p(results) < ALPHA
    return ours / runs, by_condition / runs, source / runs


def held(runs: int) -> tuple[float, float]:
    """Return how often the interval of a mean, and that of a difference, holds the truth."""
    of_mean = of_difference = 0
    truth = 0.8 - 0.03
    for seed in range(runs):
        results = made_results(
            ONE_CONDITION, seed=seed, skill={"MC-Dropout": 0.79}, of_transformation=0.03, of_level=0
        )
        frame = results.classification
        one = means(results, frame, "accuracy")[0]
        of_mean += one.low <= truth <= one.high
        (both,) = differences(results, frame, "accuracy")
        of_difference += both.low.value <= 0.01 <= both.high.value
    return of_mean / runs, of_difference / runs


def test_classifiers_that_are_alike_are_seldom_told_apart_and_by_the_source_often() -> None:
    ours, by_condition, source = false_alarms(120)
    # 5 %, and three standard errors of that many runs.
    assert ours < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 120)
    assert by_condition < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 120)
    assert source > 0.2


@pytest.mark.slow
def test_classifiers_that_are_alike_are_told_apart_about_as_often_as_is_said() -> None:
    ours, by_condition, source = false_alarms(1000)
    assert 0.03 < ours < 0.07
    assert by_condition < 0.07
    assert source > 0.2


@pytest.mark.slow
def test_networks_as_blocks_find_no_more_than_is_said_and_single_values_do() -> None:
    runs, by_network, single = 200, 0, 0
    for seed in range(runs):
        found = analysis.classification(made_results(SMALL, seed=seed), "accuracy")
        assert isinstance(found.by_network, Anova)
        assert isinstance(found.independent, Anova)
        by_network += found.by_network.effects[0].shows
        single += found.independent.effects[0].shows
    assert by_network / runs < 0.08
    assert single / runs > 0.2


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    for found in held(150):
        assert 0.95 - 3 * np.sqrt(0.95 * 0.05 / 150) < found


@pytest.mark.slow
def test_intervals_hold_the_truth_neither_less_nor_more_often_than_they_say() -> None:
    for found in held(2000):
        assert 0.935 < found < 0.965


def brought_along(
    seed: int, *, tracks: int = 120, frames: int = 3, repetitions: int = 20
) -> tuple[Results, float]:
    """Return results of two classifiers with given weights on one sample of tracks, and their difference.

    A track's frames are right together more often than not, and both classifiers find the same ones hard.
    """
    rng = np.random.default_rng(seed)
    # The logit of being right: the track's, the classifier's on this track, and the classifier's skill.
    of_track = rng.normal(0, 1.5, tracks)
    chances = [1 / (1 + np.exp(-(skill + of_track + rng.normal(0, 0.5, tracks)))) for skill in (1.4, 1.1)]
    right = [rng.uniform(size=(tracks, frames)) < chance[:, None] for chance in chances]
    names = np.repeat([f"t{i:04d}" for i in range(tracks)], frames)
    spec = small_spec(transformations=["robustness-fog"], levels=[1], repetitions=repetitions)
    frame = made_results(spec).classification.copy()
    for number in range(repetitions):
        rows = drawn_tracks(names, 1000 * seed + number)
        for name, one in zip(spec.classifier_names, right, strict=True):
            at = (frame["classifier"] == name) & (frame["repetition"] == number + 1)
            frame.loc[at, "accuracy"] = one.ravel()[rows].mean()
    return Results(spec, frame, frozenset(spec.classifier_names)), true_difference()


def true_difference() -> float:
    """Return the difference over all tracks there could be, by integration over their logits."""
    spread = np.sqrt(1.5**2 + 0.5**2)
    at, weight = np.polynomial.hermite_e.hermegauss(80)
    first, second = (
        float((weight / (1 + np.exp(-(skill + spread * at)))).sum() / weight.sum()) for skill in (1.4, 1.1)
    )
    return first - second


def held_of_given(runs: int) -> tuple[float, float]:
    """Return how often a difference's interval holds the truth, and how often it would over repetitions."""
    inside = would = 0
    for seed in range(runs):
        results, truth = brought_along(seed)
        (one,) = differences(results, results.frame, "accuracy")
        inside += one.low.value <= truth <= one.high.value
        (other,) = differences(replace(results, given=frozenset()), results.frame, "accuracy")
        would += other.low.value <= truth <= other.high.value
    return inside / runs, would / runs


def test_of_given_classifiers_the_interval_is_of_other_tracks() -> None:
    inside, would = held_of_given(80)
    assert inside >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 120)
    assert would < 0.6, "as if each repetition brought other images"


@pytest.mark.slow
def test_of_given_classifiers_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    inside, _ = held_of_given(1000)
    assert 0.92 < inside < 0.975


def test_a_repetition_that_lacks_a_condition_does_not_count() -> None:
    """Its mean would be over other conditions than that of the others."""
    results = made_results(SMALL)
    frame = results.frame
    hard = (frame["transformation"] == "fog") & (frame["level"] == 5)
    gone = hard & (frame["classifier"] == "Baseline") & (frame["repetition"] <= 4)
    fewer = replace(results, frame=frame[~gone])
    first, second = means(fewer, fewer.classification, "accuracy")
    assert (first.n, second.n) == (6, 10)
    rest = results.classification[results.classification["repetition"] > 4]
    own = rest[rest["classifier"] == "Baseline"]
    assert first.mean == pytest.approx(own["accuracy"].mean())
    (difference,) = differences(fewer, fewer.classification, "accuracy")
    (wanted,) = differences(results, rest, "accuracy")
    assert (difference.n, difference.difference) == (6, pytest.approx(wanted.difference))
    none = replace(results, frame=frame[~(hard & (frame["classifier"] == "Baseline"))])
    first, _ = means(none, none.classification, "accuracy")
    assert first.n == 0
    assert np.isnan(first.mean)
    (difference,) = differences(none, none.classification, "accuracy")
    assert difference.p.reason == "no repetition has all results"


def test_the_worst_training_is_one_that_all_classifiers_have() -> None:
    results = made_results(made_spec(repetitions=4, gan_trainings=3), of_training=0.2)
    frame = results.frame
    bad = {name.rpartition("-")[0]: name for name in frame.loc[frame["kind"] == "gan", "transformation"]}
    gone = frame["transformation"].isin(bad.values()) & (frame["classifier"] == "MC-Dropout")
    frame = frame[~gone].copy()
    frame.loc[frame["transformation"].isin(bad.values()), ["first_half", "second_half"]] = 0.0
    found = worst_trainings(replace(results, frame=frame))
    assert not set(found["transformation"]) & set(bad.values())
    assert len(found) == 6 * 4 * 2


def test_of_a_given_classifier_few_tracks_are_few() -> None:
    given = frozenset({"Baseline", "MC-Dropout"})
    results = made_results(SMALL, given=given)
    (many,) = differences(results, results.classification, "accuracy")
    (few,) = differences(replace(results, tracks=6), results.classification, "accuracy")
    wider = np.sqrt(6 / 5) * stats.t.ppf(0.975, 5) / stats.t.ppf(0.975, 9)
    assert few.high.value - few.low.value == pytest.approx(wider * (many.high.value - many.low.value))
    (none,) = differences(replace(results, tracks=4), results.classification, "accuracy")
    assert none.p.reason == "the test images are of 4 tracks; at least 5 are needed"
