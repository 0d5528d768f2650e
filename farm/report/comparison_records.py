"""A comparison for programs: everything that was found, as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from farm.comparing import Comparison, Conclusion, Standing
from farm.comparing.frames import friedman_numbers, rank_pairs, stream_pairs
from farm.gate.answer import Answer
from farm.measures import Measure
from farm.report.guarantees import entries
from farm.statistics.table import Cell, Undefined


def to_json(comparison: Comparison, answer: Sequence[Answer] = ()) -> str:
    """Write everything; what is undefined is null, and `undefined` says why."""
    record = {"answer": [asdict(each) for each in answer], **to_records(comparison)}
    return json.dumps(record, indent=2, allow_nan=False) + "\n"


def to_records(comparison: Comparison) -> dict[str, Any]:
    """Return everything as JSON."""
    return {
        "measure": comparison.measure.name,
        "higher_is_better": comparison.measure.higher_is_better,
        "by": comparison.by,
        "alpha": comparison.alpha,
        "undefined": comparison.undefined,
        "replicates": comparison.replicates,
        "seed": comparison.seed,
        "control": comparison.control,
        "sets": [
            {
                "name": one.name,
                **{name: getattr(one, name) for name in _OF_A_SET},
                "runs": len(one.records),
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
                "replicates": None if one.resolution is None else one.resolution.replicates,
                "notes": list(one.notes),
                "monitors": [standing_record(standing) for standing in one.standings],
                "control": one.control,
                "pairs": [_pair(pair) for pair in stream_pairs(one)],
            }
            for one in comparison.sections
        ],
        "conclusions": [_conclusion(one) for one in comparison.conclusions],
        **({"guarantees": entries(comparison.promises)} if comparison.promises else {}),
        "notes": list(comparison.notes),
    }


_OF_A_SET = ("workload", "classifier", "faultload", "category", "severity")


def _value(cell: Cell) -> float | None:
    return cell.json if isinstance(cell, Measure) else None


def standing_record(standing: Standing) -> dict[str, Any]:
    """Return how a monitor stands; what is undefined is null, and `undefined` says why."""
    measures = {name: getattr(standing, name) for name in ("value", "low", "high", "p")}
    return {
        "monitor": standing.monitor,
        **{name: measure.json for name, measure in measures.items()},
        "like_best": standing.like_best,
        "like_control": standing.like_control,
        "gap": standing.gap,
        "undefined": {name: m.reason for name, m in measures.items() if not m.defined},
    }


def _pair(pair: dict[str, Any]) -> dict[str, Any]:
    """Return a pair as JSON has it: what a smaller p takes by its name, such as `{"sets": 7}`."""
    needed, needed_of = pair.pop("needed"), pair.pop("needed_of")
    return {**pair, "needed": None if needed is None else {needed_of: needed}}


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
        "friedman": friedman_numbers(ranks.friedman),
        "tests": list(ranks.tests),
        "pairs": [_pair(pair) for pair in rank_pairs(ranks)],
        **notes,
    }
