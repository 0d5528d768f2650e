"""`farm anova`: effects, groups and what was left out, from runs that repeat each other."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from farm.api.boxes import PREDICTED_BOX, SPREAD_OF_BOX, TRUE_BOX
from farm.cli import main
from farm.commands.anova import blocks_of, table_of, with_severity
from farm.comparing.measures import measured
from farm.measures.calibration import ece
from farm.report.anova import render_anova
from farm.report.cells import DASH
from farm.statistics.anova import anova
from farm.statistics.anova_result import Anova
from farm.statistics.differences import level_differences
from farm.store.readouts import Readouts
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
    effects = {effect["name"]: effect for effect in found["table"]}
    assert list(effects) == ["monitor", "faultload", "monitor x faultload"]
    assert effects["monitor"]["p"] < 0.001
    assert effects["faultload"]["p"] > 0.01
    compared = found["differences"]["monitor"]
    letters = dict(zip(compared["levels"], compared["letters"], strict=True))
    assert letters["fair"] == letters["also-fair"]
    assert not set(letters["good"]) & set(letters["fair"])
    assert found["n"] == 4 * 2 * 3
    assert (found["blocks"]["noun"], found["blocks"]["n"]) == ("seed", 4)
    # Four seeds: three degrees of freedom times those of the effect, each beside its own error.
    assert [(effect["df"], effect["error_df"]) for effect in effects.values()] == [(2, 6), (1, 3), (2, 6)]
    assert all(effect["p"] <= effect["p_corrected"] for effect in effects.values() if effect["f"] > 1)
    assert [one["name"] for one in found["sphericity"]] == ["monitor", "monitor x faultload"]
    for pair in compared["pairs"]:
        assert pair["low"] < pair["difference"] < pair["high"]


OPTIONS = ("--measure", "specific.fnr", "--monitor", "good", "--monitor", "fair", "--monitor", "also-fair")


def printed(capsys, runs, *options) -> str:
    assert main(["anova", *runs, *OPTIONS, *options]) == 0
    return capsys.readouterr().out


def unescaped(text: str) -> str:
    for escaped, plain in (
        ("\\textless{}", "<"),
        ("\\textgreater{}", ">"),
        ("$-$", "-"),
        (" -- ", f" {DASH} "),
    ):
        text = text.replace(escaped, plain)
    return " ".join(re.sub(r"\\([_*|<>%&{}#])", r"\1", text).replace("&", "|").split())


@pytest.mark.parametrize("style", ["table", "markdown", "latex"])
def test_every_format_has_the_table_the_blocks_sphericity_and_differences(runs, capsys, style) -> None:
    found = json.loads(printed(capsys, runs, "--format", "json"))
    text = unescaped(printed(capsys, runs, "--format", style))
    assert all(sentence[1:] in text for sentence in found["sentences"])
    assert "each of 4 seeds" in text.replace("Each", "each")
    numbers = re.sub(r"[|\\]", " ", text).split()
    for effect in found["table"]:
        assert f"{effect['f']:.3g}" in numbers
        assert f"{effect['sum_of_squares']:.3g}" in numbers
    for one in found["sphericity"]:
        assert f"Mauchly's test: W = {one['w']:.3g}" in text
    for pair in (pair for factor in found["differences"].values() for pair in factor["pairs"]):
        row = " ".join(re.sub(r"[|\\]", " ", text).split())
        ends = " ".join(f"{pair[name]:.3g}" for name in ("difference", "low", "high"))
        assert f"{pair['first']} {DASH} {pair['second']} {ends}" in row


def test_each_table_alone_has_the_numbers_of_json(runs, capsys) -> None:
    found = json.loads(printed(capsys, runs, "--format", "json"))

    def table(name: str) -> list[dict[str, object]]:
        rows = json.loads(printed(capsys, runs, "--format", "json", "--table", name))
        read = pd.read_csv(io.StringIO(printed(capsys, runs, "--format", "csv", "--table", name)))
        assert list(read) == list(rows[0])
        for told, row in zip(rows, read.to_dict("records"), strict=True):
            for key, value in told.items():
                assert pd.isna(row[key]) if value is None else row[key] == pytest.approx(value)
        return rows

    effects = [{"name": row["effect"], **row} for row in table("effects")]
    assert [{key: row[key] for key in row if key != "effect"} for row in effects] == found["table"]
    assert table("sphericity") == found["sphericity"]
    (blocks,) = table("blocks")
    assert (blocks["noun"], blocks["n"]) == (found["blocks"]["noun"], found["blocks"]["n"])
    pairs = [
        {"factor": name, "method": one["method"], **pair}
        for name, one in found["differences"].items()
        for pair in one["pairs"]
    ]
    assert table("differences") == pairs
    levels = [(row["factor"], row["level"], row["mean"]) for row in table("levels")]
    assert levels == [
        (name, *level)
        for name, one in found["differences"].items()
        for level in zip(one["levels"], one["means"], strict=True)
    ]
    plain = printed(capsys, runs, "--format", "csv")
    assert plain == printed(capsys, runs, "--format", "csv", "--table", "effects")


def test_beside_a_table_alone_it_is_told_which_monitors_are_left_out(runs, capsys) -> None:
    for options in (["--format", "csv"], ["--table", "levels"]):
        assert main(["anova", *runs, "--measure", "specific.precision", *options]) == 0
        found = capsys.readouterr()
        assert "silent" not in found.out
        same_text(found.err)


def test_two_seeds_are_said_to_be_too_few_and_tell_nothing_apart(tmp_path, capsys) -> None:
    skills = {"good": 0.56, "fair": 0.54, "poor": 0.5, "bad": 0.49}
    runs = [save(tmp_path / str(seed), seed, skills) for seed in range(2)]
    assert main(["anova", *runs, "--measure", "specific.fnr", "--factor", "monitor"]) == 0
    same_text(capsys.readouterr().out)


def test_json_tells_the_method_and_keeps_tukey_for_independent_values() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"monitor": [*"aabbcc"] * 2, "seed": [0, 1] * 6, "mcc": rng.normal(size=12)})
    for blocks, key, method in (
        (None, "tukey", "Tukey's HSD"),
        ("seed", "differences", "paired t, Bonferroni"),
    ):
        found = anova(table, "mcc", ["monitor"], blocks=blocks)
        assert isinstance(found, Anova)
        groups = {"monitor": level_differences(found, "monitor")}
        record = json.loads(render_anova(found, groups, [], "json"))
        assert record[key]["monitor"]["method"] == method
        assert {"tukey", "differences"} & {*record} == {key}
        for style in ("table", "markdown", "latex", "csv"):
            shown = render_anova(found, groups, [], style, table="differences" if style == "csv" else None)
            assert method in shown


def test_a_narrow_terminal_cuts_no_number(runs, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = printed(capsys, runs)
    assert "…" not in out
    assert all(len(line) <= 80 for line in out.splitlines() if not line.startswith("- "))
    same_text(out)


def test_a_table_without_rows_is_said_to_be_empty(tmp_path, capsys) -> None:
    runs = [save(tmp_path / str(seed), seed, {"good": 0.9, "fair": 0.5}) for seed in range(3)]
    runs += [save(tmp_path / str(seed), seed, {"good": 0.9}) for seed in (3, 4)]
    for style in ("table", "markdown", "latex"):
        options = ["--measure", "specific.fnr", "--table", "sphericity", "--format", style]
        assert main(["anova", *runs, *options]) == 0
        same_text(capsys.readouterr().out)


def test_a_monitor_without_a_value_is_left_out_and_named(runs, capsys) -> None:
    assert main(["anova", *runs, "--measure", "specific.precision"]) == 0
    out = capsys.readouterr().out
    same_text(out)
    assert "  silent" not in out


def save_classifiers(folder, seed: int, right: dict[str, float], monitors=("a", "b"), **columns) -> list[str]:
    """Save a run for each classifier, which is right on that share of fog, and on half of it of noise."""
    saved, n = [], 400
    fault = np.array(["fog", "noise"], dtype=object)[np.arange(n) % 2]
    for name, share in right.items():
        rng = np.random.default_rng([seed, *name.encode()])
        hit = rng.random(n) < np.where(fault == "fog", share, share / 2)
        sure = np.where(hit, rng.beta(3, 1, n), rng.random(n))
        made = make_readouts(
            {m: rng.random(n) < 0.5 for m in monitors},
            **{"confidence": sure, "brier": np.where(hit, 0.2, 1.0) * sure, **boxes(1 - sure), **columns},
            is_ood=True,
            wrong=~hit,
            faultload=fault,
            run={
                "workload": {"name": "signs"},
                "classifier": {"name": name},
                "classes": ["stop", "yield"],
                "seed": seed,
            },
        )
        saved.append(str(made.save(folder / f"{name}-{seed}")))
    return saved


def boxes(off):
    """Boxes that are predicted too far to the right."""
    target, off = np.tile([2.0, 2.0, 6.0, 6.0], (len(off), 1)), off[:, None] * [1, 0, 1, 0]
    columns = {TRUE_BOX: target, PREDICTED_BOX: target + off, SPREAD_OF_BOX: 1.0 + 0 * target}
    return {name: each for names, own in columns.items() for name, each in zip(names, own.T, strict=True)}


OF_CLASSIFIER = (
    "classifier_accuracy",
    "classifier_brier_mean",
    "classifier_confidence_auroc",
    "classifier_ece",
)
OF_CLASSIFIER += ("box_mae", "box_iou", "box_nll")


@pytest.mark.parametrize("measure", OF_CLASSIFIER)
def test_what_a_classifier_is_worth_counts_once_a_run_however_many_monitors(
    tmp_path, capsys, measure
) -> None:
    options = ["--measure", measure, "--factor", "classifier", "--factor", "faultload", "--format", "json"]
    told = []
    for monitors in (("a",), ("a", "b", "c")):
        folder = tmp_path / str(len(monitors))
        runs = [
            run
            for seed in range(4)
            for run in save_classifiers(folder, seed, {"lenet": 0.9, "vgg": 0.6}, monitors=monitors)
        ]
        assert main(["anova", *runs, *options]) == 0
        told.append(json.loads(capsys.readouterr().out))
        assert told[-1]["n"] == 2 * 2 * 4
        assert told[-1]["blocks"]["noun"] == "seed"
    table, _ = table_of([Readouts.load(run) for run in runs], measured(measure))
    for row in table.to_dict("records"):
        instances = Readouts.load(folder / f"{row['classifier']}-{row['seed']}").instances
        own = instances[instances["faultload"] == row["faultload"]]
        right, off = own["label"] == own["predicted"], 1 - own["confidence"]
        expected = {
            "classifier_accuracy": right.mean(),
            "classifier_brier_mean": own["brier"].mean() / 2,
            "classifier_confidence_auroc": roc_auc_score(right, own["confidence"]),
            "classifier_ece": ece(own["confidence"].to_numpy(), right.to_numpy()).value,
            "box_mae": off.mean() / 2,
            "box_iou": ((4 - off) / (4 + off)).mean(),
            "box_nll": (off**2).mean() / 4 + np.log(2 * np.pi) / 2,
        }
        assert row[measure] == pytest.approx(expected[measure])
    effects = {effect["name"]: effect for effect in told[0]["table"]}
    if measure == "classifier_accuracy":
        assert max(effects[name]["p"] for name in ("classifier", "faultload")) < 0.01
    # Monitors draw random numbers after the classifier's, and have no part in what is measured.
    assert told[0]["table"] == told[1]["table"]


def test_of_the_classifier_other_factors_are_usual_and_monitors_are_none(tmp_path, capsys) -> None:
    runs = [run for seed in range(3) for run in save_classifiers(tmp_path, seed, {"lenet": 0.9, "vgg": 0.6})]
    arguments = ["anova", *runs, "--measure", "classifier_accuracy"]
    assert main([*arguments, "--format", "json"]) == 0
    effects = [effect["name"] for effect in json.loads(capsys.readouterr().out)["table"]]
    assert effects == ["classifier", "faultload", "classifier x faultload"]
    for option in (["--factor", "monitor"], ["--monitor", "a"]):
        assert main([*arguments, *option]) == 2
        same_text(capsys.readouterr().err)


def test_a_classifier_without_a_value_on_some_set_is_told_of(tmp_path, capsys) -> None:
    runs = [run for seed in range(3) for run in save_classifiers(tmp_path, seed, {"lenet": 0.9}, brier=None)]
    assert main(["anova", *runs, "--measure", "classifier_brier_mean"]) == 2
    same_text(capsys.readouterr().err)


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
    assert "repeat runs with other seeds" in err


def test_benchmark_sets_are_blocks_of_a_single_run(runs, capsys) -> None:
    arguments = ["--factor", "monitor", "--measure", "specific.fnr", "--format", "json"]
    assert main(["anova", runs[0], *arguments]) == 0
    blocks = json.loads(capsys.readouterr().out)["blocks"]
    assert (blocks["noun"], blocks["n"]) == ("benchmark set", 2)


def test_sets_are_averaged_within_a_seed_where_they_are_no_factor(runs, capsys) -> None:
    assert main(["anova", *runs, "--factor", "monitor", "--measure", "specific.fnr", "--format", "json"]) == 0
    blocks = json.loads(capsys.readouterr().out)["blocks"]
    assert (blocks["noun"], blocks["n"], blocks["averaged"]) == ("seed", 4, [2, 2])


def test_runs_are_blocks_where_seeds_repeat_a_set(tmp_path) -> None:
    skills = {"good": 0.9, "fair": 0.5}
    runs = [Readouts.load(Path(save(tmp_path / name, 3, skills))) for name in "ab"]
    measure = measured("specific.fnr")
    for digest, run in enumerate(runs):
        run.run["files"] = {"alarms.parquet": str(digest)}
    assert blocks_of(table_of(runs, measure)[0]) == "run"
    runs[1].run["seed"] = 4
    assert blocks_of(table_of(runs, measure)[0]) == "seed"
    runs[1].run["seed"] = None
    assert blocks_of(table_of(runs, measure)[0]) == "run"


def test_a_monitor_that_a_run_lacks_asks_for_a_mixed_model(tmp_path, capsys) -> None:
    skills = {"good": 0.9, "fair": 0.5, "poor": 0.3}
    runs = [save(tmp_path / str(seed), seed, skills) for seed in range(3)]
    runs += [save(tmp_path / str(seed), seed, {"good": 0.9, "fair": 0.5}) for seed in (3, 4)]
    assert main(["anova", *runs, "--measure", "specific.fnr"]) == 0
    same_text(capsys.readouterr().out)


@pytest.mark.parametrize(("lacking", "other"), [("faultload", "monitor"), ("monitor", "faultload")])
def test_what_has_one_level_is_no_factor_unless_asked_for(runs, tmp_path, capsys, lacking, other) -> None:
    logs = []
    for number, folder in enumerate(runs):
        run = Readouts.load(folder)
        table = run.alarms[run.alarms["monitor"] != "silent"].merge(run.instances, on="position")
        if lacking == "monitor":
            table = table[table["monitor"] == "fair"]
        logs.append(str(tmp_path / f"{number}.csv"))
        table.drop(columns=["position", "track", lacking]).to_csv(logs[-1], index=False)
    assert main(["anova", *logs, "--measure", "specific.fnr", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [effect["name"] for effect in found["table"]] == [other]
    assert [line.startswith(f"{lacking} is no factor: ") for line in found["left_out"]] == [True]
    assert main(["anova", *logs, "--measure", "specific.fnr", "--factor", lacking]) == 2
    assert "has one level only" in capsys.readouterr().err


def test_where_severity_is_a_factor_sets_without_one_are_left_out_and_named() -> None:
    names, severities = ["fog", "fog", "no fault", "novelty"], ["1", "3", "no severity", "no severity"]
    table = pd.DataFrame({"faultload": names, "severity": severities})
    kept, told = with_severity(table, ["classifier", "severity"])
    assert kept["faultload"].tolist() == ["fog", "fog"]
    assert told == ["without a severity, and so left out: no fault and novelty"]
    assert with_severity(table, ["classifier", "faultload"])[1] == []
    assert len(with_severity(table[2:], ["severity"])[0]) == 2
