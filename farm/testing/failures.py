"""Criteria held against a run within a test: why one is not met, in words and with pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from farm.gate.criteria_file import CriteriaFile
from farm.gate.selected import select
from farm.gate.verdict import CriterionVerdict, judge_criteria
from farm.measures.oracle import tally
from farm.report import check_wording as words
from farm.report.cells import percent
from farm.report.pictures import CaptionedSection, captioned_sheet
from farm.store.readouts import Readouts
from farm.testing.benchmark import Benchmark, running_test
from farm.testing.mistakes import KINDS, Kind, Mistakes, Task, task_of

FOLDER = "farm-failures"
MOST = 25
"""So many images of each kind are drawn."""
_HEADS: Mapping[Task, tuple[tuple[str, str], tuple[str, str]]] = {
    "specific": (("OOD", "ID"), ("alarm", "no alarm")),
    "overall": (("wrong decision", "right decision"), ("cancelled", "kept")),
}
"""The rows and the columns of the counts."""
TOLD_ABOVE = ("criterion", "monitor", "counts")
"""What the gate's evidence has, too, and is told here in another way."""
E = TypeVar("E", bound=BaseException)


def failures(run: Readouts, file: CriteriaFile, benchmark: Callable[[], Benchmark]) -> list[str]:
    """Judge a file's criteria on a run; give a text for each verdict that is no pass.

    What is undecided fails, unless the file lets it pass. `benchmark` gives where images are looked for:
    those of a run on its stream can be drawn. It is asked only then.
    """
    fine = ("pass", "undecided") if file.undecided == "pass" else ("pass",)
    return [_told(one, run, benchmark) for one in judge_criteria([run], file) if one.verdict not in fine]


def with_summary(error: E, texts: Sequence[str]) -> E:
    """Note on an exception, where the pytest plugin looks, what is to be read first: each verdict, and why.

    Examples
    --------
    >>> text = "coverage >= 0.1 [oob]: FAIL\\n  oob: at most 0.09, which is below 0.1\\n  value: 0.08"
    >>> with_summary(AssertionError(text), [text]).farm_summary
    'coverage >= 0.1 [oob]: FAIL; oob: at most 0.09, which is below 0.1'
    """
    first = ("; ".join(line.strip() for line in text.splitlines()[:2]) for text in texts)
    setattr(error, "farm_summary", "\n".join(first))  # noqa: B010 - no exception declares it
    return error


def _told(judged: CriterionVerdict, run: Readouts, benchmark: Callable[[], Benchmark]) -> str:
    """Tell why a criterion is not met: the verdict with its evidence, and what the monitor did wrong."""
    lines = [f"{words.title_words(judged)}: {words.VERDICTS[judged.verdict]}", f"  {words.sentence(judged)}"]
    evidence = (line.partition(": ") for line in words.evidence_lines(judged))
    lines += [_line(head, text) for head, _, text in evidence if head not in TOLD_ABOVE]
    if (task := task_of(judged.criterion.measure)) is None:
        return "\n".join(lines)
    chosen = {one.name: one for one in select([run], judged.criterion)}[judged.where]
    if judged.monitor in chosen.failures:
        return "\n".join(lines)
    mistakes = Mistakes.of(chosen, judged.monitor, task)
    lines += _counts(mistakes)
    for kind in KINDS:
        lines += _worst(mistakes, kind)
    return "\n".join([*lines, _line("pictures", _pictures(judged, mistakes, run, benchmark))])


def _counts(mistakes: Mistakes) -> list[str]:
    (positive, negative), (flagged, not_flagged) = _HEADS[mistakes.task]
    c = tally(mistakes.outcomes)
    wide = max(map(len, (positive, negative)))
    rows = [
        ("", flagged, not_flagged),
        (positive, f"{c['tp']:,}", f"{c['fn']:,}"),
        (negative, f"{c['fp']:,}", f"{c['tn']:,}"),
    ]
    told = [f"{name:<{wide}}  {yes:>{len(flagged)}}  {no:>{len(not_flagged)}}" for name, yes, no in rows]
    return [_line(head, one) for head, one in zip(("counts", "", ""), told, strict=True)]


def _worst(mistakes: Mistakes, kind: Kind) -> list[str]:
    head = f"  worst classes by {kind} ({mistakes.called(kind)}):"
    told = [
        f"{name} {percent(share.value.value)} % of {n:,} ({percent(share.low.value)} to "
        f"{percent(share.high.value)} %)"
        for name, n, share in mistakes.worst(kind)
    ]
    return [head, *(_line("", one) for one in told)] if told else [f"{head} none"]


def _line(head: str, text: str) -> str:
    return f"  {f'{head}:' if head else '':<15} {text}".rstrip()


def _pictures(
    judged: CriterionVerdict, mistakes: Mistakes, run: Readouts, benchmark: Callable[[], Benchmark]
) -> str:
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
        sections.append(CaptionedSection(heading, source.images(positions), mistakes.captions(positions)))
    try:
        path = _new_folder() / "mistakes.png"
        captioned_sheet(words.title_words(judged), sections, path)
    except OSError as error:
        return f"none: they cannot be written ({error})"
    return str(path)


def _new_folder() -> Path:
    """Make a folder that nothing is in yet: in the test's own temporary folder, or in the current one."""
    item = running_test()
    parent = Path.cwd() if item is None else Path(item._request.getfixturevalue("tmp_path"))
    number = 1
    while True:
        try:
            (made := parent / FOLDER / str(number)).mkdir(parents=True)
        except FileExistsError:
            number += 1
        else:
            return made
