"""What `farm run` tells of a run: the answer, then the table, then what to ask next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from farm.comparing.sets import judged_runs, sets_of
from farm.gate.answer import Answer, answers, plain_confidence
from farm.judging import JudgedRun, Record
from farm.judging.classifier_check import classifier_warnings
from farm.judging.notes import why_not_judged
from farm.judging.readouts import IN_MEMORY, alarm_rows, judged_folders, load_runs
from farm.store.readouts import Readouts


@dataclass(frozen=True)
class RunReport:
    """All that is told of a run."""

    answers: Sequence[Answer]
    """One a category of faults."""
    warnings: Sequence[str]
    """Signs that the classifier is not what was meant, and what monitors warn of in their notes."""
    records: Sequence[Record]

    @classmethod
    def of(cls, readouts: Readouts, folder: Path) -> RunReport:
        """Judge a run, and find out what follows."""
        judged = JudgedRun.of(readouts.instances, readouts.alarms, {**readouts.run, "folder": str(folder)})
        found = answers(sets_of([judged]), confidence=plain_confidence([readouts.run]))
        found.sort(key=lambda each: each.monitor is None)  # what nothing is known of comes last
        notes = [(note["name"], note.get("notes") or {}) for note in readouts.run["monitors"]]
        of_monitors = [f"{name}: {own['warning']}" for name, own in notes if own.get("warning")]
        return cls(found, [*classifier_warnings(judged.table), *of_monitors], judged.records)

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON."""
        told = [asdict(each) for each in self.answers]
        return {"answer": told, "warnings": list(self.warnings), "records": list(self.records)}


def answers_of(campaign: Path) -> tuple[list[Answer], str | None]:
    """Return the answers over a campaign's finished cells, or why there are none."""
    rows = sum(map(alarm_rows, judged_folders([campaign])))
    if rows > IN_MEMORY:
        compare = f"`farm compare {shlex.quote(str(campaign))} --by category`"
        return [], f"{compare} tells which monitor helps: {rows:,} alarms take a while to read."
    runs = load_runs([campaign])
    if why_not := why_not_judged(runs[0].run):  # then there are no others
        return [], f"Nobody is judged by these runs: {why_not}."
    confidence = plain_confidence(run.run for run in runs)
    return answers(sets_of(judged_runs(runs, needed=())), confidence=confidence), None


def next_commands(readouts: Readouts, folder: Path, report: RunReport | None) -> Iterator[tuple[str, str]]:
    """Return commands for what to ask next, of what there is in this run, and what they tell."""
    run = shlex.quote(str(folder))
    if why_not_judged(readouts.run):
        yield f"farm export {run} --format csv", "all readouts in one file"
        return
    if report is None:
        yield f"farm judge {run}", "what the monitors are worth"
        return
    notes = readouts.run["monitors"]
    if sum(note["ranked"] and not note["failure"] and not note["yardstick"] for note in notes) > 1:
        yield f"farm compare {run}", "which monitor is better, and how surely"
    yield f"farm report {run}", "a page to look at: figures, and the images that monitors failed on"
    yield f"farm judge {run} --all", "every measure, with intervals and yardsticks"
    if any(record["overall"] for record in report.records):
        yield f"farm inspect {run} --look classes", "which classes the classifier and the monitors fail"
    best = next((each.monitor for each in report.answers if each.monitor), None)
    for note, spec in zip(notes, readouts.run["experiment"]["monitors"], strict=True):
        # A user's own module may be found beside the experiment alone.
        if note["name"] == best and ":" not in spec["name"]:
            yield f"farm describe monitor {spec['name']}", f"what {best} is, and its parameters"
