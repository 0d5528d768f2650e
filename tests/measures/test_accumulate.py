import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, matthews_corrcoef, roc_auc_score

from farm.errors import DataError
from farm.measures.accumulate import Accumulator, time_quantiles
from farm.measures.histogram import Histogram
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


def accumulated(columns, pieces, **bins):
    seen = Accumulator(**bins)
    for rows in pieces:
        seen.add(**taken(columns, rows))
    return seen


def values(measures):
    return {name: measure.value if measure.defined else measure.reason for name, measure in measures.items()}


def test_agrees_with_references_on_the_whole():
    columns = simulate(0)
    found = accumulated(columns, np.array_split(np.arange(200), 7)).measures()
    wrong = columns["label"] != columns["predicted"]
    wrong |= columns["label"] == -1
    expected = {
        "specific_mcc": matthews_corrcoef(columns["is_ood"], columns["alarm"]),
        "overall_weighted_f1": f1_score(wrong, columns["cancelled"], average="weighted"),
        "classifier_mcc": matthews_corrcoef(columns["label"], columns["predicted"]),
        "system_mcc": matthews_corrcoef(columns["label"], columns["decision"]),
        "auroc": roc_auc_score(columns["is_ood"], columns["score"]),
        "coverage": (columns["decision"] != -1).mean(),
        "alarm_rate": columns["alarm"].mean(),
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
    assert values(one_by_one.measures()) == values(merged.measures()) == values(whole.measures())


def test_groups_are_told_apart_and_together():
    columns = simulate(3)
    seen = Accumulator()
    for group, rows in (("snow", np.arange(120)), ("fog", np.arange(120, 200))):
        seen.add(**taken(columns, rows), group=group)
    assert set(seen.keys()) == {None, "snow", "fog"}
    is_ood = columns["is_ood"]
    snow = ~is_ood | (np.arange(200) < 120)
    measures = seen.measures([None, "snow"])
    assert measures["auroc"].value == pytest.approx(roc_auc_score(is_ood[snow], columns["score"][snow]))
    assert measures["alarm_rate"].value == columns["alarm"][snow].mean()
    assert seen.measures(["fog"])["auroc"].reason == f"each of the {is_ood[120:].sum()} instances is OOD"
    seen.rename("fog", "snow")
    assert values(seen.measures()) == values(accumulated(columns, [np.arange(200)]).measures())


def test_merging_leaves_both_as_they_are():
    columns = simulate(1)
    first, second = (accumulated(columns, [rows]) for rows in np.array_split(np.arange(200), 2))
    before = values(first.measures()), values(second.measures())
    merged = first.merge(second)
    merged.add(**columns)
    assert (values(first.measures()), values(second.measures())) == before


def test_classes_may_turn_up_late():
    first, second = simulate(0, 50, n_classes=2), simulate(1, 50, n_classes=9)
    seen = Accumulator()
    seen.add(**first)
    seen.add(**second)
    label, predicted = (np.concatenate([first[name], second[name]]) for name in ("label", "predicted"))
    assert seen.measures()["classifier_mcc"].value == pytest.approx(matthews_corrcoef(label, predicted))


@pytest.mark.parametrize("alarm", [False, True])
def test_one_verdict_only_is_said(alarm):
    columns = simulate(2) | {"alarm": np.full(200, alarm)}
    word = "each" if alarm else "none"
    reason = f"{word} of the 200 instances {'raised' if True else ''} an alarm"
    assert accumulated(columns, [np.arange(200)]).measures()["specific_mcc"].reason == reason


def test_nothing_seen_nothing_defined():
    assert {measure.reason for measure in Accumulator().measures().values()} == {
        "no instances",
        "no times were given",
        "classifier's MCC: no instances",
    }


def test_without_scores_or_times():
    columns = simulate(0, 20)
    seen = Accumulator()
    seen.add(*(columns[name] for name in ("label", "predicted", "is_ood", "alarm")))
    measures = seen.measures()
    same_text(measures["auroc"].reason)
    same_text(measures["time_us_median"].reason)


def test_times_have_a_relative_error_that_holds():
    times = np.random.default_rng(0).lognormal(5, 1, 100_000)
    found = time_quantiles(Histogram.of(times, 2**12))
    error = found["relative_error"].value
    assert 0 < error < 2e-3
    for name, share in (("median", 0.5), ("p95", 0.95), ("p99", 0.99)):
        assert abs(found[name].value / np.quantile(times, share) - 1) <= error * 1.01


def test_refuses_columns_of_unequal_length():
    columns = simulate(0, 20)
    with refused(DataError):
        Accumulator().add(**columns | {"score": columns["score"][1:]})
