"""`farm scenarios`: which combinations of conditions recordings have, lack, and should have next."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from farm.api.arrays import IntArray
from farm.commands.results import print_looks
from farm.config.scenario_domain import codes_of, load_domain
from farm.errors import DataError, ParameterError, suggestion
from farm.judging.inspection import Look
from farm.measures.measure import Measure
from farm.measures.scenario_plan import Proposal, plan
from farm.measures.scenario_search import Search
from farm.measures.scenarios import Cells, Coverage, Domain, coverage
from farm.store.csv_table import CsvTable
from farm.store.parquet_table import table_of

_SHOWN = 20
"""Cells that are not covered; CSV and JSON have all."""


def scenarios(options: argparse.Namespace) -> int:
    """Print the coverage of a table, and a plan for what to record next."""
    domain = load_domain(options.domain)
    _check(options, len(domain.names))
    cells = Cells(domain.sizes, options.k)
    recorded = read_scenarios(Path(options.table), domain, options.domain)
    search = Search(domain)
    found = coverage(domain, recorded, cells, search.possible(cells))
    proposals = list(plan(found, search, options.next, options.seconds))
    if options.format == "json":
        record = _record(found, proposals, len(recorded))
        print(json.dumps(record, indent=2, allow_nan=False, ensure_ascii=False))
    else:
        print_looks(list(_looks(found, proposals, len(recorded), options)), options.format)
    return 0


def _check(options: argparse.Namespace, n: int) -> None:
    if not 1 <= options.k <= n:
        raise ParameterError(f"--k {options.k}; expected from 1 to {n}, the number of conditions")
    if options.next < 0:
        raise ParameterError(f"--next {options.next}; expected how many scenarios to plan, or 0")
    if not (options.seconds > 0 and math.isfinite(options.seconds)):
        raise ParameterError(f"--seconds {options.seconds:g}; expected more than 0")


def read_scenarios(path: Path, domain: Domain, of: str) -> IntArray:
    """Read the recorded scenarios, in codes: a row a scenario, a column a condition."""
    columns = {name: name.lower() for name in domain.names}
    if not path.exists():
        raise DataError(f"{path} does not exist; expected a table of scenarios (CSV or Parquet)")
    table = table_of(path, only=list(columns.values()))
    for name, column in columns.items():
        if column not in table:
            hint = suggestion(column, table.columns)
            raise DataError(f"{path}: column '{name}' is missing, a condition of {of}; {hint}")
    codes, wrong = np.empty((len(table), len(columns)), dtype=np.int64), []
    for number, (name, column) in enumerate(columns.items()):
        coded, words = table.coded(column)
        codes[:, number] = codes_of(domain.conditions[name], words.to_pylist())[coded]
        if (codes[:, number] < 0).any():
            wrong.append((int(np.argmax(codes[:, number] < 0)), number))
    if wrong:
        row, number = min(wrong)
        name = domain.names[number]
        raise DataError(
            f"{_cell(table, row, name)}; expected a value of that condition in {of}; "
            f"{suggestion(_written(table, row, name), domain.conditions[name])}"
        )
    broken = domain.broken(codes)
    if broken.any():
        row = int(np.argmax(broken.any(axis=0)))
        number = int(np.argmax(broken[:, row]))
        names = [domain.names[each] for each in domain.restrictions[number].conditions]
        others = "".join(f", column '{name}': {_written(table, row, name)!r}" for name in names[1:])
        told = _restriction(domain, number)
        raise DataError(
            f"{_cell(table, row, names[0])}{others}; this breaks restriction {number + 1} of {of}: {told}"
        )
    return codes


def _written(table: CsvTable, row: int, name: str) -> str:
    return str(table.text(name.lower(), np.array([row])).iloc[0])


def _cell(table: CsvTable, row: int, name: str) -> str:
    return f"{table.path}, row {table.sheet_row(row)}, column '{name}': {_written(table, row, name)!r}"


def _restriction(domain: Domain, number: int) -> str:
    rule = domain.restrictions[number]
    ends = {"at_least": rule.low, "at_most": rule.high}
    bounds = [f"{name} {end:.0f}" for name, end in ends.items() if math.isfinite(end)]
    of = []
    for condition, value, weight in rule.choices:
        name = domain.names[condition]
        of.append(f"{'' if weight == 1 else f'{weight}*'}{name}={domain.conditions[name][value]}")
    return f"{' and '.join(bounds)} of {', '.join(of)}"


def _record(found: Coverage, proposals: Sequence[Proposal], rows: int) -> dict[str, Any]:
    possible = int(found.possible.sum())
    return {
        "k": found.cells.k,
        "covered": int(found.covered.sum()),
        "total": possible,
        "share": found.share,
        "impossible": len(found.cells) - possible,
        "rows": rows,
        "scenarios": found.scenarios,
        "next": [
            {"gain": each.gain, "scenario": found.domain.written(each.scenario), "gap": each.gap}
            for each in proposals
        ],
        "parts": [
            {"conditions": list(names), "covered": covered, "total": total}
            for names, covered, total in found.parts()
        ],
        "curve": [list(point) for point in found.curve()],
        "uncovered": found.written(found.open),
    }


def _looks(
    found: Coverage, proposals: Sequence[Proposal], rows: int, options: argparse.Namespace
) -> Iterator[Look]:
    possible, k = int(found.possible.sum()), found.cells.k
    impossible = len(found.cells) - possible
    yield Look(
        f"Scenario coverage, {k} condition{'s' * (k > 1)} at a time",
        ("conditions", "covered", "possible", "share"),
        [
            ("all", int(found.covered.sum()), possible, Measure(found.share)),
            *(
                (" x ".join(names), covered, total, Measure(covered / total))
                for names, covered, total in found.parts()
            ),
        ],
        (
            f"{rows:,} rows, {found.scenarios:,} distinct scenarios",
            *([f"{impossible:,} cells that restrictions make impossible are left out"] * (impossible > 0)),
        ),
    )
    if options.next:
        yield _next(found, proposals, options)
    yield Look(
        "Coverage by number of distinct scenarios",
        ("scenarios", "covered"),
        list(found.curve(_most(options))),
    )
    if len(found.open):
        shown = found.open if options.format == "csv" else found.open[:_SHOWN]
        left = len(found.open) - len(shown)
        yield Look(
            "Never recorded",
            ("combination",),
            [(_told(cell),) for cell in found.written(shown)],
            (f"and {left:,} more; --format json and csv have all",) if left else (),
        )


def _most(options: argparse.Namespace) -> int:
    return 100 if options.format == "csv" else 10


def _next(found: Coverage, proposals: Sequence[Proposal], options: argparse.Namespace) -> Look:
    notes = []
    if len(proposals) < options.next:
        notes.append(
            "with these, all possible cells are covered" if proposals else "all possible cells are covered"
        )
    if any(each.gap for each in proposals):
        notes.append(
            f"at most: what was proven within {options.seconds:g} s; another scenario may cover as many, and "
            "more --seconds may find it"
        )
    return Look(
        "Record next",
        ("scenario", "new cells", "at most"),
        [(_told(found.domain.written(each.scenario)), each.gain, each.at_most) for each in proposals],
        tuple(notes),
    )


def _told(scenario: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in scenario.items())
