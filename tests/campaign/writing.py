"""What stands for a cell's computing where a Dask cluster is tested: it writes a folder, and who was at it.

It is loaded in the process that computes, and so imports little.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from pathlib import Path

from farm.campaign.jobs import Job, Outcome
from farm.errors import DataError, StorageError
from farm.store.files import new_folder


def compute(job: Job, *, kept, progress, watch) -> Outcome:
    """Do what the experiment says; tell as instances which process did it, and as bytes which Dask worker."""
    folder = Path(job.folder)
    does = job.experiment["does"]
    tries = folder / "tries" / job.cell
    tries.mkdir(parents=True, exist_ok=True)
    (tries / f"{os.getppid()}-{os.getpid()}").touch()
    with (folder / "order").open("a") as order:
        order.write(f"{job.cell}\n")
    if does == "fail":
        raise DataError("the labels are wrong")
    while does == "storage-later" and len(list(tries.parent.iterdir())) < 2:
        time.sleep(0.02)
    if does.startswith("storage"):
        raise StorageError("the disk is gone")
    if does == "full":
        raise OSError(errno.ENOSPC, "No space left on device")
    if does == "kill-once" and len(list(tries.iterdir())) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if does == "kill-worker":
        time.sleep(0.3)
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)
    if does == "hang":
        progress.note("hanging")
        time.sleep(600)
    if does == "wait":
        while not (folder / "go").exists():
            time.sleep(0.02)
    for _ in progress.track(range(5), "stepping"):
        time.sleep(job.experiment.get("seconds", 0) / 5)
    target = folder / "cells" / job.target
    if not target.exists():
        with new_folder(target) as unfinished:
            (unfinished / "cell").write_text(job.cell * 1000)
    return Outcome(
        job.cell, "done", os.environ["OMP_NUM_THREADS"], instances=os.getpid(), nbytes=os.getppid()
    )


def nothing(job: Job, *, kept, progress, watch) -> Outcome:
    """Do nothing, to measure what all the rest costs."""
    return Outcome(job.cell, "done")
