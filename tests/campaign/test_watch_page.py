"""The page that says who is at work: what one writes, another reads."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from farm.campaign import watch_page
from farm.campaign.memory import Memory
from farm.campaign.watch_page import PageWriter, WatchPage
from tests.wording import refused

MONITORS = ["quick", "slow", "third"]


@pytest.fixture
def page():
    with WatchPage() as page:
        page.clear(MONITORS)
        yield page


@pytest.fixture
def clock(monkeypatch):
    """Let a test say what time it is, and how much memory there is."""

    class Clock:
        now, resident, children = 1000.0, 50_000_000, b""

        def memory(self, **children):
            of = {int(name.removeprefix("p")): amount for name, amount in children.items()}
            return Memory(self.resident, self.resident + sum(of.values()), of)

    clock = Clock()
    monkeypatch.setattr(watch_page.time, "monotonic", lambda: clock.now)
    monkeypatch.setattr(watch_page.OwnMemory, "resident", lambda self: clock.resident)
    monkeypatch.setattr(watch_page.OwnMemory, "children", lambda self: clock.children)
    return clock


def call(writer, clock, monitor, seconds=0.001, growth=0, doing="scoring"):
    writer.begin(monitor, doing)
    clock.now += seconds
    clock.resident += growth
    writer.end()


def test_a_cell_begins_with_its_writer(page, clock):
    assert page.began is None
    with PageWriter(page.descriptor, MONITORS):
        clock.now += 5
        assert (page.began, page.resident_before) == (1000.0, 50_000_000)
        assert page.at_work() is None


def test_who_is_at_work(page, clock):
    with PageWriter(page.descriptor, MONITORS) as writer:
        writer.begin("third", "fitting")
        clock.now += 2
        taken = page.at_work()
        assert (taken.monitor, taken.doing, taken.amount) == ("third", "fitting", 2.0)
        writer.end()
        assert page.at_work() is None


def test_one_that_does_not_come_back_is_the_culprit(page, clock):
    with PageWriter(page.descriptor, MONITORS) as writer:
        call(writer, clock, "quick", 3)
        writer.begin("slow", "fitting")
        clock.now += 6
        culprit = page.culprit_of_time(limit=10, now=clock.now)
    assert (culprit.monitor, culprit.doing, culprit.amount, culprit.at_work) == ("slow", "fitting", 6.0, True)


def test_many_slow_calls_add_up(page, clock):
    with PageWriter(page.descriptor, MONITORS) as writer:
        for _ in range(6):
            call(writer, clock, "slow", 1)
            call(writer, clock, "quick", 0.5)
        assert page.culprit_of_time(limit=12, now=clock.now) is None  # half of it is not more than half
        writer.begin("slow", "scoring")
        clock.now += 0.1
        culprit = page.culprit_of_time(limit=12, now=clock.now)
    assert (culprit.monitor, culprit.at_work) == ("slow", False)
    assert culprit.amount == pytest.approx(6.1)


def test_time_outside_of_monitors_is_the_cells_own(page, clock):
    with PageWriter(page.descriptor, MONITORS) as writer:
        call(writer, clock, "slow", 4)
        clock.now += 6
        assert page.culprit_of_time(limit=10, now=clock.now) is None


def test_memory_is_counted_above_what_the_process_had(page, clock):
    with PageWriter(page.descriptor, MONITORS) as writer:
        call(writer, clock, "quick", growth=30)
        call(writer, clock, "slow", growth=100)
        clock.resident += 40
        culprit = page.culprit_of_memory(clock.memory())
        assert (culprit.monitor, culprit.amount, culprit.at_work) == ("slow", 100, False)
        clock.resident += 30
        assert page.culprit_of_memory(clock.memory()) is None  # 100 of 200
        writer.begin("third", "fitting")
        clock.resident += 500
        culprit = page.culprit_of_memory(clock.memory())
    assert (culprit.monitor, culprit.doing, culprit.amount, culprit.at_work) == (
        "third",
        "fitting",
        500,
        True,
    )


def test_short_calls_are_looked_at_now_and_then_and_those_stand_for_the_others(page, clock):
    looks = []
    resident = watch_page.OwnMemory.resident
    with PageWriter(page.descriptor, MONITORS) as writer:
        watch_page.OwnMemory.resident = lambda self: looks.append(1) or resident(self)
        for _ in range(2000):
            call(writer, clock, "slow", seconds=0.0001, growth=1000)
            call(writer, clock, "quick", seconds=0.0001)
            clock.now += 0.0002
        culprit = page.culprit_of_memory(clock.memory())
    assert culprit.monitor == "slow"
    assert 0.8 * 2_000_000 < culprit.amount < 1.2 * 2_000_000
    assert len(looks) < 2 * 2000 / 5, "asking for memory takes longer than such a call"


def test_memory_that_is_given_back_does_not_count(page, clock):
    with PageWriter(page.descriptor, MONITORS) as writer:
        call(writer, clock, "slow", growth=1000)
        call(writer, clock, "slow", growth=-1000)
        assert page.culprit_of_memory(clock.memory()) is None
        clock.resident += 10
        assert page.culprit_of_memory(clock.memory()) is None


def start(clock, number):
    clock.children += b"%d " % number


def test_what_a_process_takes_is_taken_by_whoever_started_it(page, clock):
    """Whenever it takes it: while others are at work, and long after its monitor came back."""
    start(clock, 7)
    with PageWriter(page.descriptor, MONITORS) as writer:
        call(writer, clock, "quick")
        writer.begin("slow", "fitting")
        start(clock, 8)
        clock.now += 1
        writer.end()
        start(clock, 9)  # by the cell itself, between two calls
        clock.now += 1
        writer.begin("third", "scoring")
        culprit = page.culprit_of_memory(clock.memory(p7=10, p8=100, p9=20))
        assert (culprit.monitor, culprit.doing, culprit.amount) == ("slow", "fitting", 100)
        assert page.culprit_of_memory(clock.memory(p7=10, p8=20, p9=100)) is None
        assert page.culprit_of_memory(clock.memory(p7=100, p8=20, p9=10)) is None
        start(clock, 10)  # not on the page yet
        assert page.culprit_of_memory(clock.memory(p8=20, p10=100)).monitor == "third"
        writer.end()
        call(writer, clock, "quick")
        assert page.culprit_of_memory(clock.memory(p8=20, p10=100)).monitor == "third"


def test_what_a_monitor_and_its_processes_take_adds_up(page, clock):
    with PageWriter(page.descriptor, MONITORS) as writer:
        writer.begin("slow", "scoring")
        for number in (7, 8):
            start(clock, number)
        clock.resident += 30
        clock.now += 1
        writer.end()
        call(writer, clock, "quick", growth=50)
        culprit = page.culprit_of_memory(clock.memory(p7=20, p8=20))
        assert (culprit.monitor, culprit.amount) == ("slow", 70)
        clock.children = b"8 "
        call(writer, clock, "quick")
        assert page.culprit_of_memory(clock.memory(p8=20)) is None


def test_of_very_many_processes_the_first_have_a_place(page, clock):
    with PageWriter(page.descriptor, MONITORS) as writer:
        writer.begin("slow", "scoring")
        for number in range(1, 1001):
            start(clock, number)
        clock.now += 1
        writer.end()
        assert page.culprit_of_memory(clock.memory(p1=100)).monitor == "slow"
        assert page.culprit_of_memory(clock.memory(p1000=100)) is None
        call(writer, clock, "quick", growth=1)
    assert page.culprit_of_memory(clock.memory(p1=100)).amount == 100


def test_a_name_that_is_none_of_the_cells_is_nobodys(page, clock):
    with PageWriter(page.descriptor, MONITORS) as writer:
        call(writer, clock, "stranger", 100, 100)
        assert page.culprit_of_time(limit=10, now=clock.now) is None
        writer.begin("stranger", "scoring")
        clock.now += 100
        assert page.at_work() is None
        assert page.culprit_of_time(limit=10, now=clock.now) is None


def test_the_cell_before_is_forgotten_and_there_may_be_many_monitors(page, clock):
    with PageWriter(page.descriptor, MONITORS) as writer:
        call(writer, clock, "slow", 100)
        writer.begin("quick", "scoring")
    many = [f"monitor {i}" for i in range(1000)]
    page.clear(many)
    assert (page.began, page.at_work(), page.culprit_of_time(10, clock.now)) == (None, None, None)
    with PageWriter(page.descriptor, many) as writer:
        call(writer, clock, "monitor 999", 9)
    assert page.culprit_of_time(10, clock.now).monitor == "monitor 999"
    page.clear([])
    with PageWriter(page.descriptor, []) as writer:
        call(writer, clock, "slow", 9)
    assert page.culprit_of_time(10, clock.now) is None


def test_what_is_too_long_is_cut_and_what_is_torn_is_read(page, clock):
    with PageWriter(page.descriptor, MONITORS) as writer:
        writer.begin("slow", "é" * 100)
        clock.now += 8
        assert page.culprit_of_time(10, clock.now).doing == "é" * 12
        writer.begin("slow", "x" + "é" * 100)
        assert page.at_work().doing.startswith("xé")
    for torn in (b"\xff" * 8, b"\x7f" * 8):
        for place in range(0, 40, 8):
            page._page[place : place + 8] = torn
            of_memory = page.culprit_of_memory(Memory(10**9, 10**9))
            for seen in (page.at_work(), page.culprit_of_time(10, clock.now), of_memory):
                assert seen is None or seen.monitor in MONITORS


WRITING = """
import sys
from farm.campaign.watch_page import PageWriter
writer = PageWriter(int(sys.argv[1]), ["quick", "slow", "third"])
writer.begin("quick", "scoring")
writer.end()
writer.begin("slow", "scoring")
kept = b"x" * 50_000_000
print("begun", flush=True)
sys.stdin.read()
"""


def test_another_process_writes_it_with_the_same_clock(page):
    """What a process wrote is there after it was killed, and its clock and memory are the real ones."""
    before = time.monotonic()
    command = [sys.executable, "-c", WRITING, str(page.descriptor)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[page.descriptor]
    ) as process:
        assert process.stdout.readline() == b"begun\n"
        after = time.monotonic()
        process.kill()
    assert before < page.began < after
    assert 1_000_000 < page.resident_before < 1_000_000_000
    assert page.at_work().monitor == "slow"
    culprit = page.culprit_of_time(limit=1000, now=after + 1000)
    assert (culprit.monitor, culprit.at_work) == ("slow", True)
    assert 1000 < culprit.amount < 1000 + after - before
    resident = page.resident_before + 50_000_000
    assert page.culprit_of_memory(Memory(resident, resident)).monitor == "slow"


def test_own_memory_is_seen_to_grow(page):
    with PageWriter(page.descriptor, MONITORS) as writer:
        writer.begin("quick", "scoring")
        writer.end()
        writer.begin("slow", "scoring")
        taken = b"x" * 200_000_000
        writer.end()
        resident = page.resident_before + len(taken)
        culprit = page.culprit_of_memory(Memory(resident, resident))
    assert culprit.monitor == "slow"
    assert culprit.amount == pytest.approx(2e8, rel=0.1)


def test_a_page_that_was_closed_says_so():
    page = WatchPage()
    with refused(ValueError):
        page.at_work()
    page.close()
    page.close()
