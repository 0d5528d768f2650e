"""`farm run`: an experiment from its file to judged readouts, or a run once more; campaigns are elsewhere."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import Any

from farm.campaign.keys import KeyMaker
from farm.campaign.spec import Campaign, load
from farm.config.experiment import Experiment
from farm.config.files import find_experiment
from farm.errors import DataError, ExperimentError
from farm.report.output import with_descriptions
from farm.run.progress import shown_progress
from farm.store.amounts import in_bytes, in_words
from farm.store.files import check_free, numbered_folder, write_json
from farm.store.identity.audit import Audit
from farm.store.readouts import Readouts

OF_EXPERIMENTS = ("readouts_only", "timing", "audit")
OF_CAMPAIGNS = ("workers", "cluster", "retry_failed")


def run(options: argparse.Namespace) -> int:
    """Run the experiment, write the readouts, judge them, and say what to do next."""
    if options.format == "table" or options.dry_run:
        return _run(options)[0]
    # Whatever is said on the way, by a user's own code too, is no part of the JSON.
    with redirect_stdout(sys.stderr):
        code, record = _run(options)
    sys.stdout.write(json.dumps(record, indent=2, allow_nan=False, ensure_ascii=False) + "\n")
    return code


def _run(options: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    """Return the exit code, and what is to be told as JSON."""
    started = time.perf_counter()
    if options.workers is not None and options.workers < 1:
        raise ExperimentError(f"--workers is {options.workers}; expected at least 1")
    pictures = [] if options.pictures is None else [f"pictures={options.pictures}"]
    experiment, folder = load(options.experiment, [*options.set, *pictures])
    if isinstance(experiment, Campaign):
        from farm.commands.run_campaign import run_campaign

        told = f"a single experiment, and {options.experiment} is a campaign; leave it out"
        _refuse(options, OF_EXPERIMENTS, told)
        return run_campaign(experiment, folder, options)
    told = f"campaigns, and {options.experiment} is one experiment; give it a list, such as seeds: [0, 1], "
    _refuse(options, OF_CAMPAIGNS, f"{told}or leave the option out")
    # It brings torch along, which campaigns leave to their workers.
    from farm.commands.results import print_answers, print_records
    from farm.commands.run_report import RunReport, next_commands
    from farm.judging.notes import why_not_judged
    from farm.run.execution import run_experiment
    from farm.run.rehearsal import rehearse
    from farm.store.timing import spent

    out = Path(options.out) if options.out else None
    if out:
        check_free(out)  # now, not after the work is done
    if options.dry_run:
        with shown_progress(quiet=options.quiet) as progress, redirect_stdout(sys.stderr):
            found = rehearse(experiment, folder, progress=progress)
        print(
            json.dumps(found, indent=2, allow_nan=False)
            if options.format == "json"
            else "\n".join(_told(found))
        )
        return 1 if found["left_out"] else 0, {}
    audit = Audit() if options.audit else None
    with shown_progress(quiet=options.quiet) as progress, audit or nullcontext():
        readouts = run_experiment(experiment, folder, progress=progress)
    out = readouts.save(out) if out else save_numbered(readouts, Path("runs"), experiment.name)
    if options.timing:
        write_json(Path(options.timing), spent() | {"total_s": time.perf_counter() - started})
    failures = [m["failure"] for m in readouts.run["monitors"] if m["failure"]]
    record: dict[str, Any] = {"folder": str(out)}
    report = None
    why_not = why_not_judged(readouts.run)
    if why_not:
        print(f"Nobody is judged by this run: {why_not}.")
    elif not options.readouts_only:
        report = RunReport.of(readouts, out)
        record |= report.as_json()
        if options.format == "table":
            print_answers(report.answers, report.warnings)
            print_records(report.records, "table", everything=options.all)
    if audit is not None:
        record["undeclared"] = _undeclared(audit, experiment, folder, out)
        if options.format == "table":
            print(json.dumps({"undeclared": record["undeclared"]}))
    for failure in failures:
        print(f"farm: failed: {failure}", file=sys.stderr)
    print(f"\nThe run was written to {out} in {time.perf_counter() - started:.0f} s.")
    repeated = find_experiment(options.experiment)
    if repeated.suffix == ".json":
        return max(_compare_with(repeated.parent, readouts, options.set), 1 if failures else 0), record
    print("Next:\n" + with_descriptions(next_commands(readouts, out, report)))
    return 1 if failures else 0, record


def _told(found: dict[str, Any]) -> Iterator[str]:
    """Say in lines what a dry run found."""
    data, stream, estimate = found["workload"], found["stream"], found["estimate"]
    images = ", ".join(f"{n:,} {split}" for split, n in data["images"].items())
    size = " x ".join(map(str, data["shape"]))
    yield f"experiment '{found['name']}': a dry run; nothing is trained, and no run is written"
    yield f"  images      {data['name']}: {images}; {size} each{_copies(data['notes'])}"
    names = [*data["classes"][:5], *(["..."] if len(data["classes"]) > 5 else [])]
    yield f"  classes     {len(data['classes'])}: {', '.join(names)}"
    yield f"  classifier  {found['classifier']['name']}"
    yield f"  monitors    {', '.join(one['name'] for one in found['monitors'])}"
    yield from (f"  left out    {reason}" for reason in found["left_out"].values())
    if stream is not None:
        length = stream["length"]
        ood = "" if "n_ood" not in stream else f", {stream['n_ood']:,} of them OOD"
        yield f"  stream      {length:,} instances{ood}"
        for fault in stream.get("faults", ()):
            yield f"              {fault['name']} of {fault['targets']}{_copies(fault.get('notes', {}))}"
    if estimate["seconds"] is None:
        yield "  time        the classifier's passes cannot be told yet"
    else:
        yield f"  time        {in_words(estimate['seconds'])} for the classifier to see data and stream"
        place = f", in {estimate['folder']} while they are fitted" if estimate["folder"] else ""
        yield (
            f"  {'disk  ' if place else 'memory'}      {in_bytes(estimate['nbytes'])} "
            f"for what the classifier gives monitors to fit on{place}"
        )
    yield from (f"  not told    {each}" for each in found["not_told"])


def _copies(notes: Mapping[str, Any]) -> str:
    dropped = notes.get("copies_dropped")
    return f"; copies dropped: {dropped:,}" if dropped else ""


def _refuse(options: argparse.Namespace, misplaced: Sequence[str], told: str) -> None:
    """Raise where one of these options is given, and say what it is for."""
    for option in misplaced:
        if getattr(options, option) not in (None, False):
            raise ExperimentError(f"--{option.replace('_', '-')} is for {told}")


def _undeclared(audit: Audit, experiment: Experiment, folder: Path, out: Path) -> list[Any]:
    """Return what somebody's code read that no key covers, and say what to do about it."""
    maker = KeyMaker(folder)
    maker.keys(experiment)
    found = audit.undeclared([maker.identities], [out])
    if found:
        print(
            "farm: audit: that was read and is in no key, so that what is kept is not made again when it "
            "changes; make each path a parameter",
            file=sys.stderr,
        )
    return list(found)


def _compare_with(folder: Path, readouts: Readouts, changed: list[str]) -> int:
    """Say whether a run that was repeated gave the same; where settings were changed, that says nothing."""
    from farm.run.repetition import differences, explanations

    first = Readouts.load(folder)
    told = differences(first, readouts)
    if not told:
        print(f"The readouts are those of {folder} bit for bit, times apart.")
        return 0
    print(f"The readouts are not those of {folder}:")
    for line in told:
        print(f"  {line}")
    reasons = [f"set on the command line: {', '.join(changed)}"] if changed else []
    for line in (reasons + explanations(first.run, readouts.run)) or ["nothing recorded explains it"]:
        print(f"  it may be since: {line}")
    return 0 if changed else 1


def save_numbered(readouts: Readouts, parent: Path, name: str) -> Path:
    """Save under the first free number, even where another run takes it in the same moment."""
    while True:
        folder = numbered_folder(parent, name)
        try:
            return readouts.save(folder)
        except DataError:
            if not folder.exists():
                raise
