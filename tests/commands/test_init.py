"""`farm init`: an experiment from what lies in a folder."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from farm.cli import main
from farm.config.yaml_reading import parse_yaml
from farm.run.loading import load_experiment
from tests.wording import same_text

MODULE = """
raise SystemExit("nothing is run")

from torch import nn
def make_net(width=4): ...
def make_other(width): ...
class Net(nn.Module): ...
class Wide(nn.Module):
    def __init__(self, width): ...
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(*paths):
    for path in map(Path, paths):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".png":
            Image.fromarray(np.full((8, 8, 3), len(path.name), np.uint8)).save(path)
        else:
            path.write_text(MODULE if path.suffix == ".py" else "")


def written(path="experiment.yaml"):
    return parse_yaml(Path(path).read_text(), path)


def test_all_that_lies_there_is_used_or_stands_as_a_comment(home, capsys):
    put("mine.py", "a.pth", "b.safetensors", "net.onnx", "images.npz", "index.csv", ".hidden.npz")
    put("by-class/cat/1.png", "by-class/dog/1.png", "split/train/cat/1.png", "split/train/dog/1.png")
    put("street/1.png", "try.html", "try-figures/1.png", "notes/read.txt")
    assert main(["init"]) == 0
    same_text(capsys.readouterr().out + Path("experiment.yaml").read_text())


def test_without_images_or_a_network_it_still_runs(home, capsys):
    assert main(["init", "--out", "new/_first one.yaml"]) == 0
    values = written("new/_first one.yaml")
    assert (values["name"], values["workload"], values["classifier"]) == (
        "first-one",
        {"name": "signs"},
        {"name": "lenet"},
    )
    assert values["faultload"][0]["workload"] == {"name": "signs-abroad"}
    assert load_experiment("new/_first one.yaml")[0].name == "first-one"


def test_paths_are_as_seen_from_the_file(home, capsys):
    put("data/mine.py", "data/w.pt", "data/ood/1.png")
    np.savez("data/images.npz", x_test=np.zeros((1, 8, 8, 3), np.uint8))
    assert main(["init", "data"]) == 0
    assert written()["workload"]["path"] == "data/images.npz"
    assert written()["classifier"] == {
        "name": "module",
        "factory": "data.mine:make_net",
        "weights": "data/w.pt",
    }
    assert main(["init", "data", "--out", "deep/er/x.yaml"]) == 0
    values = written("deep/er/x.yaml")
    assert values["faultload"][0]["workload"]["path"] == "../../data/ood"
    assert values["classifier"] == {"name": "lenet"}, "no module is imported from above"


@pytest.mark.parametrize("arguments", [["gone"], ["--out", "there.yaml"]])
def test_a_mistake_leaves_all_as_it_was(home, capsys, arguments):
    Path("there.yaml").write_text("mine")
    assert main(["init", *arguments]) == 2
    same_text(capsys.readouterr().err)
    assert [path.name for path in home.iterdir()] == ["there.yaml"]
    assert Path("there.yaml").read_text() == "mine"
    assert "mine" not in sys.modules
