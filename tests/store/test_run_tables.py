"""Tables of runs are of the types and with the columns that all rely on, whoever signed for them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from farm.errors import DataError
from farm.store.run_tables import ALARMS, INSTANCES, check_columns, read_frame
from tests.wording import refused

WHOLE = {
    "position": [0, 1],
    "predicted": [1, 2],
    "label": [1, None],
    "severity": [None, 0.5],
    "id": ["a", "b"],
}
SAID = {"position": [0, 1], "monitor": ["a", "a"], "alarm": [True, False], "score": [0.5, np.nan]}


def written(tmp_path, name, columns):
    pd.DataFrame(columns).to_parquet(tmp_path / name, index=False)
    return tmp_path / name


def test_whole_tables_are_read(tmp_path):
    for name, columns in ((INSTANCES, WHOLE), (ALARMS, SAID)):
        frame = read_frame(written(tmp_path, name, columns))
        pd.testing.assert_frame_equal(frame, pd.DataFrame(columns))


def test_a_column_without_any_value_may_be_of_any_type(tmp_path):
    assert "severity" in check_columns(written(tmp_path, INSTANCES, {**WHOLE, "severity": [None, None]}))


def test_a_condition_may_be_called_as_it_likes(tmp_path):
    named = {"condition since_start_time_us": ["early", None], "condition fault_linf": ["a", "b"]}
    assert {*named} <= {*check_columns(written(tmp_path, INSTANCES, {**WHOLE, **named}))}
    with refused(DataError):
        check_columns(written(tmp_path, INSTANCES, {**WHOLE, "condition lux": [[1], [2]]}))


def test_a_class_may_be_called_as_it_likes(tmp_path):
    named = {"probability a": [0.5, 1.0], "probability is_ood": np.float32([0.5, 0.0])}
    assert {*named} <= {*check_columns(written(tmp_path, INSTANCES, {**WHOLE, **named}))}
    with refused(DataError):
        check_columns(written(tmp_path, INSTANCES, {**WHOLE, "probability id": ["a", "b"]}))


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        (INSTANCES, {**WHOLE, "position": ["a", "b"]}),
        (INSTANCES, {**WHOLE, "severity": ["a", "b"]}),
        (INSTANCES, {**WHOLE, "id": [[1], [2]]}),
        (INSTANCES, {**WHOLE, "id": [b"1", b"2"]}),
        (INSTANCES, {**WHOLE, "position": [0, None]}),
        (INSTANCES, {"predicted": [1, 2]}),
        (ALARMS, {**SAID, "alarm": ["yes", "no"]}),
        (ALARMS, {**SAID, "alarm": [True, None]}),
        (ALARMS, {**SAID, "monitor_time_us": ["1", "2"]}),
        (ALARMS, {"position": [0, 1], "alarm": [True, False]}),
    ],
)
def test_what_nobody_could_judge_is_told_by_file_and_column(tmp_path, name, columns):
    with refused(DataError):
        read_frame(written(tmp_path, name, columns))


@pytest.mark.parametrize("keep", [0, 3, 100, -1, -9])
def test_a_truncated_table_is_told(tmp_path, keep):
    path = written(tmp_path, ALARMS, SAID)
    path.write_bytes(path.read_bytes()[:keep])
    with refused(DataError):
        read_frame(path)
