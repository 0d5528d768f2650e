"""The system under test: one forward pass a batch, every monitor judged, failures alone."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from farm.api import LAST_HIDDEN, CalibrationRule, Labelled, Needs
from farm.errors import ComponentFailure, DataError, ExperimentError
from farm.stream import BenchmarkStream
from farm.sut import WARM_UP, SystemUnderTest
from farm.testing.fakes import FakeClassifier, FakeMonitor


@pytest.fixture
def ready(tiny, classifier):
    """Give a function that makes fitted and calibrated monitors."""

    def make(*names, **arguments):
        rows = np.arange(len(tiny.validation))
        labelled = Labelled(
            classifier.observe(tiny.validation.images.read(rows), [LAST_HIDDEN]), tiny.validation.labels
        )
        made = [FakeMonitor(name=name, **arguments).fit([], classifier) for name in names]
        for monitor in made:
            monitor.calibrate([labelled], CalibrationRule(), 4)
        classifier.calls = 0
        return made

    return make


@pytest.fixture
def stream(tiny):
    return BenchmarkStream(tiny, order="sequential", length=20)


def run(classifier, monitors, stream, size=6, **settings):
    system = SystemUnderTest(classifier, monitors, **settings)
    return system, list(system.steps(stream, size))


@pytest.mark.parametrize("n_monitors", [0, 1, 6])
def test_the_classifier_runs_once_a_batch_whatever_the_number_of_monitors(
    classifier, ready, stream, n_monitors
):
    monitors = ready(*map(str, range(n_monitors)), needs=Needs(layers=(LAST_HIDDEN,)))
    _, steps = run(classifier, monitors, stream)
    assert len(steps) == 4
    assert classifier.calls == len(steps) + WARM_UP


def test_every_monitor_judges_every_batch(classifier, ready, stream):
    _, steps = run(classifier, ready("a", "b"), stream)
    for step in steps:
        assert list(step.decisions) == ["a", "b"]
        for decision in step.decisions.values():
            assert len(decision.scores) == len(decision.alarms) == len(decision.cancelled) == len(step.batch)
    assert sum(len(step.batch) for step in steps) == 20


def test_decisions_do_not_depend_on_the_batch_size(classifier, ready, stream):
    def scores(size):
        _, steps = run(classifier, ready("a"), stream, size)
        return np.concatenate([step.decisions["a"].scores for step in steps])

    np.testing.assert_allclose(scores(1), scores(20), atol=1e-12)


def test_the_default_policy_cancels_on_alarms(classifier, ready, stream):
    _, steps = run(classifier, ready("a", score=lambda o: o.images.mean(axis=(1, 2, 3))), stream)
    for step in steps:
        assert step.decisions["a"].cancelled.tolist() == step.decisions["a"].alarms.tolist()


def test_each_monitor_has_a_policy_of_its_own(classifier, ready, stream):
    class Latch:
        """Once cancelled, always cancelled."""

        name = "latch"

        def __init__(self):
            self.reset()

        def reset(self):
            self.on = False

        def decide(self, alarms, observation):
            self.on = self.on or bool(alarms.any())
            return np.full(len(alarms), self.on)

    never, always = ready("never", fixed_threshold=2.0) + ready("always", fixed_threshold=-1.0)
    _, steps = run(classifier, [never, always], stream, policy=Latch)
    assert not any(step.decisions["never"].cancelled.any() for step in steps)
    assert all(step.decisions["always"].cancelled.all() for step in steps)


def failing_after(n, error):
    """Score well for n calls, then raise."""
    calls = []

    def score(observation):
        calls.append(1)
        if len(calls) > n:
            raise error
        return np.zeros(len(observation))

    return score


@pytest.mark.parametrize("n", [1, 1 + WARM_UP, 1 + WARM_UP + 2])
def test_a_monitor_that_fails_is_left_out_from_then_on_and_the_others_go_on(classifier, ready, stream, n):
    (healthy,) = ready("healthy")
    _, alone = run(classifier, [healthy], stream)
    (failing,) = ready("failing", score=failing_after(n, ValueError("out of planes")))
    system, steps = run(classifier, [failing, healthy], stream)
    assert list(system.failures) == ["failing"]
    assert "monitor 'failing' failed at instance" in system.failures["failing"]
    assert "ValueError: out of planes" in system.failures["failing"]
    assert sum("failing" in step.decisions for step in steps) == max(n - 1 - WARM_UP, 0)
    for step, reference in zip(steps, alone, strict=True):
        assert np.array_equal(step.decisions["healthy"].scores, reference.decisions["healthy"].scores)


def test_a_monitor_that_failed_once_does_not_come_back(classifier, ready, stream):
    calls = []

    def score(observation):
        calls.append(1)
        if len(calls) == 1 + WARM_UP + 1:
            raise ValueError("just this once")
        return np.zeros(len(observation))

    system, steps = run(classifier, ready("moody", score=score), stream)
    assert list(system.failures) == ["moody"]
    assert [list(step.decisions) for step in steps] == [[]] * 4


def test_the_users_mistake_ends_the_run(classifier, ready, stream):
    (monitor,) = ready("m", score=failing_after(1, DataError("the file is gone")))
    with pytest.raises(DataError, match="the file is gone"):
        run(classifier, [monitor], stream)


def test_a_classifier_that_fails_ends_the_run(tiny, stream):
    broken = FakeClassifier(lambda images: images.mean(), tiny.classes, name="broken")
    with pytest.raises(ComponentFailure, match="classifier 'broken' returned shape"):
        run(broken, [], stream)


def test_other_classes_than_the_streams_are_refused(stream):
    other = FakeClassifier(lambda images: images, ("ash", "cedar", "birch", "dogwood"), name="net")
    message = (
        r"the stream counts 4 classes \(ash, birch, cedar, \.\.\.\), classifier 'net' 4 "
        r"\(ash, cedar, birch, \.\.\.\); expected the same, in the same order"
    )
    with pytest.raises(ExperimentError, match=message):
        run(other, [], stream)
    assert other.calls == 0


def test_two_monitors_of_one_name_are_refused(classifier):
    with pytest.raises(
        ExperimentError, match=r"monitors share a name \(a, b, a\); expected each once: set 'as'"
    ):
        SystemUnderTest(classifier, [FakeMonitor(name=name) for name in "aba"])


def test_an_uncalibrated_monitor_is_left_out_with_its_reason(classifier, stream):
    system, _ = run(classifier, [FakeMonitor(name="raw").fit([], classifier)], stream)
    assert system.failures == {"raw": "monitor 'raw' is not calibrated; call calibrate first"}


def test_a_monitor_that_remembers_starts_afresh_after_the_warm_up(classifier, ready, stream):
    class Counting(FakeMonitor):
        """Scores by how many instances it has seen."""

        seen = 0

        def reset(self):
            self.seen = 0

        def _score(self, observation):
            self.seen += len(observation)
            return np.arange(self.seen - len(observation), self.seen, dtype=float)

    monitor = Counting(name="counting", fixed_threshold=5.0).fit([], classifier)
    monitor.calibrate(
        [Labelled(classifier.observe(np.zeros((1, 3, 8, 8), np.float32)), np.zeros(1, int))],
        CalibrationRule(),
        4,
    )
    for _ in range(2):
        _, steps = run(classifier, [monitor], stream)
        assert np.concatenate([s.decisions["counting"].scores for s in steps]).tolist() == list(range(20))


def test_a_policy_that_remembers_starts_afresh_after_the_warm_up(classifier, ready, stream):
    class FirstOnly:
        """Cancels the first alarm it ever sees."""

        name = "first-only"

        def __init__(self):
            self.reset()

        def reset(self):
            self.done = False

        def decide(self, alarms, observation):
            cancelled = np.zeros(len(alarms), bool)
            if alarms.any() and not self.done:
                cancelled[alarms.argmax()] = self.done = True
            return cancelled

    (always,) = ready("always", fixed_threshold=-1.0)
    _, steps = run(classifier, [always], stream, policy=FirstOnly)
    cancelled = np.concatenate([step.decisions["always"].cancelled for step in steps])
    assert cancelled.tolist() == [True] + [False] * 19


def test_monitors_see_ids_and_tracks_but_no_truth(tiny, classifier, ready, stream):
    seen = []

    def score(observation):
        seen.append(observation)
        return np.zeros(len(observation))

    run(classifier, ready("spy", score=score), stream, 20)
    last = seen[-1]
    batch = next(stream.batches(20))
    assert last.ids.tolist() == batch.ids.tolist()
    assert last.track.tolist() == batch.track.tolist()
    assert not hasattr(last, "labels")
    assert not hasattr(last, "is_ood")


def test_layers_that_are_to_be_kept_are_observed_too(classifier, stream):
    _, steps = run(classifier, [], stream, layers=[LAST_HIDDEN])
    assert steps[0].observation.features(LAST_HIDDEN).shape == (6, 4)


def test_the_classifiers_time_is_around_the_classifier_alone(classifier, ready, stream, monkeypatch):
    clock = iter(range(0, 10_000, 5))
    monkeypatch.setattr("farm.sut.time", SimpleNamespace(perf_counter_ns=lambda: next(clock)))
    _, steps = run(classifier, ready("a", "b"), stream)
    assert [step.classifier_nanoseconds for step in steps] == [5] * 4
    assert all(decision.nanoseconds > 0 for step in steps for decision in step.decisions.values())
