"""A scene in time against a table worked by hand: what passes, what acts upon it, what the camera shows."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from farm.api import (
    HELD,
    NO_ANSWER,
    ArrayImages,
    FaultTargets,
    IntervalFaults,
    Schedule,
    Transformation,
)
from farm.errors import ExperimentError
from farm.measures.episodes import Episodes
from farm.run.faults import Fault
from farm.run.scene import REMEMBERED, Scene
from farm.run.schedules import Onset, Recurring, Sequence
from farm.run.sources import Sources
from farm.run.streams import BenchmarkStream
from farm.run.timed import TimedStream
from farm.run.timeline import STRETCH, Interval, stretches
from farm.testing.fakes import FakeFaultload, tiny_workload
from tests.run.streamed import columns_of
from tests.wording import refused

BATCH_SIZES = [1, 7, 64]


class Intervals(Schedule):
    """A schedule of any intervals, side by side."""

    def __init__(self, *, plan):
        self._plan = plan
        self.intervals = [
            IntervalFaults(ramps_severity=one.ramps_severity, comes_again=one.comes_again) for one in plan
        ]

    def stretches(self, seed):
        return stretches(self._plan, seed)


class InOrder:
    """Stands for chance where objects pass: in their order, and long ones from their start."""

    def permutation(self, n):
        return np.arange(n)

    def integers(self, low, high):
        return low


@pytest.fixture(params=[4, 1024], ids=lambda stretch: f"stretches of {stretch}")
def by_hand(request, monkeypatch):
    """Have objects pass in order, and plan as many instances at a time."""
    monkeypatch.setattr("farm.run.objects.generator", lambda *names: InOrder())
    monkeypatch.setattr("farm.run.timeline.STRETCH", request.param)


def of_tracks(names, start=0):
    """Make a test split of as many instances, each called by its track's letter and its place there."""
    made = tiny_workload(tracks=(2, 2, 6))
    images = made.test.images.read(np.arange(start, start + len(names)))
    test = replace(
        made.test,
        images=ArrayImages(images),
        labels=np.arange(len(names)) % 2,
        ids=np.array(names),
        groups=np.array([name[0] for name in names]),
        conditions={},
    )
    return replace(made, test=test)


HERE = of_tracks(["a0", "a1", "a2", "b0", "b1", "c0"])
ELSEWHERE = of_tracks(["x0", "x1", "y0"], start=6).test


def changing(name, transform, severities=(), severity=None):
    faultload = FakeFaultload(name=name, transform=transform, severities=severities)
    n = len(HERE.test)
    targets = FaultTargets(HERE.test, HERE.name, np.arange(n), HERE.test.labels, np.full(n, "noise"))
    return Fault(faultload, targets, severity)


DIRT = changing("dirt", lambda images: 1 - images)


def novelty():
    labels, category = np.full(3, NO_ANSWER), np.full(3, "novelty")
    targets = FaultTargets(ELSEWHERE, "elsewhere", np.arange(3), labels, category)
    return Fault(FakeFaultload(name="novelty"), targets)


def scene(length=20):
    """Make a stream whose faults overlap: haze grows and fades, novelty interrupts, and dirt comes last."""
    plan = [
        Interval(begin=1, lasting=6, rise=2, fall=3),
        Interval(begin=4, lasting=3, every=10),
        Interval(begin=6, lasting=4),
    ]
    haze = changing("haze", lambda images: images / 2, (1, 2, 3, 4, 5, 6), 6)
    named = [[haze], [novelty()], [DIRT]]
    return TimedStream(HERE, schedule=Intervals(plan=plan), named=named, length=length)


NONE = float("nan")
TABLE = [
    # id, faults, severity, episode
    ("a0", "", NONE, -1),
    ("a1|haze@3", "haze", 3, 0),  # haze begins in the middle of a track
    ("a2|haze@6", "haze", 6, 0),
    ("b0|haze@6", "haze", 6, 0),
    ("x0|novelty|haze@6", "novelty+haze", NONE, 1),  # the third but last: it has not begun to fade
    ("x1|novelty|haze@4", "novelty+haze", NONE, 1),
    ("y0|novelty|haze@2|dirt", "novelty+haze+dirt", NONE, 2),
    ("b1|dirt", "dirt", NONE, 2),  # what novelty interrupted goes on
    ("c0|dirt", "dirt", NONE, 2),
    ("a0|dirt~1", "dirt", NONE, 2),
    ("a1~1", "", NONE, -1),
    ("a2~1", "", NONE, -1),
    ("b0~1", "", NONE, -1),
    ("b1~1", "", NONE, -1),
    ("x0|novelty~1", "novelty", NONE, 3),  # all that novelty brings has passed once
    ("x1|novelty~1", "novelty", NONE, 3),
    ("y0|novelty~1", "novelty", NONE, 3),
    ("c0~1", "", NONE, -1),
    ("a0~2", "", NONE, -1),
    ("a1~2", "", NONE, -1),
]


def first(stream, n, size):
    batches = list(islice(stream.batches(size), -(-n // size)))
    return columns_of(*batches, n=n)


def check_table(seen, rows):
    ids, faultload, severity, episode = zip(*(TABLE[row] for row in rows), strict=True)
    assert seen["ids"].tolist() == list(ids)
    assert seen["faultload"].tolist() == list(faultload)
    np.testing.assert_array_equal(seen["severity"], severity)
    assert seen["episode"].tolist() == list(episode)
    assert seen["is_ood"].tolist() == [bool(name) for name in faultload]
    assert seen["track"].tolist() == [name[0] for name in ids]
    novel = ["novelty" in name for name in faultload]
    category = [
        "novelty" if new else "noise" if name else "" for new, name in zip(novel, faultload, strict=True)
    ]
    assert seen["category"].tolist() == category
    assert seen["workload"].tolist() == ["elsewhere" if new else "tiny" for new in novel]
    places = {str(name): place for place, name in enumerate(HERE.test.ids)}
    labels = [NO_ANSWER if new else places[name[:2]] % 2 for name, new in zip(ids, novel, strict=True)]
    assert seen["labels"].tolist() == labels
    for image, name, faults in zip(seen["images"], ids, faultload, strict=True):
        split = HERE.test if name[0] in "abc" else ELSEWHERE
        wanted = split.images.read(np.flatnonzero(split.ids == name[:2]))[0]
        wanted = wanted / 2 if "haze" in faults else wanted
        wanted = 1 - wanted if "dirt" in faults else wanted
        np.testing.assert_array_equal(image, wanted, err_msg=name)


@pytest.mark.parametrize("size", BATCH_SIZES)
def test_a_scene_comes_as_worked_by_hand(by_hand, size):
    check_table(first(scene(), 20, size), range(20))
    check_table(first(scene(length=None), 20, size), range(20))


def test_any_part_of_a_scene_comes_as_worked_by_hand(by_hand):
    for rows in ([19], [6, 4, 5, 4], [0, 14, 9, 1], list(range(19, -1, -1))):
        batch = scene().at(np.array(rows))
        check_table(columns_of(batch), rows)


@pytest.mark.parametrize("size", BATCH_SIZES)
def test_delays_of_alarms_are_counted_from_each_beginning(by_hand, size):
    """Haze is noticed one late, the first novelty at once, dirt never, and the second novelty two late."""
    seen = first(scene(), 20, size)
    alarm = np.isin(np.arange(20), [2, 4, 11, 16])
    episodes = Episodes(seen["episode"], seen["is_ood"])
    assert episodes.noticed(alarm).delay.tolist() == [1, 0, np.inf, 2]
    told = episodes.false_alarms(alarm)
    assert (told.quiet, told.alarms) == (8, 1)


def test_a_novelty_that_ends_within_an_object_goes_on_with_it_when_it_comes_again(by_hand):
    stream = TimedStream(
        HERE, novelty(), schedule=Intervals(plan=[Interval(begin=1, lasting=1, every=3)]), length=8
    )
    seen = first(stream, 8, 7)["ids"].tolist()
    assert seen == ["a0", "x0|novelty", "a1", "a2", "x1|novelty", "b0", "b1", "y0|novelty"]


# Chance: once for each object that passes --------------------------------------------------------------


def instances_of(schedule, workload, n):
    """Return of each instance whether it is OOD, which object it shows, and when its fault came."""
    n_test = len(workload.test)
    targets = FaultTargets(
        workload.test, workload.name, np.arange(n_test), workload.test.labels, np.full(n_test, "noise")
    )
    made = Sources(workload, [Fault(FakeFaultload(), targets)], timed=True)
    parts = islice(Scene(made, schedule, [()], 1, seed=0).rows(), -(-n // STRETCH))
    columns = zip(*((rows.is_ood, rows.object, rows.coming[:, 0]) for rows in parts), strict=True)
    return tuple(np.concatenate(column)[:n] for column in columns)


SINGLE = tiny_workload(tracks=(2, 2, 25), frames=1)


def test_chance_never_repeats_along_the_stream():
    """No stretch of the stream is the copy of an earlier one, at any distance."""
    is_ood, *_ = instances_of(Onset(at=0, share=0.5), SINGLE, 12_000)
    signs = np.where(is_ood, 1.0, -1.0)
    power = np.abs(np.fft.rfft(signs, 2 * len(signs))) ** 2
    alike = np.fft.irfft(power) / len(signs)
    # Of independent draws, each of these has a standard deviation of at most 1 / sqrt(12,000).
    assert np.abs(alike[1 : len(signs)]).max() < 0.1


def test_chance_is_even_along_the_stream():
    is_ood, *_ = instances_of(Onset(at=0, share=0.25), SINGLE, 40_000)
    parts = is_ood.reshape(40, -1).mean(axis=1)
    assert np.abs(parts - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 1000)


@pytest.mark.parametrize("schedule", [Onset(at=0, share=0.3), Sequence(views=5, share=0.3)])
def test_the_views_of_an_object_are_alike_where_a_fault_stays(schedule):
    is_ood, objects, _ = instances_of(schedule, tiny_workload(), 9000)
    share = np.bincount(objects, is_ood)[:-1] / np.bincount(objects)[:-1]
    assert set(share) == {0, 1}
    assert abs(share.mean() - 0.3) < 5 * np.sqrt(0.3 * 0.7 / len(share))


def test_a_fault_comes_anew_with_each_burst_and_in_a_sequence_with_each_object():
    is_ood, _, coming = instances_of(Recurring(period=9, burst=4, share=0.5), tiny_workload(), 900)
    assert coming[is_ood].tolist() == (np.flatnonzero(is_ood) // 9).tolist()
    is_ood, objects, coming = instances_of(Sequence(views=5, share=0.5), tiny_workload(), 900)
    assert coming[is_ood].tolist() == objects[is_ood].tolist()


# Faults that hold the camera back ----------------------------------------------------------------------


class Lagging(Transformation):
    """Shows another instant, as its `how` says, and leaves its pixels as they are."""

    category = "anomaly"
    severities = ()
    lags = True

    def __init__(self, *, how):
        self._how = how

    def _transform(self, images, severity, random):
        return images

    def lag(self, severity, chance):
        return self._how(chance)


def lagging(how, name="late"):
    n = len(HERE.test)
    targets = FaultTargets(HERE.test, HERE.name, np.arange(n), HERE.test.labels, np.full(n, "anomaly"))
    faultload = Lagging(how=how)
    faultload.name = name
    return Fault(faultload, targets)


DELAYED = lagging(lambda chance: 2)
FROZEN = lagging(lambda chance: HELD)


def check_shown(plan, named, expected):
    """Check the frame that the camera shows at each instant; of `-3` it is the third one, dirty."""
    n, schedule = len(expected), Intervals(plan=plan)
    stream = TimedStream(HERE, schedule=schedule, named=named, length=n)
    seen = [first(stream, n, size) for size in BATCH_SIZES]
    order = np.arange(n)[::-1]
    batch = stream.at(order)
    seen.append({name: values[order] for name, values in columns_of(batch).items()})
    clean = HERE.test.images.read(np.arange(6))
    wanted = np.stack([1 - clean[-frame] if frame < 0 else clean[frame] for frame in expected])
    for one in seen:
        own = [name.partition("|")[0].partition("~")[0] for name in one["ids"]]
        assert own == [HERE.test.ids[i % 6] for i in range(n)], "ids and labels are those of now"
        assert one["labels"].tolist() == [i % 6 % 2 for i in range(n)]
        np.testing.assert_array_equal(one["images"], wanted)
        late = np.flatnonzero(np.char.find(one["faultload"], "late") >= 0)
        change = np.abs(wanted[late] - clean[late % 6]).reshape(len(late), -1)
        np.testing.assert_allclose(one["fault_linf"][late], change.max(axis=1), rtol=1e-6)


# Frames 0 to 5 pass again and again. Each number is the one that the camera shows.


def test_a_delay_shows_an_earlier_instant_and_never_one_before_the_start(by_hand):
    check_shown([Interval(begin=3, lasting=5)], [[DELAYED]], [0, 1, 2, *(1, 2, 3, 4, 5), 2, 3, 4, 5])
    check_shown([Interval(begin=0, lasting=5)], [[DELAYED]], [*(0, 0, 0, 1, 2), 5, 0])


def test_a_frozen_camera_shows_the_last_instant_before_it_froze(by_hand):
    twice = [0, 1, 2, *[2] * 6, 3, 4, 5, 0, *[0] * 6, 1]
    check_shown([Interval(begin=3, lasting=6, every=10)], [[FROZEN]], twice)


def test_a_camera_stays_frozen_for_longer_than_instants_are_remembered(by_hand):
    long = 6 * REMEMBERED
    check_shown([Interval(begin=3, lasting=long)], [[FROZEN]], [0, 1, 2, *[2] * long, 3, 4])
    check_shown([Interval(begin=0, lasting=long)], [[FROZEN]], [*[0] * long, 0, 1])


def test_what_is_shown_again_is_as_dirty_as_it_was_and_dirt_of_now_is_not_seen(by_hand):
    plan = [Interval(begin=2, lasting=2), Interval(begin=4, lasting=3), Interval(begin=6, lasting=2)]
    expected = [0, 1, -2, -3, *(-3, -3, -3), -1, 2]
    check_shown(plan, [[DIRT], [FROZEN], [DIRT]], expected)


def test_a_camera_is_held_back_in_time_alone():
    with refused(ExperimentError):
        BenchmarkStream(HERE, DELAYED)


def test_what_chance_holds_back_is_the_same_in_any_batch_and_another_at_each_coming(by_hand):
    dropped = lagging(lambda chance: int(chance < 0.5))
    schedule = Intervals(plan=[Interval(begin=6, lasting=12, every=18)])
    stream = TimedStream(HERE, schedule=schedule, named=[[dropped]], length=96)
    reference, *others = (first(stream, 96, size)["images"] for size in BATCH_SIZES)
    for other in others:
        np.testing.assert_array_equal(reference, other)
    clean = HERE.test.images.read(np.arange(96) % 6)
    held = (reference != clean).any(axis=(1, 2, 3))
    before = np.roll(clean, 1, axis=0)
    np.testing.assert_array_equal(reference, np.where(held[:, None, None, None], before, clean))
    comings = held[6:].reshape(5, 18)
    assert not comings[:, 12:].any()
    assert len({tuple(coming) for coming in comings[:, :12].tolist()}) == 5
    assert abs(comings[:, :12].mean() - 0.5) < 0.25


def test_a_frame_that_comes_in_time_is_no_fault(by_hand):
    dropped = lagging(lambda chance: HELD if chance < 0.5 else 0)
    stream = TimedStream(HERE, schedule=Intervals(plan=[Interval(begin=6)]), named=[[dropped]], length=60)
    seen = first(stream, 60, 7)
    clean = HERE.test.images.read(np.arange(60) % 6)
    before, lost = np.roll(seen["images"], 1, axis=0), seen["is_ood"]
    assert np.array_equal(seen["images"], np.where(lost[:, None, None, None], before, clean))
    assert 10 < lost.sum() < 45
    assert np.array_equal(np.char.find(seen["ids"], "late") >= 0, lost)


def test_a_camera_that_freezes_while_it_is_late_stays_where_it_is(by_hand):
    plan = [Interval(begin=3, lasting=9), Interval(begin=6, lasting=4)]
    check_shown(
        plan,
        [[DELAYED], [lagging(lambda chance: HELD, "late-too")]],
        [0, 1, 2, 1, 2, 3, *(3, 3, 3, 3), 2, 3, 0],
    )


def test_an_episode_begins_with_what_its_own_interval_hits():
    """Dirt stays on the lens; of the objects that pass later some are in haze, which begins an episode."""
    haze = changing("haze", lambda images: images / 2)
    plan = [Interval(begin=2), Interval(begin=6, lasting=30, share=0.3)]
    for seed in range(8):
        stream = TimedStream(
            HERE, schedule=Intervals(plan=plan), named=[[DIRT], [haze]], length=40, seed=seed
        )
        seen = first(stream, 40, 7)
        hazy = np.flatnonzero(np.char.find(seen["faultload"], "haze") >= 0)
        expected = np.where(np.arange(40) < 2, -1, 0)
        if hazy.size:
            expected[hazy[0] :] = 1
        assert seen["episode"].tolist() == expected.tolist(), seed


def test_of_two_that_bring_images_the_later_one_is_seen():
    plan = [Interval(begin=2), Interval(begin=4, lasting=3)]
    one, other = novelty(), novelty()
    other.faultload.name = "other"
    stream = TimedStream(HERE, schedule=Intervals(plan=plan), named=[[one], [other]], length=10)
    names = first(stream, 10, 7)["faultload"].tolist()
    assert names == [""] * 2 + ["novelty"] * 2 + ["other"] * 3 + ["novelty"] * 3
