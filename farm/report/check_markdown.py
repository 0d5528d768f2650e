"""Verdicts as Markdown, for the summary of a CI job or a comment on a change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from farm.report import check_wording as words
from farm.report.checked import Checked

if TYPE_CHECKING:
    from farm.check.verdict import Judged

MARK = "<!-- farm check -->"
"""The first line: it is not shown, and tells that the file may be replaced by the next check's."""
MOST = 200
"""So many rows and sentences there are at most: services cut, or refuse, what is too long."""
HEADINGS = ("verdict", "criterion", "monitor", "on", "value", "bound", "level", "instances")
_ALIGNED = (":--", ":--", ":--", ":--", "--:", ":--", "--:", "--:")


def check_markdown(checked: Checked) -> str:
    """Write a heading with the counts, a table, and a sentence for each that did not pass."""
    rows = checked.worst_first
    shown, not_passed = rows[:MOST], checked.not_passed
    lines = [MARK, f"## farm check: {escaped(words.counts_words(checked))}", ""]
    lines += [_line(HEADINGS), _line(_ALIGNED), *(_line(_cells(one)) for one in shown), ""]
    if len(rows) > len(shown):
        lines += [f"{len(rows) - len(shown):,} more rows are not shown.", ""]
    if not_passed:
        lines += ["### What did not pass", ""]
        lines += _limited(
            f"- {escaped(words.criterion_words(one))}: {escaped(words.sentence(one))}" for one in not_passed
        )
    if checked.broken:
        lines += ["### What did not run", ""]
        lines += _limited(f"- {escaped(words.broken_sentence(one))}" for one in checked.broken)
    return "\n".join([*lines, *_ending(checked)]) + "\n"


def escaped(text: str) -> str:
    r"""Keep names from becoming markup.

    Examples
    --------
    >>> print(escaped("a|b *c* [d](e) <f>"))
    a\|b \*c\* \[d\](e) \<f>
    """
    return re.sub(r"([\\`*_{}\[\]<#|~&$!@])", r"\\\1", text)


def _cells(judged: Judged) -> Iterator[str]:
    verdict = words.VERDICTS[judged.verdict]
    yield verdict if judged.verdict == "pass" else f"**{verdict}**"
    yield from map(
        escaped,
        (
            words.criterion_words(judged),
            words.plain(judged.monitor),
            words.where_words(judged),
            words.value_words(judged),
            words.bound_words(judged),
            words.level_words(judged),
            words.size_words(judged),
        ),
    )


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _limited(lines: Iterable[str]) -> list[str]:
    found = list(lines)
    more = [f"- and {len(found) - MOST:,} more"] if len(found) > MOST else []
    return [*found[:MOST], *more, ""]


def _ending(checked: Checked) -> Iterator[str]:
    if told := words.consequence(checked):
        yield from (escaped(told), "")
    runs = [words.plain(run) for run in checked.runs]
    more = f" and {len(runs) - MOST:,} more" if len(runs) > MOST else ""
    yield escaped(
        f"Criteria: {words.plain(checked.criteria)}. Runs: {', '.join(runs[:MOST])}{more}. farm-testbed "
        f"{checked.version}; {checked.replicates:,} resamplings, seed {checked.seed}."
    )
