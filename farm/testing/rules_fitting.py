"""Rules about the fit, what it leaves, and that it scores at all: without these no other can be tried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from farm.api import (
    ALL_MEMBERS,
    CalibrationRule,
    Capabilities,
    Classifier,
    Head,
    Images,
    Needs,
    RawOutputs,
    State,
    StrArray,
)
from farm.errors import FarmError, RequirementError
from farm.testing.observations import declared, fresh
from farm.testing.rules import Breach, NothingToTry, rule
from farm.testing.rules_declared import needs_known_before_fit
from farm.testing.trial import SEED, Trial, copied

if TYPE_CHECKING:
    from torch import Tensor

PLAIN = "biufcUS"
"""Kinds of arrays that can be saved without pickle and read by anybody: numbers, truth values, text."""


@rule(needs_known_before_fit)
def fits(trial: Trial) -> None:
    """It can be fitted on the small system's training data."""
    needs = trial.needs
    try:
        trial.system.classifier.resolve(needs, "it")
        for need in needs.networks:
            trial.system.check_network(need)
        trial.first  # noqa: B018 - fits it, or raises
    except RequirementError as error:  # of the classifier, or a package that is not installed
        raise NothingToTry(str(error)) from None


@rule(fits)
def one_finite_score_an_instance(trial: Trial) -> None:
    """It gives each instance one finite number, whether familiar or strange."""
    monitor = trial.fitted()
    for observation in (trial.observed.familiar, *trial.observed.strange.values()):
        trial.score(monitor, observation)


@rule(one_finite_score_an_instance)
def needs_all_declared(trial: Trial) -> None:
    """It is content with what it declares to need, where nothing more is there."""
    needs = trial.needs
    for name in sorted(trial.first.asked_for):
        if not getattr(needs, name):
            raise Breach(f"the fit reads the data's '{name}', which its needs do not declare")
    bare = Bare(copied(trial.system.classifier), needs)
    try:
        fitted = trial.fit(data=trial.lent(declared_alone=True), classifier=bare)
        trial.score(fitted, declared(trial.observed.sample, needs))
    except FarmError as error:
        raise Breach(f"with no more than it declares: {error}") from None


@rule(one_finite_score_an_instance)
def leaves_global_chance_alone(trial: Trial) -> None:
    """Global random generators (random, numpy.random, torch) are neither read nor moved nor seeded."""
    monitor = trial.fitted()
    seen = list(trial.first.seen.drawn)
    with trial.watching(monitor) as scoring:
        monitor.score(trial.observed.sample)
    if drawn := seen + scoring.drawn:
        when = "fit" if seen else "scoring"
        raise Breach(f"the {when} moves the global generator of '{drawn[0]}'; expected farm.api.generator")
    state = trial.first.monitor.state
    changed = _different(state, trial.fit(seed=SEED + 1).state)
    if changed and not _different(state, trial.fit().state):
        raise Breach(f"the fit depends on a global seed: '{changed}' differs under another one")


@rule(fits, leaves_global_chance_alone)
def fits_again_to_the_same(trial: Trial) -> None:
    """Fitted again on the same data, a new one and the same one get the same state, bit for bit."""
    first = trial.first.monitor.state
    for who, monitor in (("a new one", trial.make()), ("the same one", trial.fitted())):
        if changed := _different(first, trial.fit(monitor).state):
            raise Breach(f"fitted again, {who} gets another '{changed}'; expected the same bits")


@rule(fits)
def lets_go_of_the_data(trial: Trial) -> None:
    """After the fit it holds on to nothing of what it was fitted on, labels included, but its state."""
    if trial.first.keeps_data:
        raise Breach(
            "it keeps the data that it was fitted on; expected arrays in its state, and nothing else"
        )


@rule(fits)
def state_is_plain(trial: Trial) -> str:
    """Its state is named arrays of numbers, truth values or text."""
    state = trial.first.monitor.state
    for name, array in state.items():
        if not isinstance(name, str):
            raise Breach(f"its state has the name {name!r}; expected text")
        if array.dtype.kind not in PLAIN:
            raise Breach(
                f"its state's '{name}' is of type {array.dtype}; expected numbers, truth values or text"
            )
    return f"{trial.first.monitor.nbytes:,} bytes in {len(state)} arrays"


@rule(one_finite_score_an_instance)
def can_be_calibrated(trial: Trial) -> str:
    """A threshold is found on ID validation data, or is the method's own."""
    monitor = trial.fitted()
    with trial.watching(monitor):
        own = monitor.fixed_threshold
        rule = CalibrationRule(accept=0.9)
        found = monitor.calibrate(trial.lent().validation, rule, len(trial.system.workload.classes))
        accepted = 1.0 - float(monitor.judge(fresh(trial.observed.familiar)).alarms.mean())
    if own is not None and found.threshold != own:
        raise Breach(f"its own threshold is {own}, but {found.threshold} was set")
    asked = "its own threshold" if own is not None else "a threshold for 0.9"
    return f"{asked} accepts {accepted:.2f} of ID data that it has not seen"


def _different(state: State, other: State) -> str | None:
    """Return the name of an array in which two states differ."""
    for name in [*state, *(set(other) - set(state))]:
        if name not in state or name not in other:
            return name
        a, b = state[name], other[name]
        if (a.dtype, a.shape, a.tobytes()) != (b.dtype, b.shape, b.tobytes()):
            return name
    return None


class Bare(Classifier):
    """A classifier that can do what certain needs ask for, and nothing else."""

    def __init__(self, inner: Classifier, needs: Needs) -> None:
        self._inner, self._needs = inner, needs
        self.name, self.classes, self.recipe = inner.name, inner.classes, inner.recipe
        self.capabilities = Capabilities(
            logits=needs.logits,
            layers=needs.layers,
            gradients=needs.gradients,
            members=bool(needs.members),
            averaged=needs.members == ALL_MEMBERS,
            head=needs.head,
            boxes=needs.boxes,
            box_spread=needs.box_spread,
        )

    @property
    def digest(self) -> str:
        """The classifier's own."""
        return self._inner.digest

    @property
    def nbytes(self) -> int | None:
        """The classifier's own."""
        return self._inner.nbytes

    @property
    def head(self) -> Head:
        """The last layer, where it was asked for."""
        if not self.capabilities.head:
            raise RequirementError("it reads the last layer's weights; expected 'head' in its needs")
        return self._inner.head

    def differentiable(self, images: Tensor) -> Tensor:
        """Run the classifier for gradients, where they were asked for."""
        if not self.capabilities.gradients:
            raise RequirementError("it runs the classifier for gradients; expected 'gradients' in its needs")
        return self._inner.differentiable(images)

    def _forward(self, images: Images, layers: Sequence[str], members: int) -> RawOutputs:
        return self._forward_of(images, None, layers, members)

    def _forward_of(
        self, images: Images, ids: StrArray | None, layers: Sequence[str], members: int
    ) -> RawOutputs:
        if undeclared := set(layers) - set(self.capabilities.layers):
            raise RequirementError(f"it reads the layer '{min(undeclared)}'; expected it in its needs")
        return declared(self._inner._forward_of(images, ids, layers, members), self._needs)
