"""The spread of boxes as a score, by hand; and what is told where a classifier has none."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from farm import registry
from farm.api import CalibrationRule, Needs, NoCache
from farm.config.experiment import parse_experiment
from farm.errors import ParameterError, RequirementError
from farm.run.rehearsal import rehearse
from farm.run.testbed import Testbed
from farm.testing.fake_boxes import BoxModel, BoxSource
from models import training
from models.averaged import EnsembleClassifier, PassesClassifier
from monitors.box_spread import BoxSpread
from tests.monitors.own_networks import WATCHED, images
from tests.wording import refused, same_text

BOXES = np.array([[10, 10, 30, 50], [30, 50, 10, 10], [5, 5, 5, 5.5]], np.float32)
SPREADS = np.array([[2, 4, 1, 2], [2, 4, 1, 2], [3, 0, 0, 1]], np.float32)
SEEN = dataclasses.replace(WATCHED.observe(images(3, 7)), outputs={"box": BOXES, "box_spread": SPREADS})
TINY = {"name": "farm.testing.fake_boxes:BoxSource"}
NETWORK = {"name": "what-and-where", "epochs": 1, "neurons": 8, "passes": 3}


@pytest.fixture(scope="module")
def bed() -> Testbed:
    return Testbed(seed=2, cache=NoCache())


@pytest.fixture(scope="module")
def workload(bed):
    return bed.workload(BoxSource())


def test_by_hand() -> None:
    relative, pixels = (BoxSpread(unit=unit).restore({}, WATCHED) for unit in ("relative", "pixels"))
    # 20 wide, 40 high; the same with swapped corners; and one so small that it counts as a pixel.
    shares = [(2 / 20 + 4 / 40 + 1 / 20 + 2 / 40) / 4] * 2 + [(3 + 0 + 0 + 1) / 4]
    np.testing.assert_allclose(relative.score(SEEN), shares, rtol=1e-12)
    np.testing.assert_allclose(pixels.score(SEEN), [9 / 4, 9 / 4, 4 / 4], rtol=1e-12)
    assert BoxSpread().parameters == {"unit": "relative"}
    assert BoxSpread().needs == Needs(boxes=True, box_spread=True)


@pytest.mark.parametrize("unit", ["relative", "pixels"])
def test_it_tells_the_side_that_is_the_least_sure(unit) -> None:
    told = BoxSpread(unit=unit).restore({}, WATCHED).explain(SEEN)
    same_text(told[0].reason)
    assert next(iter(told[0].contributions)) == ("left" if unit == "relative" else "top")
    assert sum(told[0].contributions.values()) / 4 == pytest.approx(
        BoxSpread(unit=unit).restore({}, WATCHED).score(SEEN)[0]
    )


def test_a_claimed_spread_is_the_score(bed, workload) -> None:
    made = bed.classifier(BoxModel(spread=2.5), workload)
    (monitor,) = bed.fit([BoxSpread(unit="pixels")], made, workload, CalibrationRule())
    assert monitor.score(made.observe(workload.test.images.read(np.arange(5)))).tolist() == [2.5] * 5


def test_members_that_are_the_same_have_exactly_none(bed, workload) -> None:
    one = bed.classifier(NETWORK, workload)
    again = EnsembleClassifier("again", [one] * 5, 5)
    seen = again.observe(workload.test.images.read(np.arange(20)))
    for unit in ("relative", "pixels"):
        assert BoxSpread(unit=unit).restore({}, again).score(seen).tolist() == [0.0] * 20


@pytest.mark.parametrize(
    "classifier",
    [
        pytest.param(NETWORK, id="vanilla"),
        pytest.param({**NETWORK, "variant": "head", "dropout": 0}, id="dropout 0"),
        pytest.param({"name": "cnn", "epochs": 1}, id="no boxes"),
        pytest.param(
            {"name": "ensemble", "of": {"name": "cnn", "epochs": 1}, "size": 2}, id="no boxes at all"
        ),
        pytest.param({"name": "farm.testing.fakes:TinyModel"}, id="no reason"),
        pytest.param({"name": "mc-dropout", "of": {"name": "cnn", "dropout": 0.5}}, id="classes alone"),
    ],
)
def test_a_classifier_without_a_spread_is_refused_with_the_reason(bed, workload, classifier) -> None:
    made = bed.untrained(registry.model(**classifier), workload)
    with refused(RequirementError):
        made.resolve(BoxSpread().needs, "monitor 'box-spread'")


def test_a_single_pass_has_none(bed, workload) -> None:
    network = bed.untrained(registry.model(**NETWORK, variant="head"), workload)._network
    with refused(RequirementError):
        PassesClassifier("one", network, 1, own_masks=True).resolve(BoxSpread().needs, "monitor 'box-spread'")


def test_a_dry_run_refuses_it_before_anything_is_trained(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(training, "train", None)
    values = {"name": "vain", "workload": TINY, "classifier": NETWORK, "monitors": ["box-spread"]}
    with refused(RequirementError):
        rehearse(parse_experiment(values, "vain"), tmp_path)


def test_a_spread_that_was_not_observed_is_told() -> None:
    with refused(RequirementError):
        BoxSpread().restore({}, WATCHED).score(dataclasses.replace(SEEN, outputs={"box": BOXES}))


def test_wrong_parameters_are_named() -> None:
    with refused(ParameterError):
        BoxSpread(unit="metres")
