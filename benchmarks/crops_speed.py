"""How many cut-outs a second one core makes from JPEG files of 1280 x 720 pixels.

`python benchmarks/crops_speed.py`. Made-up streets, as hard to decode as photographs, with one object an
image and with four. `farm crops` runs on them as people run it: annotations read, images found, decoded, cut,
scaled to 256 x 256 and written, with index, card and sheet. Processor time of the whole process counts, not
that of its start, and the least of several rounds, since whatever else the machine does only ever adds.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import tempfile
import time
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
from PIL import Image

from farm.cli import main as farm

HEIGHT, WIDTH = 720, 1280
GOAL = 100
"""Cut-outs a second a core."""


def make(folder: Path, n_images: int, n_objects: int) -> None:
    """Write images of smooth colours and a camera's noise, and BDD100K's labels of them."""
    (folder / "images").mkdir()
    rng = np.random.default_rng(0)
    frames = []
    for number in range(n_images):
        coarse = Image.fromarray(rng.integers(0, 256, (45, 80, 3), dtype=np.uint8))
        smooth = np.asarray(coarse.resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC), dtype=np.float64)
        noisy = np.clip(smooth + rng.normal(0, 5, smooth.shape), 0, 255).astype(np.uint8)
        Image.fromarray(noisy).save(folder / "images" / f"{number}.jpg", quality=85)
        # Side by side, so that none disturbs another one.
        labels = []
        for place in range(n_objects):
            left, width = place * WIDTH / n_objects + rng.uniform(0, 40), rng.uniform(40, 120)
            box = {"x1": left + 60, "y1": 300.0, "x2": left + 60 + width, "y2": 300.0 + width}
            labels.append({"id": place, "category": "car", "box2d": box})
        frames.append({"name": f"{number}.jpg", "labels": labels})
    (folder / "det.json").write_text(json.dumps(frames))


def measured(folder: Path) -> tuple[int, float]:
    """Return how many cut-outs there were, and the seconds of processor time they took."""
    out = folder / "set"
    shutil.rmtree(out, ignore_errors=True)
    asked = [
        "crops",
        str(folder / "det.json"),
        "--images",
        str(folder / "images"),
        "--out",
        str(out),
        "--quiet",
    ]
    started = time.process_time()
    with redirect_stdout(io.StringIO()):
        code = farm([*asked, "--other", "9"])
    took = time.process_time() - started
    if code:
        raise SystemExit(code)
    return len(list((out / "images").iterdir())), took


def main() -> int:
    """Print a line for each number of objects; exit code 1 where the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--images", type=int, default=100, help="of each kind (default: 100)")
    parser.add_argument("--rounds", type=int, default=3, help="of which the fastest counts (default: 3)")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    slow = False
    for n_objects in (1, 4):
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder), options.images, n_objects)
            n, took = min(
                (measured(Path(folder)) for _ in range(options.rounds)), key=lambda found: found[1] / found[0]
            )
        slow |= n / took < GOAL
        told = "met" if n / took >= GOAL else "missed"
        print(
            f"{n_objects} object(s) an image: {n / took:.0f} cut-outs a second a core (goal {GOAL}: {told})"
        )
    return int(slow)


if __name__ == "__main__":
    raise SystemExit(main())
