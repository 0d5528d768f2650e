import numpy as np
import pandas as pd
import pytest

from farm.measures.parts import MOST_SEVERITIES, Group, partition


def frame(*rows):
    return pd.DataFrame(rows, columns=["faultload", "category", "severity"])


def names(parted):
    return [(part.group.faultload, part.group.severity, part.name) for part in parted.parts]


def test_one_group_for_each_faultload_category_and_severity():
    table = frame(("snow", "shift", 5.0), ("snow", "shift", 2.0), ("fog", "shift", 2.0), (None, None, np.nan))
    parted = partition(table, np.array([True, True, True, False]))
    groups = list(dict.fromkeys(part.group for part in parted.parts))
    assert groups == [Group("fog", "shift", 2.0), Group("snow", "shift", 2.0), Group("snow", "shift", 5.0)]


def test_parts_hold_the_rows_they_say():
    table = frame(("b", "noise", 1.0), (None, None, np.nan), ("a", "noise", 1.0), (None, None, np.nan))
    parted = partition(table, np.array([True, False, True, False]))
    rows = {(part.group.faultload, part.name): parted.rows(part).tolist() for part in parted.parts}
    assert rows == {
        ("a", "all"): [1, 3, 2],
        ("a", "id"): [1, 3],
        ("a", "ood"): [2],
        ("b", "all"): [1, 3, 0],
        ("b", "id"): [1, 3],
        ("b", "ood"): [0],
    }


def test_without_ood_there_is_one_group_and_no_ood_part():
    parted = partition(frame((None, None, np.nan)), np.array([False]))
    assert names(parted) == [(None, None, "all"), (None, None, "id")]


def test_without_id_there_is_no_id_part():
    parted = partition(frame(("snow", "shift", 1.0)), np.array([True]))
    assert names(parted) == [("snow", 1.0, "all"), ("snow", 1.0, "ood")]


def test_where_ood_is_unknown_there_is_one_part():
    parted = partition(frame(("snow", "shift", 1.0)), None)
    assert names(parted) == [(None, None, "all")]


def test_ood_that_nobody_categorised_is_a_group_too():
    parted = partition(pd.DataFrame({"id": ["a", "b"]}), np.array([True, False]))
    assert names(parted) == [(None, None, "all"), (None, None, "id"), (None, None, "ood")]


def test_faults_of_id_instances_do_not_count():
    parted = partition(frame(("snow", "shift", 1.0), ("fog", "shift", 1.0)), np.array([False, True]))
    assert {part.group.faultload for part in parted.parts} == {"fog"}


@pytest.mark.parametrize("count", [MOST_SEVERITIES, MOST_SEVERITIES + 1])
def test_a_ramp_is_one_group(count):
    ramp = [("ramp", "noise", (i + 1) / 10) for i in range(count)]
    parted = partition(frame(*ramp, ("step", "noise", 0.1)), np.ones(count + 1, dtype=np.bool_))
    groups = list(dict.fromkeys(part.group for part in parted.parts))
    assert groups[-1] == Group("step", "noise", 0.1)
    if count > MOST_SEVERITIES:
        assert groups[:-1] == [Group("ramp", "noise", None, (0.1, count / 10))]
    else:
        assert len(groups) == count + 1
