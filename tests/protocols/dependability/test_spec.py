"""What a dependability evaluation's file asks for, cell by cell; and files that ask for what cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from farm.campaign.spec import parse_campaign
from farm.cli import main
from farm.config.specs import NO_FAULT
from farm.errors import ExperimentError, FarmError
from farm.protocols.dependability.kinds import METRICS
from farm.protocols.dependability.results import Results
from farm.protocols.dependability.spec import TRAINING, Dependability, as_campaign
from tests.protocols.dependability.toys import FADE, HERE, UNITS, dependability, run, written
from tests.wording import refused, same_text

NUDGE = {"name": f"{HERE}:Nudge", "as": "nudge"}
NOVELTY = {"name": "novelty", "workload": "signs-abroad"}


def cells(**changes: Any) -> dict[str, Any]:
    """Return the experiment of each stream by its name."""
    found = parse_campaign(dependability(severities=..., **changes), "toy").cells()
    assert len({cell.label["faultload"] for cell in found}) == len(found)
    return {cell.label["faultload"]: cell.experiment for cell in found}


def fault(experiment: Any) -> Any:
    (one,) = experiment.faultload
    return one


def test_each_kind_of_data_and_each_fault_is_a_stream() -> None:
    found = cells(faults=[NOVELTY])
    assert list(found) == [NO_FAULT, TRAINING, "fade", "glare", "novelty"]
    assert [one.stream.split for one in found.values()] == ["test", "train", "test", "test", "test"]
    assert [one.stream.ood_share for one in found.values()] == [None, None, 1.0, 1.0, 1.0]
    assert {one.stream.order.name for one in found.values()} == {"sequential"}
    shuffled = cells(performance={})
    assert {one.stream.order.name for one in shuffled.values()} == {"shuffled"}


def test_what_is_kept_is_what_metrics_look_at() -> None:
    found = cells()
    layers = ["max of units?", "max of maps?"]
    assert [list(one.layers) for one in found.values()] == [layers, layers, [], []]
    asked = found[NO_FAULT].occlusion
    assert (asked.images, asked.window, asked.stride, asked.fill) == (100, 2, 1, 0.5)
    assert [one.occlusion for one in found.values()][1:] == [None] * 3


def test_a_metric_that_is_not_asked_for_makes_no_stream() -> None:
    assert list(cells(metrics="weighted_confusion", faults=[NOVELTY])) == [NO_FAULT, "novelty"]
    only = cells(metrics=["weighted_confusion"])[NO_FAULT]
    assert (list(only.layers), only.occlusion) == ([], None)
    assert list(cells(metrics="scenario_coverage")) == [NO_FAULT, TRAINING]
    assert cells(metrics="scenario_coverage")[TRAINING].layers == []
    assert list(cells(data="test", metrics=["scenario_coverage", "neuron_pattern"])) == [NO_FAULT]
    assert cells(metrics="occlusion_covering")[NO_FAULT].occlusion is not None


def test_what_has_levels_is_put_at_the_one_severity_of_all() -> None:
    own = {**FADE, "as": "own", "severity": 2}
    found = cells(loss={"transformers": [FADE, own], "severity": 1.5})
    assert (fault(found["fade"]).severity, fault(found["own"]).severity) == (1.5, 2)


def test_attacks_move_a_pixel_by_a_hundredth_for_each_level() -> None:
    own = {**NUDGE, "as": "own", "eps": 0.2}
    found = cells(loss={"transformers": [NUDGE, own, "fgsm", "deepfool"], "severity": 3})
    eps = {name: fault(found[name]).parameters["eps"] for name in ("nudge", "own", "fgsm", "deepfool")}
    assert eps == {"nudge": 0.03, "own": 0.2, "fgsm": 0.03, "deepfool": 0.03}
    assert all(fault(found[name]).severity is None for name in eps)


def test_faults_beside_the_transformers_stay_as_they_are_written() -> None:
    splash = {"name": f"{HERE}:Splash", "as": "splash"}
    found = cells(faults=[splash, {**FADE, "as": "other", "severity": 5}], loss={"images": 30})
    assert (fault(found["splash"]).severity, fault(found["splash"]).parameters) == (None, {})
    assert fault(found["other"]).severity == 5
    assert (found["fog"].stream.length, found["splash"].stream.length) == (30, None)


def test_nobody_is_judged_where_the_network_learned() -> None:
    found = cells(monitors=["max-softmax", {"name": "max-softmax", "as": "second"}])
    names = {name: [one.alias or one.name for one in each.monitors] for name, each in found.items()}
    judged = ["max-softmax", "second", "never"]
    assert names == {NO_FAULT: judged, TRAINING: ["never"], "fade": judged, "glare": judged}


@pytest.mark.parametrize(
    ("monitors", "judged"),
    [([], ["never"]), (["never"], ["never"]), ([{"name": "never", "as": "quiet"}], ["quiet", "never"])],
)
def test_the_yardstick_is_in_each_stream_and_once(monitors: list[Any], judged: list[str]) -> None:
    found = cells(monitors=monitors)
    assert [one.alias or one.name for one in found["fade"].monitors] == judged
    assert [one.alias or one.name for one in found[TRAINING].monitors] == ["never"]


def test_what_campaigns_understand_goes_through() -> None:
    found = cells(batch_size=16, threads=2, seed=7)
    assert {(one.batch_size, one.threads, one.seed) for one in found.values()} == {(16, 2, 7)}


def test_the_campaign_remembers_what_the_file_said(tmp_path: Path) -> None:
    values = dependability(description="why")
    written(tmp_path, values)
    made = as_campaign(values, tmp_path)
    assert made["protocol"] == values
    assert made["description"] == "why"


def test_the_defaults_are_the_sources() -> None:
    said = {"name": "d", "protocol": "dependability", "workload": "signs", "classifier": "lenet"}
    found = Dependability.model_validate(said)
    assert list(found.metrics) == list(METRICS)
    assert (found.data, found.scenarios.k, found.neurons.k) == (["train"], [2], [1, 2])
    assert found.transformer_names == ["rotation", "elastic-transform", "fog", "rain", "fgsm", "deepfool"]
    assert found.neurons.threshold == 0


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"metrics": "scenario_coverag"}, id="unknown metric"),
        pytest.param({"metrics": ["scenario", "scenario"]}, id="metric twice"),
        pytest.param({"metrics": []}, id="no metric"),
        pytest.param({"data": "tests"}, id="unknown data"),
        pytest.param({"data": ["train", "train"]}, id="data twice"),
        pytest.param({"performance": {"measures": "residual_hazrd"}}, id="unknown measure"),
        pytest.param({"performance": {"measures": ["auroc", "auroc"]}}, id="measure twice"),
        pytest.param({"performance": {"frame_rate": 10}}, id="frame rate without an order"),
        pytest.param({"performance": {"ordered": True, "frame_rate": 0}}, id="frame rate 0"),
        pytest.param({"scenarios": {"k": 0}}, id="scenarios of 0 conditions"),
        pytest.param({"scenarios": {"k": [2, 2]}}, id="k of scenarios twice"),
        pytest.param({"scenarios": {"by": ["light", "light"]}}, id="condition twice"),
        pytest.param({"scenarios": {"rare": 1}}, id="all rare"),
        pytest.param({"scenarios": {"next": -1}}, id="less than nothing next"),
        pytest.param({"scenarios": {"seconds": 0}}, id="no time to plan"),
        pytest.param({"neurons": {"k": 0}}, id="no neuron"),
        pytest.param({"neurons": {"k": [1, 4]}}, id="four neurons"),
        pytest.param({"neurons": {"k": [1, 1]}}, id="k of neurons twice"),
        pytest.param({"neurons": {"layers": ["units", "units"]}}, id="layer twice"),
        pytest.param({"neurons": {"layers": []}}, id="no layer"),
        pytest.param({"neurons": {"groups": 0}}, id="no group"),
        pytest.param({"loss": {"transformers": [FADE, FADE]}}, id="transformer twice"),
        pytest.param({"faults": [FADE]}, id="a fault like a transformer"),
        pytest.param({"faults": [{**FADE, "as": NO_FAULT}]}, id="a fault called none"),
        pytest.param({"faults": [{**FADE, "as": TRAINING}]}, id="a fault called like the training data"),
        pytest.param({"loss": {"transformers": [{**FADE, "as": "mean"}]}}, id="a transformer called mean"),
        pytest.param({"loss": {"transformers": []}}, id="no transformer"),
        pytest.param({"loss": {"transformers": ["fgo"]}}, id="unknown transformer"),
        pytest.param({"loss": {"transformers": [{**FADE, "severity": [1, 2]}]}}, id="two severities"),
        pytest.param({"loss": {"severity": 0}}, id="severity 0"),
        pytest.param({"loss": {"images": 0}}, id="no image"),
        pytest.param({"occlusion": {"rho": 1}}, id="rho 1"),
        pytest.param({"occlusion": {"window": 0}}, id="no patch"),
        pytest.param({"severities": "none.yaml"}, id="severities not there"),
        pytest.param({"criteria": "none.yaml"}, id="criteria not there"),
        pytest.param({"scenarios": {"domain": "none.yaml"}}, id="domain not there"),
        pytest.param({"scenarios": {"domain": {"conditions": {"light": []}}}}, id="empty condition"),
        pytest.param({"workloads": ["digits"]}, id="misspelt key"),
        pytest.param({"protocol": "dependabilty"}, id="misspelt protocol"),
        pytest.param({"classifier": ...}, id="no classifier"),
        pytest.param({"classifier": ["lenet", "cnn"]}, id="two classifiers"),
        pytest.param({"monitors": ["max-softmax", "max-softmax"]}, id="monitor twice"),
    ],
)
def test_what_makes_no_evaluation_is_told(changes: dict[str, Any], tmp_path: Path) -> None:
    written(tmp_path, dependability())
    with refused(FarmError) as caught:
        parse_campaign(as_campaign(dependability(**changes), tmp_path), "toy").cells()
    assert caught.value.exit_code == 2  # type: ignore[attr-defined]


CONDITIONS = {"weather": ["dry", "wet"], "light": ["day", "night"]}


def test_restrictions_that_contradict_each_other_are_told_before_anything_runs(tmp_path: Path) -> None:
    rules = [{"at_least": 1, "of": ["weather=wet"]}, {"at_most": 0, "of": ["weather=wet", "light=day"]}]
    rules += [{"at_most": 1, "of": ["light=night"]}]
    domain = {"conditions": CONDITIONS, "restrictions": rules}
    with refused(ExperimentError):
        as_campaign(dependability(severities=..., scenarios={"domain": domain}), tmp_path)


def test_criteria_and_severities_are_read_before_anything_runs(tmp_path: Path) -> None:
    for name in ("criteria", "severities"):
        (tmp_path / "bad.yaml").write_text("criteria: [\nweights: {\n", "utf-8")
        with refused(ExperimentError):
            as_campaign(dependability(**{"severities": ..., name: "bad.yaml"}), tmp_path)
    (tmp_path / "bad.yaml").write_text("criteria: [scenario_coverag >= 1 on part:x]\n", "utf-8")
    with refused(ExperimentError):
        as_campaign(dependability(severities=..., criteria="bad.yaml"), tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"loss": {"severity": 9, "transformers": [FADE]}}, id="a severity above all"),
        pytest.param({"monitors": ["max-softmx"]}, id="unknown monitor"),
        pytest.param({"faults": ["novelty"]}, id="a fault without what it needs"),
    ],
)
def test_what_no_component_can_is_told_before_anything_runs(
    changes: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, **changes) == 2
    same_text(capsys.readouterr().err)
    assert not list((tmp_path / "out").rglob("*"))


# What only the data show ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def few() -> dict[str, Any]:
    """Return what the data are asked for least."""
    return {"metrics": ["scenario_coverage", "scenario", "weighted_confusion", "neuron_pattern"]}


@pytest.mark.parametrize(
    "scenarios",
    [
        pytest.param({"by": "wether"}, id="a condition that is none of the domain's"),
        pytest.param({"domain": {"conditions": {**CONDITIONS, "fog": ["no"]}}}, id="one the images lack"),
        pytest.param({"domain": {"conditions": {"weather": ["wet", "damp"]}}}, id="a value outside"),
        pytest.param({"domain": {"conditions": {"speed": ["..20", "30.."]}}}, id="a number outside"),
        pytest.param(
            {"domain": {"conditions": CONDITIONS, "restrictions": [
                {"at_most": 1, "of": ["weather=wet", "weather=dry"]},
                {"at_most": 1, "of": ["weather=wet", "light=night"]},
            ]}},
            id="a broken restriction",
        ),
    ],
)  # fmt: skip
def test_scenarios_that_do_not_fit_the_images_are_named(
    scenarios: dict[str, Any], few: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, **few, scenarios=scenarios) == 1
    told = capsys.readouterr().err.strip().splitlines()
    assert all(line.startswith("farm: failed: ") for line in told[-1:]), "one line, and no traceback"
    same_text("\n".join(line for line in told if line.startswith("farm: ")))
    # What needs no scenarios stands.
    frame = Results.of(tmp_path / "out").frame
    assert frame[frame["metric"] == "weighted_confusion"]["value"].notna().all()
    assert frame["value"].isna().any()


def test_a_severity_matrix_that_lacks_a_class_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.yaml").write_text("weights: {dark: {dim: 4}}\n", encoding="utf-8")
    assert run(tmp_path, metrics="weighted_confusion", severities="own.yaml") == 1
    same_text(capsys.readouterr().err.strip().splitlines()[-1])
    (tmp_path / "own.yaml").write_text("weights: {dark: {bright: 4}}\n", encoding="utf-8")
    assert main(["compare", str(tmp_path / "out")]) == 0
    assert "'bright' is taken for 'dark'" in " ".join(capsys.readouterr().out.split())


def test_more_neurons_than_the_layer_has_are_named_and_the_others_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = {"layers": "pair", "k": [1, 2, 3], "groups": UNITS + 1}
    metrics = ["neuron_activation", "neuron_pattern"]
    assert run(tmp_path, metrics=metrics, data="test", neurons=few) == 0
    assert main(["compare", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().out
    same_text(told[told.index("Neuron k-activation\n") :])
