"""What monitors can be compared by, and which end of each measure is the good one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from farm.errors import ExperimentError, suggestion
from farm.judging.record import RANKED
from farm.measures import Measure, undefined
from farm.measures.boxes import BOX_ECE, BOX_IOU, BOX_MAE, BOX_NLL, LOCALIZATION, MOST_ECE
from farm.measures.calibration import MOST_BRIER
from farm.measures.certainty import BRIER_MEAN, BRIER_SUM, CONFIDENCE_AUROC
from farm.measures.probability_sums import CLASSIFIER_ECE, CLASSIFIER_NLL

CLASSIFIER = "the classifier"
"""What stands in a monitor's place where a measure is not of monitors."""


@dataclass(frozen=True)
class Measured:
    """A measure by its place in a record, such as `overall.mcc`."""

    name: str
    higher_is_better: bool

    @property
    def along_time(self) -> bool:
        """Whether it is of the onsets or the quiet instances of whole streams."""
        return self.name in ALONG_TIME

    @property
    def of_classifier(self) -> bool:
        """Whether it is the classifier's own, the same whatever the monitor."""
        return self.name in OF_CLASSIFIER

    @property
    def depends_on_share(self) -> bool:
        """Whether the same monitor has another value where the share of OOD instances is another."""
        task, _, rate = self.name.rpartition(".")
        return self.name not in (*RATES, *ALONG_TIME) and (task, rate) not in {
            ("specific", each) for each in RATES
        }

    @property
    def needs(self) -> tuple[str, ...]:
        """What has to be known of all instances: `label`, `is_ood`, or neither."""
        if self.along_time or self.name in RANKED or self.name.startswith("specific."):
            return ("is_ood",)
        return () if self.name in ("coverage", "alarm_rate", *LOCALIZATION) else ("label",)

    def of(self, record: Mapping[str, Any]) -> Measure:
        """Take it out of a record.

        Examples
        --------
        >>> measured("overall.fnr").of({"overall": {"fnr": None, "undefined": {"fnr": "no mistakes"}},
        ...                             "undefined": {}})
        Measure(value=nan, reason='no mistakes')
        """
        place: Mapping[str, Any] = record
        *path, last = ALONG_TIME.get(self.name, self.name).split(".")
        for step in path:
            why = place["undefined"].get(step)
            if why is not None:
                return undefined(why)
            place = place[step]
        value = place[last]
        return undefined(place["undefined"][last]) if value is None else Measure(float(value))


def _task(name: str) -> dict[str, bool]:
    better = {"mcc": True, "precision": True, "recall": True, "micro_f1": True, "weighted_f1": True}
    worse = {"error": False, "fpr": False, "fnr": False}
    return {f"{name}.{measure}": higher for measure, higher in (better | worse).items()}


RATES = ("fpr", "fnr", "recall", "auroc", "fpr_at_95_tpr")
"""Of ID or of OOD instances alone, or of pairs of both: the share of OOD is no matter."""

MEASURES: Mapping[str, bool] = {
    **_task("overall"),
    **_task("specific"),
    "auroc": True,
    "aupr": True,
    "fpr_at_95_tpr": False,
    "system_mcc": True,
    "coverage": True,
    "alarm_rate": False,
    "accepted_accuracy": True,
    "risk": False,
    "safety_gain": True,
    "residual_hazard": False,
    "availability_cost": False,
}
"""Each measure, and whether higher is better."""


ALONG_TIME: Mapping[str, str] = {
    "detection_delay": "detection_delay.median",
    "cancellation_delay": "cancellation_delay.median",
    "missed_onsets": "detection_delay.missed_share",
    "false_alarms_per_1000": "false_alarms_per_1000",
}
"""What streams in which faults begin can be compared by, with its place in a record; lower is better."""


ACCURACY = "classifier_accuracy"
OF_CLASSIFIER: Mapping[str, bool] = {
    ACCURACY: True,
    BRIER_MEAN: False,
    BRIER_SUM: False,
    CONFIDENCE_AUROC: True,
    CLASSIFIER_ECE: False,
    CLASSIFIER_NLL: False,
    BOX_MAE: False,
    BOX_IOU: True,
    BOX_NLL: False,
    BOX_ECE: False,
}
"""What the classifier itself is worth, and whether higher is better: no monitor has a part in it."""


ENDS: Mapping[str, tuple[float, float]] = {
    BRIER_SUM: (0.0, MOST_BRIER),
    CLASSIFIER_NLL: (0.0, math.inf),
    BOX_MAE: (0.0, math.inf),
    BOX_NLL: (-math.inf, math.inf),
    BOX_ECE: (0.0, MOST_ECE),
}
"""The lowest and the highest value of those of them that are not from 0 to 1."""


def measured(name: str) -> Measured:
    """Find a measure by its name."""
    known = {**MEASURES, **dict.fromkeys(ALONG_TIME, False), **OF_CLASSIFIER}
    if name not in known:
        raise ExperimentError(f"--measure '{name}' is not known; {suggestion(name, known)}")
    return Measured(name, known[name])
