"""Whether the code in memory is the code on disk."""

from __future__ import annotations

import os
import time
from pathlib import Path

from farm.identity.code import CodeDigest
from farm.identity.state import state_of


def _process_start() -> float:
    """Give when this process started, in seconds since 1970; where no system tells, that is now.

    The kernel counts in ticks. The end of its tick is taken: reading the first module comes later than that,
    and a file that was written just before the process was started is no newer.
    """
    try:
        fields = Path("/proc/self/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        since_boot = (int(fields[19]) + 1) / os.sysconf("SC_CLK_TCK")
        # Whoever is held up between the two clocks sees the boot too early; the latest is right.
        boot = max(time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) for _ in range(10))
    except (OSError, ValueError, IndexError, AttributeError):
        return time.time()
    return min(boot + since_boot, time.time())


STARTED = _process_start()
"""A process that was forked keeps its parent's: it has the parent's modules."""


def in_memory_is_current(code: CodeDigest) -> bool:
    """Say whether what this process has imported can only be this code.

    False where one of the files was written, replaced or removed since the process started: its modules may
    be older, and nothing that they make may be kept under the digest.

    Examples
    --------
    >>> from pathlib import Path
    >>> in_memory_is_current(CodeDigest("", (Path("was_removed.py"),), {}))
    False
    """
    states = [state_of(file) for file in code.files]
    return all(state is not None and state.newest <= STARTED * 1e9 for state in states)
