"""An OD-test from its file to its results, on sets for which theory says what is right."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from farm.api import NoCache, image_digests
from farm.campaign.spec import parse_campaign
from farm.cli import main
from farm.protocols.od_test.results import COLUMNS, Results
from farm.protocols.od_test.summary import mean_accuracies, optimism_gaps, significance
from farm.run.execution import assemble, run_experiment
from farm.run.fitting import ObservedSplit
from farm.run.loading import importable
from farm.run.testbed import Testbed
from farm.statistics.table import Undefined
from tests.protocols.od_test import toys
from tests.protocols.od_test.toys import SPREAD, bright, od_test, written
from tests.wording import same_text

MEANS = {"grey": 0.5, "light": 0.65, "white": 0.75, "dark": 0.3}


def run(folder: Path, values: dict[str, Any], *more: str) -> int:
    return main(["run", str(written(folder, values)), "--out", str(folder / "out"), "--quiet", *more])


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy")
    assert run(folder, od_test()) == 0
    return folder / "out"


@pytest.fixture(scope="module")
def results(toy: Path) -> Results:
    return Results.of(toy)


def expected(threshold: float, target: float) -> float:
    """Return the accuracy of a threshold on brightness, half of the images being of the source."""
    right = norm.cdf((threshold - MEANS["grey"]) / SPREAD), norm.cdf((target - threshold) / SPREAD)
    return float(sum(right) / 2)


def of(results: Results, method: str) -> pd.DataFrame:
    frame = results.frame
    return frame[frame["method"] == method]


@pytest.mark.parametrize("method", ["brightness", "BinClass"])
def test_accuracies_agree_with_theory(results: Results, method: str) -> None:
    rows = 0
    for row in of(results, method).to_dict("records"):
        learned, target = MEANS[row["validation"]], MEANS[row["target"]]
        middle = (MEANS["grey"] + learned) / 2
        if method == "BinClass" and learned < MEANS["grey"]:
            right = 1 - norm.cdf((middle - MEANS["grey"]) / SPREAD), norm.cdf((middle - target) / SPREAD)
            wanted = float(sum(right) / 2)
        elif learned < MEANS["grey"]:
            continue  # a threshold from above on what is darker alarms on nothing, or on all
        else:
            wanted = expected(middle, target)
        # Thresholds are learned from 1500 images a side, and accuracies counted on as many.
        assert row["accuracy"] == pytest.approx(wanted, abs=0.03), row
        rows += 1
    assert rows == (9 if method == "BinClass" else 6)


def test_what_tells_two_sets_apart_need_not_tell_a_third(results: Results) -> None:
    """BinClass is nearly perfect where it is judged on the set that it learned from."""
    (gap,) = [one for one in optimism_gaps(results) if one.method == "BinClass"]
    assert gap.optimistic > 0.9
    assert gap.gap > 0.15
    assert math.isnan(gap.low), "one source gives no interval"


def test_a_random_method_is_right_half_of_the_time(results: Results) -> None:
    accuracies = of(results, "random")["accuracy"]
    assert set(of(results, "random")["network"]) == {""}
    n = int(results.frame["n"].iloc[0])
    assert abs(accuracies.mean() - 0.5) < 3 * math.sqrt(0.25 / n)


def test_results_are_in_a_file_a_row_each(toy: Path, results: Results) -> None:
    frame = pd.read_csv(toy / "results.csv", keep_default_na=False)
    assert tuple(frame.columns) == COLUMNS
    assert len(frame) == 3 * (6 + 3)
    assert frame["optimistic"].sum() == 3 * 3
    assert (frame["optimistic"] == (frame["validation"] == frame["target"])).all()
    assert set(frame["n"]) == {3000}
    assert results.missing == 0


def test_optimistic_results_are_in_no_mean_and_no_test(results: Results) -> None:
    found = {one.method: one for one in mean_accuracies(results)}
    honest = of(results, "BinClass")
    honest = honest[honest["validation"] != honest["target"]]
    assert found["BinClass"].n == 6
    assert found["BinClass"].mean == pytest.approx(honest["accuracy"].mean())
    assert isinstance(significance(results), Undefined)


def test_what_is_told(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for style in ("json", "csv", "markdown", "latex"):
        assert main(["compare", str(toy), "--format", style]) == 0
        assert "BinClass" in capsys.readouterr().out
    assert main(["report", str(toy), "--out", str(toy / "page.html")]) == 0
    assert "BinClass" in (toy / "page.html").read_text(encoding="utf-8")
    assert main(["report", str(toy), "--out", str(toy / "page.html")]) == 0, "a second time in one process"


def test_no_network_learns_from_what_it_is_judged_on(tmp_path: Path) -> None:
    cell = parse_campaign(od_test(), "toy").cells()[0]
    toys.BrightModel.taught.clear()
    run_experiment(cell.experiment, tmp_path, cache=NoCache())
    from_where = {
        name: {one.rpartition("/")[0] for one in ids} for name, ids in toys.BrightModel.taught.items()
    }
    both = {"in-distribution/train/grey/train", "in-distribution/validation/grey/validation"}
    # The classifier leaves the validation images to the monitors.
    assert from_where == {"grey": {"grey/train"}, "grey against light": {*both, "light/light/train"}}


def test_an_image_of_the_target_that_was_learned_from_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The target's test images are copies of the very images to learn from, under another name."""
    values = od_test(
        outliers=[bright("light", 0.65), {**bright("bright", 0.65), "name": f"{toys.HERE}:Planted"}],
        methods=["random"],
        optimistic=False,
    )
    assert run(tmp_path, values) == 1
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("farm: failed")]
    same_text(told)


@pytest.mark.parametrize("path", ["same.npz", "copy.npz"])
def test_one_set_under_two_names_is_found(
    tmp_path: Path, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "same.npz", x=np.zeros((1, 4, 4), np.uint8))
    np.savez(tmp_path / "copy.npz", x=np.zeros((1, 4, 4), np.uint8))
    named = [("one", "same.npz"), ("two", path)]
    outliers = [{"name": "npz", "title": title, "path": str(tmp_path / file)} for title, file in named]
    assert run(tmp_path, od_test(outliers=outliers, methods=["random"])) == 2
    same_text(capsys.readouterr().err.replace(str(tmp_path), "HERE"))


def test_an_empty_set_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = [{"sets": ["grey", "light"], "classes": [[0, 0], [1, 1]]}]
    assert run(tmp_path, od_test(same=same, methods=["random"], optimistic=False)) == 1
    same_text(
        [
            line
            for line in capsys.readouterr().err.splitlines()
            if line.startswith("farm: failed: grey, net, outliers of light, white")
        ]
    )


def test_no_image_that_is_judged_was_learned_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the content of all images that networks, monitors and thresholds of a real cell were shown."""
    learned: dict[str, set[bytes]] = {"networks": set(), "monitors": set()}

    def recording(of: str, method: Any, splits: Any) -> Any:
        def recorded(self: Any, *arguments: Any, **more: Any) -> Any:
            for split in splits(*arguments):
                learned[of].update(split.digests)
            return method(self, *arguments, **more)

        return recorded

    for name in ("classifier", "network"):
        method = getattr(Testbed, name)
        shown = recording("networks", method, lambda _, task: (task.train, task.validation))
        monkeypatch.setattr(Testbed, name, shown)
    observed = recording("monitors", ObservedSplit.__init__, lambda _, split, *more: (split,))
    monkeypatch.setattr(ObservedSplit, "__init__", observed)
    small = {"epochs": 1}
    values = od_test(
        sources=[{"name": "digits", "size": 16, "channels": 1}],
        outliers=["noise-uniform", "noise-normal"],
        networks=[{"name": "lenet", **small}],
        methods=[
            *("binary-classifier", "score-svm", "logistic-svm", "max-softmax"),
            {"name": "reconstruction", "network": small, "networks": "none"},
            {"name": "neighbour-svm", "space": "vae", "network": small, "networks": "none"},
        ],
    )
    cells = {cell.label["faultload"]: cell for cell in parse_campaign(values, "real").cells()}
    with importable(tmp_path):
        made = assemble(cells["noise-normal"].experiment, tmp_path, cache=NoCache())
    assert not made.failures
    judged = {digest for batch in made.stream.batches(256) for digest in image_digests(batch.images)}
    assert len(judged) == made.stream.length
    assert len(learned["networks"]) > 1500, "training images, validation images against outliers, outliers"
    assert len(learned["monitors"]) > 1000
    assert not judged & (learned["networks"] | learned["monitors"])
