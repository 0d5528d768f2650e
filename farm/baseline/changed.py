"""Which instances a monitor decides otherwise than its baseline did: what it newly misses, and the like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from farm.api.arrays import BoolArray
from farm.baseline.kept import Kept
from farm.oracle import OUTCOMES, OutcomeCodes, outcomes

Task = Literal["specific", "overall"]
FP, FN = OUTCOMES.index("fp"), OUTCOMES.index("fn")
TASKS: tuple[Task, ...] = ("specific", "overall")


@dataclass(frozen=True)
class Changed:
    """One monitor's instances whose verdict is another than before, of one task.

    A miss is an OOD instance without alarm, or a wrong decision that was not cancelled; a false alarm is an
    alarm on an ID instance, or a right decision that was cancelled.
    """

    monitor: str
    task: Task
    missed_ids: tuple[str, ...]
    """Of those newly missed, in the order of the stream; of several runs with the run's name."""
    newly_missed: int = 0
    no_longer_missed: int = 0
    new_false_alarms: int = 0
    no_longer_false_alarms: int = 0


def changed(pairs: Sequence[tuple[Kept, Kept]], monitor: str) -> list[Changed]:
    """Count over runs, each as it was and as it is now; those without the monitor count for nothing."""
    found = []
    for task in TASKS:
        counts: Counter[str] = Counter()
        ids: list[str] = []
        for before, now in pairs:
            if now.source is None or monitor not in before.bits or monitor not in now.bits:
                continue
            is_ood = now.source.instances["is_ood"].to_numpy(np.bool_)
            was, code = (_outcomes(task, one, monitor, is_ood) for one in (before, now))
            counts["newly_missed"] += int(np.count_nonzero((code == FN) & (was != FN)))
            counts["no_longer_missed"] += int(np.count_nonzero((was == FN) & (code != FN)))
            counts["new_false_alarms"] += int(np.count_nonzero((code == FP) & (was != FP)))
            counts["no_longer_false_alarms"] += int(np.count_nonzero((was == FP) & (code != FP)))
            where, names = f"{now.name}: " if len(pairs) > 1 else "", now.ids or []
            ids += [where + names[place] for place in np.flatnonzero((code == FN) & (was != FN))]
        found.append(Changed(monitor, task, missed_ids=tuple(ids), **counts))
    return found


def _outcomes(task: Task, kept: Kept, monitor: str, is_ood: BoolArray) -> OutcomeCodes:
    said = kept.bits[monitor]
    return outcomes(is_ood, said.alarm) if task == "specific" else outcomes(kept.wrong, said.cancelled)
