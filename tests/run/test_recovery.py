"""From a policy and a fallback in an experiment to the judged decisions, end to end, with fakes."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pandas as pd
import pytest
import yaml

from farm.cli import main
from farm.config.experiment import parse_experiment
from farm.errors import ExperimentError, ParameterError, UnknownNameError
from farm.judging import judge
from farm.run.execution import run_experiment
from farm.run.loading import load_experiment
from farm.run.system import WARM_UP
from farm.store.readouts import TIME_COLUMNS, Readouts
from farm.testing.fakes import TinySource
from tests.wording import refused, same_text

MODULE = '''
import numpy as np
from farm.api import ModelSource, Monitor
from farm.testing.fakes import FakeClassifier

class Fixed(ModelSource):
    """A classifier that always gives one class, or fails from one batch on."""
    def __init__(self, *, number: int = 0, patience: int = 10**9) -> None:
        self._number, self._patience = number, patience

    def classifier(self, workload, context):
        def probabilities(images):
            if classifier.calls > self._patience:
                raise OSError("no more")
            return np.tile(np.eye(len(workload.classes))[self._number], (len(images), 1))
        classifier = FakeClassifier(probabilities, workload.classes, name=self.name)
        return classifier

class Dim(Monitor):
    """Scores by darkness."""
    def _fit(self, data): return {}
    def _load(self, state): pass
    def _score(self, observation): return -observation.images.mean(axis=(1, 2, 3))
'''
PLAIN = {
    "name": "recovery",
    "workload": {"name": "farm.testing.fakes:TinySource", "tracks": [4, 3, 4], "frames": 5},
    "classifier": {"name": "farm.testing.fakes:TinyModel", "as": "tiny-model"},
    "monitors": [
        {"name": "theirs:Dim", "as": "plain"},
        {"name": "theirs:Dim", "as": "dim", "policy": {"name": "m-of-n", "m": 2, "n": 3}, "fallback": "last"},
    ],
    "calibration": {"accept": 0.6},
    "stream": {"order": "sequential"},
    "batch_size": 7,
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "theirs.py").write_text(MODULE)
    yield tmp_path
    sys.modules.pop("theirs", None)


def run(folder, **changed):
    return run_experiment(parse_experiment(PLAIN | changed, "x.yaml"), folder)


def of(readouts, monitor):
    return readouts.alarms[readouts.alarms["monitor"] == monitor].reset_index(drop=True)


def rolling(alarm, m, n):
    return [sum(alarm[max(i - n + 1, 0) : i + 1]) >= m for i in range(len(alarm))]


def last_accepted(cancelled, alarm, predicted, tracks):
    """Recall the last prediction that had no alarm and was not cancelled, in this visit of the track."""
    told, last, before = [], -1, None
    for one, doubted, what, track in zip(cancelled, alarm, predicted, tracks, strict=True):
        if track != before:
            last, before = -1, track
        if not one and not doubted:
            last = what
        told.append(last if one else what)
    return told


# Whole runs ----------------------------------------------------------------------------------------------


def test_an_experiment_names_policies_and_fallbacks_and_the_readouts_follow(folder):
    readouts = run(folder)
    predicted = readouts.instances["predicted"]
    plain, dim = of(readouts, "plain"), of(readouts, "dim")
    assert plain["alarm"].tolist() == dim["alarm"].tolist()
    assert 10 < plain["alarm"].sum() < len(plain) - 10
    assert plain["cancelled"].tolist() == plain["alarm"].tolist()
    assert plain["decision"].tolist() == predicted.mask(plain["alarm"], -1).tolist()
    assert dim["cancelled"].tolist() == rolling(dim["alarm"].tolist(), 2, 3)
    assert dim["cancelled"].tolist() != dim["alarm"].tolist()
    expected = last_accepted(dim["cancelled"], dim["alarm"], predicted, readouts.instances["track"])
    assert dim["decision"].tolist() == expected
    assert -1 in expected
    assert set(dim["decision"][dim["cancelled"]]) > {-1}
    assert dim["decision"].dtype == np.int64


def test_policies_and_fallbacks_of_the_experiment_are_everybodys_who_has_none(folder):
    readouts = run(
        folder,
        policy="latching",
        fallback="last",
        monitors=[
            {"name": "theirs:Dim", "as": "heir"},
            {"name": "theirs:Dim", "as": "own", "policy": "cancel", "fallback": "none"},
        ],
    )
    heir, own = of(readouts, "heir"), of(readouts, "own")
    first = int(heir["alarm"].idxmax())
    assert heir["cancelled"].tolist() == [i >= first for i in range(len(heir))]
    assert own["cancelled"].tolist() == own["alarm"].tolist()
    assert set(own["decision"][own["cancelled"]]) == {-1}
    expected = last_accepted(
        heir["cancelled"], heir["alarm"], readouts.instances["predicted"], readouts.instances["track"]
    )
    assert heir["decision"].tolist() == expected


@pytest.mark.parametrize("within", ["stream", "track"])
def test_decisions_are_the_same_at_every_batch_size_and_bit_for_bit_from_run_to_run(folder, within):
    changed = {
        "policy": {"name": "hysteresis", "begin": 2, "end": 2, "margin": 0.01, "within": within},
        "fallback": "last",
        "stream": {"order": "sequential"},
        "monitors": [{"name": "theirs:Dim", "as": "dim"}],
    }
    runs = {size: run(folder, batch_size=size, **changed) for size in (1, 3, 7, 80)}
    again = run(folder, **changed)
    for size, made in runs.items():
        for column in ("cancelled", "decision"):
            assert made.alarms[column].tolist() == again.alarms[column].tolist(), size
    kept = [column for column in again.alarms if column not in TIME_COLUMNS]
    pd.testing.assert_frame_equal(runs[7].alarms[kept], again.alarms[kept], check_exact=True)
    assert 0 < again.alarms["cancelled"].sum() < len(again.alarms)


def test_within_tracks_and_along_the_stream_are_not_the_same(folder):
    def cancelled(within):
        policy = {"name": "latching", "within": within}
        order = {"order": "sequential"}
        return run(folder, policy=policy, stream=order, monitors=["theirs:Dim"])

    made = cancelled("track")
    tracks = made.instances["track"].tolist()
    for track in set(tracks):
        rows = made.alarms[[t == track for t in tracks]]
        assert rows["cancelled"].tolist() == rows["alarm"].cummax().tolist()
    assert made.alarms["cancelled"].tolist() != cancelled("stream").alarms["cancelled"].tolist()


def test_monitors_that_share_a_second_classifier_share_one_object_and_its_passes(folder):
    fixed = {"name": "theirs:Fixed", "number": 2}
    monitors = [
        {"name": "theirs:Dim", "as": "a", "fallback": fixed},
        {"name": "theirs:Dim", "as": "b", "fallback": fixed, "policy": "latching"},
        {"name": "theirs:Dim", "as": "c", "fallback": fixed | {"number": 3}},
        {"name": "theirs:Dim", "as": "d"},
    ]
    readouts = run(folder, monitors=monitors)
    for name, class_ in (("a", 2), ("b", 2), ("c", 3), ("d", -1)):
        own = of(readouts, name)
        assert set(own["decision"][own["cancelled"]]) == {class_}
        kept = ~own["cancelled"]
        assert own["decision"][kept].tolist() == readouts.instances["predicted"][kept].tolist()
    told = {monitor["name"]: monitor for monitor in readouts.run["monitors"]}
    assert told["a"]["fallback"] == told["b"]["fallback"]
    assert told["a"]["fallback"]["recipe"] == {"name": "theirs:Fixed", "number": 2, "patience": 10**9}
    assert told["c"]["fallback"]["recipe"]["number"] == 3
    assert re.fullmatch("[0-9a-f]{32}", told["a"]["fallback"]["digest"])
    assert told["a"]["fallback"]["mean_time_us"] > 0
    # From b's first alarm on, every batch has something cancelled; before it none has.
    alarm = of(readouts, "a")["alarm"].to_numpy()
    per_batch = [alarm[i : i + 7] for i in range(0, len(alarm), 7)]
    first = next(i for i, batch in enumerate(per_batch) if batch.any())
    assert told["a"]["fallback"]["batches"] == len(per_batch) - first
    # Whatever a cancels, b does too: what both ask is looked at once.
    assert told["a"]["fallback"]["instances"] == of(readouts, "b")["cancelled"].sum()
    assert told["c"]["fallback"]["batches"] == sum(batch.any() for batch in per_batch)
    assert told["c"]["fallback"]["instances"] == alarm.sum()
    assert told["d"]["fallback"] == {"name": "none"}


def test_the_record_and_the_resolved_experiment_tell_everything(folder):
    monitors = [
        *PLAIN["monitors"],
        {"name": "theirs:Dim", "as": "second", "fallback": {"name": "theirs:Fixed", "number": 1}},
    ]
    readouts = run(folder, monitors=monitors, policy={"name": "hysteresis", "begin": 1, "end": 3})
    plain, dim, second = readouts.run["monitors"]
    assert plain["policy"] == {
        "name": "hysteresis",
        "begin": 1,
        "end": 3,
        "margin": 0.0,
        "within": "stream",
    }
    assert dim["policy"] == {"name": "m-of-n", "m": 2, "n": 3, "within": "stream"}
    assert dim["fallback"] == {"name": "last"}
    assert second["fallback"]["name"] == "theirs:Fixed"
    experiment = readouts.run["experiment"]
    assert experiment["policy"] == plain["policy"]
    assert experiment["fallback"] == {"name": "none"}
    assert "policy" not in experiment["monitors"][0]
    assert experiment["monitors"][1]["policy"] == dim["policy"]
    assert experiment["monitors"][1]["fallback"] == {"name": "last"}
    assert experiment["monitors"][2]["fallback"]["patience"] == 10**9
    read = Readouts.load(readouts.save(folder / "run"))
    assert read.alarms["decision"].tolist() == readouts.alarms["decision"].tolist()
    assert read.run["monitors"][1]["policy"] == dim["policy"]


def test_the_experiments_own_fallback_is_resolved_as_well(folder):
    readouts = run(folder, fallback={"name": "theirs:Fixed", "as": "reserve"})
    assert readouts.run["experiment"]["fallback"]["number"] == 0
    assert readouts.run["monitors"][0]["fallback"]["name"] == "reserve"


def test_a_file_on_disk_says_the_same(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    text = yaml.safe_dump(PLAIN | {"fallback": "none"})
    assert "fallback: none" in text
    (folder / "mine.yaml").write_text(text)
    experiment, where = load_experiment("mine.yaml", ["monitors.1.policy.m=1"])
    readouts = run_experiment(experiment, where)
    dim = of(readouts, "dim")
    assert dim["cancelled"].tolist() == rolling(dim["alarm"].tolist(), 1, 3)
    arguments = ["run", "mine.yaml", "--quiet", "--out", "r", "--set", "monitors.1.policy.m=1"]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    same_text(printed, measured=True)
    assert Readouts.load("r").alarms["decision"].tolist() == readouts.alarms["decision"].tolist()


def test_watching_a_stream_honours_the_policies(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "mine.yaml").write_text(yaml.safe_dump(PLAIN))
    never = ["--set", "monitors.1.policy.m=1000", "--set", "monitors.1.policy.n=1000"]
    assert main(["stream", "mine.yaml", "--quiet", *never]) == 0
    first, _, _ = capsys.readouterr().out.partition("at all times together")
    rows = {line.split()[0]: line.split() for line in first.splitlines() if line.strip()}
    (mcc, rate), (none, same) = ((rows[name][1], rows[name][3]) for name in ("plain", "dim"))
    assert -1 <= float(mcc) <= 1
    assert none == "\N{EN DASH}", "where nothing is cancelled there is no overall MCC"
    assert rate == same == f"{of(run(folder), 'plain')['alarm'].mean():.3f}"


# Mistakes are told before anything is computed --------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"policy": "latchin"}, UnknownNameError),
        ({"policy": {"name": "m-of-n", "m": 6, "n": 5}}, ParameterError),
        ({"policy": {"name": "m-of-n", "m": 2, "k": 5}}, ParameterError),
        ({"fallback": "lats"}, UnknownNameError),
        ({"fallback": "lenett"}, UnknownNameError),
        ({"fallback": {"name": "last", "tracks": 3}}, ExperimentError),
        ({"fallback": {"name": "none", "as": "x"}}, ExperimentError),
        ({"fallback": {"name": "lenet", "epochz": 3}}, ParameterError),
        ({"fallback": "farm.testing.fakes:TinyModel"}, ExperimentError),
    ],
)
@pytest.mark.parametrize("of_a_monitor", [False, True])
def test_a_mistake_is_told_before_anything_is_computed(folder, monkeypatch, changed, error, of_a_monitor):
    def load(*_, **__):
        raise AssertionError("computed something")

    monkeypatch.setattr(TinySource, "_load", load)
    if of_a_monitor:
        changed = {"monitors": [{"name": "theirs:Dim", **changed}]}
    with refused(error):
        run(folder, **changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"polcy": "latching"},
        {"policy": 3},
        {"fallback": None},
        {"fallback": {"hidden": 3}},
        {"monitors": [{"name": "oob", "policy": 3}]},
    ],
)
def test_what_is_no_policy_or_fallback_at_all_is_told(changed):
    with refused(ExperimentError):
        parse_experiment(PLAIN | changed, "x.yaml")


# Failures and judgement ----------------------------------------------------------------------------------


def test_a_second_classifier_that_fails_on_the_way_makes_its_monitors_fail(folder):
    patience = WARM_UP + 2
    fixed = {"name": "theirs:Fixed", "as": "reserve", "patience": patience}
    monitors = [
        {"name": "theirs:Dim", "as": "a", "fallback": fixed, "policy": "latching"},
        {"name": "theirs:Dim", "as": "b"},
    ]
    readouts = run(folder, monitors=monitors)
    a, b = readouts.run["monitors"]
    same_text(a["failure"])
    assert a["policy"]["name"] == "latching"
    assert b["failure"] is None
    assert set(readouts.alarms["monitor"]) == {"b"}


def test_the_judged_decisions_are_those_acted_upon(folder):
    readouts = run(folder)
    records = json.loads(json.dumps(judge(readouts.instances, readouts.alarms, readouts.run)))
    label = readouts.instances["label"].to_numpy()
    for record in records:
        if record["part"] != "all" or record["monitor"] == "oracle":
            continue
        own = of(readouts, record["monitor"])
        decided = own["decision"] != -1
        assert record["coverage"] == pytest.approx(decided.mean())
        right = (own["decision"] == label)[decided]
        assert record["accepted_accuracy"] == pytest.approx(right.mean())
    told = {r["monitor"]: (r["policy"], r["fallback"]) for r in records}
    assert told == {
        "plain": ("cancel", "none"),
        "dim": ("m-of-n (m 2, n 3, within stream)", "last"),
        "oracle": (None, None),
    }
