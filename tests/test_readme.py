"""What the README shows is run: its commands, its files, its Python, and the table that it prints."""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import yaml
from PIL import Image
from sklearn.metrics import matthews_corrcoef, roc_auc_score, roc_curve

import farm
from farm import registry
from farm.campaign.spec import parse_campaign
from farm.cli import _parser, main
from farm.config.experiment import parse_experiment
from farm.config.specs import ComponentSpec
from farm.gate.criteria_file import load_criteria
from farm.run.benchmark_set import StoredStream, write_benchmark
from farm.run.loading import load_experiment

README = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
RUN = "runs/quickstart-001"
TINY = {
    "workload": "farm.testing.fakes:TinySource",
    "classifiers": "['farm.testing.fakes:TinyModel']",
    "faultloads": "[gaussian-noise]",
    "severities": "[5]",
    "seeds": "[0]",
    "monitors": "[max-softmax]",
    "exclude": "[]",
}
"""What makes one quick cell of the README's campaign of sixty."""


def blocks(language: str, text: str = README) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    return [block for name, block in fenced if name == language]


def block(language: str, part: str) -> str:
    """Return the one block that has this text in it."""
    (found,) = (one for one in blocks(language) if part in one)
    return found


class Done(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


def farm_at(place: Path, command: str) -> Done:
    """Run a command of the README as it stands, in a folder."""
    out, err = io.StringIO(), io.StringIO()
    with chdir(place), redirect_stdout(out), redirect_stderr(err):
        code = main(shlex.split(command)[1:])
    return Done(code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that the README's commands name."""
    folder = tmp_path_factory.mktemp("readme")
    grey = Image.fromarray(np.full((40, 40, 3), 128, np.uint8))
    for name in ("street-1.png", "street-2.png"):
        grey.save(folder / name)
    rng = np.random.default_rng(0)
    for i in range(20):
        (folder / "my_images" / f"class-{i % 2}").mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(0, 256, (16, 16, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / "my_images" / f"class-{i % 2}" / f"{i}.png")
    (folder / "evening.yaml").write_text(block("yaml", "name: evening"))
    (folder / "criteria.yaml").write_text(block("yaml", "criteria:"))
    (folder / "prices.yaml").write_text("wrong: 10\ncancelled_right: 1\n")
    (folder / "log.csv").write_text(block("", "label,predicted"))
    return folder


@pytest.fixture(scope="module")
def quickstart(place: Path) -> Done:
    """Run what the README begins with, as it is shipped."""
    return farm_at(place, "farm run quickstart --quiet")


@pytest.fixture(scope="module")
def evening(place: Path) -> Done:
    """Run one quick cell of the README's campaign, as many workers as it says."""
    settings = " ".join(f'--set "{key}={value}"' for key, value in TINY.items())
    return farm_at(place, f"farm run evening.yaml --workers 2 --quiet {settings}")


# The table -------------------------------------------------------------------------------------------------

POINTS, MCC = 10.0, 0.1
"""How far rates in per cent and MCC may be from those that are shown: another machine trains another network.

The plainest arithmetic of this processor took them as far as 5.2 and 0.06.
"""


def page_of(text: str) -> str:
    """Return what a run says of itself, from the answer to the legend."""
    return text[text.index("On novelty, ") :].partition("\n\nThe run was written")[0]


def rows_of(text: str) -> dict[str, list[str]]:
    """Return the words of each line by its first, those of the comparison below the table by yardsticks."""
    rows = {line.split()[0]: line.split()[1:] for line in page_of(text).splitlines() if line.strip()}
    (below,) = re.findall(r"^For comparison, accepted: (.*?)\.$", text, flags=re.MULTILINE | re.DOTALL)
    return rows | {one.split()[0]: re.findall(r"\d+\.\d", one) for one in re.split(r",\s+", below)}


def plain(page: str) -> list[str]:
    """Return a page's words, without what no two machines have in common: times."""
    page = re.sub(r"\d[\d.]* (ns|µs|ms|s)\b", "TIME", page)
    page = re.sub(r"─+", "─", page)  # as wide as the numbers want
    page = re.sub(r"(?<=\d)\N{EN DASH}(?=\d)", " ", page)  # the two ends of an interval
    return re.split(r"[\s(]+", page.strip())


def test_the_quickstart_prints_the_page_that_is_shown(quickstart: Done) -> None:
    shown, printed = (plain(page_of(text)) for text in (block("", "signs · lenet · novelty"), quickstart.out))
    assert quickstart.code == 0
    assert len(shown) == len(printed), (shown, printed)
    for place, (one, other) in enumerate(zip(shown, printed, strict=True)):
        where = (shown[place - 3 : place + 3], printed[place - 3 : place + 3])
        # Rates are in per cent, with a digit or in a sentence; how many instances there are is exact.
        rate = printed[place + 1 : place + 2] == ["%"]
        if re.fullmatch(r"-?\d+\.\d+" + "|\\d+" * rate, one):
            limit = MCC if len(one.partition(".")[2]) == 2 else POINTS
            assert float(other) == pytest.approx(float(one), abs=limit), where
        else:
            assert one == other, where


def test_the_tables_numbers_are_those_of_the_readouts(quickstart: Done, place: Path) -> None:
    """Each by a definition of its own, from the files that the run wrote."""
    instances = pd.read_parquet(place / RUN / "instances.parquet")
    alarms = pd.read_parquet(place / RUN / "alarms.parquet")
    is_ood = instances["is_ood"].to_numpy()
    wrong = (instances["label"] != instances["predicted"]).to_numpy()
    rows = rows_of(quickstart.out)
    for name in ("oob", "oob-pca", "oob-isomap", "odin", "max-softmax"):
        said = alarms[alarms["monitor"] == name]
        alarm = said["alarm"].to_numpy()
        fpr, tpr, _ = roc_curve(is_ood, said["score"])
        expected = [
            (matthews_corrcoef(is_ood, alarm), 0.01),
            (roc_auc_score(is_ood, said["score"]), 0.01),
            (100 * fpr[tpr >= 0.95][0], 0.1),
            (100 * alarm[~is_ood].mean(), 0.1),
            (100 * (~alarm[is_ood]).mean(), 0.1),
            (matthews_corrcoef(wrong, alarm), 0.01),
            (100 * (~alarm).mean(), 0.1),
            (100 * (~wrong)[~alarm].mean(), 0.1),
        ]
        for shown, (number, last_digit) in zip(rows[name], expected, strict=False):
            assert float(shown) == pytest.approx(number, abs=0.51 * last_digit), name
    alarm = alarms[alarms["monitor"] == "random"]["alarm"].to_numpy()
    for shown, share in zip(rows["random"], ((~alarm).mean(), (~wrong)[~alarm].mean()), strict=True):
        assert float(shown) == pytest.approx(100 * share, abs=0.051)


def test_what_the_readme_promises_of_the_table_holds(quickstart: Done, place: Path) -> None:
    rows = rows_of(quickstart.out)
    assert {"never", "always", "random", "oracle"} <= set(rows)
    assert rows["oracle"] == [rows["never"][1], "100.0"]
    table = quickstart.out[quickstart.out.index("signs") :].partition("For comparison")[0]
    assert max(map(len, table.splitlines())) <= 80
    everything = farm_at(place, f"farm judge {RUN} --all").out
    (never,) = re.findall(r"^ never +(\S+)", everything.partition("overall  ")[0], flags=re.MULTILINE)
    assert never == "\N{EN DASH}¹"
    assert "¹ none of the 3,200 instances raised an alarm" in everything


def test_the_answer_is_there_for_a_script_too(quickstart: Done, place: Path) -> None:
    told = re.search(r"`farm run quickstart --format json` prints (.*), and nothing else", README)
    assert told is not None
    names = set(re.findall(r"`(\w+)`", told[1]))
    (answer,) = json.loads(farm_at(place, f"farm compare {RUN} --format json").out)["answer"]
    assert names == {"answer", "warnings", "records", "folder", *answer} - {"category"}
    assert " ".join(page_of(quickstart.out).partition("\n\n")[0].split()) == answer["sentence"]


# Commands --------------------------------------------------------------------------------------------------


def written() -> Iterator[str]:
    """Return each `farm ...` that the README tells to type, in blocks and between backquotes."""
    for line in "".join(blocks("")).splitlines():
        command = line.partition("#")[0].partition("&& ")
        yield from (part.strip() for part in (command[0], command[2]) if part.startswith("farm "))
    prose = re.sub(r"^```.*?^```", "", README, flags=re.DOTALL | re.MULTILINE)
    yield from (one for one in re.findall(r"`(farm [^`]+)`", prose) if "--" in one or len(one.split()) > 2)


def typed(command: str) -> list[str]:
    """Return what a person would type: without what stands beside it, one word where several are offered."""
    command = re.split(r"\s{2,}", command)[0].replace("...", "")
    words = [word.partition("|")[0] for word in command.split()[1:]]
    return ["3" if word in ("N", "K") else word for word in words]


def test_every_command_is_one_that_farm_takes(capsys: pytest.CaptureFixture[str]) -> None:
    found = sorted(set(written()))
    assert len(found) > 40
    mistakes = []
    for command in found:
        try:
            _parser().parse_args(typed(command))
        except SystemExit:
            mistakes.append(f"{command}: {capsys.readouterr().err.splitlines()[-1]}")
    assert mistakes == []


def test_every_command_that_farm_has_is_in_the_readme(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        _parser().parse_args(["--help"])
    listed = re.search(r"COMMAND\n(.*?)\n\n", capsys.readouterr().out, flags=re.DOTALL)
    assert listed is not None
    names = set(re.findall(r"^    (\S+)", listed[1], flags=re.MULTILINE))
    told = block("", "farm run FILE|NAME")
    assert {"run", "check", "cache", "decide"} < names
    assert {name for name in names if not re.search(rf"\bfarm {name}\b", told)} == set()


class Asked(NamedTuple):
    """A command, where it stands in the README, and what it must print or write."""

    command: str
    prints: str = ""
    writes: str = ""
    code: int = 0


# As they stand, with the run's folder for RUN; what takes a cluster, a terminal or more than seconds is left
# out: `farm test-monitor`, which tests/commands/test_cli_monitors.py runs, `--cluster`, and sixty cells.
ASKED = [
    Asked("farm judge log.csv", "mine"),
    Asked("farm list", "signs-abroad"),
    Asked("farm list faultloads", "robustness-fog"),
    Asked("farm list policies", "hysteresis"),
    Asked("farm list monitors", "max-softmax"),
    Asked("farm describe monitor oob", "Reference: Henzinger"),
    Asked("farm describe faultload fog", "Hendrycks"),
    Asked("farm describe workload folder --images card.png --set path=my_images", "class-1", "card.png"),
    Asked("farm plan --rank-difference 1 --monitors 5", "sets"),
    Asked("farm plan --half-width 0.02 --rate 0.1", "instances"),
    Asked("farm new monitor my-monitor", "my-monitor", "my-monitor/my_monitor/monitor.py"),
    Asked("farm faults preview fog robustness-fog --workload signs --out fog.png", "2 fault(s)", "fog.png"),
    Asked("farm cache", "MB"),
]
OF_THE_RUN = [
    Asked("farm compare runs/* --by category --cd ranks.svg", "On novelty, there is one set", "ranks.svg"),
    Asked("farm inspect RUN --ood-share 0.001 --costs prices.yaml --look classes", "0.001"),
    Asked("farm judge RUN --format csv", "max-softmax"),
    Asked(
        "farm check RUN --criteria criteria.yaml --junit report.xml --markdown summary.md",
        "pass",
        "report.xml summary.md",
    ),
    Asked("farm baseline save RUN", writes="baselines/quickstart.yaml"),
    Asked("farm fit quickstart --monitor oob --out guard/", "oob", "guard/guard.json"),
    Asked("farm decide guard/ street-1.png street-2.png", "street-2.png"),
]
OF_THE_CAMPAIGN = [
    Asked("farm run evening.yaml --dry-run", "60 cells"),
    Asked("farm status runs/evening", "1"),
    Asked("farm verify runs/evening", "everything is there and whole"),
    Asked("farm compare runs/evening --by category", "max-softmax"),
    Asked("farm export runs/evening --format parquet", "parquet"),
]


def check(place: Path, asked: Asked) -> None:
    runs = " ".join(f"runs/{path.name}" for path in sorted((place / "runs").glob("quickstart-*")))
    command = asked.command.replace("RUN", RUN).replace("runs/*", runs)
    done = farm_at(place, command)
    assert done.code == asked.code, done
    assert asked.prints in done.out, done
    for name in asked.writes.split():
        assert (place / name).is_file(), done


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.command)
def test_what_needs_no_run(place: Path, asked: Asked) -> None:
    check(place, asked)


@pytest.fixture(scope="module")
def another(quickstart: Done, place: Path) -> Done:
    """Run it on another sort of faults: what was trained and fitted is found again."""
    settings = "--set 'faultload={name: fog, severity: 5}' --set batch_size=64 --set stream.length=800"
    return farm_at(place, f"farm run quickstart --quiet --readouts-only {settings}")


@pytest.mark.parametrize("asked", OF_THE_RUN, ids=lambda asked: asked.command)
def test_what_is_asked_of_a_run(another: Done, place: Path, asked: Asked) -> None:
    assert another.code == 0
    if asked.command.startswith("farm decide") and not (place / "guard").exists():
        check(place, OF_THE_RUN[-2])
    check(place, asked)


def test_the_campaign_is_run_and_asked_and_a_cell_is_repeated(evening: Done, place: Path) -> None:
    assert evening.code == 0, evening
    for asked in OF_THE_CAMPAIGN:
        check(place, asked)
    (cell,) = (place / "runs" / "evening" / "cells").glob("*/run.json")
    done = farm_at(place, f"farm run {cell.relative_to(place)} --quiet")
    assert done.code == 0
    assert "bit for bit" in done.out


def test_what_was_run_stands_in_the_readme() -> None:
    text = " ".join(README.split())
    assert [
        one.command for one in (*ASKED, *OF_THE_RUN, *OF_THE_CAMPAIGN) if not stands(one.command, text)
    ] == []


def stands(command: str, text: str) -> bool:
    """Say whether a command stands in the README, where several words may be offered for one."""
    places = {"judge RUN --format csv": "judge RUN...", "judge log.csv": "judge RUN..."}
    places |= {"baseline save RUN": "farm baseline save RUN", "verify runs/evening": "farm verify DIR"}
    places |= {"list monitors": "farm list monitors"}
    return places.get(command.removeprefix("farm "), command) in text


def test_settings_of_the_command_line_are_taken() -> None:
    (command,) = (one for one in written() if "--set seed=1" in one)
    experiment, _ = load_experiment("quickstart", re.findall(r"--set (\S+)", command))
    assert (experiment.seed, experiment.stream.ood_share) == (1, 0.1)


def test_exit_codes_are_as_they_are_told(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = re.search(
        r"Exit codes: 0 done, (\d) something failed[^,]*, (\d) a mistake[^,]*, (\d+) interrupted", README
    )
    assert told is not None
    failed, mistake, interrupted = map(int, told.groups())
    assert farm_at(place, "farm run quickstrat").code == mistake
    (place / "my_scores.py").write_text("def score(observation):\n    raise KeyError('nothing')\n")
    values = {"workload": TINY["workload"], "classifier": "farm.testing.fakes:TinyModel"}
    values |= {"monitors": [{"name": "callable", "function": "my_scores:score"}]}
    (place / "failing.yaml").write_text(yaml.safe_dump(values))
    assert farm_at(place, "farm run failing.yaml --quiet --out failing").code == failed

    def interrupt(options: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("farm.commands.plan.plan", interrupt)
    assert farm_at(place, "farm plan --half-width 0.02").code == interrupted


# What is in a run ------------------------------------------------------------------------------------------


def test_a_runs_files_and_columns_are_those_that_are_listed(quickstart: Done, place: Path) -> None:
    rows = dict(re.findall(r"^\| `([\w.*-]+)` \| (.*) \|$", README, flags=re.MULTILINE))
    found = {re.sub(r"^layer-.*", "layer-*.npy", path.name) for path in (place / RUN).iterdir()}
    assert found <= set(rows)
    assert set(rows) - found == {"layer-*.npy"}, "which the quickstart does not ask for"
    for name, meant in {
        "instances.parquet": {"prediction": "predicted", "time": "classifier_time_us"},
        "alarms.parquet": {"time": "monitor_time_us"},
    }.items():
        columns = set(pd.read_parquet(place / RUN / name).columns)
        _, _, listed = (
            re.sub(r" \([^)]*\)", "", rows[name])
            .replace("`", "")
            .partition(": " if ": " in rows[name] else " ")
        )
        words = [word.strip() for word in re.split(r"[,:]", listed) if word.strip()]
        words = [word for word in words if not word.startswith("a row")]
        assert len(words) >= 5
        assert {meant.get(word, word) for word in words} <= columns
    record = json.loads((place / RUN / "run.json").read_text())
    for key in ("experiment", "seed", "versions", "hardware", "peak_memory_bytes", "files"):
        assert record[key] is not None
    assert record["workload"]["hash"]
    assert record["classifier"]["digest"]
    calibration = record["monitors"][0]["calibration"]
    assert {"threshold", "asked_acceptance", "held_out_acceptance"} <= set(calibration)


# Python and YAML -------------------------------------------------------------------------------------------


def test_the_python_example_prints_its_table_and_its_stream_is_kept_and_read(
    quickstart: Done, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, object] = {"Path": Path}
    with chdir(place):
        exec(block("python", "bed.run"), names)
        printed = capsys.readouterr().out
    assert "On novelty" in printed
    for name in ("oob", "oob-pca", "max-softmax"):
        assert re.search(rf" {name}( +-?0\.\d+){{3}}$", printed, flags=re.MULTILINE)
    short = names["bed"].stream(names["signs"], names["lenet"], "black-frame", ood_share=0.5, length=20)
    with chdir(place):
        eval(
            re.search(r"`(write_benchmark\([^`]*)`", README)[1],
            {**names, "write_benchmark": write_benchmark, "stream": short},
        )
        again = eval(
            re.search(r"`(StoredStream\([^`]*)`", README)[1], {**names, "StoredStream": StoredStream}
        )
        one, other = (next(stream.batches(20)) for stream in (short, again))
    assert one.ids.tolist() == other.ids.tolist()
    np.testing.assert_array_equal(one.images, other.images)


def test_what_was_kept_is_loaded(quickstart: Done, evening: Done, place: Path) -> None:
    names: dict[str, Any] = {"farm": farm}
    with chdir(place):
        exec(block("python", "farm.load"), names)
        runs = list(names["runs"])
    assert {"score", "alarm", "monitor_time_us"} <= set(names["run"].alarms)
    assert len(runs) == len(names["runs"].folders) > 0
    assert names["reasons"]["reason"].str.len().min() > 0
    assert set(names["kept"].values["monitor"]) >= {"oob", "max-softmax"}


def test_the_guard_decides(quickstart: Done, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not (place / "guard").exists():
        check(place, OF_THE_RUN[-2])
    names: dict[str, object] = {}
    with chdir(place):
        exec(block("python", "Guard.load"), names)
    decision = names["decision"]
    assert capsys.readouterr().out == (
        f"{decision.accepted} {decision.predicted} {decision.explanation.reason}\n"
    )
    assert decision.accepted == (decision.score <= decision.threshold)
    assert names["decisions"][0].score == pytest.approx(decision.score)


def test_the_experiments_campaign_and_criteria_parse(place: Path) -> None:
    values = yaml.safe_load(block("yaml", "name: mine"))
    experiment = parse_experiment(values, "README")
    names = [spec.name for spec in experiment.monitors if ":" not in spec.name]
    assert set(names) <= set(registry.entries("monitor"))
    with_policy = parse_experiment(values | yaml.safe_load(block("yaml", "policy: ")), "README")
    assert (with_policy.policy.name, with_policy.fallback.name) == ("m-of-n", "last")
    campaign = parse_campaign(yaml.safe_load(block("yaml", "name: evening")), "README")
    assert len(campaign.cells()) == 2 * 3 * (3 * 3 + 1)
    assert len(load_criteria(place / "criteria.yaml").criteria) == 3


KINDS = {"workload": "workload", "classifier": "model", "faultload": "faultload"}


def test_every_piece_of_an_experiment_is_one() -> None:
    """What stands between backquotes as `workload: {...}`, or is one monitor's `{name: ...}`."""
    values = yaml.safe_load(block("yaml", "name: mine"))
    pieces = re.findall(r"`((?:workload|classifier|faultload|stream): \{[^`]*)`", README)
    assert len(pieces) >= 10
    for piece in pieces:
        said = yaml.safe_load(piece)
        base = {k: v for k, v in values.items() if not ("benchmark" in piece and k == "faultload")}
        (key,) = said
        if "list" not in str(said[key]):
            parse_experiment(base | said, piece)
        if key in KINDS and "name" in said[key]:
            assert ComponentSpec.model_validate(said[key]).make(KINDS[key]).name
    monitors = [yaml.safe_load(one) for one in re.findall(r"`(\{name: [^`]*\})`", README)]
    assert {one["name"] for one in monitors} == {"cusum", "vote", "fusion", "pytorch-ood", "callable"}
    parse_experiment(
        values | {"monitors": [{**one, "as": f"m{i}"} for i, one in enumerate(monitors)]}, "README"
    )
    for one in monitors:
        if one["name"] in ("cusum", "vote", "fusion"):
            assert registry.make("monitor", one["name"], {k: v for k, v in one.items() if k != "name"})
