"""A monitor out of any function: for a first try, and for what somebody else wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from farm.api import POOLS, Features, FitData, Monitor, Needs, Observation, State, check_choice
from farm.errors import ComponentFailure, ExperimentError
from farm.registry import import_target

TAGS = ("logits", "gradients", "head")
"""What a function may ask for beside layers."""


class OwnFunction(Monitor):
    """Any function from an observation to one score an instance, higher = more anomalous.

    Parameters
    ----------
    function
        `module:function`. It gets the observation, and what was fitted where `fit` is named. In the file
        `mine.py`: `def distrust(observation): return 1 - observation.confidence`.
    fit
        `module:function`. It gets the ID training data, batches of (observation, labels) that can be read as
        often as it likes, and returns a mapping from names to arrays, which `function` then gets.
    layers
        The layers that they look at.
    pool
        What becomes of layers that are maps: one value a channel, the `mean` or `max` of its places, or
        maps as they are (`none`).
    needs
        What else must be there: any of `logits`, `gradients` and `head`.
    classifier
        Whether they also get `classifier=`, to run it themselves (`observe`, `differentiable`) or to look at
        its last layer (`head`). Runs are counted, and the readouts show them.

    Examples
    --------
    >>> OwnFunction(function="farm.testing.fakes:doubt", layers=["conv2"]).needs.layers
    ('conv2',)
    """

    def __init__(
        self,
        *,
        function: str,
        fit: str | None = None,
        layers: Sequence[str] = (),
        pool: str = "mean",
        needs: Sequence[str] = (),
        classifier: bool = False,
    ) -> None:
        for tag in needs:
            check_choice("needs", tag, TAGS)
        self._function = _imported("function", function)
        self._fitting = None if fit is None else _imported("fit", fit)
        self._fit_name = fit
        check_choice("pool", pool, POOLS)
        logits, gradients, head = (tag in needs for tag in TAGS)
        self._needs = Needs(tuple(layers), pool, logits=logits, gradients=gradients, head=head)
        self._with_classifier = classifier

    @property
    def needs(self) -> Needs:
        """What the function is said to need."""
        return self._needs

    def _fit(self, data: FitData) -> State:
        if self._fitting is None:
            return {}
        fitted = self._fitting(data, **self._extra())
        if not isinstance(fitted, Mapping):
            kind = type(fitted).__name__
            raise ComponentFailure(
                f"monitor '{self.name}': fit '{self._fit_name}' gave a {kind}; expected a mapping from names "
                "to arrays"
            )
        return fitted

    def _load(self, state: State) -> None:
        self._given = () if self._fitting is None else (state,)

    def _score(self, observation: Observation) -> Features:
        return np.asarray(self._function(observation, *self._given, **self._extra()))

    def _extra(self) -> dict[str, Any]:
        return {"classifier": self.classifier} if self._with_classifier else {}


def _imported(parameter: str, target: str) -> Callable[..., Any]:
    found = import_target(target, parameter)
    if not callable(found):
        raise ExperimentError(f"{parameter} '{target}' cannot be called")
    function: Callable[..., Any] = found
    return function
