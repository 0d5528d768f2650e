"""Published ways to evaluate, as a whole: each is a campaign's cells, and has a table and a page of its own.

A file that says `protocol: NAME` is read by that protocol, which writes it as a campaign. Importing this
loads none of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from farm.errors import ExperimentError, suggestion
from farm.store.campaign_folder import CampaignFolder

PROTOCOLS = {
    "od-test": "farm.protocols.od_test",
    "robustness": "farm.protocols.robustness",
    "dependability": "farm.protocols.dependability",
}
"""Where each lies.

Its package gives `as_campaign`, `size_record`, `size_lines`, `write_results`, `result_tables`, `result_page`.
One may also give `problems(folder)`: lines on what was wrong with data or files, beside cells that failed.
One that finds measures over its whole campaign may also give `reported(folder)`, which returns a
`farm.gate.reported.Reported`: what it found, for the criteria of `farm check`.
"""


def protocol(name: Any) -> Any:
    """Return a protocol's package by its name."""
    if name not in PROTOCOLS:
        raise ExperimentError(f"protocol '{name}' is not known; {suggestion(str(name), PROTOCOLS)}")
    return importlib.import_module(PROTOCOLS[name])


def as_campaign(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return what a file says as the values of a campaign; of one that is such already, the same."""
    if not isinstance(values.get("protocol"), str):
        return dict(values)
    written: dict[str, Any] = protocol(values["protocol"]).as_campaign(values, folder)
    return written


def protocol_of(folder: Path | str) -> Any:
    """Return the package of a campaign's protocol; None of any other folder."""
    if not CampaignFolder.is_campaign(folder):
        return None
    said: dict[str, Any] | None = CampaignFolder(folder).record()["campaign"].get("protocol")
    return None if said is None else protocol(said["protocol"])
