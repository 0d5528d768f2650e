"""`farm inspect RUN --images`, as a person meets it."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from PIL import Image

from farm import Readouts
from farm.cli import main
from farm.report.pictures import drawn_size
from tests.wording import same_text

TINY = {
    "name": "tiny",
    "workload": {"name": "farm.testing.fakes:TinySource"},
    "classifier": {"name": "farm.testing.fakes:TinyModel"},
    "faultload": {"name": "gaussian-noise", "severity": 5},
    "monitors": ["max-softmax", "random"],
}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(TINY))
    assert main(["run", "mine.yaml", "--out", "run", "--quiet"]) == 0
    capsys.readouterr()
    return Readouts.load(tmp_path / "run")


def fails(capsys, *arguments):
    assert main(["inspect", *arguments]) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("farm: ")]
    return line


def test_a_sheet_has_the_pixels_of_the_worst(run, capsys):
    assert main(["inspect", "run", "--images", "ood", "--number", "7", "--out", "deep/sheet.png"]) == 0
    same_text(capsys.readouterr().out)
    scores = run.alarms[run.alarms["monitor"] == "max-softmax"].set_index("id")["score"]
    ood = run.instances[run.instances["is_ood"]]
    worst = scores[ood["id"]].sort_values(kind="stable").index[0]
    with Image.open("deep/sheet.png") as drawn:
        sheet, pixels = np.asarray(drawn), run.image(worst)
    zoom = drawn_size((3, 8, 8))[0] // 8
    large = pixels.repeat(zoom, axis=0).repeat(zoom, axis=1)
    windows = np.lib.stride_tricks.sliding_window_view(sheet, large.shape)[:, :, 0]
    places = np.argwhere((windows[..., 0, 0, :] == large[0, 0]).all(axis=-1))
    found = [(y, x) for y, x in places.tolist() if np.array_equal(windows[y, x], large)]
    assert found
    assert found[0][1] < 30, "the worst is the first"


@pytest.mark.parametrize("kind", ["missed", "cancelled", "id"])
def test_every_kind_is_drawn(run, kind):
    assert main(["inspect", "run", "--images", kind, "--monitor", "max-softmax", "--out", f"{kind}.png"]) == 0
    with Image.open(f"{kind}.png") as sheet:
        assert sheet.format == "PNG"


def test_what_cannot_be_drawn_is_told_with_the_remedy(run, tmp_path, capsys):
    same_text(fails(capsys, "run", "--images", "missed"))
    same_text(fails(capsys, "run", "--images", "missed", "--out", "sheet.jpg"))
    same_text(fails(capsys, "run", "--images", "missed", "--out", "sheet.png", "--number", "0"))
    same_text(fails(capsys, "run", "run", "--images", "missed", "--out", "sheet.png"))
    same_text(fails(capsys, "run", "--images", "missed", "--out", "sheet.png", "--monitor", "max"))
    (tmp_path / "log.csv").write_text("id,label,predicted,alarm\na,1,2,0\nb,1,1,0\n")
    log = fails(capsys, "log.csv", "--images", "missed", "--monitor", "monitor", "--out", "sheet.png")
    same_text(log)
    same_text(fails(capsys, "log.csv", "--images", "cancelled", "--out", "sheet.png"))
    same_text(fails(capsys, "run", "--monitor", "random"))
    assert not (tmp_path / "sheet.png").exists()
