"""`farm stream`: watch an experiment's stream while it runs, endless ones too; nothing is kept."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import closing, nullcontext, suppress

from rich.live import Live

from farm.errors import ExperimentError
from farm.judging.live import Watch
from farm.report.live import last_words, live_tables
from farm.report.terminal import Paragraph, text_console
from farm.run.execution import assemble
from farm.run.loading import importable, load_experiment
from farm.run.progress import shown_progress
from farm.run.system import Step, SystemUnderTest
from farm.store.threads import limited_threads

REDRAW_SECONDS = 0.25
PAGE_SECONDS = 4
"""So long a page is shown where there are fewer lines than the tables have."""


def stream(options: argparse.Namespace) -> int:
    """Stream until the end, until `--length`, or until interrupted."""
    if options.window < 2:
        raise ExperimentError(f"--window is {options.window}; expected at least 2")
    if options.length is not None and options.length < 1:
        raise ExperimentError(f"--length is {options.length}; expected at least 1")
    experiment, folder = load_experiment(options.experiment, options.set)
    with importable(folder):
        with shown_progress(quiet=options.quiet) as progress:
            ready = assemble(experiment, folder, progress=progress)
        ready.stream.guard(ready.workload)
        running = [m for m in ready.monitors if m.name not in ready.failures]
        system = SystemUnderTest(
            ready.classifier, running, policies=ready.policies, fallbacks=ready.fallbacks
        )
        watch = Watch(
            [m.name for m in ready.monitors],
            options.window,
            longest=ready.stream.longest_track,
            yardsticks=[m.name for m in ready.monitors if m.is_yardstick],
        )
        for name, reason in ready.failures.items():
            watch.monitors[name].failure = reason
        console = text_console(sys.stdout)
        live = Live(console=console, auto_refresh=False) if options.live and console.is_terminal else None
        with limited_threads(experiment.threads):
            steps = watch.follow(system, system.steps(ready.stream, experiment.batch_size))
            _show(_until(steps, watch, options.length), watch, live, options)
        watch.end_visit()
        watch.remember()
        console.print(live_tables(watch, options.window, console.width))
        console.print()
        for sentence in last_words(watch):
            console.print(Paragraph(sentence))
    failed = [watched for watched in watch.monitors.values() if watched.failure]
    for watched in failed:
        print(f"farm: failed: {watched.failure}", file=sys.stderr)
    return 1 if failed else 0


def _until(steps: Iterator[Step], watch: Watch, length: int | None) -> Iterator[Step]:
    """Stop after the batch in which so many instances are reached."""
    for step in steps:
        yield step
        if length is not None and watch.n >= length:
            return


def _show(steps: Iterator[Step], watch: Watch, live: Live | None, options: argparse.Namespace) -> None:
    """Run the steps, and show where the stream is. Ctrl-C is how an endless one ends: nothing is lost."""
    drawn = time.monotonic()
    remembered = 0
    with suppress(KeyboardInterrupt), closing(steps), live or nullcontext():  # type: ignore[type-var]
        for _ in steps:
            # A point of the sparkline every half window, a picture a few times a second.
            if watch.n - remembered >= options.window // 2:
                watch.remember()
                remembered = watch.n
                if options.live and live is None:
                    print(f"{watch.n:,} instances", file=sys.stderr, flush=True)
            if live and time.monotonic() - drawn >= REDRAW_SECONDS:
                drawn = time.monotonic()
                width, height = live.console.size
                page = int(drawn / PAGE_SECONDS)
                live.update(live_tables(watch, options.window, width, height - 1, page), refresh=True)
        if live:
            live.update("", refresh=True)
