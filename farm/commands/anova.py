"""`farm anova`: what a measure depends on, over repeated runs."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from typing import Any

import pandas as pd

from farm.commands.loading import loaded
from farm.comparing.measures import CLASSIFIER, Measured, measured
from farm.comparing.sets import NO_SEVERITY, benchmark_sets
from farm.errors import ExperimentError, suggestion
from farm.report.anova import render_anova
from farm.statistics.anova import anova as analysed
from farm.statistics.differences import level_differences
from farm.statistics.table import Undefined
from farm.statistics.wording import listed
from farm.store.readouts import Readouts

KEY = ("workload", "classifier", "faultload", "category", "severity")
FACTORS = ("monitor", *KEY)
USUAL, OF_CLASSIFIER = ("monitor", "faultload"), ("classifier", "faultload")
"""The factors where none is asked for, of a measure of monitors and of one of the classifier."""
SET = "benchmark set"


def anova(options: argparse.Namespace) -> int:
    """Analyse the variance, and group what does not differ."""
    for name in options.factor:
        if name not in FACTORS:
            raise ExperimentError(f"--factor '{name}' is not known; {suggestion(name, FACTORS)}")
    measure = measured(options.measure)
    usual = OF_CLASSIFIER if measure.of_classifier else USUAL
    if measure.of_classifier and (options.monitor or "monitor" in options.factor):
        option = "--monitor" if options.monitor else "--factor 'monitor'"
        raise ExperimentError(
            f"{option}: {measure.name} is the same whatever the monitor; leave it out: the factors are "
            f"{', '.join(KEY)}"
        )
    runs = loaded(options.runs)
    table, left_out = table_of(runs, measure, options.monitor)
    if table.empty and left_out:
        raise ExperimentError(f"no analysis of {measure.name}: {left_out[0]}")
    factors = options.factor
    if not factors:
        # A log that names no faults, or no monitors, still tells what the others do.
        factors = [name for name in usual if table[name].nunique() > 1] or [*usual]
        left_out += [
            f"{name} is no factor: there is one only, '{table[name].iloc[0]}'"
            for name in usual
            if name not in factors
        ]
    table, unlevelled = with_severity(table, factors)
    left_out += unlevelled
    found = analysed(
        table,
        measure.name,
        factors,
        blocks=blocks_of(table),
        interactions=options.interactions,
        alpha=options.alpha,
    )
    if isinstance(found, Undefined):
        raise ExperimentError(f"no analysis of {measure.name}: {found.reason}")
    groups = {factor: level_differences(found, factor, 1 - options.alpha) for factor in factors}
    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    written = render_anova(found, groups, left_out, options.format, table=options.table, width=width)
    sys.stdout.write(written)
    if options.table or options.format == "csv":  # a table has no place for them
        for monitor in left_out:
            print(f"farm: {monitor}", file=sys.stderr)
    return 0


def with_severity(table: pd.DataFrame, factors: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows that have a severity where that is a factor, and say which sets have none."""
    without = table["severity"] == NO_SEVERITY
    if "severity" not in factors or not without.any() or without.all():
        return table, []
    names = list(dict.fromkeys(table.loc[without, "faultload"]))
    return table[~without], [f"without a severity, and so left out: {listed(names)}"]


def blocks_of(table: pd.DataFrame) -> str:
    """Return the column that tells which values belong together.

    Runs of one seed share their images and, where it is the same, their classifier; where a seed has a set
    twice, or none is known, each run stands for itself. Where nothing is repeated, sets are blocks.
    """
    twice = table.duplicated(["monitor", SET, "seed"]).any()
    column = "run" if twice or table["seed"].isna().any() else "seed"
    return column if table[column].nunique() > 1 else SET


def table_of(
    runs: Sequence[Readouts], measure: Measured, only: Sequence[str] = ()
) -> tuple[pd.DataFrame, list[str]]:
    """Return one row a monitor, set and run; monitors without a value on some set are left out, and named.

    A measure of the classifier has one row a set and run, however many monitors there are.
    """
    rows: list[dict[str, Any]] = []
    left_out: dict[str, str] = {}
    for one in benchmark_sets(runs, measure):
        by_run = [{CLASSIFIER: each} for each in one.alone] if measure.of_classifier else one.records
        for stream, records in zip(one.streams, by_run, strict=True):
            ran = {SET: one.name, "run": stream.run, "seed": runs[stream.run].run.get("seed")}
            for monitor, record in records.items():
                if only and monitor not in only:
                    continue
                value = measure.of(record)
                if not value.defined:
                    left_out.setdefault(monitor, f"{monitor} is left out: on {one.name}, {value.reason}")
                    continue
                key = {name: getattr(one, name) or "none" for name in KEY}
                rows.append({"monitor": monitor, **key, **ran, measure.name: value.value})
    kept = [row for row in rows if row["monitor"] not in left_out]
    return pd.DataFrame(kept, columns=[*FACTORS, SET, "run", "seed", measure.name]), list(left_out.values())
