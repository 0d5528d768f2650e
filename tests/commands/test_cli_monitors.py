"""`farm test-monitor`, `test-faultload`, `new` and `describe monitor`, as a person meets them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from farm import Readouts
from farm.cli import main
from farm.testing import FAULT_RULES, RULES, new_process
from tests.wording import same_text

FIRST_MINUTE = """
import sys
import pytest
from farm.cli import main

print("@ pytest", flush=True)
codes = [int(pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist"]))]
for command in COMMANDS:
    print("@", *command, flush=True)
    codes.append(main(command))
raise SystemExit(any(codes))
"""
"""What its author does in a shell, without starting Python for each command anew."""

MINE = '''
import numpy as np
from farm.api import Monitor

class Mine(Monitor):
    """Distrusts what is predicted with little confidence.

    Parameters
    ----------
    sign
        1, or -1 to be wrong.

    Examples
    --------
    >>> Mine(sign=1).name
    'mine'
    """
    def __init__(self, *, sign: int = 1) -> None:
        self._sign = sign
    def _fit(self, data): return {}
    def _load(self, state): pass
    def _score(self, observation): return self._sign * (1 - observation.confidence)
'''

MY_FAULT = '''
from farm.api import Transformation

class Dimmed(Transformation):
    """Images in the dark.

    Examples
    --------
    >>> Dimmed().category
    'shift'
    """
    category = "shift"
    def _transform(self, images, severity, random): return images * (1 - severity / 6)
'''


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder that has somebody's own monitor."""
    (tmp_path / "my_own.py").write_text(MINE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def restored_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the kit a new process where a test is about what is printed, not about that."""
    monkeypatch.setattr(new_process, "_not_found_there", lambda trial: "it is not asked for")


def fails(capsys, *arguments: str) -> str:
    """Return the one line that the command says when it is used wrongly."""
    assert main(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    (line,) = [line for line in told.err.splitlines() if line.startswith("farm: ")]
    return line


def test_a_monitor_of_the_current_folder_is_checked(here, capsys) -> None:
    assert main(["test-monitor", "my_own:Mine"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert [line.split()[1].rstrip(":") for line in lines if line] == [rule.name for rule in RULES]
    assert {line.split()[0] for line in lines if line} == {"passed", "skipped"}
    same_text(last)
    assert "passed   scores-as-well-in-a-new-process" in lines  # and not in this one only


def test_a_broken_rule_is_told_with_what_it_says_and_the_exit_code_is_1(here, restored_here, capsys) -> None:
    assert main(["test-monitor", "my_own:Mine", "--set", "sign=-1"]) == 1
    lines = capsys.readouterr().out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("failed"))
    same_text(lines[at])
    same_text(lines[at + 1])
    same_text(lines[-1])


def test_a_faultload_of_the_current_folder_is_checked(here, capsys) -> None:
    (here / "my_faults.py").write_text(MY_FAULT, encoding="utf-8")
    assert main(["test-faultload", "my_faults:Dimmed", "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["faultload"] == "my_faults:Dimmed"
    assert [rule["rule"] for rule in record["rules"]] == [rule.name for rule in FAULT_RULES]
    (here / "my_faults.py").write_text(MY_FAULT.replace("severity / 6", "1 / severity"), encoding="utf-8")
    assert main(["test-faultload", "my_faults:Dimmed"]) == 1
    same_text(capsys.readouterr().out)
    same_text(fails(capsys, "test-faultload", "fogg"))
    same_text(fails(capsys, "test-faultload", "my_faults:Dimed"))
    same_text(fails(capsys, "test-faultload", "compose"))
    same_text(fails(capsys, "test-faultload", "pixel-trap", "--set", "share=7"))


def test_as_json_it_has_the_parameters_and_every_rule(restored_here, capsys) -> None:
    assert main(["test-monitor", "random", "--set", "rate=0.5", "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["monitor"] == "random"
    assert record["parameters"] == {"rate": 0.5}
    assert record["passed"] is True
    assert [rule["rule"] for rule in record["rules"]] == [rule.name for rule in RULES]


def test_mistakes_of_the_user_are_told_in_one_line(here, capsys) -> None:
    same_text(fails(capsys, "test-monitor", "knnn"))
    told = fails(capsys, "test-monitor", "knn", "--set", "k=0")
    same_text(told)
    told = fails(capsys, "test-monitor", "my_own:Yours")
    same_text(told)
    assert "expected path.to.key=value" in fails(capsys, "test-monitor", "knn", "--set", "k")


def test_a_module_of_the_current_folder_can_be_named_wherever_a_component_is(here, capsys) -> None:
    """By an experiment in another folder, too, whose own module of the same name comes first."""
    assert main(["describe", "monitor", "my_own:Mine"]) == 0
    assert "Distrusts what is predicted" in capsys.readouterr().out
    (here / "my_faults.py").write_text(MY_FAULT, encoding="utf-8")
    tiny = "farm.testing.fakes:TinySource"
    assert (
        main(["faults", "preview", "my_faults:Dimmed", "--workload", tiny, "--out", "f.png", "--quiet"]) == 0
    )
    (here / "deeper").mkdir()
    experiment = {"workload": tiny, "classifier": "farm.testing.fakes:TinyModel", "monitors": ["my_own:Mine"]}
    (here / "deeper" / "mine.yaml").write_text(json.dumps(experiment), encoding="utf-8")
    capsys.readouterr()
    arguments = ["run", "deeper/mine.yaml", "--quiet", "--format", "json", "--pictures", "none"]
    assert main([*arguments, "--out", "first"]) == 0
    (here / "deeper" / "my_own.py").write_text(MINE.replace("1 - obs", "obs"), encoding="utf-8")
    assert main([*arguments, "--out", "second"]) == 0
    first, second = (Readouts.load(name).alarms["score"] for name in ("first", "second"))
    assert np.allclose(first, 1 - second)


def test_a_module_or_attribute_that_is_not_there_is_told_with_what_is(here, capsys) -> None:
    same_text(fails(capsys, "describe", "monitor", "my_onw:Mine"))
    same_text(fails(capsys, "describe", "monitor", "elsewhere:Mine"))
    same_text(fails(capsys, "describe", "monitor", "my_own:Mien"))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("My-Monitor", "expected lower-case words of letters and digits, joined by '-'"),
        ("my_monitor", "expected lower-case words"),
        ("2nd", "expected lower-case words"),
        ("my--monitor", "expected lower-case words"),
        ("lambda", "expected lower-case words"),
        ("knn", "NAME is 'knn', which farm-testbed has registered; choose another one"),
        ("json", "a module 'json' exists already"),
        ("my-own", "a module 'my_own' exists already"),
        ("observation", "farm.api has its own Observation"),
    ],
)
def test_a_name_that_is_taken_or_none_is_refused(here, monkeypatch, capsys, name, told) -> None:
    monkeypatch.syspath_prepend(str(here))
    assert told in fails(capsys, "new", "monitor", name)
    assert [path.name for path in here.iterdir()] == ["my_own.py"]


def test_nothing_is_overwritten(here, capsys) -> None:
    (here / "my_own.py").rename(here / "aside.py")
    assert main(["new", "monitor", "far-off"]) == 0
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    capsys.readouterr()
    same_text(fails(capsys, "new", "monitor", "far-off"))
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before


def test_what_cannot_be_written_whole_is_not_there(here, monkeypatch) -> None:
    def broken(*arguments: object, **more: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", broken)
    assert main(["new", "monitor", "far-off"]) == 1
    assert [path.name for path in here.iterdir()] == ["my_own.py"]


TINY = "--set workload=farm.testing.fakes:TinySource --set classifier=far-off --set monitors=[never] --quiet"


@pytest.mark.parametrize(
    ("kind", "last"),
    [
        ("monitor", ["test-monitor", "far-off"]),
        ("faultload", ["test-faultload", "far-off"]),
        ("model", ["run", "quickstart", "--out", "run", "--set", "faultload=textures", *TINY.split()]),
    ],
)
def test_a_new_package_works_from_the_first_minute(here, capsys, kind, last) -> None:
    """Registered by hand, as an installer would: its own tests, and the rules by its name."""
    assert main(["new", kind, "far-off", "--out", "packages/far"]) == 0
    told = capsys.readouterr().out
    assert (f"farm test-{kind} far_off.{kind}:FarOff" in told) == (kind != "model")
    package = here / "packages" / "far"
    names = sorted(str(path.relative_to(package)) for path in package.rglob("*") if path.is_file())
    assert names == [
        "README.md",
        "far_off/__init__.py",
        f"far_off/{kind}.py",
        "pyproject.toml",
        "tests/test_far_off.py",
    ]
    assert not [path for path in package.rglob("*") if path.is_file() and "$" in path.read_text("utf-8")]
    same_text((package / "README.md").read_text("utf-8"))
    commands = [["list", f"{kind}s"], ["describe", kind, "far-off"], last]

    project = tomllib.loads((package / "pyproject.toml").read_text("utf-8"))["project"]
    info = here / "far_off-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n", "utf-8")
    ((group, points),) = project["entry-points"].items()
    lines = [f"[{group}]", *(f"{name} = {target}" for name, target in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", "utf-8")
    installed = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), str(package)])}

    done = subprocess.run(
        [sys.executable, "-c", f"COMMANDS = {commands}\n{FIRST_MINUTE}"],
        cwd=package,
        env=installed,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    _, *parts = done.stdout.split("@ ")
    said = dict(part.split("\n", 1) for part in parts)
    assert " passed" in said["pytest"]
    assert f"far-off: far_off.{kind}:FarOff" in said[f"list {kind}s"]
    same_text(said[f"describe {kind} far-off"])
    if kind != "model":
        same_text(said[f"test-{kind} far-off"])


def test_describe_tells_what_a_monitor_needs(capsys) -> None:
    for name, needs in {
        "fdbd": "the layer 'last-hidden', logits, the last linear layer's weights",
        "odin": "logits, gradients back to the image",
        "never": "nothing beyond images and probabilities",
        "entropy": "nothing beyond images and probabilities",
        "mc-dropout": "7 passes or networks",
        "mutual-information": "all passes or networks",
        "box-spread": "boxes, the boxes' spread",
        "flicker": "the stream's order",
        "vote": "depends on its parameters",
    }.items():
        assert main(["describe", "monitor", name]) == 0
        assert f"\nNeeds: {needs}\n" in capsys.readouterr().out
    assert main(["describe", "monitor", "odin", "--format", "json"]) == 0
    needs = json.loads(capsys.readouterr().out)["needs"]
    assert needs["gradients"] is True
    assert needs["layers"] == []
    assert main(["describe", "monitor", "mutual-information", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["needs"]["members"] == "all"
    assert main(["describe", "monitor", "vote", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["needs"] is None
    assert main(["describe", "faultload", "novelty", "--format", "json"]) == 0
    assert "needs" not in json.loads(capsys.readouterr().out)
