"""The two rules without which no other can be tried: it can be fitted, and it scores."""

from __future__ import annotations

from farm.errors import RequirementError
from farm.testing.rules import NothingToTry, rule
from farm.testing.rules_declared import needs_known_before_fit
from farm.testing.trial import Trial


@rule(needs_known_before_fit)
def fits(trial: Trial) -> None:
    """It can be fitted on the small system's training data."""
    needs = trial.needs
    if needs.networks:
        raise NothingToTry(
            f"needs networks of its own ({', '.join(needs.networks)}), which nobody trains here"
        )
    try:
        trial.system.classifier.resolve(needs, "it")
        trial.first  # noqa: B018 - fits it, or raises
    except RequirementError as error:  # of the classifier, or a package that is not installed
        raise NothingToTry(str(error)) from None


@rule(fits)
def one_finite_score_an_instance(trial: Trial) -> None:
    """It gives each instance one finite number, whether familiar or strange."""
    monitor = trial.fitted()
    for observation in (trial.observed.familiar, *trial.observed.strange.values()):
        trial.score(monitor, observation)


RULES = (fits, one_finite_score_an_instance)
