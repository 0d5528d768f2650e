"""Checks that any monitor must pass, whoever wrote it: `check_monitor`, or `farm test-monitor` in a shell.

The rules are small functions in the modules `rules_*`, tried in the order in which they stand there. They
look at a monitor from outside alone: they make, fit, save, restore and feed it, and never ask for its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from farm.api import ALL_MEMBERS, Monitor
from farm.errors import pass_on_ctrl_c
from farm.store.threads import limited_threads
from farm.testing import (
    rules_component,
    rules_declared,
    rules_fitting,
    rules_inputs,
    rules_scoring,
    rules_surroundings,
)
from farm.testing.benchmark import Asked, made
from farm.testing.new_process import Elsewhere
from farm.testing.rules import CheckError, Report, check_announced, findings_on, rules_of
from farm.testing.small_system import SmallSystem, small_system
from farm.testing.trial import Trial

RULES = rules_of(
    rules_component, rules_declared, rules_fitting, rules_scoring, rules_inputs, rules_surroundings
)


def check_monitor(
    monitor: Asked,
    *,
    system: SmallSystem | None = None,
    expected_failures: Mapping[str, str] | None = None,
    raise_on_failure: bool = True,
) -> Report:
    """Check that a monitor keeps the rules that all monitors keep.

    Parameters
    ----------
    monitor
        A monitor, its class, its name (registered, or `module:Class`), or a mapping with its name and
        parameters. It need not be fitted, and stays as it is: the rules make others with the same parameters.
    system
        What it is tried on; where not given digits and a small LeNet, for a monitor that needs members a
        network with dropout, and for one that needs all members of a mean, or boxes, a mean that gives them.
    expected_failures
        Rules that are known to be broken, with the reason. One that is not broken any more is a failure.
    raise_on_failure
        Raise a `CheckError`, which is an AssertionError, where a rule is broken.

    Examples
    --------
    In a test: `check_monitor(MyMonitor(tau=0.5))`. To look at what came out, here on made-up images:

    >>> tiny = SmallSystem(
    ...     workload={"name": "farm.testing.fakes:TinySource"},
    ...     classifier={"name": "farm.testing.fakes:TinyModel"},
    ... )
    >>> report = check_monitor("odin", system=tiny, raise_on_failure=False)
    >>> report["fits"].outcome, report["fits"].detail
    ('skipped', "it needs gradients, which classifier 'farm.testing.fakes:TinyModel' does not give")
    """
    tried = made(monitor).monitor
    (report,) = check_monitors(
        [tried], system=system, expected_failures={tried.name: expected_failures or {}}
    )
    if raise_on_failure and not report.passed:
        raise CheckError(report)
    return report


def check_monitors(
    monitors: Sequence[Monitor],
    *,
    system: SmallSystem | None = None,
    expected_failures: Mapping[str, Mapping[str, str]] | None = None,
) -> list[Report]:
    """Check several monitors with one new process for all; `expected_failures` goes by their names."""
    expected = expected_failures or {}
    for announced in expected.values():
        check_announced(announced, RULES)
    elsewhere = Elsewhere()
    trials = [Trial(monitor, system or system_for(monitor), elsewhere) for monitor in monitors]
    # Scores depend on the number of threads; the new process has one as well.
    with limited_threads(1):
        return [
            Report(one.name, one.given.parameters, findings_on(one, RULES, expected.get(one.name, {})))
            for one in trials
        ]


def system_for(monitor: Monitor) -> SmallSystem:
    """Return the small system that has what a monitor needs, as far as that can be told."""
    try:
        needs = monitor.needs
        spread = needs.boxes or needs.box_spread or needs.members == ALL_MEMBERS
        return small_system(members=needs.members > 0, spread=spread)
    except BaseException as error:  # noqa: BLE001 - what it needs is a rule's own matter
        pass_on_ctrl_c(error)
        return small_system()
