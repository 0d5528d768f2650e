"""What a network is worth on one stream, as it is judged everywhere, and on classes that are merged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from farm.api import NO_ANSWER, NO_CLASSES
from farm.api.arrays import BoolArray
from farm.comparing.measures import ACCURACY, measured
from farm.judging import JudgedRun
from farm.judging.merging import merged
from farm.measures import Measure
from farm.measures.boxes import BOX_ECE, BOX_IOU, BOX_MAE, BOX_NLL
from farm.measures.certainty import BRIER_SUM
from farm.measures.probability_sums import CLASSIFIER_ECE, CLASSIFIER_NLL
from farm.protocols.uncertainty.asked import MergedSpec
from farm.store.readouts import Readouts

Task: TypeAlias = Literal["classification", "localization"]
CLASSES: Task = "classification"
BOXES: Task = "localization"
MEASURES: Mapping[Task, Mapping[str, str]] = {
    CLASSES: {
        "accuracy": ACCURACY,
        "ece": CLASSIFIER_ECE,
        "nll": CLASSIFIER_NLL,
        "brier": BRIER_SUM,
    },
    BOXES: {"mae": BOX_MAE, "iou": BOX_IOU, "nll": BOX_NLL, "ece": BOX_ECE},
}
"""The measures of each task by the names that results have for them, and by those that records have."""
HIGHER_IS_BETTER = {
    (task, name): measured(of).higher_is_better for task, own in MEASURES.items() for name, of in own.items()
}


class Result(NamedTuple):
    """One measure of one task; `n` is how many instances it is of."""

    task: Task
    measure: str
    value: Measure
    n: int


def results_of(readouts: Readouts, *tasks: Task) -> Iterator[Result]:
    """Yield what a network is worth on a stream; of classes where some instance has a right answer.

    Classes are judged on the instances that have one, and boxes on all.
    """
    for task in tasks:
        instances = readouts.instances
        if task == CLASSES:
            instances = instances[answered(readouts)]
            if instances.empty:
                continue
        record = _judged(instances, readouts)
        for name, of in MEASURES[task].items():
            yield Result(task, name, measured(of).of(record), len(instances))


def answered(readouts: Readouts) -> BoolArray:
    """Return of which instances classes can be judged: none, where a network says where alone."""
    told = NO_CLASSES not in (readouts.run["classifier"].get("notes") or {})
    return np.asarray((readouts.instances["label"] != NO_ANSWER).to_numpy() & told)


def _judged(instances: pd.DataFrame, readouts: Readouts) -> Mapping[str, object]:
    """Judge the classifier alone, all instances together, wherever they are from."""
    together = instances.assign(is_ood=False, faultload=None, category=None, severity=np.nan)
    together = together.assign(position=np.arange(len(together)))
    run = {key: value for key, value in readouts.run.items() if key != "monitors"}
    judged = JudgedRun.of(together, readouts.alarms.iloc[:0], run)
    (part, *_) = judged.parts
    (record,) = judged.records_of(part, bounded=())
    return record


def with_merged_classes(readouts: Readouts, said: MergedSpec) -> Readouts:
    """Return the same of classes that are merged; instances whose class is in no group go."""
    return merged(readouts, said.groups, summed=said.summed)
