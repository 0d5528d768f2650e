"""Which of the source's findings hold: networks made so they do, do not, and that none can tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from farm.protocols.uncertainty.findings import SourceFinding, findings
from farm.protocols.uncertainty.results import Results
from farm.protocols.uncertainty.streams import JudgedNetwork
from farm.protocols.uncertainty.wording import finding_numbers
from tests.protocols.uncertainty.made_streams import SHIFTS, Skill, made_results, made_spec
from tests.wording import same_text

HOLD = {
    **{(v, "heavy rain"): Skill(right=0.55) for v in ("vanilla", "last-layer", "after-backbone", "head")},
    **{(v, "heavy fog"): Skill(error=5.0) for v in ("vanilla", "last-layer", "after-backbone", "head")},
    ("vanilla", "any"): Skill(right=0.7, error=3.0),
    ("last-layer", "any"): Skill(right=0.7, error=2.5),
    ("after-backbone", "any"): Skill(right=0.95, error=2.5, claim=0.2),
    ("head", "any"): Skill(right=0.7, error=2.5, claim=0.6),
    ("everywhere", "any"): Skill(right=0.93, error=1.9, claim=0.6),
    ("ensemble", "any"): Skill(right=0.98, error=1.5, claim=0.3),
}
"""As the source has it."""


def named(found: list[SourceFinding], part: str) -> SourceFinding:
    (one,) = (finding for finding in found if part in finding.claim)
    return one


def of(skill: dict[tuple[str, str], Skill], **changes: Any) -> list[SourceFinding]:
    return findings(made_results(made_spec(**changes), skill=skill))


@pytest.fixture(scope="module")
def held() -> list[SourceFinding]:
    return of(HOLD)


def test_all_findings_hold_of_networks_that_are_made_so(held: list[SourceFinding]) -> None:
    assert {one.claim: one.verdict for one in held} == {one.claim: "holds" for one in held}
    assert len(held) == 10
    for one in held:
        assert one.differences
        assert not one.why


def test_the_opposite_does_not_hold() -> None:
    """Rain and fog, and all that variants are worth, the other way round."""
    swap = {"heavy rain": "heavy fog", "heavy fog": "heavy rain"}
    order = {"after-backbone": "last-layer", "last-layer": "after-backbone"}
    order |= {"ensemble": "vanilla", "vanilla": "ensemble"}
    turned = {(order.get(v, v), swap.get(s, s)): skill for (v, s), skill in HOLD.items()}
    found = of(turned)
    assert named(found, "Heavy rain hurts").verdict == "does not hold"
    assert named(found, "Heavy fog hurts").verdict == "does not hold"
    assert named(found, "best for classes").verdict == "does not hold"
    assert named(found, "worst calibration error").verdict == "does not hold"
    assert named(found, "more often right").verdict == "does not hold"
    approaches = [one for one in found if "approaches" in one.claim]
    assert {one.verdict for one in approaches} == {"cannot be told"}
    assert {one.why for one in approaches} == {"the ensemble is not shown to be ahead of vanilla"}


def test_of_networks_that_are_worth_the_same_nothing_can_be_told() -> None:
    found = findings(made_results(n=200))
    assert [one.claim for one in found if one.verdict != "cannot be told"] == []


def test_no_placement_approaches_an_ensemble_that_is_far_ahead() -> None:
    far = {("ensemble", "any"): Skill(right=0.98, error=0.8)}
    for one in of(far):
        if "approaches" in one.claim:
            assert one.verdict == "does not hold"


def test_what_was_not_asked_for_cannot_be_told_with_the_reason() -> None:
    found = of({}, variants=["vanilla", "head"], shifts=[SHIFTS[0], SHIFTS[3]])
    assert named(found, "Heavy rain hurts").why == "no shift is simulated fog"
    assert named(found, "best for classes").why == "there is no variant after-backbone"
    assert named(found, "approaches the ensemble in boxes").why == "there is no variant ensemble"
    assert {one.verdict for one in found} == {"cannot be told"}
    alone = findings(made_results(made_spec(backbones=[], classifiers=[{"name": "lenet", "as": "mine"}])))
    assert {one.verdict for one in alone} == {"cannot be told"}


def test_the_heaviest_of_several_is_compared() -> None:
    rain = named(of(HOLD), "Heavy rain hurts")
    assert [one.said for one in rain.differences] == ["heavy fog less heavy rain"]
    wet = {"name": "robustness-rain", "as": "wet", "severity": 2}
    dim = {"name": "fog", "as": "dim", "severity": 1}
    (told,) = named(of({}, shifts=[wet, dim], merged=None), "Heavy rain hurts").differences
    assert told.said == "dim less wet"


def test_repetitions_that_disagree_tell_nothing() -> None:
    """A seed on which the ensemble is worse: over all it is ahead, but not in each repetition."""
    spec = made_spec(repetitions=2, variants=["vanilla", "ensemble"], members=2)
    ahead, behind = Skill(right=0.98, error=1.0), Skill(right=0.7, error=2.2)
    results = made_results(spec, skill={("ensemble", "any"): ahead})
    assert named(findings(results), "more often right").verdict == "holds"
    other = made_results(spec, skill={("ensemble", "any"): behind})
    second = JudgedNetwork("cnn", "ensemble", 1)
    mixed = {**results.streams.of, second: other.streams.of[second]}
    found = findings(Results(replace(results.streams, of=mixed)))
    one = named(found, "more often right")
    assert one.verdict == "cannot be told"
    assert "not to one side in all repetitions" in finding_numbers(one)


def test_numbers_are_told(held: list[SourceFinding]) -> None:
    same_text("\n".join(f"{one.claim}: {one.verdict} ({one.rule}): {finding_numbers(one)}" for one in held))


def test_one_difference_to_the_other_side_is_enough_not_to_hold() -> None:
    skill = {
        ("last-layer", "any"): Skill(
            right=0.95
        ),  # the first that dropout after the backbone is compared with
        ("after-backbone", "any"): Skill(right=0.85),
        ("head", "any"): Skill(right=0.7),
    }
    assert named(of(skill), "best for classes").verdict == "does not hold"
