"""`farm faults` and `farm stream` as a person meets them."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from farm import Readouts
from farm.cli import main
from farm.config.experiment import EXPERIMENTS, listed, parse_experiment
from farm.errors import ExperimentError
from farm.run.benchmark_set import StoredStream
from tests.wording import refused, same_text

FARM = [sys.executable, "-c", "from farm.cli import main; raise SystemExit(main())"]
DIGITS = "{name: digits, size: 16, channels: 1}"
TINY = {
    "workload": {"name": "farm.testing.fakes:TinySource"},
    "classifier": {"name": "farm.testing.fakes:TinyModel"},
    "faultload": {"name": "gaussian-noise", "severity": 3},
    "monitors": ["max-softmax", "never"],
}


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(**changed) -> str:
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump(TINY | changed))
        return "mine.yaml"

    return write


def test_a_preview_has_a_row_an_image_and_a_column_a_severity(tmp_path, capsys):
    out = tmp_path / "sheet.png"
    arguments = ["faults", "preview", "gaussian-noise", "{name: pixel-trap}", "black-frame"]
    assert main([*arguments, "--workload", DIGITS, "--out", str(out), "--quiet", "--images", "1"]) == 0
    assert "3 fault(s) drawn" in capsys.readouterr().out
    with Image.open(out) as sheet:
        width, height = sheet.size
    assert height == pytest.approx(3 * 134, abs=40)
    assert width > 6 * 128


def test_severities_rise_along_a_row(tmp_path):
    out = tmp_path / "sheet.png"
    main(
        [
            "faults",
            "preview",
            "gaussian-noise",
            "--workload",
            DIGITS,
            "--out",
            str(out),
            "--quiet",
            "--images",
            "1",
        ]
    )
    pixels = np.asarray(Image.open(out).convert("L"), dtype=float)[28:156]
    left = pixels.shape[1] - 6 * 134
    cells = [pixels[:, left + i * 134 : left + i * 134 + 128] for i in range(6)]
    changes = [np.abs(cell - cells[0]).mean() for cell in cells]
    assert changes == sorted(changes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gausian-noise"], "faultload 'gausian-noise' is not known; did you mean 'gaussian-noise'?"),
        (["fgsm"], "faultload 'fgsm' needs gradients"),
        (["{name: novelty}"], "faultload 'novelty' needs the parameter 'workload'"),
        (["[1, 2]"], "is neither a name nor a mapping"),
    ],
)
def test_a_preview_that_cannot_be_drawn_says_why(tmp_path, capsys, arguments, message):
    out = tmp_path / "sheet.png"
    assert main(["faults", "preview", *arguments, "--workload", DIGITS, "--out", str(out), "--quiet"]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_a_preview_shows_novel_classes_that_the_classifier_takes_for_known_ones(tmp_path, capsys):
    tiny, out = "farm.testing.fakes:TinySource", tmp_path / "sheet.png"
    novel = (
        f"{{name: novelty, workload: {{name: {tiny}, classes: [elm, fir], title: other}}, same: {{elm: 0}}}}"
    )
    arguments = ["faults", "preview", novel, "--workload", tiny, "--out", str(out), "--quiet"]
    assert main(arguments) == 0
    assert "novel or not?" not in capsys.readouterr().out
    with Image.open(out) as sheet:
        _, without = sheet.size
    out.unlink()
    assert main([*arguments, "--classifier", "farm.testing.fakes:TinyModel"]) == 0
    same_text(capsys.readouterr().out.replace(str(out), "sheet.png"))
    with Image.open(out) as sheet:
        assert sheet.size[1] > without + 100


def test_a_preview_takes_an_entry_of_a_list(tmp_path, capsys):
    entry = "{list: authors-38, entry: fgsm}"
    arguments = ["--workload", DIGITS, "--out", str(tmp_path / "sheet.png"), "--quiet"]
    assert main(["faults", "preview", entry, *arguments]) == 2
    assert "faultload 'fgsm' needs gradients" in capsys.readouterr().err


def test_a_preview_overwrites_nothing(tmp_path, capsys):
    (tmp_path / "sheet.png").touch()
    arguments = ["faults", "preview", "black-frame", "--workload", DIGITS, "--quiet"]
    assert main([*arguments, "--out", str(tmp_path / "sheet.png")]) == 2
    assert "exists already" in capsys.readouterr().err


def test_a_written_set_streams_back_to_the_same_readouts(experiment, capsys):
    path = experiment(stream={"ood_share": 0.4})
    assert main(["run", path, "--quiet", "--out", "direct"]) == 0
    assert main(["faults", "write", path, "--quiet", "--out", "set"]) == 0
    assert "stream: {benchmark: set}" in capsys.readouterr().out
    stored = {k: v for k, v in TINY.items() if k != "faultload"} | {"stream": {"benchmark": "set"}}
    Path("stored.yaml").write_text(yaml.safe_dump(stored))
    assert main(["run", "stored.yaml", "--quiet", "--out", "again"]) == 0
    first, second = Readouts.load("direct"), Readouts.load("again")
    columns = [c for c in first.instances if c != "classifier_time_us"]
    assert first.instances[columns].equals(second.instances[columns])
    assert first.alarms["score"].equals(second.alarms["score"])
    assert len(StoredStream(Path("set")).classes) == 4


def test_faults_measured_change_is_in_the_readouts(experiment):
    assert main(["run", experiment(), "--quiet", "--out", "r"]) == 0
    rows = Readouts.load("r").instances
    ood = rows["is_ood"]
    assert (rows["fault_l2"][ood] > 0.1).all()
    assert rows["fault_l2"][~ood].isna().all()
    assert rows["fault_success"].isna().all()


def test_an_attack_on_the_stream_tells_its_success(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = {
        "workload": {"name": "digits", "size": 16, "channels": 1},
        "classifier": {"name": "lenet", "epochs": 3},
        "faultload": {"name": "fgsm", "eps": 0.3},
        "stream": {"ood_share": 0.5, "length": 100},
        "monitors": ["oob", "never"],
    }
    Path("attack.yaml").write_text(yaml.safe_dump(values))
    assert main(["run", "attack.yaml", "--quiet", "--out", "r"]) == 0
    readouts = Readouts.load("r")
    rows = readouts.instances[readouts.instances["is_ood"]]
    wrong = rows["label"] != rows["predicted"]
    assert rows["fault_success"].mean() > 0.5
    assert wrong[rows["fault_success"] == 1].mean() > 0.9
    assert (rows["fault_linf"] <= 0.3 + 1e-6).all()
    (fault,) = readouts.run["stream"]["faults"]
    assert fault["notes"]["attacked_digest"] == readouts.run["classifier"]["digest"]


def test_a_stream_is_watched_to_its_end(experiment, capsys):
    path = experiment(stream={"order": {"name": "recurring", "period": 10, "burst": 3}, "length": 200})
    assert main(["stream", path, "--quiet", "--window", "50"]) == 0
    told = capsys.readouterr().out
    same_text(told)
    assert "max-softmax" in told


def test_an_endless_stream_ends_with_ctrl_c_and_tells_what_it_saw(experiment):
    path = experiment(stream={"order": {"name": "onset", "at": 100}, "length": "endless"})
    process = subprocess.Popen(
        [*FARM, "stream", path, "--live"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    deadline = time.monotonic() + 300
    while "instances" not in process.stderr.readline() and time.monotonic() < deadline:
        pass
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert "1 onset;" in out or "0 onsets;" in out
    assert "Traceback" not in err


def test_a_window_of_one_is_refused(experiment, capsys):
    assert main(["stream", experiment(), "--window", "1"]) == 2
    same_text(capsys.readouterr().err)


# Lists of faults ---------------------------------------------------------------------------------------


def test_the_authors_have_79_sets():
    texts = {
        p.stem: yaml.safe_load(p.read_text()) for p in (EXPERIMENTS / "faultloads").glob("authors-*.yaml")
    }
    assert len(texts["authors-38"]) == 38
    assert 2 * len(texts["authors-38"]) + len(texts["authors-novelty"]) == 79


def test_every_set_and_its_source_is_told():
    """Each name stands in the table, with the levels of the lists beside it."""
    lists = {p.stem: yaml.safe_load(p.read_text()) for p in (EXPERIMENTS / "faultloads").glob("*.yaml")}
    assert list(lists["imagenet-c-38"]) == list(lists["authors-38"])
    table = (EXPERIMENTS.parent / "docs" / "benchmark-sets.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| `")]
    told = [name for row in rows for name in re.findall(r"`([^`]+)`", row[0])]
    assert told == [*lists["authors-38"], *lists["authors-novelty"]]
    assert all(len(row) == 4 and row[2] for row in rows)
    for name, entry in lists["authors-38"].items():
        corrupted = {"levels": "cifar-10-c"} if lists["imagenet-c-38"][name] != entry else {}
        if name != "rotation":
            assert entry == lists["imagenet-c-38"][name] | corrupted


def test_every_entry_of_every_list_is_a_fault_at_a_severity_it_has():
    for path in (EXPERIMENTS / "faultloads").glob("*.yaml"):
        for name in yaml.safe_load(path.read_text()):
            fault = listed({"list": path.stem, "entry": name}, Path())
            (spec,) = parse_experiment(TINY | {"name": "x", "faultload": fault}, str(path)).faultload
            spec.make("faultload").check_severity(spec.severity)


@pytest.mark.parametrize(
    "faultload",
    [
        {"list": "authors-39", "entry": "fgsm"},
        {"list": "authors-38", "entry": "fog-3"},
        {"list": "authors-38"},
    ],
)
def test_a_list_that_is_not_there_is_told(faultload):
    with refused(ExperimentError):
        listed(faultload, Path())


def test_entries_of_lists_can_be_mixed():
    entries = [
        {"list": "authors-38", "entry": "fgsm", "share": 2},
        {"list": "authors-38", "entry": "fog-5", "both": True},
    ]
    first, second = listed(entries, Path())
    assert (first["name"], first["share"]) == ("fgsm", 2)
    assert (second["name"], second["severity"], second["both"]) == ("fog", 5, True)


def test_all_mistakes_in_faults_are_told_at_once(experiment, capsys):
    faults = [{"name": "fog", "severity": 9}, {"name": "snwo"}, {"name": "gaussian-noise"}]
    assert main(["run", experiment(faultload=faults), "--quiet"]) == 2
    told = capsys.readouterr().err
    for part in ("'fog': severity is 9", "'snwo' is not known", "'gaussian-noise': severity is None"):
        assert part in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["stream", "mine.yaml", "--length", "0"], "--length is 0; expected at least 1"),
        (
            ["faults", "preview", "fog", "--workload", DIGITS, "--out", "x.png", "--images", "0"],
            "--images is 0",
        ),
        (
            ["faults", "preview", "{name: fog, severity: 2}", "--workload", DIGITS, "--out", "x.png"],
            "a preview draws every severity; leave out severity",
        ),
    ],
)
def test_settings_that_would_mean_nothing_are_refused(experiment, capsys, arguments, message):
    experiment()
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
