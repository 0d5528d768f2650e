"""Masks that come as image files: decoded with their images' sizes at hand, kept like images."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
import PIL
from numpy.typing import NDArray

from farm.api import JSON, BoolArray, Context
from farm.workloads.decoding import UnusableImage, decode_mask, read_bytes
from farm.workloads.image_files import CHUNK, ImageFiles, on_all_cores
from farm.workloads.problems import Problems


def read_masks(paths: Sequence[str], names: Sequence[str], files: ImageFiles, context: Context) -> BoolArray:
    """Decode one mask an image, resized as the image is; `names` are the images'."""
    sizes, shape = files.sizes, files.shape
    chunks = [range(start, min(start + CHUNK, len(paths))) for start in range(0, len(paths), CHUNK)]

    def digest(rows: range) -> bytes:
        seen = hashlib.blake2b(digest_size=16)
        for i in rows:
            try:
                seen.update(hashlib.blake2b(read_bytes(paths[i]), digest_size=16).digest())
            except UnusableImage:
                seen.update(b"?")  # decoding tells it
        return seen.digest()

    def block(rows: range) -> tuple[NDArray[np.bool_], list[tuple[int, str]]]:
        masks = np.zeros((len(rows), *shape[1:]), dtype=np.bool_)
        unusable = []
        for at, i in enumerate(rows):
            try:
                masks[at] = decode_mask(read_bytes(paths[i]), (int(sizes[i, 0]), int(sizes[i, 1])), shape)
            except UnusableImage as error:
                unusable.append((i, str(error)))
        return masks, unusable

    def blocks() -> Iterator[NDArray[np.bool_]]:
        problems = Problems()
        for masks, unusable in on_all_cores(block, chunks):
            for i, what in unusable:
                problems.add(what, [f"the mask of {names[i]}"])
            yield masks
        problems.check(files.where)

    content = hashlib.blake2b(
        b"".join([sizes.tobytes(), *on_all_cores(digest, chunks)]), digest_size=16
    ).hexdigest()
    key: dict[str, JSON] = {"files": content, "shape": shape[1:], "pillow": PIL.__version__}
    return context.cache.mapped("masks", key, (len(paths), *shape[1:]), "bool", blocks)
