"""A monitor is fitted on what it declared to need: nothing that only others asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from farm.api import Classifier, FitData, FloatArray, Labelled, Monitor, Needs, Observation, State, Workload
from farm.fitting import Material, ObservedSplit
from farm.testing.fakes import LAST_HIDDEN


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
