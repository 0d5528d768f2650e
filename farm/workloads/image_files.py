"""Image files as an `ImageSource`: listed at once, decoded on all cores on first need, kept memory-mapped.

Masks that come as image files are decoded likewise, and kept like images.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import PIL
from numpy.typing import NDArray

from farm.api import JSON, BoolArray, Context, Images, IntArray
from farm.workloads.decoding import Layout, UnusableImage, decode, decode_mask, header, read_file
from farm.workloads.problems import Problems

CHUNK = 64
"""Files a task: enough that handing tasks out costs nothing, few enough that little waits in memory."""

A = TypeVar("A")
B = TypeVar("B")
Chunk = tuple[NDArray[Any], list[tuple[int, str]]]
"""What was made of some files, and of which it could not be made, and why."""


class ImageFiles:
    """Files that become one array of 8-bit images; nothing but one header is read before it is needed.

    Decoded images are kept in the context's cache under the content of the files, so that a file that was
    renamed or touched is not decoded again, and one that was changed is.

    Parameters
    ----------
    where
        What messages call the whole.
    paths, names
        Where the files lie, and what messages call them.
    layout
        The size and the channels asked for.
    said
        Height and width that an index says each file has, where it does.
    """

    def __init__(
        self,
        where: str,
        paths: Sequence[str],
        names: Sequence[str],
        layout: Layout,
        context: Context,
        said: IntArray | None = None,
    ) -> None:
        self.where, self._paths, self._names = where, paths, names
        self._layout, self._context, self._said = layout, context, said

    def __len__(self) -> int:
        return len(self._paths)

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height, width: as asked for, else as the first file that can be read has them."""
        if self._layout.size is not None and self._layout.channels is not None:
            return self._layout.channels, *self._layout.size
        problems = Problems()
        for path, name in zip(self._paths, self._names, strict=True):
            try:
                return self._layout.shape_of(*header(read_file(path)))
            except UnusableImage as error:
                problems.add(str(error), [name])
        problems.check(self.where)
        raise AssertionError("no files at all")  # whoever lists files refuses an empty list

    @cached_property
    def pixels(self) -> NDArray[np.uint8]:
        """All images, N x C x H x W; decoded here, or found in the cache."""
        # Not only what decides the pixels: also what decides whether a file is refused.
        key: dict[str, JSON] = {
            "files": self._digest(),
            "shape": self.shape,
            "size": self._layout.size,
            "channels": self._layout.channels,
            "said": None if self._said is None else hashlib.blake2b(self._said.tobytes()).hexdigest(),
            "pillow": PIL.__version__,
        }
        return self._context.cache.mapped("images", key, (len(self), *self.shape), "uint8", self._blocks)

    @cached_property
    def sizes(self) -> IntArray:
        """Height and width of each file, from its header; only boxes and masks need them."""
        if self._said is not None:
            return self._said
        problems = Problems()

        def size_of(i: int) -> tuple[int, int]:
            try:
                return header(read_file(self._paths[i]))[1:]
            except UnusableImage as error:
                problems.add(str(error), [self._names[i]])
                return 0, 0

        sizes = np.array(self._for_all(size_of, "reading sizes"), dtype=np.int64)
        problems.check(self.where)
        return sizes

    def _digest(self) -> str:
        """Hash the content of all files, in order."""

        def digest(i: int) -> bytes:
            try:
                return hashlib.blake2b(read_file(self._paths[i]), digest_size=16).digest()
            except UnusableImage:
                return b""  # decoding tells it, together with whatever else is wrong

        return hashlib.blake2b(b"\x1f".join(self._for_all(digest, "hashing")), digest_size=16).hexdigest()

    def _blocks(self) -> Iterator[NDArray[np.uint8]]:
        def image(i: int) -> NDArray[np.uint8]:
            said = None if self._said is None else (int(self._said[i, 0]), int(self._said[i, 1]))
            return decode(read_file(self._paths[i]), self.shape, self._layout, said)

        yield from self.decoded(lambda act: self._in_order(act, "decoding"), image, self.shape, np.uint8)

    def decoded(
        self,
        on_chunks: Callable[[Callable[[range], Chunk]], Iterable[Chunk]],
        one: Callable[[int], NDArray[Any]],
        shape: Sequence[int],
        kind: type,
        what: str = "",
    ) -> Iterator[NDArray[Any]]:
        """Yield what `one` makes of each file, chunk by chunk; raise in the end where it cannot be made."""
        problems = Problems()

        def chunk(rows: range) -> Chunk:
            made: NDArray[Any] = np.zeros((len(rows), *shape), dtype=kind)
            unusable = []
            for at, i in enumerate(rows):
                try:
                    made[at] = one(i)
                except UnusableImage as error:
                    unusable.append((i, str(error)))
            return made, unusable

        for made, unusable in on_chunks(chunk):
            for i, why in unusable:
                problems.add(why, [what + self._names[i]])
            if not len(
                problems
            ):  # else nothing comes of it, and a damaged header may have asked for terabytes
                yield made
        problems.check(self.where)

    def _for_all(self, act: Callable[[int], B], doing: str) -> list[B]:
        chunks = self._in_order(lambda rows: [act(i) for i in rows], doing)
        return [answer for chunk in chunks for answer in chunk]

    def _in_order(self, act: Callable[[range], B], doing: str) -> Iterator[B]:
        chunks = _chunks(len(self))
        done = on_all_cores(act, chunks)
        return self._context.progress.track(done, f"{self.where}: {doing}", len(chunks))


class FileImages:
    """Some rows of `ImageFiles`: an `ImageSource` that reads from the decoded array."""

    def __init__(self, files: ImageFiles, rows: IntArray) -> None:
        self._files, self._rows = files, rows

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height, width."""
        return self._files.shape

    def __len__(self) -> int:
        return len(self._rows)

    def read(self, indices: IntArray) -> Images:
        """Read these images as float32 in [0, 1]."""
        chosen = np.asarray(self._files.pixels[self._rows[indices]])
        return np.divide(chosen, np.float32(255), dtype=np.float32)


def read_masks(paths: Sequence[str], files: ImageFiles, context: Context) -> BoolArray:
    """Decode one mask an image, resized as the image is."""
    sizes, shape = files.sizes, files.shape
    chunks = _chunks(len(paths))

    def digest(rows: range) -> bytes:
        seen = hashlib.blake2b(digest_size=16)
        for i in rows:
            try:
                seen.update(hashlib.blake2b(read_file(paths[i]), digest_size=16).digest())
            except UnusableImage:
                seen.update(b"?")  # decoding tells it
        return seen.digest()

    def mask(i: int) -> BoolArray:
        return decode_mask(read_file(paths[i]), (int(sizes[i, 0]), int(sizes[i, 1])), shape)

    def blocks() -> Iterator[BoolArray]:
        return files.decoded(
            lambda act: on_all_cores(act, chunks), mask, shape[1:], np.bool_, what="the mask of "
        )

    content = hashlib.blake2b(
        b"".join([sizes.tobytes(), *on_all_cores(digest, chunks)]), digest_size=16
    ).hexdigest()
    key: dict[str, JSON] = {"files": content, "shape": shape[1:], "pillow": PIL.__version__}
    return context.cache.mapped("masks", key, (len(paths), *shape[1:]), "bool", blocks)


def _chunks(n: int) -> list[range]:
    return [range(start, min(start + CHUNK, n)) for start in range(0, n, CHUNK)]


def on_all_cores(act: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
    """Act on each item in threads and give the answers in order; only few of them wait at a time."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    pool = ThreadPoolExecutor(cores)
    waiting: deque[Future[B]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(act, item))
            if len(waiting) > 2 * cores:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        # Ctrl-C, or a consumer that stops: what was not begun is not begun any more.
        pool.shutdown(wait=True, cancel_futures=True)
