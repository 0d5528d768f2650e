"""What a campaign's folder has to say, whoever wrote it."""

from __future__ import annotations

from typing import Any

from farm.store.records import Form


class PlannedCellForm(Form):
    """A cell that a campaign asks for."""

    id: str
    title: str
    label: dict[str, str | int | float | None]
    target: str
    monitors: dict[str, str]


class CampaignForm(Form):
    """What `campaign.json` has to have."""

    name: str
    home: str
    campaign: dict[str, Any]
    cells: list[PlannedCellForm]


class FailureForm(Form):
    """Why a cell failed."""

    cell: str
    target: str
    title: str
    state: str
    reason: str
