"""Computing one cell: its stream through its classifier, all missing monitors in one pass, one new folder.

What other folders hold of the same cell is taken over, row by row, where classifier and stream gave the same
bit for bit; where they did not, everything is computed anew, so that no cell mixes two streams.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from farm.api import Progress
from farm.campaign.changes import changes
from farm.campaign.folder import CampaignFolder
from farm.campaign.jobs import Job, Outcome
from farm.campaign.keys import KeyMaker
from farm.config import Experiment, parse_experiment
from farm.errors import DataError, UserError
from farm.experiment import assemble, run_assembled
from farm.identity.reads import Recorder, read_by
from farm.identity.undeclared import UNDECLARED, advice, digests, undeclared
from farm.kept import Kept
from farm.readouts import Readouts
from farm.repetition import differences
from farm.watch import Watch

OF_THE_PASS = ("seconds", "peak_memory_bytes", "versions", "hardware", "testbed_commit", "experiment_commit")
"""What a record tells of the pass in which monitors ran, and not of the cell."""


def compute(job: Job, *, kept: Kept, progress: Progress, watch: Watch) -> Outcome:
    """Compute what a job asks for, and write the cell's folder, whole or not at all."""
    started = time.perf_counter()
    home, cells = Path(job.home), CampaignFolder(job.folder).cells
    _make_importable(home)
    experiment = parse_experiment(job.experiment, job.title)
    if changed := _changed(job, experiment, home):
        return Outcome(job.cell, "changed", changed)
    donors = [Readouts.load(cells / name) for name in job.donors]
    parts = list(donors)
    if job.compute:
        parts.append(_run(experiment, job, job.compute, kept, progress, watch))
    streams = [_stream_of(part) for part in parts]
    if told := [line for other in streams[1:] for line in differences(streams[0], other)]:
        progress.note(f"{job.title}: what is there differs from what is streamed now; all anew: {told[0]}")
        parts = [_run(experiment, job, tuple(job.keys), kept, progress, watch)]
        job = replace(job, compute=tuple(job.keys))
    cell = merged(parts, job, time.perf_counter() - started)
    if changed := _changed(job, experiment, home):
        return Outcome(job.cell, "changed", changed)
    target = cells / job.target
    try:
        cell.save(target)
    except DataError:
        if not target.exists():
            raise
    failures = {entry["name"]: entry["failure"] for entry in cell.run["monitors"] if entry["failure"]}
    return Outcome(
        job.cell,
        "done",
        failures=failures,
        seconds=time.perf_counter() - started,
        instances=len(cell.instances),
        nbytes=sum(file.stat().st_size for file in target.iterdir()),
    )


def merged(parts: Sequence[Readouts], job: Job, seconds: float) -> Readouts:
    """Put the monitors of one cell together, each from the last part that has it, in the cell's order.

    `seconds` is what the last pass took, its fits and its stream.

    Classifier and stream are told by the first part, so that a cell's rows stay as they were when a monitor
    is added.
    """
    first, last = parts[0], parts[-1]
    owner = {
        name: part
        for part in parts
        for name in _monitors(part, job)
        if name not in job.compute or part is last
    }
    entries: list[Mapping[str, Any]] = []
    resolved: list[Mapping[str, Any]] = []
    rows = [first.alarms.iloc[:0]]
    for name in job.keys:
        part = owner[name]
        entries.append(_named(part.run["monitors"], name))
        resolved.append(_spec(part.run, name))
        rows.append(part.alarms[part.alarms["monitor"] == name])
    passes = [one for part in parts for one in part.run.get("passes", [_pass(part, seconds, job.workers)])]
    run = {
        **{key: value for key, value in first.run.items() if key != UNDECLARED},
        **{key: last.run[key] for key in OF_THE_PASS},
        "experiment": {**last.run["experiment"], "monitors": resolved},
        "monitors": entries,
        "passes": _still_needed(passes, list(job.keys)),
        "cell": {"id": job.cell, "title": job.title, "label": dict(job.label), "keys": dict(job.keys)},
    }
    return replace(first, alarms=pd.concat(rows, ignore_index=True), run=run)


def _run(
    experiment: Experiment,
    job: Job,
    names: Sequence[str],
    kept: Kept,
    progress: Progress,
    watch: Watch,
) -> Readouts:
    by_name = dict(zip(job.keys, experiment.monitors, strict=True))
    chosen = [by_name[name] for name in job.keys if name in names]
    of_those = experiment.model_copy(update={"monitors": chosen})
    excluded = {name: why for name, why in job.excluded.items() if name in names}
    home = Path(job.home)
    with Recorder() as recorder:
        ready = assemble(of_those, home, progress=progress, kept=kept, watch=watch, excluded=excluded)
        readouts = run_assembled(ready, of_those)
    if not (found := _undeclared(job, experiment, recorder)):
        return readouts
    progress.note(f"{job.title}: code {advice(found)}")
    return replace(readouts, run={**readouts.run, UNDECLARED: digests(found, home)})


def _undeclared(job: Job, experiment: Experiment, recorder: Recorder) -> dict[str, float]:
    """Give what was read for a cell and is in none of its keys, with the time of the first read.

    What its code read for an earlier cell of this process counts too: it may be remembered since.
    """
    maker = KeyMaker(Path(job.home))
    with suppress(UserError):  # what changed meanwhile is told by whoever asks for the keys again
        maker.keys(experiment)
    read = {**recorder.everything(), **read_by([str(file) for file in maker.identities.code_files()])}
    return undeclared(read, [maker.identities], [Path(job.folder)])


def _changed(job: Job, experiment: Experiment, home: Path) -> str:
    """Say what changed since the job was given out: such a cell must not be kept under its old key."""
    maker = KeyMaker(home)
    try:
        now = maker.keys(experiment)
    except UserError as error:  # there were keys when it was planned
        return f"what makes the cell changed while the campaign ran: {error}"
    if now.cell == job.cell and all(now.monitors.get(name) == key for name, key in job.keys.items()):
        return ""
    return changes(job.made_of, now.made_of, maker.written_since(job.looked))


def _make_importable(home: Path) -> None:
    """Let the user's own modules be imported for as long as this process lives: it serves one campaign."""
    if str(home) not in sys.path:
        sys.path.append(str(home))


def _stream_of(readouts: Readouts) -> Readouts:
    """Give what classifier and stream gave, without any monitor."""
    return replace(readouts, alarms=readouts.alarms.iloc[:0])


def _monitors(part: Readouts, job: Job) -> list[str]:
    """Name the monitors that a part has and the cell wants, by their keys where it is a folder's."""
    names = [entry["name"] for entry in part.run["monitors"]]
    keys = part.run["cell"]["keys"] if "cell" in part.run else job.keys
    return [name for name in names if job.keys.get(name) == keys.get(name)]


def _pass(part: Readouts, seconds: float, workers: int) -> dict[str, Any]:
    names = [entry["name"] for entry in part.run["monitors"]]
    when = {"finished": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "cell_seconds": seconds, "workers": workers}
    timing = {key: part.run["classifier"][key] for key in ("bare_time_us", "observing_time_us")}
    read = {key: part.run[key] for key in (UNDECLARED,) if key in part.run}
    return {"monitors": names, **when, **{key: part.run[key] for key in OF_THE_PASS}, **timing, **read}


def _still_needed(passes: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[Mapping[str, Any]]:
    """Leave of each pass the monitors that a later one did not run again, and that the cell still has."""
    kept: list[Mapping[str, Any]] = []
    wanted = set(names)
    for one in reversed(passes):
        mine = [name for name in one["monitors"] if name in wanted]
        wanted -= set(mine)
        if mine or one is passes[0]:
            kept.append({**one, "monitors": mine})
    return kept[::-1]


def _named(entries: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    return next(entry for entry in entries if entry["name"] == name)


def _spec(run: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Give a monitor as the experiment of a run says it: those and what came of them have one order."""
    pairs = zip(run["monitors"], run["experiment"]["monitors"], strict=True)
    return next(spec for entry, spec in pairs if entry["name"] == name)
