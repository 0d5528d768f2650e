import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.errors import DataError, ParameterError
from farm.measures.measure import Measure, undefined
from farm.statistics.table import FullTable, Missing, Undefined, full_table
from tests.wording import refused, same_text

NO_ALARM = undefined("no alarm")
CELLS = st.one_of(
    st.floats(-1, 1).map(Measure),
    st.just(NO_ALARM),
    st.just(Missing("failed: out of memory")),
)


def resolved(rows, undefined="zero", **options):
    """Make a table from one row a set; the monitors are a, b, c."""
    names = "abc"[: len(rows[0])]
    cells = {(f"set{i}", m): _cell(x) for i, row in enumerate(rows) for m, x in zip(names, row, strict=True)}
    return full_table(cells, "mcc", undefined=undefined, **options)


def _cell(x):
    return Measure(x) if isinstance(x, float) else x


def test_a_full_table_stays_as_it_is():
    full = resolved([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], a_set_is="one faultload")
    assert full.values == ((0.1, 0.2), (0.3, 0.4), (0.5, 0.6))
    assert (full.sets, full.monitors) == (("set0", "set1", "set2"), ("a", "b"))
    assert (full.measure, full.a_set_is, full.higher_is_better) == ("mcc", "one faultload", True)
    assert full.notes == ()


def test_undefined_counts_as_zero_unless_asked_otherwise_and_is_marked_and_counted():
    full = resolved([[0.1, NO_ALARM], [0.3, 0.4], [0.5, NO_ALARM]])
    assert full.values == ((0.1, 0.0), (0.3, 0.4), (0.5, 0.0))
    assert [(z.set_name, z.monitor, z.reason) for z in full.zeroed] == [
        ("set0", "b", "no alarm"),
        ("set2", "b", "no alarm"),
    ]
    same_text(full.notes)


def test_undefined_can_drop_its_set_for_all_monitors():
    full = resolved([[0.1, NO_ALARM], [0.3, 0.4], [0.5, 0.6]], "drop")
    assert full.sets == ("set1", "set2")
    same_text(full.notes)


GONE = Missing()


def test_a_yardstick_that_alone_would_cost_sets_is_left_out_itself():
    rows = [[0.1, 0.2, 0.3], [0.2, 0.3, GONE], [0.3, 0.4, GONE]]
    full = resolved(rows, yardsticks=["c"])
    assert (full.sets, full.monitors) == (("set0", "set1", "set2"), ("a", "b"))
    same_text(full.notes)
    assert isinstance(resolved(rows), Undefined), "what is no yardstick costs its sets"


def test_a_yardstick_that_costs_nothing_or_is_needed_stays():
    anyway = resolved([[0.1, 0.2, 0.3], [0.2, 0.3, 0.1], [0.3, GONE, GONE]], yardsticks=["c"])
    assert (anyway.sets, anyway.monitors) == (("set0", "set1"), ("a", "b", "c"))
    one_other = resolved([[0.1, 0.2], [0.2, 0.3], [0.3, GONE]], yardsticks=["b"])
    assert (one_other.sets, one_other.monitors) == (("set0", "set1"), ("a", "b"))


def test_undefined_can_be_an_error():
    with refused(DataError):
        resolved([[0.1, NO_ALARM], [0.3, 0.4]], "error")


def test_zero_is_refused_where_it_would_be_the_best_value():
    rows = [[0.1, NO_ALARM], [0.3, 0.4], [0.5, 0.6]]
    with refused(ParameterError):
        resolved(rows, higher_is_better=False)
    assert not resolved(rows, "drop", higher_is_better=False).higher_is_better


@pytest.mark.parametrize("convention", ["zero", "drop", "error"])
def test_a_missing_cell_drops_its_set_whatever_undefined_counts_as(convention):
    full = resolved([[0.1, Missing("failed: out of memory")], [0.3, 0.4], [0.5, 0.6]], convention)
    assert full.sets == ("set1", "set2")
    same_text(full.notes)


def test_a_monitor_missing_everywhere_is_left_out_and_costs_no_set():
    full = resolved([[0.1, Missing(), 0.2], [0.3, Missing(), 0.4]])
    assert (full.sets, full.monitors) == (("set0", "set1"), ("a", "c"))
    same_text(full.notes)


def test_a_cell_that_was_not_given_is_missing():
    cells = {("x", "a"): Measure(0.1), ("x", "b"): Measure(0.2), ("y", "b"): Measure(0.3)}
    assert full_table(cells, "mcc").notes == ("1 of 2 sets left out (y): 'a' was not run",)


def test_long_lists_in_notes_are_cut_and_counted():
    full = resolved([[0.1, NO_ALARM]] * 8)
    same_text(full.notes)


@pytest.mark.parametrize(
    ("rows", "few"),
    [
        ([[0.1, 0.2]], "1 of 1 sets and 2 of 2 monitors"),
        ([[0.1], [0.2]], "2 of 2 sets and 1 of 1 monitors"),
        ([[0.1, Missing()], [0.2, 0.3]], "1 of 2 sets and 2 of 2 monitors"),
        ([[0.1, Missing()], [0.2, Missing()]], "2 of 2 sets and 1 of 2 monitors"),
        ([[Missing(), Missing()], [Missing(), Missing()]], "2 of 2 sets and 0 of 2 monitors"),
    ],
)
def test_fewer_than_two_of_either_is_undefined_and_never_guessed(rows, few):
    result = resolved(rows)
    assert isinstance(result, Undefined)
    assert result.reason == f"mcc: {few} are left to compare; two of each are needed"


def test_nothing_at_all_is_undefined():
    assert isinstance(full_table({}, "mcc"), Undefined)


def test_an_undefined_result_still_says_what_was_left_out():
    result = resolved([[0.1, NO_ALARM], [0.2, 0.3]], "drop")
    same_text(result.notes)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=6), st.sampled_from(["zero", "drop"]))
def test_every_cell_is_kept_or_accounted_for(rows, convention):
    result = resolved(rows, convention)
    if isinstance(result, Undefined):
        return
    assert len(result.sets) + len(result.dropped_sets) == len(rows)
    assert len(result.monitors) + len(result.dropped_monitors) == 3
    zeroed = {(z.set_name, z.monitor) for z in result.zeroed}
    for i, name in enumerate(result.sets):
        for j, monitor in enumerate(result.monitors):
            cell = rows[int(name.removeprefix("set"))]["abc".index(monitor)]
            assert isinstance(cell, Measure)
            assert ((name, monitor) in zeroed) == (not cell.defined)
            assert result.values[i][j] == (cell.value if cell.defined else 0.0)


def test_infinite_values_are_refused():
    with refused(DataError):
        resolved([[math.inf, 0.2], [0.3, 0.4]])


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_full_table_takes_no_nan(bad):
    with refused(DataError):
        FullTable("mcc", ("x", "y"), ("a", "b"), ((0.1, bad), (0.2, 0.3)))


def test_shapes_and_names_are_checked():
    with refused(DataError):
        FullTable("mcc", ("x", "y"), ("a", "a"), ((0.1, 0.2), (0.2, 0.3)))
    with refused(DataError):
        FullTable("mcc", ("x", "y"), ("a", "b"), ((0.1, 0.2),))
    with refused(DataError):
        FullTable("mcc", ("x",), ("a", "b"), ((0.1, 0.2),))


def test_an_unknown_convention_gets_a_suggestion():
    with refused(ParameterError):
        resolved([[0.1, 0.2], [0.3, 0.4]], "zeros")
