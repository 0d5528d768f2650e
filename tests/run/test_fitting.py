"""Monitors are fitted and calibrated together, on ID data, with one forward pass for all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farm.api import LAST_HIDDEN, CalibrationRule, FunctionClassifier, Needs, OwnNetwork, collect
from farm.errors import DataError, RequirementError
from farm.run import fitting
from farm.run.fitting import ObservedSplit, fit_monitors, union_of_layers
from farm.statistics.post_hoc.conformal import Threshold
from farm.testing.fakes import FakeMonitor
from tests.wording import refused

HIDDEN = Needs(layers=(LAST_HIDDEN,))


def raising(error):
    def body(*_):
        raise error

    return body


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Cut the tiny splits into several batches."""
    monkeypatch.setattr(fitting, "BATCH", 40)


def batches_of(split):
    return -(-len(split) // 40)


def test_the_classifier_sees_each_split_once_whatever_the_number_of_monitors(tiny, classifier):
    several = [
        FakeMonitor(name=str(i), needs=HIDDEN, fit=lambda data: {"n": len(list(data))}) for i in range(5)
    ]
    assert fit_monitors(several, classifier, tiny) == {}
    assert classifier.calls == batches_of(tiny.train) + batches_of(tiny.validation)


def test_training_data_can_be_read_again_and_again(tiny, classifier):
    def fit(data):
        first, second = (collect(data, LAST_HIDDEN) for _ in range(2))
        assert np.array_equal(first.features, second.features)
        return {"labels": first.labels, "n": len(first.features)}

    monitor = FakeMonitor(needs=HIDDEN, fit=fit)
    assert fit_monitors([monitor], classifier, tiny) == {}
    assert monitor.state["labels"].tolist() == tiny.train.labels.tolist()


def test_monitors_see_the_images_and_ids_of_the_training_data(tiny, classifier):
    def fit(data):
        observations = [observation for observation, _ in data]
        return {
            "images": np.concatenate([o.images for o in observations]),
            "ids": np.concatenate([o.ids for o in observations]),
            "track": np.concatenate([o.track for o in observations]),
        }

    monitor = FakeMonitor(fit=fit)
    fit_monitors([monitor], classifier, tiny)
    assert np.array_equal(monitor.state["images"], tiny.train.images.read(np.arange(len(tiny.train))))
    assert monitor.state["ids"].tolist() == tiny.train.ids.tolist()
    assert monitor.state["track"].tolist() == tiny.train.groups.tolist()


def test_thresholds_are_set_on_validation_data(tiny, classifier):
    monitor = FakeMonitor()
    fit_monitors([monitor], classifier, tiny)
    everything = tiny.validation.images.read(np.arange(len(tiny.validation)))
    scores = monitor.score(classifier.observe(everything))
    assert monitor.calibration.n == len(tiny.validation)
    assert (
        (scores <= monitor.calibration.threshold).mean() == monitor.calibration.validation_acceptance >= 0.95
    )


def test_each_monitor_follows_its_own_rule(tiny, classifier):
    first, second = FakeMonitor(name="first"), FakeMonitor(name="second")
    fit_monitors([first, second], classifier, tiny, {"second": CalibrationRule("id-extreme")})
    assert (first.calibration.method, second.calibration.method) == ("id-quantile", "id-extreme")


def test_a_guarantee_by_a_condition_goes_by_that_of_the_validation_data(tiny, classifier):
    n = len(tiny.validation)
    weather = np.where(np.arange(n) % 2, "fog", "dry")
    told = replace(tiny, validation=replace(tiny.validation, conditions={"weather": weather}))
    monitor, rule = FakeMonitor(), CalibrationRule("conformal", accept=0.5, by="weather")
    assert fit_monitors([monitor], classifier, told, {monitor.name: rule}) == {}
    images = tiny.validation.images.read(np.arange(n))
    scores, groups = monitor.score(classifier.observe(images)), tiny.validation.groups
    covering = [
        Threshold.of(scores[weather == one], 0.5, groups[weather == one]).score for one in ("dry", "fog")
    ]
    assert scores[scores <= monitor.calibration.threshold].max() >= max(covering)
    assert monitor.calibration.guarantee.n == len(np.unique(groups))
    (failure,) = fit_monitors([FakeMonitor()], classifier, tiny, {monitor.name: rule}).values()
    assert "calibration.by is 'weather'" in failure


def test_the_fit_data_tell_classes_seed_and_validation(tiny, classifier):
    def fit(data):
        assert data.outliers is None
        n = sum(len(labels) for _, labels in data.validation)
        return {"classes": list(data.classes), "seed": data.seed, "n": n}

    monitor = FakeMonitor(fit=fit)
    fit_monitors([monitor], classifier, tiny, seed=7)
    assert monitor.state["classes"].tolist() == list(tiny.classes)
    assert (int(monitor.state["seed"]), int(monitor.state["n"])) == (7, len(tiny.validation))


@pytest.mark.parametrize(
    "broken",
    [
        {"fit": raising(ValueError("no data of class 3"))},
        {"score": lambda o: np.full(len(o), np.nan)},
        {"fit": lambda data: {"a": object()}},
    ],
    ids=["fit", "score", "state"],
)
def test_a_monitor_that_fails_alone_is_a_result_and_the_others_go_on(tiny, classifier, broken):
    notes = []

    class Notes:
        def track(self, items, description, total=None):
            return iter(items)

        def note(self, message):
            notes.append(message)

    monitors = [FakeMonitor(name="a"), FakeMonitor(name="b", **broken), FakeMonitor(name="c")]
    failures = fit_monitors(monitors, classifier, tiny, progress=Notes())
    assert list(failures) == ["b"]
    assert failures["b"].startswith("monitor 'b'")
    assert notes == [failures["b"]]
    assert monitors[0].calibration.threshold == monitors[2].calibration.threshold


def test_the_users_mistake_stops_everything(tiny, classifier):
    with refused(DataError):
        fit_monitors([FakeMonitor(fit=raising(DataError("weights are gone")))], classifier, tiny)


@pytest.mark.parametrize(
    "needs",
    [
        Needs(layers=("fc9",)),
        Needs(gradients=True),
        Needs(outliers=True),
        Needs(networks=(OwnNetwork(parameters=(("loss", "logistic"),)),)),
    ],
)
def test_needs_are_checked_before_the_classifier_is_run(tiny, classifier, needs):
    touched = []
    monitors = [FakeMonitor(name="ok", fit=touched.append), FakeMonitor(name="m", needs=needs)]
    with refused(RequirementError):
        fit_monitors(monitors, classifier, tiny)
    assert (classifier.calls, touched) == (0, [])


def test_monitors_of_outputs_work_with_a_black_box(tiny):
    box = FunctionClassifier(lambda images: np.full((len(images), 4), 0.25), tiny.classes)
    assert fit_monitors([FakeMonitor()], box, tiny) == {}


def test_every_layer_is_asked_for_once():
    monitors = [FakeMonitor(needs=Needs(layers=layers)) for layers in (("b", "a"), ("a",), ("c", "b"))]
    assert union_of_layers(monitors) == tuple(f"mean of {layer}" for layer in "bac")


def test_an_observed_split_keeps_no_images(tiny, classifier):
    observed = ObservedSplit(classifier, tiny.train)
    assert sum(rest.images.nbytes for rest in observed._rest) == 0
    assert sum(len(labels) for _, labels in observed) == len(tiny.train)
