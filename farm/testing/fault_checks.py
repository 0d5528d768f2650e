"""Checks that any faultload must pass, whoever wrote it: `check_faultload`, or `farm test-faultload`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from farm.api import Faultload
from farm.api.component import another
from farm.config.experiment import FaultSpec
from farm.errors import ParameterError
from farm.store.threads import limited_threads
from farm.testing import rules_component, rules_faults
from farm.testing.benchmark import by_its_class
from farm.testing.fault_trial import FaultTrial
from farm.testing.new_process import Elsewhere
from farm.testing.rules import CheckError, Report, check_announced, findings_on, rules_of

FAULT_RULES = rules_of(rules_component, rules_faults)

AskedFaultload: TypeAlias = Faultload | type[Faultload] | str | Mapping[str, Any]
"""A faultload, its class, its name, or a mapping with its name and parameters."""


def check_faultload(
    faultload: AskedFaultload,
    *,
    expected_failures: Mapping[str, str] | None = None,
    raise_on_failure: bool = True,
) -> Report:
    """Check that a faultload keeps the rules that all faultloads keep.

    It is tried on a few dozen smooth pictures, in colour or, where it refuses these, in grey, of four classes
    and in tracks. Whichever other workload it loads, it gets other such pictures.

    Parameters
    ----------
    faultload
        A faultload, its class, its name (registered, or `module:Class`), or a mapping with its name and
        parameters. The one given stays as it is.
    expected_failures
        Rules that are known to be broken, with the reason. One that is not broken any more is a failure.
    raise_on_failure
        Raise a `CheckError`, which is an AssertionError, where a rule is broken.

    Examples
    --------
    In a test: `check_faultload(MyFault(angle=5))`. To look at what came out:

    >>> report = check_faultload("black-frame", raise_on_failure=False)
    >>> report.passed, report["changes-something"].detail
    (True, '24 of 24 images change')
    """
    made = _made(faultload)
    (report,) = check_faultloads([made], expected_failures={made.name: expected_failures or {}})
    if raise_on_failure and not report.passed:
        raise CheckError(report)
    return report


def check_faultloads(
    faultloads: Sequence[Faultload], *, expected_failures: Mapping[str, Mapping[str, str]] | None = None
) -> list[Report]:
    """Check several faultloads with one new process for all; `expected_failures` goes by their names."""
    expected = expected_failures or {}
    for announced in expected.values():
        check_announced(announced, FAULT_RULES)
    elsewhere = Elsewhere()
    trials = [FaultTrial(faultload, elsewhere) for faultload in faultloads]
    with limited_threads(1):
        return [
            Report(
                one.name,
                one.given.parameters,
                findings_on(one, FAULT_RULES, expected.get(one.name, {})),
                "faultload",
            )
            for one in trials
        ]


def _made(asked: AskedFaultload) -> Faultload:
    if isinstance(asked, Faultload):
        return another(asked)
    if isinstance(asked, type) and issubclass(asked, Faultload):
        return by_its_class(asked)
    if not isinstance(asked, str | Mapping):
        raise ParameterError(
            f"{asked!r} is no faultload; expected a Faultload, its class, its name, or a mapping with name "
            "and parameters"
        )
    return cast(Faultload, FaultSpec.model_validate(asked).make("faultload"))
