"""A robustness evaluation from its file to its results, of toys for which theory says what is right."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import integrate
from sklearn.metrics import accuracy_score, roc_auc_score

from farm.cli import main
from farm.protocols.robustness.results import COLUMNS, Results, drawn_tracks
from farm.protocols.robustness.summary import differences
from farm.protocols.robustness.tables import looks
from farm.store.campaign_folder import CampaignFolder, planned_cells
from farm.store.readouts import Readouts
from tests.protocols.robustness import toys
from tests.protocols.robustness.toys import HERE, LEAST, LOG, MOST, MUDDLED, SIZES, robustness, written
from tests.wording import same_text

N = SIZES["test"]
SEEDS = (4, 5, 6)
TRAINED = ("calibrated", "varying", "constant")


def run(folder: Path, values: dict[str, Any], *more: str) -> int:
    return main(["run", str(written(folder, values)), "--out", str(folder / "out"), "--quiet", *more])


def cells(folder: Path) -> Iterator[tuple[dict[str, Any], Readouts]]:
    """Yield the label and the readouts of each cell that is there."""
    for cell, path in planned_cells(CampaignFolder(folder)):
        if path is not None:
            yield cell["label"], Readouts.load(path, to_judge=True)


def row(results: Results, label: dict[str, Any]) -> dict[str, Any]:
    """Return the one result of a cell."""
    frame = results.frame
    condition = results.spec.conditions[label["faultload"]]
    level = condition.level if label["severity"] is None else label["severity"]
    at_level = frame["level"].isna() if level is None else frame["level"] == level
    (found,) = frame[
        (frame["classifier"] == label["classifier"])
        & (frame["repetition"] == label["seed"] - results.spec.seed + 1)
        & (frame["part"] == condition.part)
        & (frame["transformation"] == condition.name)
        & at_level
    ].to_dict("records")
    return {str(key): value for key, value in found.items()}


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the folder of a run in which one level of one transformation fails; beside it the trainings."""
    folder = tmp_path_factory.mktemp("toy")
    (folder / "trainings").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(LOG, str(folder / "trainings"))
        # A cache of its own, in which no other test has trained anything.
        patch.setenv("FARM_CACHE", str(folder / "cache"))
        assert run(folder, robustness()) == 1, "cells failed"
        yield folder / "out"


@pytest.fixture(scope="module")
def results(toy: Path) -> Results:
    return Results.of(toy)


@pytest.fixture(scope="module")
def page(toy: Path) -> str:
    assert main(["report", str(toy), "--out", str(toy / "page.html")]) == 0
    return (toy / "page.html").read_text(encoding="utf-8")


def of(results: Results, classifier: str, transformation: str, level: float | None = None) -> pd.DataFrame:
    frame = results.frame
    rows = frame[(frame["classifier"] == classifier) & (frame["transformation"] == transformation)]
    return rows if level is None else rows[rows["level"] == level]


def expected(square: Any) -> float:
    """Return the mean of something over images, which tell any sureness with the same chance."""
    value, _ = integrate.quad(square, LEAST, MOST)
    return float(value / (MOST - LEAST))


def test_the_file_has_the_columns_and_a_row_a_result(toy: Path, results: Results) -> None:
    with (toy / "results.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert tuple(rows[0]) == COLUMNS
    assert (
        *("part", "classifier", "transformation", "level", "repetition"),
        *("n", "accuracy", "brier", "auroc"),
    ) == COLUMNS
    assert len(rows) - 1 == len(results.frame) == sum(1 for _ in cells(toy))
    # One plain, two levels and one (another failed), two sets, two pairs less the failed one, two trainings.
    assert Counter(results.frame["kind"]) == {
        "plain": 9,
        "transformation": 27,
        "standard": 18,
        "pair": 9,
        "gan": 18,
    }
    frame = pd.read_csv(toy / "results.csv", keep_default_na=False, na_values=[""])
    pd.testing.assert_frame_equal(frame, results.frame[list(COLUMNS)], check_dtype=False)
    assert set(frame.loc[frame["part"] == "classification", "n"]) == {N}
    assert set(frame.loc[frame["part"] == "ood", "n"]) == {2 * N}
    assert set(frame["repetition"]) == {1, 2, 3}


def test_the_file_has_no_value_where_a_measure_means_nothing(results: Results) -> None:
    ood = results.frame[results.frame["part"] == "ood"]
    assert ood[["accuracy", "brier"]].isna().all().all()
    assert ood["auroc"].notna().all()
    assert results.plain["level"].isna().all()
    assert set(results.ood("pair")["level"]) == {2.0}


def test_measures_are_those_of_numpy_and_scikit_learn(toy: Path, results: Results) -> None:
    for label, readouts in cells(toy):
        found, instances = row(results, label), readouts.instances
        if results.spec.conditions[label["faultload"]].part == "ood":
            auroc = roc_auc_score(~instances["is_ood"], instances["confidence"])
            assert found["auroc"] == pytest.approx(auroc)
            assert instances["is_ood"].mean() == 0.5
            continue
        right = instances["predicted"] == instances["label"]
        assert found["accuracy"] == pytest.approx(accuracy_score(instances["label"], instances["predicted"]))
        assert found["auroc"] == pytest.approx(roc_auc_score(right, instances["confidence"]))
        sure, label_is = instances["confidence"].to_numpy(), right.to_numpy()
        # What is left goes to the other two in equal shares, one of which is right where the first is not.
        rest = (1 - sure) / 2
        sums = np.where(label_is, (1 - sure) ** 2 + 2 * rest**2, sure**2 + (1 - rest) ** 2 + rest**2)
        assert found["brier"] == pytest.approx(sums.mean() / 3, abs=1e-9)


def test_constant_confidence_tells_nothing(results: Results) -> None:
    own = results.frame[results.frame["classifier"] == "constant"]
    assert set(own["auroc"]) == {0.5}
    assert not results.undefined


@pytest.mark.parametrize(("transformation", "level"), [("none", None), ("muddle", 1), ("muddle", 2)])
def test_the_calibrated_one_has_the_measures_of_theory(
    results: Results, transformation: str, level: int | None
) -> None:
    muddled = 0.0 if level is None else MUDDLED * level
    found = of(results, "calibrated", transformation, level)
    assert len(found) == 3
    accuracy = (1 - muddled) * expected(lambda p: p) + muddled / 3
    squares = expected(lambda p: p**2 + (1 - p) ** 2 / 2)
    brier = ((1 - muddled) * (1 - squares) + muddled * (1 - 2 / 3 + squares)) / 3
    # One test set, and each image's Brier score lies within [0, 2/3]: four standard errors.
    assert found["accuracy"].mean() == pytest.approx(accuracy, abs=4 * np.sqrt(accuracy * (1 - accuracy) / N))
    assert found["brier"].mean() == pytest.approx(brier, abs=4 * 0.15 / np.sqrt(N))


def test_the_calibrated_one_is_as_sure_as_it_is_right(results: Results) -> None:
    sureness = expected(lambda p: p)

    def surer(p: float) -> float:
        """Return the chance that a right prediction of this sureness is surer than a wrong one."""
        wrong, _ = integrate.quad(lambda q: 1 - q, LEAST, p)
        return p * wrong

    auroc = expected(surer) / sureness / (expected(lambda p: 1 - p) * (MOST - LEAST))
    found = of(results, "calibrated", "none")["auroc"]
    assert found.mean() == pytest.approx(auroc, abs=4 * np.sqrt(1 / (12 * 0.3 * N)))


def test_sets_have_the_auroc_of_theory(results: Results) -> None:
    """Uniform noise tells any sureness, as test images do; natural ones, and the GAN's, the lower half."""
    for name, value in (
        ("uniform-noise", 0.5),
        ("natural-images", 0.75),
        ("natural-images+muddle", 0.75),
        ("dim-1", 0.75),
        ("dim-2", 0.75),
    ):
        found = of(results, "calibrated", name)["auroc"]
        assert len(found) == 3
        assert found.mean() == pytest.approx(value, abs=4 * np.sqrt(1 / (6 * N)))


def test_one_network_a_repetition_serves_all_conditions(toy: Path) -> None:
    digests: dict[tuple[str, int], set[str]] = {}
    for label, readouts in cells(toy):
        key = str(label["classifier"]), int(label["seed"])
        digests.setdefault(key, set()).add(readouts.run["classifier"]["digest"])
    assert set(digests) == {(name, seed) for name in TRAINED for seed in SEEDS}
    assert all(len(own) == 1 for own in digests.values())
    assert len(set.union(*digests.values())) == 9, "each repetition has another network"


def test_each_network_and_each_gan_is_trained_once(toy: Path) -> None:
    done = Counter(path.read_text(encoding="utf-8") for path in (toy.parent / "trainings").iterdir())
    networks = {f"{name} {seed}" for name in TRAINED for seed in SEEDS}
    assert done == dict.fromkeys(networks | {"dim-1 4", "dim-2 5"}, 1)


def test_a_retrained_classifier_differs_by_repetition_and_the_images_do_not(
    toy: Path, results: Results
) -> None:
    assert of(results, "varying", "none")["brier"].nunique() == 3
    assert of(results, "calibrated", "none")["brier"].nunique() == 1
    assert results.given == frozenset()
    shown = {
        frozenset(readouts.instances.loc[~readouts.instances["is_ood"], "id"])
        for label, readouts in cells(toy)
        if results.spec.conditions[label["faultload"]].kind in ("plain", "standard", "gan")
    }
    assert {len(ids) for ids in shown} == {N}
    assert len(shown) == 1, "test images are the same in all repetitions and conditions"
    muddled = {
        int(label["seed"]): tuple(readouts.instances.sort_values("id")["predicted"])
        for label, readouts in cells(toy)
        if (label["classifier"], label["faultload"], label["severity"]) == ("calibrated", "muddle", 2)
    }
    assert len(set(muddled.values())) == 3, "what is random in a transformation is drawn anew"


def test_a_gan_draws_the_same_images_in_all_repetitions(toy: Path, results: Results) -> None:
    sheets: dict[str, set[str]] = {}
    for label, readouts in cells(toy):
        if results.spec.conditions[label["faultload"]].kind == "gan":
            (fault,) = readouts.run["stream"]["faults"]
            sheets.setdefault(label["faultload"], set()).add(fault["notes"]["sheet"])
    assert {name: len(found) for name, found in sheets.items()} == {"dim-1": 1, "dim-2": 1}
    assert sheets["dim-1"] != sheets["dim-2"]
    assert [(one.name, one.group, one.notes["seed"]) for one in results.gans] == [
        ("dim-1", "dim", 4),
        ("dim-2", "dim", 5),
    ]


def test_halves_of_a_gans_images_make_up_the_whole(toy: Path, results: Results) -> None:
    rows = results.ood("gan")
    rows = rows[rows["classifier"] == "calibrated"]
    assert rows[["first_half", "second_half"]].notna().all().all()
    assert (rows["first_half"] != rows["second_half"]).all()
    # Two halves of one kind have the AUROC of all, but for chance.
    assert (rows[["first_half", "second_half"]].mean(axis=1) - rows["auroc"]).abs().max() < 0.03
    assert results.frame.loc[results.frame["kind"] != "gan", ["first_half", "second_half"]].isna().all().all()


def test_a_failing_level_costs_itself_alone(results: Results, page: str) -> None:
    assert set(of(results, "calibrated", "breaks")["level"]) == {1.0}
    assert of(results, "calibrated", "natural-images+breaks").empty
    assert results.missing == 0
    assert sum(results.failures.values()) == 3 * 3 + 3 * 3, "the level, and the pair at that level"
    assert all("ArithmeticError: the lens fell off" in why for why in results.failures)
    assert "Not all results are there" in page
    assert "the lens fell off" in page


def test_all_tables_are_told(toy: Path, results: Results, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(toy), "--format", "json"]) == 0
    assert [one["title"] for one in json.loads(capsys.readouterr().out)] == [
        one.title for one in looks(results)
    ]


def test_classifiers_that_predict_alike_are_told_no_difference(results: Results) -> None:
    """The three take an image for the same class, always: accuracies are one, and no chance is seen."""
    for one in differences(results, results.classification, "accuracy"):
        assert one.difference == 0
        assert not one.p.defined
        assert one.better is None


# Classifiers that bring their weights along --------------------------------------------------------------


@pytest.fixture(scope="module")
def brought(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("brought")
    values = robustness(
        classifiers=[
            {"name": f"{HERE}:Given", "as": "first"},
            {"name": f"{HERE}:Given", "as": "second", "weight": 2.0},
            {"name": f"{HERE}:Trained", "as": "trained"},
        ],
        transformations=[{"name": f"{HERE}:Muddle", "as": "muddle", "severity": 1}],
        sets=["uniform-noise"],
        pairs=False,
        gans=[],
        repetitions=2,
    )
    assert run(folder, values) == 0
    return folder / "out"


def test_a_classifier_that_brought_its_weights_along_is_known(brought: Path) -> None:
    results = Results.of(brought)
    assert results.given == {"first", "second"}
    digests = {
        label["classifier"]: set()
        if label["classifier"] == "trained"
        else {readouts.run["classifier"]["digest"]}
        for label, readouts in cells(brought)
    }
    assert len(digests["first"]) == len(digests["second"]) == 1


def test_its_tracks_are_drawn_anew_and_alike_for_all(brought: Path) -> None:
    results = Results.of(brought)
    plain = {name: of(results, name, "none") for name in ("first", "second", "trained")}
    # They predict alike, so that the same images are drawn where accuracies are the same.
    assert plain["first"]["accuracy"].tolist() == plain["second"]["accuracy"].tolist()
    assert plain["first"]["accuracy"].nunique() == 2
    assert plain["trained"]["accuracy"].nunique() == 1
    assert (plain["first"]["brier"].to_numpy() != plain["second"]["brier"].to_numpy()).all()
    assert set(results.classification["n"]) == {N}, "all tracks are of two images"


def test_what_is_measured_is_of_the_drawn_tracks(brought: Path) -> None:
    results = Results.of(brought)
    for label, readouts in cells(brought):
        if label["classifier"] == "trained":
            continue
        found, instances = row(results, label), readouts.instances
        rng_free = drawn_tracks(instances["track"].to_numpy(), int(label["seed"]))
        drawn = instances.iloc[rng_free]
        whole = Counter(drawn["track"])
        assert all(n % size == 0 for n, size in ((whole[t], 2) for t in whole if t.startswith("honest")))
        if label["faultload"] == "uniform-noise":
            expect = roc_auc_score(~drawn["is_ood"], drawn["confidence"])
            assert found["auroc"] == pytest.approx(expect)
        else:
            assert found["accuracy"] == pytest.approx((drawn["predicted"] == drawn["label"]).mean())
            assert found["brier"] == pytest.approx(drawn["brier"].mean() / 3)


def test_as_many_tracks_are_drawn_as_there_are_each_as_often_as_the_next() -> None:
    track = np.array([f"t{i // 3}" for i in range(90)])[np.random.default_rng(0).permutation(90)]
    times = np.zeros(30)
    for seed in range(300):
        rows = drawn_tracks(track, seed)
        assert len(rows) == 90
        drawn = Counter(rows.tolist())
        for name in np.unique(track):
            assert len({drawn[i] for i in np.flatnonzero(track == name)}) == 1, "a track is drawn whole"
        times += [drawn[int(np.flatnonzero(track == f"t{i}")[0])] for i in range(30)]
    # Of 300 draws each is in once a draw, with a variance of nearly 1.
    assert np.abs(times / 300 - 1).max() < 5 / np.sqrt(300)
    assert not np.array_equal(drawn_tracks(track, 1), drawn_tracks(track, 2))
    assert np.array_equal(drawn_tracks(track, 1), drawn_tracks(track, 1))


def test_a_page_says_what_their_repetitions_are(brought: Path) -> None:
    for _ in range(2):  # a second time in one process
        assert main(["report", str(brought), "--out", str(brought / "page.html")]) == 0
    told = (brought / "page.html").read_text(encoding="utf-8")
    assert "first and second bring their weights along" in told


@pytest.mark.parametrize("style", ["table", "csv", "markdown", "latex"])
def test_tables_are_told_in_every_format(
    brought: Path, style: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(brought), "--format", style]) == 0
    told = capsys.readouterr().out
    assert all(name in told for name in ("first", "second", "trained"))
    assert style == "csv" or "no analysis" in told
    if style == "csv":
        titles = {one[0] for one in csv.reader(io.StringIO(told)) if one}
        assert {look.title for look in looks(Results.of(brought)) if look.rows} <= titles


# What is not finished -------------------------------------------------------------------------------------


def test_a_folder_without_results_says_so(
    tmp_path: Path, toy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "campaign.json").write_bytes((toy / "campaign.json").read_bytes())
    assert main(["compare", str(tmp_path)]) == 2
    same_text(capsys.readouterr().err.replace(str(tmp_path), "HERE"))


def test_a_folder_that_lacks_cells_says_how_many(tmp_path: Path, toy: Path) -> None:
    shutil.copytree(toy, tmp_path / "part")
    there = [path for _, path in planned_cells(CampaignFolder(tmp_path / "part")) if path is not None]
    for path in there[:5]:
        shutil.rmtree(path)
    results = Results.of(tmp_path / "part")
    assert results.missing == 5
    assert len(results.frame) == len(there) - 5


def test_toys_are_what_they_say() -> None:
    """What theory is told by: labels have the chance that the images tell."""
    images, labels = toys._drawn(np.random.default_rng(0), 20_000)
    sure, right = toys.sureness(images), toys.seeming(images) == labels
    for low in (0.4, 0.6, 0.8):
        rows = (sure >= low) & (sure < low + 0.2)
        assert right[rows].mean() == pytest.approx(sure[rows].mean(), abs=0.03)
