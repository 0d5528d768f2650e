"""What is done and what failed is counted; times and sizes are those of finished cells, never made up."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.campaign.jobs import News, Outcome
from farm.campaign.progress import (
    REASONS_SHOWN,
    CampaignProgress,
    Estimator,
    Running,
    Status,
)
from farm.store.amounts import in_bytes, in_words
from tests.wording import same_text


def cell(workload="signs", classifier="lenet", **took) -> dict[str, Any]:
    return {"workload": workload, "classifier": classifier, **took}


# What is left, beforehand ------------------------------------------------------------------------------


def told(todo, finished, workers=1):
    estimator = Estimator(finished)
    return estimator.seconds(todo, workers=workers), estimator.nbytes(todo), estimator.basis


def test_cells_like_finished_ones_take_the_median_of_those():
    finished = [cell(seconds=s, nbytes=n) for s, n in ((2.0, 100), (3.0, 200), (90.0, 900))]
    finished += [cell(workload="digits", seconds=1000.0, nbytes=1)]
    finished += [cell(classifier="other", seconds=500.0, nbytes=1)]
    assert told([cell()] * 4, finished) == (12.0, 800, "as 5 finished cells did")


def test_other_cells_take_the_median_of_the_campaign():
    finished = [cell(seconds=s, nbytes=10) for s in (1.0, 2.0, 9.0)]
    assert told([cell(), cell(workload="digits")], finished) == (4.0, 20, "as 3 finished cells did")


def test_a_size_may_be_unknown():
    assert told([cell()], [cell(seconds=1.0)]) == (1.0, None, "as 1 finished cell did")


def test_where_nothing_is_finished_nothing_is_told():
    assert told([cell()], [], 2) == (None, None, "no cell is finished yet: the first cells will tell")


def test_nothing_left_takes_no_time():
    assert Estimator().seconds([]) == 0.0


def test_workers_share_the_work_but_no_cell():
    finished = [cell(seconds=4.0), cell(workload="digits", seconds=40.0)]
    assert told([cell()] * 10, finished, 2)[0] == 20.0
    assert told([cell()] * 2, finished, 8)[0] == 4.0
    assert told([cell(), cell(workload="digits")], finished, 4)[0] == 40.0


# What is left, while it runs ---------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def progress(groups, workers=1, **more):
    """Make the progress of a campaign of cells, each of the group that is said; give its clock, too."""
    todo = [{"id": id_, "title": id_, **cell(str(group))} for id_, group in dict(groups).items()]
    clock = Clock()
    known = Status("made", "running", len(todo), 0, workers=workers)
    return CampaignProgress(known, todo, clock=clock, **more), clock


def simulated(seconds, workers, groups=None):
    """Run cells of known length on some workers; give (when, told, true) at each end of a cell."""
    made, clock = progress(groups or dict.fromkeys(seconds, 0), workers)
    waiting, under_way, told = list(seconds), {}, []
    while waiting or under_way:
        while waiting and len(under_way) < workers:
            name = waiting.pop(0)
            made.begin(name)
            under_way[name] = clock.now + seconds[name]
        name = min(under_way, key=under_way.__getitem__)
        clock.now = under_way.pop(name)
        made.finish(Outcome(name, "done", seconds=seconds[name]))
        told.append((clock.now, made.status().seconds_left))
    return [(at, one, clock.now - at) for at, one in told]


def test_nothing_is_told_before_the_first_cell_unless_others_were_finished_before():
    made, clock = progress({"a": 0, "b": 0})
    assert made.status().seconds_left is None
    made.begin("a")
    clock.now = 100.0
    assert made.status().seconds_left is None
    made, clock = progress({"a": 0, "b": 0, "c": 0}, finished=[cell("0", seconds=10.0)])
    assert made.status().seconds_left == 30.0
    made.begin("a")
    clock.now = 4.0
    assert made.status().seconds_left == pytest.approx(26.0)


def test_before_anything_runs_as_many_workers_count_as_there_are():
    made, _ = progress(dict.fromkeys("abcdef", 0), workers=3, finished=[cell("0", seconds=10.0)])
    assert made.status().seconds_left == 20.0


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_equal_cells_are_told_almost_exactly(workers):
    for at, left, true in simulated({str(i): 3.0 for i in range(40)}, workers):
        assert left == pytest.approx(true, abs=3.0), at


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
    made, clock = progress({str(i): 0 for i in range(11)}, workers=8)
    made.begin("0")
    clock.now = 10.0
    made.finish(Outcome("0", "done", seconds=10.0))
    made.begin("1")
    assert made.status().seconds_left == pytest.approx(100.0), "one worker came, not eight"


def test_a_worker_that_takes_up_no_other_cell_counts_no_more():
    made, clock = progress({str(i): 0 for i in range(6)}, workers=2)
    made.begin("0")
    made.begin("1")
    clock.now = 10.0
    made.finish(Outcome("0", "done", seconds=10.0))
    assert made.status().seconds_left == pytest.approx(20.5), "its worker takes up another one at once"
    made.finish(Outcome("1", "done", seconds=10.0))
    assert made.status().seconds_left == pytest.approx(40.0), "it did not"


def test_a_cell_that_overruns_is_not_taken_to_be_over():
    made, clock = progress({"a": 0, "b": 0})
    made.begin("a")
    clock.now = 2.0
    made.finish(Outcome("a", "done", seconds=2.0))
    made.begin("b")
    clock.now = 102.0
    assert made.status().seconds_left == pytest.approx(10.0)


def test_failed_cells_say_nothing_of_the_others_but_are_gone():
    made, _ = progress({"a": 0, "b": 0, "c": 0})
    made.finish(Outcome("a", "failed", seconds=0.1))
    assert made.status().seconds_left is None
    made.finish(Outcome("b", "done", seconds=8.0))
    assert made.status().seconds_left == 8.0
    made.finish(Outcome("c", "failed", seconds=0.1))
    assert made.status().seconds_left == 0.0


def test_what_a_worker_began_again_still_counts_from_its_beginning():
    made, clock = progress({"a": 0})
    made.begin("a")
    clock.now = 5.0
    made.begin("a")
    assert [one.seconds for one in made.status().running] == [5.0]
    made.finish(Outcome("a", "done", seconds=1.0))
    assert made.status().running == ()
    assert made.status().seconds_left == 0.0


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_it_is_never_negative_and_nothing_at_the_end(seed, workers):
    rng = random.Random(seed)
    n = rng.randint(1, 30)
    seconds = {str(i): rng.choice([0.0, 0.01, 1.0, 50.0]) * rng.random() for i in range(n)}
    groups = {name: rng.randint(0, 2) for name in seconds}
    told = simulated(seconds, workers, groups)
    assert all(one is not None and one >= 0 for _, one, _ in told)
    assert told[-1][1] == 0.0
    assert Estimator().seconds([]) == 0.0


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


# What is done, under way, and failed --------------------------------------------------------------------


def half_way(clock, **changes):
    """Make the progress of a campaign of ten cells, of which four are to be computed."""
    todo = [
        {"id": name, "title": f"title of {name}", "workload": "signs", "classifier": "lenet"}
        for name in "abcd"
    ]
    known = Status("small", "running", total=10, done=5, failed=1, workers=2, folder="out")
    return CampaignProgress(known, **{"todo": todo, "clock": clock, **changes})


def test_the_progress_of_a_campaign_is_followed():
    clock = Clock()
    before = time.time()
    followed = half_way(clock, finished=[{"workload": "signs", "classifier": "lenet", "seconds": 20.0}])
    assert followed.status().seconds_left == 40.0
    followed.begin("a")
    followed.news(News("b", "fitting", 1, 2))
    clock.now = 3.0
    followed.news(News("a", "streaming", 7, 9))
    followed.news(News("a", note="something to say"))
    assert followed.status().running == (
        Running("a", "title of a", "streaming", 7, 9, 3.0),
        Running("b", "title of b", "fitting", 1, 2, 3.0),
    )
    clock.now = 4.0
    assert followed.finish(Outcome("a", "done", failures={"odin": "odin: singular"}, seconds=4.0)) == [
        "odin: singular"
    ]
    assert followed.finish(Outcome("b", "crashed", reason="it was killed", seconds=4.0)) == ["it was killed"]
    status = followed.status("interrupted")
    assert (status.state, status.total, status.done, status.failed) == ("interrupted", 10, 6, 2)
    assert status.failed_monitors == 1
    same_text(status.reasons)
    assert status.running == ()
    assert status.seconds_left == pytest.approx(24.0), "twice the median of 20 and 4"
    assert (status.workers, status.folder) == (2, "out")
    assert before <= status.started <= time.time()
    assert status.over == 8


def test_only_the_first_reasons_are_kept():
    followed = half_way(Clock())
    for name in "abcd":
        followed.finish(Outcome(name, "done", failures={"x": "x", "y": "y"}))
    status = followed.status()
    assert len(status.reasons) == REASONS_SHOWN
    assert status.failed_monitors == 8


def test_a_cell_nobody_announced_is_followed_by_its_id():
    followed = half_way(Clock(), todo=[])
    followed.news(News("z", "streaming"))
    assert followed.status().running[0].title == "z"
    followed.finish(Outcome("z", "done", seconds=1.0))
    assert (followed.status().done, followed.status().running) == (6, ())
