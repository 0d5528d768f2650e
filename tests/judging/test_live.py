"""Watching a stream: the same numbers as judging the readouts, in constant memory."""

from __future__ import annotations

import numpy as np
import pytest

from farm.api import Context, FaultContext
from farm.judging.live import HISTORY, Watch, Watched
from farm.judging.readouts import judged_records
from farm.measures.along_time import Window
from farm.measures.delays import Outcome
from farm.measures.episodes import Episodes
from farm.report.live import HEADING, live_tables, sparkline
from farm.report.terminal import printed
from farm.run.faults import Fault
from farm.run.schedules import Recurring
from farm.run.system import SystemUnderTest
from farm.run.testbed import Testbed
from farm.run.timed import TimedStream
from farm.testing.fakes import FakeFaultload, FakeMonitor
from tests.wording import same_text


@pytest.fixture
def watched(tiny, classifier):
    """Run a stream once with a watch and once for the readouts."""
    bed = Testbed(seed=0)
    context = FaultContext(tiny, tiny.test, classifier, lambda spec: tiny, Context())
    faultload = FakeFaultload(transform=lambda x: 1 - x, name="negative", label=-1)
    fault = Fault(faultload, faultload.prepare(context))
    schedule = Recurring(period=12, burst=5, share=0.7)
    stream = TimedStream(tiny, fault, schedule=schedule, length=400, seed=2)
    monitors = [
        FakeMonitor(name="half", score=lambda o: o.images.mean(axis=(1, 2, 3)) % 0.01, fixed_threshold=0.005),
        FakeMonitor(name="never", score=lambda o: np.zeros(len(o)), fixed_threshold=1.0),
        FakeMonitor(
            name="broken", score=lambda o: np.full(len(o), np.nan) if len(o) == 16 else np.zeros(len(o))
        ),
    ]
    bed.fit(monitors, classifier, tiny)
    readouts = bed.run(stream, classifier, monitors[:2], tiny, batch_size=16)
    system = SystemUnderTest(classifier, monitors)
    watch = Watch([m.name for m in monitors], window=100, longest=3)
    for _ in watch.follow(system, system.steps(stream, 16)):
        pass
    return watch, readouts


@pytest.mark.parametrize("name", ["half", "never"])
def test_delays_and_false_alarms_equal_those_of_the_readouts(watched, name):
    watch, readouts = watched
    found = watch.monitors[name]
    episode = readouts.instances["episode"].to_numpy()
    alarm = readouts.alarms[readouts.alarms["monitor"] == name]["alarm"].to_numpy()
    is_ood = readouts.instances["is_ood"].to_numpy()
    episodes = Episodes(episode, is_ood)
    assert found.by_alarm.delays == episodes.noticed(alarm).delays
    (record,) = (r for r in judged_records(readouts) if r["part"] == "all" and r["monitor"] == name)
    delay = record["detection_delay"]
    assert found.by_alarm.delays.quantile(0.5).json == delay["median"]
    assert {**found.by_alarm.delays.by_outcome, "n": watch.onsets} == {
        each: delay[each] for each in ("n", *found.by_alarm.delays.by_outcome)
    }
    rate = episodes.false_alarms(alarm).per_1000
    assert found.false_alarms_per_1000(watch.quiet).value == pytest.approx(rate.value)


def test_counts_are_those_of_the_stream(watched):
    watch, readouts = watched
    assert (watch.n, watch.n_ood) == (400, int(readouts.instances["is_ood"].sum()))
    rows = readouts.instances
    assert watch.onsets == rows["episode"][rows["is_ood"]].nunique()


def test_a_monitor_that_fails_is_shown_as_failed(watched):
    watch, _ = watched
    same_text(watch.monitors["broken"].failure)
    watch.remember()
    rows = [line.split() for line in printed(live_tables(watch, 100, 80), width=80).splitlines()]
    assert [row[1:] for row in rows if row[:1] == ["broken"]] == [["failed"]] * 2


def test_a_sparkline_is_as_high_as_its_values():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], 0, 7) == "▁▂▃▄▅▆▇█"
    assert sparkline([-5, 99, float("nan")], 0, 1) == "▁█·"


def test_of_an_endless_stream_the_latest_values_alone_are_kept():
    one = Watched("oob", Window(10))
    assert [history.maxlen for history in (one.mcc_history, one.alarm_history)] == [HISTORY, HISTORY]


@pytest.mark.parametrize("width", [70, 80, 120])
@pytest.mark.parametrize("policies", [False, True])
def test_numbers_are_never_cut_names_are(width, policies):
    watch = Watch([f"a-monitor-with-a-very-long-name-{i}" for i in range(3)], window=100)
    for watched in watch.monitors.values():
        watched.false_alarms = 123_456
        for _ in range(1200):
            watched.follow(0, is_ood=True, alarm=True, cancelled=not policies, onset=True)
            watched.follow(-1, is_ood=False, alarm=False, cancelled=False, onset=False)
    watch.quiet = 123_456
    watch.remember()
    shown = printed(live_tables(watch, 100, width), width=width)
    rows = [line.split() for line in shown.splitlines() if line.startswith("a-")]
    assert len(rows) == 6
    for _, *numbers in rows[:3]:
        plain = [number for number in numbers if number not in "·"]
        assert plain[2:5] == ["1000.0", "1,200", "0"]
    assert max(map(len, shown.splitlines())) <= width
    assert ("very-long-name-0" in shown.split("at all times")[0]) == (width == 120)


def numbered(n):
    """A watch of so many monitors, m0 and on."""
    return Watch([f"m{i}" for i in range(n)], window=100)


@pytest.mark.parametrize(("rows", "pages"), [(3, 6), (7, 2)])
def test_where_there_are_fewer_lines_than_both_tables_have_pages_take_turns(rows, pages):
    watch, seen = numbered(7), []
    for page in range(pages):
        shown = printed(live_tables(watch, 100, 80, rows + HEADING, page), width=80)
        assert shown.startswith(f"page {page + 1} of {pages}")
        assert shown.count("\n") <= rows + HEADING
        seen += [(f"m{i}", "coverage" in shown) for i in range(7) if f"\nm{i} " in shown]
    assert seen == [(f"m{i}", table) for table in (False, True) for i in range(7)]
    first, again = (printed(live_tables(watch, 100, 80, rows + HEADING, at), width=80) for at in (0, pages))
    assert again == first


def test_both_tables_are_shown_where_there_are_lines_for_them():
    whole = printed(live_tables(numbered(7), 100, 80), width=80)
    lines = whole.count("\n")
    assert printed(live_tables(numbered(7), 100, 80, lines), width=80) == whole
    assert "page 1 of 2" in printed(live_tables(numbered(7), 100, 80, lines - 1), width=80)


def test_long_delays_are_written_out():
    watch = numbered(1)
    watch.monitors["m0"].by_alarm._counts[Outcome.FOUND, 1_234_567] += 1
    assert " 1,234,567 " in printed(live_tables(watch, 100, 120), width=120)
