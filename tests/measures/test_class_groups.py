"""Classes and groups of them in tables of pairs."""

import numpy as np
import pytest

from farm.errors import ParameterError
from farm.measures.class_groups import ClassGroups
from tests.wording import refused

CLASSES = ["car", "lorry", "walker"]


def test_a_class_counts_before_its_group_and_a_row_before_a_column():
    table = np.zeros((3, 3))
    pairs = {"car": {"vehicle": 3}, "vehicle": {"vehicle": 1, "lorry": 2, 2: 5}}
    ClassGroups(CLASSES, {"vehicle": ["car", 1]}).fill(table, pairs, "weights")
    assert table.tolist() == [[3, 3, 5], [1, 2, 5], [0, 0, 0]]


@pytest.mark.parametrize("key", [-1, 3, "wlaker", True, None])
def test_what_is_no_class_is_refused(key):
    with refused(ParameterError):
        ClassGroups(CLASSES, {}, no_answer=False).fill(np.zeros((3, 3)), {key: {"car": 1}}, "weights")
