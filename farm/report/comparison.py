"""A comparison for people: sections as tables, and a plain sentence a category."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from farm.comparison import Comparison, Conclusion, Section, Standing
from farm.errors import ParameterError, suggestion
from farm.report.latex import escape
from farm.statistics.table import Undefined
from farm.statistics.wording import p_words

HEADINGS = ("", "monitor", "value", "interval", "p")
BEST, LIKE, NO_VALUE = "*", "=", "\N{EN DASH}"


def render_comparison(
    comparison: Comparison, format: str = "table", *, width: int = 100, colour: bool = False
) -> str:
    """Write a comparison as `table`, `markdown`, `latex`, `csv` or `json`; the last two have everything."""
    if format == "table":
        console = Console(width=width, file=io.StringIO(), color_system="standard" if colour else None)
        with console.capture() as capture:
            console.print(_renderable(comparison))
        return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"
    if format not in _WRITERS:
        raise ParameterError(f"format '{format}' is unknown; {suggestion(format, ('table', *_WRITERS))}")
    return _WRITERS[format](comparison)


def to_records(comparison: Comparison) -> dict[str, Any]:
    """Give everything as JSON."""
    return {
        "measure": comparison.measure.name,
        "higher_is_better": comparison.measure.higher_is_better,
        "by": comparison.by,
        "alpha": comparison.alpha,
        "undefined": comparison.undefined,
        "replicates": comparison.replicates,
        "seed": comparison.seed,
        "sections": [
            {
                "name": one.name,
                "sets": list(one.sets),
                "streams": one.n_streams,
                "n": one.n,
                "notes": list(one.notes),
                "monitors": [_standing(standing) for standing in one.standings],
            }
            for one in comparison.sections
        ],
        "conclusions": [_conclusion(one) for one in comparison.conclusions],
        "notes": list(comparison.notes),
    }


def _standing(standing: Standing) -> dict[str, Any]:
    measures = {name: getattr(standing, name) for name in ("value", "low", "high", "p")}
    return {
        "monitor": standing.monitor,
        **{name: measure.json for name, measure in measures.items()},
        "like_best": standing.like_best,
        "failure": standing.failure,
        "undefined": {name: m.reason for name, m in measures.items() if not m.defined},
    }


def _conclusion(one: Conclusion) -> dict[str, Any]:
    found: dict[str, Any] = {"category": one.category, "sentence": one.sentence}
    if isinstance(one.ranks, Undefined):
        return found | {"ranks": None, "why_no_ranks": one.ranks.reason, "notes": list(one.notes)}
    ranks = one.ranks
    return found | {
        "n_sets": ranks.n_sets,
        "a_set_is": ranks.a_set_is,
        "ranks": dict(zip(ranks.monitors, ranks.mean_ranks, strict=True)),
        "critical_difference": ranks.critical_difference,
        "tests": list(ranks.tests),
        "pairs": [asdict(pair) for pair in ranks.wilcoxon],
        "notes": list(one.notes),
    }


def title(comparison: Comparison) -> str:
    """Say what is compared."""
    better = "higher" if comparison.measure.higher_is_better else "lower"
    return f"{comparison.measure.name} by {comparison.by}; {better} is better"


def subtitle(section: Section) -> str:
    """Say what a section is about."""
    sets = f"{len(section.sets)} set{'' if len(section.sets) == 1 else 's'}"
    runs = "" if section.n_streams == len(section.sets) else f" in {section.n_streams} streams"
    return f"{sets}{runs}, n = {section.n:,} instances"


def legend(comparison: Comparison) -> list[str]:
    """Say what the marks and numbers mean."""
    level = f"{100 * (1 - comparison.alpha):g} %"
    return [
        f"{BEST} best; {LIKE} not to be told from the best on these streams "
        f"(alpha {comparison.alpha:g}, Holm)",
        f"intervals hold {level} of the time, by resampling whole tracks ({comparison.replicates:,} times); "
        "values are means over the section's sets",
        *comparison.notes,
        *comparison.conclusions[-1].notes,
    ]


def cells(standing: Standing, first: bool) -> tuple[str, ...]:
    """Give a row's texts in the order of `HEADINGS`."""
    if not standing.value.defined:
        return ("", standing.monitor, NO_VALUE, "failed" if standing.failure else "undefined", "")
    mark = BEST if first else LIKE if standing.like_best else ""
    interval = (
        f"{standing.low.value:.3f} to {standing.high.value:.3f}"
        if standing.low.defined and standing.high.defined
        else NO_VALUE
    )
    p = p_words(standing.p.value).removeprefix("p ").removeprefix("= ") if standing.p.defined else ""
    return (mark, standing.monitor, f"{standing.value.value:.3f}", interval, p)


def _renderable(comparison: Comparison) -> RenderableType:
    pieces: list[RenderableType] = [Text(title(comparison), style="bold")]
    for one in comparison.sections:
        pieces += [Text(), Text.assemble((one.name, "bold"), f": {subtitle(one)}")]
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for heading in HEADINGS:
            table.add_column(heading, justify="right" if heading in ("value", "p") else "left")
        for i, standing in enumerate(one.standings):
            table.add_row(*cells(standing, i == 0), style="bold" if i == 0 else None)
        pieces += [table, *(Text(f"   {note}", style="dim") for note in one.notes)]
    pieces.append(Text())
    pieces += [Text(conclusion.sentence) for conclusion in comparison.conclusions]
    return Group(*pieces, Text(), *(Text(line, style="dim") for line in legend(comparison)))


def _markdown(comparison: Comparison) -> str:
    lines = [f"### {title(comparison)}", ""]
    for one in comparison.sections:
        lines += [f"**{one.name}**: {subtitle(one)}", "", "| | monitor | value | interval | p |"]
        lines += ["|:--|:--|--:|:--|--:|"]
        for i, standing in enumerate(one.standings):
            texts = (text.replace("|", r"\|").replace("*", r"\*") for text in cells(standing, i == 0))
            lines.append(f"| {' | '.join(texts)} |")
        lines += ["", *(f"_{note}_" for note in one.notes)]
    lines += [f"- {conclusion.sentence}" for conclusion in comparison.conclusions]
    return "\n".join([*lines, "", *(f"<sub>{line}</sub>  " for line in legend(comparison))]) + "\n"


def _latex(comparison: Comparison) -> str:
    lines = ["% needs \\usepackage{booktabs}", r"\begin{table}[t]", r"\centering\small"]
    sentences = " ".join(conclusion.sentence for conclusion in comparison.conclusions)
    lines.append(rf"\caption{{{escape(title(comparison))}. {escape(sentences)}}}")
    lines += [r"\begin{tabular}{llrlr}", r"\toprule", " & ".join(HEADINGS) + r" \\"]
    for one in comparison.sections:
        lines += [r"\midrule", rf"\multicolumn{{5}}{{l}}{{{escape(f'{one.name}: {subtitle(one)}')}}} \\"]
        for i, standing in enumerate(one.standings):
            lines.append(" & ".join(escape(text) for text in cells(standing, i == 0)) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\smallskip\footnotesize {escape(line)}." for line in legend(comparison)]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _csv(comparison: Comparison) -> str:
    text = io.StringIO()
    columns = ["measure", "section", "sets", "n", "monitor", "value", "low", "high", "p", "like_best", "why"]
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for one in comparison.sections:
        for standing in one.standings:
            row: Mapping[str, Any] = _standing(standing)
            writer.writerow(
                {
                    "measure": comparison.measure.name,
                    "section": one.name,
                    "sets": len(one.sets),
                    "n": one.n,
                    **{name: row[name] for name in ("monitor", "value", "low", "high", "p", "like_best")},
                    "why": row["failure"] or "; ".join(f"{k}: {v}" for k, v in row["undefined"].items()),
                }
            )
    return text.getvalue()


_WRITERS: dict[str, Callable[[Comparison], str]] = {
    "json": lambda comparison: json.dumps(to_records(comparison), indent=2, allow_nan=False) + "\n",
    "csv": _csv,
    "markdown": _markdown,
    "latex": _latex,
}
