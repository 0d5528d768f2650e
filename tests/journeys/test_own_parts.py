"""A monitor and a faultload of one's own: begun, checked against the rules, and tried in a campaign."""

from __future__ import annotations

import json

import pytest

from tests.journeys.pictures import save, save_classes

CAMPAIGN = """
name: evening
workload: {name: folder, path: shapes}
classifier: {name: module, factory: own_net:make, weights: net.pt, mean: [0.5], std: [0.25]}
faultloads:
  - {name: "my_fault.faultload:MyFault", as: my-fault}
  - {name: novelty, workload: {name: folder, path: crosses}}
severities: [4]
monitors:
  - {name: "my_monitor.monitor:MyMonitor", as: my-monitor}
  - max-softmax
batch_size: 32
"""


@pytest.mark.parametrize("kind", ["monitor", "faultload"])
def test_what_is_begun_keeps_all_rules(journey, kind) -> None:
    """Check a new part by itself: its rules take a while."""
    journey.farm(f"new {kind} mine")
    found = json.loads(journey.farm(f"test-{kind} mine.{kind}:Mine --format json", within="mine"))
    assert not [one for one in found["rules"] if one["outcome"] == "failed"]


def test_both_in_a_campaign(journey) -> None:
    save_classes(journey.folder / "shapes")
    save(journey.folder / "crosses" / "cross", "cross", range(40))
    journey.bring("own_net.py")
    journey.write("evening.yaml", CAMPAIGN)
    journey.python("own_net.py net.pt")
    journey.farm("new monitor my-monitor")
    journey.farm("new faultload my-fault")
    journey.environment["PYTHONPATH"] = "my-monitor:my-fault"  # in place of installing both

    journey.farm("run evening.yaml --out evening --quiet")
    assert "2 of 2 cells done" in journey.farm("status evening")
    found = json.loads(journey.farm("compare evening --format json"))
    values = {one["faultload"]: one["values"] for one in found["sets"]}
    assert values.keys() == {"my-fault", "novelty"}
    assert all(one.keys() == {"my-monitor", "max-softmax"} for one in values.values())
    assert values["novelty"]["my-monitor"] > 0.4
    journey.farm("report evening --out evening.html")
    assert "my-fault" in (journey.folder / "evening.html").read_text(encoding="utf-8")
