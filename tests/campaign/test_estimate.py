"""Times and sizes are told from what is most like the cells that are left, and never made up."""

from __future__ import annotations

import json
import os
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.campaign.durations import KINDS_KEPT, SECONDS_KEPT, recall, remember
from farm.campaign.estimate import UNKNOWN, Estimate, estimate, in_bytes, in_words
from farm.campaign.time_left import TimeLeft
from tests.wording import same_text


def cell(
    workload="signs", classifier="lenet", monitors=("odin", "oob"), instances=None, **took
) -> dict[str, Any]:
    return {
        "workload": workload,
        "classifier": classifier,
        "monitors": monitors,
        "instances": instances,
        **took,
    }


# What is left, beforehand ------------------------------------------------------------------------------


def test_cells_like_finished_ones_take_the_median_of_those():
    finished = [cell(seconds=s, nbytes=n) for s, n in ((2.0, 100), (3.0, 200), (90.0, 900))]
    finished += [cell(workload="digits", seconds=1000.0, nbytes=1)]
    finished += [cell(monitors=("odin",), seconds=500.0, nbytes=1)]
    assert estimate([cell()] * 4, finished, workers=1) == Estimate(12.0, 800, "4 cells like finished ones")


def test_the_names_of_monitors_do_not_matter_among_finished_cells_but_their_number_does():
    finished = [cell(monitors=("a", "b"), seconds=4.0), cell(monitors=("a",), seconds=1.0)]
    assert estimate([cell(monitors=("x",))], finished, 1).seconds == 1.0
    assert estimate([cell(monitors=("x", "y"))], finished, 1).seconds == 4.0


def test_other_cells_take_the_median_of_the_campaign():
    finished = [cell(seconds=s, nbytes=10) for s in (1.0, 2.0, 9.0)]
    told = estimate([cell(), cell(workload="digits")], finished, 1)
    assert told == Estimate(4.0, 20, "1 cell like finished ones, 1 cell like the campaign's others")


def test_before_anything_is_finished_earlier_campaigns_tell():
    remembered = [
        cell(instances=500, seconds=5.0, nbytes=50),
        cell(instances=900, seconds=9.0, nbytes=90),
        cell(workload="digits", seconds=100.0, nbytes=1),
    ]
    told = estimate([cell(instances=900)] * 2, [], 1, remembered)
    assert told == Estimate(18.0, 180, "2 cells like earlier ones on this machine")
    assert estimate([cell(instances=None)], [], 1, remembered).seconds == 7.0
    assert estimate([cell(monitors=("oob", "odin"), instances=500)], [], 1, remembered).seconds == 5.0
    assert estimate([cell(monitors=("odin", "never"))], [], 1, remembered).seconds is None


def test_finished_cells_count_more_than_remembered_ones():
    told = estimate([cell()], [cell(seconds=1.0)], 1, [cell(seconds=60.0)])
    assert told == Estimate(1.0, None, "1 cell like finished ones")


def test_what_nothing_is_known_of_is_taken_to_be_like_the_rest():
    told = estimate([cell(), cell(), cell(workload="new")], [], 1, [cell(seconds=2.0, nbytes=30)])
    assert told.seconds == 6.0
    assert told.nbytes == 90
    same_text(told.basis)


def test_where_nothing_is_known_nothing_is_told():
    assert estimate([cell()], [], 2) == Estimate(None, None, UNKNOWN)
    assert "first cells will tell" in UNKNOWN


def test_nothing_left_takes_no_time():
    assert estimate([], [], 1) == Estimate(0.0, 0, "nothing is left to compute")


def test_workers_share_the_work_but_no_cell():
    finished = [cell(seconds=4.0), cell(workload="digits", seconds=40.0)]
    assert estimate([cell()] * 10, finished, 2).seconds == 20.0
    assert estimate([cell()] * 2, finished, 8).seconds == 4.0
    assert estimate([cell(), cell(workload="digits")], finished, 4).seconds == 40.0


# What is remembered ------------------------------------------------------------------------------------


def test_the_latest_few_times_are_remembered_and_their_median_told(tmp_path):
    path = tmp_path / "deep" / "durations.json"
    assert recall(path) == []
    remember([cell(seconds=1000.0, nbytes=5, instances=10)], path)
    for seconds in range(1, SECONDS_KEPT + 1):
        remember([cell(seconds=float(seconds), nbytes=seconds, instances=10)], path)
    (kind,) = recall(path)
    assert kind["seconds"] == (SECONDS_KEPT + 1) / 2, "the first one is forgotten"
    assert kind["nbytes"] == SECONDS_KEPT
    assert estimate([cell(instances=10)], [], 1, recall(path)).seconds == kind["seconds"]


def test_kinds_of_cells_are_kept_apart(tmp_path):
    path = tmp_path / "durations.json"
    kinds = [cell(), cell(workload="x"), cell(classifier="x"), cell(monitors=("x",)), cell(instances=7)]
    remember([{**kind, "seconds": float(i)} for i, kind in enumerate(kinds)], path)
    remember([{**cell(monitors=("oob", "odin")), "seconds": 8.0}], path)  # in another order the same
    assert sorted(kind["seconds"] for kind in recall(path)) == [1.0, 2.0, 3.0, 4.0, 4.0]


def test_what_was_not_seen_for_longest_is_forgotten_first(tmp_path):
    path = tmp_path / "durations.json"
    remember([cell(workload=str(i), seconds=1.0) for i in range(KINDS_KEPT)], path)
    remember([cell(workload="0", seconds=1.0), cell(workload="new", seconds=1.0)], path)
    names = {kind["workload"] for kind in recall(path)}
    assert len(names) == KINDS_KEPT
    assert "1" not in names
    assert {"0", "new"} <= names


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"schema": 99, "kinds": []}', '{"schema": 1}', '{"schema": 1, "kinds": [3, {}]}']
)
def test_a_damaged_memory_knows_nothing_and_is_replaced(tmp_path, text):
    path = tmp_path / "durations.json"
    path.write_text(text)
    assert recall(path) == []
    remember([cell(seconds=1.0)], path)
    assert len(recall(path)) == 1


def test_a_memory_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    remember([cell(seconds=1.0)], tmp_path / "file" / "durations.json")
    assert recall(tmp_path / "file" / "durations.json") == []


@pytest.mark.skipif(os.geteuid() == 0, reason="whoever is root may write everywhere")
def test_a_read_only_cache_is_no_error(tmp_path):
    tmp_path.chmod(0o500)
    try:
        remember([cell(seconds=1.0)], tmp_path / "durations.json")
    finally:
        tmp_path.chmod(0o700)
    assert list(tmp_path.iterdir()) == []


def test_it_is_kept_in_the_cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FARM_CACHE", str(tmp_path))
    remember([cell(seconds=2.0)])
    assert recall()[0]["seconds"] == 2.0
    assert json.loads((tmp_path / "durations.json").read_text())["schema"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["durations.json"]


# What is left, while it runs ---------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def simulated(seconds, workers, groups=None, guess=None):
    """Run cells of known length on some workers; give (when, told, true) at each end of a cell."""
    clock = Clock()
    left = TimeLeft(dict(groups or dict.fromkeys(seconds, 0)), workers, guess, clock)
    waiting, under_way, told = list(seconds), {}, []
    while waiting or under_way:
        while waiting and len(under_way) < workers:
            name = waiting.pop(0)
            left.begin(name)
            under_way[name] = clock.now + seconds[name]
        name = min(under_way, key=under_way.__getitem__)
        clock.now = under_way.pop(name)
        left.finish(name, seconds[name])
        told.append((clock.now, left.seconds()))
    return [(at, one, clock.now - at) for at, one in told]


def test_nothing_is_told_before_the_first_cell_unless_it_was_known_before():
    clock = Clock()
    left = TimeLeft({"a": 0, "b": 0}, clock=clock)
    assert left.seconds() is None
    left.begin("a")
    clock.now = 100.0
    assert left.seconds() is None
    known = TimeLeft({"a": 0, "b": 0, "c": 0}, workers=1, guess=30.0, clock=(clock := Clock()))
    assert known.seconds() == 30.0
    known.begin("a")
    clock.now = 4.0
    assert known.seconds() == pytest.approx(26.0)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_equal_cells_are_told_almost_exactly(workers):
    for at, told, true in simulated({str(i): 3.0 for i in range(40)}, workers):
        assert told == pytest.approx(true, abs=3.0), at


def test_a_slow_first_cell_is_taken_for_what_it_is():
    seconds = {str(i): 2.0 for i in range(50)} | {"0": 60.0}
    told = simulated(dict(sorted(seconds.items(), key=lambda item: int(item[0]))), 1)
    for at, one, true in told[3:]:
        assert one == pytest.approx(true, rel=0.05, abs=1), at


def test_groups_are_told_apart():
    seconds = {f"{group}{i}": length for i in range(20) for group, length in (("a", 1.0), ("b", 30.0))}
    told = simulated(seconds, 2, groups={name: name[0] for name in seconds})
    for at, one, true in told[4:]:
        assert one == pytest.approx(true, rel=0.15, abs=16), at


def test_only_workers_that_really_run_count():
    clock = Clock()
    left = TimeLeft({str(i): 0 for i in range(11)}, workers=8, clock=clock)
    left.begin("0")
    clock.now = 10.0
    left.finish("0", 10.0)
    left.begin("1")
    assert left.seconds() == pytest.approx(100.0), "one worker came, not eight"


def test_a_worker_that_takes_up_no_other_cell_counts_no_more():
    clock = Clock()
    left = TimeLeft({str(i): 0 for i in range(6)}, workers=2, clock=clock)
    left.begin("0")
    left.begin("1")
    clock.now = 10.0
    left.finish("0", 10.0)
    assert left.seconds() == pytest.approx(20.5), "its worker takes up another one at once"
    left.finish("1", 10.0)
    assert left.seconds() == pytest.approx(40.0), "it did not"


def test_a_cell_that_overruns_is_not_taken_to_be_over():
    clock = Clock()
    left = TimeLeft({"a": 0, "b": 0}, clock=clock)
    left.begin("a")
    clock.now = 2.0
    left.finish("a", 2.0)
    left.begin("b")
    clock.now = 102.0
    assert left.seconds() == pytest.approx(10.0)


def test_failed_cells_say_nothing_of_the_others_but_are_gone():
    clock = Clock()
    left = TimeLeft({"a": 0, "b": 0, "c": 0}, clock=clock)
    left.finish("a", 0.1, done=False)
    assert left.seconds() is None
    left.finish("b", 8.0)
    assert left.seconds() == 8.0
    left.finish("c", 0.1, done=False)
    assert left.seconds() == 0.0


def test_what_a_worker_began_again_still_counts_from_its_beginning():
    clock = Clock()
    left = TimeLeft({"a": 0}, clock=clock)
    left.begin("a")
    clock.now = 5.0
    left.begin("a")
    assert left.took("a") == 5.0
    left.finish("a", 1.0)
    assert left.took("a") == 0.0
    assert left.seconds() == 0.0


@given(st.integers(0, 10_000), st.integers(1, 6), st.one_of(st.none(), st.floats(0, 1e6)))
def test_it_is_never_negative_and_nothing_at_the_end(seed, workers, guess):
    rng = random.Random(seed)
    n = rng.randint(1, 30)
    seconds = {str(i): rng.choice([0.0, 0.01, 1.0, 50.0]) * rng.random() for i in range(n)}
    groups = {name: rng.randint(0, 2) for name in seconds}
    told = simulated(seconds, workers, groups, guess)
    assert all(one is not None and one >= 0 for _, one, _ in told)
    assert told[-1][1] == 0.0
    assert TimeLeft({}).seconds() == 0.0


@given(st.floats(0, 1e8))
def test_times_are_said_in_words(seconds):
    words = in_words(seconds)
    assert words == "a few seconds" or words.startswith("about ")
    assert not words.startswith("about 0")


def test_sizes_have_two_digits_or_more_and_the_unit_that_suits_them():
    sizes = (0, 940, 9_940, 9_960, 10_400, 999_400, 999_600, 9_940_000, 1_234_567_890_123)
    assert [in_bytes(size) for size in sizes] == [
        *("0.0 kB", "0.9 kB", "9.9 kB", "10 kB", "10 kB", "999 kB", "1.0 MB", "9.9 MB", "1.2 TB"),
    ]
