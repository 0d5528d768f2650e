"""Cut-outs as files, and the index that the workload `table` loads."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
from PIL import Image

from farm.api import Context
from farm.store.images import DAMAGES
from farm.workloads.annotations.entry import CONDITIONS
from farm.workloads.crops.choosing import Crop
from farm.workloads.decoding import UnusableImage, opened, read_file
from farm.workloads.image_files import on_all_cores
from farm.workloads.index_file import BOX
from farm.workloads.problems import Problems

INDEX, SOURCES = "index.csv", "sources.tsv"
_FAST = 1
"""How hard PNG is pressed: harder takes four times as long and saves a tenth."""


def cut(crops: Sequence[Crop], folder: Path, context: Context) -> dict[str, str]:
    """Write each cut-out into a folder, and return a hash of each source image by its name.

    Each source image is decoded once. One that is damaged, of another size than its annotations say, or a
    copy of one in another split, is an error.
    """
    (folder / "images").mkdir()
    by_image: dict[str, list[Crop]] = {}
    for crop in crops:
        by_image.setdefault(crop.image.path, []).append(crop)
    problems, digests = Problems(), dict[str, str]()
    splits: dict[str, Crop] = {}
    done = on_all_cores(lambda own: _cut_image(own, folder), by_image.values())
    for own, (digest, problem) in zip(
        by_image.values(), context.progress.track(done, "cutting", len(by_image)), strict=True
    ):
        first = own[0]
        if problem:
            problems.add(problem, [f"{first.image.name!r} of {first.image.where}"])
            continue
        digests[first.image.name] = digest
        twin = splits.setdefault(digest, first)
        if twin.split != first.split:
            told = f"{twin.image.name!r} ({twin.split}) and {first.image.name!r} ({first.split})"
            problems.add("one image in two splits under two names (take one out of the annotations)", [told])
    problems.check("source images")
    return digests


def _cut_image(crops: Sequence[Crop], folder: Path) -> tuple[str, str]:
    """Write all cut-outs of an image; return its hash, and what is wrong with it."""
    image = crops[0].image
    try:
        data = read_file(image.path)
        picture = opened(data)
        if picture.size != (image.width, image.height):
            return "", f"not {image.width} x {image.height} pixels (width x height) as its annotations say"
        try:
            pixels = picture.convert("RGB")
        except DAMAGES:
            return "", "truncated or damaged"
    except UnusableImage as error:
        return "", str(error)
    for crop in crops:
        # Cut first: the filter must see nothing beyond the edge, which is in no cut-out.
        part = pixels.crop((crop.left, crop.top, crop.left + crop.side, crop.top + crop.side))
        scaled = part.resize((crop.size, crop.size), Image.Resampling.BILINEAR)
        scaled.save(folder / crop.file, format="PNG", compress_level=_FAST)
    return hashlib.blake2b(data, digest_size=16).hexdigest(), ""


def write_index(crops: Sequence[Crop], folder: Path) -> None:
    """Write the index, and a table of where each cut-out is from."""
    told = [name for name in CONDITIONS if any(crop.image.conditions.get(name) for crop in crops)]
    pd.DataFrame([_row(crop, told) for crop in crops]).to_csv(folder / INDEX, index=False)
    pd.DataFrame(
        {
            "path": crop.file,
            "image": crop.image.name,
            "object": crop.object.key,
            "class": crop.object.label,
            "left": crop.left,
            "top": crop.top,
            "side": crop.side,
        }
        for crop in crops
    ).to_csv(folder / SOURCES, sep="\t", index=False)


def _row(crop: Crop, conditions: Sequence[str]) -> Mapping[str, object]:
    return {
        "path": crop.file,
        "label": crop.label,
        "group": crop.image.name,
        "split": crop.split,
        **dict(zip(BOX, crop.box, strict=True)),
        "height": crop.size,
        "width": crop.size,
        **{name: crop.image.conditions.get(name, "") for name in conditions},
        "occluded": "yes" if crop.object.occluded else "no",
        "truncated": "yes" if crop.object.truncated else "no",
        "enlarged": round(crop.size / crop.side, 4),
    }
