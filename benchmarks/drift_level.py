"""How often `farm judge --reference` finds drift where there is none, and how often its bounds hold.

`python benchmarks/drift_level.py [--logs N] [--replicates N]`. Logs and references are made up: scores are
normal, those of a track share some of their variance, and those of the log are moved by 0, or by 0.4 standard
deviations, where the true distance is 0.159. Told of each kind of log and reference: how often drift was
found at 5 %, how often a test that takes every frame for independent would have found it, and how often the
lower bound was no higher than the truth and the upper one no lower, at 95 % each.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from scipy.stats import ks_2samp, norm

from farm.api.arrays import FloatArray, IntArray
from farm.statistics.drift import score_drift

MOVED = (0.0, 0.4)


@dataclass(frozen=True)
class Kind:
    """How many tracks there are, of how many frames (about as many, where uneven), and how alike they are."""

    tracks: int
    frames: int = 1
    alike: float = 0.0
    uneven: bool = False

    def made(self, random: np.random.Generator, by: float) -> tuple[FloatArray, IntArray]:
        """Make scores, and the number of each one's track."""
        sizes = np.full(self.tracks, self.frames)
        if self.uneven:
            sizes = random.geometric(1 / self.frames, self.tracks)
        track = np.repeat(np.arange(self.tracks), sizes)
        shared = random.normal(0, np.sqrt(self.alike), self.tracks)[track]
        return shared + random.normal(by, np.sqrt(1 - self.alike), len(track)), track

    def __str__(self) -> str:
        some = f"{self.tracks} of {'about ' if self.uneven else ''}{self.frames}"
        return f"{some}, {self.alike:g}" if self.alike else f"{self.tracks} single"


def drives(tracks: int, *, alike: float = 0.2, uneven: bool = False) -> Kind:
    """Return tracks of 20 frames."""
    return Kind(tracks, 20, alike, uneven)


KINDS = (
    *((drives(k), drives(k)) for k in (6, 8, 10, 20, 50)),
    (drives(20, alike=0.5), drives(20, alike=0.5)),
    (drives(20, uneven=True), drives(20, uneven=True)),
    (drives(8), drives(100)),
    (drives(10, uneven=True), drives(100)),
    (drives(20), Kind(500)),
    *((Kind(k), Kind(k)) for k in (20, 50, 300)),
    (Kind(8), Kind(400)),
)


def main() -> None:
    """Print a line for each kind."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--logs", type=int, default=500)
    parser.add_argument("--replicates", type=int, default=1000)
    options = parser.parse_args()
    print(
        f"{'log':24} {'reference':24} {'moved':>5} {'found':>6} {'naive':>6} {'low':>6} {'high':>6}",
        flush=True,
    )
    for log, reference in KINDS:
        for by in MOVED:
            random, truth, rows = np.random.default_rng(0), 2 * norm.cdf(by / 2) - 1, []
            for _ in range(options.logs):
                both = log.made(random, by), reference.made(random, 0)
                found = score_drift(*both, replicates=options.replicates)
                naive = ks_2samp(both[0][0], both[1][0]).pvalue <= 0.05
                # Where nothing could have told there is neither a p nor a bound, so that none is wrong.
                ends = not found.low(0.95).value > truth, not found.high(0.95).value < truth
                rows.append((found.p.value <= 0.05, naive, *ends))
            told = " ".join(f"{share:6.3f}" for share in np.mean(rows, axis=0))
            print(f"{log!s:24} {reference!s:24} {by:5} {told}", flush=True)


if __name__ == "__main__":
    main()
