"""What networks said against what there was, level by level: the numbers of reliability diagrams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from farm.api import NO_ANSWER
from farm.judging.boxes import boxes_of
from farm.measures.boxes import why_no_boxes
from farm.measures.calibration import reliability
from farm.protocols.uncertainty.measured import BOXES, CLASSES, Task
from farm.protocols.uncertainty.results import Results
from farm.protocols.uncertainty.wording import named
from farm.store.readouts import Readouts

WORST = 2
"""So many shifts are shown beside the test data."""


def least_calibrated(results: Results, task: Task) -> list[str]:
    """Return the shifts with the highest calibration errors, averaged over networks, the worst first."""
    frame = results.frame
    own = frame[(frame["task"] == task) & (frame["measure"] == "ece") & frame["value"].map(np.isfinite)]
    means = own[own["shift"].isin(results.shifts_of(task))].groupby("shift")["value"].mean()
    return [str(name) for name in means.sort_values(ascending=False, kind="stable").index[:WORST]]


def reliability_frame(results: Results, task: Task, streams: Sequence[str]) -> pd.DataFrame:
    """Return what the first repetition of each network said, and what there was."""
    first = results.streams.seeds[0]
    rows = [
        {"network": named(network.kind), "stream": stream, "said": said, "was": was}
        for kind in results.streams.kinds
        for stream in streams
        for (network, at, of), readouts in results.judged.items()
        if (network.kind, network.seed, at, of) == (kind, first, stream, task)
        for said, was in _POINTS[task](readouts)
    ]
    return pd.DataFrame(rows, columns=["network", "stream", "said", "was"])


def _of_classes(readouts: Readouts) -> Iterator[tuple[float, float]]:
    """Yield the mean confidence and the accuracy of each bin that has instances."""
    instances = readouts.instances[(readouts.instances["label"] != NO_ANSWER).to_numpy()]
    right = (instances["predicted"] == instances["label"]).to_numpy()
    for one in reliability(instances["confidence"].to_numpy(), right):
        if one.n:
            yield one.confidence.value, one.accuracy.value


def _of_boxes(readouts: Readouts) -> Iterator[tuple[float, float]]:
    """Yield levels and, averaged over the four sides, the shares of targets below."""
    boxes = boxes_of(readouts.instances)
    if boxes is None or why_no_boxes(boxes, spread=True):
        return
    for levels in zip(*boxes.tables().values(), strict=True):
        yield levels[0].level, float(np.mean([one.share.value for one in levels]))


_POINTS = {CLASSES: _of_classes, BOXES: _of_boxes}
