"""A comparison with a baseline for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from farm.errors import ParameterError, suggestion
from farm.gate.baseline import BaselineComparison, PairedDifference
from farm.gate.baseline.comparison import Changed
from farm.measures import Measure
from farm.report.cells import DASH, markup_free, number
from farm.report.terminal import printed
from farm.statistics.wording import listed, p_words

FORMATS = ("table", "json", "markdown")
DIGITS, SHOWN = 4, 10
_SURE = ("better, surely", "worse, surely")
_MEASURED = ("monitor", "measure", "baseline", "now", "change", "interval", "verdict")
_CHANGED = (
    "monitor",
    "task",
    "newly\nmissed",
    "no longer\nmissed",
    "new false\nalarms",
    "no longer\nfalse",
    "right more often",
)
_NUMBERS = {"baseline", "now", "change", *_CHANGED[2:6]}


@dataclass(frozen=True)
class _Block:
    title: str
    headings: Sequence[str]
    rows: list[tuple[str, ...]]
    notes: tuple[str, ...] = ()


def render_baseline(found: BaselineComparison, format: str = "table", *, width: int = 100) -> str:
    """Write a comparison as `table`, `markdown` or `json`; only JSON has every set and every id."""
    if format == "json":
        return json.dumps(_record(found), indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    if format == "markdown":
        return _markdown(found)
    if format != "table":
        raise ParameterError(f"format '{format}' is unknown; {suggestion(format, FORMATS)}")
    pieces: list[RenderableType] = [Text(_title(found), style="bold")]
    for block in _blocks(found):
        pieces += [Text(), Text(block.title, style="bold"), _table(block)]
        pieces += [Padding(Text(note), (0, 0, 0, 3)) for note in block.notes]
    pieces += [Text(), *(Text(line, style="dim") for line in _legend(found))]
    return printed(*pieces, width=width)


def _title(found: BaselineComparison) -> str:
    size = f"n = {found.n:,} instances, {found.n_ood:,} of them OOD"
    return f"{listed(found.runs)} against {found.baseline}: {size}"


def _blocks(found: BaselineComparison) -> Iterator[_Block]:
    sets = found.overall[0].sets
    over = sets[0] if len(sets) == 1 else f"Mean over {len(sets)} sets"
    rows = [_measured(each) for each in found.overall]
    yield _Block(over, _MEASURED, rows, tuple(_reasons(found.overall)))
    sure = [each for each in found.by_set if each.verdict in _SURE]
    for name in dict.fromkeys(each.sets[0] for each in sure):
        rows = [_measured(each) for each in sure if each.sets[0] == name]
        yield _Block(f"Surely different on {name}", _MEASURED, rows)
    differing = [each for each in found.changed if any(_counts(each))]
    rows = [_changed(each, found) for each in differing]
    if rows:
        yield _Block("Instances decided otherwise", _CHANGED, rows, tuple(_missed(differing)))


def _measured(each: PairedDifference) -> tuple[str, ...]:
    difference = each.difference
    interval = DASH
    if difference.low.defined and difference.high.defined:
        interval = f"{_text(difference.low)} to {_text(difference.high)}"
    values = (each.baseline, each.now, difference.value)
    return (each.monitor, each.measure.name, *map(_text, values), interval, each.verdict)


def _text(value: Measure) -> str:
    return number(value.value, DIGITS) if value.defined else DASH


def _reasons(rows: Sequence[PairedDifference]) -> Iterator[str]:
    """Say why what is missing in a row is missing."""
    for each in rows:
        if not each.difference.low.defined:
            yield f"{each.monitor}, {each.measure.name}: {each.difference.low.reason}"


def _counts(each: Changed) -> tuple[int, int, int, int]:
    return each.newly_missed, each.no_longer_missed, each.new_false_alarms, each.no_longer_false_alarms


def _changed(each: Changed, found: BaselineComparison) -> tuple[str, ...]:
    return (each.monitor, each.task, *(f"{count:,}" for count in _counts(each)), _right(each, found))


def _right(each: Changed, found: BaselineComparison) -> str:
    """Say who is right more often, where a measure of that task was compared."""
    for other in found.overall:
        if other.monitor == each.monitor and other.task == each.task:
            pair = other.right
            who = {"first": "now", "second": "before", None: "neither"}[pair.better]
            return f"{who} ({p_words(pair.p.value)})" if pair.p.defined else who
    return ""


def _missed(rows: Sequence[Changed]) -> Iterator[str]:
    for each in rows:
        if each.missed_ids:
            what = "without alarm" if each.task == "specific" else "wrong and let through"
            more = len(each.missed_ids) - SHOWN
            ids = ", ".join(each.missed_ids[:SHOWN]) + (f" and {more} more" if more > 0 else "")
            yield f"newly missed by {each.monitor} ({what}): {ids}"


def _legend(found: BaselineComparison) -> Iterator[str]:
    first = found.overall[0]
    tracks = f" of {first.n_groups:,} tracks" if first.n_groups < first.n else ""
    yield (
        f"change: now minus baseline, with its {100 * found.level:g} % interval: whole tracks weighed "
        f"anew {found.replicates:,} times, and one unseen, {first.n:,} instances{tracks}; 'surely' where it "
        "leaves 0 out"
    )
    yield (
        "specific: was an alarm right about OOD? overall: was it right to cancel? p: of no difference in how "
        "often, by McNemar's test or sign flips of whole tracks"
    )
    yield from found.notes


def _table(block: _Block) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    headings = block.headings
    rows = [(row, _style(row)) for row in block.rows]
    if headings is _MEASURED:
        # A monitor's name above its measures instead of beside each leaves room for narrow terminals.
        headings, rows = headings[1:], list(_under_names(block.rows))
    for heading in headings:
        # Numbers are kept whole; where a line is too short, names and verdicts wrap.
        words = heading in ("monitor", "measure", "verdict")
        justify: Literal["left", "right"] = "right" if heading in _NUMBERS else "left"
        table.add_column(heading, justify=justify, overflow="fold", no_wrap=not words)
    for row, style in rows:
        table.add_row(*map(Text, row), style=style)
    return table


def _under_names(rows: Sequence[tuple[str, ...]]) -> Iterator[tuple[tuple[str, ...], str | None]]:
    for name in dict.fromkeys(row[0] for row in rows):
        yield (name,), "bold"
        yield from ((("  " + row[1], *row[2:]), _style(row)) for row in rows if row[0] == name)


def _style(row: Sequence[str]) -> str | None:
    return "bold" if row[-1] in _SURE else None


def _markdown(found: BaselineComparison) -> str:
    lines = [f"### {markup_free(_title(found))}", ""]
    for block in _blocks(found):
        rules = ["--:" if heading in _NUMBERS else ":--" for heading in block.headings]
        lines += [f"**{markup_free(block.title)}**", ""]
        lines += [f"| {' | '.join(row)} |" for row in (_flat(block.headings), rules)]
        lines += [f"| {' | '.join(map(markup_free, row))} |" for row in block.rows]
        lines += ["", *(f"- {markup_free(note)}" for note in block.notes), *([""] if block.notes else [])]
    return "\n".join([*lines, "---", "", *(f"- {markup_free(line)}" for line in _legend(found))]) + "\n"


def _flat(headings: Sequence[str]) -> list[str]:
    return [heading.replace("\n", " ") for heading in headings]


def _record(found: BaselineComparison) -> dict[str, Any]:
    return {
        "baseline": found.baseline,
        **{name: getattr(found, name) for name in ("n", "n_ood", "level", "replicates", "seed")},
        "runs": list(found.runs),
        "overall": [_difference(each) for each in found.overall],
        "by_set": [_difference(each) for each in found.by_set],
        "changed": [{**asdict(each), "missed_ids": list(each.missed_ids)} for each in found.changed],
        "notes": list(found.notes),
    }


def _difference(each: PairedDifference) -> dict[str, Any]:
    ends = each.difference
    values = {
        "baseline": each.baseline,
        "now": each.now,
        "difference": ends.value,
        "low": ends.low,
        "high": ends.high,
        "p_right": each.right.p,
    }
    return {
        "monitor": each.monitor,
        "measure": each.measure.name,
        "higher_is_better": each.measure.higher_is_better,
        "sets": list(each.sets),
        **{name: value.json for name, value in values.items()},
        "verdict": each.verdict,
        "n": each.n,
        "tracks": each.n_groups,
        "changed_tracks": each.changed,
        "right_now_only": each.right.first,
        "right_before_only": each.right.second,
        "undefined": {name: value.reason for name, value in values.items() if not value.defined},
    }
