"""What a dependability evaluation found, in words that say no more than was counted or inferred."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from farm.comparing.joint_tracks import ALARM_RATE
from farm.gate.measures import GATED
from farm.measures.neuron_pattern import ActivationGroups
from farm.protocols.dependability.activity import NeuronFindings
from farm.protocols.dependability.confused import ConfusionFindings
from farm.protocols.dependability.coverage import ScenarioCoverage
from farm.protocols.dependability.kinds import METRICS, SCENARIO, kind_of
from farm.protocols.dependability.performance import (
    MeasuredScenarios,
    ScenarioPerformance,
    told_scenario,
)
from farm.protocols.dependability.perturbed import LossFindings
from farm.protocols.dependability.rows import MetricFinding, MetricRow
from farm.protocols.dependability.spec import TRAINING
from farm.protocols.dependability.streams import Streams
from farm.protocols.dependability.watched import WatchedCells
from farm.protocols.shared import estimate_lines
from farm.report.cells import interval
from farm.statistics.wording import counted, listed

if TYPE_CHECKING:
    from farm.protocols.dependability.results import Results

FEW = 5
"""So many of a longer list are named in a sentence."""


def told(scenario: Mapping[str, str]) -> str:
    """Return a scenario in words."""
    return ", ".join(f"{name}={value}" for name, value in scenario.items())


def higher_is_better(metric: str) -> bool:
    """Return which end of a metric is the good one."""
    return GATED[metric].higher_is_better


def titled(metric: str) -> str:
    """Return what tables call a metric.

    Examples
    --------
    >>> titled("scenario_coverage"), titled("scenario.classifier_accuracy")
    ('Scenario coverage', 'classifier_accuracy by scenario')
    """
    kind, _, measure = metric.partition(".")
    return f"{measure} by scenario" if kind == SCENARIO else kind_of(metric).title


def lacking(streams: Streams) -> list[str]:
    """Say which streams failed or are not there yet, and which metrics are of fewer for that."""
    shown = {TRAINING: "the training data"}
    lines = [f"{shown.get(name, name)} failed: {why}" for name, why in streams.failures.items()]
    if streams.missing:
        names = [shown.get(name, name) for name in streams.missing]
        lines.append(f"not there yet: {listed(names)}; farm run goes on with them")
    return lines


def usual(groups: ActivationGroups) -> str:
    """Say how many neurons most images of a scenario switch on: the main group and those beside it.

    Examples
    --------
    >>> usual(ActivationGroups(neurons=10, sizes=(0, 1, 8, 0, 0), outlying=()))
    '2 to 7 of 10'
    """
    assert groups.main is not None, "whoever asks has images"
    first, last = max(groups.main - 1, 0), min(groups.main + 1, len(groups.sizes) - 1)
    end = groups.neurons if last == len(groups.sizes) - 1 else groups.starts[last + 1] - 1
    return f"{groups.starts[first]} to {end} of {groups.neurons}"


def watched_notes(found: WatchedCells) -> Iterator[str]:
    """Say which conditions saw no fault, and which faults met no rare condition."""
    spared = found.by_k[1].spared
    if spared:
        yield f"no fault met {_some([told(cell) for cell in spared])}"
    if found.rare:
        yield f"rare conditions: {_some([told(cell) for cell in found.rare])}"
    if found.without_rare:
        yield f"met none of the rare conditions: {listed(found.without_rare)}"
    if found.absent:
        yield f"failed or not there yet, so that they met nothing: {listed(found.absent)}"
    if found.without_conditions:
        yield f"images without conditions, so nobody knows what they met: {listed(found.without_conditions)}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - FEW
    return f"{'; '.join(names[:FEW])}" + (f"; and {more:,} more" if more > 0 else "")


def value_words(row: MetricRow) -> str:
    """Write a result with its interval, or why there is none.

    Examples
    --------
    >>> from farm.protocols.dependability.rows import read_off
    >>> value_words(MetricRow("scenario_coverage", "train k=2", read_off(0.5), 10))
    '0.5'
    """
    value = row.value
    if not value.value.defined:
        why = value.value.reason
        if value.low.defined:
            return f"at least {value.low.value:.3g} ({why})"
        return f"none: {why}"
    shown = f"{value.value.value:.3g}"
    if not (value.low.defined and value.high.defined) or value.low == value.high:
        return shown
    return f"{value.value.value:.3f} ({interval(value.low.value, value.high.value, 3)})"


def improvement(results: Results, metric: str) -> str:
    """Say what would improve a metric, with what was found where that tells more."""
    general = METRICS[metric].improve
    found = {
        "scenario_coverage": lambda: _next_scenario(results.coverage),
        "neuron_pattern": lambda: _farthest(results.neurons),
        "adversarial_loss": lambda: _worst_transformer(results.loss),
        SCENARIO: lambda: _weakest_scenario(results.performance),
        "weighted_confusion": lambda: _costliest(results.confusion),
        "monitor_coverage": lambda: _spared(results.watched),
    }
    particular = found[metric]() if metric in found else ""
    return f"{general} {particular}".strip()


def _next_scenario(found: MetricFinding) -> str:
    if not isinstance(found, ScenarioCoverage):
        return ""
    for (data, k), proposals in found.proposals.items():
        if proposals:
            scenario = told(found.found[data, k].domain.written(proposals[0].scenario))
            new = counted(proposals[0].gain, "new cell")
            return f"Next, of the {data} data: {scenario}: {new} of {counted(k, 'condition')}."
    covered = found.found and not any(len(made.open) for made in found.found.values())
    return "All possible cells are covered." if covered else ""


def _farthest(found: MetricFinding) -> str:
    if not isinstance(found, NeuronFindings):
        return ""
    share = {
        f"the {one.data} data under {of}": len(each.outlying) / each.n
        for one in found.found
        if not isinstance(one.patterns, str)
        for of, each in one.patterns.groups.items()
    }
    worst = max(share, key=lambda at: share[at], default="")
    if not worst or not share[worst]:
        return ""
    return f"The largest share that lies apart is in {worst} ({100 * share[worst]:.1f} %)."


def _worst_transformer(found: MetricFinding) -> str:
    if not isinstance(found, LossFindings):
        return ""
    by = found.found.by_transformer
    worst = max(by, key=lambda name: by[name].worst)
    return (
        f"The worst is most often {worst} ({by[worst].worst:,} of {found.found.n:,} images)."
        if by[worst].worst
        else ""
    )


def _weakest_scenario(found: MetricFinding) -> str:
    if not isinstance(found, ScenarioPerformance) or not found.found:
        return ""
    return sentence_on_weak(found.found[0])


def sentence_on_weak(one: MeasuredScenarios) -> str:
    """Say which scenarios are shown to be weaker than all images together, else where the value is worst."""
    alarms = one.measure == ALARM_RATE
    if one.surely_weak:
        names = "; ".join(told_scenario(weak) for weak in one.surely_weak[:FEW])
        more = f"; and {len(one.surely_weak) - FEW} more" if len(one.surely_weak) > FEW else ""
        begun = "More alarms" if alarms else f"Weaker in {one.title}"
        return f"{begun} than all images together: {names}{more}."
    if not one.weakest.value.defined:
        return ""
    value = f"{one.weakest.value.value:.3g} over {counted(one.weakest.n, 'image')}"
    shown = "have more alarms" if alarms else f"be weaker in {one.title}"
    worst = f"the {'highest' if alarms else 'worst'} value is under {told_scenario(one.weakest)} ({value})"
    return f"No scenario is shown to {shown} than all images together; {worst}."


def _costliest(found: MetricFinding) -> str:
    if not isinstance(found, ConfusionFindings) or not found.found.costliest:
        return ""
    worst, names = found.found.costliest[0], found.matrix.classes
    share = f"{100 * worst.share:.0f} % of all weight"
    return f"Costliest: {names[worst.label]} taken for {names[worst.predicted]} ({share})."


def _spared(found: MetricFinding) -> str:
    if not isinstance(found, WatchedCells):
        return ""
    for k, one in found.by_k.items():
        if one.spared:
            return f"No fault met {_some([told(cell) for cell in one.spared])} ({k} at a time)."
        if unmet := one.unmet(found.faults):
            cell, fault = unmet[0]
            return f"Such as {fault} on {told(cell)} (one of {counted(len(unmet), 'pair')} that never met)."
    return ""


METHOD = (
    (
        "What is judged",
        "A classifier and the data that it learned from, or was tried on. Each metric needs something "
        "of the data or of the network: conditions of the images, layers of the network, masks of the "
        "objects. Where that is missing, the metric says so, and the others stand.",
    ),
    (
        "Counted or inferred",
        "Coverage and k-activation are counted on the data at hand: they have no interval, since they "
        "say nothing of other data. All other intervals are 95 %, over tracks where images share "
        "some, and are about other images of the kind. The least, the greatest and the worst tenth "
        "have none: they were chosen for being so.",
    ),
    (
        "Scenarios",
        "A scenario has one value of each condition. A cell is a value of each of k conditions. Cells "
        "that restrictions make impossible do not count. What to record next is the scenario with "
        "most new cells, by integer programming.",
    ),
    (
        "Activation patterns",
        "A neuron is on where its value is above the threshold; of a layer with maps, where the "
        "greatest value of its map is. Images of one scenario are put into groups by how many neurons "
        "are on. Those that are neither in the largest group nor beside it lie apart.",
    ),
    (
        "Confidence loss",
        "All transformers have one severity; attacks may move a pixel by 0.01 for each level of it. "
        "Only images that all transformers acted on count, since the worst of more is worse. The "
        "source's sign: a loss is negative.",
    ),
    (
        "Performance by scenario",
        "Of the classifier on the test data, of monitors on the test data and all faults together. "
        "Discounted by the scenario coverage of the test data, at as many conditions as scenarios "
        "are told by: what was never recorded counts as worst. The weakest scenario was chosen, so "
        "the ends of all scenarios together hold with 95 %.",
    ),
    (
        "Occlusion",
        "A patch hides each place of an image in turn; hot is a place where the probability of the "
        "class that was predicted without the patch falls below the threshold. A place is of the "
        "object where the patch touches its mask.",
    ),
)
"""The method in plain words."""


def size_lines(told: Mapping[str, Any], workers: int) -> Iterator[str]:
    """Say before a run what it takes, as `Sizes.record` tells it."""
    yield f"dependability: {counted(told['cells'], 'stream')}"
    trained = (
        counted(told["trainings"], "network") if told["trainings"] else "none: it brings its weights along"
    )
    yield f"trainings: {trained}"
    for name, why in told["not_there"].items():
        yield f"not there: {name}: {why}"
    yield from estimate_lines(told, workers)
