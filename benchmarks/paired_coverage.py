"""How often the bounds of "not worse than a baseline" hold, in streams whose true difference is known.

`python benchmarks/paired_coverage.py`. A classifier and a monitor are made up, now and before: frames
of a track share some of their chance, and what the monitor says now shares some of it with what it said then.
Rates are known, and so is each measure's true difference: that of the expected counts. In so many streams of
each kind the bounds are made as `farm check` makes them, and it is counted how often the lower one is no
higher than the truth and the upper one no lower, at 95 % each. Streams in which a measure has no value are
left out; the gate fails them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.stats import norm

from farm.api.arrays import FloatArray
from farm.comparing import BenchmarkSet, measured
from farm.gate.baseline import before, paired_differences
from farm.gate.observed import mean_over
from farm.judging import VerdictTable
from farm.judging.table import made_truth
from farm.judging.verdicts import Verdicts
from farm.measures.many import MANY

MEASURES = ("overall.mcc", "specific.mcc", "specific.fpr", "residual_hazard")
LEVEL = 0.95
MONITOR = "m"
ALIKE = {1: 0.0, 8: 0.5, 20: 0.9}
"""Of how many frames a track is, and which share of their chance they have in common."""
WORSE = 0.3
"""By this share false alarms get more, and misses with them."""


@dataclass(frozen=True)
class Errors:
    """How often a classifier and its monitor err: on ID instances, and on OOD ones."""

    wrong: tuple[float, float]
    alarms: tuple[tuple[float, float], tuple[float, float]]
    """Of each side, how often the monitor alarms where the classifier is right, and where it is wrong."""


ERRORS: Mapping[str, Errors] = {
    "common": Errors((0.1, 0.5), ((0.1, 0.5), (0.5, 0.8))),
    "rare": Errors((0.02, 0.05), ((0.02, 0.6), (0.85, 0.95))),
}


@dataclass(frozen=True)
class Setting:
    """One kind of stream."""

    tracks: int
    """On each side."""
    frames: int
    errors: str
    agree: float
    """The correlation of what decides the monitor's alarms now and before."""
    worse: bool

    @property
    def rates(self) -> tuple[FloatArray, FloatArray]:
        """Return the rates of alarms now and before: side by side, right and wrong."""
        then = np.array(ERRORS[self.errors].alarms)
        now = then.copy()
        if self.worse:
            now[0, 0] *= 1 + WORSE
            for hits in ((0, 1), (1, 0), (1, 1)):
                now[hits] -= WORSE * (1 - then[hits])
        return now, then


def settings(tracks: Sequence[int]) -> Iterator[Setting]:
    """Return all kinds of streams with so many tracks a side."""
    for each in product(tracks, ALIKE, ERRORS, (0.6, 0.95), (False, True)):
        yield Setting(*each)


def stream(random: np.random.Generator, of: Setting) -> list[BenchmarkSet]:
    """Draw a stream, as a set in which the monitor stands twice."""
    n = of.tracks * of.frames
    side = np.repeat([0, 1], n)
    wrong = _chance(random, of) < norm.ppf(np.array(ERRORS[of.errors].wrong))[side]
    then, new = _chance(random, of), _chance(random, of)
    now = of.agree * then + np.sqrt(1 - of.agree**2) * new
    rates = [each[side, wrong.astype(int)] for each in of.rates]
    alarms = [each < norm.ppf(rate) for each, rate in zip((now, then), rates, strict=True)]
    said = [Verdicts(name, each, each) for name, each in zip((MONITOR, before(MONITOR)), alarms, strict=True)]
    track = (np.arange(2 * n) // of.frames).astype(str).astype(object)
    table = VerdictTable.from_arrays(made_truth(wrong=wrong, is_ood=side == 1), said, named_track=track)
    return [BenchmarkSet("made", "up", "fog", "shift", "3", [], [table])]


def _chance(random: np.random.Generator, of: Setting) -> FloatArray:
    alike = ALIKE[of.frames]
    of_track = random.standard_normal((2 * of.tracks, 1))
    of_frame = random.standard_normal((2 * of.tracks, of.frames))
    return np.asarray((np.sqrt(alike) * of_track + np.sqrt(1 - alike) * of_frame).ravel())


def truth(name: str, of: Setting) -> float:
    """Return the true difference of a measure, now less before."""
    now, then = (_value(name, ERRORS[of.errors].wrong, rates) for rates in of.rates)
    return now - then


def _value(name: str, wrong: Sequence[float], alarms: FloatArray) -> float:
    shares = np.stack([1 - np.array(wrong), np.array(wrong)], axis=1)[:, :, None] / 2
    by = shares * np.stack([1 - alarms, alarms], axis=2)  # side, right or wrong, without alarm or with
    if name == "residual_hazard":
        return float(by[:, 1, 0].sum())
    task, _, measure = name.partition(".")
    return float(MANY[measure](by.sum(axis=1 if task == "specific" else 0).ravel()))


@dataclass(frozen=True)
class Held:
    """How often bounds held."""

    low: float
    high: float
    width: float
    """Between the two, in the median."""
    n: int
    """Of so many streams; the others had no value, or too few tracks."""


def held(of: Setting, *, streams: int, replicates: int, seed: int = 1) -> dict[str, Held]:
    """Make bounds on many streams of a kind; give how often they held, by measure."""
    random = np.random.default_rng(seed)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in MEASURES}
    for number in range(streams):
        sets = stream(random, of)
        for name in MEASURES:
            values = {each: mean_over(sets, name, each) for each in (MONITOR, before(MONITOR))}
            (one,) = paired_differences(
                sets,
                measured(name),
                [MONITOR],
                level=2 * LEVEL - 1,
                replicates=replicates,
                seed=number,
                values=values,
            )
            if one.difference.low.defined:
                found[name].append((one.difference.low.value, one.difference.high.value))
    return {name: _held(ends, truth(name, of)) for name, ends in found.items()}


def _held(ends: Sequence[tuple[float, float]], true: float) -> Held:
    if not ends:
        return Held(np.nan, np.nan, np.nan, 0)
    low, high = np.array(ends).T
    return Held(
        float(np.mean(low <= true + 1e-12)),
        float(np.mean(high >= true - 1e-12)),
        float(np.median(high - low)),
        len(ends),
    )


def _percent(one: Held) -> str:
    return f"{100 * one.low:5.1f} {100 * one.high:5.1f}"


def main() -> None:
    """Measure all settings, and print what held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tracks", type=int, nargs="+", default=[10, 30, 100], help="on each side")
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--replicates", type=int, default=400)
    options = parser.parse_args()
    started, every = time.perf_counter(), []
    print("tracks frames errors agree worse; of each measure: % lower bounds, % upper bounds, width")
    for of in settings(options.tracks):
        found = held(of, streams=options.streams, replicates=options.replicates)
        told = [f"{name} {_percent(one)} {one.width:.3f}" for name, one in found.items()]
        head = f"{of.tracks:3} {of.frames:2} {of.errors:6} {of.agree:4} {of.worse!s:5}"
        print("  ".join([head, *told]), flush=True)
        every += [(name, one) for name, one in found.items()]
    for name in MEASURES:
        own = [one for measure, one in every if measure == name and one.n >= options.streams / 4]
        for end in ("low", "high"):
            ends = sorted(getattr(one, end) for one in own)
            below = sum(each < LEVEL for each in ends)
            print(
                f"{name} {end}: at least {100 * ends[0]:.1f} %, median {100 * ends[len(ends) // 2]:.1f} %, "
                f"below 95 % in {below} of {len(ends)} settings"
            )
    print(f"{options.streams} streams each, {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
