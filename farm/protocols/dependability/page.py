"""The page of a dependability evaluation: metrics against the four attributes, then each metric."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pandas as pd
from markupsafe import Markup

from farm.config.files import find_criteria
from farm.errors import FarmError, UserError, one_line
from farm.gate.criteria_file import load_criteria
from farm.judging.readouts import load_runs
from farm.measures.neuron_activation import NeuronCoverage
from farm.protocols.dependability import tables, wording
from farm.protocols.dependability.activity import LayerFindings, NeuronFindings
from farm.protocols.dependability.confused import ConfusionFindings
from farm.protocols.dependability.coverage import ScenarioCoverage
from farm.protocols.dependability.kinds import ATTRIBUTES, METRICS, SCENARIO, kind_of
from farm.protocols.dependability.occluded import OcclusionFindings
from farm.protocols.dependability.performance import ScenarioPerformance
from farm.protocols.dependability.perturbed import LossFindings
from farm.protocols.dependability.results import Results
from farm.protocols.dependability.rows import Lacking, MetricFinding, MetricRow
from farm.protocols.dependability.watched import WatchedCells
from farm.report import figures
from farm.report.approval import approval_parts
from farm.report.checked import check_runs
from farm.report.page.book import FigureBook
from farm.report.page.document import document
from farm.report.page.html import join, tag
from farm.report.page.images import image_sheet
from farm.report.page.section import PageSection
from farm.report.page.tables import Cell, folded_table, look_table, table
from farm.statistics.wording import counted

REFERENCE = (
    "C.-H. Cheng, G. Nührenberg, C.-H. Huang and H. Yasuoka, Towards Dependability Metrics for Neural "
    "Networks, MEMOCODE 2018."
)
SHEET = 16
"""Images that lie apart, shown of each layer."""
HEAT_MAPS = 8


def page(results: Results, book: FigureBook | None = None) -> str:
    """Return the whole page; figures are also written where the book says."""
    book = FigureBook() if book is None else book
    streams = results.streams
    run = streams.plain.run
    about = ", ".join(
        (
            f"{run['classifier']['name']} on {run['workload']['name']}",
            counted(len(streams.spec.metrics), "metric"),
            counted(len(streams.plain.instances), "test image"),
            counted(len(streams.faulted), "fault"),
        )
    )
    title = f"Dependability: {streams.spec.name}"
    return book.filled(document(title, about, list(_sections(results, book))))


def _sections(results: Results, book: FigureBook) -> Iterator[PageSection]:
    spec = results.streams.spec
    yield PageSection("answer", "RICC", _answer(results))
    if spec.criteria is not None:
        yield PageSection("verdict", "Verdict", _verdict(results, spec.criteria))
    made: dict[str, tuple[str, Callable[[], Markup]]] = {
        "scenario_coverage": ("Scenario coverage", lambda: _coverage(results.coverage, book)),
        "neuron_activation": ("Neuron k-activation", lambda: _activation(results.neurons, book)),
        "neuron_pattern": ("Activation patterns", lambda: _patterns(results, book)),
        "adversarial_loss": ("Confidence loss", lambda: _loss(results)),
        SCENARIO: ("Performance by scenario", lambda: _performance(results.performance)),
        "interpretation_precision": ("Where it looks", lambda: _occlusion(results.occlusion, book)),
        "weighted_confusion": ("Weighted confusion", lambda: _confusion(results.confusion)),
        "monitor_coverage": ("What monitors were tried on", lambda: _watched(results.watched)),
    }
    for metric, (title, make) in made.items():
        both = ("occlusion_covering",) if metric == "interpretation_precision" else ()
        if spec.asks(metric, *both):
            yield PageSection(metric.replace("_", "-"), title, make())
    yield PageSection("method", "The method", _method())


# The answer -----------------------------------------------------------------------------------------------


def _answer(results: Results) -> Markup:
    spec = results.streams.spec
    return join(
        tag("p", spec.description) if spec.description else None,
        _warned(results),
        ricc_table(results),
        tag(
            "p",
            "Intervals are 95 %. What is counted on the data at hand has none: it says nothing of others.",
            class_="note",
        ),
    )


def _warned(results: Results) -> Markup | None:
    lines = wording.lacking(results.streams)
    if not lines:
        return None
    listed = tag("ul", [tag("li", line) for line in lines])
    return tag("div", tag("h3", "Not all streams are there"), listed, class_="warning")


def ricc_table(results: Results) -> Markup:
    """Return the metrics against the four attributes: values, what each means, what would improve it."""
    rows = tables.main_rows(results.rows())
    attributes = [tag("span", name, class_="upright") for name in ATTRIBUTES]
    headings = ["metric", *attributes, "value", "what would improve it"]
    made = []
    for name, kind in METRICS.items():
        own = [row for row in rows if row.metric.partition(".")[0] == name]
        if not own:
            continue
        made.append(
            [
                Cell(tag("strong", kind.title), f"{kind.meaning}{_better(name)}"),
                *(Cell("●" if one in kind.attributes else "", colour="mark") for one in ATTRIBUTES),
                Cell(join([_valued(row) for row in own])),
                Cell(wording.improvement(results, name)),
            ]
        )
    caption = "The metrics and the attributes that they serve"
    return table(headings, made, caption=caption, sorts=False, class_="ricc")


def _better(name: str) -> str:
    """Say which end is the good one; of performance by scenario each measure has its own."""
    if name == SCENARIO:
        return ""
    return f" {'Higher' if METRICS[name].higher_is_better else 'Lower'} is better."


def _valued(row: MetricRow) -> Markup:
    measure = row.metric.partition(".")[2]
    part = f"{measure}, {row.part}" if measure else row.part
    return tag("div", f"{part}: {wording.value_words(row)}", tag("span", f" n = {row.n:,}", class_="note"))


def _verdict(results: Results, criteria: str) -> Markup:
    """Judge the campaign by the file's criteria."""
    streams = results.streams
    try:
        path = find_criteria(criteria, streams.home)
        file, runs = load_criteria(path), load_runs([streams.place])
        checked = check_runs(runs, file, places=[str(streams.place)], reported=results.reported)
    except UserError as error:
        return tag("p", f"No verdict: {error}", class_="warning")
    how = f"farm check {streams.place} --criteria {path} --record approval.html"
    return join(tag("p", "Alone, on a page to be signed: ", tag("code", how)), approval_parts(checked))


# Each metric ----------------------------------------------------------------------------------------------


def _meaning(*metrics: str) -> Markup:
    return join([tag("p", f"{kind_of(name).meaning} {kind_of(name).improve}") for name in metrics])


def _lacks(found: MetricFinding) -> Markup | None:
    return tag("p", f"Not found: {found.why}.", class_="warning") if isinstance(found, Lacking) else None


def _coverage(found: ScenarioCoverage | Lacking, book: FigureBook) -> Markup:
    if isinstance(found, Lacking):
        return join(_meaning("scenario_coverage"), _lacks(found))
    points = [
        {"panel": f"{data} data", "line": f"k = {k}", "n": n, "value": covered / int(made.possible.sum())}
        for (data, k), made in found.found.items()
        for n, covered in made.curve()
    ]
    frame = pd.DataFrame(points, columns=["panel", "line", "n", "value"])
    draw = partial(figures.growth_curves, frame, measure="coverage", of="distinct scenarios")
    return join(
        _meaning("scenario_coverage"),
        book.add("scenario-coverage", draw, "Scenario coverage by the number of distinct scenarios recorded"),
        [folded_table(look) for look in tables.coverage_looks(found)],
    )


def _activation(neurons: NeuronFindings | Lacking, book: FigureBook) -> Markup:
    if isinstance(neurons, Lacking):
        return join(_meaning("neuron_activation"), _lacks(neurons))
    found = neurons.found
    points = [
        {"panel": f"{one.data}, {one.layer}", "line": f"k = {k}", "n": n, "value": value}
        for one in found
        for k, made in one.coverage.items()
        if isinstance(made, NeuronCoverage)
        for n, value in made.curve
    ]
    frame = pd.DataFrame(points, columns=["panel", "line", "n", "value"])
    draw = partial(figures.growth_curves, frame, measure="k-activation", of="images")
    return join(
        _meaning("neuron_activation"),
        book.add("neuron-activation", draw, "Neuron k-activation by the number of images"),
        look_table(tables.activation_look(found)),
        [folded_table(look) for look in tables.empty_looks(found)],
    )


def _patterns(results: Results, book: FigureBook) -> Markup:
    neurons = results.neurons
    if isinstance(neurons, Lacking):
        return join(_meaning("neuron_pattern"), _lacks(neurons))
    found = neurons.found
    points = [
        {"panel": f"{one.data}, {one.layer}", "line": "images that lie apart", "n": n, "value": value}
        for one in found
        if not isinstance(one.patterns, str)
        for n, value in one.patterns.curve
    ]
    frame = pd.DataFrame(points, columns=["panel", "line", "n", "value"])
    draw = partial(figures.growth_curves, frame, measure="share that lies apart", of="images")
    return join(
        _meaning("neuron_pattern"),
        book.add("neuron-pattern", draw, "The share of images that lie apart, by the number of images"),
        [folded_table(look) for look in tables.pattern_looks(found)],
        [_outlying(results, one) for one in found],
    )


def _outlying(results: Results, one: LayerFindings) -> Markup | None:
    """Show the images that lie farthest apart in their scenario, by turns of the scenarios."""
    if isinstance(one.patterns, str):
        return None
    every = [one.patterns.outlying(scenario) for scenario in one.patterns.groups]
    turns = [own[turn] for turn in range(max(map(len, every), default=0)) for own in every if turn < len(own)]
    ids = turns[:SHEET]
    if not ids:
        return None
    title = f"Images that lie apart: {one.data}, {one.layer}"
    try:
        images = results.streams.data[one.data].images(ids)
    except (FarmError, ImportError) as error:  # such as data that are not on this machine: the list stands
        return tag("p", f"{title}: {', '.join(ids)}. They cannot be shown: {one_line(error)}", class_="note")
    return tag(
        "figure",
        image_sheet(images, title),
        tag("figcaption", f"{title}, the farthest of each scenario in turn: {', '.join(ids)}"),
        class_="drawn",
    )


def _loss(results: Results) -> Markup:
    found = results.loss
    if isinstance(found, LossFindings):
        return join(_meaning("adversarial_loss"), look_table(tables.loss_look(found, results.rows())))
    return join(_meaning("adversarial_loss"), _lacks(found))


def _performance(found: ScenarioPerformance | Lacking) -> Markup:
    if isinstance(found, Lacking):
        return join(_meaning(SCENARIO), _lacks(found))
    return join(_meaning(SCENARIO), [look_table(look) for look in tables.performance_looks(found)])


def _occlusion(found: OcclusionFindings | Lacking, book: FigureBook) -> Markup:
    both = _meaning("interpretation_precision", "occlusion_covering")
    if isinstance(found, Lacking):
        return join(both, _lacks(found))
    maps = partial(figures.occlusion_maps, found.shown(HEAT_MAPS))
    curve = partial(figures.precision_curve, found.curve, rho=found.at.rho)
    return join(
        both,
        look_table(tables.occlusion_look(found)),
        book.add(
            "occlusion-maps", maps, "Where hiding a patch lowers the probability of the predicted class"
        ),
        book.add("occlusion-curve", curve, "Both metrics over the threshold below which a position is hot"),
    )


def _confusion(found: ConfusionFindings | Lacking) -> Markup:
    if isinstance(found, Lacking):
        return join(_meaning("weighted_confusion"), _lacks(found))
    return join(_meaning("weighted_confusion"), look_table(tables.confusion_look(found)))


def _watched(found: WatchedCells | Lacking) -> Markup:
    if isinstance(found, Lacking):
        return join(_meaning("monitor_coverage"), _lacks(found))
    return join(_meaning("monitor_coverage"), [look_table(look) for look in tables.watched_looks(found)])


def _method() -> Markup:
    told = [tag("p", tag("strong", f"{title}. "), text) for title, text in wording.METHOD]
    return join(told, tag("h3", "Reference"), tag("p", REFERENCE, class_="note"))
