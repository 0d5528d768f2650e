"""What a test tells of a criterion that is not met: the gate's evidence, counts, worst classes, pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from farm.check.verdict import Judged
from farm.report import check_wording as words
from farm.report.cells import percent
from farm.testing.mistakes import KINDS, Kind, Mistakes, Task

_HEADS: Mapping[Task, tuple[tuple[str, str], tuple[str, str]]] = {
    "specific": (("OOD", "ID"), ("alarm", "no alarm")),
    "overall": (("wrong decision", "right decision"), ("cancelled", "kept")),
}
"""The rows and the columns of the counts."""
E = TypeVar("E", bound=BaseException)

TOLD_ABOVE = ("criterion", "monitor", "counts")
"""What the gate's evidence has, too, and is told here in another way."""


def failure_text(judged: Judged, mistakes: Mistakes | None, pictures: str | None) -> str:
    """Tell why a criterion is not met.

    Parameters
    ----------
    judged
        The verdict with its evidence.
    mistakes
        What the monitor did wrong; None where there is nothing of the kind.
    pictures
        Where the mistakes were drawn to, or why not.
    """
    lines = [f"{words.title_words(judged)}: {words.VERDICTS[judged.verdict]}", f"  {words.sentence(judged)}"]
    evidence = (line.partition(": ") for line in words.evidence_lines(judged))
    lines += [_line(head, text) for head, _, text in evidence if head not in TOLD_ABOVE]
    if mistakes is not None:
        lines += _counts(mistakes)
        for kind in KINDS:
            lines += _worst(mistakes, kind)
    if pictures is not None:
        lines.append(_line("pictures", pictures))
    return "\n".join(lines)


def with_summary(error: E, texts: Sequence[str]) -> E:
    """Note on an exception what is to be read first of each text: the verdict, and why.

    The pytest plugin looks for it there.

    Examples
    --------
    >>> text = "coverage >= 0.1 [oob]: FAIL\\n  oob: at most 0.09, which is below 0.1\\n  value: 0.08"
    >>> with_summary(AssertionError(text), [text]).farm_summary
    'coverage >= 0.1 [oob]: FAIL; oob: at most 0.09, which is below 0.1'
    """
    first = ("; ".join(line.strip() for line in text.splitlines()[:2]) for text in texts)
    setattr(error, "farm_summary", "\n".join(first))  # noqa: B010 - no exception declares it
    return error


def _counts(mistakes: Mistakes) -> list[str]:
    (positive, negative), (flagged, not_flagged) = _HEADS[mistakes.task]
    c = mistakes.counts
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
