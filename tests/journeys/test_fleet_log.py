"""A fleet's log, of which nobody knows what was right: alarm rates, drift, and a gate."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

CRITERIA = """
reference: may.csv
criteria:
  - alarm_rate <= 15 %
  - drift <= 0.2
"""


def drives(month: int, fog: float, n: int = 120, frames: int = 10) -> pd.DataFrame:
    """Make the log of a month: drives of several frames each, and more alarms in fog."""
    random = np.random.default_rng(month)
    drive = np.repeat(np.arange(n), frames)
    foggy = (random.random(n) < fog)[drive]
    score = random.normal(size=n)[drive] * 0.3 + random.normal(size=n * frames) + 1.2 * foggy
    return pd.DataFrame(
        {
            "timestamp": pd.Timestamp(2026, month, 1) + pd.to_timedelta(np.arange(n * frames), unit="min"),
            "track": [f"drive-{i}" for i in drive],
            "weather": np.where(foggy, "fog", "clear"),
            "predicted": random.integers(0, 5, size=n * frames),
            "monitor": "own",
            "score": score.round(4),
            "alarm": (score > 1.8).astype(int),
        }
    )


def test_from_a_log_without_labels_to_a_gate(journey) -> None:
    drives(5, fog=0.1).to_csv(journey.folder / "may.csv", index=False)
    drives(6, fog=0.1).to_csv(journey.folder / "june.csv", index=False)
    drives(11, fog=0.9).to_parquet(journey.folder / "november.parquet", index=False)
    journey.write("gate.yaml", CRITERIA)

    judged = json.loads(journey.farm("judge june.csv --by weather --reference may.csv --format json"))
    rates = {one["of"]: one["alarm_rate"] for one in judged}
    assert rates["fog"] > 4 * rates["clear"], "they were made so"
    assert judged[0]["against"]["p"] > 0.05
    told = journey.farm("check june.csv --criteria gate.yaml --junit june.xml --markdown june.md")
    assert "2 passed" in told
    assert 'failures="0"' in (journey.folder / "june.xml").read_text(encoding="utf-8")
    assert "1,200 there are" in journey.farm("plan june.csv --half-width 0.005")
    found = json.loads(journey.farm("check november.parquet --criteria gate.yaml --format json", exits=1))
    assert {one["measure"]: one["verdict"] for one in found["verdicts"]} == {
        "alarm_rate": "fail",
        "drift": "fail",
    }
