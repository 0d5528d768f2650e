"""`farm fit` and `farm decide` as a person meets them."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from farm.cli import main
from farm.guard import Guard
from tests.wording import same_text

MODULE = '''
import numpy as np
from farm.api import Explanation, Monitor

def predict(images):
    level = images.mean(axis=(1, 2, 3))
    return np.stack([1 - level, level], axis=1)

class Level(Monitor):
    """How far an image's brightness is from what training data have."""

    def _fit(self, data):
        levels = np.concatenate([o.images.mean(axis=(1, 2, 3)) for o, _ in data])
        return {"low": levels.min(), "high": levels.max()}

    def _load(self, state):
        self._low, self._high = float(state["low"]), float(state["high"])

    def _score(self, observation):
        level = observation.images.mean(axis=(1, 2, 3))
        return np.maximum(self._low - level, level - self._high)

    def _explain(self, observation):
        level = float(observation.images.mean())
        return Explanation(
            reason=f"brightness {level:.2f}, training data have {self._low:.2f} to {self._high:.2f}",
            contributions={"brightness": level},
            nearest=("data/train/3", "data/train/5"),
        )
'''


EXPERIMENT: dict[str, Any] = {
    "workload": {"name": "npz", "path": "data.npz"},
    "classifier": {"name": "function", "function": "theirs:predict"},
    "monitors": [{"name": "theirs:Level", "as": "level"}],
    "calibration": {"method": "id-extreme"},
}


def furnish(place: Path) -> None:
    """Put down two classes, dark and bright, a monitor of brightness, and some images."""
    (place / "theirs.py").write_text(MODULE)
    rng = np.random.default_rng(0)
    made: dict[str, np.ndarray] = {}
    for split, n in (("train", 80), ("test", 20)):
        labels = np.arange(n) % 2
        dark = rng.integers(0, 100, (n, 8, 8, 3), dtype=np.uint8)
        made[f"x_{split}"] = dark + np.uint8(150) * labels[:, None, None, None].astype(np.uint8)
        made[f"y_{split}"] = labels
    np.savez(place / "data.npz", **made)
    (place / "images").mkdir()
    for name, image in (("dark", made["x_test"][0]), ("bright", made["x_test"][1])):
        Image.fromarray(image).save(place / "images" / f"{name}.png")
    Image.new("RGB", (8, 8), (255, 255, 255)).save(place / "images" / "white.png")
    (place / "mine.yaml").write_text(yaml.safe_dump(EXPERIMENT))


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Return a furnished folder, in which we are."""
    monkeypatch.chdir(tmp_path)
    furnish(tmp_path)
    yield tmp_path
    sys.modules.pop("theirs", None)


@pytest.fixture
def write(folder):
    def experiment(**changed: Any) -> str:
        (folder / "mine.yaml").write_text(yaml.safe_dump(EXPERIMENT | changed))
        return "mine.yaml"

    return experiment


@pytest.fixture(scope="module")
def fitted(tmp_path_factory) -> Path:
    """Fit a guard once; nobody changes it."""
    place = tmp_path_factory.mktemp("fitted")
    furnish(place)
    with chdir(place):
        assert main(["fit", "mine.yaml", "--out", "guard", "--quiet"]) == 0
    sys.modules.pop("theirs", None)
    return place / "guard"


@pytest.fixture
def guard(fitted, folder) -> str:
    shutil.copytree(fitted, folder / "guard")
    return "guard"


@pytest.fixture
def fails(capsys):
    def run(*arguments: str, code: int = 2) -> str:
        assert main(arguments) == code
        (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("farm: ")]
        return line

    return run


def test_fit_says_what_it_made_and_what_to_do_next(write, folder, capsys) -> None:
    assert main(["fit", write(), "--out", "there/guard", "--quiet"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    lines = printed.out.splitlines()
    same_text(lines[0])
    assert lines[1].startswith("monitor     level, threshold ")
    same_text(lines[1])
    assert lines[2:4] == ["policy      cancel; fallback: none", "your code   theirs.py"]
    same_text(lines[5])
    same_text(printed.out)
    assert Guard.load(folder / "there" / "guard").monitor.name == "level"


def test_fit_takes_a_monitor_and_settings(write, folder, capsys) -> None:
    path = write(monitors=["max-softmax", "random"])
    arguments = ["fit", path, "--monitor", "random", "--set", "monitors.1.rate=0.25", "--out", "g", "--quiet"]
    assert main([*arguments, "--set", "policy={name: m-of-n, m: 2, n: 3}", "--set", "fallback=last"]) == 0
    loaded = Guard.load(folder / "g")
    assert loaded.monitor.parameters == {"rate": 0.25}
    assert loaded.policy.parameters == {"m": 2, "n": 3, "within": "stream"}
    same_text(capsys.readouterr().out)


def test_mistakes_of_fit(write, folder, fails) -> None:
    path = write(monitors=["max-softmax", "random"])
    told = "experiment 'mine' has 2 monitors (max-softmax, random); choose one with --monitor NAME"
    assert fails("fit", path, "--out", "g") == f"farm: {told}"
    same_text(fails("fit", path, "--out", "g", "--monitor", "rand"))
    (folder / "full").mkdir()
    (folder / "full" / "x").touch()
    assert "full exists already" in fails("fit", path, "--out", "full")
    same_text(fails("fit", "nothing", "--out", "g"))
    raising = write(monitors=[{"name": "callable", "function": "theirs:no_such"}])
    assert "has no 'no_such'" in fails("fit", raising, "--out", "g")
    assert not (folder / "g").exists()


def test_decide_prints_one_line_an_image(guard, capsys) -> None:
    assert main(["decide", guard, "images/dark.png", "images/white.png"]) == 0
    head, dark, white, empty, total = capsys.readouterr().out.splitlines()
    assert head.split() == ["image", "decision", "class", "confidence", "score", "threshold", "why"]
    assert dark.split()[:3] == ["images/dark.png", "ACCEPT", "data-00"]
    assert len(dark.split()) == 6
    assert white.split()[:4] == ["images/white.png", "CANCEL", "data-01", "1.000"]
    same_text(white)
    assert float(white.split()[4]) > float(white.split()[5])
    assert (empty, total) == ("", "1 accepted, 1 cancelled")
    columns = {line.index(word) for line, word in ((head, "decision"), (dark, "ACCEPT"), (white, "CANCEL"))}
    assert len(columns) == 1


def test_decide_explains_more_where_it_is_asked(guard, capsys) -> None:
    assert main(["decide", guard, "images/dark.png", "--why"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "brightness 0." in lines[1]
    assert lines[2].strip().startswith("brightness: 0.")
    same_text(lines[3].strip())


def test_decide_on_a_folder_in_the_order_of_names(guard, capsys) -> None:
    assert main(["decide", guard, "images", "--format", "json"]) == 0
    records = json.loads(capsys.readouterr().out)
    names = [record["image"] for record in records]
    assert names == [f"images/{name}.png" for name in ("bright", "dark", "white")]
    white = records[2]
    assert white["accepted"] is False
    assert white["label"] is None
    assert white["predicted"] == "data-01"
    assert white["alarm"] is True
    assert white["score"] > white["threshold"]
    assert white["explanation"]["nearest"] == ["data/train/3", "data/train/5"]
    assert records[0]["label"] == records[0]["predicted"] == "data-01"
    assert records[0]["explanation"]["reason"].startswith("brightness")
    assert records[0]["error"] is None


def test_decide_writes_csv(guard, capsys) -> None:
    assert main(["decide", guard, "images/dark.png", "images/white.png", "--format", "csv"]) == 0
    dark, white = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (dark["accepted"], dark["label"], dark["why"], dark["error"]) == ("True", "data-00", "", "")
    assert (white["accepted"], white["label"]) == ("False", "")
    assert white["why"].startswith("brightness 1.00")
    assert float(white["score"]) > float(white["threshold"])


@pytest.mark.parametrize("style", ["table", "json", "csv"])
def test_an_unreadable_image_does_not_stop_the_others(guard, folder, capsys, style) -> None:
    (folder / "bad.png").write_bytes((folder / "images" / "dark.png").read_bytes()[:60])
    arguments = ["decide", guard, "bad.png", "gone.png", "images/dark.png", "--format", style]
    assert main(arguments) == 1
    printed = capsys.readouterr()
    same_text(printed.err.splitlines())
    if style == "table":
        lines = printed.out.splitlines()
        assert lines[1].split()[:2] == ["bad.png", "ERROR"]
        assert lines[1].endswith("truncated or damaged")
        assert lines[3].split()[:2] == ["images/dark.png", "ACCEPT"]
        assert lines[-1] == "1 accepted, 2 failed"
    elif style == "json":
        bad, gone, dark = json.loads(printed.out)
        assert bad == {"image": "bad.png", "accepted": False, "error": "truncated or damaged"}
        assert gone["error"].startswith("cannot be read")
        assert dark["accepted"] is True
    else:
        bad, _, dark = csv.DictReader(io.StringIO(printed.out))
        assert (bad["image"], bad["error"], bad["accepted"]) == ("bad.png", "truncated or damaged", "False")
        assert dark["accepted"] == "True"


def test_the_exit_code_does_not_tell_decisions(guard) -> None:
    assert main(["decide", guard, "images/white.png"]) == 0


def test_images_are_a_stream(write, folder, capsys) -> None:
    experiment = write(policy={"name": "latching"}, fallback="last")
    assert main(["fit", experiment, "--out", "g", "--quiet"]) == 0
    capsys.readouterr()
    three = ["images/dark.png", "images/white.png", "images/bright.png"]
    assert main(["decide", "g", *three, "--track", "door"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    lines = printed.out.splitlines()
    assert [line.split()[1] for line in lines[1:4]] == ["ACCEPT", "CANCEL", "CANCEL"]
    assert lines[2].endswith("; fallback: 'data-00'")
    same_text(lines[3])
    assert main(["decide", "g", *three]) == 0
    printed = capsys.readouterr()
    same_text(printed.err)
    lines = printed.out.splitlines()
    assert [line.split()[1] for line in lines[1:4]] == ["ACCEPT", "CANCEL", "CANCEL"]
    assert "fallback" not in printed.out


def test_flicker_needs_a_track(write, capsys) -> None:
    assert main(["fit", write(monitors=["flicker"]), "--out", "g", "--quiet"]) == 0
    capsys.readouterr()
    two = ["decide", "g", "images/dark.png", "images/bright.png"]
    for arguments, verdicts, notes in (
        (two, ["ACCEPT", "ACCEPT"], 1),
        ([*two, "--track", "a"], ["ACCEPT", "CANCEL"], 0),
    ):
        assert main(arguments) == 0
        printed = capsys.readouterr()
        assert [line.split()[1] for line in printed.out.splitlines()[1:3]] == verdicts
        assert printed.err.count("each image stands alone for monitor 'flicker'") == notes


FAILS = """
import numpy as np

def score(observation):
    level = observation.images.mean(axis=(1, 2, 3))
    if (level > 0.99).any():
        raise ValueError("too bright to look at")
    return level
"""


@pytest.mark.parametrize("style", ["table", "json", "csv"])
def test_a_monitor_that_fails_on_an_image_does_not_stop_the_others(write, folder, capsys, style) -> None:
    (folder / "theirs.py").write_text(MODULE + FAILS)
    experiment = write(monitors=[{"name": "callable", "as": "raw", "function": "theirs:score"}])
    assert main(["fit", experiment, "--out", "g", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["decide", "g", "images/white.png", "images/dark.png", "--format", style]) == 1
    printed = capsys.readouterr()
    reason = "monitor 'raw' failed in score: ValueError: too bright to look at"
    assert printed.err == f"farm: images/white.png: {reason}\n"
    if style == "table":
        _, white, dark, _, total = printed.out.splitlines()
        assert white.split()[:2] == ["images/white.png", "ERROR"]
        assert white.endswith(reason)
        assert dark.split()[1] == "ACCEPT"
        assert total == "1 accepted, 1 failed"
    else:
        read = json.loads if style == "json" else lambda text: list(csv.DictReader(io.StringIO(text)))
        white, dark = read(printed.out)
        assert (white["error"], str(white["accepted"])) == (reason, "False")
        assert str(dark["accepted"]) == "True"


@pytest.mark.parametrize("style", ["table", "json", "csv"])
def test_strong_resizing_is_told(guard, folder, capsys, style) -> None:
    Image.new("RGB", (100, 8), (50, 50, 50)).save(folder / "wide.png")
    assert main(["decide", guard, "wide.png", "--format", style]) == 0
    out = capsys.readouterr().out
    same_text(out)


def test_help_tells_of_tracks_and_trust(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["decide", "--help"])
    out = " ".join(capsys.readouterr().out.split())
    same_text(out)


def test_mistakes_of_decide(guard, folder, fails) -> None:
    same_text(fails("decide", "nothing", "x.png"))
    (folder / "empty").mkdir()
    same_text(fails("decide", guard, "empty"))
    (folder / "guard" / "monitor.npz").write_bytes(b"")
    same_text(fails("decide", guard, "images"))


def test_other_versions_are_told(guard, folder, capsys, monkeypatch) -> None:
    found = Guard.load(guard)
    found.notes = ("torch is 9 here, and was 8 when the guard was fitted",)
    monkeypatch.setattr(Guard, "load", lambda folder: found)
    assert main(["decide", guard, "images/dark.png"]) == 0
    same_text(capsys.readouterr().err)
