"""The drivers of the monitor's base class: checks, calibration, timing, state."""

from __future__ import annotations

import os
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from farm.api import (
    LAST_HIDDEN,
    Calibration,
    CalibrationRule,
    Explanation,
    FunctionClassifier,
    Labelled,
    Monitor,
    Needs,
    files,
)
from farm.errors import ComponentFailure, DataError, ParameterError, RequirementError
from farm.run.fitting import fit_monitors
from farm.testing.fakes import FakeMonitor
from tests.wording import refused

N = 6


@pytest.fixture
def seen(tiny, classifier):
    rows = np.arange(N)
    return classifier.observe(tiny.test.images.read(rows), ids=tiny.test.ids[rows])


def fitted(classifier, **arguments):
    return FakeMonitor(**arguments).fit([], classifier)


def calibrated(classifier, seen, threshold=0.5, **arguments):
    monitor = fitted(classifier, fixed_threshold=threshold, **arguments)
    monitor.calibrate([Labelled(seen, np.zeros(N, np.int64))], CalibrationRule(), 4)
    return monitor


def constant(value):
    return lambda observation: np.full(len(observation), value)


def raising(error):
    def body(*_):
        raise error

    return body


# Scores ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("driver", ["score", "judge"])
def test_a_score_that_is_no_number_is_told_with_its_instance(classifier, seen, value, driver):
    def score(observation):
        scores = np.zeros(N)
        scores[4] = value if broken else 0.0
        return scores

    broken = False
    monitor = calibrated(classifier, seen, score=score)
    broken = True
    with refused(ComponentFailure):
        getattr(monitor, driver)(seen)


@pytest.mark.parametrize("shape", [(N, 1), (N + 1,), (), (0,)])
def test_scores_of_a_wrong_shape_are_told(classifier, seen, shape):
    monitor = fitted(classifier, score=lambda o: np.zeros(shape))
    with refused(ComponentFailure):
        monitor.score(seen)


def test_a_monitor_that_raises_becomes_a_failure_with_its_hook(classifier, seen):
    monitor = fitted(classifier, score=raising(IndexError("index 7 is out of bounds")))
    with refused(ComponentFailure):
        monitor.score(seen)


@pytest.mark.parametrize(
    "error", [ParameterError("tau is -1"), DataError("gone"), ComponentFailure("no plane")]
)
def test_errors_of_our_own_pass_through_unchanged(classifier, seen, error):
    with refused(type(error)):
        fitted(classifier, score=raising(error)).score(seen)
    with refused(type(error)):
        fitted(classifier, fit=raising(error))


def test_scores_come_out_as_float64_whatever_the_monitor_gives(classifier, seen):
    scores = fitted(classifier, score=lambda o: np.arange(N, dtype=np.float32)).score(seen)
    assert scores.dtype == np.float64
    assert scores.tolist() == list(range(N))


def test_an_empty_batch_gets_no_scores(classifier):
    nothing = classifier.observe(np.empty((0, 3, 8, 8), np.float32))
    assert fitted(classifier).score(nothing).shape == (0,)


@pytest.mark.parametrize("scores", [["high"] * N, [[1.0], [1.0, 2.0]]])
def test_scores_that_are_no_numbers_are_a_failure_that_names_the_monitor(classifier, seen, scores):
    with refused(ComponentFailure):
        fitted(classifier, score=lambda o: scores).score(seen)


# Order of calls ----------------------------------------------------------------------------------------


def test_an_unfitted_monitor_says_so(seen):
    with refused(ComponentFailure):
        FakeMonitor().score(seen)
    with refused(ComponentFailure):
        _ = FakeMonitor().state


def test_an_uncalibrated_monitor_says_so(classifier, seen):
    with refused(ComponentFailure):
        fitted(classifier).judge(seen)


def test_a_monitor_that_has_seen_no_classifier_says_so():
    with refused(ComponentFailure):
        _ = FakeMonitor().classifier


def test_fitting_anew_forgets_the_threshold(classifier, seen):
    monitor = calibrated(classifier, seen)
    monitor.fit([], classifier)
    with refused(ComponentFailure):
        _ = monitor.calibration


def test_needs_are_checked_before_anything_is_fitted():
    touched = []
    monitor = FakeMonitor(needs=Needs(layers=(LAST_HIDDEN,)), fit=touched.append)
    box = FunctionClassifier(lambda images: images, ("a",))
    with refused(RequirementError):
        monitor.fit([], box)
    assert touched == []


class Hooks(Monitor):
    """Fails in the hook that a test names."""

    def __init__(self, *, bad=""):
        self.bad = bad

    def _do(self, hook):
        if self.bad == hook:
            raise KeyError("boxes")

    def _fit(self, data):
        self._do("fit")
        return {}

    def _load(self, state):
        self._do("load")

    def _score(self, observation):
        self._do("score")
        return np.zeros(len(observation))

    def reset(self):
        self._do("reset")

    def notes(self):
        self._do("notes")
        return {}


@pytest.mark.parametrize("hook", ["fit", "load", "score", "reset", "notes"])
def test_every_hook_is_guarded_and_named(classifier, seen, hook):
    monitor = Hooks()
    if hook not in ("fit", "load", "notes"):
        monitor.fit([], classifier)
    monitor.bad = hook
    with refused(ComponentFailure):
        {
            "score": lambda: monitor.score(seen),
            "reset": monitor.restart,
        }.get(hook, lambda: monitor.fit([], classifier))()


@pytest.mark.parametrize("driver", ["judge", "calibrate"])
@pytest.mark.parametrize("hook", ["score", "reset"])
def test_judging_and_calibrating_are_guarded_too(classifier, seen, hook, driver):
    labelled = [Labelled(seen, np.zeros(N, np.int64))]
    monitor = Hooks().fit([], classifier)
    monitor.calibrate(labelled, CalibrationRule(), 4)
    monitor.bad = hook
    if (hook, driver) == ("reset", "judge"):
        monitor.judge(seen)
        return
    with refused(ComponentFailure):
        monitor.judge(seen) if driver == "judge" else monitor.calibrate(labelled, CalibrationRule(), 4)


@pytest.mark.parametrize(
    "notes",
    [
        {"plane": np.float32(1)},
        {"share": float("nan")},
        None,
    ],
)
def test_notes_that_are_no_json_are_told_right_after_the_fit(classifier, notes):
    class Talkative(FakeMonitor):
        def notes(self):
            return notes

    with refused(ComponentFailure):
        Talkative().fit([], classifier)


# What it sees ------------------------------------------------------------------------------------------


def test_a_monitor_sees_only_the_layers_that_it_declared(classifier, tiny):
    images = tiny.test.images.read(np.arange(N))
    seen = classifier.observe(images, [LAST_HIDDEN])
    shown = []

    def score(observation):
        shown.append(set(observation.activations))
        return np.zeros(N)

    fitted(classifier, score=score).score(seen)
    fitted(classifier, score=score, needs=Needs(layers=(LAST_HIDDEN,))).score(seen)
    assert shown == [set(), {LAST_HIDDEN}]


def test_a_layer_that_nobody_observed_is_told(classifier, seen):
    monitor = fitted(
        classifier, score=lambda o: o.features(LAST_HIDDEN)[:, 0], needs=Needs(layers=(LAST_HIDDEN,))
    )
    with refused(RequirementError):
        monitor.score(seen)


# State -------------------------------------------------------------------------------------------------


def test_a_failing_fit_names_the_monitor(classifier):
    with refused(ComponentFailure):
        fitted(classifier, fit=raising(ZeroDivisionError("none")))


@pytest.mark.parametrize("value", [{"a": object()}, [None, 1], {1, 2}])
def test_python_objects_in_the_state_are_refused(classifier, value):
    with refused(ComponentFailure):
        fitted(classifier, fit=lambda data: {"boxes": value})


def test_plain_numbers_and_text_become_arrays_of_the_state(classifier):
    state = fitted(classifier, fit=lambda data: {"tau": 0.5, "names": ["a", "b"], "n": 3}).state
    assert {name: array.dtype.kind for name, array in state.items()} == {"tau": "f", "names": "U", "n": "i"}


def test_the_memory_of_a_monitor_is_that_of_its_state(classifier):
    assert fitted(classifier, fit=lambda data: {"a": np.zeros(10), "b": np.zeros(3, np.int8)}).nbytes == 83


def test_a_fit_that_returns_nothing_is_told(classifier):
    with refused(ComponentFailure):
        fitted(classifier, fit=lambda data: None)


def test_scoring_sees_only_what_went_through_load(classifier, seen):
    class Level(Monitor):
        def _fit(self, data):
            self._level = 99.0  # must not be what scores
            return {"level": 2.0}

        def _load(self, state):
            self._level = float(state["level"])

        def _score(self, observation):
            return np.full(len(observation), self._level)

    assert Level().fit([], classifier).score(seen).tolist() == [2.0] * N


def test_a_restored_monitor_scores_and_judges_as_the_fitted_one(classifier, seen):
    monitor = calibrated(classifier, seen, fit=lambda data: {"a": np.arange(3)})
    other = FakeMonitor().restore(monitor.state, classifier, monitor.calibration)
    first, second = monitor.judge(seen), other.judge(seen)
    assert first.scores.tolist() == second.scores.tolist()
    assert first.alarms.tolist() == second.alarms.tolist()
    assert other.nbytes == monitor.nbytes


def test_a_state_that_cannot_be_unpacked_is_a_failure_that_names_the_monitor(classifier):
    class Strict(FakeMonitor):
        def _load(self, state):
            raise KeyError("boxes")

    with refused(ComponentFailure):
        Strict().fit([], classifier)


# Calibration and judging -------------------------------------------------------------------------------


def test_the_threshold_is_set_on_the_data_it_is_given(classifier, seen):
    monitor = fitted(classifier, score=lambda o: np.arange(N, dtype=float))
    labelled = Labelled(seen, np.zeros(N, np.int64))
    calibration = monitor.calibrate([labelled, labelled], CalibrationRule(accept=0.5), 4)
    assert (calibration.threshold, calibration.n) == (2.5, 2 * N)
    assert monitor.calibration is calibration


def test_a_threshold_of_the_methods_own_wins_over_the_rule(classifier, seen):
    monitor = calibrated(classifier, seen, threshold=7.0, score=constant(1.0))
    assert (monitor.calibration.method, monitor.calibration.threshold) == ("fixed", 7.0)


def test_alarms_are_strictly_above_the_threshold(classifier, seen):
    monitor = calibrated(classifier, seen, threshold=3.0, score=lambda o: np.arange(N, dtype=float))
    assert monitor.judge(seen).alarms.tolist() == [False] * 4 + [True] * 2


def test_calibration_resets_a_monitor_that_remembers(classifier, seen):
    class Counting(FakeMonitor):
        n = 0

        def _score(self, observation):
            self.n += 1
            return np.zeros(len(observation))

        def reset(self):
            self.n = 0

    monitor = Counting().fit([], classifier)
    monitor.calibrate([Labelled(seen, np.zeros(N, np.int64))], CalibrationRule(), 4)
    assert monitor.n == 0


GUARANTEED = CalibrationRule("conformal", accept=0.5)


def test_what_judges_by_what_came_before_has_no_guarantee(classifier, seen):
    monitor = fitted(classifier, needs=Needs(order=True))
    with refused(ComponentFailure):
        monitor.calibrate([Labelled(seen, np.zeros(N, np.int64))], GUARANTEED, 4)


def test_a_rule_is_told_all_that_is_known_of_each_instance(classifier, seen, monkeypatch):
    told = []
    monkeypatch.setattr(
        CalibrationRule, "_chosen", lambda rule, data: told.append(data) or Calibration("x", 1, 1)
    )
    track = np.array(["a", "a", "b", "b", "b", "c"])
    labels, light = np.arange(N) % 4, np.arange(2 * N)
    rows = [Labelled(replace(seen, track=track), labels)] * 2
    monitor = fitted(classifier, score=lambda o: np.arange(N, dtype=float))
    monitor.calibrate(rows, GUARANTEED, 4, conditions={"light": light}, seed=7)
    (data,) = told
    assert data.scores.tolist() == [*range(N)] * 2
    assert data.labels.tolist() == [*labels] * 2
    assert data.ids.tolist() == [*seen.ids] * 2
    assert data.track.tolist() == [*track] * 2
    assert (data.conditions["light"].tolist(), data.n_classes, data.seed) == (light.tolist(), 4, 7)
    monitor.calibrate([Labelled(replace(seen, track=None), labels)], GUARANTEED, 4)
    assert told[-1].track is None


@pytest.mark.parametrize("looks", [True, False])
def test_a_guarantee_tells_where_the_fit_looked_at_the_validation_data(tiny, classifier, looks):
    inner = FakeMonitor(fit=lambda data: {"n": len(list(data.validation if looks else data))})
    outer = FakeMonitor(fit=lambda data: inner.fit(data, classifier).state)
    fit_monitors([outer], classifier, tiny, {outer.name: GUARANTEED})
    for monitor in (inner, outer):
        assert monitor._saw_validation == looks
    assert outer.calibration.guarantee.seen_in_fit == looks


def test_only_scoring_and_comparing_are_timed(classifier, seen, monkeypatch):
    monitor = calibrated(classifier, seen)
    ticks = iter([100, 160, 1000, 1007])  # around the score, then around the comparison
    monkeypatch.setattr("farm.api.monitor.time", SimpleNamespace(perf_counter_ns=lambda: next(ticks)))
    assert monitor.judge(seen).nanoseconds == 67


# What it was made with ---------------------------------------------------------------------------------


def test_a_monitor_remembers_its_parameters_and_name():
    class HalfSpace(Monitor):
        def __init__(self, *, tau=0.1, layer=LAST_HIDDEN):
            self._tau, self._layer = tau, layer

        _fit = _load = _score = None

    monitor = HalfSpace(tau=0.5)
    assert monitor.parameters == {"tau": 0.5, "layer": "last-hidden"}
    assert monitor.name == "half-space"
    assert monitor.needs == Needs()
    assert monitor.notes() == {}


def test_a_monitor_without_its_hooks_cannot_be_made():
    class Unfinished(Monitor):
        pass

    with refused(TypeError):
        Unfinished()


def test_a_monitor_that_cannot_explain_says_nothing(classifier, seen):
    assert [e.record() for e in fitted(classifier).explain(seen)] == [{}] * N


def test_an_explanation_is_asked_for_one_instance_at_a_time(classifier, seen):
    class Explaining(FakeMonitor):
        def _explain(self, observation):
            assert len(observation) == 1
            return Explanation(reason=f"it is {observation.ids[0]}", contributions={"x": 1.0})

    told = Explaining().fit([], classifier).explain(seen)
    assert [e.reason for e in told] == [f"it is {name}" for name in seen.ids]
    assert told[0].record() == {"reason": f"it is {seen.ids[0]}", "contributions": {"x": 1.0}}


def test_a_failing_explanation_names_the_monitor(classifier, seen):
    class Failing(FakeMonitor):
        def _explain(self, observation):
            raise ValueError("no idea")

    with refused(ComponentFailure):
        Failing().fit([], classifier).explain(seen)


def test_forward_passes_of_its_own_are_counted_a_judged_batch(classifier, seen):
    class Twice(FakeMonitor):
        def _score(self, observation):
            for _ in range(2):
                self.classifier.observe(observation.images)
            return np.zeros(len(observation))

    twice = Twice(fixed_threshold=0.5).fit([], classifier)
    twice.calibrate([Labelled(seen, np.zeros(N, np.int64))], CalibrationRule(), 4)
    assert twice.own_passes == 0, "calibrating is no judging"
    for _ in range(3):
        twice.judge(seen)
    assert twice.own_passes == 2
    twice.restart()
    assert twice.own_passes == 0
    assert calibrated(classifier, seen).own_passes == 0


def test_a_monitor_gets_the_classifier_itself_but_for_the_counting(classifier, seen):
    monitor = fitted(classifier)
    inner = fitted(monitor.classifier).classifier
    assert inner.inner is classifier
    assert (inner.digest, inner.classes, inner.nbytes) == (classifier.digest, classifier.classes, 0)
    np.testing.assert_array_equal(inner.observe(seen.images).probabilities, seen.probabilities)


def closing(value):
    """Close a file that is somebody else's, as whoever closes all does."""

    def body(*_):
        os.close(files._KEPT_OPEN[0])
        return value

    return body


def test_who_closes_the_files_of_others_fails_by_name(classifier, seen):
    with refused(ComponentFailure):
        fitted(classifier, fit=closing({}), name="closer")
    monitor = fitted(classifier, score=closing(np.zeros(N)), name="closer")
    with refused(ComponentFailure):
        monitor.score(seen)
    other = fitted(classifier, name="other")
    assert len(other.score(seen)) == N, "whoever comes next has nothing to do with it"
