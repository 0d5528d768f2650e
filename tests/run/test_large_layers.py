"""Large layers lie on disk while monitors are fitted; that is told before, and nothing is left."""

from __future__ import annotations

import gc
import shutil
from collections import namedtuple
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from farm.api import Needs, collect
from farm.errors import StorageError
from farm.run import fitting
from farm.run.fitting import ObservedSplit, fit_monitors
from farm.run.testbed import Testbed
from farm.store import batch_arrays
from farm.store.cache import DiskCache
from farm.testing.fakes import FakeClassifier, FakeMonitor
from tests.wording import refused, same_text

N = {"train": 128, "validation": 96}
MAPS = Needs(layers=("maps",))
WHOLE = Needs(layers=("maps",), pool="none")
ONE = 6 * 5 * 4 * 4
"""Bytes of one image's maps."""


class Notes:
    def __init__(self):
        self.notes = []

    def track(self, items, description, total=None):
        return iter(items)

    def note(self, message):
        self.notes.append(message)


@pytest.fixture
def classifier(tiny):
    def maps(images):
        return images.reshape(len(images), -1)[:, : 6 * 5 * 4].reshape(-1, 6, 5, 4)

    return FakeClassifier(lambda images: np.full((len(images), 4), 0.25), tiny.classes, layers={"maps": maps})


@pytest.fixture
def on_disk(monkeypatch):
    monkeypatch.setattr(fitting, "BATCH", 40)
    monkeypatch.setattr(fitting, "IN_MEMORY", 1000)


def mapped(folder: Path) -> list[str]:
    """Return the files of a folder that this process has mapped, with a name or without."""
    return [line for line in Path("/proc/self/maps").read_text().splitlines() if str(folder) in line]


def test_small_layers_stay_in_memory_and_touch_no_disk(tiny, classifier, tmp_path):
    observed = ObservedSplit(classifier, tiny.train, ("maps",), folder=tmp_path / "none")
    assert observed.nbytes == N["train"] * (ONE + 4 * 8)
    assert not (tmp_path / "none").exists()


def test_of_large_layers_nothing_is_held_in_memory(tiny, classifier, tmp_path, on_disk):
    observed = ObservedSplit(classifier, tiny.train, ("maps",), folder=tmp_path)
    assert observed.nbytes == 0
    again = [labelled.observation.activations["maps"] for labelled in (*observed, *observed)]
    assert not any(array.flags.owndata or array.flags.writeable for array in again)
    direct = classifier.observe(tiny.train.images.read(np.arange(N["train"])), ("maps",))
    assert np.array_equal(np.concatenate(again[: len(again) // 2]), direct.activations["maps"])


def test_all_of_a_large_layer_is_collected_without_a_copy(tiny, classifier, tmp_path, on_disk):
    observed = ObservedSplit(classifier, tiny.train, ("maps",), folder=tmp_path)
    found = collect(observed, "maps").features
    assert found.shape == (N["train"], 6 * 5 * 4)
    assert all(np.shares_memory(found, seen.activations["maps"]) for seen, _ in observed)
    parts = [seen.features("maps") for seen, _ in observed]
    assert np.array_equal(found, np.concatenate(parts))


def test_pooled_maps_take_a_value_a_channel(tiny, classifier):
    observed = ObservedSplit(classifier, tiny.train, MAPS.observed)
    assert observed.nbytes == N["train"] * (6 * 4 + 4 * 8)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="only Linux tells what is mapped")
@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_nothing_is_left_of_it(tiny, classifier, tmp_path, on_disk, error):
    during = []

    def fit(data):
        during.append((list(tmp_path.iterdir()), len(mapped(tmp_path))))
        if error is not None:
            raise error("broken")
        return {"all": collect(data, "maps").features}

    monitor = FakeMonitor(needs=WHOLE, fit=fit)
    with suppress(KeyboardInterrupt):
        fit_monitors([monitor], classifier, tiny, folder=tmp_path)
    gc.collect()
    ((files, maps),) = during
    assert files == [], "a file has no name, so that nothing is left even where the process is killed"
    assert maps >= 2
    assert mapped(tmp_path) == [], "what was fitted is a copy"


def test_what_it_takes_is_told_before(tiny, classifier, tmp_path, on_disk, monkeypatch):
    monkeypatch.setattr(fitting, "peak_memory_bytes", lambda: 2_000_000_000)
    told = Notes()
    fit_monitors([FakeMonitor(needs=WHOLE)], classifier, tiny, folder=tmp_path, progress=told)
    assert len(told.notes) == 2
    same_text([note.replace(str(tmp_path), "FOLDER") for note in told.notes])


def test_small_passes_are_not_told(tiny, classifier):
    told = Notes()
    fit_monitors([FakeMonitor(needs=WHOLE)], classifier, tiny, progress=told)
    assert told.notes == []


def test_too_little_room_is_told_in_a_line_before_the_pass(tiny, classifier, tmp_path, on_disk, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage(10**6, 0, 50_000))
    monkeypatch.setattr(fitting, "default_cache_folder", lambda: Path("CACHE"))
    monkeypatch.chdir(tmp_path)
    with refused(StorageError):
        fit_monitors([FakeMonitor(needs=WHOLE)], classifier, tiny)
    assert classifier.calls == 1, "the first batch tells the sizes"


def test_where_no_file_can_be_written_another_place_is_taken(
    tiny, classifier, tmp_path, on_disk, monkeypatch
):
    (tmp_path / "file").touch()
    monkeypatch.setattr(fitting.tempfile, "gettempdir", lambda: str(tmp_path / "other"))
    assert ObservedSplit(classifier, tiny.train, ("maps",), folder=tmp_path / "file").nbytes == 0
    with refused(StorageError):
        batch_arrays.place_for(10**9, [Path("/proc/nowhere")], "the layers of 5 images")


def test_a_disk_that_fills_up_meanwhile_is_told_with_its_place(tmp_path, monkeypatch):
    class Full:
        def write(self, data):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(batch_arrays.tempfile, "TemporaryFile", lambda dir: Full())
    with refused(StorageError):
        batch_arrays.BatchArrays(Path("CACHE")).add("layer", np.zeros(3))


@pytest.mark.parametrize("folder", [None, Path()], ids=["memory", "disk"])
def test_batches_come_back_as_they_were(tmp_path, monkeypatch, folder):
    monkeypatch.chdir(tmp_path)
    kept = batch_arrays.BatchArrays(folder)
    given = [np.arange(6.0).reshape(2, 3).T, np.zeros((0, 2)), np.ones((3, 2, 2)), np.array([True])]
    for array in given:
        kept.add("a", array)
        kept.add("nothing", array[:0])
    for array, back in zip(given, kept.batches("a"), strict=True):
        assert (array.dtype, array.shape, array.tolist()) == (back.dtype, back.shape, back.tolist())
        assert back.flags.c_contiguous
        assert not back.flags.writeable
    assert [array.shape for array in kept.batches("nothing")] == [array[:0].shape for array in given]
    kept.close()


def test_a_run_tells_which_maps_were_pooled_whether_fitted_or_found_in_the_cache(tmp_path):
    told = []
    for _ in range(2):
        bed = Testbed(cache=DiskCache(tmp_path))
        workload = bed.workload({"name": "digits", "size": 16, "channels": 1})
        classifier = bed.classifier({"name": "lenet", "epochs": 1}, workload)
        asked = [
            {"name": "she", "layer": "conv2"},
            {"name": "she", "as": "whole", "layer": "conv2", "pool": "none"},
        ]
        monitors = bed.fit([*asked, {"name": "she", "as": "flat"}], classifier, workload)
        told.append([monitor.all_notes() for monitor in monitors])
        stream = bed.stream(workload, classifier, length=20)
        run = bed.run(stream, classifier, monitors, workload, pictures=None).run
        assert [one["notes"] for one in run["monitors"]] == told[-1]
    assert told[0] == told[1]
    assert [notes.get("pooled") for notes in told[0]] == [["mean of conv2"], None, None]
