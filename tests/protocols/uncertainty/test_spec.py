"""What the file of an evaluation of uncertainty asks for, cell by cell; and files that ask what cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from farm.campaign.spec import load, parse_campaign
from farm.config.specs import NO_FAULT
from farm.errors import ExperimentError, FarmError
from farm.protocols.uncertainty.asked import DROPOUT, ENSEMBLE, VALIDATION, VANILLA, VARIANTS, Uncertainty
from farm.protocols.uncertainty.spec import as_campaign, planned
from tests.wording import refused

SHIFTS = [
    {"name": "rain", "as": "light rain", "severity": 1},
    {"name": "rain", "as": "heavy rain", "severity": 4},
    {"name": "novelty", "as": "another setup", "workload": {"name": "signs-abroad"}},
]
NAMES = ["light rain", "heavy rain", "another setup"]
MERGED = {"groups": {"round": ["stop"], "other-shape": ["yield", "give-way"]}, "shifts": ["another setup"]}


def asked(**changes: Any) -> dict[str, Any]:
    values = {"name": "u", "protocol": "uncertainty", "workload": "signs", "shifts": SHIFTS, **changes}
    return {key: value for key, value in values.items() if value is not ...}


def cells(values: dict[str, Any]) -> list[Any]:
    return parse_campaign(values, "u").cells()


def said_of(values: dict[str, Any], title: str) -> dict[str, Any]:
    """Return the classifier of this title as its cells have it."""
    found = {str(cell.experiment.classifier) for cell in cells(values) if cell.label["classifier"] == title}
    assert len(found) == 1
    (first, *_) = (cell for cell in cells(values) if cell.label["classifier"] == title)
    return dict(first.experiment.classifier.parameters)


def monitors(values: dict[str, Any], title: str, stream: str) -> list[str]:
    (cell,) = (
        one for one in cells(values) if (one.label["classifier"], one.label["faultload"]) == (title, stream)
    )
    return [spec.alias or spec.name for spec in cell.experiment.monitors]


def test_each_variant_meets_each_stream_and_each_member_the_test_data_alone() -> None:
    found = {(cell.label["classifier"], cell.label["faultload"]) for cell in cells(asked())}
    streams = [NO_FAULT, VALIDATION, *NAMES]
    whole = {(f"cnn {variant}", stream) for variant in VARIANTS for stream in streams}
    assert found == whole | {(f"cnn member {number}", NO_FAULT) for number in range(1, 6)}
    assert len(cells(asked())) == 6 * 5 + 5


def test_members_come_first_and_ensembles_after_all_other_networks() -> None:
    values = asked(
        backbones=["cnn", {"name": "cnn", "as": "wide"}], variants=[ENSEMBLE, VANILLA, "head"], members=2
    )
    order = list(dict.fromkeys(cell.label["classifier"] for cell in cells(values)))
    assert order == [
        *("cnn member 1", "cnn member 2", "wide member 1", "wide member 2"),
        *("cnn vanilla", "cnn head", "wide vanilla", "wide head", "cnn ensemble", "wide ensemble"),
    ]


def test_members_are_by_the_recipe_of_their_ensemble() -> None:
    values = asked(network={"epochs": 3}, rates={"cnn": {VANILLA: {"learning_rate": 0.001}}}, members=3)
    ensemble = said_of(values, "cnn ensemble")
    assert ensemble["size"] == 3
    assert ensemble["of"] == {
        "name": "what-and-where",
        "backbone": "cnn",
        "variant": VANILLA,
        "epochs": 3,
        "learning_rate": 0.001,
    }
    for number in (1, 2, 3):
        assert said_of(values, f"cnn member {number}") == {"of": ensemble["of"], "number": number}


def test_no_member_is_there_where_no_ensemble_is_asked_for() -> None:
    assert {one.variant for one in planned(Uncertainty.model_validate(asked(variants=[VANILLA])))} == {
        VANILLA
    }


def test_what_is_said_most_closely_goes_first() -> None:
    values = asked(
        backbones=[{"name": "cnn", "as": "small", "neurons": 32, "epochs": 5}],
        network={"epochs": 8, "neurons": 64, "batch_size": 16},
        rates={"small": {"last-layer": {"dropout": 0.1, "box_dropout": 0.05, "epochs": 2}}},
        passes=7,
    )
    assert said_of(values, "small last-layer") == {
        "backbone": "cnn",
        "variant": "last-layer",
        "neurons": 32,
        "epochs": 2,
        "batch_size": 16,
        "dropout": 0.1,
        "box_dropout": 0.05,
        "passes": 7,
    }
    assert said_of(values, "small vanilla") == {
        "backbone": "cnn",
        "variant": "vanilla",
        "neurons": 32,
        "epochs": 5,
        "batch_size": 16,
    }


def test_rates_may_stand_in_a_file_for_all_or_for_a_backbone(tmp_path: Path) -> None:
    rates = {"head": {"dropout": 0.3}}
    for name, content in (("one.yaml", rates), ("all.yaml", {"cnn": rates})):
        (tmp_path / name).write_text(yaml.safe_dump(content), encoding="utf-8")
    direct = as_campaign(asked(rates={"cnn": rates}), tmp_path)
    for said in ("all.yaml", {"cnn": "one.yaml"}):
        found = as_campaign(asked(rates=said), tmp_path)
        assert found == direct, "the campaign remembers rates, and no name of a file"
    for said in ("none.yaml", {"cnn": "none.yaml"}):
        with pytest.raises(ExperimentError, match=r"rates.*: .*none\.yaml is no file"):
            as_campaign(asked(rates=said), tmp_path)


def test_streams_are_of_the_shift_alone_and_calibration_of_validation_data() -> None:
    for cell in cells(asked()):
        stream = cell.experiment.stream
        split = "validation" if cell.label["faultload"] == VALIDATION else "test"
        assert stream.split == split
        assert stream.ood_share == (1.0 if cell.label["faultload"] in NAMES else None)
        assert cell.experiment.readouts.probabilities


def test_monitors_leave_what_gives_them_nothing() -> None:
    values = asked(monitors=["entropy", {"name": "mutual-information", "as": "mi"}, "box-spread"])
    for variant in (*DROPOUT, ENSEMBLE):
        for stream in (NO_FAULT, *NAMES):
            assert monitors(values, f"cnn {variant}", stream) == ["entropy", "mi", "box-spread", "never"]
    assert monitors(values, "cnn vanilla", "heavy rain") == ["entropy", "never"]
    assert monitors(values, "cnn member 1", NO_FAULT) == ["never"]
    for title in ("cnn vanilla", "cnn head", "cnn ensemble"):
        assert monitors(values, title, VALIDATION) == ["never"]


def test_no_monitor_need_be_judged() -> None:
    for few in ([], ["never"]):
        values = asked(monitors=few)
        assert {tuple(monitors(values, "cnn head", stream)) for stream in (NO_FAULT, VALIDATION)} == {
            ("never",)
        }


def test_own_classifiers_have_the_monitors_of_one_pass_or_those_that_they_name() -> None:
    own = [
        {"name": "lenet", "as": "mine"},
        {"name": "mc-dropout", "as": "theirs", "of": "cnn", "monitors": ["mutual-information"]},
    ]
    values = asked(classifiers=own, backbones=[])
    assert monitors(values, "mine", "light rain") == ["entropy", "never"]
    assert monitors(values, "theirs", "light rain") == ["mutual-information", "never"]
    assert said_of(values, "theirs") == {"of": "cnn"}
    spec = Uncertainty.model_validate(values)
    assert [(one.backbone, one.variant) for one in planned(spec)] == [("mine", "own"), ("theirs", "own")]


def test_images_of_other_data_are_the_same_in_all_repetitions_and_keep_their_labels() -> None:
    found = cells(asked(seed=7, repetitions=2))
    assert {cell.label["seed"] for cell in found} == {7, 8}
    assert {str(cell.experiment.workload) for cell in found} == {str(found[0].experiment.workload)}
    assert found[0].experiment.workload.parameters == {"of": {"name": "signs"}, "seed": 7}
    faults = [one for cell in found for one in cell.experiment.faultload if one.name == "novelty"]
    fixed = {"name": "fixed", "as": "signs-abroad", "of": {"name": "signs-abroad"}, "seed": 7}
    assert len(faults) == 2 * 6
    for fault in faults:
        assert fault.parameters == {"workload": fixed, "shared": "map"}


@pytest.mark.parametrize(
    ("workload", "shown"),
    [
        ("signs", "abroad"),
        ({"name": "signs", "weather": "rain"}, "abroad"),
        ({"name": "signs", "as": "mine"}, "mine"),
        ({"name": "npz", "path": "x.npz", "title": "brought"}, "brought"),
        ("digits", "digits"),
    ],
)
def test_images_of_other_data_are_never_called_as_the_test_data_are(workload: Any, shown: str) -> None:
    values = asked(shifts=[{"name": "novelty", "as": "abroad", "workload": workload}])
    (fault,) = cells(values)[-1].experiment.faultload
    fixed = fault.parameters["workload"]
    assert fixed["as"] == shown
    renamed = shown == "abroad"
    assert (fixed["of"].get("as") == "abroad") is renamed, "it is another one also to itself"


def test_what_campaigns_understand_goes_through() -> None:
    found = cells(asked(batch_size=16, threads=2))
    assert {(one.experiment.batch_size, one.experiment.threads) for one in found} == {(16, 2)}
    assert {one.experiment.pictures for one in found} == {"none"}
    assert cells(asked(pictures=3))[0].experiment.pictures == 3


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"shifts": ...}, id="shifts missing"),
        pytest.param({"shifts": []}, id="no shift"),
        pytest.param({"shifts": ["rain", "rain"]}, id="shift twice"),
        pytest.param({"shifts": [{"name": "rain", "as": NO_FAULT}]}, id="shift named none"),
        pytest.param({"shifts": [{"name": "rain", "as": VALIDATION}]}, id="shift named validation data"),
        pytest.param({"shifts": [{"name": "rain", "as": "none, merged"}]}, id="shift named none, merged"),
        pytest.param({"shifts": [{"name": "rain", "severity": [1, 2]}]}, id="severities"),
        pytest.param({"shifts": [{"name": "rain", "severity": 0}]}, id="severity 0"),
        pytest.param(
            {"shifts": [{"name": "novelty", "workload": "digits", "shared": "leave-out"}]},
            id="labels left out",
        ),
        pytest.param(
            {"shifts": [{"name": "novelty", "workload": {"name": "digits", "as": "signs"}}]},
            id="one name twice",
        ),
        pytest.param({"backbones": []}, id="no classifier"),
        pytest.param({"backbones": ["cnn", "cnn"]}, id="backbone twice"),
        pytest.param({"backbones": [{"name": "cnn", "variant": "head"}]}, id="variant of a backbone"),
        pytest.param({"variants": []}, id="no variant"),
        pytest.param({"variants": [VANILLA, "last-leyer"]}, id="unknown variant"),
        pytest.param({"variants": [VANILLA, VANILLA]}, id="variant twice"),
        pytest.param({"network": {"passes": 5}}, id="passes of the network"),
        pytest.param({"network": {"backbone": "cnn"}}, id="backbone of the network"),
        pytest.param({"network": {"dropout": 0}}, id="rate 0 of all"),
        pytest.param({"rates": {"resnet": {}}}, id="rates of no backbone"),
        pytest.param({"rates": {"cnn": {"heads": {"dropout": 0.1}}}}, id="rates of no variant"),
        pytest.param({"rates": {"cnn": {ENSEMBLE: {"learning_rate": 0.1}}}}, id="rates of the ensemble"),
        pytest.param({"rates": {"cnn": {VANILLA: {"dropout": 0.1}}}}, id="rate of vanilla"),
        pytest.param({"rates": {"cnn": {"head": {"box_dropout": 0}}}}, id="rate 0"),
        pytest.param({"rates": {"cnn": {"head": {"variant": "everywhere"}}}}, id="variant among rates"),
        pytest.param({"rates": {"cnn": {"head": 0.1}}}, id="rate alone"),
        pytest.param({"passes": 1}, id="one pass"),
        pytest.param({"members": 1}, id="one member"),
        pytest.param({"repetitions": 0}, id="no repetition"),
        pytest.param({"coverage": 1}, id="coverage 1"),
        pytest.param({"coverage": 0}, id="coverage 0"),
        pytest.param({"monitors": ["entropy", "entropy"]}, id="monitor twice"),
        pytest.param({"monitors": ["oracle"]}, id="oracle"),
        pytest.param({"classifiers": ["lenet", "lenet"]}, id="own twice"),
        pytest.param({"classifiers": [{"name": "lenet", "as": "cnn head"}]}, id="own named like a variant"),
        pytest.param({"classifiers": [{"name": "lenet", "monitors": ["knn"]}]}, id="monitor of no list"),
        pytest.param({"merged": {**MERGED, "shifts": ["heavy rian"]}}, id="merged shift unknown"),
        pytest.param({"merged": {**MERGED, "shifts": []}}, id="nothing merged"),
        pytest.param({"merged": {**MERGED, "shifts": ["heavy rain", "heavy rain"]}}, id="merged twice"),
        pytest.param({"merged": {**MERGED, "groups": {}}}, id="no group"),
        pytest.param({"merged": {**MERGED, "groups": {"a": []}}}, id="empty group"),
        pytest.param({"merged": {**MERGED, "groups": {"a": ["x"], "b": ["x"]}}}, id="class in two groups"),
        pytest.param({"merged": {**MERGED, "groups": {"other": ["x"]}}}, id="group named other"),
        pytest.param({"merged": {**MERGED, "probabilities": "sum"}}, id="unknown way of merging"),
        pytest.param({"shfits": []}, id="misspelt key"),
    ],
)
def test_what_makes_no_evaluation_is_told(changes: dict[str, Any]) -> None:
    with refused(FarmError) as caught:
        cells(asked(**changes))
    assert caught.value.exit_code == 2  # type: ignore[attr-defined]


def test_criteria_are_read_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("criteria: [classifier_acuracy >= 0.8]\n", encoding="utf-8")
    for name, part in (("bad.yaml", "classifier_acuracy"), ("none.yaml", "neither a file nor shipped")):
        with pytest.raises(ExperimentError, match=part):
            as_campaign(asked(criteria=name), tmp_path)


# What is shipped -----------------------------------------------------------------------------------------


def shipped(name: str) -> Any:
    campaign, _ = load(name)
    return campaign.cells()


def test_the_sources_evaluation_has_its_networks_shifts_and_rates() -> None:
    found = shipped("uncertainty")
    backbones = ("EfficientNet-B0", "ResNet-50", "ConvNeXt-Tiny")
    assert len(found) == 3 * (6 * (2 + 8) + 5)
    assert {cell.label["classifier"].partition(" ")[0] for cell in found} == set(backbones)
    first = {cell.label["classifier"]: dict(cell.experiment.classifier.parameters) for cell in found}
    table_4 = {variant: [first[f"{name} {variant}"]["dropout"] for name in backbones] for variant in DROPOUT}
    assert table_4 == {
        "last-layer": [0.1, 0.2, 0.05],
        "after-backbone": [0.3, 0.35, 0.15],
        "head": [0.05, 0.1, 0.05],
        "everywhere": [0.05, 0.05, 0.05],
    }
    boxes = {
        title: said for title, said in first.items() if "member" not in title and "ensemble" not in title
    }
    assert {said["learning_rate"] for said in boxes.values()} == {0.0001}
    faster = {title for title, said in boxes.items() if said["box_learning_rate"] == 0.001}
    assert faster == {
        *(f"EfficientNet-B0 {variant}" for variant in DROPOUT),
        *(f"ConvNeXt-Tiny {variant}" for variant in (VANILLA, *DROPOUT)),
    }
    assert {said["neurons"] for said in boxes.values()} == {128}


def test_the_small_evaluation_and_that_of_three_seeds_are_the_same_but_for_the_seeds() -> None:
    small, seeds = (shipped(name) for name in ("uncertainty-small", "uncertainty-seeds"))
    assert len(small) == 6 * 10 + 5
    assert len(seeds) == 3 * len(small)
    assert {cell.label["seed"] for cell in seeds} == {0, 1, 2}

    def said(cell: Any) -> dict[str, Any]:
        values: dict[str, Any] = cell.experiment.model_dump(mode="json", by_alias=True)
        return {key: value for key, value in values.items() if key not in ("name", "description")}

    assert [said(cell) for cell in small] == [said(cell) for cell in seeds if cell.label["seed"] == 0]


@pytest.mark.parametrize("name", ["uncertainty", "uncertainty-small"])
def test_shipped_files_have_all_eight_shifts(name: str) -> None:
    streams = list(dict.fromkeys(cell.label["faultload"] for cell in shipped(name)))
    assert streams == [
        *(NO_FAULT, VALIDATION, "another setup", "real weather"),
        *("light rain", "heavy rain", "light fog", "heavy fog"),
        *("corner cases", "unknown objects"),
    ]
