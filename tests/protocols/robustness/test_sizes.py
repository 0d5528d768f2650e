"""What a robustness evaluation tells before it runs: trainings counted by hand, and what is not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from farm.campaign.spec import parse_campaign
from farm.cli import main
from farm.protocols import protocol
from farm.run.costs import Costs
from tests.protocols.robustness.toys import HERE, LOG, robustness, written

size_lines = protocol("robustness").size_lines
size_record = protocol("robustness").size_record

NETWORK = {"name": "vgg-small", "width": 2, "epochs": 2}
OWN: dict[str, Any] = {
    "name": "own",
    "protocol": "robustness",
    "repetitions": 3,
    "workload": {"name": "digits", "size": 8},
    "classifiers": [
        {**NETWORK, "as": "one"},
        {"name": "ensemble", "as": "several", "of": NETWORK, "size": 4},
        {"name": f"{HERE}:Given", "as": "brought"},
    ],
    "transformations": ["robustness-fog", "robustness-noise"],
    "levels": [1, 5],
    "sets": ["uniform-noise", "natural-images"],
    "gans": [{"name": "gan-lee", "as": "lee"}],
    "gan": {"epochs": 2, "width": 2},
    "gan_trainings": 2,
}


def sizes_of(values: dict[str, Any], home: Path = Path()) -> dict[str, Any]:
    cells = parse_campaign(values, "own").cells()
    return size_record([(cell.label, cell.experiment) for cell in cells], Costs(home))


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FARM_DATA", raising=False)
    return tmp_path


def test_networks_are_counted_once_a_repetition_and_what_was_brought_not_at_all() -> None:
    told = sizes_of(OWN)
    assert told["trainings"] == {"all": 3 + 3 * 4, "one": 3, "several": 12}
    assert told["gan_trainings"] == 2, "each once for all classifiers and repetitions"
    # Plain, two transformations at two levels, two sets, two pairs, two trainings.
    assert told["conditions"] == 1 + 4 + 2 + 2 + 2
    assert told["cells"] == 11 * 3 * 3


def test_what_is_counted_is_what_is_trained(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (elsewhere / "trainings").mkdir()
    monkeypatch.setenv(LOG, str(elsewhere / "trainings"))
    monkeypatch.setenv("FARM_CACHE", str(elsewhere / "cache"))
    few = {"transformations": [{"name": f"{HERE}:Muddle", "as": "muddle", "severity": 1}], "pairs": False}
    toys = robustness(**few, sets=[], repetitions=2)
    toys["classifiers"] = toys["classifiers"][:2]
    told = sizes_of(toys, elsewhere)
    assert not list((elsewhere / "trainings").iterdir()), "nothing is trained to count"
    assert main(["run", str(written(elsewhere, toys)), "--out", "out", "--quiet"]) == 0
    done = [path.read_text(encoding="utf-8") for path in (elsewhere / "trainings").iterdir()]
    assert told["trainings"]["all"] == len([one for one in done if not one.startswith("dim")]) == 4
    assert told["gan_trainings"] == len([one for one in done if one.startswith("dim")]) == 2


def test_a_transformation_with_a_seed_is_no_gan() -> None:
    own = {"name": f"{HERE}:Seeded", "as": "seeded", "severity": 1, "seed": 3}
    told = sizes_of({**OWN, "transformations": [own], "gans": [], "classifiers": OWN["classifiers"][2:]})
    assert told["gan_trainings"] == 0


def test_seconds_are_known_where_all_is_there() -> None:
    told = sizes_of({**OWN, "repetitions": 2})
    assert told["not_there"] == {}
    assert set(told["seconds"]) == {"trainings", "GAN trainings", "streams"}
    assert all(value > 0 for value in told["seconds"].values())
    assert told["nbytes"] > 0
    # Two classifiers more, whose passes and trainings are no shorter than nothing.
    less = sizes_of({**OWN, "repetitions": 2, "classifiers": OWN["classifiers"][:1], "gans": []})
    assert less["seconds"]["GAN trainings"] == 0
    assert less["nbytes"] < told["nbytes"]


def test_a_gan_that_says_what_its_training_takes_is_believed_once_a_training() -> None:
    toys = robustness(sets=[], pairs=False, gan_trainings=3)
    assert sizes_of(toys)["seconds"]["GAN trainings"] == 3 * 7.5


def test_images_say_how_long_streams_are() -> None:
    plain = {"parts": "classification", "transformations": ["robustness-noise"], "levels": [1]}
    few = {**OWN, **plain, "classifiers": OWN["classifiers"][:1]}
    whole, some = (sizes_of({**few, **more})["nbytes"] for more in ({}, {"images": 20}))
    cells = 2 * 3
    assert (some - cells * 18_000) == cells * 20 * 70
    assert whole > some


def test_sets_that_are_not_there_are_named(elsewhere: Path) -> None:
    natural = {"name": "npz", "path": "no-such.npz", "title": "mine"}
    told = sizes_of({**OWN, "natural": natural}, elsewhere)
    assert set(told["not_there"]) == {"natural-images"}
    assert told["seconds"] is not None, "what can be measured is"
    nothing = sizes_of({**OWN, "workload": {**natural, "title": "theirs"}, "gans": []}, elsewhere)
    assert "theirs" in nothing["not_there"]
    assert (nothing["seconds"], nothing["nbytes"]) == (None, None)
    assert nothing["trainings"]["all"] == 15
    lines = "\n".join(size_lines(nothing, workers=2))
    assert "not there: theirs: " in lines
    assert "hours and gigabytes: not known" in lines


def test_a_dry_run_tells_in_lines_and_as_json(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(elsewhere, {**OWN, "repetitions": 2, "gan_trainings": 1})
    assert main(["run", str(file), "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "robustness: 10 conditions in 60 cells" in told
    assert "trainings: 10 networks, each once for all conditions: 2 of one, 8 of several" in told
    assert "GAN trainings: 1, each once for all classifiers and repetitions" in told
    assert "time from the beginning: " in told
    assert main(["run", str(file), "--dry-run", "--format", "json"]) == 0
    sizes = json.loads(capsys.readouterr().out)["sizes"]
    assert (sizes["conditions"], sizes["cells"], sizes["trainings"]["all"]) == (10, 60, 10)


def test_the_sources_evaluation_is_counted() -> None:
    """2 classifiers, 20 repetitions: 40 networks, 60 GANs, 2,000 cells of transformed test images."""
    cells = parse_campaign(
        {
            "name": "source",
            "protocol": "robustness",
            "workload": {"name": "npz", "path": "no-such.npz"},
            "classifiers": [{"name": "cnn", "as": "a"}, {"name": "cnn", "as": "b"}],
        },
        "source",
    ).cells()
    told = size_record([(cell.label, cell.experiment) for cell in cells], Costs(Path()))
    assert told["trainings"] == {"all": 40, "a": 20, "b": 20}
    assert told["gan_trainings"] == 60
    assert told["conditions"] == 1 + 50 + 7 + 10 + 60
    assert told["cells"] == 40 * 128
