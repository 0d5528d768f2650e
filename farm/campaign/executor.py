"""Who computes a campaign's cells: processes on this machine."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from farm.campaign.jobs import Job, News, Outcome
from farm.campaign.supervisor import Interrupted, Supervisor


class Executor(Protocol):
    """Computes jobs, somewhere."""

    @property
    def workers(self) -> int:
        """How many cells it computes at a time."""
        ...

    def run(self, jobs: Sequence[Job], news: Callable[[News], None], done: Callable[[Outcome], bool]) -> None:
        """Compute all jobs; `done` says of each outcome whether to go on.

        Both are called from one thread at a time. On an interrupt all work is ended before it is raised.
        """
        ...

    def close(self) -> None:
        """Give back what was taken."""
        ...


class LocalExecutor:
    """Processes on this machine, one supervisor each."""

    def __init__(self, workers: int, threads: int = 1) -> None:
        self.workers = workers
        self._threads = threads

    def run(self, jobs: Sequence[Job], news: Callable[[News], None], done: Callable[[Outcome], bool]) -> None:
        """Compute all jobs; each process stays with cells that share what it has in memory."""
        queue = _Groups(jobs)
        lock = threading.Lock()
        supervisors = [Supervisor(threads=self._threads) for _ in range(min(self.workers, len(jobs)))]
        broken: list[BaseException] = []

        def tell(one: News) -> None:
            with lock:
                news(one)

        def work(supervisor: Supervisor) -> None:
            group = ""
            try:
                while (job := queue.take(group)) is not None:
                    group = job.group
                    tell(News(job.cell, "starting"))
                    outcome = supervisor.run(job, tell)
                    with lock:
                        if not done(outcome):
                            queue.stop()
            except Interrupted:
                queue.stop()
            except BaseException as error:  # noqa: BLE001 - it is raised again where the campaign runs
                broken.append(error)
                queue.stop()
            finally:
                supervisor.close()

        threads = [threading.Thread(target=work, args=(one,), daemon=True) for one in supervisors]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.5)  # so that Ctrl-C comes through
        except BaseException:
            queue.stop()
            for one in supervisors:
                one.cancel()
            for thread in threads:
                thread.join()
            raise
        if broken:
            raise broken[0]

    def close(self) -> None:
        """Do nothing: its processes ended with the last `run`."""


class _Groups:
    """Hands jobs out so that workers begin in different groups, and stay in theirs as long as it lasts."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._lock = threading.Lock()
        self._groups: dict[str, deque[Job]] = {}
        for job in jobs:
            self._groups.setdefault(job.group, deque()).append(job)
        self._taken: dict[str, int] = dict.fromkeys(self._groups, 0)

    def take(self, latest: str) -> Job | None:
        """Give the next job for a worker whose latest was of this group; None where none is left."""
        with self._lock:
            if latest in self._taken:
                self._taken[latest] -= 1
            left = {group: jobs for group, jobs in self._groups.items() if jobs}
            if not left:
                return None
            # In campaign order: the own group, else the first that fewest others are at.
            group = latest if latest in left else min(left, key=lambda name: self._taken[name])
            self._taken[group] += 1
            return left[group].popleft()

    def stop(self) -> None:
        """Hand out nothing more."""
        with self._lock:
            self._groups.clear()
