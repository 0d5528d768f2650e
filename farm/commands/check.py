"""`farm check`: does a run meet its criteria? For people, and for the jobs of continuous integration."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import cast

from farm.commands.loading import loaded
from farm.comparing.sameness import unranked
from farm.config.files import find_criteria
from farm.errors import DataError, ExperimentError
from farm.gate.criteria_file import load_criteria
from farm.gate.criterion import Criterion
from farm.gate.reported import Reported
from farm.protocols import protocol_of
from farm.report.check_ci import MARK, ROOT, check_junit, check_markdown
from farm.report.check_table import check_json, check_table
from farm.report.checked import RECORD_BEGINS, Checked, check_runs
from farm.statistics.resolution import check_replicates
from farm.statistics.wording import listed
from farm.store.files import write_text
from farm.store.readouts import Readouts

_BEGINS = {
    "--junit": f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="{ROOT}"',
    "--markdown": MARK,
    "--record": RECORD_BEGINS,
}
"""What each file of ours begins with."""


def check(options: argparse.Namespace) -> int:
    """Judge runs by a file of criteria; the exit code says what came out."""
    asked = {"--junit": options.junit, "--markdown": options.markdown, "--record": options.record}
    outputs = {option: Path(path) for option, path in asked.items() if path is not None}
    for option, path in outputs.items():
        _check_output(option, path, _BEGINS[option])
    for one, other in combinations(outputs, 2):
        _check_apart(one, other, outputs)
    check_replicates(options.replicates)
    if options.seed is not None and options.seed < 0:
        raise ExperimentError(f"--seed is {options.seed}; expected at least 0")
    checked = _checked(options)
    if options.junit is not None:
        write_text(Path(options.junit), check_junit(checked))
    if options.markdown is not None:
        write_text(Path(options.markdown), check_markdown(checked))
    if options.record is not None:
        # Late: what makes a page takes as long to load as all the rest.
        from farm.report.approval import approval_record

        write_text(Path(options.record), approval_record(checked))
    if options.format == "json":
        sys.stdout.write(check_json(checked))
    else:
        width = min(shutil.get_terminal_size((100, 24)).columns, 120)
        sys.stdout.write(check_table(checked, width=width, colour=sys.stdout.isatty()))
    return checked.exit_code


def _checked(options: argparse.Namespace) -> Checked:
    # A file of this name comes before one that ships with the testbed.
    given = Path(options.criteria)
    file = load_criteria(given if given.exists() or given.suffix else find_criteria(options.criteria, Path()))
    if options.reference is not None:
        if not any("reference" in criterion.gated.needs for criterion in file.criteria):
            raise ExperimentError("--reference has no effect: no criterion is about drift; leave it out")
        file = replace(file, reference=options.reference)
    runs = loaded(options.runs)
    _tell_unranked(runs, file.criteria)
    return check_runs(
        runs,
        file,
        places=options.runs,
        seed=options.seed,
        replicates=options.replicates,
        undecided=options.undecided,
        reported=_reported(options.runs, file.criteria),
    )


def _reported(places: Sequence[str], criteria: Sequence[Criterion]) -> Reported | None:
    """Return what the protocol of the one folder found, where a criterion is about that."""
    if len(places) != 1 or all(criterion.gated.kind != "reported" for criterion in criteria):
        return None
    of = protocol_of(places[0])
    return None if of is None else cast("Reported | None", getattr(of.results(places[0]), "reported", None))


def _tell_unranked(runs: Sequence[Readouts], criteria: Sequence[Criterion]) -> None:
    """Say which monitors nobody judges: those that their runs do not rank, where no criterion names them."""
    named = {name for criterion in criteria for name in criterion.monitors or ()}
    if aside := [name for name in unranked(runs) if name not in named]:
        print(
            f"farm: not judged, since not ranked by the run itself: {listed(aside)}; a criterion may name "
            "such monitors with 'for'",
            file=sys.stderr,
        )


def _check_output(option: str, path: Path, begins: str) -> None:
    """Check that a file can be written there, and that what it would replace is of its own kind."""
    if not path.absolute().parent.is_dir():
        raise DataError(f"{option} {path}: {path.parent} is no folder; expected one")
    if not path.exists():
        return
    if not path.is_file():
        raise DataError(f"{option} {path} is no file; expected a new one, or an earlier one of `farm check`")
    with path.open("rb") as file:
        beginning = file.read(len(begins.encode()))
    if beginning not in (b"", begins.encode()):
        raise DataError(
            f"{option} {path} is there and was not written by `farm check {option}`, so it is not replaced; "
            "remove it or choose another name"
        )


def _check_apart(one: str, other: str, outputs: Mapping[str, Path]) -> None:
    if outputs[one].resolve() == outputs[other].resolve():
        raise ExperimentError(f"{one} and {other} are both {outputs[one]}; expected two files")
