"""Count once for each stratum; every part's counts are sums of those."""

from __future__ import annotations

from farm.measures.tally import Tally
from farm.records.parts import Part, Partition
from farm.records.verdicts import Truth, Verdicts


def tallies(known: Truth, said: Verdicts, partition: Partition) -> list[Tally]:
    """Count stratum by stratum; `known` and `said` are in the partition's order.

    Where `is_ood` is missing, what would need it means nothing: `known.why_no_ood` says so.
    """
    strata = [partition.stratum(number) for number in range(len(partition.bounds) - 1)]
    return [
        Tally.of(
            known.label[rows],
            known.predicted[rows],
            known.is_ood[rows],
            said.alarm[rows],
            said.cancelled[rows],
            None if said.decision is None else said.decision[rows],
            unlabelled=known.unlabelled[rows],
            n_classes=known.n_classes,
        )
        for rows in strata
    ]


def total(counted: list[Tally], part: Part) -> Tally:
    """Sum the strata of a part."""
    first, *rest = (counted[number] for number in part.strata)
    for tally in rest:
        first = first + tally
    return first
