"""Why a monitor gave an instance the score it has, for people who must act on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from farm.api.arrays import JSON


@dataclass(frozen=True)
class Explanation:
    """What a monitor can say of one score; a method says what it has, and leaves out the rest.

    `contributions` are the parts of the input to the score that weigh most, heaviest first: neurons
    (`last-hidden[17]`), components, checks or member monitors, each with how much it adds. `nearest` are ids
    of the training images that are most alike, nearest first. `details` are numbers for a program.
    """

    reason: str = ""
    contributions: Mapping[str, float] = field(default_factory=dict)
    nearest: tuple[str, ...] = ()
    details: Mapping[str, JSON] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Give it as JSON, without what is empty."""
        return {key: value for key, value in asdict(self).items() if value}
