"""Verdicts as JUnit XML, the report that CI systems show test by test.

There is no standard of it; this keeps to what all known schemas of it allow, the strict one of Jenkins'
xUnit plugin (junit-10.xsd) among them: no attribute that one of them lacks, times without a zone, and in a
suite the properties first. Some systems show only the texts of elements, others only the attribute
`message`: both say why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from farm.report import check_wording as words
from farm.report.checked import Broken, Checked

if TYPE_CHECKING:
    from farm.check.verdict import Judged

ROOT = "farm check"
"""The name of the root element."""


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


def _case(judged: Judged, checked: Checked) -> ET.Element:
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


def _broken(one: Broken) -> ET.Element:
    case = _empty("farm.run", words.plain(f"{one.what} [{one.where}]"))
    why = words.plain(one.reason)
    ET.SubElement(case, "error", {"type": "not run", "message": why}).text = why
    return case


def _empty(classname: str, name: str) -> ET.Element:
    # A verdict takes no time of its own; some systems want to hear so.
    return ET.Element("testcase", {"classname": classname, "name": name, "time": "0.000"})
