"""`farm try`: from a network and its images to a first verdict."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any, cast

from farm.api import Classifier, Monitor
from farm.commands.report import write_report
from farm.commands.results import print_answers
from farm.commands.run_report import RunReport
from farm.config.experiment import MonitorSpec, parse_experiment
from farm.config.first import experiment_text, first_experiment, flow
from farm.config.guessing import classifier_spec, workload_spec
from farm.config.yaml_reading import named, parse_yaml
from farm.errors import DataError, ExperimentError
from farm.report.page import find
from farm.run.execution import assemble
from farm.run.loading import importable
from farm.run.needs import WORKING, unmet
from farm.run.progress import shown_progress
from farm.run.shared import Recent
from farm.run.testbed import Testbed
from farm.statistics.wording import listed
from farm.store.files import write_text
from farm.store.readouts import Readouts

NAME = "try"
YARDSTICKS = ("never", "always", "random")
RESIZING = ("folder", "table")
"""The workloads that can resize images; the classifier does it for others."""
MOST = 20_000
"""More instances are not streamed at a first look."""


@dataclass(frozen=True)
class Skipped:
    """A monitor that did not run."""

    monitor: str
    reason: str
    instead: str
    """The monitors that did."""


@dataclass(frozen=True)
class Places:
    """All that is written, by one name."""

    yaml: Path
    folder: Path
    report: Path
    figures: Path

    @classmethod
    def of(cls, name: str) -> Places:
        """Return where it goes, in the current folder."""
        return cls(Path(f"{name}.yaml"), Path("runs", name), Path(f"{name}.html"), Path(f"{name}-figures"))

    @property
    def taken(self) -> Iterator[Path]:
        """What is there already."""
        return (path for path in vars(self).values() if path.exists())


def try_out(options: argparse.Namespace) -> int:
    """Run a first experiment, and tell what came out: the answer first, the report last."""
    as_json = options.format == "json"
    values = _asked(options)
    places = Places.of(values["name"])
    if path := next(places.taken, None):
        raise DataError(f"{path} exists already; nothing is overwritten: choose another --name")
    with redirect_stdout(sys.stderr):  # a user's own code may print too
        readouts, text, skipped = _tried(options, values)
    folder = readouts.save(places.folder)
    write_text(places.yaml, text)
    report = RunReport.of(readouts, folder)
    if not as_json:
        print_answers(report.answers, report.warnings)
    for reason in dict.fromkeys(one.reason for one in skipped):
        alike = [one for one in skipped if one.reason == reason]
        names = ", ".join(one.monitor for one in alike)
        print(f"farm: left out: {names}: {reason}; instead: {alike[0].instead}", file=sys.stderr)
    write_report(find([folder]), places.report, places.figures)
    if as_json:
        record = {key: value for key, value in report.as_json().items() if key != "records"}
        record["skipped"] = [asdict(one) for one in skipped]
        record["peak_mb"] = round(readouts.run["peak_memory_bytes"] / 1e6)
        record |= {key: str(getattr(places, key)) for key in ("yaml", "folder", "report")}
        print(json.dumps(record, indent=2, allow_nan=False, ensure_ascii=False))
    else:
        print(f"{places.yaml}: what was run, to be edited and run again (`farm run {places.yaml}`)")
        print(f"{folder}: the readouts (`farm judge {folder}` prints tables)")
        print(f"{places.report}: a page to look at, with the images that monitors failed on")
    return 1 if any(note["failure"] for note in readouts.run["monitors"]) else 0


def _asked(options: argparse.Namespace) -> dict[str, Any]:
    """Return the experiment that was asked for, with all monitors there may be."""
    workload = workload_spec(options.id)
    classifier = classifier_spec(options.model, options.weights) | _given(options, "mean", "std", "outputs")
    (workload if workload["name"] in RESIZING else classifier).update(_given(options, "size"))
    workload |= _given(options, "copies")
    ood = dict.fromkeys(map(Path, options.ood))  # a set that is named twice would count twice
    values = first_experiment(workload, classifier, [workload_spec(place) for place in ood])
    free = (name for n in count(2) if not any(Places.of(name := f"{NAME}-{n}").taken))
    values |= {
        "name": options.name or (next(free) if any(Places.of(NAME).taken) else NAME),
        "description": "A first look, by farm try",
        "seed": options.seed,
        "batch_size": options.batch_size,
    }
    if options.monitor:
        values["monitors"] = [named(each) for each in dict.fromkeys([*options.monitor, *YARDSTICKS])]
    parse_experiment(values, "options")  # a mistake is told before anything is read
    return values


def _given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(options, name)) is not None}


def _tried(options: argparse.Namespace, values: dict[str, Any]) -> tuple[Readouts, str, list[Skipped]]:
    """Run the experiment with the monitors that fit; return its file's text too, and the other monitors."""
    here, kept = Path(), Recent(8)
    with shown_progress(quiet=options.quiet) as progress, importable(here):
        bed = Testbed(options.seed, folder=here, progress=progress, kept=kept)
        workload = bed.workload(values["workload"])
        classifier = bed.classifier(values["classifier"], workload)
        values["monitors"], reasons, left_out = _fitting(values["monitors"], classifier)
        if (total := len(workload.test) * (1 + len(values["faultload"]))) > MOST:
            values["stream"]["length"] = MOST
            progress.note(f"of about {total:,} images {MOST:,} are taken (stream.length)")
        text = experiment_text(
            values,
            [
                f"Written by `farm try`. Edit it and run it again: farm run {values['name']}.yaml",
                "`farm describe monitor oob` tells what a monitor is and takes.",
            ],
            {"monitors": left_out},
        )
        experiment = parse_experiment(parse_yaml(text, "farm try"), "farm try")
        readouts = assemble(experiment, here.resolve(), progress=progress, kept=kept).run()
    notes = readouts.run["monitors"]
    reasons |= {note["name"]: note["failure"] for note in notes if note["failure"]}
    ran = listed([note["name"] for note in notes if not note["failure"] and not note["yardstick"]])
    skipped = [Skipped(name, why.removeprefix(f"monitor '{name}' "), ran) for name, why in reasons.items()]
    return readouts, text, skipped


def _fitting(specs: Sequence[Any], classifier: Classifier) -> tuple[list[Any], dict[str, str], list[str]]:
    """Return the monitors that a classifier can serve; why not the others; and these as a file's comments."""
    made = [cast(Monitor, MonitorSpec.model_validate(spec).make("monitor")) for spec in specs]
    reasons = {name: why.partition(WORKING)[0] for name, why in unmet(made, classifier).items()}
    if all(one.name in reasons or one.is_yardstick for one in made):
        told = "; ".join(reasons.values()) or "expected one beside yardsticks"
        raise ExperimentError(f"no monitor can be tried on classifier '{classifier.name}': {told}")
    pairs = list(zip(specs, made, strict=True))
    chosen = [spec for spec, one in pairs if one.name not in reasons]
    left_out = [f"{flow(spec)}   # {reasons[one.name]}" for spec, one in pairs if one.name in reasons]
    return chosen, reasons, left_out
