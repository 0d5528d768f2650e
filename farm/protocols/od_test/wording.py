"""What an OD-test found, in sentences: each is a claim, and says no more than was seen or tested."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from farm.protocols.od_test.results import Results
from farm.protocols.od_test.spec import MethodSpec
from farm.protocols.od_test.summary import (
    CHANCE,
    FEWEST_SOURCES,
    MeanAccuracy,
    OptimismGap,
    significance,
    titled,
)
from farm.report.cells import interval
from farm.statistics.ranks import RankComparison
from farm.statistics.table import Undefined
from farm.statistics.wording import counted, listed, p_words, verb
from farm.store.amounts import in_bytes, in_words

OFTEN = "95 % interval"


def highest(found: Sequence[MeanAccuracy], *, complete: bool = True) -> str:
    """Say which method has the highest mean, and how far it is from chance; complete: none lacks a result.

    Examples
    --------
    >>> told = highest([MeanAccuracy("ODIN", "VGG", 1, 0.8, math.nan, math.nan)])
    >>> told.split(". ")[0]
    'ODIN/VGG is the only method; its mean accuracy is 0.800 (1 triplet, so that there is no interval)'
    >>> told.split(". ")[1]
    'That is 0.300 above chance (0.5).'
    """
    top = found[0]
    over = f"over {'all triplets' if complete else 'the triplets that are there'}:"
    from_chance = f"That is {_from_chance(top.mean)}"
    tied = [one.title for one in found if f"{one.mean:.3f}" == f"{top.mean:.3f}"]
    if len(tied) > 1:
        told = f"{listed(tied)} have the same, highest mean accuracy {over} {top.mean:.3f} to three digits."
        return f"{told} {from_chance}."
    has = f"has the highest mean accuracy {over}"
    what = (
        f"{top.title} {has if len(found) > 1 else 'is the only method; its mean accuracy is'} {top.mean:.3f}"
    )
    n = counted(top.n, "triplet")
    if math.isnan(top.low):
        return f"{what} ({n}, so that there is no interval). {from_chance}."
    lies = "lies above" if top.low > CHANCE else "lies below" if top.high < CHANCE else "holds"
    sure = f"{OFTEN} {interval(top.low, top.high, 3)}, {n}"
    return f"{what} ({sure}). {from_chance}, and its interval {lies} chance."


def _from_chance(mean: float) -> str:
    if mean == CHANCE:
        return f"chance ({CHANCE:g})"
    return f"{abs(mean - CHANCE):.3f} {'above' if mean > CHANCE else 'below'} chance ({CHANCE:g})"


def near_chance(found: Sequence[MeanAccuracy]) -> str:
    """Say which methods are not shown to be better than chance."""
    bounded = [one for one in found if not math.isnan(one.low)]
    names = [one.title for one in bounded if one.low <= CHANCE]
    if not bounded:
        return ""
    if not names:
        of = "all methods" if len(bounded) == len(found) else "all methods that have one"
        return "" if len(bounded) == 1 else f"The intervals of {of} lie above chance ({CHANCE:g})."
    who = "The interval" if len(names) == 1 else "The intervals"
    return f"{who} of {listed(names)} {verb(names, 'reaches', 'reach')} chance ({CHANCE:g}) or below."


def differences(results: Results) -> str:
    """Say whether methods differ, or why that was not tested."""
    found = significance(results)
    if isinstance(found, Undefined):
        return f"Whether methods differ is not tested, and no p-value is given: {found.reason}."
    n = f"{found.n_sets} source sets"
    if found.too_few is not None:
        return f"Whether methods differ is not tested: {found.too_few}."
    p = found.friedman.p
    if not p.defined:
        return f"Whether methods differ over {n} is not told: {p.reason}."
    tested = f"over {n} (Friedman's test in Iman and Davenport's form, {p_words(p.value)})"
    if not found.any_differ:
        return f"No difference between the methods is shown {tested}."
    return f"The methods differ {tested}. {_pairs(found)}"


def _pairs(found: RankComparison) -> str:
    """Say how many pairs differ, and which method of the best mean rank is better than which."""
    apart = [pair for pair in found.wilcoxon if pair.p_holm < found.alpha]
    told = (
        f"Wilcoxon's signed-rank test with Holm's correction tells {len(apart)} of "
        f"{counted(len(found.wilcoxon), 'pair')} apart."
    )
    first = found.monitors[0]
    worse = [
        other
        for other in found.monitors[1:]
        if found.pair(first, other) in apart and found.favours(first, other)
    ]
    return f"{told} {first}, of the best mean rank, is better than {listed(worse)}." if worse else told


def untested(results: Results) -> list[str]:
    """Return the methods that no test compares, since they lack a result on some source."""
    found = significance(results)
    if isinstance(found, Undefined):
        return []
    honest = results.honest
    titles = dict.fromkeys(map(titled, honest["method"], honest["network"]))
    return [title for title in titles if title not in found.monitors]


def most_optimistic(gaps: Sequence[OptimismGap]) -> str:
    """Say how much a method looks better where it is judged on the set that it learned from."""
    most = gaps[0]
    if most.gap <= 0:
        return "No method has a higher accuracy on the set that it learned from than on other sets."
    sure = "" if math.isnan(most.low) else f"{OFTEN} {interval(most.low, most.high, 3)}, "
    pairs = counted(
        most.n, "pair of a source and a set to learn from", "pairs of a source and a set to learn from"
    )
    return (
        f"The largest gap is that of {most.title}: on other images of the set that it learned from its "
        f"accuracy is {most.optimistic:.3f}, on other sets {most.honest:.3f}, which is {most.gap:.3f} less "
        f"({sure}{pairs})."
    )


def why_not_optimistic(results: Results) -> str:
    """Say why there is nothing to tell of optimism."""
    if results.spec.optimistic:
        return (
            "Nothing can be said of optimism: no method has results both on the set that it learned from "
            "and on another one."
        )
    return "It was not asked how much better methods look on the very set that they learned from."


def lacking(results: Results) -> Iterator[str]:
    """Say which methods have fewer results than they should, so that their means are of other triplets."""
    honest = results.honest
    seeds = len(results.spec.seeds or [results.spec.seed])
    for method in results.spec.methods:
        of_method = honest[honest["method"] == method.title]
        for network in _networks(results, method):
            there = int((of_method["network"] == network).sum())
            expected = seeds * _expected(results, method)
            if there < expected:
                yield f"{titled(method.title, network)}: {there:,} of {counted(expected, 'result')}"


def _networks(results: Results, method: MethodSpec) -> list[str]:
    """Return the networks with which a method runs, as results name them."""
    spec = results.spec
    if method.title in spec.without_network:
        return [""]
    return [name for name in spec.network_names if spec.runs(method, name)]


def _expected(results: Results, method: MethodSpec) -> int:
    """Return how many results a method should have: what learns nothing from D_v has one a target."""
    triplets = results.spec.triplets
    return len(triplets) if method.learns else len({(source, target) for source, _, target in triplets})


METHOD = (
    (
        "Three sets",
        "A method should tell images of its source set (D_s) from any others. From a second set, D_v, it may "
        "learn what others look like; then it is judged on a third set, D_t, of which it has seen nothing. "
        "Each choice of the three is a triplet. A test with two sets, in which D_t is D_v, would reward a "
        "method that only learned to know D_v.",
    ),
    (
        "What is trained on what",
        "Classifiers, and what else a method builds of the source, are trained on the training images of "
        "D_s. Thresholds, support-vector machines, and networks that tell outliers from the source are then "
        "trained on images of D_s against images of D_v. Accuracy is counted on the test images of D_s and "
        "on images of D_t, none of which was trained on. A method that learns nothing from D_v has one "
        "result for each D_t. Networks are trained on four fifths of their images, and keep the epoch with "
        "the least loss on the last fifth (the source: the greatest accuracy, of classifiers).",
    ),
    (
        "What is balanced",
        "Of the images that a method is judged on, half are of D_s and half of D_t, so that guessing is "
        f"right for {CHANCE:g} of them. A threshold is chosen for its balanced accuracy: D_s and D_v count "
        "the same. Images of other sets are resized to the size of those of D_s, and classes that D_s has "
        "too are left out.",
    ),
    (
        "What the interval means",
        "It is Student's 95 % interval of a mean over triplets, by how much source sets differ: triplets of "
        "one source share its images and its networks, and thresholds share D_v, so that they are no "
        "independent evidence. An interval over triplets as if they were would be much too narrow. Within "
        "one source set it is by how much the sets differ that methods learned from and that they are judged "
        "on. With few sets intervals are wide, and that two of them overlap, or do not, is no test.",
    ),
    (
        "Tests",
        "Source sets are what comes nearest to independent evidence. On each of them methods are ranked by "
        f"their mean over its triplets. With fewer than {FEWEST_SOURCES} source sets no p-value is given.",
    ),
)
"""The method in plain words."""


def size_lines(told: Mapping[str, Any], workers: int) -> Iterator[str]:
    """Say before a run what it takes, as `Sizes.record` tells it."""
    yield f"OD-test: {told['triplets']:,} triplets in {told['cells']:,} cells"
    kinds = [f"{n:,} {kind}" for kind, n in told["trainings"].items() if kind != "all"]
    yield f"trainings: {told['trainings']['all']:,} networks, each once: {', '.join(kinds)}"
    for name, why in told["not_there"].items():
        yield f"not there: {name}: {why}"
    if told["seconds"] is None:
        yield "hours and gigabytes: not known: no source and network could be opened here and measured"
        return
    seconds, nbytes = told["seconds"], told["nbytes"]
    total, at_once = sum(seconds.values()), "" if workers == 1 else f" with {workers} workers"
    shares = ", ".join(f"{100 * value / total:.0f} % {name}" for name, value in seconds.items())
    yield f"time from the beginning: {in_words(total / workers)}{at_once} ({shares}), all epochs done"
    disk = ", ".join(f"{in_bytes(value)} {name}" for name, value in nbytes.items())
    yield f"disk: about {in_bytes(sum(nbytes.values()))} ({disk})"
    yield "  from what untrained networks take for a few images, on this machine as busy as it is now"
    yield f"  not in it: {'; '.join(told['not_in_it'])}"
