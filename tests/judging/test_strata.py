import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.judging.strata import Ascending, quantiles
from farm.measures.parts import partition

VALUES = st.lists(st.one_of(st.floats(-1e6, 1e6), st.integers(-2, 2).map(float)), max_size=30)


@given(VALUES, VALUES, st.lists(st.floats(0, 1), max_size=4))
def test_quantiles_of_two_sorted_arrays_are_those_of_both_together(first, second, shares):
    both = first + second
    if not both:
        return
    found = quantiles([np.sort(first), np.sort(second)], [*shares, 0.0, 0.5, 1.0])
    assert found == pytest.approx(np.quantile(both, [*shares, 0.0, 0.5, 1.0]).tolist(), rel=1e-14, abs=1e-300)
    assert quantiles([np.sort(both)], (0.5,)) == pytest.approx([np.median(both)], rel=1e-14, abs=1e-300)


def test_strata_are_sorted_apart_and_missing_values_left_out():
    is_ood = np.array([True, False, True, False, False])
    parted = partition(pd.DataFrame({"faultload": ["snow", None, "snow", None, None]}), is_ood)
    values = np.array([3.0, 2.0, np.nan, 1.0, np.nan])
    column = Ascending(values, parted)
    assert column.strata[0].tolist()[:2] == [1.0, 2.0]
    known = {part.name: [piece.tolist() for piece in column.known(part)] for part in parted.parts}
    assert known == {"all": [[1.0, 2.0], [3.0]], "id": [[1.0, 2.0]], "ood": [[3.0]]}
