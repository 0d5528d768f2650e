"""The page of an OD-test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial

import pandas as pd
from markupsafe import Markup

from farm.protocols.od_test import wording
from farm.protocols.od_test.results import Results
from farm.protocols.od_test.summary import (
    MeanAccuracy,
    OptimismGap,
    accuracies_by_source,
    mean_accuracies,
    optimism_gaps,
)
from farm.protocols.od_test.tables import by_source, means, networks, optimism, tests, triplets
from farm.report import figures
from farm.report.page.book import FigureBook
from farm.report.page.document import document
from farm.report.page.html import join, tag
from farm.report.page.images import image_sheet
from farm.report.page.section import PageSection
from farm.report.page.tables import folded_table, look_table
from farm.statistics.wording import counted, listed

MOST_SAMPLES = 16
MOST_LACKING = 20
SWITCH = "optimistic: true"
REFERENCE = (
    "A. Shafaei, M. Schmidt and J. J. Little, Does Your Model Know the Digit 6 Is Not a Cat? A Less Biased "
    'Evaluation of "Outlier" Detectors, 2018.'
)


def page(results: Results, book: FigureBook | None = None) -> str:
    """Return the whole page; figures are also written where the book says."""
    book = FigureBook() if book is None else book
    spec = results.spec
    about = ", ".join(
        (
            counted(len(spec.sources), "source set"),
            counted(len(spec.sets), "set"),
            counted(len(spec.triplets), "triplet"),
            counted(len(spec.networks), "network"),
            counted(len(spec.methods), "method"),
        )
    )
    return book.filled(document(f"OD-test: {spec.name}", about, list(_sections(results, book))))


def _sections(results: Results, book: FigureBook) -> Iterator[PageSection]:
    found = mean_accuracies(results)
    gaps = optimism_gaps(results)
    yield PageSection("answer", "Answer", _answer(results, found, gaps, book))
    yield PageSection("optimism", "Optimism", _optimism(results, gaps, book))
    if found:
        yield PageSection("sources", "Source by source", _sources(results, found, book))
    if results.networks:
        yield PageSection("networks", "Networks", look_table(networks(results)))
    if results.samples:
        yield PageSection("samples", "Samples", _samples(results))
    if found:
        yield PageSection("tests", "Tests", _tests(results))
        yield PageSection("triplets", "All triplets", _triplets(results))
    yield PageSection("method", "The method", _method(results))


def _answer(results: Results, found: list[MeanAccuracy], gaps: list[OptimismGap], book: FigureBook) -> Markup:
    if not found:
        return tag("p", "There is no result yet on a set that a method did not learn from.", class_="lead")
    lacking = list(wording.lacking(results))
    told = [wording.near_chance(found), wording.differences(results)]
    if gaps:
        told.append(wording.most_optimistic(gaps))
    draw = partial(figures.mean_accuracies, _frame(found), networks=results.spec.network_names)
    return join(
        tag("p", results.spec.description) if results.spec.description else None,
        tag("p", tag("strong", wording.highest(found, complete=not lacking)), class_="lead"),
        [tag("p", line) for line in told if line],
        _warned(lacking),
        book.add(
            "mean-accuracies", draw, "Mean accuracy of each method over all triplets, with its interval"
        ),
        folded_table(means(found)),
    )


def _warned(lacking: Sequence[str]) -> Markup | None:
    """Say, before anybody compares means, which are not over all triplets."""
    if not lacking:
        return None
    items = [tag("li", item) for item in lacking[:MOST_LACKING]]
    if (more := len(lacking) - MOST_LACKING) > 0:
        items.append(tag("li", f"and {more} more"))
    return tag(
        "div",
        tag("h3", "Not all results are there"),
        tag(
            "p",
            "Means over different triplets do not compare. Some results are missing of these methods; ",
            tag("a", "the reasons", href="#failed"),
            " are below.",
        ),
        tag("ul", items),
        class_="warning",
    )


def _optimism(results: Results, gaps: list[OptimismGap], book: FigureBook) -> Markup:
    if not gaps:
        switch = None
        if not results.spec.optimistic:
            switch = join(tag("code", SWITCH), " in the file switches that on, and takes more cells.")
        return tag("p", wording.why_not_optimistic(results), switch)
    draw = partial(figures.optimism_gaps, _frame(gaps))
    return join(
        tag(
            "p",
            "Here each method is also judged on other images of the very set that it learned from, as in a "
            "test with two sets. That it is better there says nothing of outliers of other kinds.",
        ),
        book.add("optimism", draw, "Accuracy of each method on the set that it learned from, and on others"),
        folded_table(optimism(gaps)),
    )


def _sources(results: Results, order: list[MeanAccuracy], book: FigureBook) -> Markup:
    # The rows have one order on the whole page: the highest mean first.
    place = {one.title: at for at, one in enumerate(order)}
    found = sorted(accuracies_by_source(results), key=lambda one: place[one.title])
    if len(results.spec.sources) == 1:
        return tag("p", "There is one source set, so that all that is said above is said of it.")
    sources = [name for name in results.spec.source_names if any(one.source == name for one in found)]
    draw = partial(
        figures.accuracies_by_source,
        _frame(found),
        sources=sources,
        networks=results.spec.network_names,
    )
    return join(
        tag(
            "p",
            "Each method's mean accuracy over the triplets of one source set. Methods stand in the order "
            "of their mean over all triplets.",
        ),
        book.add("accuracies-by-source", draw, "Mean accuracy of each method on each source set"),
        folded_table(by_source(sorted(found, key=lambda one: sources.index(one.source)))),
    )


def _samples(results: Results) -> Markup:
    """Return what generative networks draw, source by source."""
    made = []
    for one in results.samples:
        n = min(len(one.images), MOST_SAMPLES)
        if n:
            words = f"{counted(n, 'image')} drawn by {one.network} after it learned {one.source}"
            caption = f"{one.network}, trained on {one.source}"
            sheet = image_sheet(one.images[:n], words)
            made.append(tag("figure", sheet, tag("figcaption", caption), class_="drawn"))
    told = "Images that a network draws show what it has learned of a source: they should look like it."
    return join(tag("p", told), made)


def _tests(results: Results) -> Markup:
    left, look = wording.untested(results), tests(results)
    return join(
        tag("p", wording.differences(results)),
        look_table(look) if look.columns else None,
        tag("p", f"Not tested, since not on every source: {listed(left)}.", class_="note") if left else None,
    )


def _triplets(results: Results) -> Markup:
    look = triplets(results)
    return join(
        tag(
            "p",
            "A row is a triplet, a column a method. Rows without a validation set are of methods that learn "
            "nothing from one.",
        ),
        tag(
            "details",
            tag("summary", f"Accuracy on {counted(len(look.rows), 'row')}"),
            look_table(look, titled=False),
        ),
    )


def _method(results: Results) -> Markup:
    told = [tag("p", tag("strong", f"{title}. "), text) for title, text in wording.METHOD]
    seeds = results.spec.seeds or []
    if len(seeds) > 1:
        text = f"Every triplet was run with {len(seeds)} seeds, and each counts by itself."
        told.append(tag("p", tag("strong", "Seeds. "), text))
    failures = [tag("li", f"{why} (in {counted(n, 'cell')})") for why, n in results.failures.items()]
    missing = counted(results.missing, "cell is", "cells are")
    return join(
        told,
        tag(
            "div",
            tag("h3", "What failed, and what is missing"),
            join(tag("p", "Why methods failed:"), tag("ul", failures))
            if failures
            else tag("p", "No method failed."),
            tag(
                "p",
                f"{missing} not there yet; farm run goes on with them."
                if results.missing
                else "No cell is missing.",
            ),
            id="failed",
            class_="warning" if failures or results.missing else None,
        ),
        tag("h3", "Reference"),
        tag("p", REFERENCE, class_="note"),
    )


def _frame(found: Sequence[MeanAccuracy] | Sequence[OptimismGap]) -> pd.DataFrame:
    return pd.DataFrame([asdict(one) for one in found])
