"""A monitor is fitted on what it declared to need and scores with it: nothing that only others asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from farm.api import Classifier, FitData, FloatArray, Labelled, Monitor, Needs, Observation, State, Workload
from farm.run.fitting import Material, ObservedSplit
from farm.testing.fakes import LAST_HIDDEN


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


class Looks(Monitor):
    """Notes what it saw in its fit."""

    def __init__(self, *, layers: int = 0, members: int = 0) -> None:
        self._layers, self._members = layers, members

    @property
    def needs(self) -> Needs:
        return Needs(layers=(LAST_HIDDEN,) * self._layers, members=self._members)

    def _fit(self, data: FitData) -> State:
        twice = [*data, *data, *data.validation]  # again and again, as the contract says
        seen = [observation for observation, _ in twice]
        return {
            "batches": np.array(len(seen)),
            "layers": np.array(max(len(one.activations) for one in seen)),
            "members": np.array(max(0 if one.members is None else len(one.members) for one in seen)),
        }

    def _load(self, state: Mapping[str, FloatArray]) -> None:
        pass

    def _score(self, observation: Observation) -> FloatArray:
        return np.zeros(len(observation))


class Many:
    """A split with five members, whoever asks."""

    def __init__(self, split: ObservedSplit) -> None:
        self._split = split

    def __iter__(self):
        for observation, labels in self._split:
            members = np.zeros((5, *observation.probabilities.shape))
            yield Labelled(replace(observation, members=members), labels)


def test_it_is_fitted_on_its_own_layers_and_members(
    tiny: Workload, classifier: Classifier, monkeypatch
) -> None:
    monkeypatch.setattr(classifier, "resolve", lambda needs, who: None)
    train = Many(ObservedSplit(classifier, tiny.train, [LAST_HIDDEN]))
    validation = Many(ObservedSplit(classifier, tiny.validation, [LAST_HIDDEN]))
    data = Material(tiny.classes, 0, train, validation)
    for asked, seen in (((0, 0), (0, 0)), ((1, 2), (1, 2)), ((0, 5), (0, 5))):
        state = Looks(layers=asked[0], members=asked[1]).fit(data, classifier).state
        assert (int(state["layers"]), int(state["members"])) == seen
        assert int(state["batches"]) == 2 * len(list(train)) + len(list(validation))
