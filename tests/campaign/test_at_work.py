"""The record of who is at work: what one writes, another reads."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import closing

import pytest

from farm.campaign import at_work
from farm.campaign.at_work import WorkRecord, WorkRecorder
from farm.campaign.processes import TreeMemory

MONITORS = ["quick", "slow", "third"]


@pytest.fixture
def record():
    with closing(WorkRecord()) as record:
        record.clear(MONITORS)
        yield record


def writing(record, monitors=MONITORS):
    return closing(WorkRecorder(record.descriptor, monitors, record.started))


@pytest.fixture
def clock(monkeypatch):
    """Let a test say what time it is, and how much memory there is."""

    class Clock:
        now, resident, children = 1000.0, 50_000_000, ()

        def memory(self, **children):
            of = {int(name.removeprefix("p")): amount for name, amount in children.items()}
            return TreeMemory(self.resident, self.resident + sum(of.values()), of)

    clock = Clock()
    monkeypatch.setattr(at_work.time, "monotonic", lambda: clock.now)
    monkeypatch.setattr(at_work, "resident_bytes", lambda process: clock.resident)
    monkeypatch.setattr(at_work, "_own_children", lambda: set(clock.children))
    return clock


def call(writer, clock, monitor, seconds=0.01, growth=0, doing="scoring"):
    writer.begin(monitor, doing)
    clock.now += seconds
    clock.resident += growth
    writer.end()


def test_a_cell_begins_with_its_writer(record, clock):
    assert record.began is None
    with writing(record):
        clock.now += 5
        assert (record.began, record.resident_before) == (1000.0, 50_000_000)
        assert record.at_work() is None


def test_who_is_at_work(record, clock):
    with writing(record) as writer:
        writer.begin("third", "fitting")
        clock.now += 2
        taken = record.at_work()
        assert (taken.monitor, taken.doing, taken.amount) == ("third", "fitting", 2.0)
        writer.end()
        assert record.at_work() is None


def test_one_that_does_not_come_back_is_the_culprit(record, clock):
    with writing(record) as writer:
        call(writer, clock, "quick", 3)
        writer.begin("slow", "fitting")
        clock.now += 6
        culprit = record.most_time(limit=10, now=clock.now)
    assert (culprit.monitor, culprit.doing, culprit.amount, culprit.at_work) == ("slow", "fitting", 6.0, True)


def test_many_slow_calls_add_up(record, clock):
    with writing(record) as writer:
        for _ in range(6):
            call(writer, clock, "slow", 1)
            call(writer, clock, "quick", 0.5)
        assert record.most_time(limit=12, now=clock.now) is None  # half of it is not more than half
        writer.begin("slow", "scoring")
        clock.now += 0.1
        culprit = record.most_time(limit=12, now=clock.now)
    assert (culprit.monitor, culprit.at_work) == ("slow", False)
    assert culprit.amount == pytest.approx(6.1)


def test_time_outside_of_monitors_is_the_cells_own(record, clock):
    with writing(record) as writer:
        call(writer, clock, "slow", 4)
        clock.now += 6
        assert record.most_time(limit=10, now=clock.now) is None


def test_memory_is_counted_above_what_the_process_had(record, clock):
    with writing(record) as writer:
        call(writer, clock, "quick", growth=30)
        call(writer, clock, "slow", growth=100)
        clock.resident += 40
        culprit = record.most_memory(clock.memory())
        assert (culprit.monitor, culprit.amount, culprit.at_work) == ("slow", 100, False)
        clock.resident += 30
        assert record.most_memory(clock.memory()) is None  # 100 of 200
        writer.begin("third", "fitting")
        clock.resident += 500
        culprit = record.most_memory(clock.memory())
    assert (culprit.monitor, culprit.doing, culprit.amount, culprit.at_work) == (
        "third",
        "fitting",
        500,
        True,
    )


def test_short_calls_are_looked_at_now_and_then_and_those_stand_for_the_others(record, clock, monkeypatch):
    looks = []
    with writing(record) as writer:
        monkeypatch.setattr(at_work, "resident_bytes", lambda process: looks.append(1) or clock.resident)
        for _ in range(2000):
            call(writer, clock, "slow", seconds=0.0001, growth=1000)
            call(writer, clock, "quick", seconds=0.0001)
            clock.now += 0.0002
        culprit = record.most_memory(clock.memory())
    assert culprit.monitor == "slow"
    assert 0.8 * 2_000_000 < culprit.amount < 1.2 * 2_000_000
    assert len(looks) < 2 * 2000 / 5, "asking for memory takes longer than such a call"


def test_memory_that_is_given_back_does_not_count(record, clock):
    with writing(record) as writer:
        call(writer, clock, "slow", growth=1000)
        call(writer, clock, "slow", growth=-1000)
        assert record.most_memory(clock.memory()) is None
        clock.resident += 10
        assert record.most_memory(clock.memory()) is None


def start(clock, number):
    clock.children += (number,)


def test_what_a_process_takes_is_taken_by_whoever_started_it(record, clock):
    """Whenever it takes it: while others are at work, and long after its monitor came back."""
    start(clock, 7)
    with writing(record) as writer:
        call(writer, clock, "quick")
        writer.begin("slow", "fitting")
        start(clock, 8)
        clock.now += 1
        writer.end()
        start(clock, 9)  # by the cell itself, between two calls
        clock.now += 1
        writer.begin("third", "scoring")
        culprit = record.most_memory(clock.memory(p7=10, p8=100, p9=20))
        assert (culprit.monitor, culprit.doing, culprit.amount) == ("slow", "fitting", 100)
        assert record.most_memory(clock.memory(p7=10, p8=20, p9=100)) is None
        assert record.most_memory(clock.memory(p7=100, p8=20, p9=10)) is None
        start(clock, 10)  # not told of yet
        assert record.most_memory(clock.memory(p8=20, p10=100)).monitor == "third"
        writer.end()
        call(writer, clock, "quick")
        assert record.most_memory(clock.memory(p8=20, p10=100)).monitor == "third"


def test_what_a_monitor_and_its_processes_take_adds_up(record, clock):
    with writing(record) as writer:
        writer.begin("slow", "scoring")
        for number in (7, 8):
            start(clock, number)
        clock.resident += 30
        clock.now += 1
        writer.end()
        call(writer, clock, "quick", growth=50)
        culprit = record.most_memory(clock.memory(p7=20, p8=20))
        assert (culprit.monitor, culprit.amount) == ("slow", 70)
        clock.children = (8,)
        call(writer, clock, "quick")
        assert record.most_memory(clock.memory(p8=20)) is None


def test_very_many_processes_may_be_started(record, clock):
    with writing(record) as writer:
        writer.begin("slow", "scoring")
        for number in range(1, 1001):
            start(clock, number)
        clock.now += 1
        writer.end()
        assert record.most_memory(clock.memory(p1=100)).monitor == "slow"
        assert record.most_memory(clock.memory(p1000=100)).monitor == "slow"
        call(writer, clock, "quick", growth=1)
    assert record.most_memory(clock.memory(p1=100)).amount == 100


def test_a_name_that_is_none_of_the_cells_is_nobodys(record, clock):
    with writing(record) as writer:
        call(writer, clock, "stranger", 100, 100)
        assert record.most_time(limit=10, now=clock.now) is None
        writer.begin("stranger", "scoring")
        clock.now += 100
        assert record.at_work() is None
        assert record.most_time(limit=10, now=clock.now) is None


def test_the_cell_before_is_forgotten_and_there_may_be_many_monitors(record, clock):
    with writing(record) as writer:
        call(writer, clock, "slow", 100)
        writer.begin("quick", "scoring")
    many = [f"monitor {i}" for i in range(1000)]
    record.clear(many)
    assert (record.began, record.at_work(), record.most_time(10, clock.now)) == (None, None, None)
    with writing(record, many) as writer:
        call(writer, clock, "monitor 999", 9)
    assert record.most_time(10, clock.now).monitor == "monitor 999"
    record.clear([])
    with writing(record, []) as writer:
        call(writer, clock, "slow", 9)
    assert record.most_time(10, clock.now) is None


def test_what_nobody_has_a_word_for_is_work(record, clock):
    with writing(record) as writer:
        writer.begin("slow", "dreaming")
        assert record.at_work().doing == "working"


WRITING = """
import sys
from farm.campaign.at_work import WorkRecorder
writer = WorkRecorder(int(sys.argv[1]), ["quick", "slow", "third"], print)
writer.begin("quick", "scoring")
writer.end()
writer.begin("slow", "scoring")
kept = b"x" * 50_000_000
print("begun", flush=True)
sys.stdin.read()
"""


def test_another_process_writes_it_with_the_same_clock(record):
    """What a process wrote is there after it was killed, and its clock and memory are the real ones."""
    before = time.monotonic()
    command = [sys.executable, "-c", WRITING, str(record.descriptor)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[record.descriptor]
    ) as process:
        assert process.stdout.readline() == b"begun\n"
        after = time.monotonic()
        process.kill()
    assert before < record.began < after
    assert 1_000_000 < record.resident_before < 1_000_000_000
    assert record.at_work().monitor == "slow"
    culprit = record.most_time(limit=1000, now=after + 1000)
    assert (culprit.monitor, culprit.at_work) == ("slow", True)
    assert 1000 < culprit.amount < 1000 + after - before
    resident = record.resident_before + 50_000_000
    assert record.most_memory(TreeMemory(resident, resident)).monitor == "slow"


def test_own_memory_is_seen_to_grow(record):
    with writing(record) as writer:
        writer.begin("quick", "scoring")
        writer.end()
        writer.begin("slow", "scoring")
        taken = b"x" * 200_000_000
        writer.end()
        resident = record.resident_before + len(taken)
        culprit = record.most_memory(TreeMemory(resident, resident))
    assert culprit.monitor == "slow"
    assert culprit.amount == pytest.approx(2e8, rel=0.1)
