"""`farm check`: does a run meet its criteria? For people, and for the jobs of continuous integration."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from farm.commands.loading import loaded
from farm.comparing.sameness import unranked
from farm.errors import DataError, ExperimentError
from farm.gate.criteria_file import load_criteria
from farm.gate.criterion import Criterion
from farm.gate.verdict import judge_criteria
from farm.report.check_ci import MARK, ROOT, check_junit, check_markdown
from farm.report.check_table import check_json, check_table
from farm.report.checked import Checked, NotRun
from farm.statistics.resolution import check_replicates
from farm.statistics.wording import listed
from farm.store.campaign_folder import CampaignFolder, missing_cells
from farm.store.files import write_text
from farm.store.readouts import Readouts

_JUNIT_BEGINS = f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="{ROOT}"'


def check(options: argparse.Namespace) -> int:
    """Judge runs by a file of criteria; the exit code says what came out."""
    outputs = {"--junit": options.junit, "--markdown": options.markdown}
    for option, begins in (("--junit", _JUNIT_BEGINS), ("--markdown", MARK)):
        if outputs[option] is not None:
            _check_output(option, Path(outputs[option]), begins)
    if options.junit is not None and options.markdown is not None:
        _check_apart(Path(options.junit), Path(options.markdown))
    check_replicates(options.replicates)
    if options.seed is not None and options.seed < 0:
        raise ExperimentError(f"--seed is {options.seed}; expected at least 0")
    checked = _checked(options)
    if options.junit is not None:
        write_text(Path(options.junit), check_junit(checked))
    if options.markdown is not None:
        write_text(Path(options.markdown), check_markdown(checked))
    if options.format == "json":
        sys.stdout.write(check_json(checked))
    else:
        width = min(shutil.get_terminal_size((100, 24)).columns, 120)
        sys.stdout.write(check_table(checked, width=width, colour=sys.stdout.isatty()))
    return checked.exit_code


def _checked(options: argparse.Namespace) -> Checked:
    file = load_criteria(options.criteria)
    seed = file.seed if options.seed is None else options.seed
    replicates = file.replicates if options.replicates is None else options.replicates
    if options.reference is not None:
        if not any("reference" in criterion.gated.needs for criterion in file.criteria):
            raise ExperimentError("--reference has no effect: no criterion is about drift; leave it out")
        file = replace(file, reference=options.reference)
    runs = loaded(options.runs)
    _tell_unranked(runs, file.criteria)
    began, started = datetime.now(UTC), time.perf_counter()
    judged = judge_criteria(runs, file, seed=seed, replicates=replicates)
    return Checked(
        judged=judged,
        broken=[*_missing_cells(options.runs), *_failed_monitors(runs)],
        criteria=str(options.criteria),
        runs=list(options.runs),
        undecided=options.undecided or file.undecided,
        seed=seed,
        replicates=replicates,
        version=version("farm-testbed"),
        began=began,
        seconds=time.perf_counter() - started,
    )


def _tell_unranked(runs: Sequence[Readouts], criteria: Sequence[Criterion]) -> None:
    """Say which monitors nobody judges: those that their runs do not rank, where no criterion names them."""
    named = {name for criterion in criteria for name in criterion.monitors or ()}
    if aside := [name for name in unranked(runs) if name not in named]:
        print(
            f"farm: not judged, since not ranked by the run itself: {listed(aside)}; a criterion may name "
            "such monitors with 'for'",
            file=sys.stderr,
        )


def _missing_cells(paths: Sequence[str]) -> Iterator[NotRun]:
    """Tell which cells campaigns ask for and have not: what was not run met nothing."""
    for path in paths:
        if CampaignFolder.is_campaign(path):
            for title, reason in missing_cells(path):
                yield NotRun(f"cell '{title}'", path, reason)


def _failed_monitors(runs: Sequence[Readouts]) -> Iterator[NotRun]:
    for run in runs:
        for monitor in run.run.get("monitors") or ():
            if monitor.get("failure"):
                yield NotRun(f"monitor '{monitor['name']}'", str(run.run["folder"]), monitor["failure"])


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


def _check_apart(junit: Path, markdown: Path) -> None:
    if junit.resolve() == markdown.resolve():
        raise ExperimentError(f"--junit and --markdown are both {junit}; expected two files")
