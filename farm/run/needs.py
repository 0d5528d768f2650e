"""Which monitors a classifier can serve, why the others not, and which would do in their place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import cast

from farm import registry
from farm.api import Classifier, ModelSource, Monitor
from farm.errors import ExperimentError, FarmError, RequirementError, one_line, pass_on_ctrl_c
from farm.run.networks import source_of_network

WORKING = "; monitors that work on it: "
"""What comes between a reason and the monitors that would do."""
MOST = 6
"""So many monitors that would work are named in a message."""


@dataclass(frozen=True)
class Given:
    """What monitors are given beside the classifier: outliers, and the recipe that made it."""

    outliers: bool = False
    model: ModelSource | None = None


NOTHING = Given()


def check_needs(
    monitors: Iterable[Monitor], classifier: Classifier | None = None, given: Given = NOTHING
) -> None:
    """Raise where a monitor lacks what it needs; without a classifier, where it would lack that from any."""
    for monitor in monitors:
        who = f"monitor '{monitor.name}'"
        if classifier is not None:
            classifier.resolve(monitor.needs, who)
        if monitor.needs.outliers and not given.outliers:
            raise RequirementError(
                f"{who} needs outliers to learn from, and there are none; name them with validation_fault: "
                "{name: novelty, workload: ..., split: train}, or any other fault"
            )
        for need in monitor.needs.networks:
            if need.against_outliers and not given.outliers:
                raise RequirementError(f"{who} needs a network {need.title}, and there are no outliers")
            if need.network or classifier is not None:
                source_of_network(need, given.model, who)


def check_engine_of(monitor: Monitor, classifier: Classifier) -> None:
    """Raise where a monitor was fitted on the same network by another engine, whose numbers are others."""
    if monitor._classifier is None:
        return  # it was never fitted, which is told where it is asked
    fitted_on = monitor.classifier.engine
    if fitted_on.key != classifier.engine.key:
        names = fitted_on.name, classifier.engine.name
        differ = f"on the engine '{names[0]}', and is asked on '{names[1]}'"
        if names[0] == names[1]:
            differ = f"on an engine '{names[0]}' with other layers or versions than it is asked on"
        raise ExperimentError(
            f"monitor '{monitor.name}' was fitted {differ}; fit it on the classifier that it is asked on"
        )


def unmet(
    monitors: Sequence[Monitor], classifier: Classifier | None = None, given: Given = NOTHING
) -> dict[str, str]:
    """Say which monitors lack what they need, what that is, and which would work on this classifier."""
    reasons: dict[str, str] = {}
    for monitor in monitors:
        try:
            check_needs([monitor], classifier, given)
        except BaseException as error:  # noqa: BLE001 - what it needs is told by its own code
            pass_on_ctrl_c(error)
            why = one_line(error)
            why = why if f"'{monitor.name}'" in why else f"monitor '{monitor.name}': {why}"
            reasons[monitor.name] = why + _instead(monitor, monitors, classifier, given)
    return reasons


def check_some_run(monitors: Sequence[Monitor], left_out: Mapping[str, str]) -> None:
    """Raise where every monitor lacks something."""
    if all(monitor.name in left_out for monitor in monitors):
        raise RequirementError("; ".join(dict.fromkeys(left_out.values())))


def suitable(classifier: Classifier, given: Given = NOTHING) -> list[str]:
    """Return the registered monitors that would work on a classifier as they are, without any parameter."""
    return [name for name, monitor in _plain_monitors().items() if _is_met(monitor, classifier, given)]


def _instead(monitor: Monitor, others: Sequence[Monitor], classifier: Classifier | None, given: Given) -> str:
    """Name what would work instead, the experiment's own first; nothing where a parameter is the matter."""
    if classifier is None:
        return ""
    plain = _plain_monitors()
    names = suitable(classifier, given)
    if any(type(plain[name]) is type(monitor) for name in names):
        return ""
    own = [one for one in others if not one.is_yardstick and _is_met(one, classifier, given)]
    extra = [name for name in names if not any(type(plain[name]) is type(one) for one in own)]
    would = [*(one.name for one in own), *extra]
    more = f" and {len(would) - MOST} more" if len(would) > MOST else ""
    return f"{WORKING}{', '.join(would[:MOST])}{more}" if would else ""


def _is_met(monitor: Monitor, classifier: Classifier, given: Given) -> bool:
    try:
        check_needs([monitor], classifier, given)
    except BaseException as error:  # noqa: BLE001 - what it needs is told by its own code
        pass_on_ctrl_c(error)
        return False
    return True


@cache
def _plain_monitors() -> dict[str, Monitor]:
    """Return one of each registered monitor that can be made without parameters, but for yardsticks."""
    made: dict[str, Monitor] = {}
    for name in registry.entries("monitor"):
        # What lacks a package or a parameter, or is damaged, cannot be recommended.
        with suppress(FarmError, Exception):
            monitor = cast(Monitor, registry.make("monitor", name, {}))
            if not monitor.is_yardstick:
                made[name] = monitor
    return made
