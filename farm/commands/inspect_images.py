"""`farm inspect RUN --images KIND --out sheet.png`: the instances to look at first, as pictures."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from farm.api import Images
from farm.errors import ExperimentError
from farm.judging.worst import WORDS, worst
from farm.report.pictures import CaptionedSection, captioned_sheet
from farm.store.files import check_new_file
from farm.store.readouts import Readouts


def draw(options: argparse.Namespace, runs: Sequence[Readouts]) -> int:
    """Draw the worst instances of a kind, and say where."""
    if not options.out:
        raise ExperimentError("--images needs --out FILE.png, the name of a new file to draw to")
    out = Path(options.out)
    if out.suffix.lower() != ".png":
        raise ExperimentError(f"--out {out}: expected the name of a new .png file to draw to")
    check_new_file(out)
    if options.number < 1:
        raise ExperimentError(f"--number is {options.number}; expected at least 1")
    if len(runs) != 1:
        raise ExperimentError(f"--images takes one run, and there are {len(runs)}; give one cell's folder")
    (run,) = runs
    found = worst(run, options.images, options.number, options.monitor)
    if not found.ids:
        raise ExperimentError(
            f"--images {options.images}: '{found.monitor}' has none; there is nothing to draw"
        )
    pixels = run.images(found.ids)
    shown = pixels[..., : 3 if pixels.shape[3] >= 3 else 1].transpose(0, 3, 1, 2)
    visible: Images = np.divide(shown, 255, dtype=np.float32)
    of_all = (
        f"all {found.number:,}" if len(found.ids) == found.number else f"{len(found.ids)} of {found.number:,}"
    )
    above = "" if found.threshold is None else f"; alarm above {found.threshold:.4g}"
    heading = f"{WORDS[options.images]}: {of_all}{above}"
    out.parent.mkdir(parents=True, exist_ok=True)
    captioned_sheet(
        f"{found.monitor}: {options.images}", [CaptionedSection(heading, visible, found.captions)], out
    )
    print(f"{len(found.ids)} of {found.number:,} instances drawn to {out}")
    return 0
