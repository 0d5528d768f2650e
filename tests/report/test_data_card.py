"""The data card in lines, a sheet that shows every class, and the command that makes both."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from farm.cli import main
from farm.report.data_card import card_lines
from farm.report.pictures import SAMPLES, contact_sheet, samples
from farm.run.data_card import data_card
from tests.run.made_workload import workload
from tests.wording import same_text


def test_the_card_in_lines() -> None:
    text = "\n".join(card_lines(data_card(workload(shape=(1, 64, 48)))))
    same_text(text)
    assert "train           48      24        3          0" in text
    same_text(text)
    assert "note copies_dropped: 2" in text


def test_samples_come_from_as_many_groups_as_there_are() -> None:
    train = workload(n=40).train
    chosen = samples(train, 1)
    assert len(chosen) == SAMPLES
    assert len(set(train.groups[chosen])) == SAMPLES
    assert (train.labels[chosen] == 1).all()
    few = workload(n=3).train
    assert sorted(samples(few, 1)) == np.flatnonzero(few.labels == 1).tolist()
    assert len(samples(few, 7)) == 0


@pytest.mark.parametrize("shape", [(3, 8, 8), (1, 8, 8), (3, 64, 48), (3, 300, 200), (1, 1, 5)])
@pytest.mark.parametrize("n_classes", [1, 3, 50])
def test_a_sheet_of_any_shape_shows_every_class(shape, n_classes) -> None:
    made = workload(shape, n_classes, n=2 * n_classes)
    sheet = contact_sheet(made)
    assert sheet.mode == "RGB"
    assert n_classes < 50 or max(sheet.size) < 4 * min(sheet.size)
    seen = np.asarray(sheet)
    if shape[1:] == (8, 8):  # every sample of every class is there, pixel by pixel enlarged nine times
        enlarged = made.train.images.read(samples(made.train, n_classes - 1)[:1])[0]
        wanted = np.rint(enlarged.repeat(3 // shape[0], axis=0) * 255).astype(np.uint8).transpose(1, 2, 0)
        found = seen[::1, ::1]
        corner = (found == wanted[0, 0]).all(axis=2)
        places = np.argwhere(corner[:-63, :-63] & (found[63:, 63:] == wanted[7, 7]).all(axis=2))
        assert any((found[y : y + 72 : 9, x : x + 72 : 9] == wanted).all() for y, x in places)


def test_long_and_foreign_names_do_not_break_the_sheet() -> None:
    plain = contact_sheet(workload(names=["a", "b", "c"]))
    odd = contact_sheet(workload(names=["x" * 500, "Überholverbot", "停"]))
    assert odd.height == plain.height
    assert odd.width < 3 * plain.width


def test_describe_draws_a_sheet_and_tells_what_is_in_it(tmp_path, capsys) -> None:
    out = tmp_path / "new" / "sheet.png"
    arguments = ["describe", "workload", "digits", "--images", str(out), "--set", "size=8"]
    assert main([*arguments, "--set", "channels=1"]) == 0
    told = capsys.readouterr().out
    same_text(told)
    assert f"Samples of every class were drawn to {out}" in told
    with Image.open(out) as sheet:
        assert sheet.format == "PNG"
    assert main([*arguments, "--format", "json"]) == 2
    assert f"farm: {out} exists already; expected a new file" in capsys.readouterr().err
    arguments[4] = str(tmp_path / "second.png")
    assert main([*arguments, "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["data_card"]["shape"] == [3, 8, 8]
    assert record["parameters"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["monitor", "odin", "--images", "s.png"], "--images and --set look into a workload"),
        (["workload", "digits", "--set", "size=8"], "--set has no effect without --images"),
        (["workload", "digits", "--images", "s.jpg"], "expected the name of a new .png file to draw to"),
        (
            ["workload", "digits", "--images", "s.png", "--set", "siez=8"],
            "workload 'digits' has no parameter 'siez'; did you mean 'size'?",
        ),
        (["workload", "digits", "--images", "file/s.png"], "cannot write file/s.png"),
    ],
)
def test_mistakes_are_told(tmp_path, monkeypatch, capsys, arguments, message) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    assert main(["describe", *arguments]) in (1, 2)
    assert message in capsys.readouterr().err


def test_without_images_describe_loads_nothing(capsys) -> None:
    assert main(["describe", "workload", "digits"]) == 0
    told = capsys.readouterr().out
    assert "size: 32" in told
    assert "content hash" not in told
