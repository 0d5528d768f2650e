"""What a robustness evaluation found, in sentences: each says no more than was seen or tested."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from farm.protocols.robustness.results import Results
from farm.protocols.robustness.summary import (
    HIGHER_IS_BETTER,
    ClassifierDifference,
    ConditionMean,
    differences,
    hardest,
    means,
)
from farm.protocols.shared import estimate_lines, trainings_line
from farm.report.cells import interval
from farm.statistics.wording import counted, listed, p_words, verb

NAMES = {"accuracy": "accuracy", "auroc": "AUROC of right against wrong", "brier": "Brier score"}
CHANCE = 0.5
WORST = 4
"""So many of the hardest conditions are named."""


def fall(results: Results) -> str:
    """Say what each classifier's accuracy is on the plain test set, and over all transformations."""
    plain = {one.classifier: one.mean for one in means(results, results.plain, "accuracy")}
    under = {one.classifier: one.mean for one in means(results, results.classification, "accuracy")}
    told = [
        f"{name} is right on {plain[name]:.3f} of the plain test images and on {under[name]:.3f} of the "
        "transformed ones"
        for name in results.classifiers
        if name in plain and name in under
    ]
    n = len(results.classification[["transformation", "level"]].drop_duplicates())
    repetitions = results.classification["repetition"].nunique()
    over = f" (mean over {counted(n, 'condition')}, {counted(repetitions, 'repetition')})"
    return f"{'; '.join(told)}{over}." if told else ""


def hardest_transformations(results: Results, measure: str = "accuracy") -> str:
    """Say which transformations are hardest, by their means over levels and classifiers."""
    order = hardest(means(results, results.classification, measure, ["transformation"]), measure)
    if len(order) < 2:
        return ""
    low = "lowest" if HIGHER_IS_BETTER[measure] else "highest"
    digits = _digits(measure)
    shown = [f"{name} ({value:.{digits}f})" for name, value in order[:-1][:WORST]]
    last, value = order[-1]
    return (
        f"The {low} mean {NAMES[measure]}, over levels and classifiers, is under {listed(shown)}; the "
        f"{'highest' if low == 'lowest' else 'lowest'} under {last} ({value:.{digits}f})."
    )


def overall_difference(results: Results, measure: str) -> Iterator[str]:
    """Say of each two classifiers whether they differ, plain and under all transformations together."""
    if len(results.classifiers) < 2:
        return
    for said, frame in (
        ("over all transformations and levels together", results.classification),
        ("on the plain test set", results.plain),
    ):
        for one in differences(results, frame, measure):
            yield difference_sentence(one, measure, said)


def difference_sentence(one: ClassifierDifference, measure: str, where: str) -> str:
    """Say whether two classifiers differ.

    Examples
    --------
    >>> from farm.measures import Measure
    >>> ends = Measure(-0.03), Measure(-0.01), Measure(0.002)
    >>> print(difference_sentence(
    ...     ClassifierDifference("A", "B", (), 20, 0.90, 0.92, -0.02, *ends, True), "accuracy", "in fog"))
    In fog B is better in accuracy: 0.920 against 0.900 (difference 0.020, 95 % interval 0.010–0.030,
    p = 0.002).
    """
    if not one.p.defined:
        names = f"{one.first} and {one.second}"
        return f"Whether {names} differ in {NAMES[measure]} {where} is not told: {one.p.reason}."
    better = one.better
    if better is None:
        ends = interval(one.low.value, one.high.value, _digits(measure))
        return (
            f"{_begun(where)} no difference in {NAMES[measure]} between {one.first} and {one.second} shows "
            f"({one.first_mean:.{_digits(measure)}f} and {one.second_mean:.{_digits(measure)}f}, 95 % "
            f"interval of the difference {ends}, {p_words(one.p.value)})."
        )
    values = {one.first: one.first_mean, one.second: one.second_mean}
    other = one.second if better == one.first else one.first
    digits = _digits(measure)
    low, high = sorted((abs(one.low.value), abs(one.high.value)))
    return (
        f"{_begun(where)} {better} is better in {NAMES[measure]}: {values[better]:.{digits}f} against "
        f"{values[other]:.{digits}f} (difference {abs(one.difference):.{digits}f}, 95 % interval "
        f"{interval(low, high, digits)}, {p_words(one.p.value)})."
    )


def _digits(measure: str) -> int:
    return 3 if HIGHER_IS_BETTER[measure] else 5


def _begun(text: str) -> str:
    return text[0].upper() + text[1:]


def where_they_differ(results: Results, measure: str, by: str) -> str:
    """Say at which levels, or under which transformations, two classifiers differ."""
    if len(results.classifiers) != 2:
        return ""
    found = differences(results, results.classification, measure, [by])
    tested = [one for one in found if one.p.defined]
    if not tested:
        return ""
    better: dict[str, list[str]] = {}
    for one in tested:
        if one.better is not None:
            better.setdefault(one.better, []).append(_condition(one))
    rest = [_condition(one) for one in tested if one.better is None]
    at = "at level" if by == "level" else "under"
    told = [f"{name} is better {_at(at, where)}" for name, where in better.items()]
    if rest:
        told.append(f"no difference shows {_at(at, rest)}")
    if unknown := [_condition(one) for one in found if not one.p.defined]:
        told.append(f"not told {_at(at, unknown)}")
    return f"{_begun(NAMES[measure])}, {by} by {by}: {'; '.join(told)} (Holm's correction)."


def _condition(one: ClassifierDifference) -> str:
    at = one.condition[0]
    return at if isinstance(at, str) else f"{at:g}"


def _at(at: str, where: Sequence[str]) -> str:
    several = "s" if at == "at level" and len(where) > 1 else ""
    shown = where[0] if len(where) == 1 else f"{', '.join(where[:-1])} and {where[-1]}"
    return f"{at}{several} {shown}"


def lowest_sets(results: Results) -> Iterator[str]:
    """Say on which OOD set each classifier's certainty tells least, and where it is below or near chance."""
    found = means(results, results.named_sets, "auroc", ["set"])
    for classifier in results.classifiers:
        own = [one for one in found if one.classifier == classifier and one.mean == one.mean]
        if not own:
            continue
        lowest = min(own, key=lambda one: one.mean)
        bounded = [one for one in own if one.low == one.low]
        below = [str(one.condition[0]) for one in bounded if one.high < CHANCE]
        near = [str(one.condition[0]) for one in bounded if one.low <= CHANCE <= one.high]
        told = f"Of {classifier} AUROC is lowest on {lowest.condition[0]}: {lowest.mean:.3f}{_ends(lowest)}."
        if below:
            told += f" It is surer of {listed(below)} than of test images."
        if near:
            told += f" It is not shown to differ from chance (0.5) on {listed(near)}."
        yield told


def _ends(one: ConditionMean) -> str:
    return f" (95 % interval {interval(one.low, one.high, 3)})" if one.low == one.low else ""


def lacking(results: Results) -> list[str]:
    """Say what failed, what is not there yet, and which results have no value, each with its reason."""
    lines = [f"{why} (in {counted(n, 'cell')})" for why, n in results.failures.items()]
    if results.missing:
        missing = counted(results.missing, "cell is", "cells are")
        lines.append(f"{missing} not there yet; farm run goes on with them")
    return lines + [f"{why} (in {counted(n, 'result')})" for why, n in results.undefined.items()]


def given(results: Results) -> str:
    """Say whose repetitions are no trainings."""
    if not results.given:
        return ""
    names = [name for name in results.classifiers if name in results.given]
    return (
        f"{listed(names)} {verb(names, 'brings its', 'bring their')} weights along: in each repetition "
        "transformations are drawn anew, and the test images by whole tracks, with replacement. Nothing is "
        "said of what another training would give."
    )


METHOD = (
    (
        "Two parts",
        "The classification part asks whether the classifier is right where its images are transformed, and "
        "whether it is surer where it is right. The OOD part asks whether it is less sure of images that are "
        "none of its classes.",
    ),
    (
        "Measures",
        "Accuracy is the share of right predictions. AUROC of right against wrong is the chance that a right "
        "prediction is surer than a wrong one. The Brier score is the squared distance of all probabilities "
        "to the truth, averaged over classes; lower is better. AUROC of OOD sets is the chance that the "
        "classifier is surer of a test image than of an OOD image: 0.5 is chance. Half of the images are "
        "test images. How sure it is tells the monitor that `certainty` names; the criterion "
        "classifier_confidence_auroc is always of the probability of what was predicted.",
    ),
    (
        "Repetitions",
        "In each repetition a classifier that is trained here is trained anew, with one seed for all "
        "conditions, and all that is random in transformations is drawn anew. The images are the same ones "
        "in all repetitions, but for which of them are drawn where `images` says how many. So intervals and "
        "tests of such classifiers are about other trainings on these test images, and not about other "
        "images; the criteria of `farm check` are about other images, and not about other trainings.",
    ),
    (
        "Analysis of variance",
        "The source takes each result for itself. But results of one network resemble each other: a network "
        "that learned badly is bad under all conditions. So the same question is also asked with networks as "
        "blocks, and that answer counts. The source's comparison with the plain test set counts each plain "
        "result once for each condition, and takes conditions for repetitions.",
    ),
    (
        "GAN sets",
        "Generative networks learn from the training images and from a network of the testbed's own, never "
        "from the classifier that is judged. Each set is trained several times. The worst training is chosen "
        "on half of the images and repetitions, and judged on the others, lest it be the worst by luck.",
    ),
)
"""The method in plain words."""


def size_lines(told: Mapping[str, Any], workers: int) -> Iterator[str]:
    """Say before a run what it takes, as `Sizes.record` tells it."""
    yield f"robustness: {counted(told['conditions'], 'condition')} in {counted(told['cells'], 'cell')}"
    yield trainings_line(told, "conditions")
    if told["gan_trainings"]:
        yield f"GAN trainings: {told['gan_trainings']:,}, each once for all classifiers and repetitions"
    for name, why in told["not_there"].items():
        yield f"not there: {name}: {why}"
    yield from estimate_lines(told, workers)
