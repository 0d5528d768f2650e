"""A comparison for people: sections as tables, and a plain sentence a category."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from farm.comparison import Comparison, Section, Standing
from farm.errors import ParameterError, suggestion
from farm.report.cells import DASH, number
from farm.report.comparison_data import to_csv, to_json
from farm.report.latex import escape
from farm.statistics.table import Undefined
from farm.statistics.wording import p_words

HEADINGS = ("", "monitor", "value", "interval", "p")
BEST, LIKE = "*", "="
DIGITS = 3


def render_comparison(
    comparison: Comparison, format: str = "table", *, width: int = 100, colour: bool = False
) -> str:
    """Write a comparison as `table`, `markdown`, `latex`, `csv` or `json`; only JSON has everything."""
    if format == "table":
        console = Console(width=width, file=io.StringIO(), color_system="standard" if colour else None)
        with console.capture() as capture:
            console.print(_renderable(comparison))
        return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"
    if format not in _WRITERS:
        raise ParameterError(f"format '{format}' is unknown; {suggestion(format, ('table', *_WRITERS))}")
    return _WRITERS[format](comparison)


def title(comparison: Comparison) -> str:
    """Say what is compared."""
    better = "higher" if comparison.measure.higher_is_better else "lower"
    return f"{comparison.measure.name} by {comparison.by}; {better} is better"


def subtitle(section: Section) -> str:
    """Say what a section is about."""
    sets = f"{len(section.sets)} set{'' if len(section.sets) == 1 else 's'}"
    runs = "" if section.n_streams == len(section.sets) else f" in {section.n_streams} streams"
    tracks = section.n_groups is not None and section.n_groups < section.n
    return f"{sets}{runs}, n = {section.n:,} instances" + (
        f" of {section.n_groups:,} tracks" if tracks else ""
    )


def legend(comparison: Comparison) -> list[str]:
    """Say what the marks and numbers mean, how they came about, and what was left out."""
    level = f"{100 * (1 - comparison.alpha):g} %"
    lines = [
        f"{BEST} best; {LIKE} not to be told from the best on these streams "
        f"(alpha {comparison.alpha:g}, Holm's correction)",
        f"values are means over a section's sets; intervals ({level}) and p by resampling whole tracks "
        f"{comparison.replicates:,} times",
    ]
    if any(not isinstance(one.ranks, Undefined) for one in comparison.conclusions):
        lines.append(
            "n = ... sets: monitors are ranked on each set, and p is of Wilcoxon's signed-rank test of two "
            "monitors, with Holm's correction for all pairs"
        )
    if any(one.practical for one in comparison.conclusions):
        lines.append(
            "probabilities are of the Bayesian signed-rank test, whose prior weighs half a set: of few sets "
            "they are bold"
        )
    return [*lines, *comparison.notes, *_gaps(comparison)]


def _gaps(comparison: Comparison) -> Iterator[str]:
    """Give what was left out of ranks, category by category, and what counts as 0, over all."""
    several = len(comparison.conclusions) > 1
    for one in comparison.conclusions:
        yield from (f"{one.category}: {note}" if several else note for note in one.left_out)
    yield from comparison.conclusions[-1].zeroed


def cells(standing: Standing, first: bool) -> tuple[str, ...]:
    """Give a row's texts in the order of `HEADINGS`."""
    if not standing.value.defined:
        return ("", standing.monitor, DASH, str(standing.gap), "")
    mark = BEST if first else LIKE if standing.like_best else ""
    low, high = standing.low, standing.high
    known = low.defined and high.defined
    interval = f"{number(low.value, DIGITS)} to {number(high.value, DIGITS)}" if known else DASH
    p = p_words(standing.p.value).removeprefix("p ").removeprefix("= ") if standing.p.defined else ""
    return (mark, standing.monitor, number(standing.value.value, DIGITS), interval, p)


def _renderable(comparison: Comparison) -> RenderableType:
    pieces: list[RenderableType] = [Text(title(comparison), style="bold")]
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
        for i, standing in enumerate(one.standings):
            best = i == 0 and standing.value.defined
            table.add_row(*map(Text, cells(standing, i == 0)), style="bold" if best else None)
        pieces += [table, *(_indented(note) for note in one.notes)]
    pieces.append(Text())
    for conclusion in comparison.conclusions:
        pieces += [Text(conclusion.sentence), *(Text(f"  {told}") for told in conclusion.practical)]
    return Group(*pieces, Text(), *(_indented(line, 0) for line in legend(comparison)))


def _indented(line: str, by: int = 3) -> RenderableType:
    return Padding(Text(line, style="dim"), (0, 0, 0, by))


def _markdown(comparison: Comparison) -> str:
    lines = [f"### {_plain(title(comparison))}", ""]
    for one in comparison.sections:
        lines += [
            f"**{_plain(one.name)}**: {_plain(subtitle(one))}",
            "",
            "| | monitor | value | interval | p |",
        ]
        lines += ["|:--|:--|--:|:--|--:|"]
        lines += [
            f"| {' | '.join(map(_plain, cells(standing, i == 0)))} |"
            for i, standing in enumerate(one.standings)
        ]
        lines += ["", *(f"- {_plain(note)}" for note in one.notes), *([""] if one.notes else [])]
    for conclusion in comparison.conclusions:
        lines.append(f"- {_plain(conclusion.sentence)}")
        lines += [f"  - {_plain(told)}" for told in conclusion.practical]
    lines += ["", "---", "", *(f"- {_plain(line)}" for line in legend(comparison))]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """Keep names and marks from becoming markup."""
    return re.sub(r"([\\|*_`<>#])", r"\\\1", text)


def _latex(comparison: Comparison) -> str:
    lines = ["% needs \\usepackage{booktabs}", r"\begin{table}[t]", r"\centering\small"]
    sentences = " ".join(conclusion.sentence for conclusion in comparison.conclusions)
    lines.append(rf"\caption{{{escape(title(comparison))}. {escape(sentences)}}}")
    lines += [r"\begin{tabular}{llrlr}", r"\toprule", " & ".join(HEADINGS) + r" \\"]
    for one in comparison.sections:
        lines += [r"\midrule", rf"\multicolumn{{5}}{{l}}{{{escape(f'{one.name}: {subtitle(one)}')}}} \\"]
        for i, standing in enumerate(one.standings):
            mark, monitor, *numbers = map(escape, cells(standing, i == 0))
            lines.append(" & ".join([mark, monitor, *map(_with_minus, numbers)]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    notes = [f"{one.name}: {note}" for one in comparison.sections for note in one.notes]
    lines += [rf"\par\smallskip{{\footnotesize {escape('; '.join(legend(comparison)))}.}}"]
    lines += [rf"\par{{\footnotesize {escape('; '.join(notes))}.}}"] if notes else []
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _with_minus(text: str) -> str:
    return re.sub(r"-(?=\d)", "$-$", text)


_WRITERS: dict[str, Callable[[Comparison], str]] = {
    "json": to_json,
    "csv": to_csv,
    "markdown": _markdown,
    "latex": _latex,
}
