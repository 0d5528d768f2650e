"""What is damaged, missing, misplaced or mixed is found, each by its own name, and nothing else is."""

from __future__ import annotations

import argparse
import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

from farm.campaign.verify import VerifyFinding, verify
from farm.commands import campaign as commands
from farm.errors import DataError
from farm.store.campaign_folder import CampaignFolder, run_folders
from farm.store.readouts import Readouts
from tests.campaign.made_campaigns import (
    COMMIT,
    edit,
    make_campaign,
    planned,
    readouts,
    write_campaign,
    write_cell,
)
from tests.wording import refused, same_text

FIRST = "tiny, means, negative severity 3, seed 0"


@pytest.fixture
def folder(tmp_path) -> CampaignFolder:
    return make_campaign(tmp_path / "all", n=2)


def cell_of(folder):
    return run_folders([folder.path])[0]


def only(folder) -> VerifyFinding:
    path = folder.path if isinstance(folder, CampaignFolder) else folder
    found = verify(path)
    assert len(found) == 1, found
    return found[0]


def test_what_is_whole_is_whole(folder):
    assert verify(folder.path) == []
    assert verify(str(cell_of(folder))) == []


def test_a_plain_run_is_checked_too(tmp_path):
    run = readouts(failing=False).save(tmp_path / "run-001")
    assert verify(run) == []
    (run / "alarms.parquet").write_bytes(b"PAR1")
    assert only(run).kind == "damaged"


@pytest.mark.parametrize("name", ["instances.parquet", "alarms.parquet"])
@pytest.mark.parametrize("how", ["flipped", "truncated", "missing"])
def test_every_files_checksum_is_checked(folder, name, how):
    victim = cell_of(folder) / name
    content = bytearray(victim.read_bytes())
    if how == "missing":
        victim.unlink()
    else:
        content[len(content) // 2] ^= 1
        victim.write_bytes(content[:-3] if how == "truncated" else content)
    found = only(folder)
    assert (found.kind, found.where, found.bad) == ("damaged", FIRST, True)
    expected = "is missing" if how == "missing" else "was changed or truncated: its checksum differs"
    assert f"{victim} {expected}" in found.what


def test_all_damaged_files_are_told(folder):
    for path in run_folders([folder.path]):
        for name in ("instances.parquet", "alarms.parquet"):
            (path / name).write_bytes(b"")
    assert [finding.kind for finding in verify(folder.path)] == ["damaged"] * 4


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda r: r.update(schema=99), "schema is 99; expected"),
        (lambda r: r.pop("files"), "'files' is missing"),
        (lambda r: r.pop("monitors"), "'monitors' is missing"),
        (lambda r: r.update(files=[]), "files is []; expected keys and values"),
        (lambda r: r.update(monitors=[{}]), "'monitors.0.name' is missing"),
        (lambda r: r["files"].pop("alarms.parquet"), "does not list 'alarms.parquet'"),
        (lambda r: r["files"].update({"../x": ""}), "its record names the file '../x'"),
        (lambda r: r.pop("cell"), "its record does not say which cell it is"),
        (lambda r: r["cell"].update(id="f" * 16), "by its record it is ffffffffffffffff-"),
        (lambda r: r["cell"]["keys"].update(doubt="e" * 16), "was it renamed, or its record edited?"),
        (lambda r: r["cell"]["keys"].pop("doubt"), "has keys of broken and monitors doubt, broken"),
        (lambda r: r["monitors"].pop(), "rows of 'broken', of which its record knows nothing"),
        (
            lambda r: r["monitors"][0].update(failure="x"),
            "rows of monitor 'doubt', which failed; expected none",
        ),
        (lambda r: r["monitors"].append({"name": "new", "failure": None}), "0 rows of monitor 'new' for "),
    ],
)
def test_a_record_that_was_edited_is_found(folder, change, told):
    edit(cell_of(folder) / "run.json", change)
    found = verify(folder.path)
    assert {finding.kind for finding in found} == {"damaged"}
    assert any(told in finding.what for finding in found), found
    assert all(finding.where == FIRST for finding in found)


def test_a_record_that_is_no_json_is_found(folder):
    (cell_of(folder) / "run.json").write_text("{")
    assert "is it truncated?" in only(folder).what


def test_a_folder_without_a_record_is_damaged(folder):
    (cell_of(folder) / "run.json").unlink()
    assert "is not there" in only(folder).what


def test_a_cell_in_the_place_of_another_is_found(folder):
    first, second = run_folders([folder.path])
    shutil.rmtree(first)
    shutil.copytree(second, first)
    found = verify(folder.path)
    assert {(finding.kind, finding.where) for finding in found} == {("damaged", FIRST)}
    same_text(found[0].what)
    same_text(found[1].what)


def test_a_campaign_file_that_says_otherwise_is_found(folder):
    edit(folder.path / "campaign.json", lambda r: r["cells"][0]["monitors"].update(doubt="e" * 16))
    found = only(folder)
    assert (found.kind, found.where) == ("damaged", FIRST)
    assert "campaign.json" in found.what


def test_a_cell_may_be_copied_elsewhere_but_not_renamed_in_its_place(folder, tmp_path):
    copy = shutil.copytree(cell_of(folder), tmp_path / "copy")
    assert verify(copy) == []
    other = shutil.copytree(cell_of(folder), tmp_path / ("f" * 16 + "-" + "0" * 16))
    assert "was it renamed" in only(other).what


def test_a_second_try_is_the_same_cell(folder):
    path = cell_of(folder)
    path.rename(path.with_name(f"{path.name}.2"))
    assert verify(folder.path) == []


def test_cells_that_are_missing_are_told(folder):
    shutil.rmtree(cell_of(folder))
    found = only(folder)
    assert (found.kind, found.where, found.bad) == ("missing", FIRST, True)


def test_a_failed_cell_is_a_result(folder):
    shutil.rmtree(cell_of(folder))
    folder.note_failure("0" * 16, f"{'0' * 16}-{'0' * 16}", FIRST, "crashed", "it was killed")
    assert only(folder) == VerifyFinding("failed", FIRST, "the cell failed: it was killed")
    (folder.failed / f"{'0' * 16}.json").write_text("{")
    assert only(folder).kind == "damaged"


def test_failed_monitors_are_a_result(tmp_path):
    folder = make_campaign(tmp_path / "all", n=1, failing=True)
    found = only(folder)
    assert (found.kind, found.bad) == ("failed", False)
    same_text(found.what)


def test_what_else_lies_there_is_remarked(folder):
    orphan = f"{'f' * 16}-{'0' * 16}"
    for name in (orphan, ".x.unfinished-1", "photos"):
        (folder.cells / name).mkdir()
    (cell_of(folder) / "notes.txt").write_text("mine")
    found = verify(folder.path)
    assert {finding.kind for finding in found} == {"remark"}
    told = [finding.what for finding in found]
    same_text(told[0])
    assert told[1] == f"1 orphan that no cell of the campaign needs: {orphan}"
    same_text(told[2])
    same_text(told[3])


def test_many_orphans_are_counted(folder):
    for i in range(9):
        (folder.cells / f"{'f' * 15}{i}-{'0' * 16}").mkdir()
    assert only(folder).what.startswith("9 orphans")
    assert only(folder).what.endswith(", ... (9 in all)")


def test_a_campaign_at_work_is_remarked(folder):
    with folder.lock():
        same_text(only(folder).what)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"versions": {"python": "3.11", "torch": "2.5"}},
            "different versions of torch: 2.4 (1 cell), 2.5 (1 cell)",
        ),
        ({"hardware": {"processor": "two"}}, "different processors: one (1 cell), two (1 cell)"),
        ({"threads": 2}, "different thread counts: 1 (1 cell), 2 (1 cell)"),
        ({"testbed_commit": "beef"}, f"different commits of the testbed: {COMMIT} (1 cell), beef (1 cell)"),
    ],
)
def test_cells_made_with_different_things_are_remarked(tmp_path, changes, told):
    cells = [planned(number, seed=number) for number in range(2)]
    folder = write_campaign(tmp_path / "all", cells)
    write_cell(folder, cells[0], readouts(failing=False))
    write_cell(folder, cells[1], readouts(seed=1, failing=False), **changes)
    assert only(folder) == VerifyFinding("remark", "all", told)


def test_monitors_of_one_cell_made_with_different_things_are_remarked(folder):
    def another_pass(record):
        record["passes"].append({**record["passes"][0], "testbed_commit": "beef"})

    edit(cell_of(folder) / "run.json", another_pass)
    told = f"different commits of the testbed: {COMMIT} (2 cells), beef (1 cell)"
    assert only(folder) == VerifyFinding("remark", "all", told)


def test_changes_that_were_not_committed_are_remarked(tmp_path):
    cells = [planned(number) for number in range(2)]
    folder = write_campaign(tmp_path / "all", cells)
    for cell in cells:
        write_cell(folder, cell, readouts(failing=False), testbed_commit="beef+")
    same_text(only(folder).what)


# Rows --------------------------------------------------------------------------------------------------


def saved(tmp_path, instances=lambda frame: frame, alarms=lambda frame: frame):
    made = readouts(failing=False)
    changed = replace(made, instances=instances(made.instances.copy()), alarms=alarms(made.alarms.copy()))
    return changed.save(tmp_path / "run")


def doubled(frame, column):
    frame.loc[1, column] = frame.loc[0, column]
    return frame


def of_doubt(frame, column):
    """Let the second row of a monitor say what the first one does."""
    first, second = np.flatnonzero(frame["monitor"] == "doubt")[:2]
    frame.loc[second, column] = frame.loc[first, column]
    return frame


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"instances": lambda f: doubled(f, "position")}, r"the positions of its \d+ instances are not 0, 1"),
        ({"instances": lambda f: f.iloc[1:]}, r"the positions of its \d+ instances are not 0, 1"),
        ({"instances": lambda f: doubled(f, "id")}, r"(\d+) instances have \d+ ids; expected one each"),
        ({"alarms": lambda f: f.iloc[1:]}, r"\d+ rows of monitor 'doubt' for \d+ instances; expected one"),
        ({"alarms": lambda f: of_doubt(f, "position")}, "'doubt' has several rows for one instance and none"),
        ({"alarms": lambda f: of_doubt(f, "id")}, "rows of monitor 'doubt' have the id of another instance"),
        ({"alarms": lambda f: f.assign(monitor="who")}, "rows of 'who', of which its record knows nothing"),
        ({"alarms": lambda f: f.drop(columns="id")}, "its tables cannot be read"),
    ],
)
def test_rows_that_do_not_add_up_are_found(tmp_path, changes, told):
    found = verify(saved(tmp_path, **changes))
    assert {finding.kind for finding in found} == {"damaged"}
    assert any(re.search(told, finding.what) for finding in found), found


def test_rows_in_another_order_are_whole(tmp_path):
    assert verify(saved(tmp_path, alarms=lambda f: f.sample(frac=1, random_state=0))) == []


def test_a_run_without_instances_is_whole(tmp_path):
    made = readouts(failing=False)
    empty = Readouts(made.instances.iloc[:0], made.alarms.iloc[:0], made.run).save(tmp_path / "run")
    assert verify(empty) == []


# The command -------------------------------------------------------------------------------------------


def call(folder, style="table"):
    return commands.verify(argparse.Namespace(folder=str(folder), format=style))


def test_the_command_says_that_all_is_well(folder, capsys):
    assert call(folder.path) == 0
    assert capsys.readouterr() == (f"{folder.path}: everything is there and whole\n", "")


def test_the_command_fails_where_something_is_damaged_or_missing(folder, capsys):
    shutil.rmtree(cell_of(folder))
    assert call(folder.path) == 1
    told = capsys.readouterr()
    assert told.out.splitlines()[0].startswith(f"missing:  {FIRST}: there is no ")
    assert told.out.splitlines()[1] == f"{folder.path}: 1 missing"
    same_text(told.err)


def test_the_command_does_not_fail_for_remarks_and_failures(tmp_path, capsys):
    folder = make_campaign(tmp_path / "all", n=1, failing=True)
    (folder.cells / "photos").mkdir()
    assert call(folder.path) == 0
    told = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in told[:2]] == ["failed", "remark"]
    assert told[2] == f"{folder.path}: 1 failed"


def test_the_command_gives_json(folder, capsys):
    shutil.rmtree(cell_of(folder))
    assert call(folder.path, "json") == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["kind"], found["where"]) == ("missing", FIRST)


def test_what_is_no_folder_is_the_users_mistake(tmp_path):
    with refused(DataError):
        verify(tmp_path / "nowhere")
