"""What `farm crops` shows of a set: its card as tables, and a sheet of samples with their boxes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from farm.api import Images
from farm.judging.inspection import Look, LookCell
from farm.report.pictures import SAMPLES, picture_sheet

SPLITS = ("train", "validation", "test")
SHOWN = 144
"""Pixels that a sample is drawn wide."""
_LINE = (255, 60, 0)


def card_looks(card: Mapping[str, Any]) -> list[Look]:
    """Write a card as tables: classes and conditions by split, and why objects were left out."""
    tables = {"class": card["classes"], **card["conditions"]}
    looks = [
        Look(
            f"Cut-outs by {name}",
            (name, *SPLITS),
            [(row["name"], *(row[split] for split in SPLITS)) for row in rows]
            + [("all", *(sum(row[split] for row in rows) for split in SPLITS))],
        )
        for name, rows in tables.items()
    ]
    reasons = Counter[str]()
    for row in card["left_out"]:
        reasons[row["reason"]] += row["n"]
    cut = card["objects"] - reasons.total()
    notes = [f"of {card['objects']:,} objects; cut-outs are from {card['images']['n']:,} images"]
    if card["boxes_clipped"]:
        notes.append(f"boxes clipped at their image's edge, by at most two pixels: {card['boxes_clipped']:,}")
    rows: list[tuple[LookCell, ...]] = [("cut out", cut), *reasons.most_common()]
    return [*looks, Look("What became of the objects", ("objects", "n"), rows, tuple(notes))]


def crop_sheet(classes: Mapping[str, Sequence[tuple[Path, Sequence[float]]]], path: Path) -> None:
    """Draw a row a class: samples from all over it, each with its box, as PNG."""
    rows = [
        (
            name,
            np.stack(
                [_boxed(*files[i]) for i in np.unique(np.linspace(0, len(files) - 1, SAMPLES).astype(int))]
            ),
        )
        for name, files in classes.items()
    ]
    picture_sheet(rows, ["samples of each class, with the boxes of their objects"], path, 1)


def _boxed(path: Path, box: Sequence[float]) -> Images:
    """Return a cut-out as it is shown, with its box."""
    with Image.open(path) as image:
        shown = image.resize((SHOWN, SHOWN), Image.Resampling.BILINEAR)
        left, top, right, bottom = (edge * SHOWN / image.width for edge in box)
    ImageDraw.Draw(shown).rectangle((left, top, right - 1, bottom - 1), outline=_LINE, width=2)
    pixels: Images = np.divide(np.asarray(shown).transpose(2, 0, 1), 255, dtype=np.float32)
    return pixels
