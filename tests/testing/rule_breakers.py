"""One monitor that keeps all rules, and for each rule some that break it and no other."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

from farm.api import (
    LAST_HIDDEN,
    Explanation,
    Features,
    FitData,
    Monitor,
    Needs,
    Observation,
    State,
    check_number,
)


class Good(Monitor):
    """The greatest logit, negated, in units of its spread over training data.

    Parameters
    ----------
    weight
        Multiplies the score.

    Examples
    --------
    >>> Good(weight=2.0).needs.logits
    True
    """

    def __init__(self, *, weight: float = 1.0) -> None:
        check_number("weight", weight, above=0)
        self._weight = weight

    @property
    def needs(self) -> Needs:
        """Logits."""
        return Needs(logits=True)

    def _fit(self, data: FitData) -> State:
        greatest = np.concatenate([greatest_logit(observation) for observation, _ in data])
        return {"spread": np.array(greatest.std()), "count": np.array([len(greatest)])}

    def _load(self, state: State) -> None:
        self._spread = float(state["spread"])

    def _score(self, observation: Observation) -> Features:
        return -self._weight * greatest_logit(observation) / self._spread


def greatest_logit(observation: Observation) -> np.ndarray:
    assert observation.logits is not None
    return observation.logits.astype(np.float64).max(axis=1)


def module_of(classifier: Any) -> torch.nn.Module:
    """Find the torch module, however it is wrapped, as one who wants to do harm would."""
    while not isinstance(classifier, torch.nn.Module):
        classifier = vars(classifier).get("_inner") or vars(classifier)["_module"]
    return classifier


class Plain(Good):
    """The good one without parameters.

    Examples
    --------
    >>> Plain().parameters
    {}
    """

    def __init__(self) -> None:
        super().__init__()


class NeedsParameters(Good):
    """The good one, which has to be told its weight."""

    def __init__(self, *, weight: float) -> None:
        super().__init__(weight=weight)


# What a monitor says of itself -----------------------------------------------------------------------


class WithoutDocstring(Plain):
    __doc__ = None


class WithoutExample(Plain):
    """The greatest logit."""


class ReferenceIsNoText(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    reference = None  # type: ignore[assignment]


class TakesPositions(Good):
    """The greatest logit.

    >>> 1
    1
    """

    def __init__(self, weight: float = 1.0) -> None:
        super().__init__(weight=weight)


class TakesAnything(Good):
    """The greatest logit.

    >>> 1
    1
    """

    def __init__(self, **more: Any) -> None:
        super().__init__()


class ParameterNotDocumented(Good):
    """The greatest logit.

    >>> 1
    1
    """


class DocumentsTooMuch(Plain):
    """The greatest logit.

    Parameters
    ----------
    height, weight
        Nobody knows.

    Examples
    --------
    >>> 1
    1
    """


class ParameterIsNoJson(Good):
    """The greatest logit.

    Parameters
    ----------
    weight
        One of these.

    Examples
    --------
    >>> 1
    1
    """

    def __init__(self, *, weight: frozenset[float] = frozenset({1.0})) -> None:
        super().__init__()


class ParameterNotChecked(Good):
    """The greatest logit.

    Parameters
    ----------
    weight
        Anything.

    Examples
    --------
    >>> 1
    1
    """

    def __init__(self, *, weight: Any = 1.0) -> None:
        super().__init__()


class ParameterBreaksInside(Good):
    """The greatest logit.

    Parameters
    ----------
    weight
        Multiplies the score.

    Examples
    --------
    >>> 1
    1
    """

    def __init__(self, *, weight: Any = 1.0) -> None:
        super().__init__(weight=abs(weight))


class OverridesScore(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def score(self, observation: Observation) -> Any:
        return super().score(observation)


class NeedsKnownLate(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    @property
    def needs(self) -> Needs:
        return Needs(logits=self._spread > 0)


class ThresholdIsText(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    @property
    def fixed_threshold(self) -> float:
        return "3"  # type: ignore[return-value]


# The fit ---------------------------------------------------------------------------------------------


class CannotBeFitted(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _fit(self, data: FitData) -> State:
        raise ValueError("no data are good enough")


class ReadsLogitsInSecret(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    @property
    def needs(self) -> Needs:
        return Needs()


class ReadsTheSpreadInSecret(Plain):
    """The spread of boxes.

    >>> 1
    1
    """

    @property
    def needs(self) -> Needs:
        return Needs(boxes=True)

    def _fit(self, data: FitData) -> State:
        return {}

    def _load(self, state: State) -> None:
        pass

    def _score(self, observation: Observation) -> Features:
        return observation.outputs["box_spread"].mean(axis=1)


class ReadsTheHeadInSecret(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _load(self, state: State) -> None:
        super()._load(state)
        self._head = self.classifier.head


class RunsTheClassifierInSecret(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _score(self, observation: Observation) -> Features:
        self.classifier.differentiable(torch.from_numpy(observation.images.copy()))
        return super()._score(observation)


class ReadsALayerInSecret(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _score(self, observation: Observation) -> Features:
        if len(observation):
            self.classifier.observe(observation.images, [LAST_HIDDEN])
        return super()._score(observation)


class ReadsOutliersInSecret(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _fit(self, data: FitData) -> State:
        assert data.outliers is not None
        return super()._fit(data)


class SeedsNumpy(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _fit(self, data: FitData) -> State:
        np.random.seed(0)  # noqa: NPY002
        return super()._fit(data)


class DrawsFromTorch(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _score(self, observation: Observation) -> Features:
        return super()._score(observation) + 1e-3 * torch.rand(len(observation)).numpy()


class ReadsTheGlobalSeed(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _fit(self, data: FitData) -> State:
        return {**super()._fit(data), "seed": np.random.get_state()[1][:1].astype(np.int64)}  # noqa: NPY002


class FitsByChance(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _fit(self, data: FitData) -> State:
        return {**super()._fit(data), "draw": np.random.default_rng().random(1)}


class FitsOnTopOfTheLast(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _fit(self, data: FitData) -> State:
        self._fits = getattr(self, "_fits", 0) + 1
        return {**super()._fit(data), "fits": np.array(self._fits)}


class KeepsTheData(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _fit(self, data: FitData) -> State:
        self._data = data
        return super()._fit(data)


class KeepsTheValidationData(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _fit(self, data: FitData) -> State:
        self._labels = data.validation
        return super()._fit(data)


class StateOfDates(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _fit(self, data: FitData) -> State:
        return {**super()._fit(data), "made": np.array("2020-01-01", dtype="datetime64[D]")}


class ThresholdIsInfinite(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    @property
    def fixed_threshold(self) -> float:
        return float("inf")


# Scores ----------------------------------------------------------------------------------------------


class ScoresAreAColumn(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _score(self, observation: Observation) -> Features:
        return np.asarray(super()._score(observation))[:, None]


class ScoresAreNaN(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _score(self, observation: Observation) -> Features:
        return np.full(len(observation), np.nan)


class ScoresByChance(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _score(self, observation: Observation) -> Features:
        return super()._score(observation) + 1e-6 * np.random.default_rng().random(len(observation))


class RemembersInSecret(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _load(self, state: State) -> None:
        super()._load(state)
        self._mean = 0.0

    def _score(self, observation: Observation) -> Features:
        scores = np.asarray(super()._score(observation))
        self._mean = float(np.append(scores, self._mean).mean())
        return scores - self._mean

    def reset(self) -> None:
        self._mean = 0.0


class NeverForgets(Plain):
    """The greatest logit, a little less after a great one.

    >>> 1
    1
    """

    @property
    def needs(self) -> Needs:
        return Needs(logits=True, order=True)

    def _load(self, state: State) -> None:
        super()._load(state)
        self._last = 0.0

    def _score(self, observation: Observation) -> Features:
        scores = np.asarray(super()._score(observation))
        before = np.concatenate([[self._last], scores])[: len(scores)]
        self._last = float(np.concatenate([[self._last], scores])[-1])
        return scores - 0.01 * before


class SubtractsTheBatchMean(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _score(self, observation: Observation) -> Features:
        scores = np.asarray(super()._score(observation))
        return scores - scores.sum() / max(len(scores), 1)


class CountsPlaces(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _score(self, observation: Observation) -> Features:
        return super()._score(observation) + 0.001 * np.arange(len(observation))


class KeepsSomethingBesideItsState(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _fit(self, data: FitData) -> State:
        self._offset = 1.0
        return super()._fit(data)

    def _score(self, observation: Observation) -> Features:
        return super()._score(observation) + getattr(self, "_offset", 0.0)


class DiesElsewhere(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _load(self, state: State) -> None:
        super()._load(state)
        if "farm.testing.monitor_checks" not in sys.modules:  # the process that restores has no need of it
            os._exit(7)


class ReadsIds(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _score(self, observation: Observation) -> Features:
        return super()._score(observation) + np.char.startswith(observation.ids, "anomaly")


class ReadsTracks(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _score(self, observation: Observation) -> Features:
        track = observation.ids if observation.track is None else observation.track
        told = np.array([name.split("/")[-2] if name.count("/") == 2 else "" for name in track.tolist()])
        return super()._score(observation) + (
            told != np.char.add("digit-", observation.predicted.astype(str))
        )


class WrongWayRound(Plain):
    """The greatest logit, not negated.

    >>> 1
    1
    """

    def _score(self, observation: Observation) -> Features:
        return -np.asarray(super()._score(observation))


class LearnsFromWhatItJudges(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _load(self, state: State) -> None:
        super()._load(state)
        self._count = state["count"]

    def _score(self, observation: Observation) -> Features:
        self._count[...] += len(observation)  # type: ignore[index, misc]
        return super()._score(observation)


class ExplainsByNaN(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _explain(self, observation: Observation) -> Explanation:
        return Explanation(contributions={"logit": float("nan")})


class ExplainsByText(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _explain(self, observation: Observation) -> Explanation:
        return "because"  # type: ignore[return-value]


class ScoresOtherwiseAfterExplaining(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _explain(self, observation: Observation) -> Explanation:
        self._spread *= 2
        return Explanation(reason="because")


# Inputs ----------------------------------------------------------------------------------------------


class WantsOneAtLeast(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _score(self, observation: Observation) -> Features:
        return super()._score(observation) + 0 * observation.images.max()


class DividesByContrast(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _score(self, observation: Observation) -> Features:
        with np.errstate(divide="ignore"):
            return super()._score(observation) + 1e-9 / observation.images.std(
                axis=(1, 2, 3), dtype=np.float64
            )


class Overflows(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _score(self, observation: Observation) -> Features:
        with np.errstate(over="ignore"):
            return np.exp(super()._score(observation))


class EndsTheRunOnNaN(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _score(self, observation: Observation) -> Features:
        if np.isnan(observation.images).any():
            raise KeyboardInterrupt("broken sensor")
        return super()._score(observation)


class NeverRecoversFromNaN(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _score(self, observation: Observation) -> Features:
        scores = np.asarray(super()._score(observation))
        if np.isnan(scores).any():
            self._spread = 1.0
        return scores


class KeepsIds(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _load(self, state: State) -> None:
        super()._load(state)
        self._seen: list[str] = []

    def _score(self, observation: Observation) -> Features:
        self._seen.extend(observation.ids.tolist())
        return super()._score(observation)


class RemembersEveryTrack(NeverForgets):
    """The greatest logit.

    >>> 1
    1
    """

    def _load(self, state: State) -> None:
        super()._load(state)
        self._tracks: dict[str, int] = {}

    def _score(self, observation: Observation) -> Features:
        assert observation.track is not None
        self._tracks.update(dict.fromkeys(observation.track.tolist(), 0))
        return -greatest_logit(observation)

    def reset(self) -> None:
        self._tracks.clear()


# Surroundings ----------------------------------------------------------------------------------------


class SetsTrainingMode(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _score(self, observation: Observation) -> Features:
        module_of(self.classifier).train()
        return super()._score(observation)


class LeavesAHook(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _fit(self, data: FitData) -> State:
        module_of(self.classifier).register_forward_hook(print)
        return super()._fit(data)


class ChangesWeights(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _fit(self, data: FitData) -> State:
        with torch.no_grad():
            next(module_of(self.classifier).parameters()).mul_(1.01)
        return super()._fit(data)


class LeavesGradients(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    @property
    def needs(self) -> Needs:
        return Needs(logits=True, gradients=True)

    def _score(self, observation: Observation) -> Features:
        module = module_of(self.classifier).requires_grad_(True)
        with torch.enable_grad():
            self.classifier.differentiable(torch.from_numpy(observation.images.copy())).sum().backward()
        module.requires_grad_(False)
        return super()._score(observation)


class TurnsGradientsOff(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _score(self, observation: Observation) -> Features:
        torch.set_grad_enabled(False)
        return super()._score(observation)


class SilencesNumpy(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _fit(self, data: FitData) -> State:
        np.seterr(all="ignore")
        return super()._fit(data)


class WritesToImages(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _score(self, observation: Observation) -> Features:
        images: Any = observation.images
        while images.base is not None:
            images = images.base
        images[...] = 0
        return super()._score(observation)


class ReadsInSecret(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _fit(self, data: FitData) -> State:
        (Path(__file__).parents[2] / ("pyproject" + ".toml")).read_bytes()
        return super()._fit(data)


class Prints(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _score(self, observation: Observation) -> Features:
        print("scoring", len(observation))
        return super()._score(observation)


class Warns(Plain):
    """The greatest logit.

    >>> 1
    1
    """

    def _fit(self, data: FitData) -> State:
        warnings.warn("few data", RuntimeWarning, stacklevel=1)
        return super()._fit(data)
