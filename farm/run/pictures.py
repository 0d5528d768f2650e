"""The few images of a run that a report will show: read again once it has run, made small, and explained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from farm.api import Classifier, Images, IntArray, Monitor, Observation, Plane, Progress, Silent, Stream
from farm.errors import one_line, pass_on_ctrl_c
from farm.run.faults import chunk_size
from farm.run.fitting import union_of_layers
from farm.run.picture_choice import PlaneChoice, Verdicts, planes, shown_instances
from farm.run.shared import CallObserver, NoObserver
from farm.run.system import opaque, visit_names
from farm.store.pictures import LARGEST, Pictures
from farm.store.readouts import Readouts

LONGEST = 300
"""Characters that are kept of an explanation."""


class PictureMaker:
    """Makes the pictures of a run: reads a few instances of its stream once more, and asks monitors of them.

    Monitors are those that did not fail, as they were in the run; of yardsticks nothing is shown. One whose
    scores depend on what came before has forgotten it, and is not asked. What a monitor raises costs its
    explanation, or its plane, and nothing else. `watch` is told which monitor is at work.
    """

    def __init__(
        self,
        classifier: Classifier,
        monitors: Sequence[Monitor],
        *,
        progress: Progress | None = None,
        watch: CallObserver | None = None,
    ) -> None:
        self._classifier, self._progress = classifier, progress or Silent()
        self._watch = watch or NoObserver()
        self._monitors = [monitor for monitor in monitors if not monitor.is_yardstick]
        self._asked = [monitor for monitor in self._monitors if not monitor.needs.order]
        self._layers = union_of_layers(self._asked)
        self._members = max((monitor.needs.members for monitor in self._asked), default=0)

    def make(self, readouts: Readouts, stream: Stream, n: int) -> Pictures:
        """Return samples, and of each monitor `n` images of each kind, the worst first."""
        verdicts = self._verdicts(readouts)
        shown = shown_instances(readouts.instances, verdicts, n)
        drawings = [_Drawing(choice) for choice in planes(readouts.instances, verdicts, shown)]
        position, named = shown["position"].to_numpy(), shown["monitor"].to_numpy()
        kept = np.unique(position)
        needed = np.unique(np.concatenate([kept, *(one.choice.positions for one in drawings)]))
        images: list[NDArray[np.uint8]] = []
        reasons = [""] * len(shown)
        visits = _visits(readouts)
        # Of the first alone, to learn the images' size: in chunks, no stream of large ones fills the memory.
        step = chunk_size(stream.at(needed[:1]).images.shape[1:])
        for start in self._progress.track(range(0, len(needed), step), "keeping pictures"):
            places = needed[start : start + step]
            batch = stream.at(places)
            images.append(small(batch.images[np.isin(places, kept)]))
            if not self._asked:
                continue
            names = {"ids": opaque(batch.ids), "track": visit_names(visits[places])}
            seen = self._classifier.observe(batch.images, self._layers, members=self._members, **names)
            for monitor in self._asked:
                self._watch.begin(monitor.name, "explaining")
                try:
                    for row in np.flatnonzero((named == monitor.name) & np.isin(position, places)):
                        at = int(np.searchsorted(places, position[row]))
                        reasons[row] = _reason(monitor, seen.take(slice(at, at + 1)))
                    for drawing in (one for one in drawings if one.choice.monitor == monitor.name):
                        self._draw(drawing, monitor, places, seen)
                finally:
                    self._watch.end()
        shown = shown.assign(picture=np.searchsorted(kept, position), explanation=reasons)
        records = [record for one in drawings if (record := one.record()) is not None]
        return Pictures(np.concatenate(images), shown.astype({"explanation": object}), records)

    def _verdicts(self, readouts: Readouts) -> list[Verdicts]:
        predicted = readouts.instances["predicted"].to_numpy()
        rows = readouts.alarms.groupby("monitor", sort=False).indices
        verdicts = []
        said = readouts.alarms[["score", "cancelled"]]
        for monitor in (one for one in self._monitors if one.name in rows):
            own = said.iloc[rows[monitor.name]]
            trust = monitor.calibration.thresholds(predicted) - own["score"].to_numpy()
            has_plane = monitor in self._asked and type(monitor)._plane is not Monitor._plane
            verdicts.append(Verdicts(monitor.name, trust, own["cancelled"].to_numpy(), has_plane))
        return verdicts

    def _draw(self, drawing: _Drawing, monitor: Monitor, places: IntArray, seen: Observation) -> None:
        choice = drawing.choice
        rows = np.flatnonzero(np.isin(places, choice.positions) & (seen.predicted == choice.predicted))
        if not rows.size or drawing.over:
            return
        try:
            drawing.add(monitor.plane(seen.take(rows)), places[rows])
        except BaseException as error:  # noqa: BLE001 - whatever it raises costs its plane alone
            pass_on_ctrl_c(error)
            drawing.add(None, places[rows])
            self._progress.note(one_line(error))


class _Drawing:
    """A plane while its instances come, some after others."""

    def __init__(self, choice: PlaneChoice) -> None:
        self.choice = choice
        self.over = False
        """Whether the monitor has no such plane."""
        self._plane: Plane | None = None
        self._points: dict[int, list[float]] = {}

    def add(self, plane: Plane | None, positions: IntArray) -> None:
        self._plane, self.over = plane, plane is None
        if plane is None:
            return
        for position, point in zip(positions.tolist(), plane.points, strict=True):
            if np.isfinite(point).all():
                self._points[position] = _short(point)

    def record(self) -> dict[str, Any] | None:
        """Return it as JSON; None where there is nothing to be seen."""
        if self._plane is None or not self._points:
            return None
        group = self.choice.group
        return {
            "monitor": self.choice.monitor,
            "faultload": group.faultload,
            "category": group.category,
            "severity": group.severity,
            "predicted": self.choice.predicted,
            "axes": list(self._plane.axes),
            "boxes": [_short(box) for box in self._plane.boxes if np.isfinite(box).all()],
            "points": list(self._points.values()),
            "positions": list(self._points),
        }


def in_bytes(images: Images) -> NDArray[np.uint8]:
    """Return images as bytes, N x H x W x C, each value rounded to the next of 256 levels."""
    pixels: NDArray[np.uint8] = np.rint(images * np.float32(255)).astype(np.uint8).transpose(0, 2, 3, 1)
    return pixels


def small(images: Images) -> NDArray[np.uint8]:
    """Return images as a screen shows them, N x H x W x C, no side longer than `LARGEST`.

    Of more than three channels the first three are shown, and of two the first.

    Examples
    --------
    >>> small(np.ones((2, 3, 256, 100), np.float32)).shape
    (2, 128, 50, 3)
    """
    n, channels, height, width = images.shape
    pixels = np.ascontiguousarray(in_bytes(images)[..., : 3 if channels >= 3 else 1])
    scale = LARGEST / max(height, width)
    if scale >= 1:
        return pixels
    size = max(round(width * scale), 1), max(round(height * scale), 1)
    pictures = (Image.fromarray(one.squeeze(2) if one.shape[2] == 1 else one) for one in pixels)
    made = [np.asarray(picture.resize(size, Image.Resampling.BILINEAR)) for picture in pictures]
    return np.array(made, dtype=np.uint8).reshape(n, size[1], size[0], pixels.shape[3])


def _reason(monitor: Monitor, one: Observation) -> str:
    """Return a monitor's reason for one score, on a line that is not too long, or why there is none."""
    try:
        (told,) = monitor.explain(one)
        text = " ".join(str(told.reason).split())
    except BaseException as error:  # noqa: BLE001 - the readouts stand, whether or not somebody can say why
        pass_on_ctrl_c(error)
        text = f"not explained: {one_line(error)}"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _visits(readouts: Readouts) -> IntArray:
    """Return the number of the visit that each instance belongs to; see `farm.run.system.Visits`."""
    track = readouts.instances[["workload", "track"]]
    return np.cumsum((track != track.shift()).any(axis=1).to_numpy()) - 1


def _short(numbers: Any) -> list[float]:
    """Return numbers with as many digits as anybody sees."""
    return [float(f"{number:.6g}") for number in numbers]
