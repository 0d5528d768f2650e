"""Criteria on the classifier's boxes and calibration: values, bounds that hold, and what cannot be judged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farm.api.boxes import BOX_LOST, PREDICTED_BOX, SPREAD_OF_BOX, TRUE_BOX
from farm.comparing.classifier_sums import gap_parts, size_of_gaps
from farm.comparing.measures import CLASSIFIER
from farm.errors import ExperimentError
from farm.gate.bounds import redrawn
from farm.gate.criteria_file import parse_criteria
from farm.gate.criterion import parse_criterion
from farm.gate.evidence import Drawing, evidence
from farm.gate.observed import mean_over
from farm.gate.selected import select
from farm.gate.verdict import judge_criteria
from farm.judging import judge
from farm.measures.boxes import BOX_ECE, BOX_IOU, BOX_MAE
from farm.measures.probability_sums import CLASSIFIER_ECE
from farm.store.readouts import Readouts
from farm.testing import make_readouts
from tests.gate.made_streams import MadeClassifier, MadeLocaliser, make_set
from tests.wording import refused, same_text

HELD = (BOX_MAE, BOX_IOU, BOX_ECE)
LOCALISER = MadeLocaliser(2.0, 2.0, 0.5)


def run_of(seed=0, *, tracks=40, frames=4, lost=0, made=LOCALISER, **record):
    """A run of fog in which a classifier says where everything is."""
    boxes, n = made.said(np.random.default_rng(seed), tracks, frames), tracks * frames
    columns = dict(zip(TRUE_BOX, boxes.target.T, strict=True))
    columns |= dict(zip(PREDICTED_BOX, boxes.predicted.T, strict=True))
    columns |= dict(zip(SPREAD_OF_BOX, boxes.spread.T, strict=True))
    gone = np.arange(n) < lost
    columns |= {name: np.where(gone, np.nan, columns[name]) for name in TRUE_BOX}
    return make_readouts(
        {"odin": np.zeros(n, dtype=bool)},
        is_ood=np.arange(n) >= n // 2,
        track=[f"t{i // frames}" for i in range(n)],
        **columns,
        **{BOX_LOST: np.where(gone, "hidden by 'fog'", None)},
        run={
            "folder": f"runs/{seed}",
            "boxes": {"height": 64, "width": 64, "spread_ddof": None},
            "monitors": [{"name": "odin"}],
            **record,
        },
    )


def found(runs, text):
    criterion = parse_criterion(text)
    (selected,) = select(runs if isinstance(runs, list) else [runs], criterion)
    assert selected.monitors == (CLASSIFIER,)
    return evidence(selected, criterion, CLASSIFIER, Drawing())


def verdict(run, text):
    (one,) = judge_criteria([run], parse_criteria({"criteria": [text]}, "gate.yaml"))
    return one


@pytest.mark.parametrize("text", ["box_mae <= 9", "box_iou >= 0.1", "box_ece <= 0.4"])
@pytest.mark.parametrize(("on", "part"), [("", "all"), (" on id", "id"), (" on ood", "ood")])
def test_values_are_those_of_the_records(text, on, part):
    run, name = run_of(), text.split(" ")[0]
    (record,) = (
        r for r in judge(run.instances, run.alarms, run.run) if (r["part"], r["monitor"]) == (part, "odin")
    )
    own = found(run, text + on)
    assert own.value.value == pytest.approx(record[name], abs=1e-12)
    assert own.low.value < own.value.value < own.high.value
    assert (own.n, own.n_ood, own.n_groups) == (record["n"], record["n_ood"], record["n_tracks"])


def test_verdicts_are_sure_where_enough_was_seen():
    run = run_of(tracks=300, frames=1)
    given = {
        text: verdict(run, text).verdict for text in ("box_mae <= 3", "box_mae <= 1.2", "box_mae <= 1.6")
    }
    assert given == {"box_mae <= 3": "pass", "box_mae <= 1.2": "fail", "box_mae <= 1.6": "undecided"}
    sure = run_of(tracks=300, frames=1, made=MadeLocaliser(2.0, 0.4, 0.0))
    assert [verdict(one, "box_ece <= 0.1").verdict for one in (run, sure)] == ["pass", "fail"]


def test_sets_are_averaged_and_their_errors_added_up():
    """Two runs that stray to opposite sides: each error counts, and none makes up for another."""
    runs = [run_of(seed) for seed in range(2)]
    each = [found(run, "box_ece <= 0.4 on id").value.value for run in runs]
    assert found(runs, "box_ece <= 0.4 on id").value.value == pytest.approx(np.mean(each))


# Bounds -----------------------------------------------------------------------------------------------------


def bounded(sets, name, replicates=2000):
    made = redrawn(sets, [(name, CLASSIFIER)], replicates=replicates, seed=0)
    ends = made.bounds((name, CLASSIFIER), mean_over(sets, name, CLASSIFIER), 0.95)
    return ends.low.value, ends.value.value, ends.high.value


def test_the_error_in_pixels_has_the_bounds_of_a_mean_that_may_be_as_bad_as_the_image_is_large():
    """Weights by hand: the unseen box is off by the mean of height and width, or by nothing."""
    stream = MadeLocaliser(2.0, 2.0, 0.0).stream(np.random.default_rng(1), 60, 1)
    low, value, high = bounded([make_set(stream)], BOX_MAE, replicates=40_000)
    off = np.abs(stream.boxes.predicted - stream.boxes.target).mean(axis=1)
    weights = np.random.default_rng(3).exponential(size=(40_000, 61))
    ends = [(weights[:, :-1] @ off + weights[:, -1] * end) / weights.sum(axis=1) for end in (0.0, 64.0)]
    assert value == pytest.approx(off.mean())
    assert (low, high) == pytest.approx((np.quantile(ends[0], 0.05), np.quantile(ends[1], 0.95)), rel=0.02)


def test_a_calibration_error_is_as_near_as_its_gaps_are():
    """By hand: how far draws of the gaps lie from those that were seen, an unseen one being the worst."""
    stream = MadeLocaliser(2.0, 1.5, 0.0).stream(np.random.default_rng(2), 80, 1)
    low, value, high = bounded([make_set(stream)], BOX_ECE, replicates=40_000)
    gaps = gap_parts(stream, BOX_ECE)[:, :-1]
    assert value == pytest.approx(np.abs(gaps.mean(axis=0)).mean())
    weights = np.random.default_rng(3).exponential(size=(40_000, 81))
    share = weights[:, -1] / weights.sum(axis=1)
    drawn = weights[:, :-1] @ gaps / weights[:, :-1].sum(axis=1, keepdims=True)
    strays = np.abs(drawn - gaps.mean(axis=0)).mean(axis=1)
    far = np.quantile((1 - share) * strays + share * (0.45 + value), 0.95)
    assert (low, high) == pytest.approx((max(value - far, 0), value + far), rel=0.02)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from([CLASSIFIER_ECE, BOX_ECE]))
def test_two_errors_differ_by_no_more_than_their_gaps_do(seed, task):
    one, other = np.random.default_rng(seed).normal(size=(2, 10))
    apart = size_of_gaps(task, one - other)
    assert abs(size_of_gaps(task, one) - size_of_gaps(task, other)) <= apart + 1e-12


def coverage(made, names, tracks, frames, streams):
    truth, random = made.truth(frames), np.random.default_rng([11, tracks, frames])
    held = {name: [] for name in names}
    for seed in range(streams):
        one = [make_set(made.stream(random, tracks, frames))]
        asked = [(name, CLASSIFIER) for name in names]
        drawn = redrawn(one, asked, replicates=400, seed=seed)
        for column in asked:
            end = drawn.bounds(column, mean_over(one, *column), 0.95)
            at = truth[column[0]]
            held[column[0]].append((end.low.value <= at + 1e-12, end.high.value >= at - 1e-12))
    return {name: np.mean(each, axis=0) for name, each in held.items()}


@pytest.mark.parametrize(
    ("made", "tracks", "frames", "streams"),
    [
        (LOCALISER, 40, 4, 150),
        # Calibrated to the last: here the quantiles of plain draws never hold.
        (MadeClassifier(1.0, 1.0, 0.0), 40, 1, 150),
        *(
            pytest.param(made, tracks, frames, 1000, marks=pytest.mark.slow)
            for made in (
                MadeLocaliser(2.0, 2.0, 0.0),
                MadeLocaliser(2.0, 1.0, 0.8),
                MadeLocaliser(6.0, 3.0, 0.5),
                MadeLocaliser(0.5, 2.0, 0.0),
                MadeClassifier(1.0, 1.0, 0.0),
                MadeClassifier(3.0, 1.0, 0.8),
            )
            for tracks, frames in ((12, 1), (40, 10), (200, 1))
        ),
    ],
)
def test_bounds_at_95_percent_hold(made, tracks, frames, streams):
    names = HELD if isinstance(made, MadeLocaliser) else (CLASSIFIER_ECE,)
    told = coverage(made, names, tracks, frames, streams)
    assert min(min(each) for each in told.values()) >= 0.93, told


# What cannot be judged --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "columns", "options"),
    [
        ("box_nll <= 2", {}, {}),
        ("classifier_nll <= 2", {}, {}),
        ("box_iou >= 50 %", {}, {}),
        ("box_ece <= 0.45", {}, {}),
        ("box_mae <= 0", {}, {}),
        ("box_mae <= 3 for odin", {}, {}),
        ("box_mae <= 3 on id", {}, {"lost": 3}),
        ("box_iou >= 0.5", dict.fromkeys(PREDICTED_BOX), {}),
        ("box_ece <= 0.2", dict.fromkeys(SPREAD_OF_BOX), {}),
        ("box_mae <= 3", {}, {"boxes": None}),
    ],
)
def test_it_is_told_why(text, columns, options):
    run = run_of(**options)
    with refused(ExperimentError):
        verdict(Readouts(run.instances.drop(columns=[*columns]), run.alarms, run.run), text)


def test_a_spread_of_0_fails_and_says_so():
    run = run_of()
    one = verdict(Readouts(run.instances.assign(box_spread_top=0.0), run.alarms, run.run), "box_ece <= 0.2")
    assert one.verdict == "fail"
    same_text(one.reason)


def test_boxes_need_no_labels_and_no_is_ood():
    run = run_of()
    log = replace(run, instances=run.instances.drop(columns=["label", "is_ood", "category", "faultload"]))
    assert found(log, "box_mae <= 9").value.value == pytest.approx(found(run, "box_mae <= 9").value.value)
