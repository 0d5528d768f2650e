"""Novelty: images of classes that the classifier was never taught."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from farm.api import (
    NO_ANSWER,
    DrawKeys,
    FaultContext,
    Faulted,
    Faultload,
    FaultTargets,
    FloatArray,
    Images,
    IntArray,
    OODImages,
    StrArray,
    Workload,
    check_choice,
    cut_by_group,
    generator,
)
from farm.errors import ParameterError
from faultloads._classes import Same, class_number, class_pairs
from faultloads._conditions import check_where, under_conditions
from faultloads._resizing import resized


class Novelty(Faultload):
    """Another workload's images; classes that both share are left out or mapped, never counted as novel.

    Its images need no classes, no training data and no number of images a class: a flat folder, an npz file
    with `x_test` alone and an index without labels are enough, and images without a class are all novel.

    Parameters
    ----------
    workload
        The other workload: a name, or a mapping with its name and parameters.
    shared
        `leave-out` drops classes that both workloads have; `map` keeps them with the label they have here.
        A mapped instance has a right answer, so its category is `shift`.
    same
        Which of its classes are which of ours, beyond those of equal name: `{theirs: ours}`, by name or
        number; also as pairs, `[[theirs, ours]]`, which keep a number apart from a name in a run's record.
    same_by_workload
        The pairs of `same` for each of several ID workloads, by their names: in a campaign over workloads.
    where
        Only images under these conditions: by a condition's name its value, or a list of values, such as
        `{weather: [snow, fog]}`. All others are as if they were not there.
    split
        Which of its splits gives the images. Without a test split beside training data, `test` is all of
        its images, each once.
    half
        Of images without splits, the `first` or the `second` half, cut by groups: outliers to learn from, and
        others to be judged on.
    resize
        Bring its images to the size and channels of ours, where they have others: bilinear, antialiased when
        they shrink; grey becomes three equal channels, and colours become grey. Otherwise that is an error.

    Examples
    --------
    >>> Novelty(workload="signs-abroad").parameters["shared"]
    'leave-out'
    """

    category = "novelty"
    coherence = "track"  # what it is stays the same for as long as it is seen
    objects = "stay"
    reference = "Ferreira et al.: Report on first version of a benchmark for safety monitoring, 2020, 4.1"

    def __init__(
        self,
        *,
        workload: str | Mapping[str, Any],
        shared: str = "leave-out",
        same: Same | None = None,
        same_by_workload: Mapping[str, Sequence[Sequence[str | int]]] | None = None,
        where: Mapping[str, Any] | None = None,
        split: str = "test",
        half: str | None = None,
        resize: bool = False,
    ) -> None:
        if half is not None:
            check_choice("half", half, ("first", "second"))
        check_choice("shared", shared, ("leave-out", "map"))
        check_choice("split", split, ("test", "train", "validation"))
        self._workload, self._shared, self._split = workload, shared, split
        self._same = class_pairs("same", same)
        self._same_by_workload = {
            name: class_pairs(f"same_by_workload.{name}", pairs)
            for name, pairs in (same_by_workload or {}).items()
        }
        self._half, self._resize, self._where = half, resize, check_where(where)

    def _prepare(self, context: FaultContext) -> FaultTargets:
        ours, theirs = context.workload, context.load_ood(self._workload, self._split)
        if theirs.name == ours.name:
            raise ParameterError(
                f"workload: both are called '{ours.name}', so that their classes would count as the same; "
                "expected another workload: give it a name of its own with 'as', or a title"
            )
        known = self._known_classes(ours, theirs)
        split, notes = theirs.images, theirs.notes
        if self._where:
            split = split.rows(np.flatnonzero(under_conditions(theirs, self._where)))
            notes = {**notes, "where": self._where, "left_out_by_where": len(theirs.images) - len(split)}
        if self._resize and split.images.shape != ours.shape:
            notes = {**notes, "resized_from": list(split.images.shape)}
            split = resized(split, ours.shape)
        labels = np.append(known, NO_ANSWER)[split.labels]  # -1, no class, is the last
        keep = np.arange(len(split)) if self._shared == "map" else np.flatnonzero(labels == NO_ANSWER)
        if self._half is not None:
            halves = cut_by_group(np.zeros(len(split), np.int64), split.groups, 0.5, generator(0, "halves"))
            keep = np.intersect1d(keep, halves[("first", "second").index(self._half)])
        shared = [theirs.classes[i] for i in np.flatnonzero(known != NO_ANSWER)]
        return FaultTargets(
            split=split,
            workload=theirs.name,
            indices=keep,
            labels=labels[keep],
            category=np.where(labels[keep] == NO_ANSWER, self.category, "shift"),
            notes={
                "shared_classes": shared,
                "shared": self._shared,
                "left_out": len(theirs.images) - len(keep),
                "novel": int((labels[keep] == NO_ANSWER).sum()),
                **notes,
            },
        )

    def _apply(
        self, images: Images, labels: IntArray, ids: StrArray, severity: FloatArray, keys: DrawKeys
    ) -> Faulted:
        del ids, severity, keys  # the fault is where the image comes from
        return Faulted(images, labels)

    def _known_classes(self, ours: Workload, theirs: OODImages) -> IntArray:
        """Return our label for each of their classes, -1 where we have none."""
        number = {name: i for i, name in enumerate(ours.classes)}
        known = np.array([number.get(name, NO_ANSWER) for name in theirs.classes], dtype=np.int64)
        # By the name of its data, or by what an experiment calls it.
        names = dict.fromkeys([ours.name, str(ours.recipe.get("name"))])
        by_name = [pair for name in names for pair in self._same_by_workload.get(name, ())]
        for foreign, own in (*self._same, *by_name):
            known[class_number(theirs, foreign, "same")] = class_number(ours, own, "same")
        return known
