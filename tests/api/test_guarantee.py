"""What a guarantee says of itself, in words and as a record."""

from __future__ import annotations

import json

import pytest

from farm.api import Guarantee, Promise
from tests.wording import same_text

FALSE_ALARMS = Promise("false_alarms", 0.05, 0.031)
RISK, HAZARD = Promise("risk", 0.02), Promise("residual_hazard", 0.001)
KINDS = {
    "plain": Guarantee((FALSE_ALARMS,), 1132, 90, confidence=0.99),
    "average": Guarantee((FALSE_ALARMS,), 132, 19),
    "tracks": Guarantee((FALSE_ALARMS,), 132, 90, confidence=0.99, unit="track"),
    "any of a track": Guarantee((FALSE_ALARMS,), 132, 90, confidence=0.995, unit="track", event="track"),
    "by class": Guarantee((FALSE_ALARMS,), 132, 19, by="class"),
    "by condition": Guarantee((FALSE_ALARMS,), 132, 19, by="weather", unit="track"),
    "risk": Guarantee((RISK,), 132, 90, confidence=0.9),
    "several": Guarantee((FALSE_ALARMS, RISK, HAZARD), 132, 90, confidence=0.9),
    "seen": Guarantee((FALSE_ALARMS,), 132, 19, seen_in_fit=True),
}


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_said_and_recorded(kind):
    guarantee = KINDS[kind]
    record = json.loads(json.dumps(guarantee.record(), allow_nan=False))
    assert Guarantee.from_record({**record, "beside": 1}) == guarantee
    assert record["on_average"] == (record["confidence"] is None) == guarantee.on_average
    same_text([guarantee.sentence, guarantee.assumption])


def test_its_record():
    assert KINDS["plain"].record() == {
        "promises": [{"what": "false_alarms", "at_most": 0.05, "realised_on_validation": 0.031}],
        "on_average": False,
        "confidence": 0.99,
        "unit": "instance",
        "event": "instance",
        "by": None,
        "n": 1132,
        "needed": 90,
        "assumption": "validation and working data are exchangeable instances",
    }
