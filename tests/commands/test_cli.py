"""The command line as a person meets it: what it prints, its exit codes, and its one-line errors."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml

from farm import Readouts
from farm.cli import main
from farm.commands.run import save_numbered
from farm.config.experiment import parse_experiment
from farm.errors import DataError, UnknownNameError
from farm.judging import judge
from farm.run.execution import run_experiment
from farm.store.files import numbered_folder
from tests.wording import refused, same_text

FARM = [sys.executable, "-c", "from farm.cli import main; raise SystemExit(main())"]

MODULE = '''
import time
from pathlib import Path
import numpy as np
from farm.api import Monitor

def predict(images):
    level = images.mean(axis=(1, 2, 3))
    return np.stack([1 - level, level], axis=1)

def hang(images):
    if len(images) > 1:
        Path("started").touch()
        time.sleep(60)
    return predict(images)

def predict_nan(images):
    return predict(images) * np.nan

class Plain(Monitor):
    """A monitor of somebody's own."""
    def _fit(self, data): return {}
    def _load(self, state): pass
    def _score(self, observation): return np.zeros(len(observation))

class ReturnsNan(Plain):
    def _score(self, observation): return np.full(len(observation), np.nan)

class ReturnsOneTooMany(Plain):
    def _score(self, observation): return np.zeros(len(observation) + 1)

class Raises(Plain):
    def _score(self, observation): raise KeyError("nothing here")

class RaisesInFit(Plain):
    def _fit(self, data): raise ZeroDivisionError("no data")
'''


@pytest.fixture
def arrays() -> dict[str, np.ndarray]:
    """Two classes, dark and bright."""
    rng = np.random.default_rng(0)
    made: dict[str, np.ndarray] = {}
    for split, n in (("train", 40), ("test", 20)):
        labels = np.arange(n) % 2
        dark = rng.integers(0, 100, (n, 8, 8, 3), dtype=np.uint8)
        made[f"x_{split}"] = dark + np.uint8(150) * labels[:, None, None, None].astype(np.uint8)
        made[f"y_{split}"] = labels
    return made


@pytest.fixture
def folder(tmp_path, monkeypatch, arrays) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "theirs.py").write_text(MODULE)
    np.savez(tmp_path / "data.npz", **arrays)
    yield tmp_path
    sys.modules.pop("theirs", None)


@pytest.fixture
def write(folder) -> Callable[..., str]:
    """Write an experiment around two classes and a black box."""

    def experiment(**changed) -> str:
        values = {
            "workload": {"name": "npz", "path": "data.npz"},
            "classifier": {"name": "function", "function": "theirs:predict"},
            "monitors": ["max-softmax", "never"],
        }
        (folder / "mine.yaml").write_text(yaml.safe_dump(values | changed))
        return str(folder / "mine.yaml")

    return experiment


@pytest.fixture
def fails(capsys, folder) -> Callable[..., str]:
    """Run a command that must fail with one line; give the line."""

    def run(*arguments: str, code: int = 2) -> str:
        assert main(arguments) == code
        printed = capsys.readouterr()
        lines = [line for line in printed.err.splitlines() if line.startswith("farm: ")]
        assert len(lines) == 1
        assert "Traceback" not in printed.err
        assert not list(folder.glob("runs/*")), "a failed run must leave no folder"
        return lines[0]

    return run


def test_a_run_is_written_judged_and_says_what_to_do_next(write, folder, capsys) -> None:
    assert main(["run", write(), "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "max-softmax" in out
    same_text(out, measured=True)
    assert len(Readouts.load(folder / "runs" / "mine-001").instances) == 20
    assert main(["run", write(), "--quiet", "--readouts-only", "--out", "there"]) == 0
    assert "max-softmax" not in capsys.readouterr().out
    assert (folder / "there" / "run.json").is_file()


def test_json_has_the_answer_the_records_and_the_folder_and_nothing_else_is_printed(
    write, folder, capsys
) -> None:
    (folder / "theirs.py").write_text(MODULE + "print('hello from my module')\n")
    assert main(["run", write(), "--quiet", "--format", "json"]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert "hello from my module" in printed.err
    assert set(found) == {"folder", "answer", "warnings", "records"}
    run = Readouts.load(folder / found["folder"])
    records = judge(run.instances, run.alarms, {**run.run, "folder": found["folder"]})
    assert found["records"] == json.loads(json.dumps(records))
    (answer,) = found["answer"]
    assert set(answer) == {"category", "monitor", "helps", "sure", "sentence"}
    assert main(["compare", found["folder"], "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["answer"] == [answer]
    assert main(["run", write(), "--quiet", "--format", "json", "--readouts-only", "--out", "there"]) == 0
    assert json.loads(capsys.readouterr().out) == {"folder": "there"}


@pytest.fixture
def many(folder, arrays) -> None:
    """Have 120 images to test on."""
    random = np.random.default_rng(1)
    labels = np.arange(120) % 2
    images = random.integers(0, 100, (120, 8, 8, 3)) + 150 * labels[:, None, None, None]
    arrays |= {"x_test": images.astype(np.uint8), "y_test": labels}
    np.savez(folder / "data.npz", **arrays)


def test_the_answer_stands_before_the_table_and_a_warning_before_both(write, many, capsys) -> None:
    swapped = MODULE + "\ndef swapped(images): return predict(images)[:, ::-1]\n"
    Path("theirs.py").write_text(swapped)
    path = write(classifier={"name": "function", "function": "theirs:swapped"}, faultload="black-frame")
    assert main(["run", path, "--quiet", "--all"]) == 0
    out = capsys.readouterr().out
    assert "Warning: the classes look permuted" in out
    places = [out.index(text) for text in ("Warning: ", "On ", "data · ", "classifier alone", "Next:")]
    assert places == sorted(places)


def test_what_is_offered_next_can_be_done(write, many, capsys) -> None:
    monitors = ["random", {"name": "max-softmax", "as": "plain"}, "theirs:Plain"]
    path = write(monitors=monitors, faultload="black-frame")
    assert main(["run", path, "--quiet", "--out", "my run"]) == 0
    told = capsys.readouterr().out.partition("Next:\n")[2].splitlines()
    commands = [shlex.split(re.split(r" {2,}", line.strip())[0])[1:] for line in told]
    assert [command[0] for command in commands] == ["compare", "report", "judge", "inspect", "describe"]
    assert commands[-1] == ["describe", "monitor", "max-softmax"]
    assert len({re.search(r"\S {2,}(?=\S)", line).end() for line in told}) == 1, "one column"
    for command in commands:
        assert main(command) == 0


def test_nothing_is_overwritten(write, folder, fails) -> None:
    (folder / "there").mkdir()
    (folder / "there" / "precious").touch()
    same_text(fails("run", write(), "--out", "there"))
    assert [f.name for f in (folder / "there").iterdir()] == ["precious"]


def test_settings_on_the_command_line_come_last(write, folder) -> None:
    arguments = [
        "run",
        write(seed=5),
        "--quiet",
        "--out",
        "r",
        "--set",
        "seed=7",
        "--set",
        "monitors.1=random",
    ]
    assert main([*arguments, "--set", "monitors.1.rate=0.5"]) == 0
    run = Readouts.load(folder / "r").run
    assert run["experiment"]["seed"] == 7
    assert run["monitors"][1]["parameters"] == {"rate": 0.5}


RECORD_KEYS = {
    *("workload", "classifier", "faultload", "category", "severity", "part", "monitor", "n", "n_ood"),
    *("n_tracks", "intervals_by"),
    *("specific", "overall", "auroc", "classifier_mcc", "system_mcc", "relative_change", "coverage"),
    *("accepted_accuracy", "safety_gain", "residual_hazard", "availability_cost"),
    *("monitor_time_us", "classifier_time_us", "monitor_bytes", "undefined"),
}
VERDICT_KEYS = {
    *("tp", "fp", "tn", "fn", "mcc", "fpr", "fnr", "precision", "recall", "micro_f1", "weighted_f1"),
    *(f"{name}_{end}" for name in ("mcc", "fpr", "fnr", "error") for end in ("low", "high")),
    *("error", "undefined"),
}


def test_judge_gives_every_measure_as_json(write, capsys) -> None:
    assert main(["run", write(), "--quiet", "--out", "a"]) == 0
    assert main(["run", write(seed=1), "--quiet", "--out", "b"]) == 0
    capsys.readouterr()
    assert main(["judge", "a", "b", "--format", "json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert {r["run"] for r in records} == {"a", "b"}
    for record in records:
        assert set(record) >= RECORD_KEYS
        assert set(record["specific"]) & set(record["overall"]) >= VERDICT_KEYS
        assert set(record["monitor_time_us"] or record["classifier_time_us"]) >= {"median", "p95", "p99"}


def test_compare_and_judge_write_every_format(write, capsys) -> None:
    assert main(["run", write(), "--quiet", "--out", "a"]) == 0
    capsys.readouterr()
    for command in ("compare", "judge"):
        told = {}
        for style in ("table", "csv", "latex", "markdown"):
            assert main([command, "a", "--format", style]) == 0
            told[style] = capsys.readouterr().out
            assert "max-softmax" in told[style], (command, style)
        assert len(set(told.values())) == 4
        names, *rows = csv.reader(io.StringIO(told["csv"]))
        assert all(len(row) == len(names) for row in rows)
        assert r"\begin{tabular}" in told["latex"]
        assert re.search(r"^\|[ :|-]+\|$", told["markdown"], flags=re.MULTILINE)


LOG = "label,predicted,is_ood,alarm,monitor\n0,0,0,0,mine\n1,0,0,1,mine\n-1,1,1,1,mine\n-1,0,1,0,mine\n"


def test_judge_gives_the_same_records_from_a_log(folder, capsys) -> None:
    (folder / "log.csv").write_text(LOG)
    assert main(["judge", "log.csv", "--format", "json"]) == 0
    (record, *_) = json.loads(capsys.readouterr().out)
    assert set(record) >= RECORD_KEYS
    assert [record["overall"][k] for k in ("tp", "fp", "tn", "fn")] == [2, 0, 1, 1]
    assert [record["specific"][k] for k in ("tp", "fp", "tn", "fn")] == [1, 1, 1, 1]


LOOKS_AT_ITSELF = """
import contextlib, io, json, sys
before = set(sys.modules)
from farm.cli import main
told = []
for arguments in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        assert main(arguments) == 0
    told.append([sorted({name.partition(".")[0] for name in set(sys.modules) - before}), out.getvalue()])
print(json.dumps(told))
"""


def test_commands_import_no_more_than_they_need(write, folder) -> None:
    """Each after the other in one new process, so that what one imports counts for those that follow."""
    (folder / "log.csv").write_text(LOG)
    assert main(["run", write(), "--quiet", "--out", "a"]) == 0
    commands = [["--help"], ["list"], ["judge", "log.csv", "a"], ["compare", "a"]]
    done = subprocess.run(
        [sys.executable, "-c", LOOKS_AT_ITSELF, json.dumps(commands)],
        capture_output=True,
        text=True,
        check=True,
    )
    (help_, told), *others = json.loads(done.stdout)
    assert "farm run quickstart" in told
    # That help answers at once is that it brings nothing along but Python's own library.
    assert set(help_) - sys.stdlib_module_names == {"farm"}
    for arguments, (imported, printed) in zip(commands[1:], others, strict=True):
        assert printed
        assert not {"torch", "sklearn", "statsmodels"} & set(imported), arguments


def test_list_and_describe(capsys, monkeypatch) -> None:
    assert main(["list", "monitors", "--format", "json"]) == 0
    names = {record["name"] for record in json.loads(capsys.readouterr().out)}
    assert {"oob", "oob-pca", "oob-isomap", "odin", "max-softmax", "never", "always", "random"} <= names
    monkeypatch.setenv("COLUMNS", "40")
    assert main(["list"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert next(line for line in said if " signs-abroad " in line).endswith(
        "farm.workloads.signs:SignsAbroad"
    )
    assert main(["describe", "monitor", "oob"]) == 0
    told = capsys.readouterr().out
    assert "clusters: 3" in told
    assert "Reference: Henzinger" in told
    assert main(["describe", "faultload", "novelty", "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["category"] == "novelty"
    assert record["parameters"][0] == {
        "name": "workload",
        "type": record["parameters"][0]["type"],
        "default": "required",
    }


def test_policies_are_listed_and_described_like_everything_else(capsys) -> None:
    assert main(["list", "policies"]) == 0
    assert "farm.run.policies:MOutOfN" in capsys.readouterr().out
    assert main(["list", "--format", "json"]) == 0
    listed = [r["name"] for r in json.loads(capsys.readouterr().out) if r["kind"] == "policy"]
    charts = ["adwin", "cusum", "ewma", "martingale", "page-hinkley"]
    assert listed == sorted(["cancel", "hysteresis", "latching", "m-of-n", *charts])
    for kind in ("policy", "policies"):
        assert main(["describe", kind, "m-of-n"]) == 0
        told = capsys.readouterr().out
        assert told.startswith("policy m-of-n  (farm.run.policies:MOutOfN)")
        same_text(told)


@pytest.mark.parametrize("kind", ["monitor", "model", "faultload", "workload", "policy"])
def test_a_kind_may_be_listed_in_the_singular(capsys, kind) -> None:
    assert main(["list", kind, "--format", "json"]) == 0
    singular = capsys.readouterr().out
    assert main(["list", f"{kind}s".replace("ys", "ies"), "--format", "json"]) == 0
    assert singular == capsys.readouterr().out
    assert {record["kind"] for record in json.loads(singular)} == {kind}


def test_of_two_runs_that_take_the_same_number_the_later_one_takes_the_next(
    write, folder, monkeypatch
) -> None:
    assert main(["run", write(), "--quiet", "--out", "a"]) == 0
    readouts = Readouts.load(folder / "a")
    numbered, asked = numbered_folder, []

    def stale(parent: Path, name: str) -> Path:
        asked.append(name)
        path = numbered(parent, name)
        if len(asked) == 1:
            readouts.save(path)  # somebody else is faster
        return path

    monkeypatch.setattr("farm.commands.run.numbered_folder", stale)
    assert save_numbered(readouts, folder / "runs", "mine") == folder / "runs" / "mine-002"
    assert {path.name for path in (folder / "runs").iterdir()} == {"mine-001", "mine-002"}
    assert len(asked) == 2


def test_what_is_no_race_for_a_number_is_told_once(folder, monkeypatch) -> None:
    class Unsaveable:
        def save(self, folder: Path) -> Path:
            raise DataError("no such rows")

    with refused(DataError):
        save_numbered(Unsaveable(), folder / "runs", "mine")


def test_two_experiments_with_modules_of_the_same_name_do_not_share_them(tmp_path, arrays) -> None:
    values = {
        "name": "x",
        "workload": {"name": "npz", "path": "data.npz"},
        "classifier": {"name": "function", "function": "theirs:predict"},
        "monitors": ["max-softmax"],
    }
    runs = []
    for name, module in (
        ("one", MODULE),
        ("other", MODULE.replace("[1 - level, level]", "[level, 1 - level]")),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "theirs.py").write_text(module)
        np.savez(tmp_path / name / "data.npz", **arrays)
        runs.append(run_experiment(parse_experiment(values, "x.yaml"), tmp_path / name))
        assert "theirs" not in sys.modules
        assert str(tmp_path / name) not in sys.path
    one, other = (run.instances["predicted"].to_numpy() for run in runs)
    assert np.array_equal(one, 1 - other)
    assert runs[0].run["classifier"]["digest"] != runs[1].run["classifier"]["digest"]


def test_a_run_tells_what_made_it(write, folder) -> None:
    assert main(["run", write(), "--quiet", "--out", "r"]) == 0
    run = json.loads((folder / "r" / "run.json").read_text())
    assert run["workload"]["recipe"]["path"] == "data.npz"
    assert run["classifier"]["recipe"]["function"] == "theirs:predict"
    assert run["classifier"]["recipe"]["version"] == ""
    assert {"experiment_commit", "testbed_commit"} <= set(run)
    assert run["experiment_commit"] is None  # the experiment's folder is in no repository


def test_version(capsys) -> None:
    with refused(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.startswith("farm-testbed 0.")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"monitor": []}, "unknown key 'monitor'; did you mean 'monitors'?"),
        ({"stream": {"ordr": "x"}}, "unknown key 'stream.ordr'; did you mean 'order'?"),
        ({"monitors": ["od1n"]}, "monitor 'od1n' is not known; did you mean 'odin'?"),
        (
            {"monitors": [{"name": "oob", "taw": 1}]},
            "monitor 'oob' has no parameter 'taw'; did you mean 'tau'?",
        ),
        (
            {"monitors": [{"name": "oob", "tau": -1}]},
            "monitor 'oob': tau is -1; expected a number of at least 0",
        ),
        (
            {"monitors": ["oob"]},
            "monitor 'oob' needs the layer 'last-hidden', but classifier 'function' is a black",
        ),
        ({"workload": {"name": "npz", "path": "gone.npz"}}, "'gone.npz' is not there in"),
        ({"faultload": "novelty"}, "faultload 'novelty' needs the parameter 'workload'"),
        ({"stream": {"ood_share": 0.5}}, "stream.ood_share is 0.5; expected 0 where no faultload is named"),
        (
            {"monitors": [{"name": "never", "calibration": {"accept": 0.9}}]},
            "monitor 'never' sets its threshold itself (1), so that its calibration would have no effect",
        ),
        (
            {"calibration": {"method": "id-extreme", "accept": 0.9}},
            "calibration.accept is 0.9, which method 'id-extreme' would not use",
        ),
        ({"stream": {"order": "random"}}, "stream.order 'random' is not known; did you mean 'ramp'?"),
        ({"batch_size": 0}, "batch_size is 0; expected at least 1"),
        ({"layers": ["last-hidden"]}, "black box"),
    ],
)
def test_mistakes_in_an_experiment(write, fails, changed, message) -> None:
    assert message in fails("run", write(**changed), "--quiet")


def test_other_mistakes(folder, fails, write) -> None:
    same_text(fails("run", "quickstrat"))
    same_text(fails("run", "missing.yaml"))
    same_text(fails("compare", "nowhere"))
    assert "no.csv" in fails("judge", "no.csv")
    same_text(fails("describe", "monitor", "oobb"))
    same_text(fails("run", write(), "--set", "seed"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a["x_test"].__setitem__((3, 0, 0, 0), np.nan), "pixel nan; expected finite values"),
        (lambda a: a["x_test"].__setitem__((3, 0, 0, 0), 7.0), "pixel 7.0; expected values in [0, 1]"),
        (lambda a: a["y_train"].__setitem__(0, -2), "label -2 at position 0; expected 0 to 1"),
        (lambda a: a.update(x_test=a["x_test"][:0], y_test=a["y_test"][:0]), "split 'test' is empty"),
        (lambda a: a["y_train"].__setitem__(0, 2), "class 'data-02' has 1 image(s); expected at least 2"),
        (lambda a: a["x_test"].__setitem__(0, a["x_train"][5]), "share 1 identical image(s)"),
        (lambda a: a.pop("y_test"), "has x_test and no y_test; expected both"),
        (
            lambda a: [a.pop(k) for k in ("x_test", "y_test")],
            "expected arrays x_train, y_train, x_test and y_test; found ['x_train', 'y_train'",
        ),
    ],
)
def test_mistakes_in_the_data(write, fails, folder, arrays, change, message) -> None:
    as_floats = {k: v.astype(np.float32) / 255 if k[0] == "x" else v for k, v in arrays.items()}
    change(as_floats)
    np.savez(folder / "data.npz", **as_floats)
    assert message in fails("run", write(), "--quiet")


def test_a_truncated_file_is_named(write, fails, folder) -> None:
    whole = (folder / "data.npz").read_bytes()
    (folder / "data.npz").write_bytes(whole[: len(whole) // 2])
    line = fails("run", write(), "--quiet")
    same_text(line)
    assert "truncated" in line


@pytest.mark.parametrize(
    ("monitor", "message"),
    [
        ("theirs:ReturnsNan", "returned the score nan"),
        ("theirs:ReturnsOneTooMany", "returned scores of shape"),
        ("theirs:Raises", "KeyError: 'nothing here'"),
        ("theirs:RaisesInFit", "failed in fit: ZeroDivisionError: no data"),
    ],
)
def test_a_monitor_that_fails_is_a_result_and_the_others_go_on(
    write, folder, capsys, monitor, message
) -> None:
    path = write(monitors=["max-softmax", {"name": monitor, "as": "broken"}])
    assert main(["run", path, "--quiet", "--out", "r"]) == 1
    printed = capsys.readouterr()
    (line,) = [line for line in printed.err.splitlines() if line.startswith("farm: ")]
    assert "monitor 'broken'" in line
    assert message in line
    assert "broken" in printed.out, "the table shows the failure"
    readouts = Readouts.load(folder / "r")
    assert message in readouts.run["monitors"][1]["failure"]
    assert set(readouts.alarms["monitor"]) == {"max-softmax"}


def test_what_a_classifier_cannot_give_costs_those_monitors_that_need_it(write, folder, capsys) -> None:
    assert main(["run", write(monitors=["oob", "max-softmax", "odin"]), "--quiet", "--out", "r"]) == 1
    printed = capsys.readouterr()
    same_text(line for line in printed.err.splitlines() if line.startswith("farm: "))
    readouts = Readouts.load(folder / "r")
    failures = {entry["name"]: entry["failure"] for entry in readouts.run["monitors"]}
    assert failures["max-softmax"] is None
    assert "needs the layer 'last-hidden'" in failures["oob"]
    assert "needs logits" in failures["odin"]
    assert all("monitors that work on it: max-softmax, " in failures[name] for name in ("oob", "odin"))
    assert set(readouts.alarms["monitor"]) == {"max-softmax"}
    assert "oob" in printed.out, "the table shows the failure"


def test_a_run_without_any_monitor_that_can_work_is_the_users_mistake(write, fails) -> None:
    same_text(fails("run", write(monitors=["oob", "odin"]), "--quiet"))


def test_a_fit_of_a_monitor_that_cannot_work_is_the_users_mistake(write, fails) -> None:
    same_text(fails("fit", write(monitors=["oob", "max-softmax"]), "--monitor", "oob", "--out", "g"))


def test_a_classifier_that_fails_fails_the_run(write, fails) -> None:
    path = write(classifier={"name": "function", "function": "theirs:predict_nan"})
    same_text(fails("run", path, "--quiet", code=1))


def test_a_full_disk_is_said_and_leaves_nothing(write, folder) -> None:
    def small_files_only() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    done = subprocess.run(
        [*FARM, "run", write(), "--quiet"],
        # Python would leave byte code that ends after as many bytes, which nobody could import any more.
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        preexec_fn=small_files_only,
    )
    assert done.returncode == 1
    same_text(done.stderr)
    assert "Traceback" not in done.stderr
    assert not list(folder.glob("runs/*"))
    assert not list(folder.glob("runs/.*"))


def test_ctrl_c_stops_with_130_and_leaves_nothing(write, folder) -> None:
    path = write(classifier={"name": "function", "function": "theirs:hang"})
    process = subprocess.Popen([*FARM, "run", path], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 300
    while not (folder / "started").exists() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    same_text(err.splitlines()[-1])
    assert "Traceback" not in err
    assert not (folder / "runs").exists()


def test_debug_shows_the_traceback(write) -> None:
    with pytest.raises(UnknownNameError) as caught:
        main(["run", write(monitors=["od1n"]), "--debug"])
    assert caught.traceback[-1].name != "main"
