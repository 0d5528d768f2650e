"""A workload of noise, with groups, conditions and notes, that tests count."""

from __future__ import annotations

import numpy as np

from farm.api import ArrayImages, Split, Workload


def workload(shape=(3, 8, 8), n_classes=3, n=12, names=None) -> Workload:
    rng = np.random.default_rng(0)

    def split(name, n):
        labels = np.arange(n) % n_classes
        ids = np.array([f"w/{name}/{i}" for i in range(n)])
        images = ArrayImages(rng.integers(0, 256, (n, *shape), dtype=np.uint8))
        groups = np.array([f"w/{name}/g{i // n_classes // 2 * n_classes + i % n_classes}" for i in range(n)])
        conditions = {"weather": np.array(["rain", "fog", ""])[labels % 3], "lux": np.arange(n) * 1.0}
        return Split(name, images, labels, ids, groups, conditions=conditions)

    classes = tuple(names or (f"class-{i}" for i in range(n_classes)))
    parts = (split("train", 4 * n), split("validation", n), split("test", n))
    return Workload("w", classes, *parts, notes={"copies_dropped": 2})
