"""Every benchmark set in detail: its table, curves, scores, the stream in time, and the images themselves."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from markupsafe import Markup

from farm.api.arrays import FloatArray
from farm.judging import Judgement, Record, VerdictTable
from farm.judging.intervals import WORDS
from farm.judging.whole_stream import FALSE_ALARMS
from farm.measures import Separation
from farm.measures.ranking import RiskCoverage
from farm.report.figures import (
    DelayCurve,
    along_stream,
    delay_curves,
    plane,
    score_curves,
    score_distributions,
)
from farm.report.figures.along_stream import ScoresOverTime
from farm.report.figures.curves import Calibrated, ScoreCurves
from farm.report.figures.scores import MonitorScores
from farm.report.page.book import FigureBook
from farm.report.page.findings import Findings, ReportedSet
from farm.report.page.html import join, tag
from farm.report.page.images import ImageSheet
from farm.report.page.section import PageSection
from farm.report.page.tables import sheets_of
from farm.report.sheets import LEGEND_TIME, sheets

LEGEND = (
    "Specific: is the image faulty (OOD)? Overall: should the decision be cancelled, since it is wrong?",
    "MCC: 1 is perfect, 0 is chance; below the overall one is its 95 % interval.",
    "FPR: share of clean images with an alarm. FNR: share of faulty images without one.",
    "AUROC: the chance that a faulty image scores higher than a clean one. FPR95: the FPR if 95 % of faulty "
    "images are to be found.",
    "Coverage: share of decisions that are accepted. Accuracy: share of right ones among these.",
    "Time: the median that a monitor adds an image.",
)
MOST_CURVES = 6
"""More monitors' curves in one picture cannot be told apart; the best on the whole are drawn."""
OPEN = 2
"""So many cells are open at first."""


def cells(found: Findings, book: FigureBook) -> PageSection | None:
    """Return the section: each set folded in, behind its name."""
    sheet = ImageSheet.of(found)
    if not found.cells:
        return None
    made = [_cell(found, one, book, sheet, open_=len(found.cells) <= OPEN) for one in found.cells]
    units = tuple(
        sorted({unit for one in found.cells for r in one.records if (unit := r.get("intervals_by"))})
    )
    told = [*LEGEND, *([f"Intervals: {WORDS[units]}."] if units else [])]
    if any(one.run.judged.table.episode is not None for one in found.cells):
        told.append(LEGEND_TIME)
    legend = tag("details", tag("summary", "What the columns mean"), [tag("p", line) for line in told])
    return PageSection("cells", "Each fault in detail", join(legend, sheet.note, made, sheet.style))


def _cell(found: Findings, one: ReportedSet, book: FigureBook, sheet: ImageSheet, *, open_: bool) -> Markup:
    n_runs = len(one.set.streams)
    repeated = (
        tag(
            "p",
            f"There are {n_runs} runs of this set. The heat map has their mean; below is {one.run.folder}.",
        )
        if n_runs > 1
        else None
    )
    body = join(
        repeated,
        sheets_of(replace(sheets(_ordered(found, one)), legend=()), titled=False),
        _scores(found, one, book),
        _curves(found, one, book),
        _in_time(found, one, book) if found.first_of_run(one) else None,
        _delays(found, one, book),
        sheet.of_set(one),
        _planes(one, book),
    )
    summary = tag("summary", tag("h3", found.label(one)), tag("span", one.set.category, class_="category"))
    return tag("details", summary, body, id=one.id, class_="cell", open=open_)


def _ordered(found: Findings, one: ReportedSet) -> list[Record]:
    """Return a set's records in the page's order."""
    place = {monitor: number for number, monitor in enumerate(found.monitors)}
    return sorted(one.records, key=lambda record: place.get(record["monitor"], len(place)))


def _shown(found: Findings, one: ReportedSet) -> dict[str, Judgement]:
    """Return what monitors said that have scores, yardsticks apart."""
    said = one.stream.said
    ordered = [m for m in found.monitors if m in said and m not in found.yardsticks]
    return {m: said[m] for m in ordered if said[m].scores is not None}


def _threshold(one: ReportedSet, monitor: str) -> float | None:
    """Return the threshold of all classes; None where each has its own, or none was noted."""
    for note in one.run.run.get("monitors") or ():
        calibration = note.get("calibration") or {}
        if note["name"] == monitor and calibration.get("per_class") is None:
            threshold = calibration.get("threshold")
            return None if threshold is None else float(threshold)
    return None


def _scores(found: Findings, one: ReportedSet, book: FigureBook) -> Markup | None:
    table = one.stream
    if table.why_no_ood or not table.is_ood.any() or table.is_ood.all():
        return None
    rows = [
        MonitorScores(m, said.score[~table.is_ood], said.score[table.is_ood], _threshold(one, m))
        for m, said in _shown(found, one).items()
        if said.score is not None
    ]
    if not rows:
        return None
    draw = partial(score_distributions, rows)
    caption = (
        "A score right of the line raises an alarm. Where both hills lie on each other, no threshold helps."
    )
    return book.add(f"{one.id}-scores", draw, f"Scores of clean and faulty images: {one.set.name}", caption)


def _curves(found: Findings, one: ReportedSet, book: FigureBook) -> Markup | None:
    table = one.stream
    if table.why_no_ood or not table.is_ood.any() or table.is_ood.all():
        return None
    shown = _shown(found, one)
    made = [_curves_of(m, said, table) for m, said in list(shown.items())[:MOST_CURVES]]
    if not made:
        return None
    few = len(shown) > MOST_CURVES
    caption = f"The {MOST_CURVES} monitors that are best on the whole are drawn." if few else ""
    title = f"ROC, precision and recall, and risk against coverage: {one.set.name}"
    return book.add(f"{one.id}-curves", partial(score_curves, made), title, caption)


def _curves_of(monitor: str, said: Judgement, table: VerdictTable) -> ScoreCurves:
    assert said.score is not None, "it has scores"
    apart = Separation.of(said.score, table.is_ood)
    caught, false = float(said.alarm[table.is_ood].mean()), float(said.alarm[~table.is_ood].mean())
    right = float(table.is_ood[said.alarm].mean()) if said.alarm.any() else None
    accepted = ~said.cancelled
    risk, at_risk = RiskCoverage.of(said.score, table.should_cancel), None
    if table.why_no_label:
        risk = RiskCoverage(risk.accepted[:0], risk.wrong[:0], table.why_no_label)
    elif accepted.any():
        at_risk = float(accepted.mean()), float(table.should_cancel[accepted].mean())
    at = Calibrated((false, caught), None if right is None else (caught, right), at_risk)
    return ScoreCurves(monitor, apart.roc(), apart.precision_recall(), risk, at)


def _in_time(found: Findings, one: ReportedSet, book: FigureBook) -> Markup | None:
    """Draw scores and alarms along the whole stream, where faults come over it."""
    along = one.run.judged.stream
    if along is None:
        return None
    order, episodes = along.along, along.episodes
    spans = list(zip(episodes.onset.tolist(), episodes.end.tolist(), strict=True))
    rows = []
    for monitor, said in list(_shown(found, one).items())[:MOST_CURVES]:
        whole = one.run.judged.table.said[monitor]
        assert whole.score is not None, f"{said} has scores"
        rows.append(
            ScoresOverTime(
                monitor,
                position=np.arange(len(order)),
                score=whole.score[order],
                alarm=whole.alarm[order],
                threshold=_threshold(one, monitor),
                delays=episodes.noticed(whole.alarm[order]).told,
            )
        )
    if not rows:
        return None
    caption = (
        "The whole stream, with all of its faults. Shaded: a fault lasts. A mark shows its first alarm; the "
        "distance from where it began is the delay."
    )
    return book.add(
        f"{one.id}-time",
        partial(along_stream, rows, spans),
        f"Scores and alarms along the stream: {one.set.name}",
        caption,
    )


def _delays(found: Findings, one: ReportedSet, book: FigureBook) -> Markup | None:
    """Draw how soon the onsets of this fault are noticed, over thresholds."""
    along = one.run.judged.stream
    own = None if along is None else along.of_part(one.part)
    if along is None or own is None or not own.any():
        return None
    curves = []
    for monitor in list(_shown(found, one))[:MOST_CURVES]:
        score = one.run.judged.table.said[monitor].score
        assert score is not None, f"{monitor} has scores"
        noticed = [along.episodes.noticed(along.alarm_at(score, rate)).take(own) for rate in FALSE_ALARMS]
        curves.append(
            DelayCurve(monitor, FALSE_ALARMS, [each.delays.quantile(0.5).value for each in noticed])
        )
    if not curves:
        return None
    caption = "At each place all monitors have as many false alarms, or just fewer, so that they compare."
    title = f"Delays at equal rates of false alarms: {one.set.name}"
    return book.add(f"{one.id}-delays", partial(delay_curves, curves), title, caption)


def _planes(one: ReportedSet, book: FigureBook) -> Markup | None:
    """Draw where images lie among the boxes of a class."""
    kept = one.run.pictures
    group = (one.part.group.faultload, one.part.group.category, one.part.group.severity)
    made = []
    for each in kept.planes if kept is not None else ():
        if (each["faultload"], each["category"], each["severity"]) != group:
            continue
        is_ood = _is_ood(one.run.judged.table, np.array(each["positions"], dtype=np.int64))
        xy = np.array(each["points"], dtype=np.float64).reshape(-1, 2)
        points = pd.DataFrame({"x": xy[:, 0], "y": xy[:, 1], "is_ood": is_ood})
        boxes = [(box[0], box[1], box[2], box[3]) for box in each["boxes"]]
        name = _class(one, each["predicted"])
        title = f"{each['monitor']}: images that were taken for '{name}', and the boxes of that class"
        draw = partial(plane, points, boxes, axes=(each["axes"][0], each["axes"][1]))
        made.append(tag("div", tag("h5", title), book.add(f"{one.id}-plane-{each['monitor']}", draw, title)))
    if not made:
        return None
    return tag(
        "details",
        tag("summary", "Where images lie among the boxes of a class"),
        tag("div", made, class_="pair"),
    )


def _class(one: ReportedSet, number: int) -> str:
    classes = one.run.run.get("classes") or ()
    return str(classes[number]) if 0 <= number < len(classes) else str(number)


def _is_ood(table: VerdictTable, positions: FloatArray) -> np.ndarray:
    by_position = dict(zip(table.position.tolist(), table.is_ood.tolist(), strict=True))
    return np.array([by_position.get(int(place), False) for place in positions], dtype=np.bool_)
