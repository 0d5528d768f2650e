"""Pictures on disk are whole and what they should be, or a line says what they are not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from farm.errors import DataError
from farm.store.files import file_digest, signed
from farm.store.pictures import MOST, Pictures, bounded, joined, load_pictures, shown_frame
from farm.store.readouts import Readouts
from farm.testing import make_readouts
from tests.wording import refused

PLANE = {
    "monitor": "good",
    "faultload": "snow",
    "category": "shift",
    "severity": 2.0,
    "predicted": 1,
    "axes": ["a", "b"],
    "boxes": [[0.0, 1.0, 0.0, 2.0]],
    "points": [[0.5, 0.25], [3.0, 4.0]],
    "positions": [1, 3],
}
ROWS = [
    (0, 1, None, "id", 0, ""),
    (1, 3, None, "ood", 0, ""),
    (1, 3, "good", "missed", 0, "too near — ü"),
    (0, 1, "bad", "cancelled", 0, ""),
]


def pictures(channels: int = 3) -> Pictures:
    images = np.random.default_rng(0).integers(0, 256, (2, 4, 5, channels), dtype=np.uint8)
    return Pictures(images, shown_frame(ROWS), [PLANE])


def readouts(kept: Pictures | None) -> Readouts:
    made = make_readouts({"good": [0, 0, 1, 1], "bad": [1, 0, 0, 1]}, is_ood=[False, False, True, True])
    return replace(made, pictures=kept)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return readouts(pictures()).save(tmp_path / "run")


def same(first: Pictures | None, second: Pictures | None) -> None:
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal(first.images, second.images)
    pd.testing.assert_frame_equal(first.shown, second.shown)
    assert list(first.planes) == list(second.planes)


@pytest.mark.parametrize("channels", [1, 3])
def test_what_is_saved_is_read_back_the_same(tmp_path: Path, channels: int) -> None:
    folder = readouts(pictures(channels)).save(tmp_path / "run")
    for read in (Readouts.load(folder).pictures, load_pictures(folder), load_pictures(str(folder))):
        same(read, pictures(channels))
        assert isinstance(read.images, np.memmap), "left on disk"
        assert read.shown["monitor"].tolist() == [None, None, "good", "bad"]
    again = Readouts.load(folder).save(tmp_path / "again")
    assert (again / "pictures.npy").read_bytes() == (folder / "pictures.npy").read_bytes()
    assert (again / "pictures.json").read_bytes() == (folder / "pictures.json").read_bytes()


def test_the_files_are_listed_with_their_checksums(folder: Path) -> None:
    files = json.loads((folder / "run.json").read_text())["files"]
    for name in ("pictures.npy", "pictures.json"):
        assert files[name] == file_digest(folder / name)


def test_a_run_without_pictures_has_neither_file(tmp_path: Path) -> None:
    folder = readouts(None).save(tmp_path / "run")
    assert not list(folder.glob("pictures*"))
    assert Readouts.load(folder).pictures is None
    assert load_pictures(folder) is None


def test_to_judge_nobody_looks_at_them(folder: Path) -> None:
    assert Readouts.load(folder, to_judge=True).pictures is None


def test_for_pictures_alone_no_other_file_is_checked(folder: Path) -> None:
    with (folder / "alarms.parquet").open("ab") as file:
        file.write(b"more")
    same(load_pictures(folder), pictures())
    with pytest.raises(DataError, match="alarms"):
        Readouts.load(folder)


def sign_again(folder: Path) -> None:
    record = json.loads((folder / "run.json").read_text())
    record["files"] = {name: file_digest(folder / name) for name in record["files"]}
    (folder / "run.json").write_text(json.dumps(signed(record)))


def check_refused(folder: Path) -> None:
    with refused(DataError) as caught:
        load_pictures(folder)
    with pytest.raises(DataError) as also:
        Readouts.load(folder)
    assert str(also.value) == str(caught.value)


Change = Callable[[dict[str, Any]], object]
CHANGES: dict[str, Change] = {
    "schema": lambda r: r.update(schema=2),
    "no rows": lambda r: r.pop("shown"),
    "no planes": lambda r: r.pop("planes"),
    "a row that is none": lambda r: r["shown"].append(7),
    "a row without a rank": lambda r: r["shown"][2].pop("rank"),
    "an image that is not there": lambda r: r["shown"][2].update(picture=2),
    "a negative image": lambda r: r["shown"][2].update(picture=-1),
    "an instance that is not there": lambda r: r["shown"][2].update(position=4),
    "half an instance": lambda r: r["shown"][2].update(position=1.5),
    "a huge number": lambda r: r["shown"][2].update(position=10**30),
    "true": lambda r: r["shown"][2].update(rank=True),
    "another reason": lambda r: r["shown"][2].update(why="because"),
    "no text": lambda r: r["shown"][2].update(explanation=None),
    "a monitor that is a list": lambda r: r["shown"][2].update(monitor=["good"]),
    "a plane of nobody": lambda r: r["planes"][0].update(monitor=None),
    "three axes": lambda r: r["planes"][0].update(axes=["a", "b", "c"]),
    "a box with three sides": lambda r: r["planes"][0]["boxes"].append([1.0, 2.0, 3.0]),
    "a point with one place": lambda r: r["planes"][0]["points"].append([1.0]),
    "a point of text": lambda r: r["planes"][0].update(points=[["1", "2"], [3.0, 4.0]]),
    "all points of text": lambda r: r["planes"][0].update(points=[["1", "2"]] * 500),
    "more points than positions": lambda r: r["planes"][0]["points"].append([1.0, 2.0]),
    "a plane's instance that is not there": lambda r: r["planes"][0].update(positions=[1, 4]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_somebody_edited_and_signed_is_told(folder: Path, change: str) -> None:
    path = folder / "pictures.json"
    record = json.loads(path.read_text())
    CHANGES[change](record)
    path.write_text(json.dumps(record))
    sign_again(folder)
    check_refused(folder)


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 1, "shown": [], "planes": [NaN]}', "{"])
def test_what_is_no_record_is_told(folder: Path, text: str) -> None:
    (folder / "pictures.json").write_text(text)
    sign_again(folder)
    check_refused(folder)


ARRAYS: dict[str, np.ndarray] = {
    "floats": np.zeros((2, 4, 5, 3), np.float32),
    "channels first": np.zeros((2, 3, 4, 5), np.uint8),
    "no channels": np.zeros((2, 4, 5), np.uint8),
    "too large": np.zeros((2, 129, 5, 3), np.uint8),
    "too many": np.zeros((MOST + 1, 1, 1, 1), np.uint8),
    "too few": np.zeros((1, 4, 5, 3), np.uint8),
    "objects": np.array([{}], dtype=object),
}


@pytest.mark.parametrize("what", ARRAYS)
def test_what_is_no_array_of_small_images_is_told(folder: Path, what: str) -> None:
    np.save(folder / "pictures.npy", ARRAYS[what], allow_pickle=True)
    sign_again(folder)
    check_refused(folder)


def test_a_folder_that_is_none_is_told(tmp_path: Path) -> None:
    with refused(DataError):
        load_pictures(tmp_path)


# Put together ---------------------------------------------------------------------------------------------


def one_image(n: int, rows: list[tuple[Any, ...]], planes: list[dict[str, Any]] | None = None) -> Pictures:
    """Return pictures whose pixels are their positions."""
    positions = sorted({row[0] for row in rows})
    assert len(positions) == n
    images = np.array(positions, np.uint8)[:, None, None, None] * np.ones((1, 2, 2, 3), np.uint8)
    shown = shown_frame((positions.index(at), at, *more, f"of {at}") for at, *more in rows)
    return Pictures(images, shown, planes or [])


def test_of_each_part_its_monitors_are_taken_and_each_image_once() -> None:
    first = one_image(
        4,
        [
            (2, None, "id", 0),
            (9, None, "ood", 0),
            (9, "a", "missed", 0),
            (5, "a", "missed", 1),
            (7, "x", "missed", 0),
        ],
        [{**PLANE, "monitor": "a"}, {**PLANE, "monitor": "x"}],
    )
    second = one_image(3, [(1, None, "id", 0), (9, "b", "missed", 0), (3, "b", "cancelled", 0)])
    found = joined([(first, None), (second, "b"), (first, "a")])
    assert found is not None
    assert found.images[:, 0, 0, 0].tolist() == [2, 3, 5, 9], (
        "without those of 'x' and of the other's samples"
    )
    assert found.shown["monitor"].tolist() == [None, None, "b", "b", "a", "a"]
    assert found.images[found.shown["picture"]][:, 0, 0, 0].tolist() == found.shown["position"].tolist()
    assert found.shown["position"].tolist() == [2, 9, 9, 3, 9, 5]
    assert found.shown["explanation"].tolist() == [f"of {at}" for at in (2, 9, 9, 3, 9, 5)]
    assert [plane["monitor"] for plane in found.planes] == ["a"]


def test_one_part_as_a_whole_is_the_same() -> None:
    one = pictures()
    same(joined([(one, None), (one, "good"), (one, "bad")]), one)


def test_parts_that_kept_no_pictures_have_none_to_give() -> None:
    assert joined([(None, None), (None, "a")]) is None
    one = one_image(1, [(2, "a", "missed", 0)])
    same(joined([(None, None), (one, "a"), (None, "b")]), one)


def test_together_there_are_no_more_than_a_run_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("farm.store.pictures.MOST", 3)
    first = one_image(3, [(at, "a", "missed", rank) for rank, at in enumerate((1, 2, 3))])
    second = one_image(3, [(at, "b", "missed", rank) for rank, at in enumerate((4, 1, 6))])
    found = joined([(first, "a"), (second, "b")])
    assert found is not None
    assert found.images[:, 0, 0, 0].tolist() == [1, 2, 4]
    told = found.shown[["monitor", "rank", "position"]].to_numpy().tolist()
    assert told == [["a", 0, 1], ["a", 1, 2], ["b", 0, 4], ["b", 1, 1]]


def test_rows_are_kept_by_rank_and_those_of_a_kept_image_cost_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("farm.store.pictures.MOST", 2)
    shown = shown_frame((0, at, "a", "missed", rank, "") for at, rank in ((8, 1), (5, 0), (5, 3), (6, 2)))
    assert bounded(shown)[["position", "rank"]].to_numpy().tolist() == [[8, 1], [5, 0], [5, 3]]
