"""Count once for each stratum; every part's counts are sums of those."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farm import oracle
from farm.api.arrays import NO_ANSWER
from farm.measures import OVERALL, SPECIFIC, Agreement, Counts, system_outcome
from farm.records.parts import Part, Partition
from farm.records.verdicts import Truth, Verdicts


@dataclass(frozen=True)
class Tally:
    """All that can be counted of one monitor on some instances."""

    n: int
    n_ood: int
    unlabelled: int
    alarms: int
    decided: int
    """Instances on which a decision was acted upon."""
    right: int
    """Those of them on which it was right."""
    specific: Counts
    overall: Counts
    classifier: Agreement
    system: Agreement

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.n + other.n,
            self.n_ood + other.n_ood,
            self.unlabelled + other.unlabelled,
            self.alarms + other.alarms,
            self.decided + other.decided,
            self.right + other.right,
            self.specific + other.specific,
            self.overall + other.overall,
            self.classifier + other.classifier,
            self.system + other.system,
        )


def tallies(known: Truth, said: Verdicts, partition: Partition) -> list[Tally]:
    """Count stratum by stratum; `known` and `said` are in the partition's order.

    Where a label or `is_ood` is missing, what would need it is counted all the same and means nothing: that
    the count is to be ignored is what `unlabelled` and `known.why_no_ood` say.
    """
    specific = oracle.specific(said.alarm, known.is_ood)
    overall = oracle.outcomes(known.should_cancel, said.cancelled)
    outcome = system_outcome(known.predicted, said.cancelled) if said.decision is None else said.decision
    decided = outcome != NO_ANSWER
    right = decided & (outcome == known.label)
    counted = []
    for number in range(len(partition.bounds) - 1):
        rows = partition.stratum(number)
        label = known.label[rows]
        counted.append(
            Tally(
                n=len(label),
                n_ood=int(np.count_nonzero(known.is_ood[rows])),
                unlabelled=int(np.count_nonzero(known.unlabelled[rows])),
                alarms=int(np.count_nonzero(said.alarm[rows])),
                decided=int(np.count_nonzero(decided[rows])),
                right=int(np.count_nonzero(right[rows])),
                specific=Counts(**oracle.tally(specific[rows]), wording=SPECIFIC),
                overall=Counts(**oracle.tally(overall[rows]), wording=OVERALL),
                classifier=Agreement.of(label, known.predicted[rows], known.n_classes),
                system=Agreement.of(label, outcome[rows], known.n_classes),
            )
        )
    return counted


def total(counted: list[Tally], part: Part) -> Tally:
    """Sum the strata of a part."""
    first, *rest = (counted[number] for number in part.strata)
    for tally in rest:
        first = first + tally
    return first
