"""A set of cut-outs as people see it: tables whose sums are right, and boxes drawn where they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from farm.report.crops import SHOWN, card_looks, crop_sheet
from farm.report.looks import render_looks
from tests.wording import same_text

CARD = {
    "classes": [
        {"name": "car", "train": 1200, "validation": 3, "test": 4},
        {"name": "bike", "train": 5, "validation": 0, "test": 6},
    ],
    "conditions": {"weather": [{"name": "rainy", "train": 1205, "validation": 3, "test": 10}]},
    "objects": 1230,
    "left_out": [
        {"reason": "occluded", "class": "car", "n": 7},
        {"reason": "truncated", "class": "car", "n": 1},
        {"reason": "occluded", "class": "bike", "n": 4},
    ],
    "boxes_clipped": 2,
    "images": {"n": 900, "content_hash": "0"},
}


def test_the_card_as_tables() -> None:
    same_text(render_looks(card_looks(CARD), "markdown"))


def test_boxes_are_drawn_where_they_are(tmp_path: Path) -> None:
    Image.new("RGB", (SHOWN // 2, SHOWN // 2)).save(tmp_path / "black.png")
    box = (10.0, 20.0, 30.0, 60.0)
    crop_sheet(
        {"car": [(tmp_path / "black.png", box)] * 3, "bike": [(tmp_path / "black.png", box)]},
        tmp_path / "s.png",
    )
    sheet = np.asarray(Image.open(tmp_path / "s.png")).astype(int)
    line = (sheet == (255, 60, 0)).all(axis=2)
    black = (sheet == 0).all(axis=2)
    # Four samples, each twice as large as its file, its line two pixels wide and just inside the box.
    assert line.sum() == 4 * (40 * 80 - 36 * 76)
    rows, columns = np.flatnonzero((line | black).any(axis=1)), np.flatnonzero(line.any(axis=0))
    bike = line[rows[-1] - SHOWN + 1 :]
    assert np.flatnonzero(bike.any(axis=1))[[0, -1]].tolist() == [40, 119]
    assert np.flatnonzero(bike.any(axis=0))[-1] - np.flatnonzero(bike.any(axis=0))[0] == 39
    assert columns[0] == np.flatnonzero(bike.any(axis=0))[0]
