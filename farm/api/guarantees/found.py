"""What a rule with a guarantee finds, and how it says that nothing can be found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from farm.api.arrays import BoolArray, FloatArray
from farm.api.calibration_data import CalibrationData
from farm.api.guarantee import INSTANCE, TRACK, Guarantee, Promise, Unit
from farm.api.randomness import uniform_by_id
from farm.errors import ComponentFailure

UNTOLD = "whether more would do, these do not tell"


@dataclass(frozen=True, eq=False)
class Found:
    """The threshold, those of the predicted classes where each has its own, and what is promised."""

    threshold: float
    guarantee: Guarantee
    per_class: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Units:
    """One score a unit; units are independent where instances, or the tracks that they share, are."""

    data: CalibrationData
    """An instance a unit."""
    unit: Unit
    event: Unit

    @classmethod
    def of(cls, data: CalibrationData, event: Unit = INSTANCE) -> Units:
        """Take one instance of each track.

        For the event `instance` it is a random one, drawn by the instances' ids, so that neither their order
        nor their scores have a part in it; for the event `track` it is the one with the highest score, which
        is above a threshold just where any is.
        """
        if not data.shares_tracks:
            if event == TRACK:
                raise ComponentFailure(
                    "calibration.event is 'track', and no two validation instances are of one track; "
                    "leave it out"
                )
            return cls(data, INSTANCE, INSTANCE)
        if event == TRACK:
            first = -data.scores
        elif data.ids is None:
            raise ComponentFailure("calibration got tracks and no ids; expected an id an instance")
        else:
            first = uniform_by_id(data.seed, "calibration", data.ids)
        order = np.lexsort((first, data.code))
        firsts = np.diff(data.code[order], prepend=-1) > 0
        return cls(data.rows(order[firsts]), TRACK, event)

    def __len__(self) -> int:
        return len(self.data)

    @property
    def scores(self) -> FloatArray:
        """The score of each."""
        return self.data.scores

    @cached_property
    def wrong(self) -> BoolArray:
        """Whether the class of each is wrong."""
        return self.data.wrong

    def false_alarms(self, accept: float, threshold: float | None = None) -> Promise:
        """Return the promise that accepts so many, with the share above the threshold where there is one."""
        seen = None if threshold is None else float((self.scores > threshold).mean())
        return Promise("false_alarms", round(1 - accept, 12), seen)

    def guarantee(self, promises: Iterable[Promise], confidence: float, needed: int) -> Guarantee:
        """Return the guarantee of something that was found on them."""
        return Guarantee(
            tuple(promises),
            n=len(self),
            needed=needed,
            confidence=confidence,
            unit=self.unit,
            event=self.event,
            seen_in_fit=self.data.seen_in_fit,
        )

    @property
    def counted(self) -> str:
        """How many there are, and of what."""
        return counted(len(self), self.unit)


def counted(n: int, unit: Unit) -> str:
    """Write a number of units.

    Examples
    --------
    >>> counted(1, "track"), counted(1200, "instance")
    ('1 track', '1,200 instances')
    """
    return f"{n:,} {unit}{'' if n == 1 else 's'}"


def seen_wrong(k: int, n: int, of: str = "") -> str:
    """Write how many are wrong.

    Examples
    --------
    >>> seen_wrong(1, 44, " accepted"), seen_wrong(4, 1200)
    ('1 of the 44 accepted is wrong', '4 of the 1,200 are wrong')
    """
    return f"{k:,} of the {n:,}{of} {'is' if k == 1 else 'are'} wrong"


def too_few(method: str, n: str, what: str, needed: int) -> ComponentFailure:
    """Return the failure of a rule that no data of this size could meet."""
    return _cannot(method, n, f"{what} needs at least {needed:,}")


def missed(method: str, n: str, what: str, found: str, would: int | None) -> ComponentFailure:
    """Return the failure of a rule that these data did not meet; about how many would, where they tell."""
    told = f"about {would:,} would do, if more are like these" if would is not None else UNTOLD
    return _cannot(method, n, f"{found}, which does not show {what}; {told}")


def _cannot(method: str, n: str, why: str) -> ComponentFailure:
    return ComponentFailure(f"calibration.method '{method}' cannot be met with n = {n}: {why}")
