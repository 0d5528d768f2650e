"""An analysis of variance: its table, blocks, sphericity and differences of levels, in every format."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from farm.judging.inspection import Look, LookCell
from farm.report.cells import DASH, markup_free
from farm.report.frames import render_frame
from farm.report.latex import BOOKTABS, escape
from farm.report.looks import embedded, render_looks
from farm.statistics.anova_result import Anova, Check
from farm.statistics.differences import LevelDifferences
from farm.statistics.table import Undefined
from farm.statistics.wording import p_cell

MOST_PAIRS = 45
"""So many pairs of levels, of ten, are shown as text; JSON has all."""
WIDE = 108
"""From this width on the effects are in one table."""
COLUMNS = {
    "name": "effect",
    "sum_of_squares": "sum of squares",
    "df": "df",
    "error": "error",
    "error_df": "error df",
    "f": "F",
    "p": "p",
    "epsilon": "epsilon",
    "p_corrected": "corrected p",
    "eta_squared": "eta squared",
}
"""Of the table: as JSON calls them, and as people read them."""

Groups = Mapping[str, LevelDifferences | Undefined]
TABLES = ("effects", "levels", "differences", "sphericity", "blocks")
COLUMNS_OF = {
    "levels": ("factor", "method", "level", "mean", "letters"),
    "differences": ("factor", "method", "first", "second", "difference", "low", "high", "p", "differ"),
    "sphericity": ("name", "epsilon", "w", "p", "reason"),
    "blocks": ("noun", "n", "analysis", "averaged_least", "averaged_most", "varies", "variance"),
}


def render_anova(
    found: Anova,
    groups: Groups,
    left_out: Sequence[str],
    format: str,
    *,
    table: str | None = None,
    width: int = 100,
) -> str:
    """Write an analysis, its comparisons of levels by factor, and which monitors it is not about.

    With `table`, one of its tables alone; as CSV, which has one at a time, that is the one of effects.
    """
    if table or format == "csv":
        name = table or "effects"
        return render_frame(anova_frame(found, groups, name), format, title=_title(found), width=width)
    if format == "json":
        return json.dumps(_record(found, groups, left_out), indent=2, allow_nan=False) + "\n"
    looks = [
        *_effects(found, wide=format != "table" or width >= WIDE),
        *(look for each in groups.items() for look in _levels(*each)),
    ]
    if format == "table":
        told = [_title(found), "", *(f"- {sentence}." for sentence in found.sentences), ""]
        end = list(left_out)
    elif format == "markdown":
        told = [f"### {markup_free(_title(found))}", ""]
        told += [*(f"- {markup_free(sentence)}." for sentence in found.sentences), ""]
        end = [f"- {markup_free(one)}" for one in left_out]
    else:
        told = [BOOKTABS.strip(), rf"\paragraph{{{escape(_title(found))}.}}"]
        told += [f"{escape(sentence[0].upper() + sentence[1:])}." for sentence in found.sentences]
        end = [rf"\par{{\footnotesize {escape(one)}.}}" for one in left_out]
    if format == "table":
        tables = [render_looks(looks, format, width=width)]
    else:
        tables = [embedded(look, format) for look in looks]
    return "\n".join([*told, *tables, *end]).rstrip() + "\n"


def _title(found: Anova) -> str:
    return f"{found.value}: what it depends on ({found.n} values)"


def anova_frame(found: Anova, groups: Groups, table: str) -> pd.DataFrame:
    """Return one of the tables, unrounded."""
    if table == "effects":
        return pd.DataFrame(_table(found)).rename(columns={"name": "effect"})
    rows: list[dict[str, Any]] = []
    compared = {factor: each for factor, each in groups.items() if isinstance(each, LevelDifferences)}
    if table == "levels":
        for factor, each in compared.items():
            levels = zip(each.levels, each.means, each.letters, strict=True)
            rows += [
                dict(zip(COLUMNS_OF[table], (factor, each.method, *level), strict=True)) for level in levels
            ]
    elif table == "differences":
        rows = [
            {"factor": factor, "method": each.method, **asdict(pair)}
            for factor, each in compared.items()
            for pair in each.pairs
        ]
    elif table == "sphericity":
        rows = _sphericity(found)
    elif found.blocks is not None:
        least, most = found.blocks.averaged
        own = {"noun": found.blocks.noun, "n": found.blocks.n, "analysis": found.blocks.analysis}
        own |= {"averaged_least": least, "averaged_most": most}
        rows = [{**own, "varies": name, "variance": v} for name, v in found.blocks.variances.items()] or [own]
    return pd.DataFrame(rows, columns=list(COLUMNS_OF[table]))


def _effects(found: Anova, *, wide: bool) -> Iterator[Look]:
    """Return the table of effects, or two narrow ones; columns that nothing is in are left out."""
    sums = ("sum_of_squares", "error", "eta_squared")
    tests = tuple(name for name in COLUMNS if name not in sums)
    for part in [tuple(COLUMNS)] if wide else [tests, ("name", *sums)]:
        names = [name for name in part if any(getattr(each, name) is not None for each in found.effects)]
        rows: list[tuple[LookCell, ...]] = [
            tuple(_cell(name, getattr(each, name)) for name in names) for each in found.effects
        ]
        if len(names) > 1:
            yield Look("", tuple(COLUMNS[name] for name in names), rows)


def _levels(factor: str, grouped: LevelDifferences | Undefined) -> Iterator[Look]:
    """Return a factor's levels with their letters, and how each two differ."""
    if isinstance(grouped, Undefined):
        yield Look(f"{factor}: no groups, {grouped.reason}", (), [])
        return
    rows: list[tuple[LookCell, ...]] = [
        (level, f"{mean:.3f}", letters)
        for level, mean, letters in zip(grouped.levels, grouped.means, grouped.letters, strict=True)
    ]
    title = f"{factor} (levels that share a letter are not told apart, {grouped.method}):"
    yield Look(title, ("level", "mean", "letters"), rows, tuple(f"note: {note}" for note in grouped.notes))
    yield _differences(factor, grouped)


def _cell(name: str, value: Any) -> str:
    if value is None:
        return DASH
    if name in ("p", "p_corrected"):
        return p_cell(value)
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else f"{value:.3g}"


def _differences(factor: str, grouped: LevelDifferences) -> Look:
    columns = ("differences", "", "at least", "at most", "p")
    rows: list[tuple[LookCell, ...]] = [
        (
            f"{pair.first} {DASH} {pair.second}",
            *(_cell(name, getattr(pair, name)) for name in ("difference", "low", "high", "p")),
        )
        for pair in grouped.pairs[:MOST_PAIRS]
    ]
    more = len(grouped.pairs) - len(rows)
    notes = (f"and {more} more: --table differences --format csv has all",) if more else ()
    title = f"{factor}: {100 * grouped.level:g} % intervals and p hold for all pairs together:"
    return Look(title, columns, rows, notes)


def _record(found: Anova, groups: Groups, left_out: Sequence[str]) -> dict[str, Any]:
    return {
        "measure": found.value,
        "n": found.n,
        "table": _table(found),
        "blocks": found.blocks and asdict(found.blocks),
        "sphericity": _sphericity(found),
        "tukey" if found.blocks is None or found.blocks.analysis == "independent" else "differences": {
            factor: {"reason": grouped.reason} if isinstance(grouped, Undefined) else asdict(grouped)
            for factor, grouped in groups.items()
        },
        "sentences": list(found.sentences),
        "left_out": list(left_out),
    }


def _table(found: Anova) -> list[dict[str, Any]]:
    names = (*COLUMNS, "partial_eta_squared", "omega_squared")
    return [{name: getattr(effect, name) for name in names} for effect in found.effects]


def _sphericity(found: Anova) -> list[dict[str, Any]]:
    return [
        {"name": effect.name, "epsilon": effect.epsilon, **_tested(effect.sphericity)}
        for effect in found.effects
        if effect.sphericity is not None
    ]


def _tested(check: Check) -> dict[str, Any]:
    numbers = {"w": check.statistic.value, "p": check.p.value} if check.p.defined else {"w": None, "p": None}
    return {**numbers, "reason": check.p.reason}
