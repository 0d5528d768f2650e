"""Thresholds: what they accept, where they lie, and what is kept of them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from farm.api import CalibrationData, CalibrationRule
from farm.api.calibration import FEWEST_PER_CLASS, Calibration
from farm.api.thresholds import quantile_threshold
from farm.errors import ComponentFailure, ParameterError
from tests.wording import refused


def predicted(n):
    return np.zeros(n, np.int64)


def test_id_quantile_keeps_what_was_asked_and_what_came_out():
    calibration = CalibrationRule(accept=0.75).calibrate(CalibrationData(np.arange(4.0), predicted(4), 1))
    assert (calibration.method, calibration.threshold, calibration.n) == ("id-quantile", 2.5, 4)
    assert (calibration.asked_acceptance, calibration.validation_acceptance) == (0.75, 0.75)


def test_the_default_accepts_95_percent():
    assert CalibrationRule().calibrate(CalibrationData(np.arange(100.0), predicted(100), 1)).threshold == 94.5


def test_id_extreme_accepts_everything():
    calibration = CalibrationRule("id-extreme").calibrate(
        CalibrationData(np.array([3.0, 9.0, 1.0]), predicted(3), 1)
    )
    assert calibration.threshold == 9.0
    assert (calibration.asked_acceptance, calibration.validation_acceptance) == (1.0, 1.0)


def test_fixed_ignores_the_data_and_reports_what_they_accept():
    calibration = CalibrationRule("fixed", threshold=0.5).calibrate(
        CalibrationData(np.array([0.4, 0.5, 0.6, 0.7]), predicted(4), 1)
    )
    assert calibration.threshold == 0.5
    assert calibration.asked_acceptance is None
    assert calibration.validation_acceptance == 0.5


def test_per_class_sets_a_threshold_for_each_predicted_class():
    n = FEWEST_PER_CLASS
    scores = np.concatenate([np.arange(n), 100.0 + np.arange(n)])
    calibration = CalibrationRule("per-class", accept=0.5).calibrate(
        CalibrationData(scores, np.repeat([0, 1], n), 2)
    )
    assert calibration.per_class.tolist() == [n / 2 - 0.5, 100 + n / 2 - 0.5]
    assert calibration.classes_without_own_threshold == 0
    assert calibration.validation_acceptance == 0.5


def test_a_class_with_few_instances_borrows_the_threshold_of_all():
    n = FEWEST_PER_CLASS
    scores = np.arange(2.0 * n - 1)
    calibration = CalibrationRule("per-class", accept=0.5).calibrate(
        CalibrationData(scores, np.repeat([0, 1], n)[:-1], 3)
    )
    common = quantile_threshold(scores, 0.5)
    assert calibration.per_class.tolist() == [n / 2 - 0.5, common, common]
    assert calibration.classes_without_own_threshold == 2


def test_each_instance_meets_the_threshold_of_its_predicted_class():
    calibration = Calibration("per-class", threshold=9.0, n=2, per_class=np.array([1.0, 5.0]))
    alarms = calibration.alarms(np.array([3.0, 3.0]), np.array([0, 1]))
    assert alarms.tolist() == [True, False]


def test_an_alarm_is_strictly_above_the_threshold():
    calibration = Calibration("fixed", threshold=1.0, n=1)
    above = math.nextafter(1.0, 2.0)
    alarms = calibration.alarms(np.array([0.9, 1.0, above]), predicted(3))
    assert alarms.tolist() == [False, False, True]
    assert alarms.dtype == np.bool_


def test_no_validation_data_is_a_failure():
    with refused(ComponentFailure):
        CalibrationRule().calibrate(CalibrationData(np.empty(0), predicted(0), 3))


@pytest.mark.parametrize("method", ["id-quantile", "id-extreme", "per-class"])
def test_the_record_of_a_calibration_is_json(method):
    calibration = CalibrationRule(method).calibrate(CalibrationData(np.arange(50.0), predicted(50), 2))
    record = json.loads(json.dumps(calibration.record(), allow_nan=False))
    assert record["method"] == method
    assert record["per_class"] == (None if method != "per-class" else calibration.per_class.tolist())


@pytest.mark.parametrize(
    "arguments",
    [
        {"method": "quantile"},
        {"accept": 0},
        {"accept": 1.1},
        {"accept": math.nan},
        {"method": "fixed"},
        {"threshold": 0.5},
        {"method": "conformal", "confidence": 0.9},
        {"method": "conformal", "accept": 1.0},
        {"method": "conformal", "by": ""},
        {"method": "bounded"},
        {"method": "bounded", "confidence": 1},
        {"method": "bounded", "confidence": 0.9, "by": "class"},
        {"method": "bounded", "confidence": 0.9, "event": "frame"},
        {"method": "risk", "confidence": 0.9},
        {"method": "risk", "risk": 0, "confidence": 0.9},
        {"method": "risk", "risk": 0.1, "confidence": 0.9, "hazard": 0.1},
        {"method": "learn-then-test", "confidence": 0.9},
        {"method": "learn-then-test", "hazard": 0.1},
        {"event": "track"},
    ],
)
def test_a_rule_that_cannot_be_kept_is_refused(arguments):
    with refused(ParameterError):
        CalibrationRule(**arguments)


@pytest.mark.parametrize("more", [{}, {"by": "class"}])
def test_a_record_keeps_what_is_promised(more):
    data = CalibrationData(np.arange(60.0), np.repeat([0, 1], 30), 2, seen_in_fit=not more)
    calibration = CalibrationRule("conformal", accept=0.9, **more).calibrate(data)
    record = json.loads(json.dumps(calibration.record(), allow_nan=False))
    again = Calibration.from_record(record)
    assert again == calibration
    assert again.guarantee == calibration.guarantee
    assert again.record() == record
    assert "guarantee" not in CalibrationRule().calibrate(data).record()


def test_columns_of_other_lengths_are_refused():
    with refused(ComponentFailure):
        CalibrationData(np.arange(4.0), predicted(3), 1)
    with refused(ComponentFailure):
        CalibrationData(np.arange(4.0), predicted(4), 1, conditions={"weather": np.full(2, "fog")})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_scores_that_are_not_finite_are_refused(value):
    scores = np.array([1.0, 2.0, value])
    with refused(ComponentFailure):
        CalibrationData(scores, predicted(3), 1)
    with refused(ComponentFailure):
        CalibrationData(np.arange(3.0), predicted(3), 1, outliers=scores)


@pytest.mark.parametrize("threshold", [math.nan, math.inf, "high"])
def test_a_fixed_threshold_is_a_finite_number(threshold):
    with refused(ParameterError):
        CalibrationRule("fixed", threshold=threshold)
