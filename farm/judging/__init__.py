"""From readouts to judged records: one for each group of OOD instances, part and monitor.

A record is plain JSON. What is undefined is null, and `undefined` says why, field by field.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from farm.judging.in_memory import JudgedRun
from farm.judging.record import Record
from farm.judging.table import Judgement, VerdictTable

__all__ = ["JudgedRun", "Judgement", "Record", "VerdictTable", "judge"]


def judge(instances: pd.DataFrame, alarms: pd.DataFrame, run: Mapping[str, Any]) -> list[Record]:
    """Judge every monitor of a run, and the perfect one beside them.

    Parameters
    ----------
    instances
        One row an instance: `position`, `predicted` and, as far as they are known, `label` (-1: no right
        answer exists), `is_ood`, `faultload`, `category`, `severity`, `classifier_time_us`.
    alarms
        One row an instance and monitor: `position`, `monitor`, `alarm` and, as far as they are known,
        `cancelled` (else: every alarm cancels), `decision` (the class acted upon, -1 where none; else:
        nothing takes a cancelled decision's place), `score`, `monitor_time_us`.
    run
        What is known of the run: its folder; names of workload and classifier; the monitors with their
        size, calibration, policy, fallback, whether they are ranked, and why they failed. Each is optional.

    Returns
    -------
    list of records
        Group by group, part by part, the monitors in the order of the run, `oracle` last. MCC, FPR, FNR and
        error have the ends of their 95 % intervals beside them (`mcc_low`, `mcc_high`); `intervals_by` says
        what counts as independent in them: `tracks` where instances share some, else `instances`.

    Examples
    --------
    >>> instances = pd.DataFrame({"label": [0, 1, 1, -1], "predicted": [0, 1, 0, 1]})
    >>> instances = instances.assign(position=range(4), is_ood=[False, False, False, True])
    >>> alarms = pd.DataFrame({"position": range(4), "monitor": "odin", "alarm": [False, True, False, True]})
    >>> for record in judge(instances, alarms, {}):
    ...     print(record["part"], record["monitor"], record["specific"]["error"], record["overall"]["error"])
    all odin 0.25 0.5
    all oracle 0.0 0.0
    id odin 0.3333333333333333 0.6666666666666666
    id oracle 0.0 0.0
    ood odin 0.0 0.0
    ood oracle 0.0 0.0
    """
    return JudgedRun.of(instances, alarms, run).records
