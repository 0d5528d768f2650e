"""Measures that are shares of instances one by one: which instances count, and which of them are meant.

These can be followed along a stream. What is a correlation, a ratio of several shares or a difference of two
cannot.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from farm.api.arrays import FloatArray
from farm.comparing.joint_tracks import form_by_name, kinds_in, n_kinds, task_of
from farm.errors import suggestion
from farm.gate.measures import GATED
from farm.gate.scanner import ANYTIME
from farm.judging import VerdictTable


@cache
def is_share_of_each(name: str) -> bool:
    """Whether a measure is the share of instances of which something is true, among those that count.

    Examples
    --------
    >>> [is_share_of_each(name) for name in ("risk", "specific.fpr", "overall.mcc", "safety_gain")]
    [True, True, False, False]
    """
    if GATED[name].kind != "rate":
        return False
    worth = _worth(name)
    return bool(np.isin(worth[~np.isnan(worth)], (0.0, 1.0)).all())


def refuses_anytime(name: str, quantity: str, baseline: str | None) -> str | None:
    """Say why there are no bounds of a measure at all moments of a stream together; None if there are."""
    if baseline is not None:
        return f"'{ANYTIME}' is about one stream as it goes on; it cannot be asked beside a baseline"
    if quantity != name:
        return f"'{ANYTIME}' is about shares, and {quantity} is one of many values; leave one of them out"
    if is_share_of_each(name):
        return None
    hint = suggestion(name, [known for known in GATED if is_share_of_each(known)])
    return f"'{ANYTIME}' is about shares of instances one by one, and {name} is none; {hint}"


def along_stream(table: VerdictTable, name: str, monitor: str) -> FloatArray:
    """Return what each instance adds to a share: 1 or 0, and NaN where it does not count.

    Examples
    --------
    >>> from farm.judging.table import made_truth
    >>> from farm.judging.verdicts import Verdicts
    >>> alarm, wrong = np.array([True, False, False]), np.array([True, True, False])
    >>> known = made_truth(wrong=wrong, is_ood=np.zeros(3, dtype=bool))
    >>> table = VerdictTable.from_arrays(known, [Verdicts("odin", alarm, alarm)])
    >>> along_stream(table, "risk", "odin").tolist(), along_stream(table, "coverage", "odin").tolist()
    ([nan, 1.0, 0.0], [0.0, 1.0, 1.0])
    """
    return _worth(name)[kinds_in(table, task_of(name), monitor)]


def _worth(name: str) -> FloatArray:
    """Return the measure of one instance of each kind."""
    return np.asarray(form_by_name(name)(np.eye(n_kinds(task_of(name)))))
