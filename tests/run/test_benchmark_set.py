"""Benchmark sets on disk stream back unchanged, or say that they were changed."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from farm.api import NO_ANSWER, ArrayImages, Context, FaultContext
from farm.errors import DataError, StorageError
from farm.run.benchmark_set import StoredStream, write_benchmark
from farm.run.faults import Fault
from farm.run.streams import BenchmarkStream
from farm.run.testbed import Testbed
from farm.testing.fakes import FakeFaultload, tiny_workload
from tests.run.streamed import columns_of
from tests.wording import refused


@pytest.fixture(scope="module")
def tiny():
    return tiny_workload(tracks=(3, 2, 3), frames=3)


@pytest.fixture(scope="module")
def stream(tiny):
    faultload = FakeFaultload(
        transform=lambda x: x * np.float32(0.3),
        severities=(1, 2),
        label=NO_ANSWER,
        category="shift",
        name="dusk",
    )
    targets = faultload.prepare(FaultContext(tiny, tiny.test, None, lambda spec: tiny, Context()))
    return BenchmarkStream(tiny, Fault(faultload, targets, 2.0), ood_share=0.4, seed=3)


@pytest.fixture
def folder(stream, tmp_path):
    write_benchmark(stream, tmp_path / "set", batch_size=7)
    return tmp_path / "set"


def whole(stream, size):
    batches = list(stream.batches(size))
    return columns_of(*batches)


@pytest.mark.parametrize("size", [1, 10, 1000])
def test_a_set_streams_back_unchanged_bit_for_bit(stream, folder, size):
    written, read = whole(stream, 16), whole(StoredStream(folder), size)
    for name, values in written.items():
        assert read[name].dtype.kind == values.dtype.kind
        assert np.array_equal(read[name], values, equal_nan=values.dtype.kind == "f"), name
    assert read["images"].dtype == np.float32


def test_a_set_knows_its_classes_its_length_and_what_made_it(stream, folder):
    stored = StoredStream(folder)
    assert (stored.classes, stored.length) == (stream.classes, stream.length)
    told = stored.provenance
    assert (told["n_ood"], told["ood_share"]) == (stream.n_ood, stream.n_ood / stream.length)
    assert told["made_by"] == json.loads(json.dumps(dict(stream.provenance)))


def test_two_sets_of_the_same_stream_are_the_same_bytes(stream, folder, tmp_path):
    write_benchmark(stream, tmp_path / "again", batch_size=100)
    for name in ("images.npy", "index.parquet", "set.json"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_anybody_can_read_the_index_with_pandas(stream, folder, tmp_path):
    frame = pd.read_parquet(folder / "index.parquet")
    assert next(iter(frame)) == "order"
    assert list(frame["order"]) == list(range(stream.length))
    write_benchmark(stream, tmp_path / "png", images="png")
    frame = pd.read_parquet(tmp_path / "png" / "index.parquet")
    assert list(frame)[:2] == ["order", "file"]


def test_anybody_can_read_the_images_with_numpy(stream, folder):
    assert np.load(folder / "images.npy").shape == (stream.length, 3, 8, 8)


@pytest.mark.parametrize("name", ["images.npy", "index.parquet"])
@pytest.mark.parametrize("damage", ["flipped", "truncated", "missing"])
def test_a_damaged_file_is_told(folder, name, damage):
    path = folder / name
    content = bytearray(path.read_bytes())
    if damage == "flipped":
        content[-5] ^= 0x10
        path.write_bytes(content)
    elif damage == "truncated":
        path.write_bytes(content[:-100])
    else:
        path.unlink()
    with refused(DataError):
        StoredStream(folder)


def edit(folder, **changes):
    record = json.loads((folder / "set.json").read_text())
    (folder / "set.json").write_text(json.dumps(record | changes))


def test_another_schema_is_told(folder):
    edit(folder, schema=99)
    with refused(DataError):
        StoredStream(folder)


def test_a_folder_that_is_no_set_is_told(tmp_path):
    with refused(DataError):
        StoredStream(tmp_path)


def test_a_label_that_is_no_class_is_told(folder):
    edit(folder, classes=["ash", "birch"])
    with refused(DataError):
        StoredStream(folder)


def test_an_edited_record_has_another_hash(folder):
    before = StoredStream(folder).provenance["benchmark_hash"]
    edit(folder, classes=["ash", "birch", "cedar", "elm"])
    assert StoredStream(folder).provenance["benchmark_hash"] != before


@pytest.mark.parametrize("key", ["files", "classes"])
def test_a_record_that_lacks_a_key_is_told(folder, key):
    record = json.loads((folder / "set.json").read_text())
    del record[key]
    (folder / "set.json").write_text(json.dumps(record))
    with refused(DataError):
        StoredStream(folder)


def test_a_set_is_never_overwritten(stream, folder):
    before = (folder / "set.json").read_bytes()
    with refused(DataError):
        write_benchmark(stream, folder)
    assert (folder / "set.json").read_bytes() == before


def test_a_full_disk_leaves_nothing(stream, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pandas.DataFrame.to_parquet", full)
    with refused(StorageError):
        write_benchmark(stream, tmp_path / "set")
    assert list(tmp_path.iterdir()) == []


def test_an_endless_stream_is_no_set(tmp_path, stream):
    class Endless:
        length = None

    with refused(DataError):
        write_benchmark(Endless(), tmp_path / "set")
    assert not (tmp_path / "set").exists()


@pytest.mark.parametrize("split", ["train", "validation"])
def test_an_image_of_the_set_planted_in_the_training_data_is_caught(tiny, folder, split):
    stored = StoredStream(folder)
    stored.guard(tiny)
    first = next(stored.batches(3))
    part = getattr(tiny, split)
    images = np.rint(part.images.read(np.arange(len(part))) * 255).astype(np.uint8)
    images[2] = np.rint(first.images[1] * 255)
    planted = replace(tiny, **{split: replace(part, images=ArrayImages(images))})
    with refused(DataError):
        stored.guard(planted)


@pytest.mark.parametrize("split", ["train", "validation"])
def test_a_group_of_the_set_in_the_training_data_is_caught(tiny, folder, split):
    stored = StoredStream(folder)
    everything = whole(stored, 1000)
    groups = getattr(tiny, split).groups.astype(object)
    groups[2] = everything["track"][5]
    related = replace(tiny, **{split: replace(getattr(tiny, split), groups=groups.astype(str))})
    np.flatnonzero(everything["track"] == everything["track"][5])
    with refused(DataError):
        stored.guard(related)


def test_all_images_are_counted_however_many_there_are(tiny, folder, monkeypatch):
    stored = StoredStream(folder)
    batches = StoredStream.batches
    monkeypatch.setattr(StoredStream, "batches", lambda self, size: batches(self, 5))
    ~next(batches(stored, 1000)).is_ood
    planted = replace(tiny, train=replace(tiny.test, name="train"))
    with refused(DataError):
        stored.guard(planted)


def test_a_stored_set_is_guarded_before_it_is_run(tiny, folder, classifier):
    planted = replace(tiny, train=replace(tiny.test, name="train"))
    classifier.calls = 0
    with refused(DataError):
        Testbed().run(StoredStream(folder), classifier, [], planted)
    assert classifier.calls == 0
    readouts = Testbed().run(StoredStream(folder), classifier, [], tiny)
    assert len(readouts.instances) == StoredStream(folder).length


@pytest.mark.parametrize("size", [1, 10])
def test_a_set_of_png_files_streams_back_what_was_written(stream, tmp_path, size):
    write_benchmark(stream, tmp_path / "set", images="png", batch_size=7)
    written, read = whole(stream, 16), whole(StoredStream(tmp_path / "set"), size)
    eight_bits = np.rint(written.pop("images") * 255).astype(np.float32) / np.float32(255)
    np.testing.assert_array_equal(read["images"], eight_bits)
    for name, values in written.items():
        assert np.array_equal(read[name], values, equal_nan=values.dtype.kind == "f"), name
    # Written once more it is the same: nothing is lost a second time.
    write_benchmark(StoredStream(tmp_path / "set"), tmp_path / "again", images="png")
    for file in (tmp_path / "set").glob("*.png"):
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


def test_a_missing_picture_is_told(stream, tmp_path):
    write_benchmark(stream, tmp_path / "set", images="png")
    (tmp_path / "set" / "000003.png").unlink()
    with refused(DataError):
        StoredStream(tmp_path / "set")
