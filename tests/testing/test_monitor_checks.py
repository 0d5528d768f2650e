"""The kit for monitors: it passes a good one, catches for each rule those that break it, and says how."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

from farm import registry
from farm.api import Monitor, Needs, Observation, OwnNetwork, State
from farm.errors import ParameterError
from farm.testing import RULES, CheckError, Report, SmallSystem, check_monitor, check_monitors
from farm.testing.fakes import FakeMonitor, doubt
from farm.testing.new_process import Elsewhere
from farm.testing.rules_scoring import scores_do_not_depend_on_the_batch
from farm.testing.small_system import FAMILIAR, FRAMES, small_system
from farm.testing.trial import Trial
from tests.testing import rule_breakers as plant
from tests.wording import refused, same_text

PLANTED: dict[type[Monitor], str] = {
    plant.WithoutDocstring: "says-what-it-is",
    plant.WithoutExample: "says-what-it-is",
    plant.ReferenceIsNoText: "says-what-it-is",
    plant.TakesPositions: "parameters-by-keyword",
    plant.TakesAnything: "parameters-by-keyword",
    plant.ParameterNotDocumented: "parameters-documented",
    plant.DocumentsTooMuch: "parameters-documented",
    plant.ParameterIsNoJson: "parameters-plain",
    plant.ParameterNotChecked: "parameters-checked",
    plant.ParameterBreaksInside: "parameters-checked",
    plant.OverridesScore: "drivers-as-they-are",
    plant.NeedsKnownLate: "needs-known-before-fit",
    plant.ThresholdIsText: "needs-known-before-fit",
    plant.CannotBeFitted: "fits",
    plant.ReadsLogitsInSecret: "needs-all-declared",
    plant.ReadsTheSpreadInSecret: "needs-all-declared",
    plant.ReadsTheHeadInSecret: "needs-all-declared",
    plant.RunsTheClassifierInSecret: "needs-all-declared",
    plant.ReadsALayerInSecret: "needs-all-declared",
    plant.ReadsOutliersInSecret: "fits",
    plant.SeedsNumpy: "leaves-global-chance-alone",
    plant.DrawsFromTorch: "leaves-global-chance-alone",
    plant.ReadsTheGlobalSeed: "leaves-global-chance-alone",
    plant.FitsByChance: "fits-again-to-the-same",
    plant.FitsOnTopOfTheLast: "fits-again-to-the-same",
    plant.KeepsTheData: "lets-go-of-the-data",
    plant.KeepsTheValidationData: "lets-go-of-the-data",
    plant.StateOfDates: "state-is-plain",
    plant.ThresholdIsInfinite: "can-be-calibrated",
    plant.ScoresAreAColumn: "one-finite-score-an-instance",
    plant.ScoresAreNaN: "one-finite-score-an-instance",
    plant.ScoresByChance: "scores-repeat",
    plant.RemembersInSecret: "scores-repeat",
    plant.NeverForgets: "reset-forgets",
    plant.SubtractsTheBatchMean: "scores-do-not-depend-on-the-batch",
    plant.CountsPlaces: "scores-do-not-depend-on-the-batch",
    plant.KeepsSomethingBesideItsState: "scores-as-well-in-a-new-process",
    plant.DiesElsewhere: "scores-as-well-in-a-new-process",
    plant.ReadsIds: "names-tell-it-nothing",
    plant.ReadsTracks: "names-tell-it-nothing",
    plant.WrongWayRound: "higher-is-stranger",
    plant.LearnsFromWhatItJudges: "scoring-learns-nothing",
    plant.ExplainsByNaN: "explains",
    plant.ExplainsByText: "explains",
    plant.ScoresOtherwiseAfterExplaining: "explains",
    plant.WantsOneAtLeast: "takes-an-empty-batch",
    plant.DividesByContrast: "takes-constant-images",
    plant.Overflows: "takes-huge-values",
    plant.EndsTheRunOnNaN: "survives-nan",
    plant.NeverRecoversFromNaN: "survives-nan",
    plant.KeepsIds: "memory-does-not-grow",
    plant.RemembersEveryTrack: "memory-does-not-grow",
    plant.SetsTrainingMode: "leaves-the-classifier-alone",
    plant.LeavesAHook: "leaves-the-classifier-alone",
    plant.ChangesWeights: "leaves-the-classifier-alone",
    plant.LeavesGradients: "leaves-the-classifier-alone",
    plant.TurnsGradientsOff: "leaves-settings-alone",
    plant.SilencesNumpy: "leaves-settings-alone",
    plant.WritesToImages: "leaves-observations-alone",
    plant.Prints: "says-nothing",
    plant.ReadsInSecret: "reads-what-it-declares",
    plant.Warns: "says-nothing",
}
ON_A_NETWORK = {
    plant.ReadsTheSpreadInSecret,
    plant.ReadsTheHeadInSecret,
    plant.RunsTheClassifierInSecret,
    plant.ReadsTracks,
    plant.SetsTrainingMode,
    plant.LeavesAHook,
    plant.ChangesWeights,
    plant.LeavesGradients,
}
"""Those that break their rule on a network of torch and on real tracks alone."""


@pytest.fixture(scope="module")
def tiny_system() -> SmallSystem:
    """Return a system that is made at once."""
    return SmallSystem(
        workload={"name": "farm.testing.fakes:TinySource"},
        classifier={"name": "farm.testing.fakes:TinyModel"},
    )


@pytest.fixture(scope="module")
def reports(tiny_system) -> dict[str, Report]:
    """All in one go: starting a process for each would take minutes; most on a system that is quick."""
    made = [cls() for cls in (plant.Good, *PLANTED)]
    for monitor in made:
        monitor.name = type(monitor).__name__
    announced, repaired = plant.OverridesScore(), plant.Good()
    announced.name, repaired.name = "announced", "repaired"
    expected = {
        "announced": {"drivers-as-they-are": "it counts calls"},
        "repaired": {"fits": "too few data"},
    }
    everything = [*made, announced, repaired, registry.monitor("random")]
    before = [dict(vars(monitor)) for monitor in everything]
    on_a_network = [monitor for monitor in everything if type(monitor) in ON_A_NETWORK]
    others = [monitor for monitor in everything if type(monitor) not in ON_A_NETWORK]
    found = [
        *check_monitors(others, system=tiny_system, expected_failures=expected),
        *check_monitors(on_a_network),
    ]
    assert [vars(monitor) for monitor in everything] == before  # those given stay as they are
    return {report.name: report for report in found}


def test_a_good_monitor_keeps_every_rule(reports) -> None:
    report = reports["Good"]
    assert report.passed, str(report)
    assert [f.rule for f in report.of("skipped")] == ["reset-forgets"]
    assert (
        report.summary
        == f"monitor 'Good' keeps all rules that apply: 0 failed, {len(RULES) - 1} passed, 1 skipped"
    )


def test_each_breaks_its_one_rule_and_is_told_how(reports) -> None:
    failed = {cls.__name__: {f.rule: f.detail for f in reports[cls.__name__].of("failed")} for cls in PLANTED}
    assert {name: list(found) for name, found in failed.items()} == {
        cls.__name__: [rule] for cls, rule in PLANTED.items()
    }
    told = [detail for found in failed.values() for detail in found.values()]
    assert not [detail for detail in told if "\n" in detail]
    same_text(f"{name}: {rule}: {detail}" for name, found in failed.items() for rule, detail in found.items())


def test_there_is_a_breaker_for_every_rule() -> None:
    assert set(PLANTED.values()) == {rule.name for rule in RULES}


def test_every_rule_has_a_name_of_its_own_and_one_sentence() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.sentence.endswith("."), rule.name


def test_what_only_repeats_another_finding_is_skipped_with_the_reason(reports) -> None:
    assert reports["CannotBeFitted"]["higher-is-stranger"].detail == "'fits' failed"
    assert reports["ScoresAreNaN"]["memory-does-not-grow"].detail == "'one-finite-score-an-instance' failed"


def test_in_a_test_a_broken_rule_raises() -> None:
    with pytest.raises(CheckError) as caught:
        check_monitor(plant.CannotBeFitted())
    first, second = str(caught.value).splitlines()
    same_text(first)
    same_text(second)
    assert isinstance(caught.value, AssertionError)
    assert caught.value.report["fits"].outcome == "failed"


def test_a_class_is_made_and_checked_and_one_that_needs_parameters_is_told(tiny_system) -> None:
    assert check_monitor(plant.Good, system=tiny_system).passed
    with refused(ParameterError):
        check_monitor(plant.NeedsParameters, system=tiny_system)


def test_an_expected_failure_is_no_failure(reports) -> None:
    report = reports["announced"]
    assert report.passed
    assert report["drivers-as-they-are"].outcome == "expected"
    same_text(report["drivers-as-they-are"].detail)
    assert report.summary.endswith("1 failed as expected")


def test_an_expected_failure_that_passes_is_one(reports) -> None:
    same_text(str(reports["repaired"]).splitlines()[1])


def test_an_expected_failure_of_no_rule_is_told() -> None:
    with refused(ParameterError):
        check_monitor("never", expected_failures={"fit": "why not"})


def test_a_class_that_no_other_process_can_import_is_restored_here_and_the_report_says_so() -> None:
    class Local(plant.Plain):
        """The greatest logit.

        >>> 1
        1
        """

    class Forgetful(plant.KeepsSomethingBesideItsState):
        """The greatest logit.

        >>> 1
        1
        """

    report = check_monitor(Local())
    detail = report["scores-as-well-in-a-new-process"].detail
    same_text(detail)
    report = check_monitor(Forgetful(), raise_on_failure=False)
    assert [f.rule for f in report.of("failed")] == ["scores-as-well-in-a-new-process"]


def test_one_that_cannot_be_copied_is_fitted_as_often_as_it_takes() -> None:
    class Locked(plant.Plain):
        """The greatest logit.

        >>> 1
        1
        """

        def _load(self, state: State) -> None:
            super()._load(state)
            self._lock = threading.Lock()

    assert check_monitor(Locked()).passed


def test_the_small_system_is_a_small_network_of_real_scans() -> None:
    system = small_system()
    assert (system.workload.name, system.workload.shape) == ("digits", (1, 16, 16))
    assert system.classifier.name == "lenet"
    familiar = system.observed(Needs()).familiar
    _, frames = np.unique(familiar.track, return_counts=True)
    assert (len(familiar.ids), frames.max()) == (FAMILIAR, FRAMES)


def test_what_the_small_system_lacks_is_a_reason_to_skip() -> None:
    for needs, reason in (
        (
            Needs(networks=(OwnNetwork(parameters=(("depth", 3),)),)),
            "it needs a network by the classifier's own recipe (depth: 3), which model 'lenet' cannot train",
        ),
        (Needs(layers=("fc9",)), "it needs the layer 'fc9', which classifier 'lenet' does not have"),
    ):
        report = check_monitor(FakeMonitor(needs=needs), raise_on_failure=False)
        assert report["fits"].outcome == "skipped"
        assert report["fits"].detail.startswith(reason)
        assert report["higher-is-stranger"].detail == report["fits"].detail


def test_the_report_can_be_written_as_json(reports) -> None:
    record = json.loads(json.dumps(reports["Warns"].record()))
    assert record["passed"] is False
    assert [r["rule"] for r in record["rules"] if r["outcome"] == "failed"] == ["says-nothing"]
    assert record["rules"][0].keys() == {"rule", "checks", "outcome", "detail"}


def test_chance_of_the_caller_is_neither_used_up_nor_set() -> None:
    np.random.seed(3)  # noqa: NPY002
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(3)  # noqa: NPY002
    check_monitor(plant.SeedsNumpy(), raise_on_failure=False)
    assert np.random.random() == expected  # noqa: NPY002


def test_random_monitors_have_no_direction_and_no_hints(reports) -> None:
    report = reports["random"]
    assert report.passed
    assert report["higher-is-stranger"].outcome == "skipped"
    same_text(report["names-tell-it-nothing"].detail)


@pytest.mark.parametrize(
    ("shifts", "remark"),
    [
        ({}, "bit for bit"),
        ({"alone": 4e-6, "in sevens": 2e-6}, "at most 4e-06 of the scores' spread"),
        ({"alone": 2e-6, "in sevens": 4e-6}, "at most 4e-06 of the scores' spread"),
        ({"alone": 2e-6, "shuffled": 3e-6}, "at most 3e-06 of the scores' spread"),
    ],
)
def test_the_remark_on_batches_tells_the_largest_difference(tiny_system, shifts, remark) -> None:
    """Scores are shifted by so much of the width of their middle half, as the company is."""
    place: dict[str, int] = {}
    widths: list[float] = []

    def score(observation: Observation) -> np.ndarray:
        after = np.diff([place[name] for name in observation.ids.tolist()])
        company = "in sevens" if (after == 1).all() else "shuffled"
        company = {1: "alone", len(place): "whole"}.get(len(observation), company)
        return doubt(observation) + shifts.get(company, 0.0) * widths[0]

    trial = Trial(FakeMonitor(score=score), tiny_system, Elsewhere())
    sample = trial.observed.sample
    place |= {name: i for i, name in enumerate(sample.ids.tolist())}
    low, high = np.percentile(doubt(sample), [25, 75])
    widths.append(high - low)
    assert scores_do_not_depend_on_the_batch.check(trial) == remark
