"""Instances that are asked for by their places are those that come there, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.api import NoCache, Schedule, Stream
from farm.run.benchmark_set import StoredStream, write_benchmark
from farm.run.schedules import Bursts, Onset, Ramp, Recurring, Sequence
from farm.run.testbed import Testbed
from farm.testing.fakes import TinyModel, TinySource
from tests.run.streamed import columns_of
from tests.testing.leaning_attacks import Leaning
from tests.wording import refused

NOISE = {"name": "gaussian-noise", "severity": 3}
TWO = [NOISE, {"name": "fog", "severity": 2, "share": 2}]
BOTH = [NOISE, {"name": "shot-noise", "severity": 1, "both": True}]
BED = Testbed(seed=3, cache=NoCache())
TINY = BED.workload(TinySource(tracks=(4, 3, 5), frames=2))
MEANS = BED.classifier(TinyModel(), TINY)


def plain(faultload: object, **asked: object) -> Callable[[], Stream]:
    return lambda: BED.stream(TINY, MEANS, faultload, **asked)


def timed(schedule: Schedule, faultload: object = NOISE, length: int | None = 130) -> Callable[[], Stream]:
    """Return how to make a stream in which the 40 instances of each source come again and again."""
    return plain(faultload, order=schedule, length=length)


STREAMS: dict[str, Callable[[], Stream]] = {
    "ID alone": plain(None),
    "shuffled": plain(NOISE, ood_share=0.3),
    "sequential": plain(NOISE, order="sequential", length=31),
    "two faults": plain(TWO),
    "both": plain(BOTH, ood_share=0.5),
    "an attack": plain([Leaning(), NOISE], severity=2),
    "frames of others": plain({"name": "stuck-frame"}),
    "onset": timed(Onset(at=50)),
    "a ramp": timed(Ramp(end=60, of="severity")),
    "two in bursts": timed(Bursts(burst=7), TWO),
    "both, again and again": timed(Recurring(period=9, burst=4), BOTH),
    "views of short tracks": timed(Sequence(views=5, share=0.3)),
    "without an end": timed(Onset(at=50), length=None),
}


@pytest.fixture(scope="module", autouse=True)
def short_stretches() -> Iterator[None]:
    """Have schedules plan a few instances at a time, so that places lie in several of their stretches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("farm.run.timeline.STRETCH", 48)
        yield


@pytest.fixture(scope="module", params=STREAMS)
def streamed(request: pytest.FixtureRequest) -> tuple[Stream, dict[str, np.ndarray]]:
    """Return a stream, and all columns of its first 130 instances as another one gave them."""
    make = STREAMS[request.param]
    return make(), first(make(), 130)


def first(stream: Stream, n: int, size: int = 32) -> dict[str, np.ndarray]:
    batches = list(islice(stream.batches(size), -(-n // size)))
    return columns_of(*batches, n=n)


def check_at(stream: Stream, whole: dict[str, np.ndarray], positions: np.ndarray) -> None:
    found = stream.at(positions)
    for name, values in whole.items():
        assert getattr(found, name).dtype.kind == values.dtype.kind
        np.testing.assert_array_equal(getattr(found, name), values[positions], err_msg=name)


def test_any_places_in_any_order_are_those_of_the_stream(streamed) -> None:
    stream, whole = streamed
    n = len(whole["ids"])

    @given(st.lists(st.integers(0, n - 1), max_size=9))
    def check(places: list[int]) -> None:
        check_at(stream, whole, np.array(places, dtype=np.int64))

    check()
    check_at(stream, whole, np.random.default_rng(0).permutation(n))


def test_the_streams_have_what_is_hard_to_find_again() -> None:
    """Else the test above would show less than it says."""
    seen = {name: first(make(), 130) for name, make in STREAMS.items()}
    assert {"gaussian-noise", "fog"} <= set(seen["two faults"]["faultload"])
    assert (np.char.find(seen["both, again and again"]["ids"], "~1") >= 0).any()
    assert (np.char.find(seen["views of short tracks"]["ids"], "~1") >= 0).any()
    assert len(np.unique(seen["a ramp"]["severity"])) > 50
    assert len(seen["without an end"]["ids"]) == 130


def test_where_positions_are_asked_for_reading_goes_on_from_the_start(streamed) -> None:
    stream, whole = streamed
    iterator = stream.batches(10)
    assert np.array_equal(next(iterator).ids, whole["ids"][:10])
    stream.at(np.array([25, 3]))
    assert np.array_equal(next(iterator).ids, whole["ids"][10:20])


@pytest.mark.parametrize("images", ["npy", "png"])
def test_of_a_set_on_disk_too(tmp_path: Path, images: str) -> None:
    write_benchmark(STREAMS["two faults"](), tmp_path / "set", images=images)
    stored = StoredStream(tmp_path / "set")
    check_at(stored, first(stored, stored.length), np.array([41, 2, 2, 0, stored.length - 1]))


def test_of_others_no_image_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, read = STREAMS["onset"](), []
    images = type(TINY.test.images)
    original = images.read
    monkeypatch.setattr(images, "read", lambda self, rows: (read.append(len(rows)), original(self, rows))[1])
    stream.at(np.array([120, 7]))
    assert sum(read) == 2


@pytest.mark.parametrize(
    ("name", "position"),
    [*((name, beyond) for name in ("sequential", "onset") for beyond in (-1, 131)), ("without an end", -1)],
)
def test_a_place_that_is_not_there_is_refused(tmp_path: Path, name: str, position: int) -> None:
    made = [STREAMS[name]()]
    if name == "sequential":
        write_benchmark(made[0], tmp_path / "set")
        made.append(StoredStream(tmp_path / "set"))
    for stream in made:
        with refused(IndexError):
            stream.at(np.array([0, position]))
