"""Was the monitor right? Two verdicts on each instance.

The *specific* task is to tell OOD from ID: the alarm is compared with `is_ood`. The *overall* task is to
cancel the classifier's decision where, and only where, it is wrong: what was cancelled is compared with what
should have been. A monitor can fail the one and succeed at the other: an alarm on an ID image that the
classifier got wrong is a false positive of the specific task and a true positive of the overall one.

A novel class has no right answer (label -1), so its decision should always be cancelled, whatever was
predicted.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from farm.api.arrays import NO_ANSWER, BoolArray, IntArray, StrArray

OutcomeCodes: TypeAlias = NDArray[np.uint8]

ORACLE = "oracle"
"""The perfect monitor: it alarms on OOD, and cancels what is wrong. A bound to compare with, never ranked."""

OUTCOMES = ("tn", "fp", "fn", "tp")
"""The names of the outcome codes 0 to 3. The code is 2 if it should be flagged, plus 1 if it was."""


def should_be_cancelled(label: IntArray, predicted: IntArray) -> BoolArray:
    """Say which decisions are wrong: not the label, or there is no right answer.

    Examples
    --------
    >>> should_be_cancelled(np.array([3, 3, -1]), np.array([3, 4, 3])).tolist()
    [False, True, True]
    """
    return np.asarray((label != predicted) | (label == NO_ANSWER), dtype=np.bool_)


def outcomes(should: BoolArray, did: BoolArray) -> OutcomeCodes:
    """Compare what should be flagged with what was."""
    return 2 * should.astype(np.uint8) + did.astype(np.uint8)


def specific(alarm: BoolArray, is_ood: BoolArray) -> OutcomeCodes:
    """Judge the alarms as OOD detection.

    Examples
    --------
    >>> named(specific(np.array([True, True]), is_ood=np.array([True, False]))).tolist()
    ['tp', 'fp']
    """
    return outcomes(is_ood, alarm)


def overall(cancelled: BoolArray, label: IntArray, predicted: IntArray) -> OutcomeCodes:
    """Judge the decisions by whether cancelling, or not cancelling, helped.

    Examples
    --------
    >>> cancelled, label = np.array([True, False]), np.array([7, -1])
    >>> named(overall(cancelled, label, predicted=np.array([7, 7]))).tolist()
    ['fp', 'fn']
    """
    return outcomes(should_be_cancelled(label, predicted), cancelled)


def named(codes: OutcomeCodes) -> StrArray:
    """Return the outcomes' names: tp, fp, tn or fn."""
    return np.asarray(OUTCOMES)[codes]


def tally(codes: OutcomeCodes) -> dict[str, int]:
    """Count each outcome.

    Examples
    --------
    >>> tally(np.array([3, 3, 0], dtype=np.uint8))
    {'tn': 1, 'fp': 0, 'fn': 0, 'tp': 2}
    """
    counts = np.bincount(codes, minlength=len(OUTCOMES))
    return dict(zip(OUTCOMES, counts.tolist(), strict=True))
