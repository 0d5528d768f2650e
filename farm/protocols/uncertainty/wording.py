"""What an evaluation of uncertainty found, in sentences: each says no more than was seen or tested."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from farm.config.specs import NO_FAULT
from farm.measures import Measure
from farm.measures.boxes import NO_BOXES
from farm.protocols.shared import estimate_lines, trainings_line
from farm.protocols.uncertainty.asked import MERGED_ID, OWN, VANILLA
from farm.protocols.uncertainty.compared import Kind
from farm.protocols.uncertainty.findings import ExpectedDifference, SourceFinding
from farm.protocols.uncertainty.measured import BOXES, CLASSES, HIGHER_IS_BETTER, Task
from farm.protocols.uncertainty.post_hoc import BOX_BANDS, SETS
from farm.protocols.uncertainty.results import Results
from farm.protocols.uncertainty.streams import JudgedNetwork
from farm.protocols.uncertainty.summary import NetworkComparison, Ranking, comparisons, rankings
from farm.report.cells import interval
from farm.statistics.concordance import Concordance
from farm.statistics.wording import counted, listed, p_words, verb

NAMES: Mapping[tuple[Task, str], str] = {
    (CLASSES, "accuracy"): "accuracy",
    (CLASSES, "ece"): "ECE of classes",
    (CLASSES, "nll"): "NLL of classes",
    (CLASSES, "brier"): "Brier score (sum over classes)",
    (BOXES, "mae"): "MAE of boxes (pixels)",
    (BOXES, "iou"): "IoU",
    (BOXES, "nll"): "NLL of boxes",
    (BOXES, "ece"): "ECE of boxes",
}
OF_IMAGES = (
    "Intervals are 95 %, by draws of tracks: they are about other images of the kind, and not about other "
    "trainings."
)


def named(kind: Kind) -> str:
    """Return what a backbone in a variant is called."""
    return " ".join(kind)


def falls(results: Results) -> Iterator[str]:
    """Say from where to where the single networks fall, and under which shift."""
    for task, measure in ((CLASSES, "accuracy"), (BOXES, "iou")):
        shifts = results.shifts_of(task)
        for kind in results.streams.kinds:
            if kind[1] not in (VANILLA, OWN):
                continue
            pairs = [
                (_beside(results, kind, name, task, measure), results.mean(kind, name, task, measure), name)
                for name in shifts
            ]
            known = [
                (plain.value, under.value, name)
                for plain, under, name in pairs
                if plain is not None and under is not None and plain.defined and under.defined
            ]
            if not known:
                continue
            before, after, worst = min(known, key=lambda one: one[1] - one[0])
            what, n = f"The {NAMES[task, measure]} of {named(kind)}", counted(len(known), "shift")
            if after >= before:
                yield f"{what} is under none of {n} lower than on the test data."
                continue
            merged = ", of merged classes" if task == CLASSES and results.spec.is_merged(worst) else ""
            yield (
                f"{what} falls furthest under {worst}, of {n}: from {before:.3f} on the test data to "
                f"{after:.3f}{merged}."
            )


def _beside(results: Results, kind: Kind, shift: str, task: Task, measure: str) -> Measure | None:
    """Return what a shift is compared with: the test data, of merged classes where these are merged."""
    merged = task == CLASSES and results.spec.is_merged(shift)
    return results.mean(kind, MERGED_ID if merged else NO_FAULT, task, measure)


def better_variants(results: Results, task: Task, measure: str) -> Iterator[str]:
    """Say of each backbone which variant comes first over all shifts, and which of the others show worse."""
    found = [one for one in comparisons(results, task, measure) if one.where == "all shifts"]
    for ranking in _rankings_of(results, task, measure):
        if len(ranking.order) < 2:
            continue
        best, *rest = ranking.order
        own = {_other(one, best): one for one in found if best in (one.first, one.second)}
        worse = [named(kind) for kind in rest if kind in own and own[kind].better == best]
        unsure = [named(kind) for kind in rest if kind in own and own[kind].better is None]
        told = f"Over all shifts {named(best)} has the best mean {NAMES[task, measure]}"
        if worse:
            told += f"; {listed(worse)} {verb(worse, 'is', 'are')} shown to be worse"
        if unsure:
            told += f"; no difference to {listed(unsure)} shows"
        yield f"{told}."


def _rankings_of(results: Results, task: Task, measure: str) -> list[Ranking]:
    return [
        one
        for one in rankings(results)
        if (one.task, one.measure, one.where) == (task, measure, "all shifts")
    ]


def _other(one: NetworkComparison, kind: Kind) -> Kind:
    return one.second if one.first == kind else one.first


def stability(results: Results) -> Iterator[str]:
    """Say whether repetitions rank variants alike."""
    if len(results.streams.seeds) == 1:
        yield "One repetition cannot tell whether another would rank the variants alike."
        return
    for one in rankings(results):
        if one.where == "all shifts":
            yield ranking_sentence(one)


def ranking_sentence(one: Ranking) -> str:
    """Say whether one ranking is stable.

    Examples
    --------
    >>> print(ranking_sentence(Ranking("cnn", "localization", "iou", "all shifts", (), "one repetition")))
    Whether the ranking of cnn's variants by IoU over all shifts is stable cannot be told: one repetition.
    """
    what = f"the ranking of {one.backbone}'s variants by {NAMES[one.task, one.measure]} over {one.where}"
    if not isinstance(one.agreement, Concordance):
        return f"Whether {what} is stable cannot be told: {one.agreement}."
    if not one.agreement.w.defined or one.p is None:
        return f"Whether {what} is stable cannot be told: {one.agreement.w.reason}."
    numbers = f"(Kendall's W {one.agreement.w.value:.2f}, {p_words(one.p.value)})"
    if not one.stable:
        return f"That {what} is stable does not show {numbers}."
    same = (
        "it is the same in all repetitions" if one.agreement.same else "repetitions agree more than by chance"
    )
    return f"{what[0].upper()}{what[1:]} is stable: {same} {numbers}."


def conformal(results: Results) -> Iterator[str]:
    """Say where sets of classes and boxes hold what is right less often than they should on test data."""
    for what, said in ((SETS, "Sets of classes"), (BOX_BANDS, "Boxes")):
        short: dict[str, list[JudgedNetwork]] = {}
        asked, found = f"{100 * results.spec.coverage:g} %", results.coverages(what)
        for (network, shift), had in found.items():
            if had.falls_short:
                short.setdefault(shift, []).append(network)
        if not found:
            continue
        if not short:
            n = counted(len(found), "stream")
            yield (
                f"{said} that should hold what is right in {asked} are not shown to fall short in any of {n}."
            )
            continue
        told = [f"{_shown(name)} ({counted(len(own), 'network')})" for name, own in short.items()]
        yield (
            f"{said} that should hold what is right in {asked} hold it more seldom than chance has it on "
            f"data of the validation data's kind: {'; '.join(told)}."
        )


def _shown(stream: str) -> str:
    return "the test data" if stream == NO_FAULT else stream


def finding_numbers(one: SourceFinding) -> str:
    """Say the numbers by which a finding holds or not."""
    if not one.differences:
        return one.why
    told = "; ".join(_difference(each) for each in one.differences)
    return f"{one.why}: {told}" if one.why else told


def _difference(one: ExpectedDifference) -> str:
    found = one.contrast.difference
    if not found.value.defined or not found.low.defined:
        return f"{one.said}: {found.value.reason or found.low.reason}"
    p = p_words(one.p.value) if one.p.defined else one.p.reason
    ends = interval(found.low.value, found.high.value, 3)
    sides = {value > 0 for value in one.contrast.by_seed}
    apart = ", not to one side in all repetitions" if len(sides) > 1 else ""
    return f"{one.said} {found.value.value:+.3f} ({ends}, {p}{apart})"


def scope(results: Results) -> str:
    """Say what comparisons are about."""
    n = len(results.streams.seeds)
    if n == 1:
        return (
            "Comparisons are of these networks, on other images of the kind: one repetition cannot tell what "
            "other trainings would give."
        )
    return (
        f"Comparisons are of the mean over these {counted(n, 'training')} of each network, on other images "
        "of the kind; a difference shows only where it has the same side in each repetition. Trainings of "
        "one recipe differ, too, so that few of them do not tell which recipe is better."
    )


def lacking(results: Results) -> list[str]:
    """Say what failed, what is not there yet, and which results have no value, each with its reason."""
    streams = results.streams
    lines = [*results.problems]
    lines += [f"{why} (in {counted(n, 'cell')})" for why, n in streams.failures.items()]
    if streams.missing:
        missing = counted(streams.missing, "cell is", "cells are")
        lines.append(f"{missing} not there yet; farm run goes on with them")
    return lines


def without_value(results: Results) -> list[str]:
    """Say why results have no value, and how many."""
    return [f"{why} (in {counted(n, 'result')})" for why, n in results.undefined.items()]


def image_sizes(results: Results) -> str:
    """Say of which images pixels are."""
    told = [own.run.get("boxes") for network in results.streams.of.values() for own in network.values()]
    sizes = dict.fromkeys(f"{one['width']} x {one['height']}" for one in told if one)
    return f"Pixels of images of {listed(list(sizes))}, as networks see them." if sizes else NO_BOXES


def higher_words(task: Task, measure: str) -> str:
    """Say which end of a measure is the good one."""
    return "Higher is better." if HIGHER_IS_BETTER[task, measure] else "Lower is better."


METHOD = (
    (
        "Two tasks",
        "Each image shows one object. A network says what it is, and where: a box. Both are judged, and so "
        "is how sure it says it is: of classes by their probabilities, of boxes by the standard deviation "
        "over several passes with dropout, or over several networks.",
    ),
    (
        "Six variants",
        "Vanilla is the network alone, which tells no spread of boxes. Dropout stands before the last layer, "
        "after the backbone, in the whole head, or everywhere; an ensemble is the mean of networks that "
        "differ by their random numbers.",
    ),
    (
        "Shifts",
        "Simulated weather is put on the test images themselves. Other data keep the classes that they have "
        "here; what is of no class is judged for boxes only. Where a shift knows fewer classes, these are "
        "merged, and the test data are told with merged classes, too, on the instances of these alone.",
    ),
    (
        "Comparisons",
        "All networks see the same images. Tracks of images are drawn anew, with replacement, the same ones "
        "for all networks; a difference shows where it keeps its side in nearly all draws, with Holm's "
        "correction for all comparisons of a table. That says nothing of other trainings: with several "
        "repetitions a difference also has to have one side in each.",
    ),
    (
        "After calibration",
        "Temperature and vector scaling, recalibrated quantiles of boxes, and conformal sets and boxes are "
        "fitted on validation data. They promise something of data of that kind alone: what they hold under "
        "each shift is told, not promised.",
    ),
)
"""The method in plain words."""


def size_lines(told: Mapping[str, Any], workers: int) -> Iterator[str]:
    """Say before a run what it takes, as `Sizes.record` tells it."""
    yield f"uncertainty: {counted(told['streams'], 'stream')} in {counted(told['cells'], 'cell')}"
    yield trainings_line(told, "streams")
    for name, why in told["not_there"].items():
        yield f"not there: {name}: {why}"
    yield from estimate_lines(told, workers)
