"""One tidy file: every row of every cell, once, as it is in the cell's own folder."""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from farm.api.boxes import BOX_LOST, PREDICTED_BOX, SPREAD_OF_BOX, TRUE_BOX
from farm.campaign import export as module
from farm.campaign.export import SCHEMA, export
from farm.commands import campaign as commands
from farm.errors import DataError, ParameterError, StorageError
from farm.judging import judge
from farm.store.campaign_folder import run_folders
from farm.store.logs import read_log
from farm.store.readouts import Readouts
from tests.campaign.made_campaigns import make_campaign, planned, readouts, write_campaign, write_cell
from tests.wording import refused, same_text


def table(path):
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pandas()
    return pd.read_csv(path, dtype={"cell": str}, keep_default_na=False, na_values=[""])


@pytest.fixture(params=["parquet", "csv"])
def style(request):
    return request.param


def test_every_row_of_every_cell_is_there_once(tmp_path, style):
    folder = make_campaign(tmp_path / "all", n=3)
    out = tmp_path / f"all.{style}"
    made = export(folder.path, style, out)
    rows = table(out)
    expected = sum(len(Readouts.load(path).alarms) for path in run_folders([folder.path]))
    assert (made.path, made.rows, made.cells, made.unfinished, made.failed) == (out, expected, 3, 0, {})
    assert len(rows) == expected > 0
    assert list(rows) == SCHEMA.names
    assert not rows.duplicated(["cell", "id", "monitor"]).any()
    assert rows["cell"].unique().tolist() == [f"{i:016x}" for i in range(3)], "in the campaign's order"


def test_rows_are_those_of_the_readouts(tmp_path, style):
    folder = make_campaign(tmp_path / "all", n=2)
    rows = table(export(folder.path, style, tmp_path / f"all.{style}").path)
    for number, path in enumerate(run_folders([folder.path])):
        own = rows[rows["cell"] == f"{number:016x}"].reset_index(drop=True)
        source = Readouts.load(path)
        told = source.alarms.merge(source.instances.rename(columns={"workload": "image_workload"}))
        for column in told:
            assert column in own, f"{column} is lost"
            same = told[column].astype(object).where(told[column].notna(), None).tolist()
            assert own[column].astype(object).where(own[column].notna(), None).tolist() == same, column
        assert set(own["title"]) == {f"tiny, means, negative severity 3, seed {number}"}
        assert set(own["workload"]) == {"tiny"}
        assert set(own["classifier"]) == {"means"}, "the campaign's word for it"
        assert set(own["seed"]) == {number}
        assert set(own["batch_size"]) == {16}


def test_conditions_of_any_cell_are_columns_of_all(tmp_path, style):
    source = readouts(failing=False)
    n = len(source.instances)
    weather, lux = ["fog", None] * (n // 2), [0.5, np.nan] * (n // 2)
    told = [
        {"condition weather": weather, "condition level": lux, "condition dew": [None] * n},
        {"condition lux": lux, "condition level": weather},
        {},
    ]
    cells = [planned(number) for number in range(3)]
    folder = write_campaign(tmp_path / "all", cells)
    for cell, columns in zip(cells, told, strict=True):
        write_cell(folder, cell, replace(source, instances=source.instances.assign(**columns)))
    rows = table(export(folder.path, style, tmp_path / f"all.{style}").path)
    conditions = ["condition weather", "condition level", "condition dew", "condition lux"]
    place = SCHEMA.names.index("monitor")
    assert list(rows) == [*SCHEMA.names[:place], *conditions, *SCHEMA.names[place:]]
    for number, columns in enumerate(told):
        own = rows[rows["cell"] == f"{number:016x}"].iloc[:n]
        for name in conditions:
            wanted = columns.get(name, [None] * n)
            if name == "condition level" and wanted is lux:  # in another cell it is of words
                wanted = ["0.5", None] * (n // 2)
            assert own[name].astype(object).where(own[name].notna(), None).tolist() == [
                None if pd.isna(one) else one for one in wanted
            ]


def test_boxes_of_any_cell_are_columns_of_all(tmp_path, style):
    source = readouts(failing=False)
    n = len(source.instances)
    boxes = {name: np.arange(n) + 0.5 for name in (*TRUE_BOX, *PREDICTED_BOX)}
    boxes[BOX_LOST] = ["out of sight", None] * (n // 2)
    cells = [planned(number) for number in range(2)]
    folder = write_campaign(tmp_path / "all", cells)
    for cell, columns in zip(cells, (boxes, {}), strict=True):
        write_cell(folder, cell, replace(source, instances=source.instances.assign(**columns)))
    rows = table(export(folder.path, style, tmp_path / f"all.{style}").path)
    first, second = (rows[rows["cell"] == f"{number:016x}"].iloc[:n] for number in range(2))
    for name, values in boxes.items():
        assert first[name].dropna().tolist() == [one for one in values if one is not None]
        assert second[name].isna().all()
    assert not set(SPREAD_OF_BOX) & set(rows)


def test_probabilities_of_any_cells_classes_are_columns_of_all(tmp_path, style):
    source = readouts(failing=False)
    n = len(source.instances)
    told = [{"probability a": np.linspace(0, 1, n, dtype=np.float32)}, {"probability b": np.ones(n)}]
    cells = [planned(number) for number in range(2)]
    folder = write_campaign(tmp_path / "all", cells)
    for cell, columns in zip(cells, told, strict=True):
        write_cell(folder, cell, replace(source, instances=source.instances.assign(**columns)))
    rows = table(export(folder.path, style, tmp_path / f"all.{style}").path)
    first, second = (rows[rows["cell"] == f"{number:016x}"].iloc[:n] for number in range(2))
    assert np.array_equal(first["probability a"].astype(np.float32), told[0]["probability a"])
    assert second["probability b"].tolist() == [1.0] * n
    assert first["probability b"].isna().all()
    assert second["probability a"].isna().all()


def test_parquet_keeps_types_and_is_not_cut_into_small_pieces(tmp_path):
    folder = make_campaign(tmp_path / "all", n=3)
    file = pq.ParquetFile(export(folder.path, "parquet", tmp_path / "all.parquet").path)
    assert file.schema_arrow.equals(SCHEMA)
    assert file.num_row_groups == 1
    file.close()


def test_rows_are_written_in_pieces_that_fit_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 100)
    folder = make_campaign(tmp_path / "all", n=3)
    path = export(folder.path, "parquet", tmp_path / "all.parquet").path
    whole = export(folder.path, "csv", tmp_path / "all.csv").path
    metadata = pq.read_metadata(path)
    sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    assert len(sizes) > 1
    assert max(sizes) < 200
    assert whole.read_text().count("position") == 1, "one header"
    assert len(table(whole)) == sum(sizes)


@pytest.mark.parametrize("fault", ["negative", "elsewhere"])
def test_a_cell_as_csv_is_judged_as_its_readouts_are(tmp_path, fault):
    cell = planned(0, fault)
    folder = write_campaign(tmp_path / "all", [cell])
    path = write_cell(folder, cell, readouts(fault, failing=False))
    out = export(path, "csv", tmp_path / "cell.csv").path
    source = Readouts.load(path)
    if fault == "elsewhere":
        assert source.instances["workload"].nunique() > 1, "two workloads, of which one is the cell's"
    expected = judge(source.instances, source.alarms, source.run)
    found = judge(*read_log(out))
    assert len(found) == len(expected) > 2
    for one, other in zip(found, expected, strict=True):
        for key in ("monitor", "faultload", "severity", "category", "n", "specific", "overall", "auroc"):
            assert one.get(key) == other.get(key), key


def test_a_single_run_has_its_own_names(tmp_path, style):
    run = readouts(failing=False).save(tmp_path / "run-001")
    rows = table(export(run, style, tmp_path / f"out.{style}").path)
    assert set(rows["cell"]) == {"run-001"}
    assert set(rows["workload"]) == {"tiny"}
    assert set(rows["classifier"]) == {"tiny-model"}
    assert rows["title"].isna().all()


def test_what_failed_and_what_is_not_there_is_counted(tmp_path, capsys):
    folder = make_campaign(tmp_path / "all", n=3, missing=1, failing=True)
    options = argparse.Namespace(folder=str(folder.path), format="csv", out=str(tmp_path / "all.csv"))
    assert commands.export(options) == 0
    told = capsys.readouterr()
    same_text(told.err)
    rows = table(tmp_path / "all.csv")
    assert told.out == f"{len(rows)} rows of 2 cells were written to {tmp_path / 'all.csv'}\n"
    assert set(rows["monitor"]) == {"doubt"}


def test_it_is_named_after_the_folder_in_the_current_one(tmp_path, monkeypatch, style):
    folder = make_campaign(tmp_path / "deep" / "all", n=1)
    monkeypatch.chdir(tmp_path)
    assert str(export(folder.path, style).path) == f"all.{style}"
    monkeypatch.chdir(folder.path)
    assert str(export(".", style).path) == f"all.{style}"


def test_nothing_is_overwritten(tmp_path, style):
    folder = make_campaign(tmp_path / "all", n=1)
    out = tmp_path / "out"
    out.write_text("mine")
    with refused(DataError):
        export(folder.path, style, out)
    assert out.read_text() == "mine"


def test_what_appears_meanwhile_is_not_overwritten(tmp_path, monkeypatch, style):
    folder = make_campaign(tmp_path / "all", n=1)
    out = tmp_path / "out"
    monkeypatch.setattr(module, "_flush", lambda path: out.write_text("faster"))
    with refused(DataError):
        export(folder.path, style, out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all", "out"]
    assert out.read_text() == "faster"


def test_a_damaged_cell_leaves_no_file_that_looks_whole(tmp_path, style):
    folder = make_campaign(tmp_path / "all", n=3)
    victim = run_folders([folder.path])[-1] / "alarms.parquet"
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    with refused(DataError):
        export(folder.path, style, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["all"]


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch, style):
    folder = make_campaign(tmp_path / "all", n=1)

    def full(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_flush", full)
    with refused(StorageError):
        export(folder.path, style, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["all"]


def test_rows_of_no_instance_are_refused(tmp_path, style):
    made = readouts(failing=False)
    alarms = made.alarms.assign(position=made.alarms["position"] + 1)
    run = Readouts(made.instances, alarms, made.run).save(tmp_path / "run")
    with refused(DataError):
        export(run, style, tmp_path / "out")


def test_alarms_in_another_order_are_still_about_their_instances(tmp_path, style):
    made = readouts(failing=False)
    alarms = made.alarms.sample(frac=1, random_state=0, ignore_index=True)
    run = Readouts(made.instances, alarms, made.run).save(tmp_path / "run")
    rows = table(export(run, style, tmp_path / f"out.{style}").path)
    expected = made.instances.set_index("id")["predicted"]
    assert (rows["predicted"].to_numpy() == expected[rows["id"]].to_numpy()).all()
    assert rows["position"].tolist() != sorted(rows["position"])


def test_mistakes_are_told(tmp_path):
    folder = make_campaign(tmp_path / "all", n=1, missing=1)
    with refused(ParameterError):
        export(folder.path, "xlsx", tmp_path / "out")
    with refused(DataError):
        export(folder.path, "csv", tmp_path / "out")
    with refused(DataError):
        export(tmp_path / "nowhere", "csv", tmp_path / "out")
    with refused(DataError):
        export(folder.path, "csv", tmp_path / "nowhere" / "out")
