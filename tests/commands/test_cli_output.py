"""What every command prints of names that hold escape codes: they are shown, and no terminal obeys them."""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from xml.etree import ElementTree as ET

import pandas as pd
import pytest
import yaml

from farm.cli import _parser, main
from tests.commands.test_cli_guard import EXPERIMENT, furnish

ODD = "=x\x1b[31m\x1b]0;x\x07\u202e\x9b2K\n[u]"
RAW = re.compile(
    r"[^\n -~\xa0-\u200d\u2010-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)
MODULE = f"""
ODD = {ODD!r}

class Raises(Level):
    def _score(self, observation): raise ValueError(ODD)
"""

JUDGED = ("table", "json", "csv", "latex", "markdown")
LOOKS = "--look classes --look scores --look confidence --look time"
CHECK = "check a --criteria criteria.yaml --replicates 50"
COMMANDS = [
    "run odd.yaml --out again",
    "tune tuning.yaml",
    "tune tuning.yaml --format json",
    "run campaign.yaml --out cells",
    "run campaign.yaml --out other --dry-run",
    "run campaign.yaml --out other --dry-run --format json",
    "stream odd.yaml",
    "stream odd.yaml --live --quiet",
    *(f"judge a --format {style}" for style in JUDGED),
    *(f"compare a b --replicates 50 --format {style}" for style in JUDGED),
    "plan a --half-width 0.02",
    "plan a --format json",
    "anova a b c --factor monitor --measure specific.fnr",
    "anova a b c --factor monitor --measure specific.fnr --format json",
    *(f"inspect a {LOOKS} --format {style}" for style in ("table", "json", "csv")),
    "inspect a --images ood --monitor ODD2 --number 2 --out sheet-ODD.png",
    f"{CHECK} --junit a.xml --markdown a.md",
    f"{CHECK} --format json",
    "baseline save a --out a.yaml",
    *(f"baseline compare a --baseline a --replicates 50 --format {s}" for s in ("table", "json", "markdown")),
    "init images --out first-ODD.yaml",
    "fit odd.yaml --monitor ODD1 --out guard-again",
    *(
        f"decide guard images images/ODD.png lost-ODD --why --format {style}"
        for style in ("table", "json", "csv")
    ),
    "bench --only large --large ODD:net --quiet",
    "check a --criteria criteria.yaml --record record-ODD.html",
    "scenarios domain.yaml recorded.csv --next 1",
    "scenarios domain.yaml recorded.csv --next 1 --format json",
    "status cells",
    "status cells --format json",
    "verify cells",
    "verify cells --format json",
    "export cells --format csv --out again.csv",
    "cache",
    "cache prune --dry-run",
    "faults preview gaussian-noise --workload digits --out f-ODD.png",
    "faults write odd.yaml --out set-ODD",
    "report a --out page-ODD.html",
    *(f"new {kind} some --out new-{kind}-ODD" for kind in ("monitor", "faultload", "model")),
    "test-faultload black-frame",
    "list",
    "describe monitor oob",
    r'describe workload npz --set path=data.npz --set title="\x1b[31m" --images described.png',
]
"""ODD stands for the name that is. A new command has to be added."""
MISTAKES = [
    "crops lost-ODD.json --images images --out crops-ODD",
    "try --model lenet --id data.npz --ood ODD",
    "try --model theirs:ODD --id data.npz",
    "init ODD",
    "run odd.yaml --set ODD=1",
    "tune tuning.yaml --set ODD=1",
    "run ODD",
    "judge ODD",
    "cache prune --kind ODD",
    "test-monitor theirs:ODD",
    "test-faultload theirs:ODD",
    "serve ODD",
    "new monitor ODD",
    "describe monitor ODD",
    "ODD",
    "list --ODD",
]
NAMELESS = ("cache", "list", "test-faultload", "describe monitor", "baseline save", "plan a --half-width")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Iterator[Path]:
    """Return a folder in which all names are odd, with two runs, a campaign, and a guard."""
    place = tmp_path_factory.mktemp("odd")
    with chdir(place), pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "300")
        furnish(place)
        theirs = place / "theirs.py"
        told = theirs.read_text().replace(
            "brightness {level", f"{ODD}".encode("unicode_escape").decode() + "{level"
        )
        theirs.write_text(told + MODULE)
        (place / "images" / "dark.png").rename(place / "images" / f"{ODD}.png")
        odd = EXPERIMENT | {
            "workload": EXPERIMENT["workload"] | {"title": ODD, "classes": [ODD, f"{ODD}2"]},
            "classifier": EXPERIMENT["classifier"] | {"as": ODD},
            "monitors": [
                {"name": "theirs:Raises", "as": f"{ODD}0"},
                {"name": "theirs:Level", "as": f"{ODD}1"},
                {"name": "random", "as": f"{ODD}2"},
            ],
            "faultload": {"name": "gaussian-noise", "as": ODD, "severity": 5},
        }
        (place / "odd.yaml").write_text(yaml.safe_dump(odd))
        (place / "campaign.yaml").write_text(yaml.safe_dump(odd | {"seeds": [0]}))
        dial = {"name": "tests.tuning.made_models:Dial", "as": ODD, "breaks": 1.0}
        boxes = {"workload": "farm.testing.fake_boxes:BoxSource", "monitors": ["never"]}
        (place / "dial.yaml").write_text(yaml.safe_dump(boxes | {"classifier": dial}))
        scale = {"classifier_nll": {"scale": [0.5, 1.0]}}
        tuning = {"experiment": "dial.yaml", "trials": 4, "steps": {ODD: {"search": scale}}}
        (place / "tuning.yaml").write_text(yaml.safe_dump(tuning))
        criteria = {"criteria": ["specific.fnr <= 0.01 on ood each faultload", "specific.fpr <= 0.5 on id"]}
        (place / "criteria.yaml").write_text(yaml.safe_dump(criteria))
        domain = {"conditions": {"sign": ["near", ODD], "light": ["day", "night"]}}
        (place / "domain.yaml").write_text(yaml.safe_dump(domain))
        pd.DataFrame({"sign": ["near"], "light": ["day"]}).to_csv(place / "recorded.csv", index=False)
        for arguments in (
            "run odd.yaml --out a",
            "run odd.yaml --set seed=1 --out b",
            "run odd.yaml --set seed=2 --out c",
            "run campaign.yaml --out cells",
        ):
            assert farm(arguments)[0] == 1, "one monitor fails"
        assert farm("fit odd.yaml --monitor ODD1 --out guard")[0] == 0
        yield place
    sys.modules.pop("theirs", None)


def farm(arguments: str) -> tuple[int, str, str]:
    """Run a command; give its exit code and what it printed: nothing that a terminal obeys."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = main([word.replace("ODD", ODD) for word in arguments.split()])
        except SystemExit as end:
            code = end.code
    for text in (out.getvalue(), err.getvalue()):
        assert not RAW.findall(text), text
    return code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("arguments", COMMANDS)
def test_no_command_prints_what_a_terminal_obeys(folder, arguments):
    code, out, err = farm(arguments)
    assert code in (0, 1, 3), err
    assert "unexpected failure" not in err
    if not arguments.startswith(NAMELESS):
        assert re.search(r"\\(x|u00)1b\[31m", out + err), "the name is shown"
    if "--format json" in arguments:
        assert json.loads(out)


@pytest.mark.parametrize("arguments", MISTAKES)
def test_no_mistake_is_told_in_what_a_terminal_obeys(folder, arguments):
    code, out, err = farm(arguments)
    assert (code, out) == (2, "")
    assert re.search(r"\\x1b\[31m", err), "the name is shown"


def test_every_command_is_among_them():
    (commands,) = (a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction))
    for name, parser in commands.choices.items():
        inner = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
        names = [f"{name} {one}" for action in inner for one in action.choices] or [name]
        for one in names:
            assert any(f"{command} ".startswith(f"{one} ") for command in [*COMMANDS, *MISTAKES]), one


def test_what_check_writes_is_valid(folder):
    farm(f"{CHECK} --junit a.xml --markdown a.md")
    shown = r"=x\x1b[31m\x1b]0;x\x07\u202e\u009b2K [u]"
    cases = ET.parse(folder / "a.xml").iter("testcase")
    assert any(f"[{shown}1]" in str(case.get("name")) for case in cases)
    markdown = (folder / "a.md").read_text()
    assert not RAW.findall(markdown)
    assert r"=x\\x1b\[31m\\x1b\]0;x\\x07\\u202e\\u009b2K \[u\]" in markdown


@pytest.mark.parametrize(
    "arguments",
    [
        "judge a --format csv",
        "compare a b --replicates 50 --format csv",
        f"inspect a {LOOKS} --format csv",
        "decide guard =1 --format csv",
    ],
)
def test_no_cell_that_is_printed_is_a_formula(folder, arguments):
    _, out, _ = farm(arguments)
    cells = [cell for row in csv.reader(io.StringIO(out)) for cell in row]
    assert any(cell.startswith("'=") for cell in cells)
    assert all(is_number(cell) for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t", "\r"))


def test_no_cell_that_is_exported_is_a_formula(folder, tmp_path):
    farm(f"export a --format csv --out {tmp_path}/a.csv")
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["monitor"] for row in rows} == {f"'{ODD}1", f"'{ODD}2"}
    assert {row["label"] for row in rows} <= {"-1", "0", "1"}
    assert all(is_number(row["score"]) for row in rows)


def is_number(text: str) -> bool:
    try:
        return float(text) is not None
    except ValueError:
        return False
