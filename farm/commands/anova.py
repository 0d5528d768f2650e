"""`farm anova`: what a measure depends on, over repeated runs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

import pandas as pd

from farm.comparison.measures import Measured, measured
from farm.comparison.sets import benchmark_sets
from farm.errors import ExperimentError, suggestion
from farm.readouts import Readouts
from farm.run_folders import run_folders
from farm.statistics.anova import anova as analysed
from farm.statistics.anova_result import Anova
from farm.statistics.table import Undefined
from farm.statistics.tukey import Tukey, tukey

KEY = ("workload", "classifier", "faultload", "category", "severity")
FACTORS = ("monitor", *KEY)


def anova(options: argparse.Namespace) -> int:
    """Analyse the variance, and group what does not differ."""
    factors = options.factor or ["monitor", "faultload"]
    for name in factors:
        if name not in FACTORS:
            raise ExperimentError(f"--factor '{name}' is not known; {suggestion(name, FACTORS)}")
    measure = measured(options.measure)
    runs = [Readouts.load(folder) for folder in run_folders(options.runs)]
    table, left_out = table_of(runs, measure, options.monitor)
    found = analysed(table, measure.name, factors, interactions=options.interactions, alpha=options.alpha)
    if isinstance(found, Undefined):
        raise ExperimentError(f"no analysis of {measure.name}: {found.reason}")
    groups = [tukey(found, factor, 1 - options.alpha) for factor in factors]
    if options.format == "json":
        print(json.dumps(_record(found, groups, left_out), indent=2, allow_nan=False))
    else:
        sys.stdout.write(_text(found, groups, left_out))
    return 0


def table_of(
    runs: Sequence[Readouts], measure: Measured, only: Sequence[str] = ()
) -> tuple[pd.DataFrame, list[str]]:
    """Give one row a monitor, set and run; monitors without a value on some set are left out, and named."""
    rows: list[dict[str, Any]] = []
    left_out: dict[str, str] = {}
    for one in benchmark_sets(runs):
        for number, records in enumerate(one.records):
            for monitor, record in records.items():
                if only and monitor not in only:
                    continue
                value = measure.of(record)
                if not value.defined:
                    left_out.setdefault(monitor, f"{monitor} is left out: on {one.name}, {value.reason}")
                    continue
                key = {name: getattr(one, name) or "none" for name in KEY}
                rows.append({"monitor": monitor, **key, "run": number, measure.name: value.value})
    kept = [row for row in rows if row["monitor"] not in left_out]
    return pd.DataFrame(kept, columns=[*FACTORS, "run", measure.name]), list(left_out.values())


def _text(found: Anova, groups: Sequence[Tukey | Undefined], left_out: Sequence[str]) -> str:
    lines = [f"{found.value}: what it depends on ({found.n} values)", ""]
    lines += [f"- {sentence}." for sentence in found.sentences]
    for factor, grouped in zip(found.factors, groups, strict=True):
        if isinstance(grouped, Undefined):
            lines += ["", f"{factor}: no groups, {grouped.reason}"]
            continue
        width = max(map(len, grouped.levels))
        lines += ["", f"{factor} (levels that share a letter are not told apart, Tukey's HSD):"]
        shown = zip(grouped.levels, grouped.means, grouped.letters, strict=True)
        lines += [f"  {level:<{width}}  {mean:7.3f}  {letters}" for level, mean, letters in shown]
        lines += [f"  note: {note}" for note in grouped.notes]
    return "\n".join([*lines, "", *left_out]).rstrip() + "\n"


def _record(found: Anova, groups: Sequence[Tukey | Undefined], left_out: Sequence[str]) -> dict[str, Any]:
    effects = [
        {name: getattr(effect, name) for name in ("name", "sum_of_squares", "df", "error_df", "f", "p")}
        | {name: getattr(effect, name) for name in ("eta_squared", "partial_eta_squared", "omega_squared")}
        for effect in found.effects
    ]
    letters = {
        factor: dict(zip(grouped.levels, grouped.letters, strict=True))
        for factor, grouped in zip(found.factors, groups, strict=True)
        if isinstance(grouped, Tukey)
    }
    return {
        "measure": found.value,
        "n": found.n,
        "effects": effects,
        "letters": letters,
        "sentences": list(found.sentences),
        "left_out": list(left_out),
    }
