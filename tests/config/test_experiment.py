"""Experiments: every mistake is told by its key, its value and the rule, before anything runs."""

from __future__ import annotations

import json
import re

import pytest

from farm import registry
from farm.api import CalibrationRule
from farm.config.experiment import (
    CalibrationSpec,
    ComponentSpec,
    MonitorSpec,
    parse_experiment,
    resolved,
    rule_for,
)
from farm.config.files import EXPERIMENTS, find_experiment
from farm.errors import ExperimentError, ParameterError, UnknownNameError, UserError
from farm.run.loading import load_experiment
from farm.testing.fakes import FakeMonitor, TinyModel, TinySource
from tests.wording import refused

GOOD = {"name": "x", "workload": "signs", "classifier": "lenet", "monitors": ["oob"]}


def parse(**changes):
    values = {key: value for key, value in (GOOD | changes).items() if value is not ...}
    return parse_experiment(values, "x.yaml")


def write(tmp_path, text, name="mine.yaml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_defaults_fill_what_is_not_said():
    experiment = parse()
    assert (experiment.seed, experiment.batch_size, experiment.threads) == (0, 64, 1)
    assert (experiment.stream.order.name, experiment.calibration.accept) == ("shuffled", 0.95)
    assert experiment.faultload == []
    assert (experiment.policy.name, experiment.fallback.name) == ("cancel", "none")
    assert experiment.pictures == 6
    assert experiment.monitors[0].policy is experiment.monitors[0].fallback is None


@pytest.mark.parametrize("pictures", ["none", 1, 50])
def test_a_number_of_pictures_or_none_is_kept_as_it_is_said(pictures):
    experiment = parse(pictures=pictures)
    assert experiment.pictures == pictures
    values = experiment.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert parse_experiment(values, "again").pictures == pictures


def test_without_being_asked_for_there_is_no_occlusion_and_no_word_of_it():
    assert parse().occlusion is parse(occlusion=None).occlusion is None
    assert "occlusion" not in parse().model_dump(mode="json", by_alias=True, exclude_none=True)


@pytest.mark.parametrize("fill", ["mean", "black", "white", 0, 0.25, 1])
def test_what_is_said_of_occlusion_is_kept_and_the_rest_is_filled_in(fill):
    asked = parse(occlusion={"fill": fill, "stride": 3}).occlusion
    assert asked.model_dump() == {"images": 40, "window": 8, "stride": 3, "fill": fill}
    assert parse(occlusion=asked.model_dump(mode="json")).occlusion == asked


def test_every_other_key_of_a_component_is_its_parameter():
    experiment = parse(monitors=[{"name": "oob", "as": "two", "tau": 0.1, "neurons": [1, 2]}])
    (spec,) = experiment.monitors
    assert (spec.name, spec.alias, spec.parameters) == ("oob", "two", {"tau": 0.1, "neurons": [1, 2]})


def test_severity_calibration_policy_and_fallback_are_not_parameters():
    policy = {"name": "m-of-n", "m": 2, "n": 5}
    experiment = parse(
        faultload={"name": "novelty", "severity": 2.0, "workload": "digits"},
        monitors=[
            {"name": "odin", "calibration": {"accept": 0.9}, "policy": policy, "fallback": "last"},
        ],
    )
    assert experiment.monitors[0].policy.parameters == {"m": 2, "n": 5}
    assert experiment.monitors[0].fallback.name == "last"
    assert experiment.faultload[0].parameters == {"workload": "digits"}
    assert experiment.monitors[0].parameters == {}
    assert experiment.monitors[0].calibration.rule().accept == 0.9


@pytest.mark.parametrize(
    "changes",
    [
        {"strem": {}},
        {"stream": {"ood_shar": 0.1}},
        {"calibration": {"acept": 0.9}},
        {"monitors": ["odin", {"name": "oob", "calibration": {"acept": 0.9}}]},
        {"workload": ...},
        {"monitors": ["odin", {"tau": 1}]},
        {"monitors": ["oob", "oob"]},
        {"monitors": ["odin", {"name": "oob", "as": "odin"}]},
        {"monitors": ["oob", "oracle"]},
        {"monitors": [{"name": "oob", "as": "oracle"}]},
        {"monitors": []},
        {"monitors": "oob"},
        {"seed": "x"},
        {"seed": "3"},
        {"seed": True},
        {"seed": 1.0},
        {"seed": -1},
        {"seed": None},
        {"batch_size": 0},
        {"threads": 0},
        {"stream": {"length": 2.5}},
        {"stream": {"ood_share": "half"}},
        {"stream": {"order": 3}},
        {"calibration": {"accept": True}},
        {"layers": [1]},
        {"description": 3},
        {"workload": 3},
        {"name": "a b"},
        {"name": "../up"},
        {"faultload": {"name": "novelty", "severity": "strong"}},
        {"faultload": "novelty", "stream": {"benchmark": "set"}},
        {"faultload": {"name": "fog", "severity": 3, "coherence": "frame"}},
        {"faultload": {"name": "fog", "severity": 3, "coherence": "track", "drift": 5}},
        {"faultload": {"name": "fog", "severity": 3, "coherence": "drifting", "drift": 0}},
        {"stream": {"frame_rate": 0}},
        {"occlusion": {"images": 0}},
        {"occlusion": {"images": 1001}},
        {"occlusion": {"window": 0}},
        {"occlusion": {"window": 2.5}},
        {"occlusion": {"stride": True}},
        {"occlusion": {"fill": "grey"}},
        {"occlusion": {"fill": 1.5}},
        {"occlusion": {"fill": True}},
        {"occlusion": {"size": 8}},
        {"occlusion": 8},
        {"readouts": {"probabilities": 1}},
        {"readouts": {"layers": ["fc"]}},
    ],
)
def test_a_mistake_is_told_with_the_file_its_key_and_the_rule(changes):
    with refused(ExperimentError) as caught:
        parse(**changes)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("nothing", [None, "none", []])
def test_a_stream_may_have_no_fault(nothing):
    assert parse(faultload=nothing).faultload == []


@pytest.mark.parametrize(
    "other", [{"ood_share": 0.2}, {"length": 10}, {"order": "shuffled"}, {"order": "sequential"}]
)
def test_a_benchmark_is_a_stream_already(other):
    with refused(ExperimentError):
        parse(stream={"benchmark": "set", **other})
    assert parse(stream={"benchmark": "set"}).stream.benchmark == "set"


@pytest.mark.parametrize(
    "stream",
    [
        {"order": {"name": "onset", "at": 3}, "ood_share": 0.5},
        {"length": "endless"},
        {"length": "long"},
    ],
)
def test_a_stream_that_contradicts_itself_is_told(stream):
    with refused(ExperimentError):
        parse(stream=stream)


@pytest.mark.parametrize("method", ["id-extreme", "fixed"])
def test_an_acceptance_that_the_method_would_not_use_is_refused(method):
    threshold = {"threshold": 1.0} if method == "fixed" else {}
    with refused(ExperimentError):
        parse(calibration={"method": method, "accept": 0.9, **threshold}).calibration.rule()
    assert parse(calibration={"method": method, **threshold}).calibration.rule().method == method


@pytest.mark.parametrize("method", ["id-quantile", "per-class"])
def test_an_acceptance_that_the_method_uses_is_taken(method):
    assert parse(calibration={"method": method, "accept": 0.9}).calibration.rule().accept == 0.9


@pytest.mark.parametrize(
    ("named", "threshold"),
    [({"name": "oob", "tau": 0.25}, "0.25"), ("never", "1"), ("always", "-1"), ({"name": "random"}, "0.95")],
)
def test_a_calibration_beside_a_threshold_of_the_methods_own_is_refused(named, threshold):
    monitor = ComponentSpec.model_validate(named).make("monitor")
    default = CalibrationRule(accept=0.9)
    assert rule_for(monitor, None, default) is default
    with refused(ExperimentError):
        rule_for(monitor, CalibrationSpec(accept=0.8), default)


def test_a_monitors_own_calibration_goes_before_that_of_the_experiment():
    monitor = ComponentSpec.model_validate("oob").make("monitor")
    assert rule_for(monitor, CalibrationSpec(accept=0.8), CalibrationRule(accept=0.9)).accept == 0.8


def test_alias_is_no_second_spelling_of_as():
    (spec,) = parse(monitors=[{"name": "oob", "alias": "two"}]).monitors
    assert spec.alias is None
    with refused(ParameterError):
        spec.make("monitor")


def test_a_misspelt_key_beside_parameters_gets_a_suggestion():
    (spec,) = parse(monitors=[{"name": "oob", "calibratoin": {"accept": 0.9}}]).monitors
    with refused(ParameterError):
        spec.make("monitor")
    (spec,) = parse(monitors=[{"name": "oob", "polcy": "latching"}]).monitors
    with refused(ParameterError):
        spec.make("monitor")
    fault = parse(faultload={"name": "novelty", "workload": "digits", "severty": 2}).faultload[0]
    with refused(ParameterError):
        fault.make("faultload")


def test_all_mistakes_are_told_at_once():
    with refused(ExperimentError):
        parse(seed="x", batch_size=0)


@pytest.mark.parametrize("severity", [True, "3"])
def test_a_severity_is_a_number(severity):
    with refused(ExperimentError):
        parse(faultload={"name": "novelty", "severity": severity})


@pytest.mark.parametrize("item", [{"tau": 1}, {"name": "oob", "calibration": {"acept": 0.9}}])
def test_a_mistake_in_a_list_is_told_once(item):
    with pytest.raises(ExperimentError) as caught:
        parse(monitors=[item])
    assert ";" not in str(caught.value).replace("; did you mean", "")


@pytest.mark.parametrize(
    "changes",
    [{"monitors": "oob"}, {"monitors": []}, {"workload": 3}, {"workload": ["signs"]}, {"layers": "fc"}],
)
def test_messages_speak_of_yaml_not_of_python(changes):
    with pytest.raises(ExperimentError) as caught:
        parse(**changes)
    assert not re.search(r"[Tt]uple|dictionary|instance of|Spec", str(caught.value))


# Files -------------------------------------------------------------------------------------------------

MINIMAL = "workload: signs\nclassifier: lenet\nmonitors: [oob]\n"


def test_an_experiment_is_named_after_its_file_and_knows_its_folder(tmp_path):
    experiment, folder = load_experiment(write(tmp_path, MINIMAL))
    assert experiment.name == "mine"
    assert folder == tmp_path


@pytest.mark.parametrize(
    ("file", "name"),
    [("my signs (2).yaml", "my-signs-2-"), ("ca\u00f1on.yaml", "ca-on"), ("a_b-c.1.yml", "a_b-c.1")],
)
def test_a_name_made_of_the_files_has_none_but_plain_characters(tmp_path, file, name):
    assert load_experiment(write(tmp_path, MINIMAL, file))[0].name == name


def test_a_name_of_its_own_is_never_changed(tmp_path):
    assert load_experiment(write(tmp_path, MINIMAL + "name: x.1\n", "a b.yaml"))[0].name == "x.1"
    with refused(ExperimentError):
        load_experiment(write(tmp_path, MINIMAL + "name: a b\n", "a b.yaml"))


def test_the_command_line_wins_over_the_file(tmp_path):
    where = write(tmp_path, MINIMAL + "seed: 1\n")
    settings = ["seed=2", "monitors.0.tau=1e-3", "stream.ood_share=0.25"]
    experiment, _ = load_experiment(where, settings)
    assert experiment.seed == 2
    assert experiment.monitors[0].parameters == {"tau": 0.001}
    assert experiment.stream.ood_share == 0.25


def test_a_wrong_setting_is_told_like_a_wrong_file(tmp_path):
    with refused(ExperimentError):
        load_experiment(write(tmp_path, MINIMAL), ["stream.lenght=3"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- a\n- b\n",
        "workload: [signs\n",
        MINIMAL + "seed: 1\nseed: 2\n",
    ],
)
def test_a_file_that_holds_no_experiment_is_told(tmp_path, text):
    where = write(tmp_path, text)
    with refused(ExperimentError) as caught:
        load_experiment(where)
    assert where in str(caught.value)


def test_a_file_that_is_no_text_is_told(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with refused(ExperimentError):
        load_experiment(str(path))


def test_a_missing_file_is_told(tmp_path):
    path = tmp_path / "x.yaml"
    with refused(ExperimentError):
        find_experiment(str(path))


def test_a_folder_is_no_experiment_but_that_of_a_run_has_its_record(tmp_path):
    message = f"{tmp_path} is a folder; expected an experiment file (YAML)"
    with refused(ExperimentError):
        find_experiment(str(tmp_path))
    (tmp_path / "run.json").write_text("{}")
    message += f"; to repeat its run, give {tmp_path / 'run.json'}"
    with refused(ExperimentError):
        find_experiment(str(tmp_path))


def test_a_missing_record_is_no_name_of_a_shipped_experiment(tmp_path):
    with refused(ExperimentError):
        find_experiment(str(tmp_path / "run.json"))


def test_a_shipped_experiment_is_found_by_its_bare_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_experiment("quickstart") == EXPERIMENTS / "quickstart.yaml"


def test_a_shipped_experiment_looks_for_files_in_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text("dim: {name: fog, severity: 2}\n")
    experiment, folder = load_experiment("quickstart", ["faultload={list: mine.yaml, entry: dim}"])
    assert folder == tmp_path
    assert experiment.faultload[0].name == "fog"
    # Given as a file, it is like any other.
    assert load_experiment(str(EXPERIMENTS / "quickstart.yaml"))[1] == EXPERIMENTS


PROTOCOLS = (
    *("od-test", "od-test-cut", "od-test-small"),
    *("robustness", "robustness-btsc", "robustness-small"),
    *("dependability", "uncertainty", "uncertainty-seeds", "uncertainty-small"),
)
CAMPAIGNS = ("benchmark-small", "guarantees", "oob-strict", *PROTOCOLS)
SINGLE = sorted(path for path in EXPERIMENTS.glob("*.yaml") if path.stem not in CAMPAIGNS)
"""The shipped experiments that are no campaigns; protocols have tests in tests/protocols."""


def test_shipped_experiments_find_their_lists_from_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in SINGLE:
        assert load_experiment(path.stem)[0].faultload == load_experiment(str(path))[0].faultload


def test_a_misspelt_experiment_gets_a_suggestion():
    with refused(ExperimentError):
        find_experiment("quikstart")


@pytest.mark.parametrize("name", ["../experiments/quickstart", "/quickstart"])
def test_a_bare_name_is_no_path_out_of_the_shipped_ones(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with refused(ExperimentError):
        find_experiment(name)


@pytest.mark.parametrize("path", SINGLE, ids=lambda path: path.stem)
def test_every_shipped_experiment_is_well_formed_and_its_components_can_be_made(path):
    experiment, _ = load_experiment(str(path))
    experiment.workload.make("workload")
    experiment.classifier.make("model")
    for spec in experiment.faultload:
        spec.make("faultload")
    assert [spec.make("monitor").name for spec in experiment.monitors] == [
        spec.alias or spec.name for spec in experiment.monitors
    ]


# Components --------------------------------------------------------------------------------------------


def test_a_component_is_made_with_its_parameters_and_alias():
    made = MonitorSpec.model_validate({"name": "random", "as": "coin", "rate": 0.5}).make("monitor")
    assert (made.name, made.parameters) == ("coin", {"rate": 0.5})


def test_an_unknown_component_gets_a_suggestion():
    with refused(UnknownNameError):
        ComponentSpec.model_validate("od1n").make("monitor")


def test_a_resolved_experiment_tells_all_parameters_with_their_defaults():
    experiment = parse(
        workload={"name": "farm.testing.fakes:TinySource", "size": 16},
        classifier="farm.testing.fakes:TinyModel",
        monitors=[{"name": "farm.testing.fakes:FakeMonitor", "as": "fake"}],
    )
    made = {"workload": [TinySource(size=16)], "classifier": [TinyModel()], "monitors": [FakeMonitor()]}
    record = json.loads(json.dumps(resolved(experiment, made), allow_nan=False))
    assert record["workload"]["size"] == 16
    assert record["workload"]["frames"] == 4
    assert record["monitors"][0]["as"] == "fake"
    assert record["monitors"][0]["fixed_threshold"] is None
    assert record["stream"] == {"order": {"name": "shuffled"}}
    assert (record["policy"], record["fallback"]) == ({"name": "cancel"}, {"name": "none"})


def test_what_monitors_have_of_their_own_is_resolved_where_they_have_it():
    own = {"name": "m-of-n", "m": 2, "n": 5}
    experiment = parse(monitors=["odin", {"name": "oob", "policy": own}], policy="latching")
    made = [registry.policy("latching"), registry.policy("m-of-n", m=2, n=5)]
    record = resolved(experiment, {"policy": made[:1]}, {"policy": made, "fallback": [None, None]})
    assert record["policy"] == {"name": "latching", "within": "stream"}
    assert record["monitors"] == [
        {"name": "odin"},
        {"name": "oob", "policy": own | {"within": "stream"}},
    ]


def test_a_resolved_experiment_has_the_parameters_of_its_schedule():
    experiment = parse(stream={"order": {"name": "onset", "at": 5}})
    assert resolved(experiment, {})["stream"]["order"] == {"name": "onset", "at": 5, "share": 1.0}


def test_how_long_a_draw_lasts_is_written_where_it_was_said():
    asked = {"name": "fog", "severity": 3.0, "share": 1.0, "both": False}
    drifting = {"coherence": "drifting", "drift": 9}
    for said in ({}, {"coherence": "track"}, drifting):
        (fault,) = resolved(parse(faultload=asked | said), {})["faultload"]
        assert {key: fault[key] for key in fault.keys() & {"coherence", "drift"}} == said
    for stream in ({}, {"frame_rate": 25.0}):
        assert {"frame_rate": resolved(parse(stream=stream), {})["stream"].get("frame_rate")} == {
            "frame_rate": stream.get("frame_rate")
        }


def test_what_has_no_effect_is_not_resolved_to_be_refused_later():
    experiment = parse(
        monitors=[{"name": "odin", "calibration": {"method": "id-extreme"}}], stream={"benchmark": "set"}
    )
    record = resolved(experiment, {})
    assert record["stream"] == {"benchmark": "set"}
    assert record["monitors"][0]["calibration"] == {"method": "id-extreme"}
    assert record["calibration"] == {"method": "id-quantile", "accept": 0.95}
    assert parse_experiment(record, "again").monitors[0].calibration.rule().method == "id-extreme"


@pytest.mark.parametrize(
    "told",
    [
        {"method": "conformal", "accept": 0.9, "by": "class"},
        {"method": "bounded", "accept": 0.95, "confidence": 0.99, "event": "track"},
        {"method": "risk", "risk": 0.02, "confidence": 0.9},
        {"method": "learn-then-test", "accept": 0.9, "hazard": 0.1, "risk": 0.2, "confidence": 0.9},
    ],
)
def test_a_calibration_with_a_guarantee_is_written_as_it_was_told(told):
    experiment = parse(calibration=told)
    assert resolved(experiment, {})["calibration"] == told
    rule = experiment.calibration.rule()
    assert {key: getattr(rule, key) for key in told} == told


def test_an_acceptance_that_somebody_wrote_in_vain_is_not_hidden():
    experiment = parse(calibration={"method": "fixed", "accept": 0.9, "threshold": 1.0})
    written = experiment.model_dump(mode="json", exclude_none=True)
    with refused(ExperimentError):
        parse_experiment(written, "again").calibration.rule()


def test_a_parameter_that_is_null_is_not_left_to_its_default():
    spec = MonitorSpec.model_validate({"name": "oob", "neurons": None, "policy": {"name": "x", "m": None}})
    written = spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert written == {"name": "oob", "neurons": None, "policy": {"name": "x", "m": None}}


def test_a_parameter_that_no_file_can_hold_is_not_resolved():
    # Functions by default, and one called as a key of the experiment is.
    experiment = parse(monitors=["farm.testing.fakes:FakeMonitor"])
    record = resolved(experiment, {"monitors": [FakeMonitor()]})
    assert record["monitors"] == [{"name": "farm.testing.fakes:FakeMonitor", "fixed_threshold": None}]
    assert parse_experiment(record, "again").monitors[0].make("monitor").fixed_threshold is None


@pytest.mark.parametrize("value", [object(), float("nan")])
def test_a_parameter_that_is_no_json_is_told(value):
    experiment = parse()
    made = {"workload": [TinySource(seed=value)]}
    with refused(UserError):
        resolved(experiment, made)
