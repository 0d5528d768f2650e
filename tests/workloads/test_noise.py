"""Noise as a workload: the distribution it says, the same image for the same id, nothing kept."""

from __future__ import annotations

import numpy as np
import pytest

from farm.api import Context
from farm.errors import ParameterError
from farm.run.testbed import Testbed
from farm.workloads.noise import NoiseNormal, NoiseUniform
from tests.wording import refused

KINDS = (NoiseUniform, NoiseNormal)


def everything(split):
    return split.images.read(np.arange(len(split)))


@pytest.mark.parametrize("kind", KINDS)
def test_three_splits_of_one_class(kind) -> None:
    workload = kind(n=7, size=[6, 4], channels=1).load(Context(seed=0))
    assert (workload.classes, workload.shape) == (("noise",), (1, 6, 4))
    assert [len(split) for split in workload.splits] == [7, 7, 7]
    assert everything(workload.test).dtype == np.float32


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_depends_on_its_id_and_the_seed_alone(kind) -> None:
    workload, larger = (kind(n=n, size=5).load(Context(seed=3)) for n in (4, 9))
    images = everything(workload.test)
    np.testing.assert_array_equal(workload.test.images.read(np.array([2, 0])), images[[2, 0]])
    np.testing.assert_array_equal(everything(larger.test)[:4], images)
    assert kind(n=4, size=5).load(Context(seed=4)).content_hash != workload.content_hash
    named = kind(n=4, size=5)
    named.name = "other"
    assert named.load(Context(seed=3)).content_hash == workload.content_hash


def test_uniform_is_uniform() -> None:
    values = everything(NoiseUniform(n=20, size=32).load(Context(seed=0)).train).ravel()
    assert values.min() >= 0
    assert values.max() < 1
    counts = np.histogram(values, bins=10, range=(0, 1))[0] / values.size
    np.testing.assert_allclose(counts, 0.1, atol=0.01)
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.01


def test_normal_is_normal_and_clipped() -> None:
    values = everything(NoiseNormal(n=20, size=32).load(Context(seed=0)).train).ravel()
    assert values.min() == 0
    assert values.max() == 1
    # Two standard deviations lie on either side: 2.3 % of the values are clipped to each end.
    assert (values == 0).mean() == pytest.approx(0.02275, abs=0.003)
    assert (values == 1).mean() == pytest.approx(0.02275, abs=0.003)
    assert np.median(values) == pytest.approx(0.5, abs=0.01)
    low, high = np.quantile(values, [0.15866, 0.84134])
    assert (high - low) / 2 == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n": 1},
        {"size": 0},
        {"size": [8]},
        {"channels": 2},
    ],
)
def test_parameters_out_of_range(parameters) -> None:
    with refused(ParameterError):
        NoiseUniform(**parameters)


def test_it_serves_as_the_other_workload_of_novelty() -> None:
    from farm.testing.fakes import TinyModel

    bed = Testbed(seed=0)
    digits = bed.workload({"name": "digits", "size": 8, "channels": 3})
    classifier = TinyModel().classifier(digits, bed.context)
    noise = {"name": "farm.workloads.noise:NoiseUniform", "n": 12, "size": 8}
    stream = bed.stream(digits, classifier, {"name": "novelty", "workload": noise})
    labels = np.concatenate([batch.labels[batch.is_ood] for batch in stream.batches(64)])
    assert len(labels) == 12
    assert (labels == -1).all()
