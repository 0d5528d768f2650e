"""Rules about what a monitor must leave as it found it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np

from farm.errors import UserError
from farm.store.identity import Identities
from farm.testing.observations import arrays_of, batches, fresh
from farm.testing.rules import Breach, rule
from farm.testing.rules_fitting import one_finite_score_an_instance
from farm.testing.surroundings import Seen
from farm.testing.trial import Trial


@rule(one_finite_score_an_instance)
def leaves_the_classifier_alone(trial: Trial) -> None:
    """Fit and scoring leave the classifier as it was: weights, mode, hooks, gradients."""
    for when, seen in _when(trial):
        if seen.classifier:
            raise Breach(f"the {when} changes the classifier: {_first(seen.classifier)}")


@rule(one_finite_score_an_instance)
def leaves_settings_alone(trial: Trial) -> None:
    """Fit and scoring leave torch's and NumPy's settings and the current folder as they were."""
    for when, seen in _when(trial):
        if seen.settings:
            raise Breach(f"after the {when} {_first(seen.settings)}; expected it as it was")


@rule(one_finite_score_an_instance)
def leaves_observations_alone(trial: Trial) -> None:
    """Scoring writes to nothing that other monitors look at as well."""
    monitor, shown = trial.fitted(), fresh(trial.observed.sample)
    before = {name: array.copy() for name, array in arrays_of(shown).items()}
    with trial.watching(monitor):
        for part in batches(shown, len(shown)):
            monitor.score(part)
    for name, array in arrays_of(shown).items():
        if not np.array_equal(array, before[name]):
            raise Breach(f"scoring writes to the observation's {name}; expected a copy to be made")


@rule(one_finite_score_an_instance)
def says_nothing(trial: Trial) -> None:
    """Fit and scoring print nothing and warn of nothing: what is to be known goes into the notes."""
    for when, seen in _when(trial):
        if seen.printed:
            raise Breach(f"the {when} prints {seen.printed[:80]!r}; expected silence")
        if seen.warned:
            raise Breach(f"the {when} warns ({_first(seen.warned)}); expected silence")


@rule(one_finite_score_an_instance)
def reads_what_it_declares(trial: Trial) -> None:
    """Fit and scoring read no data but what parameters name or lies beside the monitor's module.

    What is kept of a monitor is found by these, and would be found although other data changed.
    """
    declared = Identities(Path())
    with suppress(UserError):  # a parameter that no file could say is another rule's finding
        declared.component("monitor", trial.target, None, trial.arguments)
    for when, seen in _when(trial):
        if files := seen.opened.undeclared([declared]):
            raise Breach(f"the {when} reads {_first(files)}; expected a parameter to name it")


def _when(trial: Trial) -> list[tuple[str, Seen]]:
    return [("fit", trial.first.seen), ("scoring", trial.first_scoring)]


def _first(found: list[str]) -> str:
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return found[0][:200] + more
