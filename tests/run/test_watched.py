"""Somebody outside is told which monitor is at work, and none of that is in the times."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

from farm.api import CalibrationRule
from farm.errors import DataError
from farm.run.fitting import fit_monitors
from farm.run.policies import Latching
from farm.run.system import SystemUnderTest
from farm.run.testbed import Testbed
from farm.testing.fakes import FakeMonitor, TinyModel


class Told:
    """A watch that remembers, and checks that nothing begins within another."""

    def __init__(self):
        self.said, self.at_work = [], None

    def begin(self, monitor, doing):
        assert self.at_work is None
        self.at_work = monitor
        self.said.append((monitor, doing))

    def end(self):
        assert self.at_work is not None
        self.at_work = None


def seen_by(watch, where):
    """Return a body that notes who is said to be at work while it runs."""

    def body(_):
        where.append(watch.at_work)
        return {}

    return body


def test_each_fit_with_its_calibration_is_told(tiny, classifier) -> None:
    watch, fitting, scoring = Told(), [], []
    score = lambda o: (seen_by(watch, scoring)(o), np.zeros(len(o)))[1]  # noqa: E731
    monitors = [FakeMonitor(name=name, fit=seen_by(watch, fitting), score=score) for name in "ab"]
    assert fit_monitors(monitors, classifier, tiny, watch=watch) == {}
    assert watch.said == [("a", "fitting"), ("b", "fitting")]
    assert fitting == ["a", "b"]
    assert set(scoring) == {"a", "b"}
    assert watch.at_work is None


@pytest.mark.parametrize("error", [ValueError("no"), DataError("the user's"), KeyboardInterrupt()])
def test_a_fit_that_fails_has_an_end_too(tiny, classifier, error) -> None:
    def fail(data):
        raise error

    watch = Told()
    monitors = [FakeMonitor(name="a", fit=fail), FakeMonitor(name="b")]
    with suppress(DataError, KeyboardInterrupt):
        assert list(fit_monitors(monitors, classifier, tiny, watch=watch)) == ["a"]
    goes_on = [("b", "fitting")] if isinstance(error, ValueError) else []
    assert watch.said == [("a", "fitting"), *goes_on]
    assert watch.at_work is None


@pytest.fixture
def stream(tiny, classifier):
    return Testbed().stream(tiny, classifier, order="sequential", length=12)


def test_each_judgement_with_its_policy_is_told(tiny, classifier, stream) -> None:
    watch, scoring, deciding = Told(), [], []

    class Policy(Latching):
        def decide(self, verdict, observation):
            deciding.append(watch.at_work)
            return super().decide(verdict, observation)

    def score(observation):
        scoring.append(watch.at_work)
        return np.zeros(len(observation))

    monitors = [FakeMonitor(name=name, score=score) for name in "ab"]
    assert fit_monitors(monitors, classifier, tiny) == {}
    scoring.clear()
    system = SystemUnderTest(classifier, monitors, policies={"a": Policy(), "b": Policy()}, watch=watch)
    steps = list(system.steps(stream, 1))
    assert len(steps) == 12
    assert set(watch.said) == {("a", "scoring"), ("b", "scoring")}
    assert sorted(scoring) == sorted(deciding) == sorted(name for name, _ in watch.said)
    assert len(watch.said) >= 2 * 12
    assert watch.at_work is None


def test_a_judgement_that_fails_has_an_end_too(tiny, classifier, stream) -> None:
    broken = FakeMonitor(name="broken", fixed_threshold=0.0)
    assert fit_monitors([broken], classifier, tiny) == {}
    broken._score_with = lambda observation: 1 / 0
    watch = Told()
    system = SystemUnderTest(classifier, [broken], watch=watch)
    list(system.steps(stream))
    assert "broken" in system.failures
    assert watch.at_work is None
    assert watch.said == [("broken", "scoring")]


def test_an_interrupted_judgement_has_an_end_too(tiny, classifier, stream) -> None:
    slow = FakeMonitor(name="slow")
    assert fit_monitors([slow], classifier, tiny) == {}

    def interrupted(observation):
        raise KeyboardInterrupt

    slow._score_with = interrupted
    watch = Told()
    with pytest.raises(KeyboardInterrupt):
        list(SystemUnderTest(classifier, [slow], watch=watch).steps(stream))
    assert watch.at_work is None


def test_what_the_watch_takes_is_in_no_time(tiny, classifier, stream, monkeypatch) -> None:
    clock = [0]

    class Slow(Told):
        def begin(self, monitor, doing):
            clock[0] += 1_000_000

        def end(self):
            clock[0] += 1_000_000

    def score(observation):
        clock[0] += 7
        return np.zeros(len(observation))

    monitors = [FakeMonitor(name=name, score=score) for name in "ab"]
    assert fit_monitors(monitors, classifier, tiny) == {}
    monkeypatch.setattr("time.perf_counter_ns", lambda: clock[0])
    steps = list(SystemUnderTest(classifier, monitors, watch=Slow()).steps(stream, 1))
    assert {step.classifier_nanoseconds for step in steps} == {0}
    assert {d.nanoseconds for step in steps for d in step.decisions.values()} == {7}


def test_a_testbed_tells_its_watch_of_all(tiny) -> None:
    watch = Told()
    bed = Testbed(watch=watch)
    classifier, monitor = (
        bed.classifier(TinyModel(), tiny),
        FakeMonitor(name="a", score=lambda o: o.confidence),
    )
    assert bed.fit_all([monitor], classifier, tiny, {"a": CalibrationRule()}) == {}
    bed.run(bed.stream(tiny, classifier, length=4), classifier, [monitor], tiny)
    assert watch.said[0] == ("a", "fitting")
    assert set(watch.said[1:]) == {("a", "scoring"), ("a", "explaining")}
