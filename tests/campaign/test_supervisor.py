"""Cells in processes of their own: whatever a monitor does to its process, the rest goes on."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path

import psutil
import pytest

from farm.campaign.jobs import Job, Limits
from farm.campaign.supervisor import Interrupted, Supervisor
from tests.wording import refused, same_text

COMPUTE = "computing:compute"
SOON = 120.0
"""Seconds within which anything happens, however busy the machine is."""
LINUX = sys.platform.startswith("linux")
linux = pytest.mark.skipif(not LINUX, reason="needs what only Linux has")


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # else C code's output is not buffered either


@pytest.fixture
def supervisor():
    with closing(Supervisor(compute=COMPUTE)) as supervisor:
        yield supervisor


@pytest.fixture
def make_job(tmp_path):
    def make(*, cell="c0", seconds=None, memory=None, **monitors):
        return Job(
            cell=cell,
            title=f"title of {cell}",
            label={"cell": cell},
            target=f"{cell}-k",
            folder=str(tmp_path),
            home=str(tmp_path),
            experiment={"monitors": monitors},
            keys={name: "key" for name in monitors if name != "nobody"},
            compute=tuple(monitors),
            limits=Limits(seconds, memory),
        )

    return make


def run(supervisor, job):
    """Run a job; give its outcome, the news and the log."""
    news = []
    outcome = supervisor.run(job, news.append)
    assert outcome.cell == job.cell
    return outcome, news, Path(job.folder, "logs", f"{job.cell}.log").read_text()


def resident_bytes(pid):
    try:
        return psutil.Process(pid).memory_info().rss
    except psutil.NoSuchProcess:
        return 0


def notes(news):
    return [one.note for one in news if one.note]


def wait_until(happened):
    deadline = time.monotonic() + SOON
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_free(path):
    """Say whether nobody holds the lock that `hold_file` took."""
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def test_cells_are_computed_one_after_the_other_in_one_process(supervisor, make_job):
    first, news, log = run(supervisor, make_job(cell="c1", a="keep"))
    second, _, _ = run(supervisor, make_job(cell="c2", a="keep"))
    assert (first.state, first.failures, first.seconds, news) == ("done", {"own": "of the cell"}, 1.5, [])
    assert first.instances == second.instances != os.getpid()
    assert (first.reason, second.reason) == ("c1", "c1")  # what the first made was kept for the second
    assert re.search(r"^--- \d{4}-\d\d-\d\dT\S+ title of c1: cell c1 in process \d+$", log, re.MULTILINE)
    assert "c2" not in log


def test_what_is_printed_goes_to_the_log_alone(supervisor, make_job, capfd):
    outcome, news, log = run(supervisor, make_job(cell="c1", a="talk"))
    assert (outcome.state, news) == ("done", [])
    for said in ("of Python", "of its errors", "of the system", "of C", "of a child"):
        assert f"{said}\n" in log
    run(supervisor, make_job(cell="c2", a="nothing"))
    _, _, log = run(supervisor, make_job(cell="c1", a="nothing"))
    assert log.count("of Python") == 1  # a try is appended to those before
    assert log.count("--- done") == 2
    assert capfd.readouterr() == ("", "")


@linux
def test_a_log_that_cannot_be_written_fails_nothing(supervisor, make_job, tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "full.log").symlink_to("/dev/full")
    (tmp_path / "logs" / "none.log").mkdir()
    for cell in ("full", "none"):
        assert supervisor.run(make_job(cell=cell, a="say"), print).state == "done"


def test_how_a_cell_fails_is_told(supervisor, make_job):
    pids = set()
    for does, state, reason in [
        ("storage", "storage", "the disk is gone"),
        ("full", "storage", "OSError: [Errno 28] No space left on device"),
        ("data", "failed", "the labels are wrong"),
        ("value", "failed", "ValueError: seven is bad"),
        ("memory", "failed", "MemoryError: no more"),
        ("exit", "failed", "SystemExit: 0"),
    ]:
        outcome, _, log = run(supervisor, make_job(cell=does, a=does))
        assert (outcome.state, outcome.reason) == (state, reason)
        assert "Traceback" in log
        assert f"--- {state} {reason}\n" in log
        pids.add(run(supervisor, make_job(a="nothing"))[0].instances)
    assert len(pids) == 1  # the process lives on


def test_what_computes_must_be_there(make_job):
    with closing(Supervisor(compute="computing:nothing_of_this_name")) as supervisor:
        outcome, _, log = run(supervisor, make_job(a="nothing"))
    assert outcome.state == "failed"
    assert "nothing_of_this_name" in outcome.reason
    assert "Traceback" in log


def test_the_process_is_new_after_its_code_changed(make_job):
    with closing(Supervisor(compute="computing:changed")) as supervisor:
        first, second = (supervisor.run(make_job(a="nothing"), print) for _ in range(2))
    assert first.state == second.state == "changed"
    assert first.instances != second.instances


def test_monitors_that_hang_are_left_out(supervisor, make_job):
    job = make_job(seconds=1.0, good="nothing", bad="hang", stuck="spin")
    outcome, news, log = run(supervisor, job)
    assert outcome.state == "done"
    assert list(outcome.failures) == ["bad", "stuck", "own"]
    for name in ("bad", "stuck"):
        assert re.fullmatch(
            rf"monitor '{name}' did not come back: the cell passed its limit of 1\.0 s, of which it took "
            r"\d+(\.\d)? s in scoring",
            outcome.failures[name],
        )
        assert f"title of c0: {outcome.failures[name]}; the cell runs again without it" in notes(news)
        assert f"--- without '{name}': {outcome.failures[name]}" in log
    assert "in hang" in log  # where it hung
    assert "in spin" in log
    assert run(supervisor, make_job(cell="c1", bad="nothing"))[0].failures == {"own": "of the cell"}


def test_a_monitor_that_leaks_is_left_out(supervisor, make_job):
    outcome, _, _ = run(supervisor, make_job(memory=250_000_000, good="nothing", bad="leak", fine="nothing"))
    assert (outcome.state, list(outcome.failures)) == ("done", ["bad", "own"])
    assert re.fullmatch(
        r"monitor 'bad' took too much memory: the cell passed its memory limit of 250 MB, of which it took "
        r"(\d{3} MB|\d\.\d GB) in scoring",
        outcome.failures["bad"],
    )


@linux
@pytest.mark.parametrize("does", ["leak_in_child", "leak_in_session", "leak_in_grandchild"])
def test_a_monitor_whose_process_leaks_is_left_out(supervisor, make_job, tmp_path, does):
    """Also while another monitor is at work, which is blamed for nothing; what leaked is ended."""
    job = make_job(memory=300_000_000, good="nothing", bad=does, other="hang_beside")
    outcome, _, _ = run(supervisor, job)
    assert (outcome.state, list(outcome.failures)) == ("done", ["bad", "own"])
    assert re.fullmatch(
        r"monitor 'bad' took too much memory: the cell passed its memory limit of 300 MB, of which it took "
        r"\d{3} MB in scoring",
        outcome.failures["bad"],
    )
    if does != "leak_in_grandchild":
        child = int((tmp_path / "child").read_text())
        wait_until(lambda: not (resident_bytes(child)))


@linux
def test_what_a_process_shares_with_those_it_forked_counts_once(supervisor, make_job):
    empty = resident_bytes(run(supervisor, make_job(a="nothing"))[0].instances)
    limit = empty + 60_000_000 + 60_000_000
    outcome, news, _ = run(supervisor, make_job(memory=limit, a="share", b="nothing"))
    assert (outcome.state, outcome.failures, notes(news)) == ("done", {"own": "of the cell"}, [])


@linux
def test_processes_that_earlier_cells_left_are_nobodys_fault(supervisor, make_job):
    first = run(supervisor, make_job(cell="c1", a="keep_child"))[0]
    second, news, _ = run(supervisor, make_job(cell="c2", memory=200_000_000, a="nothing"))
    assert (second.state, second.failures, notes(news)) == ("done", {"own": "of the cell"}, [])
    assert second.instances != first.instances


def test_a_cell_that_hangs_by_itself_is_given_up(supervisor, make_job):
    job = make_job(seconds=1.0, fine="nothing", nobody="hang")
    outcome, _, log = run(supervisor, job)
    assert (outcome.state, outcome.failures) == ("over-time", {})
    same_text(outcome.reason)
    assert outcome.reason.endswith(f"see the end of {job.folder}/logs/c0.log")
    assert outcome.seconds > 1
    assert "in hang" in log
    assert run(supervisor, make_job(a="nothing"))[0].state == "done"


def test_a_cell_that_leaks_by_itself_is_given_up(supervisor, make_job):
    outcome, _, _ = run(supervisor, make_job(memory=200_000_000, fine="nothing", nobody="leak"))
    assert outcome.state == "over-memory"
    assert re.match(r"the cell passed its memory limit of 200 MB \(its process had \d+ MB", outcome.reason)


def test_what_earlier_cells_left_in_memory_is_nobodys_fault(supervisor, make_job):
    """What a cell may take does not depend on what its process has computed before."""
    first = run(supervisor, make_job(cell="c1", a="nothing"))[0]
    empty = resident_bytes(first.instances)
    limit = 2 * (empty + 60_000_000) + 6_000_000
    assert run(supervisor, make_job(cell="c2", a="take_60"))[0].instances == first.instances
    # Less than half of the limit is taken already, so the cell begins, passes it, and gets a new process.
    third, news, _ = run(supervisor, make_job(cell="c3", memory=limit, a="take_60", b="take_60"))
    assert (third.state, third.failures) == ("done", {"own": "of the cell"})
    assert third.instances != first.instances
    (note,) = notes(news)
    same_text(note)
    # More than half of it is: the next gets one at once.
    fourth, news, _ = run(supervisor, make_job(cell="c4", memory=limit, a="take_60"))
    assert (fourth.state, fourth.failures, notes(news)) == ("done", {"own": "of the cell"}, [])
    assert fourth.instances != third.instances


def test_a_process_that_is_killed_from_outside_is_survived(supervisor, make_job):
    outcome, news, log = run(supervisor, make_job(a="kill_once", b="nothing"))
    assert (outcome.state, outcome.failures) == ("done", {"own": "of the cell"})
    (note,) = notes(news)
    same_text(note)
    assert log.count("title of c0") == 2


@pytest.mark.parametrize(
    ("does", "how"),
    [
        ("kill", "ended by SIGKILL (as the system does where memory is short)"),
        ("segfault", "ended by SIGSEGV"),
        ("end", "ended with exit code 0"),
        ("leave_child", "ended with exit code 3"),
        ("rubbish", "wrote what is no message ('no message')"),
        ("close_all", "ended by closing its output"),
        ("close_and_return", "ended since files that it needs were closed"),
        ("close_printing", "ended since files that it needs were closed"),
        ("close_and_take", "ended since files that it needs were closed"),
    ],
)
def test_a_monitor_that_crashes_twice_is_left_out(supervisor, make_job, does, how):
    job = make_job(good="nothing", bad=does)
    outcome, news, log = run(supervisor, job)
    assert outcome.state == "done"
    assert list(outcome.failures) == ["bad", "own"]
    assert outcome.failures["bad"] == (
        f"monitor 'bad' was at work twice, in scoring, when the cell's process {how}; "
        f"see the end of {job.folder}/logs/c0.log"
    )
    assert len(notes(news)) == 2
    if does == "segfault":
        same_text(log)


def test_a_cell_that_crashes_with_one_monitor_and_then_another_is_given_up(supervisor, make_job):
    outcome, _, _ = run(supervisor, make_job(later="kill_later", once="kill_once"))
    assert (outcome.state, outcome.failures) == ("crashed", {})
    same_text(outcome.reason)


def test_a_cell_that_crashes_by_itself_is_given_up(supervisor, make_job):
    outcome, news, _ = run(supervisor, make_job(a="nothing", nobody="segfault"))
    assert (outcome.state, outcome.failures, len(notes(news))) == ("crashed", {}, 1)
    same_text(outcome.reason)


def test_an_interpreter_that_is_not_there_or_does_nothing(make_job, tmp_path):
    with closing(Supervisor(python=str(tmp_path / "python"), compute=COMPUTE)) as supervisor:
        outcome = supervisor.run(make_job(a="nothing"), print)
    assert outcome.state == "storage"
    same_text(outcome.reason)
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no libraries >&2\nexit 7\n")
    python.chmod(0o755)
    with closing(Supervisor(python=str(python), compute=COMPUTE)) as supervisor:
        outcome, _, log = run(supervisor, make_job(a="nothing"))
    assert outcome.state == "crashed"
    assert "exit code 7" in outcome.reason
    assert log == "no libraries\n" * 2


def test_news_come_neither_too_often_nor_too_late(supervisor, make_job):
    outcome, news, _ = run(supervisor, make_job(a="loop"))
    steps = [one for one in news if one.doing == "stepping"]
    assert {one.cell for one in news} == {"c0"}
    assert {one.total for one in steps} == {300}
    at = [one.at for one in steps]
    assert (at[0], at[-1]) == (0, 300)
    assert at == sorted(set(at))
    assert 4 <= len(at) <= 2 + float(outcome.reason) / 0.2
    assert [(one.at, one.total) for one in news if one.doing == "quick"] == [(0, None), (2, None)]


@pytest.mark.parametrize("how", ["cancel", "raise"])
def test_a_cell_can_be_interrupted(supervisor, make_job, tmp_path, how):
    hanging = threading.Event()

    def listen(news):
        hanging.set()
        if how == "raise":
            raise KeyboardInterrupt

    job = make_job(seconds=2 * SOON, held="hold_file", a="hang")
    with ThreadPoolExecutor() as pool:
        running = pool.submit(supervisor.run, job, listen)
        assert hanging.wait(SOON)
        if how == "cancel":
            supervisor.cancel()
            with refused(Interrupted):
                running.result(SOON)
            with pytest.raises(Interrupted):
                supervisor.run(make_job(a="nothing"), print)
        else:
            with pytest.raises(KeyboardInterrupt):
                running.result(SOON)
    wait_until(lambda: is_free(tmp_path / "held"))  # the process and its child are gone


def test_ctrl_c_does_not_reach_the_process(supervisor, make_job):
    def listen(news):
        if news.at == 0 and news.doing == "stepping":
            group = os.getpgid(pid)
            assert group != os.getpgid(0)
            os.killpg(group, signal.SIGINT)

    pid = run(supervisor, make_job(a="nothing"))[0].instances
    outcome = supervisor.run(make_job(a="loop"), listen)
    assert (outcome.state, outcome.instances) == ("done", pid)


def test_several_supervisors_in_threads(make_job):
    """One that hangs keeps nobody waiting, and none inherits what belongs to another."""

    def both(number):
        with closing(Supervisor(threads=number, compute=COMPUTE)) as supervisor:
            cell = f"c{number}"
            hung, _, _ = run(supervisor, make_job(cell=cell, seconds=1.0, bad="hang", a="threads"))
            seen, _, _ = run(supervisor, make_job(cell=cell, a="pipes" if LINUX else "nothing"))
            return list(hung.failures), hung.reason, seen.reason

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(both, range(1, 5)))
    assert [failures for failures, _, _ in found] == [["bad", "own"]] * 4
    assert [threads for _, threads, _ in found] == [",".join([str(n)] * 3) for n in range(1, 5)]
    assert {pipes for _, _, pipes in found} == {"2" if LINUX else ""}


COORDINATOR = """
import json, sys, time
from farm.campaign.jobs import Job
from farm.campaign.supervisor import Supervisor
job = Job.from_json(json.loads(sys.argv[1]))
Supervisor(compute="computing:compute").run(job, lambda news: print(news.note, flush=True))
print("idle", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("does", ["nothing", "hang", "spin", pytest.param("hold", marks=linux)])
def test_a_coordinator_that_is_killed_leaves_nobody_behind(make_job, tmp_path, does):
    """Neither the process, whatever it does, nor what a monitor started."""
    job = make_job(held="hold_file", a=does)
    command = [sys.executable, "-c", COORDINATOR, json.dumps(asdict(job))]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as coordinator:
        try:
            said = coordinator.stdout.readline().decode().strip()
            assert not is_free(tmp_path / "held")
        finally:
            coordinator.kill()
    wait_until(lambda: is_free(tmp_path / "held"))
    assert said == {"nothing": "idle", "hang": "hanging", "spin": "spinning", "hold": "holding"}[does]


@contextmanager
def started_worker(idle=60):
    run = f"from farm.campaign import worker; worker.IDLE = {idle}; worker.main()"
    command = [sys.executable, "-P", "-c", run, "--compute", COMPUTE]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as worker:
        try:
            yield worker
        finally:
            worker.kill()


def test_a_worker_speaks_in_lines_and_ends_with_its_input(make_job):
    """Without a record, and without a session of its own: as somebody would try it by hand."""
    with started_worker() as worker:
        for job in (make_job(a="nothing"), make_job(a="hang")):
            worker.stdin.write(json.dumps({"job": asdict(job)}).encode() + b"\n")
            worker.stdin.flush()
            told = json.loads(worker.stdout.readline())
            assert set(told) == ({"outcome"} if job.experiment["monitors"]["a"] == "nothing" else {"news"})
        assert told["news"]["note"] == "hanging"
        worker.stdin.close()
        worker.wait(SOON)
    with started_worker() as worker:
        worker.stdin.close()
        assert worker.wait(SOON) == 0


def test_a_worker_without_a_job_ends_after_a_while_and_another_one_takes_its_place(supervisor, make_job):
    with started_worker(idle=0.1) as worker:
        assert worker.wait(SOON) == 0
    first = run(supervisor, make_job(a="nothing"))[0].instances
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)  # its memory is gone before it has ended
    second, news, _ = run(supervisor, make_job(a="nothing"))
    assert (second.state, notes(news)) == ("done", [])
    assert second.instances != first


def test_loading_costs_little():
    """What a coordinator imports, and a process before it computes, has no torch and no tables in it."""
    code = (
        "import sys, farm.campaign.supervisor, farm.campaign.worker; "
        "print([m for m in ('torch', 'numpy', 'pandas', 'pydantic', 'rich') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"
