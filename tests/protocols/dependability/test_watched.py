"""Coverage of what monitors were tried on, counted by hand."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.measures.scenarios import Choice, Domain, Restriction
from farm.protocols.dependability.results import Results
from farm.protocols.dependability.rows import ONE_SIDED
from farm.protocols.dependability.streams import MISSING, ScenarioCodes
from farm.protocols.dependability.watched import WatchedCells
from farm.protocols.dependability.wording import watched_notes
from tests.protocols.dependability.toys import FADE, HERE, run, truth
from tests.wording import same_text

SPLASH = {"name": f"{HERE}:Splash", "as": "splash"}
NOVELTY = {"name": "novelty", "workload": {"name": f"{HERE}:Squares", "title": "abroad", "conditions": False}}
FADED = {**FADE, "severity": 2}
DRY, WET, DAY, NIGHT = ({name: value} for name, value in (
    ("weather", "dry"), ("weather", "wet"), ("light", "day"), ("light", "night"),
))  # fmt: skip


def watched(folder: Path, **changes: Any) -> WatchedCells:
    assert run(folder, metrics="monitor_coverage", **changes) == 0
    found = Results.of(folder / "out").watched
    assert isinstance(found, WatchedCells)
    return found


def shares(found: WatchedCells) -> dict[str, float]:
    return {row.part: row.value.value.value for row in found.rows(ONE_SIDED)}


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> WatchedCells:
    """Return what a fault of wet images alone met, and one whose images tell no conditions."""
    return watched(tmp_path_factory.mktemp("few"), faults=[SPLASH, NOVELTY])


def test_pairs_of_a_cell_and_a_fault_are_counted_by_hand(few: WatchedCells) -> None:
    """In the test data all that is wet is by day: of four cells that are possible the splash met one."""
    assert few.faults == ("splash", "novelty")
    assert shares(few) == {"k=1": 2 / 8, "k=2": 1 / 8}
    facts = truth()
    assert few.n == int(facts["wet"].sum()) + len(facts)


def test_cells_that_saw_no_fault_are_named(few: WatchedCells) -> None:
    assert few.by_k[1].spared == [DRY, NIGHT]
    assert few.by_k[2].spared == [{**DRY, **DAY}, {**DRY, **NIGHT}, {**WET, **NIGHT}]


def test_rare_conditions_and_faults_that_met_none(few: WatchedCells) -> None:
    """Of 120 images 16 are at night, less than a fifth; nobody knows what images without conditions met."""
    assert few.rare == (NIGHT,)
    assert few.without_rare == ("splash",)
    assert few.without_conditions == ("novelty",)
    same_text(watched_notes(few))


def test_what_met_all_there_is_leaves_nothing_to_say(tmp_path: Path) -> None:
    found = watched(tmp_path, faults=[FADED], scenarios={"k": 1})
    assert shares(found) == {"k=1": 1}
    assert (found.by_k[1].spared, found.without_rare, found.without_conditions) == ([], (), ())
    assert list(watched_notes(found)) == []


def test_images_are_counted_by_condition(few: WatchedCells) -> None:
    facts = truth()
    wet = int(facts["wet"].sum())
    single = few.by_k[1]
    assert single.cells == [DRY, WET, DAY, NIGHT] or single.cells[:2] == [DRY, WET]
    plain = {next(iter(cell.values())): int(n) for cell, n in zip(single.cells, single.plain, strict=True)}
    night = int(facts["night"].sum())
    assert plain == {"dry": 120 - wet, "wet": wet, "day": 120 - night, "night": night}
    assert single.counts.tolist() == [[0, wet, wet, 0], [0, 0, 0, 0]]


def test_monitor_coverage_needs_a_fault(tmp_path: Path) -> None:
    assert run(tmp_path, metrics="monitor_coverage") == 0
    (row,) = Results.of(tmp_path / "out").rows()
    assert row.value.value.reason == "no fault was put on the test data; name some under loss or faults"


# Any conditions -------------------------------------------------------------------------------------------


@st.composite
def made(draw: st.DrawFn) -> tuple[Domain, np.ndarray, Mapping[str, np.ndarray]]:
    """Return a domain of two or three conditions, one thing that may not be, and images of it."""
    sizes = draw(st.lists(st.integers(2, 3), min_size=2, max_size=3))
    conditions = {f"c{i}": tuple(f"v{j}" for j in range(size)) for i, size in enumerate(sizes)}
    banned = (draw(st.integers(0, sizes[0] - 1)), draw(st.integers(0, sizes[1] - 1)))
    rule = Restriction((Choice(0, banned[0]), Choice(1, banned[1])), high=1)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def images(n: int) -> np.ndarray:
        rows = np.column_stack([rng.integers(0, size, n) for size in sizes])
        rows = rows[~((rows[:, 0] == banned[0]) & (rows[:, 1] == banned[1]))]
        return np.where(rng.random(rows.shape) < 0.15, MISSING, rows)

    faults = {f"fault {i}": images(draw(st.integers(1, 6))) for i in range(draw(st.integers(1, 3)))}
    return Domain(conditions, (rule,)), images(30), {name: one for name, one in faults.items() if len(one)}


@given(made(), st.integers(1, 3))
def test_any_images_are_counted_as_one_by_one(
    images: tuple[Domain, np.ndarray, Mapping[str, np.ndarray]], k: int
) -> None:
    domain, plain, faults = images
    if not faults or not len(plain):
        return
    found = WatchedCells.of_codes(ScenarioCodes(domain, "made", {}), plain, faults, [k], 0.2)
    names, values = domain.names, list(domain.conditions.values())
    scenarios = np.array(list(product(*(range(len(own)) for own in values))))
    possible = scenarios[~domain.broken(scenarios).any(axis=0)]
    assert set(found.by_k) == {1, k} - ({k} if k > len(names) else set()) | {1}
    for size, one in found.by_k.items():
        cells = [
            (of, tuple(int(code) for code in codes))
            for of in combinations(range(len(names)), size)
            for codes in sorted({tuple(row) for row in possible[:, of].tolist()})
        ]
        has = {
            name: [sum(tuple(row) == codes for row in own[:, of].tolist()) for of, codes in cells]
            for name, own in {"": plain, **faults}.items()
        }
        written = [
            {names[i]: values[i][code] for i, code in zip(of, codes, strict=True)} for of, codes in cells
        ]
        assert one.cells == written
        assert one.plain.tolist() == has[""]
        assert one.counts.tolist() == [has[name] for name in faults]
        met = [n > 0 for name in faults for n in has[name]]
        assert one.share == pytest.approx(sum(met) / len(met))
        if size == 1:
            rare = [cell for cell, n in zip(written, has[""], strict=True) if n < 0.2 * len(plain)]
            assert list(found.rare) == rare
            untold = [name for name, own in faults.items() if (own == MISSING).all()]
            missed = [
                name
                for name in faults
                if rare and name not in untold and not any(
                    n for n, cell in zip(has[name], written, strict=True) if cell in rare
                )
            ]  # fmt: skip
            assert (list(found.without_rare), list(found.without_conditions)) == (missed, untold)
