"""The outliers of a validation fault: whose images they are, who learns from them, and what is said of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from farm import registry
from farm.api import (
    ArrayImages,
    CalibrationRule,
    Context,
    FaultTargets,
    Needs,
    Silent,
    Split,
    Workload,
    best_threshold,
)
from farm.cli import main
from farm.config.experiment import parse_experiment
from farm.errors import DataError, ExperimentError
from farm.run.execution import run_experiment
from farm.run.faults import Fault
from farm.run.outliers import FEWEST, against_outliers, inner, outliers_of
from farm.run.testbed import Testbed
from farm.store.cache import DiskCache
from farm.store.readouts import Readouts
from farm.testing.fakes import FakeFaultload, FakeMonitor, TinyModel, TinySource, tiny_workload
from tests.wording import refused

OTHER = ("oak", "pine")
TINY = {"name": "farm.testing.fakes:TinySource"}
FOREIGN = {**TINY, "classes": list(OTHER), "title": "foreign"}
NOVEL = {"name": "novelty", "workload": FOREIGN}


@pytest.fixture
def bed(tmp_path: Path) -> Testbed:
    return Testbed(folder=tmp_path, cache=DiskCache(tmp_path / "cache"))


def brought(split: Split, workload: str = "foreign") -> Fault:
    """Return a fault that brings these images."""
    n = len(split)
    labels, category = np.full(n, -1), np.full(n, "novelty")
    targets = FaultTargets(split, workload, np.arange(n), labels, category)
    return Fault(FakeFaultload(name="brought"), targets, context=None)


def test_another_workloads_images_are_as_many_as_there_are_to_validate(bed: Testbed, tiny: Workload) -> None:
    model = TinyModel().classifier(tiny, Context())
    foreign = {**FOREIGN, "tracks": [200, 6, 6]}
    found = bed.outliers({**NOVEL, "workload": foreign, "split": "train"}, tiny, model)
    assert (found.name, len(found.chosen), len(found.every)) == ("foreign", len(tiny.validation), 2 * 200 * 4)
    ids = set(found.every.ids)
    assert set(found.chosen.ids) < ids
    assert all(one.startswith("foreign/train") for one in ids)
    record = found.record()
    assert (record["outliers"], record["n"], record["of"]) == ("foreign", 96, 1600)


def test_a_fault_that_changes_images_changes_those_of_the_validation_split(
    bed: Testbed, tiny: Workload
) -> None:
    model = TinyModel().classifier(tiny, Context())
    found = bed.outliers({"name": "brightness", "severity": 5}, tiny, model)
    assert found.name == "brightness"
    assert found.every.ids.tolist() == tiny.validation.ids.tolist()
    before = tiny.validation.images.read(np.arange(4))
    assert (found.every.images.read(np.arange(4)) > before).mean() > 0.5


@pytest.mark.parametrize("part", ["train", "validation", "test"])
def test_no_image_of_the_workload_is_an_outlier(tiny: Workload, part: str) -> None:
    own = {split.name: split for split in tiny.splits}[part]
    images = np.concatenate(
        [tiny_workload(classes=OTHER).train.images.read(np.arange(20)), own.images.read(np.array([7]))]
    )
    ids = np.array([f"foreign/{i}" for i in range(len(images))])
    split = Split("train", ArrayImages(images), np.zeros(len(images), np.int64), ids, ids)
    with refused(DataError):
        outliers_of(brought(split), tiny, 0)


def test_too_few_to_learn_from_are_refused(tiny: Workload) -> None:
    few = tiny_workload(classes=OTHER).train.rows(np.arange(FEWEST - 1))
    with refused(DataError):
        outliers_of(brought(few), tiny, 0)


def test_networks_choose_their_epoch_by_a_fifth_of_the_training_groups(tiny: Workload) -> None:
    cut = inner(tiny, 0)
    groups = [set(split.groups) for split in cut.splits]
    assert not groups[0] & groups[1]
    assert groups[0] | groups[1] == set(tiny.train.groups)
    assert len(cut.validation) == pytest.approx(0.2 * len(tiny.train), rel=0.3)
    assert cut.test is tiny.test
    assert inner(tiny, 0).train.ids.tolist() == cut.train.ids.tolist() != inner(tiny, 1).train.ids.tolist()


def test_what_cannot_be_cut_in_two_is_named() -> None:
    with refused(DataError):
        inner(tiny_workload(tracks=(1, 2, 2)), 0)


def test_the_task_against_outliers_has_as_many_of_each(tiny: Workload) -> None:
    foreign = tiny_workload(classes=OTHER, tracks=(10, 6, 6), name="foreign")
    task = against_outliers(tiny, outliers_of(brought(foreign.train), tiny, 0), 0)
    assert task.classes == ("in-distribution", "outlier")
    whole = [
        np.concatenate([getattr(s, c) for s in (task.train, task.validation)]) for c in ("labels", "ids")
    ]
    assert np.bincount(whole[0]).tolist() == [80, 80]
    assert all(("foreign" in one) == bool(label) for label, one in zip(*whole, strict=True))
    assert any("/validation/" in one for one in whole[1]), "the validation images teach it too"
    assert not any("/test/" in one for one in whole[1])
    foreign_rows = np.flatnonzero(task.train.labels == 1)
    named = {one: i for i, one in enumerate(foreign.train.ids)}
    same = [named[one.partition("/")[2]] for one in task.train.ids[foreign_rows]]
    read = task.train.images.read(foreign_rows)
    assert np.allclose(read, foreign.train.images.read(np.array(same)), atol=1e-6)


def experiment(**changes: Any) -> dict[str, Any]:
    return {
        "name": "learned",
        "workload": TINY,
        "classifier": "farm.testing.fakes:TinyModel",
        "faultload": {**NOVEL, "workload": {**FOREIGN, "classes": ["elm", "yew"], "title": "far"}},
        "validation_fault": {**NOVEL, "split": "train"},
        "monitors": [
            {"name": "max-softmax", "calibration": {"method": "validation-fault"}},
            {"name": "max-softmax", "as": "plain"},
            "random",
        ],
        **changes,
    }


def run(folder: Path, **changes: Any) -> Readouts:
    return run_experiment(parse_experiment(experiment(**changes), "test"), folder)


def test_what_learned_from_outliers_is_recorded_and_not_ranked(tmp_path: Path) -> None:
    record = run(tmp_path).run
    by_name = {one["name"]: one for one in record["monitors"]}
    assert {name: one["ranked"] for name, one in by_name.items()} == {
        "max-softmax": False,
        "plain": True,
        "random": True,
    }
    learned = by_name["max-softmax"]["calibration"]
    assert (learned["method"], learned["outliers"]) == ("validation-fault", 64)
    assert 0.5 <= learned["outlier_accuracy"] <= 1
    assert "outliers" not in by_name["plain"]["calibration"]
    assert record["validation_fault"]["outliers"] == "foreign"
    assert record["experiment"]["validation_fault"]["split"] == "train"


def test_a_check_says_whom_it_does_not_judge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(run(tmp_path).save(tmp_path / "run"))
    criteria = tmp_path / "criteria.yaml"
    for more, told in (("", True), (" for max-softmax", False)):
        criteria.write_text(f"criteria: [specific.fpr <= 99 %{more}]\n", encoding="utf-8")
        main(["check", folder, "--criteria", str(criteria)])
        said = "not judged, since not ranked by the run itself: max-softmax" in capsys.readouterr().err
        assert said is told


def test_the_threshold_is_the_best_between_validation_images_and_outliers(
    bed: Testbed, tiny: Workload
) -> None:
    model = TinyModel().classifier(tiny, Context())
    outliers = bed.outliers({**NOVEL, "split": "train"}, tiny, model)
    monitor = FakeMonitor(score=lambda seen: seen.images.mean(axis=(1, 2, 3)))
    rule = CalibrationRule("validation-fault")
    assert bed.fit_all([monitor], model, tiny, {monitor.name: rule}, outliers) == {}

    def light(split: Split) -> np.ndarray:
        return split.images.read(np.arange(len(split))).mean(axis=(1, 2, 3)).astype(np.float64)

    threshold, accuracy = best_threshold(light(tiny.validation), light(outliers.chosen))
    assert monitor.calibration.threshold == pytest.approx(threshold)
    assert monitor.calibration.outlier_accuracy == pytest.approx(accuracy)


def test_a_threshold_on_outliers_needs_some(tmp_path: Path) -> None:
    with refused(ExperimentError):
        run(tmp_path, validation_fault=None)


def test_the_same_images_to_learn_from_and_to_be_judged_on_are_refused(tmp_path: Path) -> None:
    """The target is the set to learn from, and that very part of it."""
    with refused(DataError):
        run(tmp_path, faultload={**NOVEL, "split": "train"})


def test_other_images_of_the_same_set_may_be_judged_on(tmp_path: Path) -> None:
    assert len(run(tmp_path, faultload=NOVEL).instances)


def test_a_monitor_that_is_found_again_learned_from_the_same_outliers(tmp_path: Path) -> None:
    told = Notes()
    bed = Testbed(folder=tmp_path, cache=DiskCache(tmp_path / "cache"), progress=told)
    workload = bed.workload(TinySource())
    model = bed.classifier(TinyModel(), workload)
    thresholds = []
    for classes in (OTHER, OTHER, ("elm", "yew")):
        fault = {**NOVEL, "workload": {**FOREIGN, "classes": list(classes)}, "split": "train"}
        monitor = registry.monitor("max-softmax")
        rules = {monitor.name: CalibrationRule("validation-fault")}
        bed.fit_all([monitor], model, workload, rules, bed.outliers(fault, workload, model))
        thresholds.append(monitor.calibration.threshold)
    assert thresholds[0] == thresholds[1] != thresholds[2]
    assert told.said.count("1 fitted monitor found in the cache") == 1


class Notes(Silent):
    """Remembers what is noted."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, message: str) -> None:
        self.said.append(message)


def test_a_monitor_sees_outliers_only_where_it_says_so_and_as_it_sees_other_data(
    bed: Testbed, tiny: Workload
) -> None:
    model = TinyModel().classifier(tiny, Context())
    seen: dict[str, Any] = {}

    def layers(data: Any) -> dict[str, np.ndarray]:
        seen["outliers"] = [list(one.activations) for one in data.outliers]
        seen["validation"] = [list(one.activations) for one, _ in data.validation]
        return {}

    def peek(data: Any) -> dict[str, np.ndarray]:
        return {"n": np.array(len(list(data.outliers)))}

    monitors = [
        FakeMonitor(name="open", needs=Needs(layers=("last-hidden",), outliers=True), fit=layers),
        FakeMonitor(name="secret", fit=peek),
    ]
    failures = bed.fit_all(monitors, model, tiny, {}, bed.outliers({**NOVEL, "split": "train"}, tiny, model))
    assert list(failures) == ["secret"]
    assert "reads outliers, which its needs do not declare" in failures["secret"]
    assert (
        {str(one) for one in seen["outliers"]}
        == {str(one) for one in seen["validation"]}
        == {"['last-hidden']"}
    )
