"""Put tracks beside the images of BelgiumTSC, for `experiments/robustness-btsc.yaml`.

    python benchmarks/robustness_sets.py FOLDER

The file `btsc.npz` (in the folder that FARM_DATA names, or in ../shared/data) has images sorted by class, and
within a class by the place where they were taken: neighbours are mostly views of one sign, and nothing tells
which. Here each class is cut into runs of neighbours, where two of them resemble each other least.
A sign's views then hardly ever stand on both sides of a cut; drawn singly, most would have a neighbour there.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

SHORTEST, LONGEST = 5, 12
"""Images of a run, unless a class has fewer."""


def similarity(images: np.ndarray) -> np.ndarray:
    """Return the correlation of each image's pixels with those of the next."""
    flat = images.reshape(len(images), -1).astype(np.float64)
    flat -= flat.mean(axis=1, keepdims=True)
    flat /= np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-9)
    return (flat[1:] * flat[:-1]).sum(axis=1)


def tracks(images: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Number the runs; images are sorted by class."""
    assert (np.diff(labels) >= 0).all(), "images are not sorted by class"
    near = similarity(images)
    found = np.empty(len(labels), dtype=np.int64)
    number = 0
    for label in np.unique(labels):
        (rows,) = np.nonzero(labels == label)
        start, end = int(rows[0]), int(rows[-1]) + 1
        while start < end:
            cut = end
            if end - start > LONGEST:
                # The next image begins a run where it is least like the one before it.
                places = np.arange(start + SHORTEST, min(start + LONGEST, end - SHORTEST) + 1)
                cut = int(places[near[places - 1].argmin()])
            found[start:cut] = number
            number, start = number + 1, cut
    return found


def main() -> None:
    """Write the file, and say what was done."""
    source = Path(os.environ.get("FARM_DATA", "../shared/data")) / "btsc.npz"
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    with np.load(source, allow_pickle=False) as arrays:
        made = {name: arrays[name] for name in ("x_train", "y_train", "x_test", "y_test")}
    for split in ("train", "test"):
        images, labels = made[f"x_{split}"], made[f"y_{split}"]
        made[f"track_{split}"] = tracks(images, labels)
        n = len(np.unique(made[f"track_{split}"]))
        inside = np.diff(made[f"track_{split}"]) == 0
        near = similarity(images)
        print(
            f"{split}: {len(labels)} images in {n} runs; median correlation of neighbours "
            f"{np.median(near[inside]):.2f} within runs, {np.median(near[~inside]):.2f} across cuts"
        )
    np.savez_compressed(target / "btsc-tracks.npz", **made)


if __name__ == "__main__":
    main()
