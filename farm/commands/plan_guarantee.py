"""How much validation data a threshold with a guarantee needs, and what less or more could promise."""

from __future__ import annotations

import argparse
import math
from typing import Any

from farm.api import GUARANTEES, CalibrationRule, Guarantee, Promise, What, check_choice, check_number
from farm.api.guarantee import INSTANCE, listed
from farm.api.guarantees.found import counted
from farm.config.specs import CalibrationSpec
from farm.statistics.clopper_pearson import high_of_share

SHARES = ("accept", "confidence", "risk", "hazard")
OPTIONS = (*SHARES, "n")
"""What is told beside the method."""


def of_guarantee(options: argparse.Namespace) -> dict[str, Any]:
    """Tell how many units it takes, and of some number what they could promise."""
    check_choice("plan: --guarantee", options.guarantee, tuple(GUARANTEES))
    if options.n is not None:
        check_number("plan: --n", options.n, low=1, whole=True)
    told = {key: value for key in SHARES if (value := getattr(options, key)) is not None}
    # The rule says what they may be, in a line of its own.
    rule = CalibrationSpec.model_construct(method=options.guarantee, **told).rule()
    method = GUARANTEES[rule.method]
    asked = {key: getattr(rule, key) for key in SHARES if key in (*method.needs, *method.takes)}
    needed = method.fewest(**{key: value for key, value in asked.items() if value is not None})
    promises = _promises(rule)
    guarantee = Guarantee(promises, n=needed, needed=needed, confidence=asked.get("confidence"))
    sentences = [
        f"For {guarantee.promised}: at least {counted(needed, INSTANCE)} of validation data, or as many "
        "tracks where instances share any."
    ]
    if by_group := "by" in method.takes:
        sentences.append("By class or condition it takes as many of each.")
    if any(promise.what != "false_alarms" for promise in promises):
        sentences.append("These do where none of them is wrong; where some are, it takes more.")
    answer = {
        "question": "guarantee",
        "method": rule.method,
        "promises": [{"what": promise.what, "at_most": promise.at_most} for promise in promises],
        "on_average": guarantee.on_average,
        "confidence": guarantee.confidence,
        "needed": needed,
        "needed_in_each_group": by_group,
    }
    if options.n is not None:
        least = [Promise(one.what, _at_best(rule, one.what, options.n)) for one in promises]
        be = "is" if options.n == 1 else "are"
        enough = f"{be} enough" if options.n >= needed else f"{be} too few for that"
        words = listed([one.words for one in least])
        sentences.append(f"{options.n:,} {enough}: the least that they could promise is {words}.")
        answer |= {"n": options.n, "enough": options.n >= needed}
        answer["at_best"] = {one.what: one.at_most for one in least}
    return answer | {"sentences": sentences}


def _promises(rule: CalibrationRule) -> tuple[Promise, ...]:
    shares: dict[What, float | None] = {
        "false_alarms": round(1 - rule.accept, 12) if "accept" in GUARANTEES[rule.method].needs else None,
        "risk": rule.risk,
        "residual_hazard": rule.hazard,
    }
    return tuple(Promise(what, share) for what, share in shares.items() if share is not None)


def _at_best(rule: CalibrationRule, what: What, n: int) -> float:
    """Return the least share that n units could promise, where none alarms or is wrong; rounded up."""
    if rule.confidence is None:
        return _up(1 / (n + 1))
    if rule.method == "risk":
        return _up(high_of_share(0, n - 1, rule.confidence)) if n > 1 else 1.0
    # Of several promises the allowed doubt is halved.
    sure = (1 + rule.confidence) / 2 if rule.method == "learn-then-test" else rule.confidence
    share = high_of_share(0, n, sure)
    return min(_up(share / rule.accept if what == "risk" else share), 1.0)


def _up(share: float) -> float:
    return round(math.ceil(share * 10_000 - 1e-6) / 10_000, 4)
