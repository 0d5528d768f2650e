"""`farm try` and `farm init` as a person meets them: from a network and images to a verdict, or to a file."""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from contextlib import chdir
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from farm.cli import main
from farm.commands import try_out
from farm.config.experiment import parse_experiment
from farm.config.first import experiment_text, first_experiment
from farm.config.guessing import classifier_spec, workload_spec
from farm.config.yaml_reading import parse_yaml
from farm.errors import ExperimentError
from farm.run.repetition import differences
from farm.store.readouts import Readouts
from tests.wording import refused, same_text

MODULE = '''
import numpy as np
import torch
from farm.api import Monitor

print("a user's own word")

class Net(torch.nn.Module):
    """Tells by its bottom rows how dark an image is."""

    def __init__(self):
        super().__init__()
        self.body, self.head = torch.nn.Linear(192, 4), torch.nn.Linear(4, 2)

    def forward(self, images):
        return self.head(torch.relu(self.body(images.flatten(1))))

def make_net():
    return Net()
class Breaks(Monitor):
    """Cannot be fitted."""

    def _fit(self, data):
        raise ValueError("nothing to fit on")

    def _load(self, state): ...

    def _score(self, observation): ...
'''
NET = ("--model", "mine:make_net", "--weights", "w.pt", "--id", "id.npz")
FEW = ("--monitor", "max-softmax", "--monitor", "energy")


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """Return a folder with a network, dark and bright images, and two folders of others."""
    place = tmp_path_factory.mktemp("given")
    with chdir(place), pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(place)
        Path("mine.py").write_text(MODULE)
        rng = np.random.default_rng(0)
        made = {}
        for split, n in (("train", 80), ("test", 40)):
            labels = np.arange(n) % 2
            dark = rng.integers(0, 100, (n, 8, 8, 3), dtype=np.uint8)
            made |= {f"x_{split}": dark + np.uint8(150) * labels[:, None, None, None].astype(np.uint8)}
            made |= {f"y_{split}": labels}
        np.savez("id.npz", **made)
        for folder in ("ood", "far/id"):
            Path(folder).mkdir(parents=True)
            for i, image in enumerate(rng.integers(0, 256, (12, 8, 8, 3), dtype=np.uint8)):
                Image.fromarray(image).save(f"{folder}/{i}.png")
        for i, image in enumerate(made["x_train"]):
            path = Path(f"classes/{'dark' if i % 2 == 0 else 'bright'}/{i}.png")
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(path)
        Path("empty").mkdir()
        from mine import Net

        net = Net()
        with torch.no_grad():
            for part in (net.body, net.head):
                part.weight.fill_(0.02)
                part.bias.fill_(0)
            net.head.weight.copy_(torch.tensor([[-1.0], [1.0]]).expand(2, 4))
            net.head.bias.copy_(torch.tensor([7.5, -7.5]))
        torch.save(net.state_dict(), "w.pt")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.jit.trace(net, torch.zeros(2, 3, 8, 8)).save("net.ts")
        sys.modules.pop("mine")
    return place


@pytest.fixture
def home(given, tmp_path, monkeypatch):
    """Return a new folder that holds the same."""
    shutil.copytree(given, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def no_page(monkeypatch):
    """Leave out the report's figures, which take most of the time."""
    monkeypatch.setattr("farm.commands.report.page", lambda found, book: f"of {len(found.runs)} run")


def test_a_network_and_images_are_enough_for_an_answer_a_report_and_a_file(home, no_page, capsys):
    assert main(["try", *NET, "--ood", "ood", "--ood", "far/id", "--quiet"]) == 0
    out, _ = capsys.readouterr()
    assert out.startswith("On "), "the answer comes first"
    assert "On novelty (mean of 2 sets), " in out
    *_, file, folder, page = out.splitlines()
    assert file.startswith("try.yaml: ")
    assert folder.startswith("runs/try: ")
    assert page.startswith("try.html: ")
    same_text(Path("try.yaml").read_text())


def test_what_it_ran_runs_again_to_the_same_readouts(home, no_page, capsys):
    assert main(["try", *NET, *FEW, "--ood", "ood", "--quiet", "--seed", "3"]) == 0
    assert main(["run", "try.yaml", "--quiet", "--out", "again"]) == 0
    capsys.readouterr()
    first, again = (Readouts.load(Path(run)) for run in ("runs/try", "again"))
    assert first.run["experiment"] == again.run["experiment"]
    assert first.run["experiment"]["seed"] == 3
    assert differences(first, again) == []


def test_as_json_it_prints_nothing_else_and_says_what_was_skipped(home, no_page, capsys):
    asked = [*FEW, "--monitor", "knn", "--monitor", "mine:Breaks", "--ood", "ood", "--format", "json"]
    assert main(["try", "--model", "net.ts", "--id", "id.npz", *asked]) == 1, "one monitor fails"
    out, err = capsys.readouterr()
    record = json.loads(out)
    categories = [one["category"] for one in record["answer"]]
    assert categories == ["novelty", "noise", "shift"], "what nothing is known of comes last"
    assert {one["monitor"]: one["instead"] for one in record["skipped"]} == {
        "knn": "max-softmax and energy",
        "mine:Breaks": "max-softmax and energy",
    }
    reasons = [one["reason"] for one in record["skipped"]]
    assert reasons[0].startswith("needs the layer 'last-hidden'")
    assert reasons[1] == "failed in fit: ValueError: nothing to fit on"
    assert all(reason in err for reason in reasons)
    assert record["peak_mb"] > 50
    assert [Path(record[key]).exists() for key in ("yaml", "folder", "report")] == [True] * 3
    assert Path(record["report"]).read_text() == "of 1 run"
    text = Path(record["yaml"]).read_text()
    assert "  # - knn   # monitor 'knn' needs the layer 'last-hidden'" in text, "it stays to be taken again"
    assert parse_yaml(text, "")["monitors"][:3] == ["max-softmax", "energy", "mine:Breaks"]


def test_a_users_own_prints_never_come_before_the_answer(home, no_page, capsys):
    assert main(["try", *NET, *FEW, "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert "a user's own word" in err
    assert out.startswith("On ")
    assert parse_yaml(Path("try.yaml").read_text(), "")["faultload"][0] == {"name": "mixed-halves"}


def test_nothing_is_overwritten(home, no_page, capsys):
    Path("try.html").write_text("mine")
    assert main(["try", *NET, *FEW, "--quiet"]) == 0
    assert Path("try-2.html").is_file()
    assert main(["try", *NET, *FEW, "--name", "try"]) == 2
    same_text(capsys.readouterr().err)
    assert Path("try.html").read_text() == "mine"


def test_a_long_stream_is_cut_and_the_file_says_so(home, no_page, monkeypatch, capsys):
    monkeypatch.setattr(try_out, "MOST", 100)
    assert main(["try", *NET, *FEW]) == 0
    assert "of about 240 images 100 are taken (stream.length)" in capsys.readouterr().err
    assert parse_yaml(Path("try.yaml").read_text(), "")["stream"]["length"] == 100


MISTAKES = {
    "no weights there": ("--weights", "gone.pt"),
    "no network there": ("--model", "gone.pt2"),
    "no factory": ("--model", "mine"),
    "a file, and weights": ("--model", "net.ts"),
    "another number of classes": ("--model", "narrow:make"),
    "no images there": ("--id", "gone.npz"),
    "no folder there": ("--id", "gone"),
    "no file of images": ("--id", "mine.py"),
    "no classes": ("--id", "ood"),
    "no OOD images": ("--ood", "empty"),
    "no OOD folder": ("--ood", "gone"),
    "the ID images": ("--ood", "id.npz"),
    "no such monitor": ("--monitor", "enregy"),
    "yardsticks alone": ("--monitor", "never"),
    "a name that is a path": ("--name", "a/b"),
    "no batch": ("--batch-size", "0"),
}


@pytest.mark.parametrize("options", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_in_a_line_and_leaves_nothing(home, capsys, options):
    Path("narrow.py").write_text(MODULE.replace("Linear(4, 2)", "Linear(4, 3)").replace("make_net", "make"))
    before = set(home.iterdir())
    assert main(["try", *NET, "--ood", "far/id", *options, "--quiet"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1 + err.count("a user's own word"))
    same_text(err.replace(str(home), "HOME"))
    assert {path for path in home.iterdir() if path.name != "__pycache__"} == before


def test_what_a_network_is_follows_from_its_name():
    assert classifier_spec("mine.py:make_net") == {"name": "module", "factory": "mine:make_net"}
    assert classifier_spec("scripted.pt") == {"name": "exported", "path": "scripted.pt"}
    assert classifier_spec("lenet") == {"name": "lenet"}
    with refused(ExperimentError):
        classifier_spec("lenet", "w.pt")


def test_what_images_are_follows_from_what_lies_there(home):
    assert workload_spec("classes") == {"name": "folder", "path": "classes"}
    assert workload_spec("signs") == {"name": "signs"}
    Path("signs").mkdir()
    assert workload_spec("signs") == {"name": "folder", "path": "signs"}


@pytest.mark.parametrize(("images", "owner"), [("id.npz", "classifier"), ("classes", "workload")])
def test_images_are_resized_by_whoever_can(home, no_page, images, owner):
    assert main(["try", *NET, *FEW, "--id", images, "--size", "8", "8", "--quiet"]) == 0
    values = parse_yaml(Path("try.yaml").read_text(), "")
    assert [key for key in ("workload", "classifier") if "size" in values[key]] == [owner]


def test_copies_among_the_id_images_can_be_dropped(home, no_page, capsys):
    arrays = dict(np.load("id.npz"))
    arrays["x_test"][0] = arrays["x_train"][0]
    np.savez("id.npz", **arrays)
    assert main(["try", *NET, *FEW, "--quiet"]) == 2
    assert "copies: drop" in capsys.readouterr().err
    assert main(["try", *NET, *FEW, "--copies", "drop", "--quiet"]) == 0
    assert main(["run", "try.yaml", "--dry-run", "--quiet"]) == 0
    assert "8 x 8 each; copies dropped: 1\n" in capsys.readouterr().out


def test_a_set_that_is_named_twice_counts_once(home, no_page):
    assert main(["try", *NET, *FEW, "--ood", "ood", "--ood", "ood/", "--quiet"]) == 0
    faults = parse_yaml(Path("try.yaml").read_text(), "")["faultload"]
    assert [fault["as"] for fault in faults if fault["name"] == "novelty"] == ["novelty-ood"]


def test_images_of_one_name_are_told_apart():
    same = {"name": "folder", "path": "a/test"}
    values = first_experiment(same, {"name": "lenet"}, [{"name": "folder", "path": "b/test"}, same])
    titles = [fault["workload"]["title"] for fault in values["faultload"][:2]]
    assert titles == ["test-1", "test-2"]
    assert [fault["as"] for fault in values["faultload"][:2]] == ["novelty-test-1", "novelty-test-2"]


def test_no_name_breaks_the_file():
    odd = "a: b, {c} # 'd'\n\x1b"
    values = first_experiment({"name": "npz", "path": odd}, {"name": "lenet"}, [{"name": "npz", "path": odd}])
    again = parse_yaml(experiment_text(values, ["about"], {}), "")
    assert again == values
    assert parse_experiment(again, "").workload.parameters == {"path": odd}
