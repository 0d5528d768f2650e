"""Rules that every registered monitor keeps: those of the public kit, over the registry's own list."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from farm import registry
from farm.errors import RequirementError
from farm.testing import Report, check_monitors
from tests.monitors.making import NAMES, REQUIRED, TARGETS, make
from tests.wording import same_text

EXPECTED_FAILURES: Mapping[str, Mapping[str, str]] = {
    "drift-mmd": {
        "higher-is-stranger": "familiar images come class by class here: to whoever looks at a window as a "
        "whole, one of a single class has changed"
    },
}
"""By monitor and rule, each with its reason; one that passes after all is a failure."""

UNPUBLISHED = {
    "always": "a baseline that knows nothing",
    "never": "a baseline that knows nothing",
    "random": "a baseline that knows nothing",
    "callable": "whatever the function is",
}
"""Why these name no publication."""


@pytest.fixture(scope="module")
def reports(request: pytest.FixtureRequest, pytorch_ood: None) -> dict[str, Report | str]:
    """Check all monitors that tests were asked for in one go, since each new process takes seconds."""
    asked = {item.callspec.params["name"] for item in request.session.items if _walks(item)}
    monitors, found = [], {}
    for name in sorted(asked):
        try:
            monitors.append(make(name))
        except RequirementError as error:
            found[name] = str(error)  # an extra that is not installed
    expected = {name: rules for name, rules in EXPECTED_FAILURES.items() if name in asked}
    return found | {report.name: report for report in check_monitors(monitors, expected_failures=expected)}


def _walks(item: pytest.Item) -> bool:
    return getattr(item, "originalname", "") == test_it_keeps_every_rule_that_applies.__name__ and (
        item.path.name == "test_conformance.py"
    )


@pytest.mark.parametrize("name", NAMES)
def test_it_keeps_every_rule_that_applies(reports: dict[str, Report | str], name: str) -> None:
    """And which rules do not apply to it, for which reason, is written down."""
    report = reports[name]
    if isinstance(report, str):
        pytest.skip(report)
    assert report.passed, str(report)
    skipped = [f"{finding.rule}: {finding.detail}" for finding in report.of("skipped")]
    same_text(skipped or "every rule applies")


def test_it_names_a_publication() -> None:
    named = {name for name in NAMES if registry.import_target(TARGETS[name], name).reference}
    assert set(NAMES) - named == set(UNPUBLISHED)


def test_every_exception_is_of_a_monitor_that_is_there() -> None:
    assert {*EXPECTED_FAILURES, *UNPUBLISHED, *REQUIRED} <= set(NAMES)
