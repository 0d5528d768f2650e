"""A vote: the alarm is raised where at least so many of several monitors would raise it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from farm.api import (
    JSON,
    CalibrationRule,
    Features,
    FitData,
    FloatArray,
    State,
    check_choice,
    check_number,
)
from farm.errors import ParameterError
from monitors._members import MemberSpec
from monitors.combinations import Combination


class Vote(Combination):
    """Raises the alarm where at least so many of its members do.

    Calibrated `together`, all members share one level on the scale of `monitors.tail_scale`, where a score
    stands for how rare it is among ID validation data. The vote's score is the k-th largest of theirs, and
    the experiment's calibration sets the level, so that the vote as a whole accepts the asked share of ID
    data and compares with other monitors. A member whose own definition sets its threshold, such as
    `physical-bounds` or `never`, has no say in that, and is refused.

    Calibrated `each`, a member has a threshold of its own: the one that its definition sets, or the one that
    accepts the share `accept` of ID validation data. The experiment's calibration plays no part: where it
    asks for another share, set `accept` to that, or members stand otherwise than they would alone. The vote
    alarms exactly where at least k members do. What it then accepts as a whole is not set but follows: at
    most what each member accepts with `any`, at least that with `all`. Its score is the k-th largest of the
    members' distances to their thresholds, in spreads of their ID scores, and its own threshold is 0.

    Parameters
    ----------
    members
        At least two monitors: names, or mappings with a name, parameters, and `as` for another name. A
        member may be a combination.
    atleast
        How many members it takes: `any` (one), `all`, or a whole number.
    calibrated
        `together` or `each`.
    accept
        The share of ID validation data that each member accepts, where they are calibrated `each` and have
        no threshold of their own. None: 0.95, whatever share the experiment asks for.

    Examples
    --------
    >>> Vote(members=["max-softmax", {"name": "knn", "k": 10}], atleast="all").needs.layers
    ('last-hidden',)
    """

    reference = "Kittler, Hatef, Duin, Matas: On combining classifiers, IEEE TPAMI 1998 (the vote)"

    def __init__(
        self,
        *,
        members: Sequence[MemberSpec],
        atleast: int | str = "any",
        calibrated: str = "together",
        accept: float | None = None,
    ) -> None:
        super().__init__(members=members)
        n = len(self._members)
        counts = {"any": 1, "all": n} | {k: k for k in range(1, n + 1)}
        if type(atleast) not in (int, str) or atleast not in counts:
            raise ParameterError(
                f"atleast is {atleast!r}; expected 'any', 'all', or a whole number from 1 to {n}, "
                "the number of members"
            )
        check_choice("calibrated", calibrated, ("together", "each"))
        self._k, self._each = counts[atleast], calibrated == "each"
        if accept is not None:
            check_number("accept", accept, above=0, high=1)
            if not self._each:
                raise ParameterError(
                    f"accept is {accept}, which means nothing where members are calibrated together: there "
                    "the experiment's calibration holds; leave it out, or set calibrated to 'each'"
                )
        self._rule = CalibrationRule() if accept is None else CalibrationRule(accept=accept)
        for member in self._members:
            if member.fixed_threshold is not None and not self._each:
                raise ParameterError(
                    f"members: '{member.name}' sets its threshold itself ({member.fixed_threshold:g}), which "
                    "a level for all members together would ignore; set calibrated to 'each'"
                )

    @property
    def fixed_threshold(self) -> float | None:
        """0 where the members have thresholds of their own."""
        return 0.0 if self._each else None

    def _fit(self, data: FitData) -> State:
        state = super()._fit(data)
        if not self._each:
            return state
        thresholds = []
        for member in self._members:
            with self._naming(member):
                thresholds.append(member.calibrate(data.validation, self._rule, len(data.classes)).threshold)
        return {**state, "thresholds": np.array(thresholds)}

    def _load(self, state: State) -> None:
        super()._load(state)
        self._thresholds = state["thresholds"].tolist() if self._each else []

    def _part(self, i: int, scores: FloatArray) -> FloatArray:
        scale = self._scales[i]
        return scale.margins(scores, self._thresholds[i]) if self._each else scale(scores)

    def _join(self, parts: FloatArray) -> Features:
        return np.asarray(np.sort(parts, axis=0)[-self._k])

    def _decisive(self, ranked: Sequence[str]) -> tuple[str, str]:
        return ranked[self._k - 1], f"it takes {self._k} of {len(ranked)}, decided by"

    def notes(self) -> Mapping[str, JSON]:
        """What the members found out, and their thresholds where they have their own."""
        names = [member.name for member in self._members]
        thresholds = dict(zip(names, self._thresholds, strict=True)) if self._each else {}
        return {**super().notes(), "thresholds": thresholds}
