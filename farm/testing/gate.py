"""Criteria held against a run within a test: the failures in words, with pictures of what was missed."""

from __future__ import annotations

from collections.abc import Callable

from farm.check.criteria_file import CriteriaFile
from farm.check.selected import select
from farm.check.verdict import Judged, judge_criteria
from farm.readouts import Readouts
from farm.report.check_wording import title_words
from farm.testing.benchmark import Benchmark
from farm.testing.failure_sheet import MOST, Section, failure_sheet
from farm.testing.failure_text import failure_text
from farm.testing.here import new_folder
from farm.testing.mistakes import KINDS, Mistakes, task_of


def failures(
    run: Readouts,
    file: CriteriaFile,
    benchmark: Callable[[], Benchmark],
    *,
    undecided_passes: bool = False,
) -> list[str]:
    """Judge criteria on a run; give a text for each verdict that is no pass.

    Parameters
    ----------
    run
        The readouts.
    file
        The criteria, and with how many replicates and by which seed they are judged.
    benchmark
        Gives where images are looked for: those of a run on its stream can be drawn. Asked only then.
    undecided_passes
        Whether too few instances for a verdict are no failure.
    """
    fine = ("pass", "undecided") if undecided_passes else ("pass",)
    judged = judge_criteria([run], file)
    return [_told(one, run, benchmark) for one in judged if one.verdict not in fine]


def _told(judged: Judged, run: Readouts, benchmark: Callable[[], Benchmark]) -> str:
    task = task_of(judged.criterion.measure)
    if task is None:
        return failure_text(judged, None, None)
    chosen = {one.name: one for one in select([run], judged.criterion)}[judged.where]
    if judged.monitor in chosen.failures:
        return failure_text(judged, None, None)
    mistakes = Mistakes.of(chosen, judged.monitor, task)
    return failure_text(judged, mistakes, _drawn(judged, mistakes, run, benchmark))


def _drawn(judged: Judged, mistakes: Mistakes, run: Readouts, benchmark: Callable[[], Benchmark]) -> str:
    """Draw the clearest mistakes, and say where; or say why not."""
    numbers = [mistakes.number(kind) for kind in KINDS]
    if not any(numbers):
        return "none: there is no mistake to draw"
    source = benchmark()
    if not source.made_stream_of(run):
        return "none: the run was on another stream than the benchmark's, which gives the images"
    sections = []
    for kind, n in zip(KINDS, numbers, strict=True):
        positions = mistakes.positions(kind, MOST)
        some = f"{n}" if n <= MOST else f"{MOST} of {n}, the clearest by score"
        heading = f"{kind}, {mistakes.called(kind)}: {some}"
        sections.append(Section(heading, source.images(positions), mistakes.captions(positions)))
    try:
        path = new_folder() / "mistakes.png"
        failure_sheet(title_words(judged), sections, path)
    except OSError as error:
        return f"none: they cannot be written ({error})"
    return str(path)
