"""Rules about inputs that nobody expects: none, constant ones, huge ones, broken ones, and endlessly many."""

from __future__ import annotations

import gc
import tracemalloc
from dataclasses import replace

import numpy as np

from farm.api import Monitor, Observation
from farm.errors import FarmError, one_line
from farm.run.recorder import MARGIN, spread
from farm.testing.observations import NUMBERS, filled, fresh, joined, renamed
from farm.testing.rules import Breach, rule
from farm.testing.rules_fitting import one_finite_score_an_instance
from farm.testing.rules_scoring import (
    near,
    reset_forgets,
    scores_do_not_depend_on_the_batch,
    scores_repeat,
)
from farm.testing.trial import Trial

GREYS = (0.0, 0.5, 1.0)
HUGE = (1e20, float(np.finfo(np.float32).max))
FEW = 8
STREAM = (400, 64)
"""So many batches of so many instances are streamed past a monitor with a memory: 25,600 tracks and more."""
SHORT_STREAM = (200, 8)
"""And past one that should have none."""
LEAK = 64
"""Fewer bytes a batch than that are not told from what Python and NumPy keep for themselves."""


@rule(one_finite_score_an_instance)
def takes_an_empty_batch(trial: Trial) -> None:
    """A batch of nothing gets no scores."""
    monitor = trial.fitted()
    with trial.watching(monitor):
        monitor.score(fresh(trial.observed.familiar.take(slice(0, 0))))


@rule(one_finite_score_an_instance)
def takes_constant_images(trial: Trial) -> None:
    """Images that are black, grey or white throughout get finite scores."""
    monitor, needs = trial.fitted(), trial.needs
    for grey in GREYS:
        images = np.full((3, *trial.system.workload.shape), grey, dtype=np.float32)
        seen = trial.system.classifier.observe(images, needs.observed, members=needs.members)
        _finite(trial, monitor, replace(seen, track=seen.ids), f"images that are {grey} throughout")


@rule(scores_do_not_depend_on_the_batch)
def takes_huge_values(trial: Trial) -> None:
    """Activations and logits up to the largest float32 get finite scores, and harm no others' scores."""
    few = trial.observed.familiar.take(slice(0, FEW))
    alone = trial.score(trial.fitted(), few)
    for value in (*HUGE, *(-v for v in HUGE)):
        huge = filled(few, value)
        what = f"activations and logits of {value:.3g}"
        _finite(trial, trial.fitted(), huge, what)
        if not trial.needs.order:
            company = trial.score(trial.fitted(), joined([few, huge]), size=2 * FEW)[:FEW]
            near(alone, company, f"beside {what}", MARGIN * spread(alone))


@rule(scores_repeat, reset_forgets)
def survives_nan(trial: Trial) -> str:
    """NaN in all that it sees gets a finite score or a failure by name, and spoils nothing that follows."""
    few = trial.observed.familiar.take(slice(0, FEW))
    before = trial.score(trial.fitted(), few)
    monitor, remark = trial.fitted(), "it gives a finite score"
    try:
        trial.score(monitor, filled(few, np.nan, NUMBERS))
    except FarmError as error:
        remark = f"it fails by name: {error}"
    except BaseException as error:  # noqa: BLE001 - the run would end here
        raise Breach(f"NaN raises {one_line(error)}; expected a finite score or a ComponentFailure") from None
    near(before, trial.score(monitor, few), "after NaN and a restart")
    return remark


@rule(one_finite_score_an_instance)
def memory_does_not_grow(trial: Trial) -> str:
    """Along a stream of ever new instances and tracks, its memory stops growing.

    What Python and NumPy take is measured, torch's own memory is not. A bounded memory may fill up: a quarter
    of the stream is for that. Growth is what each half of the rest adds, if it is 64 bytes a batch or more.
    """
    n_batches, size = STREAM if trial.needs.order else SHORT_STREAM
    monitor, sample = trial.fitted(), trial.observed.familiar.take(slice(0, size))
    batch = fresh(sample.take(np.resize(np.arange(len(sample)), size)))
    # A full collection of garbage takes longer than the stream: only where memory seems to grow there is one,
    # and then a longer stream, on which what libraries keep for themselves weighs less.
    for generation, longer in ((1, 1), (2, 1), (2, 4)):
        n_batches *= longer
        monitor.restart()
        with trial.watching(monitor):
            warm, middle, end = _memory_along(monitor, batch, n_batches, generation)
        if min(middle - warm, end - middle) <= LEAK * n_batches * 3 / 8:
            return f"{end - warm:+,} bytes after {n_batches * size * 3 // 4:,} instances"
    each = (end - warm) / (n_batches * size * 3 / 4)
    raise Breach(
        f"memory grows by {each:.3g} bytes an instance, as long as the stream goes on; expected a bound"
    )


def _finite(trial: Trial, monitor: Monitor, observation: Observation, what: str) -> None:
    try:
        trial.score(monitor, observation)
    except FarmError as error:
        raise Breach(f"{what}: {error}") from None


def _memory_along(monitor: Monitor, batch: Observation, n_batches: int, generation: int) -> list[int]:
    """Return the memory in use after a quarter of the stream, five eighths, and all of it."""
    marks = {n_batches // 4, n_batches * 5 // 8, n_batches}
    used: list[int] = []
    already = tracemalloc.is_tracing()
    if not already:
        tracemalloc.start()
    try:
        for number in range(1, n_batches + 1):
            names = [f"{number:06d}/{i:03d}" for i in range(len(batch))]
            monitor.score(renamed(batch, names, names))
            if number in marks:
                del names
                gc.collect(generation)
                used.append(tracemalloc.get_traced_memory()[0])
    finally:
        if not already:
            tracemalloc.stop()
    return used
