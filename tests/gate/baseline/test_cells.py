"""What changed between two runs, cell by cell."""

from __future__ import annotations

import numpy as np
import pytest

from farm.comparing.sets import judged_runs
from farm.errors import DataError
from farm.gate.baseline.cells import CellChanges, cell_changes
from farm.store.readouts import Readouts
from farm.testing import make_readouts

N = 200
OOD = np.arange(N) % 2 == 0
IDS = [f"i{k}" for k in range(N)]


def run(alarms: dict[str, np.ndarray], name: str = "one", **options: object) -> Readouts:
    return make_readouts(
        dict(alarms),
        is_ood=OOD,
        wrong=OOD,
        id=IDS,
        run={"name": name, "monitors": [{"name": monitor, "failure": None} for monitor in alarms]},
        **options,
    )


def compared(earlier: list[Readouts], later: list[Readouts]) -> CellChanges | None:
    return cell_changes(judged_runs(earlier), judged_runs(later))


def test_what_is_the_same_what_is_noise_and_what_is_sure() -> None:
    """Of 200 instances 1 and 40 verdicts change; the exact binomial p are 1 and 2 * 0.5**40, times 3."""
    few, many = OOD.copy(), OOD.copy()
    few[0], many[:80:2] = False, False
    earlier = run({"same": OOD, "few": OOD, "many": OOD})
    found = compared([earlier], [run({"same": OOD, "few": few, "many": many})])
    assert found is not None
    rows = {row.monitor: row for row in found.rows}
    assert {name: row.verdict for name, row in rows.items()} == {
        "same": "the same",
        "few": "within noise",
        "many": "less often right, surely",
    }
    assert (rows["few"].newly_right, rows["few"].newly_wrong) == (0, 1)
    assert (rows["many"].newly_right, rows["many"].newly_wrong) == (0, 40)
    assert rows["many"].p == pytest.approx(3 * 2 * 0.5**40)
    assert found.rows[0].monitor == "many"
    assert (rows["many"].before.value, rows["many"].now.value) == (0.0, 0.2), "shares of wrong verdicts"


def test_what_was_worse_is_better_the_other_way_round() -> None:
    many = OOD.copy()
    many[:80:2] = False
    found = compared([run({"many": many})], [run({"many": OOD})])
    assert found is not None
    assert [row.verdict for row in found.rows] == ["more often right, surely"]


def test_noise_of_many_cells_is_told_surely_in_few_reports() -> None:
    """Twenty monitors whose verdicts are drawn anew: in 100 reports at most one of twenty names any."""
    rng = np.random.default_rng(0)

    def drawn() -> Readouts:
        return run({f"m{k}": OOD ^ (rng.random(N) < 0.2) for k in range(20)})

    wrong = 0
    for _ in range(100):
        found = compared([drawn()], [drawn()])
        assert found is not None
        wrong += any("surely" in row.verdict for row in found.rows)
    assert wrong <= 10, "of 100, 5 are expected at most, and 11 or more come in 1.1 % of such tests"


def test_what_is_shown_and_the_verdict_point_the_same_way_where_mistakes_are_rare() -> None:
    """Ten mistakes of 200: a lower threshold finds more of them, and cancels more right decisions."""
    wrong = np.arange(N) < 10
    strict, lax = np.arange(N) < 2, np.arange(N) % 3 == 0
    lax[:10] = True

    def one(alarm: np.ndarray) -> Readouts:
        return make_readouts({"m": alarm}, is_ood=OOD, wrong=wrong, id=IDS)

    found = compared([one(strict)], [one(lax)])
    assert found is not None
    (row,) = found.rows
    assert row.verdict == "less often right, surely"
    assert row.now.value > row.before.value
    assert row.now.value - row.before.value == pytest.approx((row.newly_wrong - row.newly_right) / N)


def test_no_monitor_in_common_is_told() -> None:
    with pytest.raises(DataError, match="no monitor is on both sides"):
        compared([run({"a": OOD})], [run({"b": OOD})])


def test_runs_of_several_are_found_by_their_names() -> None:
    earlier = [run({"a": OOD, "gone": OOD}, "one"), run({"a": ~OOD}, "two")]
    later = [run({"a": OOD, "new": OOD}, "one"), run({"a": ~OOD, "b": OOD}, "three")]
    found = compared(earlier, later)
    assert found is not None
    assert [(row.monitor, row.verdict) for row in found.rows] == [("a", "the same")]
    assert found.gone == ("gone in one", "two")
    assert found.new == ("new in one", "three")


def test_nothing_in_common_is_nothing_to_compare() -> None:
    two = [run({"a": OOD}, "one"), run({"a": ~OOD}, "two")]
    assert compared(two, [run({"a": OOD}, "three"), run({"a": ~OOD}, "four")]) is None


def test_other_streams_are_refused() -> None:
    other = make_readouts({"a": OOD}, is_ood=OOD, wrong=OOD, id=[f"j{k}" for k in range(N)])
    with pytest.raises(DataError, match="is not on the stream"):
        compared([run({"a": OOD})], [other])
