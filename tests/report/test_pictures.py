"""Sheets of pictures: each heading stands above its column, each name before its row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from farm.report.pictures import MARGIN, picture_sheet

ZOOM, SIDE, TOP = 10, 8, 16 + 2 * MARGIN


def test_headings_and_names_stand_beside_their_pictures(tmp_path: Path) -> None:
    red = np.zeros((3, 3, SIDE, SIDE), np.float32)
    red[:, 0] = 1
    picture_sheet([("one", red), ("two", red)], ["a", "b", "c"], tmp_path / "sheet.png", ZOOM)
    colours = np.asarray(Image.open(tmp_path / "sheet.png").convert("RGB")).astype(int)
    pictured = colours[..., 0] - colours[..., 1] > 200
    sheet = colours.max(axis=2)
    columns, rows = _runs(pictured.any(axis=0)), _runs(pictured.any(axis=1))
    assert [stop - start for start, stop in [*columns, *rows]] == [ZOOM * SIDE] * 5
    headings = _runs((sheet[:TOP] < 100).any(axis=0))
    assert len(headings) == 3
    assert all(
        start <= first <= start + 2 and last <= stop
        for (start, stop), (first, last) in zip(columns, headings, strict=True)
    )
    names = _runs((sheet[:, : columns[0][0]] < 100).any(axis=1))
    middles = [(start + stop) / 2 for start, stop in rows]
    assert np.allclose([(start + stop) / 2 for start, stop in names], middles, atol=6)


def _runs(there: np.ndarray) -> list[tuple[int, int]]:
    """Return where stretches of True begin and end."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], there.astype(int), [0]])))
    return [(int(start), int(stop)) for start, stop in edges.reshape(-1, 2)]
