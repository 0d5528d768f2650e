"""Whether what was selected has what a measure needs; that it has not is an error, never a pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from farm.api.arrays import NO_ANSWER
from farm.check.criterion import Criterion
from farm.check.ground import Piece, RunRows
from farm.check.measures import Need
from farm.measures import OUTSIDE
from farm.measures.delay import begun


@dataclass(frozen=True, eq=False)
class Found:
    """What was selected for a verdict."""

    pieces: Sequence[Piece]
    runs: Sequence[RunRows]
    monitors: Sequence[str]
    """Those that did not fail."""


def check_needs(criterion: Criterion, found: Found) -> None:
    """Check that there is all that the measure needs."""
    for need, missing in _MISSING.items():
        if need not in criterion.gated.needs:
            continue
        for why in missing(found):
            raise criterion.error(f"{criterion.measure} {why}{_hint(criterion, need, found)}")


def _hint(criterion: Criterion, need: Need, found: Found) -> str:
    """Say how to leave out what cannot be judged, where something else can."""
    side_free = criterion.selection.side is None and criterion.gated.refuses("ood") is None
    some = any(piece.stream.is_ood.any() for piece in found.pieces)
    return "; 'on ood' leaves such streams out" if need == "ood" and side_free and some else ""


def _id(found: Found) -> Iterator[str]:
    for piece in found.pieces:
        if piece.stream.is_ood.all():
            yield f"needs ID instances, and 'is_ood' is true for all {piece.size}"


def _ood(found: Found) -> Iterator[str]:
    for piece in found.pieces:
        if not piece.stream.is_ood.any():
            yield f"needs OOD instances, and 'is_ood' is false for all {piece.size}"


def _answers(found: Found) -> Iterator[str]:
    for piece in found.pieces:
        if (piece.labels == NO_ANSWER).all():
            yield f"needs instances that have a right answer, and 'label' is -1 for all {piece.size}"


def _scores(found: Found) -> Iterator[str]:
    for piece in found.pieces:
        for monitor in found.monitors:
            if piece.stream.said[monitor].score is None:
                yield (
                    f"needs scores, and 'score' is missing for alarms of monitor '{monitor}' in "
                    f"{piece.run.name}; name others with 'for'"
                )


def _monitor_times(found: Found) -> Iterator[str]:
    for run in found.runs:
        for monitor in found.monitors:
            if _untimed(run.alarms(monitor), "monitor_time_us"):
                yield (
                    f"needs times, and 'monitor_time_us' is missing for all alarms of monitor '{monitor}' in "
                    f"{run.run.name}"
                )


def _classifier_times(found: Found) -> Iterator[str]:
    for run in found.runs:
        if _untimed(run.instances, "classifier_time_us"):
            yield f"needs times, and 'classifier_time_us' is missing for all instances of {run.run.name}"


def _episodes(found: Found) -> Iterator[str]:
    for run in found.runs:
        instances = run.instances
        if "episode" not in instances:
            yield f"needs a stream with onsets, and {run.run.name} has no column 'episode'"
            continue
        episode = instances["episode"].to_numpy(np.int64)
        if (begun(episode, instances["is_ood"].to_numpy(np.bool_)) == OUTSIDE).all():
            order = f" in the order '{run.run.order}'" if run.run.order else ""
            yield f"needs onsets, and by 'episode' the stream of {run.run.name}{order} has none"


def _bytes(found: Found) -> Iterator[str]:
    for run in found.runs:
        for monitor in found.monitors:
            if run.run.monitors[monitor].nbytes is None:
                yield f"needs the size of monitor '{monitor}', and 'nbytes' is not noted in {run.run.name}"


def _untimed(table: pd.DataFrame, column: str) -> bool:
    return column not in table or bool(table[column].isna().all())


_MISSING: Mapping[Need, Callable[[Found], Iterator[str]]] = {
    "id": _id,
    "ood": _ood,
    "answers": _answers,
    "scores": _scores,
    "monitor_times": _monitor_times,
    "classifier_times": _classifier_times,
    "episodes": _episodes,
    "bytes": _bytes,
}
