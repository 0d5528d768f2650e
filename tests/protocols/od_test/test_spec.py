"""Which cells an OD-test has: triplets of sets, networks, and the methods that run in each."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from farm.campaign.spec import parse_campaign
from farm.errors import ExperimentError
from farm.protocols.od_test.spec import OdTest, as_campaign
from tests.wording import refused

SIX = ["mnist", "fashion-mnist", "cifar10", "cifar100", "tiny-imagenet", "stl10"]
SMALL: dict[str, Any] = {
    "name": "small",
    "protocol": "od-test",
    "sources": [{"name": "digits", "size": 16, "channels": 1}, "signs", "signs-abroad"],
    "outliers": ["noise-uniform", "noise-normal"],
    "networks": [{"name": "lenet", "as": "LeNet"}, {"name": "lenet", "as": "wide", "hidden": 256}],
    "methods": [{"name": "max-softmax", "as": "PbThreshold"}],
}


def small(**changes: Any) -> dict[str, Any]:
    return {**SMALL, **changes}


def cells(values: dict[str, Any]) -> list[Any]:
    return parse_campaign(values, "test").cells()


def test_the_sources_own_sets_make_its_308_triplets() -> None:
    spec = OdTest.model_validate(
        small(
            sources=SIX,
            outliers=["notmnist", "noise-uniform", "noise-normal"],
            incompatible=[["cifar10", "stl10"]],
        )
    )
    assert Counter(source for source, _, _ in spec.triplets) == {
        **dict.fromkeys(("mnist", "fashion-mnist", "cifar100", "tiny-imagenet"), 8 * 7),
        **dict.fromkeys(("cifar10", "stl10"), 7 * 6),
    }
    assert len(set(spec.triplets)) == len(spec.triplets) == 308


def test_cells_are_the_triplets_with_each_network() -> None:
    found = Counter(
        (c.label["workload"], c.label["validation_fault"], c.label["faultload"]) for c in cells(small())
    )
    assert set(found) == set(OdTest.model_validate(small()).triplets)
    assert len(found) == 36
    assert set(found.values()) == {2}


def test_outliers_are_training_images_and_targets_test_images() -> None:
    experiment = cells(small())[0].experiment
    (target,) = experiment.faultload
    learned = experiment.validation_fault
    assert (learned.parameters["split"], target.parameters["split"]) == ("train", "test")
    assert experiment.stream.ood_share == 0.5
    assert experiment.calibration.method == "validation-fault"


def test_incompatible_sets_are_no_outliers_to_each_other() -> None:
    found = cells(small(incompatible=[["signs", "signs-abroad"]]))
    triplets = {(c.label["workload"], c.label["validation_fault"], c.label["faultload"]) for c in found}
    assert len(triplets) == 4 * 3 + 2 * (3 * 2)
    assert not any(
        {"signs", "signs-abroad"} <= {s, v} or {"signs", "signs-abroad"} <= {s, t} for s, v, t in triplets
    )


def test_the_same_set_is_a_target_only_where_optimism_is_asked_for() -> None:
    found = cells(small(optimistic=True))
    alike = [c for c in found if c.label["validation_fault"] == c.label["faultload"]]
    assert (len(found), len(alike)) == (2 * (36 + 12), 2 * 12)


def test_methods_run_with_the_networks_they_name_and_without_any_once() -> None:
    methods = [
        {"name": "max-softmax", "as": "all"},
        {"name": "entropy", "as": "one", "networks": "wide"},
        {"name": "random", "as": "images", "networks": "none"},
    ]
    by_network: dict[str, set[tuple[str, ...]]] = {}
    for cell in cells(small(methods=methods)):
        names = tuple(spec.alias for spec in cell.experiment.monitors)
        by_network.setdefault(str(cell.label["classifier"]), set()).add(names)
    assert by_network == {"LeNet": {("all", "images")}, "wide": {("all", "one")}}


def test_what_learns_nothing_from_outliers_is_judged_once_on_each_target() -> None:
    methods = ["max-softmax", {"name": "entropy", "calibration": {"method": "id-quantile"}}]
    found = Counter(
        (c.label["workload"], c.label["classifier"], c.label["faultload"])
        for c in cells(small(methods=methods, optimistic=True))
        if "entropy" in [spec.name for spec in c.experiment.monitors]
    )
    assert len(found) == 3 * 2 * 4
    assert set(found.values()) == {1}


def test_shared_classes_are_told_to_each_side_in_its_own_order() -> None:
    same = [{"sets": ["signs", "signs-abroad"], "classes": [["stop", "halt"]]}]
    faults = {c.label["faultload"]: c.experiment.faultload[0] for c in cells(small(same=same))}
    assert faults["signs-abroad"].parameters["same_by_workload"] == {"signs": [["halt", "stop"]]}
    assert faults["signs"].parameters["same_by_workload"] == {"signs-abroad": [["stop", "halt"]]}
    assert "same_by_workload" not in faults["digits"].parameters


def test_sets_of_one_folder_are_told_apart_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "part").write_bytes(b"1")
    sources = [
        {"name": "torchvision", "dataset": name, "root": "data", "title": name} for name in ("MNIST", "STL10")
    ]
    assert as_campaign(small(sources=sources), tmp_path)["workloads"]
    with pytest.raises(ExperimentError, match="same files"):
        as_campaign(small(sources=[sources[0], {**sources[0], "title": "again"}]), tmp_path)


def test_a_mirrored_source_is_itself_as_outliers() -> None:
    sources = [{"name": "digits", "size": 16, "channels": 1}, {"name": "signs", "mirror": True}]
    found = cells(small(sources=sources))
    recipes = {c.label["workload"]: c.experiment.workload for c in found}
    assert recipes["signs"].name == "mirrored"
    assert recipes["signs"].parameters == {"of": {"name": "signs"}}
    faults = {c.label["faultload"]: c.experiment.faultload[0] for c in found}
    assert faults["signs"].parameters["workload"] == {"name": "signs"}


@pytest.mark.parametrize(
    "changes",
    [
        {"sources": ["digits"], "outliers": ["noise-uniform"]},
        {"sources": ["digits", "digits"]},
        {"incompatible": [["digits", "sings"]]},
        {"incompatible": [["digits", "digits"]]},
        {"methods": [{"name": "odin", "networks": "vgg"}]},
        {"methods": [{"name": "odin", "networks": ["none", "wide"]}]},
        {"outliers": [{"name": "noise-uniform", "mirror": True}]},
        {"networks": []},
        {"metods": []},
        {"protocol": "od-tset"},
    ],
)
def test_what_makes_no_od_test_is_told(changes: dict[str, Any]) -> None:
    with refused(ExperimentError):
        parse_campaign(small(**changes), "test")
