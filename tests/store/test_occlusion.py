"""Heat maps on disk are whole and what they should be, or a line says what they are not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from farm.config.experiment import OcclusionSpec
from farm.errors import DataError
from farm.store.files import file_digest
from farm.store.occlusion import OcclusionMaps, load_occlusion
from farm.store.readouts import Readouts
from farm.testing import make_readouts
from tests.store.test_pictures import sign_again
from tests.wording import refused, same_text

ARRAYS = ("position", "predicted", "plain", "heat", "occluding", "boxed", "images", "masks")


def maps(channels: int = 3, **changes: Any) -> OcclusionMaps:
    rng = np.random.default_rng(0)
    made: dict[str, Any] = {
        "asked": OcclusionSpec(images=2, window=2, stride=1, fill=0.25),
        "size": (4, 5),
        "position": np.array([0, 3]),
        "predicted": np.array([1, 0]),
        "plain": np.array([0.9, 1 / 3]),
        "heat": rng.random((2, 3, 4)).astype(np.float32),
        "occluding": rng.random((2, 3, 4)) < 0.5,
        "boxed": np.array([True, False]),
        "why_no_mask": ("", "hidden by 'fog' — ü"),
        "images": rng.integers(0, 256, (2, 4, 5, channels), dtype=np.uint8),
        "masks": rng.random((2, 4, 5)) < 0.5,
    }
    return OcclusionMaps(**{**made, **changes})


def readouts(kept: OcclusionMaps | None) -> Readouts:
    made = make_readouts(
        {"good": [0, 0, 1, 1]}, is_ood=[False, False, True, True], run={"classes": ["ash", "birch"]}
    )
    return replace(made, occlusion=kept)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return readouts(maps()).save(tmp_path / "run")


def same(first: OcclusionMaps | None, second: OcclusionMaps | None) -> None:
    assert first is not None
    assert second is not None
    for name in ARRAYS:
        one, other = getattr(first, name), getattr(second, name)
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
    told = [(one.asked, one.size, one.why_no_mask, one.notes) for one in (first, second)]
    assert told[0] == told[1]


@pytest.mark.parametrize("channels", [1, 3])
def test_what_is_saved_is_read_back_the_same(tmp_path: Path, channels: int) -> None:
    folder = readouts(maps(channels)).save(tmp_path / "run")
    for read in (Readouts.load(folder).occlusion, load_occlusion(folder), load_occlusion(str(folder))):
        same(read, maps(channels))
    again = Readouts.load(folder).save(tmp_path / "again")
    for name in ("occlusion.npz", "occlusion.json"):
        assert (again / name).read_bytes() == (folder / name).read_bytes()
        files = json.loads((folder / "run.json").read_text())["files"]
        assert files[name] == file_digest(folder / name)


def test_maps_of_no_image_are_kept_too(tmp_path: Path) -> None:
    none = {name: getattr(maps(), name)[:0] for name in (*ARRAYS, "why_no_mask")}
    same(load_occlusion(readouts(maps(**none)).save(tmp_path / "run")), maps(**none))


def test_a_run_that_was_not_asked_for_them_has_neither_file(tmp_path: Path) -> None:
    folder = readouts(None).save(tmp_path / "run")
    assert not list(folder.glob("occlusion*"))
    assert Readouts.load(folder).occlusion is None
    assert load_occlusion(folder) is None


def test_for_maps_alone_no_other_file_is_checked_and_to_judge_they_are_left_out(folder: Path) -> None:
    assert Readouts.load(folder, to_judge=True).occlusion is None
    with (folder / "alarms.parquet").open("ab") as file:
        file.write(b"more")
    same(load_occlusion(folder), maps())
    with pytest.raises(DataError, match="alarms"):
        Readouts.load(folder)


def test_what_a_reader_must_know_is_noted() -> None:
    same_text(maps().notes)
    assert maps(boxed=np.array([False, False]), why_no_mask=("", "")).notes == ()


SHAPES: dict[str, Any] = {
    "heat": np.zeros((2, 4, 4), np.float32),
    "occluding": np.zeros((2, 3, 3), bool),
    "images": np.zeros((2, 4, 5), np.uint8),
    "masks": np.zeros((2, 5, 4), bool),
    "size": (9, 5),
    "position": np.array([0]),
    "asked": OcclusionSpec(window=5),
}


@pytest.mark.parametrize("name", SHAPES)
def test_what_does_not_fit_together_is_refused(name: str) -> None:
    with refused(DataError):
        maps(**{name: SHAPES[name]})


@pytest.mark.parametrize(
    "shape", [(2, 129, 5, 3), (2, 4, 5, 2), (3, 4, 5, 3)], ids=["too large", "two channels", "too many"]
)
def test_what_are_no_small_images_is_refused(shape: tuple[int, ...]) -> None:
    with refused(DataError):
        maps(images=np.zeros(shape, np.uint8), masks=np.zeros(shape[:3], bool))


def check_refused(folder: Path) -> None:
    sign_again(folder)
    with refused(DataError) as caught:
        load_occlusion(folder)
    with pytest.raises(DataError) as also:
        Readouts.load(folder)
    assert str(also.value) == str(caught.value)


Change = Callable[[dict[str, Any]], object]
CHANGES: dict[str, Change] = {
    "schema": lambda r: r.update(schema=2),
    "nothing asked": lambda r: r.pop("asked"),
    "an unknown key": lambda r: r["asked"].update(side=8),
    "no patch": lambda r: r["asked"].update(window=0),
    "a patch that does not fit": lambda r: r["asked"].update(window=5),
    "another step": lambda r: r["asked"].update(stride=2),
    "three sides": lambda r: r["size"].append(4),
    "a huge side": lambda r: r.update(size=[4, 10**30]),
    "another size": lambda r: r.update(size=[4, 6]),
    "an instance that is none": lambda r: r["instances"].append(7),
    "an instance more": lambda r: r["instances"].append({**r["instances"][0], "position": 3}),
    "an instance twice": lambda r: r["instances"][1].update(position=0),
    "an instance that is not there": lambda r: r["instances"][1].update(position=4),
    "half an instance": lambda r: r["instances"][1].update(position=1.5),
    "a class that is not there": lambda r: r["instances"][0].update(predicted=2),
    "no probability": lambda r: r["instances"][0].update(plain=2.0),
    "no text": lambda r: r["instances"][0].update(why_no_mask=None),
    "too many": lambda r: r.update(instances=r["instances"] * 600),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_somebody_edited_and_signed_is_told(folder: Path, change: str) -> None:
    path = folder / "occlusion.json"
    record = json.loads(path.read_text())
    CHANGES[change](record)
    path.write_text(json.dumps(record))
    check_refused(folder)


OTHER: dict[str, dict[str, np.ndarray] | None] = {
    "one is missing": {"heat": None},  # type: ignore[dict-item]
    "one more": {"more": np.zeros(2)},
    "doubles": {"heat": np.zeros((2, 3, 4))},
    "numbers for truth values": {"masks": np.zeros((2, 4, 5), np.uint8)},
    "objects": {"heat": np.array([{}], dtype=object)},
    "undefined": {"heat": np.full((2, 3, 4), np.nan, np.float32)},
    "percent": {"heat": np.full((2, 3, 4), 50, np.float32)},
    "fewer rows": {"heat": np.zeros((2, 2, 4), np.float32)},
    "masks of another size": {"masks": np.zeros((2, 3, 5), bool)},
}


@pytest.mark.parametrize("what", OTHER)
def test_what_are_no_such_arrays_is_told(folder: Path, what: str) -> None:
    with np.load(folder / "occlusion.npz") as kept:
        arrays = {**kept, **OTHER[what]}
    np.savez(folder / "occlusion.npz", **{name: array for name, array in arrays.items() if array is not None})
    check_refused(folder)


@pytest.mark.parametrize("name", ["occlusion.npz", "occlusion.json"])
def test_a_damaged_file_is_told_and_one_that_is_not_listed(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    with refused(DataError):
        load_occlusion(folder)
    check_refused(folder)
    record = json.loads((folder / "run.json").read_text())
    del record["files"][name]
    (folder / "run.json").write_text(json.dumps(record))
    check_refused(folder)
