"""A rule, the verdict on it, and the report of all: what the kits for components and their readers share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, Generic, Literal, TypeVar

from farm.errors import FarmError, ParameterError, one_line, suggestion

T = TypeVar("T")
"""What is on trial: a monitor, or a faultload."""
Outcome = Literal["passed", "failed", "skipped", "expected"]
"""`expected` is a failure that was announced, with its reason."""


class Breach(Exception):  # noqa: N818 - a finding, not an error
    """A rule is broken; the message tells what was expected and what was seen."""


class NotApplicable(Exception):  # noqa: N818
    """A rule says nothing of this component; the message tells why."""


class NothingToTry(NotApplicable):
    """Neither does any rule that comes after it."""


@dataclass(frozen=True)
class Rule(Generic[T]):
    """One thing that a component must do or must not do.

    `check` raises `Breach` or `NotApplicable`, and may give a remark. Where one of the rules `after` which it
    comes was broken, it is skipped: its finding would only repeat theirs.
    """

    name: str
    sentence: str
    check: Callable[[T], str | None]
    after: tuple[str, ...] = ()


def rule(*after: Rule[Any]) -> Callable[[Callable[[T], str | None]], Rule[T]]:
    """Make a rule of a function: its name is the rule's, its docstring tells what is checked."""

    def make(check: Callable[[T], str | None]) -> Rule[T]:
        text = inspect.getdoc(check) or ""
        sentence = " ".join(text.split("\n\n")[0].split())
        return Rule(check.__name__.replace("_", "-"), sentence, check, tuple(other.name for other in after))

    return make


def rules_of(*modules: ModuleType) -> tuple[Rule[Any], ...]:
    """Return the rules that modules define, in the order in which they stand there."""
    return tuple(
        found
        for module in modules
        for found in vars(module).values()
        if isinstance(found, Rule) and found.check.__module__ == module.__name__
    )


@dataclass(frozen=True)
class Finding:
    """What came out of one rule: the outcome, and one line that says more."""

    rule: str
    sentence: str
    outcome: Outcome
    detail: str = ""
    stops: str | None = None
    """Why rules that come after it are skipped."""


@dataclass(frozen=True)
class Report:
    """What came out of all rules for one component.

    Examples
    --------
    >>> report = Report("mine", {}, [Finding("scores", "Scores.", "failed", "got NaN; expected a number")])
    >>> report.passed
    False
    >>> print(report)
    monitor 'mine' breaks a rule: 1 failed, 0 passed, 0 skipped
      scores: got NaN; expected a number
    """

    name: str
    parameters: Mapping[str, Any]
    findings: Sequence[Finding]
    kind: str = "monitor"

    @property
    def passed(self) -> bool:
        """Whether no rule is broken, but for those that were announced."""
        return not self.of("failed")

    def of(self, outcome: Outcome) -> list[Finding]:
        """Return the findings with this outcome."""
        return [finding for finding in self.findings if finding.outcome == outcome]

    def __getitem__(self, rule: str) -> Finding:
        return next(finding for finding in self.findings if finding.rule == rule)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    @property
    def summary(self) -> str:
        """The verdict in one line."""
        failed, expected = len(self.of("failed")), len(self.of("expected"))
        verdict = "keeps all rules that apply" if not failed else "breaks a rule"
        if failed > 1:
            verdict = f"breaks {failed} rules"
        also = f", {expected} failed as expected" if expected else ""
        counts = f"{failed} failed, {len(self.of('passed'))} passed, {len(self.of('skipped'))} skipped{also}"
        return f"{self.kind} '{self.name}' {verdict}: {counts}"

    def __str__(self) -> str:
        return "\n".join([self.summary, *(f"  {f.rule}: {f.detail}" for f in self.of("failed"))])

    def record(self) -> dict[str, Any]:
        """Return it as JSON."""
        rules = [
            {"rule": f.rule, "checks": f.sentence, "outcome": f.outcome, "detail": f.detail} for f in self
        ]
        parameters = dict(self.parameters)
        return {self.kind: self.name, "parameters": parameters, "passed": self.passed, "rules": rules}


class CheckError(AssertionError):
    """A component breaks rules; the message tells which, and how."""

    def __init__(self, report: Report) -> None:
        super().__init__(str(report))
        self.report = report


def check_announced(expected: Mapping[str, str], rules: Sequence[Rule[Any]]) -> None:
    """Raise where a failure is announced of a rule that there is not."""
    known = [rule.name for rule in rules]
    for name in expected:
        if name not in known:
            raise ParameterError(f"expected_failures names the rule '{name}'; {suggestion(name, known)}")


def findings_on(trial: T, rules: Sequence[Rule[T]], expected: Mapping[str, str]) -> tuple[Finding, ...]:
    """Try all rules in their order; `expected` gives the reasons of those that are known to be broken."""
    findings: dict[str, Finding] = {}
    for one in rules:
        finding = _finding(one, trial, findings)
        if (reason := expected.get(one.name)) is not None:
            finding = _as_expected(finding, reason)
        findings[one.name] = finding
    return tuple(findings.values())


def _finding(rule: Rule[T], trial: T, before: Mapping[str, Finding]) -> Finding:
    def found(outcome: Outcome, detail: str, stops: str | None = None) -> Finding:
        return Finding(rule.name, rule.sentence, outcome, detail, stops)

    for name in rule.after:
        if (reason := before[name].stops) is not None:
            return found("skipped", reason, reason)
    broken = f"'{rule.name}' failed"
    try:
        return found("passed", rule.check(trial) or "")
    except NothingToTry as reason:
        return found("skipped", str(reason), str(reason))
    except NotApplicable as reason:
        return found("skipped", str(reason))
    except (Breach, FarmError) as error:
        return found("failed", str(error), broken)
    except Exception as error:  # noqa: BLE001 - hooks that no driver calls may raise anything
        return found("failed", one_line(error), broken)


def _as_expected(finding: Finding, reason: str) -> Finding:
    if finding.outcome == "failed":
        return replace(finding, outcome="expected", detail=f"{reason}: {finding.detail}")
    if finding.outcome == "passed":
        told = f"passes, though it was expected to fail ({reason}); take it off the list"
        return replace(finding, outcome="failed", detail=told)
    return finding
