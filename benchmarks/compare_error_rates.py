"""How often `farm compare` tells monitors apart that are of the same worth.

`python benchmarks/compare_error_rates.py`. Over sets: in how many tables some pair that is equal in truth is
told apart, by Holm's and by Shaffer's correction of Wilcoxon's signed-rank tests, and beside a control; and
how many of the pairs that differ are found. On instances: in how many streams any monitor is told from a
control that is just like it, where instances of a track resemble each other.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import norm

from farm.comparing import compare_runs
from farm.statistics.corrections import holm, shaffer
from farm.statistics.wilcoxon import signed_rank
from farm.store.readouts import Readouts
from farm.testing import make_readouts

ALPHA = 0.05
WORTHS = ((0, 0, 0), (0, 0, 0, 0, 0), (0, 0, 0, 1), (0, 1, 1, 1), (0, 0, 1, 1), (0, 0, 1, 1, 2))
FRAMES, WITHIN_TRACKS = 8, 0.2
"""Instances of a track, and how much they resemble each other (intra-class correlation)."""
Draw = Callable[[np.random.Generator, int, np.ndarray], np.ndarray]
"""From the number of sets and the worth of each monitor, a value a set and monitor."""


def shifted(random: np.random.Generator, n: int, worth: np.ndarray) -> np.ndarray:
    """Draw normal values around each monitor's worth."""
    return np.asarray(worth + random.normal(size=(n, 1)) + random.normal(size=(n, len(worth))))


def skewed(random: np.random.Generator, n: int, worth: np.ndarray) -> np.ndarray:
    """Draw values with a long tail."""
    return np.asarray(worth + random.exponential(size=(n, len(worth))) ** 2 / 2)


def uneven(random: np.random.Generator, n: int, worth: np.ndarray) -> np.ndarray:
    """Draw values of which some monitors' and some sets' vary far more than others'."""
    spread = np.array([0.2, 1.0, 3.0, 0.5, 2.0])[: len(worth)] * random.exponential(size=(n, 1))
    return np.asarray(worth / 2 + spread * random.normal(size=(n, len(worth))))


def not_transitive(random: np.random.Generator, n: int, worth: np.ndarray) -> np.ndarray:
    """Draw three monitors: a - b and b - c are symmetric around 0, a - c is not (its mean is 0)."""
    steps = np.arange(9) - 4.0
    a_b = random.choice(steps, size=n)
    b_c = np.where(a_b == -4, -4, 1 - a_b)
    b = random.normal(size=n)
    first, last = b + a_b + 0.01 * random.normal(size=n), b - b_c - 0.01 * random.normal(size=n)
    return np.stack([first, b, last], axis=1)


@dataclass(frozen=True)
class Rates:
    """By correction: the share of tables with an equal pair told apart, and of other pairs found."""

    wrong: tuple[float, ...]
    found: tuple[float, ...]


def over_sets(draw: Draw, worth: Sequence[float], n: int, tables: int, equal: Sequence[bool] = ()) -> Rates:
    """Count by Holm's and Shaffer's correction of all pairs, and by Holm's beside the first monitor."""
    pairs = list(combinations(range(len(worth)), 2))
    same = np.array(equal or [worth[a] == worth[b] for a, b in pairs])
    random, beside = np.random.default_rng(1), np.array([0 in pair for pair in pairs])
    wrong, found = np.zeros(3), np.zeros(3)
    for _ in range(tables):
        values = draw(random, n, np.array(worth, dtype=np.float64))
        p = np.array([signed_rank(values[:, a], values[:, b])[2] for a, b in pairs])
        told = [np.array(holm(p)) < ALPHA, np.array(shaffer(p, len(worth))) < ALPHA, np.zeros(len(p), bool)]
        told[2][beside] = np.array(holm(p[beside])) < ALPHA
        wrong += [(each & same).any() for each in told]
        found += [(each & ~same).sum() for each in told]
    differ = np.array([(~same).sum(), (~same).sum(), (~same & beside).sum()])
    return Rates(tuple(wrong / tables), tuple(found / tables / np.maximum(differ, 1)))


def stream(random: np.random.Generator, monitors: int, tracks: int) -> Readouts:
    """Draw a stream of which half is OOD, and monitors that are all alike."""
    n = 2 * tracks * FRAMES
    track, is_ood = np.arange(n) // FRAMES, np.arange(n) >= n // 2

    def resembling() -> np.ndarray:
        of_track = np.sqrt(WITHIN_TRACKS) * random.normal(size=2 * tracks)[track]
        return np.asarray(of_track + np.sqrt(1 - WITHIN_TRACKS) * random.normal(size=n))

    at = norm.isf(np.where(is_ood, 0.6, 0.1))
    alarms = {f"m{i}": resembling() > at for i in range(monitors)}
    return make_readouts(
        {name: {"alarm": alarm, "cancelled": alarm} for name, alarm in alarms.items()},
        label=np.where(is_ood, -1, 0),
        is_ood=is_ood,
        track=[f"t{i}" for i in track],
        faultload=np.where(is_ood, "fog", None),
        run={"workload": {"name": "made"}, "classifier": {"name": "made"}},
    )


def on_instances(monitors: int, tracks: int, streams: int) -> tuple[int, int]:
    """Return in how many streams a monitor is told from the control, and in how many none can be."""
    random, told, no_answer = np.random.default_rng([monitors, tracks]), 0, 0
    for _ in range(streams):
        found = compare_runs([stream(random, monitors, tracks)], measure="specific.mcc", control="m0")
        standings = found.sections[0].standings
        told += any(each.like_control is False for each in standings)
        no_answer += all(each.like_control is None for each in standings if each.monitor != "m0")
    return told, no_answer


def written(rates: Rates) -> str:
    """Write rates in per cent, a column a correction."""
    both = zip(rates.wrong, rates.found, strict=True)
    return "   ".join(f"{100 * wrong:5.1f} % {100 * found:5.1f} %" for wrong, found in both)


def main() -> None:
    """Measure all settings, and print the rates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--streams", type=int, default=300)
    options = parser.parse_args()
    print("over sets: an equal pair is told apart, a differing one is found")
    print(
        f"{'values':<15}{'worths':<16}{'sets':>4}  {'Holm':^15}   {'Shaffer':^15}   {'beside a control':^15}"
    )
    for draw in (shifted, skewed, uneven):
        for worth in WORTHS:
            for n in (10, 30):
                name = f"{draw.__name__:<15}{','.join(map(str, worth)):<16}{n:>4}"
                print(f"{name}  {written(over_sets(draw, worth, n, options.tables))}", flush=True)
    for n in (30, 90):
        rates = over_sets(not_transitive, (0, 0, 0), n, options.tables, equal=(True, False, True))
        print(f"{'not_transitive':<31}{n:>4}  {written(rates)}", flush=True)
    print("on instances, beside a control: streams in which a monitor is told from it; without an answer")
    for monitors, tracks in ((3, 6), (3, 40), (6, 10), (6, 40), (20, 40)):
        told, no_answer = on_instances(monitors, tracks, options.streams)
        print(
            f"{monitors:>3} monitors, {tracks} tracks a side: {told} of {options.streams}, {no_answer}",
            flush=True,
        )


if __name__ == "__main__":
    main()
