"""A run is done again from its record, and any difference is told, with what may explain it."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from farm.api import ModelSource
from farm.campaign.spec import load
from farm.config.experiment import parse_experiment, resolved, rule_for
from farm.config.files import EXPERIMENTS
from farm.errors import DataError, FarmError
from farm.run.benchmark_set import write_benchmark
from farm.run.builder import fallback_source
from farm.run.execution import assemble_stream, run_experiment
from farm.run.loading import load_experiment
from farm.run.repetition import differences, explanations
from farm.store.readouts import SCHEMA, TIME_COLUMNS, Readouts
from tests.wording import refused, same_text

OWN = '''
from farm.api import Monitor

class Dim(Monitor):
    """Scores by darkness, or by light."""
    def __init__(self, *, sign: float | None = -1.0) -> None:
        self._sign = 1.0 if sign is None else sign
    def _fit(self, data): return {}
    def _load(self, state): pass
    def _score(self, observation): return self._sign * observation.images.mean(axis=(1, 2, 3))
'''
TINY = {
    "name": "tiny",
    "seed": 2,
    "workload": {"name": "farm.testing.fakes:TinySource", "tracks": [4, 3, 4], "frames": 5},
    "classifier": "farm.testing.fakes:TinyModel",
    "monitors": ["max-softmax", "random"],
}
EVERYTHING = {
    **TINY,
    "description": "all that an experiment can say",
    "monitors": [
        {"name": "mine:Dim", "as": "dim", "policy": {"name": "m-of-n", "m": 2, "n": 3}, "fallback": "last"},
        {"name": "mine:Dim", "as": "light", "sign": None, "calibration": {"method": "id-extreme"}},
        {"name": "max-softmax", "fallback": {"name": "function", "as": "second", "function": "mine:answers"}},
        {"name": "energy", "calibration": {"method": "per-class", "accept": 0.8}},
        {"name": "oob", "neurons": "all", "tau": 0.1},
        {"name": "vote", "members": ["energy", {"name": "max-logit"}], "atleast": 1},
        {"name": "farm.testing.fakes:FakeMonitor", "as": "fake"},
        "random",
        "never",
    ],
    "calibration": {"method": "fixed", "threshold": 0.4},
    "policy": {"name": "latching", "within": "track"},
    "faultload": [
        {"name": "gaussian_noise", "severity": 2, "share": 2},
        {"name": "gaussian-noise", "as": "more-noise", "severity": 2.5},
        {"name": "compose", "faults": ["brightness", {"name": "bit-flips", "severity": 1}], "severity": 2},
        {"name": "contrast", "severity": 1, "both": True},
    ],
    "stream": {"order": {"name": "recurring", "period": 6, "burst": 2}, "length": 60},
    "batch_size": 7,
    "layers": ["last-hidden"],
}
ANSWERS = "\ndef answers(images):\n    return [[0.7, 0.1, 0.1, 0.1]] * len(images)\n"
CASES = {
    "plain": TINY,
    "everything": EVERYTHING,
    "faults": TINY | {"faultload": {"name": "black-frame"}, "stream": {"ood_share": 0.5, "length": 20}},
    "sequential": TINY | {"stream": {"order": "sequential"}, "calibration": {"method": "id-extreme"}},
    "by-severity": TINY
    | {
        "faultload": {"name": "contrast", "severity": 3},
        "stream": {"order": {"name": "ramp", "end": 30, "of": "severity"}, "length": 50},
    },
}


@pytest.fixture
def home(tmp_path):
    """Return a folder with modules of the user's own."""
    (tmp_path / "mine.py").write_text(OWN + ANSWERS)
    yield tmp_path
    sys.modules.pop("mine", None)


def run(values, home):
    return run_experiment(parse_experiment(values, "x.yaml"), home)


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """Return a small run, with a hidden layer, which nobody changes."""
    faulty = {
        "faultload": "black-frame",
        "stream": {"ood_share": 0.5, "length": 24},
        "layers": ["last-hidden"],
    }
    return run(TINY | faulty, tmp_path_factory.mktemp("home"))


# Repeating ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_a_run_from_its_record_gives_the_same_bits(home, tmp_path_factory, monkeypatch, case):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    readouts = run(CASES[case], home)
    experiment, folder = load_experiment(str(readouts.save(home / "run") / "run.json"))
    assert folder == home
    again = run_experiment(experiment, folder)
    assert differences(Readouts.load(home / "run"), again) == []
    assert not any(monitor["failure"] for monitor in readouts.run["monitors"])
    # Nothing gets lost or is added on the way, however often.
    assert again.run["experiment"] == readouts.run["experiment"]


def test_a_run_on_a_benchmark_set_is_repeated(home):
    experiment = parse_experiment(CASES["faults"], "x.yaml")
    stream, _, _ = assemble_stream(experiment, home)
    write_benchmark(stream, home / "set", batch_size=experiment.batch_size)
    readouts = run(TINY | {"stream": {"benchmark": "set"}}, home)
    again, folder = load_experiment(str(readouts.save(home / "run") / "run.json"))
    assert again.stream.model_fields_set == {"benchmark"}
    assert differences(readouts, run_experiment(again, folder)) == []


def shipped():
    for path in sorted(EXPERIMENTS.glob("*.yaml")):
        found, _ = load(str(path))
        cells = getattr(found, "cells", None)
        yield pytest.param(cells()[-1].experiment if cells else found, id=path.stem)


def made(experiment):
    """Make what an experiment names, as a run does before it computes anything."""
    monitors = [spec.make("monitor") for spec in experiment.monitors]
    policies = [(spec.policy or experiment.policy).make("policy") for spec in experiment.monitors]
    second = [fallback_source(spec.fallback or experiment.fallback) for spec in experiment.monitors]
    components = {
        "workload": [experiment.workload.make("workload")],
        "classifier": [experiment.classifier.make("model")],
        "faultload": [spec.make("faultload") for spec in experiment.faultload],
        "monitors": monitors,
        "policy": [experiment.policy.make("policy")],
    }
    default = experiment.calibration.rule()
    rules = [
        rule_for(monitor, spec.calibration, default)
        for monitor, spec in zip(monitors, experiment.monitors, strict=True)
    ]
    own = [one if isinstance(one, ModelSource) else None for one in second]
    return components, {"policy": policies, "fallback": own}, rules


def told(components):
    return {
        key: [
            (type(one), one.name, json.loads(json.dumps(one.parameters))) for one in of_key if one is not None
        ]
        for key, of_key in components.items()
    }


@pytest.mark.parametrize("experiment", [*shipped()])
def test_every_shipped_experiment_is_the_same_once_resolved(experiment):
    components, of_monitors, rules = made(experiment)
    record = json.loads(json.dumps(resolved(experiment, components, of_monitors), allow_nan=False))
    again = parse_experiment(record, "run.json")
    components_again, of_monitors_again, rules_again = made(again)
    assert told(components_again) == told(components)
    assert told(of_monitors_again) == told(of_monitors)
    assert rules_again == rules
    assert resolved(again, components_again, of_monitors_again) == record
    same = {"workload", "classifier", "monitors", "faultload", "policy", "stream"}
    assert again.model_dump(exclude=same) == experiment.model_dump(exclude=same)
    assert [(s.severity, s.share, s.both) for s in again.faultload] == [
        (s.severity, s.share, s.both) for s in experiment.faultload
    ]
    assert again.stream.model_dump(exclude={"order"}) == experiment.stream.model_dump(exclude={"order"})


def test_a_run_can_be_repeated_with_a_change_from_the_command_line(first, tmp_path):
    where = str(first.save(tmp_path / "run") / "run.json")
    experiment, folder = load_experiment(where, ["seed=9", "monitors.1.rate=0.5"])
    assert (experiment.name, experiment.seed, str(folder)) == ("tiny", 9, first.run["home"])
    assert experiment.monitors[1].parameters["rate"] == 0.5
    campaign, _ = load(where, ["seeds=[1, 2]"])
    assert [cell.experiment.seed for cell in campaign.cells()] == [1, 2]
    assert load(where) == load_experiment(where)


@pytest.mark.parametrize("home", [..., "/not/there", 3])
def test_a_home_that_is_not_there_is_the_current_folder(first, tmp_path, monkeypatch, home):
    path = first.save(tmp_path / "run") / "run.json"
    record = json.loads(path.read_text())
    record.pop("home")
    path.write_text(json.dumps(record if home is ... else record | {"home": home}))
    monkeypatch.chdir(tmp_path)
    assert load_experiment(str(path))[1] == tmp_path


@pytest.mark.parametrize(
    "text",
    [
        '{"schema": 2, "experi',
        "\x00",
        "[1, 2]",
        '{"cells": []}',
        '{"schema": 1, "experiment": {}}',
        f'{{"schema": {SCHEMA}}}',
        f'{{"schema": {SCHEMA}, "experiment": [1]}}',
        f'{{"schema": {SCHEMA}, "experiment": {{"name": "x"}}}}',
        f'{{"schema": {SCHEMA}, "experiment": {json.dumps(TINY | {"seed": "2"})}}}',
        f'{{"schema": {SCHEMA}, "experiment": {json.dumps(TINY | {"sed": 2})}}}',
    ],
)
def test_a_record_that_is_none_is_told_in_one_line(tmp_path, text):
    path = tmp_path / "run.json"
    path.write_text(text)
    for read in (lambda path: load_experiment(str(path)), lambda path: load(str(path))):
        with refused(FarmError) as caught:
            read(path)
        assert caught.value.exit_code == 2
        assert "\n" not in str(caught.value)


def test_a_record_that_is_no_text_is_told(tmp_path):
    path = tmp_path / "run.json"
    path.write_bytes(b"\xff\xfe{}")
    with refused(DataError):
        load_experiment(str(path))


# Differences -------------------------------------------------------------------------------------------


def test_a_run_is_the_same_as_itself_whatever_the_times(first):
    slower = replace(
        first,
        instances=first.instances.assign(classifier_time_us=1e6),
        alarms=first.alarms.assign(monitor_time_us=np.nan),
    )
    assert {*TIME_COLUMNS} <= {*first.instances.columns, *first.alarms.columns}
    assert first.instances["severity"].isna().all()  # NaN is equal to NaN
    assert differences(first, slower) == []


def changed(frame, column, rows, values):
    """Return a frame with other values in some rows of a column."""
    new = frame[column].to_list()
    for row, value in zip(rows, values, strict=True):
        new[row] = value
    return frame.assign(**{column: pd.Series(new, dtype=frame[column].dtype)})


def test_another_number_is_told_with_column_rows_first_id_and_largest_difference(first):
    was = first.instances["confidence"]
    new = [was[4] + 0.5, was[7] - 2**-50]
    other = replace(first, instances=changed(first.instances, "confidence", [4, 7], new))
    assert differences(first, other) == [
        f"instances, column 'confidence': 2 of 24 rows differ, first '{first.instances['id'][4]}' "
        f"({was[4].item()!r} and {new[0].item()!r}), by at most 0.5"
    ]
    tiny = replace(first, instances=changed(first.instances, "confidence", [7], new[1:]))
    (line,) = differences(first, tiny)
    assert line.endswith("by at most 8.88e-16")


def test_a_number_beside_none_is_a_difference_without_an_amount(first):
    other = replace(first, instances=changed(first.instances, "severity", [3], [2.0]))
    ident = first.instances["id"][3]
    assert differences(first, other) == [
        f"instances, column 'severity': 1 of 24 rows differ, first '{ident}' (nothing and 2.0)"
    ]


def test_other_text_and_other_truth_are_told(first):
    flipped = ~first.instances["is_ood"][0]
    instances = changed(first.instances, "is_ood", [0], [flipped])
    instances = changed(instances, "faultload", [1], ["fog"])
    ids, was = first.instances["id"], first.instances["faultload"][1]
    shown = "nothing" if pd.isna(was) else repr(was)
    assert differences(first, replace(first, instances=instances)) == [
        f"instances, column 'is_ood': 1 of 24 rows differ, first '{ids[0]}' ({not flipped} and {flipped})",
        f"instances, column 'faultload': 1 of 24 rows differ, first '{ids[1]}' ({shown} and 'fog')",
    ]


def test_another_score_is_told_with_its_monitor(first):
    row = int(np.flatnonzero(first.alarms["monitor"] == "random")[5])
    was = first.alarms["score"][row].item()
    other = replace(first, alarms=changed(first.alarms, "score", [row], [was + 1]))
    assert differences(first, other) == [
        f"alarms of 'random', column 'score': 1 of 24 rows differ, first '{first.alarms['id'][row]}' "
        f"({was!r} and {was + 1!r}), by at most 1"
    ]


def test_another_order_is_told(first):
    upside_down = first.instances.iloc[::-1].reset_index(drop=True)
    lines = differences(first, replace(first, instances=upside_down))
    same_text(lines[0])
    monitors = first.alarms.sort_values("monitor", ascending=False, kind="stable").reset_index(drop=True)
    same_text(differences(first, replace(first, alarms=monitors)))


def test_another_shape_is_told_and_the_rest_is_compared(first):
    shorter = changed(first.instances, "label", [0], [first.instances["label"][0] + 1])[:-1]
    lines = differences(first, replace(first, instances=shorter))
    same_text(lines[0])
    same_text(lines[1])
    assert len(lines) == 2


def test_columns_that_only_one_has_are_told(first):
    other = first.instances.drop(columns="track").assign(weather="fine")
    same_text(differences(first, replace(first, instances=other)))
    turned = first.instances[first.instances.columns[::-1]]
    same_text(differences(first, replace(first, instances=turned)))


def test_a_monitor_that_only_one_has_is_told(first):
    other = replace(first, alarms=first.alarms[first.alarms["monitor"] == "random"].reset_index(drop=True))
    same_text(differences(first, other))
    same_text(differences(other, first))


def test_layers_are_compared_too(first):
    (name,), layer = first.layers, next(iter(first.layers.values()))
    new = layer.copy()
    new[[2, 5], 1] += np.float32(0.25)
    assert differences(first, replace(first, layers={name: new})) == [
        f"layer '{name}': 2 of 24 rows differ, first at position 2, by at most 0.25"
    ]
    new[2:] = layer[2:]
    assert differences(first, replace(first, layers={name: new})) == []
    assert differences(first, replace(first, layers={})) == [
        f"layers: the first run alone has layer '{name}'"
    ]
    undefined = layer.copy()
    undefined[3, 0] = np.nan
    with_nan = replace(first, layers={name: undefined})
    assert differences(with_nan, with_nan) == []
    assert differences(first, with_nan) == [f"layer '{name}': 1 of 24 rows differ, first at position 3"]
    wider = np.concatenate([layer, layer], axis=1)
    assert differences(first, replace(first, layers={name: wider})) == [
        f"layer '{name}': float32 (24, 4) in the first run, float32 (24, 8) in the second"
    ]
    as_double = {name: layer.astype(np.float64)}
    assert differences(first, replace(first, layers=as_double)) == [
        f"layer '{name}': float32 (24, 4) in the first run, float64 (24, 4) in the second"
    ]


def test_runs_without_instances_are_compared(first):
    empty = replace(first, instances=first.instances[:0], alarms=first.alarms[:0], layers={})
    assert differences(empty, empty) == []


# Explanations ------------------------------------------------------------------------------------------


def test_what_is_the_same_explains_nothing(first):
    clean = {**first.run, "testbed_commit": "abc", "experiment_commit": None}
    assert explanations(clean, clean) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"versions": {"torch": "9.9"}}, "torch: {versions.torch} in the first run, 9.9 in the second"),
        (
            {"hardware": {"processor": "abacus"}},
            "processor: {hardware.processor} in the first run, abacus in",
        ),
        ({"threads": 2}, "threads: 1 in the first run, 2 in the second"),
        ({"batch_size": 3}, "batch size: 64 in the first run, 3 in the second"),
        ({"seed": 3}, "seed: 2 in the first run, 3 in the second"),
        ({"testbed_commit": "def"}, "commit of the testbed: abc in the first run, def in the second"),
        ({"workload": {"hash": "0"}}, "content of the workload: {workload.hash} in the first run, 0 in"),
        (
            {"classifier": {"digest": "0"}},
            "weights of the classifier: {classifier.digest} in the first run, 0",
        ),
    ],
)
def test_what_changed_is_told(first, changes, expected):
    before = {**first.run, "testbed_commit": "abc", "experiment_commit": None}
    after = dict(before)
    for key, value in changes.items():
        after[key] = {**before[key], **value} if isinstance(value, dict) else value
    at = re.search(r"{(\w+)\.(\w+)}", expected)
    expected = expected.replace(at[0], str(before[at[1]][at[2]])) if at else expected
    (line,) = explanations(before, after)
    assert line.startswith(expected)


def test_code_that_was_changed_beyond_its_commit_may_be_other_code(first):
    run = {**first.run, "testbed_commit": "abc+", "experiment_commit": None}
    same_text(explanations(run, run))


def test_a_monitor_that_failed_explains_why_its_rows_are_missing():
    failed = {"monitors": [{"name": "odin", "failure": "no gradients"}, {"name": "oob", "failure": None}]}
    same_text(explanations({}, failed))


def test_a_record_that_lacks_something_explains_less():
    assert explanations({}, {"versions": None, "hardware": {}}) == []
    same_text(explanations({"threads": 1}, {}))
