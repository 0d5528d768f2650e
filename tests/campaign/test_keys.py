"""By what cells and monitors are found again: whatever makes them is in their keys, and nothing else is."""

from __future__ import annotations

import copy
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel

from farm.campaign import keys as keying
from farm.campaign.keys import KeyMaker, Keys
from farm.campaign.spec import Campaign, Exclusion, LimitSpec, parse_campaign
from farm.config.experiment import Experiment, Settings, parse_experiment
from farm.store.identity import component

Changed = Literal["cell", "its monitor", "heirs", "nothing"]
"""What gets another key: the cell, with all that watch it; the monitor that has the field of its own; the
monitors that have none of their own; or nobody."""

OWN, HEIR, OTHER = "own", "max-softmax", "second"
BASE: dict[str, Any] = {
    "name": "base",
    "workload": {"name": "farm.testing.fakes:TinySource", "as": "tiny"},
    "classifier": {"name": "farm.testing.fakes:TinyModel", "as": "means"},
    "faultload": [{"name": "gaussian-noise", "severity": 2.0}, {"name": "brightness", "severity": 1.0}],
    "monitors": [
        {
            "name": "oob",
            "as": OWN,
            "calibration": {"accept": 0.9},
            "policy": "latching",
            "fallback": {"name": "farm.testing.fakes:TinyModel", "as": "reserve"},
        },
        HEIR,
        {"name": "energy", "as": OTHER},
    ],
    "validation_fault": {"name": "impulse-noise", "severity": 1.0},
    "stream": {"order": "shuffled"},
}
TIMED = {"stream.order": {"name": "onset", "as": "early", "at": 5}}
OCCLUSION: dict[str, Any] = {"occlusion": {}}
A_MODEL = {"fallback": {"name": "farm.testing.fakes:TinyModel", "as": "reserve"}}

Row = tuple[Changed, Any] | tuple[Changed, Any, Mapping[str, Any]]
"""Who gets another key, the field's other value, and what else the experiment says before and after."""

TABLE: dict[str, Row] = {
    "name": ("nothing", "another"),
    "description": ("nothing", "what it is for"),
    "seed": ("cell", 1),
    "batch_size": ("cell", 32),
    "threads": ("cell", 2),
    "layers": ("cell", ["hidden"]),
    "readouts.probabilities": ("cell", True),
    "pictures": ("cell", "none"),
    "occlusion.images": ("cell", 12, OCCLUSION),
    "occlusion.window": ("cell", 5, OCCLUSION),
    "occlusion.stride": ("cell", 3, OCCLUSION),
    "occlusion.fill": ("cell", "black", OCCLUSION),
    "workload.name": ("cell", "digits"),
    "workload.alias": ("cell", "small"),
    "workload.parameters": ("cell", {"frames": 4}),
    "classifier.engine": ("cell", "onnx"),
    "classifier.name": ("cell", "lenet"),
    "classifier.alias": ("cell", "averages"),
    "classifier.parameters": ("cell", {"scale": 3}),
    "faultload.name": ("cell", "shot-noise"),
    "faultload.alias": ("cell", "grain"),
    "faultload.parameters": ("cell", {"strength": 2}),
    "faultload.severity": ("cell", 3.0),
    "faultload.share": ("cell", 2.0),
    "faultload.both": ("cell", True),
    "faultload.coherence": ("cell", "track"),
    "faultload.drift": ("cell", 7, {"faultload.coherence": "drifting"}),
    "validation_fault.name": ("cell", "shot-noise"),
    "validation_fault.alias": ("cell", "grain"),
    "validation_fault.parameters": ("cell", {"strength": 2}),
    "validation_fault.severity": ("cell", 3.0),
    "stream.order.name": ("cell", "sequential"),
    "stream.order.alias": ("cell", "late", TIMED),
    "stream.order.parameters": ("cell", {"at": 6}, TIMED),
    "stream.ood_share": ("cell", 0.25),
    "stream.length": ("cell", 40),
    "stream.frame_rate": ("cell", 25.0),
    "stream.split": ("cell", "train", {"faultload": []}),
    "stream.benchmark": ("cell", "other-set", {"faultload": [], "stream": {"benchmark": "set"}}),
    "calibration.method": ("heirs", "per-class"),
    "calibration.accept": ("heirs", 0.8),
    "calibration.threshold": ("heirs", 2.0, {"calibration": {"method": "fixed"}}),
    "calibration.confidence": ("heirs", 0.9, {"calibration": {"method": "bounded"}}),
    "calibration.event": ("heirs", "track", {"calibration": {"method": "bounded"}}),
    "calibration.by": ("heirs", "class", {"calibration": {"method": "conformal"}}),
    "calibration.risk": ("heirs", 0.1, {"calibration": {"method": "risk"}}),
    "calibration.hazard": ("heirs", 0.1, {"calibration": {"method": "learn-then-test"}}),
    "policy.name": ("heirs", "latching"),
    "policy.alias": ("heirs", "strict", {"policy": {"name": "m-of-n", "m": 2, "n": 3}}),
    "policy.parameters": ("heirs", {"m": 1}, {"policy": {"name": "m-of-n", "m": 2, "n": 3}}),
    "fallback.name": ("heirs", "last"),
    "fallback.alias": ("heirs", "another", A_MODEL),
    "fallback.parameters": ("heirs", {"scale": 3}, A_MODEL),
    "monitors.name": ("its monitor", "entropy"),
    "monitors.alias": ("its monitor", "renamed"),
    "monitors.parameters": ("its monitor", {"clusters": 7}),
    "monitors.calibration.method": ("its monitor", "per-class"),
    "monitors.calibration.accept": ("its monitor", 0.8),
    "monitors.calibration.threshold": ("its monitor", 2.0),
    "monitors.calibration.confidence": ("its monitor", 0.9),
    "monitors.calibration.event": ("its monitor", "track"),
    "monitors.calibration.by": ("its monitor", "class"),
    "monitors.calibration.risk": ("its monitor", 0.1),
    "monitors.calibration.hazard": ("its monitor", 0.1),
    "monitors.policy.name": ("its monitor", "cancel"),
    "monitors.policy.alias": ("its monitor", "strict"),
    "monitors.policy.parameters": ("its monitor", {"within": "track"}),
    "monitors.fallback.name": ("its monitor", "farm.testing.fakes:OtherModel"),
    "monitors.fallback.alias": ("its monitor", "another"),
    "monitors.fallback.parameters": ("its monitor", {"scale": 3}),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give an experiment's folder with two benchmark sets, as far as keys look at them."""
    folder = tmp_path_factory.mktemp("home")
    for name in ("set", "other-set"):
        (folder / name).mkdir()
        (folder / name / "images.npy").write_text(name, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def maker(home: Path) -> KeyMaker:
    return KeyMaker(home)


def with_values(changes: Mapping[str, Any], base: Mapping[str, Any] = BASE) -> dict[str, Any]:
    """Give an experiment with some of its fields said otherwise; of a list, in its first item."""
    values: dict[str, Any] = copy.deepcopy(dict(base))
    for path, value in changes.items():
        *above, last = path.split(".")
        place = values
        for name in above:
            spec = place.setdefault(name, {})
            if isinstance(spec, str):
                spec = place[name] = {"name": spec}
            if isinstance(spec, list):
                spec[0] = {"name": spec[0]} if isinstance(spec[0], str) else spec[0]
            place = spec[0] if isinstance(spec, list) else spec
        if last == "parameters":
            place |= value
        else:
            place["as" if last == "alias" else last] = value
    return values


def keys(maker: KeyMaker, values: Mapping[str, Any]) -> Keys:
    return maker.keys(parse_experiment(values, "test"))


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Give the typed parts that an annotation speaks of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) is not None:
        for part in get_args(annotation):
            yield from models_in(part)


def fields_of(model: type[BaseModel], above: str = "") -> Iterator[str]:
    """Give the paths of all fields of a model and of the parts it is made of."""
    for name, field in model.model_fields.items():
        parts = [*dict.fromkeys(models_in(field.annotation))]
        for part in parts:
            yield from fields_of(part, f"{above}{name}.")
        if not parts:
            yield f"{above}{name}"
    if model.model_config.get("extra") == "allow":
        yield f"{above}parameters"


def test_the_table_has_every_field_of_an_experiment() -> None:
    """Whoever adds a field says here whose key it is in."""
    assert sorted(TABLE) == sorted(fields_of(Experiment))


def test_every_field_changes_the_keys_that_it_must_and_no_others(maker: KeyMaker) -> None:
    wrong: dict[str, object] = {}
    for path, (who, value, *more) in TABLE.items():
        around = more[0] if more else {}
        before, after = (keys(maker, with_values({**around, **new})) for new in ({}, {path: value}))
        changed = {name for name, key in after.monitors.items() if before.monitors.get(name) != key}
        renamed = {"renamed"} if path == "monitors.alias" else {"entropy"} & {*after.monitors} or {OWN}
        expected = {
            "cell": (True, {*after.monitors}),
            "its monitor": (False, renamed),
            "heirs": (False, {HEIR, OTHER}),
            "nothing": (False, set[str]()),
        }[who]
        if (found := (before.cell != after.cell, changed)) != expected:
            wrong[path] = found
        if (before.target != after.target) is (who == "nothing"):
            wrong[f"{path}: its folder"] = before.target
    assert wrong == {}


def test_what_is_said_although_it_is_so_by_default_changes_nothing(maker: KeyMaker) -> None:
    plain = keys(maker, BASE)
    said = parse_experiment(BASE, "test").model_dump(mode="json", by_alias=True, exclude_none=True)
    assert {"calibration", "policy", "fallback", "batch_size", "layers"} <= set(said)
    assert keys(maker, said) == replace(plain, made_of=keys(maker, said).made_of)


def test_every_fault_of_a_stream_and_their_order_are_in_the_key(maker: KeyMaker) -> None:
    faults = BASE["faultload"]
    found = [
        keys(maker, with_values({"faultload": asked})).cell
        for asked in ([], faults[:1], faults, faults[::-1], [*faults, {"name": "fog", "severity": 1.0}])
    ]
    assert len({*found}) == len(found)


def test_which_monitors_there_are_and_in_which_order_names_the_folder_alone(maker: KeyMaker) -> None:
    monitors = BASE["monitors"]
    every, fewer, turned = (
        keys(maker, with_values({"monitors": asked})) for asked in (monitors, monitors[1:], monitors[::-1])
    )
    assert every.cell == fewer.cell == turned.cell
    assert fewer.monitors.items() < every.monitors.items() == turned.monitors.items()
    assert len({every.target, fewer.target, turned.target}) == 3


CODE = {
    "faults.py": "from farm.api import Faultload\nclass Fault(Faultload): ...\n",
    "watching.py": "from farm.api import Monitor\nclass Watch(Monitor): ...\n",
    "data.txt": "1",
}
OF_CODE: dict[str, tuple[Changed, str]] = {
    "faults.py": ("cell", "class Fault(Faultload): severities = ()\n"),
    "watching.py": ("its monitor", "class Watch(Monitor): pass\n"),
    "data.txt": ("its monitor", "2"),
}


def test_code_and_files_are_in_the_key_of_what_they_make(tmp_path: Path) -> None:
    """By their content alone: not by their times, nor by the folder that they lie in."""
    for name, text in CODE.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    values = with_values(
        {"faultload": "faults:Fault", "monitors": [{"name": "watching:Watch", "x": "data.txt"}, HEIR]}
    )
    before = keys(KeyMaker(tmp_path), values)
    for name, (who, text) in OF_CODE.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        after = keys(KeyMaker(tmp_path), values)
        assert (after.cell != before.cell) is (who == "cell"), name
        assert after.monitors["watching:Watch"] != before.monitors["watching:Watch"], name
        assert (after.monitors[HEIR] != before.monitors[HEIR]) is (who == "cell"), name
        (tmp_path / name).write_text(CODE[name], encoding="utf-8")
        os.utime(tmp_path / name, (time.time() - 60,) * 2)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in CODE:
        shutil.copy(tmp_path / name, elsewhere)
    for folder in (tmp_path, elsewhere):
        now = keys(KeyMaker(folder), values)
        assert (now.cell, now.monitors) == (before.cell, before.monitors)


@pytest.mark.parametrize("what", ["schema", "testbed's code", "packages", "python"])
def test_what_every_cell_depends_on_is_in_every_key(
    home: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    before = keys(KeyMaker(home), BASE)
    real = component.testbed_digest()
    if what == "schema":
        monkeypatch.setattr(keying, "SCHEMA", keying.SCHEMA + 1)
    elif what == "python":
        monkeypatch.setattr(keying.platform, "python_version", lambda: "3.99.0")
    else:
        other = {"digest": "0a"} if what == "testbed's code" else {"packages": {"torch": "0.1"}}
        monkeypatch.setattr(component, "testbed_digest", lambda: replace(real, **other))
    after = keys(KeyMaker(home), BASE)
    assert after.cell != before.cell
    assert all(after.monitors[name] != key for name, key in before.monitors.items())


def test_a_process_keeps_what_cells_of_one_workload_classifier_and_seed_share(
    maker: KeyMaker,
) -> None:
    """Which field parts cells into groups; a table of the others would only repeat the one above."""
    before = maker.group(parse_experiment(BASE, "test"))
    for path, (_, value, *more) in TABLE.items():
        values = with_values({**(more[0] if more else {}), path: value})
        # The network is one, whatever runs it.
        shared = ("workload", "classifier", "validation_fault", "seed")
        parts = path.partition(".")[0] in shared and path != "classifier.engine"
        assert (maker.group(parse_experiment(values, "test")) != before) is parts, path


# Of a campaign -----------------------------------------------------------------------------------------

WHOLE: dict[str, Any] = {
    **{key: value for key, value in BASE.items() if key not in ("faultload", "stream")},
    "faultloads": ["gaussian-noise", "brightness"],
    "severities": [1, 3],
    "seeds": [0, 1],
}
Cells = tuple[int, int]
"""How many cells are there still, and how many are new."""
OF_CAMPAIGN: dict[str, tuple[dict[str, Any], Cells]] = {
    "workloads": ({"workload": None, "workloads": [BASE["workload"], "digits"]}, (8, 8)),
    "classifiers": ({"classifier": None, "classifiers": ["lenet", BASE["classifier"]]}, (8, 8)),
    "faultloads": ({"faultloads": ["brightness", "contrast"]}, (4, 4)),
    "faultload": ({"faultloads": None, "faultload": "gaussian-noise"}, (4, 0)),
    "severities": ({"severities": [3, 5]}, (4, 4)),
    "seeds": ({"seeds": [1, 2]}, (4, 4)),
    "repetitions": ({"seeds": None, "repetitions": 3}, (8, 4)),
    "exclude": ({"exclude": [{"seed": 1, "severity": 3}]}, (6, 0)),
    "validation_fault": ({"validation_fault": "brightness"}, (0, 8)),
    "validation_faults": (
        {"validation_fault": None, "validation_faults": [BASE["validation_fault"], "contrast"]},
        (8, 8),
    ),
    "protocol": ({"protocol": {"name": "what wrote it"}}, (8, 0)),
    "limits": ({"limits": {"seconds": 5.0, "memory_gb": 1.0}}, (8, 0)),
    "workload": ({"workload": "digits"}, (0, 8)),
    "classifier": ({"classifier": "lenet"}, (0, 8)),
}


def test_of_a_campaign_every_field_of_its_own_is_known_by_the_cells_it_makes(maker: KeyMaker) -> None:
    assert set(OF_CAMPAIGN) == set(Campaign.model_fields) - set(Settings.model_fields)
    assert set(LimitSpec.model_fields) == {"seconds", "memory_gb"}, "limits are in no key"
    assert set(Exclusion.model_fields) == {
        *("workload", "classifier", "faultload", "severity", "seed", "monitor", "validation_fault")
    }

    def cells(**changes: Any) -> dict[str, dict[str, str]]:
        values = {key: value for key, value in {**WHOLE, **changes}.items() if value is not None}
        made = [maker.keys(cell.experiment) for cell in parse_campaign(values, "test").cells()]
        return {one.cell: one.monitors for one in made}

    before = cells()
    assert len(before) == 8
    for field, (changes, (still, new)) in OF_CAMPAIGN.items():
        after = cells(**changes)
        assert (len(after.keys() & before.keys()), len(after.keys() - before.keys())) == (still, new), field
        assert all(after[cell] == before[cell] for cell in after.keys() & before.keys()), field
    without = cells(exclude=[{"seed": 1, "monitor": OTHER}])
    assert [{*before[cell]} - {*monitors} for cell, monitors in without.items()].count({OTHER}) == 4
