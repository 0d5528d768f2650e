"""farm-testbed: does this safety monitor make this image classifier safer?

The names below are loaded when they are first used, so that `import farm` costs nothing and readouts can be
judged where torch is not installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from farm.benchmark_set import StoredStream as StoredStream
    from farm.benchmark_set import write_benchmark as write_benchmark
    from farm.guard import Guard as Guard
    from farm.readouts import Readouts as Readouts
    from farm.testbed import Testbed as Testbed

_WHERE = {
    "Guard": "farm.guard",
    "Readouts": "farm.readouts",
    "StoredStream": "farm.benchmark_set",
    "Testbed": "farm.testbed",
    "write_benchmark": "farm.benchmark_set",
}

__all__ = ["Guard", "Readouts", "StoredStream", "Testbed", "write_benchmark"]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'farm' has no attribute '{name}'")
