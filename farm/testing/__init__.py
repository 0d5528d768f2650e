"""What helps to test components, ours and other people's: checks of them, fakes with the real interface.

The checks load torch, which the fakes do without: they are imported when they are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from farm.testing.assertions import assert_monitor as assert_monitor
    from farm.testing.benchmark import Benchmark as Benchmark
    from farm.testing.fault_checks import FAULT_RULES as FAULT_RULES
    from farm.testing.fault_checks import check_faultload as check_faultload
    from farm.testing.fault_checks import check_faultloads as check_faultloads
    from farm.testing.made_readouts import make_readouts as make_readouts
    from farm.testing.monitor_checks import RULES as RULES
    from farm.testing.monitor_checks import check_monitor as check_monitor
    from farm.testing.monitor_checks import check_monitors as check_monitors
    from farm.testing.rules import CheckError as CheckError
    from farm.testing.rules import Finding as Finding
    from farm.testing.rules import Report as Report
    from farm.testing.small_system import SmallSystem as SmallSystem

HOMES = {
    "Benchmark": "benchmark",
    "FAULT_RULES": "fault_checks",
    "RULES": "monitor_checks",
    "assert_monitor": "assertions",
    "check_faultload": "fault_checks",
    "check_faultloads": "fault_checks",
    "check_monitor": "monitor_checks",
    "check_monitors": "monitor_checks",
    "make_readouts": "made_readouts",
    "Finding": "rules",
    "CheckError": "rules",
    "Report": "rules",
    "SmallSystem": "small_system",
}

__all__ = list(HOMES)


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
