"""`farm try`: from a network and its images to a first verdict; `farm init`: a file to begin with."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import yaml

from farm.api import Classifier, Monitor
from farm.commands.report import write_report
from farm.commands.results import print_answers
from farm.commands.run_report import RunReport
from farm.config.experiment import MonitorSpec, parse_experiment
from farm.config.files import EXPERIMENTS
from farm.config.guessing import FoundFiles, classifier_spec, found_in, workload_spec
from farm.config.yaml_reading import parse_yaml
from farm.errors import ExperimentError
from farm.report.page import find
from farm.run.execution import assemble
from farm.run.loading import importable
from farm.run.needs import WORKING, unmet
from farm.run.progress import shown_progress
from farm.run.shared import Recent
from farm.run.testbed import Testbed
from farm.statistics.wording import listed
from farm.store.files import check_free, replace_text

TEMPLATE = EXPERIMENTS / "try.yaml"
YARDSTICKS = ("never", "always", "random")
MOST = 20_000
"""More instances are not streamed at a first look."""


@dataclass(frozen=True)
class Skipped:
    """A monitor that the network cannot serve."""

    monitor: str
    reason: str
    instead: str
    """Monitors that run on what it gives."""


def try_out(options: argparse.Namespace) -> int:
    """Write an experiment, run it, and tell what came out: the answer first, the report last."""
    if options.format == "table":
        return _tried(options)[0]
    with redirect_stdout(sys.stderr):
        code, record = _tried(options)
    sys.stdout.write(json.dumps(record, indent=2, allow_nan=False, ensure_ascii=False) + "\n")
    return code


def _tried(options: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    name, here = options.name, Path()
    file, run, page = here / f"{name}.yaml", Path("runs") / name, here / f"{name}.html"
    figures = page.with_name(f"{name}-figures")
    for path in (file, run, page, figures):
        check_free(path)
    kept = Recent(8)
    with shown_progress(quiet=options.quiet) as progress, importable(here):
        bed = Testbed(options.seed, folder=here, progress=progress, kept=kept)
        values = _asked(options)
        workload = bed.workload(values["workload"])
        classifier = bed.classifier(values["classifier"], workload)
        chosen, skipped = _fitting(values["monitors"], classifier)
        values["monitors"] = chosen
        if (total := len(workload.test) * (1 + len(values["faultload"]))) > MOST:
            values["stream"]["length"] = MOST
            progress.note(f"of about {total:,} images {MOST:,} are taken (stream.length)")
        replace_text(file, _text(values, skipped))
        experiment = parse_experiment(parse_yaml(file.read_text(encoding="utf-8"), str(file)), str(file))
        readouts = assemble(experiment, here.resolve(), progress=progress, kept=kept).run()
    folder = readouts.save(run)
    report = RunReport.of(readouts, folder)
    print_answers(report.answers, report.warnings)
    for one in skipped:
        print(f"farm: left out: {one.reason}; instead: {one.instead}", file=sys.stderr)
    failures = [note["failure"] for note in readouts.run["monitors"] if note["failure"]]
    for failure in failures:
        print(f"farm: failed: {failure}", file=sys.stderr)
    write_report(find([folder]), page, figures)
    print(f"\n{file}: what was run, to be edited and run again (`farm run {file}`)")
    print(f"{folder}: the readouts (`farm judge {folder}` prints tables)")
    print(f"{page}: a page to look at, with the images that monitors failed on")
    record = {
        "answer": [asdict(each) for each in report.answers],
        "warnings": list(report.warnings),
        "skipped": [asdict(one) for one in skipped],
        "peak_mb": round(readouts.run["peak_memory_bytes"] / 1e6),
        "yaml": str(file),
        "folder": str(folder),
        "report": str(page),
    }
    return 1 if failures else 0, record


def _asked(options: argparse.Namespace) -> dict[str, Any]:
    """Return the experiment that was asked for, with all monitors there may be."""
    values = cast(dict[str, Any], parse_yaml(TEMPLATE.read_text(encoding="utf-8"), str(TEMPLATE)))
    values |= {"name": options.name, "seed": options.seed, "batch_size": options.batch_size}
    values["description"] = "A first look, written by `farm try`"
    values["workload"] = workload_spec(options.id) | _given(options, "size")
    values["classifier"] = classifier_spec(options.model, options.weights) | _given(options, "mean", "std")
    novel = [
        {"name": "novelty", "as": _alias(place), "workload": workload_spec(place)} for place in options.ood
    ]
    values["faultload"] = [*_distinct(novel), *values["faultload"]]
    if options.monitor:
        values["monitors"] = [*options.monitor, *YARDSTICKS]
    return values


def _given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(options, name)) is not None}


def _alias(place: str) -> str:
    """Return what images are called as a fault: their file's or folder's name."""
    return f"novelty-{Path(place).stem}" if Path(place).stem else "novelty"


def _distinct(faults: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    taken: dict[str, int] = {}
    for fault in faults:
        number = taken[fault["as"]] = taken.get(fault["as"], 0) + 1
        yield fault if number == 1 else fault | {"as": f"{fault['as']}-{number}"}


def _fitting(names: Sequence[str], classifier: Classifier) -> tuple[list[str], list[Skipped]]:
    """Return the monitors that a classifier can serve, and the others with what to take instead."""
    made = [cast(Monitor, MonitorSpec.model_validate(name).make("monitor")) for name in names]
    reasons = unmet(made, classifier)
    chosen = [one.name for one in made if one.name not in reasons]
    real = [one.name for one in made if one.name in chosen and not one.is_yardstick]
    if not real:
        raise ExperimentError(
            f"no monitor runs on classifier '{classifier.name}': {'; '.join(reasons.values())}"
        )
    skipped = [Skipped(name, why.partition(WORKING)[0], listed(real)) for name, why in reasons.items()]
    return chosen, skipped


def _text(values: Mapping[str, Any], skipped: Sequence[Skipped]) -> str:
    """Write the experiment for whoever edits it."""
    about = [
        f"# Written by `farm try`. Edit it and run it again: farm run {values['name']}.yaml",
        "# `farm list` tells what there is, `farm describe monitor oob` what one is, with its parameters.",
    ]
    left = [f"# Left out: {one.monitor}: {one.reason}" for one in skipped]
    body = yaml.safe_dump(
        dict(values), sort_keys=False, default_flow_style=None, width=110, allow_unicode=True
    )
    return "\n".join([*about, *left, body])


def init(options: argparse.Namespace) -> int:
    """Write an experiment of what lies in a folder, each guess with a comment."""
    folder, out = Path(options.folder), Path(options.out)
    if not folder.is_dir():
        raise ExperimentError(f"{folder} is no folder; expected one with images, and perhaps a network")
    check_free(out)
    found = found_in(folder)
    replace_text(out, "\n".join(_begun(found, folder, out)) + "\n")
    print(f"{out} was written. Look through it, then: farm run {out} --dry-run, and farm run {out}")
    return 0


def _begun(found: FoundFiles, folder: Path, out: Path) -> Iterator[str]:
    """Return the lines of an experiment that uses what was found, and says what else could be taken."""
    beside = Path(os.path.relpath(folder, out.parent))
    yield f"# Written by `farm init` from what lies in {folder}. Every guess can be another one: edit it."
    yield f"name: {re.sub(r'[^A-Za-z0-9._-]+', '-', out.stem)}"
    yield "seed: 0"
    yield from _choice(
        "workload",
        [workload_spec(beside / one) for one in found.workloads],
        {"name": "signs"},
        "images with classes (rendered signs, since there are none here)",
    )
    yield from _choice(
        "classifier",
        list(_classifiers(found, beside)),
        {"name": "lenet"},
        "your network (a LeNet that is trained here, since there is none)",
    )
    novel = [{"name": "novelty", "workload": workload_spec(beside / one)} for one in found.outliers]
    yield "faultload:                       # what the monitors should notice"
    for fault in novel or [{"name": "novelty", "workload": "signs-abroad"}] * (not found.workloads):
        yield f"  - {_flow(fault)}"
    for name in ("gaussian-noise", "fog"):
        yield f"  - {_flow({'name': name, 'severity': 3})}"
    yield "monitors: [max-softmax, energy, knn, oob, never, always, random]   # farm list monitors"
    yield "batch_size: 64                   # 1 is one image at a time, as in a car: slower, with true times"


def _choice(
    key: str, found: Sequence[Mapping[str, Any]], otherwise: Mapping[str, Any], what: str
) -> Iterator[str]:
    yield f"{key}: {_flow(found[0] if found else otherwise)}   # {what.partition(' (')[0] if found else what}"
    for other in found[1:]:
        yield f"# {key}: {_flow(other)}"


def _classifiers(found: FoundFiles, beside: Path) -> Iterator[dict[str, Any]]:
    for program in found.programs:
        yield classifier_spec(str(beside / program))
    for factory in found.factories:
        if not found.weights:
            yield classifier_spec(factory)
        for weights in found.weights:
            yield classifier_spec(factory, str(beside / weights))


def _flow(value: Mapping[str, Any]) -> str:
    """Write a mapping on one line; a name alone as just that."""
    if list(value) == ["name"]:
        return str(value["name"])
    return yaml.safe_dump(dict(value), default_flow_style=True, width=1000, sort_keys=False).strip()
