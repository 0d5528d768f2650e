"""What a result was made with: versions, hardware, memory, the state of the code."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
from collections.abc import Iterable
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("farm-testbed", "torch", "numpy", "scikit-learn", "scipy", "pandas", "pyarrow", "pillow")
_COMMIT, _NONE_YET = "# branch.oid ", "(initial)"
"""How git begins the line with the commit, and what that says in a repository without any."""


def versions(packages: Iterable[str] = PACKAGES) -> dict[str, str | None]:
    """Return the version of Python and of each package; None where it is not installed."""
    from farm.registry import installed  # it brings pydantic, which not everybody needs who imports this

    known = {package: _version(package, installed()) for package in packages}
    return {"python": platform.python_version(), **known}


@lru_cache(maxsize=256)
def _version(package: str, records: object) -> str | None:
    """Read a version once for all runs of a process that find the same records of what is installed."""
    del records
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def hardware() -> dict[str, Any]:
    """Say what machine this is, as far as results or times depend on it."""
    return {
        "machine": platform.machine(),
        "system": platform.system(),
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def peak_memory_bytes() -> int:
    """Return the most memory that this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def git_commit(folder: Path) -> str | None:
    """Return the commit that a folder stands at, marked `+` where files were changed; None outside git."""
    command = ["git", "-C", str(folder), "status", "--porcelain=v2", "--branch", "--untracked-files=no"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return None
    commit = next((line.removeprefix(_COMMIT) for line in told if line.startswith(_COMMIT)), _NONE_YET)
    changed = any(not line.startswith("#") for line in told)
    return None if commit == _NONE_YET else commit + ("+" if changed else "")


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()
