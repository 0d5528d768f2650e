"""Verdicts made by hand, of every kind that a report has to tell of."""

from datetime import UTC, datetime

from farm.comparing.measures import CLASSIFIER
from farm.gate.criterion import Defaults, parse_criterion
from farm.gate.demand import Evidence
from farm.gate.verdict import CriterionVerdict
from farm.measures import Measure, undefined
from farm.report.checked import Checked, NotRun

LEVEL = 0.95


def make(
    text,
    verdict,
    value,
    low,
    high,
    *,
    monitor="max-softmax",
    where="all sets",
    n=480,
    n_ood=120,
    n_groups=96,
    needed=None,
    reason="",
    counts=None,
):
    """Make a verdict; a `value`, `low` or `high` that is text is the reason why there is none."""
    evidence = Evidence(
        value=_measure(value),
        low=_measure(low),
        high=_measure(high),
        level=LEVEL,
        n=n,
        n_ood=n_ood,
        n_groups=n_groups,
        sets=("fog, severity 3 on signs with lenet",),
        method="whole tracks resampled",
        counts=counts,
    )
    criterion = parse_criterion(text, Defaults(LEVEL, None))
    return CriterionVerdict(criterion, monitor, where, verdict, evidence, needed, reason)


def _measure(value):
    return undefined(value) if isinstance(value, str) else Measure(float(value))


PASSED = make("overall.mcc >= 0.4 on category:noise", "pass", 0.512, 0.471, 0.553, where="category:noise")
FAILED = make(
    "overall.mcc >= 0.4 on category:noise",
    "fail",
    0.215,
    0.17,
    0.262,
    monitor="oob",
    where="category:noise",
    reason="at most 0.262, which is below 0.4",
    counts={"tp": 40, "fp": 12, "fn": 80, "tn": 348},
)
OPEN = make(
    "overall.mcc >= 0.4 on category:noise",
    "undecided",
    0.41,
    0.37,
    0.449,
    monitor="knn",
    where="category:noise",
    needed=2213,
    reason="between 0.370 and 0.449, and 0.4 is within",
)
EACH = [
    make(
        "specific.fnr <= 20 % on each faultload",
        verdict,
        value,
        value - 0.02,
        value + 0.03,
        where=f"faultload:{fault}",
        n=120,
        n_groups=120,
        reason=reason,
    )
    for fault, value, verdict, reason in (
        ("fog", 0.1, "pass", ""),
        ("gaussian-noise", 0.61, "fail", "at least 0.590, which is above 0.2"),
    )
]
TIME = make(
    "monitor_time_us.p99 <= 500",
    "pass",
    123.4,
    118.2,
    131.25,
    n=3200,
    n_groups=3200,
    n_ood=0,
    where="all sets",
)
DELAY = make(
    "detection_delay.p95 <= 10 on stream:onset",
    "undecided",
    float("inf"),
    3,
    float("inf"),
    where="stream:onset",
    n=80,
    n_ood=80,
    n_groups=80,
    reason="9 of 80 onsets were missed",
)
WORSE = make(
    "overall.mcc not worse than baseline:baseline.yaml by 0.02",
    "fail",
    -0.081,
    -0.11,
    -0.052,
    reason="worse by at least 0.052, and 0.02 is allowed",
)
NO_VALUE = make(
    "overall.mcc >= 0.1",
    "fail",
    "none of the 3200 instances was cancelled",
    "none of the 3200 instances was cancelled",
    "none of the 3200 instances was cancelled",
    monitor="never",
    reason="undefined: none of the 3200 instances was cancelled",
)
IN_PARTS = [
    make(
        text,
        verdict,
        *ends,
        monitor=CLASSIFIER,
        where=where,
        n=40,
        n_ood=None,
        n_groups=40,
        reason=reason,
    )
    for text, verdict, ends, where, reason in (
        (
            "scenario_coverage >= 90 %",
            "fail",
            (0.8, 0.8, 0.8),
            'part:"train k=2"',
            "at most 0.8, which is below 0.9",
        ),
        (
            "scenario.mtbf >= 200 on part:weakest",
            "undecided",
            (float("inf"), 120, float("inf")),
            "part:weakest",
            "between 120 and infinity, and 200 is within",
        ),
        (
            "scenario.overall.mcc >= 0.25 on each part",
            "pass",
            (0.3, 0.26, 0.4),
            'part:"oob, weather=rain"',
            "",
        ),
    )
]
"""What a protocol found."""
ALL = [PASSED, FAILED, OPEN, *EACH, TIME, DELAY, WORSE, NO_VALUE]
UNJUDGED = make(
    "overall.mcc >= 0.1",
    "error",
    "the monitor failed: singular",
    "the monitor failed: singular",
    "the monitor failed: singular",
    monitor="odin",
    reason="could not be judged, because the monitor failed: singular",
    n=0,
    n_ood=0,
    n_groups=0,
)
CRASHED = NotRun("monitor 'odin'", "runs/gate-001", "ComponentFailure: monitor 'odin' gave NaN")


def checked(
    judged=tuple(ALL), broken=(), *, undecided="report", criteria="criteria.yaml", runs=("runs/gate-001",)
):
    """Make what a check found of verdicts."""
    return Checked(
        judged=list(judged),
        broken=list(broken),
        criteria=criteria,
        runs=list(runs),
        undecided=undecided,
        seed=0,
        replicates=2000,
        version="0.1.0",
        began=datetime(2030, 1, 2, 3, 4, 5, 678, UTC),
        seconds=1.23456,
    )
