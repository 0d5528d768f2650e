"""The page of a robustness evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pandas as pd
from markupsafe import Markup

from farm.config.files import find_criteria
from farm.errors import UserError
from farm.gate.criteria_file import load_criteria
from farm.judging.readouts import load_runs
from farm.protocols.robustness import tables, wording
from farm.protocols.robustness.analysis import (
    TRANSFORMATION,
    GroupedLevel,
    classification,
    groups,
    plain_against_transformed,
)
from farm.protocols.robustness.results import MEASURES, Results
from farm.protocols.robustness.summary import ConditionMean, means, pairs_and_none, worst_trainings
from farm.report import figures
from farm.report.approval import approval_parts
from farm.report.checked import check_runs
from farm.report.page.book import FigureBook
from farm.report.page.document import document
from farm.report.page.html import join, tag
from farm.report.page.images import image_sheet
from farm.report.page.section import PageSection, lacking_results
from farm.report.page.tables import folded_table, look_table
from farm.statistics.table import Undefined
from farm.statistics.wording import counted

REFERENCE = (
    "L. Heindrich, Image classifiers in automated vehicles: An evaluation framework for robustness, Utrecht "
    "University, 2020."
)


def page(results: Results, book: FigureBook | None = None) -> str:
    """Return the whole page; figures are also written where the book says."""
    book = FigureBook() if book is None else book
    spec = results.spec
    about = ", ".join(
        (
            counted(len(results.classifiers), "classifier"),
            counted(len(spec.transformation_names), "transformation"),
            counted(spec.repetitions, "repetition"),
            counted(len(results.frame), "result"),
        )
    )
    return book.filled(document(f"Robustness: {spec.name}", about, list(_sections(results, book))))


def _sections(results: Results, book: FigureBook) -> Iterator[PageSection]:
    yield PageSection("answer", "Answer", _answer(results, book))
    if results.spec.criteria is not None:
        yield PageSection("verdict", "Type-approval record", _verdict(results, results.spec.criteria))
    if not results.classification.empty:
        for measure, name in (
            ("accuracy", "Accuracy"),
            ("auroc", "Certainty: AUROC"),
            ("brier", "Brier score"),
        ):
            yield PageSection(measure, name, _classification(results, measure, book))
    if not results.ood("standard").empty:
        yield PageSection("standard", "Standard OOD sets", _ood(results, "standard", book))
    if not results.ood("pair").empty:
        yield PageSection("pairs", "Transformed OOD sets", _ood(results, "pair", book))
    if not results.ood("gan").empty:
        yield PageSection("gans", "GAN sets", _gans(results, book))
    yield PageSection("method", "The method", _method(results))


def _answer(results: Results, book: FigureBook) -> Markup:
    lead, told = "", []
    if not results.classification.empty:
        lead = wording.fall(results)
        told = [wording.hardest_transformations(results), *wording.overall_difference(results, "accuracy")]
        told += [wording.where_they_differ(results, "accuracy", by) for by in ("level", "transformation")]
    told += [*wording.lowest_sets(results), wording.given(results)]
    return join(
        tag("p", results.spec.description) if results.spec.description else None,
        tag("p", tag("strong", lead), class_="lead") if lead else None,
        [tag("p", line) for line in told if line],
        lacking_results(wording.lacking(results), tables.MOST_REASONS),
        _plain_figure(results, book),
        None if results.classification.empty else look_table(tables.plain_and_transformed(results)),
    )


def _verdict(results: Results, criteria: str) -> Markup:
    """Judge the runs by the file's criteria."""
    assert results.place is not None, "a page with criteria is of a folder"
    assert results.home is not None
    try:
        path = find_criteria(criteria, results.home)
        file, runs = load_criteria(path), load_runs([results.place])
        checked = check_runs(runs, file, places=[str(results.place)])
    except UserError as error:  # such as a criterion on a set that failed: the rest of the page stands
        return tag("p", f"No verdict: {error}", class_="warning")
    how = f"farm check {results.place} --criteria {path} --record approval.html"
    return join(
        tag("p", "Alone, on a page to be signed: ", tag("code", how)),
        approval_parts(checked),
    )


def _plain_figure(results: Results, book: FigureBook) -> Markup | None:
    """Draw the three measures, plain and transformed: the source's Figure 9."""
    if results.classification.empty:
        return None
    rows = [
        {
            "measure": tables.SHORT[measure],
            "images": said,
            "classifier": one.classifier,
            "mean": one.mean,
            "sd": one.sd,
        }
        for measure in MEASURES
        for said, frame in (("plain", results.plain), ("transformed", results.classification))
        for one in means(results, frame, measure)
    ]
    draw = partial(
        figures.means_with_spread,
        pd.DataFrame(rows),
        x="images",
        group="classifier",
        panel="measure",
        measure=None,
    )
    return book.add(
        "plain-and-transformed", draw, "Each measure on the plain test set and over all transformations"
    )


def _classification(results: Results, measure: str, book: FigureBook) -> Markup:
    frame, short = results.classification, tables.SHORT[measure]
    found = classification(results, measure)
    by_both = means(results, frame, measure, ["transformation", "level"])
    lines = pd.DataFrame(_lines(results, measure, by_both))
    several = len(results.classifiers) > 1
    # Of accuracy the answer has them.
    sentences = [] if measure == "accuracy" else [wording.hardest_transformations(results, measure)]
    if several and measure != "accuracy":
        sentences += [*wording.overall_difference(results, measure)]
        sentences += [wording.where_they_differ(results, measure, by) for by in ("level", "transformation")]
    levels = [f"{level:g}" for level in sorted({float(one.condition[1]) for one in by_both})]
    per_level = partial(
        figures.means_with_spread,
        _points(by_both, ("transformation", "level")),
        x="transformation",
        group="classifier",
        panel="level",
        measure=short,
    )
    means_, spreads = tables.condition_tables(results, measure)
    return join(
        [tag("p", one) for one in sentences if one],
        book.add(
            f"{measure}-by-transformation-and-level",
            partial(figures.lines_over_levels, lines, measure=short),
            f"{short} of each classifier under each transformation, level by level; 0 is the plain test set",
        ),
        *(
            book.add(
                f"{measure}-by-{by}",
                partial(
                    figures.means_with_spread,
                    _points(means(results, frame, measure, [by]), (by,)),
                    x=by,
                    group="classifier",
                    measure=short,
                ),
                f"{short} by {by}; whiskers are one standard deviation over repetitions",
            )
            for by in ("level", "transformation")
        ),
        _groups(groups(found, TRANSFORMATION), measure, book),
        look_table(tables.variance(found, "What it depends on")),
        [
            look_table(tables.between(results, frame, measure, [by], found))
            for by in ("level", "transformation")
        ]
        if several
        else None,
        look_table(
            tables.variance(
                plain_against_transformed(results, measure), "Plain test set against transformations"
            )
        ),
        folded_table(means_),
        folded_table(spreads),
        tag(
            "details",
            tag(
                "summary",
                f"{short} under each transformation, a panel for each of the levels {', '.join(levels)}",
            ),
            book.add(f"{measure}-panels", per_level, f"{short} under each transformation, one panel a level"),
        ),
    )


def _lines(results: Results, measure: str, found: Sequence[ConditionMean]) -> Iterator[dict[str, object]]:
    """Return the points of each transformation's lines; at level 0 each has the plain test set."""
    transformations = dict.fromkeys(one.condition[0] for one in found)
    points = [(one.condition[0], float(one.condition[1]), one) for one in found]
    points += [(name, 0.0, one) for one in means(results, results.plain, measure) for name in transformations]
    for name, level, one in points:
        ends = {"mean": one.mean, "low": one.low, "high": one.high}
        yield {"transformation": name, "level": level, "classifier": one.classifier, **ends}


def _points(found: Sequence[ConditionMean], columns: Sequence[str]) -> pd.DataFrame:
    """Return means as figures take them."""
    rows = []
    for one in found:
        named = dict(zip(columns, one.condition, strict=True))
        rows.append({**named, "classifier": one.classifier, "mean": one.mean, "sd": one.sd})
    return pd.DataFrame(rows)


def _groups(found: list[GroupedLevel] | Undefined, measure: str, book: FigureBook) -> Markup:
    """Draw which transformations are not told apart: the source's Figures 10, 24 and 26."""
    if isinstance(found, Undefined):
        return tag("p", f"Which transformations differ is not told: {found.reason}.", class_="note")
    frame = pd.DataFrame(
        [
            {"name": one.name, "mean": one.mean, "low": one.low, "high": one.high, "letters": one.letters}
            for one in found
        ]
    )
    draw = partial(figures.comparison_intervals, frame, measure=tables.SHORT[measure])
    strict = ", ".join(f"{one.name} {one.letters_by_network}" for one in found if one.letters_by_network)
    return join(
        book.add(
            f"{measure}-groups",
            draw,
            "Transformations that share a letter are not told apart (Tukey, single values as in the source)",
        ),
        tag("p", f"Letters by tests within networks: {strict}.", class_="note") if strict else None,
    )


def _ood(results: Results, kind: str, book: FigureBook) -> Markup:
    frame = pairs_and_none(results) if kind == "pair" else results.ood(kind)
    found = means(results, frame, "auroc", ["group"])
    draw = partial(
        figures.means_with_spread,
        _points(found, ("OOD set",)),
        x="OOD set",
        group="classifier",
        measure="AUROC",
        chance=0.5,
    )
    intro = (
        "The same transformation is put on test images and on natural images, at its highest level; none is "
        "the natural images as they are."
        if kind == "pair"
        else "Test images against images that are none of the classes."
    )
    return join(
        tag("p", intro),
        book.add(f"ood-{kind}", draw, tables.OOD_TITLES[kind]),
        [look_table(look) for look in tables.ood_tables(results, kind)],
    )


def _gans(results: Results, book: FigureBook) -> Markup:
    rows = []
    for said, frame in (("all trainings", results.ood("gan")), ("worst training", worst_trainings(results))):
        for one in means(results, frame, "auroc", ["group"]) if not frame.empty else ():
            rows.append(
                {
                    "trainings": said,
                    "OOD set": one.condition[0],
                    "classifier": one.classifier,
                    "mean": one.mean,
                    "sd": one.sd,
                }
            )
    both = partial(
        figures.means_with_spread,
        pd.DataFrame(rows),
        x="OOD set",
        group="classifier",
        panel="trainings",
        measure="AUROC",
        chance=0.5,
    )
    each = means(results, results.ood("gan"), "auroc", ["group", "transformation"])
    numbered = _points(each, ("OOD set", "training"))
    numbered["training"] = numbered["training"].str.rpartition("-")[2]
    singles = partial(
        figures.means_with_spread,
        numbered,
        x="training",
        group="classifier",
        panel="OOD set",
        measure="AUROC",
        chance=0.5,
    )
    made = [
        tag(
            "figure",
            image_sheet(one.samples, f"images drawn by {one.name}"),
            tag("figcaption", one.name),
            class_="drawn",
        )
        for one in {one.group: one for one in reversed(results.gans)}.values()  # the first that is there
    ][::-1]
    by_measure = {
        words: pd.concat([one.curve for one in results.gans if one.measured == words])
        for words in dict.fromkeys(one.measured for one in results.gans)
    }
    return join(
        book.add("gan-sets", both, "AUROC over all trainings of each GAN set, and on the worst one"),
        book.add("gan-trainings", singles, "AUROC on each training of each GAN set")
        if results.spec.gan_trainings > 1
        else None,
        tag("h3", "What they draw"),
        join(made),
        tag("h3", "How they learned"),
        [
            book.add(
                f"gan-{words.replace(' ', '-').replace(chr(39), '')}",
                partial(figures.training_curves, curves, measure=words),
                f"{words} while GANs are trained, which decides when a training stops",
            )
            for words, curves in by_measure.items()
        ],
        [look_table(look) for look in tables.ood_tables(results, "gan")],
    )


def _method(results: Results) -> Markup:
    told = [tag("p", tag("strong", f"{title}. "), text) for title, text in wording.METHOD]
    return join(
        told,
        tag("p", wording.given(results)) if results.given else None,
        tag("h3", "Reference"),
        tag("p", REFERENCE, class_="note"),
    )
