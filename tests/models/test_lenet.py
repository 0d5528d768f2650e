"""LeNet: size, determinism, and checkpoints found by what made them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from farm.api import Context, NoCache, Silent
from farm.errors import ParameterError
from farm.run.testbed import Testbed
from farm.store.cache import DiskCache
from models.lenet import LeNet, LeNetModule
from tests.wording import refused

DIGITS = {"name": "digits", "size": 16, "channels": 1}


class Counting(Silent):
    """Counts how often a classifier is trained."""

    def __init__(self) -> None:
        self.trainings = 0

    def track(self, items, description, total=None):
        self.trainings += description.startswith("training")
        return super().track(items, description, total)


def test_about_100_000_parameters_and_128_hidden_neurons() -> None:
    module = LeNetModule(3, 32, 32, 43, 128)
    assert sum(p.numel() for p in module.parameters()) == pytest.approx(100_000, rel=0.05)
    assert module.fc3.in_features == 128


def test_it_learns(small_classifier) -> None:
    workload, classifier = small_classifier
    seen = classifier.observe(workload.test.images.read(np.arange(len(workload.test))))
    assert (seen.predicted == workload.test.labels).mean() > 0.85


@pytest.fixture(scope="module")
def small_classifier():
    bed = Testbed(seed=0, cache=NoCache())
    workload = bed.workload(DIGITS)
    return workload, bed.classifier({"name": "lenet", "epochs": 6}, workload)


def test_same_seed_gives_the_same_weights_and_another_seed_others() -> None:
    digests = []
    for seed in (0, 0, 1):
        bed = Testbed(seed=seed, cache=NoCache())
        workload = Testbed(seed=0).workload(DIGITS)
        digests.append(bed.classifier(LeNet(epochs=1), workload).digest)
    assert digests[0] == digests[1] != digests[2]


def test_training_neither_reads_nor_moves_the_global_generators() -> None:
    workload = Testbed(seed=0).workload(DIGITS)
    digests = []
    for global_seed in (1, 2):
        torch.manual_seed(global_seed)
        np.random.seed(global_seed)  # noqa: NPY002 - the very thing that must not matter
        before = torch.get_rng_state()
        digests.append(Testbed(seed=0, cache=NoCache()).classifier(LeNet(epochs=1), workload).digest)
        assert torch.equal(before, torch.get_rng_state())
    assert digests[0] == digests[1]


def test_a_checkpoint_is_found_again_by_what_made_it(tmp_path) -> None:
    progress = Counting()
    cache = DiskCache(tmp_path)

    def train(seed: int = 0, threads: int = 1, **parameters) -> str:
        bed = Testbed(seed=seed, threads=threads, cache=cache, progress=progress)
        return bed.classifier(LeNet(epochs=1, **parameters), Testbed(seed=0).workload(DIGITS)).digest

    first = train()
    assert train() == first
    assert progress.trainings == 1
    for count, changed in enumerate(({"seed": 1}, {"threads": 2}, {"hidden": 64}), start=2):
        train(**changed)
        assert progress.trainings == count


def test_images_too_small_for_its_convolutions_are_refused() -> None:
    bed = Testbed(seed=0)
    workload = bed.workload({"name": "digits", "size": 8, "channels": 1})
    with refused(ParameterError):
        bed.classifier("lenet", workload)


def test_nothing_of_the_training_stays_on_the_module(small_classifier) -> None:
    module = small_classifier[1]._module
    assert not module.training
    assert all(p.grad is None and not p.requires_grad for p in module.parameters())


def test_training_holds_to_the_thread_count_that_its_checkpoint_is_kept_under() -> None:
    workload = Testbed(seed=0).workload(DIGITS)
    digests = []
    before = torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        digests.append(LeNet(epochs=1).classifier(workload, Context(seed=0, threads=1)).digest)
        assert torch.get_num_threads() == threads
    torch.set_num_threads(before)
    assert digests[0] == digests[1]
