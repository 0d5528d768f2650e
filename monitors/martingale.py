"""A chart with a guarantee: bets against the exchangeability of scores."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping

import numpy as np

from farm.api import JSON, FitData, FloatArray, Observation, State
from farm.api.changes import (
    ChangeDetector,
    Conformal,
    Units,
    promised,
)
from farm.errors import ParameterError
from monitors._members import MemberSpec
from monitors._score_charts import ScoreChart

TRACKS = 1000
"""So many tracks are remembered; beyond that, the one not seen for the longest time is forgotten."""


class MartingaleChart(ScoreChart):
    """Bets that scores rise among all that came, which exchangeable ones do not; the logarithm of its gain.

    With `chance` the gain is that of one gambler (Ville): on exchangeable data the chance that it *ever*
    alarms is at most that, however long the stream; but what is lost along a long quiet stream delays the
    alarm. With `run_length` at least so many bets come, on average, before a false alarm (Shiryaev and
    Roberts), and it stays awake. Neither is simulated: it takes no more than that validation and working data
    are exchangeable.

    Images of one track are not exchangeable with others', but whole tracks may be. So a track's first image
    is bet on alone, and the rest of the track has its statistic. An image without a track is one by itself.

    Parameters
    ----------
    of
        The monitor whose scores it follows: a name, or a mapping with its name and parameters.
    chance
        Of ever alarming on exchangeable data. 0.01 where neither is set.
    run_length
        How many tracks come on average, at least, until a false alarm.
    direction
        It bets that scores rise (`up`), that they fall (`down`), or on `both`.
    restart
        Whether it bets anew after each alarm. What it saw still counts as usual.

    Examples
    --------
    >>> MartingaleChart(of="max-softmax", chance=0.001).needs.order
    True
    """

    reference = "Vovk et al.: Retrain or not retrain: conformal test martingales, COPA 2021"
    fewest = 4
    _held: float
    statistic = "log gain of bets on the scores"

    def __init__(
        self,
        *,
        of: MemberSpec,
        chance: float | None = None,
        run_length: float | None = None,
        direction: str = "up",
        restart: bool = False,
    ) -> None:
        self._betting, limit = promised(chance, run_length, direction)
        super().__init__(of=of, run_length=None, limit=limit, restart=restart)
        if self._members[0].needs.order:
            raise ParameterError(
                f"of is '{self._members[0].name}', whose scores depend on what came before, and so are not "
                "exchangeable; expected a monitor of single images"
            )
        self._given_length = run_length
        self._tracks: OrderedDict[str, None] = OrderedDict()

    def _fit(self, data: FitData) -> State:
        state = super()._fit(data)
        return {**state, "seen_in_fit": np.array(any(one._saw_validation for one in self._members))}

    def _load(self, state: State) -> None:
        super()._load(state)
        self._seen_in_fit = bool(state["seen_in_fit"])

    def _counted(self, units: Units) -> Units:
        return units.firsts()

    def _detector(self, reference: FloatArray) -> ChangeDetector[float]:
        return Conformal(reference, self._betting, seed=0)

    def _statistics(self, observation: Observation) -> FloatArray:
        tracks = [None] * len(observation) if observation.track is None else observation.track.tolist()
        bet_on = np.array([track is None or self._is_new(track) for track in tracks], dtype=np.bool_)
        found = self._follower.along(self._values(observation)[bet_on], self._restarts_above)
        # The rest of a track has what its first image left.
        left = np.concatenate([[self._held], np.where(found > self._restarts_above, 0.0, found)])
        held: FloatArray = left[np.cumsum(bet_on)]
        self._held = float(left[-1])
        held[bet_on] = found
        return held

    def _is_new(self, track: str) -> bool:
        new = track not in self._tracks
        self._tracks[track] = None
        self._tracks.move_to_end(track)
        if len(self._tracks) > TRACKS:
            self._tracks.popitem(last=False)
        return new

    def _begin(self) -> None:
        super()._begin()
        self._held = 0.0
        self._tracks.clear()

    def notes(self) -> Mapping[str, JSON]:
        """What the chart found out, and the promise that it keeps."""
        promise: dict[str, JSON] = {"run_length": self._given_length}
        if self._given_length is None:
            promise = {"chance": float(f"{math.exp(-self._limit):.12g}")}
        if self._seen_in_fit:
            promise["warning"] = (
                f"'{self._members[0].name}' looked at the validation data in its fit, so that they are not "
                "exchangeable with working data: the promise may not hold"
            )
        return {**super().notes(), **promise}
