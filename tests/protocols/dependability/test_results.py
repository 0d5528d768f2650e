"""A dependability evaluation from its file to its results, of toys for which theory says what is right."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from farm.judging.readouts import load_run
from farm.protocols.dependability.activity import NeuronFindings
from farm.protocols.dependability.kinds import METRICS
from farm.protocols.dependability.results import COLUMNS, FILE, Results
from farm.protocols.dependability.rows import ONE_SIDED
from farm.statistics.by_track import mean_by_track
from farm.store.campaign_folder import CampaignFolder, planned_cells
from farm.store.occlusion import load_occlusion
from farm.store.readouts import Readouts
from tests.protocols.dependability.toys import (
    CORE,
    FADE,
    GLARE,
    HERE,
    NIGHT,
    OBJECT,
    SEVERITY,
    SIDE,
    SIZES,
    SURE,
    UNITS,
    WEIGHTS,
    run,
    truth,
)

N = SIZES["test"]
COUNTED = ("scenario_coverage", "neuron_activation", "monitor_coverage")


def value(results: Results, metric: str, part: str) -> float:
    """Return one result."""
    frame = results.frame
    (found,) = frame[(frame["metric"] == metric) & (frame["part"] == part)]["value"]
    return float(found)


def streams(folder: Path) -> dict[str, Readouts]:
    """Return the readouts of each stream, as a run of its own would be read."""
    found = planned_cells(CampaignFolder(folder))
    return {str(cell["label"]["faultload"]): load_run(path) for cell, path in found if path is not None}


# The file -------------------------------------------------------------------------------------------------


def test_the_file_is_what_was_found(toy: Path, results: Results) -> None:
    frame = pd.read_csv(toy / FILE)
    assert tuple(frame.columns) == COLUMNS
    assert COLUMNS == ("metric", "part", "value", "n", "low", "high", "attributes")
    pd.testing.assert_frame_equal(frame, results.frame, check_dtype=False)
    assert not frame.duplicated(["metric", "part"]).any()
    assert set(frame["metric"].str.partition(".")[0]) == set(METRICS)


def test_values_lie_between_their_ends_and_counts_are_their_own(results: Results) -> None:
    frame = results.frame
    known = frame.dropna()
    assert len(known) > 30
    assert ((known["low"] <= known["value"]) & (known["value"] <= known["high"])).all()
    counted = frame["metric"].isin(COUNTED)
    assert (frame.loc[counted, "low"] == frame.loc[counted, "value"]).all()
    assert (frame.loc[counted, "high"] == frame.loc[counted, "value"]).all()
    inferred = known[~known["metric"].isin(COUNTED)]
    assert (inferred["low"] < inferred["high"]).all()


def test_each_metric_serves_what_the_source_says(results: Results) -> None:
    serves: dict[str, set[str]] = {}
    for metric, attributes in results.frame[["metric", "attributes"]].itertuples(index=False):
        serves.setdefault(metric.partition(".")[0], set()).update(attributes.split())
    assert serves == {
        "scenario_coverage": {"completeness", "correctness"},
        "neuron_activation": {"completeness", "correctness"},
        "neuron_pattern": {"robustness", "interpretability", "completeness"},
        "adversarial_loss": {"robustness", "correctness"},
        "scenario": {"completeness", "correctness"},
        "interpretation_precision": {"interpretability", "correctness"},
        "occlusion_covering": {"robustness", "interpretability"},
        "weighted_confusion": {"correctness"},
        "monitor_coverage": {"completeness", "robustness"},
    }


def test_a_metric_is_found_only_where_it_is_asked_for(tmp_path: Path) -> None:
    asked = ["neuron_pattern", "occlusion_covering"]
    assert run(tmp_path, metrics=asked, data="test") == 0
    assert set(Results.of(tmp_path / "out").frame["metric"]) == set(asked)


# Scenarios and neurons ------------------------------------------------------------------------------------


def test_coverage_is_that_of_the_conditions(results: Results) -> None:
    for data in ("train", "test"):
        facts = truth(data)
        both = facts.groupby(["wet", "night"]).ngroups / 4
        assert value(results, "scenario_coverage", f"{data} k=1") == 1
        assert value(results, "scenario_coverage", f"{data} k=2") == both
    assert (both, results.frame.loc[0, "n"]) == (3 / 4, SIZES["train"])


def test_cells_that_restrictions_make_impossible_do_not_count(tmp_path: Path) -> None:
    """Where nothing can be both wet and at night, the test data have all that there is."""
    domain = """
        conditions: {weather: [dry, wet, icy], light: [day, night]}
        restrictions: [{at_most: 1, of: [weather=wet, light=night]}]
    """
    (tmp_path / "roads.yaml").write_text(domain, encoding="utf-8")
    changes: dict[str, Any] = {"metrics": ["scenario_coverage", "monitor_coverage"], "data": "test"}
    faults = [{**FADE, "severity": 1}]
    assert run(tmp_path, faults=faults, scenarios={"domain": "roads.yaml"}, **changes) == 0
    results = Results.of(tmp_path / "out")
    assert value(results, "scenario_coverage", "test k=2") == 3 / 5, "nothing is icy, by day or at night"
    assert value(results, "monitor_coverage", "k=2") == 3 / 5
    assert value(results, "monitor_coverage", "k=1") == 4 / 5


def switched(data: str) -> np.ndarray:
    """Return which units are on: what the classifier is written to do."""
    facts = truth(data)
    off = np.zeros(len(facts), dtype=bool)
    return np.column_stack([off, ~off, facts["wet"], facts["predicted"] == 0, facts["odd"], facts["odd"]])


@pytest.mark.parametrize("layer", ["units", "maps"])
@pytest.mark.parametrize("data", ["train", "test"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_patterns_of_neurons_are_counted_one_by_one(results: Results, layer: str, data: str, k: int) -> None:
    """Of maps the greatest value counts, which is the unit's."""
    on = switched(data)
    seen = {(*units, *row) for units in combinations(range(UNITS), k) for row in on[:, units].tolist()}
    cells = len(list(combinations(range(UNITS), k))) * len(list(product((0, 1), repeat=k)))
    assert value(results, "neuron_activation", f"{data} {layer} k={k}") == pytest.approx(len(seen) / cells)


def apart(facts: pd.DataFrame) -> np.ndarray:
    """Return which images of a scenario have neither the commonest number of units on nor one beside it."""
    found = pd.Series(False, index=facts.index)
    for _, own in facts.groupby("scenario"):
        counts = Counter(own["on"])
        most = max(counts.values())
        main = min(number for number, times in counts.items() if times == most)
        found[own.index] = (own["on"] - main).abs() > 1
    return found.to_numpy()


@pytest.mark.parametrize("layer", ["units", "maps"])
@pytest.mark.parametrize("data", ["train", "test"])
def test_images_that_lie_apart_are_counted_in_their_scenario(results: Results, layer: str, data: str) -> None:
    """There are as many groups as numbers of units that can be on."""
    facts = truth(data)
    hit = apart(facts)
    assert value(results, "neuron_pattern", f"{data} {layer}") == pytest.approx(hit.mean())
    for scenario, rows in facts.groupby("scenario").groups.items():
        expected = hit[rows].mean()
        assert value(results, "neuron_pattern", f"{data} {layer}, {scenario}") == pytest.approx(expected)
    (one,) = [one for one in results.neurons.found if (one.data, one.layer) == (data, layer)]
    assert not isinstance(one.patterns, str)
    listed = [name for scenario in one.patterns.groups for name in one.patterns.outlying(scenario)]
    assert sorted(listed) == sorted(facts.loc[hit, "id"])
    if data == "test":
        assert 0 < len(listed) < N / 4, "else the test would tell nothing"
    assert one.patterns.curve[-1] == (len(facts), pytest.approx(hit.mean()))


def test_a_neuron_is_on_above_the_threshold_alone(results: Results) -> None:
    higher = results.streams.spec.neurons.model_copy(update={"threshold": 1.0})
    spec = results.streams.spec.model_copy(update={"neurons": higher})
    found = NeuronFindings.of_streams(replace(results.streams, spec=spec))
    one = found.found[0]
    assert one.coverage[1].share.value == 0.5, "none is above 1, and all are off"


# The classifier -------------------------------------------------------------------------------------------


def changes() -> pd.DataFrame:
    """Return by how much theory says that the right class's probability changes."""
    facts = truth()
    right = ~facts["night"]
    fade = np.where(right, -1.0, 1.0) * (SURE - 0.5) * SEVERITY / 10
    # What is brighter looks more like `bright` by day, and less at night.
    brighter = np.where(facts["label"] == 1, 1.0, -1.0) * np.where(right, 1.0, -1.0) * SEVERITY / 50
    return pd.DataFrame({"fade": fade, "glare": brighter}).assign(track=facts["track"])


def test_the_loss_is_that_of_the_worst_transformer_of_each_image(results: Results) -> None:
    one = changes()
    worst = one[["fade", "glare"]].min(axis=1)
    expected = {
        "mean": worst.mean(),
        "minimum": worst.min(),
        "worst tenth": worst.nsmallest(N // 10).mean(),
        "fade": one["fade"].mean(),
        "glare": one["glare"].mean(),
    }
    for part, number in expected.items():
        assert value(results, "adversarial_loss", part) == pytest.approx(number, abs=1e-6)
    assert worst.mean() < -0.1, "the source's sign: a loss is negative"
    by = results.loss.found.by_transformer
    assert {name: each.worst for name, each in by.items()} == {
        "fade": int((one["fade"] < one["glare"]).sum()),
        "glare": int((one["glare"] < one["fade"]).sum()),
    }
    assert results.loss.severities == {"fade": "4", "glare": "4"}


def test_its_ends_are_those_of_tracks(results: Results) -> None:
    one = changes()
    track = pd.factorize(one["track"])[0]
    least = one[["fade", "glare"]].min(axis=1).to_numpy()
    expected = mean_by_track(least, track, lowest=-1, highest=1, level=0.95)
    row = results.frame.query("metric == 'adversarial_loss' and part == 'mean'").iloc[0]
    assert (row["low"], row["high"]) == pytest.approx((expected.low.value, expected.high.value), abs=1e-6)


def test_only_images_that_all_transformers_had_are_compared(tmp_path: Path) -> None:
    nudge = {"name": f"{HERE}:Nudge", "as": "nudge"}
    loss = {"transformers": [FADE, GLARE, nudge], "severity": 4, "images": 20}
    assert run(tmp_path, metrics="adversarial_loss", data="test", loss=loss) == 0
    results, there = Results.of(tmp_path / "out"), streams(tmp_path / "out")
    one = changes().assign(id=truth()["id"], nudge=np.where(truth()["night"], 1, -1) * 0.01 * 4)
    acted = [set(there[name].instances["id"].str.rpartition("|")[0]) for name in ("fade", "glare", "nudge")]
    own = one[one["id"].isin(set.intersection(*acted))]
    assert 0 < len(own) <= 20
    expected = own[["fade", "glare", "nudge"]].min(axis=1).mean()
    assert value(results, "adversarial_loss", "mean") == pytest.approx(expected, abs=1e-6)
    assert results.frame.loc[results.frame["part"] == "mean", "n"].tolist() == [len(own)]
    assert results.loss.severities["nudge"] == "eps 0.04"


def heat_of_theory(night: bool) -> np.ndarray:
    """Return the probability of the predicted class with a patch of 2 x 2 pixels, grey, at each place."""
    heat = np.empty((SIDE - 1, SIDE - 1))
    for row, column in product(range(SIDE - 1), repeat=2):
        hidden = np.zeros((SIDE, SIDE), dtype=bool)
        hidden[row : row + 2, column : column + 2] = True
        core = hidden[CORE, CORE].mean()
        sure = SURE * (1 - core) + 0.5 * core
        heat[row, column] = 1 - sure if night and hidden[NIGHT[1:]] else sure
    return heat


def test_heat_maps_are_hot_where_theory_says(toy: Path, results: Results) -> None:
    plain = next(path for cell, path in planned_cells(CampaignFolder(toy)) if path is not None)
    maps = load_occlusion(plain)
    assert maps is not None
    facts = truth()
    night = facts["night"].to_numpy()[maps.position]
    assert len(night) == 100
    assert 5 < night.sum() < 50
    touching = np.zeros((SIDE - 1, SIDE - 1), dtype=bool)
    touching[OBJECT.start - 1 : OBJECT.stop, OBJECT.start - 1 : OBJECT.stop] = True
    precision, covering = [], []
    for number, at_night in enumerate(night):
        heat = heat_of_theory(bool(at_night))
        np.testing.assert_allclose(maps.heat[number], heat, atol=1e-6)
        hot = heat < 0.75
        precision.append((hot & touching).sum() / hot.sum())
        covering.append((hot & touching).sum() / touching.sum())
    assert set(np.round(precision, 9)) == {1.0, round(5 / 7, 9)}
    for metric, each in (("interpretation_precision", precision), ("occlusion_covering", covering)):
        assert value(results, metric, "mean") == pytest.approx(np.mean(each))
        assert value(results, metric, "minimum") == pytest.approx(min(each))
        assert value(results, metric, "maximum") == pytest.approx(max(each))
    track = pd.factorize(facts["track"].to_numpy()[maps.position])[0]
    expected = mean_by_track(np.array(precision), track, lowest=0, highest=1, level=2 * ONE_SIDED - 1)
    row = results.frame.query("metric == 'interpretation_precision' and part == 'mean'").iloc[0]
    assert (row["low"], row["high"]) == pytest.approx((expected.low.value, expected.high.value))


def test_the_curve_over_thresholds_is_that_of_the_heat_maps(results: Results) -> None:
    assert not isinstance(results.occlusion, Results)
    found = results.occlusion
    assert [round(one.rho, 2) for one in found.curve] == [round(0.05 * n, 2) for n in range(1, 20)]
    night = truth()["night"].to_numpy()[found.maps.position]
    for one in found.curve:
        # Near the values that heat maps have, rounding decides what is below.
        if min(abs(one.rho - sure) for sure in (0.1, 0.5, 0.7, 0.8, 0.9)) < 0.01:
            continue
        hot = {at: (heat_of_theory(at) < one.rho).sum() for at in (False, True)}
        known = np.array([hot[bool(at)] > 0 for at in night])
        assert one.precision.n_defined == known.sum()


def test_mix_ups_weigh_what_the_file_says(results: Results) -> None:
    facts = truth()
    wrong = facts[facts["label"] != facts["predicted"]]
    weight = wrong["label"].map(
        {0: WEIGHTS["weights"]["dark"]["bright"], 1: WEIGHTS["weights"]["bright"]["dark"]}
    )
    assert value(results, "weighted_confusion", "mean") == pytest.approx(weight.sum() / N)
    assert weight.sum() > 0
    worst = results.confusion.found.costliest[0]
    assert (worst.label, worst.predicted, worst.weight, worst.n) == (
        0,
        1,
        4,
        int((wrong["label"] == 0).sum()),
    )


def test_toys_are_what_they_say(toy: Path) -> None:
    """What theory is told by: what the classifier predicts, how surely, and in which conditions."""
    for name, split in (("none", "test"), ("training-data", "train")):
        instances, facts = streams(toy)[name].instances, truth(split)
        assert instances["id"].tolist() == facts["id"].tolist()
        assert instances["predicted"].tolist() == facts["predicted"].tolist()
        assert np.allclose(instances["confidence"], SURE)
        assert (instances["condition weather"] == np.where(facts["wet"], "wet", "dry")).all()
