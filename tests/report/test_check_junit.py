"""The XML by the rules of Jenkins' junit-10.xsd, and of the schemas that ask for an order of elements."""

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.report.check_ci import check_junit
from farm.report.check_wording import plain
from farm.report.checked import NotRun
from tests.report.made_verdicts import ALL, CRASHED, FAILED, IN_PARTS, OPEN, PASSED, UNJUDGED, checked, make
from tests.wording import same_text

ATTRIBUTES = {
    "testsuites": {"name", "time", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "time", "skipped", "timestamp"},
    "properties": set(),
    "property": {"name", "value"},
    "testcase": {"name", "time", "classname"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"type", "message"},
    "system-out": set(),
}
"""Of each element the attributes that the schema has, and that are given; all of them are."""
INSIDE = {
    "testsuites": ["testsuite"],
    "testsuite": ["properties", "testcase"],
    "properties": ["property"],
    "testcase": ["skipped", "error", "failure", "system-out"],
}
TIME = r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?"


def parsed(found):
    text = check_junit(found)
    assert text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ')
    return ET.fromstring(text.encode())


def check_rules(root):
    assert root.tag == "testsuites"
    for element in root.iter():
        assert set(element.keys()) == ATTRIBUTES[element.tag]
        allowed = INSIDE.get(element.tag, [])
        tags = [child.tag for child in element]
        assert set(tags) <= set(allowed)
        assert tags == sorted(tags, key=allowed.index)
        if "time" in element.attrib:
            assert re.fullmatch(TIME, element.get("time"))
    (suite,) = root
    cases = suite.findall("testcase")
    assert [child.tag for child in suite].count("properties") == 1
    for case in cases:
        assert len(case) == 1  # one outcome each: a failure, an error, skipped, or what was printed
    for counted in (root, suite):
        assert int(counted.get("tests")) == len(cases)
        assert int(counted.get("failures")) == len(suite.findall("testcase/failure"))
        assert int(counted.get("errors")) == len(suite.findall("testcase/error"))
    assert int(suite.get("skipped")) == len(suite.findall("testcase/skipped"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp"))
    names = [(case.get("classname"), case.get("name")) for case in cases]
    assert len(set(names)) == len(names)  # of two that are called the same some systems show one


@pytest.mark.parametrize("undecided", ["report", "pass", "fail"])
def test_it_keeps_to_the_schemas(undecided):
    check_rules(parsed(checked(broken=[CRASHED], undecided=undecided)))


def test_a_case_for_each_verdict():
    root = parsed(checked(broken=[CRASHED], runs=["runs/a", "runs/b"]))
    suite = root.find("testsuite")
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == (str(len(ALL) + 1), "4", "1")
    assert (suite.get("name"), suite.get("skipped"), suite.get("time")) == ("criteria.yaml", "2", "1.235")
    assert suite.get("timestamp") == "2030-01-02T03:04:05"
    first, second, third = suite.findall("testcase")[:3]
    assert first.get("classname") == "farm.overall.mcc"
    same_text(first.get("name"))
    assert "lower bound: 0.471 (95 %)" in first.find("system-out").text
    same_text(second.find("failure").get("message"))
    assert second.find("failure").get("type") == "fail"
    for shown in (
        "oob: at most 0.262, which is below 0.4\n",
        "value: 0.215\n",
        "counts: tp 40, fp 12, fn 80, tn 348",
    ):
        assert shown in second.find("failure").text
    assert third.find("skipped").get("type") == "not enough data"
    same_text(third.find("skipped").get("message"))
    same_text(third.find("skipped").text)
    runs = [p.get("value") for p in suite.findall("properties/property") if p.get("name") == "run"]
    assert runs == ["runs/a", "runs/b"]
    last = suite.findall("testcase")[-1]
    assert (last.get("classname"), last.get("name")) == ("farm.run", "monitor 'odin' [runs/gate-001]")
    same_text(last.find("error").text)


@pytest.mark.parametrize(
    ("undecided", "tag"), [("report", "skipped"), ("pass", "skipped"), ("fail", "failure")]
)
def test_undecided_is_what_it_is_to_be(undecided, tag):
    root = parsed(checked([OPEN, PASSED], undecided=undecided))
    case = root.find("testsuite/testcase")
    assert [child.tag for child in case] == [tag]
    assert root.get("failures") == str(int(tag == "failure"))


@pytest.mark.parametrize("undecided", ["report", "pass", "fail"])
def test_what_could_not_be_judged_is_an_error(undecided):
    root = parsed(checked([UNJUDGED, PASSED], undecided=undecided))
    check_rules(root)
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("2", "0", "1")
    found = root.find("testsuite/testcase/error")
    why = "odin: could not be judged, because the monitor failed: singular"
    assert (found.get("type"), found.get("message")) == ("error", why)
    assert found.text.splitlines() == [
        why,
        "criterion: overall.mcc >= 0.1",
        "monitor: odin",
        "on: all sets",
        "benchmark sets: fog, severity 3 on signs with lenet",
        "bounds: whole tracks resampled",
    ]
    assert found.text.count("singular") == 1


def test_what_a_protocol_found_is_named_with_its_part():
    root = parsed(checked(IN_PARTS))
    check_rules(root)
    assert [(case.get("classname"), case.get("name")) for case in root.iter("testcase")] == [
        ("farm.scenario_coverage", 'scenario_coverage >= 90 % [the classifier, "train k=2"]'),
        ("farm.scenario.mtbf", "scenario.mtbf >= 200 on part:weakest [the classifier]"),
        (
            "farm.scenario.overall.mcc",
            'scenario.overall.mcc >= 0.25 on each part [the classifier, "oob, weather=rain"]',
        ),
    ]


@given(st.text(min_size=1))
def test_any_name_comes_back(name):
    odd = make("overall.mcc >= 0.4", "fail", 0.1, 0, 0.2, monitor=name, reason=f"of {name}")
    root = parsed(checked([odd], [NotRun(name, name, name)], criteria=name, runs=[name]))
    check_rules(root)
    suite = root.find("testsuite")
    assert suite.get("name") == plain(name)
    assert suite.find("testcase").get("name") == f"overall.mcc >= 0.4 [{plain(name)}]"
    assert suite.find("testcase/failure").text.splitlines()[2] == f"monitor: {plain(name)}"
    assert suite.find("properties/property[@name='run']").get("value") == plain(name)


def test_strange_names_as_examples():
    name = "a <b> & \"c\" 'd' ]]> \x00\x1b[31m\ud800\ufffe é 漢 \U0001f6a6"
    root = parsed(checked([make("overall.mcc >= 0.4", "fail", 0.1, 0, 0.2, monitor=name, reason="why")]))
    expected = "a <b> & \"c\" 'd' ]]> \\x00\\x1b[31m\\ud800\\ufffe é 漢 \U0001f6a6"
    assert root.find("testsuite/testcase").get("name") == f"overall.mcc >= 0.4 [{expected}]"


def test_nothing_judged_is_still_a_report():
    check_rules(parsed(checked([], [CRASHED])))
    check_rules(parsed(checked([FAILED], undecided="pass")))
