"""Sheets of pictures: samples of every class of a workload, and rows of images with words beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from farm.api import Images, IntArray, Split, Workload
from farm.report.output import visible

MARGIN = 6
"""Between the parts of a sheet of rows."""
SAMPLES = 8
CELL = 72
"""The least height at which samples are drawn; smaller images are enlarged by whole factors."""
_LARGEST = 144
_GAP, _MARGIN, _LINE = 4, 12, 16
_INK, _FAINT, _PAPER, _EMPTY = (20, 20, 20), (110, 110, 110), (255, 255, 255), (235, 235, 235)
_NAME_WIDTH = 260
COLUMNS = 5
"""Of a sheet with captions."""
_EDGE, _APART, _CAPTION, _HEADING, _BETWEEN = 16, 8, 14, 24, 32
_NARROWEST, _WIDEST = 116, 190
"""A cell is at least so wide, and for its words no wider: they have to be read."""
_NAME, _COUNT = 17, 13
"""Sizes of the two lines of text before a row."""


def contact_sheet(workload: Workload) -> Image.Image:
    """Draw a row a class: its name, its counts, and samples of its training images from as many groups.

    Examples
    --------
    >>> from farm.testing.fakes import tiny_workload
    >>> contact_sheet(tiny_workload()).mode
    'RGB'
    """
    height, width = drawn_size(workload.shape)
    row = max(height, 3 * _LINE) + _GAP
    n = len(workload.classes)
    counts = np.stack([np.bincount(split.labels, minlength=n) for split in workload.splits], axis=1)
    told = ["{} train · {} validation · {} test".format(*count) for count in counts]
    wanted = max(
        *(font_of(_NAME).getlength(name) for name in workload.classes),
        *(font_of(_COUNT).getlength(line) for line in told),
    )
    before = min(int(wanted) + _MARGIN, _NAME_WIDTH)
    block = before + SAMPLES * (width + _GAP) + 2 * _MARGIN
    # As many columns of rows as make the sheet about as wide as it is high.
    columns = min(max(1, round((n * row / block) ** 0.5)), n)
    rows = -(-n // columns)
    top = 2 * _MARGIN + 3 * _LINE
    sheet = Image.new("RGB", (2 * _MARGIN + columns * block, top + rows * row + _MARGIN), _PAPER)
    pen = ImageDraw.Draw(sheet)
    _title(pen, workload, sheet.width)
    for label, name in enumerate(workload.classes):
        left, y = _MARGIN + (label // rows) * block, top + (label % rows) * row
        middle = y + height // 2 - _LINE - 4
        for text, size, ink, down in ((name, _NAME, _INK, 0), (told[label], _COUNT, _FAINT, _LINE + 6)):
            line = fitting(pen, text, size, before - _MARGIN)
            pen.text((left, middle + down), line, fill=ink, font=font_of(size))
        chosen = samples(workload.train, label)
        images = workload.train.images.read(chosen)
        for place in range(SAMPLES):
            at = (left + before + place * (width + _GAP), y)
            if place < len(chosen):
                sheet.paste(drawn(images[place], (width, height)), at)
            else:
                pen.rectangle((*at, at[0] + width - 1, at[1] + height - 1), fill=_EMPTY)
    return sheet


def samples(split: Split, label: int, n: int = SAMPLES) -> IntArray:
    """Choose images of a class, spread over its groups, and then within them."""
    own = np.flatnonzero(split.labels == label)
    seen: Counter[str] = Counter()
    turns = []
    for group in split.groups[own]:
        turns.append(seen[group])
        seen[group] += 1
    first = np.argsort(np.array(turns, dtype=np.int64), kind="stable")  # one of each group, then a second
    n_groups = max(len(seen), 1)
    if n_groups > n:
        return own[first[np.linspace(0, n_groups - 1, n).astype(np.int64)]]
    return own[first[:n]]


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
            sheet.paste(drawn(image, (width, height)), (left + column * (width + MARGIN), y))
    sheet.save(path, format="PNG")


@dataclass(frozen=True)
class CaptionedSection:
    """Images with a heading, and a few lines below each."""

    heading: str
    images: Images
    captions: Sequence[Sequence[str]]


def captioned_sheet(title: str, sections: Sequence[CaptionedSection], path: Path) -> None:
    """Draw sections side by side, as PNG; those without images are left out.

    Examples
    --------
    >>> import tempfile
    >>> image = np.zeros((1, 1, 8, 8), np.float32)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     out = Path(folder) / "sheet.png"
    ...     section = CaptionedSection("missed: 1", image, [("digit-8", "taken for digit-3")])
    ...     captioned_sheet("odin", [section], out)
    ...     with Image.open(out) as drawn:
    ...         drawn.format
    'PNG'
    """
    shown = [section for section in sections if len(section.images)]
    channels, high, wide = shown[0].images.shape[1:]
    height, width = drawn_size((channels, high, wide))
    lines_of_all = [_on_a_line(line) for one in shown for words in one.captions for line in words]
    longest = max(font_of(11).getlength(line) for line in lines_of_all)
    cell = max(width, _NARROWEST, min(int(longest) + 1, _WIDEST)) + _APART
    lines = max(len(words) for section in shown for words in section.captions)
    row = height + lines * _CAPTION + _APART
    block = COLUMNS * cell
    top = _EDGE + 2 * _HEADING
    rows = max(-(-len(section.images) // COLUMNS) for section in shown)
    size = (2 * _EDGE + len(shown) * block + (len(shown) - 1) * _BETWEEN, top + rows * row + _EDGE)
    sheet = Image.new("RGB", size, _PAPER)
    pen = ImageDraw.Draw(sheet)
    head = fitting(pen, title, 16, sheet.width - 2 * _EDGE)
    pen.text((_EDGE, _EDGE), head, fill=_INK, font=font_of(16))
    for number, section in enumerate(shown):
        left = _EDGE + number * (block + _BETWEEN)
        words = fitting(pen, section.heading, 13, block)
        pen.text((left, _EDGE + _HEADING), words, fill=_FAINT, font=font_of(13))
        for place, (image, caption) in enumerate(zip(section.images, section.captions, strict=True)):
            x, y = left + place % COLUMNS * cell, top + place // COLUMNS * row
            sheet.paste(drawn(np.clip(image, 0, 1), (width, height)), (x, y))
            for line, text in enumerate(caption):
                told = fitting(pen, text, 11, cell - _APART)
                pen.text(
                    (x, y + height + line * _CAPTION), told, fill=_FAINT if line else _INK, font=font_of(11)
                )
    sheet.save(path, format="PNG")


def _title(pen: ImageDraw.ImageDraw, workload: Workload, width: int) -> None:
    channels, height, across = workload.shape
    colour = "grey" if channels == 1 else "RGB"
    sizes = ", ".join(f"{len(split)} {split.name}" for split in workload.splits)
    head = fitting(pen, workload.name, 22, width - 2 * _MARGIN)
    pen.text((_MARGIN, _MARGIN), head, fill=_INK, font=font_of(22))
    told = (
        f"{len(workload.classes)} classes · {height} x {across} pixels (height x width), {colour} · {sizes} "
        "images · shown: training images"
    )
    line = fitting(pen, told, 13, width - 2 * _MARGIN)
    pen.text((_MARGIN, _MARGIN + 30), line, fill=_FAINT, font=font_of(13))


def drawn_size(shape: tuple[int, int, int]) -> tuple[int, int]:
    """Enlarge small images by a whole factor, and make large ones fit."""
    _, height, width = shape
    if max(height, width) > _LARGEST:
        scale = _LARGEST / max(height, width)
        return max(round(height * scale), 1), max(round(width * scale), 1)
    factor = max(1, min(-(-CELL // height), _LARGEST // max(height, width)))
    return height * factor, width * factor


def drawn(image: np.ndarray, size: tuple[int, int]) -> Image.Image:
    pixels = np.rint(image * 255).astype(np.uint8)
    if len(pixels) == 1:
        pixels = pixels.repeat(3, axis=0)
    picture = Image.fromarray(np.ascontiguousarray(pixels.transpose(1, 2, 0)))
    larger = size[0] >= picture.width
    return picture.resize(size, Image.Resampling.NEAREST if larger else Image.Resampling.BILINEAR)


def font_of(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _on_a_line(text: str) -> str:
    """Show what begins another line, and what else no font has."""
    return visible(text).replace("\n", "\\n")


def fitting(pen: ImageDraw.ImageDraw, text: str, size: int, width: int) -> str:
    """Shorten a text until it fits."""
    font, text = font_of(size), _on_a_line(text)
    if pen.textlength(text, font=font) <= width:
        return text
    while text and pen.textlength(text + "...", font=font) > width:
        text = text[:-1]
    return text + "..."
