"""Watching a stream: the same numbers as judging the readouts, in constant memory."""

from __future__ import annotations

import numpy as np
import pytest

from farm.api import Context, FaultContext
from farm.judging.live import HISTORY, Watch, Watched
from farm.judging.readouts import judged_records
from farm.measures.along_time import Window
from farm.measures.episodes import Episodes
from farm.report.live import live_table, sparkline
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
    watch = Watch([m.name for m in monitors], window=100)
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
    table = live_table(watch, 100, 80)
    assert table.row_count == 3


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
    shown = printed(live_table(watch, 100, width), width=width)
    rows = [line.split() for line in shown.splitlines() if line.startswith("a-")]
    assert len(rows) == 3
    for _, *numbers in rows:
        plain = [number for number in numbers if number not in "·"]
        assert plain[2:7] == ["1000.0", "1,200", "0", "0", "0"]
    assert max(map(len, shown.splitlines())) <= width
    assert ("very-long-name-0" in shown) == (width == 120)


def test_more_monitors_than_lines_come_page_by_page():
    names = [f"m{i}" for i in range(7)]
    watch = Watch(names, window=100)
    pages = [printed(live_table(watch, 100, 80, rows=3, page=page), width=80) for page in range(4)]
    seen = [[name for name in names if f"\n{name} " in page] for page in pages]
    assert seen == [names[:3], names[3:6], names[6:], names[:3]]
    assert "monitors 7 to 7 of 7" in pages[2]
