"""Files that merge and drop classes."""

from __future__ import annotations

from pathlib import Path

import pytest

from farm.errors import ExperimentError
from farm.workloads.crops import load_class_map
from tests.wording import refused


def read(folder: Path, text: str):
    (path := folder / "classes.yaml").write_text(text)
    return load_class_map(path)


def test_classes_are_merged_kept_and_dropped(tmp_path: Path) -> None:
    found = read(tmp_path, "bike: [bicycle, motorcycle]\ncar: car\nvan: [car2, 'no']\ndrop: train\n")
    assert found.classes == ("bike", "car", "van")
    labels = ("bicycle", "motorcycle", "car", "car2", "no", "train")
    assert [found.of(label, "") for label in labels] == ["bike", "bike", "car", "van", "van", None]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- car",
        "car: [car, car]",
        "car: car\nbus: [car]",
        "drop: [car]",
        "bus: [no]",
        "7: [car]",
        "car:",
        "a: {b: c}",
    ],
)
def test_what_is_no_such_file_is_told(tmp_path: Path, text: str) -> None:
    with refused(ExperimentError):
        read(tmp_path, text)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with refused(ExperimentError):
        load_class_map(tmp_path / "none.yaml")
