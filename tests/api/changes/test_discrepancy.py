"""The discrepancy of a sliding window against the quadratic formula, from whichever batches it came."""

from __future__ import annotations

import numpy as np
import pytest

from farm.api.changes import Discrepancy
from farm.errors import ParameterError
from tests.wording import refused


def by_formula(reference: np.ndarray, window: np.ndarray) -> float:
    """Return the unbiased estimate, with all pairs written out."""
    apart = [np.linalg.norm(a - b) for i, a in enumerate(reference) for b in reference[:i]]
    width = np.median(apart)

    def kernel(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.exp(-(np.linalg.norm(a - b) ** 2) / (2 * width**2)))

    def within(rows: np.ndarray) -> float:
        return float(
            np.mean([kernel(a, b) for i, a in enumerate(rows) for j, b in enumerate(rows) if i != j])
        )

    across = np.mean([kernel(a, b) for a in reference for b in window])
    return within(reference) + within(window) - 2 * float(across)


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    chance = np.random.default_rng(0)
    return chance.normal(size=(21, 3)), chance.normal(0.4, 1.0, (400, 3))


def test_it_is_the_quadratic_formula_at_every_instant(rows) -> None:
    reference, stream = rows
    found = Discrepancy(reference, window=8).along(stream[:60])
    assert found[:7].tolist() == [0.0] * 7
    assert found[7:] == pytest.approx([by_formula(reference, stream[i - 8 : i]) for i in range(8, 61)])


@pytest.mark.parametrize("sizes", [[1] * 400, [7] * 57 + [1], [3, 300, 97], [0, 400, 0]])
def test_it_does_not_depend_on_how_the_stream_is_cut(rows, sizes) -> None:
    reference, stream = rows
    whole = Discrepancy(reference, window=8).along(stream)
    detector, found, start = Discrepancy(reference, window=8), [], 0
    for size in sizes:
        found.append(detector.along(stream[start : start + size]))
        start += size
    assert np.concatenate(found) == pytest.approx(whole, abs=1e-12)
    detector.forget()
    assert [detector.follow(row) for row in stream] == pytest.approx(whole.tolist(), abs=1e-12)


def test_it_restarts_with_an_empty_window(rows) -> None:
    reference, stream = rows
    plain = Discrepancy(reference, window=8).along(stream)
    limit = float(np.quantile(plain, 0.9))
    found = Discrepancy(reference, window=8).along(stream, limit)
    first = int((plain > limit).argmax())
    assert found[: first + 1] == pytest.approx(plain[: first + 1], abs=1e-12)
    assert found[first + 1 : first + 8].tolist() == [0.0] * 7
    again = Discrepancy(reference, window=8).along(stream[first + 1 :], limit)
    assert found[first + 1 :] == pytest.approx(again, abs=1e-12)


def test_it_sees_a_change_that_leaves_every_row_inconspicuous() -> None:
    """The same rows from fewer places: each has been seen before."""
    chance = np.random.default_rng(2)
    reference = chance.normal(size=(200, 2))
    there = Discrepancy(reference, window=40)
    same = there.along(chance.normal(size=(400, 2)))
    there.forget()
    narrow = there.along(chance.normal(size=(400, 2)) * 0.3)
    assert narrow[40:].min() > same.max()


def test_rows_that_are_all_alike_have_a_width_all_the_same() -> None:
    there = Discrepancy(np.ones((5, 2)), window=2)
    assert there.along(np.ones((3, 2))).tolist() == [0.0, 0.0, 0.0]
    assert there.along(np.full((2, 2), 9.0))[-1] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("reference", "window"), [(np.ones((1, 2)), 5), (np.ones(4), 5), (np.ones((4, 2)), 1)]
)
def test_what_gives_no_estimate_is_refused(reference, window) -> None:
    with refused(ParameterError):
        Discrepancy(reference, window=window)
