"""Rules about what a monitor says of itself, before it is fitted."""

from __future__ import annotations

from farm.api import Monitor, Needs
from farm.errors import one_line
from farm.testing.rules import Breach, rule
from farm.testing.trial import Trial

FINAL = (
    *("classifier", "calibration", "state", "nbytes", "own_passes"),
    *("fit", "restore", "restart", "calibrate", "score", "judge", "explain", "plane"),
)
"""What the base class does for all monitors."""


HOOKS = "_fit, _load, _score, reset, notes, _explain, _plane"


@rule()
def drivers_as_they_are(trial: Trial) -> None:
    """It overrides hooks, not what the base class does for all: checks, threshold, timing."""
    for name in FINAL:
        if getattr(type(trial.given), name) is not getattr(Monitor, name):
            raise Breach(f"it overrides '{name}', which is the base class's; expected hooks: {HOOKS}")


@rule()
def needs_known_before_fit(trial: Trial) -> None:
    """What it needs, and its own threshold where it has one, are known before anything is fitted."""
    monitor = trial.make()
    for name, kind in (("needs", Needs), ("fixed_threshold", (float, int, type(None)))):
        try:
            value = getattr(monitor, name)
        except Exception as error:  # noqa: BLE001
            raise Breach(f"'{name}' raises before the fit: {one_line(error)}") from None
        if not isinstance(value, kind):
            raise Breach(
                f"'{name}' is {value!r}; expected {'Needs' if name == 'needs' else 'a number or None'}"
            )
