"""Which instance comes when in a stream with time: a plain second reading of what its documentation says."""

from __future__ import annotations

from dataclasses import replace
from itertools import count, islice

import numpy as np
import pytest

from farm.api import NO_ANSWER, Context, FaultContext, FaultTargets, Schedule, Stretch, generator
from farm.run.faults import Fault
from farm.run.schedules import Onset, Recurring, Sequence
from farm.run.timed import TimedStream
from farm.testing.fakes import FakeFaultload, tiny_workload


class Plan(Schedule):
    """A schedule of stretches that a test chose, over and over."""

    def __init__(self, *, text: str = "", objects: int = 1) -> None:
        self._text, self.objects = text, objects

    def stretches(self, seed):
        is_ood = np.array([letter == "x" for letter in self._text])
        while True:
            yield Stretch(is_ood, np.ones(len(is_ood)), np.where(is_ood, 0, -1))


@pytest.fixture(scope="module")
def workload():
    """Return tracks of 3 to 7 frames, the frames of two of them mixed."""
    made = tiny_workload(tracks=(2, 2, 3), frames=6)
    test = made.test
    groups = test.groups.copy()
    groups[[1, 3]] = groups[[-1, -2]]
    groups[5] = "alone"
    return replace(made, test=replace(test, groups=groups))


def faults_on(workload, shares):
    """Make faults that act on different parts of the test split, in an order of their own."""
    n, made = len(workload.test), []
    for number, share in enumerate(shares):
        indices = np.arange(number, n, 2)[::-1].copy()
        labels, category = np.full(len(indices), NO_ANSWER), np.full(len(indices), "noise")
        targets = FaultTargets(workload.test, workload.name, indices, labels, category)
        made.append(Fault(FakeFaultload(name=f"fault{number}"), targets, None, share))
    return made


def expected_ids(workload, faults, schedule, seed):
    """Return the ids of the stream for ever, one by one."""
    test, views = workload.test, schedule.objects
    places = [list(range(len(test))), *(fault.targets.indices.tolist() for fault in faults)]

    def passes(number):
        """Return (place in the split, visit) of a source's instances for ever."""
        own = places[number]
        for turn in count():
            rng = generator(seed, "stream", "pass", number, turn)
            if views == 1:
                yield from ((own[i], turn) for i in rng.permutation(len(own)))
                continue
            names = sorted({str(test.groups[i]) for i in own})
            for which in rng.permutation(len(names)):
                track = [i for i in own if test.groups[i] == names[which]]
                start = int(rng.integers(0, max(len(track) - views, 0) + 1))
                shown = track[start : start + views]
                for view in range(views):
                    yield shown[view % len(shown)], turn * views + view // len(shown)

    queues = [passes(number) for number in range(len(places))]
    total = sum(fault.share for fault in faults)
    for number, plan in enumerate(schedule.stretches(seed)):
        chance = generator(seed, "stream", "which fault", number).random(len(plan.is_ood))
        for i, is_ood in enumerate(plan.is_ood):
            drawn, source = chance[i - i % views], 0
            if is_ood:
                reached, source = 0.0, 1
                for fault in faults[:-1]:
                    reached += fault.share / total
                    source += drawn >= reached
            place, visit = next(queues[source])
            again = f"~{visit}" if visit else ""
            fault = f"|{faults[source - 1].faultload.name}" if source else ""
            yield f"{test.ids[place]}{fault}{again}"


CASES = {
    "onset": Onset(at=20, share=0.7),
    "recurring": Recurring(period=7, burst=3),
    "sequence": Sequence(views=3, share=0.4),
    "long views": Sequence(views=9, share=0.4),
    "few at a time": Plan(text="x.xx..x", objects=1),
    "stretches that end within an object": Plan(text="xxx...xxxx", objects=3),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("shares", [(1,), (1, 3), (2, 1, 1)], ids=len)
def test_instances_come_as_they_are_documented_to(workload, name, shares):
    faults = faults_on(workload, shares)
    stream = TimedStream(workload, *faults, schedule=CASES[name], length=1500, seed=4)
    ids = [one for batch in stream.batches(64) for one in batch.ids.tolist()]
    assert ids == list(islice(expected_ids(workload, faults, CASES[name], 4), 1500))


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
