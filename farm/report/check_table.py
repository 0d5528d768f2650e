"""Verdicts for a terminal, one criterion after the other; and for programs, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from farm.measures import Measure
from farm.report import check_wording as words
from farm.report.checked import Checked
from farm.report.terminal import printed

if TYPE_CHECKING:
    from farm.gate.verdict import CriterionVerdict

HEADINGS = ("verdict", "monitor", "on", "value", "bound", "level", "instances")
_BOUND, _LEVEL = HEADINGS.index("bound"), HEADINGS.index("level")
_STYLES = {"error": "bold red", "fail": "bold red", "undecided": "yellow", "pass": "green"}
_FOLDED = ("monitor", "on")
"""Of all columns names can be broken best; numbers are kept whole."""


NARROWEST = 76
"""In less than this numbers would be cut: let the terminal break the lines."""


def check_table(checked: Checked, *, width: int = 100, colour: bool = False) -> str:
    """Write what a check found for a terminal."""
    width = max(width, NARROWEST)
    return printed(_renderable(checked, width), width=width, colour=colour)


def cells(judged: CriterionVerdict) -> tuple[str, ...]:
    """Return a row's texts in the order of `HEADINGS`."""
    return (words.VERDICTS[judged.verdict], *words.row_words(judged))


def check_json(checked: Checked) -> str:
    """Write all of it; what is undefined is null, and `undefined` says why (of an error, `reason` does)."""
    record = {
        "criteria": checked.criteria,
        "runs": list(checked.runs),
        "undecided": checked.undecided,
        "seed": checked.seed,
        "replicates": checked.replicates,
        "version": checked.version,
        "counts": checked.counts,
        "exit_code": checked.exit_code,
        "verdicts": [_record(one) for one in checked.judged],
        "broken": [asdict(one) for one in checked.broken],
    }
    return json.dumps(record, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def _renderable(checked: Checked, width: int) -> RenderableType:
    rows = [cells(one) for one in checked.judged]
    # What is the same in all rows is told once, and what is in none not at all.
    levels = {row[_LEVEL] for row in rows}
    shown = [i for i in range(len(HEADINGS)) if _is_shown(i, rows, levels)]
    headings = list(HEADINGS)
    if len(levels) == 1:
        headings[_BOUND] = f"{HEADINGS[_BOUND]} ({levels.pop()})"
    sizes = _widths([headings, *rows], shown, width)
    pieces: list[RenderableType] = [_row(headings, shown, sizes, "dim")] if rows else []
    for criterion, group in _by_criterion(checked.judged).items():
        pieces += [Text(criterion, style="bold")]
        pieces += [_row(cells(one), shown, sizes, _STYLES[one.verdict]) for one in group]
        pieces += [
            _indented(words.sentence(one)) for one in group if one.verdict != "pass" or one.evidence.anytime
        ]
        pieces += [
            _indented(f"passed, but {note}") for note in dict.fromkeys(one.note for one in group) if note
        ]
        pieces.append(Text())
    pieces += [Text(f"failed: {words.broken_sentence(one)}", style="bold red") for one in checked.broken]
    pieces.append(Text(words.counts_words(checked), style="bold"))
    return Group(*pieces, *(Text(line, style="dim") for line in _legend(checked)))


def _is_shown(i: int, rows: Sequence[Sequence[str]], levels: set[str]) -> bool:
    if i == _LEVEL:
        return len(levels) > 1
    return HEADINGS[i] != "on" or any(row[i] for row in rows)


def _by_criterion(judged: Sequence[CriterionVerdict]) -> dict[str, list[CriterionVerdict]]:
    found: dict[str, list[CriterionVerdict]] = {}
    for one in judged:
        found.setdefault(words.criterion_words(one), []).append(one)
    return found


def _row(row: Sequence[str], shown: Sequence[int], sizes: Mapping[int, int], style: str) -> Table:
    """Make one row. All have the same columns, so that they read as one table around what stands between."""
    table = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
    for i in shown:
        name = HEADINGS[i]
        right, folded = name in ("value", "instances"), name in _FOLDED
        table.add_column(
            width=sizes[i], justify="right" if right else "left", overflow="fold", no_wrap=not folded
        )
    first, *others = (Text(row[i]) for i in shown)
    table.add_row(Text(first.plain, style=style), *others)
    return table


def _widths(rows: Sequence[Sequence[str]], shown: Sequence[int], width: int) -> dict[int, int]:
    """Return all tables the same columns; where that is too wide, names are broken, the longer one first."""
    found = {i: max(len(row[i]) for row in rows) for i in shown}
    names = [i for i in shown if HEADINGS[i] in _FOLDED]
    over = sum(found.values()) + 2 * (len(found) - 1) - width
    while over > 0:
        longest = max(names, key=lambda i: found[i])
        if found[longest] <= len(HEADINGS[longest]):
            break
        found[longest] -= 1
        over -= 1
    return found


def _legend(checked: Checked) -> Iterator[str]:
    yield (
        f"bound: the end of the interval that decided, by itself as sure as the level says "
        f"({checked.replicates:,} resamplings, seed {checked.seed})"
    )
    if any(one.evidence.n_groups < one.evidence.n for one in checked.judged):
        yield "instances: how many, and in how many tracks (of times: measurements) they come"
    if any(words.is_reported(one) for one in checked.judged):
        yield f"instances of what a protocol finds: {words.REPORTED_N}"
    if any(one.criterion.baseline is not None for one in checked.judged):
        yield "beside a baseline: value and bound are those of the difference, now minus then"
    if told := words.consequence(checked):
        yield told


def _indented(line: str) -> RenderableType:
    return Padding(Text(line), (0, 0, 0, 2))


def _record(judged: CriterionVerdict) -> dict[str, Any]:
    criterion, evidence = judged.criterion, judged.evidence
    measures = {"value": evidence.value, "low": evidence.low, "high": evidence.high}
    reasons = {name: measure.reason for name, measure in measures.items() if not measure.defined}
    return {
        "criterion": criterion.text or str(criterion),
        "measure": criterion.measure,
        "statistic": criterion.statistic,
        "relation": criterion.relation,
        "bound": criterion.bound,
        "baseline": criterion.baseline,
        "margin": criterion.margin,
        "monitor": judged.monitor,
        "on": judged.where,
        "verdict": judged.verdict,
        **{name: _number(measure) for name, measure in measures.items()},
        "undefined": {} if judged.verdict == "error" else reasons,
        "level": evidence.level,
        "n": evidence.n,
        "n_ood": evidence.n_ood,
        "tracks": evidence.n_groups,
        "sets": list(evidence.sets),
        "method": evidence.method,
        "counts": None if evidence.counts is None else dict(evidence.counts),
        **({} if evidence.anytime is None else {"anytime": asdict(evidence.anytime)}),
        "needed": judged.needed,
        "power": judged.power,
        "reason": judged.reason,
        **({"note": judged.note} if judged.note else {}),
    }


def _number(measure: Measure) -> float | str | None:
    """JSON knows no infinity: that of a delay that never ended is told as text."""
    value = measure.json
    return value if value is None or abs(value) != float("inf") else str(value)
