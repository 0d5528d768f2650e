"""The monitors that know nothing."""

from __future__ import annotations

import numpy as np
import pytest

from farm import registry
from farm.api import CalibrationRule
from monitors.baselines import Always, Never, Random
from tests.monitors.making import NAMES, TARGETS


@pytest.mark.parametrize(("monitor", "share"), [(Never(), 0.0), (Always(), 1.0), (Random(rate=0.3), 0.3)])
def test_alarm_rate_is_as_stated_whatever_the_calibration(small, fitted, monitor, share: float) -> None:
    fitted(monitor).calibrate(small.material.validation, CalibrationRule(accept=0.5), 10)
    assert monitor.judge(small.test).alarms.mean() == pytest.approx(share, abs=0.08)


@pytest.mark.parametrize(("rate", "share"), [(0.0, 0.0), (1.0, 1.0)])
def test_random_reaches_both_ends(small, fitted, rate: float, share: float) -> None:
    monitor = fitted(Random(rate=rate))
    monitor.calibrate(small.material.validation, CalibrationRule(), 10)
    assert monitor.judge(small.test).alarms.mean() == share


def test_random_depends_on_the_instance_alone(small, fitted) -> None:
    monitor = fitted(Random())
    whole = monitor.score(small.test)
    rows = np.arange(len(small.test))[::-1][:10]
    part = small.classifier.observe(small.test.images[rows], ids=small.test.ids[rows])
    np.testing.assert_array_equal(monitor.score(part), whole[rows])


def test_two_randoms_of_different_names_differ_and_of_one_name_agree(small, fitted) -> None:
    one, same, other = Random(), Random(), Random()
    other.name = "random-2"
    scores = [fitted(monitor).score(small.test) for monitor in (one, same, other)]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert abs(np.corrcoef(scores[0], scores[2])[0, 1]) < 0.2


def test_they_alone_are_yardsticks_which_nobody_ranks() -> None:
    yardsticks = {name for name in NAMES if registry.import_target(TARGETS[name], name).is_yardstick}
    assert yardsticks == {"never", "always", "random"}
