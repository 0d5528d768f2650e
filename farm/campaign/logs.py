"""A cell's log: what its process printed, and why it ended, try after try."""

from __future__ import annotations

import os
from pathlib import Path

from farm.campaign.jobs import Job


def log_path(job: Job) -> Path:
    """Say where a cell's log is."""
    return Path(job.folder) / "logs" / f"{job.cell}.log"


def open_log(job: Job) -> int:
    """Give a descriptor that appends to a cell's log; one that cannot be written is no reason to fail."""
    path = log_path(job)
    try:
        path.parent.mkdir(exist_ok=True)
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
