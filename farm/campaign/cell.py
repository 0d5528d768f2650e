"""Computing one cell: its stream through its classifier, all missing monitors in one pass, one new folder.

What other folders hold of the same cell is taken over, row by row, where classifier and stream gave the same
bit for bit; where they did not, everything is computed anew, so that no cell mixes two streams.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from farm.api import Progress
from farm.campaign.jobs import Job, Outcome
from farm.campaign.keys import KeyMaker, Keys
from farm.config.experiment import Experiment, parse_experiment
from farm.errors import DataError, UserError
from farm.run.execution import assemble
from farm.run.loading import importable
from farm.run.repetition import differences
from farm.run.shared import CallObserver, Recent
from farm.store.campaign_folder import CampaignFolder
from farm.store.pictures import Pictures, joined
from farm.store.readouts import Readouts

OF_THE_PASS = ("seconds", "peak_memory_bytes", "versions", "hardware", "testbed_commit", "experiment_commit")
"""What a record tells of the pass in which monitors ran, and not of the cell."""


def compute(job: Job, *, kept: Recent, progress: Progress, watch: CallObserver) -> Outcome:
    """Compute what a job asks for, and write the cell's folder, whole or not at all."""
    # What was imported stays, since a process serves one campaign.
    with importable(Path(job.home), forget=False):
        return _compute(job, kept, progress, watch)


def _compute(job: Job, kept: Recent, progress: Progress, watch: CallObserver) -> Outcome:
    started = time.perf_counter()
    cells = CampaignFolder(job.folder).cells
    experiment = parse_experiment(job.experiment, job.title)
    maker = KeyMaker(Path(job.home))
    planned = Keys(job.cell, job.keys, job.made_of, job.looked)
    if changed := _changed(lambda: maker.changed_since(planned, experiment)):
        return Outcome(job.cell, "changed", changed)
    donors = [Readouts.load(cells / name) for name in job.donors]
    parts = list(donors)
    if job.compute:
        parts.append(_run(experiment, job, job.compute, kept, progress, watch))
    streams = [replace(part, alarms=part.alarms.iloc[:0]) for part in parts]
    if unlike := [line for other in streams[1:] for line in differences(streams[0], other)]:
        progress.note(f"{job.title}: what is there differs from what is streamed now; all anew: {unlike[0]}")
        parts = [_run(experiment, job, tuple(job.keys), kept, progress, watch)]
        job = replace(job, compute=tuple(job.keys))
    cell = merged(parts, job, time.perf_counter() - started)
    if changed := _changed(lambda: maker.changed_meanwhile(experiment)):
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
    chosen: dict[str, tuple[Mapping[str, Any], Mapping[str, Any], pd.DataFrame, Pictures | None]] = {}
    for part in parts:
        keys = part.run["cell"]["keys"] if "cell" in part.run else job.keys
        # What came of monitors, and what the experiment says of them, have one order.
        for entry, spec in zip(part.run["monitors"], part.run["experiment"]["monitors"], strict=True):
            name = entry["name"]
            wanted = name in job.keys and keys.get(name) == job.keys[name]
            if wanted and (name not in job.compute or part is last):
                said = part.alarms[part.alarms["monitor"] == name]
                chosen[name] = entry, spec, said, part.pictures
    ordered = [chosen[name] for name in job.keys]
    rows = [first.alarms.iloc[:0], *(said for _, _, said, _ in ordered)]
    samples = next((part.pictures for part in parts if part.pictures is not None), None)
    pictures = [(samples, None), *((chosen[name][-1], name) for name in job.keys)]
    passes = [one for part in parts for one in part.run.get("passes", [_pass(part, seconds, job.workers)])]
    run = {
        **first.run,
        **{key: last.run[key] for key in OF_THE_PASS},
        "experiment": {**last.run["experiment"], "monitors": [spec for _, spec, _, _ in ordered]},
        "monitors": [entry for entry, _, _, _ in ordered],
        "passes": _still_needed(passes, list(job.keys)),
        "cell": {"id": job.cell, "title": job.title, "label": dict(job.label), "keys": dict(job.keys)},
    }
    alarms = pd.concat(rows, ignore_index=True)
    return replace(first, alarms=alarms, run=run, pictures=joined(pictures))


def _run(
    experiment: Experiment,
    job: Job,
    names: Sequence[str],
    kept: Recent,
    progress: Progress,
    watch: CallObserver,
) -> Readouts:
    by_name = dict(zip(job.keys, experiment.monitors, strict=True))
    chosen = [by_name[name] for name in job.keys if name in names]
    of_those = experiment.model_copy(update={"monitors": chosen})
    excluded = {name: why for name, why in job.excluded.items() if name in names}
    home = Path(job.home)
    return assemble(of_those, home, progress=progress, kept=kept, watch=watch, excluded=excluded).run()


def _changed(ask: Callable[[], str]) -> str:
    """Say what changed since there were keys; that there are none any more is a change, too."""
    try:
        return ask()
    except UserError as error:
        return f"what makes the cell changed while the campaign ran: {error}"


def _pass(part: Readouts, seconds: float, workers: int) -> dict[str, Any]:
    names = [entry["name"] for entry in part.run["monitors"]]
    when = {"finished": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "cell_seconds": seconds, "workers": workers}
    timing = {key: part.run["classifier"][key] for key in ("bare_time_us", "observing_time_us")}
    return {"monitors": names, **when, **{key: part.run[key] for key in OF_THE_PASS}, **timing}


def _still_needed(passes: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[Mapping[str, Any]]:
    """Leave of each pass the monitors that a later one did not run again, and that the cell still has."""
    needed: list[Mapping[str, Any]] = []
    wanted = set(names)
    for one in reversed(passes):
        mine = [name for name in one["monitors"] if name in wanted]
        wanted -= set(mine)
        if mine or one is passes[0]:
            needed.append({**one, "monitors": mine})
    return needed[::-1]
