"""Judged records as a frame: tidy, with the same columns whatever is known."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import farm
from farm.judging.frames import BLOCKS, records_frame
from farm.judging.readouts import judged_records
from farm.testing import make_readouts
from tests.campaign.made_campaigns import make_campaign
from tests.comparing.made_runs import make_run
from tests.judging.made_guarantees import guarantee_record, noted_run


def value_of(record, column):
    """Look up in a record what a column of the frame holds."""
    column = column.replace("_instances", "")
    for block in (each for each in BLOCKS if each != "severity_range"):
        if column.startswith(f"{block}_"):
            return (record[block] or {}).get(column.removeprefix(f"{block}_"))
    return record[column]


def test_every_number_is_that_of_the_record():
    run = make_run()
    records, frame = judged_records(run), farm.judge(run)
    assert len(frame) == len(records)
    numbers = [name for name in frame.select_dtypes("number") if not name.startswith("severity_range")]
    assert {"severity", "auroc", "specific_mcc", "overall_fnr", "coverage", "n"} <= set(numbers)
    for name in numbers:
        expected = np.array([value_of(record, name) for record in records], dtype=np.float64)
        np.testing.assert_array_equal(frame[name].to_numpy(np.float64), expected, err_msg=name)


def test_promises_are_no_column():
    """They are rows of their own: a monitor may make several, and each is told of every fault."""
    made = make_readouts({"mine": [False, True]}, run=noted_run({"mine": guarantee_record()}))
    assert "guarantees" in judged_records(made)[0]
    assert list(farm.judge(made)) == list(farm.judge(make_readouts({"mine": [False, True]})))


def test_no_cell_holds_anything_but_a_number_or_a_name():
    frame = farm.judge(make_run())
    held = {type(value) for name in frame for value in frame[name].tolist()}
    assert held <= {int, float, bool, str}
    assert list(frame.columns[:4]) == ["run", "workload", "classifier", "faultload"]


def test_what_is_undefined_is_nan_and_the_reasons_say_why():
    readouts = make_readouts({"mine": [0, 0, 0], "gone": "out of memory"}, is_ood=[0, 0, 1])
    frame, reasons = farm.judge(readouts), farm.judge(readouts, reasons=True)
    mine = frame[(frame["part"] == "all") & (frame["monitor"] == "mine")].iloc[0]
    assert np.isnan(mine["specific_mcc"])
    told = reasons[(reasons["part"] == "all") & (reasons["monitor"] == "mine")].set_index("column")["reason"]
    assert told["auroc"] == "no scores were given"
    assert {"specific_mcc", "detection_delay_instances_p95"} <= set(told.index)
    assert set(reasons["column"]) <= set(frame.columns)
    gone = reasons[(reasons["monitor"] == "gone") & (reasons["column"] == "failed")]
    assert set(gone["reason"]) == {"out of memory"}
    assert set(frame.loc[frame["failed"], "monitor"]) == {"gone"}
    assert farm.judge(make_run(), reasons=True).dtypes["severity"] == np.float64


def test_each_value_that_is_undefined_has_one_reason():
    readouts = make_run()
    frame, reasons = farm.judge(readouts), farm.judge(readouts, reasons=True)
    where = ["faultload", "part", "monitor"]
    told = reasons.fillna({"faultload": ""}).groupby([*where, "column"]).size()
    assert (told == 1).all()
    for row in frame.fillna({"faultload": ""}).to_dict("records"):
        own = {column for (*place, column) in told.index if place == [row[name] for name in where]}
        assert all(pd.isna(row[column]) for column in own)


def test_columns_are_the_same_whatever_is_known():
    known = farm.judge(make_run())
    unknown = farm.judge(make_readouts({"mine": [0, 1, 1]}, is_ood=None, label=None))
    assert set(unknown.columns) == set(known.columns)
    assert unknown["specific_mcc"].dtype == np.float64
    assert unknown["specific_mcc"].isna().all()
    assert unknown["alarm_rate"].tolist()[0] == pytest.approx(2 / 3)


def test_the_ends_of_a_ramp_have_a_column_each():
    records = [{"severity": None, "severity_range": [1.0, 5.0], "undefined": {}}]
    frame = records_frame(records)
    assert frame[["severity_range_low", "severity_range_high"]].to_numpy().tolist() == [[1.0, 5.0]]


def test_several_of_every_kind_at_once(tmp_path: Path):
    run = make_run()
    folder = run.save(tmp_path / "run")
    for suffix in ("csv", "parquet"):
        table = run.alarms.merge(run.instances, on="position").drop(columns=["position"])
        log = tmp_path / f"log.{suffix}"
        (table.to_csv if suffix == "csv" else table.to_parquet)(log, index=False)
    make_campaign(tmp_path / "campaign")
    logs = [tmp_path / "log.csv", tmp_path / "log.parquet"]
    frame = farm.judge(run, folder, *map(str, logs), tmp_path / "campaign")
    cells = sorted((tmp_path / "campaign" / "cells").iterdir())
    places = [str(run.run["folder"]), str(folder), *map(str, logs)]
    assert set(frame["run"]) == {*places, *map(str, cells)}
    assert len(cells) > 1
    mine = frame[frame["run"].isin(places)]
    by_run = [one.reset_index(drop=True) for _, one in mine.groupby("run")]
    assert len(by_run) == 4
    for other in by_run[1:]:
        pd.testing.assert_frame_equal(by_run[0].filter(regex="_mcc|auroc"), other.filter(regex="_mcc|auroc"))
    json.dumps(judged_records(run, folder), allow_nan=False)
