"""How often the 95 % intervals of judged records hold, in streams whose true rates are known.

`python benchmarks/interval_coverage.py`. A classifier and monitors are made up. In each track the classifier
has a chance of its own to be wrong, and each monitor chances of its own to alarm where it is right and where
it is wrong; they are drawn from beta distributions, so that the intra-class correlation of what happens
within a track is the one that is asked for, and the true value of each measure is that of the expected
counts. Intervals are those of records, of ID and OOD instances together; beside them stands how often
Wilson's interval holds, which takes each instance for itself. A measure without a value, or of too few
tracks, is left out, and it is told how often.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from farm.api.arrays import BoolArray, FloatArray
from farm.judging import JudgedRun
from farm.judging.intervals import BOUNDED, TASKS
from farm.judging.record import Record
from farm.measures import wilson
from farm.measures.many import MANY
from farm.testing import make_readouts

AT_ONCE = 10
"""Monitors of one classifier's stream: each is one more that intervals are made for."""


@dataclass(frozen=True)
class Errors:
    """How often a classifier is wrong and a monitor alarms: on ID instances, and on OOD ones."""

    wrong: tuple[float, float]
    alarms: tuple[tuple[float, float], tuple[float, float]]
    """Of each side, how often the monitor alarms where the classifier is right, and where it is wrong."""


ERRORS: Mapping[str, Errors] = {
    "common": Errors((0.1, 0.5), ((0.1, 0.5), (0.5, 0.8))),
    "rare": Errors((0.02, 0.2), ((0.02, 0.3), (0.85, 0.95))),
}


@dataclass(frozen=True)
class Setting:
    """One kind of stream."""

    tracks: tuple[int, int]
    """Of ID and of OOD instances."""
    frames: int
    alike: float
    """The intra-class correlation: how much of what varies does so from track to track."""
    errors: str = "common"

    @property
    def shares(self) -> FloatArray:
        """The expected number of instances: side by side, right and wrong, without alarm and with one."""
        of = ERRORS[self.errors]
        wrong, alarms = np.array(of.wrong), np.array(of.alarms)
        by = np.stack([1 - wrong, wrong], axis=1)[:, :, None] * np.stack([1 - alarms, alarms], axis=2)
        return np.asarray(by * (self.frames * np.array(self.tracks))[:, None, None])

    def truth(self, task: str, measure: str) -> float:
        """Return the true value of a measure."""
        return float(MANY[measure](self.shares.sum(axis=1 if task == "specific" else 0).ravel()))


SETTINGS = (
    *(Setting((n, n), 1, 0.0, errors) for errors in ERRORS for n in (50, 400)),
    *(Setting((n, n), 20, alike, errors) for errors in ERRORS for alike in (0.2, 0.5) for n in (8, 30, 200)),
    Setting((60, 10), 20, 0.5),
    Setting((10, 60), 20, 0.2),
    Setting((3000, 1500), 3, 0.5, "rare"),
)


def happens(random: np.random.Generator, rates: FloatArray, of: Setting) -> BoolArray:
    """Draw whether something happens in each frame, at rates of their own in each track."""
    if of.alike == 0:
        return np.asarray(random.random((len(rates), of.frames)) < rates[:, None])
    size = 1 / of.alike - 1
    own = random.beta(size * rates, size * (1 - rates))
    return np.asarray(random.random((len(rates), of.frames)) < own[:, None])


def stream(random: np.random.Generator, of: Setting) -> JudgedRun:
    """Draw a stream with some monitors, and judge it."""
    side = np.repeat([0, 1], of.tracks)
    rates = ERRORS[of.errors]
    wrong = happens(random, np.array(rates.wrong)[side], of)
    said = {}
    for number in range(AT_ONCE):
        right_alarms, wrong_alarms = (
            happens(random, np.array(rates.alarms)[side, kind], of) for kind in (0, 1)
        )
        said[f"m{number}"] = np.where(wrong, wrong_alarms, right_alarms).ravel()
    track = np.repeat(np.arange(len(side)), of.frames).astype(str)
    made = make_readouts(said, is_ood=np.repeat(side == 1, of.frames), wrong=wrong.ravel(), track=track)
    return JudgedRun.of(made.instances, made.alarms, made.run)


@dataclass
class Held:
    """How often intervals of a measure held."""

    n: int = 0
    held: int = 0
    wilson_held: int = 0
    """Of as many intervals of Wilson's, MCC having none."""
    missing: int = 0
    """Without a value or an interval."""
    width: float = 0.0
    """Of all intervals together."""

    def add(self, block: Record, measure: str, truth: float) -> None:
        """Count one interval."""
        low, high = block[f"{measure}_low"], block[f"{measure}_high"]
        if low is None:
            self.missing += 1
            return
        self.n += 1
        self.held += low <= truth + 1e-12 and truth - 1e-12 <= high
        self.width += high - low
        if measure != "mcc":
            tn, fp, fn, tp = (block[cell] for cell in ("tn", "fp", "fn", "tp"))
            trials = {"fpr": (fp, fp + tn), "fnr": (fn, fn + tp), "error": (fp + fn, tn + fp + fn + tp)}
            ends = wilson(*trials[measure])
            self.wilson_held += ends[0].value <= truth <= ends[1].value

    @property
    def words(self) -> str:
        """Say it in a line."""
        if not self.n:
            return f"no interval in {self.missing}"
        wilsons = f"{100 * self.wilson_held / self.n:6.1f}" if self.wilson_held else f"{'':6}"
        missing = f"  {self.missing} without" if self.missing else ""
        return f"{100 * self.held / self.n:6.1f} {wilsons}   {self.width / self.n:.3f}{missing}"


def coverage(of: Setting, *, streams: int, seed: int = 1) -> dict[tuple[str, str], Held]:
    """Make intervals on many streams of a kind; return how often they held, by task and measure."""
    random = np.random.default_rng(seed)
    found = {(task, measure): Held() for task in TASKS for measure in BOUNDED}
    for record in _records(random, of, streams):
        for (task, measure), held in found.items():
            held.add(record[task], measure, of.truth(task, measure))
    return found


def _records(random: np.random.Generator, of: Setting, streams: int) -> Iterator[Record]:
    for _ in range(streams):
        for record in stream(random, of).records:
            if record["part"] == "all" and record["ranked"]:
                yield record


def main() -> None:
    """Measure all settings, and print what held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=200, help=f"of {AT_ONCE} monitors each")
    options = parser.parse_args()
    started = time.perf_counter()
    least = 100.0
    print("of each measure: % of intervals that held, % of Wilson's that would have, mean width")
    for of in SETTINGS:
        print(f"{of.tracks} tracks of {of.frames}, correlation {of.alike}, {of.errors} errors")
        for (task, measure), held in coverage(of, streams=options.streams).items():
            print(f"  {task:8} {measure:5} {held.words}", flush=True)
            least = min(least, 100 * held.held / held.n) if held.n else least
    print(f"at least {least:.1f} %; {options.streams} streams each, {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
