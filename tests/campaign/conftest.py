"""What tests of campaigns share: cells in this process, and a clock that jumps."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from farm.campaign import running, supervisor
from tests.campaign.inside import Inside


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have cells computed in this process."""
    monkeypatch.setattr(running, "Supervisor", Inside)
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.fixture
def time_is_up(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Let a day pass for whoever looks at limits, each time when something happened, and no other time."""

    def after(happened: Callable[[], object]) -> None:
        def now() -> float:
            return time.monotonic() + (24 * 3600 if happened() else 0)

        monkeypatch.setattr(supervisor, "time", SimpleNamespace(monotonic=now))

    return after
