"""Which few instances of a run a report will show, and which lie in planes of its monitors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from farm.api import NO_ANSWER, BoolArray, FloatArray, IntArray, generator
from farm.measures.parts import Group, partition
from farm.store.pictures import bounded, first_different, shown_frame

ID_SAMPLES, OOD_SAMPLES = 24, 6
"""Labels of which one ID instance is shown, and OOD instances of each group, whatever monitors say."""
IN_PLANE = 80
"""ID instances in a plane at most, and as many OOD ones."""
IN_PLANES_ALONE = 1000
"""Instances in the planes of a run that are not shown besides, at most."""


@dataclass(frozen=True)
class Verdicts:
    """What one monitor said of all instances, in the order of the stream."""

    monitor: str
    trust: FloatArray
    """How far each score is below the threshold."""
    cancelled: BoolArray
    has_plane: bool = False


@dataclass(frozen=True)
class PlaneChoice:
    """The instances of one predicted class, ID and of a group of OOD ones, that are to lie in a plane."""

    monitor: str
    group: Group
    predicted: int
    positions: IntArray


def shown_instances(instances: pd.DataFrame, verdicts: Sequence[Verdicts], n: int) -> pd.DataFrame:
    """Return what is to be shown, without images: samples, and of each monitor `n` of each kind.

    Kinds are the wrong decisions that it let pass (`missed`), the most trusted first, and the right ones that
    it had cancelled, the least trusted first; of ID instances, and of each group of OOD instances.
    """
    wrong = wrong_decisions(instances)
    familiar, groups = strata(instances)
    _, first = np.unique(instances["label"].to_numpy()[familiar], return_index=True)
    lists: list[tuple[str | None, str, IntArray]] = [(None, "id", familiar[first][:ID_SAMPLES])]
    lists += [(None, "ood", rows[:OOD_SAMPLES]) for _, rows in groups]
    for own in verdicts:
        missed, needless = wrong & ~own.cancelled, ~wrong & own.cancelled
        for rows in (familiar, *(rows for _, rows in groups)):
            for why, which, trust in (("missed", missed, own.trust), ("cancelled", needless, -own.trust)):
                found = rows[which[rows]]
                worst = found[np.argsort(-trust[found], kind="stable")][:n]
                lists.append((own.monitor, why, worst))
    return bounded(
        shown_frame(
            (0, position, monitor, why, rank, "")
            for monitor, why, positions in lists
            for rank, position in enumerate(positions.tolist())
        )
    )


def planes(instances: pd.DataFrame, verdicts: Sequence[Verdicts], shown: pd.DataFrame) -> list[PlaneChoice]:
    """Return what lies in each plane: a monitor's, for each group of OOD instances.

    Its class is the one that the group's missed instances are most often predicted as, or all of them where
    none was missed. What is shown of the monitor lies in its plane; the rest is drawn by lot.
    """
    wrong, predicted = wrong_decisions(instances), instances["predicted"].to_numpy()
    familiar, groups = strata(instances)
    found: list[tuple[str, Group, int]] = []
    lists: list[IntArray] = []
    for own in (one for one in verdicts if one.has_plane):
        mine = shown["position"].to_numpy()[(shown["monitor"] == own.monitor).to_numpy()]
        for group, rows in groups:
            missed = rows[(wrong & ~own.cancelled)[rows]]
            label = int(np.bincount(predicted[missed if missed.size else rows]).argmax())
            found.append((own.monitor, group, label))
            lists += [_drawn(each[predicted[each] == label], mine) for each in (familiar, rows)]
    if not lists:
        return []
    position, plane = np.concatenate(lists), np.repeat(np.arange(len(lists)) // 2, [len(x) for x in lists])
    in_turn = np.argsort(np.concatenate([np.arange(len(one)) for one in lists]), kind="stable")
    more = in_turn[~np.isin(position[in_turn], shown["position"].to_numpy())]
    kept = np.ones(len(position), dtype=np.bool_)
    kept[more] = first_different(position[more], IN_PLANES_ALONE)
    return [
        PlaneChoice(*of, positions=np.sort(position[kept & (plane == number)]))
        for number, of in enumerate(found)
    ]


def wrong_decisions(instances: pd.DataFrame) -> BoolArray:
    """Say of each instance whether the classifier's decision is wrong, as it is where no class is right."""
    label, predicted = instances["label"].to_numpy(), instances["predicted"].to_numpy()
    return np.asarray((label == NO_ANSWER) | (predicted != label), dtype=np.bool_)


def strata(instances: pd.DataFrame) -> tuple[IntArray, list[tuple[Group, IntArray]]]:
    """Return the rows of all ID instances, and those of each group of OOD instances, as judging has them."""
    parted = partition(instances, instances["is_ood"].to_numpy(dtype=np.bool_))
    of_groups = [(part.group, parted.rows(part)) for part in parted.parts if part.name == "ood"]
    return parted.strata[0], of_groups


def _drawn(rows: IntArray, first: IntArray) -> IntArray:
    """Return some rows: those that come first, and others by lot, which are the same for all monitors."""
    mixed = rows[generator(0, "pictures", "planes").permutation(len(rows))]
    others = np.setdiff1d(mixed, first, assume_unique=True)
    return np.concatenate([np.intersect1d(rows, first), others])[:IN_PLANE]
