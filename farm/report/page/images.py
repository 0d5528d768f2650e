"""The images that a run kept, as a page shows them: worst first, each with what was said of it.

An image may be shown for several monitors, so those of a set stand in one picture that is embedded once.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup
from PIL import Image

from farm.report.cells import number, percent
from farm.report.page.findings import Findings, ReportedSet
from farm.report.page.html import join, tag
from farm.store.pictures import Pictures

BUDGET = 1_400_000
"""Bytes of a page that images and what is said of them may take."""
FINE, COARSE = 88, 65
"""How faithful images are to what was kept: where all have room, and where not."""
CAPTION = 440
"""Bytes of an image's caption, about."""
ACROSS = 16
"""Images in a row of the picture that holds them."""
SHEET = 8
"""Images in a row of a sheet that a page shows as it is."""
SHOWN = 72
"""How wide an image is shown, in CSS pixels."""
WHY = {
    "missed": ("missed", "Missed: wrong, and accepted"),
    "cancelled": ("falsely cancelled", "Falsely cancelled: right, and cancelled"),
}


@dataclass
class ImageSheet:
    """The images of all sets, as many of each kind as the page can hold."""

    most: int
    """So many of each kind."""
    kept: int
    """So many there are of some kind."""
    quality: int
    with_clean: frozenset[str]
    """The sets with which the clean images of their run are shown."""
    _rules: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, found: Findings) -> ImageSheet:
        """Find out how many images of a kind the page can hold."""
        # Clean images are the same in all sets of a run: they are shown once, where there is room.
        first = frozenset(one.id for one in found.sets if found.first_of_run(one))
        kinds = max((int(own["rank"].max()) + 1 for _, own in _kept(found, first) if len(own)), default=0)
        for quality, clean in ((FINE, first), (COARSE, first), (COARSE, frozenset[str]())):
            kept = _kept(found, clean)
            each = [_size_of_one(pictures, own, quality) for pictures, own in kept]
            for most in range(kinds, 1, -1):
                if sum(map(partial(_size, most), kept, each)) <= BUDGET:
                    return cls(most, kinds, quality, clean)
        return cls(min(kinds, 1), kinds, COARSE, frozenset())

    @property
    def note(self) -> Markup | None:
        """Say where there are more images than are shown."""
        if not self.kept:
            return tag("p", "The runs kept no pictures, so none are shown.", class_="note")
        if self.most == self.kept:
            return None
        told = f"Of each kind the {self.most} worst are shown; a report of one cell shows {self.kept}."
        if not self.with_clean:
            told += " Clean images are left out."
        return tag("p", told, class_="note")

    @property
    def style(self) -> Markup:
        """Return the rules that hold the images themselves."""
        return tag("style", Markup("".join(self._rules)))

    def of_set(self, one: ReportedSet) -> Markup | None:
        """Return the images of a set, monitor by monitor."""
        pictures, shown = _of_set(one, with_clean=one.id in self.with_clean)
        shown = shown[shown["rank"] < self.most]
        if pictures is None or not len(shown):
            return None
        place = _Placed(one, pictures, shown, self.quality)
        self._rules.append(place.rule)
        samples = shown[shown["why"] == "ood"]
        monitors = list(dict.fromkeys(shown["monitor"].dropna()))
        return tag(
            "div",
            join(tag("h4", "What the fault looks like"), place.row(samples)) if len(samples) else None,
            tag("h4", "Images that the monitors failed on, worst first") if monitors else None,
            [_monitor(str(m), shown[shown["monitor"] == m], place) for m in monitors],
            class_=f"images {place.name}",
        )


class _Placed:
    """A set's images in one picture, and what is known of each."""

    def __init__(self, one: ReportedSet, pictures: Pictures, shown: pd.DataFrame, quality: int) -> None:
        self.name = f"of-{one.id}"
        self._one = one
        self._numbers = {int(row): place for place, row in enumerate(dict.fromkeys(shown["picture"]))}
        images = np.asarray(pictures.images[list(self._numbers)])
        self._height, self._width = images.shape[1:3]
        self._down = -(-len(images) // ACROSS)
        self._uri = _data_uri(_together(images), quality)
        table = one.run.judged.table
        self._rows = {int(position): row for row, position in enumerate(table.position.tolist())}

    @property
    def rule(self) -> str:
        """Return the rule that embeds the picture."""
        high = round(SHOWN * self._height / self._width)
        return (
            f".{self.name} .px{{background-image:url({self._uri});width:{SHOWN}px;height:{high}px;"
            f"background-size:{ACROSS * SHOWN}px {self._down * high}px}}"
        )

    def row(self, shown: pd.DataFrame, monitor: str | None = None) -> Markup:
        """Return images in a row."""
        items = [self._image(row, monitor) for row in shown.sort_values("rank").to_dict("records")]
        return tag("ul", [tag("li", item) for item in items], class_="row")

    def _image(self, shown: Mapping[Hashable, Any], monitor: str | None) -> Markup:
        place = self._numbers[int(shown["picture"])]
        high = round(SHOWN * self._height / self._width)
        at = f"background-position:-{place % ACROSS * SHOWN}px -{place // ACROSS * high}px"
        told = list(self._told(int(shown["position"]), monitor))
        explanation = str(shown["explanation"] or "")
        pixels = tag("span", class_="px", role="img", aria_label="; ".join(told), style=at)
        lines = [tag("span", line) for line in told]
        return tag(
            "figure",
            pixels,
            tag("figcaption", lines, tag("span", explanation, class_="why") if explanation else None),
        )

    def _told(self, position: int, monitor: str | None) -> Iterator[str]:
        """Return what is known of an image, line by line."""
        run = self._one.run
        table, row = run.judged.table, self._rows[position]
        if not table.unlabelled[row]:
            label = int(table.label[row])
            yield f"is {run.class_name(label)}" if label >= 0 else "is of no known class"
        sure = "" if run.confidence is None else f", {percent(float(run.confidence[row]), 0)} % sure"
        yield f"taken for {run.class_name(int(table.predicted[row]))}{sure}"
        if monitor is not None and (said := table.said.get(monitor)) is not None and said.score is not None:
            yield f"score {number(float(said.score[row]), 3)}"


def _monitor(monitor: str, shown: pd.DataFrame, place: _Placed) -> Markup:
    """Return what a monitor missed and falsely cancelled, images of the fault and clean ones apart."""
    counts, rows = [], []
    for why, (words, heading) in WHY.items():
        counts.append(f"{int((shown['why'] == why).sum())} {words}")
        for clean, whose in ((False, "of this fault"), (True, "clean images")):
            own = shown[(shown["why"] == why) & (shown["clean"] == clean)]
            if len(own):
                rows.append(join(tag("h5", f"{heading} ({whose})"), place.row(own, monitor)))
    return tag("details", tag("summary", tag("strong", monitor), f": {', '.join(counts)} shown"), rows)


def _kept(found: Findings, clean: frozenset[str]) -> list[tuple[Pictures | None, pd.DataFrame]]:
    return [_of_set(one, with_clean=one.id in clean) for one in found.sets]


def _of_set(one: ReportedSet, *, with_clean: bool) -> tuple[Pictures | None, pd.DataFrame]:
    """Return the pictures of a set's fault and, where asked for, the clean images that its run shows."""
    pictures = one.run.pictures
    if pictures is None:
        return None, pd.DataFrame({"rank": [], "picture": [], "why": []})
    table = one.run.judged.table
    own = table.position[table.partition.rows(one.part)]
    shown = pictures.shown[pictures.shown["position"].isin(own) & (pictures.shown["why"] != "id")]
    clean = ~shown["position"].isin(table.position[table.is_ood])
    shown = shown.assign(clean=clean & (table.why_no_ood is None))
    return pictures, shown if with_clean else shown[~shown["clean"]]


def _size_of_one(pictures: Pictures | None, shown: pd.DataFrame, quality: int) -> float:
    """Return how many bytes of a page one of a set's images takes, about."""
    rows = shown["picture"].unique()[:ACROSS]
    if pictures is None or not len(rows):
        return 0.0
    return len(_data_uri(_together(np.asarray(pictures.images[rows])), quality)) / len(rows)


def _size(most: int, kept: tuple[Pictures | None, pd.DataFrame], of_one: float) -> float:
    """Return how many bytes a set takes with so many images of each kind."""
    shown = kept[1][kept[1]["rank"] < most]
    return CAPTION * len(shown) + of_one * shown["picture"].nunique()


def _together(images: np.ndarray) -> Image.Image:
    """Put images beside and below each other."""
    n, height, width, channels = images.shape
    down = -(-n // ACROSS)
    sheet = np.zeros((down, ACROSS, height, width, channels), dtype=np.uint8)
    sheet.reshape(-1, height, width, channels)[:n] = images
    pixels = sheet.transpose(0, 2, 1, 3, 4).reshape(down * height, ACROSS * width, channels)
    return Image.fromarray(pixels[..., 0] if channels == 1 else pixels)


def _data_uri(picture: Image.Image, quality: int = FINE) -> str:
    held = io.BytesIO()
    picture.save(held, format="WEBP", quality=quality, method=4)
    return f"data:image/webp;base64,{base64.b64encode(held.getvalue()).decode()}"


def sample_row(images: Sequence[np.ndarray], names: Sequence[str]) -> Markup:
    """Return images in a row with their names, each embedded by itself."""
    items = []
    for image, name in zip(images, names, strict=True):
        picture = Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image)
        drawn = tag("img", src=_data_uri(picture), alt=f"sample of {name}", width=SHOWN, class_="px")
        items.append(tag("li", tag("figure", drawn, tag("figcaption", name))))
    return tag("ul", items, class_="row")


def image_sheet(images: np.ndarray, words: str) -> Markup:
    """Return images (n x height x width x channels) as one picture; what is small is enlarged.

    Examples
    --------
    >>> sheet = image_sheet(np.zeros((3, 8, 8, 1), dtype=np.uint8), "three black squares")
    >>> str(sheet).startswith('<img src="data:image/png;base64,'), 'alt="three black squares"' in sheet
    (True, True)
    """
    n, height, width, channels = images.shape
    down = -(-n // SHEET)
    across = min(n, SHEET)
    # A white line between two images, lest they look like one.
    sheet = np.full((down, across, height + 1, width + 1, channels), 255, dtype=np.uint8)
    sheet.reshape(-1, height + 1, width + 1, channels)[:n, :-1, :-1] = images
    pixels = sheet.transpose(0, 2, 1, 3, 4).reshape(down * (height + 1), across * (width + 1), channels)
    picture = Image.fromarray(pixels[..., 0] if channels == 1 else pixels)
    held = io.BytesIO()
    picture.save(held, format="PNG", optimize=True)
    uri = f"data:image/png;base64,{base64.b64encode(held.getvalue()).decode()}"
    factor = max(SHOWN // max(height, width), 1)
    return tag("img", src=uri, alt=words, width=factor * picture.width, class_="px", style="max-width:100%")
