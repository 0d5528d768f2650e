"""Streams of training and validation data: what is in them, and that nobody is judged by them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import farm
from farm.api import LAST_HIDDEN
from farm.cli import main
from farm.errors import DataError, ExperimentError, ParameterError
from farm.judging.by_parts import judge_folder
from farm.run.schedules import Onset
from farm.run.taught import TaughtStream
from farm.run.testbed import Testbed
from farm.store.readouts import Readouts
from farm.testing.fakes import FakeMonitor, TinyModel
from monitors.baselines import Never
from tests.run.made_workload import workload
from tests.run.streamed import columns_of
from tests.wording import refused, same_text

MADE = workload(n=24)
ONE: dict[str, Any] = {
    "name": "looked-at",
    "workload": {"name": "farm.testing.fakes:TinySource"},
    "classifier": {"name": "farm.testing.fakes:TinyModel"},
    "monitors": ["never", "random"],
    "stream": {"split": "train"},
    "layers": [LAST_HIDDEN],
}


@pytest.mark.parametrize("split", ["train", "validation"])
@pytest.mark.parametrize("size", [1, 16, 500])
def test_the_stream_has_each_instance_of_the_split_once_with_its_conditions(split: str, size: int) -> None:
    own = {one.name: one for one in MADE.splits}[split]
    seen = columns_of(*Testbed().stream(MADE, None, order="sequential", split=split).batches(size))
    assert seen["ids"].tolist() == own.ids.tolist()
    assert seen["labels"].tolist() == own.labels.tolist()
    assert seen["condition weather"].tolist() == own.conditions["weather"].tolist()
    assert seen["condition lux"].tolist() == own.conditions["lux"].tolist()
    np.testing.assert_array_equal(seen["images"], own.images.read(np.arange(len(own))))
    assert not seen["is_ood"].any()


def test_it_may_be_shuffled_and_shortened_and_says_of_which_split_it_is() -> None:
    stream, again = (TaughtStream(MADE, "train", length=40, seed=3) for _ in range(2))
    ids = columns_of(*stream.batches(9))["ids"].tolist()
    assert len(set(ids)) == 40 == stream.length
    assert ids != sorted(ids, key=MADE.train.ids.tolist().index)
    assert ids == columns_of(*again.batches(40))["ids"].tolist()
    assert (stream.provenance["split"], stream.provenance["n_ood"]) == ("train", 0)
    assert stream.provenance["workload_hash"] == MADE.train.content_hash
    assert "split" not in Testbed().stream(MADE, None).provenance
    for split in ("test", "all"):
        with refused(ParameterError):
            TaughtStream(MADE, split)


@pytest.mark.parametrize(
    "asked", [{"faultload": "fgsm"}, {"order": Onset(at=3)}, {"ood_share": 0.5}], ids=str
)
def test_it_takes_no_faults_and_no_time(asked: dict[str, Any]) -> None:
    with refused(ExperimentError):
        Testbed().stream(MADE, None, split="train", **asked)


def test_who_learned_from_it_may_not_watch_it() -> None:
    bed = Testbed()
    classifier = bed.classifier(TinyModel(), MADE)
    monitors = [Never(), FakeMonitor(name="doubt")]
    bed.fit(monitors, classifier, MADE)
    with refused(ExperimentError):
        bed.run(TaughtStream(MADE, "validation"), classifier, monitors, MADE)


def run(folder: Path, **changed: Any) -> int:
    (folder / "one.yaml").write_text(yaml.safe_dump({**ONE, **changed}))
    return main(["run", "one.yaml", "--quiet", "--out", "run"])


@pytest.mark.parametrize(
    "changed",
    [
        {"faultload": "gaussian-noise"},
        {"monitors": ["never", "max-softmax"]},
        {"stream": {"split": "train", "order": {"name": "onset", "at": 5}}},
        {"stream": {"split": "validation", "ood_share": 0.5}},
        {"stream": {"split": "training"}},
        {"stream": {"split": "train", "benchmark": "set"}},
    ],
    ids=lambda changed: json.dumps(changed, sort_keys=True),
)
def test_what_it_does_not_take_is_told_before_anything_runs(
    changed: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(tmp_path, **changed) == 2
    same_text(capsys.readouterr().err)
    assert not (tmp_path / "run").exists()


def test_a_run_has_all_that_is_asked_for_and_judges_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(tmp_path) == 0
    same_text(capsys.readouterr().out.replace(" in 0 s", " in 1 s"))
    found = Readouts.load("run")
    train = Testbed().workload(ONE["workload"]).train
    assert sorted(found.instances["id"]) == sorted(train.ids)
    assert found.layers[LAST_HIDDEN].shape == (len(train), 4)
    assert found.run["stream"]["split"] == found.run["experiment"]["stream"]["split"] == "train"
    (tmp_path / "criteria.yaml").write_text("criteria:\n  - specific.fpr <= 0.9 on id\n")
    commands = (
        ["judge", "run"],
        ["compare", "run"],
        ["check", "run", "--criteria", "criteria.yaml"],
        ["report", "run"],
    )
    told = set()
    for command in commands:
        assert main(command) == 2, command
        told.add(capsys.readouterr().err)
    same_text(sorted(told))
    for judge in (farm.judge, farm.compare, judge_folder):
        with pytest.raises(DataError, match="its stream is training data"):
            judge("run")
    with pytest.raises(DataError, match="its stream is training data"):
        farm.compare(found)
    # Run again from its record, it is the same.
    assert main(["run", "run/run.json", "--quiet"]) == 0


def test_the_split_is_written_where_it_is_not_test() -> None:
    from farm.config.experiment import parse_experiment

    for split, written in (("test", {}), ("train", {"split": "train"})):
        stream = parse_experiment({**ONE, "stream": {"split": split}}, "x").stream
        assert {key: value for key, value in stream.model_dump().items() if key == "split"} == written
