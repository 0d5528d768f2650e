"""Why a score is what it is: worked by hand, and rules that the explanations of all monitors keep."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from farm import registry
from farm.api import Explanation, Labelled, Monitor, Observation
from farm.errors import RequirementError
from farm.run.fitting import Material
from farm.testing.fakes import FakeClassifier
from monitors._neighbours import as_bytes
from monitors._reasons import MOST, heaviest, likeliest
from monitors.mahalanobis import Mahalanobis, RelativeMahalanobis
from monitors.nearest import NearestNeighbourGuidance, NearestNeighbours
from monitors.oob import OutsideTheBox, OutsideTheBoxPCA
from monitors.oob_isomap import OutsideTheBoxIsomap
from monitors.pattern_bdd import PatternDiagram
from monitors.patterns import ActivationPatterns
from tests.wording import same_text

CHARTS = ("adwin", "cusum", "ewma", "martingale", "page-hinkley")
ALONE: dict[str, dict[str, Any]] = {
    **{name: {"of": "energy"} for name in CHARTS},
    "vote": {"members": ["energy", "knn"]},
    "fusion": {"members": ["energy", "oob-pca"]},
    "callable": {"function": "farm.testing.fakes:doubt"},
    "pytorch-ood": {"detector": "KNN"},
}
"""Parameters of those monitors that need some."""
EXPLAINED = {
    *("knn", "nnguide", "mahalanobis", "relative-mahalanobis", "patterns", "patterns-bdd"),
    *("oob", "oob-pca", "oob-isomap"),
    *("max-softmax", "max-logit", "entropy", "margin", "energy", "gen", "temperature-scaling"),
    *("kl-matching", "openmax", "odin", "robustness-radius", "flicker", "physical-bounds", "vote", "fusion"),
    *("score-svm", "logistic-svm", "openmax-svm", "neighbour-svm", "mc-dropout", "deep-ensemble"),
    *("mutual-information", "box-spread"),
    *("binary-classifier", "reconstruction", "pixelcnn"),
    *("drift-mmd", *CHARTS),
}
NEURON = re.compile(r"(.+)\[(\d+)\]")


def some(observation: Observation) -> Observation:
    return observation.take(np.arange(0, len(observation), 40))


# Rules that hold for all ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(registry.entries("monitor")))
def test_its_explanations_keep_every_rule(small, fitted, pytorch_ood, name) -> None:
    try:
        monitor = fitted(registry.monitor(name, **ALONE.get(name, {})))
    except RequirementError as error:
        pytest.skip(str(error))  # an extra that is not installed
    rows = some(small.test)
    broken = [
        *not_as_promised(monitor, rows, set(small.workload.train.ids)),
        *named_in_vain(monitor, rows),
        *extremes(monitor, small),
        *disturbed(monitor, rows),
    ]
    assert broken == []


def not_as_promised(monitor: Monitor, rows: Observation, known: set[str]) -> Iterator[str]:
    """Say where an explanation is no finite JSON in order of weight, not one line, or names the unknown."""
    for i, explanation in enumerate(monitor.explain(rows)):
        assert isinstance(explanation, Explanation)
        json.dumps(explanation.record(), allow_nan=False)  # raises where a number is NaN or infinite
        weights = list(explanation.contributions.values())
        if not np.isfinite(weights).all() or weights != sorted(weights, reverse=True):
            yield f"instance {i}: weights {weights}"
        if "\n" in explanation.reason or (monitor.name in EXPLAINED and not explanation.reason):
            yield f"instance {i}: reason {explanation.reason!r}"
        if unknown := set(explanation.nearest) - known:
            yield f"instance {i}: nearest {unknown}, which are no training images"


def named_in_vain(monitor: Monitor, rows: Observation) -> Iterator[str]:
    """Say where no other value of the neuron that weighs most gives another score."""
    for i, explanation in enumerate(monitor.explain(rows)):
        if not explanation.contributions:
            continue
        top = next(iter(explanation.contributions))
        if not (match := NEURON.fullmatch(top)):
            continue  # a member monitor, not a neuron
        layer, neuron = match.group(1), int(match.group(2))
        one = rows.take(slice(i, i + 1))
        values = one.activations[layer].copy()
        flat = values.reshape(-1)
        before = monitor.score(one)[0]
        scores = []
        for value in (-1.0, flat[neuron] * 2 + 1, 0.0, 100.0):
            flat[neuron] = value
            changed = dataclasses.replace(one, activations={**one.activations, layer: values})
            scores.append(monitor.score(changed)[0])
        if all(score == before for score in scores):
            yield f"instance {i}: {top}, whatever its value, leaves the score at {before}"


def extremes(monitor: Monitor, small: Any) -> Iterator[str]:
    """Say where constant and huge values are not explained."""
    layers = tuple(small.test.activations)
    seen = small.classifier.observe(np.ones((1, 1, 16, 16), np.float32), layers)
    for value in (0.0, 1e20, 3e38):
        activations = {k: np.full_like(v, value) for k, v in seen.activations.items()}
        with np.errstate(all="ignore"):
            told = monitor.explain(dataclasses.replace(seen, activations=activations))
        if len(told) != 1:
            yield f"values of {value}: {len(told)} explanations of one image"
        for explanation in told:
            json.dumps(explanation.record(), allow_nan=False)


def disturbed(monitor: Monitor, rows: Observation) -> Iterator[str]:
    """Say where explaining changes a score."""
    monitor.restart()
    before = monitor.score(rows)
    monitor.explain(rows)
    after = monitor.score(rows)
    monitor.restart()
    if not np.array_equal(monitor.score(rows), before):
        yield "after a restart there are other scores"
    if not monitor.needs.order and not np.array_equal(after, before):
        yield "after explaining there are other scores"


# A small world in which everything can be worked by hand -------------------------------------------------


def seen(rows: list[list[float]], predicted: list[int], ids: list[str] | None = None) -> Observation:
    n = len(rows)
    probabilities = np.full((n, 2), 0.25)
    probabilities[np.arange(n), predicted] = 0.75
    return Observation(
        ids=np.array(ids or [f"image-{i}" for i in range(n)]),
        images=np.zeros((n, 1, 1, 1), np.float32),
        probabilities=probabilities,
        predicted=np.array(predicted),
        confidence=probabilities.max(axis=1),
        logits=np.log(probabilities).astype(np.float32),
        activations={"last-hidden": np.array(rows, dtype=np.float32)},
    )


def fit(monitor: Monitor, rows: list[list[float]], labels: list[int], **more: Any) -> Monitor:
    data = [Labelled(seen(rows, labels, **more), np.array(labels))]
    classifier = FakeClassifier(
        lambda images: np.full((len(images), 2), 0.5),
        ("cat", "dog"),
        layers={"last-hidden": lambda images: np.zeros((len(images), len(rows[0])))},
        logits=lambda images: np.zeros((len(images), 2)),
    )
    return monitor.fit(Material(("cat", "dog"), 0, data, data), classifier)  # type: ignore[arg-type]


def explain(monitor: Monitor, row: list[float], predicted: int = 0) -> Explanation:
    (explanation,) = monitor.explain(seen([row], [predicted]))
    return explanation


CORNERS = [[1.0, 5.0, 2.0], [3.0, 7.0, 2.0], [1.0, 7.0, 2.0], [3.0, 5.0, 2.0]]


def two_classes(rows: list[list[float]]) -> tuple[list[list[float]], list[int]]:
    return rows + [[-v for v in row] for row in rows], [0] * len(rows) + [1] * len(rows)


def test_a_box_names_the_neurons_that_are_outside_and_by_how_much() -> None:
    """Class cat has neuron 0 in [1, 3], neuron 1 in [5, 7] and neuron 2 at 2."""
    monitor = fit(OutsideTheBox(neurons="all", clusters=1), *two_classes(CORNERS))
    told = explain(monitor, [3.5, 4.25, 2.0])
    assert monitor.score(seen([[3.5, 4.25, 2.0]], [0])).tolist() == [0.75]
    same_text(told.reason)
    assert told.contributions == {"last-hidden[1]": 0.75, "last-hidden[0]": 0.5}
    assert told.details == {
        "class": "cat",
        "box": 0,
        "dimension": "last-hidden[1]",
        "value": 4.25,
        "low": 5.0,
        "high": 7.0,
    }


def test_a_box_in_widths_counts_in_widths() -> None:
    rows = [[0.0, 0.0], [4.0, 1.0]]
    monitor = fit(OutsideTheBox(neurons="all", clusters=1, tau_unit="width"), *two_classes(rows))
    told = explain(monitor, [6.0, 2.0])
    assert told.contributions == {"last-hidden[1]": 1.0, "last-hidden[0]": 0.5}
    same_text(told.reason)


def test_inside_a_box_its_nearest_side_is_told() -> None:
    monitor = fit(OutsideTheBox(neurons=[0, 1], clusters=1), *two_classes(CORNERS))
    told = explain(monitor, [2.0, 5.25, 9.0])
    same_text(told.reason)
    assert told.contributions == {}


@pytest.mark.parametrize(
    ("tau", "row", "where"),
    [
        (0.0, [5.0, 5.0], "on a face of the nearest box of class 'cat', which counts as outside"),
        (
            0.5,
            [2.5, 5.0],
            "on a face of the nearest box of class 'cat' when it is enlarged by 0.5, which counts",
        ),
        (0.5, [3.0, 5.0], "inside a box of class 'cat', 0 from its nearest side"),
        (0.0, [2.0, 5.0], "1 outside of the nearest box of class 'cat'"),
    ],
)
def test_a_face_that_counts_as_outside_is_told(tau, row, where) -> None:
    rows = [[3.0, 1.0], [5.0, 9.0]]
    monitor = fit(OutsideTheBox(neurons="all", clusters=1, tau=tau, boundary="strict"), *two_classes(rows))
    alarm = monitor.score(seen([row], [0]))[0] > tau
    told = explain(monitor, row).reason
    assert told.startswith(where)
    assert told.endswith(f": last-hidden[0] is {row[0]:g}, the box from 3 to 5")
    assert alarm == ("outside" in told)


def test_a_face_of_a_closed_box_is_inside() -> None:
    monitor = fit(OutsideTheBox(neurons=[0], clusters=1, tau=0.0), *two_classes([[3.0], [5.0]]))
    same_text(explain(monitor, [5.0]).reason)


def test_a_neuron_that_never_varied_is_told_as_such() -> None:
    rows = [[0.0, 1.0], [0.0, 9.0]]
    monitor = fit(OutsideTheBox(neurons="all", clusters=1), *two_classes(rows))
    same_text(explain(monitor, [0.0, 5.0]).reason)
    same_text(explain(monitor, [2.0, 5.0]).reason)
    strict = fit(OutsideTheBox(neurons="all", clusters=1, tau=0.0, boundary="strict"), *two_classes(rows))
    same_text(explain(strict, [0.0, 5.0]).reason)


def test_the_nearest_of_several_boxes_is_told() -> None:
    rows = [[0.0, 0.0], [1.0, 0.0], [10.0, 0.0], [11.0, 0.0]]
    monitor = fit(OutsideTheBox(neurons=[0], clusters=2), *two_classes(rows))
    near_low, near_high = explain(monitor, [2.0, 0.0]), explain(monitor, [9.5, 0.0])
    assert (near_low.details["low"], near_low.details["high"]) == (0.0, 1.0)
    assert (near_high.details["low"], near_high.details["high"]) == (10.0, 11.0)
    assert near_low.details["box"] != near_high.details["box"]
    assert near_high.contributions == {"last-hidden[0]": 0.5}


def test_a_class_without_box_says_so() -> None:
    monitor = fit(OutsideTheBox(neurons="all", clusters=1), CORNERS, [0] * 4)
    same_text(explain(monitor, [0.0, 0.0, 0.0], 1).reason)


@pytest.mark.parametrize("value", [9.0, -5.0])
def test_a_component_is_taken_apart_into_its_neurons(value) -> None:
    """All of class cat's spread is along (0.6, 0.8), so this is its first component, whatever its sign."""
    rows = [[0.6 * t, 0.8 * t, 1.0] for t in (-2.0, -1.0, 0.0, 1.0, 2.0)]
    monitor = fit(OutsideTheBoxPCA(dimensions=1, clusters=1), *two_classes(rows))
    row = [0.6 * value, 0.8 * value, 1.0]
    told = explain(monitor, row)
    np.testing.assert_allclose(monitor.score(seen([row], [0])), abs(value) - 2, rtol=1e-5)
    assert list(told.contributions) == ["last-hidden[1]", "last-hidden[0]"]
    np.testing.assert_allclose(
        list(told.contributions.values()), [0.64 * abs(value), 0.36 * abs(value)], rtol=1e-5
    )
    np.testing.assert_allclose(sum(told.contributions.values()), abs(told.details["value"]), rtol=1e-5)
    same_text(told.reason)


def test_of_several_layers_the_one_that_decides_is_told(small, fitted) -> None:
    monitor = fitted(OutsideTheBox(neurons="first-last", layer=["last-hidden", "conv2"], tau_unit="width"))
    rows = some(small.test)
    scores = {
        layer: fitted(OutsideTheBox(neurons="first-last", layer=layer, tau_unit="width")).score(rows)
        for layer in ("last-hidden", "conv2")
    }
    told = monitor.explain(rows)
    decided = ["last-hidden" if a >= b else "conv2" for a, b in zip(*scores.values(), strict=True)]
    assert len(set(decided)) == 2
    assert [e.details["dimension"].partition("[")[0] for e in told] == decided


def test_an_embedding_tells_its_box(small, fitted) -> None:
    told = fitted(OutsideTheBoxIsomap(landmarks=60)).explain(some(small.test))
    assert all(re.search(r"component [01] of last-hidden is", e.reason) for e in told)
    assert all(e.contributions == {} for e in told)


@pytest.mark.parametrize("make", [ActivationPatterns, PatternDiagram])
def test_patterns_name_the_neurons_that_differ(make) -> None:
    if make is PatternDiagram:
        pytest.importorskip("dd", reason="the extra 'bdd' is not installed")
    rows = [[1.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0, 1.0]]
    monitor = fit(make(), rows, [0, 0])
    told = explain(monitor, [3.0, 0.0, 0.0, 2.0, 0.0])
    # 10010 differs from 11000 in neurons 1 and 3, and from 00111 in three.
    same_text(told.reason)
    assert told.contributions == {"last-hidden[1]": 1.0, "last-hidden[3]": 1.0}
    assert told.details == {"differing": 2}
    assert explain(monitor, rows[1]).contributions == {}
    same_text(explain(monitor, rows[1]).reason)
    same_text(explain(monitor, rows[0], 1).reason)


@pytest.mark.parametrize("make", [ActivationPatterns, PatternDiagram])
def test_neurons_that_do_not_count_are_not_named(make) -> None:
    if make is PatternDiagram:
        pytest.importorskip("dd", reason="the extra 'bdd' is not installed")
    monitor = fit(make(neurons=[0, 3]), [[1.0, 1.0, 1.0, 1.0]], [0])
    assert explain(monitor, [1.0, 0.0, 0.0, 0.0]).contributions == {"last-hidden[3]": 1.0}


@pytest.mark.parametrize("make", [ActivationPatterns, PatternDiagram])
def test_of_many_differing_neurons_some_are_named(small, fitted, make) -> None:
    if make is PatternDiagram:
        pytest.importorskip("dd", reason="the extra 'bdd' is not installed")
    rng = np.random.default_rng(0)
    features = rng.normal(size=(1, 128)).astype(np.float32)
    one = dataclasses.replace(small.test.take(slice(0, 1)), activations={"last-hidden": features})
    monitor = fitted(make())
    distance = monitor.score(one)[0]
    assert distance > MOST
    (told,) = monitor.explain(one)
    assert told.reason.startswith(f"{distance:.0f} neurons differ")
    assert len(told.contributions) == MOST
    # Turned round all together, they bring it as much nearer as they are many.
    turned = features.copy()
    for name in told.contributions:
        turned[0, int(NEURON.fullmatch(name).group(2))] *= -1
    nearer = dataclasses.replace(one, activations={"last-hidden": turned})
    assert monitor.score(nearer)[0] == distance - MOST


def test_a_squared_distance_is_the_sum_of_its_neurons() -> None:
    """Two classes at (0, 0) and (10, 0), each spread by (1, 2): a variance of 1 and 4, nothing shared."""
    spread = [[1.0, 2.0], [1.0, -2.0], [-1.0, 2.0], [-1.0, -2.0]]
    rows = spread + [[a + 10, b] for a, b in spread]
    monitor = fit(Mahalanobis(), rows, [0] * 4 + [1] * 4)
    told = explain(monitor, [7.0, 4.0])
    # From (10, 0): 3 standard deviations in one, and 2 in the other.
    same_text(told.reason)
    np.testing.assert_allclose(list(told.contributions.values()), [9, 4], rtol=1e-6)
    assert list(told.contributions) == ["last-hidden[0]", "last-hidden[1]"]
    assert told.details == {"nearest_class": "dog"}


def test_the_nearest_class_is_named_even_if_not_all_were_seen() -> None:
    spread = [[1.0, 2.0], [1.0, -2.0], [-1.0, 2.0], [-1.0, -2.0]]
    assert explain(fit(Mahalanobis(), spread, [1] * 4), [9.0, 9.0]).details == {"nearest_class": "dog"}


@pytest.mark.parametrize("make", [Mahalanobis, RelativeMahalanobis])
def test_all_neurons_together_are_the_score(small, fitted, make, monkeypatch) -> None:
    monkeypatch.setattr("monitors.mahalanobis.heaviest", lambda layer, parts: dict(enumerate(parts.tolist())))
    monitor, rows = fitted(make()), some(small.test)
    totals = [sum(e.contributions.values()) for e in monitor.explain(rows)]
    np.testing.assert_allclose(totals, monitor.score(rows), rtol=1e-6, atol=1e-6)


def test_the_relative_distance_tells_both_parts() -> None:
    spread = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    monitor = fit(
        RelativeMahalanobis(),
        [[a + 4, b] for a, b in spread] + [[a - 4, b] for a, b in spread],
        [0] * 4 + [1] * 4,
    )
    # Variances within classes: 0.5 each way; of everything: 16.5 and 0.5.
    told = explain(monitor, [6.0, 0.0])
    same_text(told.reason)
    np.testing.assert_allclose(told.contributions["last-hidden[0]"], 8 - 36 / 16.5, rtol=1e-6)


def test_neighbours_are_named_the_nearest_first() -> None:
    rows = [[1.0, 0.0], [0.8, 0.6], [0.0, 2.0], [-3.0, 0.0]]
    ids = ["set/east", "set/größer", "set/north", "set/west"]
    monitor = fit(NearestNeighbours(k=2), rows, [0, 0, 1, 1], ids=ids)
    told = explain(monitor, [0.6, 0.8])
    assert told.nearest == ("set/größer", "set/north", "set/east", "set/west")
    # The second nearest direction is (0, 1): differences of 0.6 and -0.2.
    distance = np.sqrt(0.36 + 0.04)
    assert told.reason == f"its 2 nearest training images are {np.sqrt(0.08):.3g} to {distance:.3g} away"
    np.testing.assert_allclose(
        list(told.contributions.values()), [0.36 / distance, 0.04 / distance], rtol=1e-6
    )
    np.testing.assert_allclose(sum(told.contributions.values()), monitor.score(seen([[0.6, 0.8]], [0]))[0])


def test_a_training_image_is_nearest_to_itself(small, fitted) -> None:
    batch = next(iter(small.material)).observation.take(slice(0, 5))
    told = fitted(NearestNeighbours()).explain(batch)
    assert [e.nearest[0] for e in told] == batch.ids.tolist()


def test_only_those_that_are_kept_can_be_named(small, fitted) -> None:
    whole = fitted(NearestNeighbours())
    monitor = fitted(NearestNeighbours(points=7))
    names = {name for e in monitor.explain(some(small.test)) for name in e.nearest}
    assert len(names) <= 7
    kept = {bytes(row).rstrip(b"\0").decode() for row in monitor.state["ids"]}
    assert names <= kept <= set(small.workload.train.ids)
    points = dict(zip(map(bytes, whole.state["ids"]), whole.state["points"], strict=True))
    for name, point in zip(map(bytes, monitor.state["ids"]), monitor.state["points"], strict=True):
        np.testing.assert_array_equal(points[name], point)


def test_guidance_tells_energy_and_likeness(small, fitted) -> None:
    monitor, rows = fitted(NearestNeighbourGuidance()), some(small.test)
    for told, score in zip(monitor.explain(rows), monitor.score(rows), strict=True):
        np.testing.assert_allclose(-told.details["energy"] * told.details["guidance"], score, rtol=1e-6)
        assert len(told.nearest) == 5


OUTPUTS = ["max-softmax", "max-logit", "entropy", "margin", "energy", "gen", "kl-matching", "openmax"]
LIKELIEST = re.compile(
    r"the likeliest class is '([\w-]+)' with probability (\S+) \(logit (\S+)\), the second '([\w-]+)'"
)


@pytest.mark.parametrize("name", [*OUTPUTS, "temperature-scaling", "odin", "robustness-radius"])
def test_monitors_of_outputs_name_the_two_likeliest_classes(small, fitted, name) -> None:
    rows = some(small.test)
    for i, told in enumerate(fitted(registry.monitor(name)).explain(rows)):
        match = LIKELIEST.search(told.reason)
        order = np.argsort(-rows.logits[i])
        classes = small.workload.classes
        assert (match.group(1), match.group(4)) == (classes[order[0]], classes[order[1]])
        assert float(match.group(2)) == pytest.approx(rows.probabilities[i, order[0]], rel=5e-3)
        assert float(match.group(3)) == pytest.approx(rows.logits[i, order[0]], rel=5e-3)
        assert told.details == {"likeliest": classes[order[0]], "second": classes[order[1]]}


def test_a_black_box_has_no_logits_to_tell() -> None:
    one = dataclasses.replace(seen([[1.0]], [1]), logits=None)
    same_text(likeliest(one, ("cat", "dog")).reason)
    alone = dataclasses.replace(one, probabilities=np.ones((1, 1)), predicted=np.array([0]))
    same_text(likeliest(alone, ("cat",)).reason)


def test_where_probabilities_round_to_nothing_logits_tell_the_second_class() -> None:
    one = seen([[1.0]], [0])
    three = dataclasses.replace(
        one,
        probabilities=np.array([[1.0, 0.0, 0.0]]),
        logits=np.array([[900.0, -9.0, 5.0]], np.float32),
    )
    assert likeliest(three, ("a", "b", "c")).details == {"likeliest": "a", "second": "c"}


def test_monitors_that_do_more_say_what_they_did(small, fitted) -> None:
    rows = some(small.test).take(slice(0, 1))

    def reason(name: str, **parameters: Any) -> str:
        return fitted(registry.monitor(name, **parameters)).explain(rows)[0].reason

    scaling = fitted(registry.monitor("temperature-scaling"))
    temperature = scaling.notes()["temperature"]
    assert scaling.explain(rows)[0].reason.endswith(f"; logits are divided by {temperature:.3g}")
    done = "; scored at temperature 10, "
    assert reason("odin", temperature=10.0, magnitude=0.0025).endswith(
        f"{done}after moving each value by 0.0025 towards that class"
    )
    assert reason("odin", temperature=10.0, magnitude=0.0).endswith(f"{done}without a nudge")
    radius = fitted(registry.monitor("robustness-radius", norm="l2"))
    distance = -radius.score(rows)[0]
    assert radius.explain(rows)[0].reason.startswith(
        f"another prediction is estimated to be {distance:.3g} away (l2); the likeliest class is"
    )


def test_odin_runs_the_classifier_for_no_explanation(small, fitted) -> None:
    monitor = fitted(registry.monitor("odin", magnitude=0.01))
    before = monitor.classifier.passes
    monitor.explain(some(small.test))
    assert monitor.classifier.passes == before


# The parts -----------------------------------------------------------------------------------------------


def test_names_come_back_from_bytes() -> None:
    names = np.array(["a", "größer", "", "x/y"])
    rows = as_bytes(names)
    assert rows.dtype == np.uint8
    assert [bytes(row).rstrip(b"\0").decode() for row in rows] == names.tolist()
    assert as_bytes(np.array(["", ""])).shape == (2, 0)


def test_what_cannot_be_told_is_left_out() -> None:
    parts = np.array([np.nan, np.inf, -1.0, 0.0, 2.0, 3.0])
    assert heaviest("fc", parts) == {"fc[5]": 3.0, "fc[4]": 2.0}
    assert len(heaviest("fc", np.arange(1.0, 50))) == MOST
    assert heaviest("fc", np.array([1.0, 2.0]), np.array([7, 9])) == {"fc[9]": 2.0, "fc[7]": 1.0}
