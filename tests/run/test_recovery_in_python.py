"""Policies and fallbacks in Python: by name or as objects, one memory each, none left by the warm-up."""

from __future__ import annotations

import numpy as np
import pytest

from farm.api import CalibrationRule, FunctionClassifier, ModelSource, Policy
from farm.errors import ComponentFailure, ExperimentError
from farm.run.fallback import LastAccepted, SecondClassifier, same_classifier, unfit_second
from farm.run.policies import Latching, MOutOfN
from farm.run.system import WARM_UP, SystemUnderTest
from farm.run.testbed import Testbed
from farm.testing.fakes import FakeClassifier, FakeFaultload, FakeMonitor, TinyModel
from tests.wording import refused, same_text


class Fixed(ModelSource):
    """A classifier that always gives one class, of these classes."""

    def __init__(self, *, number: int = 0, classes: tuple[str, ...] = ()) -> None:
        self._number, self._classes = number, classes

    def classifier(self, workload, context):
        classes = self._classes or workload.classes
        one = np.eye(len(classes))[self._number]
        return FakeClassifier(lambda images: np.tile(one, (len(images), 1)), classes, name=self.name)


def dark(observation):
    return -observation.images.mean(axis=(1, 2, 3))


class Counts:
    """A fallback of one's own, which remembers."""

    cancelled = 0

    def decide(self, cancelled, observation, alarms=None):
        self.cancelled += int(cancelled.sum())
        return np.where(cancelled, self.cancelled, observation.predicted)

    def reset(self):
        self.cancelled = 0

    def record(self):
        return {"name": "counts"}


@pytest.fixture
def bed():
    return Testbed(seed=0)


@pytest.fixture
def parts(bed, tiny):
    classifier = bed.classifier(TinyModel(), tiny)
    monitors = [FakeMonitor(name=name, score=dark) for name in "ab"]
    bed.fit(monitors, classifier, tiny)
    faultload = FakeFaultload(transform=lambda images: images / 2, label=-1, category="novelty", name="dim")
    return bed.stream(tiny, classifier, faultload, ood_share=0.3), classifier, monitors, tiny


def test_a_run_in_python_takes_names_or_objects(bed, parts):
    by_name = bed.run(
        *parts,
        policies={"a": {"name": "m-of-n", "m": 2, "n": 3}, "b": "latching"},
        fallbacks={"a": "last", "b": Fixed(number=1)},
    )
    by_object = bed.run(
        *parts,
        policies={"a": MOutOfN(m=2, n=3), "b": Latching()},
        fallbacks={"a": LastAccepted(), "b": SecondClassifier(bed.classifier(Fixed(number=1), parts[3]))},
    )
    for column in ("cancelled", "decision"):
        assert by_name.alarms[column].tolist() == by_object.alarms[column].tolist()
    untouched = bed.run(*parts)
    assert untouched.alarms["cancelled"].tolist() == untouched.alarms["alarm"].tolist()
    assert untouched.run["monitors"][0]["policy"] == {"name": "cancel"}
    assert untouched.run["monitors"][0]["fallback"] == {"name": "none"}


@pytest.mark.parametrize("what", ["policies", "fallbacks"])
def test_a_policy_for_nobody_is_told(bed, parts, what):
    with refused(ExperimentError):
        bed.run(*parts, **{what: {"c": "last" if what == "fallbacks" else "cancel"}})


def test_fitting_takes_no_policy(bed, tiny):
    classifier = bed.classifier(TinyModel(), tiny)
    for own in ({"policy": "latching"}, {"fallback": "last"}):
        with refused(ExperimentError):
            bed.fit([{"name": "max-softmax", "as": "x", **own}], classifier, tiny)


@pytest.mark.parametrize(
    ("shared", "key"),
    [(MOutOfN(m=1, n=2), "policies"), (LastAccepted(), "fallbacks"), (Counts(), "fallbacks")],
    ids=["policy", "last", "own"],
)
def test_two_monitors_cannot_share_a_memory(parts, shared, key):
    _, classifier, monitors, _ = parts
    with refused(ExperimentError):
        SystemUnderTest(classifier, monitors, **{key: {"a": shared, "b": shared}})


def test_a_second_classifier_counts_the_same_classes(bed, parts):
    with refused(ExperimentError):
        bed.run(*parts, fallbacks={"b": Fixed(classes=("birch", "ash", "cedar", "dogwood"))})


def test_the_classifier_itself_is_no_fallback(bed, parts):
    _, classifier, _, tiny = parts
    # Made anew, or the very object: a run in Python is told what an experiment's file is told.
    for one in (
        TinyModel(),
        SecondClassifier(classifier),
        SecondClassifier(bed.classifier(TinyModel(), tiny)),
    ):
        with refused(ExperimentError):
            bed.run(*parts, fallbacks={"b": one})


def test_whose_second_classifier_is_unfit_is_told_of_each(bed, parts):
    _, classifier, _, tiny = parts
    named = {"a": Fixed(), "b": TinyModel(), "c": "last", "d": Fixed(classes=("x", "y", "z", "w"))}
    told = unfit_second(bed.fallbacks(named, tiny), classifier)
    assert list(told) == ["b", "d"]
    same_text(told["b"])
    same_text(told["d"])


def test_one_that_cannot_be_made_is_made_once_and_told_of_each(bed, parts):
    class Broken(ModelSource):
        tries = 0

        def classifier(self, workload, context):
            Broken.tries += 1
            raise ValueError("no weights")

    tiny, failures = parts[3], {}
    named = {"a": Broken(), "b": Broken(), "c": "none", "d": Fixed()}
    with refused(ComponentFailure):
        bed.fallbacks(named, tiny)
    Broken.tries = 0
    assert list(bed.fallbacks(named, tiny, failures)) == ["c", "d"]
    why = "its fallback 'broken' cannot be made: model 'broken' failed: ValueError: no weights"
    assert failures == {"a": f"monitor 'a': {why}", "b": f"monitor 'b': {why}"}
    assert Broken.tries == 1


def test_functions_whose_code_nobody_sees_are_one_only_where_their_recipe_is(tiny):
    first, second = (
        FunctionClassifier(lambda images, i=i: np.eye(4)[[i] * len(images)], tiny.classes) for i in (0, 1)
    )
    assert first.digest == second.digest
    assert same_classifier(first, first)
    assert not same_classifier(first, second)
    first.recipe, second.recipe = {"name": "function", "function": "a:b"}, {"name": "function"}
    assert not same_classifier(first, second)
    second.recipe = dict(first.recipe)
    assert same_classifier(first, second)


# Warm-up and failures --------------------------------------------------------------------------------------


def steps(parts, size=6, **recovery):
    stream, classifier, monitors, _ = parts
    system = SystemUnderTest(classifier, monitors, **recovery)
    return system, list(system.steps(stream, size))


def test_the_warm_up_leaves_no_memory(bed, parts, tiny):
    reserve = bed.classifier(Fixed(), tiny)
    fallback = SecondClassifier(reserve)
    system, made = steps(parts, fallbacks={"a": LastAccepted(), "b": fallback})
    again = list(system.steps(parts[0], 6))
    first = made[0].decisions["a"]
    seen = made[0].observation
    afresh = LastAccepted().decide(first.cancelled, seen, first.alarms)
    assert first.decided.tolist() == afresh.tolist()
    assert first.cancelled.any()
    for name in "ab":
        for one, other in zip(made, again, strict=True):
            assert one.decisions[name].decided.tolist() == other.decisions[name].decided.tolist()
    busy = sum(step.decisions["b"].cancelled.any() for step in made)
    assert fallback.batches == busy
    assert fallback.instances == sum(step.decisions["b"].cancelled.sum() for step in made)
    assert reserve.calls >= 2 * (WARM_UP + busy), "warmed up even where the first batch cancels nothing"


class Breaks(Policy):
    """Fails after so many instances, or when it is reset."""

    def __init__(self, *, after: int = 10**9, resets: bool = True) -> None:
        self._left, self._resets = after, resets

    def _cancels(self, alarm, margin, track):
        self._left -= 1
        if self._left < 0:
            raise ZeroDivisionError("of nothing")
        return alarm

    def reset(self):
        if not self._resets:
            raise OSError("stuck")


def test_a_policy_that_fails_makes_its_monitor_fail_alone(parts):
    system, made = steps(parts, policies={"a": Breaks(after=WARM_UP * 6 + 8)})
    begins = made[1].batch.ids[0]
    assert system.failures == {
        "a": "monitor 'a': its policy 'breaks' failed: ZeroDivisionError: of nothing "
        f"(in the batch that begins with '{begins}')"
    }
    assert ["a" in step.decisions for step in made[:3]] == [True, False, False]
    assert all("b" in step.decisions for step in made)
    system, _ = steps(parts, policies={"a": Breaks(resets=False)})
    assert system.failures == {"a": "monitor 'a': its policy 'breaks' failed: OSError: stuck"}


class Says(Policy):
    """Gives what it was told to give."""

    def __init__(self, *, answer: object) -> None:
        self.name, self._answer = "says", answer

    def decide(self, verdict, observation):
        return self._answer

    def _cancels(self, alarm, margin, track):
        raise NotImplementedError

    def reset(self):
        pass


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ([True], "a list, no array"),
        (None, "a NoneType, no array"),
        (np.array([True]), "an array of shape (1,) and type bool"),
        (np.zeros((6, 1), bool), "an array of shape (6, 1) and type bool"),
        (np.zeros(6), "an array of shape (6,) and type float64"),
    ],
)
def test_a_policy_that_gives_something_else_is_blamed_by_name(parts, answer, told):
    system, made = steps(parts, policies={"a": Says(answer=answer)})
    begins = made[0].batch.ids[0]
    assert system.failures == {
        "a": f"monitor 'a': its policy 'says' returned {told}; expected one truth value an image, here 6 "
        f"(in the batch that begins with '{begins}')"
    }
    assert all(sorted(step.decisions) == ["b"] for step in made)


@pytest.mark.parametrize(
    ("answer", "told"),
    [([1] * 6, "a list, no array"), (np.zeros(5, int), "an array of shape (5,) and type int64")],
)
def test_a_fallback_that_gives_something_else_is_blamed(parts, answer, told):
    class Odd(LastAccepted):
        def decide(self, cancelled, observation, alarms=None):
            return answer

    system, _ = steps(parts, fallbacks={"b": Odd()})
    assert system.failures["b"].startswith(
        f"monitor 'b': its fallback Odd returned {told}; expected one class number an image, here 6 "
    )


def test_monitors_that_share_a_second_classifier_ask_it_once_a_batch(bed, parts, tiny):
    stream, classifier, (a, _), _ = parts
    bright = FakeMonitor(name="bright", score=lambda o: o.images.mean(axis=(1, 2, 3)))
    bed.fit([bright], classifier, tiny, CalibrationRule(accept=0.6))
    looked = []
    reserve = FakeClassifier(
        lambda images: looked.append(len(images)) or np.tile(np.eye(4)[2], (len(images), 1)),
        tiny.classes,
        name="reserve",
    )
    fallback = SecondClassifier(reserve)
    system = SystemUnderTest(classifier, [a, bright], fallbacks={"a": fallback, "bright": fallback})
    unlike = 0
    for step in system.steps(stream, 6):
        both = [step.decisions[name].cancelled for name in ("a", "bright")]
        union = int((both[0] | both[1]).sum())
        unlike += both[0].any() and both[1].any() and (both[0] != both[1]).any()
        assert looked[-1:] == [union] or not union
        for decision in step.decisions.values():
            assert set(decision.decided[decision.cancelled]) <= {2}
        if not union:
            assert not looked
        looked.clear()
    assert unlike > 3


class BreaksToo(LastAccepted):
    """Fails on anything cancelled."""

    def decide(self, cancelled, observation, alarms=None):
        raise KeyError("gone")


def test_a_fallback_that_fails_makes_its_monitor_fail_alone(parts):
    system, made = steps(parts, fallbacks={"b": BreaksToo()})
    same_text(system.failures["b"])
    assert [sorted(step.decisions) for step in made] == [["a"]] * len(made)


def test_second_classifiers_of_one_recipe_are_one(tiny):
    made = Testbed().fallbacks({"a": Fixed(number=1), "b": Fixed(number=1), "c": Fixed(number=2)}, tiny)
    assert made["a"] is made["b"] is not made["c"]
    assert made["a"].classifier.recipe == Fixed(number=1).recipe
