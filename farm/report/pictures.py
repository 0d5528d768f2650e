"""Sheets of pictures with words beside them, as PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from farm.api.arrays import Images

MARGIN = 6


def picture_sheet(rows: Sequence[tuple[str, Images]], headings: Sequence[str], path: Path, zoom: int) -> None:
    """Draw rows of images, each with a name before it, below a row of headings."""
    font = ImageFont.load_default(14)
    names = max((font.getlength(name) for name, _ in rows), default=0)
    left = int(names) + 2 * MARGIN
    height, width = (zoom * n for n in rows[0][1].shape[2:])
    columns = max(len(images) for _, images in rows)
    top = 16 + 2 * MARGIN
    sheet = Image.new(
        "RGB", (left + columns * (width + MARGIN), top + len(rows) * (height + MARGIN)), "white"
    )
    draw = ImageDraw.Draw(sheet)
    for column, heading in enumerate(headings):
        draw.text((left + column * (width + MARGIN), MARGIN), heading, "black", font)
    for row, (name, images) in enumerate(rows):
        y = top + row * (height + MARGIN)
        draw.text((MARGIN, y + height // 2 - 8), name, "black", font)
        for column, image in enumerate(images):
            sheet.paste(_picture(image, width, height), (left + column * (width + MARGIN), y))
    sheet.save(path, format="PNG")


def _picture(image: np.ndarray, width: int, height: int) -> Image.Image:
    pixels = np.rint(image * 255).astype(np.uint8).transpose(1, 2, 0)
    made = Image.fromarray(pixels if pixels.shape[2] == 3 else pixels[:, :, 0])
    return made.convert("RGB").resize((width, height), Image.Resampling.NEAREST)
