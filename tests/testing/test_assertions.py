"""`assert_monitor`: it passes where the gate passes, and its message shows what a person needs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from farm.errors import ExperimentError, ParameterError, UnknownNameError
from farm.gate.criteria_file import parse_criteria
from farm.gate.measures import GATED
from farm.gate.verdict import CriterionVerdict, judge_criteria
from farm.measures.measure import wilson
from farm.store.readouts import Readouts
from farm.testing import assert_monitor, assertions, plugin
from farm.testing.benchmark import Benchmark
from farm.testing.fakes import FakeMonitor
from farm.testing.mistakes import task_of
from tests.testing.tiny_benchmark import tiny_benchmark
from tests.wording import refused, same_text

NAMES = ("energy", "max-softmax")


@pytest.fixture(scope="module")
def tiny() -> Benchmark:
    """Return the benchmark of all tests here."""
    return tiny_benchmark()


@pytest.fixture
def run(tiny: Benchmark) -> Readouts:
    """Return a run with two monitors."""
    return tiny.run(*NAMES)


@pytest.fixture(autouse=True)
def in_no_test(tiny: Benchmark, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let it seem that no test runs, and that the tiny benchmark is the embedded one."""
    monkeypatch.setattr(plugin, "_running", [])
    monkeypatch.setattr(assertions, "benchmark_here", lambda: tiny)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def failure(of: object, bound: float = 0.999) -> str:
    """Return the message of an assertion that fails."""
    with pytest.raises(AssertionError) as raised:
        of.at_least(bound)  # type: ignore[attr-defined]
    return str(raised.value)


def judge(run: Readouts, name: str, criterion: str, **options: object) -> CriterionVerdict:
    """Return the gate's own verdict."""
    (judged,) = judge_criteria(
        [run], parse_criteria({"criteria": [criterion], "monitors": [name], **options}, "f")
    )
    return judged


# The verdict ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("where", ["", "novelty", "gaussian-noise"])
def test_it_passes_where_the_gate_passes(run: Readouts, name: str, where: str) -> None:
    on = {"": "", "novelty": " on category:novelty", "gaussian-noise": " on faultload:gaussian-noise"}[where]
    said = assert_monitor(name).using(run)
    said = (said.on(where) if where else said).overall.mcc
    found = judge(run, name, f"overall.mcc >= 0.5{on}").evidence
    low, high = found.low.value, found.high.value
    bounds = {"pass": low - 1e-6, "undecided": (low + high) / 2, "fail": high + 1e-6}
    assert {judge(run, name, f"overall.mcc >= {b}{on}").verdict: b for b in bounds.values()} == bounds
    said.at_least(bounds["pass"])
    assert ": not enough data\n" in failure(said, bounds["undecided"])
    assert ": FAIL\n" in failure(said, bounds["fail"])


def test_it_runs_the_monitor_itself(tiny: Benchmark) -> None:
    for monitor in (
        "energy",
        {"name": "energy", "as": "mine"},
        FakeMonitor(score=lambda seen: -seen.logits.max(axis=1)),
    ):
        assert_monitor(monitor).on("novelty").overall.mcc.at_least(0.5)
    with pytest.raises(AssertionError):
        assert_monitor(FakeMonitor).on("novelty").overall.mcc.at_least(0.5)


def test_what_is_cheap_to_get_wrong_is_judged_from_the_right_side(run: Readouts) -> None:
    said = assert_monitor("energy").using(run)
    said.specific.fpr.at_most(0.12)
    said.on("id").specific.fpr.at_most(0.12)
    with refused(AssertionError):
        said.specific.fpr.at_most(0.001)
    with refused(ExperimentError):
        said.specific.fpr.at_least(0.5)
    with refused(ExperimentError):
        said.on("ood").specific.fpr.at_most(0.5)


def test_of_several_places_it_holds_on_each(run: Readouts) -> None:
    said = assert_monitor("energy").using(run)
    said.on("novelty").specific.recall.at_least(0.9)
    said.on("novelty", "noise").specific.recall.at_least(0.9)
    said.on("novelty").overall.mcc.at_least(0.7)
    told = failure(said.on("novelty").on("noise").overall.mcc, 0.7)
    assert told.count("FAIL") == 1
    same_text(told)


def test_a_place_may_be_told_as_in_criteria(run: Readouts) -> None:
    told = failure(assert_monitor("energy").using(run).on("faultload:gaussian-noise severity<=5").overall.mcc)
    same_text(told)


def test_how_sure_it_must_be_can_be_told(run: Readouts) -> None:
    said = assert_monitor("max-softmax").using(run).on("novelty").overall.mcc
    judged = judge(run, "max-softmax", "overall.mcc >= 0.01 on category:novelty", level=0.6)
    bound = judged.evidence.low.value
    said.level(0.6).at_least(bound - 1e-6)
    assert "99.9 %" in failure(said.level(0.999), bound - 1e-6)
    with refused(ExperimentError):
        said.level(99).at_least(0.1)


def test_words_come_in_any_order_and_leave_a_sentence_as_it_was(run: Readouts) -> None:
    begun = assert_monitor("energy")
    longer = begun.overall.mcc.level(0.9).on("novelty").using(run)
    longer.at_least(0.5)
    assert (begun.measure, begun.places, begun.confidence, begun.readouts) == ("", (), 0.95, None)


def test_distributions_are_judged_by_a_quantile(run: Readouts) -> None:
    time = assert_monitor("energy").using(run).monitor_time_us
    time.p50.at_most(1e6)
    for too_much, measure, bound in (("not enough data", time.p99_9, 1e6), ("FAIL", time.p50, 0.001)):
        with refused(AssertionError) as raised:
            measure.at_most(bound)
        assert str(raised.value).splitlines()[0].endswith(f"[energy]: {too_much}")
    with refused(ExperimentError):
        time.at_most(5)


def test_what_is_the_classifiers_can_be_said_beside_any_monitor(run: Readouts) -> None:
    said = assert_monitor("energy").using(run).classifier_time_us
    said.p50.at_most(1e6)
    with refused(AssertionError):
        said.p50.at_most(0.0001)


def test_a_senseless_sentence_costs_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assertions, "benchmark_here", lambda: pytest.fail("it was run"))
    with refused(ExperimentError):
        assert_monitor("energy").on("novelty").overall.error.at_least(0.5)


SAID = [name for name, known in GATED.items() if known.kind in ("rate", "mcc", "auroc")]


@pytest.mark.parametrize("measure", SAID)
def test_every_measure_can_be_said(run: Readouts, measure: str) -> None:
    said = assert_monitor("energy").using(run)
    for word in measure.split("."):
        said = getattr(said, word)
    if GATED[measure].higher_is_better:
        said.at_least(GATED[measure].worst + 1e-4)
    else:
        said.at_most(GATED[measure].worst - 1e-4)


# What is not understood ------------------------------------------------------------------------------------


def test_unknown_words_get_a_suggestion(run: Readouts) -> None:
    said = assert_monitor("energy").using(run)
    with refused(AttributeError):
        _ = said.overall.mcq
    with refused(AttributeError):
        _ = said.residual_hasard
    with refused(AttributeError):
        _ = said.monitor_time_us.p9
    with refused(AttributeError):
        _ = said.overall.mcc.p99
    with refused(UnknownNameError):
        said.on("novlty").overall.mcc.at_least(0.1)
    with refused(ExperimentError):
        said.on("severity:3").overall.mcc.at_least(0.1)
    with refused(ExperimentError):
        assert_monitor(FakeMonitor(name="enrgy")).using(run).overall.mcc.at_least(0.1)
    with refused(UnknownNameError):
        assert_monitor("enrgy").overall.mcc.at_least(0.1)


@pytest.mark.parametrize("measure", ["scenario_coverage", "scenario"])
def test_what_a_protocol_finds_over_a_campaign_is_not_said_of_a_monitor(measure: str) -> None:
    said = assert_monitor("energy")
    assert measure not in dir(said)
    with refused(AttributeError):
        getattr(said, measure)


def test_half_a_sentence_is_an_error(run: Readouts) -> None:
    said = assert_monitor("energy").using(run)
    with refused(ExperimentError):
        said.at_least(0.1)
    with refused(ExperimentError):
        said.overall.at_least(0.1)
    with refused(ExperimentError):
        said.on("id novelty").specific.fpr.at_most(0.1)
    for bound in ("0.4", float("nan"), None):
        with refused(ParameterError):
            said.overall.mcc.at_least(bound)  # type: ignore[arg-type]


def test_the_next_words_are_offered() -> None:
    said = assert_monitor("energy")
    assert {"overall", "specific", "auroc", "residual_hazard", "on", "using"} <= set(dir(said))
    assert {"mcc", "fpr", "at_least"} <= set(dir(said.overall))
    assert {"p99", "p99_9", "at_most"} <= set(dir(said.monitor_time_us))
    assert not hasattr(said, "__deepcopy__")


@pytest.mark.parametrize("measure", GATED)
def test_each_measure_has_a_task_or_is_a_cost_or_the_classifiers(measure: str) -> None:
    task = task_of(measure)
    is_cost = GATED[measure].kind in ("time", "bytes", "drift")
    assert (task is None) == (is_cost or not GATED[measure].of_monitors)
    if measure.startswith(("overall.", "specific.")):
        assert measure.startswith(f"{task}.")


def test_what_has_no_value_meets_nothing(tiny: Benchmark) -> None:
    told = failure(assert_monitor("never").overall.mcc, 0.1)
    assert re.search("never: undefined: .*no instance was cancelled|never: undefined: ", told)


def test_a_monitor_that_failed_in_a_run_of_ones_own_meets_nothing(run: Readouts) -> None:
    notes = [{**note, "failure": "out of memory"} for note in run.run["monitors"] if note["name"] == "energy"]
    own = Readouts(run.instances, run.alarms, {**run.run, "monitors": notes})
    told = failure(assert_monitor("energy").using(own).overall.mcc, 0.1).splitlines()
    same_text(told[0])
    same_text(told[1].strip())


# The message -----------------------------------------------------------------------------------------------


def outcomes(run: Readouts, name: str, task: str, category: str) -> tuple[pd.DataFrame, dict[str, pd.Series]]:
    """Join tables by hand: the instances on a category, and which of them are of each outcome."""
    rows = run.instances[~run.instances["is_ood"] | (run.instances["category"] == category)]
    rows = rows.merge(run.alarms[run.alarms["monitor"] == name].drop(columns="id"), on="position")
    should = rows["is_ood"] if task == "specific" else rows["label"] != rows["predicted"]
    did = rows["alarm" if task == "specific" else "cancelled"]
    return rows, {"tp": should & did, "fn": should & ~did, "fp": ~should & did, "tn": ~should & ~did}


@pytest.mark.parametrize(
    ("task", "heads"), [("overall", ("wrong decision", "right decision")), ("specific", ("OOD", "ID"))]
)
def test_the_message_counts(run: Readouts, task: str, heads: tuple[str, str]) -> None:
    said = getattr(assert_monitor("max-softmax").using(run).on("noise"), task)
    told = failure(said.mcc, 0.999)
    _, found = outcomes(run, "max-softmax", task, "noise")
    n = {name: int(rows.sum()) for name, rows in found.items()}
    first, second = heads
    assert re.search(rf"{first} +{n['tp']:,} +{n['fn']:,}\n +{second} +{n['fp']:,} +{n['tn']:,}\n", told)


def test_the_message_has_criterion_verdict_value_bounds_and_size(run: Readouts) -> None:
    said = assert_monitor("energy").using(run).on("novelty").overall.mcc
    told = failure(said).splitlines()
    same_text(told[0])
    judged = judge(run, "energy", "overall.mcc >= 0.999 on category:novelty")
    found = judged.evidence
    text = "\n".join(told)
    for head, measure in (("value", found.value), ("lower bound", found.low), ("upper bound", found.high)):
        assert re.search(rf"{head}: +{measure.value:.3f}", text)
    assert re.search(r"instances: +1,280, 640 of them OOD", text)
    same_text(text)


def test_undecided_says_how_many_instances_would_decide(run: Readouts) -> None:
    said = assert_monitor("max-softmax").using(run).on("novelty").overall.mcc
    judged = judge(run, "max-softmax", "overall.mcc >= 0.2 on category:novelty")
    between = (judged.evidence.value.value + judged.evidence.low.value) / 2
    told = failure(said, between)
    assert "not enough data" in told.splitlines()[0]
    assert re.search(r"some [\d,]+ instances instead of 1,280 would decide it", told)


def test_the_worst_classes_are_those_with_the_largest_share_of_mistakes(run: Readouts) -> None:
    told = failure(assert_monitor("max-softmax").using(run).on("noise").overall.mcc)
    rows, found = outcomes(run, "max-softmax", "overall", "noise")
    missed = rows["label"][found["fn"]].value_counts()
    wrong = rows["label"][found["fn"] | found["tp"]].value_counts()
    block = told.split("worst classes by missed (wrong and kept):\n")[1].split("worst classes")[0]
    lines = [line.split() for line in block.strip().splitlines()]
    lowest = {label: wilson(int(missed.get(label, 0)), int(n), 0.95)[0].value for label, n in wrong.items()}
    worst = sorted(missed.index, key=lambda label: -lowest[label])[:3]
    assert [line[0] for line in lines] == [run.run["classes"][label] for label in worst]
    for name, share, _, _, n, *_ in lines:
        label = run.run["classes"].index(name)
        assert int(n) == wrong[label]
        assert float(share) == pytest.approx(100 * missed[label] / wrong[label], abs=0.06)
    same_text(told)


def test_of_novel_images_it_tells_what_they_were_taken_for(run: Readouts) -> None:
    told = failure(assert_monitor("max-softmax").using(run).on("novelty").specific.mcc)
    rows, found = outcomes(run, "max-softmax", "specific", "novelty")
    taken = {f"taken for {run.run['classes'][code]}" for code in rows["predicted"][found["fn"]].unique()}
    block = told.split("worst classes by missed (OOD without an alarm):\n")[1].split("worst classes")[0]
    assert {" ".join(line.split()[:3]) for line in block.strip().splitlines()} <= taken


def test_costs_have_no_mistakes(run: Readouts, in_no_test: Path) -> None:
    with pytest.raises(AssertionError) as raised:
        assert_monitor("energy").using(run).monitor_time_us.p50.at_most(0.001)
    assert "worst classes" not in str(raised.value)
    assert not list(in_no_test.iterdir())


# The pictures ----------------------------------------------------------------------------------------------


def test_the_pictures_are_of_the_clearest_mistakes(run: Readouts, tiny: Benchmark, in_no_test: Path) -> None:
    told = failure(assert_monitor("max-softmax").using(run).on("noise").overall.mcc)
    path = in_no_test / "farm-failures" / "1" / "mistakes.png"
    assert told.endswith(f"pictures:       {path}")
    rows, found = outcomes(run, "max-softmax", "overall", "noise")
    first = rows[found["fn"]].sort_values("score", kind="stable")["position"].to_numpy()[:1]
    last = rows[found["fp"]].sort_values("score", kind="stable")["position"].to_numpy()[-1:]
    with Image.open(path) as sheet:
        pixels = np.asarray(sheet)
    for position in (first, last):
        wanted = np.rint(tiny.images(position)[0] * 255).astype(np.uint8).transpose(1, 2, 0)
        assert occurs(np.repeat(np.repeat(wanted, 9, axis=0), 9, axis=1), pixels)


def occurs(small: np.ndarray, large: np.ndarray) -> bool:
    """Whether a picture is somewhere in another."""
    high, wide, _ = small.shape
    starts = np.argwhere((large == small[0, 0]).all(axis=2))
    return any(np.array_equal(large[y : y + high, x : x + wide], small) for y, x in starts)


def test_no_picture_is_ever_overwritten(run: Readouts, in_no_test: Path) -> None:
    said = assert_monitor("energy").using(run).overall.mcc
    failure(said.on("novelty", "noise"))
    before = {path: path.read_bytes() for path in in_no_test.rglob("*.png")}
    failure(said.on("novelty"))
    after = {path: path.read_bytes() for path in in_no_test.rglob("*.png")}
    assert (len(before), len(after)) == (2, 3)
    assert before.items() <= after.items()


def test_it_fails_in_words_where_no_picture_can_be_written(run: Readouts, in_no_test: Path) -> None:
    (in_no_test / "farm-failures").write_text("in the way", encoding="utf-8")
    told = failure(assert_monitor("energy").using(run).on("novelty").overall.mcc)
    same_text(told)


def test_a_run_on_another_stream_has_no_pictures_here(tiny: Benchmark, in_no_test: Path) -> None:
    other = tiny_benchmark(seed=1).run("energy")
    told = failure(assert_monitor("energy").using(other).on("novelty").overall.mcc)
    same_text(told)
    assert not list(in_no_test.iterdir())


def test_where_nothing_is_wrong_nothing_is_drawn(run: Readouts, in_no_test: Path) -> None:
    perfect = run.instances["is_ood"].to_numpy()
    alarms = run.alarms[run.alarms["monitor"] == "energy"].assign(alarm=perfect)
    own = Readouts(run.instances, alarms, run.run)
    told = failure(assert_monitor("energy").using(own).specific.recall, 0.99999)
    same_text(told)
    assert not list(in_no_test.iterdir())
