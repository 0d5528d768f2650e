"""What a criterion can be about: of each measure what it needs, what values it has, and which end is good."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from farm.comparing.measures import ACCURACY, ENDS, MEASURES, OF_CLASSIFIER, measured
from farm.errors import suggestion
from farm.measures.boxes import BOX_ECE, BOX_IOU, BOX_MAE, BOX_NLL
from farm.measures.certainty import BRIER_MEAN, BRIER_SUM, CONFIDENCE_AUROC
from farm.measures.probability_sums import CLASSIFIER_ECE, CLASSIFIER_NLL

Kind: TypeAlias = Literal[
    "rate",
    "drift",
    "mcc",
    "f1",
    "auroc",
    "mean",
    "calibration",
    "ranking",
    "multiclass",
    "time",
    "delay",
    "misses",
    "false_alarms",
    "bytes",
    "reported",
]
"""How a measure comes about: what has one kind is bounded in one way."""
Need: TypeAlias = Literal[
    "id",
    "ood",
    "labels",
    "answers",
    "scores",
    "confidence",
    "label_probability",
    "boxes",
    "box_spread",
    "image_size",
    "brier",
    "classes",
    "reference",
    "monitor_times",
    "classifier_times",
    "episodes",
    "bytes",
]
"""What the readouts must have: `labels` of all instances, `answers` where some class is the right answer."""
Side: TypeAlias = Literal["id", "ood"]

SIDES: tuple[Side, ...] = ("id", "ood")
PART = "part"
"""The key by which a protocol's results on one measure are told apart."""
ALONG_TIME: tuple[Kind, ...] = ("delay", "misses", "false_alarms")
"""What is measured along whole streams, in their order."""
PAIRED: tuple[Kind, ...] = ("rate", "mcc", "f1")
"""What follows from alarms and decisions alone, all that a baseline keeps of each instance."""
DRAWN: tuple[Kind, ...] = (*PAIRED, "auroc", "mean", "calibration")
"""What is bounded by draws of tracks."""


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
    of_monitors: bool = True
    """Whether each monitor has its own value; else it is the classifier's."""

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
        is_score = _KINDS.get(self.name.rpartition(".")[2]) in ("mean", "calibration")
        return not is_score and (self.lowest, self.highest) == (0.0, 1.0)

    @property
    def is_distribution(self) -> bool:
        """Whether a criterion must say which of its values is meant, such as `p99`."""
        return self.kind in ("time", "delay")

    @property
    def sides(self) -> list[Side]:
        """The sides that a stream must have; a measure that needs one is a share of its instances."""
        return [side for side in SIDES if side in self.needs]

    def has_statistic(self, statistic: str) -> bool:
        """Whether one of its values is called so."""
        if self.kind == "time" and statistic in ("mean", "max"):
            return True
        quantile = re.fullmatch(r"p(\d\d(?:\.\d{1,3})?)", statistic, re.ASCII)
        return quantile is not None and 50 <= float(quantile[1]) <= 99.9

    def refuses_statistic(self, statistic: str | None) -> str | None:
        """Say why it has no value that is called so, or needs one that is said; None if all is well."""
        if not self.is_distribution:
            asked = f"{self.name}.{statistic}"
            return None if statistic is None else f"'{asked}' is not known; {suggestion(asked, [self.name])}"
        known = f"p50 to p99.9{', mean or max' if self.kind == 'time' else ''}"
        if statistic is None:
            each = "instance" if self.kind == "time" else "onset"
            which = f"say which is meant: {known}, such as '{self.name}.p99'"
            return f"'{self.name}' has a value for each {each}; {which}"
        if self.has_statistic(statistic):
            return None
        return f"'{statistic}' of {self.name} is not known; expected {known}"

    def refuses(self, side: Side | None) -> str | None:
        """Say why it cannot be judged on one side of a stream; None if it can."""
        if side is None:
            return None
        if self.kind in ALONG_TIME:
            return f"{self.name} is measured along whole streams"
        if self.kind == "reported":
            return self.refuses_key(side)
        if self.kind == "bytes":
            return f"{self.name} is the same whatever the instances"
        if all(each == side for each in self.sides):
            return None
        if len(self.sides) > 1:
            return f"{self.name} needs ID and OOD instances"
        return f"{self.name} is a share of {self.sides[0].upper()} instances"

    def refuses_key(self, key: str) -> str | None:
        """Say why what is selected cannot depend on a key; None if it can.

        Examples
        --------
        >>> GATED["scenario_coverage"].refuses_key("faultload")
        'a protocol finds it over its whole campaign; expected part:VALUE or each part'
        """
        if (self.kind == "reported") == (key == PART):
            return None
        if key == PART:
            return "only what a protocol finds has parts"
        return f"a protocol finds it over its whole campaign; expected {PART}:VALUE or each {PART}"


_KINDS: Mapping[str, Kind] = {
    "mcc": "mcc",
    "weighted_f1": "f1",
    "auroc": "auroc",
    CONFIDENCE_AUROC: "auroc",
    **dict.fromkeys((BRIER_MEAN, BRIER_SUM, CLASSIFIER_NLL, BOX_MAE, BOX_IOU, BOX_NLL), "mean"),
    **dict.fromkeys((CLASSIFIER_ECE, BOX_ECE), "calibration"),
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
    "risk": ("answers",),
    "availability_cost": ("answers",),
    ACCURACY: ("answers",),
    BRIER_MEAN: ("answers", "brier", "classes"),
    BRIER_SUM: ("answers", "brier"),
    CONFIDENCE_AUROC: ("answers", "confidence"),
    CLASSIFIER_ECE: ("answers", "confidence"),
    CLASSIFIER_NLL: ("answers", "label_probability"),
    BOX_MAE: ("boxes", "image_size"),
    BOX_IOU: ("boxes",),
    **dict.fromkeys((BOX_NLL, BOX_ECE), ("boxes", "box_spread")),
}


def _compared(name: str, higher_is_better: bool) -> Gated:
    kind = _KINDS.get(name.rpartition(".")[2], "rate")
    # The Brier score's mean over classes has the highest value of all where there are two classes.
    lowest, highest = ENDS.get(name, (-1.0 if kind in ("mcc", "multiclass") else 0.0, 1.0))
    labels: tuple[Need, ...] = ("labels",) if "label" in measured(name).needs else ()
    needs = frozenset((*_NEEDS.get(name, ()), *labels))
    of_monitors = not measured(name).of_classifier
    return Gated(name, kind, higher_is_better, lowest, highest, needs, of_monitors=of_monitors)


def _lower(name: str, kind: Kind, highest: float, *needs: Need, **more: bool) -> Gated:
    return Gated(name, kind, False, 0.0, highest, frozenset(needs), **more)


def _reported(
    name: str, higher_is_better: bool, lowest: float, highest: float, measured: bool = False
) -> Gated:
    return Gated(name, "reported", higher_is_better, lowest, highest, measured=measured, of_monitors=False)


_COMPARED = tuple(_compared(name, higher) for name, higher in {**MEASURES, **OF_CLASSIFIER}.items())
OF_RUNS: Mapping[str, Gated] = {
    each.name: each
    for each in (
        *_COMPARED,
        _lower("drift", "drift", 1.0, "scores", "reference"),
        _lower("monitor_time_us", "time", math.inf, "monitor_times"),
        _lower("classifier_time_us", "time", math.inf, "classifier_times", of_monitors=False),
        _lower("detection_delay", "delay", math.inf, "episodes", measured=True),
        _lower("missed_onsets", "misses", 1.0, "episodes"),
        _lower("false_alarms_per_1000", "false_alarms", 1000.0, "episodes", "id"),
        _lower("monitor_bytes", "bytes", math.inf, "bytes", measured=True),
    )
}
"""What runs' own readouts tell: all that `farm compare` compares by, what the classifier is worth, how far
scores have moved, and what is about time and memory."""
REPORTED: Mapping[str, Gated] = {
    each.name: each
    for each in (
        _reported("scenario_coverage", True, 0.0, 1.0, measured=True),
        _reported("neuron_activation", True, 0.0, 1.0, measured=True),
        _reported("neuron_pattern", False, 0.0, 1.0),
        _reported("adversarial_loss", True, -1.0, 1.0),  # negative where confidence falls
        _reported("interpretation_precision", True, 0.0, 1.0),
        _reported("occlusion_covering", False, 0.0, 1.0),
        _reported("weighted_confusion", False, 0.0, math.inf),
        _reported("monitor_coverage", True, 0.0, 1.0, measured=True),
        _reported("scenario.mtbf", True, 0.0, math.inf),
        *(
            _reported(f"scenario.{each.name}", each.higher_is_better, each.lowest, each.highest)
            for each in _COMPARED
        ),
    )
}
"""What a protocol finds over its whole campaign; `scenario.M` is the measure M in cells of scenarios."""
GATED: Mapping[str, Gated] = {**OF_RUNS, **REPORTED}
"""All that a criterion can be about."""
