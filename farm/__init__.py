"""farm-testbed: does this safety monitor make this image classifier safer?

The names below are loaded when they are first used, so that `import farm` costs nothing and readouts can be
judged where torch is not installed. Whoever writes a component imports `farm.api`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from farm.comparing.comparison import Comparison as Comparison
    from farm.comparing.comparison import compare as compare
    from farm.comparing.loading import load as load
    from farm.guard import Guard as Guard
    from farm.judging.frames import judge as judge
    from farm.run.testbed import Testbed as Testbed
    from farm.store.campaign_runs import CampaignRuns as CampaignRuns
    from farm.store.readouts import Readouts as Readouts

_WHERE = {
    "as_html": "farm.report.notebook",
    "RemadeStream": "farm.run.remade",
    "CampaignRuns": "farm.store.campaign_runs",
    "Comparison": "farm.comparing.comparison",
    "Guard": "farm.guard",
    "Readouts": "farm.store.readouts",
    "Testbed": "farm.run.testbed",
    "compare": "farm.comparing.comparison",
    "load": "farm.comparing.loading",
    "judge": "farm.judging.frames",
}

__all__ = ["CampaignRuns", "Comparison", "Guard", "Readouts", "Testbed", "compare", "judge", "load"]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'farm' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
