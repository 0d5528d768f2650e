"""A rule, the verdict on it, and the report of all: what the kit for monitors and its readers share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from farm.testing.trial import Trial

Outcome = Literal["passed", "failed", "skipped", "expected"]
"""`expected` is a failure that was announced, with its reason."""


class Breach(Exception):  # noqa: N818 - a finding, not an error
    """A rule is broken; the message tells what was expected and what was seen."""


class NotApplicable(Exception):  # noqa: N818
    """A rule says nothing of this monitor; the message tells why."""


class NothingToTry(NotApplicable):
    """Neither does any rule that comes after it."""


@dataclass(frozen=True)
class Rule:
    """One thing that a monitor must do or must not do.

    `check` raises `Breach` or `NotApplicable`, and may give a remark. Where one of the rules `after` which it
    comes was broken, it is skipped: its finding would only repeat theirs.
    """

    name: str
    sentence: str
    check: Callable[[Trial], str | None]
    after: tuple[str, ...] = ()


def rule(*after: Rule) -> Callable[[Callable[[Trial], str | None]], Rule]:
    """Make a rule of a function: its name is the rule's, its docstring tells what is checked."""

    def make(check: Callable[[Trial], str | None]) -> Rule:
        text = inspect.getdoc(check) or ""
        sentence = " ".join(text.split("\n\n")[0].split())
        return Rule(check.__name__.replace("_", "-"), sentence, check, tuple(other.name for other in after))

    return make


def rules_of(*modules: ModuleType) -> tuple[Rule, ...]:
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
    """What came out of all rules for one monitor.

    Examples
    --------
    >>> report = Report("mine", {}, [Finding("scores", "Scores.", "failed", "got NaN; expected a number")])
    >>> report.passed
    False
    >>> print(report)
    monitor 'mine' breaks a rule: 1 failed, 0 passed, 0 skipped
      scores: got NaN; expected a number
    """

    monitor: str
    parameters: Mapping[str, Any]
    findings: Sequence[Finding]

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
        return f"monitor '{self.monitor}' {verdict}: {counts}"

    def __str__(self) -> str:
        return "\n".join([self.summary, *(f"  {f.rule}: {f.detail}" for f in self.of("failed"))])

    def record(self) -> dict[str, Any]:
        """Return it as JSON."""
        rules = [
            {"rule": f.rule, "checks": f.sentence, "outcome": f.outcome, "detail": f.detail} for f in self
        ]
        parameters = dict(self.parameters)
        return {"monitor": self.monitor, "parameters": parameters, "passed": self.passed, "rules": rules}


class MonitorCheckError(AssertionError):
    """A monitor breaks rules; the message tells which, and how."""

    def __init__(self, report: Report) -> None:
        super().__init__(str(report))
        self.report = report
