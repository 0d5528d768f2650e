"""Campaigns: lists expand to cells, each an experiment like any other; mistakes are told by their keys."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from farm.campaign.jobs import Limits
from farm.campaign.spec import Campaign, load, parse_campaign
from farm.config.experiment import Experiment, parse_experiment
from farm.config.files import EXPERIMENTS
from farm.errors import ExperimentError, FarmError, ParameterError, UnknownNameError
from farm.run.loading import load_experiment
from tests.wording import refused, same_text

ONE = {"name": "x", "workload": "signs", "classifier": "lenet", "monitors": ["odin", "oob"]}


def parse(folder=Path(), **changes):
    values = {key: value for key, value in (ONE | changes).items() if value is not ...}
    return parse_campaign(values, "x.yaml", folder)


def labels(campaign, *keys):
    return [tuple(cell.label[key] for key in keys) for cell in campaign.cells()]


def is_refused(**changes):
    with refused(FarmError) as caught:
        parse(**changes)
    assert caught.value.exit_code == 2


# Expansion ---------------------------------------------------------------------------------------------


def test_every_combination_is_a_cell_and_those_that_share_a_classifier_stand_together():
    campaign = parse(
        workload=...,
        workloads=["signs", "digits"],
        classifier=...,
        classifiers=["lenet", {"name": "lenet", "as": "longer", "epochs": 9}],
        seeds=[5, 3],
        faultloads=[{"name": "fog", "severity": [2, 4]}, None],
    )
    expected = [
        (workload, classifier, seed, fault, severity)
        for workload in ("signs", "digits")
        for classifier in ("lenet", "longer")
        for seed in (5, 3)
        for fault, severity in (("fog", 2), ("fog", 4), ("none", None))
    ]
    assert labels(campaign, "workload", "classifier", "seed", "faultload", "severity") == expected


def test_a_cell_is_the_experiment_that_a_file_of_its_own_would_give():
    shared = {
        "description": "why",
        "monitors": ["odin", {"name": "oob", "policy": "latching", "calibration": {"method": "id-extreme"}}],
        "calibration": {"accept": 0.9},
        "policy": {"name": "m-of-n", "m": 1, "n": 2},
        "fallback": "last",
        "stream": {"order": "sequential", "length": 50},
        "batch_size": 8,
        "threads": 2,
        "layers": ["last-hidden"],
    }
    campaign = parse(
        **shared, seeds=[1, 2], faultloads=[[{"name": "fog", "severity": 2, "share": 2.0}, "fgsm"]]
    )
    faults = [{"name": "fog", "severity": 2, "share": 2.0}, "fgsm"]
    on_its_own = {**ONE, **shared, "classifier": {"name": ONE["classifier"], "engine": "auto"}}
    alone = [
        parse_experiment({**on_its_own, "seed": seed, "faultload": faults}, "one.yaml") for seed in (1, 2)
    ]
    assert [cell.experiment for cell in campaign.cells()] == alone
    # What nobody said stays unsaid, so that what has no effect beside it is not refused later.
    for cell, experiment in zip(campaign.cells(), alone, strict=True):
        assert cell.experiment.model_fields_set == experiment.model_fields_set
        assert cell.experiment.calibration.rule() == experiment.calibration.rule()


def test_a_title_tells_the_cells_apart_and_stays_short():
    campaign = parse(
        seeds=[0, 1], faultloads=[{"name": "fog", "severity": 2.5}, ["fgsm", "black-frame"], "none", "fgsm"]
    )
    same_text([cell.title for cell in campaign.cells()][:4])


def test_a_label_has_the_names_that_readouts_show():
    campaign = parse(
        workload={"name": "npz", "path": "a.npz", "title": "abroad"},
        classifier={"name": "lenet", "as": "small"},
        faultloads=[
            {"name": "gaussian_noise", "severity": 1},
            [{"name": "fog", "severity": 1, "both": True}, {"name": "fgsm", "as": "attack"}],
        ],
    )
    assert labels(campaign, "workload", "classifier", "faultload", "severity", "seed") == [
        ("abroad", "small", "gaussian-noise", 1.0, 0),
        ("abroad", "small", "attack+fog", None, 0),  # what changes all instances comes last
    ]


def test_data_of_one_title_are_told_apart_by_as():
    data = [{"name": "npz", "path": f"{one}.npz", "title": "signs"} for one in "ab"]
    is_refused(workload=..., workloads=data)
    campaign = parse(workload=..., workloads=[data[0], data[1] | {"as": "more"}])
    assert labels(campaign, "workload") == [("signs",), ("more",)]


def test_a_benchmark_is_named_where_faults_would_be():
    assert labels(parse(stream={"benchmark": "sets/a"}, seeds=[0]), "faultload", "severity") == [
        ("sets/a", None)
    ]


@pytest.mark.parametrize("nothing", [None, "none", []])
def test_a_stream_without_faults_can_stand_among_others(nothing):
    campaign = parse(faultloads=[nothing, "fgsm"])
    assert labels(campaign, "faultload") == [("none",), ("fgsm",)]
    assert [len(cell.experiment.faultload) for cell in campaign.cells()] == [0, 1]


def test_the_singular_forms_stand_where_there_is_one():
    campaign = parse(faultload={"name": "fog", "severity": [1, 3]}, seed=4, limits={})
    assert labels(campaign, "faultload", "severity", "seed") == [("fog", 1.0, 4), ("fog", 3.0, 4)]


def test_repetitions_are_seeds_in_a_row():
    assert labels(parse(repetitions=3), "seed") == [(0,), (1,), (2,)]
    assert labels(parse(repetitions=2, seed=7), "seed") == [(7,), (8,)]


def test_severities_go_to_single_faults_that_have_some_and_say_none():
    campaign = parse(
        severities=[1, 3],
        faultloads=[
            "fog",
            {"name": "snow", "severity": 2},
            "black-frame",
            ["fgsm", {"name": "fog", "severity": 5}],
        ],
    )
    assert labels(campaign, "faultload", "severity") == [
        ("fog", 1.0),
        ("fog", 3.0),
        ("snow", 2.0),
        ("black-frame", None),
        ("fgsm+fog", None),
    ]


def test_a_fault_whose_severities_follow_from_its_parameters_takes_them():
    parts = ["fog", {"name": "gaussian-noise", "severity": 2}]
    whole = {"name": "compose", "faults": parts}
    fixed = {"name": "compose", "as": "fixed", "faults": parts[1:]}
    campaign = parse(severities=[4], faultloads=[whole, fixed])
    assert labels(campaign, "faultload", "severity") == [("compose", 4.0), ("fixed", None)]


def test_severities_find_a_fault_of_the_users_own(tmp_path):
    (tmp_path / "own_fault.py").write_text(
        "from faultloads.weather import Fog\n\nclass Mist(Fog):\n    pass\n"
    )
    campaign = parse(tmp_path, severities=[2], faultload="own_fault:Mist")
    (cell,) = campaign.cells(tmp_path)
    assert (cell.label["faultload"], cell.label["severity"]) == ("own_fault:Mist", 2.0)
    inside = {"name": "compose", "faults": ["black-frame", "own_fault:Mist"]}
    assert len(parse(tmp_path, severities=[2, 3], faultload=inside).cells(tmp_path)) == 2
    assert "own_fault" not in sys.modules


# Lists of faults ---------------------------------------------------------------------------------------


def test_a_list_without_entry_is_all_its_entries_and_one_with_entry_is_that():
    campaign = parse(faultloads=["black-frame", {"list": "authors-38"}])
    entries = yaml.safe_load((EXPERIMENTS / "faultloads" / "authors-38.yaml").read_text())
    expected = [(fault["name"], fault.get("severity")) for fault in entries.values()]
    assert labels(campaign, "faultload", "severity") == [("black-frame", None), *expected]
    one = parse(
        faultloads=[
            {"list": "authors-38", "entry": "fog-2"},
            [{"list": "authors-38", "entry": "fgsm"}, "fog"],
        ]
    )
    assert labels(one, "faultload", "severity") == [("fog", 2.0), ("fgsm+fog", None)]


def test_a_list_lies_beside_the_campaign_and_its_entries_take_a_share(tmp_path):
    (tmp_path / "mine.yaml").write_text(
        "dim: {name: brightness, severity: [1, 2]}\nblack: {name: black-frame}\n"
    )
    campaign = parse(tmp_path, faultloads=[{"list": "mine.yaml", "both": True}])
    assert labels(campaign, "faultload", "severity") == [
        ("brightness", 1.0),
        ("brightness", 2.0),
        ("black-frame", None),
    ]
    assert all(cell.experiment.faultload[0].both for cell in campaign.cells())


def test_a_list_takes_nothing_that_would_be_lost():
    with refused(ExperimentError):
        parse(faultloads=[{"list": "authors-38", "severity": 2}])
    with refused(ExperimentError):
        parse(faultloads=[{"list": "authors-39"}])


def test_a_mistake_in_a_list_is_told_by_its_entry_and_one_after_it_by_its_own_place(tmp_path):
    (tmp_path / "mine.yaml").write_text("a: {name: fog, severity: 1}\nb: {name: fog, severity: x}\nc: 3\n")
    expected = "expected a number above 0, or a list of them"
    wrong = {"name": "fog", "severity": 0}
    with refused(ExperimentError):
        parse(tmp_path, faultloads=[{"list": "mine.yaml"}])
    (tmp_path / "mine.yaml").write_text("a: {name: fog, severity: 1}\nb: {name: fog, severity: x}\n")
    with pytest.raises(ExperimentError) as caught:
        parse(tmp_path, faultloads=[{"list": "mine.yaml"}, wrong])
    assert str(caught.value) == (
        f"x.yaml: faultloads.0.b.severity is 'x'; {expected}; faultloads.1.severity is 0; {expected}"
    )


# Exclusions --------------------------------------------------------------------------------------------

FAULTS = [{"name": "fog", "severity": [1, 2]}, "fgsm"]


def test_a_cell_goes_where_all_that_an_exclusion_says_holds():
    campaign = parse(
        seeds=[0, 1, 2],
        faultloads=FAULTS,
        exclude=[{"faultload": "fog", "severity": 2, "seed": [0, 1]}, {"faultload": "fgsm", "seed": 0}],
    )
    assert labels(campaign, "faultload", "severity", "seed") == [
        ("fog", 1.0, 0),
        ("fog", 1.0, 1),
        ("fgsm", None, 1),
        ("fog", 1.0, 2),
        ("fog", 2.0, 2),
        ("fgsm", None, 2),
    ]


def test_a_stream_without_faults_is_excluded_by_null_or_none():
    for nothing in (None, "none", ["none", "fgsm"]):
        campaign = parse(faultloads=[None, *FAULTS], exclude=[{"faultload": nothing, "classifier": "lenet"}])
        assert ("none",) not in labels(campaign, "faultload")


def test_a_monitor_leaves_the_cells_that_match_and_stays_in_the_others():
    campaign = parse(
        monitors=["odin", {"name": "oob", "as": "boxes"}, "never"],
        classifier=...,
        classifiers=["lenet", {"name": "function", "function": "mine:call"}],
        exclude=[
            {"classifier": "function", "monitor": ["odin", "boxes"]},
            {"monitor": "never", "seed": 0, "classifier": "lenet"},
        ],
        seeds=[0, 1],
    )
    left = {
        (cell.label["classifier"], cell.label["seed"]): [m.alias or m.name for m in cell.experiment.monitors]
        for cell in campaign.cells()
    }
    assert left == {
        ("lenet", 0): ["odin", "boxes"],
        ("lenet", 1): ["odin", "boxes", "never"],
        ("function", 0): ["never"],
        ("function", 1): ["never"],
    }


@pytest.mark.parametrize(
    "exclude",
    [
        [{"faultload": "fgo"}],
        [{"seed": 0}, {"severity": 3}],
        [{"faultload": ["fog", "snow"]}],
        [{"monitor": "od1n"}],
        [{"workload": "sings"}],
        [{"faultload": None}],
        [{"faultload": "fgsm", "severity": 1}],
        [{"monitor": ["odin", "oob"], "faultload": "fog", "severity": 1}],
        [{"seed": [0, 1]}],
        [{}],
        [{"fault": "fog"}],
        [{"severity": "2"}],
        [{"seed": [0, True]}],
        [{"seed": None}],
        [{"workload": []}],
        {"seed": 0},
    ],
)
def test_an_exclusion_that_has_no_effect_or_too_much_is_told(exclude):
    is_refused(seeds=[0, 1], faultloads=FAULTS, exclude=exclude)


# Mistakes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"workloads": ["signs"]},
        {"seeds": [1], "seed": 0},
        {"faultloads": ["fgsm"], "faultload": "fog"},
        {"seeds": [1], "repetitions": 2},
        {"classifier": ...},
        {"workload": ..., "workloads": []},
        {"seeds": []},
        {"faultloads": []},
        {"severities": [], "faultload": "fog"},
        {"seeds": None},
        {"workload": None},
        {"seeds": 3},
        {"seeds": [0, "1"]},
        {"seeds": [0, -1]},
        {"seeds": [2, 0, 2]},
        {"severities": [1, 1.0], "faultload": "fog"},
        {"severities": [0]},
        {"repetitions": 0},
        {"workload": ..., "workloads": "signs"},
        {"workload": ..., "workloads": ["signs", 3]},
        {"workload": ..., "workloads": ["signs", {"name": "signs"}]},
        {"classifier": ..., "classifiers": ["lenet", {"name": "lenet", "epochs": 3}]},
        {"monitors": ["odin", {"name": "oob", "as": "odin"}], "seeds": [0]},
        {"faultloads": [{"name": "fgsm"}, {"name": "fgsm", "eps": 0.1}]},
        {"faultloads": [{"name": "fog", "severity": [1, 2]}, {"name": "fog", "severity": 2}]},
        {
            "faultloads": [
                {"name": "gaussian_noise", "severity": 2},
                {"name": "gaussian-noise", "severity": 2},
            ]
        },
        {"faultloads": ["none", None]},
        {"faultloads": [{"name": "fog", "severity": []}]},
        {"faultloads": ["fgsm", [{"name": "fog", "severity": True}]]},
        {"faultloads": [["fgsm", {"name": "fog", "severity": [1, 2]}]]},
        {"seeds": [0], "sedes": [1]},
        {"limits": {"second": 3}},
        {"limits": {"seconds": 0}},
        {"limits": {"memory_gb": float("inf")}},
        {"limits": {"seconds": None}},
        {"stream": {"benchmark": "b"}, "faultloads": ["fgsm"]},
        {"severities": [1], "faultloads": [{"name": "fog", "severity": 2}, "black-frame"]},
    ],
)
def test_a_mistake_is_told_with_the_file_its_key_and_the_rule(changes):
    is_refused(**changes)


def test_severities_that_a_fault_does_not_have_are_told_unless_excluded():
    changes = {"severities": [2, 5], "faultloads": ["fog", "pixel-trap"]}
    with refused(ParameterError):
        parse(**changes)
    left = parse(**changes, exclude=[{"faultload": "pixel-trap", "severity": 5}])
    assert labels(left, "faultload", "severity") == [("fog", 2.0), ("fog", 5.0), ("pixel-trap", 2.0)]


def test_an_unknown_fault_that_severities_would_be_for_gets_a_suggestion():
    with refused(UnknownNameError):
        parse(severities=[1], faultload="fgo")


def test_all_mistakes_are_told_at_once():
    with refused(ExperimentError):
        parse(batch_size=0, repetitions=0)


# Limits and round trips --------------------------------------------------------------------------------


def test_a_cell_has_an_hour_and_all_the_memory_unless_told_otherwise():
    assert parse(seeds=[0]).limits.limits() == Limits(3600.0, None)
    assert parse(limits={"seconds": 5, "memory_gb": 1.5}).limits.limits() == Limits(5.0, 1_500_000_000)


@pytest.mark.parametrize(
    "changes",
    [
        {"seeds": [1, 2]},
        {"repetitions": 3, "seed": 5},
        {
            "workload": ...,
            "workloads": ["signs", {"name": "npz", "as": "mine", "path": "a.npz", "classes": None}],
            "faultloads": [None, {"name": "fog", "severity": [1, 2], "both": True}, ["fgsm", "black-frame"]],
            "exclude": [{"faultload": None, "seed": 0}, {"monitor": "odin", "severity": 2}],
            "limits": {"memory_gb": 2},
        },
        {"severities": [2], "faultload": "fog", "calibration": {"method": "id-extreme"}},
        {"stream": {"benchmark": "b"}, "limits": {"seconds": 10}},
        {"faultload": None, "seeds": [3]},
        {"stream": {"order": {"name": "onset", "at": 9}}, "seeds": [3]},
    ],
)
def test_a_campaign_as_json_is_the_same_campaign(changes):
    campaign = parse(**changes)
    written = json.loads(json.dumps(campaign.model_dump(mode="json", by_alias=True, exclude_none=True)))
    again = parse_campaign(written, "again.json")
    assert again == campaign
    assert again.cells() == campaign.cells()
    for cell in again.cells():
        cell.experiment.calibration.rule()


def test_a_cell_as_json_is_the_same_experiment():
    own = {"name": "odin", "calibration": {"method": "id-extreme"}, "policy": "latching", "temperature": None}
    for cell in parse(monitors=[own], seeds=[0], faultloads=[{"name": "fog", "severity": [1, 2]}]).cells():
        for options in ({"exclude_unset": True}, {"exclude_none": True}):
            written = json.dumps(cell.experiment.model_dump(mode="json", by_alias=True, **options))
            assert parse_experiment(json.loads(written), "x") == cell.experiment


# Files and the command line ----------------------------------------------------------------------------

FILE = "workload: signs\nclassifier: lenet\nmonitors: [odin]\nseed: 0\n"


def write(tmp_path, text, name="mine.yaml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "key",
    [
        *("workloads: [signs]", "classifiers: [lenet]", "faultloads: [fgsm]", "seeds: [0]", "repetitions: 1"),
        *("severities: [1]\nfaultload: fog", "exclude: []", "limits: {seconds: 9}"),
    ],
)
def test_a_file_with_a_key_that_only_campaigns_have_is_a_campaign(tmp_path, key):
    name = key.partition(":")[0]
    lines = [line for line in FILE.splitlines() if line.partition(":")[0] + "s" != name]
    where = write(tmp_path, "\n".join([*lines, key]))
    found, folder = load(where)
    assert isinstance(found, Campaign)
    assert (found.name, len(found.cells()), folder) == ("mine", 1, tmp_path)
    with pytest.raises(ExperimentError) as caught:
        load_experiment(where)
    single = name in ("workloads", "classifiers", "faultloads", "seeds")
    how = f"choose one with --set {name[:-1]}=..." if single else "take that key out"
    assert str(caught.value) == (
        f"{where}: '{name}' makes it a campaign, which only `farm run` takes; expected a single experiment: "
        f"{how}"
    )


def test_a_file_without_is_an_experiment(tmp_path):
    where = write(tmp_path, FILE)
    found, folder = load(where, ["seed=3"])
    assert isinstance(found, Experiment)
    assert (found, folder) == load_experiment(where, ["seed=3"])


@pytest.mark.parametrize(
    ("text", "overrides", "seeds"),
    [
        ("", ["seeds=[4, 5]"], [4, 5]),
        ("repetitions: 2\n", ["seeds=[4, 5, 6]"], [4, 5, 6]),
        ("repetitions: 2\n", ["seed=7"], [7, 8]),
        ("", ["repetitions=3"], [0, 1, 2]),
        ("", ["seeds=[1]", "repetitions=2"], [0, 1]),
    ],
)
def test_the_command_line_takes_the_place_of_what_says_the_same(tmp_path, text, overrides, seeds):
    found, _ = load(write(tmp_path, FILE + text), overrides)
    assert isinstance(found, Campaign)
    assert [cell.label["seed"] for cell in found.cells()] == seeds


def test_one_of_a_campaign_can_be_chosen_on_the_command_line(tmp_path):
    text = FILE.replace("seed: 0", "seeds: [0, 1]").replace("workload: signs", "workloads: [signs, digits]")
    where = write(tmp_path, text)
    experiment, _ = load_experiment(where, ["seed=1", "workload=digits"])
    assert (experiment.seed, experiment.workload.name) == (1, "digits")
    found, _ = load(where, ["workloads.0.size=16"])
    assert [spec.parameters for spec in found.workloads] == [{"size": 16}, {}]


def test_a_mistake_in_a_campaigns_file_is_told_with_the_file(tmp_path):
    where = write(tmp_path, FILE + "exclude: [{seed: 1}]\n")
    with refused(ExperimentError):
        load(where)
    with refused(ExperimentError):
        load(where, ["exclude=[]", "repetitions=0"])


def test_a_misspelt_key_of_a_campaign_gets_a_suggestion_in_an_experiment(tmp_path):
    with refused(ExperimentError):
        load(write(tmp_path, FILE + "repetitons: 3\n"))


def test_the_shipped_campaign_expands_without_torch_from_anywhere(tmp_path):
    code = (
        "import sys\n"
        "from farm.campaign.spec import load\n"
        "heavy = {'torch', 'pandas', 'sklearn', 'farm.run.execution', 'farm.run.testbed'}\n"
        "assert not heavy & set(sys.modules)\n"
        "campaign, folder = load('benchmark-small')\n"
        "loaded = {'torch', 'pandas', 'farm.run.execution'} & set(sys.modules)\n"
        "print(len(campaign.cells(folder)), folder, *loaded)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.split() == ["24", str(tmp_path.resolve())]


def test_every_component_of_the_shipped_campaign_can_be_made():
    campaign, _ = load("benchmark-small")
    for cell in campaign.cells():
        for spec in cell.experiment.faultload:
            spec.make("faultload").check_severity(spec.severity)
    first = campaign.cells()[0].experiment
    first.workload.make("workload")
    first.classifier.make("model")
    assert [spec.make("monitor").name for spec in first.monitors] == [
        spec.alias or spec.name for spec in first.monitors
    ]


def test_a_thousand_cells_take_no_time():
    everything = yaml.safe_load((EXPERIMENTS / "all-monitors.yaml").read_text())["monitors"]
    started = time.process_time()
    fogs = [{"name": "fog", "as": f"fog-{i}", "severity": 1} for i in range(40)]
    campaign = parse(monitors=everything, repetitions=13, faultloads=[None, {"list": "authors-38"}, *fogs])
    cells = campaign.cells()
    took = time.process_time() - started
    assert len(cells) == 13 * 79
    assert took < 1


# Streams of their own ----------------------------------------------------------------------------------


def streams(campaign):
    """Give the share and the length of each cell's stream, by its fault."""
    return {
        (cell.label["faultload"], cell.label["severity"]): (
            cell.experiment.stream.ood_share,
            cell.experiment.stream.length,
        )
        for cell in campaign.cells()
    }


def test_a_faults_own_stream_is_that_of_its_cells_alone():
    campaign = parse(
        stream={"length": 200},
        faultloads=[
            None,
            {"name": "fog", "severity": [2, 4], "stream": {"ood_share": 1.0}},
            {"name": "snow", "severity": 1, "stream": {"ood_share": 0.25, "length": 40}},
            {"name": "rain", "severity": 1},
        ],
    )
    assert streams(campaign) == {
        ("none", None): (None, 200),
        ("fog", 2): (1.0, 200),
        ("fog", 4): (1.0, 200),
        ("snow", 1): (0.25, 40),
        ("rain", 1): (None, 200),
    }
    (fault,) = campaign.cells()[1].experiment.faultload
    assert "stream" not in fault.model_dump() | fault.parameters


def test_what_a_fault_does_not_say_of_its_stream_is_the_campaigns():
    order = {"name": "sequential"}
    campaign = parse(
        stream={"order": order, "ood_share": 0.5},
        faultloads=[{"name": "fog", "severity": 1, "stream": {"length": 40}}],
    )
    (cell,) = campaign.cells()
    stream = cell.experiment.stream
    assert (stream.order.name, stream.ood_share, stream.length) == ("sequential", 0.5, 40)


def test_several_faults_of_one_stream_say_once_what_it_is():
    fog = {"name": "fog", "severity": 1}
    both = {"name": "snow", "severity": 2, "both": True}
    own = {"stream": {"ood_share": 0.5}}
    for faults in ([{**fog, **own}, both], [fog, {**both, **own}]):
        assert set(streams(parse(faultloads=[faults])).values()) == {(0.5, None)}


def test_a_faults_own_stream_makes_other_cells():
    """Cells that differ in it alone are not taken for one another."""
    plain, own = (
        parse(faultloads=[{"name": "fog", "severity": 1, **more}]).cells()[0]
        for more in ({}, {"stream": {"ood_share": 1.0}})
    )
    assert plain.experiment != own.experiment


@pytest.mark.parametrize(
    "stream",
    [{}, {"order": "sequential"}, {"length": 0}, {"ood_share": "half"}, 0.5],
    ids=["empty", "order", "length 0", "no number", "no mapping"],
)
def test_what_is_no_stream_of_a_fault_is_told(stream):
    with refused(FarmError) as caught:
        parse(faultloads=[{"name": "fog", "severity": 1, "stream": stream}]).cells()
    assert caught.value.exit_code == 2


def test_no_fault_may_have_a_stream_and_a_name_of_its_own():
    campaign = parse(
        stream={"ood_share": 0.5, "length": 200},
        severities=[2],
        faultloads=[
            "fog",
            {"name": "none", "as": "training-data", "stream": {"split": "train", "length": 40}},
            {"name": "none", "as": "validation-data", "stream": {"split": "validation"}},
            {"name": "none", "stream": {"ood_share": 0.0}},
        ],
        monitors=["odin", "never"],
        exclude=[{"faultload": ["training-data", "validation-data"], "monitor": "odin"}],
    )
    assert streams(campaign) == {
        ("fog", 2): (0.5, 200),
        ("training-data", None): (None, 40),
        ("validation-data", None): (None, 200),
        ("none", None): (0.0, 200),
    }
    cells = campaign.cells()
    assert [cell.experiment.stream.split for cell in cells] == ["test", "train", "validation", "test"]
    assert [len(cell.experiment.faultload) for cell in cells] == [1, 0, 0, 0]
    assert [len(cell.experiment.monitors) for cell in cells] == [2, 1, 1, 2]
    assert cells[1].title == "signs, lenet, training-data, seed 0"


@pytest.mark.parametrize(
    "changes",
    [
        {"faultloads": [{"name": "none", "severity": 2}]},
        {"faultloads": [{"name": "none", "strength": 2}]},
        {"faultloads": [["fog", {"name": "none", "as": "plain"}]]},
        {"faultloads": [{"name": "none", "stream": {"split": split}} for split in ("train", "validation")]},
        {"faultloads": [{"name": "none", "stream": {"split": "train", "ood_share": 0.5}}]},
        {"faultloads": [{"name": "none", "stream": {"split": "training"}}]},
        {"faultloads": [{"name": "fog", "severity": 1, "stream": {"split": "train"}}]},
        {
            "faultloads": [{"name": "none", "stream": {"split": "train"}}],
            "stream": {"order": {"name": "onset", "at": 5}},
        },
    ],
    ids=str,
)
def test_what_a_stream_without_faults_cannot_have_is_told(changes):
    is_refused(**changes)


def test_two_faults_of_one_stream_do_not_both_say_what_it_is():
    own = {"severity": 1, "stream": {"ood_share": 0.5}}
    is_refused(faultloads=[[{"name": "fog", **own}, {"name": "snow", **own}]])


def test_a_faults_own_readouts_are_those_of_its_cells_alone():
    kept = {"layers": ["last-hidden"], "probabilities": False}
    campaign = parse(
        readouts={"probabilities": True},
        faultloads=[
            "fog",
            {"name": "none", "readouts": {"layers": ["conv2"], "occlusion": {"images": 3}}},
            {"name": "snow", "severity": 1, "readouts": kept},
        ],
    )
    experiments = [cell.experiment for cell in campaign.cells()]
    assert [one.readouts.probabilities for one in experiments] == [True, True, False]
    assert [one.layers for one in experiments] == [[], ["conv2"], ["last-hidden"]]
    assert [one.occlusion and one.occlusion.images for one in experiments] == [None, 3, None]
    own = parse(faultloads=["fog", {"name": "none", "readouts": {"probabilities": True}}])
    assert [cell.experiment.readouts.probabilities for cell in own.cells()] == [False, True]


@pytest.mark.parametrize("kept", [{"probabilities": "yes"}, {"probability": True}, True], ids=str)
def test_what_are_no_readouts_of_a_fault_is_told(kept):
    is_refused(faultloads=[{"name": "fog", "severity": 1, "readouts": kept}])
