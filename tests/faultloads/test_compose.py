"""Compositions: the parts in their order, each with its severity, and what becomes of labels and measures."""

from __future__ import annotations

import numpy as np
import pytest

from farm import registry
from farm.api import NO_ANSWER, Context, FaultContext, OODImages
from farm.errors import ParameterError, UnknownNameError
from farm.testing.fakes import TinyModel, tiny_workload
from faultloads.anomaly import BitFlips, DeadRows, PixelTrap
from faultloads.compose import Compose
from faultloads.unrecognisable import ShuffledPixels
from tests.wording import refused

ANOMALY, FRAMES = "faultloads.anomaly", "faultloads.frames"
FLIPS, ROWS, TRAP = f"{ANOMALY}:BitFlips", f"{ANOMALY}:DeadRows", f"{ANOMALY}:PixelTrap"
BLACK, STUCK = f"{FRAMES}:BlackFrame", f"{FRAMES}:StuckFrame"
SHUFFLED = "faultloads.unrecognisable:ShuffledPixels"
SQUARE = "faultloads.square_attack:SquareAttack"


@pytest.fixture(scope="module")
def ours():
    return tiny_workload(size=32)


@pytest.fixture(scope="module")
def theirs():
    # More classes than ours, so that their numbers are none of ours.
    return tiny_workload(classes=("elm", "fir", "gum", "hazel", "ivy", "ash"), size=32, name="theirs", seed=1)


def prepare(fault, ours, theirs=None):
    classifier = TinyModel().classifier(ours, Context())
    return fault.prepare(
        FaultContext(ours, ours.test, classifier, lambda spec, split: OODImages.of(theirs, split), Context())
    )


def apply(fault, workload, severity, rows=12):
    test, chosen = workload.test, np.arange(rows)
    severities = np.broadcast_to(np.asarray(severity, dtype=float), rows)
    return fault.apply(test.images.read(chosen), test.labels[chosen], test.ids[chosen], severities)


def alone(cls, name, workload, images, severity, **arguments):
    """Apply one fault as it would be without the others."""
    fault = cls(**arguments)
    fault.name = name
    prepare(fault, workload)
    n = len(images)
    ids = workload.test.ids[:n]
    return fault.apply(images, np.zeros(n, int), ids, np.full(n, float(severity))).images


def test_parts_follow_one_another_and_each_is_what_it_is_alone(ours):
    both = Compose(faults=[FLIPS, ROWS])
    prepare(both, ours)
    images = ours.test.images.read(np.arange(12))
    flipped = alone(BitFlips, FLIPS, ours, images, 3)
    expected = alone(DeadRows, ROWS, ours, flipped, 3)
    faulted = apply(both, ours, 3)
    assert np.array_equal(faulted.images, expected)
    other = Compose(faults=[ROWS, FLIPS])
    prepare(other, ours)
    assert not np.array_equal(apply(other, ours, 3).images, expected)
    change = (expected - images).astype(float).reshape(12, -1)
    assert faulted.measured["linf"] == pytest.approx(abs(change).max(axis=1))
    assert faulted.measured["l2"] == pytest.approx(np.linalg.norm(change, axis=1))


def test_a_part_keeps_a_severity_of_its_own(ours):
    both = Compose(faults=[{"name": FLIPS, "severity": 1}, {"name": ROWS, "value": 1.0}])
    prepare(both, ours)
    images = ours.test.images.read(np.arange(12))
    for severity in (2, 4.5):
        flipped = alone(BitFlips, FLIPS, ours, images, 1)
        expected = alone(DeadRows, ROWS, ours, flipped, severity, value=1.0)
        assert np.array_equal(apply(both, ours, severity).images, expected)


def test_at_severity_0_nothing_changes_and_severities_may_differ_within_a_batch(ours):
    mixed = Compose(faults=[{"name": FLIPS, "severity": 1}, BLACK, ROWS])
    prepare(mixed, ours)
    clean = ours.test.images.read(np.arange(12))
    faulted = apply(mixed, ours, [0, 3] * 6).images
    assert np.array_equal(faulted[::2], clean[::2])
    assert np.array_equal(faulted[1::2], apply(mixed, ours, 3).images[1::2])


@pytest.mark.parametrize(
    ("faults", "severities"),
    [
        ([FLIPS, ROWS], (1, 2, 3, 4, 5)),
        ([FLIPS, TRAP], (1, 2, 3)),
        ([FLIPS, {"name": TRAP, "severity": 3}], (1, 2, 3, 4, 5)),
        ([BLACK, FLIPS], (1, 2, 3, 4, 5)),
        ([{"name": FLIPS, "severity": 2.5}, BLACK], ()),
    ],
)
def test_the_whole_has_the_severities_that_its_free_parts_have(faults, severities):
    both = Compose(faults=faults)
    assert both.severities == severities
    assert np.isnan(both.check_severity(None)) if not severities else both.check_severity(2) == 2


def test_two_parts_of_one_name_draw_numbers_of_their_own(ours):
    twice = Compose(faults=[{"name": TRAP, "severity": 3}, {"name": TRAP, "severity": 3}])
    prepare(twice, ours)
    black = (apply(twice, ours, np.nan).images == 0).all(axis=(1, 3)).sum(axis=1)
    assert (black > 10).any()


def test_the_category_is_the_first_ones_unless_another_is_given(ours):
    assert set(prepare(Compose(faults=[SHUFFLED, FLIPS]), ours).category) == {"novelty"}
    assert set(prepare(Compose(faults=[FLIPS, SHUFFLED]), ours).category) == {"anomaly"}
    assert set(prepare(Compose(faults=[FLIPS, SHUFFLED], category="noise"), ours).category) == {"noise"}


def test_a_part_that_leaves_no_meaning_leaves_none(ours):
    assert set(prepare(Compose(faults=[FLIPS, SHUFFLED, ROWS]), ours).labels) == {NO_ANSWER}
    kept = prepare(Compose(faults=[FLIPS, ROWS]), ours)
    assert kept.labels.tolist() == ours.test.labels.tolist()


def test_instances_from_elsewhere_come_first_and_later_parts_act_upon_them(ours, theirs):
    both = Compose(faults=[{"name": "novelty", "workload": "theirs"}, FLIPS])
    targets = prepare(both, ours, theirs)
    assert targets.split is theirs.test
    assert len(targets.indices) == 5 * 24  # one class is shared
    assert set(targets.labels) == {NO_ANSWER}
    assert targets.workload == "theirs"
    assert targets.notes["shared_classes"] == ["ash"]
    assert [part["name"] for part in targets.notes["parts"]] == ["novelty", FLIPS]
    shown = theirs.test.images.read(np.arange(12))
    flips = BitFlips()
    flips.name = FLIPS
    flips._seed = 0
    expected = flips.apply(shown, np.zeros(12, int), theirs.test.ids[:12], np.full(12, 2.0)).images
    chosen = np.arange(12)
    given = both.apply(
        theirs.test.images.read(chosen), np.full(12, NO_ANSWER), theirs.test.ids[chosen], np.full(12, 2.0)
    )
    assert np.array_equal(given.images, expected)


def test_a_mapped_class_keeps_its_label_and_its_category(ours, theirs):
    spec = {"name": "novelty", "workload": "theirs", "shared": "map"}
    targets = prepare(Compose(faults=[spec, FLIPS]), ours, theirs)
    known = targets.labels != NO_ANSWER
    assert known.sum() == 24
    assert set(targets.category[known]) == {"shift"}
    assert set(targets.category[~known]) == {"novelty"}


def test_instances_from_elsewhere_cannot_come_later(ours, theirs):
    both = Compose(faults=[FLIPS, {"name": "novelty", "workload": "theirs"}])
    with refused(ParameterError):
        prepare(both, ours, theirs)


def test_success_is_told_of_an_attack_that_comes_last(ours):
    attack = {"name": SQUARE, "queries": 2}
    last = Compose(faults=[FLIPS, attack])
    first = Compose(faults=[attack, FLIPS])
    for fault in (last, first):
        prepare(fault, ours)
    assert set(apply(last, ours, 2).measured) == {"linf", "l2", "success"}
    assert set(apply(first, ours, 2).measured) == {"linf", "l2"}


def test_a_composition_may_be_part_of_another(ours):
    inner = {"name": "faultloads.compose:Compose", "faults": [FLIPS, {"name": TRAP, "severity": 1}]}
    nested, flat = Compose(faults=[inner, ROWS]), Compose(faults=[*inner["faults"], ROWS])
    for fault in (nested, flat):
        prepare(fault, ours)
    assert np.array_equal(apply(nested, ours, 4).images, apply(flat, ours, 4).images)


@pytest.mark.parametrize("size", [1, 7])
def test_an_instance_looks_the_same_whatever_else_is_in_its_batch(ours, size):
    both = Compose(faults=[STUCK, FLIPS, ROWS])
    prepare(both, ours)
    whole = apply(both, ours, 2.5, rows=21).images
    for start in range(0, 21, size):
        rows = np.arange(start, start + size)
        images, ids = ours.test.images.read(rows), ours.test.ids[rows]
        part = both.apply(images, np.zeros(size, int), ids, np.full(size, 2.5)).images
        assert part.tobytes() == whole[rows].tobytes()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"faults": []}, ParameterError),
        ({"faults": "fog"}, ParameterError),
        ({"faults": [{"severity": 1}]}, ParameterError),
        ({"faults": [FLIPS], "category": "fog"}, ParameterError),
        ({"faults": ["noveltie"]}, UnknownNameError),
        ({"faults": [{"name": FLIPS, "severity": 6}]}, ParameterError),
        ({"faults": [{"name": BLACK, "severity": 1}]}, ParameterError),
        ({"faults": [{"name": FLIPS, "severty": 1}]}, ParameterError),
    ],
)
def test_what_cannot_be_composed_is_told(arguments, error):
    with refused(error):
        Compose(**arguments)


def test_the_registry_checks_it_as_it_does_any_fault():
    made = registry.faultload("faultloads.compose:Compose", faults=[FLIPS, {"name": TRAP, "no_answer": True}])
    assert isinstance(made, Compose)
    assert [type(part.fault) for part in made._parts] == [BitFlips, PixelTrap]
    with refused(ParameterError):
        registry.faultload("faultloads.compose:Compose", faults=[ShuffledPixels])


def test_what_shows_other_instances_may_only_come_first():
    with refused(ParameterError):
        Compose(faults=[FLIPS, STUCK])
    assert Compose(faults=[STUCK, FLIPS]).reads_other_instances


def test_what_leaves_no_right_answer_makes_the_whole_novelty():
    shuffled = "faultloads.unrecognisable:ShuffledPixels"
    assert Compose(faults=[FLIPS, shuffled]).category == "novelty"
    assert Compose(faults=[FLIPS, shuffled], category="noise").category == "noise"
