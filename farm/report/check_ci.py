"""Verdicts for CI: JUnit XML, test by test, and Markdown for the summary of a job or a comment on a change.

There is no standard of JUnit XML; this keeps to what all known schemas of it allow, the strict one of
Jenkins' xUnit plugin (junit-10.xsd) among them: no attribute that one of them lacks, times without a zone,
and in a suite the properties first. Some systems show only the texts of elements, others only the attribute
`message`: both say why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from farm.report import check_wording as words
from farm.report.checked import Checked, NotRun

if TYPE_CHECKING:
    from farm.gate.verdict import CriterionVerdict

ROOT = "farm check"
"""The name of the root element."""
MARK = "<!-- farm check -->"
"""The first line: it is not shown, and tells that the file may be replaced by the next check's."""
MOST = 200
"""So many rows and sentences there are at most: services cut, or refuse, what is too long."""
HEADINGS = ("verdict", "criterion", "monitor", "on", "value", "bound", "level", "instances")
_ALIGNED = (":--", ":--", ":--", ":--", "--:", ":--", "--:", "--:")


def check_junit(checked: Checked) -> str:
    """Write a suite of what a check found: a case for each verdict, and for each part that did not run."""
    cases = [_case(one, checked) for one in checked.judged] + [_broken(one) for one in checked.broken]
    counts = {
        "tests": len(cases),
        "failures": sum(case.find("failure") is not None for case in cases),
        "errors": sum(case.find("error") is not None for case in cases),
    }
    shared = {name: str(n) for name, n in counts.items()} | {"time": f"{checked.seconds:.3f}"}
    root = ET.Element("testsuites", {"name": ROOT, **shared})
    skipped = sum(case.find("skipped") is not None for case in cases)
    own = {"skipped": str(skipped), "timestamp": checked.began.strftime("%Y-%m-%dT%H:%M:%S")}
    suite = ET.SubElement(root, "testsuite", {"name": words.plain(checked.criteria), **shared, **own})
    suite.append(_properties(checked))
    suite.extend(cases)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _properties(checked: Checked) -> ET.Element:
    made = ET.Element("properties")
    told = [("version", f"farm-testbed {checked.version}"), *(("run", run) for run in checked.runs)]
    told += [("seed", str(checked.seed)), ("replicates", str(checked.replicates))]
    for name, value in told:
        ET.SubElement(made, "property", {"name": name, "value": words.plain(value)})
    return made


def _case(judged: CriterionVerdict, checked: Checked) -> ET.Element:
    case = _empty(f"farm.{judged.criterion.measure}", words.title_words(judged))
    evidence = "\n".join(words.evidence_lines(judged))
    if judged.verdict == "pass":
        ET.SubElement(case, "system-out").text = evidence
        return case
    why = words.sentence(judged)
    told = {"type": words.VERDICTS[judged.verdict].lower(), "message": why}
    undecided = "failure" if checked.undecided == "fail" else "skipped"
    tag = {"error": "error", "fail": "failure"}.get(judged.verdict, undecided)
    ET.SubElement(case, tag, told).text = f"{why}\n{evidence}"
    return case


def _broken(one: NotRun) -> ET.Element:
    case = _empty("farm.run", words.plain(f"{one.what} [{one.where}]"))
    why = words.plain(one.reason)
    ET.SubElement(case, "error", {"type": "not run", "message": why}).text = why
    return case


def _empty(classname: str, name: str) -> ET.Element:
    # A verdict takes no time of its own; some systems want to hear so.
    return ET.Element("testcase", {"classname": classname, "name": name, "time": "0.000"})


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


def _cells(judged: CriterionVerdict) -> Iterator[str]:
    verdict = words.VERDICTS[judged.verdict]
    yield verdict if judged.verdict == "pass" else f"**{verdict}**"
    yield from map(escaped, (words.criterion_words(judged), *words.row_words(judged)))


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
