"""The system under test: one forward pass a batch, every monitor judged, failures alone."""

from __future__ import annotations

import re
from itertools import count, groupby
from types import SimpleNamespace

import numpy as np
import pytest

from farm.api import LAST_HIDDEN, CalibrationRule, Labelled, Needs, Policy
from farm.errors import ComponentFailure, DataError, ExperimentError
from farm.run.streams import BenchmarkStream
from farm.run.system import WARM_UP, SystemUnderTest, Visits, opaque
from farm.run.testbed import Testbed
from farm.testing.fakes import FakeClassifier, FakeFaultload, FakeMonitor
from tests.wording import refused, same_text


@pytest.fixture
def ready(tiny, classifier):
    """Return a function that makes fitted and calibrated monitors."""

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
    calls: list[int] = []

    class Counted:
        """The stream, which notes how often the classifier was asked before each batch of the last pass."""

        classes, uses_classifier = stream.classes, False

        def batches(self, size):
            calls.clear()
            for batch in stream.batches(size):
                calls.append(classifier.calls)
                yield batch

    monitors = ready(*map(str, range(n_monitors)), needs=Needs(layers=(LAST_HIDDEN,)))
    _, steps = run(classifier, monitors, Counted())
    # Batches are made ahead, so that only the whole pass can be counted.
    assert len(steps) == len(calls) == 4
    assert classifier.calls - calls[0] == 4


def test_every_monitor_judges_every_batch(classifier, ready, stream):
    _, steps = run(classifier, ready("a", "b"), stream)
    for step in steps:
        assert sorted(step.decisions) == ["a", "b"]
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
        made = step.decisions["a"]
        assert made.cancelled.tolist() == made.alarms.tolist()
        assert made.decided.tolist() == np.where(made.alarms, -1, step.observation.predicted).tolist()
        assert made.decided.dtype == np.int64


def test_each_monitor_has_a_policy_of_its_own(classifier, ready, stream):
    class Latch(Policy):
        """Once cancelled, always cancelled."""

        on = False

        def reset(self):
            self.on = False

        def _cancels(self, alarm, margin, track):
            self.on = self.on or alarm
            return self.on

    never, always = ready("never", fixed_threshold=2.0) + ready("always", fixed_threshold=-1.0)
    _, steps = run(classifier, [never, always], stream, policies={"never": Latch(), "always": Latch()})
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
    judged = max(n - 1 - WARM_UP, 0)
    begins = next(iter(stream.batches(6))) if not judged else list(stream.batches(6))[judged]
    assert system.failures["failing"] == (
        "monitor 'failing' failed in score: ValueError: out of planes "
        f"(in the batch that begins with '{begins.ids[0]}')"
    )
    assert sum("failing" in step.decisions for step in steps) == judged
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


def test_the_users_mistake_in_a_monitor_makes_that_monitor_fail_alone(classifier, ready, stream):
    (healthy,) = ready("healthy")
    (monitor,) = ready("m", score=failing_after(1 + WARM_UP + 1, DataError("the file is gone")))
    system, steps = run(classifier, [monitor, healthy], stream)
    assert system.failures == {
        "m": f"monitor 'm': the file is gone (in the batch that begins with '{steps[1].batch.ids[0]}')"
    }
    assert ["m" in step.decisions for step in steps] == [True, False, False, False]
    assert all("healthy" in step.decisions for step in steps)


def test_a_classifier_that_fails_ends_the_run(tiny, stream):
    broken = FakeClassifier(lambda images: images.mean(), tiny.classes, name="broken")
    with refused(ComponentFailure):
        run(broken, [], stream)


def test_other_classes_than_the_streams_are_refused(stream):
    other = FakeClassifier(lambda images: images, ("ash", "cedar", "birch", "dogwood"), name="net")
    with refused(ExperimentError):
        run(other, [], stream)
    assert other.calls == 0


def test_two_monitors_of_one_name_are_refused(classifier):
    with refused(ExperimentError):
        SystemUnderTest(classifier, [FakeMonitor(name=name) for name in "aba"])


def test_an_uncalibrated_monitor_is_left_out_with_its_reason(classifier, stream):
    system, steps = run(classifier, [FakeMonitor(name="raw").fit([], classifier)], stream)
    assert system.failures == {
        "raw": "monitor 'raw' is not calibrated; call calibrate first "
        f"(in the batch that begins with '{steps[0].batch.ids[0]}')"
    }


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
    class FirstOnly(Policy):
        """Cancels the first alarm it ever sees."""

        done = False

        def reset(self):
            self.done = False

        def _cancels(self, alarm, margin, track):
            first = alarm and not self.done
            self.done = self.done or alarm
            return first

    (always,) = ready("always", fixed_threshold=-1.0)
    _, steps = run(classifier, [always], stream, policies={"always": FirstOnly()})
    cancelled = np.concatenate([step.decisions["always"].cancelled for step in steps])
    assert cancelled.tolist() == [True] + [False] * 19


def test_monitors_see_opaque_ids_and_tracks_and_no_truth(tiny, classifier, ready, stream):
    seen = []

    def score(observation):
        seen.append(observation)
        return np.zeros(len(observation))

    run(classifier, ready("spy", score=score), stream, 20)
    last = seen[-1]
    batch = next(stream.batches(20))
    assert last.ids.tolist() == opaque(batch.ids).tolist()
    for shown, real in ((last.ids, batch.ids), (last.track, batch.track)):
        # Who is the same and who is not can be seen, and nothing else.
        assert len(set(zip(shown, real, strict=True))) == len(set(shown)) == len(set(real))
        for text, name in zip(shown, real, strict=True):
            assert re.fullmatch("[0-9a-f]{16}", text)
            assert not any(part in text for part in re.split(r"[^0-9A-Za-z]", name) if len(part) > 1)
    assert not hasattr(last, "labels")
    assert not hasattr(last, "is_ood")


# Tracks are visits ----------------------------------------------------------------------------------------


def runs_of(names):
    """Return what is the same as its neighbour, as lengths."""
    return [len(list(group)) for _, group in groupby(names)]


def streamed(classifier, monitors, stream, size):
    """Return the tracks that monitors are shown, and those that readouts keep."""
    steps = list(SystemUnderTest(classifier, monitors).steps(stream, size))
    shown = np.concatenate([step.observation.track for step in steps]).tolist()
    return shown, np.concatenate([step.batch.track for step in steps]).tolist(), steps


def halved(workload, classifier, **settings):
    """Make a stream in which clean instances stand beside their own darker copies."""
    faultload = FakeFaultload(transform=lambda images: images / 2, name="half")
    return Testbed(seed=0).stream(workload, classifier, faultload, **settings)


ORDERED = [
    {"order": "sequential"},
    {"order": "shuffled"},
    {"order": {"name": "sequence", "views": 4, "share": 0.5}, "length": 120},
    {"order": {"name": "bursts", "gap": 5, "burst": 5}, "length": 120},
]


@pytest.mark.parametrize("settings", ORDERED, ids=lambda settings: str(settings["order"]))
def test_a_visit_is_a_run_of_one_track_and_no_name_comes_again(tiny, classifier, settings):
    stream = halved(tiny, classifier, **settings)
    shown, real, steps = streamed(classifier, [], stream, 7)
    assert runs_of(shown) == runs_of(real)
    assert len(set(shown)) == len(runs_of(shown)) > len(set(real))
    assert sum(step.batch.is_ood.any() for step in steps) > 1
    for size in (1, 3, stream.length):
        assert streamed(classifier, [], stream, size)[0] == shown


def test_a_track_that_comes_again_is_another_visit_and_a_fault_within_a_visit_is_none(tiny):
    visits = Visits()

    def names(tracks, workload="tiny"):
        n = len(tracks)
        return visits.names(SimpleNamespace(track=np.array(list(tracks)), workload=np.array([workload] * n)))

    first = names("aabba").tolist()
    assert runs_of(first) == [2, 2, 1]
    assert len(set(first)) == 3
    # The next batch goes on where this one ended, whatever became of the images.
    assert names("ab").tolist()[0] == first[-1]
    # Another workload's track of the same name is another.
    assert names("b", "abroad").tolist()[0] not in {*first, *names("b").tolist()}
    assert Visits().names(next(BenchmarkStream(tiny).batches(1))).tolist() == first[:1]


def test_in_a_sequence_every_object_is_one_visit(tiny, classifier):
    stream = halved(tiny, classifier, order={"name": "sequence", "views": 4, "share": 0.5}, length=120)
    shown, real, steps = streamed(classifier, [], stream, 7)
    ood = np.concatenate([step.batch.is_ood for step in steps])
    for start in range(0, 120, 4):
        assert len(set(shown[start : start + 4])) == 1
    clean, faulted = ({t for t, one in zip(real, ood, strict=True) if one == which} for which in (0, 1))
    assert clean & faulted, "tracks come clean and faulted"
    # No name of a clean visit is a faulted one's, but where one follows upon the other.
    names = [{t for t, one in zip(shown, ood, strict=True) if one == which} for which in (0, 1)]
    follows = sum(real[i] == real[i - 1] and ood[i] != ood[i - 1] for i in range(1, 120))
    assert len(names[0] & names[1]) <= follows


def test_images_without_tracks_stand_alone_unless_shown_several_times(classifier):
    """In the digits, each image is a track of its own."""
    bed = Testbed(seed=0)
    digits = bed.workload({"name": "digits", "size": 8, "channels": 1})
    flat = FakeClassifier(lambda x: np.full((len(x), 10), 0.1), digits.classes)
    stream = halved(digits, flat, order="shuffled", length=200)
    shown, real, _ = streamed(flat, [], stream, 64)
    assert runs_of(shown) == runs_of(real)
    assert len(set(shown)) > 190
    assert len(set(real)) < len(set(shown)), "an image comes clean and faulted"
    views = halved(digits, flat, order={"name": "sequence", "views": 5}, length=50)
    assert runs_of(streamed(flat, [], views, 64)[0]) == [5] * 10


@pytest.mark.parametrize("size", [1, 3, 7, 192])
def test_nobody_can_tell_a_faulted_copy_by_its_originals_track(tiny, classifier, size):
    stream = halved(tiny, classifier, order="sequential")
    spy = Knows(name="spy")
    Testbed().fit([spy], classifier, tiny)
    _, real, steps = streamed(classifier, [spy], stream, size)
    scores = np.concatenate([step.decisions["spy"].scores for step in steps])
    n = len(tiny.test)
    assert real[:n] == real[n:], "first all clean ones, then all their copies"
    assert scores.sum() == 2 * (n - len(set(real))), "all but each visit's first"
    assert scores[n:].tolist() == scores[:n].tolist()


class Knows(FakeMonitor):
    """Scores 1 where an instance's track came before."""

    def reset(self):
        self.seen = set()

    def _score(self, observation):
        scores = np.zeros(len(observation))
        for i, name in enumerate(observation.track.tolist()):
            scores[i] = name in self.seen
            self.seen.add(name)
        return scores


def test_layers_that_are_to_be_kept_are_observed_too(classifier, stream):
    _, steps = run(classifier, [], stream, layers=[LAST_HIDDEN])
    assert steps[0].observation.features(LAST_HIDDEN).shape == (6, 4)


def test_the_classifiers_time_is_around_the_classifier_alone(classifier, ready, stream, monkeypatch):
    clock = iter(range(0, 10_000, 5))
    monkeypatch.setattr("farm.run.system.time", SimpleNamespace(perf_counter_ns=lambda: next(clock)))
    _, steps = run(classifier, ready("a", "b"), stream)
    assert [step.classifier_nanoseconds for step in steps] == [5] * 4
    assert all(decision.nanoseconds > 0 for step in steps for decision in step.decisions.values())


def test_the_times_of_an_instance_are_the_quickest_passes_shares(tiny, stream, monkeypatch):
    """The clock runs ever faster: the p-th pass, from 0, takes 4 p + 1 microseconds."""
    clock = (1000 * k**2 for k in count())
    monkeypatch.setattr("farm.run.system.time", SimpleNamespace(perf_counter_ns=lambda: next(clock)))
    even = FakeClassifier(lambda x: np.full((len(x), 4), 0.25), tiny.classes)
    system, steps = run(even, [], stream, 5)
    # Three passes to warm up, three without layers, three with them, and then the stream's own.
    assert WARM_UP == 3
    assert system.bare_microseconds == pytest.approx((4 * 3 + 1) / 5)
    assert system.observing_microseconds == pytest.approx((4 * 6 + 1) / 5)
    assert [step.classifier_nanoseconds for step in steps] == [1000 * (4 * p + 1) for p in (9, 10, 11, 12)]


# Nobody disturbs anybody ---------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["images", "logits", "probabilities", "predicted", "ids", "track", "layer"])
def test_a_monitor_that_writes_into_what_it_sees_fails_alone(classifier, ready, stream, what):
    needs = Needs(layers=(LAST_HIDDEN,))

    def spoil(observation):
        array = observation.features(LAST_HIDDEN) if what == "layer" else getattr(observation, what)
        array[:] = array[::-1].copy()
        return np.zeros(len(observation))

    def score(observation):
        return observation.features(LAST_HIDDEN).sum(axis=1) + observation.logits.max(axis=1)

    (healthy,) = ready("healthy", score=score, needs=needs)
    _, alone = run(classifier, [healthy], stream)
    (spoiler,) = ready("spoiler", needs=needs, fixed_threshold=1.0)
    spoiler._score_with = spoil
    for monitors in ([spoiler, healthy], [healthy, spoiler]):
        system, steps = run(classifier, monitors, stream)
        assert list(system.failures) == ["spoiler"]
        same_text(system.failures["spoiler"])
        assert "read-only" in system.failures["spoiler"]
        for step, reference in zip(steps, alone, strict=True):
            assert np.array_equal(step.decisions["healthy"].scores, reference.decisions["healthy"].scores)
            assert np.array_equal(step.observation.images, step.batch.images)


def test_a_monitor_cannot_replace_a_layer_for_the_others(classifier, ready, stream):
    def spoil(observation):
        observation.activations[LAST_HIDDEN] = np.zeros(1)

    (spoiler,) = ready("spoiler", needs=Needs(layers=(LAST_HIDDEN,)), fixed_threshold=1.0)
    spoiler._score_with = spoil
    system, steps = run(classifier, [spoiler], stream)
    same_text(system.failures["spoiler"])
    assert steps[0].observation.features(LAST_HIDDEN).shape == (6, 4)


def test_a_monitor_sees_only_the_layers_that_it_declared(classifier, ready, stream):
    seen = {}

    def spy(name):
        def score(observation):
            seen[name] = set(observation.activations)
            return np.zeros(len(observation))

        return score

    (one,) = ready("one", score=spy("one"), needs=Needs(layers=(LAST_HIDDEN,)))
    (none,) = ready("none", score=spy("none"))
    run(classifier, [one, none], stream)
    assert seen == {"one": {LAST_HIDDEN}, "none": set()}


def test_a_layer_that_only_others_declared_makes_a_monitor_fail_alone(classifier, ready, stream):
    (one,) = ready("one", score=lambda o: o.features(LAST_HIDDEN)[:, 0], needs=Needs(layers=(LAST_HIDDEN,)))
    (sly,) = ready("sly", fixed_threshold=1.0)
    sly._score_with = lambda o: o.features(LAST_HIDDEN)[:, 0]
    system, _ = run(classifier, [one, sly], stream)
    assert list(system.failures) == ["sly"]
    same_text(system.failures["sly"])


def test_every_monitor_is_judged_first_at_times_and_results_do_not_depend_on_it(classifier, ready, stream):
    order = []

    def noting(name):
        def score(observation):
            order.append(name)
            return observation.images.mean(axis=(1, 2, 3))

        return score

    def scores(*names):
        monitors = [ready(name, score=noting(name))[0] for name in names]
        order.clear()
        _, steps = run(classifier, monitors, stream, 1)
        return {name: np.concatenate([s.decisions[name].scores for s in steps]).tolist() for name in names}

    together = scores("a", "b", "c")
    rounds = [order[i : i + 3] for i in range(0, len(order), 3)]
    assert all(sorted(names) == ["a", "b", "c"] for names in rounds)
    assert {names[0] for names in rounds} == {"a", "b", "c"}
    before, again = list(order), scores("a", "b", "c")
    assert order == before  # the order is no chance
    assert together == again == scores("c", "a", "b")
    assert scores("b")["b"] == together["b"]


def test_a_reset_that_fails_makes_that_monitor_fail_alone(classifier, ready, stream):
    class Stuck(FakeMonitor):
        stuck = False

        def reset(self):
            if self.stuck:
                raise OSError("no")

    stuck = Stuck(name="stuck", fixed_threshold=1.0).fit([], classifier)
    seen = classifier.observe(np.zeros((1, 3, 8, 8), np.float32))
    stuck.calibrate([Labelled(seen, np.zeros(1, int))], CalibrationRule(), 4)
    stuck.stuck = True
    system, steps = run(classifier, [stuck, *ready("healthy")], stream)
    assert system.failures == {"stuck": "monitor 'stuck' failed in reset: OSError: no"}
    assert [list(step.decisions) for step in steps] == [["healthy"]] * 4


def test_the_warm_up_times_a_pass_without_and_with_layers(tiny, stream):
    asked = []

    class Watched(FakeClassifier):
        def _forward(self, images, layers, members):
            asked.append(tuple(layers))
            return super()._forward(images, layers, members)

    watched = Watched(lambda x: np.full((len(x), 4), 0.25), tiny.classes, layers={"fc": lambda x: x[:, 0, 0]})
    system, steps = run(watched, [], stream, layers=["fc"])
    assert system.bare_microseconds > 0
    assert system.observing_microseconds > 0
    assert asked[WARM_UP : 3 * WARM_UP] == [()] * WARM_UP + [("fc",)] * WARM_UP
    assert asked[3 * WARM_UP :] == [("fc",)] * len(steps)


@pytest.mark.parametrize("names", [["a", "b"], []])
def test_opaque_names_are_text_of_one_width(names):
    assert opaque(np.array(names, dtype=str)).dtype == np.dtype("U16")
