"""Files of searches: what they say, and each mistake by its place."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farm.errors import ExperimentError
from farm.run.loading import load_experiment
from farm.tuning.history import _distribution, _short, optuna
from farm.tuning.spec import Values, load_tuning, parse_tuning
from tests.tuning.searching import EXPERIMENT, TUNING, write
from tests.wording import refused

CAMPAIGN = {
    "name": "several",
    "monitors": ["never"],
    "workloads": ["digits", {"name": "digits", "as": "small", "size": 8}],
    "classifiers": ["cnn", {"name": "cnn", "as": "wide", "epochs": 3}],
    "seeds": [7, 8],
    "batch_size": 16,
}


def changed(path: str, value: Any) -> dict[str, Any]:
    values: dict[str, Any] = {"name": "mine", **deepcopy(TUNING)}
    place = values
    *above, last = path.split(".")
    for part in above:
        place = place[part]
    place[last] = value
    return values


STEP = {"search": {"box_mae": {"a": [1, 2]}}}
SCALE = "steps.best.search.classifier_nll.scale"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("experiment", None),
        ("trials", 0),
        ("trials", 10_001),
        ("steps.best.trials", 0),
        ("steps.best.trials", 10_001),
        ("trails", 5),
        ("steps", {}),
        ("steps", {" ": STEP}),
        ("steps", {"cnn": STEP, "cnn/head": STEP}),
        ("set", {"name": "lenet"}),
        ("steps.best.search", {}),
        ("steps.best.search", {"classifier_nll": {}}),
        ("steps.best.search", {"box_mea": {"scale": [1, 2]}}),
        ("steps.best.search", {"box_mae": {"as": ["a", "b"]}}),
        ("steps.best.search.box_nll.scale", [1, 2]),
        ("steps.best.set", {"scale": 3}),
        ("steps.best.tries", 3),
        (SCALE, 3),
        (SCALE, [3]),
        (SCALE, [3, 3.0]),
        (SCALE, [[3], [4]]),
        (SCALE, {"low": 1}),
        (SCALE, {"low": 2, "high": 1}),
        (SCALE, {"low": "a", "high": 1}),
        (SCALE, {"low": 0, "high": float("inf")}),
        (SCALE, {"low": 0, "high": 1, "log": True}),
        (SCALE, {"low": 1, "high": 2, "log": True, "step": 1}),
        (SCALE, {"low": 0, "high": 1, "step": 0.3}),
        (SCALE, {"low": 0, "high": 1, "step": 0}),
        (SCALE, {"low": 0, "high": 1e15, "step": 1e-15}),
        (SCALE, {"low": 0, "hihg": 1}),
        (SCALE, {"choices": [1, 2]}),
    ],
    ids=str,
)
def test_a_mistake_is_told_by_its_place(path: str, value: Any) -> None:
    with refused(ExperimentError):
        parse_tuning(changed(path, value), "tuning.yaml")


def test_trials_are_the_steps_own_or_all() -> None:
    tuning = parse_tuning(changed("steps.more", {**TUNING["steps"]["best"], "trials": 3}), "tuning.yaml")
    assert [tuning.trials_of(name) for name in tuning.steps] == [8, 3]


@pytest.mark.parametrize(
    "names", [{}, {"classifier": "cnn"}, {"classifier": "wide", "workload": "large"}], ids=str
)
def test_of_several_classifiers_one_has_to_be_named(tmp_path: Path, names: dict[str, str]) -> None:
    place = write(tmp_path, {**TUNING, **names}, CAMPAIGN)
    with refused(ExperimentError):
        load_tuning(place)


def test_an_experiment_is_found_beside_the_file_or_among_those_that_ship(tmp_path: Path) -> None:
    names = {"classifier": "wide", "workload": "small"}
    tuning, experiment, home = load_tuning(write(tmp_path, {**TUNING, **names}, CAMPAIGN), ["trials=4"])
    assert (tuning.name, tuning.trials, home) == ("tuning", 4, tmp_path)
    assert (experiment.seed, experiment.batch_size) == (7, 16)
    assert experiment.classifier.parameters == {"epochs": 3}
    assert experiment.workload.parameters == {"size": 8}
    of_shipped = load_tuning(write(tmp_path, {**TUNING, "experiment": "quickstart"}))[1]
    assert of_shipped.classifier == load_experiment("quickstart")[0].classifier.model_copy(
        update={"engine": "auto"}
    )


def test_a_search_is_no_experiment(tmp_path: Path) -> None:
    with refused(ExperimentError):
        load_experiment(write(tmp_path))
    assert load_experiment(str(tmp_path / "mine.yaml"))[0].seed == EXPERIMENT["seed"]


NUMBERS = st.floats(1e-6, 1e6, allow_subnormal=False)


@settings(max_examples=60, deadline=None)
@given(NUMBERS, NUMBERS, st.booleans(), st.integers(0, 100))
def test_what_is_suggested_lies_in_the_range_though_it_is_rounded(
    one: float, other: float, log: bool, seed: int
) -> None:
    if one == other:
        return
    values = Values(low=min(one, other), high=max(one, other), log=log)
    study = optuna().create_study(sampler=optuna().samplers.RandomSampler(seed=seed))
    drawn = study.ask({"x": _distribution(optuna(), values)}).params["x"]
    short = _short(drawn, values)
    assert values.low <= short <= values.high
    assert short == pytest.approx(drawn, rel=5e-4)


def test_steps_are_as_people_write_them() -> None:
    values = Values.model_validate({"low": 0.05, "high": 0.35, "step": 0.05})
    distribution = _distribution(optuna(), values)
    drawn = {
        _short(
            optuna()
            .create_study(sampler=optuna().samplers.RandomSampler(seed=i))
            .ask({"x": distribution})
            .params["x"],
            values,
        )
        for i in range(60)
    }
    assert drawn == {0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35}
    assert all(distribution._contains(one) for one in drawn)


@pytest.mark.parametrize(
    ("said", "kind", "given"),
    [
        ({"low": 1, "high": 8}, "Int", (1, 8)),
        ({"low": 1, "high": 8, "log": True}, "Int", (1, 8, True)),
        ({"low": 1, "high": 9, "step": 2}, "Int", (1, 9, False, 2)),
        ({"low": 1, "high": 8.0, "log": True}, "Float", (1.0, 8.0, True)),
        ({"low": 0.05, "high": 0.35, "step": 0.05}, "Float", (0.05, 0.35, False, 0.05)),
        ([1, "a", None], "Categorical", ([1, "a", None],)),
    ],
    ids=str,
)
def test_each_way_to_say_values_is_one_of_optunas(said: Any, kind: str, given: tuple[Any, ...]) -> None:
    expected = getattr(optuna().distributions, f"{kind}Distribution")(*given)
    assert _distribution(optuna(), Values.model_validate(said)) == expected
