"""What fitting takes on a large network: a ResNet-50 with eight monitors, measured and extrapolated.

`python benchmarks/large_networks.py` fits on few images, each number of them in a process of its own, draws
a line through the peaks of anonymous memory beside the network, and prints JSON: points, lines, what they say
of 50,000 images, and what the testbed told before each pass. The fits are measured at full length too, on
random features in the network's stead (`--fits-only 50000`): they go in blocks, which few images do not fill,
and `knn` keeps 10,000 points at most, so that a line through few images climbs on where they do not.

The numbers of images fill whole batches of 111, and glibc gives freed blocks of 1 MB back at once: else the
holes that convolutions leave behind, up to 200 MB in one run and none in the next, hide any slope. With
`--with-holes` it is left alone.

Weights and images are random: they cost what trained ones do. Images are 112 x 112, made when they are read.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from farm import registry
from farm.api import Capabilities, Classifier, Head, Images, IntArray, Monitor, RawOutputs, Split, Workload
from farm.run import fitting
from farm.store.threads import limited_threads
from models.torch_classifier import TorchClassifier

SIZE, CLASSES, ASKED, LIMIT = 112, 100, 50_000, 2e9
MONITORS: Sequence[dict[str, Any]] = (
    {"name": "oob", "layer": "layer2"},
    {"name": "oob-pca", "layer": "layer3"},
    {"name": "gaussian-mixture", "layer": "layer3"},
    {"name": "mahalanobis", "layer": "layer4"},
    {"name": "patterns"},
    {"name": "knn"},
    {"name": "vim"},
    {"name": "react"},
)
WIDTHS = {"layer2": 512, "layer3": 1024, "layer4": 2048, "last-hidden": 2048}


class Bottleneck(nn.Module):
    """Three convolutions and what goes past them."""

    def __init__(self, inside: int, width: int, stride: int) -> None:
        super().__init__()
        outside = 4 * width
        self.way = nn.Sequential(
            *(nn.Conv2d(inside, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()),
            *(nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()),
            *(nn.Conv2d(width, outside, 1, bias=False), nn.BatchNorm2d(outside)),
        )
        shortcut = (nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))
        self.past = nn.Identity() if inside == outside and stride == 1 else nn.Sequential(*shortcut)

    def forward(self, x: Tensor) -> Tensor:
        """Add both."""
        return torch.relu(self.way(x) + self.past(x))


class ResNet50(nn.Module):
    """As published (He et al., 2016), and as torchvision has it, but for the names inside of blocks."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            *(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        )
        inside = 64
        for i, (blocks, width) in enumerate(zip((3, 4, 6, 3), (64, 128, 256, 512), strict=True)):
            layer = []
            for j in range(blocks):
                layer.append(Bottleneck(inside, width, 2 if i and not j else 1))
                inside = 4 * width
            setattr(self, f"layer{i + 1}", nn.Sequential(*layer))
        self.fc = nn.Linear(inside, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Give logits."""
        x = self.layer4(self.layer3(self.layer2(self.layer1(self.stem(x)))))
        return self.fc(x.mean(dim=(2, 3)))


def resnet50() -> ResNet50:
    """Make one as `farm bench --large benchmarks.large_networks:resnet50` asks for."""
    return ResNet50(1000)


class RandomImages:
    """Images of noise, made when they are read: they take no memory."""

    shape = (3, SIZE, SIZE)

    def __init__(self, n: int) -> None:
        self._n = n

    def __len__(self) -> int:
        return self._n

    def read(self, indices: IntArray) -> Images:
        """Return the same for the same index."""
        rows = [np.random.default_rng(int(i)).random(self.shape, dtype=np.float32) for i in indices]
        return np.stack(rows)


class Features(Classifier):
    """Random features by the names and sizes of the network's pooled layers, and a head."""

    name, classes = "features", tuple(map(str, range(CLASSES)))
    capabilities = Capabilities(logits=True, layers=tuple(WIDTHS), head=True)
    digest, nbytes = "features", 0

    def __init__(self) -> None:
        weights = np.random.default_rng(0).normal(size=(CLASSES, 2048)).astype(np.float32) / 50
        self._head = Head(weights, np.zeros(CLASSES, np.float32))
        self._drawn = 0

    @property
    def head(self) -> Head:
        """The last layer."""
        return self._head

    def _forward(self, images: Images, layers: Sequence[str], members: int) -> RawOutputs:
        self._drawn += 1
        rng = np.random.default_rng(self._drawn)
        maps = {layer: np.abs(rng.normal(size=(len(images), WIDTHS[layer]))) for layer in WIDTHS}
        maps = {layer: values.astype(np.float32) for layer, values in maps.items()}
        logits = maps["last-hidden"] @ self._head.weights.T
        odds = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
        return RawOutputs(odds / odds.sum(axis=1, keepdims=True), logits, maps)


class SmallImages(RandomImages):
    """Of one size that costs nothing to make."""

    shape = (3, 16, 16)

    def read(self, indices: IntArray) -> Images:
        """Return black ones."""
        return np.zeros((len(indices), *self.shape), np.float32)


class Peak(threading.Thread):
    """Looks at this process's anonymous memory every few milliseconds, and at what it is doing."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.before, self.doing = anonymous(), "observing"
        self._peaks = {"observing": 0, "fitting": 0}
        self._over = threading.Event()

    def run(self) -> None:
        """Look until it is over."""
        while not self._over.wait(0.005):
            doing = self.doing
            self._peaks[doing] = max(self._peaks[doing], anonymous() - self.before)

    def end(self) -> dict[str, int]:
        """Return the highest above what it was at first."""
        self._over.set()
        self.join()
        return self._peaks


def anonymous() -> int:
    """Return the anonymous memory of this process in bytes."""
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Anonymous:"):
            return 1024 * int(line.split()[1])
    raise OSError("the kernel does not tell anonymous memory")


class Told:
    """Keeps what is told, and lets the peak know what is being done."""

    def __init__(self, peak: Peak) -> None:
        self.notes: list[str] = []
        self._peak = peak

    def track(self, items: Any, description: str, total: int | None = None) -> Any:
        """Show nothing."""
        self._peak.doing = description.split()[0]
        return iter(items)

    def note(self, message: str) -> None:
        """Keep it."""
        self.notes.append(message)


def split(name: str, n: int, images: type[RandomImages]) -> Split:
    """Make a split of random labels."""
    ids = np.array([f"{name}/{i:06d}" for i in range(n)])
    labels = np.random.default_rng(n).permutation(n) % CLASSES
    return Split(name, images(n), labels, ids, ids)


def measured(n: int, *, fits_only: bool) -> dict[str, Any]:
    """Fit all monitors on n images, a fifth of them for validation."""
    torch.manual_seed(0)
    fitting.IN_MEMORY = 0  # few images, too, are to be kept as many are
    images = SmallImages if fits_only else RandomImages
    names = tuple(map(str, range(CLASSES)))
    sizes = {"train": n - n // 5, "validation": n // 5, "test": 1}
    workload = Workload("noise", names, *(split(name, size, images) for name, size in sizes.items()))
    classifier: Classifier = Features()
    if not fits_only:
        classifier = TorchClassifier(ResNet50(CLASSES), names, name="resnet-50")
    made: list[Monitor] = [
        registry.monitor(one["name"], **{key: value for key, value in one.items() if key != "name"})
        for one in MONITORS
    ]
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, limited_threads(1):
        peak = Peak()
        told = Told(peak)
        peak.start()
        failures = fitting.fit_monitors(made, classifier, workload, progress=told, folder=Path(folder))
        peaks = {f"peak_bytes_{doing}": nbytes for doing, nbytes in peak.end().items()}
    assert not failures, failures
    seconds = time.perf_counter() - started
    return {"images": n, **peaks, "seconds": round(seconds, 1), "told": told.notes}


def line_through(points: Sequence[dict[str, Any]], key: str) -> dict[str, float]:
    """Return the straight line of least squares through the points, and what it says of all images."""
    x = [point["images"] for point in points]
    y = [point[key] for point in points]
    slope, start = np.polyfit(x, y, 1)
    return {"at_none": float(start), "an_image": float(slope), "of_all": float(start + slope * ASKED)}


def main() -> None:
    """Measure each number in a process of its own, and print all as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, nargs="*", default=[1110, 2220, 3330, 4440, 5550])
    parser.add_argument("--with-holes", action="store_true", help="leave the allocator as it is")
    parser.add_argument("--fits-only", type=int, metavar="N", help="random features, no network")
    parser.add_argument("--point", type=int, help="measure one number here")
    options = parser.parse_args()
    if options.point or options.fits_only:
        n = options.point or options.fits_only
        print(json.dumps(measured(n, fits_only=options.point is None), indent=2))
        return
    allocator = {} if options.with_holes else {"MALLOC_MMAP_THRESHOLD_": "1000000"}

    def point(*arguments: str) -> dict[str, Any]:
        command = [sys.executable, __file__, *arguments]
        ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, env={**os.environ, **allocator})
        print(ran.stdout.decode(), file=sys.stderr, flush=True)
        return json.loads(ran.stdout)

    points = [point("--point", str(n)) for n in options.images]
    whole = point("--fits-only", str(ASKED))
    lines = {key: line_through(points, key) for key in points[0] if key not in ("images", "told")}
    by_lines = max(line["of_all"] for key, line in lines.items() if key != "seconds")
    observing = lines["peak_bytes_observing"]["of_all"]
    measured_fits = max(observing, whole["peak_bytes_fitting"])
    found = {
        "monitors": MONITORS,
        "points": points,
        "lines": lines,
        "fits_of_all": whole,
        "asked": {
            "images": ASKED,
            "at_most": LIMIT,
            "by_lines_alone": by_lines,
            "by_the_line_of_observing_and_fits_of_all": measured_fits,
        },
    }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
