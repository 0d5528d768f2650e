"""`farm baseline` as a person meets it."""

import json
import re
from argparse import Namespace

import numpy as np
import pytest

from farm.commands import baseline as command
from farm.errors import DataError
from farm.store.campaign_folder import CampaignFolder
from tests.comparing.made_runs import make_run
from tests.gate.baseline.kept_runs import by_chance, flipped, run_of
from tests.wording import refused, same_text

ASKED = {"measure": [], "monitor": [], "level": 0.95, "replicates": 200, "seed": 0, "format": "table"}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    then = by_chance(0, n=600)
    then.save("then")
    alarm = then.alarms.loc[then.alarms["monitor"] == "oob", "alarm"].to_numpy()
    flipped(then, [place for place in range(300, 420) if alarm[place]]).save("now")
    return tmp_path


def save(run, out=None):
    return command.save(Namespace(run=[run], out=out))


def compare(run="now", against="then", **asked):
    return command.compare(Namespace(run=[run], baseline=against, **{**ASKED, **asked}))


def test_save_says_where_how_much_and_what_changed(here, capsys):
    assert save("then") == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"farm: saved to baselines/demo\.yaml \(2 monitors, 600 instances, \d kB\)\n", err)
    assert save("now", "baselines/demo.yaml") == 0
    out, err = capsys.readouterr()
    assert all(line.startswith("demo: oob: ") and " -> " in line for line in out.splitlines())
    same_text(out)
    same_text(err)
    save("now", "baselines/demo.yaml")
    out, err = capsys.readouterr()
    assert out == ""
    same_text(err)


def test_the_table_says_what_is_worse_and_which_are_missed(here, capsys):
    assert compare(measure=["specific.fnr", "specific.fpr"], monitor=["oob"]) == 0
    lines = capsys.readouterr().out.splitlines()
    same_text(lines[0])
    told = dict.fromkeys(("specific.fnr", "specific.fpr"))
    for line in lines:
        first, *rest = re.split(r" {2,}", line.strip())
        if first in told:
            told[first] = rest
    assert told["specific.fnr"][-1] == "worse, surely"
    assert told["specific.fpr"][2] == "0.0000"
    assert told["specific.fpr"][-1] == "the same"
    text = " ".join(" ".join(lines).split())
    missed = re.search(r"newly missed by oob \(without alarm\): (.*?) and (\d+) more", text)
    assert len(missed[1].split(", ")) == 10
    assert "signs/00300" <= missed[1].split(", ")[0] < "signs/00420"


@pytest.mark.parametrize("width", ["60", "80", "100", "140"])
def test_no_number_is_lost_in_a_narrow_terminal(here, capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    compare(format="json")
    found = json.loads(capsys.readouterr().out)["overall"]
    compare()
    out = capsys.readouterr().out
    if width != "60":
        for each in found:
            assert f"{each['baseline']:.4f}" in out
            assert f"{each['low']:.4f} to {each['high']:.4f}" in out
    assert max(map(len, out.splitlines())) <= int(width)


@pytest.mark.parametrize("style", ["table", "markdown", "json"])
def test_every_format_and_no_nan(here, capsys, style):
    n = 600
    run_of({"oob": np.zeros(n), "odin": np.arange(n) % 2 == 0}).save("never")
    compare("never", format=style)
    out = capsys.readouterr().out
    assert "nan" not in out.lower()
    same_text(out)
    assert "odin" in out


def test_json_has_everything(here, capsys):
    compare(format="json", seed=3)
    found = json.loads(capsys.readouterr().out)
    assert (found["baseline"], found["runs"], found["n"], found["seed"]) == ("then", ["demo"], 600, 3)
    worse = next(e for e in found["overall"] if (e["monitor"], e["measure"]) == ("oob", "specific.fnr"))
    assert worse["difference"] == pytest.approx(worse["now"] - worse["baseline"])
    assert worse["low"] < worse["difference"] < worse["high"]
    assert worse["verdict"] == "worse, surely"
    assert worse["p_right"] < 0.05
    changed = next(e for e in found["changed"] if (e["monitor"], e["task"]) == ("oob", "specific"))
    assert len(changed["missed_ids"]) == changed["newly_missed"] > 10
    assert worse["right_before_only"] == changed["newly_missed"]


def test_markdown_is_a_table_and_escapes_names(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = by_chance(0, monitors=("a|b", "odin"))
    run.save("then")
    flipped(run, range(200, 320), "a|b").save("now")
    compare(format="markdown")
    lines = capsys.readouterr().out.splitlines()
    rows = [line for line in lines if line.startswith("|")]
    same_text(rows)
    assert any(row.startswith("| a\\|b | overall.mcc |") for row in rows)


def test_sets_that_are_surely_different_stand_by_themselves(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = make_run(0, n_id=200, n_ood=100, tracks=None)
    run.save("then")
    flipped(run, range(200, 300), "good").save("now")
    compare(measure=["specific.fnr"], monitor=["good"])
    out = capsys.readouterr().out
    assert "Mean over 3 sets" in out
    gaussian = [line for line in out.splitlines() if line.startswith("Surely different on ")]
    same_text(gaussian)


def test_nothing_that_differs_has_no_list_of_instances(here, capsys):
    compare("then")
    out = capsys.readouterr().out
    assert "Instances decided otherwise" not in out
    assert out.count("the same") == 8


def test_a_campaign_is_saved_as_one_file_and_its_cells_find_their_own(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = CampaignFolder("all")
    folder.prepare()
    cells = []
    for seed in (0, 1):
        target = f"{seed:016x}-00000000000000ff"
        by_chance(
            seed, name="all", cell={"id": f"{seed:016x}", "title": f"seed {seed}", "label": {}, "keys": {}}
        ).save(folder.cells / target)
        cells.append(
            {"id": f"{seed:016x}", "title": f"seed {seed}", "target": target, "label": {}, "monitors": {}}
        )
    folder.write_record({"name": "all of it", "home": ".", "campaign": {}, "cells": cells})
    save("all")
    same_text(capsys.readouterr().err)
    compare("all", "baselines/all-of-it.yaml")
    out = capsys.readouterr().out
    same_text(out)
    assert out.count("the same") == 8
    compare(str(folder.cells / cells[1]["target"]), "baselines/all-of-it.yaml")
    same_text(capsys.readouterr().out)


def test_the_users_mistakes_are_errors_of_the_user(here):
    with pytest.raises(DataError) as error:
        compare(against="baselines/none.yaml")
    assert error.value.exit_code == 2
    with refused(DataError):
        save("nowhere")
