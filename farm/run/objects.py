"""What passes before the camera: a source's objects one after another, each seen in its views in a row."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

import numpy as np

from farm.api import IntArray, StrArray, generator


class View(NamedTuple):
    """One image of an object that passes."""

    place: int
    """Its place among the source's images."""
    visit: int
    """How often the image came before."""
    again: bool
    """Whether it stands for a further view of a single picture."""
    object: int
    """The how-manieth object of its source it shows."""
    last: bool
    """Whether it is the object's last view."""


def passing(groups: StrArray, views: int | None, seed: int, pool: int) -> Iterator[View]:
    """Show a source's objects for ever, each pass in another order.

    Objects are the tracks. `views` is how many of each come in a row: of a long track some part, and one that
    is too short is seen again from its start. None is all that there are.
    """
    _, group = np.unique(groups, return_inverse=True)
    tracks = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])
    number = count()
    for turn in count():
        rng = generator(seed, "stream", "pass", pool, turn)
        for i in rng.permutation(len(tracks)).tolist():
            yield from _views(tracks[i], views, turn, next(number), rng)


def _views(
    track: IntArray, views: int | None, turn: int, number: int, rng: np.random.Generator
) -> Iterator[View]:
    if views is None:
        last = len(track) - 1
        yield from (View(int(i), turn, False, number, at == last) for at, i in enumerate(track))
        return
    start = int(rng.integers(0, max(len(track) - views, 0) + 1))
    frames = track[start : start + views]
    for view in range(views):
        visit = turn * views + view // len(frames)
        place = int(frames[view % len(frames)])
        yield View(place, visit, visit % views > 0, number, view == views - 1)
