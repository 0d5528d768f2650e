"""Streams with time: finite and endless, pass by pass, the same whatever the batch."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from farm import registry
from farm.api import Context, FaultContext
from farm.api.data import SomeImages
from farm.errors import ExperimentError, ParameterError
from farm.run.builder import make_order
from farm.run.faults import Fault
from farm.run.schedules import Onset, Ramp, Recurring, Sequence
from farm.run.streams import BenchmarkStream
from farm.run.testbed import Testbed
from farm.run.timed import TimedStream
from farm.run.timeline import STRETCH
from farm.testing.fakes import FakeFaultload, TinyModel, TinySource
from tests.run.streamed import columns_of, most_in_a_row
from tests.wording import refused


@pytest.fixture
def context(tiny, classifier):
    return FaultContext(tiny, tiny.test, classifier, lambda spec: tiny, Context())


def fault(context, severity=None, share=1.0, **arguments):
    faultload = FakeFaultload(**({"transform": lambda x: 1 - x, "name": "negative"} | arguments))
    return Fault(faultload, faultload.prepare(context), severity, share)


def first(stream, n, size=16):
    batches = list(islice(stream.batches(size), -(-n // size)))
    return columns_of(*batches, n=n)


def test_faults_come_when_the_schedule_says(tiny, context):
    seen = first(TimedStream(tiny, fault(context), schedule=Onset(at=30), length=60), 60)
    assert seen["is_ood"].tolist() == [False] * 30 + [True] * 30
    assert seen["episode"].tolist() == [-1] * 30 + [0] * 30
    assert set(seen["faultload"][30:]) == {"negative"}


@pytest.mark.parametrize("size", [1, 7, 64])
def test_the_same_stream_whatever_the_batch(tiny, context, size):
    stream = TimedStream(tiny, fault(context), schedule=Recurring(period=9, burst=4), length=100, seed=5)
    reference, found = first(stream, 100, 100), first(stream, 100, size)
    for name, values in reference.items():
        assert np.array_equal(values, found[name], equal_nan=values.dtype.kind == "f"), name


def test_a_finite_stream_ends_where_it_should(tiny, context):
    stream = TimedStream(tiny, fault(context), schedule=Onset(at=5), length=37)
    assert sum(len(batch) for batch in stream.batches(10)) == 37


def test_every_instance_comes_once_before_any_comes_again(tiny, context):
    n = len(tiny.test)
    seen = first(TimedStream(tiny, fault(context), schedule=Onset(at=10**6)), 3 * n)
    passes = seen["ids"].reshape(3, n)
    assert sorted(passes[0]) == sorted(tiny.test.ids)
    assert sorted(passes[1]) == sorted(f"{i}~1" for i in tiny.test.ids)
    assert [i.split("~")[0] for i in passes[1]] != passes[0].tolist(), "each pass has an order of its own"
    assert len(set(seen["ids"])) == 3 * n


def test_a_ramp_raises_the_severity_instance_by_instance(tiny, context):
    levels = fault(context, severity=4, severities=(1, 2, 3, 4), name="haze")
    seen = first(TimedStream(tiny, levels, schedule=Ramp(end=8, of="severity"), length=12), 12)
    np.testing.assert_allclose(seen["severity"], [0.5 * i for i in range(1, 9)] + [4.0] * 4)


def test_views_of_an_object_are_its_track_in_order(tiny, context):
    views = 3
    seen = first(TimedStream(tiny, fault(context), schedule=Sequence(views=views, share=0.3), length=60), 60)
    tracks = seen["track"].reshape(-1, views)
    assert (tracks == tracks[:, :1]).all()


def test_views_beyond_the_track_are_told_apart_by_noise():
    workload = Testbed(seed=0).workload(TinySource(tracks=(4, 3, 4), frames=1))
    classifier = TinyModel().classifier(workload, Context())
    context = FaultContext(workload, workload.test, classifier, lambda spec: workload, Context())
    stream = TimedStream(workload, fault(context), schedule=Sequence(views=4, share=0.2), length=40)
    seen = first(stream, 40)
    for images in seen["images"].reshape(-1, 4, *workload.shape):
        change = np.abs(images[1:] - images[0]).mean(axis=(1, 2, 3))
        assert (change > 0).all()
        assert (change < 0.05).all()


class Lent(SomeImages):
    """Images that are read as a part of what their source keeps, and that nobody may change."""

    def read(self, indices):
        pixels = super().read(indices)
        pixels.flags.writeable = False
        return pixels


def test_images_may_be_the_sources_own(tiny, context):
    test = replace(tiny.test, images=Lent(tiny.test.images, np.arange(len(tiny.test))))
    lent = replace(tiny, test=test)
    lagging = registry.faultload("frozen-frame")
    own = FaultContext(lent, test, context.classifier, lambda spec: lent, Context())
    several = TimedStream(lent, fault(own), fault(own, name="b"), schedule=Sequence(views=4, share=0.3))
    late = TimedStream(lent, Fault(lagging, lagging.prepare(own)), schedule=Recurring(period=9, burst=4))
    for stream in (several, late):
        assert first(stream, 60)["is_ood"].any()


def test_several_faults_come_in_their_shares(tiny, context):
    faults = [fault(context, share=1, name="a"), fault(context, share=3, name="b")]
    seen = first(TimedStream(tiny, *faults, schedule=Onset(at=0)), 2000, 100)
    assert (seen["faultload"] == "b").mean() == pytest.approx(0.75, abs=0.03)


def test_an_endless_stream_keeps_no_memory(tiny, context):
    stream = TimedStream(tiny, fault(context), schedule=Recurring(period=9, burst=4))
    assert stream.length is None
    batches, whole = stream.batches(64), STRETCH // 64
    tracemalloc.start()
    # What is planned ahead and what is remembered is there after some whole stretches, and stays as large.
    for _ in islice(batches, 8 * whole):
        pass
    before, _ = tracemalloc.get_traced_memory()
    for _ in islice(batches, 16 * whole):
        pass
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 2 * 16 * STRETCH, "whatever is kept of an instance, or of an object, is more than 2 bytes"


def test_time_without_a_fault_is_refused(tiny):
    with refused(ExperimentError):
        TimedStream(tiny, schedule=Onset(at=3))


def test_a_fault_that_no_interval_has_room_for_is_refused(tiny, context):
    with refused(ExperimentError):
        TimedStream(tiny, fault(context), schedule=Onset(at=3), named=[[fault(context, name="own")]])


@pytest.mark.parametrize("coherence", ["episode", "drifting"])
def test_a_draw_that_lasts_in_time_needs_a_stream_with_time(tiny, context, coherence):
    lasting = replace(fault(context), coherence=coherence)
    for arguments in ({}, {"everywhere": [lasting]}):
        with refused(ExperimentError):
            BenchmarkStream(tiny, *([] if arguments else [lasting]), **arguments)


def test_without_time_an_attack_draws_for_each_instance(tiny, context):
    rule = registry.faultload("square-attack", queries=5)
    attack = Fault(rule, rule.prepare(context), coherence="track")
    with refused(ExperimentError):
        BenchmarkStream(tiny, attack)
    assert BenchmarkStream(tiny, replace(attack, coherence="instance")).n_ood == len(tiny.test)


def test_a_rate_of_frames_needs_a_stream_with_time(tiny, classifier):
    with refused(ExperimentError):
        Testbed().stream(tiny, classifier, frame_rate=25.0)
    with refused(ParameterError):
        TimedStream(tiny, schedule=Onset(at=3), frame_rate=0)


def test_a_fault_on_both_stays_as_it_is_for_the_whole_stream(tiny, context):
    dead = registry.faultload("dead-columns", value=0.0)
    dead = Fault(dead, dead.prepare(context), 3)
    stream = TimedStream(tiny, fault(context), schedule=Recurring(period=9, burst=4), everywhere=[dead])
    columns = (first(stream, 200)["images"] == 0).all(axis=(1, 2))
    assert columns[0].any()
    assert (columns == columns[0]).all()


def test_an_endless_stream_leaves_no_readouts(tiny, classifier, context):
    stream = TimedStream(tiny, fault(context), schedule=Onset(at=3))
    with refused(ExperimentError):
        Testbed().run(stream, classifier, [], tiny)


def test_orders_go_by_name():
    assert make_order("sequential") == "sequential"
    assert make_order({"name": "onset", "at": 3}).parameters["at"] == 3
    with refused(ExperimentError):
        make_order({"name": "shuffled", "at": 3})
    with refused(Exception):
        make_order("onsett")


# Several faults without time, and faults on everything --------------------------------------------------


def test_faults_share_the_ood_instances(tiny, context):
    faults = [fault(context, share=1, name="a"), fault(context, share=3, name="b")]
    seen = first(BenchmarkStream(tiny, *faults, ood_share=0.5), 10_000)
    n = {name: int((seen["faultload"] == name).sum()) for name in ("a", "b")}
    assert abs(3 * n["a"] - n["b"]) <= 3
    assert abs(n["a"] + n["b"] - (~seen["is_ood"]).sum()) <= 1


def test_a_fault_on_both_changes_id_and_ood_alike_and_makes_nothing_ood(tiny, context):
    dark = fault(context, transform=lambda x: x / 2, name="dark")
    plain = first(BenchmarkStream(tiny, fault(context), seed=1), 10_000)
    both = first(BenchmarkStream(tiny, fault(context), everywhere=[dark], seed=1), 10_000)
    np.testing.assert_array_equal(both["images"], plain["images"] / 2)
    np.testing.assert_array_equal(both["is_ood"], plain["is_ood"])
    np.testing.assert_array_equal(both["labels"], plain["labels"])
    assert set(both["faultload"][both["is_ood"]]) == {"negative+dark"}
    assert set(both["faultload"][~both["is_ood"]]) == {""}
    assert all(i.endswith("|dark") for i in both["ids"])


def test_a_fault_on_both_draws_anew_at_every_visit(tiny, context):
    noise = registry.faultload("gaussian-noise")
    noise = Fault(noise, noise.prepare(context), 3)
    stream = TimedStream(tiny, fault(context), schedule=Onset(at=10**6), everywhere=[noise])
    seen = first(stream, 2 * len(tiny.test), 50)
    again = {i.split("|")[0]: image for i, image in zip(seen["ids"], seen["images"], strict=True)}
    one = str(tiny.test.ids[0])
    assert not np.array_equal(again[one], again[f"{one}~1"])


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("shuffled-pixels", {}),
        ("mixed-halves", {}),
        ("stuck-frame", {}),
        ("black-frame", {"no_answer": True}),
    ],
)
def test_what_cannot_be_applied_to_all_alike_is_refused(tiny, context, name, arguments):
    rule = registry.faultload(name, **arguments)
    with refused(ExperimentError):
        BenchmarkStream(tiny, everywhere=[Fault(rule, rule.prepare(context))])


def test_two_faults_of_one_name_are_refused(tiny, context):
    with refused(ExperimentError):
        BenchmarkStream(tiny, fault(context), fault(context))


def test_unequal_shares_are_kept_whatever_else_is_asked(tiny, context):
    for asked in ({}, {"length": 40}, {"ood_share": 0.5}):
        faults = [fault(context, share=1, name="a"), fault(context, share=3, name="b")]
        seen = first(BenchmarkStream(tiny, *faults, **asked), 10_000)
        n = {name: int((seen["faultload"] == name).sum()) for name in ("a", "b")}
        assert abs(3 * n["a"] - n["b"]) <= 3, asked


def test_a_ramp_of_the_severity_needs_severities(tiny, context):
    with refused(ExperimentError):
        TimedStream(tiny, fault(context), schedule=Ramp(end=10, of="severity"))


def test_a_stuck_frame_is_not_for_streams_with_time(tiny, context):
    rule = registry.faultload("stuck-frame")
    with refused(ExperimentError):
        TimedStream(tiny, Fault(rule, rule.prepare(context)), schedule=Onset(at=3))


def test_every_frame_of_a_long_track_comes_in_time():
    workload = Testbed(seed=0).workload(TinySource(tracks=(4, 3, 4), frames=6))
    classifier = TinyModel().classifier(workload, Context())
    context = FaultContext(workload, workload.test, classifier, lambda spec: workload, Context())
    seen = first(TimedStream(workload, fault(context), schedule=Sequence(views=2, share=0.1)), 4000, 100)
    shown = {i.split("~")[0] for i in seen["ids"][~seen["is_ood"]]}
    assert shown == set(workload.test.ids)


def test_real_tracks_get_no_noise_of_ours(tiny, context):
    views = 3
    seen = first(TimedStream(tiny, fault(context), schedule=Sequence(views=views, share=0.2)), 600, 50)
    originals = {
        str(i): image
        for i, image in zip(tiny.test.ids, tiny.test.images.read(np.arange(len(tiny.test))), strict=True)
    }
    counts = np.unique(tiny.test.groups, return_counts=True)[1]
    assert counts.min() >= views
    for name, image, is_ood in zip(seen["ids"], seen["images"], seen["is_ood"], strict=True):
        if not is_ood:
            assert np.array_equal(image, originals[name.split("~")[0]])


@pytest.mark.parametrize(("schedule", "longest"), [(Onset(at=50), 4), (Sequence(views=6), 6)])
def test_no_object_is_seen_more_often_in_a_row_than_is_told(tiny, context, schedule, longest):
    stream = TimedStream(tiny, fault(context), schedule=schedule, length=200)
    # Within one pass: after it another object comes first.
    assert stream.longest_track == longest == most_in_a_row(first(stream, 50)["track"])
