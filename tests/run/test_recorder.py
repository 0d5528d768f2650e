"""What happens in a run becomes rows: one an instance, one an instance and monitor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farm.api import LAST_HIDDEN, Batch
from farm.run.recorder import CLOSE, Recorder
from farm.run.system import BatchDecision, Step


def step(classifier, tiny, rows, monitors=("a",), ood=(), **columns):
    """Make a step of these test instances."""
    rows = np.asarray(rows)
    is_ood = np.isin(rows, ood)
    n = len(rows)
    batch = Batch(
        ids=tiny.test.ids[rows],
        images=tiny.test.images.read(rows),
        labels=tiny.test.labels[rows],
        is_ood=is_ood,
        category=np.where(is_ood, "shift", ""),
        faultload=np.where(is_ood, "fog", ""),
        severity=np.where(is_ood, 2.0, np.nan),
        track=tiny.test.groups[rows],
        workload=np.full(n, "tiny"),
        episode=np.where(is_ood, 0, -1),
        fault_linf=np.where(is_ood, 0.5, np.nan),
        fault_l2=np.where(is_ood, 1.5, np.nan),
        fault_success=np.full(n, np.nan),
    )
    seen = classifier.observe(batch.images, [LAST_HIDDEN], ids=batch.ids)
    seen = replace(seen, **columns)
    cancelled = rows % 4 == 0
    made = BatchDecision(rows + 0.5, rows % 2 == 0, cancelled, np.where(cancelled, -1, 2), 6000 * n)
    decisions = dict.fromkeys(monitors, made)
    return Step(batch, seen, 3000 * n, decisions)


@pytest.fixture
def steps(classifier, tiny):
    return [step(classifier, tiny, rows, ("a", "b"), ood=[4, 5]) for rows in ([0, 1, 2], [3, 4], [5])]


def recorded(steps, monitors=("a", "b"), layers=(), failed=()):
    recorder = Recorder(monitors, layers)
    for one in steps:
        recorder.add(one)
    return recorder.readouts(failed)


def test_one_row_an_instance_in_the_order_of_the_stream(steps, tiny):
    instances = recorded(steps).instances
    assert instances["position"].tolist() == list(range(6))
    assert instances["id"].tolist() == tiny.test.ids[:6].tolist()
    assert instances["label"].tolist() == tiny.test.labels[:6].tolist()
    assert instances["track"].tolist() == tiny.test.groups[:6].tolist()


def test_one_row_an_instance_and_monitor(steps):
    alarms = recorded(steps).alarms
    assert len(alarms) == 12
    for name in "ab":
        own = alarms[alarms["monitor"] == name]
        assert own["position"].tolist() == list(range(6))
        assert own["score"].tolist() == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]
        assert own["alarm"].tolist() == [True, False] * 3
        assert own["cancelled"].tolist() == [True, False, False, False, True, False]
        assert own["decision"].tolist() == [-1, 2, 2, 2, -1, 2]


def test_what_the_classifier_said_is_kept(steps, classifier, tiny):
    seen = classifier.observe(tiny.test.images.read(np.arange(6)))
    instances = recorded(steps).instances
    assert instances["predicted"].tolist() == seen.predicted.tolist()
    np.testing.assert_allclose(instances["confidence"], seen.confidence)


def test_each_instance_has_the_probability_of_its_label_and_its_brier_score(classifier, tiny):
    probabilities = np.array([[0.7, 0.2, 0.1, 0.0], [0.25, 0.25, 0.25, 0.25], [0.0, 1.0, 0.0, 0.0]])
    seen = step(classifier, tiny, [0, 1, 2], probabilities=probabilities)
    labels = np.array([1, -1, 1])
    instances = recorded([seen._replace(batch=replace(seen.batch, labels=labels))], ["a"]).instances
    assert instances["label_probability"].tolist() == pytest.approx([0.2, np.nan, 1.0], nan_ok=True)
    brier = [0.7**2 + 0.8**2 + 0.1**2, np.nan, 0.0]
    assert instances["brier"].tolist() == pytest.approx(brier, nan_ok=True)


def test_an_id_instance_has_no_fault_and_no_category(steps):
    instances = recorded(steps).instances
    assert instances["is_ood"].tolist() == [False] * 4 + [True] * 2
    assert instances["faultload"].isna().tolist() == [True] * 4 + [False] * 2
    assert instances["category"].tolist()[4:] == ["shift"] * 2
    assert instances["severity"].tolist()[4:] == [2.0, 2.0]
    assert instances["severity"].isna().tolist() == [True] * 4 + [False] * 2


def test_times_are_the_batchs_share_of_an_instance_in_microseconds(steps):
    readouts = recorded(steps)
    assert set(readouts.instances["classifier_time_us"]) == {3.0}
    assert set(readouts.alarms["monitor_time_us"]) == {6.0}


def test_columns_have_the_same_types_however_many_rows_there_are(steps):
    full, empty = recorded(steps), recorded([])
    assert len(empty.instances) == len(empty.alarms) == 0
    assert full.alarms.dtypes.astype(str).to_dict() == empty.alarms.dtypes.astype(str).to_dict()
    assert list(full.instances) == list(empty.instances)


def test_a_failed_monitor_leaves_no_rows(classifier, tiny):
    halves = [step(classifier, tiny, [0, 1], ("a", "b")), step(classifier, tiny, [2], ("a",))]
    alarms = recorded(halves, failed=["b"]).alarms
    assert alarms["monitor"].tolist() == ["a"] * 3


def test_hidden_layers_are_kept_where_they_are_asked_for(steps, classifier, tiny):
    layers = recorded(steps, layers=[LAST_HIDDEN]).layers
    seen = classifier.observe(tiny.test.images.read(np.arange(6)), [LAST_HIDDEN])
    np.testing.assert_allclose(layers[LAST_HIDDEN], seen.features(LAST_HIDDEN))
    assert recorded(steps).layers == {}


def test_hidden_layers_keep_their_shape(classifier, tiny):
    values = np.arange(6 * 12, dtype=np.float32).reshape(6, 3, 2, 2)
    halves = [
        step(classifier, tiny, rows, activations={"conv": values[rows]}) for rows in ([0, 1, 2], [3, 4, 5])
    ]
    assert np.array_equal(recorded(halves, ("a",), layers=["conv"]).layers["conv"], values)


def test_predictions_that_hang_by_a_thread_are_counted(classifier, tiny):
    close = np.array([[0.5, 0.5, 0, 0], [0.5 + CLOSE, 0.5 - CLOSE, 0, 0], [0.4 + CLOSE / 4, 0.4, 0.2, 0]])
    recorder = Recorder(["a"])
    recorder.add(step(classifier, tiny, [0, 1, 2], probabilities=close))
    assert recorder.close_predictions == 2


def test_a_classifier_of_one_class_has_no_close_predictions(classifier, tiny):
    recorder = Recorder(["a"])
    recorder.add(step(classifier, tiny, [0, 1], probabilities=np.ones((2, 1))))
    assert recorder.close_predictions == 0
