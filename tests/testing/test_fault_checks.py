"""The kit for faultloads: it passes a good one, catches for each rule those that break it, and says how."""

from __future__ import annotations

import json

import pytest

from farm.api import Faultload
from farm.errors import ParameterError, UnknownNameError
from farm.testing import FAULT_RULES, CheckError, Report, check_faultload, check_faultloads
from tests.testing import fault_breakers as plant
from tests.wording import refused, same_text

PLANTED: dict[type[Faultload], str] = {
    plant.WithoutExample: "says-what-it-is",
    plant.TakesPositions: "parameters-by-keyword",
    plant.ParameterNotDocumented: "parameters-documented",
    plant.ParameterIsNoJson: "parameters-plain",
    plant.ParameterNotChecked: "parameters-checked",
    plant.OverridesApply: "drivers-untouched",
    plant.CategoryUnknown: "category-known",
    plant.SeveritiesFall: "severities-rise",
    plant.ChoosesTwice: "prepares",
    plant.NotesAreNoJson: "prepares",
    plant.MovesLabels: "labels-stay-right",
    plant.NothingIsRightButItIsNoNovelty: "labels-stay-right",
    plant.MakesNaN: "images-stay-images",
    plant.LeavesTheRange: "images-stay-images",
    plant.MakesDoubles: "images-stay-images",
    plant.ChangesNothing: "changes-something",
    plant.MeasuresWrongly: "measures-rightly",
    plant.WritesIntoItsInput: "leaves-what-it-is-given",
    plant.DrawsFromNobodysGenerator: "is-the-same-again",
    plant.SubtractsTheBatchMean: "is-the-same-in-any-batch",
    plant.DrawsByPlace: "is-the-same-in-any-batch",
    plant.ForgetsTheSeed: "the-seed-matters-where-it-draws",
    plant.TakesOneSeverityForAll: "each-at-its-own-severity",
    plant.GetsWeaker: "a-higher-severity-changes-more",
    plant.SaysThatObjectsStay: "objects-are-where-it-says",
    plant.DoesNotMoveObjectsAlong: "objects-are-where-it-says",
    plant.ObjectsDoWhatNobodyKnows: "objects-are-where-it-says",
    plant.WantsSquares: "takes-any-shape",
    plant.HangsOnTheProcess: "is-the-same-in-a-new-process",
}
KEEP = (plant.Good, plant.RefusesColours, plant.ActsOnFew, plant.DeclaredNotMonotone)


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    """All in one go: starting a process for each would take minutes."""
    made = [cls() for cls in (*KEEP, *PLANTED)]
    for faultload in made:
        faultload.name = type(faultload).__name__
    before = [dict(vars(faultload)) for faultload in made]
    found = check_faultloads(made)
    assert [vars(faultload) for faultload in made] == before  # those given stay as they are
    return {report.name: report for report in found}


@pytest.mark.parametrize("cls", KEEP)
def test_a_good_faultload_keeps_every_rule(reports, cls) -> None:
    report = reports[cls.__name__]
    assert report.passed, str(report)
    same_text([report.summary, *(f"{f.rule}: {f.detail}" for f in report if f.detail)])


def test_each_breaks_its_one_rule_and_is_told_how(reports) -> None:
    failed = {cls.__name__: {f.rule: f.detail for f in reports[cls.__name__].of("failed")} for cls in PLANTED}
    assert {name: list(found) for name, found in failed.items()} == {
        cls.__name__: [rule] for cls, rule in PLANTED.items()
    }
    same_text(f"{name}: {rule}: {detail}" for name, found in failed.items() for rule, detail in found.items())


def test_there_is_a_breaker_for_every_rule_and_each_says_what_it_is() -> None:
    assert set(PLANTED.values()) == {rule.name for rule in FAULT_RULES}
    assert len({rule.name for rule in FAULT_RULES}) == len(FAULT_RULES)
    assert [rule.name for rule in FAULT_RULES if not rule.sentence.endswith(".")] == []


def test_a_class_a_name_and_a_mapping_are_made(reports) -> None:
    target = f"{plant.__name__}:Good"
    for asked in (plant.Good, target, {"name": target, "depth": 0.4}):
        assert check_faultload(asked).passed
    for wrong in (plant.NeedsParameters, 3):
        with refused(ParameterError):
            check_faultload(wrong)
    with refused(UnknownNameError):
        check_faultload("fogg")


def test_in_a_test_a_broken_rule_raises_unless_it_was_announced() -> None:
    with pytest.raises(CheckError) as caught:
        check_faultload(plant.ChangesNothing)
    same_text(caught.value)
    announced = {"changes-something": "it is a null fault"}
    assert check_faultload(plant.ChangesNothing, expected_failures=announced).passed
    assert not check_faultload(plant.Good, expected_failures=announced, raise_on_failure=False).passed
    with refused(ParameterError):
        check_faultload(plant.Good, expected_failures={"changes": "why not"})


def test_one_that_does_nothing_right_is_told_and_breaks_nothing_else() -> None:
    report = check_faultload(plant.NotAFaultload, raise_on_failure=False)
    assert [f.rule for f in report.of("failed")] == ["says-what-it-is", "category-known"]
    record = json.loads(json.dumps(report.record()))
    assert (record["faultload"], record["passed"]) == ("not-afaultload", False)


def test_a_class_that_no_other_process_can_import_is_told() -> None:
    class Local(plant.Plain):
        """Images in the dark.

        >>> 1
        1
        """

    same_text(check_faultload(Local())["is-the-same-in-a-new-process"].detail)
