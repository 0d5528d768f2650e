"""Where failures begin, instance after instance."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from farm.measures.failures import failures_begin


def begin(failed, position=None, sequence=None, part=None):
    n = len(failed)
    given_or_one = [np.zeros(n, dtype=int) if of is None else np.array(of) for of in (sequence, part)]
    place = np.arange(n) if position is None else np.array(position)
    return failures_begin(np.array(failed, dtype=bool), place, *given_or_one).tolist()


def test_a_run_is_one_failure():
    assert begin([1, 1, 0, 1, 1, 1, 0, 0, 1]) == [1, 0, 0, 1, 0, 0, 0, 0, 1]
    assert begin([]) == []


def test_the_order_of_the_stream_counts_and_not_that_of_the_rows():
    assert begin([1, 1, 1, 0], position=[9, 2, 3, 7]) == [1, 1, 0, 0]


def test_tracks_that_are_mixed_fail_each_for_itself():
    assert begin([1, 0, 1, 1, 1], sequence=[5, 8, 5, 8, 8]) == [1, 0, 0, 1, 0]


def test_what_goes_on_in_another_part_begins_there_anew():
    assert begin([1, 1, 1, 1], part=[0, 0, 1, 0]) == [1, 0, 1, 1]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2), st.integers(0, 1)), max_size=40), st.randoms())
def test_one_after_the_other(rows, random):
    before, expected = {}, []
    for failed, sequence, part in rows:
        expected.append(failed and before.get(sequence) != part)
        before[sequence] = part if failed else None
    order = list(range(len(rows)))
    random.shuffle(order)
    columns = ([rows[i][which] for i in order] for which in range(3))
    failed, sequence, part = columns
    assert begin(failed, order, sequence, part) == [expected[i] for i in order]
