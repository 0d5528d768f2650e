"""A fusion: one score from those of several monitors, made comparable on ID data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from farm.api import JSON, Features, FloatArray, check_choice, check_number
from farm.errors import ParameterError
from monitors._members import MemberSpec
from monitors.combinations import Combination


class Fusion(Combination):
    """Makes one score of its members' scores, each taken for how rare it is among ID validation data.

    The scale is that of `monitors.tail_scale`, so that neither the units nor the spread of a member's scores
    weigh in. On it a score far beyond all ID scores grows without a limit, while none sinks below 0: one
    member that finds an instance impossible is not talked out of it by others that find it ordinary. Only
    scores count: a threshold that a member's own definition sets plays no part, and the notes name it.

    Parameters
    ----------
    members
        At least two monitors: names, or mappings with a name, parameters, and `as` for another name. A
        member may be a combination.
    by
        `mean`, to which all members contribute (it ranks as Fisher's combined probability does), or `max`,
        where the most alarmed one decides, as in a `vote` of any.
    weights
        What each member counts for in the mean, in their order. None: all the same.

    Examples
    --------
    >>> Fusion(members=["energy", "knn"], weights=[2, 1]).parameters["by"]
    'mean'
    """

    reference = "Fisher: Statistical methods for research workers, 4th edition 1932 (combined probabilities)"

    def __init__(
        self, *, members: Sequence[MemberSpec], by: str = "mean", weights: Sequence[float] | None = None
    ) -> None:
        super().__init__(members=members)
        check_choice("by", by, ("mean", "max"))
        if weights is not None:
            if by == "max":
                raise ParameterError(f"weights is {weights!r}, which means nothing by 'max'; leave it out")
            if len(weights) != len(self._members):
                raise ParameterError(
                    f"weights is {weights!r}; expected {len(self._members)} numbers, one a member"
                )
            for weight in weights:
                check_number("weights", weight, above=0)
        given = np.array(weights or [1.0] * len(self._members), dtype=np.float64)
        relative = given / given.max()
        self._weights: list[float] = (relative / relative.sum()).tolist()
        self._by = by

    def _part(self, i: int, scores: FloatArray) -> FloatArray:
        level = self._scales[i](scores)
        return level if self._by == "max" else self._weights[i] * level

    def _join(self, parts: FloatArray) -> Features:
        return np.asarray(parts.max(axis=0) if self._by == "max" else parts.sum(axis=0))

    def _decisive(self, ranked: Sequence[str]) -> tuple[str, str]:
        return ranked[0], "decided by" if self._by == "max" else "most from"

    def notes(self) -> Mapping[str, JSON]:
        """What the members found out, and whose own threshold plays no part."""
        unused: list[JSON] = [m.name for m in self._members if m.fixed_threshold is not None]
        return {**super().notes(), "thresholds_unused": unused}
