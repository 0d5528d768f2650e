"""What a criterion can be about: of each measure what it needs, what values it has, and which end is good."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from farm.comparison.measures import MEASURES

Kind: TypeAlias = Literal[
    "rate",
    "mcc",
    "f1",
    "auroc",
    "ranking",
    "multiclass",
    "time",
    "delay",
    "misses",
    "false_alarms",
    "bytes",
]
"""How a measure comes about: what has one kind is bounded in one way."""
Need: TypeAlias = Literal[
    "id", "ood", "answers", "scores", "monitor_times", "classifier_times", "episodes", "bytes"
]
"""What the readouts must have; `answers` are instances of which some class is the right answer."""
Side: TypeAlias = Literal["id", "ood"]

SIDES: tuple[Side, ...] = ("id", "ood")
ALONG_TIME: tuple[Kind, ...] = ("delay", "misses", "false_alarms")
"""What is measured along whole streams, in their order."""
PAIRED: tuple[Kind, ...] = ("rate", "mcc", "f1")
"""What follows from alarms and decisions alone, all that a baseline keeps of each instance."""
CLASSIFIER = "the classifier"
"""What stands in a monitor's place where a measure is not of monitors."""


@dataclass(frozen=True)
class Gated:
    """A measure that the gate knows.

    Examples
    --------
    >>> GATED["specific.fpr"].refuses("ood")
    'specific.fpr is a share of ID instances'
    >>> GATED["specific.fpr"].refuses("id") is None
    True
    """

    name: str
    kind: Kind
    higher_is_better: bool
    lowest: float = 0.0
    highest: float = 1.0
    needs: frozenset[Need] = frozenset()
    measured: bool = False
    """Whether it is read off rather than inferred: only then can a value at the best end be shown."""

    @property
    def best(self) -> float:
        """The best value there is."""
        return self.highest if self.higher_is_better else self.lowest

    @property
    def worst(self) -> float:
        """The worst value there is."""
        return self.lowest if self.higher_is_better else self.highest

    @property
    def is_share(self) -> bool:
        """Whether its values can be told in per cent."""
        return (self.lowest, self.highest) == (0.0, 1.0)

    @property
    def is_distribution(self) -> bool:
        """Whether a criterion must say which of its values is meant, such as `p99`."""
        return self.kind in ("time", "delay")

    @property
    def statistics(self) -> str:
        """Say which of its values can be asked for."""
        return "p50 to p99.9" + (", mean or max" if self.kind == "time" else "")

    @property
    def counts(self) -> str:
        """Say what it has a value for each of."""
        return "instance" if self.kind == "time" else "onset"

    @property
    def of_monitors(self) -> bool:
        """Whether each monitor has its own value."""
        return "classifier_times" not in self.needs

    def has_statistic(self, statistic: str) -> bool:
        """Whether one of its values is called so."""
        if self.kind == "time" and statistic in ("mean", "max"):
            return True
        quantile = re.fullmatch(r"p(\d\d(?:\.\d{1,3})?)", statistic, re.ASCII)
        return quantile is not None and 50 <= float(quantile[1]) <= 99.9

    def refuses(self, side: Side | None) -> str | None:
        """Say why it cannot be judged on one side of a stream; None if it can."""
        if side is None:
            return None
        if self.kind in ALONG_TIME:
            return f"{self.name} is measured along whole streams"
        if self.kind == "bytes":
            return f"{self.name} is the same whatever the instances"
        asked = [each for each in SIDES if each in self.needs]
        if all(each == side for each in asked):
            return None
        what = (
            "needs ID and OOD instances" if len(asked) > 1 else f"is a share of {asked[0].upper()} instances"
        )
        return f"{self.name} {what}"


_KINDS: Mapping[str, Kind] = {
    "mcc": "mcc",
    "weighted_f1": "f1",
    "auroc": "auroc",
    "aupr": "ranking",
    "fpr_at_95_tpr": "ranking",
    "system_mcc": "multiclass",
}
"""By the last part of the name; all others are rates: shares of instances."""
_BOTH: tuple[Need, ...] = ("id", "ood")
_NEEDS: Mapping[str, tuple[Need, ...]] = {
    # Where no answer is right, each decision is wrong, and nothing that is right could be cancelled.
    "overall.mcc": ("answers",),
    "overall.fpr": ("answers",),
    "overall.precision": ("answers",),
    "specific.mcc": _BOTH,
    "specific.precision": _BOTH,
    "specific.fpr": ("id",),
    "specific.fnr": ("ood",),
    "specific.recall": ("ood",),
    "auroc": (*_BOTH, "scores"),
    "aupr": (*_BOTH, "scores"),
    "fpr_at_95_tpr": (*_BOTH, "scores"),
    "system_mcc": ("answers",),
    "accepted_accuracy": ("answers",),
    "availability_cost": ("answers",),
}


def _compared(name: str, higher_is_better: bool) -> Gated:
    kind = _KINDS.get(name.rpartition(".")[2], "rate")
    lowest = -1.0 if kind in ("mcc", "multiclass") else 0.0
    return Gated(name, kind, higher_is_better, lowest, needs=frozenset(_NEEDS.get(name, ())))


def _lower(name: str, kind: Kind, highest: float, *needs: Need, measured: bool = False) -> Gated:
    return Gated(name, kind, False, 0.0, highest, frozenset(needs), measured)


GATED: Mapping[str, Gated] = {
    each.name: each
    for each in (
        *(_compared(name, higher) for name, higher in MEASURES.items()),
        _lower("monitor_time_us", "time", math.inf, "monitor_times"),
        _lower("classifier_time_us", "time", math.inf, "classifier_times"),
        _lower("detection_delay", "delay", math.inf, "episodes", measured=True),
        _lower("missed_onsets", "misses", 1.0, "episodes"),
        _lower("false_alarms_per_1000", "false_alarms", 1000.0, "episodes", "id"),
        _lower("monitor_bytes", "bytes", math.inf, "bytes", measured=True),
    )
}
"""All that `farm compare` compares by, and what is about time and memory."""
