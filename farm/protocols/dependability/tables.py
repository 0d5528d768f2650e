"""The tables of a dependability evaluation, for terminals, pages and programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from farm.comparing.between_failures import MTBF
from farm.comparing.joint_tracks import ALARM_RATE
from farm.judging.inspection import Look, LookCell
from farm.measures.measure import Bounded, Measure
from farm.measures.neuron_activation import NeuronCell, NeuronCoverage
from farm.protocols.dependability import wording
from farm.protocols.dependability.activity import ALL, LayerFindings, NeuronFindings
from farm.protocols.dependability.confused import ConfusionFindings
from farm.protocols.dependability.coverage import ScenarioCoverage
from farm.protocols.dependability.kinds import ATTRIBUTES, METRICS, SCENARIO, kind_of
from farm.protocols.dependability.occluded import OcclusionFindings
from farm.protocols.dependability.performance import (
    MeasuredScenarios,
    ScenarioPerformance,
    plain,
    told_scenario,
)
from farm.protocols.dependability.perturbed import LossFindings
from farm.protocols.dependability.results import Results
from farm.protocols.dependability.rows import ONE_SIDED, MetricRow
from farm.protocols.dependability.watched import WatchedCells

SHOWN = 12
"""Rows of a list that may be long."""


def looks(results: Results) -> Iterator[Look]:
    """Return all tables: the metrics with their attributes, and then each metric."""
    yield from short(results)
    asks = results.streams.spec.asks
    if asks("scenario_coverage") and isinstance(results.coverage, ScenarioCoverage):
        yield from coverage_looks(results.coverage)
    if asks("neuron_activation") and isinstance(results.neurons, NeuronFindings):
        yield activation_look(results.neurons.found)
        yield from empty_looks(results.neurons.found)
    if asks("neuron_pattern") and isinstance(results.neurons, NeuronFindings):
        yield from pattern_looks(results.neurons.found)
    if asks("adversarial_loss") and isinstance(results.loss, LossFindings):
        yield loss_look(results.loss, results.rows())
    if asks(SCENARIO) and isinstance(results.performance, ScenarioPerformance):
        yield from performance_looks(results.performance)
    both = "interpretation_precision", "occlusion_covering"
    if asks(*both) and isinstance(results.occlusion, OcclusionFindings):
        yield occlusion_look(results.occlusion)
    if asks("weighted_confusion") and isinstance(results.confusion, ConfusionFindings):
        yield confusion_look(results.confusion)
    if asks("monitor_coverage") and isinstance(results.watched, WatchedCells):
        yield from watched_looks(results.watched)


def short(results: Results) -> Iterator[Look]:
    """Return the beginning: what is not there, and one row for each metric."""
    if lines := wording.lacking(results.streams):
        yield Look("Not all streams are there", (), [], tuple(lines))
    yield overview(results.rows())


def overview(rows: Sequence[MetricRow]) -> Look:
    """Return each metric's main results beside the attributes that it serves."""
    marks = {name: name[0].upper() for name in ATTRIBUTES}
    shown: list[tuple[LookCell, ...]] = []
    for row in main_rows(rows):
        kind = kind_of(row.metric)
        serves = " ".join(mark if name in kind.attributes else "·" for name, mark in marks.items())
        counted = row.value.value.defined and row.value.low == row.value.high
        value = row.value.value if counted else row.value
        better = "higher" if wording.higher_is_better(row.metric) else "lower"
        shown.append((f"{wording.titled(row.metric)}: {row.part}", serves, value, row.n, better))
    legend = ", ".join(f"{mark} {name}" for name, mark in zip("RICC", ATTRIBUTES, strict=True))
    return Look(
        "Dependability metrics",
        ("metric", "RICC", "value", "n", "better"),
        shown,
        (f"{legend}. Intervals are 95 %; what is counted on the data at hand has none.",),
    )


def main_rows(rows: Sequence[MetricRow]) -> list[MetricRow]:
    """Leave out what is of a single scenario, transformer or cell."""
    return [row for row in rows if not row.detail]


# Scenarios ------------------------------------------------------------------------------------------------


def coverage_looks(found: ScenarioCoverage) -> Iterator[Look]:
    """Return coverage by combination of conditions, what to record next, and what was never recorded."""
    rows: list[tuple[LookCell, ...]] = []
    for (data, k), made in found.found.items():
        rows.append(
            (f"{data}, k={k}: all", int(made.covered.sum()), int(made.possible.sum()), Measure(made.share))
        )
        parts = [part for part in made.parts() if part[1] < part[2]]
        rows += [
            (f"{data}, k={k}: {' x '.join(names)}", covered, possible, Measure(covered / possible))
            for names, covered, possible in parts[:SHOWN]
        ]
    notes = [
        f"{data} data: {n:,} images" + (f", and {without:,} that lack a condition" if without else "")
        for data, (n, without) in found.sizes.items()
    ]
    notes += [f"not in the domain: {name}: {why}" for name, why in found.of.left_out.items()]
    yield Look(
        f"Scenario coverage ({found.of.source})",
        ("cells", "covered", "possible", "share"),
        rows,
        tuple(notes),
    )
    planned: list[tuple[LookCell, ...]] = [
        (f"{data}, k={k}", wording.told(made.domain.written(each.scenario)), each.gain, each.at_most)
        for (data, k), proposals in found.proposals.items()
        for made in [found.found[data, k]]
        for each in proposals
    ]
    if planned:
        yield Look("Record next", ("of", "scenario", "new cells", "at most"), planned)
    never: list[tuple[LookCell, ...]] = [
        (f"{data}, k={k}", wording.told(cell))
        for (data, k), made in found.found.items()
        for cell in made.written(made.open[:SHOWN])
    ]
    more = sum(max(len(made.open) - SHOWN, 0) for made in found.found.values())
    if never:
        note = (f"and {more:,} more; `farm scenarios` lists all",) if more else ()
        yield Look("Never recorded", ("of", "cell"), never, note)


# Neurons --------------------------------------------------------------------------------------------------


def activation_look(found: Sequence[LayerFindings]) -> Look:
    """Return how many patterns of neurons the data bring about."""
    rows: list[tuple[LookCell, ...]] = []
    notes = []
    for one in found:
        for k, made in one.coverage.items():
            name = f"{one.data}, {one.layer}, k={k}"
            if isinstance(made, NeuronCoverage):
                rows.append(
                    (name, made.occupied, made.total, made.share, len(made.never_on), len(made.always_on))
                )
            else:
                notes.append(f"{name}: {made}")
    columns = ("data, layer, k", "occupied", "cells", "share", "never on", "always on")
    return Look("Neuron k-activation", columns, rows, tuple(dict.fromkeys(notes)))


def empty_looks(found: Sequence[LayerFindings]) -> Iterator[Look]:
    """Return the first of the patterns that no image brings about."""
    rows: list[tuple[LookCell, ...]] = []
    for one in found:
        for k, made in one.coverage.items():
            if isinstance(made, NeuronCoverage) and made.n_empty:
                told = "; ".join(_cell(cell) for cell in made.empty[:4])
                rows.append((f"{one.data}, {one.layer}, k={k}", made.n_empty, told))
    if rows:
        yield Look(
            "Patterns that no image brings about", ("data, layer, k", "empty", "the first of them"), rows
        )


def _cell(cell: NeuronCell) -> str:
    pairs = zip(cell.neurons, cell.on, strict=True)
    return " ".join(f"{neuron} {'on' if on else 'off'}" for neuron, on in pairs)


def pattern_looks(found: Sequence[LayerFindings]) -> Iterator[Look]:
    """Return how many images of each scenario lie apart, and which these are."""
    for one in found:
        title = f"Activation patterns: {one.data}, {one.layer}"
        if isinstance(one.patterns, str):
            yield Look(title, (), [], (f"{one.patterns}.",))
            continue
        rows: list[tuple[LookCell, ...]] = []
        for scenario, groups in one.patterns.groups.items():
            usual = "" if groups.main is None else wording.usual(groups)
            apart = one.patterns.outlying(scenario)
            share = one.patterns.row("", ONE_SIDED, scenario).value
            rows.append((scenario, groups.n, usual, len(apart), share, ", ".join(apart[:3])))
        rows.sort(key=lambda row: -int(str(row[3])))
        notes = [f"{one.patterns.left_out:,} images lack a condition"] if one.patterns.left_out else []
        if any(groups.trivial for groups in one.patterns.groups.values()):
            notes.append("with one or two groups no image can lie apart: ask for more groups")
        if list(one.patterns.groups) == [ALL]:
            notes.append("without conditions all images are taken for one scenario")
        columns = ("scenario", "images", "neurons on, mostly", "apart", "share", "the farthest")
        yield Look(title, columns, rows, tuple(notes))


# The classifier -------------------------------------------------------------------------------------------


def loss_look(found: LossFindings, rows: Sequence[MetricRow]) -> Look:
    """Return what each transformer costs, and how often it is the worst."""
    values = {row.part: row.value for row in rows if row.metric == "adversarial_loss"}
    shown: list[tuple[LookCell, ...]] = []
    for name, one in found.found.by_transformer.items():
        shown.append((name, found.severities[name], values[name], one.worst, one.tied or None))
    shown.append(("the worst of each image", "", values["mean"], found.found.n, None))
    notes = ["Change of the right class's probability: -0.22 is from 0.91 to 0.69."]
    if len({severity for severity in found.severities.values() if severity[:3] != "eps"} - {""}) > 1:
        notes.append("Severities differ: what is said of transformers is not of one severity.")
    if found.unlabelled:
        notes.append(f"Left out, since they leave no right answer: {', '.join(found.unlabelled)}.")
    if found.found.untouched:
        notes.append(f"{found.found.untouched:,} images are left out, which not all transformers acted on.")
    return Look(
        "Adversarial confidence loss",
        ("transformer", "severity", "mean change", "worst for", "as bad for"),
        shown,
        tuple(notes),
    )


def scenario_look(one: MeasuredScenarios) -> Look:
    """Return a measure scenario by scenario, the weakest first."""
    cells, every = one.cells(), one.all()
    rows: list[tuple[LookCell, ...]] = [("all", _at_least(every), every.n)]
    if one.coverage < 1:
        rows.append(("discounted by scenario coverage", _at_least(one.discounted()), every.n))
    rows += [(told_scenario(cell), _at_least(cell), cell.n) for cell in cells[:SHOWN]]
    notes = ["in the order of the intervals' better ends", wording.sentence_on_weak(one)]
    if one.measure == MTBF:
        unit = "images" if one.frame_rate is None else f"seconds, at {one.frame_rate:g} images a second"
        notes.append(f"{unit} from one failure to the next; a failure is a run of wrong decisions acted upon")
    if (more := len(cells) - SHOWN) > 0:
        notes.append(f"and {more:,} more scenarios")
    first = "most alarms" if one.measure == ALARM_RATE else "weakest scenarios"
    shown = tuple(note for note in notes if note)
    return Look(f"{one.title}, {first} first", ("scenario", "value", "images"), rows, shown)


def _at_least(value: Bounded) -> LookCell:
    """Return a value as a cell; where there is none, what it is at least."""
    if not value.value.defined and value.low.defined:
        return f"at least {value.low.value:.3g}"
    return Bounded(value.value, value.low, value.high)


def performance_looks(found: ScenarioPerformance) -> Iterator[Look]:
    """Return each measure scenario by scenario, the weakest first, and what to record next for monitors."""
    yield from map(scenario_look, found.found)
    planned: list[tuple[LookCell, ...]] = [
        (one.of.title, told_scenario(one.weakest), plain(one.weakest), wording.told(one.scenario), one.new)
        for one in found.next_recordings
    ]
    if planned:
        columns = ("measure", "weakest scenario", "value", "record next", "new cells")
        known = ("0 new cells: all that it has was recorded; record more of it",)
        title = "What to record next for the monitors' weakest scenarios"
        yield Look(title, columns, planned, known if any(not row[-1] for row in planned) else ())


def occlusion_look(found: OcclusionFindings) -> Look:
    """Return both metrics over images."""
    rows: list[tuple[LookCell, ...]] = [
        (METRICS[metric].title, over.mean, over.minimum, over.maximum, over.n_defined)
        for metric, over in found.metrics.items()
    ]
    reasons: Mapping[str, int] = {**found.at.precision.undefined, **found.at.covering.undefined}
    notes = [f"A position is hot where the probability is below {found.at.rho:g}.", *found.maps.notes]
    if found.unsure:
        notes.append(
            f"{found.unsure:,} images are below that with nothing hidden: there hot places tell nothing of "
            "what is hidden; a smaller rho leaves them out."
        )
    notes += [
        f"without a value, {n:,} of {len(found.maps.position):,} images: {why}" for why, n in reasons.items()
    ]
    return Look("Occlusion", ("metric", "mean", "minimum", "maximum", "images"), rows, tuple(notes))


def confusion_look(found: ConfusionFindings) -> Look:
    """Return the costliest confusions."""
    names = found.matrix.classes
    rows: list[tuple[LookCell, ...]] = [
        (f"{names[one.label]} as {names[one.predicted]}", one.n, one.weight, one.share)
        for one in found.found.costliest[:SHOWN]
    ]
    more = len(found.found.costliest) - SHOWN
    return Look(
        "The costliest confusions",
        ("confusion", "times", "weight", "share of all weight"),
        [(name, n, Measure(weight), Measure(share)) for name, n, weight, share in rows],  # type: ignore[arg-type]
        (f"and {more:,} more",) if more > 0 else (),
    )


# Monitors -------------------------------------------------------------------------------------------------


def watched_looks(found: WatchedCells) -> Iterator[Look]:
    """Return how many images of each condition each fault had, and what met nothing."""
    single = found.by_k[1]
    rows: list[tuple[LookCell, ...]] = [
        (wording.told(cell), int(n), *(int(each) for each in counts))
        for cell, n, counts in zip(single.cells, single.plain, single.counts.T, strict=True)
    ]
    notes = wording.watched_notes(found)
    yield Look(
        "What monitors were tried on: images of each condition",
        ("condition", "no fault", *found.faults),
        rows,
        tuple(notes),
    )
    for k, one in found.by_k.items():
        if unmet := one.unmet(found.faults):
            more = len(unmet) - SHOWN
            yield Look(
                f"What did not meet, {k} condition{'s' * (k > 1)} at a time",
                ("cell", "fault"),
                [(wording.told(cell), fault) for cell, fault in unmet[:SHOWN]],
                (f"and {more:,} more",) if more > 0 else (),
            )
