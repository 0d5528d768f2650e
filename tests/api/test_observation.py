"""What monitors may look at."""

from __future__ import annotations

import dataclasses

import numpy as np

from farm.api import LAST_HIDDEN, Labelled, Observation, collect
from farm.errors import RequirementError
from tests.wording import refused


def observation(n=2, **more):
    return Observation(
        ids=np.arange(n).astype(str),
        images=np.zeros((n, 1, 2, 2), np.float32),
        probabilities=np.full((n, 2), 0.5),
        predicted=np.zeros(n, np.int64),
        confidence=np.full(n, 0.5),
        **more,
    )


def test_an_observation_holds_no_truth():
    names = {field.name for field in dataclasses.fields(Observation)}
    assert not names & {"label", "labels", "is_ood", "category", "faultload", "severity"}


def test_features_are_one_row_an_instance():
    seen = observation(activations={"conv": np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2)})
    assert seen.features("conv").tolist() == [list(range(12)), list(range(12, 24))]


def test_an_empty_batch_keeps_the_width_of_its_features():
    seen = observation(0, activations={"conv": np.empty((0, 3, 2, 2), np.float32)})
    assert seen.features("conv").shape == (0, 12)


def test_a_layer_that_was_not_asked_for_is_told():
    with refused(RequirementError):
        observation().features(LAST_HIDDEN)


def test_collect_joins_all_batches_in_order():
    def batch(start, n):
        values = np.arange(start, start + n, dtype=np.float32)[:, None]
        return Labelled(observation(n, activations={"a": values}), np.arange(start, start + n))

    found = collect([batch(0, 2), batch(2, 3)], "a")
    assert found.features[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert found.labels.tolist() == [0, 1, 2, 3, 4]
    assert len(found.predicted) == 5


def test_some_instances_are_an_observation_of_their_own():
    seen = observation(
        4,
        logits=np.arange(8, dtype=np.float32).reshape(4, 2),
        activations={"conv": np.arange(4, dtype=np.float32)[:, None]},
        track=np.array(["a", "b", "c", "d"]),
        members=np.arange(24, dtype=float).reshape(3, 4, 2),
        outputs={"boxes": np.arange(4)},
    )
    some = seen.take(slice(1, 3))
    assert len(some) == 2
    assert some.ids.tolist() == ["1", "2"]
    assert some.logits.tolist() == [[2, 3], [4, 5]]
    assert some.features("conv").tolist() == [[1], [2]]
    assert some.track.tolist() == ["b", "c"]
    assert some.members.shape == (3, 2, 2)
    assert some.members[0].tolist() == [[2, 3], [4, 5]]
    assert some.outputs["boxes"].tolist() == [1, 2]
    assert observation().take(np.array([1])).logits is None
