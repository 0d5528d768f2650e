"""A picture of what a monitor got wrong: missed images beside those that it alarmed at for nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from farm.api.arrays import Images
from farm.report.contact_sheet import _drawn, _drawn_size, _fitting, _font

COLUMNS = 5
MOST = 25
"""So many images of each kind are drawn."""
_MARGIN, _GAP, _LINE, _HEADING, _BETWEEN = 16, 8, 14, 24, 32
_NARROWEST = 116
"""A cell is at least so wide: its words have to be read."""
_INK, _FAINT, _PAPER = (20, 20, 20), (110, 110, 110), (255, 255, 255)


@dataclass(frozen=True)
class Section:
    """Images with a heading, and a few lines below each."""

    heading: str
    images: Images
    captions: Sequence[Sequence[str]]


def failure_sheet(title: str, sections: Sequence[Section], path: Path) -> None:
    """Draw sections side by side, as PNG; those without images are left out.

    Examples
    --------
    >>> import tempfile
    >>> image = np.zeros((1, 1, 8, 8), np.float32)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     out = Path(folder) / "sheet.png"
    ...     failure_sheet("odin", [Section("missed: 1", image, [("digit-8", "taken for digit-3")])], out)
    ...     with Image.open(out) as drawn:
    ...         drawn.format
    'PNG'
    """
    shown = [section for section in sections if len(section.images)]
    channels, high, wide = shown[0].images.shape[1:]
    height, width = _drawn_size((channels, high, wide))
    cell = max(width, _NARROWEST) + _GAP
    lines = max(len(words) for section in shown for words in section.captions)
    row = height + lines * _LINE + _GAP
    block = COLUMNS * cell
    top = _MARGIN + 2 * _HEADING
    rows = max(-(-len(section.images) // COLUMNS) for section in shown)
    size = (2 * _MARGIN + len(shown) * block + (len(shown) - 1) * _BETWEEN, top + rows * row + _MARGIN)
    sheet = Image.new("RGB", size, _PAPER)
    pen = ImageDraw.Draw(sheet)
    head = _fitting(pen, title, 16, sheet.width - 2 * _MARGIN)
    pen.text((_MARGIN, _MARGIN), head, fill=_INK, font=_font(16))
    for number, section in enumerate(shown):
        left = _MARGIN + number * (block + _BETWEEN)
        words = _fitting(pen, section.heading, 13, block)
        pen.text((left, _MARGIN + _HEADING), words, fill=_FAINT, font=_font(13))
        for place, (image, caption) in enumerate(zip(section.images, section.captions, strict=True)):
            x, y = left + place % COLUMNS * cell, top + place // COLUMNS * row
            sheet.paste(_drawn(np.clip(image, 0, 1), (width, height)), (x, y))
            for line, text in enumerate(caption):
                told = _fitting(pen, text, 11, cell - _GAP)
                pen.text((x, y + height + line * _LINE), told, fill=_FAINT if line else _INK, font=_font(11))
    sheet.save(path, format="PNG")
