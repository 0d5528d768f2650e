"""Boxes in records: what scipy, scikit-learn and a worked example say, or why there is no number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.metrics import mean_absolute_error

from farm.api.boxes import BOX_LOST, PREDICTED_BOX, SPREAD_OF_BOX, TRUE_BOX
from farm.judging import judge
from farm.judging.by_parts import judge_by_parts
from farm.judging.table import VerdictTable
from farm.measures.boxes import LOCALIZATION, NO_BOXES, NO_SPREAD
from farm.testing import make_readouts

TARGET = np.array([[2.0, 2.0, 6.0, 4.0], [0.0, 0.0, 4.0, 4.0], [1.0, 1.0, 3.0, 5.0], [4.0, 0.0, 8.0, 2.0]])
PREDICTED = TARGET + np.array([[0, 0, 0, 0], [2, 0, 2, 0], [0, -1, 0, 1], [0, 0, -2, 0]])
SPREAD = np.full((4, 4), 2.0)


def run_of(target, predicted, spread=None, lost=None, **columns):
    """Readouts of these boxes, the second half of them in snow."""
    n = len(target)
    table = dict(zip(TRUE_BOX, target.T, strict=True)) | dict(zip(PREDICTED_BOX, predicted.T, strict=True))
    if spread is not None:
        table |= dict(zip(SPREAD_OF_BOX, spread.T, strict=True))
    if lost is not None:
        table[BOX_LOST] = lost
    is_ood = np.arange(n) >= n // 2
    return make_readouts({"odin": is_ood}, is_ood=is_ood, **table, **columns)


def told(made, part="all"):
    """What is told of the classifier's boxes on a part: the same beside each monitor."""
    records = [one for one in judge(made.instances, made.alarms, made.run) if one["part"] == part]
    found = [
        {name: r[name] if r[name] is not None else r["undefined"][name] for name in LOCALIZATION}
        for r in records
    ]
    assert all(one == found[0] for one in found)
    return found[0]


def test_a_worked_example():
    """By hand: errors 0; 2, 0, 2, 0; 0, 1, 0, 1; 0, 0, 2, 0. Overlaps 8 of 8; 8 of 24; 8 of 12; 4 of 8."""
    found = told(run_of(TARGET, PREDICTED, SPREAD))
    assert found["box_mae"] == pytest.approx(8 / 16)
    assert found["box_iou"] == pytest.approx((1 + 8 / 24 + 8 / 12 + 4 / 8) / 4)
    # Squared errors 4 + 4 + 1 + 1 + 4 in units of twice 4, and of each number log 2 and half log 2 pi.
    assert found["box_nll"] == pytest.approx(14 / 8 / 16 + np.log(2) + np.log(2 * np.pi) / 2)
    assert told(run_of(TARGET, PREDICTED, SPREAD), "id")["box_mae"] == 4 / 8


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 60))
def test_records_agree_with_references(seed, n):
    random = np.random.default_rng(seed)
    target = np.sort(random.uniform(0, 60, (n, 2, 2)), axis=1).reshape(n, 4)
    predicted, spread = target + random.normal(0, 3, (n, 4)), random.uniform(0.5, 5, (n, 4))
    found = told(run_of(target, predicted, spread))
    assert found["box_mae"] == pytest.approx(mean_absolute_error(target, predicted))
    assert found["box_nll"] == pytest.approx(-norm.logpdf(target, predicted, spread).mean())
    below = norm.cdf(target, predicted, spread)
    levels = np.arange(1, 11) / 10
    shares = (below[..., None] <= levels).mean(axis=0)
    assert found["box_ece"] == pytest.approx(np.abs(shares - levels).mean())


def test_normal_errors_of_the_claimed_spread_have_the_analytic_likelihood_and_calibration():
    random, n, spread = np.random.default_rng(5), 20_000, 1.5
    target = np.tile([8.0, 8.0, 24.0, 24.0], (n, 1))
    made = run_of(target, target + random.normal(0, spread, (n, 4)), np.full((n, 4), spread))
    found = told(made)
    # -E log p = log(s) + (1 + log 2 pi) / 2, of which the standard error is 1 / sqrt(2 * 4 n).
    analytic = np.log(spread) + (1 + np.log(2 * np.pi)) / 2
    assert found["box_nll"] == pytest.approx(analytic, abs=5 / np.sqrt(8 * n))
    assert found["box_mae"] == pytest.approx(spread * np.sqrt(2 / np.pi), rel=0.02)
    tables = VerdictTable.of(made.instances, made.alarms, {}).boxes.tables()
    flat = [abs(row.share.value - row.level) for rows in tables.values() for row in rows]
    assert max(flat) < 5 * 0.5 / np.sqrt(n)
    assert found["box_ece"] < 0.005


def test_an_overconfident_spread_is_seen():
    random, n = np.random.default_rng(6), 2000
    target = np.tile([8.0, 8.0, 24.0, 24.0], (n, 1))
    predicted = target + random.normal(0, 2.0, (n, 4))
    honest, sure = (told(run_of(target, predicted, np.full((n, 4), s))) for s in (2.0, 0.5))
    assert sure["box_ece"] > honest["box_ece"] + 0.1
    assert sure["box_nll"] > honest["box_nll"] + 1
    assert sure["box_iou"] == honest["box_iou"]


LOST = ["out of sight after 'translation'", None, None, None]


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({"spread": None}, {"box_nll": NO_SPREAD, "box_ece": NO_SPREAD}),
        (
            {"spread": np.where(np.arange(4)[:, None] == 2, 0.0, SPREAD)},
            dict.fromkeys(("box_nll", "box_ece"), "the spread is 0 for 1 of 4 instances"),
        ),
        (
            {"target": np.where(np.arange(4)[:, None] == 0, np.nan, TARGET), "lost": LOST},
            dict.fromkeys(LOCALIZATION, "no box for 1 of 4 instances (out of sight after 'translation')"),
        ),
        (
            {"target": np.full((4, 4), np.nan)},
            dict.fromkeys(LOCALIZATION, "no box for 4 of 4 instances"),
        ),
        (
            {"predicted": np.where(np.arange(4)[:, None] == 0, np.nan, PREDICTED)},
            dict.fromkeys(LOCALIZATION, "a number is missing for 1 of 4 instances"),
        ),
        (
            {"target": TARGET[:, [2, 1, 0, 3]]},
            {"box_iou": "the target has no area for 4 of 4 instances"},
        ),
    ],
)
def test_what_cannot_be_told_has_a_reason(changes, reasons):
    given = {"target": TARGET, "predicted": PREDICTED, "spread": SPREAD, **changes}
    found = told(run_of(**given))
    assert {name: value for name, value in found.items() if isinstance(value, str)} == reasons


def test_boxes_need_no_labels():
    made = run_of(TARGET, PREDICTED, SPREAD, label=None)
    assert told(made)["box_mae"] == 0.5


def test_a_run_without_boxes_says_so():
    made = make_readouts({"odin": [False, True]}, is_ood=[False, True])
    assert told(made) == dict.fromkeys(LOCALIZATION, NO_BOXES)
    (first, *_) = judge_by_parts([(made.instances, made.alarms)], made.run)
    assert first["undefined"]["box_mae"] == NO_BOXES


def test_parts_that_are_judged_apart_tell_no_boxes_and_why():
    made = run_of(TARGET, PREDICTED, SPREAD)
    found = judge_by_parts([(made.instances, made.alarms)], made.run)
    assert {one["undefined"]["box_iou"] for one in found} == {"not told where readouts are judged by parts"}
