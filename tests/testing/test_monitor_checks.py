"""The kit for monitors: it passes a good one, catches for each rule those that break it, and says how."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

from farm import registry
from farm.api import Monitor, Needs, State
from farm.errors import ParameterError
from farm.testing import RULES, MonitorCheckError, Report, check_monitor, check_monitors
from farm.testing.fakes import FakeMonitor
from tests.testing import rule_breakers as plant

PLANTED: dict[type[Monitor], tuple[str, str]] = {
    plant.WithoutDocstring: ("says-what-it-is", "no docstring"),
    plant.WithoutExample: ("says-what-it-is", "no example"),
    plant.ReferenceIsNoText: ("says-what-it-is", "reference is None; expected text"),
    plant.TakesPositions: ("parameters-by-keyword", "takes 'weight'; expected keyword-only"),
    plant.TakesAnything: ("parameters-by-keyword", r"takes '\*\*more'"),
    plant.ParameterNotDocumented: ("parameters-documented", "does not explain the parameter 'weight'"),
    plant.DocumentsTooMuch: ("parameters-documented", "explains 'height', which is no parameter"),
    plant.ParameterIsNoJson: ("parameters-plain", r"'weight' is frozenset\({1.0}\), which is no JSON"),
    plant.ParameterNotChecked: ("parameters-checked", "'weight' took an object of no use; annotate it"),
    plant.ParameterBreaksInside: (
        "parameters-checked",
        "refusal of a wrong 'weight' does not name it: .*TypeError: bad operand",
    ),
    plant.OverridesScore: ("drivers-as-they-are", "overrides 'score', which is the base class's"),
    plant.NeedsKnownLate: ("needs-known-before-fit", "'needs' raises before the fit: AttributeError"),
    plant.ThresholdIsText: ("needs-known-before-fit", "'fixed_threshold' is '3'; expected a number"),
    plant.CannotBeFitted: ("fits", "failed in fit: ValueError: no data are good enough"),
    plant.ReadsLogitsInSecret: ("needs-all-declared", "with no more than it declares: .*failed in fit"),
    plant.ReadsTheHeadInSecret: ("needs-all-declared", "expected 'head' in its needs"),
    plant.RunsTheClassifierInSecret: ("needs-all-declared", "expected 'gradients' in its needs"),
    plant.ReadsALayerInSecret: (
        "needs-all-declared",
        "reads the layer 'last-hidden'; expected it in its needs",
    ),
    plant.ReadsOutliersInSecret: ("needs-all-declared", "'outliers', which its needs do not declare"),
    plant.SeedsNumpy: ("leaves-global-chance-alone", "the fit moves the global generator of 'numpy.random'"),
    plant.DrawsFromTorch: ("leaves-global-chance-alone", "the scoring moves the global generator of 'torch'"),
    plant.ReadsTheGlobalSeed: ("leaves-global-chance-alone", "depends on a global seed: 'seed' differs"),
    plant.FitsByChance: ("fits-again-to-the-same", "a new one gets another 'draw'; expected the same bits"),
    plant.FitsOnTopOfTheLast: ("fits-again-to-the-same", "the same one gets another 'fits'"),
    plant.KeepsTheData: ("lets-go-of-the-data", "keeps the data"),
    plant.KeepsTheValidationData: ("lets-go-of-the-data", "keeps the data"),
    plant.StateOfDates: ("state-is-plain", r"'made' is of type datetime64\[D\]; expected numbers"),
    plant.ThresholdIsInfinite: ("can-be-calibrated", "threshold is inf; expected a number"),
    plant.ScoresAreAColumn: ("one-finite-score-an-instance", r"scores of shape \(64, 1\); expected \(64,\)"),
    plant.ScoresAreNaN: ("one-finite-score-an-instance", "the score nan for instance 0; expected a finite"),
    plant.ScoresByChance: ("scores-repeat", "expected the same"),
    plant.RemembersInSecret: ("scores-repeat", "does it remember[?] then its needs must say 'order'"),
    plant.NeverForgets: ("reset-forgets", "after another stream and a restart"),
    plant.SubtractsTheBatchMean: ("scores-do-not-depend-on-the-batch", "in batches of 1 .*expected within"),
    plant.CountsPlaces: ("scores-do-not-depend-on-the-batch", "in batches of 1"),
    plant.KeepsSomethingBesideItsState: ("scores-as-well-in-a-new-process", "restored in a new process"),
    plant.DiesElsewhere: ("scores-as-well-in-a-new-process", "in a new process: it ended with code 7"),
    plant.ReadsIds: ("names-tell-it-nothing", "change 200 scores, 100% of them upwards"),
    plant.ReadsTracks: ("names-tell-it-nothing", "expected scores that take no hint from names"),
    plant.WrongWayRound: ("higher-is-stranger", r"the mean AUROC is 0\.\d\d \('.*is the sign turned"),
    plant.LearnsFromWhatItJudges: ("scoring-learns-nothing", "changes the state's 'count'"),
    plant.ExplainsByNaN: ("explains", "its explanation is no JSON"),
    plant.ExplainsByText: ("explains", "explains by 'because'; expected an Explanation"),
    plant.ScoresOtherwiseAfterExplaining: ("explains", "after it was asked to explain"),
    plant.WantsOneAtLeast: ("takes-an-empty-batch", "failed in score: ValueError: zero-size array"),
    plant.DividesByContrast: ("takes-constant-images", "images that are 0.0 throughout: .*the score inf"),
    plant.Overflows: ("takes-huge-values", r"activations and logits of -1e\+20: .*the score inf"),
    plant.EndsTheRunOnNaN: (
        "survives-nan",
        "NaN raises KeyboardInterrupt: broken sensor; expected a finite score",
    ),
    plant.NeverRecoversFromNaN: ("survives-nan", "after NaN and a restart"),
    plant.KeepsIds: ("memory-does-not-grow", "bytes an instance, as long as the stream goes on"),
    plant.RemembersEveryTrack: ("memory-does-not-grow", "expected a bound"),
    plant.SetsTrainingMode: (
        "leaves-the-classifier-alone",
        "the scoring changes .*training mode of LeNetModule",
    ),
    plant.LeavesAHook: (
        "leaves-the-classifier-alone",
        "the fit changes .*hooks of LeNetModule was 0 and is 1",
    ),
    plant.ChangesWeights: ("leaves-the-classifier-alone", "the fit changes the classifier: digest was"),
    plant.LeavesGradients: (
        "leaves-the-classifier-alone",
        "gradient of conv1.weight was 'none' and is 'some'",
    ),
    plant.TurnsGradientsOff: (
        "leaves-settings-alone",
        "torch's recording of gradients was True and is False",
    ),
    plant.SilencesNumpy: ("leaves-settings-alone", "after the fit numpy's handling of errors was"),
    plant.WritesToImages: ("leaves-observations-alone", "writes to the observation's images"),
    plant.Prints: ("says-nothing", "the scoring prints 'scoring 32"),
    plant.Warns: ("says-nothing", r"the fit warns \(RuntimeWarning: few data\)"),
}


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    """All in one go: starting a process for each would take minutes."""
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
    found = check_monitors(everything, expected_failures=expected)
    assert [vars(monitor) for monitor in everything] == before  # those given stay as they are
    return {report.monitor: report for report in found}


def test_a_good_monitor_keeps_every_rule(reports) -> None:
    report = reports["Good"]
    assert report.passed, str(report)
    assert [f.rule for f in report.of("skipped")] == ["reset-forgets"]
    assert (
        report.summary
        == f"monitor 'Good' keeps all rules that apply: 0 failed, {len(RULES) - 1} passed, 1 skipped"
    )


@pytest.mark.parametrize("cls", PLANTED, ids=lambda cls: cls.__name__)
def test_the_one_rule_that_is_broken_fails_and_says_how(reports, cls) -> None:
    rule, text = PLANTED[cls]
    failed = reports[cls.__name__].of("failed")
    assert [f.rule for f in failed] == [rule], [f"{f.rule}: {f.detail}" for f in failed]
    with pytest.raises(AssertionError, match=text):
        raise AssertionError(failed[0].detail)
    assert "\n" not in failed[0].detail


def test_there_is_a_breaker_for_every_rule() -> None:
    assert {rule for rule, _ in PLANTED.values()} == {rule.name for rule in RULES}


def test_every_rule_has_a_name_of_its_own_and_one_sentence() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.sentence.endswith("."), rule.name


def test_what_only_repeats_another_finding_is_skipped_with_the_reason(reports) -> None:
    assert reports["CannotBeFitted"]["higher-is-stranger"].detail == "'fits' failed"
    assert reports["ScoresAreNaN"]["memory-does-not-grow"].detail == "'one-finite-score-an-instance' failed"


def test_in_a_test_a_broken_rule_raises() -> None:
    with pytest.raises(MonitorCheckError) as caught:
        check_monitor(plant.CannotBeFitted())
    first, second = str(caught.value).splitlines()
    assert first.startswith("monitor 'cannot-be-fitted' breaks a rule: 1 failed, 7 passed, ")
    assert second == ("  fits: monitor 'cannot-be-fitted' failed in fit: ValueError: no data are good enough")
    assert isinstance(caught.value, AssertionError)
    assert caught.value.report["fits"].outcome == "failed"


def test_an_expected_failure_is_no_failure(reports) -> None:
    report = reports["announced"]
    assert report.passed
    assert report["drivers-as-they-are"].outcome == "expected"
    assert report["drivers-as-they-are"].detail.startswith("it counts calls: it overrides 'score'")
    assert report.summary.endswith("1 failed as expected")


def test_an_expected_failure_that_passes_is_one(reports) -> None:
    assert str(reports["repaired"]).splitlines()[1] == (
        "  fits: passes, though it was expected to fail (too few data); take it off the list"
    )


def test_an_expected_failure_of_no_rule_is_told() -> None:
    with pytest.raises(ParameterError, match=r"names the rule 'fit'; did you mean 'fits'\?"):
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
    assert detail.startswith("restored in this process only, since its class")
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


def test_what_the_small_system_lacks_is_a_reason_to_skip() -> None:
    for needs, reason in (
        (Needs(members=5), "it needs members, which classifier 'lenet' does not give"),
        (
            Needs(networks=("autoencoder",)),
            "needs networks of its own (autoencoder), which nobody trains here",
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
    assert report["names-tell-it-nothing"].detail.startswith("scores are drawn by names")


def test_a_state_is_saved_whatever_its_arrays_are_called(tmp_path) -> None:
    from farm.testing.new_process import load_arrays, save_arrays

    state: State = {"file": np.arange(3), "a/b": np.array(["x", "yy"]), "": np.array(True)}
    save_arrays(tmp_path / "state.npz", state)
    kept = load_arrays(tmp_path / "state.npz")
    assert list(kept) == list(state)
    for name, array in state.items():
        np.testing.assert_array_equal(kept[name], array)
        assert kept[name].dtype == array.dtype
