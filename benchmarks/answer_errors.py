"""How often the answer says that a monitor surely helps where none does, and how often where one does.

`python benchmarks/answer_errors.py --streams 400`. Streams are made up: what a classifier gets wrong and what
monitors alarm at are chances that the frames of a track share a part of. Where no monitor helps alarms have
nothing to do with errors, and "surely helps" is a false answer, of whichever category; "surely no monitor
helps noticeably" is one where a monitor truly cancels 10 points more of wrong decisions than of right ones,
and "is higher than that of the plain confidence" where all are alike.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.stats import norm

from farm.api.arrays import FloatArray
from farm.comparing import benchmark_sets
from farm.gate.answer import PLAIN_CONFIDENCE, answers
from farm.store.readouts import Readouts
from farm.testing import make_readouts

WRONG, RARELY = (0.05, 0.6), (0.0003, 0.0003)
"""Of ID and of OOD instances, the share that the classifier gets wrong."""
HELPFUL = "helpful"


@dataclass(frozen=True)
class Setting:
    """One kind of stream."""

    tracks: int
    """On each side."""
    frames: int
    alike: float
    """The intra-class correlation of frames' chances."""
    monitors: int
    rate: float
    """How often monitors raise an alarm that do not help."""
    catches: float | None = None
    """Of wrong decisions, the share that one monitor more cancels; None: there is none that helps."""
    alike_confidence: bool = False
    """Whether all monitors cancel that share, the plain confidence among them."""
    wrong: tuple[float, float] = WRONG
    categories: int = 1
    """So many categories of faults, each on OOD tracks of its own."""

    def __str__(self) -> str:
        helpers = "all and the plain confidence cancel" if self.alike_confidence else "one more cancels"
        helps = "" if self.catches is None else f", {helpers} {100 * self.catches:g} % of wrong ones"
        return (
            f"{self.tracks:4} tracks of {self.frames:2}, correlation {self.alike:.1f}, {self.monitors:2} "
            f"monitors, alarms {100 * self.rate:g} %{helps}, {self.categories} categories, "
            f"{100 * self.wrong[0]:g} and {100 * self.wrong[1]:g} % wrong"
        )


def settings(tracks: tuple[int, ...] = (6, 20, 100)) -> Iterator[Setting]:
    """Return all kinds of streams: first those on which nothing helps."""
    kinds = ((1, 0.0), (20, 0.2))
    for number, (frames, alike), monitors, rate in product(tracks, kinds, (1, 5, 20), (0.05, 0.5, 0.95)):
        yield Setting(number, frames, alike, monitors, rate)
    for number, (frames, alike), catches in product(tracks, kinds, (0.2, 0.4)):
        yield Setting(number, frames, alike, 4, 0.05, catches)
    for number, (frames, alike), monitors in product(tracks, kinds, (1, 5, 20)):
        yield Setting(number, frames, alike, monitors, 0.05, 0.4, alike_confidence=True)
    for number, (frames, alike) in product(tracks, kinds):
        yield Setting(number, frames, alike, 4, 0.05, categories=7)
    for number, catches in product((1000, 10_000), (0.15, 0.2)):
        yield Setting(number, 1, 0.0, 0, 0.05, catches, wrong=RARELY)


def stream(random: np.random.Generator, of: Setting) -> Readouts:
    """Draw a stream."""
    n = of.tracks * of.frames
    category = np.repeat(np.arange(of.categories + 1), n)
    side = (category > 0).astype(int)
    wrong = _chance(random, of) < norm.ppf(np.array(of.wrong))[side]
    helpful = np.where(wrong, of.catches or 0.0, 0.05)
    rates = helpful if of.alike_confidence else np.full(len(side), of.rate)
    alarms = {f"m{i}": _chance(random, of) < norm.ppf(rates) for i in range(of.monitors)}
    if of.catches is not None:
        one_more = PLAIN_CONFIDENCE if of.alike_confidence else HELPFUL
        alarms[one_more] = _chance(random, of) < norm.ppf(helpful)
    track = [f"t{i}" for i in np.arange(len(side)) // of.frames]
    names = np.array([None, *(f"c{i}" for i in range(of.categories))], dtype=object)[category]
    return make_readouts(alarms, is_ood=side, wrong=wrong, track=track, category=names, faultload=names)


def _chance(random: np.random.Generator, of: Setting) -> FloatArray:
    n = (1 + of.categories) * of.tracks
    of_track = random.standard_normal((n, 1))
    of_frame = random.standard_normal((n, of.frames))
    return np.asarray((np.sqrt(of.alike) * of_track + np.sqrt(1 - of.alike) * of_frame).ravel())


def told(of: Setting, streams: int, seed: int = 1) -> Counter[str]:
    """Count what answers say of streams of a kind."""
    random = np.random.default_rng(seed)
    found: Counter[str] = Counter()
    for number in range(streams):
        told = answers(benchmark_sets([stream(random, of)]), seed=number)
        found["surely helps"] += any(answer.sure and answer.helps for answer in told)
        found["surely none"] += any(answer.sure and not answer.helps for answer in told)
        found["right one"] += any(answer.monitor == HELPFUL for answer in told)
        found["better than confidence"] += any("MCC is higher" in answer.sentence for answer in told)
    return found


def main() -> None:
    """Print a line a kind of stream."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=400)
    parser.add_argument("--tracks", type=int, nargs="+", default=[6, 20, 100])
    options = parser.parse_args()
    for of in settings(tuple(options.tracks)):
        started = time.perf_counter()
        found = told(of, options.streams)
        shares = ", ".join(f"{what} {100 * found[what] / options.streams:.1f} %" for what in sorted(+found))
        print(f"{of}: {shares or 'never sure'} ({time.perf_counter() - started:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
