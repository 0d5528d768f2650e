"""The contract of monitors: fitted on ID data, one score an instance, an alarm once calibrated.

A subclass writes three short hooks. `_fit` looks at training data and returns plain arrays, `_load`
unpacks such arrays into the form that scoring likes, and `_score` gives one number an instance,
higher = more anomalous. What was fitted is always what would be saved: scoring only ever sees arrays that
went through `_load`. Everything else (checks, threshold, timing) is done here, once.
"""

from __future__ import annotations

import json
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from farm.api.arrays import JSON, BoolArray, Features, FloatArray, State
from farm.api.calibration import VALIDATION_FAULT, Calibration, CalibrationRule
from farm.api.calibration_data import CalibrationData
from farm.api.classifier import Classifier, Needs
from farm.api.component import Component
from farm.api.counted import CountedClassifier
from farm.api.explanation import Explanation, Plane
from farm.api.files import files_were_closed
from farm.api.guarantees import GUARANTEES
from farm.api.observation import (
    NOTHING,
    VALIDATION,
    FitData,
    Labelled,
    Observation,
    PooledLayer,
    ViewedData,
    off_disk,
    plain_name,
    pooled,
    read_only,
)
from farm.errors import ComponentFailure, Failure, UserError, one_line, pass_on_ctrl_c

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a monitor says of a batch, and how long it took."""

    scores: FloatArray
    alarms: BoolArray
    nanoseconds: int
    thresholds: FloatArray | float


class Monitor(Component, ABC):
    """Distrusts. Drivers here are final; subclasses write `_fit`, `_load` and `_score`."""

    is_yardstick: ClassVar[bool] = False
    """Whether it knows nothing, and only stands there for others to be read against."""

    _classifier: CountedClassifier | None = None
    _state: State | None = None
    _calibration: Calibration | None = None
    _saw_validation = False
    _own_layers: Mapping[str, str] = MappingProxyType({})
    _own_members = 0
    _own_names: frozenset[str] = frozenset()
    pooled: tuple[str, ...] = ()
    """The layers that came as maps and were pooled, as far as it has seen them."""
    _judged = 0
    _passes_before = 0

    # What a subclass says and does -----------------------------------------------------------------

    @property
    def needs(self) -> Needs:
        """What this monitor must be given; may depend on its parameters."""
        return Needs()

    @property
    def fixed_threshold(self) -> float | None:
        """The threshold that the method's own definition sets; None where calibration does."""
        return None

    @abstractmethod
    def _fit(self, data: FitData) -> State: ...

    @abstractmethod
    def _load(self, state: State) -> None: ...

    @abstractmethod
    def _score(self, observation: Observation) -> Features: ...

    def reset(self) -> None:
        """Forget what came before in the stream (monitors whose needs say `order`)."""

    def notes(self) -> Mapping[str, JSON]:
        """What the fit found out that a reader must know; a `warning` is told with the answer."""
        return {}

    def _explain(self, observation: Observation) -> Explanation:
        """Say why the one instance of this observation has its score; where a method can."""
        del observation
        return Explanation()

    def _plane(self, observation: Observation) -> Plane | None:
        """Say where these instances, all of one predicted class, lie; for methods that judge by a place."""
        del observation
        return None

    # Drivers ------------------------------------------------------------------------------------------

    @property
    def classifier(self) -> Classifier:
        """The classifier under watch, for methods that enter it again."""
        if self._classifier is None:
            raise ComponentFailure(f"monitor '{self.name}' has seen no classifier; call fit or restore first")
        return self._classifier

    @property
    def own_passes(self) -> float:
        """How often it ran the classifier itself, for each batch that it judged since the stream began."""
        if self._classifier is None or not self._judged:
            return 0.0
        return (self._classifier.passes - self._passes_before) / self._judged

    @property
    def calibration(self) -> Calibration:
        """The threshold and its history."""
        if self._calibration is None:
            raise ComponentFailure(f"monitor '{self.name}' is not calibrated; call calibrate first")
        return self._calibration

    @property
    def state(self) -> State:
        """What was fitted, as arrays."""
        if self._state is None:
            raise ComponentFailure(f"monitor '{self.name}' is not fitted; call fit first")
        return self._state

    @property
    def nbytes(self) -> int:
        """The memory that the fitted state takes."""
        return sum(array.nbytes for array in self.state.values())

    def fit(self, data: FitData, classifier: Classifier) -> Self:
        """Learn from ID training data; the classifier's abilities are checked first."""
        classifier.resolve(self.needs, f"monitor '{self.name}'")
        self._classifier = CountedClassifier(classifier)
        self._take_needs()
        self.pooled = ()
        own = ViewedData(data, self._view, self.needs.outliers, self.needs.networks)
        files_were_closed()
        found: object = self._call("in fit", self._fit, own)
        if not isinstance(found, Mapping):
            kind = type(found).__name__
            raise ComponentFailure(
                f"monitor '{self.name}' gave a {kind} from _fit; expected its arrays by name: {{}} if it has "
                "none"
            )
        state = self._call("in fit", lambda: {k: off_disk(np.asarray(v)) for k, v in found.items()})
        self._check_files("in fit")
        self._saw_validation = VALIDATION in own.looked_at
        self.restore(state, classifier)
        self._call("in notes", lambda: json.dumps(self.all_notes(), allow_nan=False))
        return self

    def all_notes(self) -> dict[str, JSON]:
        """Return its notes, and which maps it saw pooled."""
        return ({"pooled": list(self.pooled)} if self.pooled else {}) | dict(self.notes())

    def restore(self, state: State, classifier: Classifier, calibration: Calibration | None = None) -> Self:
        """Take a state that `fit` once made."""
        for name, array in state.items():
            if array.dtype.hasobject:
                raise ComponentFailure(
                    f"monitor '{self.name}': state '{name}' holds Python objects; expected numbers or text"
                )
        self._classifier = CountedClassifier(classifier)
        self._state, self._calibration = state, calibration
        files_were_closed()
        self._take_needs()
        self._call("in load", self._load, state)
        return self

    def restart(self) -> None:
        """Forget what came before; called where a stream begins."""
        self._judged = 0
        self._passes_before = self._classifier.passes if self._classifier else 0
        self._call("in reset", self.reset)

    def calibrate(
        self,
        data: Iterable[Labelled],
        rule: CalibrationRule,
        n_classes: int,
        outliers: Iterable[Observation] | None = None,
        *,
        conditions: Mapping[str, NDArray[Any]] = NOTHING,
        seed: int = 0,
    ) -> Calibration:
        """Choose the threshold on ID validation data, or take the one the method itself defines.

        `outliers` are for a rule that chooses it on a validation fault too. `conditions` have a value for
        each instance of the data, for a rule that goes by one, and `seed` is the experiment's.
        """
        if self.fixed_threshold is not None:
            rule = CalibrationRule(method="fixed", threshold=self.fixed_threshold)
        if rule.method in GUARANTEES and self.needs.order:
            raise ComponentFailure(
                f"monitor '{self.name}' judges by what came before, so that its scores are not exchangeable; "
                f"calibration.method '{rule.method}' promises nothing of such, choose another"
            )
        strange = None
        if rule.method == VALIDATION_FAULT and outliers is not None:
            self.restart()
            strange = np.concatenate([np.empty(0)] + [self.score(observation) for observation in outliers])
        self.restart()
        rows = [(self.score(seen), seen.predicted, labels, seen.ids, seen.track) for seen, labels in data]
        self.restart()
        scores, predicted, labels, ids, track = zip(*rows, strict=True) if rows else ((),) * 5
        self._calibration = rule.calibrate(
            CalibrationData(
                _column(scores, np.float64),
                _column(predicted, np.int64),
                n_classes,
                ids=_column(ids, np.str_),
                labels=_column(labels, np.int64),
                track=None if any(one is None for one in track) else _column(track, np.str_),
                conditions=conditions,
                outliers=strange,
                seed=seed,
                seen_in_fit=self._saw_validation,
            )
        )
        return self._calibration

    def score(self, observation: Observation) -> FloatArray:
        """Return one finite number an instance, higher = more anomalous."""
        if self._state is None:
            raise ComponentFailure(f"monitor '{self.name}' is not fitted; call fit first")
        observation = self._view(observation)
        return self._checked(self._call("in score", self._score, observation), observation)

    def judge(self, observation: Observation) -> Verdict:
        """Score a batch, compare with the threshold, and time just that."""
        calibration = self.calibration
        observation = self._view(observation)
        once = observation.once
        start = time.perf_counter_ns() + once.nanoseconds
        raw = self._call("in score", self._score, observation)
        # What others had made for it counts as its own.
        elapsed = time.perf_counter_ns() + once.nanoseconds - start
        scores = self._checked(raw, observation)
        start = time.perf_counter_ns()
        thresholds = calibration.thresholds(observation.predicted)
        alarms = scores > thresholds
        elapsed += time.perf_counter_ns() - start
        self._judged += 1
        return Verdict(scores, alarms, elapsed, thresholds)

    def explain(self, observation: Observation) -> list[Explanation]:
        """Say of each instance why it has its score."""
        observation = self._view(observation)
        n = len(observation)
        singly = [observation] if n == 1 else [observation.take(slice(i, i + 1)) for i in range(n)]
        return [self._call("in explain", self._explain, one) for one in singly]

    def plane(self, observation: Observation) -> Plane | None:
        """Return where instances of one predicted class lie, beside what is accepted; None where nowhere."""
        observation = self._view(observation)
        plane = self._call("in plane", self._plane, observation)
        if plane is None:
            return None
        return self._call("in plane", lambda: plane.checked(f"monitor '{self.name}'", len(observation)))

    def _call(self, where: str, hook: Callable[P, R], *arguments: P.args, **more: P.kwargs) -> R:
        """Call a hook, and turn whatever it raises into a failure that names it."""
        try:
            return hook(*arguments, **more)
        except (UserError, Failure):
            raise
        except BaseException as error:
            pass_on_ctrl_c(error)
            raise ComponentFailure(f"monitor '{self.name}' failed {where}: {one_line(error)}") from error

    def _take_needs(self) -> None:
        needs = self._call("in needs", lambda: self.needs)
        own = needs.observed
        names = [plain_name(layer) for layer in own]
        # By its plain name, unless it is asked for in two ways.
        calls = [layer if names.count(name) > 1 else name for layer, name in zip(own, names, strict=True)]
        self._own_layers, self._own_members = dict(zip(own, calls, strict=True)), needs.members
        self._own_names = frozenset(names)

    def _view(self, observation: Observation) -> Observation:
        """Return what this monitor declared to need: layers that only others asked for are not there."""
        if observation.members is not None:
            # As many as it asked for, however many others did: its scores must not depend on them.
            own_members = observation.members[: self._own_members] if self._own_members else None
            observation = replace(observation, members=own_members)
        there, names = observation.activations, self._own_names
        for layer, values in there.items():
            if layer not in names or values.ndim > 3:
                break
        else:
            return observation
        own = {}
        for layer, called in self._own_layers.items():
            name = plain_name(layer)
            if layer in there:  # whoever observed has pooled it, if it is to be
                own[called] = there[layer]
            elif name in there:  # whole, or without places
                has_places = there[name].ndim > 3
                own[called if has_places else name] = read_only(pooled(there[name], layer))
                if not has_places:
                    continue
            if isinstance(layer, PooledLayer) and layer not in self.pooled:
                self.pooled = (*self.pooled, layer)
        return replace(observation, activations=own)

    def _check_files(self, where: str) -> None:
        if files_were_closed():
            raise ComponentFailure(
                f"monitor '{self.name}' failed {where}: it closed files that are not its own; "
                "expected it to close those alone that it opened"
            )

    def _checked(self, scores: Features, observation: Observation) -> FloatArray:
        self._check_files("in score")
        try:
            result = np.asarray(scores, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ComponentFailure(
                f"monitor '{self.name}' returned what is no array of numbers: {one_line(error)}"
            ) from error
        if result.shape != observation.predicted.shape:
            raise ComponentFailure(
                f"monitor '{self.name}' returned scores of shape {result.shape}; "
                f"expected {(len(observation),)}: one an instance"
            )
        # Adding up is one step instead of two; what overflows so is looked at again.
        total = result[0] if len(result) == 1 else np.add.reduce(result)
        if not math.isfinite(total) and not np.isfinite(result).all():
            i = int(np.flatnonzero(~np.isfinite(result))[0])
            raise ComponentFailure(
                f"monitor '{self.name}' returned the score {result[i]} for instance {i}; "
                "expected a finite number"
            )
        return result


def _column(parts: Iterable[NDArray[Any]], kind: type[np.generic]) -> NDArray[Any]:
    """Join what came in batches, though there be none."""
    return np.concatenate([np.empty(0, kind), *parts])
