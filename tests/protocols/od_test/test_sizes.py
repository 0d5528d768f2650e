"""What an OD-test tells before it runs: trainings counted by hand, and what is not there."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from farm.api import NoCache
from farm.campaign.spec import Campaign, parse_campaign
from farm.cli import main
from farm.config.files import EXPERIMENTS
from farm.protocols import protocol
from farm.protocols.od_test.sizes import Sizes
from farm.run.costs import Costs
from farm.run.testbed import Testbed

size_lines = protocol("od-test").size_lines

OWN: dict[str, Any] = {
    "name": "own",
    "protocol": "od-test",
    "sources": [{"name": "digits", "size": 8, "channels": 1}],
    "outliers": ["noise-uniform", "noise-normal"],
    "networks": [
        {"name": "vgg-small", "as": "VGG", "width": 2, "epochs": 2},
        {"name": "residual-small", "as": "Res", "width": 2, "epochs": 3},
    ],
    "methods": [
        {"name": "binary-classifier", "as": "BinClass"},
        {"name": "logistic-svm", "as": "LogisticSVM", "networks": "VGG"},
        {"name": "deep-ensemble", "as": "DeepEnsemble"},
        {"name": "reconstruction", "as": "AE", "network": {"epochs": 2}},
        {
            "name": "neighbour-svm",
            "as": "1-MNN",
            "space": "autoencoder-mse",
            "network": {"epochs": 2},
            "points": 100,
            "networks": "none",
        },
        {"name": "neighbour-svm", "as": "1-NN", "points": 50, "networks": "none"},
    ],
}


def shipped(name: str) -> tuple[dict[str, Any], Campaign]:
    values = yaml.safe_load((EXPERIMENTS / f"{name}.yaml").read_text(encoding="utf-8"))
    return values, parse_campaign(values, name)


def sizes_of(campaign: Campaign, home: Path = Path()) -> Sizes:
    return Sizes([(cell.label, cell.experiment) for cell in campaign.cells()], Costs(home))


def test_each_network_is_counted_once() -> None:
    sizes = sizes_of(parse_campaign(OWN, "own"))
    assert sizes.by_kind == {
        "classifiers under watch": 2,  # one source, two recipes
        "told from outliers": 4,  # for each of two sets to learn from
        "with loss: logistic": 1,
        "members of ensembles": 10,
        "autoencoder": 1,  # two methods share it, and one of them runs with both recipes
    }
    assert len(sizes.trainings) == 18
    again = sizes_of(parse_campaign({**OWN, "seeds": [0, 1]}, "own"))
    assert len(again.trainings) == 36


def test_members_of_a_mean_take_no_passes_of_their_own() -> None:
    passes = {
        "name": "mc-dropout",
        "as": "MC",
        "of": {"name": "vgg-small", "width": 2, "epochs": 2},
        "passes": 3,
    }
    learnt, every, few = (
        sizes_of(parse_campaign({**OWN, "networks": [passes], "methods": [method]}, "own")).seconds["fits"]
        for method in ("max-softmax", "mutual-information", {"name": "mutual-information", "members": 3})
    )
    # Times are measured, and may be twice as long while others are at work.
    assert every < 10 * learnt
    assert few < 10 * 4 * learnt


def test_the_small_od_test_trains_what_a_run_of_it_left_in_the_cache() -> None:
    _, campaign = shipped("od-test-small")
    sizes = sizes_of(campaign)
    recipes = Counter(
        training.network or training.need.network  # type: ignore[union-attr] # it is by one or the other
        for training in sizes.trainings
    )
    assert recipes == {"VGG": 33, "Res": 33, "autoencoder": 6, "vae": 3}
    assert (sizes.triplets, len(campaign.cells())) == (36, 96)


def test_the_sources_own_od_test_has_its_triplets_cells_and_trainings() -> None:
    _, campaign = shipped("od-test")
    cells = campaign.cells()
    sizes = sizes_of(campaign)
    assert (sizes.triplets, len(cells)) == (308, 616)
    assert Counter(cell.label["workload"] for cell in cells) == {
        **dict.fromkeys(("mnist", "fashion-mnist", "cifar100", "tiny-imagenet"), 2 * 56),
        **dict.fromkeys(("cifar10", "stl10"), 2 * 42),
    }
    assert sizes.by_kind == {
        "classifiers under watch": 12,
        "told from outliers": 2 * (4 * 8 + 2 * 7),
        "with loss: logistic": 12,
        "members of ensembles": 5 * 12,
        "autoencoder": 2 * 6,
        "vae": 6,
        "pixelcnn": 6,
    }


def test_all_but_digits_are_mirrored_and_what_two_sets_share_is_left_out() -> None:
    _, campaign = shipped("od-test")
    recipes = {cell.label["workload"]: cell.experiment.workload.name for cell in campaign.cells()}
    assert [name for name, recipe in recipes.items() if recipe != "mirrored"] == ["mnist"]
    faults = {
        (cell.label["workload"], cell.label["faultload"]): cell.experiment.faultload[0]
        for cell in campaign.cells()
    }
    same = faults["tiny-imagenet", "cifar100"].parameters["same_by_workload"]
    assert ["bee", "n02206856"] in same["tiny-imagenet"]


def test_folders_that_lie_as_the_sources_own_od_test_says_are_read(tmp_path: Path) -> None:
    places = [
        *(f"data/tiny-imagenet/train/n{c}/images/n{c}_{i}.JPEG" for c in "01" for i in range(10)),
        *(f"data/tiny-imagenet/test/n{c}/val_{c}{i}.JPEG" for c in "01" for i in range(3)),
        *(
            f"data/notmnist/{split}/{c}/{c}{i}.png"
            for split in ("train", "test")
            for c in "AB"
            for i in range(6)
        ),
    ]
    rng = np.random.default_rng(0)
    for place in places:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (8, 8), dtype=np.uint8)).save(tmp_path / place)  # grey
    values, _ = shipped("od-test")
    tiny, letters = (
        Testbed(folder=tmp_path, cache=NoCache()).workload(
            {key: value for key, value in one.items() if key != "mirror"}
        )
        for one in (*values["sources"], *values["outliers"])
        if isinstance(one, dict) and one["name"] == "folder"
    )
    assert [len(split) for split in tiny.splits] == [16, 4, 6]
    assert (tiny.classes, tiny.shape) == (("n0", "n1"), (3, 8, 8))
    assert (len(letters.train) + len(letters.validation), len(letters.test)) == (24 // 2, 12)


def test_what_is_measured_grows_with_what_is_asked() -> None:
    told = sizes_of(parse_campaign(OWN, "own")).record()
    assert told["not_there"] == {}
    assert all(told["seconds"][part] > 0 for part in ("trainings", "fits", "streams"))
    fewer = parse_campaign({**OWN, "methods": [{"name": "max-softmax"}]}, "own")
    less = sizes_of(fewer).record()
    assert less["trainings"]["all"] == 2
    assert less["nbytes"]["networks"] < told["nbytes"]["networks"]
    assert less["nbytes"]["fitted methods"] == 0


def test_disk_counts_the_points_that_methods_keep() -> None:
    only = {**OWN, "networks": OWN["networks"][:1], "methods": [OWN["methods"][-1]]}
    kept = sizes_of(parse_campaign(only, "own")).nbytes["fitted methods"]
    assert kept == 2 * 50 * 64 * 4  # once for each set to learn from: 50 images of 8 x 8 pixels in float32


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FARM_DATA", raising=False)
    return tmp_path


def absent(folder: Path) -> Path:
    """Write an OD-test of two sets that nobody has."""
    sources = [
        {"name": "npz", "path": "no-such.npz", "title": "mine"},
        {"name": "folder", "path": "no-such-folder", "title": "theirs"},
    ]
    path = folder / "absent.yaml"
    path.write_text(yaml.safe_dump({**OWN, "sources": sources}), encoding="utf-8")
    return path


def test_a_dry_run_without_data_counts_and_says_what_is_not_there(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(absent(elsewhere)), "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "12 triplets in 24 cells" in told
    assert "not there: mine: " in told
    assert "'no-such.npz' is not there" in told
    assert "not there: theirs: " in told
    assert "hours and gigabytes: not known" in told


def test_a_dry_run_as_json_has_the_sizes(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(absent(elsewhere)), "--dry-run", "--format", "json"]) == 0
    sizes = json.loads(capsys.readouterr().out)["sizes"]
    assert sizes["trainings"]["all"] == 2 * (2 + 6 + 1 + 10 + 1)
    assert set(sizes["not_there"]) == {"mine", "theirs"}
    assert (sizes["seconds"], sizes["nbytes"]) == (None, None)


def test_a_set_that_is_there_is_measured_beside_one_that_is_not(elsewhere: Path) -> None:
    sources = [*OWN["sources"], {"name": "npz", "path": "no-such.npz", "title": "mine"}]
    told = sizes_of(parse_campaign({**OWN, "sources": sources}, "own"), elsewhere).record()
    assert told["seconds"]["trainings"] > 0
    assert "source 'mine'" in told["not_in_it"]
    lines = size_lines(told, workers=2)
    assert any(line.startswith("time from the beginning: ") and "2 workers" in line for line in lines)


def test_the_sources_own_od_test_tells_without_its_sets_what_they_are(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if any((place / "data").exists() for place in (EXPERIMENTS, elsewhere)):
        pytest.skip("somebody has the sets")
    assert os.environ.get("FARM_DATA") is None
    assert main(["run", "od-test", "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "308 triplets in 616 cells" in told
    for name in ("mnist", "fashion-mnist", "cifar10", "cifar100", "tiny-imagenet", "stl10", "notmnist"):
        assert f"not there: {name}: " in told


def test_a_run_is_refused_where_a_package_is_not_there(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        import torchvision  # noqa: F401
    except (ImportError, RuntimeError):
        assert main(["run", "od-test"]) == 2
        assert "torchvision" in capsys.readouterr().err
        assert not (elsewhere / "runs" / "od-test" / "cells").exists()
