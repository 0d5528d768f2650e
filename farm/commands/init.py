"""`farm init`: an experiment to begin with, from what lies in a folder."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from pathlib import Path

from farm.config.experiment import parse_experiment
from farm.config.first import experiment_text, first_experiment, flow
from farm.config.guessing import found_in
from farm.errors import DataError, ExperimentError
from farm.store.files import write_text


def init(options: argparse.Namespace) -> int:
    """Write an experiment, with all that could stand in a guess's place as comments."""
    folder, out = Path(options.folder), Path(options.out)
    if not folder.is_dir():
        raise ExperimentError(f"{folder} is no folder; expected one with images, and perhaps a network")
    if out.exists():
        raise DataError(f"{out} exists already; expected a new file: remove it or choose another --out")
    found = found_in(folder, Path(os.path.relpath(folder, out.parent)))
    workload, *workloads = found.workloads or [{"name": "signs"}]
    classifier, *classifiers = found.classifiers() or [{"name": "lenet"}]
    ood = found.ood if found.workloads else [*found.ood, {"name": "signs-abroad"}]
    values = first_experiment(workload, classifier, ood) | {
        "name": re.sub(r"[^A-Za-z0-9._-]+|^[^A-Za-z0-9]+", "-", out.stem).lstrip("-._") or "experiment",
        "description": "A first look, by farm init",
    }
    about = [
        "Written by `farm init` from what lies in a folder. No data was opened: look through its guesses."
    ]
    if not found.workloads:
        about.append(
            "It holds no images with classes (a folder a class, .npz, .csv): rendered signs stand in."
        )
    if not found.classifiers():
        about.append("It holds no network (.onnx, .pt2, or a .py file with weights): a LeNet is trained.")
    others = {"workload": [flow(one) for one in workloads], "classifier": [flow(one) for one in classifiers]}
    parse_experiment(values, str(out))
    write_text(out, experiment_text(values, about, others))
    run = f"farm run {shlex.quote(str(out))}"
    print(f"{out} was written. Look through it, then try it with `{run} --dry-run`, and run it with `{run}`")
    return 0
