"""The tables of an OD-test, for terminals, pages and programs."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from farm.judging.inspection import Look, LookCell
from farm.measures import Measure
from farm.measures.measure import defined_or
from farm.protocols.od_test.results import Results
from farm.protocols.od_test.summary import (
    CHANCE,
    MeanAccuracy,
    OptimismGap,
    accuracies_by_source,
    mean_accuracies,
    optimism_gaps,
    significance,
    titled,
)
from farm.statistics.table import Undefined

MEANS = "Mean accuracy over all triplets"
ENDS = ("low", "high")
INTERVAL = "low and high: 95 % interval, by Student's t over source sets"
LOSSES = {"cross-entropy": "CE", "logistic": "one-against-all"}


def short(results: Results) -> Iterator[Look]:
    """Return the first table."""
    yield next(looks(results))


def looks(results: Results) -> Iterator[Look]:
    """Return all tables, the most important first."""
    yield means(mean_accuracies(results))
    if gaps := optimism_gaps(results):
        yield optimism(gaps)
    yield by_source(accuracies_by_source(results))
    yield tests(results)
    if results.networks:
        yield networks(results)


def means(found: list[MeanAccuracy]) -> Look:
    """Each method's mean accuracy, the best first."""
    return Look(
        MEANS,
        ("method", "accuracy", *ENDS, "triplets"),
        [(one.title, Measure(one.mean), *_ends(one.low, one.high), one.n) for one in found],
        (
            f"Half of the images are outliers: {CHANCE:g} is chance. {INTERVAL}.",
            "Triplets of one source set share its images, networks and thresholds, and are no independent "
            "evidence.",
        ),
    )


def optimism(gaps: list[OptimismGap]) -> Look:
    """How much better methods look on the very set that they learned from."""
    return Look(
        "Optimism: judged on other images of the set that it learned from, and on other sets",
        ("method", "same set", "other sets", "gap", *ENDS, "pairs"),
        [
            (
                one.title,
                Measure(one.optimistic),
                Measure(one.honest),
                Measure(one.gap),
                *_ends(one.low, one.high),
                one.n,
            )
            for one in gaps
        ],
        (
            f"A pair is a source and a set to learn from. {INTERVAL}. Results on the same set are in no "
            "ranking and no mean.",
        ),
    )


def by_source(found: list[MeanAccuracy]) -> Look:
    """Each method's mean accuracy on each source set."""
    sources = list(dict.fromkeys(one.source for one in found))
    cells = {(one.title, one.source): Measure(one.mean) for one in found}
    rows: list[tuple[LookCell, ...]] = [
        (title, *(cells.get((title, source)) for source in sources))
        for title in dict.fromkeys(one.title for one in found)
    ]
    return Look("Mean accuracy by source set", ("method", *sources), rows)


def tests(results: Results) -> Look:
    """Whether methods differ, over source sets."""
    found = significance(results)
    title = "Do methods differ? Source sets are the blocks"
    if isinstance(found, Undefined):
        return Look(title, (), [], (f"No p-value is given: {found.reason}.",))
    ranks = zip(found.monitors, found.mean_ranks, strict=True)
    rows: list[tuple[LookCell, ...]] = [(method, Measure(rank)) for method, rank in ranks]
    return Look(title, ("method", "mean rank"), rows, (found.counted, *found.tests))


def networks(results: Results) -> Look:
    """How often each network is right on its training data."""
    kinds = list(dict.fromkeys((one.network, one.loss) for one in results.networks))
    found: dict[tuple[str, str, str], list[float]] = {}
    for one in results.networks:
        found.setdefault((one.source, one.network, one.loss), []).append(one.accuracy)
    cells = {key: fmean(own) for key, own in found.items()}  # over seeds
    rows: list[tuple[LookCell, ...]] = [
        (source, *(_measured(cells.get((source, *kind))) for kind in kinds))
        for source in dict.fromkeys(one.source for one in results.networks)
    ]
    columns = ("source", *(f"{network}, {LOSSES.get(loss, loss)}" for network, loss in kinds))
    return Look("Accuracy of the networks on their training data", columns, rows)


def triplets(results: Results) -> Look:
    """Every result that is not optimistic, a row a triplet, a column a method; of several seeds the mean."""
    honest = results.honest
    titles = list(dict.fromkeys(map(titled, honest["method"], honest["network"])))
    cells: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    columns = ("source", "validation", "target", "method", "network", "accuracy")
    for source, validation, target, method, network, accuracy in zip(
        *(honest[c] for c in columns), strict=True
    ):
        cells.setdefault((source, validation, target), {}).setdefault(titled(method, network), []).append(
            accuracy
        )
    rows: list[tuple[LookCell, ...]] = [
        (*triplet, *(Measure(fmean(own[title])) if title in own else None for title in titles))
        for triplet, own in cells.items()
    ]
    return Look("All triplets", ("source", "validation", "target", *titles), rows)


def _measured(value: float | None) -> LookCell:
    return None if value is None else Measure(value)


def _ends(low: float, high: float) -> tuple[Measure, Measure]:
    why = "one source set gives no interval"
    return defined_or(low, why), defined_or(high, why)
