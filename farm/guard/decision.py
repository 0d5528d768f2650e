"""What a guard says of one image."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from farm.api import Explanation


@dataclass(frozen=True)
class Decision:
    """What became of one image."""

    accepted: bool
    label: str | None
    """The class to act upon: the prediction, or where it is cancelled what the fallback says, if anything."""
    predicted: str
    confidence: float
    score: float
    threshold: float
    alarm: bool
    why: str
    """One line about a cancelled prediction or an alarm; empty where there is nothing to say."""
    explanation: Explanation
    classifier_time_us: float
    monitor_time_us: float
    notes: tuple[str, ...] = ()
    """What to know of the image itself, such as that it was stretched a lot to the classifier's size."""

    def record(self) -> dict[str, Any]:
        """Give it as JSON."""
        return {**asdict(self), "explanation": self.explanation.record(), "notes": list(self.notes)}
