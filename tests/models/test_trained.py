"""What all networks share that are trained here: found again, made again, and told how it went."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from farm.api import NoCache, SavedClassifier
from farm.api.counted import CountedClassifier
from farm.run.testbed import Testbed
from farm.store.cache import DiskCache
from farm.testing.fakes import tiny_workload
from models import training
from models.lenet import LeNet
from models.residual import ResidualSmall
from models.vgg import VggSmall

KINDS = (LeNet, ResidualSmall, VggSmall)
WORKLOAD = tiny_workload(size=16)


def trained(source, workload=WORKLOAD, seed=0, cache=None):
    return Testbed(seed=seed, cache=cache or NoCache()).classifier(source, workload)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_follow_from_the_seed_and_no_global_generator(kind) -> None:
    digests = []
    for seed, elsewhere in ((0, 1), (0, 2), (1, 1)):
        torch.manual_seed(elsewhere)
        before = torch.get_rng_state()
        digests.append(trained(kind(epochs=1), seed=seed).digest)
        assert torch.equal(torch.get_rng_state(), before)
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize("kind", KINDS)
def test_each_loss_gives_weights_of_its_own(kind) -> None:
    losses = ("cross-entropy", "logistic", "adversarial")
    assert len({trained(kind(epochs=1, loss=loss)).digest for loss in losses}) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_how_training_went_is_told_by_what_is_found_in_the_cache_too(kind, tmp_path, monkeypatch) -> None:
    cache = DiskCache(tmp_path)
    first = trained(kind(epochs=2), cache=cache)
    monkeypatch.setattr(training, "train", None)
    again = trained(kind(epochs=2), cache=cache)
    assert again.digest == first.digest
    assert again.notes == first.notes
    assert len(first.notes["validation_loss"]) == 2
    seen = first.observe(WORKLOAD.train.images.read(np.arange(len(WORKLOAD.train))))
    right = (seen.predicted == WORKLOAD.train.labels).mean()
    assert first.notes["train_accuracy"] == pytest.approx(right, abs=1e-6)
    assert CountedClassifier(first).notes == first.notes


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_made_again_has_the_same_outputs_and_members(kind) -> None:
    source = kind(epochs=1)
    first = trained(source, seed=3)
    again = source.restore(SavedClassifier("tiny", WORKLOAD.classes, WORKLOAD.shape, first.state))
    assert again.digest == first.digest
    assert again.capabilities == first.capabilities
    images = WORKLOAD.test.images.read(np.arange(9))
    members = 2 if first.capabilities.members else 0
    mine, theirs = (one.observe(images, members=members) for one in (first, again))
    np.testing.assert_array_equal(mine.logits, theirs.logits)
    if members:
        np.testing.assert_array_equal(mine.members, theirs.members)


@pytest.mark.parametrize("kind", KINDS)
def test_untrained_it_has_what_training_begins_with_and_no_notes(kind) -> None:
    bed = Testbed(seed=0, cache=NoCache())
    made = bed.untrained(kind(), WORKLOAD)
    assert made.digest != trained(kind(epochs=1)).digest
    assert made.notes == {}


def test_a_runs_record_has_the_notes_of_a_classifier_that_has_any() -> None:
    bed = Testbed(seed=0, cache=NoCache())
    classifier = trained(LeNet(epochs=1))
    monitors = bed.fit(["max-softmax"], classifier, WORKLOAD)
    stream = bed.stream(WORKLOAD, classifier, "brightness", severity=5, length=16)
    for notes in (classifier.notes, {}):
        classifier.notes = notes
        record = bed.run(stream, classifier, monitors, WORKLOAD).run["classifier"]
        assert record.get("notes", {}) == notes
        assert ("notes" in record) == bool(notes)


@pytest.mark.parametrize("kind", KINDS)
def test_by_the_logistic_loss_each_class_begins_with_its_share_of_all_classes(kind) -> None:
    bed = Testbed(seed=0, cache=NoCache())
    plain, logistic = (bed.untrained(kind(loss=loss), WORKLOAD) for loss in ("cross-entropy", "logistic"))
    assert len(WORKLOAD.classes) == 4
    np.testing.assert_allclose(1 / (1 + np.exp(-logistic.head.bias)), 1 / 4, rtol=1e-6)
    np.testing.assert_array_equal(logistic.head.weights, plain.head.weights)
    assert not np.allclose(plain.head.bias, logistic.head.bias)
