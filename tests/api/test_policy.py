"""The default policy does what published tables assume."""

from __future__ import annotations

import numpy as np

from farm.api import Cancel


def test_cancel_cancels_on_an_alarm_and_only_then(tiny, classifier):
    alarms = np.array([True, False, True])
    seen = classifier.observe(tiny.test.images.read(np.arange(3)))
    assert Cancel().decide(alarms, seen).tolist() == [True, False, True]
