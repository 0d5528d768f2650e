"""`farm anova`: effects, groups and what was left out, from runs that repeat each other."""

from __future__ import annotations

import json

import numpy as np
import pytest

from farm.cli import main
from farm.testing import make_readouts
from tests.wording import same_text


def save(folder, seed: int, skills: dict[str, float | None]) -> str:
    """Save a run of two faults in which each monitor notices OOD instances by its skill."""
    rng = np.random.default_rng(seed)
    n = 600
    fault = np.array([None, "fog", "noise"], dtype=object)[np.arange(n) % 3]
    is_ood = fault != None  # noqa: E711 - element by element
    alarms = {}
    for name, skill in skills.items():
        alarms[name] = rng.random(n) < (0.0 if skill is None else np.where(is_ood, skill, 0.05))
    run = {"workload": {"name": "signs"}, "classifier": {"name": "lenet"}, "seed": seed}
    made = make_readouts(
        {name: {"alarm": alarm, "cancelled": alarm} for name, alarm in alarms.items()},
        label=np.where(is_ood, -1, 0),
        is_ood=is_ood,
        faultload=fault,
        severity=np.nan,
        track=[f"t{i}" for i in range(n)],
        run=run,
    )
    made.save(folder)
    return str(folder)


@pytest.fixture
def runs(tmp_path) -> list[str]:
    skills = {"good": 0.9, "fair": 0.5, "also-fair": 0.5, "silent": None}
    return [save(tmp_path / f"run-{seed}", seed, skills) for seed in range(10, 14)]


def test_effects_and_groups_are_told(runs, capsys) -> None:
    skilled = [f"--monitor={name}" for name in ("good", "fair", "also-fair")]
    assert main(["anova", *runs, *skilled, "--measure", "specific.fnr", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    effects = {effect["name"]: effect for effect in found["effects"]}
    assert list(effects) == ["monitor", "faultload", "monitor x faultload"]
    assert effects["monitor"]["p"] < 0.001
    assert effects["faultload"]["p"] > 0.01
    letters = found["letters"]["monitor"]
    assert letters["fair"] == letters["also-fair"]
    assert not set(letters["good"]) & set(letters["fair"])
    assert found["n"] == 4 * 2 * 3


def test_a_monitor_without_a_value_is_left_out_and_named(runs, capsys) -> None:
    assert main(["anova", *runs, "--measure", "specific.precision"]) == 0
    out = capsys.readouterr().out
    same_text(out)
    assert "  silent" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--factor", "montor"], "--factor 'montor' is not known; did you mean 'monitor'?"),
        (["--measure", "overall.mc"], "--measure 'overall.mc' is not known"),
    ],
)
def test_mistakes_are_told(runs, capsys, arguments, message) -> None:
    assert main(["anova", *runs, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_single_run_leaves_no_error_to_compare_with(runs, capsys) -> None:
    assert main(["anova", runs[0]]) == 2
    err = capsys.readouterr().err
    same_text(err)
    assert "repeat runs" in err
