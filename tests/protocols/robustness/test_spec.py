"""What a robustness evaluation's file asks for, cell by cell; and files that ask for what cannot be."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from farm.campaign.spec import parse_campaign
from farm.cli import main
from farm.config.specs import NO_FAULT
from farm.errors import ExperimentError, FarmError
from farm.protocols.robustness.spec import (
    GANS,
    LEVELS,
    NATURAL,
    STANDARD,
    TRANSFORMATIONS,
    Robustness,
    as_campaign,
)
from tests.protocols.robustness.toys import HERE, written
from tests.wording import refused, same_text

TWO = ["lenet", {"name": "lenet", "as": "wide", "width": 32}]


def asked(**changes: Any) -> dict[str, Any]:
    values = {"name": "r", "protocol": "robustness", "workload": "signs", "classifiers": TWO, **changes}
    return {key: value for key, value in values.items() if value is not ...}


def small(**changes: Any) -> dict[str, Any]:
    """Return what has few cells."""
    return asked(
        **{
            "repetitions": 2,
            "transformations": ["robustness-fog", {"name": "robustness-blur", "as": "soft", "severity": 3}],
            "levels": [1, 4],
            "sets": ["uniform-noise", NATURAL],
            "gans": [{"name": "gan-lee", "as": "lee"}],
            "gan_trainings": 3,
            **changes,
        }
    )


def cells(values: dict[str, Any]) -> list[Any]:
    return parse_campaign(values, "r").cells()


def spec(values: dict[str, Any]) -> Robustness:
    return Robustness.model_validate(values)


def kinds(values: dict[str, Any]) -> Counter[str]:
    """Count cells by what their condition is."""
    conditions = spec(values).conditions
    return Counter(conditions[cell.label["faultload"]].kind for cell in cells(values))


def test_the_defaults_are_the_sources() -> None:
    found = spec(asked())
    assert found.transformation_names == [
        *("noise", "grey", "snow", "rain", "fog"),
        *("perspective", "blur", "rotation", "crop", "reflection"),
    ]
    assert tuple(found.levels) == LEVELS == (1, 2, 3, 4, 5)
    assert (found.repetitions, found.gan_trainings) == (20, 10)
    assert len(found.sets) == 7
    assert len(found.gans) == len(GANS) == 6
    by_kind = Counter(condition.kind for condition in found.conditions.values())
    assert by_kind == {"plain": 1, "transformation": 10, "standard": 7, "pair": 10, "gan": 60}
    groups = {kind: {c.group for c in found.conditions.values() if c.kind == kind} for kind in by_kind}
    assert {kind: len(names) for kind, names in groups.items()} == {
        "plain": 1,
        "transformation": 10,
        "standard": 7,
        "pair": 10,
        "gan": 6,
    }
    assert groups["pair"] == groups["transformation"]
    assert set(TRANSFORMATIONS) <= set(found.conditions)


def test_the_cells_of_the_sources_evaluation() -> None:
    counted = kinds(asked())
    assert counted == {
        "plain": 2 * 20,
        "transformation": 2 * 20 * 10 * 5,
        "standard": 2 * 20 * 7,
        "pair": 2 * 20 * 10,
        "gan": 2 * 20 * 6 * 10,
    }
    assert counted["transformation"] == 2000
    assert counted.total() == 2040 + 40 * (7 + 10 + 60)


def test_each_condition_has_a_stream_of_its_own() -> None:
    values = small()
    conditions = spec(values).conditions
    shares: dict[str, set[float | None]] = {}
    for cell in cells(values):
        kind = conditions[cell.label["faultload"]].kind
        shares.setdefault(kind, set()).add(cell.experiment.stream.ood_share)
        assert cell.experiment.stream.length is None
    assert shares == {
        "plain": {None},
        "transformation": {1.0},
        "standard": {0.5},
        "pair": {0.5},
        "gan": {0.5},
    }


def test_images_is_the_length_of_every_stream() -> None:
    trained = small(images=200, classifiers=["lenet"])
    assert {cell.experiment.stream.length for cell in cells(trained)} == {200}


def test_images_have_no_place_beside_weights_that_are_brought_along(tmp_path: Path) -> None:
    own = {"name": "function", "function": f"{HERE}:anything"}
    with pytest.raises(ExperimentError, match="images is 200, but classifier 'function' brings its weights"):
        as_campaign(small(images=200, classifiers=["lenet", own]), tmp_path)


def test_all_repetitions_have_the_images_of_the_files_seed() -> None:
    found = cells(small(seed=7))
    assert {cell.label["seed"] for cell in found} == {7, 8}
    assert {cell.experiment.seed for cell in found} == {7, 8}
    (workload,) = {cell.experiment.workload.model_dump_json(by_alias=True) for cell in found}
    first = found[0].experiment.workload
    assert (first.name, first.alias) == ("fixed", "signs")
    assert first.parameters == {"of": {"name": "signs"}, "seed": 7}
    assert workload


@pytest.mark.parametrize(
    ("workload", "shown"),
    [
        ({"name": "npz", "path": "x.npz", "title": "btsc"}, "btsc"),
        ({"name": "npz", "path": "x.npz", "title": "btsc", "as": "mine"}, "mine"),
        ({"name": "signs"}, "signs"),
    ],
)
def test_a_workload_keeps_its_title(workload: dict[str, Any], shown: str) -> None:
    assert {cell.label["workload"] for cell in cells(small(workload=workload))} == {shown}


def test_gan_trainings_have_seeds_that_do_not_depend_on_the_repetition() -> None:
    values = small(seed=5, gan={"epochs": 3})
    seeds: dict[str, set[int]] = {}
    for cell in cells(values):
        if cell.label["faultload"].startswith("lee-"):
            (fault,) = cell.experiment.faultload
            assert fault.parameters["epochs"] == 3
            seeds.setdefault(cell.label["faultload"], set()).add(fault.parameters["seed"])
    assert seeds == {"lee-1": {5}, "lee-2": {6}, "lee-3": {7}}


def test_what_a_gan_says_itself_goes_before_what_all_of_them_have() -> None:
    gans = [{"name": "gan-lee", "as": "lee", "epochs": 9}, {"name": "gan-sricharan", "as": "s"}]
    found = {
        cell.label["faultload"]: cell.experiment.faultload[0].parameters["epochs"]
        for cell in cells(small(gans=gans, gan_trainings=1, gan={"epochs": 3}))
        if cell.label["faultload"] in ("lee-1", "s-1")
    }
    assert found == {"lee-1": 9, "s-1": 3}


def test_both_sides_of_a_pair_are_transformed_at_the_highest_level() -> None:
    values = small()
    conditions = spec(values).conditions
    levels = {}
    for cell in cells(values):
        condition = conditions[cell.label["faultload"]]
        if condition.kind != "pair":
            continue
        natural, both = cell.experiment.faultload
        assert (natural.name, natural.both, both.both) == ("novelty", False, True)
        fixed = {"name": "fixed", "as": "photographs", "of": {"name": "photographs"}, "seed": 7}
        assert natural.parameters["workload"] == {**fixed, "seed": spec(values).seed}
        assert both.severity == condition.level
        levels[condition.name] = both.severity
    assert levels == {f"{NATURAL}+fog": 4, f"{NATURAL}+soft": 3}


def test_a_transformation_may_say_its_own_level() -> None:
    levels: dict[str, list[float | None]] = {}
    for cell in cells(small(repetitions=1, classifiers=["lenet"], parts=["classification"])):
        levels.setdefault(cell.label["faultload"], []).append(cell.label["severity"])
    assert levels == {NO_FAULT: [None], "robustness-fog": [1, 4], "soft": [3]}


def test_each_part_may_stand_alone() -> None:
    assert set(kinds(small(parts="classification"))) == {"plain", "transformation"}
    assert set(kinds(small(parts=["ood"]))) == {"standard", "pair", "gan"}
    assert set(kinds(small(pairs=False))) == {"plain", "transformation", "standard", "gan"}
    assert set(kinds(small(gans=[]))) == {"plain", "transformation", "standard", "pair"}
    assert set(kinds(small(sets=[]))) == {"plain", "transformation", "pair", "gan"}


def test_own_transformations_and_sets_are_taken() -> None:
    own = {"name": f"{HERE}:Muddle", "as": "muddle", "severity": 0.5}
    values = small(transformations=[own], natural={"name": "digits", "size": 8}, sets=[NATURAL], gans=[])
    found = {cell.label["faultload"]: cell.experiment.faultload for cell in cells(values)}
    assert [fault.severity for fault in found["muddle"]] == [0.5]
    assert found[NATURAL][0].parameters["workload"]["of"] == {"name": "digits", "size": 8}
    assert {c.name for c in spec(values).conditions.values()} == {
        "none",
        "muddle",
        NATURAL,
        f"{NATURAL}+muddle",
    }


def test_every_cell_has_a_condition_and_each_condition_cells() -> None:
    values = small()
    assert {cell.label["faultload"] for cell in cells(values)} == set(spec(values).conditions)


def test_what_campaigns_understand_goes_through() -> None:
    found = cells(small(batch_size=16, threads=2, pictures="none", certainty={"name": "entropy"}))
    assert {one.experiment.batch_size for one in found} == {16}
    assert {one.experiment.threads for one in found} == {2}
    assert {monitor.name for one in found for monitor in one.experiment.monitors} == {"entropy"}


def test_the_campaign_remembers_what_the_file_said() -> None:
    values = small(description="why")
    made = as_campaign(values, Path())
    assert made["protocol"] == values
    assert made["description"] == "why"
    assert len(STANDARD) == 7


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"sets": ["uniform-noise", "swirled"]}, id="unknown set"),
        pytest.param({"sets": ["uniform-noise", "uniform-noise"]}, id="set twice"),
        pytest.param({"classifiers": ["lenet", "lenet"]}, id="classifier twice"),
        pytest.param({"classifiers": []}, id="no classifier"),
        pytest.param({"classifiers": ...}, id="classifiers missing"),
        pytest.param({"transformations": ["robustness-fog", "robustness-fog"]}, id="transformation twice"),
        pytest.param({"transformations": ["robustness-fog", "fog"]}, id="one name short"),
        pytest.param({"transformations": []}, id="no transformation"),
        pytest.param({"transformations": [{"name": "robustness-fog", "severity": 0}]}, id="severity 0"),
        pytest.param({"transformations": [{"name": "robustness-fog", "severity": [1, 2]}]}, id="severities"),
        pytest.param({"levels": []}, id="no level"),
        pytest.param({"levels": [0, 1]}, id="level 0"),
        pytest.param({"levels": [1, -2]}, id="level below 0"),
        pytest.param({"levels": [1, 1.0]}, id="level twice"),
        pytest.param({"levels": [1, float("nan")]}, id="level no number"),
        pytest.param({"gans": ["gan-lee", "gan-lee"]}, id="gan twice"),
        pytest.param({"gan": {"seed": 3}}, id="seed of all gans"),
        pytest.param({"gan": {"as": "x"}}, id="name of all gans"),
        pytest.param({"gans": [{"name": "gan-lee", "seed": 3}]}, id="seed of a gan"),
        pytest.param({"gan_trainings": 0}, id="no training"),
        pytest.param({"parts": []}, id="no part"),
        pytest.param({"parts": ["clasification"]}, id="unknown part"),
        pytest.param({"parts": "ood", "sets": [], "pairs": False, "gans": []}, id="no ood set"),
        pytest.param({"repetitions": 0}, id="no repetition"),
        pytest.param({"images": 5}, id="few images"),
        pytest.param({"images": 2.5}, id="half an image"),
        pytest.param({"natrual": "digits"}, id="misspelt key"),
        pytest.param({"protocol": "robustnes"}, id="misspelt protocol"),
        pytest.param({"transformations": [{"name": "robustness-fog", "as": "none"}]}, id="named none"),
        pytest.param(
            {"transformations": [{"name": "robustness-fog", "as": "uniform-noise"}]}, id="named like a set"
        ),
        pytest.param({"gans": [{"name": "gan-lee", "as": "fog"}]}, id="gan named like a transformation"),
        pytest.param({"gans": [{"name": "gan-lee", "as": NATURAL}]}, id="gan named like a set"),
        pytest.param(
            {"transformations": [{"name": "robustness-fog", "as": "lee-2"}]}, id="named like a training"
        ),
    ],
)
def test_what_makes_no_evaluation_is_told(changes: dict[str, Any]) -> None:
    with refused(FarmError) as caught:
        parse_campaign(small(**changes), "r").cells()
    assert caught.value.exit_code == 2  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"transformations": ["robustness-fgo"]}, id="unknown transformation"),
        pytest.param({"levels": [1, 9]}, id="level above all"),
        pytest.param({"certainty": "max-softmx"}, id="unknown certainty"),
    ],
)
def test_what_no_component_can_is_told_before_anything_runs(
    changes: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, small(workload="digits", classifiers=["lenet"], **changes))
    assert main(["run", str(file), "--out", str(tmp_path / "out")]) == 2
    same_text(capsys.readouterr().err)
    assert not list((tmp_path / "out").rglob("*"))


def test_criteria_are_read_before_anything_runs(tmp_path: Path) -> None:
    said = {"name": "made", "protocol": "robustness", "workload": "digits", "classifiers": ["cnn"]}
    (tmp_path / "bad.yaml").write_text("criteria: [classifier_acuracy >= 0.8]\n", encoding="utf-8")
    for name, part in (("bad.yaml", "classifier_acuracy"), ("none.yaml", "neither a file nor shipped")):
        with pytest.raises(ExperimentError, match=part):
            as_campaign({**said, "criteria": name}, tmp_path)
