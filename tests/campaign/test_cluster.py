"""Cells on a Dask cluster: a scheduler and workers in processes of their own, some of which are killed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="needs the extra `cluster`: pip install 'farm-testbed[cluster]'")

import dask
import distributed

from farm.campaign import cluster, cluster_connection, cluster_worker
from farm.campaign.cluster import ClusterExecutor
from farm.campaign.cluster_worker import Crew
from farm.campaign.jobs import Job, News, Outcome
from farm.campaign.supervisor import Interrupted
from farm.errors import DataError, Failure, FarmError, ParameterError, RequirementError, UnknownNameError
from tests.wording import refused, same_text

COMPUTE = "writing:compute"
SOON = 120.0
"""Seconds within which anything happens, however busy the machine is."""
HERE = Path(__file__).parent
ROOT = HERE.parent.parent


class Recording(distributed.LocalCluster):
    """A cluster that remembers how often it was asked for workers."""

    asked: list[int] = []  # noqa: RUF012 - all of them write here

    def scale(self, n: int = 0, *more: Any, **others: Any) -> Any:
        """Ask for workers."""
        self.asked.append(n)
        return super().scale(n, *more, **others)


class Lingering(distributed.LocalCluster):
    """A cluster that ends, and says that it did not."""

    error: Exception

    def close(self, timeout: float | None = None) -> None:
        """End."""
        super().close(timeout)
        if self.status == distributed.Status.closed:
            raise self.error


class Refusing:
    """A cluster that lacks what it needs."""

    def __init__(self, n_workers: int) -> None:
        raise ValueError(f"say how many cores,\nnot {n_workers}")


@pytest.fixture(autouse=True, scope="module")
def importable() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{HERE}{os.pathsep}{ROOT}")
        yield


@contextmanager
def started(
    name: str, *arguments: str, cwd: Path | None = None, **environment: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Have a process of Dask's, and end it whatever happens."""
    process = subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.dask_{name}", "--no-dashboard", *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(SOON)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dask")


@pytest.fixture(scope="module")
def scheduler(folder: Path, importable: None) -> Iterator[Path]:
    """Give a scheduler's file; it has two workers, one of them with a nanny."""
    file = folder / "scheduler.json"
    with ExitStack() as stack:
        stack.enter_context(started("scheduler", "--port", "0", "--scheduler-file", str(file)))
        for nanny in ("--nanny", "--no-nanny"):
            stack.enter_context(worker(file, folder, nanny))
        wait_until(lambda: file.is_file() and file.read_text().endswith("}"))
        with distributed.Client(address_of(file), set_as_default=False) as client:
            client.wait_for_workers(2, timeout=SOON)
        yield file


def worker(file: Path, folder: Path, *arguments: str, **more: Any) -> Any:
    """Have a worker of one thread."""
    fixed = ("--scheduler-file", str(file), "--nthreads", "1", "--local-directory", str(folder))
    return started("worker", *fixed, *arguments, **more)


def address_of(file: Path) -> str:
    return str(json.loads(file.read_text())["address"])


def wait_until(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + SOON
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def make_job(tmp_path: Path) -> Callable[..., Job]:
    def make(cell: str, does: str = "write", **more: Any) -> Job:
        return Job(
            cell=cell,
            title=f"title of {cell}",
            label={"cell": cell},
            target=f"{cell}-k",
            folder=str(tmp_path),
            home=str(tmp_path),
            experiment={"does": does, **more},
            keys={},
            compute=(),
        )

    return make


class Told:
    """Takes down news and outcomes; says after some of them that no more are wanted."""

    def __init__(self, until: str = "") -> None:
        self.news: list[News] = []
        self.outcomes: dict[str, Outcome] = {}
        self.threads: set[int] = set()
        self._until = until

    def hear(self, news: News) -> None:
        self.threads.add(threading.get_ident())
        assert news.cell not in self.outcomes, "news of a cell that is over"
        self.news.append(news)

    def done(self, outcome: Outcome) -> bool:
        self.threads.add(threading.get_ident())
        assert outcome.cell not in self.outcomes, "a second outcome"
        self.outcomes[outcome.cell] = outcome
        return outcome.cell != self._until


def run(executor: ClusterExecutor, jobs: Sequence[Job], told: Told | None = None) -> Told:
    told = told or Told()
    executor.run(jobs, told.hear, told.done)
    return told


def check_whole(folder: Path, cells: Sequence[str]) -> None:
    """Check that these cells are there, whole, and that nothing else is."""
    assert {path.name for path in (folder / "cells").iterdir()} == {f"{cell}-k" for cell in cells}
    for cell in cells:
        assert (folder / "cells" / f"{cell}-k" / "cell").read_text() == cell * 1000


def tries(folder: Path, cell: str) -> list[list[int]]:
    """Give which Dask worker, and which process of it, took a cell up."""
    return [[int(n) for n in path.name.split("-")] for path in (folder / "tries" / cell).iterdir()]


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_cells_are_computed_by_both_workers_and_told_of(
    scheduler: Path, make_job: Callable[..., Job], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cells = [f"c{place}" for place in range(16)]
    with closing(ClusterExecutor(str(scheduler), threads=3, compute=COMPUTE)) as executor:
        assert executor.workers == 2
        of_another = {"run": "another campaign's", "cell": "c0", "at": "begun"}
        told = Told()

        def hear(news: News) -> None:
            told.hear(news)
            if len(told.news) == 1:
                executor._connection.client.log_event(cluster_worker.TOPIC, of_another)

        executor.run([make_job(cell, seconds=0.2) for cell in cells], hear, told.done)
        assert list((tmp_path / "logs").glob(".*")) == []  # what was written for the workers to see
        run(executor, [])
        again = run(executor, [make_job("c0")])
    check_whole(tmp_path, cells)
    assert sorted(told.outcomes) == sorted(cells)
    assert {(one.state, one.reason) for one in told.outcomes.values()} == {("done", "3")}
    assert told.threads == {threading.get_ident()}
    for cell in cells:
        of_cell = [one for one in told.news if one.cell == cell]
        assert of_cell[0] == News(cell, "starting")
        assert of_cell.count(of_cell[0]) == 1
        assert of_cell[1] == News(cell, "stepping", 0, 5)
        assert of_cell[-1] == News(cell, "stepping", 5, 5)
    # Each worker keeps its process from cell to cell, and from one run to the next.
    pairs = {(one.nbytes, one.instances) for one in told.outcomes.values()}
    assert len(pairs) == len({worker for worker, _ in pairs}) == 2
    assert (again.outcomes["c0"].nbytes, again.outcomes["c0"].instances) in pairs
    order = (tmp_path / "order").read_text().split()[: len(cells)]
    for place, cell in enumerate(cells):
        assert abs(order.index(cell) - place) <= 4  # a wish, for the sake of what cells share
    assert capfd.readouterr() == ("", "")


def test_how_a_cell_ended_is_told(scheduler: Path, make_job: Callable[..., Job], tmp_path: Path) -> None:
    with closing(ClusterExecutor(address_of(scheduler), compute=COMPUTE)) as executor:
        told = run(executor, [make_job(does, does) for does in ("fail", "kill-once", "storage", "full")])
    states = {cell: (one.state, one.reason) for cell, one in told.outcomes.items()}
    assert states == {
        "fail": ("failed", "the labels are wrong"),
        "kill-once": ("done", "1"),
        "storage": ("storage", "the disk is gone"),
        "full": ("storage", "OSError: [Errno 28] No space left on device"),
    }
    (note,) = [one.note for one in told.news if one.note]
    same_text(note)
    assert len(tries(tmp_path, "kill-once")) == 2
    check_whole(tmp_path, ["kill-once"])


def test_a_worker_that_is_killed_is_survived(
    scheduler: Path, folder: Path, make_job: Callable[..., Job], tmp_path: Path
) -> None:
    cells = [f"c{place}" for place in range(9)]
    with (
        worker(scheduler, folder, "--no-nanny") as doomed,
        closing(ClusterExecutor(str(scheduler), compute=COMPUTE)) as executor,
    ):
        wait_until(lambda: executor.workers == 3)

        def of_doomed() -> list[int]:
            found = [one for path in tmp_path.glob("tries/*") for one in tries(tmp_path, path.name)]
            return [process for parent, process in found if parent == doomed.pid]

        def kill() -> None:
            try:
                wait_until(of_doomed)
                doomed.kill()
                wait_until(lambda: is_gone(of_doomed()[0]))  # it leaves no process behind
            finally:
                (tmp_path / "go").touch()

        killer = threading.Thread(target=kill)
        killer.start()
        told = run(executor, [make_job(cell, "wait") for cell in cells])
        killer.join(SOON)
    assert {cell: one.state for cell, one in told.outcomes.items()} == dict.fromkeys(cells, "done")
    check_whole(tmp_path, cells)
    assert doomed.pid not in {one.nbytes for one in told.outcomes.values()}
    (twice,) = [cell for cell in cells if len(tries(tmp_path, cell)) == 2]
    assert told.news.count(News(twice, "starting")) == 2


def test_no_more_is_begun_once_no_more_is_wanted(
    scheduler: Path, make_job: Callable[..., Job], tmp_path: Path
) -> None:
    jobs = [make_job("bad", "storage-later"), *(make_job(f"c{place}", seconds=1) for place in range(20))]
    with closing(ClusterExecutor(str(scheduler), compute=COMPUTE)) as executor:
        told = run(executor, jobs, Told(until="bad"))
        rest = run(executor, [make_job("next")])
    assert told.outcomes["bad"].state == "storage"
    finished = sorted(set(told.outcomes) - {"bad"})
    begun = {one.cell for one in told.news if one.doing == "starting"}
    assert 2 <= len(begun) <= 3  # the worker of the bad one may have been quick to begin the next
    assert begun == set(told.outcomes)  # what was under way was let finish
    assert rest.outcomes["next"].state == "done"
    check_whole(tmp_path, [*finished, "next"])
    assert len((tmp_path / "order").read_text().split()) <= 5


@pytest.mark.parametrize("breaks", ["news", "done"])
def test_an_interrupt_ends_all_work(
    scheduler: Path,
    make_job: Callable[..., Job],
    tmp_path: Path,
    breaks: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster, "LEAVING", 10 * SOON)  # workers say that they left; time need not tell
    told = Told()

    def hear(news: News) -> None:
        told.hear(news)
        if breaks == "news" and {one.note for one in told.news} >= {"hanging"}:
            raise KeyboardInterrupt

    def done(outcome: Outcome) -> bool:
        told.done(outcome)
        raise KeyboardInterrupt

    jobs = [make_job("first")] * (breaks == "done") + [make_job(f"h{n}", "hang") for n in range(5)]
    with closing(ClusterExecutor(str(scheduler), compute=COMPUTE)) as executor, ThreadPoolExecutor() as pool:
        with pytest.raises(KeyboardInterrupt):
            pool.submit(executor.run, jobs, hear, done).result(SOON)
        hung = [pid for path in tmp_path.glob("tries/h*") for _, pid in tries(tmp_path, path.name)]
        assert hung or breaks == "done"
        wait_until(lambda: all(map(is_gone, hung)))
        after = run(executor, [make_job("after")])  # the workers are free again
        assert after.outcomes["after"].state == "done"


COORDINATOR = """
import sys
from farm.campaign.cluster import ClusterExecutor
from farm.campaign.jobs import Job
import json
executor = ClusterExecutor(sys.argv[1], compute="writing:compute")
job = Job.from_json(json.loads(sys.argv[2]))
executor.run([job], lambda news: print(news.note, flush=True), bool)
"""


def test_a_campaign_that_is_killed_leaves_no_process_behind(
    scheduler: Path, make_job: Callable[..., Job], tmp_path: Path
) -> None:
    job = json.dumps(asdict(make_job("c0", "hang")))
    command = [sys.executable, "-c", COORDINATOR, str(scheduler), job]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as coordinator:
        try:
            assert coordinator.stdout is not None
            assert [coordinator.stdout.readline() for _ in range(2)] == ["\n", "hanging\n"]
        finally:
            coordinator.kill()
    ((_, pid),) = tries(tmp_path, "c0")
    wait_until(lambda: is_gone(pid))


def test_a_worker_that_does_not_see_the_folder(
    scheduler: Path, make_job: Callable[..., Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token is written elsewhere, as with a folder that is not on a shared file system."""
    real = Path.write_text

    def elsewhere(path: Path, data: str, *rest: Any, **more: Any) -> int:
        return real(
            path, data + "of another machine" if path.name == ".cluster-token" else data, *rest, **more
        )

    with closing(ClusterExecutor(str(scheduler), compute=COMPUTE)) as executor:
        monkeypatch.setattr(Path, "write_text", elsewhere)
        with pytest.raises(RequirementError) as caught:
            run(executor, [make_job("c0"), make_job("c1")])
    same_text(str(caught.value))
    file = tmp_path / "logs" / ".cluster-token"
    assert f" on {socket.gethostname()} does not see the campaign's folder: {file} (it holds" in str(
        caught.value
    )
    assert not (tmp_path / "tries").exists()
    assert not file.exists()


def test_a_worker_with_other_versions(
    scheduler: Path, make_job: Callable[..., Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = cluster.versions()
    monkeypatch.setattr(cluster, "versions", lambda: {**here, "torch": "1.0", "gone": "2.0", "python": "2.7"})
    with (
        closing(ClusterExecutor(str(scheduler), compute=COMPUTE)) as executor,
        refused(RequirementError) as caught,
    ):
        run(executor, [make_job("c0")])
    told = (
        f"has python {here['python']} (not 2.7), torch {here['torch']} (not 1.0), gone not at all (not 2.0); "
    )
    assert told in str(caught.value)
    assert not (tmp_path / "tries").exists()


def test_a_worker_without_our_code(make_job: Callable[..., Job], tmp_path: Path) -> None:
    (tmp_path / "farm").mkdir()
    (tmp_path / "farm" / "__init__.py").touch()
    file = tmp_path / "scheduler.json"
    bare = {"cwd": tmp_path, "PYTHONPATH": str(tmp_path)}
    with ExitStack() as stack:
        stack.enter_context(started("scheduler", "--port", "0", "--scheduler-file", str(file), **bare))
        stack.enter_context(worker(file, tmp_path, "--no-nanny", **bare))
        executor = stack.enter_context(closing(ClusterExecutor(str(file), compute=COMPUTE)))
        with refused(RequirementError) as caught:
            run(executor, [make_job("c0")])
    assert "\n" not in str(caught.value)


def test_a_scheduler_that_is_killed(
    make_job: Callable[..., Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "UNUSUAL", 0.0)
    told = Told()
    file = tmp_path / "scheduler.json"
    with ExitStack() as stack:
        process = stack.enter_context(started("scheduler", "--port", "0", "--scheduler-file", str(file)))
        executor = stack.enter_context(closing(ClusterExecutor(str(file), compute=COMPUTE)))

        def hear(news: News) -> None:
            told.hear(news)
            process.kill()

        with refused(Failure):
            executor.run([make_job("c0"), make_job("c1")], hear, told.done)
    waiting = f"waiting for a Dask worker; what Dask says of it would be in {tmp_path}/logs/dask.log"
    assert told.news == [News("c0", note=waiting)]
    assert told.outcomes == {}


def test_a_cluster_by_its_name(
    make_job: Callable[..., Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made with what its configuration says, asked again for workers that it lost, and ended."""
    monkeypatch.setattr(cluster, "RESCALE", 0.0)
    monkeypatch.setattr(Recording, "asked", [])
    mine = {
        "class": f"{__name__}.Recording",
        "n-workers": 1,
        "threads-per-worker": 1,
        "dashboard-address": ":0",
        "processes": False,
    }
    with dask.config.set({"farm.clusters": {"at_home": mine}}):
        with closing(ClusterExecutor("at-home", 2, compute=COMPUTE)) as executor:
            assert executor.workers == 2
            cells = ["c0", "c1", "c2", "c3"]
            told = run(executor, [make_job(cell, seconds=0.4) for cell in cells])
            wait_until(lambda: len(executor._connection.client.nthreads()) == 2)
            made = executor._connection.cluster
        check_whole(tmp_path, cells)
        processes = {one.instances for one in told.outcomes.values()}
        wait_until(lambda: all(map(is_gone, processes)))
        assert made.status == distributed.Status.closed
        assert Recording.asked[:3] == [2, 2, 2]


def test_a_cell_that_its_workers_do_not_survive(make_job: Callable[..., Job], tmp_path: Path) -> None:
    """Dask blames whatever waits on a worker that dies, too, and here at once; we do not."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        closing(ClusterExecutor("local", 1, compute=COMPUTE)) as executor,
    ):
        told = run(executor, [make_job("bad", "kill-worker"), make_job("good")])
    assert told.outcomes["good"].state == "done"
    check_whole(tmp_path, ["good"])
    assert told.outcomes["bad"].state == "crashed"
    reason = told.outcomes["bad"].reason
    same_text(reason)
    assert 3 <= len(tries(tmp_path, "bad")) <= 4  # a worker that dies in a moment may not tell that it began
    same_text((tmp_path / "logs" / "dask.log").read_text())


def test_a_cluster_that_cannot_be_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lingering, "error", OSError("scancel is not there"), raising=False)
    mine = {"class": f"{__name__}.Lingering", "n_workers": 1, "processes": False, "dashboard_address": ":0"}
    with dask.config.set({"farm.clusters": {"mine": mine}}):
        executor = ClusterExecutor("mine", compute=COMPUTE)
        with refused(Failure):
            executor.close()
        monkeypatch.setattr(Lingering, "error", AssertionError("Status.created"))
        ClusterExecutor("mine", compute=COMPUTE).close()  # what Dask says of a worker that never was


WRONG = [
    (
        "slrum",
        2,
        UnknownNameError,
        "no farm.clusters.slrum; did you mean 'slurm'?; expected a name, an address",
    ),
    ("mein", 2, UnknownNameError, "no farm.clusters.mein; did you mean 'mine'?"),
    (
        "slurm",
        None,
        ParameterError,
        "--cluster slurm needs --workers N, at least 1: how many workers to start",
    ),
    ("mine", 0, ParameterError, "--cluster mine needs --workers N, at least 1, not 0"),
    ("mine", None, ParameterError, "--cluster mine needs --workers N, at least 1, not many"),
    ("slurm", 2, RequirementError, "cannot import dask_jobqueue.SLURMCluster (ModuleNotFoundError"),
    ("slurm", 2, RequirementError, "try: pip install dask-jobqueue"),
    ("kubernetes", 2, RequirementError, "try: pip install dask-kubernetes"),
    ("kubernetes", None, ParameterError, "--cluster kubernetes needs --workers"),
    ("mine", 2, RequirementError, "cannot import distributed.NoCluster (AttributeError"),
    ("mine", 2, RequirementError, "see farm.clusters.mine in Dask's configuration"),
    ("short", 2, RequirementError, "cannot import .NoCluster (ValueError"),
    (
        "odd",
        2,
        RequirementError,
        "test_cluster.Refusing cannot be started: ValueError: say how many cores, not 1",
    ),
    ("none", 2, ParameterError, "farm.clusters.none in Dask's configuration has no 'class'"),
    ("flat", 2, ParameterError, "farm.clusters.flat in Dask's configuration has no 'class'"),
    ("tcp://127.0.0.1:9", 2, ParameterError, "--workers is 2, but the workers of a running Dask cluster"),
    ("there.json", None, DataError, "there.json is not there; expected a JSON file"),
    ("bare.json", None, ParameterError, "it holds no 'address'; expected what `dask scheduler"),
    ("foo://host:1", None, RequirementError, "unknown address scheme 'foo'"),
    ("tls://host:1", None, RequirementError, "perhaps check your TLS configuration?"),
]


@pytest.mark.parametrize(("where", "workers", "kind", "told"), WRONG)
def test_a_cluster_that_cannot_be_had(
    where: str,
    workers: int | None,
    kind: type[FarmError],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clusters = {
        "mine": {"class": "distributed.NoCluster", "n_workers": "many"},
        "odd": {"class": f"{__name__}.Refusing", "n-workers": 1},
        "short": {"class": "NoCluster"},
        "none": {"n_workers": 1},
        "flat": "distributed.LocalCluster",
    }
    (tmp_path / "bare.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cluster_connection, "TIMEOUT", 0.5)
    with dask.config.set({"farm.clusters": clusters}), pytest.raises(kind) as caught:
        ClusterExecutor(where, workers)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_clusters_that_are_configured_as_what_they_are_not() -> None:
    with (
        dask.config.set({"farm.clusters": ["mine"]}),
        refused(ParameterError),
    ):
        ClusterExecutor("mine", 2)
    with (
        dask.config.set({"kubernetes.count.start": 3}),
        refused(RequirementError),  # so --workers is not asked for
    ):
        ClusterExecutor("kubernetes")


def test_where_no_scheduler_answers(monkeypatch: pytest.MonkeyPatch, scheduler: Path) -> None:
    monkeypatch.setattr(cluster_connection, "TIMEOUT", 2.0)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        quiet = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with refused(RequirementError):
            ClusterExecutor(quiet)
    # Dask tries again until its time is over, which on a busy machine may be in the middle of a try.
    with refused(RequirementError):
        ClusterExecutor(quiet)
    with distributed.Client(address_of(scheduler), set_as_default=False) as client:
        (one, *_) = client.nthreads()
    monkeypatch.setattr(cluster_connection, "TIMEOUT", SOON)
    with refused(RequirementError):
        ClusterExecutor(one)


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(RequirementError) as caught:
        ClusterExecutor("tcp://127.0.0.1:8786")
    same_text(str(caught.value))


def test_nothing_of_dask_is_loaded_before_it_is_needed() -> None:
    code = (
        "import sys, farm.campaign.cluster; "
        "print([m for m in ('dask', 'distributed', 'torch', 'pandas', 'pydantic') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


class FakeSupervisor:
    """Remembers what was done to it."""

    def __init__(self, threads: int, compute: str) -> None:
        self.kind = (threads, compute)
        self.cancelled = self.closed = False

    def cancel(self) -> None:
        self.cancelled = True

    def close(self) -> None:
        self.closed = True


def test_a_crew_keeps_its_supervisors() -> None:
    crew = Crew(FakeSupervisor)  # type: ignore[arg-type]
    with (
        crew.supervisor("farm-cell-1", 1, "a:b") as first,
        crew.supervisor("farm-cell-2", 1, "a:b") as second,
    ):
        assert first is not second
    with crew.supervisor("farm-cell-3", 1, "a:b") as third:
        assert third is first  # what was given back last
        with crew.supervisor("farm-cell-4", 2, "a:b") as other:
            assert other is not second
            assert other.kind == (2, "a:b")
    with refused(ValueError), crew.supervisor("farm-cell-5", 2, "a:b") as fifth:
        raise ValueError("it broke")
    assert fifth is other
    assert fifth.closed  # it may be in any state
    with crew.supervisor("farm-cell-6", 1, "a:b") as sixth:
        crew.teardown(None)
        assert second.closed
        assert sixth.cancelled
    assert sixth.closed


def test_a_crew_is_told_what_was_cancelled() -> None:
    crew = Crew(FakeSupervisor)  # type: ignore[arg-type]
    with crew.supervisor("farm-cell-1", 1, "a:b") as mine, crew.supervisor("farm-cell-2", 1, "a:b") as other:
        crew.transition("farm-cell-1", "ready", "executing")
        crew.transition("farm-cell-1", "waiting", "released")
        crew.transition(("of", "others"), "executing", "released")
        assert not mine.cancelled
        crew.transition("farm-cell-1", "executing", "released")
        assert (mine.cancelled, other.cancelled) == (True, False)
    assert (mine.closed, other.closed) == (True, False)
    crew.transition("farm-cell-3", "executing", "released")  # before it has a supervisor
    with pytest.raises(Interrupted), crew.supervisor("farm-cell-3", 1, "a:b"):
        pass
    with crew.supervisor("farm-cell-3", 1, "a:b") as third:  # given out again
        crew.teardown(None)
        assert third.cancelled
    assert third.closed
    assert other.closed
    with pytest.raises(Interrupted), crew.supervisor("farm-cell-4", 1, "a:b"):
        pass
