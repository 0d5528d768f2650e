"""How soon a monitor noticed the stream's episodes, and how often it cried wolf outside of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farm.api.arrays import BoolArray, IntArray
from farm.measures import undefined
from farm.measures.delay import Episodes
from farm.records.fields import Fields, plain
from farm.records.verdicts import Truth

NAMES = ("false_alarms_per_1000", "detection_delay")


@dataclass(frozen=True)
class Stream:
    """The whole stream, whichever fault a record is about: a delay counts every instance that passes."""

    along: IntArray
    """Row numbers in the order of the stream."""
    episodes: Episodes

    @classmethod
    def of(cls, known: Truth) -> Stream | None:
        """Sort out when things went wrong; None where the stream has no episodes."""
        if known.episode is None:
            return None
        along = np.argsort(known.position)
        return cls(along, Episodes(known.episode[along], known.is_ood[along]))

    def fields(self, alarm: BoolArray) -> Fields:
        """Measure one monitor; its alarms come in the order of the table."""
        alarm = alarm[self.along]
        delays = self.episodes.delays(alarm)
        delay = {
            "median": delays.quantile(0.5),
            "p95": delays.quantile(0.95),
            "p95_bound": delays.bound_of_p95(),
        }
        return {
            "false_alarms_per_1000": self.episodes.false_alarms_per_1000(alarm),
            "detection_delay": {"n": delays.n, "missed": delays.missed, **plain(delay)},
        }


def nothing(why: str) -> Fields:
    """Give the same fields, undefined."""
    return dict.fromkeys(NAMES, undefined(why))
