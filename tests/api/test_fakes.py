"""The public fakes keep the real interface."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from farm.api import NO_ANSWER, Context, Needs, check_workload
from farm.errors import ComponentFailure, RequirementError
from farm.testing.fakes import (
    FakeClassifier,
    FakeFaultload,
    FakeMonitor,
    TinyModel,
    TinySource,
    tiny_workload,
)
from tests.wording import refused


def everything(split):
    return split.images.read(np.arange(len(split)))


def test_fakes_load_no_torch():
    code = "import sys, farm.testing.fakes; print('torch' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"


@pytest.mark.parametrize("seed", range(3))
def test_tiny_workload_is_separable_but_not_perfectly(seed):
    workload = tiny_workload(seed=seed)
    classifier = TinyModel().classifier(workload, Context())
    for split in workload.splits:
        accuracy = (classifier.observe(everything(split)).predicted == split.labels).mean()
        assert 0.8 < accuracy < 1


def test_tiny_workload_is_deterministic_and_follows_its_seed(tiny):
    assert tiny_workload().content_hash == tiny.content_hash
    assert tiny_workload(seed=1).content_hash != tiny.content_hash


def test_tiny_workload_keeps_all_rules_of_a_workload():
    check_workload(tiny_workload(classes=("a", "b"), size=16, tracks=(2, 1, 1), frames=1))


def test_tiny_workload_has_groups_of_the_asked_size():
    _, counts = np.unique(tiny_workload(frames=3).train.groups, return_counts=True)
    assert set(counts) == {3}


def test_classes_of_one_name_look_alike_in_two_workloads(tiny):
    other = tiny_workload(classes=("elm", "birch"), seed=5, name="other")

    def mean(workload, name):
        return everything(workload.train)[workload.train.labels == workload.classes.index(name)].mean(axis=0)

    apart = np.abs(mean(tiny, "birch") - mean(other, "birch")).mean()
    assert apart < np.abs(mean(tiny, "birch") - mean(other, "elm")).mean() / 2


def test_tiny_source_makes_the_same_workload_through_the_driver(tiny):
    assert TinySource().load(Context()).content_hash == tiny.content_hash
    assert TinySource(title="mine", size=4).load(Context()).name == "mine"


def test_fake_monitor_scores_with_its_function(tiny, classifier):
    monitor = FakeMonitor(score=lambda o: o.images.mean(axis=(1, 2, 3)), fixed_threshold=0.5)
    monitor.fit([], classifier)
    seen = classifier.observe(everything(tiny.test))
    assert monitor.fixed_threshold == 0.5
    np.testing.assert_allclose(monitor.score(seen), seen.images.mean(axis=(1, 2, 3)))


def test_fake_monitor_goes_by_the_name_it_is_given():
    assert [FakeMonitor().name, FakeMonitor(name="mine").name] == ["fake-monitor", "mine"]


def test_fakes_parameters_can_be_written_as_json():
    fakes = FakeMonitor(score=lambda o: o.confidence, needs=Needs(logits=True)), FakeFaultload(severities=[1])
    for fake in fakes:
        assert json.loads(json.dumps(fake.parameters)).keys() == fake.parameters.keys()


def test_fake_faultload_transforms_and_relabels():
    faultload = FakeFaultload(transform=lambda images: 1 - images, label=NO_ANSWER, category="novelty")
    images = np.zeros((2, 3, 4, 4), np.float32)
    changed, labels, measured = faultload.apply(
        images, np.array([1, 2]), np.array(["a", "b"]), np.full(2, np.nan)
    )
    assert changed.min() == 1
    assert labels.tolist() == [-1, -1]
    assert not measured
    assert faultload.category == "novelty"


def test_fake_faultloads_do_not_share_their_severities():
    assert FakeFaultload(severities=(1, 2)).severities == (1, 2)
    assert FakeFaultload().severities == ()


def test_fake_classifier_counts_its_calls_and_gives_its_layers():
    fake = FakeClassifier(
        lambda images: np.full((len(images), 2), 0.5),
        classes=("a", "b"),
        layers={"pixels": lambda images: images},
    )
    seen = fake.observe(np.ones((3, 1, 2, 2), np.float32), ["pixels"])
    assert fake.calls == 1
    assert seen.features("pixels").shape == (3, 4)


def test_fake_classifier_has_no_members():
    fake = FakeClassifier(lambda images: np.ones((len(images), 1)), classes=("a",))
    with refused(RequirementError):
        fake.observe(np.ones((1, 1, 2, 2), np.float32), members=3)


def test_fakes_pass_through_the_real_checks(tiny, classifier):
    monitor = FakeMonitor(score=lambda o: np.zeros((len(o), 2))).fit([], classifier)
    with refused(ComponentFailure):
        monitor.score(classifier.observe(everything(tiny.test)))
