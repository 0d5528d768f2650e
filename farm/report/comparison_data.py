"""A comparison for programs: everything as JSON, its tables as CSV."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from typing import Any

from farm.comparison import Comparison, Conclusion, Standing
from farm.measures import Measure
from farm.statistics.table import Cell, Undefined


def to_json(comparison: Comparison) -> str:
    """Write everything; what is undefined is null, and `undefined` says why."""
    return json.dumps(to_records(comparison), indent=2, allow_nan=False) + "\n"


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
        "sets": [
            {
                "name": one.name,
                **{name: getattr(one, name) for name in _OF_A_SET},
                "runs": len(one.streams),
                "values": {m: _value(one.cell(comparison.measure, m)) for m in comparison.monitors},
            }
            for one in comparison.sets
        ],
        "sections": [
            {
                "name": one.name,
                "sets": list(one.sets),
                "streams": one.n_streams,
                "n": one.n,
                "tracks": one.n_groups,
                "notes": list(one.notes),
                "monitors": [_standing(standing) for standing in one.standings],
            }
            for one in comparison.sections
        ],
        "conclusions": [_conclusion(one) for one in comparison.conclusions],
        "notes": list(comparison.notes),
    }


_OF_A_SET = ("workload", "classifier", "faultload", "category", "severity")


def _value(cell: Cell) -> float | None:
    return cell.json if isinstance(cell, Measure) else None


def _standing(standing: Standing) -> dict[str, Any]:
    measures = {name: getattr(standing, name) for name in ("value", "low", "high", "p")}
    return {
        "monitor": standing.monitor,
        **{name: measure.json for name, measure in measures.items()},
        "like_best": standing.like_best,
        "gap": standing.gap,
        "undefined": {name: m.reason for name, m in measures.items() if not m.defined},
    }


def _conclusion(one: Conclusion) -> dict[str, Any]:
    found: dict[str, Any] = {"category": one.category, "sentence": one.sentence}
    notes = {"left_out": list(one.left_out), "counts_as_0": list(one.zeroed)}
    notes |= {"practical": list(one.practical)}
    if isinstance(one.ranks, Undefined):
        return found | {"ranks": None, "why_no_ranks": one.ranks.reason} | notes
    ranks = one.ranks
    return found | {
        "n_sets": ranks.n_sets,
        "a_set_is": ranks.a_set_is,
        "ranks": dict(zip(ranks.monitors, ranks.mean_ranks, strict=True)),
        "critical_difference": ranks.critical_difference,
        "tests": list(ranks.tests),
        "pairs": [asdict(pair) for pair in ranks.wilcoxon],
        **notes,
    }


_COLUMNS = ("measure", "section", "sets", "n", "monitor", "value", "low", "high", "p", "like_best", "why")


def to_csv(comparison: Comparison) -> str:
    """Write a row a section and monitor."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for one in comparison.sections:
        own = {"measure": comparison.measure.name, "section": one.name, "sets": len(one.sets), "n": one.n}
        for standing in one.standings:
            row = _standing(standing)
            why = "; ".join(dict.fromkeys(row["undefined"].values()))
            writer.writerow(own | {name: row[name] for name in _COLUMNS if name in row} | {"why": why})
    return text.getvalue()
