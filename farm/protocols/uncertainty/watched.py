"""Is the uncertainty a good monitor? It is judged on test data and a shift as on one stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from farm.api import NO_ANSWER
from farm.comparing.measures import measured
from farm.judging import JudgedRun
from farm.judging.joining import joined
from farm.protocols.uncertainty.spec import WATCHED_BY
from farm.store.readouts import Readouts

OF_MONITORS: Mapping[str, str] = {
    "specific_mcc": "specific.mcc",
    "overall_mcc": "overall.mcc",
    "auroc": "auroc",
    "false_alarm_rate": "specific.fpr",
}
"""What is told of each monitor, and its place in a record."""


def watched(plain: Readouts, shifted: Readouts, shift: str) -> Iterator[dict[str, Any]]:
    """Yield what each monitor is worth that should alarm on what is shifted, or what is predicted wrongly.

    All that is shifted is judged together, whether or not some class is right.
    """
    both = joined(plain, shifted)
    instances, is_ood = both.instances, both.instances["is_ood"].to_numpy()
    answered = (instances["label"].to_numpy() != NO_ANSWER)[is_ood].any()
    category = "shift" if answered else "novelty"
    one_group = instances.assign(
        faultload=pd.Series(shift, instances.index).where(is_ood, None),
        category=pd.Series(category, instances.index).where(is_ood, None),
        severity=np.nan,
    )
    judged = JudgedRun.of(one_group, both.alarms, both.run)
    (part,) = (one for one in judged.parts if one.name == "all")
    for record in judged.records_of(part, bounded=()):
        if record["ranked"] and record["monitor"] != WATCHED_BY:
            yield {
                "monitor": record["monitor"],
                "shift": shift,
                **{name: measured(place).of(record) for name, place in OF_MONITORS.items()},
                "ood_share": record["ood_share"],
                "n": record["n"],
            }
