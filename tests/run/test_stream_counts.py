"""How many instances of each fault a stream takes, and which: against fractions worked out one by one."""

from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from farm.api import NO_ANSWER, ArrayImages, FaultTargets, Split, generator
from farm.errors import ExperimentError
from farm.run.faults import Fault
from farm.run.streams import BenchmarkStream
from farm.testing.fakes import FakeFaultload, tiny_workload
from tests.wording import refused

BASE = tiny_workload(classes=("a", "b"), size=1, tracks=(1, 1, 1), frames=2)


def blank_split(n, name, pixel):
    ids = np.array([f"{name}-{i:04d}" for i in range(n)])
    return Split("test", ArrayImages(np.full((n, 3, 1, 1), pixel, np.uint8)), np.zeros(n, int), ids, ids)


def stream_of(n_id, sizes, shares=None, **asked):
    """Make a stream of this many ID instances and of faults with this many targets; images do not matter."""
    faults = []
    for number, size in enumerate(sizes):
        pool, category = blank_split(size, f"ood{number}", 250 - number), np.full(size, "noise")
        targets = FaultTargets(pool, "pool", np.arange(size), np.full(size, NO_ANSWER), category)
        share = 1.0 if shares is None else float(shares[number])
        faults.append(Fault(FakeFaultload(name=f"fault{number}"), targets, share=share))
    return BenchmarkStream(replace(BASE, test=blank_split(n_id, "id", 0)), *faults, **asked)


def taken(stream, n_faults, size=7):
    """Return the numbers of ID instances and of each fault, as they come out of the stream."""
    names = [name for batch in stream.batches(size) for name in batch.faultload.tolist()]
    counts = [names.count(name) for name in ("", *(f"fault{number}" for number in range(n_faults)))]
    assert sum(counts) == stream.length
    assert sum(counts[1:]) == stream.n_ood
    return counts[0], counts[1:]


def quotas_hold(portions, sizes, shares):
    """Say whether faults share a number by the largest remainders, as far as there are enough of each."""
    total, given_out = sum(shares), sum(portions)
    wanted = [Fraction(share * given_out, total) for share in shares]
    short = [one - portion for one, portion in zip(wanted, portions, strict=True)]
    free = [portion < size for portion, size in zip(portions, sizes, strict=True)]
    # Nobody who could have one more is farther below its share than somebody was before its last one.
    return all(
        short[i] <= short[j] + 1
        for i, j in product(range(len(sizes)), repeat=2)
        if free[i] and portions[j] > wanted[j]
    ) and all(
        portion >= min(int(one), size) for portion, one, size in zip(portions, wanted, sizes, strict=True)
    )


FAULTS = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 5)), min_size=1, max_size=4)


@given(st.integers(1, 30), FAULTS)
def test_unless_shares_differ_every_instance_of_every_fault_comes(n_id, faults):
    sizes = [size for size, _ in faults]
    for share in (1, 3):
        assert taken(stream_of(n_id, sizes, [share] * len(sizes)), len(sizes)) == (n_id, sizes)


@given(st.integers(1, 30), FAULTS)
def test_where_shares_differ_as_many_come_as_can_keep_them(n_id, faults):
    sizes, shares = ([one[i] for one in faults] for i in (0, 1))
    assume(len(set(shares)) > 1)
    took_id, portions = taken(stream_of(n_id, sizes, shares), len(sizes))
    most = min(Fraction(size * sum(shares), share) for size, share in faults)
    assert took_id == n_id
    assert sum(portions) == min(int(most), sum(sizes))
    assert quotas_hold(portions, sizes, shares)


@given(st.integers(1, 30), FAULTS, st.sampled_from([Fraction(1, 10), Fraction(1, 2), Fraction(4, 5)]))
def test_with_a_share_of_ood_instances_faults_keep_theirs_within_it(n_id, faults, ood_share):
    sizes, shares = ([one[i] for one in faults] for i in (0, 1))
    took_id, portions = taken(stream_of(n_id, sizes, shares, ood_share=float(ood_share)), len(sizes))
    most = int(min(Fraction(size * sum(shares), share) for size, share in faults))
    total = min(Fraction(n_id) / (1 - ood_share), Fraction(most) / ood_share)
    assert abs(took_id - total * (1 - ood_share)) <= Fraction(1, 2)
    assert abs(sum(portions) - total * ood_share) <= Fraction(1, 2)
    assert took_id == n_id or sum(portions) == most
    assert quotas_hold(portions, sizes, shares)


@given(st.integers(5, 30), FAULTS, st.data())
def test_a_shorter_stream_keeps_the_shares_as_nearly_as_whole_instances_can(n_id, faults, data):
    sizes, shares = ([one[i] for one in faults] for i in (0, 1))
    whole = stream_of(n_id, sizes, shares)
    length = data.draw(st.integers(1, whole.length))
    took_id, portions = taken(stream_of(n_id, sizes, shares, length=length), len(sizes))
    assert took_id + sum(portions) == length
    assert abs(sum(portions) - Fraction(length * whole.n_ood, whole.length)) <= Fraction(1, 2)
    assert quotas_hold(portions, sizes, shares)


@pytest.mark.parametrize(
    ("sizes", "shares", "asked", "expected"),
    [
        ([10, 4], [1, 1], {}, (8, [10, 4])),
        ([10, 4], [1, 1], {"ood_share": 1.0}, (0, [4, 4])),
        ([10, 4], [3, 1], {}, (8, [10, 3])),
        ([10, 10], [1, 3], {}, (8, [3, 10])),
        ([10, 10], [1, 3], {"ood_share": 0.5}, (8, [2, 6])),
        ([10, 10], [1, 3], {"ood_share": 0.5, "length": 8}, (4, [1, 3])),
        ([10, 10, 10], [2, 1, 1], {"ood_share": 0.5, "length": 6}, (3, [1, 1, 1])),
        ([5], [7], {"ood_share": 0.0}, (8, [0])),
    ],
)
def test_worked_examples(sizes, shares, asked, expected):
    """By hand: of 8 ID instances and these faults."""
    assert taken(stream_of(8, sizes, shares, **asked), len(sizes)) == expected


def test_a_length_of_more_than_there_is_takes_all():
    assert stream_of(8, [4], length=12).length == 12
    assert stream_of(8, [4], ood_share=0.5, length=8).length == 8
    assert taken(stream_of(8, [4], length=13), 1) == (8, [4])
    assert taken(stream_of(8, [4], ood_share=0.5, length=9), 1) == (4, [4])


def test_a_share_of_nothing_needs_no_fault_and_more_does():
    assert taken(stream_of(8, [], ood_share=0.0), 0) == (8, [])
    assert taken(stream_of(8, []), 0) == (8, [])
    with refused(ExperimentError):
        stream_of(8, [], ood_share=1e-9)


# Which of them -----------------------------------------------------------------------------------------


def ids_of(stream):
    return [name for batch in stream.batches(16) for name in batch.ids.tolist()]


def test_what_is_drawn_of_a_source_is_a_draw_of_its_own_without_replacement():
    asked = {"ood_share": 0.5, "length": 40, "order": "sequential", "seed": 5}
    ids = ids_of(stream_of(100, [100, 100], **asked))
    for number, (name, ending, n) in enumerate(
        (("id", "", 20), ("ood0", "|fault0", 10), ("ood1", "|fault1", 10))
    ):
        drawn = sorted(generator(5, "stream", "source", number).permutation(100)[:n])
        start = (0, 20, 30)[number]
        assert ids[start : start + n] == [f"{name}-{i:04d}{ending}" for i in drawn]
    assert [i[-11:-7] for i in ids[20:30]] != [i[-11:-7] for i in ids[30:40]], "each source has its own"


def test_every_instance_is_drawn_as_often_as_any_other():
    counts = np.zeros(20)
    for seed in range(400):
        for name in ids_of(stream_of(20, [], length=5, seed=seed)):
            counts[int(name[-4:])] += 1
    # Each comes in a quarter of 400 streams; five standard deviations are 43.
    assert np.abs(counts - 100).max() < 43


def test_shuffled_is_the_order_of_one_draw_over_all():
    asked = {"ood_share": 0.25, "seed": 9}
    one = ids_of(stream_of(30, [30], order="sequential", **asked))
    mixed = generator(9, "stream", "order").permutation(len(one))
    assert ids_of(stream_of(30, [30], order="shuffled", **asked)) == [one[i] for i in mixed]


def test_batches_begin_where_the_last_ended():
    stream = stream_of(10, [5])
    batches = list(stream.batches(4))
    assert [len(batch) for batch in batches] == [4, 4, 4, 3]
    for batch in batches:
        columns = {one.name: getattr(batch, one.name) for one in fields(batch)}
        columns |= columns.pop("conditions")
        assert all(len(column) == len(batch) for column in columns.values())
