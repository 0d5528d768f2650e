"""Logs from anywhere in every command that reads runs: CSV and Parquet files say what folders say."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

import farm
from farm.cli import main
from farm.measures import wilson
from farm.testing import make_readouts
from tests.campaign.made_campaigns import make_campaign
from tests.comparing.made_runs import make_run
from tests.wording import same_text

CRITERIA = "criteria: [specific.fpr <= 0.2, overall.mcc >= 0.2, auroc >= 0.5 for good]"
COMMANDS = {
    "judge": "judge RUN --format json",
    "judge several": "judge RUN OTHER --format markdown",
    "compare": "compare RUN OTHER --replicates 50 --format json",
    "inspect": "inspect RUN --look classes --look scores --look time --pair good poor --ood-share 0.01",
    "inspect several": "inspect RUN OTHER --look classes --format json",
    "plan": "plan RUN OTHER --half-width 0.02",
    "anova": "anova RUN OTHER --measure specific.fnr",
    "check": "check RUN --criteria ../criteria.yaml --replicates 200",
    "baseline compare": "baseline compare RUN --baseline RUN --replicates 50",
}


def write_log(run, path, without=()):
    """Write a run as a log, without some columns."""
    table = run.alarms.merge(run.instances, on="position").assign(workload="signs", classifier="lenet")
    table = table.assign(id=table["position"]).drop(columns=["position", *without])
    table.to_csv(path, index=False) if path.suffix == ".csv" else table.to_parquet(path, index=False)
    return str(path)


@pytest.fixture(scope="module", params=[".csv", ".parquet"])
def sides(tmp_path_factory, request):
    """Two folders with the same runs by the same names: as folders in one, as logs in the other."""
    root, suffix = tmp_path_factory.mktemp("runs"), request.param
    (root / "criteria.yaml").write_text(CRITERIA)
    for side in ("folders", "logs"):
        (root / side).mkdir()
        for number, name in enumerate(("run", "other")):
            made, path = make_run(number), root / side / f"{name}{suffix}"
            made.save(path) if side == "folders" else write_log(made, path)
    return root, suffix


@pytest.mark.parametrize("command", COMMANDS)
def test_a_log_says_what_a_folder_says(sides, capsys, monkeypatch, command):
    root, suffix = sides
    words = COMMANDS[command].replace("RUN", f"run{suffix}").replace("OTHER", f"other{suffix}").split()
    printed = []
    for side in ("folders", "logs"):
        monkeypatch.chdir(root / side)
        printed.append((main(words), capsys.readouterr().out))
    (code, out), of_logs = printed
    assert code in (0, 3)
    assert len(out) > 100
    # A log has a name of its own, where the run made by hand has none.
    assert of_logs == (code, out.replace("unnamed", "run") if command == "baseline compare" else out)


@pytest.mark.parametrize("style", ["csv", "parquet"])
def test_a_log_can_be_saved_as_a_baseline(tmp_path, capsys, monkeypatch, style):
    monkeypatch.chdir(tmp_path)
    log = write_log(make_run(), tmp_path / f"drive.{style}")
    assert main(["baseline", "save", log]) == 0
    assert main(["baseline", "compare", log, "--baseline", "baselines/drive.yaml", "--replicates", "50"]) == 0
    assert "drive" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("without", "command", "code"),
    [
        ("label", "compare LOG --replicates 50", 2),
        ("label", "compare LOG --measure specific.fnr --by category --replicates 50", 0),
        ("label", "check LOG --criteria overall.yaml", 2),
        ("label", "check LOG --criteria specific.yaml", 0),
        ("label", "inspect LOG --look classes", 2),
        ("label", "inspect LOG --look scores", 0),
        ("label", "inspect LOG --pair good poor", 0),
        ("label", "inspect LOG --ood-share 0.1", 0),
        ("label", "plan LOG", 0),
        ("label", "baseline save LOG", 2),
        ("is_ood", "compare LOG --measure specific.fnr --replicates 50", 2),
        ("is_ood", "compare LOG --replicates 50", 0),
        ("is_ood", "check LOG --criteria specific.yaml", 2),
        ("is_ood", "inspect LOG --look scores", 2),
        ("is_ood", "inspect LOG --look classes", 0),
        ("is_ood", "inspect LOG --pair good poor", 0),
        ("is_ood", "plan LOG", 0),
        ("score", "compare LOG --measure auroc --replicates 50", 2),
        ("score", "check LOG --criteria auroc.yaml", 2),
        ("score", "check LOG --criteria overall.yaml --replicates 200", 0),
    ],
)
def test_what_a_log_lacks_costs_only_what_needs_it(tmp_path, capsys, monkeypatch, without, command, code):
    monkeypatch.chdir(tmp_path)
    for name, criterion in (
        ("overall", "overall.mcc >= 0.01 for good"),
        ("specific", "specific.fpr <= 0.3"),
        ("auroc", "auroc >= 0.5 for good"),
    ):
        (tmp_path / f"{name}.yaml").write_text(f"criteria: ['{criterion}']")
    write_log(make_run(), tmp_path / "log.csv", [without])
    assert main(command.replace("LOG", "log.csv").split()) == code
    printed = capsys.readouterr()
    same_text(printed.err if code else printed.out)


def test_every_cell_of_a_campaign_is_looked_at(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_campaign(tmp_path / "campaign")
    for command in (["inspect", "campaign", "--look", "classes"], ["plan", "campaign"]):
        assert main([*command, "--format", "json"]) == 0
        assert len(json.loads(capsys.readouterr().out)) > 1


def test_a_log_is_given_once(tmp_path, capsys):
    log = write_log(make_run(), tmp_path / "a.csv")
    shutil.copy(log, tmp_path / "b.csv")
    assert main(["compare", log, str(tmp_path / "b.csv")]) == 2
    assert "hold the same readouts; expected each run once" in capsys.readouterr().err


def test_columns_that_are_not_used_are_told(tmp_path, capsys):
    run = make_run()
    run.instances["weather"] = "rain"
    log = write_log(run, tmp_path / "a.csv")
    assert main(["plan", log]) == 0
    assert capsys.readouterr().err == f"farm: {log}: columns not used: weather\n"


def test_logs_are_loaded_judged_and_compared_in_python(tmp_path):
    run = make_run()
    log = write_log(run, tmp_path / "a.parquet")
    loaded = farm.Readouts.load(log)
    assert np.array_equal(loaded.alarms["score"], run.alarms["score"])
    assert loaded.instances["track"].tolist() == run.instances["track"].tolist()
    of_log, of_run = (farm.judge(each).filter(like="overall") for each in (log, run))
    pd.testing.assert_frame_equal(of_log, of_run)
    assert farm.compare(log, replicates=50).monitors == farm.compare(run, replicates=50).monitors


@pytest.mark.parametrize("style", ["table", "latex"])
def test_a_fleets_log_tells_how_often_monitors_alarm(tmp_path, capsys, monkeypatch, style):
    monkeypatch.chdir(tmp_path)
    write_log(make_run(), tmp_path / "fleet.csv", ["label", "is_ood", "category", "faultload", "severity"])
    assert main(["judge", "fleet.csv", "--format", style]) == 0
    same_text(capsys.readouterr().out)


def test_a_fleets_log_as_json(tmp_path, capsys):
    log = write_log(make_run(tracks=0), tmp_path / "fleet.csv", ["label", "is_ood", "track"])
    assert main(["judge", log, "--format", "json"]) == 0
    records = json.loads(capsys.readouterr().out)
    first = records[0]
    low, high = (end.value for end in wilson(round(first["alarm_rate"] * first["n"]), first["n"]))
    assert (first["low"], first["high"]) == (low, high)
    assert [record["part"] for record in records if record["monitor"] == "good"] == [
        "all",
        *["class"] * 3,
        *["time"] * 4,
    ]


def ran(command):
    return main(command.split())


FLEET = ["label", "is_ood", "category", "faultload", "severity"]


@pytest.fixture
def fleet(tmp_path, monkeypatch):
    """Two logs of a fleet without labels: on the second's foggy days scores are higher."""
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(("may", "june")):
        made = make_run(number, faults=[])
        n = len(made.instances)
        foggy = np.arange(n) % 5 == 0
        made.instances["weather"] = np.where(foggy, "fog", "clear")
        made.instances["timestamp"] = np.datetime64("2026-06-01") + np.arange(n) * np.timedelta64(1, "h")
        made.alarms["score"] += 3.0 * number * foggy[made.alarms["position"]]
        write_log(made, tmp_path / f"{name}.csv", FLEET)
    return tmp_path


@pytest.mark.parametrize("style", ["table", "markdown", "latex"])
def test_a_fleets_log_by_weather_and_against_a_reference(fleet, capsys, style):
    command = "judge june.csv --by weather --by time --reference may.csv"
    assert ran(f"{command} --format {style}") == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    same_text(printed.out)


@pytest.mark.parametrize("more", ["", "--all"])
def test_a_labelled_log_is_not_said_to_have_no_labels(fleet, capsys, more):
    made = make_run(rates={"good": (0.05, 0.8), "never": (0.0, 0.0)})
    made.instances["weather"] = np.where(np.arange(len(made.instances)) % 3 == 0, "fog", "clear")
    write_log(made, fleet / "lab.csv")
    assert ran(f"judge lab.csv --by weather {more}") == 0
    said = capsys.readouterr().out
    assert ("never" in said) is bool(more)  # a yardstick
    same_text(said)


def test_drift_as_json(fleet, capsys):
    assert ran("judge june.csv --by weather --reference may.csv --format json") == 0
    records = [r for r in json.loads(capsys.readouterr().out) if r["monitor"] == "good"]
    whole, *parts = records
    assert [(r["part"], r["by"], r["of"]) for r in parts] == [
        ("condition", "weather", "clear"),
        ("condition", "weather", "fog"),
    ]
    assert whole["low"] < whole["alarm_rate"] < whole["high"]
    assert whole["against"]["low"] < whole["drift"] < whole["against"]["high"]
    assert ran("judge june.csv --format json") == 0
    (whole,) = (
        r for r in json.loads(capsys.readouterr().out) if r["monitor"] == "good" and r["part"] == "all"
    )
    assert (whole["drift"], whole["against"]) == (None, None)
    assert whole["undefined"]["drift"] == "no reference was given"


def test_a_fleets_log_through_the_gate(fleet, capsys):
    (fleet / "gate.yaml").write_text("criteria: [alarm_rate <= 0.5, drift <= 0.45]")
    assert ran("check june.csv --criteria gate.yaml --reference may.csv --replicates 400") == 0
    (fleet / "gate.yaml").write_text("reference: may.csv\ncriteria: [alarm_rate <= 0.01, drift <= 0.02]")
    assert ran("check june.csv --criteria gate.yaml --replicates 400") == 1
    same_text(capsys.readouterr().out)


def test_of_few_tracks_the_gate_asks_for_as_many_as_judging_does(fleet, capsys):
    write_log(make_run(n_id=60, faults=[], tracks=5), fleet / "few.csv", FLEET)
    (fleet / "gate.yaml").write_text("criteria: [drift <= 0.01]")
    assert ran("judge few.csv --reference may.csv --format json") == 0
    against = json.loads(capsys.readouterr().out)[0]["against"]
    assert (against["needed"], against["moved"], against["low"]) == (6, None, None)
    assert ran("check few.csv --criteria gate.yaml --reference may.csv") == 3
    same_text(capsys.readouterr().out)


def test_labelled_runs_have_alarm_rates_where_they_are_asked_for(tmp_path, capsys, monkeypatch):
    made = make_run()
    for name in ("now", "then"):
        (make_run(1) if name == "then" else made).save(tmp_path / name)
    assert (
        main(["judge", str(tmp_path / "now"), "--reference", str(tmp_path / "then"), "--format", "json"]) == 0
    )
    whole = json.loads(capsys.readouterr().out)[0]
    assert whole["against"]["instances"] == "ID"
    assert whole["against"]["moved"] is True  # the run has OOD instances
    assert whole["n"] == len(made.instances)


@pytest.mark.parametrize(
    "command",
    [
        "judge june.csv --by wether",
        "judge june.csv --reference june.csv",
        "judge june.csv --reference april.csv",
        "check june.csv --criteria gate.yaml",
        "check june.csv --criteria alarms.yaml --reference may.csv",
        "compare june.csv",
        "inspect june.csv --look time",
        "baseline save june.csv",
    ],
)
def test_what_a_fleets_log_cannot_tell_is_one_line(fleet, capsys, command):
    (fleet / "gate.yaml").write_text("criteria: [drift <= 0.1]")
    (fleet / "alarms.yaml").write_text("criteria: [alarm_rate <= 0.1]")
    assert ran(command) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if "not used" not in line]
    assert len(said) == 1
    same_text(said[0])


@pytest.mark.parametrize("command", ["judge", "compare"])
def test_a_classifier_put_in_wrongly_is_told_beside_the_output_once_a_run(
    tmp_path, capsys, monkeypatch, command
):
    monkeypatch.chdir(tmp_path)
    label = np.tile(np.arange(5), 40)
    columns = {"is_ood": np.arange(200) >= 100, "category": "noise", "confidence": 0.7}
    columns["faultload"] = np.where(np.arange(200) < 150, "fog", "snow")
    for number, name in enumerate(["a", "b"]):
        alarm = np.random.default_rng(number).random(200) < 0.3
        made = make_readouts(
            {"odin": alarm, "oob": ~alarm}, label=label, predicted=(label + 1) % 5, **columns
        )
        write_log(made, tmp_path / f"{name}.csv")
    arguments = ["--replicates", "50"] if command == "compare" else []
    assert main([command, "a.csv", "b.csv", "--format", "json", *arguments]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)
    same_text(err)
