"""The default policy does what published tables assume; one with memory sees instances in order."""

from __future__ import annotations

import numpy as np

from farm.api import Cancel, Policy, Verdict


def verdict(alarms: list[bool], scores: list[float] | None = None) -> Verdict:
    return Verdict(np.array(scores or alarms, dtype=float), np.array(alarms), 0, 0.5)


def test_cancel_cancels_on_an_alarm_and_only_then(tiny, classifier):
    seen = classifier.observe(tiny.test.images.read(np.arange(3)))
    assert Cancel().decide(verdict([True, False, True]), seen).tolist() == [True, False, True]


class Remembering(Policy):
    """Cancels on an alarm, and once more afterwards; keeps what it was shown."""

    def __init__(self) -> None:
        self.shown: list[tuple[bool, float, str | None]] = []

    def _cancels(self, alarm: bool, margin: float, track: str | None) -> bool:
        self.shown.append((alarm, margin, track))
        return alarm or (len(self.shown) > 1 and self.shown[-2][0])

    def reset(self) -> None:
        self.shown.clear()


def test_a_policy_sees_alarm_margin_and_track_one_instance_after_another(tiny, classifier):
    seen = classifier.observe(tiny.test.images.read(np.arange(3)), track=np.array(["a", "a", "b"]))
    policy = Remembering()
    cancelled = policy.decide(verdict([True, False, False], [0.75, 0.25, 0.5]), seen)
    assert cancelled.tolist() == [True, True, False]
    assert policy.shown == [(True, 0.25, "a"), (False, -0.25, "a"), (False, 0.0, "b")]


def test_without_tracks_a_policy_sees_none(tiny, classifier):
    policy = Remembering()
    policy.decide(verdict([True]), classifier.observe(tiny.test.images.read(np.arange(1))))
    assert [track for _, _, track in policy.shown] == [None]
