"""What a comparison of systems says in one plain sentence, and what has to be known beside its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from farm.comparing.conclusions import p_of
from farm.comparing.systems.designs import COST
from farm.comparing.systems.found import System, SystemComparison
from farm.measures import Bounded
from farm.statistics.wording import counted, listed, p_words, verb


def sentence(found: SystemComparison) -> str:
    """Say what the first system is worth, beside no monitor, and who cannot be told from it.

    Examples
    --------
    >>> import numpy as np
    >>> from farm.comparing.systems import compare_systems
    >>> from farm.testing import make_readouts
    >>> wrong = np.arange(400) % 5 == 0
    >>> alarms = wrong & (np.arange(400) % 20 > 0)
    >>> print(sentence(compare_systems([make_readouts({"oob": alarms}, wrong=wrong)], seed=1)))
    oob: 50.0 hazards a thousand decisions (28.2 to 81.1), 850 acted upon, against 200.0 without a monitor
    (p < 0.001); it has the fewest (p < 0.001).
    """
    first, *others = (one for one in found.systems if one.value(found.by).value.defined)
    told = f"{first.design.name}: {first.hazard.value.value:.1f} hazards a thousand decisions"
    told += f"{_ends(first.hazard)}, {first.acted.value.value:,.0f} acted upon"
    if not first.design.alone:
        told += _against(found, first, others)
    if others:
        told += f"; {_beside(found, first, others)}"
    return told + (". Of systems that remember, this is an approximation." if found.approximate else ".")


def _ends(value: Bounded) -> str:
    if not value.low.defined:
        return f" (how surely is not known: {value.low.reason})"
    return f" ({value.low.value:.1f} to {value.high.value:.1f})"


def _against(found: SystemComparison, first: System, others: Sequence[System]) -> str:
    """Compare the hazards with those of the same classifier alone."""
    alone = [one for one in others if one.design.alone and one.design.classifier == first.design.classifier]
    if not alone:
        return ""
    name = alone[0].design.name
    p = found.pair("hazard", first.design.name, name).p
    told = f", against {alone[0].hazard.value.value:.1f} without a monitor"
    if not p.defined:
        return told
    apart = p.value < found.alpha
    return told + (
        f" ({p_words(p.value)})" if apart else f", which cannot be told apart ({p_words(p.value)})"
    )


def _beside(found: SystemComparison, first: System, others: Sequence[System]) -> str:
    """Say from whom the first can be told by what systems are ordered by."""
    priced = found.by == COST
    best = "it is the cheapest" if priced else "it has the fewest"
    prices = "at these prices " if priced else ""
    p = {one.design.name: found.pair(found.by, first.design.name, one.design.name).p for one in others}
    unknown = [name for name, each in p.items() if not each.defined]
    if unknown:
        return f"{prices}{best}, but how surely is not known ({p[unknown[0]].reason})"
    like = [name for name, each in p.items() if each.value >= found.alpha]
    smallest = p_of([p[name].value for name in like], "smallest") if like else ""
    if len(like) == len(p):
        return f"{prices}{listed(like)} cannot be told from it ({smallest})"
    if like:
        return f"{prices}{best} but for {listed(like)}, which cannot be told from it ({smallest})"
    return f"{prices}{best} ({p_of([each.value for each in p.values()], 'largest')})"


def notes(found: SystemComparison) -> Iterator[str]:
    """Say what is counted, how it is mixed, how sure it is, and what is no comparison of like with like."""
    yield (
        "a hazard is a wrong decision that was acted upon, the classifier's or a fallback's; all are of a "
        "thousand decisions, acted upon or not"
    )
    share = f"{100 * found.share:.3g} % of the instances are under a fault"
    if found.prevalence is None:
        yield f"as in the streams: {share}; --prevalence P mixes to another share"
    else:
        alike = ", each fault weighing alike" if len(found.faults) > 1 else ""
        mixed = f"mixed to {100 * found.prevalence:.3g} % of the instances under a fault{alike}"
        yield f"{mixed}; in the streams {share}"
    dear = ", at the dearest price," if found.by == COST else ""
    pairs = {(each.first, each.second) for each in found.pairs}
    yield (
        f"intervals ({100 * (1 - found.alpha):g} %) and p: {counted(found.n_tracks, 'track')} weighed anew "
        f"{found.replicates:,} times, and one{dear} that was not seen; intervals of a measure hold for all "
        "systems together, those of differences and of single faults each by itself; p is corrected for "
        f"{counted(len(pairs), 'pair')} (Holm)"
    )
    if found.aside:
        are = verb(found.aside, "knows nothing and is", "know nothing and are")
        yield f"{listed(found.aside)} {are} left out; --monitor NAME compares those that are named"
    if found.approximate:
        remember = verb(found.approximate, "remembers", "remember")
        yield (
            f"{listed(found.approximate)} {remember} what came before, and in these streams, where {share}, "
            "instances without one follow others: at another share values are an approximation"
        )
    yield from found.warnings
