"""A monitor sees as many members as it asked for, however many another one did."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farm.api import Classifier, FloatArray, Monitor, Needs, Observation


class Spread(Monitor):
    """The spread of the members' confidence."""

    def __init__(self, *, members: int = 0) -> None:
        self.n = members

    @property
    def needs(self) -> Needs:
        return Needs()

    def _fit(self, data: object) -> dict[str, FloatArray]:
        return {}

    def _load(self, state: object) -> None:
        pass

    def _score(self, observation: Observation) -> FloatArray:
        if observation.members is None:
            return np.zeros(len(observation))
        return np.full(len(observation), float(len(observation.members)))


@pytest.mark.parametrize(("asked", "seen"), [(0, 0.0), (2, 2.0), (5, 5.0)])
def test_members_are_those_it_asked_for(
    classifier: Classifier, monkeypatch: pytest.MonkeyPatch, asked: int, seen: float
) -> None:
    monkeypatch.setattr(Spread, "needs", property(lambda self: Needs(members=self.n)))
    monitor = Spread(members=asked)
    monitor.restore({}, classifier)
    observation = classifier.observe(np.zeros((3, 3, 8, 8), np.float32))
    observation = replace(observation, members=np.zeros((5, 3, 4)))
    assert monitor.score(observation).tolist() == [seen] * 3
