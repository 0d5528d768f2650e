"""What guides tell to write and to type is what farm takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from farm import registry
from farm.api.guarantees import GUARANTEES as GUARANTEES_KNOWN
from farm.cli import _parser, main
from farm.config.experiment import parse_experiment
from farm.config.files import EXPERIMENTS
from farm.config.scenario_domain import parse_domain
from farm.config.severity_matrix import load_severities, parse_severities
from farm.config.specs import CalibrationSpec
from farm.gate.criteria_file import parse_criteria
from farm.measures.cost import Costs
from farm.protocols.dependability.spec import Dependability
from farm.protocols.robustness.spec import Robustness
from farm.protocols.uncertainty.asked import VARIANTS, Uncertainty
from farm.store.logs import read_log
from farm.tuning.spec import parse_tuning
from farm.workloads.crops.class_map import parse_class_map
from tests.wording import same_text

GUIDES = Path(__file__).resolve().parent.parent / "docs" / "guides"
CI = (GUIDES / "continuous-integration.md").read_text(encoding="utf-8")
FIRST = (GUIDES / "first-look.md").read_text(encoding="utf-8")
GUARANTEES = (GUIDES / "guarantees.md").read_text(encoding="utf-8")
CROPS = (GUIDES / "crops.md").read_text(encoding="utf-8")
LOGS = (GUIDES / "logs.md").read_text(encoding="utf-8")
SCENARIOS = (GUIDES / "scenarios.md").read_text(encoding="utf-8")
SYSTEMS = (GUIDES / "systems.md").read_text(encoding="utf-8")
TUNING = (GUIDES / "tuning.md").read_text(encoding="utf-8")
UNCERTAINTY = (GUIDES / "uncertainty.md").read_text(encoding="utf-8")
DEPENDABILITY = (GUIDES / "dependability.md").read_text(encoding="utf-8")
STREAM_MONITORS = (GUIDES / "stream-monitors.md").read_text(encoding="utf-8")
ROBUSTNESS = (GUIDES / "robustness.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    return [block for name, block in fenced if name == language]


def commands(text: str) -> list[list[str]]:
    """Return each `farm ...` in a block or between backquotes, without what a shell makes of it."""
    found = re.findall(r"(?:^[\s-]*(?:run: )?|`)(farm [a-z][^\n`]*)", text, flags=re.MULTILINE)
    return [re.split(r" \|\| | > | # ", one)[0].split()[1:] for one in found]


def values(text: str) -> dict:
    """Return what a block says; it is the only one that has this text in it."""
    (block,) = (one for one in blocks(CI, "yaml") if text in one)
    found = yaml.safe_load(block)
    assert isinstance(found, dict)
    return found


def test_the_experiment_is_one() -> None:
    names = [spec.name for spec in parse_experiment(values("workload:"), "guide").monitors]
    assert names == ["max-softmax", "knn"]


def test_the_classes_of_cut_outs_are_a_mapping() -> None:
    mapping, workload = blocks(CROPS, "yaml")
    classes = parse_class_map(yaml.safe_load(mapping), "guide")
    asked = _parser().parse_args(commands(blocks(CROPS, "")[0])[0])
    assert set(asked.keep_occluded.split(",")) <= set(classes.classes)
    assert [path.partition("=")[0] for path in asked.annotations] == ["train+validation", "test"]
    assert len(asked.images) == len(asked.annotations)
    assert (
        parse_experiment({**values("workload:"), **yaml.safe_load(workload)}, "guide").workload.name
        == "table"
    )


def test_the_domain_of_scenarios_is_one() -> None:
    (block,) = blocks(SCENARIOS, "yaml")
    domain = parse_domain(yaml.safe_load(block), "guide")
    asked = _parser().parse_args(*commands(SCENARIOS)[-1:])
    assert (len(domain.names), len(domain.restrictions), asked.k, asked.next) == (3, 1, 2, 3)


def test_the_criteria_are_some() -> None:
    found = parse_criteria(values("criteria:\n"), GUIDES / "criteria.yaml")
    assert len(found.criteria) == 5


@pytest.mark.parametrize("name", ["jobs:", "allow_failure:"])
def test_the_jobs_run_and_check(name: str) -> None:
    text = yaml.dump(values(name), width=1000)
    same_text(text)
    assert "FARM_CACHE" in text


@pytest.mark.parametrize(
    ("guide", "named"),
    [
        (CI, {"run", "check", "baseline", "cache", "plan"}),
        (FIRST, {"try", "run"}),
        (LOGS, {"judge", "check", "plan", "inspect"}),
        (ROBUSTNESS, {"run", "check"}),
        (DEPENDABILITY, {"run", "check", "judge"}),
        (GUARANTEES, {"plan", "run", "compare", "check", "stream", "judge"}),
        (STREAM_MONITORS, {"inspect", "compare"}),
        (SYSTEMS, {"compare", "inspect"}),
        (TUNING, {"tune"}),
        (UNCERTAINTY, {"run"}),
    ],
    ids=[
        "continuous integration",
        "first look",
        "logs",
        "robustness",
        "dependability",
        "guarantees",
        "stream monitors",
        "systems",
        "tuning",
        "uncertainty",
    ],
)
def test_every_command_is_one_that_farm_takes(capsys, guide, named) -> None:
    # What is but named, such as `farm check`, is left out.
    found = [one for one in commands(guide) if len(one) > 2 or any(word.startswith("-") for word in one)]
    assert {one[0] for one in found} == named
    for arguments in found:
        try:
            _parser().parse_args(arguments)
        except SystemExit:
            pytest.fail(f"farm {' '.join(arguments)}: {capsys.readouterr().err}")


def test_the_robustness_evaluation_is_one_and_its_criteria_are_some() -> None:
    evaluation, criteria = (yaml.safe_load(block) for block in blocks(ROBUSTNESS, "yaml"))
    conditions = Robustness.model_validate(evaluation).conditions.values()
    assert sum(one.part == "ood" for one in conditions) == 17
    assert len(parse_criteria(criteria, GUIDES / "approval.yaml").criteria) == 5


def test_the_dependability_evaluation_is_one_with_its_severities_and_criteria() -> None:
    evaluation, severities, criteria = (yaml.safe_load(block) for block in blocks(DEPENDABILITY, "yaml"))
    assert Dependability.model_validate(evaluation).asks("weighted_confusion")
    classes = ["pedestrian", "vehicle", "background"]
    traffic = load_severities(EXPERIMENTS / "severities" / "traffic.yaml", classes)
    assert (parse_severities(severities, classes, "own.yaml").weights == traffic.weights).all()
    assert len(parse_criteria(criteria, GUIDES / "dependability.yaml").criteria) == 5


def test_the_evaluation_of_uncertainty_is_one() -> None:
    (block,) = blocks(UNCERTAINTY, "yaml")
    spec = Uncertainty.model_validate(yaml.safe_load(block))
    assert spec.shift_names == ["light rain", "heavy rain", "snow", "strangers"]
    assert spec.is_merged("snow")
    told = set(re.findall(r"^\| `([a-z-]+)` \|", UNCERTAINTY, flags=re.MULTILINE))
    assert told == set(VARIANTS)


def test_the_systems_are_those_that_are_shipped_and_their_prices_are_some() -> None:
    experiment, prices = (yaml.safe_load(block) for block in blocks(SYSTEMS, "yaml"))
    shipped = yaml.safe_load((EXPERIMENTS / "systems.yaml").read_text(encoding="utf-8"))
    assert {**experiment, "monitors": [*experiment["monitors"], "never"]}.items() <= shipped.items()
    assert Costs.of(prices).cancelled_right == 2


def test_the_search_is_one() -> None:
    (block,) = blocks(TUNING, "yaml")
    tuning = parse_tuning({"name": "guide", **yaml.safe_load(block)}, "guide")
    assert [list(step.search) for step in tuning.steps.values()] == [
        ["classifier_nll"],
        ["classifier_nll", "box_nll"],
    ]


def test_the_stream_monitors_are_some_and_so_are_the_policies() -> None:
    (block,) = blocks(STREAM_MONITORS, "yaml")
    experiment = parse_experiment(yaml.safe_load(block), "guide")
    for spec in experiment.monitors:
        assert spec.make("monitor").needs.order == (spec.name not in ("max-softmax", "energy"))
    assert experiment.monitors[-1].policy.make("policy").name == "cusum"
    told = set(re.findall(r"^\| `([a-z-]+)` \| [a-z]", STREAM_MONITORS, flags=re.MULTILINE))
    assert told == {"cusum", "ewma", "page-hinkley", "adwin", "martingale", "drift-mmd"}
    margins = yaml.safe_load(re.search(r"`(margins: [^`]*)`", STREAM_MONITORS)[1])
    for name in told - {"martingale", "drift-mmd"}:
        assert registry.policy(name, **margins, limit=5.0).limit == 5.0


def test_promises_are_rules_that_experiments_take(capsys) -> None:
    (block,) = blocks(GUARANTEES, "yaml")
    experiment = parse_experiment(yaml.safe_load(block), "guide")
    methods = [experiment.calibration.method, experiment.monitors[-1].calibration.method]
    assert methods == ["bounded", "risk"]
    told = re.findall(r"^\| `(\{method: [^`]*)` \|", GUARANTEES, flags=re.MULTILINE)
    rules = [CalibrationSpec.model_validate(yaml.safe_load(one)).rule() for one in told]
    assert [rule.method for rule in rules] == list(GUARANTEES_KNOWN)
    for asked in commands(GUARANTEES)[:2]:
        assert main(asked) == 0
    assert " ".join(capsys.readouterr().out.split()).endswith(" ".join(blocks(GUARANTEES, "")[1].split()))


def test_the_gate_for_logs_is_one() -> None:
    (block,) = blocks(LOGS, "yaml")
    found = parse_criteria(yaml.safe_load(block), GUIDES / "gate.yaml")
    assert found.reference == str(GUIDES / "may.csv")
    assert [one.measure for one in found.criteria] == ["alarm_rate", "drift"]


def test_the_log_is_one(tmp_path) -> None:
    (block,) = (block for block in blocks(LOGS, "") if block.startswith("timestamp"))
    (tmp_path / "june.csv").write_text(block)
    read = read_log(tmp_path / "june.csv", ["weather"])
    assert read.run["log"]["ignored_columns"] == ["speed"]
    assert len(read.instances) == 2
