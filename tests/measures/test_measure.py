import math

import pytest

from farm.measures import Measure, ratio, undefined
from tests.wording import refused


def test_undefined_is_nan_with_its_reason():
    measure = undefined("no instances")
    assert math.isnan(measure.value)
    assert (measure.reason, measure.defined, measure.json) == ("no instances", False, None)


def test_defined_has_no_reason():
    assert (Measure(0.0).defined, Measure(0.0).json) == (True, 0.0)


@pytest.mark.parametrize(("value", "reason"), [(math.nan, None), (0.5, "why")])
def test_neither_nan_without_a_reason_nor_a_number_with_one(value, reason):
    with refused(ValueError):
        Measure(value, reason)


def test_ratio_of_nothing_is_undefined():
    assert ratio(0, 0, "no alarm").reason == "no alarm"
    assert ratio(1, 2, "no alarm") == Measure(0.5)
