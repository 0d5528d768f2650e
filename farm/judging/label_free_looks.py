"""Accuracies without labels as small tables: of a log, and of the faults of runs whose labels are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from farm.errors import DataError
from farm.judging.inspection import Look, LookCell
from farm.judging.label_free import SampledRun
from farm.judging.label_free_errors import FaultErrors, fault_errors, mean_error, sentences, uneven_means
from farm.statistics.label_free.estimates import METHODS, SAME, LabelFree
from farm.store.readouts import Readouts

INTERVALS = "95 % intervals by draws of whole tracks of both samples"
MEANING = "how far an estimate varies, not how far what its method takes for granted is from true"


def label_free_looks(runs: Sequence[Readouts]) -> Iterator[Look]:
    """Look at how far each method was off under each fault of some runs."""
    sampled = [SampledRun.of(each) for each in runs]
    faults = fault_errors(sampled)
    if not faults:
        places = ", ".join(each.called for each in sampled[:2])
        raise DataError(
            f"--label-free: {places}: no labelled OOD instances; expected some, on which estimates without "
            "labels can be held against the truth"
        )
    yield errors_look(faults)


def errors_look(faults: Sequence[FaultErrors]) -> Look:
    """Show by how much each method's estimate exceeded the truth under each fault."""
    rows: list[tuple[LookCell, ...]] = [
        (each.name, each.n, each.truth, *(each.errors[name] for name in METHODS)) for each in faults
    ]
    notes = [*sentences(faults), f"{INTERVALS}; surely: by the whole interval"]
    if len(faults) > 1:
        means = (mean_error(faults, name) for name in METHODS)
        rows.append(("mean, whichever way", sum(each.n for each in faults), None, *means))
        notes += uneven_means(faults)
    return Look(
        "Accuracy without labels: estimate minus truth under each fault, from labelled ID instances",
        ("fault", "n", "accuracy", *METHODS.values()),
        rows,
        tuple(notes),
    )


def estimates_look(
    name: str, reference: str, n_reference: int, found: LabelFree, faults: Sequence[FaultErrors]
) -> Look:
    """Show what each method says of a log, beside how far it was off under the reference's faults."""
    rows: list[tuple[LookCell, ...]] = []
    for method, called in METHODS.items():
        own: list[LookCell] = [called, found.accuracy[method]]
        rows.append((*own, mean_error(faults, method)) if faults else tuple(own))
    used = found.effective_tracks
    weighed = (
        [f"weighting: the reference tells as much as {used.value:.3g} tracks of one weight"]
        if used.defined
        else []
    )
    return Look(
        f"Accuracy without labels: {name}, from {n_reference:,} labelled instances of {reference}",
        ("method", "accuracy", *(("mean error under faults",) if faults else ())),
        rows,
        (
            *weighed,
            *uneven_means(faults),
            f"{INTERVALS}: {MEANING}",
            f"{METHODS[SAME]}: the accuracy on {reference} itself",
        ),
    )
