"""Monitors that nothing is learnt for."""

from __future__ import annotations

from abc import ABC

from farm.api import FitData, Monitor, State


class Unlearned(Monitor, ABC):
    """Base of those whose score is a formula: they keep nothing of a fit."""

    def _fit(self, data: FitData) -> State:
        del data
        return {}

    def _load(self, state: State) -> None:
        del state
