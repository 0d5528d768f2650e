"""Cells computed in this process: a new one takes seconds to start, and is what few tests are about."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import Any

from farm.campaign.jobs import Job, News, Outcome, log_path
from farm.campaign.worker import KEPT, Worker
from farm.run.loading import importable
from farm.run.shared import Recent

ONE_AT_A_TIME = threading.Lock()
"""Threads of torch, modules and standard output are the whole process's."""


class Inside(Worker):
    """Stands for a supervisor: what its process does is done here, by the same code, and nobody watches."""

    def __init__(self, threads: int = 1) -> None:
        self._compute, self._record = "farm.campaign.cell:compute", None
        self._kept = Recent(KEPT)

    def run(self, job: Job, news: Callable[[News], None]) -> Outcome:
        """Compute a cell from what a process would be told; whatever is printed goes to its log."""
        job = Job.from_json(json.loads(json.dumps(asdict(job))))
        self._channel = Heard()
        with (
            ONE_AT_A_TIME,
            log_path(job).open("a", encoding="utf-8") as log,
            redirect_stdout(log),
            redirect_stderr(log),
            importable(Path(job.home)),
        ):
            outcome = self._outcome(job)
        for one in self._channel.news:
            news(one)
        return Outcome(**json.loads(json.dumps(asdict(outcome))))

    def cancel(self) -> None:
        """Do nothing: what is under way ends soon."""

    def close(self) -> None:
        """Do nothing: there is no process."""


class Heard:
    """Keeps news until the cell is over, since whoever hears them may print."""

    def __init__(self) -> None:
        self.news: list[News] = []

    def tell(self, values: dict[str, Any]) -> None:
        """Take news as they would be written."""
        self.news.append(News(**json.loads(json.dumps(values))["news"]))

    def end_with_input(self, on: bool) -> None:
        """Do nothing: there is no input."""
