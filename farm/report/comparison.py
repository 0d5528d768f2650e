"""A comparison for people, as tables and a plain sentence a category; for programs, as JSON and CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pandas as pd
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from farm.comparing import Comparison, Conclusion, Section
from farm.comparing.along_time import FALSE_ALARMS, drawn_of
from farm.comparing.frames import ranked
from farm.comparing.measures import Measured
from farm.errors import ParameterError, suggestion
from farm.gate.answer import Answer
from farm.judging.inspection import Look
from farm.report.cells import DASH, markup_free, number
from farm.report.comparison_records import standing_record, to_json
from farm.report.frames import look_of, render_frame
from farm.report.guarantees import below, entries, guarantee_looks
from farm.report.latex import BOOKTABS, escape, with_minus
from farm.report.looks import embedded, look_tables, render_looks
from farm.report.output import Styled
from farm.report.ranks import rank_look
from farm.report.terminal import printed, sentences
from farm.statistics.table import Undefined
from farm.statistics.wording import p_cell

HEADINGS = ("", "monitor", "value", "interval", "p")
FIRST, LIKE, OPEN, BETTER, WORSE = "*", "=", "?", "+", "-"
DIGITS = 3


def render_comparison(
    comparison: Comparison,
    format: str = "table",
    *,
    answer: Sequence[Answer] = (),
    width: int = 100,
    colour: bool = False,
) -> str:
    """Write a comparison as `table`, `markdown`, `latex`, `csv` or `json`; only JSON has everything.

    `answer` is told first, but for CSV, which has no place for sentences.
    """
    if format == "table":
        told = sentences([each.sentence for each in answer])
        found = printed(told, _renderable(comparison, width), width=width, colour=colour)
        return Styled(found + below(_guarantees(comparison), format, width))
    if format == "json":
        return to_json(comparison, answer)
    if format == "csv":
        return render_frame(_with_reasons(comparison), "csv")
    if format not in _WRITERS:
        raise ParameterError(
            f"format '{format}' is unknown; {suggestion(format, ('table', 'json', 'csv', *_WRITERS))}"
        )
    found = _WRITERS[format](comparison, [each.sentence for each in answer])
    return found + below(_guarantees(comparison), format, width)


def _guarantees(comparison: Comparison) -> list[Look]:
    """Return the tables of what became of guarantees, where a monitor has one."""
    return guarantee_looks(entries(comparison.promises)) if comparison.promises else []


def title(comparison: Comparison) -> str:
    """Say what is compared."""
    better = "higher" if comparison.measure.higher_is_better else "lower"
    beside = "" if comparison.control is None else f"; each monitor beside {comparison.control}"
    return f"{comparison.measure.name} by {comparison.by}; {better} is better{beside}"


def subtitle(section: Section) -> str:
    """Say what a section is about."""
    sets = f"{len(section.sets)} set{'' if len(section.sets) == 1 else 's'}"
    runs = "" if section.n_streams == len(section.sets) else f" in {section.n_streams} streams"
    tracks = section.n_groups is not None and section.n_groups < section.n
    return f"{sets}{runs}, n = {section.n:,} {section.unit}" + (
        f" of {section.n_groups:,} tracks" if tracks else ""
    )


def _averaged(measure: Measured) -> str:
    if not measure.along_time:
        return "means over a section's sets"
    of = "quiet instances" if measure.name == FALSE_ALARMS else "onsets"
    return (
        f"{'medians' if measure.name.endswith('delay') else 'rates'} of the {of} of all of a section's sets"
    )


def legend(comparison: Comparison) -> list[str]:
    """Say what the marks and numbers mean, how they came about, and what was left out."""
    level = f"{100 * (1 - comparison.alpha):g} %"
    too_few = any(each.resolution and not each.resolution.enough for each in comparison.sections)
    times = sorted({each.resolution.replicates for each in comparison.sections if each.resolution})
    control = comparison.control
    marks = f"{FIRST} best; {LIKE} not to be told from the best on these streams"
    corrected = "corrected for all pairs of monitors"
    if control is not None:
        signs = f"{BETTER} better, {WORSE} worse, {LIKE} not to be told from it"
        marks = f"{FIRST} {control}; on these streams {signs}"
        corrected = "Holm's correction"
    lines = [
        f"{marks} (alpha {comparison.alpha:g}, {corrected})"
        + (f"; {OPEN} too few tracks or replicates to tell" if too_few else ""),
        f"values are {_averaged(comparison.measure)}; intervals ({level}) and p by resampling whole "
        + (drawn_of(comparison.measure) if comparison.measure.along_time else "tracks")
        + (f" {' to '.join(f'{n:,}' for n in (times[0], times[-1])[: len(times)])} times" if times else ""),
    ]
    if any(not isinstance(one.ranks, Undefined) for one in comparison.conclusions):
        lines.append(
            "n = ... sets: monitors are ranked on each set, and p is of Wilcoxon's signed-rank test of two "
            "monitors, with Holm's correction for "
            + ("all pairs (--table pairs has other corrections too)" if control is None else "their number")
        )
    if any(one.practical for one in comparison.conclusions):
        lines.append(
            "probabilities are of the Bayesian signed-rank test, whose prior weighs half a set: of few sets "
            "they are bold"
        )
    return [*lines, *comparison.notes, *gaps(comparison)]


ON_INSTANCES = "On these instances (would others of the same sets say the same?):"
OVER_SETS = "Over sets (would other sets say the same?):"


def by_question(comparison: Comparison) -> dict[str, list[Conclusion]]:
    """Return the conclusions by the question that they answer; tables and their marks answer the first."""
    found: dict[str, list[Conclusion]] = {ON_INSTANCES: [], OVER_SETS: []}
    for one in comparison.conclusions:
        found[ON_INSTANCES if isinstance(one.ranks, Undefined) else OVER_SETS].append(one)
    return {question: conclusions for question, conclusions in found.items() if conclusions}


def gaps(comparison: Comparison) -> Iterator[str]:
    """Return what was left out of ranks, category by category, and what counts as 0, over all."""
    several = len(comparison.conclusions) > 1
    for one in comparison.conclusions:
        yield from (f"{one.category}: {note}" if several else note for note in one.left_out)
    for last in comparison.conclusions[-1:]:
        yield from last.zeroed


def cells(section: Section, place: int) -> tuple[str, ...]:
    """Return a row's texts in the order of `HEADINGS`."""
    standing = section.standings[place]
    if not standing.value.defined:
        return ("", standing.monitor, DASH, str(standing.gap), "")
    low, high = standing.low, standing.high
    known = low.defined and high.defined
    interval = f"{number(low.value, DIGITS)} to {number(high.value, DIGITS)}" if known else DASH
    p = p_cell(standing.p.value) if standing.p.defined else ""
    return (_mark(section, place), standing.monitor, number(standing.value.value, DIGITS), interval, p)


def _mark(section: Section, place: int) -> str:
    """Return the sign before a monitor with a value: how it stands to the best, or to the control."""
    standing, than = section.standings[place], section.control or section.best
    like = standing.like_best if section.control is None else standing.like_control
    if standing.monitor == than:
        return FIRST
    if like is None:
        return OPEN if standing.p.defined else ""
    if like:
        return LIKE
    if section.control is None:
        return ""
    before = [each.monitor for each in section.standings[:place]]
    return WORSE if section.control in before else BETTER


def _renderable(comparison: Comparison, width: int) -> RenderableType:
    pieces: list[RenderableType] = [Text(title(comparison), style="bold"), Text(), Text(ON_INSTANCES)]
    for one in comparison.sections:
        pieces += [Text(), Text.assemble((one.name, "bold"), f": {subtitle(one)}")]
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for heading in HEADINGS:
            name = heading == "monitor"
            table.add_column(
                heading,
                justify="right" if heading in ("value", "p") else "left",
                # Of all columns the name can be broken best; numbers are kept whole.
                overflow="fold",
                no_wrap=not name,
            )
        for i in range(len(one.standings)):
            row = cells(one, i)
            table.add_row(*map(Text, row), style="bold" if row[0] == FIRST else None)
        pieces += [table, *(_indented(note) for note in one.notes)]
    for question, conclusions in by_question(comparison).items():
        pieces.append(Text())
        if question == OVER_SETS:
            pieces += [Text(question), *_rank_tables(comparison, width), Text()]
        for conclusion in conclusions:
            pieces += [Text(conclusion.sentence), *(Text(f"  {told}") for told in conclusion.practical)]
    return Group(*pieces, Text(), *(_indented(line, 0) for line in legend(comparison)))


def _rank_tables(comparison: Comparison, width: int) -> Iterator[RenderableType]:
    for category, ranks in ranked(comparison):
        look = rank_look(category, ranks, width)
        name, _, about = look.title.partition(": ")
        yield from (Text(), Text.assemble((name, "bold"), f": {about}"))
        yield from look_tables(look, width)
        yield from (_indented(note) for note in look.notes)


def _indented(line: str, by: int = 3) -> RenderableType:
    return Padding(Text(line, style="dim"), (0, 0, 0, by))


def _markdown(comparison: Comparison, told: Sequence[str]) -> str:
    lines = [f"{markup_free(sentence)}\n" for sentence in told]
    lines += [f"### {markup_free(title(comparison))}", "", ON_INSTANCES, ""]
    for one in comparison.sections:
        lines += [
            f"**{markup_free(one.name)}**: {markup_free(subtitle(one))}",
            "",
            "| | monitor | value | interval | p |",
        ]
        lines += ["|:--|:--|--:|:--|--:|"]
        lines += [f"| {' | '.join(map(markup_free, cells(one, i)))} |" for i in range(len(one.standings))]
        lines += ["", *(f"- {markup_free(note)}" for note in one.notes), *([""] if one.notes else [])]
    for question, conclusions in by_question(comparison).items():
        if question == OVER_SETS:
            lines += [question, "", *(embedded(rank_look(*each), "markdown") for each in ranked(comparison))]
        for conclusion in conclusions:
            lines.append(f"- {markup_free(conclusion.sentence)}")
            lines += [f"  - {markup_free(told)}" for told in conclusion.practical]
        lines.append("")
    lines += ["---", "", *(f"- {markup_free(line)}" for line in legend(comparison))]
    return "\n".join(lines) + "\n"


def _latex(comparison: Comparison, told: Sequence[str]) -> str:
    lines = [BOOKTABS.strip(), *(f"{escape(sentence)}\n" for sentence in told)]
    lines += [r"\begin{table}[t]", r"\centering\small"]
    sentences = " ".join(
        f"{question} {' '.join(one.sentence for one in conclusions)}"
        for question, conclusions in by_question(comparison).items()
    )
    lines.append(rf"\caption{{{escape(title(comparison))}. {escape(sentences)}}}")
    lines += [r"\begin{tabular}{llrlr}", r"\toprule", " & ".join(HEADINGS) + r" \\"]
    for one in comparison.sections:
        lines += [r"\midrule", rf"\multicolumn{{5}}{{l}}{{{escape(f'{one.name}: {subtitle(one)}')}}} \\"]
        for i in range(len(one.standings)):
            mark, monitor, *numbers = map(escape, cells(one, i))
            lines.append(" & ".join([mark, monitor, *map(with_minus, numbers)]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [embedded(rank_look(*each), "latex").rstrip() for each in ranked(comparison)]
    notes = [f"{one.name}: {note}" for one in comparison.sections for note in one.notes]
    lines += [rf"\par\smallskip{{\footnotesize {escape('; '.join(legend(comparison)))}.}}"]
    lines += [rf"\par{{\footnotesize {escape('; '.join(notes))}.}}"] if notes else []
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _with_reasons(comparison: Comparison) -> pd.DataFrame:
    """Return the values, and why what is undefined is so."""
    reasons = [standing_record(each)["undefined"] for one in comparison.sections for each in one.standings]
    return comparison.values.assign(why=["; ".join(dict.fromkeys(own.values())) for own in reasons])


def _promises_with_reasons(comparison: Comparison) -> pd.DataFrame:
    """Return what became of promises, with what is told of them in words."""
    return comparison.guarantees.join(
        pd.DataFrame(
            [
                {
                    "policy": each.promise.policy,
                    "guarantee": each.promise.guarantee.sentence,
                    "assumption": each.promise.guarantee.assumption,
                    "reason": each.reason,
                }
                for each in comparison.promises
            ],
            columns=["policy", "guarantee", "assumption", "reason"],
            dtype=object,
        )
    )


_WITH_REASONS = {"values": _with_reasons, "guarantees": _promises_with_reasons}
TABLES = ("values", "ranks", "tests", "pairs", "guarantees")
_SHOWN = {
    "values": ("section", "monitor", "value", "low", "high", "p"),
    "ranks": (),
    "tests": (
        "category",
        "sets",
        "chi_squared",
        "chi_squared_p",
        "f",
        "f_p",
        "critical_difference",
        "sets_needed",
    ),
    "pairs": ("name", "first", "second", "p_alone", "p_holm", "p_shaffer", "p_nemenyi", "needed"),
    "guarantees": (),
}
"""What people see of a table; of pairs whose instances were resampled there is one p."""


def why_empty(comparison: Comparison, table: str) -> str | None:
    """Say why one of the tables has no rows; None where it has some."""
    if not getattr(comparison, table).empty:
        return None
    if table == "guarantees":
        return "no guarantees (no monitor has one, or --false-alarms set other thresholds)"
    unranked = [one.ranks.reason for one in comparison.conclusions if isinstance(one.ranks, Undefined)]
    return f"no {table} ({'; '.join(dict.fromkeys(unranked))})"


def render_table(comparison: Comparison, table: str, format: str, *, width: int = 100) -> str:
    """Write one of the tables alone: `values`, `ranks`, `tests`, `pairs` or `guarantees`."""
    frame = _WITH_REASONS[table](comparison) if table in _WITH_REASONS else getattr(comparison, table)
    if frame.empty and format not in ("csv", "json"):
        why = why_empty(comparison, table)
        return render_looks([Look(f"{title(comparison)}: {why}", (), [])], format, width=width)
    if table == "guarantees" and format not in ("csv", "json"):
        return render_looks(_guarantees(comparison), format, width=width)
    if table != "pairs" or format in ("csv", "json"):
        return render_frame(frame, format, title=title(comparison), shown=_SHOWN[table], width=width)
    sets = frame["over"] == "sets"
    parts = (
        (~sets, ON_INSTANCES, ("name", "first", "second", "p", "floor")),
        (sets, OVER_SETS, _SHOWN[table]),
    )
    looks = [look_of(frame[rows], heading, shown) for rows, heading, shown in parts if rows.any()]
    return render_looks(looks, format, width=width)


_WRITERS: dict[str, Callable[[Comparison, Sequence[str]], str]] = {
    "markdown": _markdown,
    "latex": _latex,
}
