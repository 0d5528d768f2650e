"""The tables of a robustness evaluation, for terminals, pages and programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from farm.judging.inspection import Look, LookCell
from farm.measures import Measure
from farm.measures.measure import Bounded, defined_or
from farm.protocols.robustness.analysis import (
    LEVEL,
    SET,
    TRANSFORMATION,
    Analyses,
    classification,
    ood,
    plain_against_transformed,
    tukey_between_classifiers,
)
from farm.protocols.robustness.results import MEASURES, GanTraining, Results
from farm.protocols.robustness.summary import (
    ClassifierDifference,
    ConditionMean,
    differences,
    means,
    pairs_and_none,
    worst_trainings,
)
from farm.protocols.robustness.wording import lacking
from farm.statistics.anova_result import Anova
from farm.statistics.table import Undefined
from farm.statistics.wording import listed, p_cell

TITLES = {
    "accuracy": "Accuracy",
    "auroc": "AUROC of right against wrong",
    "brier": "Brier score (mean over classes)",
}
SHORT = {"accuracy": "accuracy", "auroc": "AUROC", "brier": "Brier score"}
OOD_TITLES = {
    "standard": "AUROC on standard OOD sets",
    "pair": "AUROC on transformed natural images against equally transformed test images",
    "gan": "AUROC on GAN sets, over all trainings",
    "worst": "AUROC on the worst training of each GAN set",
}
MOST_REASONS = 12
ONE = "one repetition, or several that are all the same, tell no spread"
HOLM = (
    "p by Student's t of the differences in each repetition, with Holm's correction over this table; "
    "intervals are 95 %, each for itself; both are about"
)


def looks(results: Results) -> Iterator[Look]:
    """Return all tables, the most important first."""
    yield from short(results)
    for measure in MEASURES if not results.classification.empty else ():
        found = classification(results, measure)
        yield from condition_tables(results, measure)
        yield variance(found, f"{TITLES[measure]}: what it depends on")
        yield between(results, results.classification, measure, ["level"], found)
        yield between(results, results.classification, measure, ["transformation"], found)
        yield variance(
            plain_against_transformed(results, measure),
            f"{TITLES[measure]}: plain test set against transformations",
        )
    for kind in ("standard", "pair", "gan"):
        yield from ood_tables(results, kind)


def short(results: Results) -> Iterator[Look]:
    """Return the beginning: what classifiers are worth, on the plain test set and under transformations."""
    if lines := lacking(results):
        yield Look("Not all results are there", (), [], tuple(f"{line}." for line in lines[:MOST_REASONS]))
    if not results.classification.empty:
        yield plain_and_transformed(results)
        if len(results.classifiers) > 1:
            yield between(results, results.classification, "accuracy", ["transformation"])
    if not results.frame[results.frame["part"] == "ood"].empty:
        yield sets_overview(results)


def plain_and_transformed(results: Results) -> Look:
    """Return the three measures on the plain test set and over all transformations: Table 1."""
    rows: list[tuple[LookCell, ...]] = []
    for measure in MEASURES:
        for said, frame in (
            ("plain test set", results.plain),
            ("all transformations", results.classification),
        ):
            own = {one.classifier: one for one in means(results, frame, measure)}
            rows.append((f"{TITLES[measure]}, {said}", *(bounded(own.get(c)) for c in results.classifiers)))
    return Look(
        "Plain test set and transformations",
        ("", *results.classifiers),
        rows,
        (
            _about_intervals(results),
            "Brier: lower is better. All transformations: mean over them and levels.",
        ),
        digits=4,
    )


def condition_tables(results: Results, measure: str) -> Iterator[Look]:
    """Return each classifier's mean by transformation and level, and its spread: Tables 13 to 18."""
    frame = results.classification
    found = means(results, frame, measure, ["transformation", "level"])
    levels = sorted({one.condition[1] for one in found}, key=float)
    for title, value in (("", "mean"), (": standard deviation over repetitions", "sd")):
        cells = {(one.classifier, *one.condition): getattr(one, value) for one in found}
        rows: list[tuple[LookCell, ...]] = [
            (
                str(name),
                classifier,
                *(_cell(cells.get((classifier, name, level))) for level in levels),
            )
            for name in dict.fromkeys(one.condition[0] for one in found)
            for classifier in results.classifiers
        ]
        yield Look(
            f"{TITLES[measure]} by transformation and level{title}",
            ("transformation", "classifier", *(f"level {float(level):g}" for level in levels)),
            rows,
            digits=4,
        )


def variance(found: Analyses, title: str) -> Look:
    """Return both analyses of variance side by side: Tables 2 to 4, 6, 8 and 11."""
    left_out = [f"Not in it, since not at all levels: {listed(found.left_out)}."] if found.left_out else []
    if not found.effects:
        why = next(one.reason for one in (found.independent, found.by_network) if isinstance(one, Undefined))
        return Look(f"{title}: no analysis", (), [], (f"{why}.", *left_out))
    sides = [
        {effect.name: effect for effect in one.effects} if isinstance(one, Anova) else {}
        for one in (found.independent, found.by_network)
    ]
    rows: list[tuple[LookCell, ...]] = []
    for name in found.effects:
        row: list[LookCell] = [name]
        for side in sides:
            effect = side.get(name)
            if effect is None:
                row += [None, None, None]
                continue
            decides = effect.p if effect.p_corrected is None else effect.p_corrected
            row += [f"{effect.df}, {effect.error_df}", Measure(effect.f), p_cell(decides)]
        rows.append(tuple(row))
    notes = [
        "First columns: each value for itself, as the source does. Values of one network resemble each "
        "other, so that this finds differences where there are none. Last columns: networks as blocks.",
    ]
    notes += [
        f"no analysis {how}: {one.reason}."
        for how, one in (("of single values", found.independent), ("by networks", found.by_network))
        if isinstance(one, Undefined)
    ]
    notes += left_out
    columns = ("effect", "df", "F", "p", "df by network", "F by network", "p by network")
    return Look(title, columns, rows, tuple(notes))


def between(
    results: Results,
    frame: pd.DataFrame,
    measure: str,
    by: Sequence[str],
    analysed: Analyses | None = None,
) -> Look:
    """Return on which conditions classifiers differ, and how surely; with Tukey's p as the source has it."""
    found = differences(results, frame, measure, by)
    factor = {"level": LEVEL, "transformation": TRANSFORMATION, "group": SET}[by[0]]
    tukey = {} if analysed is None else tukey_between_classifiers(analysed, factor)
    several = len(results.classifiers) > 2
    rows: list[tuple[LookCell, ...]] = []
    for one in found:
        at = one.condition[0]
        name = at if isinstance(at, str) else f"{at:g}"
        row: list[LookCell] = [name if not several else f"{name}: {one.first} and {one.second}"]
        row += [_cell(one.first_mean), _cell(one.second_mean)]
        row += [Bounded(_measure(one.difference), one.low, one.high), _p(one)]
        if tukey:
            p = tukey.get((name, one.first, one.second))
            row.append(None if p is None else p_cell(p))
        row.append(one.better or "not shown")
        rows.append(tuple(row))
    names = ("first", "second") if several else tuple(results.classifiers[:2])
    last = (*(("Tukey's p",) if tukey else ()), "better")
    notes = (
        f"{HOLM} {_what_else(results)}",
        *(("Tukey's p is of single values, as the source compares them",) if tukey else ()),
    )
    title = f"Where do classifiers differ in {SHORT[measure]}, {factor} by {factor}?"
    if not found:
        return Look(title, (), [], ("There are no two classifiers to compare.",))
    columns = (factor, *names, "difference", "p", *last)
    digits = 5 if measure == "brier" else 3
    return Look(title, columns, rows, tuple(f"{note}." for note in notes), digits=digits)


def sets_overview(results: Results) -> Look:
    """Return the AUROC of each classifier on each OOD set."""
    return _ood_means(results, results.named_sets, "AUROC on OOD sets (0.5 is chance)", "set")


def ood_tables(results: Results, kind: str) -> Iterator[Look]:
    """Return means, spreads, variance and differences on OOD sets of one kind: Tables 5 to 11."""
    frame = pairs_and_none(results) if kind == "pair" else results.ood(kind)
    if results.ood(kind).empty:
        return
    yield _ood_means(results, frame, OOD_TITLES[kind])
    if kind == "gan":
        yield gan_trainings(results.gans)
        frame = worst_trainings(results)
        if frame.empty:
            yield Look(OOD_TITLES["worst"], (), [], ("One repetition cannot choose and judge.",))
            return
        yield _ood_means(results, frame, OOD_TITLES["worst"])
    found = ood(results, kind)
    yield variance(found, f"{OOD_TITLES['worst' if kind == 'gan' else kind]}: what it depends on")
    if len(results.classifiers) > 1:
        yield between(results, frame, "auroc", ["group"], found)


def gan_trainings(trained: Sequence[GanTraining]) -> Look:
    """Return how each generative network learned."""
    rows: list[tuple[LookCell, ...]] = [
        (
            one.name,
            one.rule,
            f"{one.notes['epochs']:g}",
            _cell(one.kept_value),
            _cell(one.notes["surrogate_accuracy"]),
            str(one.notes["sheet"]),
        )
        for one in trained
    ]
    return Look(
        "GAN trainings that met their rule",
        ("training", "rule", "epochs", "kept at", "surrogate's accuracy", "sheet"),
        rows,
        ("The surrogate's accuracy is of validation images. Sheet: hash of the images that were streamed.",),
    )


def _ood_means(results: Results, frame: pd.DataFrame, title: str, column: str = "group") -> Look:
    found = means(results, frame, "auroc", [column])
    cells = {(one.classifier, one.condition[0]): one for one in found}
    rows: list[tuple[LookCell, ...]] = []
    for name in dict.fromkeys(one.condition[0] for one in found):
        row: list[LookCell] = [str(name)]
        for classifier in results.classifiers:
            one = cells.get((classifier, name))
            row += [bounded(one), _cell(None if one is None else one.sd, ONE)]
        rows.append(tuple(row))
    columns = [name for c in results.classifiers for name in (c, f"{c}: sd")]
    return Look(title, ("OOD set", *columns), rows, (f"{_about_intervals(results)} sd: over repetitions.",))


def bounded(one: ConditionMean | None) -> LookCell:
    """Return a mean and its interval as a cell."""
    if one is None:
        return None
    return Bounded(_measure(one.mean), defined_or(one.low, ONE), defined_or(one.high, ONE))


def _measure(value: float) -> Measure:
    return defined_or(float(value), "a result has no value")


def _cell(value: float | None, why: str = "a result has no value") -> LookCell:
    return None if value is None else defined_or(float(value), why)


def _p(one: ClassifierDifference) -> LookCell:
    return p_cell(one.p.value) if one.p.defined else one.p


def _what_else(results: Results) -> str:
    """Say what is another one where a result would be another: trainings, or test images."""
    if not results.given:
        return "other trainings, on these test images"
    if set(results.classifiers) <= results.given:
        return "other test images of the kind"
    return "other trainings, and for those that brought their weights along about other test images"


def _about_intervals(results: Results) -> str:
    by = "over repetitions"
    if results.given:
        by += (
            "; of classifiers that brought their weights along, whose repetitions redraw the test images, by "
        )
        by += "how far these lie apart"
    return f"Intervals are 95 %, by Student's t {by}."
