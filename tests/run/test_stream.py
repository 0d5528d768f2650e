"""Streams: which instances arrive, in which order; what a fault touches, and what it must not."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farm.api import (
    NO_ANSWER,
    ArrayImages,
    Context,
    FaultContext,
    Faulted,
    FaultTargets,
    Silent,
    Split,
    uniform_by_id,
)
from farm.errors import DataError, ExperimentError, ParameterError
from farm.run.benchmark_set import StoredStream, write_benchmark
from farm.run.faults import Fault
from farm.run.sources import _fault_ids, check_unseen
from farm.run.streams import BenchmarkStream
from farm.run.testbed import Testbed
from farm.testing.fakes import FakeFaultload, TinyModel, tiny_workload
from tests.run.streamed import columns_of, most_in_a_row, same_columns
from tests.wording import refused, same_text


def whole(stream, size=1000):
    """Return the columns of a whole stream."""
    return SimpleNamespace(**columns_of(*stream.batches(size)))


def same(first, second):
    return same_columns(vars(first), vars(second))


def fault_on(workload, faultload=None, severity=None):
    """Prepare a fault on a workload's own test split."""
    faultload = faultload or FakeFaultload(transform=lambda x: 1 - x, label=NO_ANSWER, name="negative")
    context = FaultContext(workload, workload.test, None, lambda spec: workload, Context())
    return Fault(faultload, faultload.prepare(context), severity)


@pytest.fixture(scope="module")
def tiny():
    return tiny_workload(tracks=(3, 2, 5), frames=3)


@pytest.fixture(scope="module")
def fault(tiny):
    return fault_on(tiny)


# How many of each --------------------------------------------------------------------------------------

SIZES = st.integers(1, 40)
HALF = 0.5 + 1e-9


def blank_split(n, name, pixel):
    ids = np.array([f"{name}-{i}" for i in range(n)])
    return Split("test", ArrayImages(np.full((n, 3, 1, 1), pixel, np.uint8)), np.zeros(n, int), ids, ids)


def stream_of_sizes(n_id, n_ood, **asked):
    """Make a stream from this many test instances and this many targets; their images do not matter."""
    base = tiny_workload(classes=("a", "b"), size=1, tracks=(1, 1, 1), frames=2)
    workload = replace(base, test=blank_split(n_id, "id", 0))
    pool, every = blank_split(n_ood, "ood", 255), np.full(n_ood, "noise")
    targets = FaultTargets(pool, "pool", np.arange(n_ood), np.full(n_ood, NO_ANSWER), every)
    return BenchmarkStream(workload, Fault(FakeFaultload(), targets), **asked)


@settings(max_examples=200)
@given(SIZES, SIZES, st.floats(0, 1))
def test_the_share_is_met_as_nearly_as_whole_instances_can(n_id, n_ood, share):
    stream = stream_of_sizes(n_id, n_ood, ood_share=share)
    assert abs(stream.n_ood - share * stream.length) <= HALF


@settings(max_examples=200)
@given(SIZES, SIZES, st.floats(0, 1))
def test_no_larger_stream_would_meet_the_share(n_id, n_ood, share):
    stream = stream_of_sizes(n_id, n_ood, ood_share=share)
    taken_id, taken_ood = stream.length - stream.n_ood, stream.n_ood
    assert taken_id <= n_id
    assert taken_ood <= n_ood
    assert taken_id == n_id or taken_ood == n_ood


@given(SIZES, SIZES, st.none() | st.floats(0, 1), st.data())
def test_a_shorter_stream_has_the_asked_length_and_share(n_id, n_ood, share, data):
    full = stream_of_sizes(n_id, n_ood, ood_share=share)
    length = data.draw(st.integers(1, full.length))
    stream = stream_of_sizes(n_id, n_ood, ood_share=share, length=length)
    wanted = n_ood / (n_id + n_ood) if share is None else share
    assert stream.length == length == len(whole(stream).ids)
    assert abs(stream.n_ood - wanted * length) <= HALF


@given(SIZES, SIZES, st.none() | st.floats(0, 1), st.integers(0, 3))
def test_no_instance_comes_twice(n_id, n_ood, share, seed):
    batch = whole(stream_of_sizes(n_id, n_ood, ood_share=share, seed=seed))
    assert len(np.unique(batch.ids)) == len(batch.ids)


def test_without_a_share_every_instance_comes(tiny, fault):
    stream = BenchmarkStream(tiny, fault)
    assert (stream.length, stream.n_ood) == (2 * len(tiny.test), len(tiny.test))


def test_a_stream_longer_than_what_there_is_has_all_and_says_so(tiny, fault):
    half = BenchmarkStream(tiny, fault, ood_share=0.5, length=500)
    assert same(whole(half), whole(BenchmarkStream(tiny, fault, ood_share=0.5)))
    assert half.provenance["asked_length"] == 500
    same_text(half.shortened)
    same_text(BenchmarkStream(tiny, length=500).shortened)
    exact = BenchmarkStream(tiny, length=len(tiny.test))
    assert exact.shortened is None
    assert "asked_length" not in exact.provenance


def test_the_testbed_notes_a_stream_that_is_shorter_than_asked(tiny):
    notes = []
    progress = Silent()
    progress.note = notes.append
    classifier = TinyModel().classifier(tiny, Context())
    Testbed(progress=progress).stream(tiny, classifier, length=500)
    assert notes == [BenchmarkStream(tiny, length=500).shortened]


def test_an_id_test_image_among_the_novel_ones_is_refused_unless_it_is_left_out(tiny):
    other = tiny_workload(classes=("elm", "fir"), name="other", seed=1)
    n = len(other.test)
    images = other.test.images.read(np.arange(n))
    images[2] = tiny.test.images.read(np.array([3]))[0]
    planted = replace(other.test, images=ArrayImages(images))

    def novel(rows):
        targets = FaultTargets(planted, "other", rows, np.full(len(rows), -1), np.full(len(rows), "novelty"))
        return Fault(FakeFaultload(name="abroad"), targets)

    with refused(DataError):
        BenchmarkStream(tiny, novel(np.arange(n)))
    assert BenchmarkStream(tiny, novel(np.delete(np.arange(n), 2))).n_ood == n - 1


def test_ood_instances_without_a_faultload_are_refused(tiny):
    with refused(ExperimentError):
        BenchmarkStream(tiny, ood_share=0.2)


@pytest.mark.parametrize(
    "asked",
    [
        {"order": "random"},
        {"ood_share": 1.5},
        {"ood_share": float("nan")},
        {"length": 0},
    ],
)
def test_a_setting_that_no_stream_can_have_is_told(tiny, fault, asked):
    with refused(ParameterError):
        BenchmarkStream(tiny, fault, **asked)


# Order -------------------------------------------------------------------------------------------------


def test_shuffled_is_a_permutation_of_sequential(tiny, fault):
    shuffled = whole(BenchmarkStream(tiny, fault, seed=1))
    sequential = whole(BenchmarkStream(tiny, fault, order="sequential", seed=1))
    assert sorted(shuffled.ids) == sorted(sequential.ids)
    assert shuffled.ids.tolist() != sequential.ids.tolist()


def test_sequential_is_all_id_instances_then_all_ood_ones_as_they_lie(tiny, fault):
    batch = whole(BenchmarkStream(tiny, fault, order="sequential"))
    n = len(tiny.test)
    assert batch.ids[:n].tolist() == tiny.test.ids.tolist()
    assert batch.is_ood.tolist() == [False] * n + [True] * n


def test_sequential_keeps_the_order_where_some_are_left_out(tiny, fault):
    batch = whole(BenchmarkStream(tiny, fault, order="sequential", ood_share=0.3, length=40))
    assert batch.ids[:28].tolist() == sorted(batch.ids[:28])
    assert batch.ids[28:].tolist() == sorted(batch.ids[28:])


def test_the_order_depends_on_the_seed_and_on_nothing_else(tiny, fault):
    def ids(seed):
        return whole(BenchmarkStream(tiny, fault, ood_share=0.4, seed=seed)).ids.tolist()

    assert ids(3) == ids(3)
    assert ids(3) != ids(4)


def test_the_order_follows_the_seed_though_every_instance_comes(tiny, fault):
    one, other = (whole(BenchmarkStream(tiny, fault, seed=seed)).ids.tolist() for seed in (3, 4))
    assert sorted(one) == sorted(other)
    assert one != other


def test_which_id_instances_are_drawn_does_not_depend_on_the_fault(tiny):
    several = [FakeFaultload(name="a"), FakeFaultload(transform=lambda x: 1 - x, name="b")]
    drawn = []
    for faultload in several:
        batch = whole(BenchmarkStream(tiny, fault_on(tiny, faultload), ood_share=0.6, seed=2))
        drawn.append(batch.ids[~batch.is_ood].tolist())
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) < len(tiny.test)


def test_ood_and_id_instances_are_mixed_when_shuffled(tiny, fault):
    positions = np.flatnonzero(whole(BenchmarkStream(tiny, fault)).is_ood)
    assert abs(positions.mean() - (2 * len(tiny.test) - 1) / 2) < 15


# Batches -----------------------------------------------------------------------------------------------


@given(st.integers(1, 150), st.sampled_from(["shuffled", "sequential"]))
def test_batches_of_any_size_make_up_the_same_stream_bit_for_bit(tiny, fault, size, order):
    stream = BenchmarkStream(tiny, fault, order=order, ood_share=0.3, seed=5)
    assert same(whole(stream, size), whole(stream, 1000))
    assert all(len(batch) == size for batch in list(stream.batches(size))[:-1])


def test_a_stream_can_be_run_again_from_the_start(tiny, fault):
    stream = BenchmarkStream(tiny, fault)
    next(stream.batches(7))
    assert same(whole(stream), whole(stream))


# Faults ------------------------------------------------------------------------------------------------


def test_a_fault_touches_ood_rows_only(tiny, fault):
    batch = whole(BenchmarkStream(tiny, fault))
    original = tiny.test.images.read(np.arange(len(tiny.test)))
    place = {name: i for i, name in enumerate(tiny.test.ids)}
    rows = np.array([place[name.removesuffix("|negative")] for name in batch.ids])
    assert np.array_equal(batch.images[~batch.is_ood], original[rows[~batch.is_ood]])
    assert np.array_equal(batch.images[batch.is_ood], 1 - original[rows[batch.is_ood]])
    assert batch.labels[~batch.is_ood].tolist() == tiny.test.labels[rows[~batch.is_ood]].tolist()
    assert set(batch.labels[batch.is_ood]) == {NO_ANSWER}


def test_what_is_ood_says_of_which_fault_and_what_is_id_says_of_none(tiny, fault):
    batch = whole(BenchmarkStream(tiny, fault))
    for column, ood in (("category", "noise"), ("faultload", "negative")):
        values = getattr(batch, column)
        assert set(values[batch.is_ood]) == {ood}
        assert set(values[~batch.is_ood]) == {""}
    assert set(batch.workload) == {"tiny"}
    assert np.isnan(batch.severity).all()


def test_a_faulted_instance_keeps_its_track_and_gets_an_id_of_its_own(tiny):
    fault = fault_on(tiny, FakeFaultload(severities=(1, 2), name="fog"), severity=2)
    batch = whole(BenchmarkStream(tiny, fault, order="sequential"))
    n = len(tiny.test)
    assert batch.ids[n:].tolist() == [f"{i}|fog@2" for i in tiny.test.ids]
    assert batch.track[n:].tolist() == tiny.test.groups.tolist()
    assert set(batch.severity[n:]) == {2.0}
    assert np.isnan(batch.severity[:n]).all()


@pytest.mark.parametrize(
    ("severities", "severity"),
    [
        ((), 1.0),
        ((1, 2), None),
        ((1, 2), 3.0),
    ],
)
def test_a_severity_that_the_fault_does_not_know_is_told(tiny, severities, severity):
    fault = fault_on(tiny, FakeFaultload(severities=severities, name="fog"), severity)
    with refused(ParameterError):
        BenchmarkStream(tiny, fault)


class Speckle(FakeFaultload):
    """Noise keyed by the instance's id, as the contract asks for."""

    def _apply(self, images, labels, ids, severity, keys):
        level = uniform_by_id(0, "speckle", ids).astype(np.float32)
        return Faulted(images * level[:, None, None, None], labels)


@given(st.integers(1, 130), st.integers(0, 3), st.sampled_from(["shuffled", "sequential"]))
def test_a_random_fault_is_the_same_for_an_instance_wherever_it_stands(tiny, size, seed, order):
    fault = fault_on(tiny, Speckle())

    def by_id(stream, size):
        batch = whole(stream, size)
        return dict(zip(batch.ids, batch.images, strict=True))

    reference = by_id(BenchmarkStream(tiny, fault, order="sequential"), 1000)
    found = by_id(BenchmarkStream(tiny, fault, order=order, seed=seed, ood_share=0.6), size)
    assert all(np.array_equal(image, reference[name]) for name, image in found.items())


def test_monitors_are_not_shown_the_truth_through_the_order_of_calls(tiny, fault):
    # A batch without any OOD instance is as good as one with some.
    stream = BenchmarkStream(tiny, fault, order="sequential")
    first = next(stream.batches(5))
    assert not first.is_ood.any()
    assert first.faultload.tolist() == [""] * 5


# Honesty -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("split", ["train", "validation"])
def test_a_novelty_image_planted_in_the_training_data_is_caught(tiny, split):
    other = tiny_workload(classes=("elm", "fir"), name="other")
    part = getattr(tiny, split)
    images = np.rint(part.images.read(np.arange(len(part))) * 255).astype(np.uint8)
    images[4] = np.rint(other.test.images.read(np.array([9]))[0] * 255)
    planted = replace(tiny, **{split: replace(part, images=ArrayImages(images))})
    n = len(other.test)
    targets = FaultTargets(other.test, "other", np.arange(n), np.full(n, -1), np.full(n, "novelty"))
    with refused(DataError):
        BenchmarkStream(planted, Fault(FakeFaultload(name="abroad"), targets))
    BenchmarkStream(tiny, Fault(FakeFaultload(name="abroad"), targets))


@pytest.mark.parametrize("split", ["train", "validation"])
def test_a_group_of_the_fault_in_the_training_data_is_caught(tiny, split):
    other = tiny_workload(classes=("elm", "fir"), name="other")
    part, n = getattr(tiny, split), len(other.test)
    groups = part.groups.astype(object)
    groups[4] = other.test.groups[9]
    related = replace(tiny, **{split: replace(part, groups=groups.astype(str))})
    targets = FaultTargets(other.test, "other", np.arange(n), np.full(n, -1), np.full(n, "novelty"))
    np.flatnonzero(other.test.groups == other.test.groups[9])
    with refused(DataError):
        BenchmarkStream(related, Fault(FakeFaultload(name="abroad"), targets))


def test_id_instances_that_were_trained_on_are_caught_when_the_stream_is_made(tiny):
    planted = replace(tiny, test=replace(tiny.train, name="test"))
    len(tiny.train)
    with refused(DataError):
        BenchmarkStream(planted)


def test_a_stream_is_guarded_against_whatever_workload_was_fitted_on(tiny):
    stream = BenchmarkStream(tiny)
    stream.guard(tiny)
    other = replace(tiny, name="other", train=replace(tiny.test, name="train"))
    with refused(DataError):
        stream.guard(other)


def test_ids_of_a_ramp_carry_the_severity_of_each_instance():
    made = _fault_ids(np.array(["a", "b", "c"]), "fog", np.array([1.0, 2.5, np.nan]))
    assert made.tolist() == ["a|fog@1", "b|fog@2.5", "c|fog"]


def test_splits_that_share_nothing_pass(tiny):
    check_unseen(tiny, tiny.test.digests, tiny.test.groups, tiny.test.ids, "here")


def test_provenance_tells_what_made_the_stream(tiny, fault):
    stream = BenchmarkStream(tiny, fault, ood_share=0.25, length=40, seed=6)
    told = stream.provenance
    assert (told["order"], told["asked_ood_share"], told["seed"]) == ("shuffled", 0.25, 6)
    assert (told["length"], told["n_ood"], told["ood_share"]) == (40, 10, 0.25)
    assert told["workload_hash"] == tiny.test.content_hash
    (first,) = told["faults"]
    assert first["name"] == "negative"
    assert first["parameters"] == fault.faultload.parameters
    assert first["parameters"]["label"] == NO_ANSWER
    assert first["targets_hash"] == tiny.test.content_hash


def test_a_stream_of_id_instances_alone_has_no_fault(tiny):
    stream = BenchmarkStream(tiny)
    assert (stream.n_ood, stream.provenance["faults"]) == (0, [])
    assert not whole(stream).is_ood.any()
    assert stream.classes == tiny.classes


def test_no_track_has_more_id_instances_in_a_row_than_is_told(tiny, fault, tmp_path):
    stream = BenchmarkStream(tiny, fault, order="sequential", seed=3)
    write_benchmark(stream, tmp_path / "set")
    seen = whole(stream)
    assert stream.longest_track == 3 == most_in_a_row(seen.track[~seen.is_ood])
    assert StoredStream(tmp_path / "set").longest_track == 3


def test_of_a_shuffled_stream_each_instance_comes_by_itself(tiny, fault, tmp_path):
    stream = BenchmarkStream(tiny, fault, seed=3)
    write_benchmark(stream, tmp_path / "set")
    assert stream.longest_track == StoredStream(tmp_path / "set").longest_track == 1
