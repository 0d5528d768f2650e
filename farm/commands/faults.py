"""`farm faults preview` and `farm faults write`: look at faults, and keep them as a benchmark set."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from farm.api import Classifier, FaultContext, Faultload, FaultTargets, Images, OODImages, Workload
from farm.config.experiment import FaultSpec, listed
from farm.config.yaml_reading import named
from farm.errors import ExperimentError
from farm.report.pictures import picture_sheet
from farm.run.benchmark_set import write_benchmark
from farm.run.execution import NoClassifier, assemble_stream
from farm.run.known_looks import KnownLook, known_looks
from farm.run.loading import importable, load_experiment
from farm.run.progress import shown_progress
from farm.run.testbed import Testbed
from farm.store.files import check_free, check_new_file

WIDTH = 128
"""How wide an image is drawn, about."""
BESIDE = 4
"""So many images of a novel class that looks known are drawn beside the known one."""


def preview(options: argparse.Namespace) -> int:
    """Draw each fault's severities side by side."""
    out = Path(options.out)
    check_new_file(out)
    if options.images < 1:
        raise ExperimentError(f"--images is {options.images}; expected at least 1")
    specs = [FaultSpec.model_validate(listed(named(text), Path())) for text in options.faults]
    for spec in specs:
        if spec.model_fields_set & {"severity", "share", "both"}:
            raise ExperimentError(
                f"faultload '{spec.name}': a preview draws every severity; leave out severity, share and both"
            )
    with importable(Path.cwd()):
        return _preview(options, specs, out)


def _preview(options: argparse.Namespace, specs: Sequence[FaultSpec], out: Path) -> int:
    faultloads = [cast(Faultload, spec.make("faultload")) for spec in specs]
    with shown_progress(quiet=options.quiet) as progress:
        bed = Testbed(options.seed, progress=progress)
        # A look at a few images need not read all of them.
        workload = bed.workload(named(options.workload), contents=False)
        classifier: Classifier = (
            bed.classifier(options.classifier, workload) if options.classifier else NoClassifier(workload)
        )
    brought: list[OODImages] = []

    def ood_images(source: Any, split: str) -> OODImages:
        brought.append(bed.ood_images(source, split, beside=workload))
        return brought[-1]

    rows: list[tuple[str, Images]] = []
    alike: list[tuple[str, Images]] = []
    for faultload in faultloads:
        context = FaultContext(workload, workload.test, classifier, ood_images, bed.context)
        targets = faultload.prepare(context)
        chosen = np.linspace(0, len(targets.indices) - 1, options.images).astype(np.int64)
        for which in chosen:
            index = targets.indices[which : which + 1]
            rows.append((faultload.name, _severities(faultload, targets, index, which)))
        if options.classifier and brought and targets.workload == brought[-1].name:
            looks = known_looks(targets, classifier)
            alike += [_look(one, targets, brought[-1].classes, workload) for one in looks]
    rows += alike
    zoom = max(WIDTH // workload.shape[2], 1)
    highest = max(len(faultload.severities) for faultload in faultloads)
    headings = ["original", *(f"severity {level}" for level in range(1, highest + 1))]
    out.parent.mkdir(parents=True, exist_ok=True)
    picture_sheet(rows, headings if highest > 1 else ["original", "fault"], out, zoom)
    print(f"{len(faultloads)} fault(s) drawn to {out}")
    for line, _ in alike:
        print(f"novel or not? {line}")
    if alike:
        print("Look at their rows: what is the same thing is not novel, and belongs in the fault's `same`.")
    return 0


def _look(
    look: KnownLook, targets: FaultTargets, theirs: Sequence[str], workload: Workload
) -> tuple[str, Images]:
    """Say what a novel class is taken for, and show an image of that known class before some of its own."""
    known = np.flatnonzero(workload.train.labels == look.known)
    shown = look.rows[np.linspace(0, len(look.rows) - 1, BESIDE).astype(np.int64)]
    images = [workload.train.images.read(known[[len(known) // 2]]), targets.split.images.read(shown)]
    taken = f"{look.share:.0%} of {len(look.rows)} taken for '{workload.classes[look.known]}'"
    return f"'{theirs[look.novel]}': {taken}", np.concatenate(images)


def write(options: argparse.Namespace) -> int:
    """Save an experiment's stream as a benchmark set."""
    out = Path(options.out)
    check_free(out)
    experiment, folder = load_experiment(options.experiment, options.set)
    with importable(folder), shown_progress(quiet=options.quiet) as progress:
        stream, workload, _ = assemble_stream(experiment, folder, progress=progress)
        stream.guard(workload)
        write_benchmark(stream, out, images=options.images)
    print(f"{stream.length} instances were written to {out}. Stream them with: stream: {{benchmark: {out}}}")
    return 0


def _severities(faultload: Faultload, targets: Any, index: np.ndarray, which: int) -> Images:
    images = targets.split.images.read(index)
    labels, ids = targets.labels[which : which + 1], targets.split.ids[index]
    levels = [float(s) for s in faultload.severities] or [float("nan")]
    made = [faultload.apply(images, labels, ids, np.array([level])).images for level in levels]
    return np.concatenate([images, *made])
