"""Which instance comes when in a stream with time: a plain second reading of what its documentation says."""

from __future__ import annotations

from dataclasses import replace
from itertools import count, islice, pairwise

import numpy as np
import pytest

from farm.api import (
    NO_ANSWER,
    Context,
    FaultContext,
    FaultTargets,
    IntervalFaults,
    Schedule,
    Stretch,
    generator,
)
from farm.run.faults import Fault
from farm.run.schedules import Bursts, Onset, Recurring, Sequence
from farm.run.timed import TimedStream
from farm.testing.fakes import FakeFaultload, tiny_workload


class Plan(Schedule):
    """A schedule of intervals that a test wrote as texts, one behind another and over and over."""

    def __init__(self, *, texts, share=1.0, views=None) -> None:
        self._there = np.array([[letter == "x" for letter in text] for text in texts]).T
        self._share, self.views = share, views
        self.intervals = [IntervalFaults()] * len(texts)

    def stretches(self, seed):
        n = len(self._there)
        for number in count():
            coming = np.where(self._there, number, -1)
            episode = np.where(self._there.any(axis=1), number, -1)
            yield Stretch(self._share * self._there, np.ones((n, len(self.intervals))), coming, episode)


@pytest.fixture(scope="module")
def workload():
    """Return tracks of 3 to 7 frames, the frames of two of them mixed."""
    made = tiny_workload(tracks=(2, 2, 3), frames=6)
    test = made.test
    groups = test.groups.copy()
    groups[[1, 3]] = groups[[-1, -2]]
    groups[5] = "alone"
    return replace(made, test=replace(test, groups=groups))


def faults_on(workload, shares, changes=0):
    """Make faults that bring parts of the test split in orders of their own; the last `changes` do not."""
    n, made = len(workload.test), []
    for number, share in enumerate(shares):
        indices = np.arange(number, n, 2)[::-1].copy()
        if number >= len(shares) - changes:
            indices = np.arange(n)
        labels, category = np.full(len(indices), NO_ANSWER), np.full(len(indices), "noise")
        targets = FaultTargets(workload.test, workload.name, indices, labels, category)
        made.append(Fault(FakeFaultload(name=f"fault{number}"), targets, None, share))
    return made


def passing(workload, places, views, number, seed):
    """Return (place in the split, visit, whether it is its object's last view) of a source for ever."""
    test = workload.test
    names = sorted({str(test.groups[i]) for i in places})
    for turn in count():
        rng = generator(seed, "stream", "pass", number, turn)
        for which in rng.permutation(len(names)):
            track = [i for i in places if test.groups[i] == names[which]]
            if views is None:
                shown = [(i, turn) for i in track]
            else:
                start = int(rng.integers(0, max(len(track) - views, 0) + 1))
                part = track[start : start + views]
                shown = [(part[view % len(part)], turn * views + view // len(part)) for view in range(views)]
            for here, after in pairwise([*shown, None]):
                yield *here, after is None


def planned(schedule, seed):
    """Return (shares, comings) of the intervals, instance by instance."""
    for plan in schedule.stretches(seed):
        yield from zip(plan.share.tolist(), plan.coming.tolist(), strict=True)


def expected_ids(workload, faults, mixed, named, schedule, seed):
    """Return the ids of the stream for ever, one by one; the first `mixed` faults are the experiment's."""
    everything = list(range(len(workload.test)))
    own = [fault.targets.indices.tolist() for fault in faults]
    queues = {0: passing(workload, everything, schedule.views, 0, seed)}
    for number, places in enumerate(own, 1):
        if places != everything:
            queues[number] = passing(workload, places, schedule.views, number, seed)
    drawn = (generator(seed, "stream", name) for name in ("chance", "which fault"))
    chances, whiches = (rng.random((5000, len(named))) for rng in drawn)

    def one_of_them(which):
        borders = np.cumsum([fault.share for fault in faults[:mixed]]) / sum(f.share for f in faults[:mixed])
        return 1 + sum(which >= border for border in borders[:-1])

    turn, over = -1, True
    begun = [(-1, -1)] * len(named)
    for position, (shares, comings) in enumerate(planned(schedule, seed)):
        turn += over
        acting, since = [], {}
        for interval, coming in enumerate(comings):
            if coming >= 0 and coming != begun[interval][0]:
                begun[interval] = (coming, position)
        for interval, numbers in enumerate(named):
            if comings[interval] < 0 or chances[turn, interval] >= shares[interval]:
                continue
            if numbers:
                acting += numbers
                since |= dict.fromkeys(numbers, begun[interval][1])
            elif schedule.intervals[interval].comes_again:
                rng = generator(seed, "stream", "which fault", interval, comings[interval])
                acting.append(one_of_them(rng.random()))
            else:
                acting.append(one_of_them(whiches[turn, interval]))
        brings = [number for number in acting if number in queues]
        # Of several the one whose interval began last; where they began together, the last of them.
        brings = sorted(brings, key=lambda number: since.get(number, begun[0][1]))[-1:]
        acting = brings + [number for number in acting if number not in queues]
        place, visit, over = next(queues[brings[0] if brings else 0])
        names = "".join(f"|{faults[number - 1].faultload.name}" for number in acting)
        yield f"{workload.test.ids[place]}{names}" + (f"~{visit}" if visit else "")


CASES = {
    "onset": Onset(at=20, share=0.7),
    "recurring": Recurring(period=17, burst=8),
    "bursts": Bursts(gap=11, burst=9, share=0.6),
    "sequence": Sequence(views=3, share=0.4),
    "long views": Sequence(views=9, share=0.4),
    "few at a time": Plan(texts=["x.xx..x"]),
    "stretches that end within an object": Plan(texts=["xxx...xxxx"], share=0.5, views=3),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    ("shares", "changes"),
    [((1,), 0), ((1, 3), 0), ((2, 1, 1), 0), ((1,), 1), ((2, 1, 1), 1), ((2, 1, 1), 3)],
    ids=lambda value: str(value),
)
def test_instances_come_as_they_are_documented_to(workload, name, shares, changes):
    faults = faults_on(workload, shares, changes)
    stream = TimedStream(workload, *faults, schedule=CASES[name], length=1500, seed=4)
    ids = [one for batch in stream.batches(64) for one in batch.ids.tolist()]
    assert ids == list(islice(expected_ids(workload, faults, len(faults), [()], CASES[name], 4), 1500))


@pytest.mark.parametrize("share", [1.0, 0.6])
@pytest.mark.parametrize("views", [None, 4])
def test_intervals_side_by_side_come_as_they_are_documented_to(workload, share, views):
    """The second brings images and changes them, the third brings others, which wait for the second's end."""
    faults = faults_on(workload, (1, 2, 1, 1, 1), changes=2)
    texts = ["xxxxxxx.....", ".....xxxx...", "....xxxxxx..", ".xx.......xx"]
    schedule = Plan(texts=texts, share=share, views=views)
    named = [(), (3, 4), (1, 5), (4,)]
    stream = TimedStream(
        workload,
        *faults[:2],
        schedule=schedule,
        named=[[faults[number - 1] for number in numbers] for numbers in named],
        length=1500,
        seed=4,
    )
    ids = [one for batch in stream.batches(64) for one in batch.ids.tolist()]
    assert ids == list(islice(expected_ids(workload, faults, 2, named, schedule, 4), 1500))
    assert any(one.count("|") == 3 for one in ids)


def test_a_source_comes_whole_before_any_of_it_comes_again_also_of_a_fault(workload):
    faults = faults_on(workload, (1, 1))
    batch = next(TimedStream(workload, *faults, schedule=Onset(at=0)).batches(2000))
    for number, fault in enumerate(faults):
        own = [i for i in batch.ids.tolist() if f"|fault{number}" in i]
        n = len(fault.targets.indices)
        wanted = {str(workload.test.ids[i]) for i in fault.targets.indices}
        for turn in range(len(own) // n):
            part = own[turn * n : (turn + 1) * n]
            assert {i.partition("|")[0] for i in part} == wanted
            assert {i.partition("~")[2] for i in part} == {str(turn) if turn else ""}


def test_of_an_object_with_enough_frames_consecutive_ones_are_shown_and_of_another_all_again(workload):
    faults = faults_on(workload, (1,))
    ids = workload.test.ids.tolist()
    for views in (2, 3, 5):
        stream = TimedStream(
            workload, *faults, schedule=Sequence(views=views, share=0.3), length=900 // views * views
        )
        batch = next(stream.batches(stream.length))
        for start in range(0, stream.length, views):
            rows = slice(start, start + views)
            assert len(set(batch.track[rows])) == len(set(batch.faultload[rows])) == 1
            own = np.arange(len(ids)) if not batch.is_ood[start] else faults[0].targets.indices
            track = [ids[i] for i in own if workload.test.groups[i] == batch.track[start]]
            shown = [name.partition("|")[0].partition("~")[0] for name in batch.ids[rows]]
            first = track.index(shown[0])
            if len(track) >= views:
                assert shown == track[first : first + views]
            else:
                assert shown == [track[view % len(track)] for view in range(views)]


def test_no_id_comes_twice(workload):
    for schedule in (Onset(at=9), Sequence(views=4, share=0.5)):
        batch = next(TimedStream(workload, *faults_on(workload, (1, 1)), schedule=schedule).batches(3000))
        assert len(set(batch.ids.tolist())) == 3000


def test_an_endless_stream_is_the_beginning_of_none_longer(workload):
    context = FaultContext(workload, workload.test, None, lambda spec: workload, Context())
    faultload = FakeFaultload(name="f")
    fault = Fault(faultload, faultload.prepare(context))
    endless = TimedStream(workload, fault, schedule=Onset(at=5), seed=1)
    assert endless.length is None
    begun = [one for batch in islice(endless.batches(10), 5) for one in batch.ids.tolist()]
    for length in (1, 9, 10, 11, 50):
        finite = TimedStream(workload, fault, schedule=Onset(at=5), length=length, seed=1)
        sizes = [len(batch) for batch in finite.batches(10)]
        assert (sum(sizes), finite.length) == (length, length)
        assert all(size == 10 for size in sizes[:-1])
        assert [one for batch in finite.batches(10) for one in batch.ids.tolist()] == begun[:length]
