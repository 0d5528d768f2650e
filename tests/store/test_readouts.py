"""Readouts on disk are whole, unchanged and complete, or an error says what they are not."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from farm.api import LAST_HIDDEN, CalibrationRule
from farm.errors import DataError, ExperimentError, StorageError
from farm.run.testbed import Testbed
from farm.store.files import signed
from farm.store.readouts import TIME_COLUMNS, Readouts
from farm.testing import make_readouts
from farm.testing.fakes import FakeFaultload, FakeMonitor, TinyModel, TinySource
from tests.wording import refused, same_text

DATA = ("instances.parquet", "alarms.parquet", "layer-0-last-hidden.npy", "pictures.npy", "pictures.json")
FILES = (*DATA, "run.json")


def run(batch_size=16, **arguments):
    """Run a whole experiment of fakes: milliseconds, but every step of a real one."""
    bed = Testbed(seed=0)
    workload = bed.workload(TinySource(tracks=(4, 3, 4), frames=3))
    classifier = bed.classifier(TinyModel(), workload)
    monitors = [
        FakeMonitor(name="doubt"),
        FakeMonitor(name="broken", score=lambda o: np.full(len(o), np.nan)),
    ]
    failures = bed.fit_all(monitors, classifier, workload, {"doubt": CalibrationRule(accept=0.9)})
    faultload = FakeFaultload(
        transform=lambda images: 1 - images, label=-1, category="novelty", name="negative"
    )
    stream = bed.stream(workload, classifier, faultload, ood_share=0.25)
    settings = {"layers": [LAST_HIDDEN], "failures": failures, "batch_size": batch_size} | arguments
    return bed.run(stream, classifier, monitors, workload=workload, **settings)


@pytest.fixture(scope="module")
def readouts():
    return run()


@pytest.fixture
def folder(readouts, tmp_path):
    return readouts.save(tmp_path / "run")


def test_what_is_saved_is_read_back_the_same(readouts, folder):
    read = Readouts.load(folder)
    pd.testing.assert_frame_equal(read.instances, readouts.instances)
    pd.testing.assert_frame_equal(read.alarms, readouts.alarms)
    assert {key: read.run[key] for key in readouts.run} == json.loads(json.dumps(readouts.run))


def test_a_folder_holds_exactly_its_files(folder):
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)


def test_hidden_layers_are_kept(readouts, folder):
    read = Readouts.load(folder)
    assert np.array_equal(read.layers[LAST_HIDDEN], readouts.layers[LAST_HIDDEN])
    assert len(read.layers[LAST_HIDDEN]) == len(read.instances)


def test_what_was_read_can_be_saved_again(folder, tmp_path):
    again = Readouts.load(Readouts.load(folder).save(tmp_path / "again"))
    pd.testing.assert_frame_equal(again.instances, Readouts.load(folder).instances)


def test_a_failed_monitor_leaves_no_rows_but_its_reason(readouts):
    assert set(readouts.alarms["monitor"]) == {"doubt"}
    records = {record["name"]: record for record in readouts.run["monitors"]}
    same_text(records["broken"]["failure"])
    assert records["doubt"]["failure"] is None
    assert "calibration" not in records["broken"]


def test_the_record_tells_how_much_id_data_was_accepted_beside_what_was_asked(readouts):
    (doubt, _) = readouts.run["monitors"]
    own = readouts.alarms[readouts.alarms["monitor"] == "doubt"]
    id_alarms = own["alarm"].to_numpy()[~readouts.instances["is_ood"].to_numpy()]
    assert doubt["calibration"]["asked_acceptance"] == 0.9
    assert doubt["calibration"]["held_out_acceptance"] == pytest.approx(1 - id_alarms.mean())


def test_the_same_run_gives_the_same_readouts_bit_for_bit(readouts):
    again = run()
    for first, second in ((readouts.instances, again.instances), (readouts.alarms, again.alarms)):
        kept = [column for column in first if column not in TIME_COLUMNS]
        pd.testing.assert_frame_equal(first[kept], second[kept], check_exact=True)


def test_another_batch_size_gives_the_same_instances_in_the_same_order(readouts):
    again = run(batch_size=1)
    for column in ("id", "label", "is_ood", "faultload", "predicted"):
        assert again.instances[column].tolist() == readouts.instances[column].tolist()
    np.testing.assert_allclose(again.alarms["score"], readouts.alarms["score"], atol=1e-9)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("where", [10, -10])
def test_one_flipped_bit_is_noticed(folder, name, where):
    path = folder / name
    content = bytearray(path.read_bytes())
    content[where] ^= 0x01
    path.write_bytes(content)
    with refused(DataError):
        Readouts.load(folder)


@pytest.mark.parametrize("name", FILES)
def test_a_truncated_file_is_noticed(folder, name):
    path = folder / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with refused(DataError) as caught:
        Readouts.load(folder)
    assert "truncated" in str(caught.value)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_told(folder, name):
    (folder / name).unlink()
    with refused(DataError):
        Readouts.load(folder)


@pytest.mark.parametrize("schema", [1, 99])
def test_another_schema_is_told(folder, schema):
    record = json.loads((folder / "run.json").read_text()) | {"schema": schema}
    (folder / "run.json").write_text(json.dumps(record))
    with refused(DataError):
        Readouts.load(folder)


@pytest.mark.parametrize("name", ["nowhere", "file"])
def test_what_is_no_folder_is_told(tmp_path, name):
    (tmp_path / "file").write_text("x")
    with refused(DataError):
        Readouts.load(tmp_path / name)


@pytest.mark.parametrize("key", ["files", "layers"])
def test_a_record_that_lacks_a_key_is_told(folder, key):
    record = json.loads((folder / "run.json").read_text())
    del record[key]
    (folder / "run.json").write_text(json.dumps(record))
    with refused(DataError):
        Readouts.load(folder)


def test_a_digit_changed_in_the_record_is_found(folder):
    text = (folder / "run.json").read_text()
    seed = re.search(r'"seed": (\d+)', text)
    assert seed is not None
    (folder / "run.json").write_text(text[: seed.start(1)] + "7" + text[seed.end(1) :])
    with refused(DataError):
        Readouts.load(folder)


@pytest.mark.parametrize("name", DATA)
def test_a_record_that_does_not_list_a_file_is_told(folder, name):
    record = json.loads((folder / "run.json").read_text())
    del record["files"][name]
    (folder / "run.json").write_text(json.dumps(signed(record)))
    with refused(DataError):
        Readouts.load(folder)


def test_a_folder_of_runs_names_what_could_be_given(readouts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("runs/c").mkdir(parents=True)
    with refused(DataError):
        Readouts.load("runs")
    for name in ("b", "a"):
        readouts.save(f"runs/{name}")
    with refused(DataError):
        Readouts.load("runs")
    Path("runs/campaign.json").write_text("{}")
    with refused(DataError):
        Readouts.load("runs")


def test_readouts_are_shown_in_one_line(readouts):
    same_text(repr(readouts))
    same_text(repr(make_readouts({"odin": False}, is_ood=np.zeros(1200, dtype=bool), run={"folder": "a\nb"})))


def test_a_run_is_never_overwritten(readouts, folder):
    before = (folder / "run.json").read_bytes()
    with refused(DataError):
        readouts.save(folder)
    assert (folder / "run.json").read_bytes() == before


def test_a_disk_that_fills_up_half_way_leaves_nothing(readouts, tmp_path, monkeypatch):
    whole = pd.DataFrame.to_parquet
    calls = []

    def fills_up(frame, path, **options):
        calls.append(path)
        if len(calls) == 2:
            path.write_bytes(b"half of it")
            raise OSError(28, "No space left on device")
        whole(frame, path, **options)

    monkeypatch.setattr(pd.DataFrame, "to_parquet", fills_up)
    with refused(StorageError):
        readouts.save(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_while_saving_leaves_nothing(readouts, tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("farm.store.readouts.write_json", interrupt)
    with pytest.raises(KeyboardInterrupt):
        readouts.save(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_layers_of_similar_names_are_kept_apart(tmp_path):
    frame = pd.DataFrame({"position": [0], "monitor": "a", "alarm": False})
    layers = {"block/out": np.zeros((1, 2)), "block_out": np.ones((1, 2))}
    read = Readouts.load(Readouts(frame, frame, {}, layers).save(tmp_path / "run"))
    assert {name: values.max() for name, values in read.layers.items()} == {"block/out": 0, "block_out": 1}


def test_layers_keep_their_real_shape_and_never_share_a_file(readouts, tmp_path):
    layers = {
        "conv/1": np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2),
        "conv:1": np.arange(4, dtype=np.float32).reshape(2, 2),
    }
    folder = replace(readouts, layers=layers).save(tmp_path / "layers")
    assert {path.name for path in folder.glob("layer-*.npy")} == {"layer-0-conv_1.npy", "layer-1-conv_1.npy"}
    read = Readouts.load(folder).layers
    assert set(read) == set(layers)
    assert all(np.array_equal(read[name], values) for name, values in layers.items())


def test_monitors_never_see_the_ids_and_tracks_that_the_readouts_keep():
    shown = []

    def spy(observation):
        shown.append(observation)
        return np.zeros(len(observation))

    bed = Testbed(seed=0)
    workload = bed.workload(TinySource(tracks=(4, 3, 4), frames=3))
    classifier = bed.classifier(TinyModel(), workload)
    (monitor,) = bed.fit([FakeMonitor(name="spy", score=spy)], classifier, workload)
    shown.clear()
    faultload = FakeFaultload(transform=lambda x: 1 - x, label=-1, category="novelty", name="negative")
    stream = bed.stream(workload, classifier, faultload, ood_share=0.25)
    made = bed.run(stream, classifier, [monitor], workload).instances
    real = {*workload.test.ids, *(f"{i}|negative" for i in workload.test.ids)}
    assert set(made["id"]) <= real
    assert made["id"][made["is_ood"]].str.endswith("|negative").all()
    assert set(made["track"]) <= set(workload.test.groups)
    parts = {
        p for name in {*made["id"], *made["track"]} for p in re.split(r"[^0-9A-Za-z]", name) if len(p) > 3
    }
    assert {"tiny", "test", "track", "negative"} <= parts
    for seen in shown:
        for text in (*seen.ids, *seen.track):
            assert not any(part in text for part in parts)


# The record of a run -----------------------------------------------------------------------------------


def test_the_record_of_the_run_is_handed_through():
    told = run(record={"name": "mine", "experiment_commit": "abc"}).run
    assert (told["name"], told["experiment_commit"], told["seed"]) == ("mine", "abc", 0)


def test_the_record_tells_the_recipes_of_all_that_was_made(readouts):
    told = readouts.run
    source, model = TinySource(tracks=(4, 3, 4), frames=3), TinyModel()
    assert json.loads(json.dumps(told["workload"]["recipe"])) == json.loads(json.dumps(source.recipe))
    assert told["workload"]["recipe"]["frames"] == 3
    assert told["classifier"]["recipe"] == model.recipe
    assert told["stream"]["faults"][0]["parameters"]["category"] == "novelty"
    assert "testbed_commit" in told
    json.dumps(told, allow_nan=False)


def test_the_record_tells_what_a_pass_costs_without_and_with_layers(readouts):
    for key in ("bare_time_us", "observing_time_us"):
        assert readouts.run["classifier"][key] > 0


def test_monitors_are_fitted_by_name_with_an_alias_and_a_calibration_of_their_own():
    bed = Testbed(seed=0)
    workload = bed.workload(TinySource(tracks=(4, 3, 4), frames=3))
    classifier = bed.classifier(TinyModel(), workload)
    named = {"name": "max-softmax", "as": "softmax-80", "calibration": {"accept": 0.8}}
    one, other, fake = bed.fit(
        [named, "max-softmax", FakeMonitor()], classifier, workload, CalibrationRule(accept=0.9)
    )
    assert [m.name for m in (one, other, fake)] == ["softmax-80", "max-softmax", "fake-monitor"]
    assert [m.calibration.asked_acceptance for m in (one, other, fake)] == [0.8, 0.9, 0.9]
    with refused(ExperimentError):
        bed.fit([{"name": "never", "calibration": {"accept": 0.8}}], classifier, workload)
