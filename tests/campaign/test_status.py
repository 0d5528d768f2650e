"""How far a campaign is: while it runs, after it was killed, and when nothing runs."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace

import pytest

from farm.campaign.progress import Running, Status
from farm.campaign.status import read_status, render, write_status
from farm.commands import campaign as commands
from farm.errors import DataError, ExperimentError
from farm.store.campaign_folder import CampaignFolder
from tests.campaign.made_campaigns import make_campaign
from tests.wording import refused, same_text

RUNNING = Status(
    name="signs",
    state="running",
    total=300,
    done=11,
    failed=1,
    failed_monitors=2,
    reasons=("signs, fog: it ran out of memory", "signs, snow: monitor 'oob': singular"),
    running=(
        Running("a" * 16, "signs, lenet, rain", "streaming", 12, 40, 4.4),
        Running("b" * 16, "signs, lenet, frost", "training", 3, None, 75.0),
        Running("c" * 16, "signs, lenet, jpeg"),
    ),
    started=1_700_000_000.0,
    seconds_left=720.0,
    workers=2,
    folder="runs/signs",
)


def options(folder, **changes):
    return argparse.Namespace(**{"folder": str(folder), "format": "table", "watch": False, **changes})


def test_a_status_is_the_same_after_it_was_json():
    again = Status.from_json(json.loads(json.dumps(RUNNING.to_json())))
    assert again == RUNNING
    assert isinstance(again.running[0], Running)


def test_a_running_campaign_is_told_line_by_line(monkeypatch):
    monkeypatch.setattr("farm.campaign.status.time.time", lambda: RUNNING.started + 125)
    lines = render(RUNNING, alive=True).splitlines()
    same_text(lines[0])
    assert lines[1] == "[" + "#" + "." * 39 + "]   3 %"
    same_text(lines[2])
    assert lines[3:] == [
        "  signs, lenet, rain: streaming 12/40, for 0:00:04",
        "  signs, lenet, frost: training 3, for 0:01:15",
        "  signs, lenet, jpeg: starting, for 0:00:00",
        "  failed: signs, fog: it ran out of memory",
        "  failed: signs, snow: monitor 'oob': singular",
        "  ... and 1 more: `farm verify runs/signs` tells all",
        "logs: runs/signs/logs/",
    ]


def test_a_campaign_whose_process_is_gone_is_not_running():
    text = render(RUNNING, alive=False)
    same_text(text)
    assert "streaming" not in text
    assert "left" not in text
    assert "--retry-failed" in text


@pytest.mark.parametrize(
    ("state", "told"), [("finished", "signs: finished: 11"), ("interrupted", "continues: 11")]
)
def test_other_states_are_said_as_they_are(state, told):
    assert told in render(replace(RUNNING, state=state), alive=False).splitlines()[0]
    assert "gone" not in render(replace(RUNNING, state=state), alive=False)


def test_before_anything_is_known_no_time_is_told(monkeypatch):
    monkeypatch.setattr("farm.campaign.status.time.time", lambda: RUNNING.started + 125)
    same_text(render(replace(RUNNING, seconds_left=None, workers=1), True))


def test_a_campaign_without_cells_is_no_error():
    assert "100 %" in render(Status("none", "finished", 0, 0), alive=False)


# From a folder -----------------------------------------------------------------------------------------


def test_a_finished_campaign_is_counted_in_its_folder(tmp_path):
    folder = make_campaign(tmp_path / "all", n=3)
    status, alive = read_status(folder)
    assert not alive
    assert (status.name, status.state, status.total, status.done) == ("small", "finished", 3, 3)
    assert (status.failed, status.failed_monitors, status.reasons) == (0, 0, ())
    assert status.folder == str(tmp_path / "all")


def test_an_old_status_is_not_believed_when_nobody_is_at_work(tmp_path):
    folder = make_campaign(tmp_path / "all", n=3, missing=1)
    write_status(folder.status, replace(RUNNING, done=299))
    status, alive = read_status(folder)
    assert not alive
    assert (status.state, status.total, status.done) == ("stopped", 3, 2)
    write_status(folder.status, replace(RUNNING, state="interrupted"))
    assert read_status(folder)[0].state == "interrupted"


def test_failed_cells_and_monitors_are_told_with_their_reasons(tmp_path):
    folder = make_campaign(tmp_path / "all", n=3, missing=1, failing=True)
    record = folder.record()["cells"][2]
    folder.note_failure(
        record["id"], record["target"], record["title"], "over-time", "it passed its limit of 10 s"
    )
    status, _ = read_status(folder)
    assert (status.state, status.done, status.failed, status.failed_monitors) == ("finished", 2, 1, 2)
    same_text(status.reasons[0])
    same_text(status.reasons[2])


def test_a_damaged_record_is_told_not_raised(tmp_path):
    folder = make_campaign(tmp_path / "all", n=1)
    (record,) = folder.cells.glob("*/run.json")
    record.write_text("{")
    assert "is it truncated?" in read_status(folder)[0].reasons[0]


def test_while_somebody_is_at_work_the_status_is_theirs(tmp_path):
    folder = make_campaign(tmp_path / "all", n=3, missing=2)
    with folder.lock():
        assert read_status(folder) == (replace(read_status(folder)[0], state="running", done=1), True)
        write_status(folder.status, replace(RUNNING, started=1.0))  # of a process killed long ago
        assert read_status(folder)[0].total == 3
        write_status(folder.status, replace(RUNNING, started=time.time()))
        status, alive = read_status(folder)
        assert alive
        assert (status.total, status.running) == (300, RUNNING.running)
        folder.status.write_text("{")
        assert read_status(folder)[0].total == 3
    assert read_status(folder)[1] is False


def test_whoever_is_at_work_has_not_finished(tmp_path):
    folder = make_campaign(tmp_path / "all", n=1)
    with folder.lock():
        assert read_status(folder)[0].state == "running"
    assert read_status(folder)[0].state == "finished"


def test_what_is_no_campaign_is_told(tmp_path):
    with refused(DataError):
        read_status(CampaignFolder(tmp_path / "nowhere"))
    with refused(DataError):
        read_status(CampaignFolder(tmp_path))


# The command -------------------------------------------------------------------------------------------


def test_the_command_prints_a_table(tmp_path, capsys):
    folder = make_campaign(tmp_path / "all", n=2, missing=1)
    assert commands.status(options(folder.path)) == 0
    told = capsys.readouterr().out
    same_text(told)
    assert "50 %" in told
    assert f"logs: {folder.path}/logs/\n" in told


def test_the_command_prints_json(tmp_path, capsys):
    folder = make_campaign(tmp_path / "all", n=2)
    assert commands.status(options(folder.path, format="json")) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["alive"], told["state"], told["done"], told["total"]) == (False, "finished", 2, 2)


def test_watching_ends_when_nobody_is_at_work(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "300")  # as wide as any folder's name
    folder = make_campaign(tmp_path / "all", n=2)
    slept = []
    monkeypatch.setattr("farm.campaign.status.time.time", lambda: RUNNING.started)
    with folder.lock():
        write_status(folder.status, RUNNING)
        lock = folder.holder
        monkeypatch.setattr(commands, "CampaignFolder", lambda path: folder)
        monkeypatch.setattr(folder, "holder", lambda: lock() if len(slept) < 2 else None)
        monkeypatch.setattr(commands.time, "sleep", slept.append)
        assert commands.status(options(folder.path, watch=True)) == 0
    told = capsys.readouterr().out
    assert slept == [2.0, 2.0]
    same_text(told.splitlines())


def test_ctrl_c_ends_the_watching_only(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "300")
    folder = make_campaign(tmp_path / "all", n=1, missing=1)

    def interrupt(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(commands.time, "sleep", interrupt)
    with folder.lock():
        assert commands.status(options(folder.path, watch=True)) == 0
    same_text(capsys.readouterr().out.splitlines())


@pytest.mark.parametrize("style", ["table", "json"])
def test_watching_needs_a_terminal(tmp_path, style):
    folder = make_campaign(tmp_path / "all", n=1)
    with refused(ExperimentError):
        commands.status(options(folder.path, watch=True, format=style))
