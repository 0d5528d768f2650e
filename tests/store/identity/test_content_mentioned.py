"""What a file speaks of beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from farm.errors import DataError
from farm.store.identity import content, memory
from farm.store.identity.content import mentioned
from tests.wording import refused


@pytest.fixture
def folder(tmp_path) -> Path:
    folder = tmp_path / "data"
    for name in ("images", "masks", "some, pictures", "results"):
        (folder / name).mkdir(parents=True)
    for name in ("1.png", "a b.png", 'a "b".png', "é.png", "weights.bin", "net.onnx.data"):
        (folder / name).write_bytes(b"")
    return folder


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("path,label\nimages/3.png,stop\n", ["images"]),
        ("Path;Label;Mask\n.\\images\\2.png;stop;masks/2.png", ["images", "masks"]),
        ("path\tlabel\n./images//deep/2.png\tstop\r\n", ["images"]),
        ('path,label\n"some, pictures/2.png",stop\n', ["some, pictures"]),
        ('path,label\n"a ""b"".png",stop\n', ['a "b".png']),
        ("path,label\n1.png,stop\na b.png,go\né.png,go\n", ["1.png", "a b.png", "é.png"]),
        ('{"weights": "weights.bin"}', ["weights.bin"]),
        ("weights: weights.bin\n", ["weights.bin"]),
        ("11.png\nmyimages/1.jpg\n", []),
        ("", []),
    ],
)
def test_a_text_speaks_of_what_lies_beside_it(folder, tmp_path, text, expected) -> None:
    (folder / "index").write_text(text, "utf-8")
    assert mentioned(folder / "index", tmp_path / "memory") == expected


@pytest.mark.parametrize("kind", ["str", "category"])
def test_a_parquet_index_speaks_of_its_images(folder, tmp_path, kind) -> None:
    frame = pd.DataFrame({"path": ["images/3.png", "masks/3.png"], "label": [1, 2]})
    frame.astype({"path": kind}).to_parquet(folder / "index.parquet")
    assert mentioned(folder / "index.parquet", tmp_path / "memory") == ["images", "masks"]


def test_a_damaged_parquet_speaks_of_nothing(folder, tmp_path) -> None:
    (folder / "index.parquet").write_bytes(b"PAR1images/3.png")
    assert mentioned(folder / "index.parquet", tmp_path / "memory") == []


def test_a_graph_speaks_of_its_weights(folder, tmp_path) -> None:
    onnx = pytest.importorskip("onnx")
    values = onnx.numpy_helper.from_array(np.zeros((64, 64), np.float32), "w")
    node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
    shaped = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [1, 64]) for n in "xy"]
    graph = onnx.helper.make_graph([node], "g", shaped[:1], shaped[1:], [values])
    model, path = onnx.helper.make_model(graph), folder / "net.onnx"
    onnx.save(model, path, save_as_external_data=True, location="net.onnx.data", size_threshold=0)
    assert mentioned(path, tmp_path / "memory") == ["net.onnx.data"]


def test_other_binary_files_speak_of_nothing(folder, tmp_path) -> None:
    np.savez(folder / "arrays.npz", images=np.zeros(3), text=np.array("weights.bin"))
    assert mentioned(folder / "arrays.npz", tmp_path / "memory") == []
    (folder / "blob").write_bytes(b"images\0weights.bin\0")
    assert mentioned(folder / "blob", tmp_path / "memory") == []


def test_the_images_of_a_linked_index_lie_beside_the_link(folder, tmp_path) -> None:
    (tmp_path / "index.csv").write_text("path,label\nimages/3.png,stop\n")
    (folder / "index.csv").symlink_to(tmp_path / "index.csv")
    assert mentioned(folder / "index.csv", tmp_path / "memory") == ["images"]


def test_it_is_remembered_until_the_file_or_what_is_beside_it_changes(folder, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(memory, "UNSETTLED_SECONDS", -1000)
    read: list[Path] = []
    really = content._spoken_of
    monkeypatch.setattr(content, "_spoken_of", lambda *given: (read.append(given[0]), really(*given))[1])
    index, kept = folder / "index.csv", tmp_path / "memory"
    index.write_text("path\nimages/3.png\nlate/3.png\n")
    assert mentioned(index, kept) == mentioned(index, kept) == ["images"]
    assert len(read) == 1
    (folder / "late").mkdir()
    assert mentioned(index, kept) == ["images", "late"]
    index.write_text("path\nmasks/3.png\nlate/3.png\n")
    assert mentioned(index, kept) == ["late", "masks"]


def test_an_index_that_cannot_be_read_is_said(folder, tmp_path, monkeypatch) -> None:
    (folder / "index.csv").write_text("path\n")

    def refuse(*arguments: object, **more: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with refused(DataError):
        mentioned(folder / "index.csv", tmp_path / "memory")
