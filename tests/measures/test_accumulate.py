"""Sums of parts are those of the whole, and what histograms tell is as wrong as they say at most."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, f1_score, matthews_corrcoef, roc_auc_score

from farm.errors import ParameterError
from farm.measures import Separation
from farm.measures.accumulate import Accumulator, ScoreHistogram, time_quantiles
from farm.measures.detection import detection_measures
from farm.measures.histogram import BINS, Histogram
from farm.measures.tally import Tally
from tests.wording import refused, same_text


def simulate(seed, n=200, n_classes=4):
    rng = np.random.default_rng(seed)
    is_ood = rng.random(n) < 0.4
    score = rng.normal(size=n).round(rng.integers(0, 6)) + is_ood
    alarm = score > 1
    cancelled = alarm & (rng.random(n) < 0.8)
    predicted = rng.integers(0, n_classes, n)
    return {
        "label": np.where(rng.random(n) < 0.7, predicted, rng.integers(-1, n_classes, n)),
        "predicted": predicted,
        "is_ood": is_ood,
        "alarm": alarm,
        "cancelled": cancelled,
        "decision": np.where(cancelled, rng.integers(-1, n_classes, n), predicted),
        "score": score,
        "time_us": rng.lognormal(3, 1, n),
    }


def taken(columns, rows):
    return {name: values[rows] for name, values in columns.items()}


def put(seen, columns, group="ood"):
    """Take down a part, its OOD instances all of one group."""
    for side, key in ((~columns["is_ood"], None), (columns["is_ood"], group)):
        if side.any():
            own = taken(columns, side)
            score, time_us = own.pop("score", None), own.pop("time_us", None)
            seen.put(key, Tally.of(**own), score, time_us)


def accumulated(columns, pieces, **bins):
    seen = Accumulator(**bins)
    for rows in pieces:
        put(seen, taken(columns, rows))
    return seen


def measures_of(seen, keys=None):
    """All that follows from the sums of some groups, or of all."""
    chosen = seen.keys() if keys is None else keys
    sums = seen.sums(chosen)
    return {
        **{f"specific_{name}": m for name, m in detection_measures(sums.tally.specific).items()},
        **{f"overall_{name}": m for name, m in detection_measures(sums.tally.overall).items()},
        **seen.scores(chosen).measures(),
        **sums.tally.classification(),
        **{f"time_us_{name}": m for name, m in time_quantiles(sums.times).items()},
    }


def values(measures):
    return {name: measure.value if measure.defined else measure.reason for name, measure in measures.items()}


def test_agrees_with_references_on_the_whole():
    columns = simulate(0)
    found = measures_of(accumulated(columns, np.array_split(np.arange(200), 7)))
    wrong = columns["label"] != columns["predicted"]
    wrong |= columns["label"] == -1
    expected = {
        "specific_mcc": matthews_corrcoef(columns["is_ood"], columns["alarm"]),
        "overall_weighted_f1": f1_score(wrong, columns["cancelled"], average="weighted"),
        "classifier_mcc": matthews_corrcoef(columns["label"], columns["predicted"]),
        "system_mcc": matthews_corrcoef(columns["label"], columns["decision"]),
        "auroc": roc_auc_score(columns["is_ood"], columns["score"]),
        "coverage": (columns["decision"] != -1).mean(),
        "time_us_median": np.median(columns["time_us"]),
        "time_us_p99": np.quantile(columns["time_us"], 0.99),
        "auroc_error": 0,
        "time_us_relative_error": 0,
    }
    for name, value in expected.items():
        assert found[name].value == pytest.approx(value, abs=1e-12), name


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(1, 80), st.integers(1, 9), st.sampled_from([3, 20, 1000]), st.data()
)
def test_parts_are_the_whole_in_any_order_and_any_partition(seed, n, n_parts, bins, data):
    columns = simulate(seed, n)
    order = np.array(data.draw(st.permutations(range(n))))
    pieces = np.array_split(order, n_parts)
    whole = accumulated(columns, [np.arange(n)], bins=bins, time_bins=bins)
    one_by_one = accumulated(columns, pieces, bins=bins, time_bins=bins)
    merged = Accumulator(bins=bins, time_bins=bins)
    for rows in pieces:
        merged = accumulated(columns, [rows], bins=bins, time_bins=bins).merge(merged)
    assert values(measures_of(one_by_one)) == values(measures_of(merged)) == values(measures_of(whole))


def test_groups_are_told_apart_and_together():
    columns = simulate(3)
    seen = Accumulator()
    for group, rows in (("snow", np.arange(120)), ("fog", np.arange(120, 200))):
        put(seen, taken(columns, rows), group)
    assert set(seen.keys()) == {None, "snow", "fog"}
    is_ood = columns["is_ood"]
    snow = ~is_ood | (np.arange(200) < 120)
    measures = measures_of(seen, [None, "snow"])
    assert measures["auroc"].value == pytest.approx(roc_auc_score(is_ood[snow], columns["score"][snow]))
    tally = seen.sums([None, "snow"]).tally
    assert (tally.n, tally.alarms) == (snow.sum(), columns["alarm"][snow].sum())
    assert (
        seen.scores(["fog"]).measures()["auroc"].reason
        == f"each of the {is_ood[120:].sum()} instances is OOD"
    )
    seen.rename("fog", "snow")
    assert values(measures_of(seen)) == values(measures_of(accumulated(columns, [np.arange(200)])))


def test_merging_leaves_both_as_they_are():
    columns = simulate(1)
    first, second = (accumulated(columns, [rows]) for rows in np.array_split(np.arange(200), 2))
    before = values(measures_of(first)), values(measures_of(second))
    merged = first.merge(second)
    put(merged, columns)
    assert (values(measures_of(first)), values(measures_of(second))) == before


def test_classes_may_turn_up_late():
    first, second = simulate(0, 50, n_classes=2), simulate(1, 50, n_classes=9)
    seen = Accumulator()
    put(seen, first)
    put(seen, second)
    label, predicted = (np.concatenate([first[name], second[name]]) for name in ("label", "predicted"))
    assert measures_of(seen)["classifier_mcc"].value == pytest.approx(matthews_corrcoef(label, predicted))


@pytest.mark.parametrize("alarm", [False, True])
def test_one_verdict_only_is_said(alarm):
    columns = simulate(2) | {"alarm": np.full(200, alarm)}
    word = "each" if alarm else "none"
    reason = f"{word} of the 200 instances {'raised' if True else ''} an alarm"
    assert measures_of(accumulated(columns, [np.arange(200)]))["specific_mcc"].reason == reason


def test_nothing_seen_nothing_defined():
    assert {measure.reason for measure in measures_of(Accumulator()).values()} == {
        "no instances",
        "no times were given",
        "classifier's MCC: no instances",
    }


def test_without_scores_or_times():
    columns = simulate(0, 20)
    seen = Accumulator()
    put(seen, {name: columns[name] for name in columns if name not in ("score", "time_us")})
    measures = measures_of(seen)
    same_text(measures["auroc"].reason)
    same_text(measures["time_us_median"].reason)


def test_times_have_a_relative_error_that_holds():
    times = np.random.default_rng(0).lognormal(5, 1, 100_000)
    found = time_quantiles(Histogram.of(times, 2**12))
    error = found["relative_error"].value
    assert 0 < error < 2e-3
    for name, share in (("median", 0.5), ("p95", 0.95), ("p99", 0.99)):
        assert abs(found[name].value / np.quantile(times, share) - 1) <= error * 1.01


SCORES = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(-1e6, 1e6),
    st.floats(0.99, 1.01),
    st.floats(-1.1, -0.4),
    st.sampled_from([-math.inf, math.inf]),
)
SIDE = st.lists(SCORES, min_size=1, max_size=60).map(np.array)
SIDES = st.tuples(SIDE, SIDE)
MOST = st.sampled_from([1, 2, 4, 16, 1000])


def seen(sides, most):
    return ScoreHistogram(*(Histogram.of(side, most) for side in sides))


@given(SIDES, MOST)
def test_what_is_true_is_within_the_error(sides, most):
    found, true = seen(sides, most).measures(), Separation(*sides).measures()
    for name, measure in true.items():
        error = found[f"{name}_error"].value
        assert abs(found[name].value - measure.value) <= error + 1e-12
        if most == 1000:
            assert error <= 1e-15
            assert found[name].value == pytest.approx(measure.value, abs=1e-12)


@given(SIDES, SIDES, MOST)
def test_parts_measure_as_the_whole(first, second, most):
    def added(*parts):
        (id_, ood), (more_id, more_ood) = ([Histogram.of(side, most) for side in part] for part in parts)
        return ScoreHistogram(id_ + more_id, ood + more_ood)

    whole = tuple(np.concatenate(pair) for pair in zip(first, second, strict=True))
    assert added(first, second).measures() == seen(whole, most).measures()
    assert added(second, first).measures() == seen(whole, most).measures()


@given(SIDES, MOST)
def test_auroc_mirrors_when_id_and_ood_swap(sides, most):
    (value, error), (mirrored, same) = seen(sides, most).auroc(), seen(sides[::-1], most).auroc()
    assert mirrored.value == pytest.approx(1 - value.value)
    assert same.value == pytest.approx(error.value)


@pytest.mark.parametrize(
    "shape",
    [
        lambda plain: plain,
        lambda plain: -20 + plain / 100,  # far from 0, beside their spread
        lambda plain: 1 / (1 + np.exp(-4 * plain)),
        lambda plain: -1 / (1 + np.exp(-4 * plain)),
        lambda plain: np.clip(plain, -0.5, 1.5),  # half of them saturated
        lambda plain: np.exp(8 * plain),
        lambda plain: plain.round(3),
    ],
)
def test_the_error_is_small_whatever_the_scale(shape):
    rng = np.random.default_rng(0)
    is_ood = rng.random(200_000) < 0.3
    scores = shape(rng.normal(size=len(is_ood)) + is_ood)
    found = seen((scores[~is_ood], scores[is_ood]), BINS).measures()
    for name, reference in (("auroc", roc_auc_score), ("aupr", average_precision_score)):
        error = found[f"{name}_error"].value
        assert abs(found[name].value - reference(is_ood, scores)) <= error + 1e-12 < 2e-4
    true = Separation(scores[~is_ood], scores[is_ood]).fpr_at_tpr().value
    assert abs(found["fpr_at_95_tpr"].value - true) <= found["fpr_at_95_tpr_error"].value + 1e-12 < 2e-4


@pytest.mark.parametrize(
    ("id_scores", "ood_scores"),
    [([], []), ([0.1, 0.2], []), ([], [0.1]), ([0.1, math.nan], [0.3, math.nan])],
)
def test_undefined_for_the_same_reasons_as_exactly(id_scores, ood_scores):
    sides = (np.array(id_scores), np.array(ood_scores))
    found, true = seen(sides, 100).measures(), Separation(*sides).measures()
    for name, measure in true.items():
        assert found[name].reason == found[f"{name}_error"].reason == measure.reason is not None


def test_single_instances_and_constant_scores():
    assert [m.value for m in seen((np.array([1.0]), np.array([2.0])), 1).auroc()] == [1.0, 0.0]
    assert [m.value for m in seen((np.zeros(3), np.zeros(2)), 1).auroc()] == [0.5, 0.0]


@pytest.mark.parametrize("tpr", [0.0, 1.5, math.nan])
def test_refuses_an_impossible_rate(tpr):
    with refused(ParameterError):
        seen((np.zeros(3), np.zeros(2)), 1).fpr_at_tpr(tpr)
