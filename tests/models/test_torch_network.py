"""What holds for every network that is no classifier: seeds, the cache, and being made again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from farm import registry
from farm.api import Context, NetworkSource, Silent, TrainedNetwork
from farm.errors import DataError, ParameterError
from farm.store.cache import DiskCache
from farm.store.component_cache import ComponentCache
from farm.testing.fakes import tiny_workload
from models import _torch_network
from models.autoencoder import Autoencoder
from models.pixelcnn import PixelCNN
from models.vae import VAE
from tests.wording import refused

WORKLOAD = tiny_workload()
IMAGES = WORKLOAD.test.images.read(np.arange(len(WORKLOAD.test)))


def small(cls: type[NetworkSource], **parameters) -> NetworkSource:
    if cls is PixelCNN:
        return cls(**{"filters": 4, "blocks": 1, "mixtures": 2, "epochs": 2, **parameters})
    return cls(**{"bottleneck": 4, "width": 4, "epochs": 2, **parameters})


KINDS = pytest.mark.parametrize("cls", [Autoencoder, VAE, PixelCNN])


@KINDS
def test_untrained_it_has_the_shapes_of_what_is_trained_and_draws_nothing_else(cls) -> None:
    before = torch.random.get_rng_state()
    made = small(cls).untrained(WORKLOAD, Context())
    assert torch.equal(torch.random.get_rng_state(), before)
    trained = small(cls, epochs=1).network(WORKLOAD, Context())
    weights = [{n: a.shape for n, a in one.state.items() if "loss" not in n} for one in (made, trained)]
    assert weights[0] == weights[1]
    assert made.digest != trained.digest
    assert made.compute(IMAGES, made.outputs[-1]).shape == trained.compute(IMAGES, made.outputs[-1]).shape


@KINDS
def test_same_seed_gives_the_same_weights_and_another_seed_others(cls) -> None:
    digests = [small(cls).network(WORKLOAD, Context(seed=seed)).digest for seed in (0, 0, 1)]
    assert digests[0] == digests[1] != digests[2]


@KINDS
def test_training_neither_reads_nor_moves_the_global_generators(cls) -> None:
    digests = []
    for global_seed in (1, 2):
        torch.manual_seed(global_seed)
        np.random.seed(global_seed)  # noqa: NPY002 - the very thing that must not matter
        before, numbers = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
        network = small(cls).network(WORKLOAD, Context())
        digests.append(network.digest)
        if cls is PixelCNN:
            network.sample(1, seed=0)
        assert torch.equal(before, torch.get_rng_state())
        assert np.array_equal(numbers, np.random.get_state()[1])  # noqa: NPY002
    assert digests[0] == digests[1]


@KINDS
def test_training_holds_to_the_thread_count_that_its_weights_are_kept_under(cls) -> None:
    before = torch.get_num_threads()
    seen = []

    class Watching(Silent):
        def track(self, items, description, total=None):
            seen.append(torch.get_num_threads())
            return super().track(items, description, total)

    torch.set_num_threads(2)
    small(cls).network(WORKLOAD, Context(threads=1, progress=Watching()))
    assert torch.get_num_threads() == 2
    torch.set_num_threads(before)
    assert seen == [1]


@KINDS
def test_it_is_found_again_by_what_made_it(cls, tmp_path) -> None:
    trainings = []

    class Counting(Silent):
        def track(self, items, description, total=None):
            trainings.append(description)
            return super().track(items, description, total)

    def made(seed: int = 0, threads: int = 1, workload=WORKLOAD, **parameters):
        source = small(cls, **parameters)
        plain = Context(seed=seed, threads=threads, progress=Counting())
        cache = ComponentCache("network", source, plain, DiskCache(tmp_path))
        return source.network(workload, Context(seed, threads, Path(), cache, plain.progress))

    first = made()
    again = made()
    assert len(trainings) == 1
    assert again.digest == first.digest
    assert again.notes == first.notes
    changes = ({"seed": 1}, {"threads": 2}, {"epochs": 1}, {"workload": tiny_workload(seed=1)})
    for count, changed in enumerate(changes, start=2):
        assert made(**changed).digest != first.digest or "threads" in changed
        assert len(trainings) == count


@KINDS
def test_restored_it_gives_the_same_bit_for_bit(cls) -> None:
    network = small(cls).network(WORKLOAD, Context(seed=3))
    again = small(cls).restore(network.state, WORKLOAD.shape)
    assert again.digest == network.digest
    assert again.notes == network.notes
    assert again.outputs == network.outputs
    for output in network.outputs:
        values = network.compute(IMAGES, output)
        assert values.dtype == np.float64
        assert len(values) == len(IMAGES)
        assert np.array_equal(values, again.compute(IMAGES, output))


@KINDS
def test_notes_tell_how_training_went(cls) -> None:
    notes = small(cls, epochs=3).network(WORKLOAD, Context()).notes
    losses = notes["validation_loss"]
    assert notes["epochs"] == len(losses) == 3
    assert losses[notes["best_epoch"] - 1] == min(losses) == notes["final_validation_loss"]
    assert losses[-1] < losses[0]


@KINDS
def test_no_image_depends_on_those_beside_it(cls, monkeypatch) -> None:
    network = small(cls).network(WORKLOAD, Context())
    for output in network.outputs:
        whole = network.compute(IMAGES, output)
        one = np.concatenate([network.compute(IMAGES[i : i + 1], output) for i in range(10)])
        np.testing.assert_allclose(one, whole[:10], rtol=1e-5, atol=1e-6)
        monkeypatch.setattr(_torch_network, "PIXELS", 7 * 64)
        np.testing.assert_allclose(network.compute(IMAGES, output), whole, rtol=1e-5, atol=1e-6)
        monkeypatch.undo()
        assert network.compute(IMAGES[:0], output).shape == (0, *whole.shape[1:])


@KINDS
def test_images_that_nobody_may_write_to_are_taken(cls) -> None:
    network = small(cls, epochs=1).network(WORKLOAD, Context())
    images = IMAGES[:4].copy()
    images.setflags(write=False)
    for output in network.outputs:
        assert np.isfinite(network.output(output)(images)).all()


@KINDS
def test_what_is_not_its_own_is_refused(cls) -> None:
    network = small(cls, epochs=1).network(WORKLOAD, Context())
    with refused(ParameterError):
        network.compute(IMAGES, "logits")
    with refused(DataError):
        network.compute(IMAGES[:, :1], network.outputs[0])
    with refused(DataError):
        small(cls).restore(network.state, (1, 8, 8))
    with refused(DataError):
        small(cls).restore({k: v for k, v in network.state.items() if k.startswith("module.")}, (3, 8, 8))


def test_weights_of_another_loss_are_refused() -> None:
    network = small(Autoencoder, epochs=1).network(WORKLOAD, Context())
    with refused(DataError):
        small(Autoencoder, loss="bce").restore(network.state, WORKLOAD.shape)


@KINDS
def test_the_registry_makes_it_by_name_and_again_from_its_arrays(cls) -> None:
    name, parameters = f"{cls.__module__}:{cls.__name__}", small(cls, epochs=1).parameters
    network = registry.network(name, **parameters).network(WORKLOAD, Context())
    kept = TrainedNetwork("network", name, parameters, WORKLOAD.shape, (), network.state, network.notes)
    assert registry.restored(kept).digest == network.digest
