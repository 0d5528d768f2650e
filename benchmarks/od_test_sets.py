"""Cut small sets for an OD-test from the whole ones: as many images for each, in seconds to train on.

    python benchmarks/od_test_sets.py OUT --npz gtsrb.npz btsc.npz cifar10.npz --idx mnist=FOLDER

Of an npz file (`x_train`, `y_train`, perhaps `track_train`, `x_test`, `y_test`) or of a folder in the form of
MNIST (`train-images-idx3-ubyte`, ..., packed or not) it writes `OUT/NAME.npz` with a training, a validation
and a test split. Whole tracks go to training or to validation; classes keep their shares as far as tracks
allow. Copies of an image are left out.
"""

from __future__ import annotations

import argparse
import gzip
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from farm.api import cut_by_group, generator

SIZES = {"train": 1500, "validation": 500, "test": 500}
Arrays = dict[str, NDArray[np.generic]]


def read_idx(folder: Path) -> Arrays:
    """Read images and labels in the form of MNIST."""
    found: Arrays = {}
    for split, name in (("train", "train"), ("test", "t10k")):
        for letter, kind in (("x", "images-idx3"), ("y", "labels-idx1")):
            plain = folder / f"{name}-{kind}-ubyte"
            raw = plain.read_bytes() if plain.exists() else gzip.decompress(Path(f"{plain}.gz").read_bytes())
            dimensions = raw[3]
            shape = struct.unpack(f">{dimensions}I", raw[4 : 4 + 4 * dimensions])
            values = np.frombuffer(raw, np.uint8, offset=4 + 4 * dimensions).reshape(shape)
            found[f"{letter}_{split}"] = values if letter == "x" else values.astype(np.int64)
    return found


def cut(arrays: Arrays, name: str) -> Arrays:
    """Return the three small splits of a set."""
    labels = arrays["y_train"].astype(np.int64)
    tracks = arrays.get("track_train", np.arange(len(labels))).astype(str)
    rng = generator(0, "od-test sets", name)
    # A first image stands for its copies, of which later splits get none.
    seen: set[bytes] = set()
    train, validation = cut_by_group(labels, tracks, 0.25, rng)
    chosen: Arrays = {}
    for split, rows, source in (
        ("train", train, "train"),
        ("validation", validation, "train"),
        ("test", np.arange(len(arrays["y_test"])), "test"),
    ):
        images, kept = arrays[f"x_{source}"], []
        for row in rng.permutation(rows):
            if (pixels := images[row].tobytes()) not in seen:
                seen.add(pixels)
                kept.append(row)
            if len(kept) == SIZES[split]:
                break
        own = np.sort(kept)
        chosen[f"x_{split}"], chosen[f"y_{split}"] = images[own], arrays[f"y_{source}"][own].astype(np.int64)
        if source == "train" and "track_train" in arrays:
            chosen[f"track_{split}"] = arrays["track_train"][own]
    return chosen


def main() -> None:
    """Cut all sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--npz", type=Path, nargs="*", default=[], metavar="FILE")
    parser.add_argument("--idx", nargs="*", default=[], metavar="NAME=FOLDER")
    options = parser.parse_args()
    sets = {path.stem: dict(np.load(path, allow_pickle=False)) for path in options.npz}
    sets |= {name: read_idx(Path(folder)) for name, _, folder in (one.partition("=") for one in options.idx)}
    options.out.mkdir(parents=True, exist_ok=True)
    for name, arrays in sets.items():
        small = cut(arrays, name)
        np.savez_compressed(options.out / f"{name}.npz", **small)
        print(
            name,
            {split: len(small[f"y_{split}"]) for split in SIZES},
            len(np.unique(small["y_train"])),
            "classes",
        )


if __name__ == "__main__":
    main()
