"""Readouts as of a classifier that tells fewer classes apart: its own, put together in groups.

Data that know fewer classes than the classifier are judged so: where a set has vehicles, each of car, lorry
and bus is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from farm.api.arrays import NO_ANSWER, BoolArray, FloatArray, IntArray
from farm.errors import DataError, ParameterError, suggestion
from farm.measures.calibration import brier_of, label_probabilities, sums_of_squares
from farm.store.class_probabilities import probability_frame, without_probabilities
from farm.store.readouts import Readouts

OTHER = "other"
"""What the classes in no group are together."""


def merged(
    readouts: Readouts,
    groups: Mapping[str, Sequence[str]],
    *,
    summed: bool = True,
    complete: bool = False,
) -> Readouts:
    """Return readouts whose classes are groups of the classifier's, for whatever judges readouts.

    Classes in no group are together `other`, the last class, which is never the right answer: instances whose
    label is one of them are left out. Those without a right answer (-1) stay, so that boxes are judged of
    them. Nothing is normalised anew. Scores, alarms, boxes, times and what faults measured stay as they are;
    the decision of a fallback becomes the group of its class.

    Where instances are left out, the rest is no stream, and episodes are not told. Of a monitor with a
    threshold for each class the calibration is not told once classes are put together. Layers, pictures, heat
    maps and what images could be made again from stay behind.

    Parameters
    ----------
    readouts
        Of a run that kept the probabilities of all classes.
    groups
        The new classes in their order, each with the classes of the classifier that it is made of.
    summed
        Whether the probabilities of a group's classes are added up, and the group with the greatest sum is
        predicted, with that as the confidence. Otherwise the likeliest class comes first, and its group is
        predicted, with the probability of that class; any group's is then the greatest of its classes.
    complete
        Whether a label in no group is an error.

    Notes
    -----
    `brier` is the squared distance to the truth, summed over the groups and `other`, from 0 to 2. Unless
    `summed`, it is that of numbers that sum to less than 1: whoever is torn between two classes of the right
    group pays for that. It is no proper score then, and not to be compared with that of sums.

    Examples
    --------
    >>> from farm.testing import make_readouts
    >>> said = probability_frame(np.array([[0.4, 0.3, 0.3], [0.1, 0.2, 0.7]]), ["walker", "car", "bus"])
    >>> known = {"label": [1, 0], "predicted": [0, 2], "confidence": [0.4, 0.7]}
    >>> made = make_readouts({"odin": [0, 1]}, run={"classes": ["walker", "car", "bus"]}, **known, **said)
    >>> found = merged(made, {"vehicle": ["car", "bus"], "person": ["walker"]})
    >>> found.instances[["label", "predicted", "confidence", "label_probability"]].round(2).to_dict("list")
    {'label': [0, 1], 'predicted': [0, 0], 'confidence': [0.6, 0.9], 'label_probability': [0.6, 0.1]}
    """
    old, given = readouts.instances, readouts.probabilities
    grouping = _Grouping.of(groups, readouts.run["classes"])
    label = old["label"].to_numpy(np.int64)
    kept = grouping.number[label] < len(groups)
    if complete and not kept.all():
        raise _ungrouped(readouts, kept)
    if not kept.any():
        raise DataError(
            f"groups: none of the {len(old):,} instances has a label in any; expected classes of these data"
        )
    instances = old.loc[kept, without_probabilities(old.columns)].reset_index(drop=True)
    if not kept.all():
        instances = instances.drop(columns="episode", errors="ignore")
    instances["label"] = label = grouping.number[label[kept]]
    instances["predicted"] = grouping.number[instances["predicted"].to_numpy()]
    shares = grouping.shares(given[kept], summed=summed)
    if grouping.puts_together:
        if summed:
            instances["predicted"], instances["confidence"] = shares.argmax(axis=1), shares.max(axis=1)
        instances["label_probability"] = likely = label_probabilities(shares, label)
        instances["brier"] = brier_of(sums_of_squares(shares), likely)
    run = {
        **{key: value for key, value in readouts.run.items() if key != "experiment"},
        "classes": list(grouping.classes),
        "monitors": [grouping.monitor(note) for note in readouts.run.get("monitors") or ()],
        "merged": {"groups": {group: list(own) for group, own in groups.items()}, "summed": summed},
    }
    columns = probability_frame(shares.astype(np.float32), grouping.classes)
    alarms = _alarms(readouts.alarms, instances, grouping.number)
    return Readouts(pd.concat([instances, columns], axis=1), alarms, run)


@dataclass(frozen=True, eq=False)
class _Grouping:
    """What becomes of each class."""

    classes: tuple[str, ...]
    """The groups, and `other` where a class is in none."""
    number: IntArray
    """The new number of each class; behind the last is that of -1, which stays."""

    @classmethod
    def of(cls, groups: Mapping[str, Sequence[str]], classes: Sequence[str]) -> _Grouping:
        """Take what a user says, checked."""
        if not groups:
            raise ParameterError(
                "groups is empty; expected new classes, each with a list of the classifier's"
            )
        places = {name: place for place, name in enumerate(classes)}
        number = np.full(len(classes) + 1, len(groups))
        number[NO_ANSWER] = NO_ANSWER
        for new, (group, members) in enumerate(groups.items()):
            if not isinstance(group, str) or group == OTHER:
                raise ParameterError(
                    f"groups: a group is called {group!r}; expected another name, as text: '{OTHER}' is what "
                    "the classes in no group are together"
                )
            if isinstance(members, str) or not isinstance(members, Sequence) or not members:
                raise ParameterError(
                    f"groups.{group} is {members!r}; expected a list of the classifier's classes"
                )
            for name in members:
                if not isinstance(name, str) or name not in places:
                    hint = suggestion(str(name), classes)
                    raise ParameterError(f"groups.{group}: {name!r} is no class of the classifier; {hint}")
                if (before := number[places[name]]) != len(groups):
                    first = list(groups)[before]
                    raise ParameterError(
                        f"groups.{group}: class '{name}' is in '{first}' already; expected it once"
                    )
                number[places[name]] = new
        rest = (OTHER,) if (number == len(groups)).any() else ()
        return cls((*groups, *rest), number)

    @property
    def puts_together(self) -> bool:
        """Whether a new class has several of the classifier's; otherwise all that it told holds."""
        return len(self.classes) < len(self.number) - 1

    def shares(self, given: NDArray[np.float32], *, summed: bool) -> FloatArray:
        """Return each new class's probability: the sum of its classes', or the greatest of these."""
        found = np.empty((len(given), len(self.classes)))
        for new in range(len(self.classes)):
            own = given[:, self.number[:-1] == new]
            found[:, new] = own.sum(axis=1, dtype=np.float64) if summed else own.max(axis=1)
        return found

    def monitor(self, note: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what is noted of a monitor; thresholds of classes go where these go."""
        calibration = note.get("calibration") or {}
        if not (thresholds := calibration.get("per_class")):
            return note
        if self.puts_together:
            return {**note, "calibration": None}
        own = [thresholds[place] for place in np.argsort(self.number[:-1])]
        return {**note, "calibration": {**calibration, "per_class": own}}


def _alarms(alarms: pd.DataFrame, instances: pd.DataFrame, number: IntArray) -> pd.DataFrame:
    """Return the alarms on these instances, with what is acted upon in new classes."""
    rows = pd.Index(instances["position"]).get_indexer(pd.Index(alarms["position"]))
    found: pd.DataFrame = alarms[rows >= 0].reset_index(drop=True)
    if "decision" in found:
        predicted = instances["predicted"].to_numpy()[rows[rows >= 0]]
        cancelled = found["cancelled" if "cancelled" in found else "alarm"].to_numpy(np.bool_)
        found["decision"] = np.where(cancelled, number[found["decision"].to_numpy()], predicted)
    return found


def _ungrouped(readouts: Readouts, kept: BoolArray) -> DataError:
    """Tell of labels that are in no group, with the first."""
    first = readouts.instances.loc[~kept].iloc[0]
    name = readouts.run["classes"][int(first["label"])]
    place = f"{readouts.run.get('folder', 'the run')}, instance '{first.get('id', first['position'])}'"
    return DataError(
        f"{place}: the label '{name}' is in no group, and so it is with {int((~kept).sum()):,} of "
        f"{len(kept):,} instances; expected each label in one: add its class, or leave `complete` out"
    )
