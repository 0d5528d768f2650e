"""Policies and fallbacks in Python: by name or as objects, one memory each, none left by the warm-up."""

from __future__ import annotations

import re

import numpy as np
import pytest

from farm.api import ModelSource, Policy
from farm.errors import ExperimentError
from farm.fallback import LastAccepted, SecondClassifier
from farm.policies import Latching, MOutOfN
from farm.sut import WARM_UP, SystemUnderTest
from farm.testbed import Testbed
from farm.testing.fakes import FakeClassifier, FakeFaultload, FakeMonitor, TinyModel


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
    message = "no monitor is called 'c', which has a policy or fallback; known: a, b"
    with pytest.raises(ExperimentError, match=f"^{re.escape(message)}$"):
        bed.run(*parts, **{what: {"c": "last" if what == "fallbacks" else "cancel"}})


def test_fitting_takes_no_policy(bed, tiny):
    classifier = bed.classifier(TinyModel(), tiny)
    message = (
        "monitor 'x': fitting takes no policy and no fallback; give them to `run`, by the monitors' names"
    )
    for own in ({"policy": "latching"}, {"fallback": "last"}):
        with pytest.raises(ExperimentError, match=f"^{re.escape(message)}$"):
            bed.fit([{"name": "max-softmax", "as": "x", **own}], classifier, tiny)


@pytest.mark.parametrize(
    ("shared", "key"),
    [(MOutOfN(m=1, n=2), "policies"), (LastAccepted(), "fallbacks")],
    ids=["policy", "last"],
)
def test_two_monitors_cannot_share_a_memory(parts, shared, key):
    _, classifier, monitors, _ = parts
    message = (
        f"monitors 'a' and 'b' share one {type(shared).__name__} object, which would mix their memories; "
        "expected one each"
    )
    with pytest.raises(ExperimentError, match=f"^{re.escape(message)}$"):
        SystemUnderTest(classifier, monitors, **{key: {"a": shared, "b": shared}})


def test_a_second_classifier_counts_the_same_classes(bed, parts):
    message = (
        "fallback 'fixed' of monitor 'b' counts other classes than classifier 'tiny-model'; expected the "
        "same, in the same order"
    )
    with pytest.raises(ExperimentError, match=f"^{re.escape(message)}$"):
        bed.run(*parts, fallbacks={"b": Fixed(classes=("birch", "ash", "cedar", "dogwood"))})


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
    afresh = LastAccepted().decide(first.cancelled, seen)
    assert first.decided.tolist() == afresh.tolist()
    assert first.cancelled.any()
    for name in "ab":
        for one, other in zip(made, again, strict=True):
            assert one.decisions[name].decided.tolist() == other.decisions[name].decided.tolist()
    busy = sum(step.decisions["b"].cancelled.any() for step in made)
    assert fallback.batches == busy
    assert fallback.instances == sum(len(step.batch) for step in made if step.decisions["b"].cancelled.any())
    assert reserve.calls == 2 * (WARM_UP + busy), "warmed up even where the first batch cancels nothing"


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
        "a": "monitor 'a': its policy failed: ZeroDivisionError: of nothing "
        f"(in the batch that begins with '{begins}')"
    }
    assert ["a" in step.decisions for step in made[:3]] == [True, False, False]
    assert all("b" in step.decisions for step in made)
    system, _ = steps(parts, policies={"a": Breaks(resets=False)})
    assert system.failures == {"a": "monitor 'a': its policy failed: OSError: stuck"}


class BreaksToo(LastAccepted):
    """Fails on anything cancelled."""

    def decide(self, cancelled, observation):
        raise KeyError("gone")


def test_a_fallback_that_fails_makes_its_monitor_fail_alone(parts):
    system, made = steps(parts, fallbacks={"b": BreaksToo()})
    assert system.failures["b"].startswith("monitor 'b': its fallback failed: KeyError: 'gone' (in the batch")
    assert [sorted(step.decisions) for step in made] == [["a"]] * len(made)


def test_second_classifiers_of_one_recipe_are_one(tiny):
    made = Testbed().fallbacks({"a": Fixed(number=1), "b": Fixed(number=1), "c": Fixed(number=2)}, tiny)
    assert made["a"] is made["b"] is not made["c"]
    assert made["a"].classifier.recipe == Fixed(number=1).recipe
