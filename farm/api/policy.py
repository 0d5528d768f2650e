"""What follows an alarm."""

from __future__ import annotations

from typing import Protocol

from farm.api.arrays import BoolArray
from farm.api.observation import Observation


class Policy(Protocol):
    """Turns alarms into decisions, in the order of the stream; one policy object a monitor."""

    name: str

    def decide(self, alarms: BoolArray, observation: Observation) -> BoolArray:
        """Say which of the classifier's decisions are cancelled."""
        ...

    def reset(self) -> None:
        """Forget what came before in the stream."""
        ...


class Cancel:
    """Cancel the classifier's decision on an alarm, and only then: source of all published tables."""

    name = "cancel"

    def decide(self, alarms: BoolArray, observation: Observation) -> BoolArray:  # noqa: ARG002
        """Cancel where there is an alarm."""
        return alarms

    def reset(self) -> None:
        """Nothing to forget."""
